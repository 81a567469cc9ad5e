"""The first schema of the ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audits",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("family", sa.String(length=250), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("release", sa.JSON(), nullable=False),
        sa.Column("protocol", sa.String(length=80), nullable=False),
        sa.Column("collection_key", sa.String(length=16), nullable=False),
        sa.Column("occasion", sa.Integer(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("source", sa.String(length=12), nullable=False),
        sa.Column("content_hash", sa.String(length=16), nullable=True),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("ordered_at", sa.String(length=32), nullable=False),
        sa.Column("finished_at", sa.String(length=32), nullable=True),
        sa.Column("differences", sa.JSON(), nullable=False),
        sa.Column("scoring_version", sa.String(length=16), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("owner", sa.JSON(), nullable=True),
        sa.Column("heartbeat_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audits")),
        sa.UniqueConstraint(
            "family",
            "version",
            "protocol",
            "collection_key",
            "occasion",
            name=op.f("uq_audits_family_version_protocol_collection_key_occasion"),
        ),
    )
    op.create_table(
        "facts",
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_facts")),
    )
    op.create_table(
        "messages",
        sa.Column("hash", sa.String(length=16), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_messages")),
    )
    op.create_table(
        "name_lists",
        sa.Column("family", sa.String(length=250), nullable=False),
        sa.Column("protocol", sa.String(length=80), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("names", sa.JSON(), nullable=False),
        sa.Column("audits", sa.JSON(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("family", "protocol", "version", name=op.f("pk_name_lists")),
    )
    op.create_table(
        "comparisons",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("family", sa.String(length=250), nullable=False),
        sa.Column("protocol", sa.String(length=80), nullable=False),
        sa.Column("previous_audit_id", sa.Integer(), nullable=False),
        sa.Column("current_audit_id", sa.Integer(), nullable=False),
        sa.Column("scoring_version", sa.String(length=16), nullable=False),
        sa.Column("policy", sa.JSON(), nullable=False),
        sa.Column("policy_hash", sa.String(length=16), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(
            ["current_audit_id"], ["audits.id"], name=op.f("fk_comparisons_current_audit_id_audits")
        ),
        sa.ForeignKeyConstraint(
            ["previous_audit_id"], ["audits.id"], name=op.f("fk_comparisons_previous_audit_id_audits")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comparisons")),
        sa.UniqueConstraint(
            "previous_audit_id",
            "current_audit_id",
            "scoring_version",
            "policy_hash",
            name=op.f("uq_comparisons_previous_audit_id_current_audit_id_scoring_version_policy_hash"),
        ),
    )
    op.create_index(op.f("ix_comparisons_family_protocol"), "comparisons", ["family", "protocol"], unique=False)
    op.create_table(
        "requests",
        sa.Column("audit_id", sa.Integer(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("cell", sa.JSON(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=True),
        sa.Column("expected", sa.Integer(), nullable=True),
        sa.Column("messages_hash", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_requests_audit_id_audits")),
        sa.ForeignKeyConstraint(["messages_hash"], ["messages.hash"], name=op.f("fk_requests_messages_hash_messages")),
        sa.PrimaryKeyConstraint("audit_id", "index", "repeat", name=op.f("pk_requests")),
    )
    op.create_table(
        "responses",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audit_id", sa.Integer(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("refusal", sa.Text(), nullable=True),
        sa.Column("finish_reason", sa.String(length=80), nullable=True),
        sa.Column("requested_model", sa.Text(), nullable=True),
        sa.Column("served_model", sa.Text(), nullable=True),
        sa.Column("system_fingerprint", sa.Text(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("latency_s", sa.Float(), nullable=True),
        sa.Column("failure", sa.String(length=20), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("received_at", sa.String(length=32), nullable=True),
        sa.Column("extra", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_responses_audit_id_audits")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_responses")),
        sa.UniqueConstraint(
            "audit_id", "index", "repeat", "attempt", name=op.f("uq_responses_audit_id_index_repeat_attempt")
        ),
    )
    op.create_table(
        "scores",
        sa.Column("audit_id", sa.Integer(), nullable=False),
        sa.Column("scoring_version", sa.String(length=16), nullable=False),
        sa.Column("metric", sa.String(length=120), nullable=False),
        sa.Column("dimension", sa.String(length=120), nullable=False),
        sa.Column("group", sa.String(length=250), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("level", sa.Float(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("statistic", sa.Float(), nullable=True),
        sa.Column("df", sa.Float(), nullable=True),
        sa.Column("pvalue", sa.Float(), nullable=True),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("n_clusters", sa.Integer(), nullable=False),
        sa.Column("n_excluded", sa.Integer(), nullable=False),
        sa.Column("severity", sa.String(length=12), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_scores_audit_id_audits")),
        sa.PrimaryKeyConstraint("audit_id", "scoring_version", "metric", "dimension", "group", name=op.f("pk_scores")),
    )
    op.create_table(
        "comparison_rows",
        sa.Column("comparison_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=120), nullable=False),
        sa.Column("dimension", sa.String(length=120), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("previous", sa.Float(), nullable=True),
        sa.Column("current", sa.Float(), nullable=True),
        sa.Column("delta", sa.Float(), nullable=True),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("level", sa.Float(), nullable=False),
        sa.Column("margin_low", sa.Float(), nullable=True),
        sa.Column("margin_high", sa.Float(), nullable=True),
        sa.Column("margin_level", sa.Float(), nullable=False),
        sa.Column("statistic", sa.Float(), nullable=True),
        sa.Column("pvalue", sa.Float(), nullable=True),
        sa.Column("qvalue", sa.Float(), nullable=True),
        sa.Column("pvalue_up", sa.Float(), nullable=True),
        sa.Column("qvalue_up", sa.Float(), nullable=True),
        sa.Column("smallest_change", sa.Float(), nullable=True),
        sa.Column("n_previous", sa.Integer(), nullable=False),
        sa.Column("n_current", sa.Integer(), nullable=False),
        sa.Column("clusters_previous", sa.Integer(), nullable=False),
        sa.Column("clusters_current", sa.Integer(), nullable=False),
        sa.Column("merged", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["comparison_id"], ["comparisons.id"], name=op.f("fk_comparison_rows_comparison_id_comparisons")
        ),
        sa.PrimaryKeyConstraint("comparison_id", "metric", "dimension", name=op.f("pk_comparison_rows")),
    )
