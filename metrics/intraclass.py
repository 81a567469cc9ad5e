"""Intraclass correlations of a table [targets, conditions]: mean squares, estimates and F-based intervals.

`metrics.agreement` offers them with missing scores, undefined cases and reasons; here is the algebra alone.

References
----------
P. E. Shrout, J. L. Fleiss (1979), Psychological Bulletin 86, 420-428.
K. O. McGraw, S. P. Wong (1996), Psychological Methods 1, 30-46.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FloatArray = NDArray[np.float64]
Bounds = tuple[float, float] | None

# A root mean square below this share of the largest value is rounding.
_ROUNDING = 1e-12


def is_noise(mean_square: float, values: FloatArray) -> bool:
    """Whether a mean square is no more than the rounding of the values it comes from."""
    return mean_square <= (_ROUNDING * float(np.abs(values).max(initial=0.0))) ** 2


def _upper_f(df: float, df_below: float, tail: float) -> float:
    """The value that an F ratio exceeds with probability ``tail``."""
    return float(stats.f.isf(tail, df, df_below))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MeanSquares:
    """Two-way analysis of variance of n targets by k conditions, one score each.

    ``targets``, ``conditions`` and ``residual`` are MSR, MSC and MSE; what is rounding noise is exactly 0.

    >>> squares = MeanSquares.of(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> squares.targets, squares.conditions, squares.residual
    (8.0, 1.5, 0.0)
    """

    n: int
    k: int
    targets: float
    conditions: float
    residual: float

    @classmethod
    def of(cls, values: FloatArray) -> MeanSquares:
        """From scores [targets, conditions], at least two of each and none missing."""
        n, k = values.shape
        centred = values - values.mean()
        by_target, by_condition = centred.mean(axis=1), centred.mean(axis=0)
        left = centred - by_target[:, None] - by_condition
        squares = (
            k * float(np.square(by_target).sum()) / (n - 1),
            n * float(np.square(by_condition).sum()) / (k - 1),
            float(np.square(left).sum()) / ((n - 1) * (k - 1)),
        )
        targets, conditions, residual = (0.0 if is_noise(square, values) else square for square in squares)
        return cls(n=n, k=k, targets=targets, conditions=conditions, residual=residual)

    @property
    def constant(self) -> bool:
        """Whether the targets do not differ at all; every share of variance is 0/0 then."""
        return not (self.targets or self.residual)

    def consistency(self) -> float:
        """ICC(C,1): ``(MSR - MSE) / (MSR + (k - 1) MSE)``."""
        return (self.targets - self.residual) / (self.targets + (self.k - 1) * self.residual)

    def consistency_bounds(self, level: float) -> Bounds:
        """From the F ratio of targets to residual; None when either of them is 0."""
        if not (self.residual and self.targets):
            return None
        tail, df, df_residual = (1 - level) / 2, self.n - 1, (self.n - 1) * (self.k - 1)
        ratio = self.targets / self.residual
        low = ratio / _upper_f(df, df_residual, tail)
        high = ratio * _upper_f(df_residual, df, tail)
        return (low - 1) / (low + self.k - 1), (high - 1) / (high + self.k - 1)

    def absolute(self) -> float:
        """ICC(A,1): ``(MSR - MSE) / (MSR + (k - 1) MSE + (k / n) (MSC - MSE))``."""
        between = self.k / self.n * (self.conditions - self.residual)
        return (self.targets - self.residual) / (self.targets + (self.k - 1) * self.residual + between)

    def absolute_bounds(self, level: float) -> Bounds:
        """McGraw and Wong's interval with Satterthwaite's degrees of freedom; None when the conditions are identical."""
        if not (self.residual or self.conditions):
            return None
        n, k, tail, value = self.n, self.k, (1 - level) / 2, self.absolute()
        of_conditions = k * value * self.conditions
        of_residual = (n * (1 + (k - 1) * value) - k * value) * self.residual
        spread = of_conditions**2 / (k - 1) + of_residual**2 / ((n - 1) * (k - 1))
        if spread <= 0:
            return None
        df = (of_conditions + of_residual) ** 2 / spread
        if df <= 0:
            return None
        other = k * self.conditions + (k * n - k - n) * self.residual
        down, up = _upper_f(n - 1, df, tail), _upper_f(df, n - 1, tail)
        low = n * (self.targets - down * self.residual) / (down * other + n * self.targets)
        high = n * (up * self.targets - self.residual) / (other + n * up * self.targets)
        return low, high
