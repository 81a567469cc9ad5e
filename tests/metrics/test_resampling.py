"""The response bootstrap and the multipliers: what they draw, and that they draw what slower code would."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metrics.association import association
from metrics.resampling import cluster_weights, multiplier_draws, phi_squared_of, resampled_tables, resampled_v_squared
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
