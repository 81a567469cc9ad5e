"""Classical tests of groups of messages: Welch's t, one-way ANOVA, and the pairs after it.

They are what papers report, and they take every message as independent. Messages of one prompt cell are not: beside
these stand the cluster-robust tests of `metrics.clustered`, and verdicts use only those.

References
----------
B. L. Welch (1947), Biometrika 34, 28-35: t for unequal variances. C. Y. Kramer (1956), Biometrics 12, 307-310: Tukey's
test for unequal sizes. P. A. Games, J. F. Howell (1976), J. Educational Statistics 1, 113-125: pairs under unequal
variances. M. B. Brown, A. B. Forsythe (1974), JASA 69, 364-367: equality of variances from medians.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from metrics.samples import Estimate, Samples, not_measured

FloatArray = NDArray[np.float64]

WELCH, ANOVA, WELCH_ANOVA = "welch-t", "anova-f", "welch-anova-f"
TUKEY, GAMES_HOWELL, BROWN_FORSYTHE = "tukey-kramer", "games-howell", "brown-forsythe"

_INDEPENDENT = "messages taken as independent"


@contextmanager
def _quiet() -> Iterator[None]:
    """Without scipy's warning about a group of equal values, which `_defect` has looked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def _defect(found: Samples, groups: Sequence[str], *, each_varies: bool) -> str:
    """Why groups cannot be tested; empty when they can. ``each_varies``: no group may be constant."""
    values = [found.of(group) for group in groups]
    for group, sample in zip(groups, values, strict=True):
        if len(sample) < 2:
            return f"a group needs at least 2 messages with a number; {group!r} has {len(sample)}"
    # What differs by rounding alone is constant: scipy answers with NaN there, or with a statistic made of rounding.
    rounding = [1e-12 * max(1.0, float(np.abs(sample).max())) for sample in values]
    varies = [float(np.ptp(sample)) > least for sample, least in zip(values, rounding, strict=True)]
    constant = [group for group, moves in zip(groups, varies, strict=True) if not moves]
    if len(constant) == len(groups):
        return "every message of a group has the same value: no variance to test against"
    if constant and each_varies:
        return f"every message of {constant[0]!r} has the same value: its own variance cannot be estimated"
    return ""


def welch(found: Samples, first: str, second: str, *, level: float = 0.95) -> Estimate:
    """Difference of two group means with Welch's t test, which does not take the variances as equal.

    ``t = (m1 - m2) / sqrt(s1^2 / n1 + s2^2 / n2)``, degrees of freedom by Satterthwaite, p two-sided.

    Parameters
    ----------
    found : messages; first, second : two of its groups, of which the first minus the second is taken

    Returns
    -------
    ``value`` in units of the measure, with its interval.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "sex": [*"ffmm"], "cell": 1})
    >>> row = welch(samples(frame, "a", group="sex"), "f", "m")
    >>> row.value, round(row.statistic, 3), round(row.df, 3)
    (-2.5, -2.236, 1.471)
    """
    pair = (first, second)
    if reason := _defect(found, pair, each_varies=False):
        return not_measured(found, WELCH, pair, reason)
    one, two = found.of(first), found.of(second)
    with _quiet():
        test = stats.ttest_ind(one, two, equal_var=False)
    interval = test.confidence_interval(level)
    difference = float(one.mean() - two.mean())
    return Estimate(
        name=WELCH,
        groups=pair,
        value=difference,
        low=float(interval.low),
        high=float(interval.high),
        level=level,
        statistic=float(test.statistic),
        df=float(test.df),
        pvalue=float(test.pvalue),
        standard_error=float(np.sqrt(one.var(ddof=1) / len(one) + two.var(ddof=1) / len(two))),
        method=f"Welch's t, two-sided; {_INDEPENDENT}",
        **found.counts(pair),
    )


def anova(found: Samples, *, equal_var: bool = True) -> Estimate:
    """One-way analysis of variance over all groups: the F statistic is the value.

    ``F = between mean square / within mean square``; with ``equal_var=False`` Welch's F. An F has no interval of its own:
    `metrics.effects` gives those of eta squared and omega squared, which follow from it.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0, 4.0, 6.0], "age": [*"ppqqrr"], "cell": 1})
    >>> row = anova(samples(frame, "a", group="age"))
    >>> round(row.value, 3), row.df, row.df_error
    (4.333, 2.0, 3.0)
    """
    name = ANOVA if equal_var else WELCH_ANOVA
    if reason := _defect(found, found.groups, each_varies=not equal_var):
        return not_measured(found, name, found.groups, reason)
    values = [found.of(group) for group in found.groups]
    with _quiet():
        test = stats.f_oneway(*values, equal_var=equal_var)
    statistic, pvalue = float(test.statistic), float(test.pvalue)
    if statistic < 0:  # equal means: nothing is left but rounding, and scipy has no p for it
        statistic, pvalue = 0.0, 1.0
    return Estimate(
        name=name,
        groups=found.groups,
        value=statistic,
        statistic=statistic,
        df=float(len(values) - 1),
        df_error=float(sum(map(len, values)) - len(values)) if equal_var else _welch_df(values),
        pvalue=pvalue,
        method=f"{'one-way' if equal_var else 'Welch'} ANOVA; {_INDEPENDENT}",
        **found.counts(found.groups),
    )


def _welch_df(values: Sequence[FloatArray]) -> float:
    """Denominator degrees of freedom of Welch's ANOVA: ``(k^2 - 1) / (3 sum (1 - w_i / w)^2 / (n_i - 1))``."""
    weights = np.array([len(sample) / sample.var(ddof=1) for sample in values])
    sizes = np.array([len(sample) for sample in values])
    return float((len(values) ** 2 - 1) / (3 * np.sum((1 - weights / weights.sum()) ** 2 / (sizes - 1))))


def brown_forsythe(found: Samples) -> Estimate:
    """Do the groups vary equally? Levene's test from medians: F of the absolute deviations from the group's median.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 0.0, 5.0, 10.0], "age": [*"pppqqq"], "cell": 1})
    >>> round(brown_forsythe(samples(frame, "a", group="age")).value, 3)
    2.462
    """
    values = [found.of(group) for group in found.groups]
    deviations = [np.abs(sample - np.median(sample)) for sample in values if len(sample)]
    flat = bool(deviations) and all(np.ptp(sample) == 0 for sample in deviations)
    reason = _defect(found, found.groups, each_varies=False) or (
        "all messages of a group lie equally far from its median: nothing to compare" if flat else ""
    )
    if reason:
        return not_measured(found, BROWN_FORSYTHE, found.groups, reason)
    with _quiet():
        test = stats.levene(*values, center="median")
    return Estimate(
        name=BROWN_FORSYTHE,
        groups=found.groups,
        value=float(test.statistic),
        statistic=float(test.statistic),
        df=float(len(values) - 1),
        df_error=float(sum(map(len, values)) - len(values)),
        pvalue=float(test.pvalue),
        method=f"Brown-Forsythe test of equal variances; {_INDEPENDENT}",
        **found.counts(found.groups),
    )


def _pairs(found: Samples, name: str, words: str, *, equal_var: bool, level: float) -> list[Estimate]:
    pairs = list(itertools.combinations(found.groups, 2))
    if reason := _defect(found, found.groups, each_varies=not equal_var):
        return [not_measured(found, name, pair, reason) for pair in pairs]
    with _quiet():
        test = stats.tukey_hsd(*(found.of(group) for group in found.groups), equal_var=equal_var)
        interval = test.confidence_interval(level)
    rows = []
    for one, two in pairs:
        place = found.place(one), found.place(two)
        rows.append(
            Estimate(
                name=name,
                groups=(one, two),
                value=float(test.statistic[place]),
                low=float(interval.low[place]),
                high=float(interval.high[place]),
                level=level,
                qvalue=min(max(float(test.pvalue[place]), 0.0), 1.0),
                method=f"{words}, p and interval adjusted over {len(pairs)} pairs; {_INDEPENDENT}",
                **found.counts((one, two)),
            )
        )
    return rows


def tukey(found: Samples, *, level: float = 0.95) -> list[Estimate]:
    """Differences of all pairs of group means by Tukey's test, in Kramer's form where sizes are unequal.

    Studentized range with the pooled variance. ``qvalue`` and the interval hold for all pairs together.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0, 4.0, 6.0], "age": [*"ppqqrr"], "cell": 1})
    >>> [(row.groups, row.value) for row in tukey(samples(frame, "a", group="age"))]
    [(('p', 'q'), -2.5), (('p', 'r'), -3.5), (('q', 'r'), -1.0)]
    """
    return _pairs(found, TUKEY, "Tukey-Kramer", equal_var=True, level=level)


def games_howell(found: Samples, *, level: float = 0.95) -> list[Estimate]:
    """Differences of all pairs of group means when variances differ: each pair with its own variance and Welch's df.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0, 4.0, 7.0], "age": [*"ppqqrr"], "cell": 1})
    >>> [round(row.qvalue, 2) for row in games_howell(samples(frame, "a", group="age"))]
    [0.32, 0.31, 0.73]
    """
    return _pairs(found, GAMES_HOWELL, "Games-Howell", equal_var=False, level=level)


def pairs_shown(found: Samples, *, alpha: float = 0.05, level: float = 0.95) -> tuple[list[Estimate], Estimate]:
    """All pairs by Games-Howell where the variances differ (Brown-Forsythe p <= alpha), else by Tukey-Kramer.

    The choice is one of presentation: neither decides a verdict. The test that made it is returned as well.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0, 4.0, 6.0], "age": [*"ppqqrr"], "cell": 1})
    >>> rows, variances = pairs_shown(samples(frame, "a", group="age"))
    >>> rows[0].name, variances.reason
    ('tukey-kramer', 'all messages of a group lie equally far from its median: nothing to compare')
    """
    variances = brown_forsythe(found)
    unequal = variances.pvalue is not None and variances.pvalue <= alpha
    return (games_howell if unequal else tukey)(found, level=level), variances
