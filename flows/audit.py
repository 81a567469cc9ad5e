"""The Prefect flow `audit_release`: a thin shell over the plain functions, one task per batch of requests.

It runs with no server configured (Prefect starts a temporary one) and under one. Parameters are plain values, for
Prefect stores them; answers go through the ledger, so a retried task never asks again what is answered, and no
result cache of Prefect's stands between an audit and the model. What Prefect believes about a run decides nothing: the
ledger says what is due, what was made, and who is at work.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from typing import Any

from flows.settings import Home, silence

silence()  # a worker imports this module by itself, and Prefect reads its settings when it is imported

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from dashboards.instruments import instrument_of
from flows.alerts import alerted
from flows.auditing import concluding, refuse_silence, registered
from flows.collecting import Limits, Place, collect_answers, place_of, working
from flows.collection import CollectionReport
from flows.concluding import Conclusion, closed, concluded
from flows.duty_clock import due_now
from flows.duty_runs import Tell, performed
from flows.instrument import reference_checked
from flows.life_events import FINISHED, STARTED, emit
from flows.ordering import Order, of_size, ordered
from flows.publishing import publish_at_once, publish_waiting
from flows.rating import rated_first
from flows.replication import sampled_again
from flows.sharing import together
from flows.watching import ask
from flows.workspace import Workspace, opened
from registry.ledger.claims import Worker
from registry.ledger.duties import DutyRun
from registry.ledger.values import Audit

BATCH = 50  # requests a task: Prefect's own cost per task then stays below a few per cent
SKIPPED, REFUSED, JOINED = "Skipped", "Refused", "Joined"


@dataclasses.dataclass
class _Session:
    """What this process has open for an audit; it holds a key, so it is never a parameter or a result."""

    workspace: Workspace
    limits: Limits
    place: Place | None = None
    worker: Worker | None = None
    failed: bool = False  # whether failures are asked again
    conclusion: Conclusion | None = None


_sessions: dict[int, _Session] = {}


@task(task_run_name="audit {audit_id}: requests {first} to {last}", cache_policy=NO_CACHE, persist_result=False)
def collect_batch(audit_id: int, first: int, last: int) -> CollectionReport | None:
    """Ask the open requests with index ``first`` to ``last``."""
    session = _sessions[audit_id]
    audit = session.workspace.ledger.audit(audit_id)
    work = session.workspace.ledger.open_work(audit_id, failed=session.failed, between=(first, last))
    if not work or session.place is None:
        return None
    report = collect_answers(session.workspace, audit, work, session.place, session.limits, worker=session.worker)
    if report is not None:
        outcomes = ", ".join(f"{name} {count}" for name, count in sorted(report.outcomes.items()))
        get_run_logger().info("%d calls at %.1f a second: %s", report.done, report.rate_per_s, outcomes)
    return report


@task(task_run_name="audit {audit_id}: score and compare", cache_policy=NO_CACHE, persist_result=False)
def conclude(audit_id: int) -> str:
    """Score the finished audit and compare it with its reference; returns the verdict."""
    session = _sessions[audit_id]
    workspace = session.workspace
    audit = workspace.ledger.audit(audit_id)
    session.conclusion = concluded(workspace, audit, tell=get_run_logger().info, publish=False)
    _show(session.conclusion)
    comparison = session.conclusion.comparison
    return comparison.verdict if comparison is not None else "baseline"


def _show(conclusion: Conclusion) -> None:
    """Leave the verdict as an artifact in Prefect's UI."""
    audit, comparison = conclusion.scored.audit, conclusion.comparison
    verdict = comparison.verdict if comparison else "baseline"
    why = comparison.why if comparison else conclusion.note
    rows = [f"| {row.dimension} | {row.verdict} |" for row in comparison.rows] if comparison else []
    table = "\n".join([f"| {instrument_of(audit.protocol).dimension} | verdict |", "|---|---|", *rows]) if rows else ""
    create_markdown_artifact(
        key=f"audit-{audit.id}",
        markdown=f"# {audit.release.uri}: {verdict}\n\n{why}\n\n{table}\n",
        description=f"{audit.release.uri}, {audit.protocol}: {verdict}",
    )


@flow(name="audit-release", flow_run_name="{release} {protocol}", persist_result=False)
def audit_release(
    release: str,
    protocol: str = "persona-brainstorm",
    personas: int | None = None,
    seed: int | None = None,
    new: bool = False,
    again: bool = False,
    options: dict[str, Any] | None = None,
    limits: dict[str, Any] | None = None,
    home: str | None = None,
    duty: str | None = None,
    run: int | None = None,
    share: int = 1,
    join: int | None = None,
    replicate: bool = True,
) -> dict[str, Any] | State[dict[str, Any]]:
    """Audit a release as a Prefect flow run.

    Parameters
    ----------
    release : ``models:/family/3`` or ``models:/family@alias``
    protocol, personas, seed, new : as of ``spiritlevel audit``
    again : another occasion, unless the newest one was interrupted: what a schedule means
    options : further fields of `flows.ordering.Order`; limits : fields of `flows.collecting.Limits`
    home : the home folder; None is the default one
    duty : name of the recurring audit that this deployment stands for. A run that Prefect's schedule started asks the
        ledger first whether anything is due; one that somebody started by hand does what its parameters say
    run : number of the duty's run that was handed out; everything else is then known
    share : flow runs of this deployment that work on the audit together
    join : number of an audit to help with; its own flow run concludes it
    replicate : take the second sample too that a finding needs to be alerted; a duty's run always does

    Returns
    -------
    dict : audit, release, state, verdict, why, exit_code; ``state`` is ``open`` when a budget ended it. ``alerts_held``
        says why alerts are held, ``watch`` the state of recurring audits, ``confirmation`` the verdict of the full
        audit that an alarm asked for: it is made in the same run, as is a second sample that a finding needs
    """
    bounds = Limits(**(limits or {}))
    if join is not None:
        return _joined(join, bounds, home)
    if run is not None or (duty is not None and _scheduled_for() is not None):
        return _on_duty(duty, run, share, home)
    order = Order(protocol=protocol, size=personas, seed=seed, new=new, again=again, **_plain(options))
    bounds = dataclasses.replace(bounds, join=bounds.join or share > 1)
    return _by_hand(release, order, bounds, share, home, replicate=replicate)


def _plain(options: dict[str, Any] | None) -> dict[str, Any]:
    """The options of an order from JSON, where ``extra`` is a table."""
    given = dict(options or {})
    if isinstance(given.get("extra"), dict):
        given["extra"] = tuple(sorted(given["extra"].items()))
    return given


def _scheduled_for() -> dt.datetime | None:
    """The time for which Prefect's schedule made this flow run; None for one that somebody started."""
    from prefect.context import FlowRunContext

    context = FlowRunContext.get()
    made = context.flow_run if context is not None else None
    if made is None or not made.auto_scheduled:
        return None
    return _plain_moment(made.expected_start_time or made.start_time)


def _plain_moment(moment: dt.datetime | None) -> dt.datetime | None:
    """A time of Prefect as Python's own: Prefect's is of a class whose differences cannot be divided by a length of time."""
    if moment is None:
        return None
    return dt.datetime.fromtimestamp(moment.timestamp(), dt.UTC)


# ---------------------------------------------------------------- recurring audits


def _on_duty(duty: str | None, run_id: int | None, share: int, home: str | None) -> State[dict[str, Any]]:
    """Perform a run of a duty, when one is due: Prefect may be late, early, or do it twice."""
    logger = get_run_logger()
    with opened(Home(home), logger.info) as workspace:
        if run_id is None and duty is not None:
            if (due := _due(workspace, duty)) is None:
                return Completed(name=SKIPPED, message=_nothing_due(workspace, duty))
            run_id = due.id
        audited = functools.partial(_audited, share=share)
        made = performed(workspace, run_id or 0, audited=audited, tell=logger.info)
        report = publish_waiting(workspace, logger.info, everything=made is not None)
        if made is None or not workspace.home.configuration.publish.at_once:  # else the audit itself told it
            for sentence in report.trouble:
                logger.warning("%s", sentence)
        if made is None:
            known = workspace.ledger.run(run_id or 0)
            return Completed(name=SKIPPED, message=f"the run for {known.slot} of {known.duty} is {known.state} already")
        return _state_of(made)


def _due(workspace: Workspace, duty: str) -> DutyRun | None:
    """The run that is due now; older slots without one are recorded as skipped on the way."""
    if workspace.ledger.duty(duty).ended_at is not None:
        return None
    scheduled = _scheduled_for()
    now = dt.datetime.now(dt.UTC)
    # Prefect's clock may be ahead of this machine's: what it was woken for is due.
    return due_now(workspace, duty, max(now, scheduled) if scheduled is not None else now)


def _nothing_due(workspace: Workspace, duty: str) -> str:
    if workspace.ledger.duty(duty).ended_at is not None:
        return f"{duty} is not declared any more; 'spiritlevel deploy' removes its deployment"
    newest = workspace.ledger.runs(duty, newest=1)
    if not newest:
        return f"nothing is due for {duty}"
    run = newest[0]
    return f"nothing is due for {duty}: its run for {run.slot} is {run.state}{': ' + run.why if run.why else ''}"


def _state_of(made: DutyRun) -> State[dict[str, Any]]:
    result = {
        "run": made.id,
        "audit": made.audit_id,
        "release": made.release,
        "state": made.state,
        "verdict": made.verdict,
        "why": made.why,
    }
    if made.state == "failed":
        return Failed(message=made.why, data=result)
    name = REFUSED if made.state in ("refused", "due") else None
    return Completed(name=name, message=made.why or made.verdict or made.state, data=result)


# ---------------------------------------------------------------- one audit


def _by_hand(
    release: str, order: Order, bounds: Limits, share: int, home: str | None, *, replicate: bool
) -> dict[str, Any]:
    """An audit that no duty asked for, with what has to follow before anybody is alerted."""
    logger = get_run_logger()
    with opened(Home(home), logger.info) as workspace:
        audit = ordered(workspace, workspace.releases.find(release), order)
        logger.info("audit %d of %s, %s, occasion %d", audit.id, audit.release.uri, order.protocol, audit.occasion)

        def made(one: Audit) -> Conclusion | CollectionReport:
            return _audited(workspace, one, bounds, logger.info, share=share)

        first = made(audit)
        result = _plainly(workspace, audit, first)
        settings = workspace.home.configuration.watch
        if result.get("wants_confirmation") and settings.confirm:
            logger.warning("alarm of the watch over %s: a full audit is made before anybody is alerted", release)
            # One that was interrupted is taken up.
            wanted = of_size(order, settings.confirm_personas)
            full = dataclasses.replace(wanted, new=False, again=True)
            more = ordered(workspace, audit.release, full)
            confirmed = _plainly(workspace, more, made(more))
            result |= {
                "confirmation": confirmed.get("confirmation"),
                "wants_confirmation": confirmed["state"] == "open",
                "exit_code": _worse(result["exit_code"], confirmed["exit_code"]),
            }
        if replicate:
            sampled_again(workspace, first, order, made, logger.warning)
        publish_at_once(workspace, logger.info, audit.release.family)
    return result


def _worse(first: int, second: int) -> int:
    return 1 if 1 in (first, second) else max(first, second)


def _plainly(workspace: Workspace, audit: Audit, result: Conclusion | CollectionReport) -> dict[str, Any]:
    """What came of an audit as plain values."""
    release = audit.release.uri
    if isinstance(result, CollectionReport):
        why = f"{result.stopped_by}: {result.why}"
        get_run_logger().warning("requests are still open: %s", why)
        return {"audit": audit.id, "release": release, "state": "open", "verdict": None, "why": why, "exit_code": 3}
    comparison, watch = result.comparison, result.watch
    asked = ask(workspace, watch) if watch is not None else None
    return {
        "audit": audit.id,
        "release": release,
        "state": result.scored.audit.state,
        "verdict": comparison.verdict if comparison else None,
        "why": comparison.why if comparison else result.note,
        "exit_code": result.exit_code,
        "alerts_held": result.held,
        "watch": watch.state if watch is not None else None,
        "confirmation": result.confirmation.verdict if result.confirmation is not None else None,
        "wants_confirmation": asked is not None and not result.held,
    }


def _audited(
    workspace: Workspace, audit: Audit, limits: Limits, tell: Tell, *, share: int = 1
) -> Conclusion | CollectionReport:
    """Ask what is open, in tasks, then score, compare and alert."""
    # A helper may be there first.
    session = _sessions[audit.id] = _Session(workspace, dataclasses.replace(limits, join=limits.join or share > 1))
    release = audit.release
    said = {"audit": audit.id, "protocol": audit.protocol, "occasion": audit.occasion}
    once = f"{workspace.ledger.identity} {audit.id}"
    try:
        emit(STARTED, release.family, release.version, said, once=once)
        if share > 1 and audit.state == "open":
            _call_helpers(audit.id, share - 1)
        report = _collect(session, audit)
        with concluding(workspace, audit, tell):
            audit = closed(workspace, workspace.ledger.audit(audit.id))
            refuse_silence(workspace, audit)
            if audit.state == "open" and report is not None:
                return report
            rated_first(workspace, audit, session.limits, tell)
            reference_checked(workspace, audit, limits, tell)
            said["verdict"] = conclude(audit.id)
        emit(FINISHED, release.family, release.version, said | {"state": audit.state}, once=once)
        if session.conclusion is None:
            raise RuntimeError(f"audit {audit.id} was not concluded")
        alerted(workspace, session.conclusion)  # before publishing, which takes seconds
        return session.conclusion
    finally:
        del _sessions[audit.id]


def _collect(session: _Session, audit: Audit) -> CollectionReport | None:
    workspace = session.workspace
    session.failed = workspace.ledger.open_work(audit.id).again
    indexes = workspace.ledger.open_indexes(audit.id)
    if not indexes:
        return None
    report: CollectionReport | None = None
    with (
        place_of(workspace, registered(workspace, audit), get_run_logger().info) as session.place,
        working(workspace, audit, session.limits, failed=session.failed) as session.worker,
    ):
        for start in range(0, len(indexes), BATCH):
            batch = indexes[start : start + BATCH]
            found = collect_batch(audit.id, batch[0], batch[-1])
            if found is not None:
                report = found if report is None else together(report, found)
            if report is not None and report.stopped_by:
                break
    return report


# ---------------------------------------------------------------- several flow runs on one audit


def _call_helpers(audit_id: int, helpers: int) -> None:
    """Start further runs of this deployment that help with an audit. When none come, it is made without them."""
    from prefect import runtime
    from prefect.deployments import run_deployment

    if runtime.deployment.id is None:
        get_run_logger().warning("'share' needs a deployment, whose further runs help; going on alone")
        return
    for helper in range(helpers):
        try:
            run_deployment(
                name=runtime.deployment.id,
                parameters={"join": audit_id},
                timeout=0,
                as_subflow=False,
                idempotency_key=f"{runtime.flow_run.id} helper {helper} of audit {audit_id}",
            )
        except Exception as error:  # Prefect's server may be away just now
            get_run_logger().warning("no helper could be called (%s); going on alone", type(error).__name__)
            return


def _joined(audit_id: int, bounds: Limits, home: str | None) -> State[dict[str, Any]]:
    """Help with an audit until nothing is left to ask; whoever ordered it concludes it."""
    logger = get_run_logger()
    with opened(Home(home), logger.info) as workspace:
        audit = workspace.ledger.audit(audit_id)
        session = _sessions[audit_id] = _Session(workspace, dataclasses.replace(bounds, join=True))
        try:
            report = _collect(session, audit) if audit.state == "open" else None
        finally:
            del _sessions[audit_id]
    done = report.done if report is not None else 0
    return Completed(name=JOINED, message=f"{done} calls of audit {audit_id}", data={"audit": audit_id, "done": done})
