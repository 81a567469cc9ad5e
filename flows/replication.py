"""Replication before anybody is paged: a high finding about a release that can be asked again needs a second sample.

It opens as ``unconfirmed`` and nobody is told. The next occasion of the release, of the same size and with other seeds,
settles it against the same reference: seen again in one of the same dimensions it opens; else it is withdrawn. Both
comparisons share the reference's sample, so two in a row are wrong more often than their product says
(`metrics.replication`).
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from flows.finding_kinds import names_of, percent
from flows.findings import change, failed_checks, gate_result
from flows.incidents import Moment, asked_again, moment_of, noted, opened_notice, seen_with
from registry.ledger.incidents import OPEN, UNCONFIRMED, WITHDRAWN, Incident

if TYPE_CHECKING:
    from flows.collection import CollectionReport
    from flows.concluding import Conclusion
    from flows.ordering import Order
    from flows.workspace import Workspace
    from registry.ledger.values import Audit

#: A second sample that does not come must not keep a finding secret for ever.
LONGEST_WAIT = dt.timedelta(hours=24)
MOST_SAMPLES = 2  # that were taken and could not be used


def unconfirmed(workspace: Workspace, audit: Audit) -> list[Incident]:
    """Incidents of an audit's release and protocol that wait for a second sample, oldest first."""
    release = audit.release
    found = workspace.ledger.incidents(family=release.family, protocol=audit.protocol, states=[UNCONFIRMED])
    return [incident for incident in found if incident.version == release.version and incident.audit is not None]


def wanted(workspace: Workspace, audit: Audit) -> Incident | None:
    """The incident that wants a new occasion of an audit's release, of the same size and with new seeds; None without one."""
    for incident in unconfirmed(workspace, audit):
        if len(incident.evidence.get("seen", ())) < MOST_SAMPLES:
            return incident
    return None


def is_second_sample(workspace: Workspace, incident: Incident, audit: Audit) -> bool:
    """Whether an audit is an independent sample that can settle an incident: the same question, later, as large, other seeds."""
    if incident.audit is None or audit.id <= incident.audit or audit.source != "live" or audit.state != "complete":
        return False
    first = workspace.ledger.audit(incident.audit)
    return (
        first.release.uri == audit.release.uri
        and first.protocol == audit.protocol
        and first.plan.collection_key == audit.plan.collection_key
        and dict(first.differences) == dict(audit.differences)
        and first.plan.size <= audit.plan.size
        and first.plan.seed != audit.plan.seed
    )


def settle(workspace: Workspace, incident: Incident, conclusion: Conclusion, now: Moment | None = None) -> Incident:
    """Confirm or withdraw an unconfirmed incident by a second sample; one that says nothing leaves it as it is."""
    audit, now = conclusion.scored.audit, moment_of(workspace, now)
    if incident.state != UNCONFIRMED or conclusion.held or not is_second_sample(workspace, incident, audit):
        return incident
    again, evidence, verdict, why = _second_look(workspace, incident, audit)
    if verdict in ("not measurable", "undecided"):
        return noted(workspace, incident, audit.id, verdict, why, now)
    if again:
        return _confirmed(workspace, incident, audit, again, evidence, now)
    note = (
        f"Withdrawn: a second sample of the same release (audit {audit.id}) did not show it again in "
        f"{', '.join(sorted(names_of(incident)))}; it was {verdict}: {why}"
    )
    workspace.ledger.move_incident(
        incident.id,
        WITHDRAWN,
        among=[UNCONFIRMED],
        now=now,
        severity="low",
        replicate_audit=audit.id,
        seen_audit=audit.id,
        evidence=seen_with(workspace, incident.evidence, audit.id) | {"replication": note},
    )
    return workspace.ledger.incident(incident.id)


def not_found_again(workspace: Workspace, incident: Incident, audit: Audit) -> Incident:
    """Withdraw an unconfirmed incident when its own audit, asked again where calls had failed, no longer finds it."""
    if audit.id != incident.seen_audit or not asked_again(workspace, incident, audit.id):
        return incident
    note = f"Withdrawn: calls of audit {audit.id} that had failed were asked again, and with their answers it is not found."
    workspace.ledger.move_incident(
        incident.id,
        WITHDRAWN,
        among=[UNCONFIRMED],
        now=workspace.ledger.moment(),
        severity="low",
        evidence=seen_with(workspace, incident.evidence, audit.id) | {"replication": note},
    )
    return workspace.ledger.incident(incident.id)


def _second_look(workspace: Workspace, incident: Incident, audit: Audit) -> tuple[list[str], dict[str, Any], str, str]:
    """What the second sample shows of the same: names seen again, its own evidence, its verdict and the reason."""
    from flows.judging import judged

    if incident.kind == "gate-failure":
        result = gate_result(workspace, audit)
        failed = failed_checks(result)
        outcome = result.outcome if result is not None else "undecided"
        why = "; ".join(f"{name}: {reason}" for name, reason in failed.items()) or f"the gate is {outcome}"
        return _common(incident, failed), {}, outcome, why
    reference = workspace.ledger.audit(incident.reference_audit or 0)
    comparison = judged(workspace, reference, audit, workspace.home.policy(audit.release.family))
    regressed = [row.dimension for row in comparison.rows if row.verdict == "regressed"]
    again = _common(incident, regressed)
    rows = change(workspace, comparison, incident.kind).evidence["moved"] if again else []
    evidence = {"again": [row for row in rows if row["dimension"] in again]}
    return again, evidence, comparison.verdict, comparison.why


def _common(incident: Incident, names: Iterable[str]) -> list[str]:
    mine = names_of(incident)
    return [name for name in names if name in mine]


def _confirmed(
    workspace: Workspace, incident: Incident, audit: Audit, again: list[str], second: dict[str, Any], now: str
) -> Incident:
    from metrics.replication import false_alarms_twice

    said = f"Seen in two independent samples (audits {incident.audit} and {audit.id}): {', '.join(again)}."
    if incident.kind == "regression":  # what a gate asks has no such rate
        alpha = workspace.home.policy(audit.release.family).alpha
        said += (
            f" Two in a row are by chance in at most about {percent(false_alarms_twice(alpha))} of unchanged releases, "
            f"instead of {percent(alpha)}."
        )
    kind = "checks" if incident.kind == "gate-failure" else "dimensions"
    shown = {
        name: [row for row in incident.evidence.get(name, ()) if row["dimension"] in again]
        for name in ("moved", "cells")
    }
    evidence = seen_with(workspace, incident.evidence, audit.id) | second | shown | {kind: again, "replication": said}
    return _opened(workspace, incident, evidence, now, replicate_audit=audit.id, seen_audit=audit.id)


def _opened(workspace: Workspace, incident: Incident, evidence: dict[str, Any], now: str, **values: Any) -> Incident:
    notify = opened_notice(workspace, incident, now, evidence=evidence)
    workspace.ledger.move_incident(
        incident.id, OPEN, among=[UNCONFIRMED], now=now, notify=notify, evidence=evidence, **values
    )
    return workspace.ledger.incident(incident.id)


def sampled_again(
    workspace: Workspace,
    made: Conclusion | CollectionReport,
    order: Order,
    run: Callable[[Audit], Conclusion | CollectionReport],
    tell: Callable[[str], None],
) -> None:
    """Take the second samples that an audit's findings want.

    Parameters
    ----------
    made : what came of the audit; nothing follows from one that is not finished, or while the instrument is not steady
    order : what the audit was ordered by
    run : asks, concludes and alerts, as for the audit itself
    """
    from flows.collection import CollectionReport
    from flows.ordering import as_large, ordered

    for _ in range(MOST_SAMPLES):
        if isinstance(made, CollectionReport) or made.held:
            return  # a budget ended it, or the provider was lost: the same command continues
        release = made.scored.audit.release
        incident = wanted(workspace, made.scored.audit)
        if incident is None or incident.audit is None:
            return
        tell(f"incident {incident.id} over {release.uri}: a second sample is taken before anybody is told")
        # One that was interrupted is taken up.
        as_before = as_large(order, workspace.ledger.audit(incident.audit).plan)
        more = dataclasses.replace(as_before, new=False, again=True)
        made = run(ordered(workspace, release, more))


def opened_without(workspace: Workspace, now: Moment | None = None) -> list[Incident]:
    """Open what waited too long for a second sample, or need no longer wait for one, and say that it was not replicated."""
    at = moment_of(workspace, now)
    opened = []
    for incident in workspace.ledger.incidents(states=[UNCONFIRMED]):
        waited = dt.datetime.fromisoformat(at) - dt.datetime.fromisoformat(incident.opened_at)
        wants = workspace.home.service.alerts_of(incident.family).replicate
        if wants and waited < LONGEST_WAIT and len(incident.evidence.get("seen", ())) < MOST_SAMPLES:
            continue
        reason = "no second sample that could be used came" if wants else "'replicate' was turned off before one came"
        said = f"Not replicated: {reason}. One sample by itself is wrong about as often as said above."
        evidence = dict(incident.evidence) | {"replication": said}
        opened.append(_opened(workspace, incident, evidence, at))
    return opened
