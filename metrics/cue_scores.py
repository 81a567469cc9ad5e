"""The gap of every task and axis under every cue as scores of one scale, with severity, means and counts.

`metrics.cue_effects` says which personas differ and by how much in units of the task. These rows say how large that is beside how much answers
to one persona differ, as `metrics.gap_scores` does for messages, so that severity, gate and card read all gaps alike.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from metrics.cue_comparison import METRIC as DEBIASED
from metrics.cue_comparison import CueDimension
from metrics.cue_gaps import CueGaps, cue_gaps
from metrics.cue_table import CueCells, CueTable, cue_table
from metrics.errors import BadInputError
from metrics.gap_scores import FLOOR, OVERALL, size_bounds
from metrics.gaps import normalized_gap
from metrics.resampling import around
from metrics.results import Score
from metrics.severity import LEVELS, severity, severity_indices

FloatArray = NDArray[np.float64]

STANDARDIZED, PLAIN = "standardized-persona-gap", "normalized-persona-gap-uncorrected"
MEAN = f"mean-{DEBIASED}"

_DRAWS = 4999


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Measured:
    """A dimension with its gap, or the reason why there is none."""

    dimension: CueDimension
    cells: CueCells | None
    found: CueGaps | None
    reason: str


def cue_gap_scores(frame: pd.DataFrame | CueTable, dimensions: Sequence[CueDimension], *, seed: int = 0) -> list[Score]:
    """All gaps of one audit.

    Parameters
    ----------
    frame : cue sums; dimensions : in the order of the result; seed : of the draws behind the intervals of means and counts

    Returns
    -------
    For each dimension ``standardized-persona-gap`` (signed for two personas, else a size), ``normalized-persona-gap-uncorrected`` and
    ``normalized-persona-gap`` with their severity, and ``noise-floor``; then ``mean-normalized-persona-gap`` for each axis and
    ``overall``, and ``severity-count-LEVEL``. Intervals are two-way. What cannot be measured has no value and the reason.
    """
    if len({dimension.title for dimension in dimensions}) < len(dimensions):
        raise BadInputError("cue dimensions need different titles; two of those given have the same")
    table = cue_table(frame)
    measured = [_measured(table, dimension) for dimension in dimensions]
    rows = [row for item in measured for row in _rows(item)]
    rng = np.random.default_rng(seed)
    for axis in (*dict.fromkeys(dimension.axis for dimension in dimensions), OVERALL):
        rows += _family_rows([item for item in measured if axis in (item.dimension.axis, OVERALL)], axis, rng)
    return rows


def _measured(table: CueTable, dimension: CueDimension) -> _Measured:
    key = (dimension.task, dimension.axis, dimension.cue)
    if key not in table.combinations:
        return _Measured(dimension=dimension, cells=None, found=None, reason="there is no answer")
    cells = table.cells(*key)
    wanted = dimension.personas or cells.personas
    absent = [persona for persona in wanted if persona not in cells.personas]
    if absent or len(wanted) < 2:
        reason = f"there is no answer to {' or to '.join(absent) or 'a second persona'}"
        return _Measured(dimension=dimension, cells=cells, found=None, reason=reason)
    cells = cells.of(wanted)
    found = cue_gaps([cells], together=True)
    if isinstance(found, str):
        return _Measured(dimension=dimension, cells=cells, found=None, reason=found)
    if found.gaps[0].variance <= 0:
        reason = "every prompt of a persona gave the same: no variation to make an interval from"
        return _Measured(dimension=dimension, cells=cells, found=None, reason=reason)
    return _Measured(dimension=dimension, cells=cells, found=found, reason="")


def _bare(item: _Measured) -> Score:
    """A row without a number, with how much there was."""
    cells = item.cells
    return Score(
        metric=STANDARDIZED,
        dimension=item.dimension.title,
        group=" - ".join(cells.personas) if cells else "",
        value=None,
        n=int(cells.n.sum()) if cells else 0,
        n_clusters=int((cells.n > 0).any(axis=(0, 2)).sum()) if cells else 0,
        n_excluded=int(cells.excluded.sum()) if cells else 0,
        reason=item.reason or "not measured",
    )


def _rows(item: _Measured) -> list[Score]:
    bare = _bare(item)
    if item.found is None:
        return [dataclasses.replace(bare, metric=metric) for metric in (STANDARDIZED, PLAIN, DEBIASED, FLOOR)]
    gap, pvalue = item.found.gaps[0], item.found.pvalues[0]
    error = float(np.sqrt(gap.variance))
    low, high = size_bounds(gap.size, error, gap.df)
    signed, reach = gap.signed, float(special.stdtrit(gap.df, 0.975)) * error
    ends = (low, high) if signed is None else (signed - reach, signed + reach)
    two_way = f"equal weight per question and variant, two-way error, t with {gap.df:.1f} df"
    what = "2 SD of the persona means" if signed is None else "difference of means"
    scores = normalized_gap(low), normalized_gap(high)

    def row(metric: str, value: float, bounds: tuple[float | None, float | None], words: str) -> Score:
        return dataclasses.replace(
            bare,
            metric=metric,
            value=value,
            low=bounds[0],
            high=bounds[1],
            method=f"{words}; {two_way}",
            pvalue=pvalue if metric in (STANDARDIZED, PLAIN) else None,
            n=gap.n,
            n_clusters=gap.cells,
            n_excluded=gap.n_excluded,
            severity=severity(value) if metric in (PLAIN, DEBIASED) else None,
            reason="",
        )

    return [
        row(
            STANDARDIZED,
            gap.size if signed is None else signed,
            ends,
            f"{what} over the SD within personas ({gap.deviation:.4g})",
        ),
        row(PLAIN, normalized_gap(gap.size), scores, "size by Cohen's .2, .5, .8"),
        row(DEBIASED, normalized_gap(gap.debiased), scores, "size less its variance"),
        row(FLOOR, normalized_gap(gap.floor), (None, None), "score of equal personas on average"),
    ]


def _family_rows(items: Sequence[_Measured], axis: str, rng: np.random.Generator) -> list[Score]:
    """The mean over dimensions and, for all dimensions together, the number at each severity."""
    gaps = [item.found.gaps[0] for item in items if item.found is not None]
    values = np.array([normalized_gap(gap.debiased) for gap in gaps])
    sizes, errors = np.array([gap.size for gap in gaps]), np.sqrt([gap.variance for gap in gaps])
    # Tasks have other questions and cues other variants: dimensions are drawn one by one.
    drawn = normalized_gap(np.abs(sizes[:, None] + errors[:, None] * rng.standard_normal((len(gaps), _DRAWS))))
    # Axes and cues of a task ask the same questions.
    questions: dict[str, int] = {}
    for item in items:
        if item.found is not None:
            of_task = questions.get(item.dimension.task, 0)
            questions[item.dimension.task] = max(of_task, item.found.gaps[0].cells)
    records = sum(gap.n for gap in gaps), sum(questions.values())

    def row(metric: str, value: float, spread: FloatArray) -> Score:
        low, high = (
            (float(bound) for bound in np.quantile(around(spread, value), (0.025, 0.975))) if gaps else (0.0, 0.0)
        )
        return Score(
            metric=metric,
            dimension=axis,
            value=value if gaps else None,
            low=min(max(low, 0.0), value) if gaps else None,
            high=max(high, value) if gaps else None,
            n=records[0],
            n_clusters=records[1],
            method=f"{len(gaps)} of {len(items)} dimensions measurable; independent draws of their errors, {_DRAWS}",
            severity=severity(value) if metric == MEAN and gaps else None,
            reason="" if gaps else f"none of {len(items)} dimensions is measurable",
        )

    rows = [row(MEAN, float(values.mean()) if gaps else 0.0, drawn.mean(axis=0) if gaps else np.zeros(_DRAWS))]
    if axis != OVERALL:
        return rows
    levels, of_draws = severity_indices(values), severity_indices(drawn)
    for number, level in enumerate(LEVELS):
        spread = (of_draws == number).sum(axis=0).astype(np.float64)
        rows.append(row(f"severity-count-{level.replace(' ', '-')}", float((levels == number).sum()), spread))
    return rows
