"""Effect sizes of groups of messages: Hedges' g, eta squared and omega squared, with intervals.

A p value says how surely groups differ, an effect size how much. The intervals invert the noncentral t and F
distributions: they hold exactly for independent normal messages of equal variance, and do not know prompt cells.

References
----------
L. V. Hedges (1981), J. Educational Statistics 6, 107-128: g and its correction. J. H. Steiger (2004), Psychological
Methods 9, 164-182: intervals from noncentral distributions. W. L. Hays (1963), Statistics for Psychologists: omega squared.
J. Cohen (1988), Statistical Power Analysis for the Behavioral Sciences: .2, .5 and .8.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, special

from metrics.errors import BadInputError
from metrics.group_tests import anova
from metrics.samples import Estimate, Samples, not_measured

HEDGES_G, ETA_SQUARED, OMEGA_SQUARED = "hedges-g", "eta-squared", "omega-squared"

_INDEPENDENT = "messages taken as independent and equally variable"
# A noncentrality beyond this stands for an effect that no interval of a measured one needs.
_LARGEST = 1e8


def hedges_correction(df: float) -> float:
    """Factor that makes d nearly free of bias: ``gamma(df/2) / (sqrt(df/2) gamma((df-1)/2))``, exact for normal data.

    >>> round(hedges_correction(18), 4), round(1 - 3 / (4 * 18 - 1), 4)
    (0.9576, 0.9577)
    """
    if df < 2:
        raise BadInputError(f"Hedges' correction needs at least 2 degrees of freedom, got {df:g}: take more messages")
    return math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)


def _solved(tail: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Noncentrality at which a falling probability is ``target``; the lower end of the range if it is below there already."""
    if tail(low) <= target:
        return low
    while tail(high) > target and high < _LARGEST:
        high *= 2
    return float(optimize.brentq(lambda value: tail(value) - target, low, high, xtol=1e-10))


def noncentral_t_bounds(t: float, df: float, level: float = 0.95) -> tuple[float, float]:
    """Interval of the noncentrality of a t statistic, by inversion of the noncentral t distribution.

    >>> [round(bound / math.sqrt(25), 3) for bound in noncentral_t_bounds(0.5 * math.sqrt(25), 98)]
    [0.101, 0.897]
    """
    tail = (1 - level) / 2
    # Both bounds lie within a few standard errors of t. The range is moved so that it begins at 0.
    reach = 8 * math.sqrt(1 + t * t / (2 * df))

    def below(moved: float) -> float:
        found = float(special.nctdtr(df, t - reach + moved, t))
        # Far out the routine gives up; the probability is 0 or 1 there.
        return found if math.isfinite(found) else float(moved < reach)

    low, high = (_solved(below, target, 0.0, 2 * reach) for target in (1 - tail, tail))
    return t - reach + low, t - reach + high


def noncentral_f_bounds(f: float, df: float, df_error: float, level: float = 0.95) -> tuple[float, float]:
    """Interval of the noncentrality of an F statistic; a bound that no noncentrality reaches is 0.

    >>> [round(bound, 2) for bound in noncentral_f_bounds(13.18, 1, 314)]
    [2.71, 31.45]
    """
    tail = (1 - level) / 2

    def below(value: float) -> float:
        # The routine for the noncentral distribution does not take 0.
        return float(special.ncfdtr(df, df_error, value, f)) if value else float(special.fdtr(df, df_error, f))

    start = 10 + 4 * f * df
    return _solved(below, 1 - tail, 0.0, start), _solved(below, tail, 0.0, start)


def hedges_g(found: Samples, first: str, second: str, *, level: float = 0.95) -> Estimate:
    """Difference of two group means in pooled standard deviations, corrected for small samples.

    ``g = J (m1 - m2) / s_pooled`` with J of `hedges_correction`. The interval is that of the population's difference,
    by inversion of the noncentral t distribution.

    Parameters
    ----------
    found : messages; first, second : two of its groups, of which the first minus the second is taken

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 3.0, 4.0, 5.0], "sex": [*"fffmmm"], "cell": 1})
    >>> row = hedges_g(samples(frame, "a", group="sex"), "f", "m")
    >>> round(row.value, 3), round(row.low, 2), round(row.high, 2)
    (-1.596, -4.02, 0.15)
    """
    pair = (first, second)
    one, two = found.of(first), found.of(second)
    df = len(one) + len(two) - 2
    if min(len(one), len(two)) < 2 or df < 2:
        return not_measured(found, HEDGES_G, pair, "each group needs at least 2 messages with a number")
    within = float(np.square(one - one.mean()).sum() + np.square(two - two.mean()).sum())
    if within == 0:
        return not_measured(found, HEDGES_G, pair, "every message of a group has the same value: no standard deviation")
    root = math.sqrt(1 / len(one) + 1 / len(two))
    d = float(one.mean() - two.mean()) / math.sqrt(within / df)
    low, high = (bound * root for bound in noncentral_t_bounds(d / root, df, level))
    return Estimate(
        name=HEDGES_G,
        groups=pair,
        value=hedges_correction(df) * d,
        low=low,
        high=high,
        level=level,
        statistic=d / root,
        df=float(df),
        pvalue=float(2 * special.stdtr(df, -abs(d / root))),
        method=f"Hedges' g, interval by inversion of the noncentral t; {_INDEPENDENT}",
        **found.counts(pair),
    )


def explained(f: float, df: float, df_error: float) -> tuple[float, float]:
    """Eta squared and omega squared of a one-way F: shares of the variance that lie between groups.

    ``eta^2 = df F / (df F + df_error)`` is that of the sample, ``omega^2 = df (F - 1) / (df (F - 1) + N)`` estimates that of
    the population; it can fall below 0 by chance and is then 0.

    >>> [round(share, 3) for share in explained(11.221, 4, 50)]
    [0.473, 0.426]
    """
    between = df * (f - 1)
    return df * f / (df * f + df_error), max(between / (between + df + df_error + 1), 0.0)


def _share(found: Samples, name: str, level: float) -> Estimate:
    test = anova(found)
    if test.value is None or test.df is None or test.df_error is None:
        return not_measured(found, name, found.groups, test.reason)
    eta, omega = explained(test.value, test.df, test.df_error)
    n = test.df + test.df_error + 1
    low, high = (bound / (bound + n) for bound in noncentral_f_bounds(test.value, test.df, test.df_error, level))
    value = eta if name == ETA_SQUARED else omega
    empty = high <= 0
    return Estimate(
        name=name,
        groups=found.groups,
        value=value,
        low=None if empty else low,
        high=None if empty else high,
        level=level,
        statistic=test.statistic,
        df=test.df,
        df_error=test.df_error,
        pvalue=test.pvalue,
        method=f"{name}, interval of the population's share by inversion of the noncentral F; {_INDEPENDENT}",
        reason="the groups differ less than equal groups do by chance: no share fits, the interval is empty"
        if empty
        else "",
        **found.counts(found.groups),
    )


def eta_squared(found: Samples, *, level: float = 0.95) -> Estimate:
    """Share of the variance of all messages that lies between the group means, in the sample.

    The interval is for the share in the population (``noncentrality / (noncentrality + N)``), so for groups that hardly
    differ it can lie below the value, which chance alone makes about ``(k - 1) / (N - 1)``. At level .90 it excludes 0
    exactly when the F test has p < .05.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0, 4.0, 6.0], "age": [*"ppqqrr"], "cell": 1})
    >>> round(eta_squared(samples(frame, "a", group="age")).value, 3)
    0.743
    """
    return _share(found, ETA_SQUARED, level)


def omega_squared(found: Samples, *, level: float = 0.95) -> Estimate:
    """Share of the variance that lies between the groups, estimated for the population (0 when the estimate is negative).

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0, 4.0, 6.0], "age": [*"ppqqrr"], "cell": 1})
    >>> round(omega_squared(samples(frame, "a", group="age")).value, 3)
    0.526
    """
    return _share(found, OMEGA_SQUARED, level)
