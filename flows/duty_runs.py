"""One run of a duty, from the moment a process takes it to its end: exactly one audit, whoever dies on the way.

A run is a row of the ledger: due, then running, then done; or open or failed, to be tried again. Whoever performs it
holds a lease. When that process dies the lease ends, the run is due again, and the next process goes on with the same
audit: what was answered is in the ledger and is not asked again.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from flows.collecting import Limits
from flows.collection import CollectionReport
from flows.concluding import Conclusion
from flows.duties import Duty
from flows.duty_state import NO_VERDICT as NO_VERDICT
from flows.duty_state import in_words as in_words
from flows.logs import about
from flows.ordering import Order, as_large, of_size, ordered, plan_of, refuse_stranger
from flows.redaction import without_secrets
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.results import anything_measured
from registry.ledger import duties as states
from registry.ledger.claims import AuditInProgressError
from registry.ledger.connection import moment_text
from registry.ledger.duties import DutyRun
from registry.ledger.ownership import Owner
from registry.ledger.values import Audit
from registry.releases import ModelRelease

if TYPE_CHECKING:
    from registry.ledger.store import Ledger

Tell = Callable[[str], None]
Auditing = Callable[[Workspace, Audit, Limits, Tell], Conclusion | CollectionReport]  # with its alerts
_log = logging.getLogger(__name__)

FIRST_PAUSE = dt.timedelta(minutes=5)
LONGEST_PAUSE = dt.timedelta(hours=6)
MOST_ATTEMPTS = 12
OVERLAP_PAUSE = dt.timedelta(minutes=1)
AT_ONCE = (states.VERSION, states.REFERENCE)  # wait for a running audit instead of being refused


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended: its state, its audit's verdict (None: there was nothing to compare with), and why."""

    state: str
    why: str = ""
    verdict: str | None = None
    audit_id: int | None = None


class OverlapError(Exception):
    """Another audit of the same release and protocol is under way."""


def plainly_audited(workspace: Workspace, audit: Audit, limits: Limits, tell: Tell) -> Conclusion | CollectionReport:
    """Ask, score, compare, alert and publish in this process, without Prefect."""
    from flows.auditing import run_audit

    return run_audit(workspace, audit, limits, tell=tell)


def performed(
    workspace: Workspace,
    run_id: int,
    *,
    now: dt.datetime | None = None,
    owner: Owner | None = None,
    audited: Auditing = plainly_audited,
    tell: Tell = lambda _: None,
) -> DutyRun | None:
    """Perform a run that is due; None when another process has it, or it is not due. Any process may call it, and twice.

    Parameters
    ----------
    now : the time by which it is late; owner : this process; both are found out by default
    audited : makes one ordered audit and tells what it found; where a flow puts its tasks
    """
    owner = owner or Owner.this_process()
    now = now or dt.datetime.now(dt.UTC)
    with held(workspace.ledger, run_id, owner) as mine:
        if not mine:
            return None
        waiting = workspace.ledger.run(run_id)
        duty = duty_of(workspace, waiting.duty)
        late = now - dt.datetime.fromisoformat(waiting.due_at)
        run = workspace.ledger.claim_run(
            run_id, owner, late_s=max(0.0, late.total_seconds()), why=_lateness(duty, waiting, late)
        )
        if run is None:
            return None
        tell(f"{run.duty}, due {run.due_at}: begins")
        try:
            with about(duty=run.duty, run=run.slot):
                _log.info("the run begins, %.0f s late", run.late_s)
                ended = _performed(workspace, duty, run, owner, audited, tell)
        except OverlapError as overlap:
            if run.kind in AT_ONCE:
                again = moment_text(now + OVERLAP_PAUSE)  # not at once: whoever looks for what is due would never rest
                return workspace.ledger.requeue_run(run_id, f"waited: {overlap}", next_at=again, unbegun=True)
            ended = Ended(state=states.REFUSED, why=str(overlap))
        except BadInputError as error:
            ended = Ended(state=states.FAILED, why=without_secrets(str(error)))
        except Exception as error:  # whatever it is, the next slot must come; it is told, and kept with the run
            ended = Ended(state=states.FAILED, why=in_one_line(error))
        tell(f"{run.duty}, due {run.due_at}: {ended.state}{': ' + ended.why if ended.why else ''}")
        said = {"duty": run.duty, "run": run.slot, "audit": ended.audit_id}
        _log.info("the run ended: %s", " ".join((ended.state, ended.why)).strip(), extra=said)
        return workspace.ledger.end_run(
            run_id,
            ended.state,
            ended.why,
            ended.audit_id,
            verdict=ended.verdict,
            next_at=_next_try(run, ended, now),
            owner=owner,
        )


def in_one_line(error: BaseException) -> str:
    """What kind of error it is and its first line, without keys and passwords: those of libraries quote addresses.

    >>> in_one_line(ConnectionError("postgresql://audit:hunter2@db/ledger is away"))
    'ConnectionError: postgresql://audit:[secret removed]@db/ledger is away'
    """
    first = without_secrets(str(error)).splitlines()[:1]
    return ": ".join([type(error).__name__, *(line[:500] for line in first)])


def duty_of(workspace: Workspace, name: str) -> Duty:
    """A duty as it was declared last; workers on other machines need no configuration file for it."""
    stored = workspace.ledger.duty(name)
    return Duty.from_json(stored.name, stored.family, stored.definition)


def held(ledger: Ledger, run_id: int, owner: Owner) -> AbstractContextManager[bool]:
    """Hold a run for a block, so that others see that it is performed; False when another process or thread has it.

    The lease is renewed beside the work. A process that dies stops doing so.
    """
    return ledger.renewed(f"duty run {run_id}", owner)


def _lateness(duty: Duty, run: DutyRun, late: dt.timedelta) -> str:
    """What is said of a run that begins too late. Waiting for its turn is not being late: only clock times can be."""
    if run.kind not in states.BY_THE_CLOCK or run.attempts or late <= duty.grace:
        return ""
    return f"began {in_words(late)} after it was due (grace {duty.audit.grace})"


def _next_try(run: DutyRun, ended: Ended, now: dt.datetime) -> str | None:
    """When an open or failed run is tried again: after a pause that doubles; not for ever."""
    if ended.state not in (states.OPEN, states.FAILED) or run.attempts >= MOST_ATTEMPTS:
        return None
    pause: dt.timedelta = min(FIRST_PAUSE * 2 ** (run.attempts - 1), LONGEST_PAUSE)
    return moment_text(now + pause)


# ---------------------------------------------------------------- the audit of a run


def _performed(workspace: Workspace, duty: Duty, run: DutyRun, owner: Owner, audited: Auditing, tell: Tell) -> Ended:
    ledger = workspace.ledger
    limits = Limits(**duty.audit.limits, join=duty.audit.share > 1)
    if run.audit_id is not None:
        audit = ledger.audit(run.audit_id)
        _refuse_overlap(workspace, duty, run, audit.release, owner)
    else:
        named = run.release if run.kind in AT_ONCE and run.release else duty.reference
        release = workspace.releases.find(named)
        _refuse_overlap(workspace, duty, run, release, owner)
        order = duty.audit.order()
        if run.kind in AT_ONCE and (made := _made_already(workspace, release, order)):
            return Ended(state=states.DONE, why=f"audit {made.id} was made already", audit_id=made.id)
        audit = _continued(workspace, release, order, _audits_of(workspace, duty))
        ledger.note_audit(run.id, audit.id)
    tell(f"{run.duty}: audit {audit.id} of {audit.release.uri}, {audit.plan.size} asked for")
    ended, conclusion = _concluded(workspace, audit, limits, audited, tell)
    if conclusion is None:
        return ended
    waits = _followed_up(
        workspace, duty, audit, conclusion, lambda one: _concluded(workspace, one, limits, audited, tell)
    )
    return dataclasses.replace(ended, state=states.OPEN, why=waits) if waits else ended


def _concluded(
    workspace: Workspace, audit: Audit, limits: Limits, audited: Auditing, tell: Tell
) -> tuple[Ended, Conclusion | None]:
    try:
        result = audited(workspace, audit, limits, tell)
    except AuditInProgressError as error:
        raise OverlapError(str(error)) from error
    if isinstance(result, CollectionReport):
        why = f"audit {audit.id} is not finished: {result.why or result.stopped_by}"
        return Ended(state=states.OPEN, why=why, audit_id=audit.id), None
    return _ended(result), result


def _ended(conclusion: Conclusion) -> Ended:
    audit, comparison = conclusion.scored.audit, conclusion.comparison
    if why := no_verdict(conclusion):
        return Ended(state=states.DONE, why=why, verdict=NO_VERDICT, audit_id=audit.id)
    verdict = comparison.verdict if comparison is not None else None
    if conclusion.recurrence and conclusion.watch is not None:
        verdict = conclusion.watch.state
    return Ended(state=states.DONE, verdict=verdict, audit_id=audit.id)


def no_verdict(conclusion: Conclusion) -> str:
    """Why an audit that ended can have no verdict, in words; empty when it can.

    One whose comparison is inconclusive or not measurable has said so itself (`flows.findings`).
    """
    audit = conclusion.scored.audit
    if audit.state == "incomplete":
        return f"audit {audit.id} is incomplete: some calls brought no answer"
    if conclusion.scored.reading.channels.mixed_release:
        return f"audit {audit.id} was answered by more than one model"
    if not anything_measured(conclusion.scored.scores):
        return f"nothing of audit {audit.id} could be measured"
    return ""


def _refuse_overlap(workspace: Workspace, duty: Duty, run: DutyRun, release: ModelRelease, owner: Owner) -> None:
    """Refuse while the same release is audited with the same protocol, by another run or by hand."""
    ledger = workspace.ledger
    other = ledger.occupy(run.id, release.uri, duty.protocol)
    if other is not None:
        audit = f"audit {other.audit_id}" if other.audit_id is not None else "an audit"
        raise OverlapError(f"{audit} of {release.uri} is still running, for {other.duty} due {other.due_at}")
    for known in ledger.audits(family=release.family, version=release.version, protocol=duty.protocol):
        if known.state == "open" and (at_work := ledger.at_work(known.id, owner)):
            first = at_work[0].owner
            raise OverlapError(
                f"audit {known.id} of {release.uri} is still running, in process {first.pid} on {first.name}"
            )


def _same_question(workspace: Workspace, release: ModelRelease, order: Order) -> list[Audit]:
    """Live audits of a release that asked what an order would ask, oldest first."""
    key = plan_of(workspace, release, order).collection_key
    found = workspace.ledger.audits(
        family=release.family, version=release.version, protocol=order.protocol, collection_key=key
    )
    for audit in found:
        refuse_stranger(audit, release)
    return [audit for audit in found if audit.source == "live"]


def _made_already(workspace: Workspace, release: ModelRelease, order: Order) -> Audit | None:
    """A finished audit of a release that was registered and audited by hand, as large, before the service looked."""
    size = plan_of(workspace, release, order).size
    same = reversed(_same_question(workspace, release, order))
    return next((audit for audit in same if audit.concluded and audit.plan.size >= size), None)


def _audits_of(workspace: Workspace, duty: Duty) -> set[int]:
    return {run.audit_id for run in workspace.ledger.runs(duty.name) if run.audit_id is not None}


def _continued(workspace: Workspace, release: ModelRelease, order: Order, own: set[int]) -> Audit:
    """The audit of a run: one of this duty that was interrupted, whatever its size was then; else a new occasion.

    An interrupted audit of another size, which somebody else began, is left to them.
    """
    same = _same_question(workspace, release, order)
    newest = same[-1] if same else None
    if newest is not None and newest.state == "open":
        size = plan_of(workspace, release, order).size
        if newest.id in own or newest.plan.size == size:
            return newest
        return ordered(workspace, release, dataclasses.replace(order, again=False, new=True))
    return ordered(workspace, release, order)


# ---------------------------------------------------------------- what an audit asks for


def _followed_up(
    workspace: Workspace,
    duty: Duty,
    audit: Audit,
    conclusion: Conclusion,
    conclude: Callable[[Audit], tuple[Ended, Conclusion | None]],
) -> str:
    """The further audits that one asks for before anybody is alerted; returns why they are not finished, or nothing.

    The full audit after an alarm of the watch, and the second sample of a finding. Each is made once, also after a crash.
    """
    from flows.replication import MOST_SAMPLES

    made: set[int] = set()
    if conclusion.held:
        return ""  # nothing is wanted before the instrument is steady
    full = _full_audit(workspace, duty, audit, conclusion)
    for more in (full, *[None] * MOST_SAMPLES):
        asked = more or _second_sample(workspace, duty, audit, made)
        if asked is None:
            return ""
        made.add(asked.id)
        try:
            ended, its = conclude(asked)
        except OverlapError as overlap:
            return str(overlap)
        if its is None:
            return ended.why
        if its.held:
            return ""
    return ""


def _full_audit(workspace: Workspace, duty: Duty, audit: Audit, conclusion: Conclusion) -> Audit | None:
    """The full audit that an alarm of the watch asks for."""
    from flows.watching import ask

    settings = workspace.home.configuration.watch
    if conclusion.watch is None or not settings.confirm or ask(workspace, conclusion.watch) is None:
        return None
    order = of_size(duty.audit.order(again=False), settings.confirm_personas)
    return _one_more(workspace, audit, order, set())


def _second_sample(workspace: Workspace, duty: Duty, audit: Audit, made: set[int]) -> Audit | None:
    """The second sample that a finding needs before anybody is told: as large, with other seeds."""
    from flows.replication import wanted

    incident = wanted(workspace, audit)
    if incident is None or incident.audit is None:
        return None
    first = workspace.ledger.audit(incident.audit)
    said = {int(item["audit"]) for item in incident.evidence.get("seen", ())}
    return _one_more(workspace, first, as_large(duty.audit.order(again=False), first.plan), made | said)


def _one_more(workspace: Workspace, audit: Audit, order: Order, besides: set[int]) -> Audit | None:
    """Another occasion after an audit, with other seeds; the one that was begun for it already when there is one."""
    order = dataclasses.replace(order, seed=None, new=True)
    plan = plan_of(workspace, audit.release, order)
    if plan.collection_key != audit.plan.collection_key:
        return None  # the duty asks otherwise by now
    same = _same_question(workspace, audit.release, order)
    begun = [one for one in same if one.id > audit.id and one.plan.size == plan.size and one.id not in besides]
    return begun[-1] if begun else ordered(workspace, audit.release, order)
