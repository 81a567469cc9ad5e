"""Odds of the words of a lexicon category, counted together, with an interval from the prompt cells.

References
----------
B. Efron, R. J. Tibshirani (1993), An Introduction to the Bootstrap. J. B. S. Haldane (1956), Annals of Human Genetics 20,
309-311: one half added to the counts where one of them is 0. B. Woolf (1955), Annals of Human Genetics 19, 251-253.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from metrics.clustered import few_cells
from metrics.errors import BadInputError
from metrics.odds import counts_of
from metrics.resampling import cluster_weights, interval_error
from metrics.samples import Estimate, Sizes

FloatArray = NDArray[np.float64]

CATEGORY = "category-odds"
HALF_ADDED = "one half added"

_Z95 = float(special.ndtri(0.975))


def _log_odds_of(hits: FloatArray, others: FloatArray) -> FloatArray:
    """Log odds ratio of the first row over the second [..., draws]; one half is added where one of the four is 0."""
    empty = (hits <= 0).any(axis=0) | (others <= 0).any(axis=0)
    hits, others = hits + 0.5 * empty, others + 0.5 * empty
    result: FloatArray = np.log(hits[0]) - np.log(others[0]) - np.log(hits[1]) + np.log(others[1])
    return result


def _woolf(sums: FloatArray) -> float:
    """Standard error of the log odds ratio of a table [2, 2] of independent words; one half is added where a count is 0."""
    counts = sums + 0.5 * bool((sums <= 0).any())
    return float(np.sqrt((1 / counts).sum()))


def category_odds(
    hits_a: ArrayLike,
    totals_a: ArrayLike,
    hits_b: ArrayLike,
    totals_b: ArrayLike,
    *,
    groups: tuple[str, str] = ("a", "b"),
    seed: int,
    resamples: int = 2000,
    n: int | None = None,
) -> Estimate:
    """Odds ratio of the words of a lexicon category, counted together, in group a over b; interval by cell bootstrap and formula.

    ``OR = (hits_a / (total_a - hits_a)) / (hits_b / (total_b - hits_b))`` over all cells. Cells are drawn with replacement,
    both groups of a cell together; the interval is made on the log scale around the estimate and widened by Student's
    over the normal quantile. Drawing cells again never changes a count of 0, and hardly a small one: so the interval is at least
    as wide as Woolf's, ``exp(log OR +- 1.96 sqrt(sum of 1 / count))`` over the four counts.

    Parameters
    ----------
    hits_a, totals_a, hits_b, totals_b : words of the category and all words, by prompt cell [cells]
    seed, resamples : of the bootstrap; n : messages (default: unknown, and then the words)

    Returns
    -------
    ``value`` is the odds ratio. An empty cell of the 2 x 2 table gets one half in all four, and the method says so.

    >>> row = category_odds([4, 6, 5], [100, 100, 100], [2, 3, 2], [100, 100, 100], seed=1)
    >>> round(row.value, 2), row.clusters
    (2.2, 3)
    """
    table = np.array([counts_of(counts, "counts") for counts in (hits_a, totals_a, hits_b, totals_b)])
    if table.ndim != 2:
        raise BadInputError("hits and totals of a category are counted by cell: one number per cell each")
    hits, others = table[[0, 2]], table[[1, 3]] - table[[0, 2]]
    if (others < 0).any():
        raise BadInputError(
            "a category cannot have more hits than there are words in a cell; check how words were counted"
        )
    sizes: Sizes = {
        "n": int(n if n is not None else table[[1, 3]].sum()),
        "clusters": table.shape[1],
        "n_excluded": 0,
    }
    if not table[1].sum() or not table[3].sum():
        reason = "a group has no words"
        return Estimate(name=CATEGORY, groups=groups, value=None, reason=reason, **sizes)
    if not hits.sum():
        reason = "no word of the category occurs in either group: the lexicon misses these texts"
        return Estimate(name=CATEGORY, groups=groups, value=None, reason=reason, **sizes)
    sums = np.array([hits.sum(axis=1), others.sum(axis=1)])
    value = float(_log_odds_of(sums[0], sums[1]))
    noted = f"; {HALF_ADDED} to all counts, as one is 0" if (sums <= 0).any() else ""
    low = high = error = None
    reason = "all words are from one prompt cell: no interval can be made"
    if table.shape[1] > 1:
        rng = np.random.default_rng(seed)
        drawn = np.concatenate(
            [_log_odds_of(hits @ w, others @ w) for w in cluster_weights(rng, table.shape[1], resamples)]
        )
        scale, woolf = interval_error(1.0, table.shape[1]), _woolf(sums)
        below, above = (scale * float(np.quantile(drawn - drawn.mean(), tail)) for tail in (0.025, 0.975))
        below, above = min(below, -_Z95 * woolf), max(above, _Z95 * woolf)
        low, high = float(np.exp(value + below)), float(np.exp(value + above))
        error = max(float(drawn.std(ddof=1)), woolf)
        reason = few_cells(table.shape[1])
    return Estimate(
        name=CATEGORY,
        groups=groups,
        value=float(np.exp(value)),
        low=low,
        high=high,
        standard_error=error,
        method=f"odds ratio of a lexicon category, the wider of Woolf's and a cell bootstrap on the log scale, B = {resamples}{noted}",
        reason=reason,
        **sizes,
    )
