"""Incidents and their notices: one open incident per finding, and an outbox of what channels have yet to be told.

A change of an incident and the notices about it are one transaction: a process that dies leaves both or neither. Of two
processes that do the same thing, one does it. A notice is claimed before it is sent, so two processes never send it
both; one whose sender died is sent again after its claim ran out, under the same number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from metrics.errors import BadInputError
from registry.ledger.connection import LedgerConnection, patient
from registry.ledger.leases import later
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner
from registry.ledger.service_tables import incidents as table
from registry.ledger.service_tables import notices as outbox

UNCONFIRMED, OPEN, ACKNOWLEDGED = "unconfirmed", "open", "acknowledged"
RECOVERED, WITHDRAWN, CLOSED = "recovered", "withdrawn", "closed"
LIVE = (UNCONFIRMED, OPEN, ACKNOWLEDGED)
WAITING, SENDING, SENT, DROPPED, DEAD = "waiting", "sending", "sent", "dropped", "dead"
CLAIM_S = 120.0  # longer than any channel may take
_LONGEST_KEY = 250
_LONGEST = 2_000
_LARGEST_ID = 2**31 - 1  # databases refuse to look for what their column cannot hold


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A finding that somebody should know of, from its opening to its end.

    Parameters
    ----------
    key : the same for the same finding; only one incident of a key is open
    state : ``unconfirmed`` (waits for a second sample, nobody was told), ``open``, ``acknowledged``; or ended:
        ``recovered``, ``withdrawn`` (a second sample did not show it), ``closed`` (was told once and needs nothing)
    audit : that found it; seen_audit : the newest that said anything about it; reference_audit : what it was compared
        with; replicate_audit : the second sample
    evidence : what moved, by how much, how sure, as plain values
    noticed_at : when the last notice was made; notices : how many
    """

    id: int
    key: str
    kind: str
    family: str
    version: int | None
    protocol: str
    severity: str
    state: str
    title: str
    why: str
    evidence: Mapping[str, Any]
    audit: int | None
    seen_audit: int | None
    reference_audit: int | None
    replicate_audit: int | None
    opened_at: str
    changed_at: str
    noticed_at: str | None
    notices: int
    acknowledged_by: str | None
    acknowledged_why: str | None
    acknowledged_at: str | None
    ended_at: str | None

    @property
    def live(self) -> bool:
        """Whether it has not ended."""
        return self.state in LIVE

    @property
    def release(self) -> str:
        """The release it is about, or its family, or nothing when it is about no single family."""
        if self.version is None:
            return self.family
        return f"models:/{self.family}/{self.version}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One message to one channel about an incident; ``event`` is ``opened``, ``again`` or ``recovered``."""

    id: int
    incident: int
    event: str
    sequence: int
    channel: str
    message: Mapping[str, Any]
    state: str
    holder: str | None
    attempts: int
    next_at: str
    detail: str
    made_at: str
    sent_at: str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """What to tell and whom: becomes one notice a channel."""

    event: str
    channels: tuple[str, ...]
    message: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What an incident opens with; the key of one that opens ``closed``, which is told once, is never opened again."""

    key: str
    kind: str
    family: str
    version: int | None
    protocol: str
    severity: str
    title: str
    why: str
    evidence: Mapping[str, Any]
    audit: int | None
    reference_audit: int | None
    state: str = OPEN


class Incidents(LedgerConnection):
    """Reads and writes of incidents and notices. Times are given by the caller, so that all parts of a step agree."""

    @patient
    def open_incident(self, opening: Opening, *, now: str, notify: Notification | None = None) -> tuple[Incident, bool]:
        """The open incident of a key, and whether this call opened it; another's is taken when it came first."""
        if len(opening.key) > _LONGEST_KEY:
            raise ValueError(f"an incident's key has at most {_LONGEST_KEY} characters, got {len(opening.key)}")
        values = {
            **{name: getattr(opening, name) for name in ("key", "kind", "family", "version", "protocol", "severity")},
            **{name: getattr(opening, name) for name in ("title", "why", "state")},
            "evidence": dict(opening.evidence),
            "audit_id": opening.audit,
            "seen_audit_id": opening.audit,
            "reference_audit_id": opening.reference_audit,
            "open_key": opening.key,
            "opened_at": now,
            "changed_at": now,
            "ended_at": now if opening.state not in LIVE else None,
            "notices": 0,
        }
        try:
            with self._writing() as connection:
                made = connection.execute(table.insert().values(**values).returning(table.c.id)).scalar_one()
                self._notify(connection, made, notify, now)
            return self.incident(made), True
        except sa.exc.IntegrityError:
            found = self._incidents(table.c.key == opening.key)
            if not found:
                raise
            return found[-1], False

    @patient
    def see_incident(self, incident: Incident, *, now: str, audit: int | None, **said: Any) -> Incident:
        """Say again what a live incident shows (``title``, ``why``, ``evidence``); tells nobody."""
        if not said.keys() <= {"title", "why", "evidence"}:
            raise ValueError(f"an incident seen again does not change its {', '.join(sorted(said))}")
        values = dict(said)
        if audit is not None and audit > (incident.seen_audit or 0):
            values["seen_audit_id"] = audit
        if all(getattr(incident, name.removesuffix("_id")) == value for name, value in values.items()):
            return incident
        with self._writing() as connection:
            connection.execute(
                table.update()
                .where(table.c.id == incident.id, table.c.state.in_(LIVE))
                .values(**values, changed_at=now)
            )
        return self.incident(incident.id)

    @patient
    def move_incident(
        self,
        incident_id: int,
        to: str,
        *,
        among: Collection[str],
        now: str,
        notify: Notification | None = None,
        **values: Any,
    ) -> bool:
        """Change the state of an incident that is in one of ``among``; False when another process was faster.

        An ended incident sets its key free, and what of it waits to be sent is dropped: it is no longer true.
        """
        given = {
            {"seen_audit": "seen_audit_id", "replicate_audit": "replicate_audit_id"}.get(k, k): v
            for k, v in values.items()
        }
        if to not in LIVE:
            given |= {"open_key": None, "ended_at": now}
        with self._writing() as connection:
            moved = connection.execute(
                table.update()
                .where(table.c.id == incident_id, table.c.state.in_(list(among)))
                .values(**given, state=to, changed_at=now)
            )
            if moved.rowcount != 1:
                return False
            if to not in LIVE:
                connection.execute(
                    outbox.update()
                    .where(outbox.c.incident_id == incident_id, outbox.c.state == WAITING)
                    .values(state=DROPPED, detail=f"not sent: the incident {to} before")
                )
            self._notify(connection, incident_id, notify, now)
        return True

    def acknowledge(self, incident_id: int, *, who: str, why: str, now: str) -> Incident:
        """Say that somebody looks after an incident: it is not told again until it recovers.

        What somebody else had said before stays, in words.

        Raises
        ------
        BadInputError
            When it has ended or is not confirmed yet, or who or why is empty.
        """
        said = {"who": who.strip(), "why": why.strip()}
        for field, text in said.items():
            if not text or len(text) > _LONGEST or "\x00" in text or text.encode("utf-8", "replace").decode() != text:
                raise BadInputError(
                    f"an acknowledgement says {field} in readable words, 1 to {_LONGEST:,} characters; got {text[:100]!r}"
                )
        known = self.incident(incident_id)
        if known.acknowledged_by not in (None, said["who"]):
            said["why"] += f" (before: {known.acknowledged_by} at {known.acknowledged_at}: {known.acknowledged_why})"
        moved = self.move_incident(
            incident_id,
            ACKNOWLEDGED,
            among=(OPEN, ACKNOWLEDGED),
            now=now,
            acknowledged_by=said["who"],
            acknowledged_why=said["why"],
            acknowledged_at=now,
        )
        incident = self.incident(incident_id)
        if not moved:
            raise BadInputError(
                f"incident {incident_id} is {incident.state}; only one that is open can be acknowledged"
                + ("; a second sample confirms or withdraws it" if incident.state == UNCONFIRMED else "")
            )
        return incident

    @patient
    def remind(self, incident: Incident, *, now: str, notify: Notification) -> bool:
        """Tell of an open incident again; False when another process did, or somebody acknowledged it."""
        same: sa.ColumnElement[bool] = table.c.noticed_at == incident.noticed_at
        if incident.noticed_at is None:
            same = table.c.noticed_at.is_(None)
        with self._writing() as connection:
            mine = connection.execute(
                table.update().where(table.c.id == incident.id, table.c.state == OPEN, same).values(noticed_at=now)
            )
            if mine.rowcount != 1:
                return False
            self._notify(connection, incident.id, notify, now)
        return True

    def _notify(self, connection: Connection, incident_id: int, notify: Notification | None, now: str) -> None:
        if notify is None or not notify.channels:
            return
        number = connection.execute(
            table.update()
            .where(table.c.id == incident_id)
            .values(notices=table.c.notices + 1, noticed_at=now)
            .returning(table.c.notices)
        ).scalar_one()
        shared = {
            "incident_id": incident_id,
            "event": notify.event,
            "sequence": number,
            "message": dict(notify.message),
            "state": WAITING,
            "attempts": 0,
            "next_at": now,
            "detail": "",
            "made_at": now,
        }
        connection.execute(outbox.insert(), [{**shared, "channel": channel} for channel in notify.channels])

    # Reading ----------------------------------------------------------------------------------------------------

    def incident(self, incident_id: int) -> Incident:
        found = self._incidents(table.c.id == incident_id) if 0 < incident_id <= _LARGEST_ID else []
        if not found:
            raise LedgerError(f"there is no incident {incident_id}; 'spiritlevel alerts list --all' shows them")
        return found[0]

    def incidents(
        self,
        *,
        states: Sequence[str] | None = None,
        family: str | None = None,
        protocol: str | None = None,
        kind: str | None = None,
        key: str | None = None,
    ) -> list[Incident]:
        """Incidents that match, oldest first."""
        wanted = {"family": family, "protocol": protocol, "kind": kind, "key": key}
        conditions = [table.c[name] == value for name, value in wanted.items() if value is not None]
        if states is not None:
            conditions.append(table.c.state.in_(list(states)))
        return self._incidents(*conditions)

    def _incidents(self, *conditions: sa.ColumnElement[bool]) -> list[Incident]:
        query = sa.select(table).where(*conditions).order_by(table.c.id)
        return [
            Incident(**{k.removesuffix("_id") if k != "id" else k: v for k, v in row.items() if k != "open_key"})
            for row in self._all(query)
        ]

    def notices(self, *, incident: int | None = None, states: Sequence[str] | None = None) -> list[Notice]:
        """Notices that match, in the order in which they were made."""
        conditions = [] if incident is None else [outbox.c.incident_id == incident]
        if states is not None:
            conditions.append(outbox.c.state.in_(list(states)))
        return self._notices(sa.select(outbox).where(*conditions).order_by(outbox.c.id))

    def _notices(self, query: sa.Select[Any]) -> list[Notice]:
        return [
            Notice(**{name: value for name, value in row.items() if name != "incident_id"}, incident=row["incident_id"])
            for row in self._all(query)
        ]

    # Sending ----------------------------------------------------------------------------------------------------

    @patient
    def claim_notice(self, owner: Owner, *, now: str, besides: Collection[str] = ()) -> Notice | None:
        """The notice that is due for longest, taken for this process; None when nothing is due.

        ``besides`` : channels that are left alone.
        """
        due = (outbox.c.state.in_([WAITING, SENDING]), outbox.c.next_at <= now, outbox.c.channel.not_in(list(besides)))
        for notice in self._notices(sa.select(outbox).where(*due).order_by(outbox.c.next_at, outbox.c.id).limit(20)):
            same = (
                outbox.c.id == notice.id,
                outbox.c.state == notice.state,
                outbox.c.next_at == notice.next_at,
                outbox.c.attempts == notice.attempts,
            )
            taken: dict[str, Any] = {
                "state": SENDING,
                "holder": owner.id,
                "next_at": later(now, CLAIM_S),
                "attempts": notice.attempts + 1,
            }
            with self._writing() as connection:
                mine = connection.execute(outbox.update().where(*same).values(**taken)).rowcount == 1
            if mine:
                return dataclasses.replace(notice, **taken)
        return None

    def notice_sent(self, notice: Notice, *, now: str, detail: str) -> bool:
        """Write down that a claimed notice was delivered; False when the claim was lost meanwhile."""
        return self._settled(notice, state=SENT, sent_at=now, detail=detail)

    def notice_failed(self, notice: Notice, *, next_at: str, detail: str, dead: bool) -> bool:
        """Put a claimed notice back until its next try, or for ever when it is ``dead``."""
        return self._settled(notice, state=DEAD if dead else WAITING, next_at=next_at, detail=detail)

    def notice_deferred(self, notice: Notice, *, next_at: str, detail: str) -> bool:
        """Put a claimed notice back that was not tried: it was not its time."""
        return self._settled(notice, state=WAITING, next_at=next_at, detail=detail, attempts=notice.attempts - 1)

    @patient
    def _settled(self, notice: Notice, **values: Any) -> bool:
        mine = (outbox.c.id == notice.id, outbox.c.state == SENDING, outbox.c.holder == notice.holder)
        with self._writing() as connection:
            done = connection.execute(
                outbox.update().where(*mine, outbox.c.attempts == notice.attempts).values(**values, holder=None)
            )
        return done.rowcount == 1

    def hasten_notices(self, *, now: str, dead: bool = False) -> int:
        """Make everything that waits due now, with ``dead`` also what was given up; returns how many."""
        states = [WAITING, DEAD] if dead else [WAITING]
        with self._writing() as connection:
            found = connection.execute(
                outbox.update().where(outbox.c.state.in_(states)).values(state=WAITING, next_at=now)
            )
        return int(found.rowcount)
