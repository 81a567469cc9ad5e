"""The duty clock: one look at what is due, what was missed, who died, and what nobody did. Repeatable at any time.

A look (`swept`) makes the ledger's rows agree with the configuration and the time, and hands out the runs that are due. Every
step is one transaction on a row with a unique slot, so it may be killed anywhere and done again, by this or another process.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from collections.abc import Callable

from flows.arrivals import arrivals, reference_first
from flows.duties import Duty, Slot, duties_of, newest_slots
from flows.duty_runs import held
from flows.overdue import unmet
from flows.service_settings import ServiceSettings
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.ledger import duties as states
from registry.ledger.connection import moment_text
from registry.ledger.duties import NOTHING_YET, DutyHistory, DutyRun, QueuedRun, Reconciled, StoredDuty
from registry.ledger.leases import later
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner
from registry.ledger.store import Ledger
from registry.releases import UnknownReleaseError

Start = Callable[[Workspace, DutyRun], str | None]
MOST_SKIPS = 200  # missed slots with a record of their own; older ones are counted
HANDING_S = 300.0  # a run that was handed out and not taken is handed out again: this long after nobody took it,
HAND_OUT_AGAIN_S = 3600.0  # and this long after somebody said that he would


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A duty that is due: its newest slot, and the older ones that passed without a run.

    Parameters
    ----------
    kind : ``catch-up`` when others were missed or this one is later than its grace, else ``scheduled``
    missed : the newest of the missed slots, oldest first; older : how many more there were before
    """

    duty: Duty
    slot: Slot
    kind: str
    missed: tuple[Slot, ...] = ()
    older: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What a look of the duty clock did.

    Parameters
    ----------
    busy : another process was looking just then, and only the runs that are due were handed out
    reconciled : duties that the configuration added, changed or ended
    revived : runs whose process died; queued : that became due; missed : slots recorded as skipped; refused : because
        the one before was still running; again : open or failed ones that are tried again
    arrived : new versions; started : runs that were handed out; overdue : duties
    trouble : what could not be done now, in words
    """

    busy: bool = False
    reconciled: Reconciled = dataclasses.field(default_factory=Reconciled)
    revived: tuple[int, ...] = ()
    queued: int = 0
    missed: int = 0
    refused: int = 0
    again: int = 0
    arrived: tuple[str, ...] = ()
    started: tuple[int, ...] = ()
    overdue: tuple[str, ...] = ()
    trouble: tuple[str, ...] = ()


# ---------------------------------------------------------------- what is due


def due(settings: ServiceSettings, ledger: Ledger, now: dt.datetime) -> list[Due]:
    """The duties that are due and have no run for it, by name. Changes nothing."""
    histories = ledger.duty_histories()
    declared = {duty.name: duty for duty in duties_of(settings)}
    stored = [one for one in ledger.duties() if one.name in declared]
    found = (_due(declared[one.name], one, histories.get(one.name, NOTHING_YET), now) for one in stored)
    return [one for one in found if one is not None]


def _due(duty: Duty, stored: StoredDuty, history: DutyHistory, now: dt.datetime) -> Due | None:
    after = _moment(max(stored.since, history.reached or ""))
    newest, count = newest_slots(duty, after, now, MOST_SKIPS + 1)
    if not newest:
        return None
    *missed, slot = newest
    late = now - slot.at > duty.grace
    kind = states.CATCH_UP if missed or late else states.SCHEDULED
    return Due(duty=duty, slot=slot, kind=kind, missed=tuple(missed), older=count - len(newest))


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def reconciled(settings: ServiceSettings, ledger: Ledger, now: dt.datetime) -> Reconciled:
    """Make the ledger's duties those of the configuration; one that did not change is left alone."""
    declared = [
        StoredDuty(name=duty.name, family=duty.family, protocol=duty.protocol, definition=duty.as_json())
        for duty in duties_of(settings)
    ]
    return ledger.declare_duties(declared, moment_text(now))


def due_now(workspace: Workspace, name: str, now: dt.datetime) -> DutyRun | None:
    """The run of a duty that a scheduler woke for: of its newest slot, when nobody began that yet; else None.

    For schedules that another program keeps: whichever of it and the duty clock is first makes the row.
    """
    ledger = workspace.ledger
    stored = ledger.duty(name)
    duty = Duty.from_json(stored.name, stored.family, stored.definition)
    history = ledger.duty_histories().get(name, NOTHING_YET)
    if (found := _due(duty, stored, history, now)) is not None:
        _queued(ledger, found, history)
    # A new version's is the clock's to hand out: it may have to wait for its reference.
    waiting = [run for run in ledger.runs(name, states=(states.DUE,)) if run.kind in states.BY_THE_CLOCK]
    return waiting[-1] if waiting else None


# ---------------------------------------------------------------- one look


def swept(
    workspace: Workspace,
    now: dt.datetime,
    *,
    start: Start | None,
    owner: Owner | None = None,
    tell: Callable[[str], None] = lambda _: None,
    publish: bool = True,
) -> SweepReport:
    """One look of the duty clock.

    Parameters
    ----------
    start : takes a run that is due: performs it (`flows.duty_runs.performed`) and returns None, or hands it to somebody
        who will and returns a name for that; such a run is handed out again when nothing came of it for an hour.
        None hands nothing out: somebody looks for what is `startable` by himself
    tell : takes remarks
    publish : also empty the outbox to MLflow, which may take a minute; a service may do that beside the clock
    """
    owner = owner or Owner.this_process()
    with workspace.ledger.lease("sweep", owner) as renew:
        report = SweepReport(busy=True) if renew is None else _looked(workspace, now, owner, renew, tell)
    trouble = list(report.trouble)
    _attempted(lambda: _alerts_out(workspace, now), "alerts", trouble)
    due_runs = startable(workspace, now, trouble) if start is not None else []
    started = [run.id for run in due_runs if start is not None and _handed_out(workspace, run, now, start, trouble)]
    if publish:
        results_out(workspace, tell, trouble)
    return dataclasses.replace(report, started=tuple(started), trouble=tuple(trouble))


def _handed_out(workspace: Workspace, run: DutyRun, now: dt.datetime, start: Start, trouble: list[str]) -> bool:
    """Hand a run out, unless another process just did. When this one dies now, it is handed out again soon."""
    ledger, moment = workspace.ledger, moment_text(now)

    def hand() -> None:
        if (taken_by := start(workspace, run)) is not None:
            ledger.hand_out(run.id, later(moment, HAND_OUT_AGAIN_S), now=None, flow_run=taken_by)

    if not ledger.hand_out(run.id, later(moment, HANDING_S), now=moment):
        return False
    if _attempted(hand, f"{run.duty}, {run.slot}", trouble):
        return True
    ledger.hand_out(run.id, moment, now=None)
    return False


def startable(workspace: Workspace, now: dt.datetime, trouble: list[str]) -> list[DutyRun]:
    """Runs of declared duties that are due and may be handed out now, oldest first.

    A new version's waits for that of its reference; one whose version is not registered (any more) is ended.
    """
    moment = moment_text(now)
    declared = {duty.name for duty in workspace.ledger.duties()}
    found: dict[int, DutyRun] = {}
    for run in workspace.ledger.runs(states=(states.DUE,)):
        if run.duty not in declared or (run.next_at is not None and run.next_at > moment):
            continue
        first = [run]
        if run.kind == states.VERSION:
            first = []
            look = functools.partial(_first_of, workspace, run, first)
            _attempted(look, f"{run.duty}, {run.slot}", trouble)
        for one in first:
            if one.state == states.DUE and (one.next_at is None or one.next_at <= moment):
                found[one.id] = one
    return list(found.values())


def _first_of(workspace: Workspace, run: DutyRun, first: list[DutyRun]) -> None:
    """What is to be made first for a new version: its reference, or itself; nothing when it is not registered."""
    try:
        first += reference_first(workspace, run) or [run]
    except UnknownReleaseError as error:
        if workspace.releases.away:
            raise
        workspace.ledger.drop_run(run.id, states.SKIPPED, str(error))


def _looked(
    workspace: Workspace,
    now: dt.datetime,
    owner: Owner,
    renew: Callable[[], bool],
    tell: Callable[[str], None],
) -> SweepReport:
    """What only one process does at a time."""
    ledger, settings, trouble = workspace.ledger, workspace.home.service, list[str]()
    changed = Reconciled()
    if workspace.home.service_file.exists() or not ledger.duties():
        changed = reconciled(settings, ledger, now)
    else:  # a process that was started in the wrong place must not end what others do
        trouble.append(f"{workspace.home.service_file} is not there, so no duty was changed and none became due")
    revived = _revived(ledger, owner, tell)
    again = _tried_again(ledger, now)
    histories = ledger.duty_histories()
    queued = missed = refused = 0
    for one in due(settings, ledger, now):
        history = histories.get(one.duty.name, NOTHING_YET)
        _queued(ledger, one, history)
        missed += len(one.missed) + one.older
        refused += history.running is not None
        queued += history.running is None
    renew()
    found: list[str] = []
    _attempted(lambda: found.extend(arrivals(workspace, now)), "the look for new versions", trouble)
    renew()
    late: list[str] = []
    _attempted(lambda: late.extend(unmet(workspace, now)), "overdue audits", trouble)
    return SweepReport(
        reconciled=changed,
        revived=tuple(revived),
        queued=queued,
        missed=missed,
        refused=refused,
        again=again,
        arrived=tuple(found),
        overdue=tuple(late),
        trouble=tuple(trouble),
    )


def _queued(ledger: Ledger, one: Due, history: DutyHistory) -> None:
    """Write down the run that is due and the slots that had none. Missed ones first: the newest marks how far it is."""
    name = one.duty.name
    why = f"missed while nothing ran; the run for {one.slot.name} stands for it"
    rows = [
        QueuedRun(
            duty=name,
            slot=slot.name,
            due_at=moment_text(slot.at),
            kind=states.SCHEDULED,
            state=states.SKIPPED,
            why=f"{why}, and for {one.older:,} before it" if one.older and slot == one.missed[0] else why,
        )
        for slot in one.missed
    ]
    newest = QueuedRun(duty=name, slot=one.slot.name, due_at=moment_text(one.slot.at), kind=one.kind)
    if history.running is not None:
        audit = f"audit {history.running.audit_id}" if history.running.audit_id is not None else "the run before"
        why = f"{audit} of it is still running, for {history.running.slot}"
        newest = dataclasses.replace(newest, state=states.REFUSED, why=why)
    ledger.queue_runs([*rows, newest])
    if newest.state == states.DUE:
        _superseded(ledger, name, one.slot.name)


def _superseded(ledger: Ledger, duty: str, slot: str) -> None:
    """Older runs by the clock that wait or would be tried again: the new one stands for them, and goes on with their audit."""
    for run in ledger.runs(duty, states=(states.DUE, states.OPEN, states.FAILED)):
        if run.slot == slot or run.kind not in states.BY_THE_CLOCK:
            continue
        if run.state == states.DUE and run.audit_id is None:
            ledger.drop_run(run.id, states.SKIPPED, f"not begun in time; the run for {slot} stands for it")
        elif run.state == states.DUE:
            ledger.drop_run(run.id, states.OPEN, f"its audit goes on in the run for {slot}")
        elif run.next_at is not None:
            ledger.try_no_more([run.id], f"the run for {slot} stands for it")


def _revived(ledger: Ledger, owner: Owner, tell: Callable[[str], None]) -> list[int]:
    """Runs whose process died are due again, and go on with their audit."""
    reasons = {}
    for worker in ledger.dead_work(owner):
        if ledger.end_work(worker, worker.why):
            reasons[worker.audit_id] = f"its worker died ({worker.why})"
    found = []
    for run in ledger.runs(states=(states.RUNNING,)):
        with held(ledger, run.id, owner) as dead:
            why = reasons.get(run.audit_id or 0, "the process that performed it died")
            if dead and ledger.requeue_run(run.id, f"{why}; begun again") is not None:
                tell(f"{run.duty}, due {run.due_at}: {why}; it goes on from what is stored")
                found.append(run.id)
    return found


def _tried_again(ledger: Ledger, now: dt.datetime) -> int:
    """Open and failed runs whose pause is over are due again."""
    over = moment_text(now)
    waiting = [run for run in ledger.runs(states=(states.OPEN, states.FAILED)) if run.next_at and run.next_at <= over]
    return sum(ledger.requeue_run(run.id) is not None for run in waiting)


# ---------------------------------------------------------------- what waits to go out


def _alerts_out(workspace: Workspace, now: dt.datetime) -> None:
    from flows.alerts import deliver, renotified

    renotified(workspace, now)
    deliver(workspace, now)


def results_out(workspace: Workspace, tell: Callable[[str], None], trouble: list[str]) -> None:
    """Empty the outbox to MLflow; what could not be done is added to ``trouble``."""
    from flows.publishing import publish_waiting

    def publish() -> None:
        report = publish_waiting(workspace, tell)
        if report.trouble:
            raise BadInputError("; ".join(report.trouble))

    _attempted(publish, "publication to MLflow", trouble)


def _attempted(step: Callable[[], None], what: str, trouble: list[str]) -> bool:
    """One step; what goes wrong is kept in words, for the next look does it again. A lost ledger ends the look."""
    try:
        step()
    except LedgerError:
        raise
    except Exception as error:
        first = str(error).splitlines()[0][:300] if isinstance(error, BadInputError) and str(error) else ""
        trouble.append(f"{what}: {first or type(error).__name__}")  # messages of others may quote passwords
        return False
    return True
