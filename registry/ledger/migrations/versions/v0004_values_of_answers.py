"""The value of each answer as it was read, so that a large audit is aggregated by the database."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "readings",
        sa.Column("audit_id", sa.Integer(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("reader", sa.String(length=16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_readings_audit_id_audits")),
        sa.PrimaryKeyConstraint("audit_id", "index", "repeat", "reader", name=op.f("pk_readings")),
    )
