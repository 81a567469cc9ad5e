"""What an audit would show and what it would take, before anything is spent. Asks no model and orders no audit."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flows.expenses import ReleaseCost, call_usage, finished_audits, per_call_of, release_cost, usage_notes
from flows.ordering import Order, plan_of
from flows.scoring import is_current, read_answers
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.pilot import ASSUMED_DESIGN_EFFECTS, Pilot, assumed_pilot, measured_pilot
from metrics.power import NAMES_NOTE, DimensionPlan, family_critical, planned_dimensions, round_up
from metrics.tables import BiasDimension
from metrics.verdicts import METRIC, Policy
from registry.audits.plan import AuditPlan
from registry.audits.protocols import Reading
from registry.audits.variants import variant_of
from registry.ledger.values import Audit
from registry.releases import ModelRelease

if TYPE_CHECKING:
    from flows.gap_planning import ModeReach

_SMALLEST, _LARGEST = 0.001, 10.0
_ASIDE = (
    "an audit with the prompt variant {variant} gives no verdict on a release: the changes that are shown here are those that 'spiritlevel "
    "robustness' finds between the plain prompt and the variant in one release, with as many personas under each"
)
SIZE, MEDIAN, WORST = "the size asked for", "the change in the median dimension", "the change in the worst dimension"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A size with what it is for: the size asked for, or that of the wanted change; and what it takes, by release.

    ``design_effect`` : the assumed one, when the size rests on an assumption.
    """

    purpose: str
    size: int
    design_effect: float | None
    costs: tuple[ReleaseCost, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAudit:
    """Everything that `planned` finds.

    Parameters
    ----------
    previous, current : references of the releases; previous is None for a family's first audit
    size, per_call, change : personas a release, personas a call, wanted change of the normalized score
    pilot : the audit that the figures are from, None for assumptions; source : the same in words
    critical : what a one-sided z must reach over the family, one for each assumption
    rows : plans of the dimensions, one tuple for the pilot, or one for each of ``ASSUMED_DESIGN_EFFECTS``
    targets : sizes and what they take; notes : what a reader must know beside the numbers
    assumptions : of messages, what each of ``rows`` assumes; reach : what each attribute shows in each mode
    variant : the prompt variant that would be asked with, empty for the protocol's own prompt
    """

    previous: str | None
    current: str
    protocol: str
    unit: str
    size: int
    per_call: int
    change: float
    pilot: int | None
    source: str
    policy: Policy
    critical: tuple[float, ...]
    rows: tuple[tuple[DimensionPlan, ...], ...]
    targets: tuple[Target, ...]
    notes: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    reach: tuple[ModeReach, ...] = ()
    variant: str = ""

    @property
    def assumed(self) -> bool:
        """Whether the figures are assumptions and not those of a pilot."""
        return self.pilot is None


def planned(
    workspace: Workspace,
    previous: ModelRelease | None,
    current: ModelRelease,
    order: Order,
    *,
    change: float | None = None,
    concurrency: int = 8,
    wh_per_1k_tokens: float | None = None,
    policy: Policy | None = None,
) -> PlannedAudit:
    """What audits of two releases would show and take; of one release, for a family's first audit.

    Parameters
    ----------
    order : the audit, as it would be ordered: protocol, size, personas a call, and what messages are about
    change : of the normalized score; default the policy's smallest change that matters, of messages that of
        `flows.gap_planning.wanted_change`
    concurrency : calls at the same time; wh_per_1k_tokens : energy of 1,000 tokens, as somebody measured it
    policy : how the comparison will be judged; default that of the family

    Raises
    ------
    BadInputError
        For the same release twice, a protocol without bias dimensions, and numbers that mean nothing.
    """
    policy = policy or workspace.home.policy(current.family)
    instrument = workspace.protocol(order.protocol)
    if change is None:
        change = _default_change(instrument.unit, policy)
    if not _SMALLEST <= change <= _LARGEST:
        raise BadInputError(
            f"a planned change of the normalized score is between {_SMALLEST:g} and {_LARGEST:g}, got {change:g}; most scores "
            f"lie between 0 and 2"
        )
    if order.per_call is not None and order.per_call < 1:
        raise BadInputError(f"a call asks for at least 1 persona, got {order.per_call}")
    _check(previous, current, concurrency, wh_per_1k_tokens)
    if instrument.unit == "messages":
        return _of_messages(workspace, previous, current, order, change, concurrency, wh_per_1k_tokens, policy)
    if not hasattr(instrument, "dimensions"):
        raise BadInputError(
            f"{order.protocol} has no bias dimensions, and only audits of bias dimensions can be planned"
        )
    releases = [release for release in (previous, current) if release is not None]
    plans = [plan_of(workspace, release, order) for release in releases]
    asked, each = plans[-1].size, per_call_of(plans[-1])
    basis = _basis(workspace, _pilot_audit(workspace, releases, plans[-1]), plans[-1], policy)
    rows = [planned_dimensions(one, size=asked, change=change, per_call=each, policy=policy) for one in basis.pilots]
    usages = [call_usage(workspace, release, releases, plan) for release, plan in zip(releases, plans, strict=True)]
    effects = [None] if basis.audit else list(ASSUMED_DESIGN_EFFECTS)
    targets = [
        Target(
            purpose=purpose,
            size=wanted,
            design_effect=effect,
            costs=tuple(
                release_cost(release, wanted, per_call_of(plan), usage, concurrency, wh_per_1k_tokens)
                for release, plan, usage in zip(releases, plans, usages, strict=True)
            ),
        )
        for purpose, wanted, effect in _sizes(asked, rows, effects)
    ]
    rules = _rules(plans, rows[0], change, policy)
    usage = usage_notes(workspace, releases, plans, usages, wh_per_1k_tokens)
    return PlannedAudit(
        previous=previous.uri if previous else None,
        current=current.uri,
        protocol=order.protocol,
        unit=instrument.unit,
        size=asked,
        per_call=each,
        change=change,
        pilot=basis.audit.id if basis.audit else None,
        source=basis.source,
        policy=policy,
        critical=tuple(family_critical(one, policy) for one in basis.pilots),
        rows=tuple(rows),
        targets=tuple(targets),
        notes=(*basis.notes, *rules, *usage, *_reviewed(instrument)),
        variant=variant_of(plans[-1].options),
    )


def _default_change(unit: str, policy: Policy) -> float:
    """The change that is planned for when nobody names one."""
    if unit != "messages":
        return policy.smallest_change
    from flows.gap_planning import wanted_change

    return wanted_change(policy)


def _of_messages(
    workspace: Workspace,
    previous: ModelRelease | None,
    current: ModelRelease,
    order: Order,
    change: float,
    concurrency: int,
    wh_per_1k_tokens: float | None,
    policy: Policy,
) -> PlannedAudit:
    """A plan of messages; see `flows.gap_planning`."""
    from flows.gap_planning import planned_messages

    parts = planned_messages(
        workspace,
        previous,
        current,
        order,
        change=change,
        concurrency=concurrency,
        wh_per_1k_tokens=wh_per_1k_tokens,
        policy=policy,
    )
    costs, wanted = parts.pop("costs"), parts.pop("wanted")
    targets = tuple(
        Target(purpose=purpose, size=number, design_effect=None, costs=costs(number))
        for purpose, number in [(SIZE, parts["size"]), *wanted]
    )
    return PlannedAudit(
        previous=previous.uri if previous else None,
        current=current.uri,
        protocol=order.protocol,
        unit="messages",
        change=change,
        policy=policy,
        targets=targets,
        **parts,
    )


def _check(
    previous: ModelRelease | None, current: ModelRelease, concurrency: int, wh_per_1k_tokens: float | None
) -> None:
    if wh_per_1k_tokens is not None and not 0 < wh_per_1k_tokens < math.inf:
        raise BadInputError(f"energy per 1,000 tokens is a number of watt-hours above 0, got {wh_per_1k_tokens}")
    if concurrency < 1:
        raise BadInputError(f"at least one call is made at a time, got {concurrency}")
    if previous is not None and previous.uri == current.uri:
        raise BadInputError(
            f"{current.uri} cannot be compared with itself; name two releases, or one for its first audit"
        )


# ---------------------------------------------------------------- what the figures rest on


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Basis:
    """The pilot and its audit, or the assumptions and no audit; in words, with what is to be said of it."""

    audit: Audit | None
    pilots: list[Pilot]
    source: str
    notes: list[str]


def _pilot_audit(workspace: Workspace, releases: Sequence[ModelRelease], plan: AuditPlan) -> Audit | None:
    """The newest finished audit of the releases that asked what the plan would ask, else the newest at all."""
    audits = [audit for release in releases for audit in finished_audits(workspace, release, plan)]
    wording = variant_of(plan.options)
    return max(
        audits,
        key=lambda audit: (
            audit.plan.collection_key == plan.collection_key, variant_of(audit.plan.options) == wording, audit.id
        ),
        default=None,
    )  # fmt: skip


def _reviewed(instrument: Any) -> tuple[str, ...]:
    """Who looked at the prompt and the categories of a brainstorm that is not the paper's."""
    reviewed = getattr(getattr(instrument, "asks", None), "reviewed", "")
    return (reviewed,) if reviewed else ()


def _assumption(dimensions: Sequence[BiasDimension], reason: str, notes: Sequence[str] = ()) -> _Basis:
    effects = " and ".join(f"{effect:g}" for effect in ASSUMED_DESIGN_EFFECTS)
    return _Basis(
        audit=None,
        pilots=[assumed_pilot(dimensions, effect) for effect in ASSUMED_DESIGN_EFFECTS],
        source=(
            f"{reason}. ASSUMED: the median V of 12 models in Table 2 of arXiv 2602.00044 with the spread of simulated "
            f"personas, for the design effects {effects} beside each other"
        ),
        notes=list(notes),
    )


def _basis(workspace: Workspace, audit: Audit | None, plan: AuditPlan, policy: Policy) -> _Basis:
    instrument = workspace.protocol(plan.protocol)
    dimensions: Sequence[BiasDimension] = instrument.dimensions()
    if audit is None:
        return _assumption(dimensions, "none, for these releases have no finished audit")
    reading = read_answers(workspace, audit)
    channels = reading.channels
    size = (channels.expected or channels.usable) - channels.outcomes.get("not asked", 0)
    source = (
        f"audit {audit.id} of {audit.release.uri}: {size:,} {instrument.unit} asked for, {channels.usable:,} usable"
    )
    if not channels.usable:
        return _assumption(dimensions, f"{source}, which tells nothing")
    pilot = _measured(workspace, audit, reading, size, policy)
    if not pilot.dimensions:
        why = sorted(set(pilot.missing.values()))
        return _assumption(dimensions, f"{source}, of which no dimension could be measured", why)
    return _Basis(audit=audit, pilots=[pilot], source=source, notes=_doubts(audit, plan, reading, policy))


def _measured(workspace: Workspace, audit: Audit, reading: Reading, size: int, policy: Policy) -> Pilot:
    """The pilot of an audit, without the dimensions that its scores call not measurable. Nothing is stored."""
    instrument = workspace.protocol(audit.protocol)
    frozen = workspace.ledger.name_list(audit.release.family, audit.protocol)
    names = frozen.names if frozen else instrument.names([reading.frame])
    stored = is_current(workspace, audit)
    scores = workspace.ledger.scores(audit.id) if stored else instrument.scores(reading, names)
    unscored = {score.dimension: score.reason for score in scores if score.metric == METRIC and score.value is None}
    dimensions = [dimension for dimension in instrument.dimensions() if dimension.title not in unscored]
    pilot = measured_pilot(reading.frame, dimensions, size=size, names=names, merge_below=policy.merge_below)
    missing = {**unscored, **pilot.missing}
    titles = [dimension.title for dimension in instrument.dimensions()]
    return dataclasses.replace(pilot, missing={title: missing[title] for title in titles if title in missing})


def _doubts(audit: Audit, plan: AuditPlan, reading: Reading, policy: Policy) -> list[str]:
    """What makes a pilot a weak guide."""
    channels, doubts = reading.channels, []
    if audit.plan.collection_key != plan.collection_key:
        doubts.append("the pilot did not ask what the plan would ask, so its answers may vary more or less")
    if channels.coverage is not None and channels.coverage < policy.coverage_floor:
        doubts.append(
            f"the pilot gave usable records for {100 * channels.coverage:.0f} % of those asked for; below "
            f"{100 * policy.coverage_floor:.0f} % a comparison gives no verdict, whatever its size"
        )
    if channels.mixed_release:
        doubts.append("more than one served model answered in the pilot: its figures are of neither")
    if channels.answered < 5 * policy.fewest_clusters:
        doubts.append(f"the pilot has {channels.answered} answered calls only: its figures are rough")
    return doubts


# ---------------------------------------------------------------- sizes and what they take


def _sizes(
    asked: int, rows: Sequence[Sequence[DimensionPlan]], effects: Sequence[float | None]
) -> list[tuple[str, int, float | None]]:
    """The sizes of interest: as asked, and what the wanted change takes in the median and the worst dimension.

    Names are left out, as they are where an inconclusive comparison says which size would decide.
    """
    found: list[tuple[str, int, float | None]] = [(SIZE, asked, None)]
    for family, effect in zip(rows, effects, strict=True):
        sizes = [row.size_for_change for row in family if row.size_for_change is not None and not row.by_name]
        if sizes:
            median = math.ceil(statistics.median(sizes))
            found += [(MEDIAN, round_up(median), effect), (WORST, round_up(max(sizes)), effect)]
    return found


# ---------------------------------------------------------------- what must be known beside the numbers


def _rules(plans: Sequence[AuditPlan], rows: Sequence[DimensionPlan], change: float, policy: Policy) -> list[str]:
    notes = []
    if len({plan.collection_key for plan in plans}) > 1:
        notes.append(
            "the two releases would be asked different things (an embedded model is asked one persona a call), and "
            "such audits are not compared"
        )
    if variant := variant_of(plans[-1].options):
        notes.append(_ASIDE.format(variant=variant))
    if any(row.by_name for row in rows):
        notes.append(NAMES_NOTE.format(needed=policy.name_n_eff))
    if change <= policy.smallest_change:
        notes.append(
            f"a change of {change:g} that is shown is called regressed only where the estimate reaches "
            f"{policy.smallest_change:g} as well, so in {'about' if change == policy.smallest_change else 'less than'} "
            f"half of the audits, whatever the size"
        )
    return notes
