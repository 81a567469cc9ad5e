"""The outbox to MLflow: what waits to be published, what was, and what went wrong.

A row is made in the same transaction as what it is about, so that nothing can be stored and forgotten. Losing MLflow loses
nothing: everything is published again from the ledger.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from registry.audits.plan import content_hash
from registry.ledger.connection import LedgerConnection, insert_new
from registry.ledger.leases import later
from registry.ledger.service_tables import publications as table
from registry.ledger.tables import audits, comparisons, facts

Kind = Literal["audit", "comparison", "timeline", "card", "alias"]

IN_ORDER: tuple[Kind, ...] = ("audit", "comparison", "timeline", "card", "alias")
"""Audits come before the comparisons that name them, and both before the timeline and the card that show them."""

FIRST_WAIT_S = 30.0
LONGEST_WAIT_S = 6 * 3600.0
_DETAIL = 400


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One thing that MLflow is to show.

    Parameters
    ----------
    kind : ``audit``, ``comparison``, ``timeline``, ``card``, or ``alias`` (of a blessed release)
    subject : id of the audit or comparison; 0 for what a family has one of
    content : what is to be published; when it changes, the row waits again
    state : ``waiting`` or ``done``
    attempts, next_at, detail : failures so far, when it is tried again, and the last failure in words
    """

    id: int
    kind: Kind
    family: str
    protocol: str
    subject: int
    content: str
    state: str
    attempts: int
    next_at: str
    detail: str
    made_at: str


class Publications(LedgerConnection):
    """Reads and writes of the outbox."""

    def _publish_later(
        self, connection: Connection, kind: Kind, family: str, protocol: str, subject: int, content: str, now: str
    ) -> None:
        """Put a thing into the outbox, inside the transaction that stores it; one that is there waits again if it changed."""
        key = {"kind": kind, "family": family, "protocol": protocol, "subject": subject}
        fresh = {"content": content, "state": "waiting", "attempts": 0, "next_at": now, "detail": ""}
        row = insert_new(connection, table).values(**key, **fresh, made_at=now)
        changed = table.c.content != row.excluded.content
        connection.execute(row.on_conflict_do_update(index_elements=list(key), set_=fresh, where=changed))

    def _publish_audit_later(self, connection: Connection, audit_id: int, content: str, now: str | None = None) -> None:
        """The same for an audit, with the timeline and the card that show it."""
        now = now or self._now(connection)
        place = sa.select(audits.c.family, audits.c.protocol).where(audits.c.id == audit_id)
        family, protocol = connection.execute(place).one()
        self._publish_later(connection, "audit", family, protocol, audit_id, content, now)
        for kind in ("timeline", "card"):
            self._publish_later(connection, kind, family, protocol, 0, content_hash([audit_id, content]), now)

    def _publish_comparison_later(
        self,
        connection: Connection,
        comparison_id: int,
        family: str,
        protocol: str,
        content: str,
        now: str | None = None,
    ) -> None:
        """The same for a comparison, with the card that shows it."""
        now = now or self._now(connection)
        self._publish_later(connection, "comparison", family, protocol, comparison_id, content, now)
        shown = content_hash([comparison_id, content, "compared"])
        self._publish_later(connection, "card", family, protocol, 0, shown, now)

    def publish_audit_later(self, audit_id: int, content: str) -> None:
        """Let an audit wait again when something about it changed that its scores do not say, such as a check."""
        with self._writing() as connection:
            self._publish_audit_later(connection, audit_id, content)

    def waiting_publications(self, family: str | None = None, *, due: bool = False) -> list[Publication]:
        """What waits, in the order in which it is published: by family, then audits first, then the oldest.

        ``due`` leaves out what failed a short while ago.
        """
        conditions = [table.c.state == "waiting"]
        if family is not None:
            conditions.append(table.c.family == family)
        if due:
            conditions.append(table.c.next_at <= self.moment())
        found = [Publication(**row) for row in self._all(sa.select(table).where(*conditions))]
        return sorted(found, key=lambda row: (row.family, IN_ORDER.index(row.kind), row.id))

    def publications(self, family: str | None = None) -> list[Publication]:
        """Every row of the outbox, the oldest first."""
        conditions = [table.c.family == family] if family is not None else []
        return [Publication(**row) for row in self._all(sa.select(table).where(*conditions).order_by(table.c.id))]

    def has_publications(self, family: str | None = None) -> bool:
        """Whether anything was ever put into the outbox."""
        conditions = [table.c.family == family] if family is not None else []
        return bool(self._all(sa.select(table.c.id).where(*conditions).limit(1)))

    def newest_run(self) -> str | None:
        """The MLflow run of the audit that was published last."""
        query = sa.select(audits.c.run_id).where(audits.c.run_id.is_not(None)).order_by(audits.c.id.desc()).limit(1)
        found = self._all(query)
        return str(found[0]["run_id"]) if found else None

    def published(self, row: Publication, *, run_id: str | None = None, scoring_version: str | None = None) -> bool:
        """Remember that a thing is in MLflow, and in which run; False when it changed meanwhile and goes on waiting."""
        with self._writing() as connection:
            same = (table.c.id == row.id, table.c.content == row.content)
            done = {"state": "done", "detail": ""}
            unchanged = connection.execute(table.update().where(*same).values(**done)).rowcount == 1
            if row.kind == "audit":
                mine = (audits.c.id == row.subject, audits.c.scoring_version == scoring_version)
                connection.execute(audits.update().where(*mine).values(run_id=run_id))
            if row.kind == "comparison":
                connection.execute(comparisons.update().where(comparisons.c.id == row.subject).values(run_id=run_id))
        return unchanged

    def publication_failed(self, row: Publication, detail: str) -> None:
        """Count a failure, keep its reason, and let the row wait longer after each."""
        wait_s = min(FIRST_WAIT_S * 2.0 ** min(row.attempts, 20), LONGEST_WAIT_S)
        with self._writing() as connection:
            next_at = later(self._now(connection), wait_s)
            values = {"attempts": row.attempts + 1, "next_at": next_at, "detail": detail[:_DETAIL]}
            waiting = (table.c.id == row.id, table.c.state == "waiting", table.c.content == row.content)
            connection.execute(table.update().where(*waiting).values(**values))

    def adopt_publications(self) -> int:
        """Make the rows of what an older version stored without them; returns how many. What it published counts as done."""
        found = self._all(_without_row("audit", audits, audits.c.scoring_version.is_not(None)).limit(1))
        if not (found or self._all(_without_row("comparison", comparisons).limit(1))):
            return 0
        with self._writing() as connection:
            now = self._now(connection)
            of_audits = _without_row("audit", audits, audits.c.scoring_version.is_not(None))
            lost_audits = list(connection.execute(of_audits).mappings())
            lost_comparisons = list(connection.execute(_without_row("comparison", comparisons)).mappings())
            for row in lost_audits:
                self._publish_audit_later(connection, row["id"], row["scoring_version"], now)
            for row in lost_comparisons:
                content = row["scoring_version"]
                self._publish_comparison_later(connection, row["id"], row["family"], row["protocol"], content, now)
            for kind, lost in (("audit", lost_audits), ("comparison", lost_comparisons)):
                known = [row["id"] for row in lost if row["run_id"] is not None]
                mine = (table.c.kind == kind, table.c.subject.in_(known))
                if known:
                    connection.execute(table.update().where(*mine).values(state="done"))
        return len(lost_audits) + len(lost_comparisons)

    def publish_again(self, family: str | None = None) -> int:
        """Let everything wait again, of one family or of all; returns how many rows. What is in MLflow is found there."""
        with self._writing() as connection:
            return self._publish_again(connection, family)

    def _publish_again(self, connection: Connection, family: str | None = None) -> int:
        def of(place: sa.Table) -> list[sa.ColumnElement[bool]]:
            return [place.c.family == family] if family is not None else []

        fresh = {"state": "waiting", "attempts": 0, "next_at": self._now(connection), "detail": ""}
        connection.execute(audits.update().where(*of(audits)).values(run_id=None))
        connection.execute(comparisons.update().where(*of(comparisons)).values(run_id=None))
        return connection.execute(table.update().where(*of(table)).values(**fresh)).rowcount

    def draw_again(self, family: str) -> None:
        """Let every timeline of a family wait again: MLflow's run of it is about to be taken away and drawn anew."""
        with self._writing() as connection:
            mine = (table.c.family == family, table.c.kind == "timeline")
            connection.execute(table.update().where(*mine).values(state="waiting", next_at=self._now(connection)))

    def publish_to(self, store: str) -> bool:
        """Say where results are published to from now on; when it is another store, nothing counts as published there.

        Returns whether it is another one than before.
        """
        mine = facts.c.name == "published_to"
        with self._writing() as connection:
            connection.execute(
                insert_new(connection, facts).values(name="published_to", value=store).on_conflict_do_nothing()
            )
            if connection.execute(sa.select(facts.c.value).where(mine)).scalar_one() == store:
                return False
            connection.execute(facts.update().where(mine).values(value=store))
            self._publish_again(connection)
        return True


def _without_row(kind: Kind, place: sa.Table, *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    # Every column of the unique index: SQLite, which has no statistics, would look through all rows of a kind for each.
    same = [table.c[name] == place.c[name] for name in ("family", "protocol")]
    there = sa.exists().where(table.c.kind == kind, *same, table.c.subject == place.c.id)
    names = ("id", "family", "protocol", "scoring_version", "run_id")
    return sa.select(*(place.c[name] for name in names)).where(~there, *conditions).order_by(place.c.id)
