"""Has the gap between personas grown from one release to the next? Paired by question and variant, task by task and cue by cue.

What is judged is the *size* of the gap of one task and axis under one cue, by the rules of every other gap (`metrics.gap_comparison`): both
releases on one standard deviation, the test of sizes of `metrics.folding`, the scores of `metrics.gaps`, the verdicts of
`metrics.verdicts`. The error of the change is two-way (`metrics.cue_variance`): what a question or a variant does to both releases
cancels, and what it does to one of them counts as often as it was asked.

The family is all dimensions; their q values are Šidák's, which is max-T of tests that hang together in no way: tasks have other questions
and cues other variants.

References
----------
Z. Šidák (1967), JASA 62, 626-633.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from metrics.clustered import NO_ERROR
from metrics.cue_gaps import CueGaps, cue_gaps, paired
from metrics.cue_replication import Finding, Replication, labelled
from metrics.cue_table import HISTORY_HUMAN, CueCells, CueTable, cue_table
from metrics.errors import BadInputError
from metrics.folding import FoldedPair
from metrics.gaps import Gap, normalized_gap, same_gap
from metrics.policy import Policy
from metrics.results import Comparison
from metrics.verdicts import judged, not_measurable, plain, the_same

FloatArray = NDArray[np.float64]

METRIC = "normalized-persona-gap"

_RELEASES = ("previous", "current")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CueDimension:
    """One task whose gap between the personas of an axis is judged under one cue.

    ``personas`` : which, in this order (default: all that are there, sorted).
    """

    task: str
    axis: str
    cue: str
    personas: tuple[str, ...] | None = None

    @property
    def title(self) -> str:
        """``"salary x gender, name-user"``."""
        return f"{self.task} x {self.axis}, {self.cue}"

    @property
    def by_name(self) -> bool:
        """Whether rows are persona names; never so here."""
        return False


def cue_dimensions(
    tasks: Sequence[str], axes: Mapping[str, Sequence[str] | None] | Sequence[str], cues: Sequence[str]
) -> tuple[CueDimension, ...]:
    """The family of an audit: every task x axis under every cue.

    ``axes`` may name the personas of each axis; None, or names of axes alone, take those that are there.

    >>> [dimension.title for dimension in cue_dimensions(["salary"], ["gender", "age"], ["name-user"])]
    ['salary x gender, name-user', 'salary x age, name-user']
    """
    personas = axes if isinstance(axes, Mapping) else dict.fromkeys(axes)
    return tuple(
        CueDimension(task=task, axis=axis, cue=cue, personas=None if of is None else tuple(of))
        for task in tasks
        for axis, of in personas.items()
        for cue in cues
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pair:
    """One dimension in both releases."""

    dimension: CueDimension
    previous: Gap
    current: Gap
    folded: FoldedPair
    note: str
    worst: float

    @property
    def scores(self) -> tuple[float, float]:
        return normalized_gap(self.previous.debiased), normalized_gap(self.current.debiased)

    @property
    def reversed(self) -> bool:
        """Whether two personas have changed sides: both gaps are shown, with opposite signs."""
        signed = [gap.signed for gap in (self.previous, self.current)]
        if signed[0] is None or signed[1] is None or signed[0] * signed[1] >= 0:
            return False
        return max(self.folded.pvalues_zero) < 0.05


def compare_cues(
    previous: pd.DataFrame | CueTable,
    current: pd.DataFrame | CueTable,
    dimensions: Sequence[CueDimension],
    *,
    policy: Policy | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> list[Comparison]:
    """One row per dimension, in order: how the size of a gap changed from the previous release to the current one.

    Parameters
    ----------
    previous, current : cue sums of two audits that asked the same (equal collection key and scoring version); sizes may differ
    dimensions : the family of tests (`cue_dimensions`)
    policy : how the change is judged; default `Policy()`. ``fewest_clusters`` is the number of questions that a verdict needs.
        ``mapped_floor`` and ``coverage_gap`` are about the answers to each persona that have a number
    bounds : lowest and highest answer of a task; without them those seen stand in, where excluded answers could undo a verdict

    Returns
    -------
    Rows of metric ``normalized-persona-gap``; above 0 the gap has grown. ``n`` are answers and ``clusters`` questions. A dimension that
    cannot be measured in both releases is `not measurable` with the reason, and is not part of the family.
    """
    policy = policy or Policy()
    if len({dimension.title for dimension in dimensions}) < len(dimensions):
        raise BadInputError("cue dimensions need different titles; two of those given have the same")
    tables = cue_table(previous), cue_table(current)
    found = [_pair(tables, dimension, policy, bounds or {}) for dimension in dimensions]
    pairs = [item for item in found if isinstance(item, _Pair)]
    return [_row(item, len(pairs), policy) if isinstance(item, _Pair) else item for item in found]


def _cells(table: CueTable, dimension: CueDimension) -> CueCells | None:
    key = (dimension.task, dimension.axis, dimension.cue)
    return table.cells(*key) if key in table.combinations else None


def _pair(
    tables: Sequence[CueTable], dimension: CueDimension, policy: Policy, bounds: Mapping[str, tuple[float, float]]
) -> _Pair | Comparison:
    found = [_cells(table, dimension) for table in tables]
    present = [() if cells is None else cells.personas for cells in found]
    wanted = dimension.personas or tuple(sorted({*present[0], *present[1]}))
    for place, name in enumerate(_RELEASES):
        absent = [persona for persona in wanted if persona not in present[place]]
        if absent or len(wanted) < 2:
            lost = _alone(found[0], wanted) if place == 1 else None
            reason = f"{name} release: no answer to {', '.join(absent) or 'a second persona'}"
            return not_measurable(dimension.title, reason, METRIC, previous=lost)
    cells = [one.of(wanted) for one in found if one is not None]
    sizes = _sizes(cells)
    if reason := _share_defect(cells, policy):
        gone = bool((_shares(cells[1]) < _shares(cells[0]) - policy.coverage_gap).any())
        lost = _alone(cells[0], wanted) if gone else None
        return not_measurable(dimension.title, reason, METRIC, previous=lost, **sizes)
    matched = paired(cells[0], cells[1])
    sides = cells if matched is None else matched[:2]
    note = "the releases hardly share questions or variants: not paired" if matched is None else matched[2]
    measured = cue_gaps(sides, together=matched is not None)
    if isinstance(measured, str):
        lost = None if _alone(cells[1], wanted) is not None else _alone(cells[0], wanted)
        return not_measurable(dimension.title, measured, METRIC, previous=lost, **sizes)
    folded = _folded(measured)
    if matched is not None and same_gap(measured.gaps[0], measured.gaps[1], folded.errors[0]):
        score = normalized_gap(measured.gaps[1].debiased)
        row = dataclasses.replace(
            not_measurable(dimension.title, "not judged yet", METRIC, previous=score, **sizes), current=score
        )
        return the_same(row, "in every prompt", _few(measured.gaps[1].cells, policy))
    if min(folded.errors) <= NO_ERROR:
        reason = "the gap is the same in every prompt of both releases: no variation to judge a change by"
        return not_measurable(dimension.title, reason, METRIC, **sizes)
    return _Pair(
        dimension=dimension,
        previous=measured.gaps[0],
        current=measured.gaps[1],
        folded=folded,
        note=note,
        worst=_worst(cells, measured.gaps[1], bounds.get(dimension.task)),
    )


def _sizes(cells: Sequence[CueCells]) -> dict[str, int]:
    asked = [int((one.n > 0).any(axis=(0, 2)).sum()) for one in cells]
    return {
        "n_previous": int(cells[0].n.sum()),
        "n_current": int(cells[1].n.sum()),
        "clusters_previous": asked[0],
        "clusters_current": asked[1],
    }


def _shares(cells: CueCells) -> FloatArray:
    """Share of the answers to each persona that have a number."""
    return cells.answers / np.maximum(cells.answers + cells.excluded_answers, 1)


def _share_defect(cells: Sequence[CueCells], policy: Policy) -> str:
    shares = [_shares(one) for one in cells]
    for name, of_release, one in zip(_RELEASES, shares, cells, strict=True):
        place = int(of_release.argmin())
        if of_release[place] < policy.mapped_floor:
            return (
                f"{name} release: {100 * of_release[place]:.0f} % of the answers to {one.personas[place]} have a number; "
                f"a verdict needs {100 * policy.mapped_floor:.0f} %"
            )
    place = int(np.abs(shares[0] - shares[1]).argmax())
    if abs(shares[0][place] - shares[1][place]) <= policy.coverage_gap + NO_ERROR:
        return ""
    return (
        f"{100 * shares[0][place]:.0f} % of the answers to {cells[0].personas[place]} have a number in the previous and "
        f"{100 * shares[1][place]:.0f} % in the current release; more than {100 * policy.coverage_gap:.0f} points apart, the answers "
        "left are not comparable"
    )


def _alone(cells: CueCells | None, wanted: Sequence[str]) -> float | None:
    """Score of one release by itself; None when it has none that a verdict could use."""
    if cells is None or len(wanted) < 2 or not set(wanted) <= set(cells.personas):
        return None
    found = cue_gaps([cells.of(wanted)], together=True)
    if isinstance(found, str) or found.gaps[0].variance <= 0:
        return None
    return normalized_gap(found.gaps[0].debiased)


def _folded(found: CueGaps) -> FoldedPair:
    before, after = found.gaps
    directions = before.direction, after.direction
    # The change and the sum of sizes have each their own degrees of freedom; the fewer are taken for both.
    df = min(found.df(sign * directions[0], directions[1]) for sign in (-1.0, 1.0))
    return FoldedPair(
        previous=before.size,
        current=after.size,
        variances=(before.variance, after.variance),
        covariance=before.covariance(after),
        df=df,
        pvalues_zero=(found.pvalues[0], found.pvalues[1]),
    )


def _worst(cells: Sequence[CueCells], gap: Gap, bounds: tuple[float, float] | None) -> float:
    """How much larger the current gap could be if what is excluded beyond the previous release lay at one end of the task."""
    missing = float((_shares(cells[0]) - _shares(cells[1])).max())
    seen = cells[1].means[cells[1].n > 0]
    width = bounds[1] - bounds[0] if bounds else float(np.ptp(seen)) if seen.size else 0.0
    return max(missing, 0.0) * width / gap.deviation


def _sidak(pvalue: float, members: int) -> float:
    """Adjusted p of one of several independent tests.

    >>> round(_sidak(0.01, 5), 4)
    0.049
    """
    return float(-math.expm1(members * math.log1p(-min(pvalue, 1 - 1e-16))))


def _row(pair: _Pair, members: int, policy: Policy) -> Comparison:
    previous, current = pair.scores
    delta = current - previous
    low, high = pair.folded.bounds(0.95, normalized_gap)
    margin_low, margin_high = pair.folded.bounds(0.90, normalized_gap)
    critical = float(special.stdtrit(pair.folded.df, (1 - policy.alpha) ** (1 / members)))
    reachable = dataclasses.replace(pair.folded, previous=pair.previous.debiased).detectable(critical)
    row = Comparison(
        metric=METRIC,
        dimension=pair.dimension.title,
        verdict="inconclusive",
        why="not judged yet",
        previous=previous,
        current=current,
        delta=delta,
        low=min(low, delta),
        high=max(high, delta),
        margin_low=min(margin_low, delta),
        margin_high=max(margin_high, delta),
        statistic=pair.folded.statistic,
        pvalue=pair.folded.pvalue,
        qvalue=_sidak(pair.folded.pvalue, members),
        pvalue_up=pair.folded.pvalue_up,
        qvalue_up=_sidak(pair.folded.pvalue_up, members),
        smallest_change=max(normalized_gap(reachable) - previous, 0.0),
        n_previous=pair.previous.n,
        n_current=pair.current.n,
        clusters_previous=pair.previous.cells,
        clusters_current=pair.current.cells,
    )
    note = "; ".join(filter(None, (_words(pair), pair.note)))
    row = judged(row, dataclasses.replace(policy, fewest_clusters=0), note=note)
    if few := _few(min(pair.previous.cells, pair.current.cells), policy):
        return dataclasses.replace(row, verdict="inconclusive", why=f"{few}; {row.why}")
    return _guarded(row, pair, policy)


def _few(questions: int, policy: Policy) -> str:
    if questions >= policy.fewest_clusters:
        return ""
    return f"{questions} questions are too few to speak of others: a verdict needs {policy.fewest_clusters}"


def _words(pair: _Pair) -> str:
    """The change in units of the task, with its direction."""
    personas = pair.previous.groups
    raw = [gap.raw for gap in (pair.previous, pair.current)]
    if len(personas) == 2:
        before, after = (float(of[0] - of[1]) for of in raw)
        words = f"{personas[0]} minus {personas[1]}: {plain(before, signed=True)} to {plain(after, signed=True)}"
        if pair.reversed:
            higher = [personas[0] if value > 0 else personas[1] for value in (before, after)]
            words += f"; DIRECTION REVERSED: higher for {higher[0]} before, for {higher[1]} now"
        return words
    ends = [
        f"{personas[int(of.argmin())]} ({plain(of.min())}) to {personas[int(of.argmax())]} ({plain(of.max())})"
        for of in raw
    ]
    return f"lowest to highest persona: {ends[0]} before, {ends[1]} now"


def _guarded(row: Comparison, pair: _Pair, policy: Policy) -> Comparison:
    """What looks unchanged but has changed sides, or improved but for answers that were excluded, is not called so."""
    if row.verdict == "unchanged" and pair.reversed:
        return dataclasses.replace(row, verdict="inconclusive", why=f"as large as before, but not the same: {row.why}")
    if row.verdict == "improved" and pair.worst > 0:
        worst = normalized_gap(pair.current.debiased + pair.worst)
        if worst - pair.scores[0] > -policy.smallest_change:
            why = f"the answers that were excluded could undo it (score up to {worst:.3f}): {row.why}"
            return dataclasses.replace(row, verdict="inconclusive", why=why)
    return row


def regressions_by_cue(
    comparisons: Sequence[Comparison], dimensions: Sequence[CueDimension], *, alone: str = HISTORY_HUMAN
) -> list[Replication]:
    """Which regressions more than one cue shows: a label for every task and axis, as of `metrics.cue_replication.replication`.

    A gap that has grown under one cue alone is `cue-specific` and does not alert, except under ``alone``.
    """
    by_title = {row.dimension: row for row in comparisons}
    if missing := [dimension.title for dimension in dimensions if dimension.title not in by_title]:
        raise BadInputError(f"there is no comparison of {missing[0]}; give the rows of all dimensions")
    found = []
    for task, axis in dict.fromkeys((dimension.task, dimension.axis) for dimension in dimensions):
        rows = [(one.cue, by_title[one.title]) for one in dimensions if (one.task, one.axis) == (task, axis)]
        grown = [
            Finding(task=task, axis=axis, cue=cue, higher="the gap now", lower="the gap before")
            for cue, row in rows
            if row.verdict == "regressed"
        ]
        tested = [cue for cue, row in rows if row.verdict != "not measurable"]
        label = labelled(task, axis, grown, tested, alone=alone)
        untested = tuple((cue, row.why) for cue, row in rows if row.verdict == "not measurable")
        found.append(dataclasses.replace(label, untested=untested))
    return found
