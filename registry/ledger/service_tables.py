"""Tables of the service: who works, what is due, what waits to be published or delivered.

All of it is bookkeeping: losing it loses no evidence. Times are ISO text in UTC, of the database's own clock where
processes on several machines must agree (`LedgerConnection.moment`).
"""

from __future__ import annotations

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from registry.ledger.tables import metadata

workers = Table(
    "workers",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started", Float, nullable=False),  # of the process: ids are used again, start times are not
    Column("audit_id", Integer, ForeignKey("audits.id"), nullable=False),
    Column("began_at", String(32), nullable=False),
    Column("heartbeat_at", String(32), nullable=False),
    Column("ended_at", String(32)),
    Column("why", Text, nullable=False),  # how it ended, in words
    Index(None, "audit_id"),
)

leases = Table(
    "leases",
    metadata,
    Column("name", String(250), primary_key=True),
    Column("holder", String(32), nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started", Float, nullable=False),
    Column("until", String(32), nullable=False),
)

provider_limits = Table(
    "provider_limits",
    metadata,
    Column("provider", String(270), primary_key=True),  # host and port of the endpoint
    Column("concurrency", Float, nullable=False),  # what it takes now, over all workers
    Column("paused_until", String(32)),
    Column("lowered_at", String(32)),
    Column("changed_at", String(32), nullable=False),
)

provider_shares = Table(
    "provider_shares",
    metadata,
    Column("provider", String(270), primary_key=True),
    Column("holder", String(32), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started", Float, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("in_flight", Integer, nullable=False),
    Column("granted", Integer, nullable=False),  # calls it may have under way until it looks again
    Column("seen_at", String(32), nullable=False),
)

allowances = Table(
    "allowances",
    metadata,
    Column("scope", String(270), primary_key=True),  # such as "2026-11" or "2026-11 nova-chat"
    Column("holder", String(32), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started", Float, nullable=False),
    Column("tokens", Integer, nullable=False),  # set aside for calls that are under way
    Column("usd", Float, nullable=False),
    Column("seen_at", String(32), nullable=False),
)

duties = Table(
    "duties",
    metadata,
    Column("name", String(420), primary_key=True),
    Column("family", String(250), nullable=False),
    Column("protocol", String(80), nullable=False),
    Column("definition", JSON, nullable=False),
    Column("since", String(32), nullable=False),  # what was due before is nobody's fault
    Column("ended_at", String(32)),
)

duty_runs = Table(
    "duty_runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("duty", String(420), nullable=False),
    Column("slot", String(64), nullable=False),  # local date and time without a zone, or "version 7": one run each
    Column("due_at", String(32), nullable=False),
    Column("kind", String(12), nullable=False),  # scheduled, catch-up, version, reference
    Column("state", String(12), nullable=False),  # due, running, done, open, failed, skipped, refused
    Column("release", String(260)),
    Column("busy", String(16), unique=True),  # release and protocol while it runs: one run of them at a time
    Column("audit_id", Integer, ForeignKey("audits.id")),
    Column("verdict", String(40)),
    Column("holder", String(32)),
    Column("flow_run", Text),  # what it was handed to
    Column("attempts", Integer, nullable=False),
    Column("next_at", String(32)),  # when a due one is handed out again, or an open or failed one tried again
    Column("made_at", String(32), nullable=False),
    Column("began_at", String(32)),
    Column("ended_at", String(32)),
    Column("late_s", Float, nullable=False),
    Column("why", Text, nullable=False),
    UniqueConstraint("duty", "slot"),
    Index(None, "state"),
)

sightings = Table(
    "sightings",
    metadata,
    Column("family", String(250), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("seen_at", String(32), nullable=False),
)

received_webhooks = Table(
    "received_webhooks",
    metadata,
    Column("delivery", String(120), primary_key=True),
    Column("received_at", String(32), nullable=False),
)

publications = Table(
    "publications",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String(12), nullable=False),  # audit, comparison, timeline, card or alias
    Column("family", String(250), nullable=False),
    Column("protocol", String(80), nullable=False),
    Column("subject", Integer, nullable=False),  # id of the audit or comparison; 0 for the family's timeline and card
    Column("content", String(64), nullable=False),  # what is published: scoring version, or what the drawing shows
    Column("state", String(12), nullable=False),  # waiting or done
    Column("attempts", Integer, nullable=False),
    Column("next_at", String(32), nullable=False),
    Column("detail", Text, nullable=False),  # of the last failure
    Column("made_at", String(32), nullable=False),
    UniqueConstraint("kind", "family", "protocol", "subject"),
    Index(None, "state"),
)

incidents = Table(
    "incidents",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(250), nullable=False),
    Column("open_key", String(250), unique=True),  # the key while it is open, and for ever of what is told once
    Column("kind", String(30), nullable=False),
    Column("family", String(250), nullable=False),
    Column("version", Integer),
    Column("protocol", String(80), nullable=False),
    Column("severity", String(10), nullable=False),
    Column("state", String(14), nullable=False),  # unconfirmed, open, acknowledged, recovered, withdrawn, closed
    Column("title", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("evidence", JSON, nullable=False),
    Column("audit_id", Integer, ForeignKey("audits.id")),  # that found it
    Column("seen_audit_id", Integer, ForeignKey("audits.id")),  # the newest that said anything about it
    Column("reference_audit_id", Integer, ForeignKey("audits.id")),
    Column("replicate_audit_id", Integer, ForeignKey("audits.id")),
    Column("opened_at", String(32), nullable=False),
    Column("changed_at", String(32), nullable=False),
    Column("noticed_at", String(32)),  # when the last notice was made
    Column("notices", Integer, nullable=False),  # made so far; each has its number
    Column("acknowledged_by", Text),
    Column("acknowledged_why", Text),
    Column("acknowledged_at", String(32)),
    Column("ended_at", String(32)),
    Index(None, "key"),
    Index(None, "family", "protocol"),
    Index(None, "state"),
)

notices = Table(
    "notices",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("incident_id", Integer, ForeignKey("incidents.id"), nullable=False),
    Column("event", String(12), nullable=False),  # opened, again or recovered
    Column("sequence", Integer, nullable=False),
    Column("channel", String(80), nullable=False),
    Column("message", JSON, nullable=False),
    Column("state", String(12), nullable=False),  # waiting, sending, sent, dropped or dead
    Column("holder", String(32)),  # who sends it now
    Column("attempts", Integer, nullable=False),
    Column("next_at", String(32), nullable=False),  # when it is due; of one that is being sent, when others may
    Column("detail", Text, nullable=False),  # what came back last
    Column("made_at", String(32), nullable=False),
    Column("sent_at", String(32)),
    UniqueConstraint("incident_id", "sequence", "channel"),
    Index(None, "state"),
)
