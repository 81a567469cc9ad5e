"""What an audit found that somebody should know of: each finding with what moved, by how much, and how sure that is.

Audits of one release that ask the same again are the watch's alone: testing each of them again would raise a false alarm
in nearly every year. While the instrument is not steady, that is the only finding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dashboards.instruments import instrument_measuring, instrument_of
from flows.finding_kinds import ONCE, SEVERITIES, Finding, key_of, percent, probability
from flows.scoring import finished
from flows.summaries import channels_of
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from dashboards.gate_report import GateResult
    from flows.concluding import Conclusion
    from flows.workspace import Workspace
    from registry.audits.channels import Channels
    from registry.ledger.values import Audit, StoredComparison

FIRST_CELLS = 5


def findings_of(workspace: Workspace, conclusion: Conclusion) -> list[Finding]:
    """Everything that a concluded audit found, most severe first."""
    if conclusion.held:
        return [_instrument_moved(conclusion)]
    found = [
        *_changes(workspace, conclusion),
        *_drift(workspace, conclusion),
        *_gate(workspace, conclusion),
        *_coverage(workspace, conclusion),
        *_identity(workspace, conclusion),
    ]
    return sorted(found, key=lambda finding: -SEVERITIES.index(finding.severity))


def judged_elsewhere(conclusion: Conclusion) -> bool:
    """Whether the watch judges this audit, and not its comparisons."""
    return conclusion.recurrence or conclusion.confirmation is not None


# Comparisons -------------------------------------------------------------------------------------------------------


def _changes(workspace: Workspace, conclusion: Conclusion) -> Iterator[Finding]:
    if judged_elsewhere(conclusion):
        return
    compared = [(conclusion.comparison, ""), *((other, "the blessed baseline ") for other in conclusion.with_baselines)]
    for comparison, role in compared:
        if comparison is None:
            continue
        if comparison.verdict == "regressed":
            yield change(workspace, comparison, "regression", role)
        elif comparison.verdict == "improved" and not role:
            yield change(workspace, comparison, "improvement", role)


def change(workspace: Workspace, comparison: StoredComparison, kind: str, role: str = "") -> Finding:
    """The finding that a comparison is; ``role`` : what the other release is, when it is not the previous one."""
    audit, reference = (workspace.ledger.audit(n) for n in (comparison.current_audit, comparison.previous_audit))
    release, against = audit.release, f"{role}{reference.release.uri}"
    verb = "regressed" if kind == "regression" else "improved"
    parts: tuple[object, ...] = (release.family, audit.protocol, f"against {reference.release.uri}")
    if kind in ONCE:
        parts = (*parts, f"audits {reference.id} and {audit.id}")
    rows = [dataclasses.asdict(row) for row in comparison.rows if row.verdict == comparison.verdict]
    return Finding(
        key=key_of(kind, *parts),
        kind=kind,
        family=release.family,
        version=release.version,
        protocol=audit.protocol,
        title=f"{release.uri} {verb} against {against} ({audit.protocol})",
        why=comparison.why,
        evidence={
            "verdict": comparison.verdict,
            "previous": reference.release.uri,
            "dimensions": [row["dimension"] for row in rows],
            "moved": [moved_dimension(row) for row in rows],
            "sure": _how_sure(comparison.policy, len(comparison.rows), verb),
            "cells": _cells(workspace, comparison),
            "comparison": comparison.id,
        },
        audit=audit.id,
        reference_audit=reference.id,
        live=audit.source == "live",
    )


def moved_dimension(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a comparison as plain values, with a line in words."""
    names = ("dimension", "verdict", "previous", "current", "delta", "low", "high", "level", "qvalue", "qvalue_up")
    sizes = ("n_previous", "n_current", "clusters_previous", "clusters_current", "smallest_change")
    values = {name: row.get(name) for name in (*names, *sizes)}
    q = values["qvalue_up"] if values["verdict"] == "regressed" else values["qvalue"]
    text = f"{values['dimension']}: {values['verdict']}"
    if values["delta"] is not None:
        text = f"{values['dimension']}: {values['previous']:.3f} to {values['current']:.3f} ({values['delta']:+.3f}"
        if values["low"] is not None:
            text += f"; {percent(row['level'])} interval {values['low']:+.3f} to {values['high']:+.3f}"
        told = instrument_measuring(row["metric"])
        text += f"; q {probability(q)}), from {values['n_previous']:,} and {values['n_current']:,} {told.unit} in "
        text += f"{values['clusters_previous']:,} and {values['clusters_current']:,} {told.calls}"
    return values | {"text": text}


def _how_sure(policy: Mapping[str, Any], dimensions: int, verb: str) -> str:
    alpha = float(policy.get("alpha", 0.05))
    return (
        f"of comparisons of an unchanged release, about {percent(alpha)} are called {verb} by chance, over all "
        f"{dimensions} dimensions together (q values are adjusted for that, and a change below "
        f"{policy.get('smallest_change', 0.05):g} never counts)"
    )


def _cells(workspace: Workspace, comparison: StoredComparison) -> list[dict[str, Any]]:
    from dashboards.sections.moved import course_text
    from flows.evidence import moved

    cells = moved(workspace, comparison).cells
    sure_first = [cell for cell in cells if cell.significant] or list(cells)  # what may be chance only where all is
    found = []
    for cell in sure_first[:FIRST_CELLS]:
        change = cell.change
        course = course_text(change.share_previous, change.share_current, " to ").replace("\u00a0", " ")
        sure = (
            f"too few {instrument_of(comparison.protocol).unit} to test"
            if change.qvalue is None
            else f"q {probability(change.qvalue)}"
        )
        sure += "" if cell.significant else ", may be chance"
        text = f"{change.dimension}, {change.row} in {change.column}: {course} of {change.row}; {sure}"
        found.append(
            {
                "dimension": change.dimension,
                "row": change.row,
                "column": change.column,
                "share_previous": change.share_previous,
                "share_current": change.share_current,
                "qvalue": change.qvalue,
                "text": text,
            }
        )
    return found


# The watch, the instrument, the gate -------------------------------------------------------------------------------


def _drift(workspace: Workspace, conclusion: Conclusion) -> Iterator[Finding]:
    confirmation = conclusion.confirmation
    if confirmation is None or confirmation.verdict != "regressed":
        return
    audit = conclusion.scored.audit
    rows = [row for row in confirmation.rows if row["verdict"] == confirmation.verdict]
    settings = workspace.home.configuration.watch
    yield Finding(
        key=key_of("drift", audit.release.uri, audit.protocol, f"watch {confirmation.watch}"),
        kind="drift",
        family=audit.release.family,
        version=audit.release.version,
        protocol=audit.protocol,
        title=f"{audit.release.uri} drifted: it is not what it was in its baseline ({audit.protocol})",
        why=confirmation.why,
        evidence={
            "verdict": confirmation.verdict,
            "previous": f"{audit.release.uri}, as in its baseline",
            "dimensions": [row["dimension"] for row in rows],
            "moved": [moved_dimension(row) for row in rows],
            "sure": (
                f"the watch raises a false alarm in at most {percent(settings.alpha)} of series of {settings.horizon} audits "
                f"of an unchanged release, and a full audit with other answers confirmed this one, which by itself is "
                f"wrong in about {percent(workspace.home.policy(audit.release.family).alpha)} of cases"
            ),
            "watch": confirmation.watch,
        },
        audit=audit.id,
        live=audit.source == "live",
    )


def _instrument_moved(conclusion: Conclusion) -> Finding:
    audit = conclusion.scored.audit
    return Finding(
        key=key_of("instrument-moved", audit.release.uri, audit.protocol),
        kind="instrument-moved",
        family=audit.release.family,
        version=audit.release.version,
        protocol=audit.protocol,
        title=f"the instrument moved during an audit of {audit.release.uri} ({audit.protocol}): other alerts are held",
        why=conclusion.held,
        audit=audit.id,
    )


def _gate(workspace: Workspace, conclusion: Conclusion) -> Iterator[Finding]:
    audit = conclusion.scored.audit
    if judged_elsewhere(conclusion) or not (checks := failed_checks(gate_result(workspace, audit))):
        return
    yield Finding(
        key=key_of("gate-failure", audit.release.uri, audit.protocol),
        kind="gate-failure",
        family=audit.release.family,
        version=audit.release.version,
        protocol=audit.protocol,
        title=f"{audit.release.uri} fails the gate ({audit.protocol})",
        why=f"{len(checks)} {'check' if len(checks) == 1 else 'checks'} failed",
        evidence={
            "verdict": "failed",
            "previous": "",
            "dimensions": [],
            "checks": list(checks),
            "details": [f"{name}; {why}" for name, why in checks.items()],
            "sure": (
                "each score is judged by its own 95 % interval, not adjusted for the number of dimensions; comparisons "
                "are adjusted over theirs"
            ),
        },
        audit=audit.id,
        live=audit.source == "live",
    )


def gate_result(workspace: Workspace, audit: Audit) -> GateResult | None:
    """What the configured gate says of an audit; None when no gate is configured or it judges a newer audit."""
    from flows.gating import gated
    from flows.settings import GateSettings

    if workspace.home.gate(audit.release.family) == GateSettings():
        return None
    try:
        result = gated(workspace, audit.release, audit.protocol)
    except BadInputError as error:  # of the gate's settings: the audit and its other findings do not depend on them
        workspace.tell(f"the gate was not judged: {error}")
        return None
    return result if result.audit == audit.id else None


def failed_checks(result: GateResult | None) -> dict[str, str]:
    """What failed of a gate, with the reason."""
    checks = result.checks if result is not None else ()
    return {f"{check.kind}: {check.name}": check.why for check in checks if check.outcome == "failed"}


# Answers -----------------------------------------------------------------------------------------------------------


def _coverage(workspace: Workspace, conclusion: Conclusion) -> Iterator[Finding]:
    why = collapsed_coverage(workspace, conclusion)
    if not why:
        return
    audit = conclusion.scored.audit
    outcomes = sorted(conclusion.scored.reading.channels.rates().items(), key=lambda item: -item[1])
    yield Finding(
        key=key_of("coverage-collapse", audit.release.uri, audit.protocol),
        kind="coverage-collapse",
        family=audit.release.family,
        version=audit.release.version,
        protocol=audit.protocol,
        title=f"{audit.release.uri} gave too few usable answers to judge ({audit.protocol})",
        why=why,
        evidence={
            "verdict": "not measurable",
            "previous": conclusion.previous.uri if conclusion.previous else "",
            "details": [f"{outcome}: {percent(share)} of what was asked for" for outcome, share in outcomes],
            "sure": "these are counts: no verdict on bias follows from them, in either direction",
        },
        audit=audit.id,
    )


def collapsed_coverage(workspace: Workspace, conclusion: Conclusion) -> str:
    """Why too much is missing of what this audit asked for, in words; empty when enough came."""
    from metrics.coverage import coverage_withheld

    audit, channels = conclusion.scored.audit, conclusion.scored.reading.channels
    policy = workspace.home.policy(audit.release.family)
    shares: dict[str, float | None] = {f"for {name} ": share for name, share in channels.group_coverage.items()}
    shares = {"": channels.coverage} | shares
    for whom, share in shares.items():
        if share is not None and share < policy.coverage_floor:
            return (
                f"{whom}usable records came for {percent(share)} of those asked for; "
                f"{percent(policy.coverage_floor)} are needed, for who is missing is unknown"
            )
    if conclusion.comparison is None or channels.mixed_release:
        return ""
    before = channels_of(workspace, workspace.ledger.audit(conclusion.comparison.previous_audit))
    fewer = (channels.coverage or 0) < (before.coverage or 0)
    return (coverage_withheld(before, channels, policy) or "") if fewer and not before.mixed_release else ""


def _identity(workspace: Workspace, conclusion: Conclusion) -> Iterator[Finding]:
    audit, now = conclusion.scored.audit, conclusion.scored.reading.channels
    same = finished(workspace, family=audit.release.family, version=audit.release.version, protocol=audit.protocol)
    earlier = [other for other in same if other.id < audit.id]
    if not earlier:
        return
    before = channels_of(workspace, earlier[-1])
    details = identity_changes(before, now)
    if not details:
        return
    yield Finding(
        key=key_of("identity-changed", audit.release.uri, audit.protocol, f"audits {earlier[-1].id} and {audit.id}"),
        kind="identity-changed",
        family=audit.release.family,
        version=audit.release.version,
        protocol=audit.protocol,
        title=f"another model answers as {audit.release.uri} than before ({audit.protocol})",
        why="; ".join(details),
        evidence={
            "verdict": "",
            "previous": f"{audit.release.uri}, audit {earlier[-1].id}",
            "sure": "it is what the provider says of itself with each answer; whether the answers changed is another question",
        },
        audit=audit.id,
        reference_audit=earlier[-1].id,
    )


def identity_changes(before: Channels, now: Channels) -> list[str]:
    """In words, what the provider says of itself that differs between two audits of one release.

    Served model ids differ when the sets do. Providers that run several builds side by side name one of several system
    fingerprints with each answer: those differ when no one of them is the same.
    """

    def named(found: Sequence[str] | set[str]) -> str:
        return ", ".join(sorted(found)[:5])

    details = []
    models = set(before.served_models), set(now.served_models)
    if all(models) and models[0] != models[1]:
        details.append(f"the served model changed from {named(models[0])} to {named(models[1])}")
    prints = set(before.fingerprints), set(now.fingerprints)
    if all(prints) and not prints[0] & prints[1]:
        details.append(f"the system fingerprint changed from {named(prints[0])} to {named(prints[1])}")
    return details
