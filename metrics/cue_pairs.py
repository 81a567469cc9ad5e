"""Two personas of one axis under one cue: how far apart their answers are, and how far they could be.

References
----------
P. A. Games, J. F. Howell (1976), J. Educational Statistics 1, 113-125: pairs under unequal variances. L. V. Hedges (1981),
J. Educational Statistics 6, 107-128: g. C. F. Manski (1989), J. Human Resources 24, 343-360: worst-case bounds.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metrics.cue_grid import NO_ERROR, Grid, estimate, grid, studentized
from metrics.cue_table import CueCells
from metrics.cue_variance import difference_error
from metrics.effects import HEDGES_G, hedges_correction
from metrics.errors import BadInputError
from metrics.group_tests import GAMES_HOWELL
from metrics.samples import Estimate
from metrics.studentized_range import range_critical, range_pvalues

FloatArray = NDArray[np.float64]

GAP, WORST = "gap", "worst-case-gap"

_EQUAL = "equal weight per question and variant"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CuePair:
    """Two personas: first minus second.

    Parameters
    ----------
    gap : difference of means with its two-way interval; ``qvalue`` is adjusted over the pairs of the axis
    games_howell : the same by Games and Howell on variant means, interval and ``qvalue`` over the pairs
    hedges_g : the gap in standard deviations of answers within a persona
    worst : the gap with bounds that hold whatever the excluded answers would have been; None where the task has no bounds
    """

    gap: Estimate
    games_howell: Estimate
    hedges_g: Estimate
    worst: Estimate | None

    @property
    def personas(self) -> tuple[str, ...]:
        """First and second."""
        return self.gap.groups

    def shown(self, alpha: float) -> bool:
        """Whether the gap is one of its family that is not chance."""
        return self.gap.qvalue is not None and self.gap.qvalue <= alpha


def cue_pairs(
    cells: CueCells, *, bounds: tuple[float, float] | None = None, level: float = 0.95
) -> tuple[CuePair, ...]:
    """All pairs of personas of one combination, in order.

    ``bounds`` : lowest and highest answer that the task allows.
    """
    pairs = list(itertools.combinations(cells.personas, 2))
    if not pairs:
        return ()
    grids = [grid(cells.of(pair)) for pair in pairs]
    gaps = _adjusted([_gap(found, level) for found in grids], len(cells.personas))
    beside = _games_howell(grids, len(cells.personas), level)
    return tuple(
        CuePair(
            gap=gap,
            games_howell=other,
            hedges_g=_hedges_g(found, gap),
            worst=worst_case(found.cells, gap.value, bounds),
        )
        for found, gap, other in zip(grids, gaps, beside, strict=True)
    )


def _gap(found: Grid, level: float) -> Estimate:
    value = found.means[0] - found.means[1] if found.means else None
    bare = estimate(found, GAP, value, f"difference of means, {_EQUAL}")
    if not found.parts:
        return bare
    return studentized(bare, difference_error(found.parts[0], found.parts[1]), found.scale, level=level)


def _adjusted(rows: Sequence[Estimate], personas: int) -> list[Estimate]:
    """The gaps with p values adjusted over all pairs by the studentized range, as Games and Howell do."""
    tested = [place for place, row in enumerate(rows) if row.statistic is not None]
    found = list(rows)
    if not tested:
        return found
    t = np.array([rows[place].statistic for place in tested], dtype=np.float64)
    df = np.array([rows[place].df for place in tested], dtype=np.float64)
    for place, qvalue in zip(tested, range_pvalues(math.sqrt(2) * np.abs(t), personas, df), strict=True):
        method = f"{rows[place].method}; q over {len(rows)} pairs by the studentized range"
        found[place] = dataclasses.replace(rows[place], qvalue=float(qvalue), method=method)
    return found


def _games_howell(grids: Sequence[Grid], personas: int, level: float) -> list[Estimate]:
    """Pairs by variant means: every variant is one value, its mean over questions."""
    rows = [
        estimate(found, GAMES_HOWELL, found.means[0] - found.means[1] if found.means else None, "Games-Howell")
        for found in grids
    ]
    errors = np.array([[float(part.variant) for part in found.parts] or [0.0, 0.0] for found in grids])
    free = np.array([[part.df_variant for part in found.parts] or [1.0, 1.0] for found in grids])
    total = errors.sum(axis=1)
    varies = [bool(found.parts) and total[place] > (NO_ERROR * found.scale) ** 2 for place, found in enumerate(grids)]
    tested = np.flatnonzero(varies)
    for place in np.flatnonzero(~np.asarray(varies, dtype=np.bool_)):
        reason = rows[place].reason or "all variants gave the same mean: no variance to test against"
        rows[place] = dataclasses.replace(rows[place], reason=reason)
    if not len(tested):
        return rows
    df = np.square(total[tested]) / (np.square(errors[tested]) / free[tested]).sum(axis=1)
    values = np.array([rows[place].value for place in tested], dtype=np.float64)
    unit = np.sqrt(total[tested] / 2)
    qvalues = range_pvalues(np.abs(values) / unit, personas, np.maximum(df, 1.0))
    reach = range_critical(level, personas, df) * unit
    for number, place in enumerate(tested):
        rows[place] = dataclasses.replace(
            rows[place],
            low=float(values[number] - reach[number]),
            high=float(values[number] + reach[number]),
            level=level,
            statistic=float(values[number] / np.sqrt(total[place])),
            df=float(df[number]),
            qvalue=float(qvalues[number]),
            method=f"Games-Howell on variant means, p and interval adjusted over {len(rows)} pairs",
        )
    return rows


def _hedges_g(found: Grid, gap: Estimate) -> Estimate:
    """The gap in standard deviations; its interval is that of the gap, the standard deviation taken as known."""
    deviation = math.sqrt(found.cells.variance())
    free = float(found.cells.answers.sum()) - 2
    bare = estimate(found, HEDGES_G, None, "Hedges' g")
    if gap.value is None or free < 2 or deviation <= NO_ERROR * found.scale:
        reason = found.reason or "every answer to a persona is the same: no standard deviation"
        return dataclasses.replace(bare, reason=reason)
    unit = hedges_correction(free) / deviation
    return dataclasses.replace(
        bare,
        value=unit * gap.value,
        low=None if gap.low is None else unit * gap.low,
        high=None if gap.high is None else unit * gap.high,
        level=gap.level,
        statistic=gap.statistic,
        df=gap.df,
        pvalue=gap.pvalue,
        standard_error=None if gap.standard_error is None else unit * gap.standard_error,
        method=f"Hedges' g, standard deviation of answers within a persona ({deviation:.4g}); interval two-way",
        reason=gap.reason,
    )


def _worst_means(cells: CueCells, bound: float) -> FloatArray:
    """Mean of each persona over the prompts asked, every excluded answer being ``bound``."""
    asked = cells.n + cells.excluded
    means = (cells.total + bound * cells.excluded) / np.maximum(asked, 1)
    result: FloatArray = (means * (asked > 0)).sum(axis=(1, 2)) / np.maximum((asked > 0).sum(axis=(1, 2)), 1)
    return result


def worst_case(cells: CueCells, gap: float | None, bounds: tuple[float, float] | None) -> Estimate | None:
    """The gap of two personas with bounds that hold whatever each excluded answer would have been.

    They say nothing about chance: with no answer excluded both are the gap itself.

    >>> sums = {"n": [9.0, 10.0], "total": [9.0, 5.0], "squares": [9.0, 5.0], "excluded": [1.0, 0.0]}
    >>> two = CueCells(
    ...     task="t", axis="a", cue="c", personas=("p", "r"), questions=("q",), variants=("0",),
    ...     **{name: np.array(values).reshape(2, 1, 1) for name, values in sums.items()},
    ... )
    >>> row = worst_case(two, 0.5, (0, 1))
    >>> round(row.low, 2), round(row.high, 2)
    (0.4, 0.5)
    """
    if bounds is None:
        return None
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise BadInputError(f"bounds of task {cells.task!r} are a lower and a higher finite number, got {bounds}")
    lowest, highest = _worst_means(cells, low), _worst_means(cells, high)
    sizes = {"n": int(cells.n.sum()), "n_excluded": int(cells.excluded.sum())}
    return Estimate(
        name=WORST,
        groups=cells.personas,
        value=gap,
        low=float(lowest[0] - highest[1]),
        high=float(highest[0] - lowest[1]),
        clusters=int((cells.n > 0).any(axis=(0, 2)).sum()),
        method=f"bounds: every excluded answer anywhere from {low:g} to {high:g}; not about chance",
        reason="" if gap is not None else "no gap was measured; the bounds hold all the same",
        **sizes,
    )
