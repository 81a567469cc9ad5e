"""Many families: expected false alerts, and discoveries with a bound on their false share."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from metrics.errors import BadInputError
from metrics.fleet import FalseAlerts, Schedule, expected_false_alerts, online_fdr_levels
from metrics.sequential import e_process

ALPHA = 0.2
TESTS, CHANGED = 80, 16


def test_expected_false_alerts_add_up_over_families() -> None:
    one = expected_false_alerts([Schedule()], measured_alarms=0.01, measured_warnings=0.048)
    assert one.families == 1
    assert one.guaranteed_alarms == pytest.approx(0.05 / 12)
    assert one.measured_alarms == pytest.approx(0.01 / 12)
    assert one.measured_warnings == pytest.approx(0.004)
    many = expected_false_alerts([Schedule()] * 200, measured_alarms=0.01, measured_warnings=0.048)
    assert many.guaranteed_alarms == pytest.approx(200 * one.guaranteed_alarms)
    assert expected_false_alerts([]) == FalseAlerts(
        families=0, guaranteed_alarms=0.0, measured_alarms=0.0, measured_warnings=0.0
    )


def test_daily_audits_spend_seven_halving_windows_in_a_year() -> None:
    daily = expected_false_alerts([Schedule(audits_per_year=364, alpha=0.04)], measured_alarms=0.01)
    assert daily.guaranteed_alarms * 12 == pytest.approx(0.04 * (2 - 2**-6))
    assert daily.measured_alarms * 12 == pytest.approx(0.01 * 0.8 * (2 - 2**-6))
    monthly = expected_false_alerts([Schedule(audits_per_year=12)], measured_alarms=0.01)
    assert monthly.guaranteed_alarms * 12 == pytest.approx(0.05)
    assert monthly.measured_alarms * 12 == pytest.approx(0.01 * 12 / 52)


@settings(deadline=None, max_examples=60, database=None)
@given(
    st.lists(st.builds(Schedule, audits_per_year=st.floats(1, 2000), alpha=st.floats(0.001, 0.2)), max_size=5),
    st.floats(0, 0.05),
)
def test_the_measured_number_is_under_the_guarantee_and_that_under_twice_alpha(
    fleet: list[Schedule], share: float
) -> None:
    found = expected_false_alerts(fleet, measured_alarms=share)
    assert found.measured_alarms <= found.guaranteed_alarms + 1e-9
    assert found.guaranteed_alarms * 12 <= 2 * sum(schedule.alpha for schedule in fleet) + 1e-9


# Online control of the false discovery rate.


def test_levels_are_those_of_e_lond() -> None:
    # alpha g_t (discoveries before + 1), written down a second time.
    e_values = [1000.0, 0.5, 1.0, 300.0, 2.0]
    decisions = online_fdr_levels(e_values, alpha=0.1)
    discoveries = 0
    for t, (e_value, decision) in enumerate(zip(e_values, decisions, strict=True), start=1):
        level = 0.1 * (discoveries + 1) / (2.109742801236892 * (t + 1) * math.log(t + 1) ** 2)
        assert decision.level == pytest.approx(level, rel=1e-12)
        assert decision.threshold == pytest.approx(1 / level, rel=1e-12)
        assert decision.discovered == (e_value * level >= 1)
        discoveries += decision.discovered
    assert discoveries == 2


def test_shares_of_alpha_sum_to_1() -> None:
    n = np.arange(2.0, 2_000_002.0)
    partial = float((1 / (n * np.log(n) ** 2)).sum())
    # The rest of the sum is the integral 1 / log(n) up to half a term.
    assert partial + 1 / math.log(n[-1] + 0.5) == pytest.approx(2.109742801236892, abs=1e-7)


@settings(deadline=None, max_examples=60, database=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.data())
def test_later_tests_and_tests_that_were_not_made_change_no_decision(values: list[float], data: st.DataObject) -> None:
    decisions = online_fdr_levels(values)
    cut = data.draw(st.integers(0, len(values)))
    assert online_fdr_levels(values[:cut]) == decisions[:cut]
    with_gap = online_fdr_levels([*values[:cut], None, *values[cut:]])
    assert with_gap[:cut] + with_gap[cut + 1 :] == decisions
    assert (with_gap[cut].discovered, with_gap[cut].level) == (False, None)


def test_discoveries_of_tests_still_open_do_not_count() -> None:
    together = online_fdr_levels([1e6, 1e6, 1.0], overlap=2)
    alone = online_fdr_levels([0.0, 0.0, 1.0])
    assert [d.level for d in together] == [d.level for d in alone]
    first, second = online_fdr_levels([1e6, 1e6, 1.0], overlap=1)[1:]
    assert first.level == alone[1].level
    assert second.level == pytest.approx(2 * (alone[2].level or 0.0))


def streams(number: int, seed: int, *, rise: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """e values after each of 20 audits of each family [audits, streams, tests] and which families changed.

    All families of a stream share half of the variance of each audit: dependent, as with one provider's days.
    """
    rng = np.random.default_rng(seed)
    shape = (25, number, TESTS)
    audits = np.sqrt(0.5) * (rng.normal(size=shape) + rng.normal(size=(*shape[:2], 1)))
    changed = rng.permuted(np.tile(np.arange(TESTS) < CHANGED, (number, 1)), axis=1)
    audits[15:] += rise * changed
    return e_process(audits[5:] - audits[:5].mean(axis=0), 0.2, horizon=20), changed


def false_shares(e_values: NDArray[np.float64], changed: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Mean false share of discoveries with its standard error, and the share of changed families found."""
    found = np.array([[d.discovered for d in online_fdr_levels(row.tolist(), alpha=ALPHA)] for row in e_values])
    shares = (found & ~changed).sum(axis=1) / np.maximum(found.sum(axis=1), 1)
    power = float((found & changed).sum() / max(changed.sum(), 1))
    return float(shares.mean()), float(shares.std() / np.sqrt(len(shares))), power


def test_the_false_discovery_rate_of_dependent_families_is_under_its_bound() -> None:
    e_values, changed = streams(400, seed=1, rise=3.0)
    mean, error, power = false_shares(e_values[-1], changed)
    assert mean + 3 * error <= ALPHA
    assert power > 0.5


def test_the_bound_holds_when_each_test_stops_at_its_threshold() -> None:
    e_values, changed = streams(150, seed=4, rise=3.0)
    shares, found = [], 0
    for stream, truth in enumerate(changed):
        stopped: list[float] = []
        for test in range(TESTS):
            threshold = online_fdr_levels([*stopped, 0.0], alpha=ALPHA)[-1].threshold or 0.0
            path = e_values[:, stream, test]
            reached = np.flatnonzero(path >= threshold)
            stopped.append(float(path[reached[0]] if len(reached) else path[-1]))
        hits = np.array([decision.discovered for decision in online_fdr_levels(stopped, alpha=ALPHA)])
        shares.append((hits & ~truth).sum() / max(hits.sum(), 1))
        found += int((hits & truth).sum())
    assert np.mean(shares) + 3 * np.std(shares) / np.sqrt(len(shares)) <= ALPHA
    assert found / changed.sum() > 0.5


def test_without_a_change_few_streams_have_any_discovery() -> None:
    # Then every discovery is false, and the rate is the probability of one.
    e_values, changed = streams(400, seed=2, rise=0.0)
    mean, error, _ = false_shares(e_values[-1], np.zeros_like(changed))
    assert mean + 3 * error <= ALPHA


def test_one_threshold_for_all_breaks_the_bound() -> None:
    # The fault planted: every test at 1 / alpha, as if it were the only one; independent families show it best.
    rng = np.random.default_rng(3)
    audits = rng.normal(size=(25, 400, TESTS))
    e_values = e_process(audits[5:] - audits[:5].mean(axis=0), 0.2, horizon=20)[-1]
    assert (e_values >= 1 / ALPHA).any(axis=1).mean() > 2 * ALPHA
    mean, error, _ = false_shares(e_values, np.zeros(e_values.shape, dtype=np.bool_))
    assert mean + 3 * error <= ALPHA


def test_what_is_no_e_value_is_refused() -> None:
    for value in (-1.0, float("nan"), float("inf")):
        with pytest.raises(BadInputError, match="at place 2"):
            online_fdr_levels([1.0, value])
    with pytest.raises(BadInputError, match="alpha is between 0 and 1"):
        online_fdr_levels([1.0], alpha=1.0)
    with pytest.raises(BadInputError, match="overlap not negative"):
        online_fdr_levels([1.0], overlap=-1)
    with pytest.raises(BadInputError, match="audits_per_year above 0"):
        Schedule(audits_per_year=0)
    with pytest.raises(BadInputError, match="between 0 and 1"):
        expected_false_alerts([Schedule()], measured_alarms=2.0)
