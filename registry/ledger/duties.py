"""Duties in the ledger: what is due again and again, and each run of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from registry.audits.plan import content_hash
from registry.ledger.connection import LedgerConnection, insert_new, patient
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner
from registry.ledger.service_tables import duties, duty_runs
from registry.ledger.tables import audits, responses

DUE, RUNNING, DONE, OPEN, FAILED, SKIPPED, REFUSED = "due", "running", "done", "open", "failed", "skipped", "refused"
SCHEDULED, CATCH_UP, VERSION, REFERENCE = "scheduled", "catch-up", "version", "reference"
BY_THE_CLOCK = (SCHEDULED, CATCH_UP)
NOT_DECLARED = "not declared any more"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredDuty:
    """A duty as declared. ``since``: when it was declared, or its times changed; nothing was due before."""

    name: str
    family: str
    protocol: str
    definition: Mapping[str, Any]
    since: str = ""
    ended_at: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DutyRun:
    """One run of a duty, or the record that there was none.

    Parameters
    ----------
    slot : the time or version it is for; a duty has one run for each
    kind : scheduled, catch-up (late, or in place of missed ones), version (a new one), reference (before that)
    state : due, running, done, open (to be continued), failed, skipped, refused
    release : as resolved when it began; verdict : of its audit, when there is one
    flow_run : what it was handed to; next_at : when it is handed out, or tried, again
    late_s : seconds between the time it was due and its first beginning; why : what happened, in words
    """

    id: int
    duty: str
    slot: str
    due_at: str
    kind: str
    state: str
    release: str | None
    audit_id: int | None
    verdict: str | None
    holder: str | None
    flow_run: str | None
    attempts: int
    next_at: str | None
    made_at: str
    began_at: str | None
    ended_at: str | None
    late_s: float
    why: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Names of duties that were added, whose definition or times changed, and that ended."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRun:
    """A run that is to be made; ``state`` is skipped for one that is only recorded."""

    duty: str
    slot: str
    due_at: str
    kind: str
    state: str = DUE
    release: str | None = None
    why: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DutyHistory:
    """What is known of a duty's runs at a glance: the newest by the clock, done, running, and of all."""

    reached: str | None = None  # the newest time by the clock of which there is any record
    newest: DutyRun | None = None
    done: DutyRun | None = None
    running: DutyRun | None = None


NOTHING_YET = DutyHistory()


@dataclasses.dataclass(frozen=True, slots=True)
class AuditUsage:
    """What an audit took: size, tokens as the provider counted them, and the prices its release had; None is unknown."""

    size: int
    prompt_tokens: int | None
    completion_tokens: int | None
    price_input: float | None
    price_output: float | None


class Duties(LedgerConnection):
    """Duties and their runs."""

    @patient
    def declare_duties(self, declared: Iterable[StoredDuty], now: str) -> Reconciled:
        """Make the table say what is declared. What is unchanged stays as it is, the time since when included.

        A duty whose times changed, or that was declared again, begins anew; one whose size changed does not. What is not
        declared any more has no run that is due or would be tried again.
        """
        wanted = {duty.name: duty for duty in declared}
        with self._writing() as connection:
            known = {row["name"]: dict(row) for row in connection.execute(sa.select(duties)).mappings()}
            added, changed = [], []
            for name, duty in wanted.items():
                row = known.get(name)
                values: dict[str, Any] = {
                    "family": duty.family,
                    "protocol": duty.protocol,
                    "definition": dict(duty.definition),
                }
                if row is None:
                    self._insert_new(connection, duties, [{"name": name, "since": now, "ended_at": None, **values}])
                    added.append(name)
                elif row["ended_at"] is not None or any(row[field] != value for field, value in values.items()):
                    anew = row["ended_at"] is not None or row["definition"].get("clock") != values["definition"].get(
                        "clock"
                    )
                    values |= {"ended_at": None, "since": now if anew else row["since"]}
                    connection.execute(duties.update().where(duties.c.name == name).values(**values))
                    changed.append(name)
            ended = [name for name, row in known.items() if name not in wanted and row["ended_at"] is None]
            if ended:
                connection.execute(duties.update().where(duties.c.name.in_(ended)).values(ended_at=now))
            self._end_undeclared(connection, wanted)
        return Reconciled(added=tuple(added), changed=tuple(changed), ended=tuple(ended))

    def _end_undeclared(self, connection: Connection, declared: Collection[str]) -> None:
        """End what is due, or waits to be tried again, of duties that are not declared; what runs is left to end."""
        waits = sa.or_(duty_runs.c.state == DUE, duty_runs.c.next_at.is_not(None))
        waiting = sa.select(duty_runs).where(duty_runs.c.state.in_((DUE, OPEN, FAILED)), waits)
        for row in connection.execute(waiting).mappings().all():
            if row["duty"] in declared:
                continue
            values: dict[str, Any] = {"next_at": None, "why": _also(row["why"], NOT_DECLARED)}
            if row["state"] == DUE:
                state = SKIPPED if row["audit_id"] is None else OPEN
                values |= {"state": state, "ended_at": self.clock()}
            connection.execute(duty_runs.update().where(duty_runs.c.id == row["id"]).values(**values))

    def duties(self, *, family: str | None = None) -> list[StoredDuty]:
        """The duties that are declared now, by name."""
        conditions = [duties.c.ended_at.is_(None)] + ([duties.c.family == family] if family is not None else [])
        return [StoredDuty(**row) for row in self._all(sa.select(duties).where(*conditions).order_by(duties.c.name))]

    def duty(self, name: str) -> StoredDuty:
        """A duty by name, also one that ended."""
        found = self._all(sa.select(duties).where(duties.c.name == name))
        if not found:
            raise LedgerError(f"the ledger has no duty {name!r}; 'spiritlevel schedule' lists them")
        return StoredDuty(**found[0])

    # Runs -------------------------------------------------------------------------------------------------------

    @patient
    def queue_runs(self, queued: Sequence[QueuedRun]) -> int:
        """Record runs that are due, or skipped; a slot that has one keeps it. Returns how many are new."""
        if not queued:
            return 0
        with self._writing() as connection:
            return self._insert_new(connection, duty_runs, [self._new_run(run) for run in queued])

    def _new_run(self, run: QueuedRun) -> dict[str, Any]:
        now = self.clock()
        ended = None if run.state == DUE else now
        return {"attempts": 0, "late_s": 0.0, "made_at": now, "ended_at": ended, **dataclasses.asdict(run)}

    @patient
    def claim_run(self, run_id: int, owner: Owner, *, late_s: float = 0.0, why: str = "") -> DutyRun | None:
        """Take a run that is due; None when it is not (any more). Of several processes one gets it."""
        begun = {"state": RUNNING, "holder": owner.id, "began_at": self.clock(), "ended_at": None, "next_at": None}
        first = sa.case((duty_runs.c.attempts == 0, late_s), else_=duty_runs.c.late_s)
        changes = begun | {"attempts": duty_runs.c.attempts + 1, "late_s": first, "verdict": None}
        return self._changed(run_id, (duty_runs.c.state == DUE,), why, **changes)

    @patient
    def occupy(self, run_id: int, release: str, protocol: str) -> DutyRun | None:
        """Note which release a running run audits, and keep others from it; the run that has it, when one has."""
        busy = content_hash([release, protocol])
        try:
            with self._writing() as connection:
                mine = duty_runs.update().where(duty_runs.c.id == run_id)
                connection.execute(mine.values(release=release, busy=busy))
            return None
        except sa.exc.IntegrityError:
            found = self._all(sa.select(duty_runs).where(duty_runs.c.busy == busy))
        return _run(found[0]) if found else self.occupy(run_id, release, protocol)  # none: it ended just now

    @patient
    def note_audit(self, run_id: int, audit_id: int) -> None:
        """Note which audit a run makes, so that whoever takes over goes on with it."""
        with self._writing() as connection:
            connection.execute(duty_runs.update().where(duty_runs.c.id == run_id).values(audit_id=audit_id))

    @patient
    def end_run(
        self,
        run_id: int,
        state: str,
        why: str = "",
        audit_id: int | None = None,
        *,
        verdict: str | None = None,
        next_at: str | None = None,
        owner: Owner | None = None,
    ) -> DutyRun | None:
        """End a running run; None when it is not running, or not by ``owner`` any more: another took it over."""
        mine = () if owner is None else (duty_runs.c.holder == owner.id,)
        changes: dict[str, Any] = {"state": state, "ended_at": self.clock(), "verdict": verdict, "next_at": next_at}
        changes |= {"holder": None, "busy": None} | ({} if audit_id is None else {"audit_id": audit_id})
        return self._changed(run_id, (duty_runs.c.state == RUNNING, *mine), why, **changes)

    @patient
    def requeue_run(
        self, run_id: int, why: str = "", *, next_at: str | None = None, unbegun: bool = False
    ) -> DutyRun | None:
        """Make a run due again that is running (its process died) or to be tried again; its audit stays its audit.

        ``unbegun`` : it only waited for another, which is no attempt
        """
        changes: dict[str, Any] = {"attempts": duty_runs.c.attempts - 1} if unbegun else {}
        changes |= {"state": DUE, "holder": None, "busy": None, "flow_run": None, "next_at": next_at, "ended_at": None}
        return self._changed(run_id, (duty_runs.c.state.in_((RUNNING, OPEN, FAILED)),), why, **changes)

    @patient
    def drop_run(self, run_id: int, state: str, why: str) -> DutyRun | None:
        """Give up a run that is due and was not begun: skipped or refused."""
        changes = {"state": state, "ended_at": self.clock(), "next_at": None}
        return self._changed(run_id, (duty_runs.c.state == DUE,), why, **changes)

    @patient
    def hand_out(self, run_id: int, again_at: str, *, now: str | None, flow_run: str | None = None) -> bool:
        """Note that a due run is handed out, and when it may be handed out again if nothing comes of it.

        ``now`` : hand it out only when that time is over; of two processes one does. None changes it in any case.
        """
        same = [duty_runs.c.id == run_id, duty_runs.c.state == DUE]
        if now is not None:
            same.append(sa.or_(duty_runs.c.next_at.is_(None), duty_runs.c.next_at <= now))
        values = {"next_at": again_at} | ({} if flow_run is None else {"flow_run": flow_run})
        with self._writing() as connection:
            return connection.execute(duty_runs.update().where(*same).values(**values)).rowcount == 1

    @patient
    def try_no_more(self, run_ids: Sequence[int], why: str) -> None:
        """Leave open or failed runs as they are: another stands for them, or they were tried often enough."""
        for run_id in run_ids:
            self._changed(run_id, (duty_runs.c.state.in_((OPEN, FAILED)),), why, next_at=None)

    def _changed(
        self, run_id: int, conditions: tuple[sa.ColumnElement[bool], ...], why: str, **values: Any
    ) -> DutyRun | None:
        """Change a run when the conditions hold; ``why`` is added to what it says already."""
        with self._writing() as connection:
            said = connection.execute(sa.select(duty_runs.c.why).where(duty_runs.c.id == run_id)).scalar_one_or_none()
            update = duty_runs.update().where(duty_runs.c.id == run_id, *conditions)
            if connection.execute(update.values(why=_also(said or "", why), **values)).rowcount != 1:
                return None
        return self.run(run_id)

    def run(self, run_id: int) -> DutyRun:
        found = self._all(sa.select(duty_runs).where(duty_runs.c.id == run_id))
        if not found:
            raise LedgerError(f"the ledger has no run {run_id} of a duty")
        return _run(found[0])

    def run_of(self, duty: str, slot: str) -> DutyRun | None:
        found = self._all(sa.select(duty_runs).where(duty_runs.c.duty == duty, duty_runs.c.slot == slot))
        return _run(found[0]) if found else None

    def runs(
        self,
        duty: str | None = None,
        *,
        states: Sequence[str] = (),
        newest: int | None = None,
    ) -> list[DutyRun]:
        """Runs that match, oldest first; of many only the ``newest``."""
        conditions = [duty_runs.c.duty == duty] if duty is not None else []
        conditions += [duty_runs.c.state.in_(states)] if states else []
        query = sa.select(duty_runs).where(*conditions).order_by(duty_runs.c.id.desc()).limit(newest)
        return [_run(row) for row in reversed(self._all(query))]

    def duty_histories(self) -> dict[str, DutyHistory]:
        """What is known of every duty's runs, from one grouped look at the table."""
        groups = self._all(
            sa.select(
                duty_runs.c.duty,
                duty_runs.c.state,
                sa.func.max(duty_runs.c.id).label("id"),
                sa.func.max(sa.case((duty_runs.c.kind.in_(BY_THE_CLOCK), duty_runs.c.due_at))).label("reached"),
            ).group_by(duty_runs.c.duty, duty_runs.c.state)
        )
        wanted = [row["id"] for row in groups if row["state"] != SKIPPED]
        runs = {run.id: run for run in self._runs_by_id(wanted)}
        by_duty: dict[str, list[dict[str, Any]]] = {}
        for row in groups:
            by_duty.setdefault(row["duty"], []).append(row)
        return {name: _history(rows, runs) for name, rows in by_duty.items()}

    def audit_usages(self, audit_ids: Sequence[int]) -> dict[int, AuditUsage]:
        """What some audits took, by id; from two grouped looks at the tables."""
        found: dict[int, AuditUsage] = {}
        for start in range(0, len(audit_ids), 500):
            ids = audit_ids[start : start + 500]
            counted = (
                sa.select(
                    responses.c.audit_id,
                    sa.func.sum(responses.c.prompt_tokens).label("prompt"),
                    sa.func.sum(responses.c.completion_tokens).label("completion"),
                )
                .where(responses.c.audit_id.in_(ids))
                .group_by(responses.c.audit_id)
            )
            tokens = {row["audit_id"]: (row["prompt"], row["completion"]) for row in self._all(counted)}
            size = audits.c.plan["size"].as_integer().label("size")
            for row in self._all(sa.select(audits.c.id, audits.c.release, size).where(audits.c.id.in_(ids))):
                prompt, completion = tokens.get(row["id"], (None, None))
                prices = (row["release"].get("price_input"), row["release"].get("price_output"))
                found[row["id"]] = AuditUsage(row["size"], prompt, completion, *prices)
        return found

    def _runs_by_id(self, ids: Sequence[int]) -> list[DutyRun]:
        found: list[DutyRun] = []
        for start in range(0, len(ids), 500):  # databases bound how many values one query may hold
            query = sa.select(duty_runs).where(duty_runs.c.id.in_(ids[start : start + 500]))
            found += [_run(row) for row in self._all(query)]
        return found

    def _insert_new(self, connection: Connection, table: sa.Table, values: Sequence[dict[str, Any]]) -> int:
        """Insert rows whose key is not there yet; returns how many were."""
        made = insert_new(connection, table).on_conflict_do_nothing().returning(sa.literal(1))
        return sum(len(connection.execute(made.values(**row)).all()) for row in values)


def _also(said: str, why: str) -> str:
    """What a run says with one thing more; the same trouble again needs no second line."""
    return said if why in said else "; ".join(one for one in (said, why) if one)


def _run(row: Mapping[str, Any]) -> DutyRun:
    return DutyRun(**{name: value for name, value in row.items() if name != "busy"})


def _history(rows: Sequence[Mapping[str, Any]], runs: Mapping[int, DutyRun]) -> DutyHistory:
    newest_of = {row["state"]: runs.get(row["id"]) for row in rows}
    begun = [run for run in newest_of.values() if run is not None and (run.state != DUE or run.attempts)]
    return DutyHistory(
        reached=max((row["reached"] for row in rows if row["reached"]), default=None),
        newest=max(begun, key=lambda run: run.id, default=None),
        done=newest_of.get(DONE),
        running=newest_of.get(RUNNING),
    )
