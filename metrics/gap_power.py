"""What an audit of messages of a planned design can show: gaps, as `metrics.power` does it for associations.

The variance of a gap has two parts. How much prompt cells differ in it falls with the number of cells only; how much messages to
one prompt differ falls with the number of messages. Both come from a pilot audit. Two releases are asked the same prompts: where
these keep their own gaps from one release to the next, the first part cancels in the change; where they do not, it stays. Nobody
knows which before the second release is asked, so that both are planned for.

Without a pilot messages are taken as independent: with n messages to all groups together the variance is ``4 / n`` squared
standard deviations; prompts then have one gap, or, beside it, gaps of their own.

A change is shown when the test of `metrics.folding` shows it, in the family of all dimensions (Šidák's critical value).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import optimize, special

from metrics.clustered import FEWEST_CELLS, CellTable, cell_table
from metrics.folding import FoldedPair
from metrics.gaps import SMALL, BoolArray, Gap, GapDimension, Messages, basis_of, defect, gaps_of, normalized_gap
from metrics.policy import Policy
from metrics.power import DimensionPlan

WANTED_CHANGE = normalized_gap(SMALL)
"""The change that is planned for by default: from no gap to one that Cohen calls small, a whole band of severity. What counts as
a change at all (`Policy.smallest_change`) is a seventh of it: 0.03 standard deviations, which takes over 100,000 messages."""

_Z_MARGIN = float(special.ndtri(0.95))
_LARGEST = 20.0  # standard deviations; no gap is larger


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModeSize:
    """What a plan asks of one mode: messages in all, and prompt cells they are about."""

    messages: int
    cells: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """What nobody can tell beforehand, in words, and as numbers.

    Parameters
    ----------
    kept : share of the prompts' own gaps that they keep from release to release
    own_gaps : standard deviation of the prompts' own gaps, in those of messages; where a pilot tells it, it is not used
    """

    words: str
    kept: float = 0.0
    own_gaps: float = 0.0


FROM_PILOT = (
    Assumption(words="prompts keep their own gaps", kept=1.0),
    Assumption(words="prompts change theirs", kept=0.0),
)
WITHOUT_PILOT = (
    Assumption(words="all prompts have one gap"),
    Assumption(words="gaps of prompts vary by 0.3", own_gaps=0.3),
)
"""0.3 doubles the variance of the default design. Replies of three models to 12 to 108 questions each showed 0 to 0.5."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GapPilot:
    """What is known of a gap before an audit: its size in standard deviations and its two variances; or why it is not.

    Parameters
    ----------
    title, axis, mode : of the dimension
    between : variance of the gap times prompt cells, from how cells differ; within : times messages, from how messages do
    share : of the messages, those with a number
    apart : whether the two could be told apart; if not, each is all of it
    """

    title: str
    axis: str = ""
    mode: str = ""
    size: float = 0.0
    between: float = 0.0
    within: float | None = None
    share: float = 1.0
    apart: bool = True
    reason: str = ""

    def variances(self, planned: ModeSize, assumption: Assumption) -> tuple[float, float]:
        """Variance of the gap in an audit as planned: from how prompts differ, and from how messages to one prompt do.

        With fewer than `metrics.clustered.FEWEST_CELLS` prompts what is said is about these, and how they differ is no error.
        What could not be told apart is of messages where prompts keep their gaps, and of prompts where they do not.
        """
        between = self.between / planned.cells if planned.cells >= FEWEST_CELLS else 0.0
        within = (self.within or 0.0) / max(planned.messages * self.share, 1.0)
        if not self.apart:
            return (0.0, within) if assumption.kept or not between else (between, 0.0)
        return between, within


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A design that could be asked of one mode: its prompt cells, messages to each cell and audience, and what that comes to."""

    prompts: int
    repeats: int
    size: ModeSize


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GapPlan(DimensionPlan):
    """What one gap can show in a planned design; ``v`` and ``detectable_v`` are in standard deviations.

    Parameters
    ----------
    axis, mode : of the dimension
    prompts, repeats : of the smallest design of the mode that shows the wanted change; ``size_for_change`` are its messages
    at_most : smallest change that the largest design shows, where none shows the wanted one
    """

    axis: str = ""
    mode: str = ""
    prompts: int | None = None
    repeats: int | None = None
    at_most: float | None = None


def critical_gap(dimensions: int, alpha: float) -> float:
    """The z that the largest of so many one-sided tests exceeds with probability alpha when nothing changed (Šidák 1967).

    >>> round(critical_gap(1, 0.05), 3), round(critical_gap(24, 0.05), 3)
    (1.645, 2.858)
    """
    return float(special.ndtri((1 - alpha) ** (1 / max(dimensions, 1))))


def measured_gaps(frame: pd.DataFrame, dimensions: Sequence[GapDimension]) -> list[GapPilot]:
    """The pilot that a finished audit is; ``frame`` holds its messages."""
    messages = Messages(frame)
    return [_measured(messages, dimension) for dimension in dimensions]


def _measured(messages: Messages, dimension: GapDimension) -> GapPilot:
    bare = GapPilot(title=dimension.title, axis=dimension.axis, mode=dimension.mode)
    labels = messages.labels(dimension)
    if len(labels) < 2 or (dimension.groups is not None and not set(dimension.groups) <= set(labels)):
        return dataclasses.replace(bare, reason="a group has no usable message in the pilot")
    table = cell_table(messages.samples(dimension))
    used = table.shared(*table.found.groups)
    if reason := defect([table], [used]):
        return dataclasses.replace(bare, reason=reason)
    basis = basis_of([used])
    gap = _gap(table, used, basis)
    if gap.variance <= 0:
        return dataclasses.replace(bare, reason="the gap is the same in every prompt cell of the pilot")
    share = gap.n / max(gap.n + gap.n_excluded, 1)
    known = dataclasses.replace(bare, size=gap.debiased, within=gap.variance * gap.n, share=share)
    if basis == "repeats":
        return known
    # One message of a group in each cell: what of a cell's gap is its own and what is that message cannot be told.
    if ((table.counts[:, used] - 1).sum(axis=1) < 1).any():
        return dataclasses.replace(known, between=gap.variance * gap.cells, apart=False)
    within = _gap(table, used, "repeats").variance
    between = max(gap.variance - within, 0.0) * gap.cells
    return dataclasses.replace(known, between=between, within=within * gap.n)


def _gap(table: CellTable, used: BoolArray, basis: str) -> Gap:
    return gaps_of([table], [used], [np.arange(int(used.sum()), dtype=np.int64)], basis=basis)[0]


def assumed_gaps(dimensions: Sequence[GapDimension], assumption: Assumption) -> list[GapPilot]:
    """Without a pilot: no gap, independent messages, and prompts whose own gaps vary as assumed."""
    return [
        GapPilot(title=one.title, axis=one.axis, mode=one.mode, between=assumption.own_gaps**2, within=4.0)
        for one in dimensions
    ]


def planned_gaps(
    pilots: Sequence[GapPilot],
    sizes: Mapping[str, ModeSize],
    designs: Mapping[str, Sequence[Candidate]],
    *,
    change: float,
    policy: Policy,
    assumption: Assumption,
) -> tuple[GapPlan, ...]:
    """One row a dimension: the smallest rise that is shown with 80 % power, and the smallest design that shows the wanted one.

    Parameters
    ----------
    sizes : of each mode as planned; designs : of each mode, what could be asked, from the smallest to the largest
    change : wanted rise of the normalized gap; assumption : what a pilot cannot tell

    >>> pilot = GapPilot(title="gender x words, standalone", mode="standalone", within=4.0)
    >>> sizes = {"standalone": ModeSize(messages=400, cells=2)}
    >>> larger = [Candidate(prompts=2, repeats=n, size=ModeSize(messages=16 * n, cells=2)) for n in range(1, 1001)]
    >>> (row,) = planned_gaps([pilot], sizes, {"standalone": larger}, change=0.33, policy=Policy(), assumption=FROM_PILOT[0])
    >>> round(row.detectable_v, 2), round(row.detectable, 2), row.repeats, row.size_for_change
    (0.41, 0.56, 105, 1680)
    """
    critical = critical_gap(len(pilots), policy.alpha)
    return tuple(
        _planned(pilot, sizes[pilot.mode], designs[pilot.mode], change, policy, critical, assumption)
        for pilot in pilots
    )


def _planned(
    pilot: GapPilot,
    size: ModeSize,
    designs: Sequence[Candidate],
    change: float,
    policy: Policy,
    critical: float,
    assumption: Assumption,
) -> GapPlan:
    row = GapPlan(dimension=pilot.title, axis=pilot.axis, mode=pilot.mode)
    if pilot.within is None:
        return dataclasses.replace(row, reason=pilot.reason)
    before = normalized_gap(pilot.size)
    wanted = rise_of(pilot.size, change)

    def reached(one: ModeSize) -> float:
        return _pair(pilot, one, assumption).detectable(_of_cells(critical, one)) - pilot.size

    chosen = _smallest(designs, lambda one: reached(one) <= wanted)
    row = dataclasses.replace(
        row,
        score=before,
        v=pilot.size,
        design_effect=sum(pilot.variances(size, assumption)) / (4 / max(size.messages * pilot.share, 1.0)),
        counted=round(size.messages * pilot.share),
        prompts=chosen.prompts if chosen else None,
        repeats=chosen.repeats if chosen else None,
        size_for_change=chosen.size.messages if chosen else None,
        at_most=None if chosen or not designs else normalized_gap(pilot.size + reached(designs[-1].size)) - before,
    )
    if limit := _no_verdict(size, policy):
        return dataclasses.replace(row, reason=limit)
    pair, hurdle, rise = _pair(pilot, size, assumption), _of_cells(critical, size), reached(size)
    slope = max(normalized_gap(pilot.size + 0.01) - before, 1e-6) / 0.01
    inside = policy.margin / (slope * pair.errors[0]) - _Z_MARGIN
    return dataclasses.replace(
        row,
        detectable=normalized_gap(pilot.size + rise) - before,
        detectable_v=rise,
        chance_shown=pair.power(pilot.size + wanted, hurdle),
        chance_unchanged=max(2 * float(special.ndtr(inside)) - 1, 0.0) if inside > 0 else 0.0,
    )


def _pair(pilot: GapPilot, size: ModeSize, assumption: Assumption) -> FoldedPair:
    """Both releases as planned, of the pilot's gap; what prompts keep they have in common."""
    between, within = pilot.variances(size, assumption)
    variance = max(between + within, 1e-12)
    return FoldedPair(
        previous=pilot.size,
        current=pilot.size,
        variances=(variance, variance),
        covariance=min(assumption.kept * between, variance * (1 - 1e-9)),
        df=1e6,
        pvalues_zero=(1.0, 1.0),
    )


def _of_cells(critical: float, size: ModeSize) -> float:
    """The critical value with Student's t in place of the normal, where prompt cells tell the error."""
    if size.cells < FEWEST_CELLS:
        return critical
    return float(special.stdtrit(size.cells - 1, special.ndtr(critical)))


def _no_verdict(size: ModeSize, policy: Policy) -> str:
    """Why a design of this size gives no verdict, whatever is found; empty when it may."""
    if FEWEST_CELLS <= size.cells < policy.fewest_clusters:
        return f"a verdict needs {policy.fewest_clusters} prompt cells, and this design asks {size.cells}"
    if size.messages < policy.fewest_clusters:
        return f"a verdict needs {policy.fewest_clusters} messages, and this design asks {size.messages}"
    return ""


def _smallest(designs: Sequence[Candidate], enough: Callable[[ModeSize], bool]) -> Candidate | None:
    """The first design that is enough; each shows more than the one before it. None when not even the last is."""
    if not designs or not enough(designs[-1].size):
        return None
    low, high = 0, len(designs) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(designs[middle].size) else (middle + 1, high)
    return designs[low]


def rise_of(size: float, change: float) -> float:
    """Rise in standard deviations that raises the normalized gap by ``change``."""
    target = normalized_gap(size) + change
    return float(optimize.brentq(lambda end: normalized_gap(end) - target, size, _LARGEST)) - size
