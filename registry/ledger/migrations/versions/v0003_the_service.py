"""Workers and their claims, duties, what waits to be published or delivered, incidents, limits of providers."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "allowances",
        sa.Column("scope", sa.String(length=270), nullable=False),
        sa.Column("holder", sa.String(length=32), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", sa.Float(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("usd", sa.Float(), nullable=False),
        sa.Column("seen_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("scope", "holder", name=op.f("pk_allowances")),
    )
    op.create_table(
        "duties",
        sa.Column("name", sa.String(length=420), nullable=False),
        sa.Column("family", sa.String(length=250), nullable=False),
        sa.Column("protocol", sa.String(length=80), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("since", sa.String(length=32), nullable=False),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_duties")),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=250), nullable=False),
        sa.Column("holder", sa.String(length=32), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", sa.Float(), nullable=False),
        sa.Column("until", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "provider_limits",
        sa.Column("provider", sa.String(length=270), nullable=False),
        sa.Column("concurrency", sa.Float(), nullable=False),
        sa.Column("paused_until", sa.String(length=32), nullable=True),
        sa.Column("lowered_at", sa.String(length=32), nullable=True),
        sa.Column("changed_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("provider", name=op.f("pk_provider_limits")),
    )
    op.create_table(
        "provider_shares",
        sa.Column("provider", sa.String(length=270), nullable=False),
        sa.Column("holder", sa.String(length=32), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", sa.Float(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("in_flight", sa.Integer(), nullable=False),
        sa.Column("granted", sa.Integer(), nullable=False),
        sa.Column("seen_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("provider", "holder", name=op.f("pk_provider_shares")),
    )
    op.create_table(
        "publications",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("family", sa.String(length=250), nullable=False),
        sa.Column("protocol", sa.String(length=80), nullable=False),
        sa.Column("subject", sa.Integer(), nullable=False),
        sa.Column("content", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.String(length=32), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_publications")),
        sa.UniqueConstraint(
            "kind", "family", "protocol", "subject", name=op.f("uq_publications_kind_family_protocol_subject")
        ),
    )
    with op.batch_alter_table("publications", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_publications_state"), ["state"], unique=False)

    op.create_table(
        "received_webhooks",
        sa.Column("delivery", sa.String(length=120), nullable=False),
        sa.Column("received_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("delivery", name=op.f("pk_received_webhooks")),
    )
    op.create_table(
        "sightings",
        sa.Column("family", sa.String(length=250), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("seen_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("family", "version", name=op.f("pk_sightings")),
    )
    op.create_table(
        "duty_runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("duty", sa.String(length=420), nullable=False),
        sa.Column("slot", sa.String(length=64), nullable=False),
        sa.Column("due_at", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("release", sa.String(length=260), nullable=True),
        sa.Column("busy", sa.String(length=16), nullable=True),
        sa.Column("audit_id", sa.Integer(), nullable=True),
        sa.Column("verdict", sa.String(length=40), nullable=True),
        sa.Column("holder", sa.String(length=32), nullable=True),
        sa.Column("flow_run", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.String(length=32), nullable=True),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.Column("began_at", sa.String(length=32), nullable=True),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.Column("late_s", sa.Float(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_duty_runs_audit_id_audits")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_duty_runs")),
        sa.UniqueConstraint("busy", name=op.f("uq_duty_runs_busy")),
        sa.UniqueConstraint("duty", "slot", name=op.f("uq_duty_runs_duty_slot")),
    )
    with op.batch_alter_table("duty_runs", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_duty_runs_state"), ["state"], unique=False)

    op.create_table(
        "incidents",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=250), nullable=False),
        sa.Column("open_key", sa.String(length=250), nullable=True),
        sa.Column("kind", sa.String(length=30), nullable=False),
        sa.Column("family", sa.String(length=250), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("protocol", sa.String(length=80), nullable=False),
        sa.Column("severity", sa.String(length=10), nullable=False),
        sa.Column("state", sa.String(length=14), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("audit_id", sa.Integer(), nullable=True),
        sa.Column("seen_audit_id", sa.Integer(), nullable=True),
        sa.Column("reference_audit_id", sa.Integer(), nullable=True),
        sa.Column("replicate_audit_id", sa.Integer(), nullable=True),
        sa.Column("opened_at", sa.String(length=32), nullable=False),
        sa.Column("changed_at", sa.String(length=32), nullable=False),
        sa.Column("noticed_at", sa.String(length=32), nullable=True),
        sa.Column("notices", sa.Integer(), nullable=False),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.Column("acknowledged_why", sa.Text(), nullable=True),
        sa.Column("acknowledged_at", sa.String(length=32), nullable=True),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_incidents_audit_id_audits")),
        sa.ForeignKeyConstraint(
            ["reference_audit_id"], ["audits.id"], name=op.f("fk_incidents_reference_audit_id_audits")
        ),
        sa.ForeignKeyConstraint(
            ["replicate_audit_id"], ["audits.id"], name=op.f("fk_incidents_replicate_audit_id_audits")
        ),
        sa.ForeignKeyConstraint(["seen_audit_id"], ["audits.id"], name=op.f("fk_incidents_seen_audit_id_audits")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incidents")),
        sa.UniqueConstraint("open_key", name=op.f("uq_incidents_open_key")),
    )
    with op.batch_alter_table("incidents", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_incidents_family_protocol"), ["family", "protocol"], unique=False)
        batch_op.create_index(batch_op.f("ix_incidents_key"), ["key"], unique=False)
        batch_op.create_index(batch_op.f("ix_incidents_state"), ["state"], unique=False)

    op.create_table(
        "summaries",
        sa.Column("audit_id", sa.Integer(), nullable=False),
        sa.Column("scoring_version", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_summaries_audit_id_audits")),
        sa.PrimaryKeyConstraint("audit_id", "scoring_version", name=op.f("pk_summaries")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", sa.Float(), nullable=False),
        sa.Column("audit_id", sa.Integer(), nullable=False),
        sa.Column("began_at", sa.String(length=32), nullable=False),
        sa.Column("heartbeat_at", sa.String(length=32), nullable=False),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_workers_audit_id_audits")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    with op.batch_alter_table("workers", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_workers_audit_id"), ["audit_id"], unique=False)

    op.create_table(
        "notices",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("incident_id", sa.Integer(), nullable=False),
        sa.Column("event", sa.String(length=12), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(length=80), nullable=False),
        sa.Column("message", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("holder", sa.String(length=32), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.String(length=32), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("made_at", sa.String(length=32), nullable=False),
        sa.Column("sent_at", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.id"], name=op.f("fk_notices_incident_id_incidents")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
        sa.UniqueConstraint("incident_id", "sequence", "channel", name=op.f("uq_notices_incident_id_sequence_channel")),
    )
    with op.batch_alter_table("notices", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_notices_state"), ["state"], unique=False)

    # Not in a batch, which would make the table anew: others refer to it.
    op.drop_column("audits", "heartbeat_at")
    op.drop_column("audits", "owner")

    with op.batch_alter_table("comparison_cells", schema=None) as batch_op:
        batch_op.add_column(sa.Column("expected_previous", sa.Float(), nullable=True))
        batch_op.add_column(sa.Column("expected_current", sa.Float(), nullable=True))

    with op.batch_alter_table("comparisons", schema=None) as batch_op:
        batch_op.add_column(sa.Column("gathered_at", sa.String(length=32), nullable=True))
        batch_op.create_index(batch_op.f("ix_comparisons_current_audit_id"), ["current_audit_id"], unique=False)

    with op.batch_alter_table("requests", schema=None) as batch_op:
        batch_op.add_column(sa.Column("worker_id", sa.String(length=32), nullable=True))
        batch_op.create_index(
            "ix_requests_free",
            ["audit_id", "index", "repeat"],
            unique=False,
            sqlite_where=sa.text("worker_id IS NULL"),
            postgresql_where=sa.text("worker_id IS NULL"),
        )

    with op.batch_alter_table("responses", schema=None) as batch_op:
        batch_op.create_index(
            "ix_responses_spending", ["received_at", "audit_id", "prompt_tokens", "completion_tokens"], unique=False
        )
