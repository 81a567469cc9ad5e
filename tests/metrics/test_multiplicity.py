"""Max-T: the +1 rule, the family-wise level, and how it stands to one test and to Bonferroni."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.multiplicity import max_t_critical, max_t_qvalues

DRAWS = np.random.default_rng(0).standard_normal((4999, 16))


def test_the_smallest_possible_q_is_one_in_draws_plus_one() -> None:
    assert max_t_qvalues(np.full(16, 50.0), DRAWS, two_sided=True).tolist() == [1 / 5000] * 16


def test_one_sided_q_values_do_not_see_a_decrease() -> None:
    assert max_t_qvalues(np.full(16, -50.0), DRAWS, two_sided=False).tolist() == [1.0] * 16


def test_independent_tests_have_the_critical_value_of_the_largest_of_16_normals() -> None:
    # P(max of 16 <= c) = Phi(c)^16.
    assert max_t_critical(DRAWS, 0.05, two_sided=False) == pytest.approx(stats.norm.ppf(0.95 ** (1 / 16)), abs=0.06)
    assert max_t_critical(DRAWS, 0.05, two_sided=True) == pytest.approx(
        stats.norm.ppf((1 + 0.95 ** (1 / 16)) / 2), abs=0.06
    )


def test_identical_tests_need_no_adjustment() -> None:
    same = np.repeat(DRAWS[:, :1], 16, axis=1)
    q = max_t_qvalues(np.full(16, 2.0), same, two_sided=False)
    assert q[0] == pytest.approx(stats.norm.sf(2.0), abs=0.006)


def test_the_family_raises_a_false_alarm_in_alpha_of_the_audits() -> None:
    rng = np.random.default_rng(5)
    root = np.linalg.cholesky(0.5 * np.eye(16) + 0.5)
    draws = rng.standard_normal((1999, 16)) @ root.T
    alarms = [
        (max_t_qvalues(rng.standard_normal(16) @ root.T, draws, two_sided=False) <= 0.05).any() for _ in range(1500)
    ]
    assert np.mean(alarms) == pytest.approx(0.05, abs=0.02)


def test_statistics_and_draws_must_match() -> None:
    with pytest.raises(ValueError, match="16 tests were drawn but 3 statistics given"):
        max_t_qvalues(np.zeros(3), DRAWS, two_sided=True)
    with pytest.raises(ValueError, match=r"shape \[draws, tests\]"):
        max_t_critical(np.zeros((0, 3)), 0.05, two_sided=True)


@settings(deadline=None, max_examples=40, database=None)
@given(st.lists(st.floats(-6, 6), min_size=16, max_size=16), st.booleans())
def test_a_larger_statistic_never_has_a_larger_q(statistics: list[float], two_sided: bool) -> None:
    z = np.array(statistics)
    q = max_t_qvalues(z, DRAWS[:500], two_sided=two_sided)
    size = np.abs(z) if two_sided else z
    assert ((q > 0) & (q <= 1)).all()
    assert (np.diff(q[np.argsort(size)]) <= 1e-12).all()
