"""The ledger's reads and writes. Every method is one transaction; nothing is edited once it is evidence."""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from registry.audits.plan import AuditPlan, Request, Response, content_hash
from registry.ledger import rows
from registry.ledger.blessings import Blessings
from registry.ledger.cards import Cards
from registry.ledger.checks import Checks
from registry.ledger.claims import Claims, request_values
from registry.ledger.connection import patient
from registry.ledger.evidence import Evidence
from registry.ledger.human import HumanChecks
from registry.ledger.incidents import Incidents
from registry.ledger.leases import Leases
from registry.ledger.loads import Loads
from registry.ledger.occasions import VARIANT, Occasions
from registry.ledger.opening import LedgerError
from registry.ledger.origins import Origins, keep_messages, new_audit
from registry.ledger.ownership import Owner
from registry.ledger.readings import Readings
from registry.ledger.results import Results
from registry.ledger.sealed import SealedWork
from registry.ledger.service_tables import duty_runs, workers
from registry.ledger.sightings import Sightings
from registry.ledger.spending import Spendings
from registry.ledger.summaries import Summaries
from registry.ledger.tables import audits, facts, messages, requests, responses
from registry.ledger.totals import Totals
from registry.ledger.values import AnswerCounts, Audit
from registry.ledger.watching import Watches
from registry.ledger.webhooks import Webhooks
from registry.releases import ModelRelease

SEALED_AT_ONCE = 2_000


class Ledger(
    Claims,
    Loads,
    Spendings,
    Leases,
    Sightings,
    Results,
    Evidence,
    Incidents,
    Blessings,
    Cards,
    Checks,
    Watches,
    Webhooks,
    Totals,
    Occasions,
    Summaries,
    Readings,
    SealedWork,
    Origins,
    HumanChecks,
):
    """Store of audits, answers, scores and comparisons."""

    @property
    def identity(self) -> str:
        """A random id made once per ledger: publications carry it, so that two ledgers never mix."""
        found = self._all(sa.select(facts).where(facts.c.name == "identity"))
        if found:
            return str(found[0]["value"])
        with contextlib.suppress(sa.exc.IntegrityError), self._writing() as connection:  # of two, one is first
            connection.execute(facts.insert().values(name="identity", value=uuid.uuid4().hex[:12]))
        return self.identity

    # Audits -----------------------------------------------------------------------------------------------------

    def order(
        self,
        release: ModelRelease,
        plan: AuditPlan,
        work: Iterable[Request],
        *,
        source: str = "live",
        content: str | None = None,
    ) -> Audit:
        """Order a new audit: the next occasion, with its sealed list of requests."""
        with self._writing() as connection:
            audit_id, fresh = new_audit(connection, self.clock(), release, plan, source, content)
            if fresh:
                self._seal(connection, audit_id, work)
        return self.audit(audit_id)

    def _seal(self, connection: Connection, audit_id: int, work: Iterable[Request]) -> None:
        """Store a work list as it comes: a million requests are never in memory together."""
        known: set[str] = set()
        asked, last, digest = iter(work), None, None
        while batch := list(itertools.islice(asked, SEALED_AT_ONCE)):
            rows: list[dict[str, Any]] = []
            fresh: dict[str, Any] = {}
            for request in batch:
                if request.messages is not last:  # the samples of a prompt share its messages
                    last, content = request.messages, [dict(message) for message in request.messages]
                    digest = content_hash(content) if content else None
                    if digest and digest not in known:
                        fresh[digest] = content
                rows.append(
                    {
                        "audit_id": audit_id,
                        "index": request.index,
                        "repeat": request.repeat,
                        "cell": dict(request.cell),
                        "seed": request.seed,
                        "expected": request.expected,
                        "messages_hash": digest,
                    }
                )
            keep_messages(connection, fresh)
            known.update(fresh)
            connection.execute(requests.insert(), rows)

    def audit(self, audit_id: int) -> Audit:
        found = self._all(sa.select(audits).where(audits.c.id == audit_id))
        if not found:
            raise LedgerError(f"the ledger has no audit {audit_id}")
        return rows.audit_from_row(found[0])

    def audits(
        self,
        *,
        family: str | None = None,
        version: int | None = None,
        protocol: str | None = None,
        collection_key: str | None = None,
        content: str | None = None,
        variants: bool = False,
    ) -> list[Audit]:
        """Audits that match, oldest first.

        One that asked with a prompt variant is not among them, unless ``variants`` or its collection key asks for it: whatever
        judges a release looks at the protocol's own prompt.
        """
        wanted = {"family": family, "version": version, "protocol": protocol, "collection_key": collection_key}
        conditions = [audits.c[name] == value for name, value in wanted.items() if value is not None]
        if content is not None:
            conditions.append(audits.c.content_hash == content)
        if not variants and collection_key is None:
            conditions.append(VARIANT.is_(None))
        return [
            rows.audit_from_row(row) for row in self._all(sa.select(audits).where(*conditions).order_by(audits.c.id))
        ]

    @patient
    def change(self, audit_id: int, **values: Any) -> Audit:
        """Set bookkeeping columns of an audit (state, differences, scoring version, run id); never its evidence."""
        allowed = {"state", "differences", "scoring_version", "run_id", "finished_at"}
        if not values.keys() <= allowed:
            raise ValueError(f"an audit's {', '.join(sorted(values.keys() - allowed))} cannot be changed")
        with self._writing() as connection:
            connection.execute(audits.update().where(audits.c.id == audit_id).values(**values))
        return self.audit(audit_id)

    def withdraw(self, audit_id: int) -> bool:
        """Take back an order that has no answer yet; one with evidence stays. Returns whether it was taken back."""
        with self._writing() as connection:
            if connection.execute(sa.select(responses.c.id).where(responses.c.audit_id == audit_id).limit(1)).first():
                return False
            if self._living(connection, audit_id, Owner.this_process(), self._now(connection)):
                return False
            connection.execute(workers.delete().where(workers.c.audit_id == audit_id))
            connection.execute(duty_runs.update().where(duty_runs.c.audit_id == audit_id).values(audit_id=None))
            connection.execute(requests.delete().where(requests.c.audit_id == audit_id))
            connection.execute(audits.delete().where(audits.c.id == audit_id))
        return True

    # Requests and answers ---------------------------------------------------------------------------------------

    @patient
    def record(self, audit_id: int, response: Response) -> bool:
        """Store one answer the moment it arrives; False when its request has one already, which then counts.

        That happens to a worker that was silent for so long that its requests were given to others. What it brings for a
        request that failed meanwhile is kept, as a further attempt.
        """
        row = rows.response_row(audit_id, response)
        try:
            with self._writing() as connection:
                connection.execute(responses.insert().values(**row))
                if response.attempt > 1:
                    self._answered_again(connection, audit_id)
            return True
        except sa.exc.IntegrityError:
            return self._record_late(row)

    def _record_late(self, row: dict[str, Any]) -> bool:
        same = [responses.c[name] == row[name] for name in ("audit_id", "index", "repeat")]
        with self._writing() as connection:
            stored = sa.select(responses).where(*same).order_by(responses.c.attempt.desc())
            there = [dict(found) for found in connection.execute(stored).mappings()]
            if any(all(found[name] == value for name, value in row.items()) for found in there):
                return True  # this very answer: the database went away just after it had stored it
            if there and (row["failure"] is not None or there[0]["failure"] is None):
                return False
            attempt = (
                there[0]["attempt"] + 1 if there else row["attempt"]
            )  # none there: it is refused again, and raises
            connection.execute(responses.insert().values(**row | {"attempt": attempt}))
            self._answered_again(connection, row["audit_id"])
        return True

    @patient
    def record_all(self, audit_id: int, answers: Sequence[Response]) -> None:
        """Store many answers in one transaction."""
        if not answers:
            return
        try:
            with self._writing() as connection:
                connection.execute(responses.insert(), [rows.response_row(audit_id, answer) for answer in answers])
        except sa.exc.IntegrityError:  # all are there when the database went away just after it had stored them
            if not all(self.record(audit_id, answer) for answer in answers):
                raise

    def requests(self, audit_id: int) -> list[Request]:
        """The sealed work list, in order."""
        contents = {
            row["hash"]: tuple(row["content"])
            for row in self._all(
                sa.select(messages).where(
                    messages.c.hash.in_(sa.select(requests.c.messages_hash).where(requests.c.audit_id == audit_id))
                )
            )
        }
        query = sa.select(requests).where(requests.c.audit_id == audit_id).order_by(requests.c.index, requests.c.repeat)
        return request_values(self._all(query), contents)

    def responses(self, audit_id: int) -> list[Response]:
        """The answer that counts for each request: its latest attempt. Earlier ones stay in the ledger."""
        return [rows.response_from_row(row) for row in self._latest(audit_id, *responses.c)]

    def _latest(self, audit_id: int, *columns: sa.Column[Any]) -> list[dict[str, Any]]:
        query = self._of_latest(audit_id, *columns)
        return self._all(query.order_by(responses.c.index, responses.c.repeat))

    def _of_latest(self, audit_id: int, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
        """A query of the latest attempt of each request."""
        latest = (
            sa.select(responses.c.index, responses.c.repeat, sa.func.max(responses.c.attempt).label("attempt"))
            .where(responses.c.audit_id == audit_id)
            .group_by(responses.c.index, responses.c.repeat)
            .subquery()
        )
        same = [responses.c[name] == latest.c[name] for name in ("index", "repeat", "attempt")]
        query = sa.select(*columns).select_from(responses).join(latest, sa.and_(*same))
        return query.where(responses.c.audit_id == audit_id)

    def answer_counts(self, audit_id: int) -> AnswerCounts:
        """How many requests of an audit have an answer or a recorded failure, and how many an answer, by the latest attempt."""
        good = sa.func.coalesce(sa.func.sum(sa.case((responses.c.failure.is_(None), 1), else_=0)), 0)
        counted = self._of_latest(audit_id, sa.func.count().label("put"), good.label("given"))
        (row,) = self._all(counted)
        return AnswerCounts(put=int(row["put"]), given=int(row["given"]))

    def last_failure(self, audit_id: int) -> str:
        """What the last call of an audit that failed came back with; empty when none failed."""
        column = responses.c
        query = sa.select(column.detail).where(column.audit_id == audit_id, column.failure.is_not(None))
        rows = self._all(query.order_by(column.index.desc(), column.repeat.desc(), column.attempt.desc()).limit(1))
        return str(rows[0]["detail"]) if rows else ""

    @patient
    def progress(self, audit_id: int) -> tuple[int, int]:
        """Requests that have an answer or a recorded failure, and requests in all."""
        answered = sa.select(responses.c.index, responses.c.repeat).where(responses.c.audit_id == audit_id).distinct()
        with self._reading() as connection:
            done = connection.execute(sa.select(sa.func.count()).select_from(answered.subquery())).scalar_one()
            total = connection.execute(
                sa.select(sa.func.count()).select_from(requests).where(requests.c.audit_id == audit_id)
            ).scalar_one()
        return done, total
