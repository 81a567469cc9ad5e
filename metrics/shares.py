"""Shares of categories in each group of a table, with intervals that know which records came in one answer."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import sparse
from scipy.stats import norm

from metrics.tables import ClusteredTable, FloatArray

LEVEL = 0.95
METHOD = (
    "Wilson's interval on the effective number of records: records divided by the design effect of a ratio of requests (Kish), "
    "which is at least 1; where a share is 0 or 1, on the number of requests"
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """Shares of each row of a table, shape [rows, columns].

    Parameters
    ----------
    counts : records; share, low, high : of the row's records; NaN in a row without any
    residual : adjusted standardized residual of each cell against independence; NaN where a margin is empty or full
    effective : records that a share is worth [rows, columns]; sizes, clusters : records of each row and the clusters that they came from [rows]
    """

    counts: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray
    residual: FloatArray
    effective: FloatArray
    sizes: FloatArray
    clusters: FloatArray


def shares_of(table: ClusteredTable) -> Shares:
    r"""The shares of a table's rows with 95 % intervals, and each cell's residual.

    For a row with :math:`m_k` records in cluster *k*, :math:`y_k` of them in the category, and share
    :math:`p = \sum y_k / \sum m_k`, the variance of the ratio is
    :math:`\frac{K}{K-1} \sum (y_k - p m_k)^2 / (\sum m_k)^2` over the *K* clusters that have the row. The effective size is
    :math:`p (1 - p)` divided by it, at most the number of records; Wilson's interval is taken on that size. With one cluster, or a
    share of 0 or 1, which have no variance to learn from, the size is the number of clusters.

    The residual is Haberman's: :math:`(O - E) / \sqrt{E (1 - r)(1 - c)}` with the expected count *E* and the shares *r* and *c* of row and
    column; it takes records as independent, and is for finding cells, not for testing them.

    References
    ----------
    Kish, *Survey Sampling* (1965), section 6.5 (ratio of clusters); Wilson (1927), JASA 22:209; Dean and Pagano (2015), "Evaluating
    confidence interval methods for binomial proportions in clustered surveys", JSSAM 3:484; Haberman (1973), Biometrics 29:205.

    Examples
    --------
    >>> import pandas as pd
    >>> from metrics.tables import clustered_table
    >>> frame = pd.DataFrame({"a": list("fffm"), "b": list("xxyy"), "cluster": [0, 1, 2, 3]})
    >>> shares_of(clustered_table(frame, "a", "b")).share.round(2).tolist()
    [[0.67, 0.33], [0.0, 1.0]]
    """
    counts = table.counts
    rows, columns = counts.shape
    cells = table.cells().astype(np.float64).tocsc()
    fold = sparse.csr_array(np.kron(np.eye(rows), np.ones((columns, 1))))
    per_row = (cells @ fold).tocsc()  # records of each row in each cluster
    spread = sparse.csc_array(per_row @ sparse.csr_array(np.kron(np.eye(rows), np.ones((1, columns)))))
    sizes = counts.sum(axis=1)
    clusters = np.diff(per_row.indptr).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = counts / sizes[:, None]
        squares = _sum(cells.multiply(cells), rows, columns)
        across = _sum(cells.multiply(spread), rows, columns)
        own = _sum(spread.multiply(spread), rows, columns)
        scale = (clusters / (clusters - 1))[:, None] / sizes[:, None] ** 2
        variance = scale * np.maximum(squares - 2 * share * across + share**2 * own, 0.0)
        effective = share * (1 - share) / variance
    known = np.isfinite(effective) & (share > 0) & (share < 1) & (clusters > 1)[:, None]
    effective = np.where(known, np.minimum(effective, sizes[:, None]), np.minimum(clusters, sizes)[:, None])
    low, high = wilson(share, effective)
    return Shares(
        counts=counts,
        share=share,
        low=low,
        high=high,
        residual=_residuals(counts),
        effective=np.broadcast_to(effective, counts.shape),
        sizes=sizes,
        clusters=clusters,
    )


def wilson_of(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of one share, ``hits`` of ``n``; the share is always in it.

    >>> low, high = wilson_of(81, 263)
    >>> round(low, 4), round(high, 4)
    (0.2553, 0.3662)
    """
    share = hits / n
    low, high = wilson(np.array([share]), np.array([float(n)]))
    return min(float(low[0]), share), max(
        float(high[0]), share
    )  # at 0 and 1 a bound is the share, which rounding may miss


def wilson(share: FloatArray, n: FloatArray, level: float = LEVEL) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval of shares on ``n`` records, which need not be whole; NaN where there is none.

    >>> low, high = wilson(np.array([81 / 263]), np.array([263.0]))  # Newcombe (1998), Table I, method 3
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.2553], [0.3662])
    """
    z = norm.isf((1 - level) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)


def _sum(entries: sparse.sparray, rows: int, columns: int) -> FloatArray:
    return np.asarray(entries.sum(axis=0), dtype=np.float64).reshape(rows, columns)


def _residuals(counts: FloatArray) -> FloatArray:
    total = counts.sum()
    row, column = counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = row * column / total
        found = (counts - expected) / np.sqrt(expected * (1 - row / total) * (1 - column / total))
    return np.where(np.isfinite(found), found, np.nan)
