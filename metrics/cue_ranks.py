"""Rank correlations of many resamples at once: bootstrap over clusters, swapped labels, and split halves.

Everything is a matrix with one column (or row) a resample. A resample is a vector of weights, so that a value is sorted once and
every resample reads its midranks from sums of weights.

References
----------
P. Horst (1951), "Estimating total test reliability from parts of unequal length", Educational and Psychological Measurement 11,
368-371. C. Spearman (1910) and W. Brown (1910), British J. Psychology 3: reliability from halves.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]

_AT_ONCE = 250_000
_FLAT = 1e-12
_DIGITS = 9
_FEWEST_ROWS = 3


def midranks(values: FloatArray | Float32Array) -> Float32Array:
    """Midranks in every row [resamples, values], ties sharing their mean rank, from which the mean rank is taken off.

    >>> midranks(np.array([[3.0, 1.0, 3.0, 2.0]])).tolist()
    [[1.0, -1.5, 1.0, -0.5]]
    """
    count = values.shape[1]
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    fresh = np.ones(values.shape, dtype=np.bool_)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    # Every run of equal values has its first place; its last one is before the next run's first.
    starts = np.flatnonzero(fresh)
    lengths = np.diff(starts, append=fresh.size)
    middle = (starts % count + (lengths - 1) / 2 - (count - 1) / 2).astype(np.float32)
    ranks = np.empty(values.shape, dtype=np.float32)
    np.put_along_axis(ranks, order, np.repeat(middle, lengths).reshape(values.shape), axis=1)
    return ranks


def correlations(first: Float32Array, second: Float32Array) -> FloatArray:
    """Correlation of the rows of two matrices of centred ranks [resamples]; NaN where a row is flat."""
    squares = [np.einsum("ij,ij->i", side, side, dtype=np.float64) for side in (first, second)]
    length = np.sqrt(squares[0] * squares[1])
    crossed = np.einsum("ij,ij->i", first, second, dtype=np.float64)
    result: FloatArray = np.where(length > _FLAT, crossed / np.maximum(length, _FLAT), np.nan)
    return np.clip(result, -1.0, 1.0)


class WeightedRanks:
    """One column of values, sorted once, whose midranks under any weights are two sums away."""

    def __init__(self, values: FloatArray) -> None:
        self._order = np.argsort(values, kind="stable")
        ordered = values[self._order]
        fresh = np.r_[True, ordered[1:] != ordered[:-1]]
        self._starts = np.flatnonzero(fresh)
        self._group = np.empty(len(values), dtype=np.int64)
        self._group[self._order] = np.cumsum(fresh) - 1

    def of(self, weights: Float32Array) -> Float32Array:
        """Midranks of the rows under weights [resamples, rows], about the middle."""
        counts = np.add.reduceat(weights[:, self._order], self._starts, axis=1)
        upper = np.cumsum(counts, axis=1, dtype=np.float64)
        middle = upper - counts / 2 - upper[:, -1:] / 2
        result: Float32Array = middle.astype(np.float32)[:, self._group]
        return result


def cluster_counts(rng: np.random.Generator, strata: IntArray, resamples: int) -> Float32Array:
    """How often each cluster is drawn, with replacement within its stratum [resamples, clusters].

    >>> cluster_counts(np.random.default_rng(0), np.array([0, 0, 1]), 4)[:, 2].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    counts = np.zeros((resamples, len(strata)), dtype=np.float32)
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        drawn = rng.integers(0, len(members), size=(resamples, len(members)))
        drawn += np.arange(resamples)[:, None] * len(members)
        counted = np.bincount(drawn.ravel(), minlength=resamples * len(members))
        counts[:, members] = counted.reshape(resamples, len(members))
    return counts


def bootstrap_correlations(
    columns: FloatArray,
    pairs: list[tuple[int, int]],
    cluster: IntArray,
    strata: IntArray,
    rng: np.random.Generator,
    resamples: int,
) -> FloatArray:
    """Spearman's correlation of pairs of columns in every resample [resamples, pairs]; NaN where a side is flat.

    Parameters
    ----------
    columns : values [rows, columns] without gaps; pairs : places of two columns
    cluster : of each row; clusters are drawn within their stratum (``strata``, by cluster)
    """
    ranked = {place: WeightedRanks(columns[:, place]) for place in sorted({place for pair in pairs for place in pair})}
    found = np.empty((resamples, len(pairs)))
    block = max(1, _AT_ONCE // max(len(columns), 1))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        weights = cluster_counts(rng, strata, size)[:, cluster]
        ranks = {place: one.of(weights) for place, one in ranked.items()}
        weighted = {place: weights * one for place, one in ranks.items()}
        squares = {place: np.einsum("ij,ij->i", weighted[place], ranks[place], dtype=np.float64) for place in ranked}
        for number, (one, two) in enumerate(pairs):
            crossed = np.einsum("ij,ij->i", weighted[one], ranks[two], dtype=np.float64)
            length = np.sqrt(squares[one] * squares[two])
            shown = np.where(length > _FLAT, crossed / np.maximum(length, _FLAT), np.nan)
            found[start : start + size, number] = shown
    return np.clip(found, -1.0, 1.0)


def swapped_means(
    first: FloatArray, second: FloatArray, rng: np.random.Generator, draws: int
) -> tuple[Float32Array, Float32Array]:
    """Means over variants [draws, rows] after the labels of variants are swapped at random within each row.

    ``first`` and ``second`` [rows, variants] are NaN where a variant has no answer. Every row (a question put by a persona) swaps for
    itself, all samples of a variant together, and only variants that both sides have.
    """
    rows, variants = first.shape
    there = [~np.isnan(side) for side in (first, second)]
    values = [np.where(present, side, 0.0) for present, side in zip(there, (first, second), strict=True)]
    gained = np.where(there[0] & there[1], values[1] - values[0], 0.0)
    moved = np.zeros((draws, rows))
    for place in range(variants):
        bits = np.unpackbits(np.frombuffer(rng.bytes(-(-draws * rows // 8)), dtype=np.uint8), count=draws * rows)
        moved += bits.reshape(draws, rows) * gained[:, place]
    totals = [side.sum(axis=1) for side in values]
    counts = [np.maximum(present.sum(axis=1), 1) for present in there]
    one, two = (totals[0] + moved) / counts[0], (totals[1] - moved) / counts[1]
    return np.round(one, _DIGITS).astype(np.float32), np.round(two, _DIGITS).astype(np.float32)


def lengthened(correlation: float, halves: tuple[int, int]) -> float | None:
    """Reliability of the whole from the correlation of two parts of any lengths (Horst); Spearman-Brown for equal ones.

    None where the parts do not go together.

    >>> round(lengthened(0.6, (5, 5)), 4), round(2 * 0.6 / 1.6, 4)
    (0.75, 0.75)
    >>> round(lengthened(0.6, (2, 3)), 3)
    0.756
    """
    if correlation <= 0:
        return None
    one, two = halves
    square = correlation**2
    lead = one * two - square * (one - 1) * (two - 1)
    side = square * (one + two - 2)
    single = (side + math.sqrt(side**2 + 4 * lead * square)) / (2 * lead)
    whole = one + two
    return whole * single / (1 + (whole - 1) * single)


def variant_means(blocks: FloatArray) -> FloatArray:
    """Mean over the last axis of what is there; NaN where nothing is. What differs by rounding alone is made the same, so that it ties."""
    there = ~np.isnan(blocks)
    counts = there.sum(axis=-1)
    means = np.where(there, blocks, 0.0).sum(axis=-1) / np.maximum(counts, 1)
    result: FloatArray = np.where(counts > 0, np.round(means, _DIGITS), np.nan)
    return result


def reliability(blocks: FloatArray, rng: np.random.Generator, splits: int = 10) -> float | None:
    """Reliability of means over variants [rows, variants], from the correlation of halves; None where there are no halves that go together.

    ``splits`` : random halves that the correlation is averaged over.
    """
    variants = np.flatnonzero(~np.isnan(blocks).all(axis=0)) if len(blocks) else np.zeros(0, dtype=np.int64)
    if len(variants) < 2:
        return None
    half = len(variants) // 2
    found = []
    for _ in range(splits):
        order = rng.permutation(variants)
        sides = [variant_means(blocks[:, part]) for part in (order[:half], order[half:])]
        both = ~np.isnan(sides[0]) & ~np.isnan(sides[1])
        if both.sum() >= _FEWEST_ROWS:
            found.append(float(correlations(*(midranks(side[both][None]) for side in sides))[0]))
    found = [value for value in found if not math.isnan(value)]
    return lengthened(float(np.mean(found)), (half, len(variants) - half)) if found else None
