"""What moved, what was blessed, whether the instrument is steady, and watches over recurring audits."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "blessings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("family", sa.String(length=250), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_blessings")),
    )
    op.create_index(op.f("ix_blessings_family_name"), "blessings", ["family", "name"], unique=False)
    op.create_table(
        "watches",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("family", sa.String(length=250), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("protocol", sa.String(length=80), nullable=False),
        sa.Column("collection_key", sa.String(length=16), nullable=False),
        sa.Column("scoring_version", sa.String(length=16), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("baseline", sa.JSON(), nullable=False),
        sa.Column("vocabulary", sa.JSON(), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watches")),
        sa.UniqueConstraint(
            "family",
            "version",
            "protocol",
            "collection_key",
            "scoring_version",
            "size",
            "episode",
            name=op.f("uq_watches_family_version_protocol_collection_key_scoring_version_size_episode"),
        ),
    )
    op.create_table(
        "confirmations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("watch_id", sa.Integer(), nullable=False),
        sa.Column("alarm_audit_id", sa.Integer(), nullable=False),
        sa.Column("audit_id", sa.Integer(), nullable=True),
        sa.Column("verdict", sa.String(length=16), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("rows", sa.JSON(), nullable=False),
        sa.Column("asked_at", sa.String(length=32), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["alarm_audit_id"], ["audits.id"], name=op.f("fk_confirmations_alarm_audit_id_audits")),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_confirmations_audit_id_audits")),
        sa.ForeignKeyConstraint(["watch_id"], ["watches.id"], name=op.f("fk_confirmations_watch_id_watches")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_confirmations")),
        sa.UniqueConstraint("watch_id", "alarm_audit_id", name=op.f("uq_confirmations_watch_id_alarm_audit_id")),
    )
    op.create_table(
        "instrument_checks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audit_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("reference_audit_id", sa.Integer(), nullable=True),
        sa.Column("scoring_version", sa.String(length=16), nullable=False),
        sa.Column("policy_hash", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_instrument_checks_audit_id_audits")),
        sa.ForeignKeyConstraint(
            ["reference_audit_id"], ["audits.id"], name=op.f("fk_instrument_checks_reference_audit_id_audits")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_instrument_checks")),
        sa.UniqueConstraint(
            "audit_id",
            "kind",
            "scoring_version",
            "policy_hash",
            name=op.f("uq_instrument_checks_audit_id_kind_scoring_version_policy_hash"),
        ),
    )
    op.create_table(
        "watch_points",
        sa.Column("watch_id", sa.Integer(), nullable=False),
        sa.Column("audit_id", sa.Integer(), nullable=False),
        sa.Column("dimension", sa.String(length=120), nullable=False),
        sa.Column("estimate", sa.Float(), nullable=True),
        sa.Column("variance", sa.Float(), nullable=True),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("n_clusters", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_watch_points_audit_id_audits")),
        sa.ForeignKeyConstraint(["watch_id"], ["watches.id"], name=op.f("fk_watch_points_watch_id_watches")),
        sa.PrimaryKeyConstraint("watch_id", "audit_id", "dimension", name=op.f("pk_watch_points")),
    )
    op.create_table(
        "comparison_cells",
        sa.Column("comparison_id", sa.Integer(), nullable=False),
        sa.Column("dimension", sa.String(length=120), nullable=False),
        sa.Column("row", sa.String(length=250), nullable=False),
        sa.Column("column", sa.String(length=250), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("n_previous", sa.Integer(), nullable=False),
        sa.Column("n_current", sa.Integer(), nullable=False),
        sa.Column("share_previous", sa.Float(), nullable=True),
        sa.Column("share_current", sa.Float(), nullable=True),
        sa.Column("contribution", sa.Float(), nullable=False),
        sa.Column("statistic", sa.Float(), nullable=True),
        sa.Column("pvalue", sa.Float(), nullable=True),
        sa.Column("qvalue", sa.Float(), nullable=True),
        sa.Column("examples", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["comparison_id"], ["comparisons.id"], name=op.f("fk_comparison_cells_comparison_id_comparisons")
        ),
        sa.PrimaryKeyConstraint("comparison_id", "dimension", "row", "column", name=op.f("pk_comparison_cells")),
    )
    op.create_table(
        "comparison_events",
        sa.Column("comparison_id", sa.Integer(), nullable=False),
        sa.Column("attribute", sa.String(length=120), nullable=False),
        sa.Column("category", sa.String(length=250), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("n_previous", sa.Integer(), nullable=False),
        sa.Column("n_current", sa.Integer(), nullable=False),
        sa.Column("of_previous", sa.Integer(), nullable=False),
        sa.Column("of_current", sa.Integer(), nullable=False),
        sa.Column("pvalue", sa.Float(), nullable=True),
        sa.Column("qvalue", sa.Float(), nullable=True),
        sa.Column("examples", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["comparison_id"], ["comparisons.id"], name=op.f("fk_comparison_events_comparison_id_comparisons")
        ),
        sa.PrimaryKeyConstraint("comparison_id", "attribute", "category", name=op.f("pk_comparison_events")),
    )
