"""Effect sizes against printed examples (Lakens 2013; Bargmann's data as in Steiger 2004) and simulated coverage."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.effects import (
    eta_squared,
    explained,
    hedges_correction,
    hedges_g,
    noncentral_f_bounds,
    noncentral_t_bounds,
    omega_squared,
)
from metrics.errors import BadInputError
from metrics.samples import Samples, samples
from tests.metrics.test_group_tests import PLANTS, of

# D. Lakens (2013), Frontiers in Psychology 4:863, Table 3: two movies, ten ratings each.
MOVIES = {"movie 1": [9.0, 7, 8, 9, 8, 9, 9, 10, 9, 9], "movie 2": [9.0, 6, 7, 8, 7, 9, 8, 8, 8, 7]}


def test_hedges_g_of_the_movies_is_as_printed() -> None:
    # Lakens: t(18) = 2.52, p = .022, Hedges's g = 1.08; interval of Cohen's d [0.16, 2.06] (there by another program).
    row = hedges_g(of(MOVIES), "movie 1", "movie 2")
    assert row.value == pytest.approx(1.08, abs=0.005)
    assert row.statistic == pytest.approx(2.52, abs=0.005)
    assert row.pvalue == pytest.approx(0.022, abs=0.0005)
    assert (row.low, row.high) == (pytest.approx(0.16, abs=0.005), pytest.approx(2.06, abs=0.01))


def test_eta_and_omega_squared_of_the_movies_are_as_printed() -> None:
    # Lakens: F(1, 18) = 6.34, eta squared .26, 90 % CI [.02, .48], omega squared .21.
    eta, omega = eta_squared(of(MOVIES), level=0.90), omega_squared(of(MOVIES), level=0.90)
    assert eta.statistic == pytest.approx(6.34, abs=0.005)
    assert eta.value == pytest.approx(0.26, abs=0.005)
    assert omega.value == pytest.approx(0.21, abs=0.005)
    assert (eta.low, eta.high) == (pytest.approx(0.02, abs=0.005), pytest.approx(0.48, abs=0.005))


@pytest.mark.parametrize(("level", "low", "high"), [(0.95, 0.226, 0.587), (0.90, 0.261, 0.565)])
def test_bargmanns_example_of_steiger_gives_the_bounds_that_kelley_prints(
    level: float, low: float, high: float
) -> None:
    # F(4, 50) = 11.221, N = 55 (Steiger 2004); omega squared .426 and bounds as printed by K. Kelley's R package DMAR.
    bounds = [value / (value + 55) for value in noncentral_f_bounds(11.221, 4, 50, level)]
    assert explained(11.221, 4, 50)[1] == pytest.approx(0.426, abs=5e-4)
    assert bounds == [pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4)]


def test_a_difference_of_half_a_standard_deviation_has_the_interval_that_kelley_prints() -> None:
    # DMAR: ci_smd(smd = 0.5, n_1 = 50, n_2 = 50) is 0.101 to 0.897.
    root = math.sqrt(2 / 50)
    bounds = [bound * root for bound in noncentral_t_bounds(0.5 / root, 98)]
    assert bounds == [pytest.approx(0.101, abs=5e-4), pytest.approx(0.897, abs=5e-4)]


def test_the_correction_is_hedges_own_to_four_digits() -> None:
    # The usual approximation 1 - 3 / (4 df - 1) differs in the fourth digit at 18 df and less above.
    for df in (18, 60, 400):
        assert hedges_correction(df) == pytest.approx(1 - 3 / (4 * df - 1), abs=2e-4)
    with pytest.raises(BadInputError, match="at least 2 degrees of freedom, got 1"):
        hedges_correction(1)


@settings(deadline=None, max_examples=60, database=None)
@given(st.floats(-40, 40), st.sampled_from([3, 8, 30, 200, 3000]))
def test_the_bounds_of_t_are_where_its_tails_are_a_fortieth(t: float, df: int) -> None:
    low, high = noncentral_t_bounds(t, df)
    assert stats.nct.cdf(t, df, low) == pytest.approx(0.975, abs=1e-4)
    assert stats.nct.cdf(t, df, high) == pytest.approx(0.025, abs=1e-4)


@settings(deadline=None, max_examples=60, database=None)
@given(st.floats(0.01, 200), st.integers(1, 6), st.sampled_from([5, 40, 600]))
def test_the_bounds_of_f_are_where_its_tails_are_a_fortieth_or_0(f: float, df: int, df_error: int) -> None:
    low, high = noncentral_f_bounds(f, df, df_error)
    assert 0 <= low <= high
    for bound, tail in ((low, 0.975), (high, 0.025)):
        if bound > 0:
            assert stats.ncf.cdf(f, df, df_error, bound) == pytest.approx(tail, abs=1e-4)
        else:
            assert stats.f.cdf(f, df, df_error) <= tail + 1e-9


def test_groups_more_alike_than_chance_have_an_empty_interval_and_say_so() -> None:
    # Means 2.5, 2.5 and 2.50001: F is far below what equal groups give.
    found = of({"a": [1.0, 2, 3, 4], "b": [1.0, 2, 3, 4], "c": [1.0, 2, 3, 4.00004]})
    row = omega_squared(found)
    assert row.value == 0.0
    assert row.low is None
    assert "the interval is empty" in row.reason


def test_what_has_no_variance_has_no_effect_size() -> None:
    flat = of({"a": [1.0, 1.0], "b": [2.0, 2.0]})
    assert "no standard deviation" in hedges_g(flat, "a", "b").reason
    assert "the same value" in eta_squared(flat).reason
    assert "at least 2 messages" in hedges_g(of({"a": [1.0], "b": [2.0, 3.0]}), "a", "b").reason


def drawn(rng: np.random.Generator, effect: float) -> Samples:
    groups = {"a": rng.normal(effect, 1, 12), "b": rng.normal(0, 1, 20)}
    return of({name: values.tolist() for name, values in groups.items()})


def test_intervals_of_g_hold_the_true_effect_95_times_in_100() -> None:
    rng = np.random.default_rng(3)
    rows = [hedges_g(drawn(rng, 0.8), "a", "b") for _ in range(400)]
    held = np.mean([row.low <= 0.8 <= row.high for row in rows if row.low is not None and row.high is not None])
    # Binomial: 95 +- 3.3 at three standard errors.
    assert 0.917 <= held <= 0.983
    assert np.mean([row.value for row in rows if row.value is not None]) == pytest.approx(0.8, abs=0.06)


def test_all_say_how_many_messages_and_cells_they_are_from() -> None:
    for row in (eta_squared(of(PLANTS)), omega_squared(of(PLANTS)), hedges_g(of(PLANTS), "ctrl", "trt1")):
        assert row.n == (20 if len(row.groups) == 2 else 30)
        assert (row.clusters, row.n_excluded) == (4, 0)
        assert "messages taken as independent" in row.method


def test_missing_messages_are_counted() -> None:
    data = pd.DataFrame({"a": [1.0, 2, None, 3, 5], "sex": [*"ffmmm"], "cell": 1})
    assert hedges_g(samples(data, "a", group="sex"), "f", "m").n_excluded == 1
