"""The sequential processes against laws written down a second time, against simulation, and with a fault planted."""

from __future__ import annotations

import importlib.util
import types
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from metrics.errors import BadInputError
from metrics.sequential import (
    alarm_threshold,
    alpha_spent,
    check_sizes,
    cusum,
    e_process,
    likeliest_start,
    log_scale,
    recursive_residuals,
    standardized,
)
from tests.shared import shared_data

FloatArray = NDArray[np.float64]
BASELINE, AUDITS, DIMENSIONS = 5, 52, 16
RHO = 1 / BASELINE


def years(number: int, seed: int, *, correlation: float = 0.1, baseline: int = BASELINE) -> FloatArray:
    """z of years without a change [audits, years, dimensions], the error of the baseline mean included."""
    rng = np.random.default_rng(seed)
    shape = (baseline + AUDITS, number, DIMENSIONS)
    own, common = rng.standard_normal(shape), rng.standard_normal((*shape[:2], 1))
    drawn = np.sqrt(1 - correlation) * own + np.sqrt(correlation) * common
    z: FloatArray = drawn[baseline:] - drawn[:baseline].mean(axis=0)
    return z


def exact_interval(hits: int, trials: int, level: float = 0.99) -> tuple[float, float]:
    """Clopper-Pearson."""
    interval = stats.binomtest(hits, trials).proportion_ci(level, "exact")
    return interval.low, interval.high


# The law of the e-process, from multivariate normal densities.


def likelihood_ratio(z: FloatArray, start: int, delta: float, rho: float) -> float:
    """Density with a rise of delta from audit ``start`` (from 0) over density without, of N(., I + rho J)."""
    covariance = np.eye(len(z)) + rho
    rise = delta * (np.arange(len(z)) >= start)
    risen = stats.multivariate_normal(rise, covariance).logpdf(z)
    return float(np.exp(risen - stats.multivariate_normal(np.zeros(len(z)), covariance).logpdf(z)))


def mixture(z: FloatArray, rho: float, deltas: tuple[float, ...], horizon: int) -> float:
    """Mean of the likelihood ratios over deltas and starts; those after the last audit are 1."""
    begun = [np.mean([likelihood_ratio(z, start, delta, rho) for delta in deltas]) for start in range(len(z))]
    return float((sum(begun) + horizon - len(z)) / horizon)


@pytest.mark.parametrize(("rho", "horizon"), [(0.2, 52), (0.5, 9), (0.05, 8)])
def test_the_e_process_is_the_mixture_of_the_likelihood_ratios_of_the_joint_normal_law(
    rho: float, horizon: int
) -> None:
    z = np.random.default_rng(3).normal(0.5, 1.2, (8, 3))
    found = e_process(z, rho, deltas=(0.5, 2.0), horizon=horizon)
    for t in range(8):
        wanted = [mixture(z[: t + 1, d], rho, (0.5, 2.0), horizon) for d in range(3)]
        np.testing.assert_allclose(found[t], wanted, rtol=1e-10)


def test_recursive_residuals_are_the_whitened_z_of_the_joint_normal_law() -> None:
    z = np.random.default_rng(4).normal(size=(12, 2))
    whitened = np.linalg.solve(np.linalg.cholesky(np.eye(12) + RHO), z)
    np.testing.assert_allclose(recursive_residuals(z, RHO), whitened, rtol=1e-10, atol=1e-12)


def test_the_cusum_is_the_largest_excess_over_all_starts() -> None:
    w = np.random.default_rng(5).normal(0.6, 1, (30, 1))
    excess = [max(0.0, *(float((w[s : t + 1] - 0.5).sum()) for s in range(t + 1))) for t in range(30)]
    np.testing.assert_allclose(cusum(w, k=0.5)[:, 0], excess, rtol=1e-10, atol=1e-12)


@pytest.fixture(scope="module")
def reference() -> types.ModuleType:
    path = shared_data("..", "reference", "pba_stats.py")
    spec = importlib.util.spec_from_file_location("pba_stats", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_both_processes_equal_the_reference_implementation(reference: Any, shift: float) -> None:
    z = years(1, seed=6)[:, 0]
    z[20:, 4] += shift
    np.testing.assert_allclose(e_process(z, RHO), reference.e_process(z, RHO), rtol=1e-10)
    residuals = reference.self_starting(z, RHO)
    np.testing.assert_allclose(recursive_residuals(z, RHO), residuals, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(cusum(residuals, k=1.0), reference.cusum(residuals, k=1.0), rtol=1e-10, atol=1e-12)


# Entries that are missing.


@settings(deadline=None, max_examples=50, database=None)
@given(st.data())
def test_a_missing_entry_leaves_the_processes_of_its_dimension_as_if_the_audit_had_not_been(data: Any) -> None:
    number = data.draw(st.integers(1, 15))
    there = np.array(data.draw(st.lists(st.booleans(), min_size=number, max_size=number)))[:, None]
    z = np.array(data.draw(st.lists(st.floats(-6, 6), min_size=number, max_size=number)))[:, None]
    kept = np.flatnonzero(there[:, 0])
    e_values, e_kept = e_process(z, RHO, measured=there), e_process(z[kept], RHO)
    levels = cusum(recursive_residuals(z, RHO, there), measured=there)
    for with_gaps, without, at_first in (
        (e_values, e_kept, 1.0),
        (levels, cusum(recursive_residuals(z[kept], RHO)), 0.0),
    ):
        np.testing.assert_allclose(with_gaps[kept], without, rtol=1e-10, atol=1e-12)
        for t in np.flatnonzero(~there[:, 0]):
            before = with_gaps[t - 1, 0] if t else at_first
            assert with_gaps[t, 0] == pytest.approx(before, rel=1e-12)


def test_a_missing_entry_is_not_a_zero() -> None:
    z = np.array([[0.0], [2.0], [0.0], [2.0]])
    there = z != 0
    assert e_process(z, RHO, measured=there)[-1, 0] > e_process(z, RHO)[-1, 0]
    assert cusum(recursive_residuals(z, RHO, there), measured=there)[-1, 0] > cusum(recursive_residuals(z, RHO))[-1, 0]


# Calibration, and the fault that it must see.


def test_the_e_process_is_1_in_the_mean_when_nothing_changed() -> None:
    # Small deltas, for which a mean of 4,000 years is near its expectation; large ones rest on very rare large values.
    values = e_process(years(250, seed=7), RHO, deltas=(0.3, 0.6)).reshape(AUDITS, -1)
    error = values.std(axis=1) / np.sqrt(values.shape[1])
    assert (np.abs(values.mean(axis=1) - 1) <= 4 * error).all()
    assert error.max() < 0.05
    # The same with the deltas in use: never significantly above 1.
    values = e_process(years(250, seed=8), RHO).reshape(AUDITS, -1)
    assert (values.mean(axis=1) - 4 * values.std(axis=1) / np.sqrt(values.shape[1]) <= 1).all()


def false_alarm_years(seed: int, *, residual_rho: float, number: int = 400) -> dict[str, tuple[float, float]]:
    """Exact 99 % interval of the share of years with a false alarm; ``residual_rho`` is what the rules believe."""
    z = years(number, seed)
    e_alarm = (e_process(z, residual_rho) >= alarm_threshold(DIMENSIONS)).any(axis=(0, 2))
    warning = (cusum(recursive_residuals(z, residual_rho), k=1.0) >= 4.05).any(axis=(0, 2))
    return {
        "e-process": exact_interval(int(e_alarm.sum()), number),
        "cusum": exact_interval(int(warning.sum()), number),
    }


def test_false_alarm_years_are_those_of_the_table() -> None:
    # statistics of 4,000 years with a baseline of 5 audits: 1.2 % (guarantee 5 %) and 4.7 %.
    shares = false_alarm_years(9, residual_rho=RHO)
    assert shares["e-process"][0] <= 0.012 <= shares["e-process"][1] <= 0.05
    assert shares["cusum"][0] <= 0.047 <= shares["cusum"][1]


def test_a_noisy_baseline_taken_for_exact_breaks_the_bound_of_6_percent() -> None:
    # rho near 0 says: the mean of the baseline has no error.
    shares = false_alarm_years(9, residual_rho=1e-9)
    assert min(low for low, _ in shares.values()) > 0.06
    warning = (cusum(years(400, 9), k=1.0) >= 4.05).any(axis=(0, 2))
    assert exact_interval(int(warning.sum()), 400)[0] > 0.4


@pytest.mark.parametrize(("shift", "medians"), [(2.0, (6, 7)), (3.0, (3,))])
def test_a_rise_is_found_as_soon_as_in_the_table(shift: float, medians: tuple[int, ...]) -> None:
    # The rise begins with audit 20; the median is 6 to 7 audits for 2 sigma, 3 audits for 3 sigma.
    z = years(1000, seed=10)[:, :, :1]
    z[19:] += shift
    found = (e_process(z, RHO) >= alarm_threshold(DIMENSIONS))[19:, :, 0]
    assert found.any(axis=0).mean() > 0.99
    assert np.median(found.argmax(axis=0) + 1) in medians


def test_all_windows_together_stay_under_twice_alpha() -> None:
    assert alpha_spent(1) == 0.05
    assert alpha_spent(60) <= 0.1
    assert alpha_spent(20) == pytest.approx(sum(DIMENSIONS / alarm_threshold(DIMENSIONS, window=w) for w in range(20)))
    # Four windows of 13 audits against one baseline, at an alpha large enough to see.
    z, alpha, found = years(1000, seed=11), 0.4, np.zeros(1000, dtype=np.bool_)
    for window in range(4):
        values = e_process(z[13 * window : 13 * window + 13], RHO, horizon=13)
        found |= (values >= alarm_threshold(DIMENSIONS, alpha=alpha, window=window)).any(axis=(0, 2))
    low, high = exact_interval(int(found.sum()), 1000)
    assert low > 0.02
    assert high < alpha_spent(4, alpha=alpha)


# Standardization.


def test_z_is_the_distance_from_the_baseline_in_stated_standard_deviations() -> None:
    rng = np.random.default_rng(12)
    estimates, variances = rng.normal(0.02, 0.002, (9, 4)), rng.uniform(3e-6, 5e-6, (9, 4))
    noted = standardized(estimates, variances, baseline=5, guard=False)
    wanted = (estimates[5:] - estimates[:5].mean(0)) / np.sqrt(variances[:5].mean(0))
    np.testing.assert_allclose(noted.z, wanted, rtol=1e-12)
    np.testing.assert_allclose(noted.rho, 0.2)
    assert noted.watched.all()
    # Another scale of the estimates is another scale of the variances, and nothing else.
    again = standardized(1000 * estimates, 1e6 * variances, baseline=5, guard=False)
    np.testing.assert_allclose(again.z, noted.z, rtol=1e-10)


def test_the_guard_takes_in_what_the_stated_errors_leave_out() -> None:
    rng = np.random.default_rng(13)
    estimates, variances = rng.normal(0, 1, (6, 300, 16)), np.ones((6, 300, 16))
    honest = standardized(estimates, variances, baseline=5)
    understated = standardized(estimates, variances / 1.5**2, baseline=5)
    assert (honest.dispersion >= 1).all()
    assert honest.dispersion.mean() < 1.12
    assert understated.dispersion.mean() == pytest.approx(1.5**2, rel=0.05)
    assert understated.z.std() == pytest.approx(np.sqrt(1 + RHO), rel=0.05)
    without = standardized(estimates, variances / 1.5**2, baseline=5, guard=False)
    assert without.z.std() == pytest.approx(1.5 * np.sqrt(1 + RHO), rel=0.05)
    # By hand: estimates -1, 0, 1 and variance 1 / 4 give 2 / (1 / 4) over 2 degrees of freedom.
    by_hand = standardized([[-1.0], [0.0], [1.0], [2.0]], [[0.25]] * 4, baseline=3)
    assert (float(by_hand.dispersion), by_hand.z.tolist()) == (4.0, [[2.0]])


def test_a_smaller_audit_has_a_larger_standard_deviation() -> None:
    estimates, variances = [[0.0], [0.0], [2.0], [2.0]], [[1.0]] * 4
    noted = standardized(estimates, variances, baseline=2, sizes=[2000, 2000, 1800, 2000])
    np.testing.assert_allclose(noted.z[:, 0], [2 * np.sqrt(0.9), 2.0])


def test_a_dimension_measured_once_in_the_baseline_is_not_watched() -> None:
    there = np.ones((4, 2), dtype=np.bool_)
    there[:2, 1] = False
    there[3, 0] = False
    values = np.where(there, 1.0, np.nan)
    noted = standardized(values, values, baseline=3, measured=there)
    assert noted.watched.tolist() == [True, False]
    assert noted.measured.tolist() == [[False, False]]
    assert noted.z.tolist() == [[0.0, 0.0]]
    assert np.isfinite(noted.rho).all()


def test_the_log_scale_makes_the_stated_error_independent_of_the_estimate() -> None:
    v = np.random.default_rng(15).normal(0.2, 0.02, (5000, 1))
    values, variances = log_scale(v**2, 4 * v**2 * 0.02**2, baseline=5000)
    np.testing.assert_allclose(values, 2 * np.log(np.abs(v)), rtol=1e-12)
    np.testing.assert_allclose(variances, (2 * 0.02 / v) ** 2, rtol=1e-12)
    assert np.sqrt(variances.mean()) == pytest.approx(values.std(), rel=0.05)


def test_estimates_around_0_have_a_log_scale_as_well() -> None:
    x = np.random.default_rng(16).normal(0.0, 0.001, (400, 2))
    values, variances = log_scale(x, np.full(x.shape, 1e-6), baseline=400)
    # The mean of the baseline becomes 3 standard deviations; what falls below a quarter of it is raised to that.
    moved = np.maximum(x - x.mean(axis=0) + 0.003, 0.003 / 4)
    np.testing.assert_allclose(values, np.log(moved), rtol=1e-10)
    np.testing.assert_allclose(variances, 1e-6 / moved**2, rtol=1e-10)
    assert (moved == 0.003 / 4).any()


def test_what_the_baseline_did_not_measure_has_no_log_scale() -> None:
    there = np.array([[True, False], [True, False], [False, True]])
    x = np.where(there, 0.02, np.nan)
    values, variances = log_scale(x, x**2 / 25, baseline=2, measured=there)
    assert values[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert variances[2].tolist() == [1.0, 1.0]
    assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("start", "delta"),
    [(0, 4.0), (7, 4.0), (11, 4.0)],
)
def test_the_likeliest_start_is_the_one_with_the_largest_likelihood(start: int, delta: float) -> None:
    z = np.random.default_rng(14).normal(0, 0.3, 12)
    z[start:] += delta
    free = [max(likelihood_ratio(z, s, d, RHO) for d in np.arange(0.1, 8, 0.1)) for s in range(12)]
    assert likeliest_start(z, RHO) == int(np.argmax(free)) == start


# Refusals.


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"needs? the same size: number 3 has 1,700 personas"):
        check_sizes([2000, 1900, 1700])
    with pytest.raises(BadInputError, match="it should have 5, and 4 came"):
        standardized(np.ones((4, 2)), np.ones((4, 2)), baseline=5)
    with pytest.raises(BadInputError, match="a baseline has 2 audits or more"):
        standardized(np.ones((4, 2)), np.ones((4, 2)), baseline=1)
    with pytest.raises(BadInputError, match="variance above 0"):
        standardized(np.ones((4, 2)), np.zeros((4, 2)), baseline=2)
    with pytest.raises(BadInputError, match="finite estimate"):
        standardized(np.full((4, 2), np.nan), np.ones((4, 2)), baseline=2)
    with pytest.raises(BadInputError, match="have one shape"):
        standardized(np.ones((4, 2)), np.ones((4, 3)), baseline=2)
    with pytest.raises(BadInputError, match="the shape of the estimates"):
        standardized(np.ones((4, 2)), np.ones((4, 2)), baseline=2, measured=np.ones((4, 1)))
    with pytest.raises(BadInputError, match="one size above 0"):
        standardized(np.ones((4, 2)), np.ones((4, 2)), baseline=2, sizes=[2000])
    with pytest.raises(BadInputError, match="a window has 3 audits and 4 came"):
        e_process(np.zeros((4, 1)), RHO, horizon=3)
    with pytest.raises(BadInputError, match="rises above 0"):
        e_process(np.zeros((4, 1)), RHO, deltas=(1.0, -1.0))
    with pytest.raises(BadInputError, match="finite values"):
        e_process(np.full((4, 1), np.nan), RHO)
