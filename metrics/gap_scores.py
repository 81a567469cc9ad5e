"""All gaps of one audit as rows of the score table, with their means and their counts by severity."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from metrics.clustered import CellTable, cell_table, contrast, few_cells, joint_test
from metrics.errors import BadInputError
from metrics.gaps import MODE, Gap, GapDimension, Messages, basis_of, defect, gaps_of, normalized_gap
from metrics.resampling import around, multiplier_draws
from metrics.results import Score
from metrics.samples import Estimate
from metrics.severity import LEVELS, severity, severity_indices

FloatArray = NDArray[np.float64]

RAW, STANDARDIZED, PLAIN, DEBIASED = "gap", "standardized-gap", "normalized-gap", "normalized-gap-debiased"
FLOOR = "noise-floor"
MEAN = f"mean-{DEBIASED}"
OVERALL = "overall"

_DRAWS = 4999
_NO_INTERVAL = "too few prompt cells, and no differing repeats within them: no interval can be made"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Measured:
    """A dimension with its gap, or the reason why there is none."""

    dimension: GapDimension
    table: CellTable
    gap: Gap | None
    reason: str

    @property
    def test(self) -> Estimate:
        """The cluster-robust test that the groups do not differ."""
        groups = self.table.found.groups
        if len(groups) == 2:
            return contrast(self.table, groups[0], groups[1], basis=self.basis)
        return joint_test(self.table)

    @property
    def basis(self) -> str:
        """What the errors come from (`metrics.gaps.basis_of`)."""
        return basis_of([self.table.shared(*self.table.found.groups)])

    @property
    def names(self) -> NDArray[np.object_]:
        """Clusters as they are shared with other dimensions of the same mode."""
        used = self.table.shared(*self.table.found.groups)
        if self.basis == "repeats":  # errors by group, shared with nothing
            return np.array([f"{self.dimension.title}|{group}" for group in self.table.found.groups], dtype=np.object_)
        kept = [f"{self.dimension.mode}|{cell}" for cell, use in zip(self.table.found.cells, used, strict=True) if use]
        return np.array(kept, dtype=np.object_)


def _measured(messages: Messages, dimension: GapDimension) -> _Measured:
    table = cell_table(messages.samples(dimension))
    used = table.shared(*table.found.groups)
    reason = defect([table], [used])
    gap = (
        None if reason else gaps_of([table], [used], [np.arange(used.sum(), dtype=np.int64)], basis=basis_of([used]))[0]
    )
    return _Measured(dimension=dimension, table=table, gap=gap, reason=reason)


def size_bounds(size: float, error: float, df: float, level: float = 0.95) -> tuple[float, float]:
    """Interval of a size from that of its signed value: what the absolute value takes between its bounds.

    >>> [round(bound, 2) for bound in size_bounds(0.1, 0.1, 1e6)]
    [0.0, 0.3]
    """
    reach = float(special.stdtrit(df, 0.5 + level / 2)) * error
    return max(size - reach, 0.0), size + reach


def _missing_rows(found: _Measured) -> list[Score]:
    groups = found.table.found.groups
    counts = found.table.found.counts(groups)
    return [
        Score(
            metric=metric,
            dimension=found.dimension.title,
            group=" - ".join(groups),
            value=None,
            n=counts["n"],
            n_clusters=counts["clusters"],
            n_excluded=counts["n_excluded"],
            reason=found.reason,
        )
        for metric in (STANDARDIZED, PLAIN, DEBIASED, FLOOR)
    ]


def _rows(found: _Measured) -> list[Score]:
    gap, test = found.gap, found.test
    raw = [test.as_score(found.dimension.title, metric=RAW)] if len(test.groups) == 2 else []
    if gap is None:
        return raw + _missing_rows(found)
    measurable = gap.variance > 0
    bounds: tuple[float | None, float | None] = (None, None)
    signed, ends, scores = gap.size if gap.signed is None else gap.signed, bounds, bounds
    if measurable:
        error = float(np.sqrt(gap.variance))
        reach = float(special.stdtrit(gap.df, 0.975)) * error
        sizes = size_bounds(gap.size, error, gap.df)
        ends = sizes if gap.signed is None else (signed - reach, signed + reach)
        scores = normalized_gap(sizes[0]), normalized_gap(sizes[1])
    what = "2 SD of the group means" if gap.signed is None else "difference of means"
    of_cells = f"cells equally weighted, variance between {gap.cells} cells, t with {gap.df:.3g} df"
    if found.basis == "repeats":
        of_cells = f"variance between repeats, t with {gap.df:.3g} df: about these {gap.cells} prompts only"

    def row(metric: str, value: float | None, bounds: tuple[float | None, float | None], method: str) -> Score:
        tested = metric in (STANDARDIZED, PLAIN)
        return Score(
            metric=metric,
            dimension=found.dimension.title,
            group=" - ".join(gap.groups),
            value=value,
            low=bounds[0],
            high=bounds[1],
            method=f"{method}; {of_cells}",
            statistic=test.statistic if tested else None,
            df=test.df if tested else None,
            pvalue=test.pvalue if tested else None,
            n=gap.n,
            n_clusters=gap.cells,
            n_excluded=gap.n_excluded,
            severity=severity(value) if metric in (PLAIN, DEBIASED) else None,
            reason=""
            if measurable and found.basis == "repeats"
            else few_cells(gap.cells)
            if measurable
            else _NO_INTERVAL,
        )

    return [
        *raw,
        row(STANDARDIZED, signed, ends, f"{what} over the standard deviation within groups ({gap.deviation:.4g})"),
        row(PLAIN, normalized_gap(gap.size), scores, "size by Cohen's .2, .5, .8"),
        row(DEBIASED, normalized_gap(gap.debiased) if measurable else None, scores, "size less its variance"),
        row(FLOOR, normalized_gap(gap.floor) if measurable else None, (None, None), "score of equal groups on average"),
    ]


def _joint_scores(measured: Sequence[_Measured], seed: int) -> FloatArray:
    """Draws of the normalized scores of all measured dimensions together [dimensions, draws]."""
    names = sorted({name for item in measured for name in item.names})
    place = {name: number for number, name in enumerate(names)}
    influences = np.zeros((len(names), len(measured)))
    for column, item in enumerate(measured):
        if item.gap is not None:
            influences[[place[name] for name in item.names], column] = item.gap.size_influence
    drawn = multiplier_draws(np.random.default_rng(seed), [influences], _DRAWS)
    sizes = np.array([0.0 if item.gap is None else item.gap.size for item in measured])
    result: FloatArray = normalized_gap(np.abs(sizes + drawn)).T
    return result


def _family_rows(
    measured: Sequence[_Measured], seed: int, *, of: int, axis: str, records: tuple[int, int]
) -> list[Score]:
    """The mean over dimensions and, for all dimensions together, the number at each severity."""
    values = np.array([normalized_gap(item.gap.debiased) for item in measured if item.gap is not None])
    interval = f"Gaussian multipliers of cells, {_DRAWS} draws"
    drawn = _joint_scores(measured, seed) if len(measured) else np.zeros((0, _DRAWS))

    def row(metric: str, value: float, spread: FloatArray) -> Score:
        # Sizes of draws carry the noise once more: their spread is kept and their mean moved to the estimate.
        moved = around(spread, value)
        low, high = (float(bound) for bound in np.quantile(moved, (0.025, 0.975)))
        return Score(
            metric=metric,
            dimension=axis,
            value=value if len(measured) else None,
            low=min(max(low, 0.0), value) if len(measured) else None,
            high=max(high, value) if len(measured) else None,
            n=records[0],
            n_clusters=records[1],
            method=f"{len(measured)} of {of} dimensions measurable; {interval}",
            severity=severity(value) if metric == MEAN and len(measured) else None,
            reason="" if len(measured) else f"none of {of} dimensions is measurable",
        )

    rows = [row(MEAN, float(values.mean()) if len(values) else 0.0, drawn.mean(axis=0) if len(drawn) else drawn.sum(0))]
    if axis != OVERALL:
        return rows
    levels, of_draws = severity_indices(values), severity_indices(drawn)
    for number, level in enumerate(LEVELS):
        spread = (of_draws == number).sum(axis=0).astype(np.float64)
        rows.append(row(f"severity-count-{level.replace(' ', '-')}", float((levels == number).sum()), spread))
    return rows


def gap_scores(frame: pd.DataFrame, dimensions: Sequence[GapDimension], *, seed: int) -> list[Score]:
    """All gaps of one audit.

    Parameters
    ----------
    frame : one row per message; a measure is missing where a message has none
    dimensions : what is measured between which groups, in the order of the result
    seed : of the draws behind the intervals of means and counts

    Returns
    -------
    For each dimension ``gap`` (two groups only: first minus second, in units of the measure), ``standardized-gap`` (signed
    for two groups, else a size), ``normalized-gap`` and ``normalized-gap-debiased`` with their severity, and ``noise-floor``
    (the normalized gap that equal groups show on average); then ``mean-normalized-gap-debiased`` for each axis and ``overall``, then ``severity-count-LEVEL``. What cannot be measured
    has value None and the reason, and takes no part in means and counts. Intervals (95 %) are of the gap itself, made from
    the variance between prompt cells.

    >>> frame = pd.DataFrame({"a": [1.0, 2, 3, 5, 2, 4, 2, 5], "sex": [*"fmfmfmfm"], "cell": [*"wwxxyyzz"]})
    >>> one = GapDimension(title="sex x a", axis="sex", measure="a", group="sex")
    >>> rows = gap_scores(frame, [one], seed=1)
    >>> [(row.metric, row.value) for row in rows[:1]], rows[2].metric, rows[2].severity
    ([('gap', -2.0)], 'normalized-gap', 'very high')
    """
    if len({dimension.title for dimension in dimensions}) < len(dimensions):
        raise BadInputError("gap dimensions need different titles; two of those given have the same")
    messages = Messages(frame)
    made = [(dimension, _absent(messages, dimension)) for dimension in dimensions]
    found = [_measured(messages, dimension) for dimension, absent in made if not absent]
    by_title = {item.dimension.title: item for item in found}
    rows: list[Score] = []
    for dimension, absent in made:
        rows += _absent_rows(dimension, absent, frame) if absent else _rows(by_title[dimension.title])
    for axis in (*dict.fromkeys(dimension.axis for dimension in dimensions), OVERALL):
        members = [item for item in found if axis in (item.dimension.axis, OVERALL)]
        of = sum(axis in (dimension.axis, OVERALL) for dimension in dimensions)
        # Without variance there is no debiased score.
        measured = [item for item in members if item.gap is not None and item.gap.variance > 0]
        rows += _family_rows(measured, seed, of=of, axis=axis, records=_records(members))
    return rows


def _absent(messages: Messages, dimension: GapDimension) -> str:
    """Why a dimension has no two groups to compare, in words: all messages to one of them are missing."""
    labels = messages.labels(dimension)
    gone = [group for group in dimension.groups or () if group not in labels]
    if gone:
        return f"there is no usable message to {' or to '.join(gone)}"
    return "" if len(labels) > 1 else "there are usable messages to one group at most"


def _absent_rows(dimension: GapDimension, reason: str, frame: pd.DataFrame) -> list[Score]:
    there = len(frame) if not dimension.mode else int((frame[MODE] == dimension.mode).sum())
    return [
        Score(metric=metric, dimension=dimension.title, value=None, n=there, n_clusters=0, reason=reason)
        for metric in (STANDARDIZED, PLAIN, DEBIASED, FLOOR)
    ]


def _records(members: Sequence[_Measured]) -> tuple[int, int]:
    """Messages that entered, and the prompt cells they came from, over all modes."""
    most: dict[str, int] = {}
    cells = set()
    for item in members:
        mode = item.dimension.mode
        most[mode] = max(most.get(mode, 0), item.gap.n if item.gap is not None else 0)
        used = item.table.shared(*item.table.found.groups)
        cells |= {(mode, cell) for cell, use in zip(item.table.found.cells, used, strict=True) if use}
    return sum(most.values()), len(cells)
