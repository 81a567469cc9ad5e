"""The simulated years of recurring audits: their bars, their planted fault, and agreement of both ways to make a year."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchmarks.calibration.recurring import (
    LARGEST_SHARE,
    RULES,
    AlarmDelay,
    AlarmShare,
    alarm_delays,
    exact_interval,
    false_alarm_years,
    resampled_alarm_delays,
    resampled_false_alarm_years,
    too_many_false_alarms,
)
from metrics.errors import BadInputError
from metrics.recurring import WatchPolicy

FloatArray = NDArray[np.float64]
GUARDED = WatchPolicy(scale="given")
UNGUARDED = WatchPolicy(scale="given", guard=False)


def correlation(off_diagonal: float = 0.3, dimensions: int = 16) -> FloatArray:
    return np.full((dimensions, dimensions), off_diagonal) + (1 - off_diagonal) * np.eye(dimensions)


def pool(audits: int = 3000, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    """Estimates of one release on their own scale, and the variances that the audits state."""
    drawn = np.random.default_rng(seed).multivariate_normal(np.zeros(16), correlation(), size=audits)
    sigma = np.linspace(0.001, 0.01, 16)
    return 0.02 + sigma * drawn, np.broadcast_to(sigma**2, drawn.shape).copy()


def squares(audits: int = 3000, seed: int = 2) -> tuple[FloatArray, FloatArray]:
    """V squared of audits in which V is normal with a constant error, as it nearly is, and its stated variance."""
    v = 0.12 + 0.015 * np.random.default_rng(seed).multivariate_normal(np.zeros(16), correlation(), size=audits)
    return v**2, 4 * v**2 * 0.015**2


def by_rule(rows: tuple[AlarmShare, ...]) -> dict[str, AlarmShare]:
    return {row.rule: row for row in rows}


def test_the_exact_interval_is_that_of_clopper_and_pearson() -> None:
    for hits in (0, 1, 17, 400):
        interval = stats.binomtest(hits, 400).proportion_ci(0.95, "exact")
        assert exact_interval(hits, 400) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_years_without_a_change_have_the_false_alarms_of_the_table() -> None:
    # 4,000 years with a baseline of 5: weekly 100 %, max-T 88 to 89 % (nearly independent dimensions), 1.2 % and 4.7 %.
    rows = by_rule(false_alarm_years(correlation(0.05), years=400))
    assert tuple(rows) == RULES
    for rule, share in (("weekly-max-t", 0.88), ("e-process", 0.012), ("self-starting-cusum", 0.047)):
        low, high = stats.binomtest(rows[rule].alarms, 400).proportion_ci(0.99, "exact")
        assert low <= share <= high, rows[rule]
    assert rows["weekly-z"].share == 1.0
    assert too_many_false_alarms(tuple(rows.values())) == ()


def test_a_baseline_taken_for_exact_fails_the_bar() -> None:
    rows = by_rule(false_alarm_years(correlation(), years=400))
    assert rows["fixed-baseline-cusum"].low > 0.4 > LARGEST_SHARE


def test_understated_errors_fail_the_bar_and_the_guard_repairs_the_alarm() -> None:
    estimates, variances = pool()
    without = resampled_false_alarm_years(estimates, variances, years=400, policy=UNGUARDED, understated=1.2)
    assert {row.rule for row in too_many_false_alarms(without)} == {"e-process", "self-starting-cusum"}
    guarded = by_rule(resampled_false_alarm_years(estimates, variances, years=400, policy=GUARDED, understated=1.2))
    assert guarded["e-process"].share <= LARGEST_SHARE
    assert guarded["e-process"].high < by_rule(without)["e-process"].low


def test_years_from_audits_agree_with_the_gaussian_model_they_were_drawn_from() -> None:
    model = by_rule(false_alarm_years(correlation(), years=400))
    resampled = by_rule(resampled_false_alarm_years(*pool(), years=400, policy=UNGUARDED))
    for rule in RULES:
        table = [[row.alarms, row.years - row.alarms] for row in (model[rule], resampled[rule])]
        assert stats.fisher_exact(table).pvalue > 0.001, rule


def delays(rows: tuple[AlarmDelay, ...]) -> dict[tuple[str, float], AlarmDelay]:
    return {(row.rule, row.shift): row for row in rows}


def test_delays_are_those_of_the_table_in_both_kinds_of_years() -> None:
    for found in (
        delays(alarm_delays(correlation(), years=800, shifts=(1.0, 2.0, 3.0))),
        delays(resampled_alarm_delays(*pool(), years=800, shifts=(1.0, 2.0, 3.0), policy=UNGUARDED)),
    ):
        assert found["e-process", 2.0].median in (6, 7)
        assert found["e-process", 3.0].median == 3
        assert found["e-process", 1.0].median is None
        assert found["e-process", 2.0].by_the_end > 0.99
        assert found["self-starting-cusum", 2.0].median == 5
        assert found["e-process", 1.0].low <= 0.40 <= found["e-process", 1.0].high


def test_v_squared_taken_as_it_is_fails_the_bar_and_holds_it_on_the_log_scale() -> None:
    as_it_is = resampled_false_alarm_years(*squares(), years=400, policy=GUARDED)
    assert {row.rule for row in too_many_false_alarms(as_it_is)} == {"e-process", "self-starting-cusum"}
    on_log_scale = by_rule(resampled_false_alarm_years(*squares(), years=400))
    assert on_log_scale["e-process"].share <= 0.02
    assert on_log_scale["self-starting-cusum"].share <= 0.047


def test_the_log_scale_costs_an_audit_or_two_of_delay() -> None:
    found = delays(resampled_alarm_delays(*squares(), years=800, shifts=(2.0, 3.0)))
    assert 7 <= (found["e-process", 2.0].median or 99) <= 9
    assert 3 <= (found["e-process", 3.0].median or 99) <= 4
    assert found["e-process", 2.0].by_the_end > 0.98


def test_no_shift_is_no_detection() -> None:
    (row,) = (r for r in alarm_delays(correlation(), years=400, shifts=(0.0,)) if r.rule == "e-process")
    assert row.by_the_end < 0.02


def test_the_same_seed_gives_the_same_years() -> None:
    assert false_alarm_years(correlation(), years=50, seed=3) == false_alarm_years(correlation(), years=50, seed=3)


def test_what_cannot_be_simulated_is_refused() -> None:
    with pytest.raises(BadInputError, match="a correlation matrix"):
        false_alarm_years(2 * correlation(), years=10)
    with pytest.raises(BadInputError, match="100 audits or more"):
        resampled_false_alarm_years(np.ones((50, 3)), np.ones((50, 3)))
    with pytest.raises(BadInputError, match="a rise begins at one of the 52 audits"):
        alarm_delays(correlation(), years=10, shift_at=60)
