"""Response bootstrap and Gaussian multipliers: requests are drawn, never single personas.

Everything is matrix algebra. A resample is a vector of weights (how often each request was drawn); the table of that
resample is weights times the cell counts of the requests, for all bias dimensions at once. One draw therefore carries
the dependence within answers and that between the dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from metrics.tables import ClusteredTable

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
CountArray = NDArray[np.uint16 | np.float32]

_WEIGHTS_AT_ONCE = 2_000_000
_COUNTS_AT_ONCE = 1_000_000
_NO_SPREAD = 1e-15


def _block(n_clusters: int) -> int:
    """Resamples that are drawn together. The draws of a seed depend on it."""
    return max(16, min(256, _WEIGHTS_AT_ONCE // max(n_clusters, 1)))


def _draw_counts(
    rng: np.random.Generator, n_clusters: int, resamples: int, dtype: type[np.uint16 | np.float32], blocks: int = 1
) -> Iterator[CountArray]:
    """`cluster_weights` in another type, and with several of its blocks in one: the draws are the same."""
    block = _block(n_clusters)
    for start in range(0, resamples, blocks * block):
        counted = np.empty((n_clusters, min(blocks * block, resamples - start)), dtype=dtype)
        for left in range(0, counted.shape[1], block):
            width = min(block, counted.shape[1] - left)
            drawn = rng.integers(0, n_clusters, size=(n_clusters, width), dtype=np.int64)
            drawn *= width
            drawn += np.arange(width)
            counts = np.bincount(drawn.ravel(), minlength=n_clusters * width)
            counted[:, left : left + width] = counts.reshape(n_clusters, width)
        yield counted


def cluster_weights(rng: np.random.Generator, n_clusters: int, resamples: int) -> Iterator[Float32Array]:
    """How often each cluster is drawn, in blocks of shape [n_clusters, resamples of the block].

    Each column draws ``n_clusters`` clusters with replacement and so sums to ``n_clusters``. float32 is exact here:
    the counts stay below 2**24.

    >>> block, = cluster_weights(np.random.default_rng(1), 4, 3)
    >>> block.shape, block.sum(axis=0).tolist()
    ((4, 3), [4.0, 4.0, 4.0])
    """
    for counted in _draw_counts(rng, n_clusters, resamples, np.float32):
        yield counted.astype(np.float32, copy=False)


def _cells(table: ClusteredTable, dtype: type[np.uint16 | np.float32]) -> sparse.csr_array:
    """Counts of each cell in each cluster, shape [rows * columns, clusters_total]."""
    width = len(table.columns)
    places = (table.row * width + table.column, table.cluster)
    return sparse.csr_array((table.count.astype(dtype), places), shape=(len(table.rows) * width, table.clusters_total))


def _resampled_counts(
    tables: Sequence[ClusteredTable], rng: np.random.Generator, resamples: int
) -> Iterator[Iterator[CountArray]]:
    """`resampled_tables` as 16-bit whole numbers where they cannot overflow, one table of a block after the other.

    The product is bound by how many numbers the processor adds at once: 16 bits are twice as fast as 32, and as exact.
    """
    if not tables:
        return
    totals = {table.clusters_total for table in tables}
    if len(totals) > 1:
        raise ValueError(f"tables of one bootstrap must have the same clusters, got {sorted(totals)}")
    clusters = totals.pop()
    # No cell can exceed its largest cluster, drawn every time.
    largest = max(int(table.count.max(initial=0)) for table in tables) * clusters
    dtype = np.uint16 if largest <= np.iinfo(np.uint16).max else np.float32
    counted = [(_cells(table, dtype), (len(table.rows), len(table.columns), -1)) for table in tables]
    # Wide blocks spare calls, as long as they do not leave the processor's cache by far.
    widest = max(clusters, *(cells.shape[0] for cells, _ in counted), 1)
    blocks = max(1, min(4, _COUNTS_AT_ONCE // (widest * _block(clusters))))
    for drawn in _draw_counts(rng, clusters, resamples, dtype, blocks):
        yield (np.asarray(cells @ drawn).reshape(shape) for cells, shape in counted)


def resampled_tables(
    tables: Sequence[ClusteredTable], rng: np.random.Generator, resamples: int
) -> Iterator[list[Float32Array]]:
    """Tables of the response bootstrap, in blocks: one array [rows, columns, resamples of the block] per table.

    All tables must count one frame (the same clusters): they share the draws.
    """
    for block in _resampled_counts(tables, rng, resamples):
        yield [table.astype(np.float32, copy=False) for table in block]


def phi_squared_of(tables: CountArray) -> FloatArray:
    """Phi squared (chi squared / n) of each table in an array [rows, columns, tables].

    ``sum f_ij^2 / (r_i c_j) - 1``; empty rows and columns add nothing, and an empty table gives 0.
    Good to about 1e-6: sums of shares are float32, which the chance of the draws exceeds a thousandfold.
    """
    squares = tables.astype(np.float32)
    by_row, by_column = squares.sum(axis=1), squares.sum(axis=0)
    squares *= squares
    # Counts are whole numbers: where a margin is 0 so are its cells, and 1 stands in for the divisor.
    by_row_shares = np.einsum("rcb,cb->rb", squares, 1 / np.maximum(by_column, 1))
    phi = (by_row_shares / np.maximum(by_row, 1)).sum(axis=0).astype(np.float64) - 1
    result: FloatArray = np.maximum(phi, 0.0)
    return result


def resampled_v_squared(
    tables: Sequence[ClusteredTable], df_stars: Sequence[int], rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Squared Cramér's V of each table in each resample, shape [tables, resamples].

    ``df_stars`` stay those of the full tables: a rare category that a resample misses must not change the scale.
    """
    blocks = [
        np.stack([phi_squared_of(table) / df for table, df in zip(block, df_stars, strict=True)])
        for block in _resampled_counts(tables, rng, resamples)
    ]
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((len(tables), 0))


def around(resamples: FloatArray, estimate: float, standard_error: float | None = None) -> FloatArray:
    """Resampled values of one estimate, moved so that their mean is the estimate, and spread as it is.

    V squared of a resample carries the noise of the table once more: its mean is too high, and in tables with many
    cells its spread too wide (by half for 50 names and 1,000 personas). The shape is kept; the mean becomes the estimate
    and the standard deviation ``standard_error``, when it is given.

    >>> around(np.array([1.0, 2.0, 3.0]), 0.5).tolist()
    [-0.5, 0.5, 1.5]
    >>> around(np.array([1.0, 2.0, 3.0]), 0.5, standard_error=2.0).tolist()
    [-1.5, 0.5, 2.5]
    """
    if not resamples.size:
        return resamples
    centred = resamples - float(resamples.mean())
    spread = float(resamples.std(ddof=1)) if resamples.size > 1 else 0.0
    if standard_error is not None and spread > _NO_SPREAD:
        centred *= standard_error / spread
    return centred + estimate


def interval_error(variance: float, clusters: int) -> float:
    """Standard error for a 95 % interval from few clusters: ``sqrt(variance)`` times Student's over the normal quantile.

    >>> round(interval_error(1.0, 1000), 3), round(interval_error(1.0, 20), 3)
    (1.001, 1.068)
    """
    return float(np.sqrt(variance) * special.stdtrit(clusters - 1, 0.975) / special.ndtri(0.975))


def multiplier_draws(rng: np.random.Generator, influences: Sequence[FloatArray], draws: int) -> FloatArray:
    """Draws of the joint null law of estimates with the given influence values, shape [draws, estimates].

    ``influences`` holds one matrix [clusters, estimates] for each independent sample. The Gaussian multiplier
    bootstrap weights every cluster's influence row with a standard normal number; given the matrices, that sum is
    exactly normal with covariance ``sum U'U``. It is drawn from that covariance, which costs the same for ten
    clusters and ten thousand.

    >>> influence = np.array([[1.0], [-1.0]])
    >>> round(float(multiplier_draws(np.random.default_rng(0), [influence], 20_000).std()), 1)
    1.4
    """
    covariance = np.sum([matrix.T @ matrix for matrix in influences], axis=0)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    result: FloatArray = rng.standard_normal((draws, covariance.shape[0])) @ root.T
    return result
