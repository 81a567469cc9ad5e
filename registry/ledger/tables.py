"""The ledger's tables, portable between SQLite and PostgreSQL.

Answers are append-only: a repeated call is another attempt of the same request, and the highest attempt
is the one that is read. Records are not stored: they follow from the answers and the scoring version.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

facts = Table(
    "facts",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("value", Text, nullable=False),
)

audits = Table(
    "audits",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("family", String(250), nullable=False),
    Column("version", Integer, nullable=False),
    Column("release", JSON, nullable=False),
    Column("protocol", String(80), nullable=False),
    Column("collection_key", String(16), nullable=False),
    Column("occasion", Integer, nullable=False),
    Column("plan", JSON, nullable=False),
    Column("source", String(12), nullable=False),
    Column("content_hash", String(16)),  # of an imported file: importing it again is the same audit
    Column("state", String(12), nullable=False),
    Column("ordered_at", String(32), nullable=False),
    Column("finished_at", String(32)),
    Column("differences", JSON, nullable=False),
    Column("scoring_version", String(16)),  # of its scores; empty when a request was asked again since they were made
    Column("run_id", String(64)),
    UniqueConstraint("family", "version", "protocol", "collection_key", "occasion"),
)

messages = Table(
    "messages",
    metadata,
    Column("hash", String(16), primary_key=True),
    Column("content", JSON, nullable=False),
)

requests = Table(
    "requests",
    metadata,
    Column("audit_id", ForeignKey("audits.id"), primary_key=True),
    Column("index", Integer, primary_key=True),
    Column("repeat", Integer, primary_key=True),
    Column("cell", JSON, nullable=False),
    Column("seed", Integer),
    Column("expected", Integer),
    Column("messages_hash", ForeignKey("messages.hash")),
    Column("worker_id", String(32)),  # who took it; none while it is free. See registry.ledger.claims
    Index(
        "ix_requests_free",
        "audit_id",
        "index",
        "repeat",
        sqlite_where=text("worker_id IS NULL"),
        postgresql_where=text("worker_id IS NULL"),
    ),
)

responses = Table(
    "responses",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("audit_id", Integer, ForeignKey("audits.id"), nullable=False),
    Column("index", Integer, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("text", Text),
    Column("refusal", Text),
    Column("finish_reason", String(80)),
    Column("requested_model", Text),
    Column("served_model", Text),
    Column("system_fingerprint", Text),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("latency_s", Float),
    Column("failure", String(20)),
    Column("detail", Text, nullable=False),
    Column("received_at", String(32)),
    Column("extra", JSON, nullable=False),
    UniqueConstraint("audit_id", "index", "repeat", "attempt"),
    # What a month took is read from the index alone.
    Index("ix_responses_spending", "received_at", "audit_id", "prompt_tokens", "completion_tokens"),
)

readings = Table(
    "readings",
    metadata,
    Column("audit_id", ForeignKey("audits.id"), primary_key=True),
    Column("index", Integer, primary_key=True),
    Column("repeat", Integer, primary_key=True),
    Column("reader", String(16), primary_key=True),  # how the answer was read; another reader reads it again
    Column("attempt", Integer, nullable=False),
    Column("value", Float),
    Column("outcome", String(40), nullable=False),
)

name_lists = Table(
    "name_lists",
    metadata,
    Column("family", String(250), primary_key=True),
    Column("protocol", String(80), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("names", JSON, nullable=False),
    Column("audits", JSON, nullable=False),  # the audits it was pooled over
    Column("reason", Text, nullable=False),
    Column("made_at", String(32), nullable=False),
)

scores = Table(
    "scores",
    metadata,
    Column("audit_id", ForeignKey("audits.id"), primary_key=True),
    Column("scoring_version", String(16), primary_key=True),
    Column("metric", String(120), primary_key=True),
    Column("dimension", String(120), primary_key=True),
    Column("group", String(250), primary_key=True),
    Column("position", Integer, nullable=False),  # keeps the order in which the protocol reports
    Column("value", Float),
    Column("low", Float),
    Column("high", Float),
    Column("level", Float, nullable=False),
    Column("method", Text, nullable=False),
    Column("statistic", Float),
    Column("df", Float),
    Column("df_error", Float),
    Column("pvalue", Float),
    Column("qvalue", Float),
    Column("n", Integer, nullable=False),
    Column("n_clusters", Integer, nullable=False),
    Column("n_excluded", Integer, nullable=False),
    Column("severity", String(12)),
    Column("reason", Text, nullable=False),
)

summaries = Table(
    "summaries",
    metadata,
    Column("audit_id", ForeignKey("audits.id"), primary_key=True),
    Column("scoring_version", String(16), primary_key=True),
    Column("attempts", Integer, nullable=False),  # sum over its answers: when one is asked again, it is another sum
    Column("content", JSON, nullable=False),  # what its answers come to besides the scores
)

comparisons = Table(
    "comparisons",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("family", String(250), nullable=False),
    Column("protocol", String(80), nullable=False),
    Column("previous_audit_id", Integer, ForeignKey("audits.id"), nullable=False),
    Column("current_audit_id", Integer, ForeignKey("audits.id"), nullable=False),
    Column("scoring_version", String(16), nullable=False),
    Column("policy", JSON, nullable=False),
    Column("policy_hash", String(16), nullable=False),
    Column("verdict", String(16), nullable=False),  # empty while it waits to be judged anew
    Column("why", Text, nullable=False),
    Column("made_at", String(32), nullable=False),
    Column("run_id", String(64)),
    Column("gathered_at", String(32)),  # when what moved in it was looked for; it may be nothing
    UniqueConstraint("previous_audit_id", "current_audit_id", "scoring_version", "policy_hash"),
    Index(None, "family", "protocol"),
    Index(None, "current_audit_id"),
)

comparison_rows = Table(
    "comparison_rows",
    metadata,
    Column("comparison_id", ForeignKey("comparisons.id"), primary_key=True),
    Column("metric", String(120), primary_key=True),
    Column("dimension", String(120), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("verdict", String(16), nullable=False),
    Column("why", Text, nullable=False),
    Column("previous", Float),
    Column("current", Float),
    Column("delta", Float),
    Column("low", Float),
    Column("high", Float),
    Column("level", Float, nullable=False),
    Column("margin_low", Float),
    Column("margin_high", Float),
    Column("margin_level", Float, nullable=False),
    Column("statistic", Float),
    Column("pvalue", Float),
    Column("qvalue", Float),
    Column("pvalue_up", Float),
    Column("qvalue_up", Float),
    Column("smallest_change", Float),
    Column("n_previous", Integer, nullable=False),
    Column("n_current", Integer, nullable=False),
    Column("clusters_previous", Integer, nullable=False),
    Column("clusters_current", Integer, nullable=False),
    Column("merged", JSON, nullable=False),
)

comparison_cells = Table(
    "comparison_cells",
    metadata,
    Column("comparison_id", ForeignKey("comparisons.id"), primary_key=True),
    Column("dimension", String(120), primary_key=True),
    Column("row", String(250), primary_key=True),
    Column("column", String(250), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("n_previous", Integer, nullable=False),
    Column("n_current", Integer, nullable=False),
    Column("share_previous", Float),  # of the row's records
    Column("share_current", Float),
    Column(
        "expected_previous", Float
    ),  # the column's share of all records: what a row would have if it made no difference
    Column("expected_current", Float),
    Column("contribution", Float, nullable=False),  # to the change of V squared
    Column("statistic", Float),
    Column("pvalue", Float),
    Column("qvalue", Float),
    Column("examples", JSON, nullable=False),  # {"previous": [[index, repeat, record], ...], "current": [...]}
)

comparison_events = Table(
    "comparison_events",
    metadata,
    Column("comparison_id", ForeignKey("comparisons.id"), primary_key=True),
    Column("attribute", String(120), primary_key=True),
    Column("category", String(250), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("kind", String(12), nullable=False),  # new or vanished
    Column("n_previous", Integer, nullable=False),
    Column("n_current", Integer, nullable=False),
    Column("of_previous", Integer, nullable=False),  # records that answered the attribute
    Column("of_current", Integer, nullable=False),
    Column("pvalue", Float),
    Column("qvalue", Float),
    Column("examples", JSON, nullable=False),
)

blessings = Table(
    "blessings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("family", String(250), nullable=False),
    Column("name", String(80), nullable=False),
    Column("version", Integer, nullable=False),
    Column("who", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("made_at", String(32), nullable=False),
    Index(None, "family", "name"),
)

instrument_checks = Table(
    "instrument_checks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("audit_id", Integer, ForeignKey("audits.id"), nullable=False),
    Column("kind", String(20), nullable=False),  # split or reference
    Column("reference_audit_id", Integer, ForeignKey("audits.id")),
    Column("scoring_version", String(16), nullable=False),
    Column("policy_hash", String(16), nullable=False),
    Column("state", String(16), nullable=False),  # steady, moved or not measurable
    Column("why", Text, nullable=False),
    Column("made_at", String(32), nullable=False),
    UniqueConstraint("audit_id", "kind", "scoring_version", "policy_hash"),
)

watches = Table(
    "watches",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("family", String(250), nullable=False),
    Column("version", Integer, nullable=False),
    Column("protocol", String(80), nullable=False),
    Column("collection_key", String(16), nullable=False),
    Column("scoring_version", String(16), nullable=False),
    Column("size", Integer, nullable=False),
    Column("episode", Integer, nullable=False),  # a settled alarm begins the next one, with a baseline of its own
    Column("baseline", JSON, nullable=False),  # ids of its audits
    Column("vocabulary", JSON, nullable=False),  # what the baseline counts, by dimension
    Column("made_at", String(32), nullable=False),
    UniqueConstraint("family", "version", "protocol", "collection_key", "scoring_version", "size", "episode"),
)

watch_points = Table(
    "watch_points",
    metadata,
    Column("watch_id", ForeignKey("watches.id"), primary_key=True),
    Column("audit_id", ForeignKey("audits.id"), primary_key=True),
    Column("dimension", String(120), primary_key=True),
    Column("estimate", Float),  # jackknifed V squared in the vocabulary of the baseline
    Column("variance", Float),
    Column("n", Integer, nullable=False),
    Column("n_clusters", Integer, nullable=False),
    Column("reason", Text, nullable=False),
)

confirmations = Table(
    "confirmations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("watch_id", Integer, ForeignKey("watches.id"), nullable=False),
    Column("alarm_audit_id", Integer, ForeignKey("audits.id"), nullable=False),
    Column("audit_id", Integer, ForeignKey("audits.id")),  # of the full audit; none yet while it is wanted
    Column("verdict", String(16)),
    Column("why", Text, nullable=False),
    Column("rows", JSON, nullable=False),  # of the comparison with the pooled baseline
    Column("asked_at", String(32), nullable=False),
    Column("made_at", String(32)),
    UniqueConstraint("watch_id", "alarm_audit_id"),
)

cards = Table(
    "cards",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("audit_id", Integer, ForeignKey("audits.id"), nullable=False),
    Column("digest", String(16), nullable=False),  # of all that it says, but for when and by which version it was made
    Column("basis", JSON, nullable=False),  # scoring version and its parts, comparison, policy
    Column("numbers", JSON, nullable=False),  # headline scores and changes, by where they stand
    Column("made_at", String(32), nullable=False),
    Index(None, "audit_id", "digest"),
)

errata = Table(
    "errata",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("audit_id", Integer, ForeignKey("audits.id"), nullable=False),
    Column("digest", String(16), nullable=False),  # of the card as it was; empty when none was given out
    Column("why", Text, nullable=False),
    Column("who", Text, nullable=False),  # empty when the program found it by itself
    Column("changes", JSON, nullable=False),  # [{"where": ..., "was": ..., "now": ...}, ...]
    Column("made_at", String(32), nullable=False),
    Index(None, "audit_id"),
)

origins = Table(
    "origins",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("audit_id", Integer, ForeignKey("audits.id"), nullable=False),
    Column("kind", String(12), nullable=False),  # imported: all its answers; reused: some, in place of calls
    Column("address", String(64)),  # of a bundle
    Column("from_audit", Integer),  # of this ledger, where they are from none
    Column("release", Text, nullable=False),  # that answered, as who asked it had it registered
    Column("provider", String(80)),
    Column("finished_at", String(32)),  # of the audit that they were first of
    Column("license", Text),
    Column("provenance", Text, nullable=False),
    Column("answers", Integer, nullable=False),
    Column("uncounted", Integer, nullable=False),  # answers that do not state their tokens
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("made_at", String(32), nullable=False),
    Index(None, "audit_id"),
)

human_checks = Table(
    "human_checks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column(
        "digest", String(64), nullable=False, unique=True
    ),  # of the key and the sheets: the same ones are one record
    Column("key_hash", String(64), nullable=False),
    Column("sheets", JSON, nullable=False),  # a hash of the answers of each sheet
    Column("first_audit", Integer, ForeignKey("audits.id"), nullable=False),
    Column("second_audit", Integer, ForeignKey("audits.id"), nullable=False),
    Column("result", JSON, nullable=False),  # numbers with n, interval and method; no rater's name and no rater's words
    Column("made_at", String(32), nullable=False),
    Index(None, "first_audit"),
    Index(None, "second_audit"),
)
