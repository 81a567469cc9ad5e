"""The Prefect flow `audit_release`: a thin shell over the plain functions, one task per batch of requests.

It runs with no server configured (Prefect starts a temporary one) and under one. Parameters are plain values, for
Prefect stores them; answers go through the ledger, so a retried task never asks again what is answered, and no
result cache of Prefect's stands between an audit and the model.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from flows.settings import Home, silence

silence()  # a worker imports this module by itself, and Prefect reads its settings when it is imported

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from flows.alerts import alerted
from flows.auditing import refuse_silence, registered
from flows.collecting import Limits, Place, collect_answers, open_requests, place_of
from flows.concluding import Conclusion, closed, concluded, publish_all
from flows.instrument import reference_checked
from flows.ordering import Order, ordered
from flows.watching import ask
from flows.workspace import Workspace, opened

BATCH = 50  # requests a task: Prefect's own cost per task then stays below a few per cent


@dataclasses.dataclass(frozen=True)
class _Session:
    """What this process has open for an audit; it holds a key, so it is never a parameter or a result."""

    workspace: Workspace
    place: Place
    limits: Limits


_sessions: dict[int, _Session] = {}


@task(task_run_name="audit {audit_id}: requests {first} to {last}", cache_policy=NO_CACHE, persist_result=False)
def collect_batch(audit_id: int, first: int, last: int) -> str:
    """Ask the open requests with index ``first`` to ``last``; returns why it stopped early, or nothing."""
    session = _sessions[audit_id]
    audit = session.workspace.ledger.audit(audit_id)
    open_now = open_requests(session.workspace, audit)
    work = [(request, attempt) for request, attempt in open_now if first <= request.index <= last]
    report = collect_answers(session.workspace, audit, work, session.place, session.limits)
    if report is None:
        return ""
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(report.outcomes.items()))
    get_run_logger().info("%d calls at %.1f a second: %s", report.done, report.rate_per_s, outcomes)
    return f"{report.stopped_by}: {report.why}" if report.stopped_by else ""


@task(task_run_name="audit {audit_id}: score, compare, publish", cache_policy=NO_CACHE, persist_result=False)
def conclude(audit_id: int, home: str) -> dict[str, Any]:
    """Score the finished audit, compare it with its reference, publish, alert; returns the result as plain values."""
    logger = get_run_logger()
    with opened(Home(home)) as workspace:
        conclusion = concluded(workspace, workspace.ledger.audit(audit_id), tell=logger.info, publish=False)
        alerted(workspace, conclusion)  # first: publishing takes seconds, and an alert must not die with it
        _show(conclusion)
        release = conclusion.scored.audit.release
        publish_all(workspace, release.family, conclusion.scored.audit.protocol, logger.info)
        comparison, watch = conclusion.comparison, conclusion.watch
        wanted = ask(workspace, watch) if watch is not None else None
        return {
            "audit": audit_id,
            "release": conclusion.scored.audit.release.uri,
            "state": conclusion.scored.audit.state,
            "verdict": comparison.verdict if comparison else None,
            "why": comparison.why if comparison else conclusion.note,
            "exit_code": conclusion.exit_code,
            "alerts_held": conclusion.held,
            "watch": watch.state if watch is not None else None,
            "confirmation": conclusion.confirmation.verdict if conclusion.confirmation is not None else None,
            "wants_confirmation": wanted is not None and not conclusion.held,
        }


def _show(conclusion: Conclusion) -> None:
    """Leave the verdict as an artifact in Prefect's UI."""
    audit, comparison = conclusion.scored.audit, conclusion.comparison
    verdict = comparison.verdict if comparison else "baseline"
    why = comparison.why if comparison else conclusion.note
    rows = [f"| {row.dimension} | {row.verdict} |" for row in comparison.rows] if comparison else []
    table = "\n".join(["| bias dimension | verdict |", "|---|---|", *rows]) if rows else ""
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
) -> dict[str, Any]:
    """Audit a release as a Prefect flow run.

    Parameters
    ----------
    release : ``models:/family/3`` or ``models:/family@alias``
    protocol, personas, seed, new : as of ``spiritlevel audit``
    again : another occasion, unless the newest one was interrupted: what a schedule means
    options : further fields of `flows.ordering.Order`; limits : fields of `flows.collecting.Limits`
    home : the home folder; None is the default one

    Returns
    -------
    dict : audit, release, state, verdict, why, exit_code; ``state`` is ``open`` when a budget ended it. ``alerts_held``
        says why alerts are held, ``watch`` the state of recurring audits, ``confirmation`` the verdict of the full
        audit that an alarm asked for: it is made in the same run
    """
    order = Order(protocol=protocol, size=personas, seed=seed, new=new, again=again, **(options or {}))
    result = _audited(release, order, Limits(**(limits or {})), home)
    settings = Home(home).configuration.watch
    if result.get("wants_confirmation") and settings.confirm:
        get_run_logger().warning("alarm of the watch over %s: a full audit is made before anybody is alerted", release)
        full = dataclasses.replace(order, size=settings.confirm_personas, seed=None, new=True, again=False)
        confirmed = _audited(release, full, Limits(**(limits or {})), home)
        result = result | {
            "confirmation": confirmed.get("confirmation"),
            "wants_confirmation": confirmed["state"] == "open",
            "exit_code": max(result["exit_code"], confirmed["exit_code"])
            if 1 not in (result["exit_code"], confirmed["exit_code"])
            else 1,
        }
    return result


def _audited(release: str, order: Order, bounds: Limits, home: str | None) -> dict[str, Any]:
    """One audit from order to conclusion."""
    logger = get_run_logger()
    with opened(Home(home)) as workspace:
        audit = ordered(workspace, workspace.releases.find(release), order)
        logger.info("audit %d of %s, %s, occasion %d", audit.id, audit.release.uri, order.protocol, audit.occasion)
        stopped = _collect(workspace, audit.id, bounds)
        audit = closed(workspace, workspace.ledger.audit(audit.id))
        refuse_silence(workspace, audit)
        if audit.state == "open":
            logger.warning("requests are still open: %s", stopped)
            return {
                "audit": audit.id,
                "release": release,
                "state": "open",
                "verdict": None,
                "why": stopped,
                "exit_code": 3,
            }
        reference_checked(workspace, audit, bounds, logger.info)
    return conclude(audit.id, str(Home(home).path))


def _collect(workspace: Workspace, audit_id: int, limits: Limits) -> str:
    audit = workspace.ledger.audit(audit_id)
    indexes = sorted({request.index for request, _ in open_requests(workspace, audit)})
    if not indexes:
        return ""
    with place_of(workspace, registered(workspace, audit), get_run_logger().info) as place:
        _sessions[audit_id] = _Session(workspace, place, limits)
        try:
            for start in range(0, len(indexes), BATCH):
                batch = indexes[start : start + BATCH]
                if stopped := collect_batch(audit_id, batch[0], batch[-1]):
                    return stopped
        finally:
            del _sessions[audit_id]
    return ""
