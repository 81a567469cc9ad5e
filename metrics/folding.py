"""Has the size of something grown, when only its signed value is estimated? The test and the interval for it.

A gap between two groups has a sign and a size. Its size is what a release is judged by, and the size of an estimate is
folded: at a true gap of 0 it is never 0. With x0 and x1 the true gaps of two releases, ``|x1| > |x0|`` holds exactly when
the change ``u = x1 - x0`` and the sum ``v = x1 + x0`` have the same sign, and always ``||x1| - |x0|| = min(|u|, |v|)``. So a
growth is shown when both are: ``z = sign(uv) min(|u| / s_u, |v| / s_v)``, the likelihood ratio statistic. It errs on the
careful side near 0, where v is lost in noise, and holds its level elsewhere, also when a gap of the same size has changed sides.

A size that has grown is not 0, so the larger of the two gaps must itself be shown by a test of its own. This matters where its
release has far fewer messages than the other: u and v then agree in sign too often by chance.

Intervals are the range that the difference of sizes takes over the ellipse of plausible pairs (x0, x1), so that an interval
excludes 0 exactly when z rejects two-sided.

References
----------
R. L. Berger (1982), Technometrics 24, 295-300: intersection-union tests. R. L. Berger (1989), JASA 84, 192-199: tests about a
sign product. D. J. Venzon, S. H. Moolgavkar (1988), Applied Statistics 37, 87-94: intervals from a likelihood's range.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from metrics.clustered import normal_scores
from metrics.verdicts import POWER

FloatArray = NDArray[np.float64]

_POINTS = 3600
_ANGLES = np.linspace(0.0, 2 * math.pi, _POINTS, endpoint=False)
_SURE = 3.5  # standard errors above the critical value at which both hurdles are passed for certain
_TAIL = 9.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FoldedPair:
    """Two estimated sizes (0 or more), their variances and covariance as signed values, and degrees of freedom.

    ``covariance`` is that of the two signed values with both signs turned so that the estimates are positive. ``pvalues_zero``
    are the p values of the tests that each gap is 0.
    """

    previous: float
    current: float
    variances: tuple[float, float]
    covariance: float
    df: float
    pvalues_zero: tuple[float, float]

    @property
    def errors(self) -> tuple[float, float]:
        """Standard errors of the change and of the sum."""
        total = self.variances[0] + self.variances[1]
        return math.sqrt(max(total - 2 * self.covariance, 0.0)), math.sqrt(max(total + 2 * self.covariance, 0.0))

    @property
    def statistic(self) -> float:
        """Signed normal value of the test that the sizes are equal; above 0 when the size has grown.

        >>> pair = FoldedPair(previous=0.1, current=0.5, variances=(0.01, 0.01), covariance=0.0, df=1e6, pvalues_zero=(1, 0))
        >>> round(pair.statistic, 2)
        2.83
        """
        of_change, of_sum = self.errors
        change, both = self.current - self.previous, self.current + self.previous
        t = min(abs(change) / of_change, both / of_sum) if of_change > 0 and of_sum > 0 else 0.0
        return float(normal_scores(np.asarray(math.copysign(t, change)), self.df))

    @property
    def pvalue(self) -> float:
        """Two-sided p of equal sizes."""
        larger = self.pvalues_zero[int(self.current >= self.previous)]
        return max(float(2 * special.ndtr(-abs(self.statistic))), larger)

    @property
    def pvalue_up(self) -> float:
        """One-sided p of a size that has not grown.

        >>> zero = FoldedPair(
        ...     previous=0.0, current=0.5, variances=(1e-6, 0.04), covariance=0.0, df=1e6, pvalues_zero=(1.0, 0.012)
        ... )
        >>> round(float(special.ndtr(-zero.statistic)), 4), zero.pvalue_up
        (0.0062, 0.012)
        """
        alone = float(special.ndtr(-self.statistic))
        return max(alone, self.pvalues_zero[1]) if self.current > self.previous else alone

    def bounds(self, level: float, score: Callable[[FloatArray], FloatArray]) -> tuple[float, float]:
        """Interval of ``score(|x1|) - score(|x0|)``; ``score`` must rise with size.

        >>> pair = FoldedPair(previous=0.0, current=1.0, variances=(0.01, 0.01), covariance=0.0, df=1e6, pvalues_zero=(1, 0))
        >>> [round(bound, 2) for bound in pair.bounds(0.95, lambda size: size)]
        [0.72, 1.2]
        """
        radius = float(special.stdtrit(self.df, 0.5 + level / 2))
        first = math.sqrt(self.variances[0])
        slope = self.covariance / first if first > 0 else 0.0
        second = math.sqrt(max(self.variances[1] - slope**2, 0.0))
        across, along = radius * np.cos(_ANGLES), radius * np.sin(_ANGLES)
        before = np.abs(self.previous + first * across)
        after = np.abs(self.current + slope * across + second * along)
        changes = score(after) - score(before)
        return float(changes.min()), float(changes.max())

    def power(self, size: float, critical: float) -> float:
        """Chance that the current release is flagged as grown when its true size is ``size`` and the previous one is as estimated.

        Both the change and the sum must pass ``critical``; where the gap was 0 that is two hurdles of one height.

        >>> zero = FoldedPair(previous=0.0, current=0.0, variances=(0.01, 0.01), covariance=0.0, df=1e6, pvalues_zero=(1, 1))
        >>> round(zero.power(0.4, 1.645), 3), round(float(special.ndtr(0.4 / 0.02**0.5 - 1.645) ** 2), 3)
        (0.777, 0.777)
        """
        of_change, of_sum = (max(error, 1e-12) for error in self.errors)
        one = (size - self.previous) / of_change - critical
        other = (size + self.previous) / of_sum - critical
        alike = (self.variances[1] - self.variances[0]) / (of_change * of_sum)
        return _both_below(one, other, min(max(alike, -1.0), 1.0))

    def detectable(self, critical: float) -> float:
        """Size that the current release must reach to be flagged with 80 % power, when the previous one is as estimated.

        >>> pair = FoldedPair(previous=0.5, current=0.5, variances=(0.01, 0.01), covariance=0.0, df=1e6, pvalues_zero=(1, 0))
        >>> zero = dataclasses.replace(pair, previous=0.0)
        >>> round(pair.detectable(1.645), 2), round(zero.detectable(1.645), 2)
        (0.85, 0.41)
        """
        from scipy import optimize

        of_change, of_sum = self.errors
        needed = max(critical, 0.0) + _SURE
        end = max(self.previous + needed * of_change, needed * of_sum - self.previous)
        if end <= self.previous:
            return self.previous
        return float(optimize.brentq(lambda size: self.power(size, critical) - POWER, self.previous, end))


def _both_below(one: float, other: float, correlation: float) -> float:
    """Probability that two standard normal values with this correlation lie below ``one`` and ``other``.

    >>> round(_both_below(0.0, 0.0, 0.5), 6)  # 1/4 + asin(1/2) / (2 pi), Sheppard 1899
    0.333333
    """
    spread = math.sqrt(max(1 - correlation**2, 1e-12))
    lower, upper = -_TAIL, min(one, _TAIL)
    if upper <= lower:
        return 0.0
    places = lower + (upper - lower) * (_NODES + 1) / 2
    values = (
        np.exp(-np.square(places) / 2) / math.sqrt(2 * math.pi) * special.ndtr((other - correlation * places) / spread)
    )
    return float((upper - lower) / 2 * (_WEIGHTS @ values))
