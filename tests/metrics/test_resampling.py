"""The response bootstrap and the multipliers: what they draw, and that they draw what slower code would."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metrics.association import association
from metrics.resampling import cluster_weights, multiplier_draws, phi_squared_of, resampled_tables, resampled_v_squared
from metrics.tables import ClusteredTable
from tests.metrics.test_contingency import dense, random_table


def test_each_resample_draws_as_many_requests_as_there_are() -> None:
    blocks = list(cluster_weights(np.random.default_rng(0), 37, 601))
    weights = np.concatenate(blocks, axis=1)
    assert weights.shape == (37, 601)
    assert (weights.sum(axis=0) == 37).all()
    assert weights.mean() == pytest.approx(1.0)
    assert weights.var() == pytest.approx(1.0, abs=0.05)


def test_resampled_tables_are_weights_times_the_counts_of_the_requests() -> None:
    tables = [random_table(1, 25, 8, 3, 4), random_table(2, 25, 8, 5, 2)]
    weights = np.concatenate(list(cluster_weights(np.random.default_rng(4), 25, 300)), axis=1)
    blocks = list(resampled_tables(tables, np.random.default_rng(4), 300))
    for place, table in enumerate(tables):
        drawn = np.concatenate([block[place] for block in blocks], axis=2)
        assert drawn == pytest.approx(np.einsum("krc,kb->rcb", dense(table), weights))


@pytest.mark.parametrize("most", [130, 131, 40_000])  # 500 requests of 131 in one cell: 65,500; of 132: past 16 bits
def test_counts_past_16_bits_are_not_cut_off(most: int) -> None:
    clusters = np.repeat(np.arange(500), 4)
    cell = np.tile(np.arange(4), 500)
    count = np.random.default_rng(3).integers(1, most + 2, 2000)
    table = ClusteredTable(
        rows=("a", "b"),
        columns=("c", "d"),
        cluster=clusters,
        row=cell // 2,
        column=cell % 2,
        count=count,
        clusters_total=500,
    )
    weights = np.concatenate(list(cluster_weights(np.random.default_rng(5), 500, 40)), axis=1)
    expected = np.einsum("kc,kb->cb", count.reshape(500, 4), weights.astype(np.float64)).reshape(2, 2, 40)
    (block,) = resampled_tables([table], np.random.default_rng(5), 40)
    assert (block[0] == expected).all()
    phi = phi_squared_of(expected.astype(np.float32))
    assert resampled_v_squared([table], [1], np.random.default_rng(5), 40)[0] == pytest.approx(phi, abs=1e-12)


def test_draws_do_not_depend_on_how_many_are_made_at_once() -> None:
    tables = [random_table(1, 25, 8, 3, 4), random_table(2, 25, 8, 5, 2)]
    weights = np.concatenate(list(cluster_weights(np.random.default_rng(4), 25, 2300)), axis=1)
    squares = resampled_v_squared(tables, [2, 1], np.random.default_rng(4), 2300)
    for table, df_star, found in zip(tables, (2, 1), squares, strict=True):
        drawn = np.einsum("krc,kb->rcb", dense(table), weights).astype(np.float32)
        assert found == pytest.approx(phi_squared_of(drawn) / df_star, abs=1e-12)


def test_phi_squared_of_many_tables_is_that_of_scipy() -> None:
    counts = np.random.default_rng(2).integers(1, 9, (3, 4, 6))
    expected = [
        stats.chi2_contingency(counts[..., b], correction=False).statistic / counts[..., b].sum() for b in range(6)
    ]
    assert phi_squared_of(counts.astype(np.float32)) == pytest.approx(expected, abs=1e-6)


def test_the_bootstrap_and_the_influence_values_agree_on_the_standard_error() -> None:
    table = random_table(3, 300, 20, 4, 6)
    found = association(table)
    squares = resampled_v_squared([table], [found.df_star], np.random.default_rng(0), 2000)[0]
    assert found.variance is not None
    assert squares.std() == pytest.approx(np.sqrt(found.variance), rel=0.08)


def test_a_resample_doubles_the_bias_of_v_squared() -> None:
    table = random_table(4, 400, 5, 6, 8, tied=0.3)
    found = association(table)
    squares = resampled_v_squared([table], [found.df_star], np.random.default_rng(0), 2000)[0]
    assert squares.mean() - found.v_squared == pytest.approx(found.bias, rel=0.2)


def test_tables_of_different_frames_cannot_share_a_bootstrap() -> None:
    with pytest.raises(ValueError, match=r"same clusters, got \[20, 25\]"):
        list(
            resampled_tables([random_table(1, 25, 8, 3, 4), random_table(1, 20, 8, 3, 4)], np.random.default_rng(0), 10)
        )


def test_the_same_seed_gives_the_same_draws() -> None:
    first, again = (
        resampled_v_squared([random_table(1, 25, 8, 3, 4)], [2], np.random.default_rng(9), 500) for _ in range(2)
    )
    assert (first == again).all()


def test_multiplier_draws_have_the_covariance_of_the_weighted_sums_they_stand_for() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.standard_normal((40, 3)), rng.standard_normal((70, 3)) @ np.diag([1.0, 2.0, 0.5])
    literal = rng.standard_normal((40_000, 40)) @ one - rng.standard_normal((40_000, 70)) @ two
    drawn = multiplier_draws(np.random.default_rng(2), [one, two], 40_000)
    assert np.cov(drawn.T) == pytest.approx(np.cov(literal.T), rel=0.05, abs=3.0)
