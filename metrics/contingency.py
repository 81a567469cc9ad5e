"""Cramér's V of one clustered table: its noise, its variance, its test and its score.

Plain V of a finite table is never 0: with n records and no association at all, V squared is about
``(max(r, c) - 1) / (n - 1)``, more when records of one answer resemble each other. So V comes with a jackknife over
requests that removes this bias, with Bergsma's correction as a second opinion, and with the score that independence
alone would give (the noise floor).

References
----------
H. Cramér (1946), Mathematical Methods of Statistics, ch. 21.
W. Bergsma (2013), "A bias-correction for Cramér's V and Tschuprow's T", J. Korean Stat. Soc. 42, 323-328.
J. N. K. Rao, A. J. Scott (1981), JASA 76, 221-230; (1984), Annals of Statistics 12, 46-60: chi-squared tests of
clustered data. B. Efron, C. Stein (1981), Annals of Statistics 9, 586-596: the jackknife.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from metrics.severity import normalized
from metrics.tables import ClusteredTable, DegenerateTableError

FloatArray = NDArray[np.float64]

_FEWEST_CLUSTERS = 2


def _reciprocal(values: FloatArray) -> FloatArray:
    result: FloatArray = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
    return result


def phi_squared(counts: FloatArray) -> float:
    """Chi squared / n of a table [rows, columns], without Yates' correction.

    >>> phi_squared(np.array([[10.0, 0.0], [0.0, 10.0]]))
    1.0
    """
    by_row, by_column = counts.sum(axis=1), counts.sum(axis=0)
    weighted = np.square(counts) @ _reciprocal(by_column)
    return max(float(weighted @ _reciprocal(by_row)) - 1.0, 0.0)


def cramers_v(table: ClusteredTable) -> float:
    """Cramér's V: ``sqrt(chi squared / (n (min(r, c) - 1)))`` over non-empty categories, plain (no Yates).

    Raises `DegenerateTableError` when the table has fewer than 2 categories on a side or fewer than 10 records.
    """
    table.require_measurable()
    return min(math.sqrt(phi_squared(table.counts) / table.df_star), 1.0)


def bergsma_v_squared(v_squared: FloatArray, shape: tuple[int, int], n: int) -> FloatArray:
    """Bergsma's corrected V squared from plain V squared, for arrays; negative values are 0.

    ``phi2' = max(0, phi2 - (r-1)(c-1)/(n-1))``, ``r' = r - (r-1)^2/(n-1)``, ``c'`` alike,
    ``V'^2 = phi2' / (min(r', c') - 1)``. NaN is not possible: where ``min(r', c') <= 1`` the value is 0.
    """
    r, c = shape
    room = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    if room <= 0:
        return np.zeros_like(v_squared)
    phi = np.maximum(v_squared * (min(r, c) - 1) - (r - 1) * (c - 1) / (n - 1), 0.0)
    result: FloatArray = np.minimum(phi / room, 1.0)
    return result


def bergsma_v(table: ClusteredTable) -> float:
    """V with the bias correction of Bergsma (2013), which takes records as independent."""
    table.require_measurable()
    v_squared = np.asarray([phi_squared(table.counts) / table.df_star])
    return math.sqrt(float(bergsma_v_squared(v_squared, table.shape, table.n)[0]))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Jackknife:
    """V squared without its bias of order 1/n (may be below 0), and its variance over repeated audits."""

    v_squared: float
    variance: float


def jackknife_v_squared(table: ClusteredTable, df_star: int | None = None) -> float:
    """V squared without its bias of order 1/n; see `jackknife`."""
    return jackknife(table, df_star).v_squared


def jackknife(table: ClusteredTable, df_star: int | None = None) -> Jackknife:
    """V squared by leaving out one cluster at a time.

    ``R V^2 - (R - 1) mean of V_k^2`` over the R clusters with a record, where ``V_k`` is without cluster k; variance
    ``(R - 1) / R sum (V_k^2 - mean)^2``, which is on average not too small (Efron and Stein 1981). Exact: the sums that
    each left-out cluster changes are updated, so 10,000 clusters cost one matrix product.

    ``df_star`` overrides ``min(r, c) - 1``, for two tables that must share one scale.
    """
    table.require_measurable()
    df = table.df_star if df_star is None else df_star
    ids, cluster = np.unique(table.cluster, return_inverse=True)
    clusters = len(ids)
    if clusters < _FEWEST_CLUSTERS:
        raise DegenerateTableError(
            "the jackknife leaves out one request at a time and needs 2; all records are from one"
        )
    counts = table.counts
    r, c = counts.shape
    by_row = np.bincount(cluster * r + table.row, weights=table.count, minlength=clusters * r).reshape(clusters, r)
    by_column = np.bincount(cluster * c + table.column, weights=table.count, minlength=clusters * c)
    inverse_row = _reciprocal(counts.sum(axis=1) - by_row)
    inverse_column = _reciprocal(counts.sum(axis=0) - by_column.reshape(clusters, c))
    full = ((inverse_row @ np.square(counts)) * inverse_column).sum(axis=1)
    # (F - t)^2 = F^2 + (t^2 - 2 F t), and the second part is 0 outside the cluster's own cells.
    change = table.count * (table.count - 2.0 * counts[table.row, table.column])
    change = change * inverse_row[cluster, table.row] * inverse_column[cluster, table.column]
    without = np.maximum(full + np.bincount(cluster, weights=change, minlength=clusters) - 1.0, 0.0) / df
    mean = float(without.mean())
    return Jackknife(
        v_squared=clusters * phi_squared(counts) / df - (clusters - 1) * mean,
        variance=(clusters - 1) / clusters * float(np.square(without - mean).sum()),
    )


def _influence_of_cells(counts: FloatArray) -> FloatArray:
    """Derivative of phi squared by each cell's probability, with mean 0 under the table."""
    p = counts / counts.sum()
    by_row, by_column = p.sum(axis=1), p.sum(axis=0)
    lift = p * _reciprocal(by_row)[:, None] * _reciprocal(by_column)
    share = lift * p
    row_part = share.sum(axis=1) * _reciprocal(by_row)
    result: FloatArray = 2 * lift - row_part[:, None] - share.sum(axis=0) * _reciprocal(by_column)
    return result


def influence_of_v_squared(
    table: ClusteredTable, df_star: int | None = None, at: FloatArray | None = None
) -> FloatArray:
    """First-order effect of each cluster on V squared, shape [clusters_total], mean 0.

    The sum of its squares, times R/(R-1), is the variance of V squared over repeated audits. Clusters without a
    counted record have 0.

    ``at`` are other counts [rows, columns] to take the derivative at, such as those of two releases pooled: a rare
    category of which this table shows one side only has a derivative near 0 here and an honest one there.
    """
    table.require_measurable()
    df = table.df_star if df_star is None else df_star
    effect = _influence_of_cells(table.counts if at is None else at)[table.row, table.column]
    effect = effect - float(effect @ table.count) / table.n
    by_entry = table.count * effect
    return np.bincount(table.cluster, weights=by_entry, minlength=table.clusters_total) / (df * table.n)


def variance_of(influence: FloatArray, clusters: int) -> float:
    """Variance of an estimate from the influence of its clusters: the sum of squares times R/(R-1)."""
    return float(influence @ influence) * clusters / (clusters - 1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Association:
    """Point estimates of one table.

    ``v_squared`` plain; ``v_squared_jackknife`` and ``jackknife_variance`` (None with one cluster only); ``influence`` of
    V squared [clusters_total]; ``variance`` of V squared over repeated audits and ``design_effect``, its ratio to the variance
    that independent records would have (None when that is 0, as in a perfect association, or with one cluster).
    """

    df_star: int
    v_squared: float
    v_squared_jackknife: float | None
    jackknife_variance: float | None
    influence: FloatArray
    variance: float | None
    design_effect: float | None

    @property
    def bias(self) -> float:
        """What the size of the table adds to V squared, as the jackknife estimates it (0 when it cannot)."""
        return 0.0 if self.v_squared_jackknife is None else self.v_squared - self.v_squared_jackknife


def association(table: ClusteredTable, df_star: int | None = None) -> Association:
    """All point estimates of a measurable table; raises `DegenerateTableError` for another."""
    table.require_measurable()
    df = table.df_star if df_star is None else df_star
    counts, n, clusters = table.counts, table.n, table.n_clusters
    influence = influence_of_v_squared(table, df)
    enough = clusters >= _FEWEST_CLUSTERS
    left_out = jackknife(table, df) if enough else None
    variance = variance_of(influence, clusters) if enough else None
    independent = float((counts * np.square(_influence_of_cells(counts))).sum()) / (n * df) ** 2
    return Association(
        df_star=df,
        v_squared=phi_squared(counts) / df,
        v_squared_jackknife=left_out.v_squared if left_out else None,
        jackknife_variance=left_out.variance if left_out else None,
        influence=influence,
        variance=variance,
        # Below this the influence is rounding noise: the association is perfect, or exactly none.
        design_effect=variance / independent if variance is not None and independent > 1e-20 else None,
    )


def _squared_deviations(codes: NDArray[np.int64], table: ClusteredTable, size: int) -> FloatArray:
    """``sum over clusters of (t_kj - n_k p_j)^2`` for each category j of ``codes`` (rows, columns or cells)."""
    ids, cluster = np.unique(table.cluster, return_inverse=True)
    keys, place = np.unique(cluster * size + codes, return_inverse=True)
    count = np.bincount(place, weights=table.count)
    key_cluster, category = keys // size, keys % size
    cluster_n = np.bincount(cluster, weights=table.count, minlength=len(ids))
    share = np.bincount(category, weights=count, minlength=size) / table.n
    squares = np.bincount(category, weights=np.square(count), minlength=size)
    products = np.bincount(category, weights=count * cluster_n[key_cluster], minlength=size)
    result: FloatArray = squares - 2 * share * products + np.square(share) * float(np.square(cluster_n).sum())
    return result


def independence_design_effect(table: ClusteredTable) -> float | None:
    """Factor by which clustering inflates chi squared when there is no association; at least 1, None with one cluster.

    First-order Rao-Scott: the mean generalized design effect,
    ``n [sum V(p_ij)/(a_i b_j) - sum V(p_i.)/a_i - sum V(p_.j)/b_j] / ((r-1)(c-1))`` with ``a``, ``b`` the margins and
    V the between-cluster variance. The estimate is held at 1 or more: answers that are more even than chance would
    justify less, but from few requests that cannot be told from luck, and less would mean bolder claims.
    """
    table.require_measurable()
    clusters = table.n_clusters
    if clusters < _FEWEST_CLUSTERS:
        return None
    if clusters == table.n:
        return 1.0  # one record a cluster is no clustering; the estimate would only echo rare categories
    p = table.counts / table.n
    r, c = p.shape
    inverse_row, inverse_column = _reciprocal(p.sum(axis=1)), _reciprocal(p.sum(axis=0))
    of_cells = _squared_deviations(table.row * c + table.column, table, r * c).reshape(r, c)
    total = float(inverse_row @ of_cells @ inverse_column)
    total -= float(_squared_deviations(table.row, table, r) @ inverse_row)
    total -= float(_squared_deviations(table.column, table, c) @ inverse_column)
    rows, columns = table.shape
    return max(1.0, total * clusters / (clusters - 1) / (table.n * (rows - 1) * (columns - 1)))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IndependenceTest:
    """Test of no association: ``statistic`` is Pearson's chi squared / ``design_effect``, with ``df`` degrees of freedom."""

    statistic: float
    df: int
    pvalue: float
    pearson: float
    design_effect: float


def independence_test(table: ClusteredTable, *, clustered: bool = True) -> IndependenceTest | None:
    """Pearson's chi-squared test with the first-order Rao-Scott correction; None with one cluster.

    ``clustered=False`` takes the records as independent (design effect 1), as the textbook test does.
    """
    table.require_measurable()
    effect = independence_design_effect(table) if clustered else 1.0
    if effect is None:
        return None
    rows, columns = table.shape
    df = (rows - 1) * (columns - 1)
    pearson = phi_squared(table.counts) * table.n
    pvalue = float(special.chdtrc(df, pearson / effect))
    return IndependenceTest(statistic=pearson / effect, df=df, pvalue=pvalue, pearson=pearson, design_effect=effect)


def noise_floor(table: ClusteredTable) -> float | None:
    """Normalized score that this table would show without any association; None with one cluster.

    ``sqrt(deff (max(r, c) - 1) / (n - 1))`` through the normalization, with deff of `independence_design_effect`.
    """
    effect = independence_design_effect(table)
    if effect is None:
        return None
    expected = effect * (max(table.shape) - 1) / (table.n - 1)
    return normalized(math.sqrt(min(expected, 1.0)), table.df_star)


def score_of(v_squared: FloatArray, df_star: int) -> FloatArray:
    """Normalized score of V squared, for arrays; values outside 0..1 count as the nearest of these.

    >>> score_of(np.array([-0.01, 0.0625]), 4).tolist()
    [0.0, 1.0]
    """
    return normalized(np.sqrt(np.clip(v_squared, 0.0, 1.0)), df_star)
