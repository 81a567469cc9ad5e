"""What audits of messages would show, before anything is paid for: gaps instead of associations, from cells and repeats."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from flows.expenses import call_usage, finished_audits, release_cost, usage_notes
from flows.ordering import Order, plan_of
from flows.scoring import read_answers
from flows.workspace import Workspace
from metrics.gap_power import ModeSize, assumed_gaps, critical_gap, measured_gaps, planned_gaps
from metrics.pilot import ASSUMED_DESIGN_EFFECTS
from metrics.policy import Policy
from metrics.power import DimensionPlan, round_up
from registry.audits.amounts import amounts
from registry.audits.design import CONTEXT_RICH, STANDALONE
from registry.audits.plan import AuditPlan
from registry.audits.protocols.targeted_messages import design_of
from registry.ledger.values import Audit
from registry.releases import ModelRelease


def mode_sizes(plan: AuditPlan) -> dict[str, ModeSize]:
    """Messages and prompt cells of each mode that a plan asks.

    >>> from registry.audits.protocols.targeted_messages import TargetedMessages
    >>> mode_sizes(TargetedMessages().plan(cells=136, repeats=1))["context-rich"]
    ModeSize(messages=120, cells=15)
    """
    design = design_of(plan)
    asked = amounts(design, **plan.sizes, size=None)
    sizes = {}
    if STANDALONE in design.modes:
        cells = len(design.prompt_cells(STANDALONE))
        sizes[STANDALONE] = ModeSize(messages=cells * design.audience_cells * asked.standalone_repeats, cells=cells)
    if CONTEXT_RICH in design.modes:
        messages = asked.contexts * design.audience_cells * asked.repeats
        sizes[CONTEXT_RICH] = ModeSize(messages=messages, cells=asked.contexts)
    return sizes


def planned_messages(
    workspace: Workspace,
    previous: ModelRelease | None,
    current: ModelRelease,
    order: Order,
    *,
    change: float,
    concurrency: int,
    wh_per_1k_tokens: float | None,
    policy: Policy,
) -> dict[str, Any]:
    """The parts of a `flows.planning.PlannedAudit` that only messages have."""
    releases = [release for release in (previous, current) if release is not None]
    plans = [plan_of(workspace, release, order) for release in releases]
    plan = plans[-1]
    sizes, dimensions = mode_sizes(plan), workspace.protocol(order.protocol).dimensions(plan)
    audit = _pilot(workspace, releases, plan)
    if audit is None:
        effects: Sequence[float | None] = ASSUMED_DESIGN_EFFECTS
        pilots = [assumed_gaps(dimensions, sizes, effect) for effect in ASSUMED_DESIGN_EFFECTS]
        source = (
            "none. ASSUMED: no gap in the previous release, and messages of a prompt cell that resemble each other not at all "
            "or so much that the variance doubles, beside each other"
        )
    else:
        effects = (None,)
        reading: Any = read_answers(workspace, audit)  # a MessageReading
        pilots = [measured_gaps(reading.measured, dimensions, sizes)]
        source = f"audit {audit.id} of {audit.release.uri}: {audit.plan.size:,} messages asked for"
    rows = tuple(
        planned_gaps(pilot, size=plan.size, change=change, policy=policy, design_effect=effect)
        for pilot, effect in zip(pilots, effects, strict=True)
    )
    usages = [call_usage(workspace, release, releases, one) for release, one in zip(releases, plans, strict=True)]

    def costs(size: int) -> tuple[Any, ...]:
        return tuple(
            release_cost(release, size, 1, usage, concurrency, wh_per_1k_tokens)
            for release, usage in zip(releases, usages, strict=True)
        )

    return {
        "size": plan.size,
        "per_call": 1,
        "pilot": audit.id if audit is not None else None,
        "source": source,
        "critical": tuple(critical_gap(len(pilot), policy.alpha) for pilot in pilots),
        "rows": rows,
        "wanted": _wanted(rows, effects),
        "costs": costs,
        "notes": (*_notes(plan, sizes, policy), *usage_notes(workspace, releases, plans, usages, wh_per_1k_tokens)),
    }


def _pilot(workspace: Workspace, releases: Sequence[ModelRelease], plan: AuditPlan) -> Audit | None:
    """The newest finished audit that asked what the plan would ask; one of another design is no guide."""
    same = [
        audit
        for release in releases
        for audit in finished_audits(workspace, release, plan)
        if audit.plan.collection_key == plan.collection_key
    ]
    return max(same, key=lambda audit: audit.id, default=None)


def _wanted(
    rows: Sequence[Sequence[DimensionPlan]], effects: Sequence[float | None]
) -> list[tuple[str, int, float | None]]:
    from flows.planning import MEDIAN, WORST  # which loads this module when messages are planned

    found = []
    for family, effect in zip(rows, effects, strict=True):
        sizes = [row.size_for_change for row in family if row.size_for_change is not None]
        if sizes:
            found.append((MEDIAN, round_up(int(statistics.median(sizes))), effect))
            found.append((WORST, round_up(max(sizes)), effect))
    return found


def _notes(plan: AuditPlan, sizes: dict[str, ModeSize], policy: Policy) -> list[str]:
    cells, repeats = plan.sizes["cells"], plan.sizes["repeats"]
    notes = [
        f"{cells:,} cells, {repeats} {'message' if repeats == 1 else 'messages'} each; "
        + "; ".join(f"{mode}: {size.messages:,} messages in {size.cells} prompt cells" for mode, size in sizes.items()),
        "more prompt cells tell more than more repeats: take --cells first, --repeats when all cells are asked",
    ]
    for mode, size in sizes.items():
        if mode == CONTEXT_RICH and size.cells < policy.fewest_clusters:
            notes.append(
                f"{mode}: a verdict needs {policy.fewest_clusters} prompt cells, and this design asks {size.cells}"
            )
        if mode == STANDALONE:
            notes.append(f"{mode}: what is found is about these {size.cells} prompts only")
    return notes
