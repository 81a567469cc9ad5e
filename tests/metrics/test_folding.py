"""The test and interval of a change of size: what they claim about level and coverage, and how they hang together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from metrics.folding import FoldedPair

LARGE_DF = 1e7


def pair(x0: float, x1: float, s0: float = 0.2, s1: float = 0.2, rho: float = 0.0) -> FoldedPair:
    """The folded pair of two signed values with known errors."""
    errors = (s0, s1)
    return FoldedPair(
        previous=abs(x0),
        current=abs(x1),
        variances=(s0**2, s1**2),
        covariance=rho * s0 * s1 * (-1 if x0 * x1 < 0 else 1),
        df=LARGE_DF,
        pvalues_zero=tuple(float(2 * special.ndtr(-abs(x) / s)) for x, s in zip((x0, x1), errors, strict=True)),  # type: ignore[arg-type]
    )


def drawn(x0: float, x1: float, s0: float, s1: float, rho: float, runs: int) -> list[FoldedPair]:
    noise = np.random.default_rng(7).standard_normal((runs, 2))
    first = x0 + s0 * noise[:, 0]
    second = x1 + s1 * (rho * noise[:, 0] + np.sqrt(1 - rho**2) * noise[:, 1])
    return [pair(one, two, s0, s1, rho) for one, two in zip(first, second, strict=True)]


@pytest.mark.parametrize(
    ("x0", "x1", "s0", "s1", "rho"),
    [
        (0.0, 0.0, 0.2, 0.2, 0.0),
        (0.3, 0.3, 0.2, 0.2, 0.0),
        (0.3, 0.3, 0.2, 0.2, 0.8),
        (0.3, -0.3, 0.2, 0.2, 0.0),
        (1.0, -1.0, 0.2, 0.2, 0.5),
        (0.0, 0.0, 0.02, 0.3, 0.0),
        (0.2, 0.2, 0.02, 0.3, 0.0),
        (0.3, 0.3, 0.3, 0.05, 0.0),
    ],
)
def test_a_gap_that_has_not_grown_is_called_grown_in_at_most_5_percent(
    x0: float, x1: float, s0: float, s1: float, rho: float
) -> None:
    pairs = drawn(x0, x1, s0, s1, rho, 6000)
    # Binomial: 0.85 points at three standard errors.
    assert np.mean([item.pvalue_up <= 0.05 for item in pairs]) <= 0.0585
    assert np.mean([item.pvalue <= 0.05 for item in pairs]) <= 0.0585


def test_far_from_zero_the_level_is_met_and_near_zero_it_is_careful() -> None:
    far, near = drawn(1.0, 1.0, 0.2, 0.2, 0.0, 6000), drawn(0.0, 0.0, 0.2, 0.2, 0.0, 6000)
    assert 0.0415 <= np.mean([item.pvalue_up <= 0.05 for item in far]) <= 0.0585
    assert np.mean([item.pvalue_up <= 0.05 for item in near]) <= 0.01


def test_without_the_test_of_the_larger_gap_a_small_release_would_raise_too_many_alarms() -> None:
    # Both gaps are 0, the previous one known exactly: the two normal values are then one and the same.
    pairs = drawn(0.0, 0.0, 0.02, 0.3, 0.0, 6000)
    assert np.mean([float(special.ndtr(-item.statistic)) <= 0.05 for item in pairs]) >= 0.075
    assert np.mean([item.pvalue_up <= 0.05 for item in pairs]) <= 0.0585


@pytest.mark.parametrize(
    ("x0", "x1", "least"), [(0.0, 0.0, 0.98), (0.3, 0.3, 0.95), (0.0, 0.6, 0.92), (0.8, 0.3, 0.94), (0.5, -0.5, 0.94)]
)
def test_the_interval_of_the_change_of_size_holds_it(x0: float, x1: float, least: float) -> None:
    # At worst (one gap exactly 0, the other not) the corner of the folded line takes 1.3 points.
    bounds = [item.bounds(0.95, lambda size: size) for item in drawn(x0, x1, 0.2, 0.2, 0.0, 1500)]
    truth = abs(x1) - abs(x0)
    assert np.mean([low <= truth <= high for low, high in bounds]) >= least


@settings(deadline=None, max_examples=120, database=None)
@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(0.05, 0.5), st.floats(0.05, 0.5), st.floats(-0.9, 0.9))
def test_the_interval_excludes_0_exactly_when_z_rejects(x0: float, x1: float, s0: float, s1: float, rho: float) -> None:
    item = pair(x0, x1, s0, s1, rho)
    low, high = item.bounds(0.95, lambda size: size)
    if abs(abs(item.statistic) - 1.96) > 0.02:
        assert (abs(item.statistic) > 1.96) == (low > 0 or high < 0)
    assert low - 1e-9 <= abs(x1) - abs(x0) <= high + 1e-9


@settings(deadline=None, max_examples=80, database=None)
@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(0.05, 0.5), st.floats(0.05, 0.5))
def test_exchanged_releases_exchange_the_sign_and_the_side_of_a_gap_does_not_matter(
    x0: float, x1: float, s0: float, s1: float
) -> None:
    item = pair(x0, x1, s0, s1)
    assert pair(x1, x0, s1, s0).statistic == pytest.approx(-item.statistic)
    assert pair(-x0, x1, s0, s1).statistic == pytest.approx(item.statistic)
    assert item.pvalue <= 1


def test_the_detectable_size_is_found_in_80_of_100_releases() -> None:
    critical = float(special.ndtri(0.95))
    reach = pair(0.6, 0.6).detectable(critical)
    found = np.mean([item.pvalue_up <= 0.05 for item in drawn(0.6, reach, 0.2, 0.2, 0.0, 3000)])
    assert found == pytest.approx(0.80, abs=0.03)
