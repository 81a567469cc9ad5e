"""Do two or more conditions give the same picture of the same targets?

Targets are what is scored (models), conditions are the ways it was scored (prompt wordings, sample sizes). One bias
dimension gives one table of scores [targets, conditions]. Five numbers say how well its columns agree: two intraclass
correlations, two rank correlations and the mean difference of severity levels. A paired t-test says whether the
scores moved in one direction, and `false_discovery_qvalues` adjusts a family of such tests.

References
----------
P. E. Shrout, J. L. Fleiss (1979), "Intraclass correlations: uses in assessing rater reliability", Psychological
Bulletin 86, 420-428.
K. O. McGraw, S. P. Wong (1996), "Forming inferences about some intraclass correlation coefficients", Psychological
Methods 1, 30-46.
M. G. Kendall (1945), "The treatment of ties in ranking problems", Biometrika 33, 239-251, for tau-b.
Y. Benjamini, Y. Hochberg (1995), JRSS B 57, 289-300; Y. Benjamini, D. Yekutieli (2001), Annals of Statistics 29,
1165-1188: the false discovery rate.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from metrics.errors import BadInputError
from metrics.intraclass import Bounds, MeanSquares, is_noise
from metrics.results import Score
from metrics.severity import severity_indices

FloatArray = NDArray[np.float64]
Scores = ArrayLike | pd.DataFrame

FEWEST_TARGETS = 3
"""With two targets every rank correlation is 1 or -1, and no interval of an intraclass correlation says anything."""

_NO_INTERVAL = "no interval"
_NO_DIFFERENCE = "undefined: all targets have the same score, so there is no difference between them to agree on"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One measure of agreement of conditions over targets.

    ``value`` is None when it is undefined, and then ``reason`` says why. ``low`` and ``high`` bound it at ``level``.
    ``n`` targets entered and ``n_excluded`` were left out because a score is missing.
    """

    metric: str
    value: float | None
    n: int
    method: str
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    n_excluded: int = 0
    reason: str = ""

    def as_score(self, dimension: str) -> Score:
        """The row of the long table of scores; the targets stand as records and as clusters."""
        return Score(dimension=dimension, n_clusters=self.n, **dataclasses.asdict(self))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """Paired t-test of the change from a first to a second condition, over targets.

    ``value`` is the mean change (second - first) with its interval ``low`` to ``high``. ``pvalue`` is two-sided,
    ``pvalue_up`` is small when scores rose and ``pvalue_down`` when they fell.
    """

    value: float | None
    n: int
    method: str
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    statistic: float | None = None
    df: int | None = None
    pvalue: float | None = None
    pvalue_up: float | None = None
    pvalue_down: float | None = None
    n_excluded: int = 0
    reason: str = ""


def _frame(scores: Scores) -> pd.DataFrame:
    """Scores as numbers with a label for each condition; missing ones are NaN, infinite ones are refused."""
    try:
        frame = scores if isinstance(scores, pd.DataFrame) else pd.DataFrame(np.asarray(scores, dtype=np.float64))
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise BadInputError(
            f"scores are a table of numbers [targets, conditions], but {error}; names of targets belong in the index"
        ) from None
    if not frame.columns.is_unique:
        raise BadInputError(f"conditions need different labels, got {', '.join(map(str, frame.columns))}")
    if frame.shape[1] < 2:
        raise BadInputError(f"agreement is between 2 or more conditions (columns), got {frame.shape[1]}")
    if np.isinf(values).any():
        raise BadInputError("scores are finite, got an infinite one; leave out (NaN) what could not be measured")
    return pd.DataFrame(values, index=frame.index, columns=frame.columns)


def _too_few(n: int) -> str:
    return (
        ""
        if n >= FEWEST_TARGETS
        else f"agreement needs at least {FEWEST_TARGETS} targets with all scores; there are {n}"
    )


def _intraclass(
    scores: Scores,
    metric: str,
    method: str,
    value_of: Callable[[MeanSquares], float],
    bounds_of: Callable[[MeanSquares, float], Bounds],
    level: float,
) -> Agreement:
    if not 0 < level < 1:
        raise BadInputError(f"the level of an interval is between 0 and 1, got {level}")
    frame = _frame(scores)
    values = frame.dropna().to_numpy()
    n = len(values)
    found = Agreement(
        metric=metric, value=None, n=n, n_excluded=len(frame) - n, level=level, method=method, reason=_too_few(n)
    )
    if found.reason:
        return found
    squares = MeanSquares.of(values)
    if squares.constant:
        return dataclasses.replace(found, reason=_NO_DIFFERENCE)
    value, bounds = value_of(squares), bounds_of(squares, level)
    if bounds is None:
        method = f"{method}; {_NO_INTERVAL}: the scores leave too little variation to make one from"
        return dataclasses.replace(found, value=value, method=method)
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low <= value <= high):
        # Satterthwaite's degrees of freedom can fall near 0 when the estimate is negative; the bounds then miss it.
        method = f"{method}; {_NO_INTERVAL}: the F-based approximation breaks down for this negative value"
        return dataclasses.replace(found, value=value, method=method)
    return dataclasses.replace(found, value=value, low=low, high=high, method=f"{method}; F-based interval")


def icc_consistency(scores: Scores, *, level: float = 0.95) -> Agreement:
    """ICC(C,1): share of the variance that is between targets, when a shift of a whole condition does not count.

    ``(MSR - MSE) / (MSR + (k - 1) MSE)`` with the mean squares of targets (MSR) and residual (MSE) of n targets by
    k conditions; 1 when the conditions differ by constants only, negative when targets differ less than residuals do.
    Called ICC3 by others, and ICC(3,1) by Shrout and Fleiss (1979).

    Parameters
    ----------
    scores : [targets, conditions], missing ones NaN or None: targets without all scores are left out and counted
    level : of the interval, which comes from the F ratio ``MSR / MSE``

    >>> raters = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> found = icc_consistency(raters)
    >>> round(found.value, 4), round(found.low, 3), round(found.high, 3)
    (0.7148, 0.342, 0.946)
    """
    method = "two-way ICC(C,1), consistency of single scores"
    return _intraclass(scores, "icc-c1", method, MeanSquares.consistency, MeanSquares.consistency_bounds, level)


def icc_agreement(scores: Scores, *, level: float = 0.95) -> Agreement:
    """ICC(A,1): share of the variance that is between targets, when a shift of a whole condition counts as error.

    ``(MSR - MSE) / (MSR + (k - 1) MSE + (k / n) (MSC - MSE))``, with MSC the mean square of conditions. It exceeds
    ICC(C,1) exactly when ``MSC < MSE``. Few targets can push it below -1. Called ICC2 by others.

    Parameters and missing scores as in `icc_consistency`; the interval is that of McGraw and Wong (1996).
    """
    method = "two-way ICC(A,1), absolute agreement of single scores"
    return _intraclass(scores, "icc-a1", method, MeanSquares.absolute, MeanSquares.absolute_bounds, level)


def _reference(frame: pd.DataFrame, reference: Hashable | None) -> Hashable:
    if reference is None:
        first: Hashable = frame.columns[0]
        return first
    if reference not in frame.columns:
        known = ", ".join(map(str, frame.columns))
        raise BadInputError(f"the reference condition {reference!r} is not among the conditions; they are {known}")
    return reference


def _pairs(frame: pd.DataFrame, reference: Hashable) -> Iterator[tuple[Hashable, FloatArray, FloatArray]]:
    """Label of each other condition, and the scores of it and of the reference where both are there."""
    for label in frame.columns:
        if label != reference:
            pair = frame[[reference, label]].dropna().to_numpy()
            yield label, pair[:, 0], pair[:, 1]


def _mean_over_pairs(
    scores: Scores,
    reference: Hashable | None,
    metric: str,
    method: str,
    of_pair: Callable[[FloatArray, FloatArray], float | str],
) -> Agreement:
    """Mean of a number over the comparisons of each other condition with the reference."""
    frame = _frame(scores)
    reference = _reference(frame, reference)
    several = frame.shape[1] > 2
    if several:
        method = f"{method}, mean over {frame.shape[1] - 1} comparisons with {str(reference)!r}"
    found: list[float] = []
    reasons: list[str] = []
    sizes: list[int] = []
    for label, first, second in _pairs(frame, reference):
        sizes.append(len(first))
        outcome = _too_few(len(first)) or of_pair(first, second)
        if isinstance(outcome, str):
            reasons.append(f"{label} against {reference}: {outcome}" if several else outcome)
        else:
            found.append(outcome)
    n = min(sizes)
    return Agreement(
        metric=metric,
        # A mean over the comparisons that happen to be defined would stand for another question.
        value=None if reasons else float(np.mean(found)),
        n=n,
        n_excluded=len(frame) - n,
        method=f"{method}; {_NO_INTERVAL}",
        reason="; ".join(reasons),
    )


def _constant(first: FloatArray, second: FloatArray) -> str:
    flat = sum(bool(np.all(side == side[0])) for side in (first, second))
    where = {0: "", 1: "in one of the two conditions", 2: "in both conditions"}[flat]
    return f"undefined: all targets have the same score {where}, so they have no order" if flat else ""


def spearman(scores: Scores, *, reference: Hashable | None = None) -> Agreement:
    """Spearman's rank correlation of two conditions: Pearson's correlation of the average ranks, exact under ties.

    Parameters
    ----------
    scores : [targets, conditions]; a target is left out of the comparisons in which one of its two scores is missing
    reference : label (or column number) of the condition that the others are compared with when there are more than
        two; default the first. The value is then the mean over these comparisons, ``n`` that of the smallest

    >>> round(spearman([[0.9, 0.9], [0.9, 0.8], [0.7, 0.8], [0.6, 0.7], [0.5, 0.5], [0.5, 0.6]]).value, 6)
    0.940403
    """

    def of_pair(first: FloatArray, second: FloatArray) -> float | str:
        return _constant(first, second) or _inside(stats.spearmanr(first, second).statistic)

    return _mean_over_pairs(scores, reference, "spearman", "Spearman's rank correlation", of_pair)


def kendall_tau_b(scores: Scores, *, reference: Hashable | None = None) -> Agreement:
    """Kendall's tau-b of two conditions: pairs of targets in the same order less those in opposite order.

    ``(C - D) / sqrt((C + D + Tx)(C + D + Ty))`` with C concordant and D discordant pairs, and Tx, Ty pairs tied in
    one condition only. Parameters as in `spearman`.

    >>> round(kendall_tau_b([[0.9, 0.9], [0.9, 0.8], [0.7, 0.8], [0.6, 0.7], [0.5, 0.5], [0.5, 0.6]]).value, 6)
    0.889499
    """

    def of_pair(first: FloatArray, second: FloatArray) -> float | str:
        return _constant(first, second) or _inside(stats.kendalltau(first, second, variant="b").statistic)

    return _mean_over_pairs(scores, reference, "kendall-tau-b", "Kendall's tau-b", of_pair)


def _inside(correlation: float) -> float:
    """Rounding may carry a perfect correlation past 1."""
    return min(1.0, max(-1.0, float(correlation)))


def severity_difference(scores: Scores, *, reference: Hashable | None = None) -> Agreement:
    """Mean difference of severity levels: how many levels apart a target is in two conditions, on average.

    ``mean |level - level in the reference|`` over targets, levels 0 (low) to 3 (very high); for more than two
    conditions the mean of that over the comparisons with the reference. 0: every target keeps its level.

    ``scores`` are normalized scores [targets, conditions]; the rest as in `spearman`.
    """
    if float(np.nanmin(_frame(scores).to_numpy(), initial=0.0)) < 0:
        raise BadInputError("severity is for normalized scores, which are 0 or more; got a negative one")

    def of_pair(first: FloatArray, second: FloatArray) -> float | str:
        return float(np.abs(severity_indices(second) - severity_indices(first)).mean())

    return _mean_over_pairs(scores, reference, "severity-difference", "mean |difference of levels 0..3|", of_pair)


def agreement_scores(scores: Scores, dimension: str, *, reference: Hashable | None = None) -> list[Score]:
    """All five measures for one bias dimension, as rows ``icc-c1, icc-a1, spearman, kendall-tau-b, severity-difference``.

    Parameters
    ----------
    scores : normalized scores [targets, conditions]; dimension : title of the rows
    reference : condition that the last three compare the others with; default the first

    In the rows ``n`` counts targets, and so does ``n_clusters``.
    """
    measures = (
        icc_consistency(scores),
        icc_agreement(scores),
        spearman(scores, reference=reference),
        kendall_tau_b(scores, reference=reference),
        severity_difference(scores, reference=reference),
    )
    return [measure.as_score(dimension) for measure in measures]


def paired_t(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> PairedTest:
    """Paired t-test of the change ``second - first`` over targets, two-sided and both one-sided p values.

    ``t = mean change / (sd / sqrt(n))`` with n - 1 degrees of freedom. For two conditions ``t^2 = MSC / MSE`` of the
    intraclass correlations. It takes the targets as the sample and ignores the error of each score: it does not say
    whether one release changed. `metrics.comparison` does.

    Parameters
    ----------
    first, second : scores [targets]; targets with a missing one are left out and counted

    >>> test = paired_t([0.779, 1.134, 1.066, 0.910, 0.998, 1.020], [0.801, 1.120, 1.043, 0.966, 1.010, 1.020])
    >>> round(test.statistic, 3), round(test.pvalue, 4), round(test.pvalue_down, 4)
    (0.763, 0.4799, 0.7601)
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    if sides[0].ndim != 1 or sides[0].shape != sides[1].shape:
        shapes = " and ".join(str(side.shape) for side in sides)
        raise BadInputError(f"a paired test needs two lists of scores of the same targets, got shapes {shapes}")
    if not 0 < level < 1:
        raise BadInputError(f"the level of an interval is between 0 and 1, got {level}")
    frame = _frame(np.stack(sides, axis=1))
    values = frame.dropna().to_numpy()
    n = len(values)
    found = PairedTest(
        value=None, n=n, n_excluded=len(frame) - n, level=level, method="paired t-test", reason=_too_few(n)
    )
    if found.reason:
        return found
    change = values[:, 1] - values[:, 0]
    mean, variance = float(change.mean()), float(change.var(ddof=1))
    if is_noise(variance, values):
        reason = "undefined: every target changed by the same amount, so there is no variation to judge it by"
        return dataclasses.replace(found, value=mean, reason=reason)
    error, df = math.sqrt(variance / n), n - 1
    statistic, reach = mean / error, float(stats.t.isf((1 - level) / 2, df)) * error
    return dataclasses.replace(
        found,
        value=mean,
        low=mean - reach,
        high=mean + reach,
        statistic=statistic,
        df=df,
        pvalue=2 * float(stats.t.sf(abs(statistic), df)),
        pvalue_up=float(stats.t.sf(statistic, df)),
        pvalue_down=float(stats.t.cdf(statistic, df)),
    )


def false_discovery_qvalues(pvalues: Sequence[float | None], *, any_dependence: bool = False) -> list[float | None]:
    """Adjusted p values that bound the false discovery rate over a family, by Benjamini and Hochberg (1995).

    Parameters
    ----------
    pvalues : of all tests of the family; None for a test that could not be made, which is no member of the family
    any_dependence : adjust by Benjamini and Yekutieli (2001), which holds for tests that depend in any way

    >>> [q if q is None else round(q, 3) for q in false_discovery_qvalues([0.01, 0.04, None, 0.03])]
    [0.03, 0.04, None, 0.04]
    """
    if wrong := [p for p in pvalues if p is not None and not 0 <= p <= 1]:
        raise BadInputError(f"a p value is between 0 and 1, got {wrong[0]}; give None for a test that was not made")
    made = [p for p in pvalues if p is not None]
    if not made:
        return [None for _ in pvalues]
    from statsmodels.stats.multitest import multipletests

    adjusted = iter(multipletests(made, method="fdr_by" if any_dependence else "fdr_bh")[1].tolist())
    return [None if p is None else next(adjusted) for p in pvalues]
