"""The cells of some personas made ready for two-way analysis, and the estimates that come of it.

Personas are compared over questions that every one of them has answered; what lies in others counts as excluded. A variant without
any answer is left out. A prompt whose answers all have no number is filled by what its question and variant let expect, at the
price of a degree of freedom.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from metrics.cue_table import CueCells
from metrics.cue_variance import PersonaParts, TwoWay, filled, persona_parts
from metrics.samples import Estimate, Sizes

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

NO_ERROR = 1e-12
"""Relative to the values: a smaller error is rounding noise."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Personas with the questions that all of them answered, or the reason why they cannot be analysed.

    ``parts`` has one entry for each persona, and none where ``reason`` is given; ``means`` are of the used questions, equal weight for
    every question and variant.
    """

    cells: CueCells
    used: BoolArray
    parts: tuple[PersonaParts, ...]
    means: tuple[float, ...]
    sizes: Sizes
    reason: str

    @property
    def scale(self) -> float:
        """A size of the values that rounding is judged by."""
        return max((abs(mean) for mean in self.means), default=0.0) + math.sqrt(self.cells.variance()) + 1e-300


def grid(cells: CueCells) -> Grid:
    """Make the cells of one or more personas ready.

    >>> sums = {name: np.ones((1, 2, 2)) for name in ("n", "total", "squares")} | {"excluded": np.zeros((1, 2, 2))}
    >>> one = CueCells(
    ...     task="t", axis="a", cue="c", personas=("p",), questions=("q", "r"), variants=("0", "1"), **sums
    ... )
    >>> grid(one).means, grid(one).sizes["n"], grid(one).sizes["clusters"]
    ((1.0,), 4, 2)
    """
    has = np.asarray((cells.n > 0).any(axis=2), dtype=np.bool_)
    used = np.asarray(has.all(axis=0), dtype=np.bool_)
    inside = int(cells.n[:, used].sum())
    sizes: Sizes = {
        "n": inside,
        "clusters": int(used.sum()),
        "n_excluded": int(cells.n.sum()) - inside + int(cells.excluded.sum()),
    }
    answered = np.asarray(has.any(axis=1), dtype=np.bool_).tolist()
    silent = [persona for persona, some in zip(cells.personas, answered, strict=True) if not some]
    if silent:
        reason = f"no answer to {', '.join(silent)} has a number"
        return Grid(cells=cells, used=used, parts=(), means=(), sizes=sizes, reason=reason)
    if not used.any():
        reason = f"no question was answered with a number to {' and to '.join(cells.personas)}"
        return Grid(cells=cells, used=used, parts=(), means=(), sizes=sizes, reason=reason)
    squares, missing = [], []
    for means in cells.means:
        own = means[used]
        values, gone = filled(own[:, ~np.isnan(own).all(axis=0)])
        squares.append(values)
        missing.append(gone)
    reason = _defect(cells, squares)
    parts = () if reason else tuple(persona_parts(of, gone) for of, gone in zip(squares, missing, strict=True))
    return Grid(
        cells=cells,
        used=used,
        parts=parts,
        means=tuple(float(values.mean()) for values in squares),
        sizes=sizes,
        reason=reason,
    )


def _defect(cells: CueCells, squares: list[FloatArray]) -> str:
    if squares[0].shape[0] < 2:
        return "all answers are to one question: nothing says how much questions vary"
    lone = [persona for persona, values in zip(cells.personas, squares, strict=True) if values.shape[1] < 2]
    return f"{', '.join(lone)}: one variant only, and nothing says how much variants vary" if lone else ""


def studentized(bare: Estimate, error: TwoWay, scale: float, *, level: float = 0.95) -> Estimate:
    """The estimate with its two-way standard error, a t test of 0 and an interval; the reason where nothing varies."""
    spread = math.sqrt(max(float(error.variance), 0.0))
    if bare.value is None:
        return bare
    if spread <= NO_ERROR * scale:
        return dataclasses.replace(bare, reason="every prompt gave the same: no variation to make an interval from")
    df = float(error.df)
    reach, t = float(special.stdtrit(df, 0.5 + level / 2)) * spread, bare.value / spread
    return dataclasses.replace(
        bare,
        standard_error=spread,
        low=bare.value - reach,
        high=bare.value + reach,
        level=level,
        statistic=t,
        df=df,
        pvalue=float(2 * special.stdtr(df, -abs(t))),
        method=f"{bare.method}; two-way over questions and variants, t with {df:.1f} df",
    )


def estimate(found: Grid, name: str, value: float | None, method: str, *, groups: tuple[str, ...] = ()) -> Estimate:
    """The row of a number of this grid without an interval, with the reason why there is none."""
    reason = found.reason or ("" if value is not None else "not measured")
    return Estimate(
        name=name, groups=groups or found.cells.personas, value=value, method=method, reason=reason, **found.sizes
    )
