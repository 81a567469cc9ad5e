"""What audits of messages would show, before anything is paid for: gaps instead of associations, from cells and repeats."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from flows.expenses import call_usage, finished_audits, release_cost, usage_notes
from flows.ordering import Order, plan_of
from flows.scoring import read_answers
from flows.workspace import Workspace
from metrics.gap_power import (
    FROM_PILOT,
    WANTED_CHANGE,
    WITHOUT_PILOT,
    Assumption,
    Candidate,
    GapPilot,
    GapPlan,
    ModeSize,
    assumed_gaps,
    critical_gap,
    measured_gaps,
    planned_gaps,
    rise_of,
)
from metrics.policy import Policy
from registry.audits.amounts import MOST_REPEATS, amounts
from registry.audits.design import CONTEXT_RICH, STANDALONE, Design
from registry.audits.plan import AuditPlan
from registry.audits.protocols.targeted_messages import design_of
from registry.ledger.values import Audit
from registry.releases import ModelRelease


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What half of the measures, or all of them, show in a planned design, and what the wanted change takes.

    Parameters
    ----------
    shows : smallest change of the score with 80 % power; None with a reason
    prompts, repeats, messages : of the smallest design of the mode that shows the wanted change, None where none does
    at_most : then the smallest change that the largest design shows
    """

    shows: float | None
    prompts: int | None
    repeats: int | None
    messages: int | None
    at_most: float | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModeReach:
    """One audience attribute in one mode under one assumption; ``measures`` of it were planned, and ``reason`` limits them."""

    axis: str
    mode: str
    assumption: str
    measures: int
    half: Reach
    whole: Reach
    reason: str = ""


def wanted_change(policy: Policy) -> float:
    """The change that is planned for when nobody names one: a gap that Cohen calls small where there was none.

    >>> wanted_change(Policy()), wanted_change(Policy(smallest_change=0.5))
    (0.33, 0.5)
    """
    return max(WANTED_CHANGE, policy.smallest_change)


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
        sizes[STANDALONE] = _size(design, len(design.prompt_cells(STANDALONE)), asked.standalone_repeats)
    if CONTEXT_RICH in design.modes:
        sizes[CONTEXT_RICH] = _size(design, asked.contexts, asked.repeats)
    return sizes


def _size(design: Design, prompts: int, repeats: int) -> ModeSize:
    return ModeSize(messages=prompts * design.audience_cells * repeats, cells=prompts)


def candidates(design: Design, mode: str, policy: Policy) -> list[Candidate]:
    """What could be asked of a mode, from the smallest to the largest: first more prompt cells, then, of all, more repeats.

    >>> from registry.audits.design import load_design
    >>> found = candidates(load_design(), "context-rich", Policy())
    >>> [(one.prompts, one.repeats, one.size.messages) for one in (found[0], found[35], found[36], found[-1])]
    [(20, 1, 160), (55, 1, 440), (55, 2, 880), (55, 1000, 440000)]
    """
    everything = len(design.prompt_cells(mode))
    fewest = min(policy.fewest_clusters, everything) if mode == CONTEXT_RICH else everything
    pairs = [(prompts, 1) for prompts in range(fewest, everything)]
    pairs += [(everything, repeats) for repeats in range(1, MOST_REPEATS + 1)]
    return [Candidate(prompts=one, repeats=two, size=_size(design, one, two)) for one, two in pairs]


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
    plan, design = plans[-1], design_of(plans[-1])
    sizes, dimensions = mode_sizes(plan), workspace.protocol(order.protocol).dimensions(plan)
    designs = {mode: candidates(design, mode, policy) for mode in sizes}
    audit = _pilot(workspace, releases, plan)
    if audit is None:
        assumptions: tuple[Assumption, ...] = WITHOUT_PILOT
        pilots = [assumed_gaps(dimensions, one) for one in assumptions]
        source = (
            "none. ASSUMED: no gap in the previous release, independent messages, and prompts that have all one gap, or gaps that "
            "vary by 0.3 standard deviations of messages and are others in the next release, beside each other"
        )
    else:
        assumptions = FROM_PILOT
        reading: Any = read_answers(workspace, audit)  # a MessageReading
        pilots = [measured_gaps(reading.measured, dimensions)] * len(assumptions)
        source = f"audit {audit.id} of {audit.release.uri}: {audit.plan.size:,} messages asked for"
    rows = tuple(
        planned_gaps(pilot, sizes, designs, change=change, policy=policy, assumption=one)
        for pilot, one in zip(pilots, assumptions, strict=True)
    )
    reach = reaches(rows, assumptions)
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
        "critical": (critical_gap(len(dimensions), policy.alpha),) * len(rows),
        "rows": rows,
        "assumptions": tuple(one.words for one in assumptions),
        "reach": reach,
        "wanted": _wanted(reach, design, change),
        "costs": costs,
        "notes": (
            *_notes(plan, sizes, change, policy, pilots[0]),
            *usage_notes(workspace, releases, plans, usages, wh_per_1k_tokens),
        ),
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


# ---------------------------------------------------------------- by attribute and mode


def reaches(rows: Sequence[Sequence[GapPlan]], assumptions: Sequence[Assumption]) -> tuple[ModeReach, ...]:
    """For each attribute and mode, what half and all of its measures show; those that were not planned are left out."""
    found: dict[tuple[str, str], list[ModeReach]] = {}
    for family, assumption in zip(rows, assumptions, strict=True):
        by_mode: dict[tuple[str, str], list[GapPlan]] = {}
        for row in family:
            by_mode.setdefault((row.axis, row.mode), []).append(row)
        for (axis, mode), own in by_mode.items():
            known = [row for row in own if row.score is not None]
            reasons = sorted({row.reason for row in own if row.reason})
            one = ModeReach(
                axis=axis,
                mode=mode,
                assumption=assumption.words,
                measures=len(known),
                half=_reach(known, math.ceil(len(known) / 2)),
                whole=_reach(known, len(known)),
                reason="; ".join(reasons),
            )
            found.setdefault((axis, mode), []).append(one)
    return tuple(one for of in found.values() for one in of)


def _reach(rows: Sequence[GapPlan], number: int) -> Reach:
    """What at least ``number`` of the rows show."""
    if not rows:
        return Reach(shows=None, prompts=None, repeats=None, messages=None, at_most=None)
    shown = sorted(rows, key=lambda row: math.inf if row.detectable is None else row.detectable)[number - 1]
    design = sorted(rows, key=lambda row: (row.size_for_change or math.inf, row.at_most or 0.0))[number - 1]
    return Reach(
        shows=shown.detectable,
        prompts=design.prompts,
        repeats=design.repeats,
        messages=design.size_for_change,
        at_most=design.at_most,
    )


def _wanted(reach: Sequence[ModeReach], design: Design, change: float) -> list[tuple[str, int]]:
    """The designs that show the wanted change, with the options that ask them, once each; the largest need of a mode counts."""
    found: dict[tuple[str, str, str], Reach] = {}
    for one in reach:
        for words, of in (("half of", one.half), ("all", one.whole)):
            place = (one.mode, one.assumption, words)
            if of.messages is not None and of.messages >= (found[place].messages or 0 if place in found else 0):
                found[place] = of
    for one in reach:  # where an attribute has no design, there is none for all attributes of the mode
        for words, of in (("half of", one.half), ("all", one.whole)):
            if of.messages is None:
                found.pop((one.mode, one.assumption, words), None)
    told: dict[tuple[str, int], list[str]] = {}
    for (mode, assumption, words), of in found.items():
        if words == "all" or of != found.get((mode, assumption, "all")):
            key = (f"+{change:g} in {words} measures, {mode}, {{}}: {_options(design, mode, of)}", of.messages or 0)
            told.setdefault(key, []).append(assumption)
    many = len({one.assumption for one in reach})
    return [
        (words.format("either way" if len(which) == many else f"if {which[0]}"), messages)
        for (words, messages), which in told.items()
    ]


def _options(design: Design, mode: str, reach: Reach) -> str:
    """How the design is asked for."""
    cells = "" if mode == STANDALONE else f"--cells {(reach.prompts or 0) * design.audience_cells} "
    return f"--mode {mode} {cells}--repeats {reach.repeats}"


def _notes(
    plan: AuditPlan, sizes: Mapping[str, ModeSize], change: float, policy: Policy, pilots: Sequence[GapPilot]
) -> list[str]:
    cells, repeats = plan.sizes["cells"], plan.sizes["repeats"]
    notes = [
        f"{cells:,} cells, {repeats} {'message' if repeats == 1 else 'messages'} each; "
        + "; ".join(f"{mode}: {size.messages:,} messages in {size.cells} prompt cells" for mode, size in sizes.items()),
        *_scale_notes(change, policy),
        "more prompt cells tell more than more repeats: take --cells first, --repeats when all cells are asked; beyond those a domain "
        "with more themes or regions has more prompts",
    ]
    for mode, size in sizes.items():
        if mode == CONTEXT_RICH and size.cells < policy.fewest_clusters:
            notes.append(
                f"{mode}: a verdict needs {policy.fewest_clusters} prompt cells, and this design asks {size.cells}"
            )
        if mode == STANDALONE:
            notes.append(f"{mode}: what is found is about these {size.cells} prompts only")
    if any(not pilot.apart for pilot in pilots):
        notes.append(
            "the pilot has one message to a prompt and group, so that what is the prompt's own and what is chance cannot be told "
            "apart: an audit with 2 repeats or more plans better"
        )
    return notes


def _scale_notes(change: float, policy: Policy) -> list[str]:
    """What changes of the normalized gap are in standard deviations."""
    return [
        f"+{change:g} of the score is {rise_of(0.0, change):.2f} standard deviations of messages to one group, where there was no "
        f"gap before; Cohen calls 0.2 small, 0.5 medium and 0.8 large",
        f"a change that is shown counts from {policy.smallest_change:g} of the score on ({rise_of(0.0, policy.smallest_change):.2f} "
        f"standard deviations), and 'unchanged' needs +-{policy.margin:g} ({rise_of(0.0, policy.margin):.2f}): of messages it takes so "
        "many that the usual verdict on a release that did not change is inconclusive",
    ]
