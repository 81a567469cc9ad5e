"""What people said of two audits in a blind rating."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "human_checks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("sheets", sa.JSON(), nullable=False),
        sa.Column("first_audit", sa.Integer(), nullable=False),
        sa.Column("second_audit", sa.Integer(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["first_audit"], ["audits.id"], name=op.f("fk_human_checks_first_audit_audits")),
        sa.ForeignKeyConstraint(["second_audit"], ["audits.id"], name=op.f("fk_human_checks_second_audit_audits")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_human_checks")),
        sa.UniqueConstraint("digest", name=op.f("uq_human_checks_digest")),
    )
    op.create_index(op.f("ix_human_checks_first_audit"), "human_checks", ["first_audit"])
    op.create_index(op.f("ix_human_checks_second_audit"), "human_checks", ["second_audit"])
