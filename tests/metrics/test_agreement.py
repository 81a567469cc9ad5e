"""Agreement of conditions: worked examples with their sources, what is undefined, and what must not matter."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from metrics.agreement import (
    Agreement,
    agreement_scores,
    false_discovery_qvalues,
    icc_agreement,
    icc_consistency,
    kendall_tau_b,
    paired_t,
    severity_difference,
    spearman,
)
from metrics.errors import BadInputError
from metrics.intraclass import MeanSquares
from metrics.severity import LEVELS, severity

# Gender x occupation of six models by two wordings; expected values worked by hand from the mean squares, and the same
# from pingouin 0.7.0 (intraclass_corr, 'ICC(C,1)' and 'ICC(A,1)', with options['round.column.CI95'] = 6).
TWO_WORDINGS = np.array(
    [[0.779, 0.801], [1.134, 1.120], [1.066, 1.043], [0.910, 0.966], [0.998, 1.010], [1.020, 1.020]]
)
# Six targets by four judges: Shrout and Fleiss (1979), Psychological Bulletin 86, table 2.
FOUR_JUDGES = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)
TIED = np.array([[0.9, 0.9], [0.9, 0.8], [0.7, 0.8], [0.6, 0.7], [0.5, 0.5], [0.5, 0.6]])

MEASURES: list[Callable[[np.ndarray], Agreement]] = [
    icc_consistency,
    icc_agreement,
    spearman,
    kendall_tau_b,
    severity_difference,
]
TABLES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(3, 8), st.integers(2, 5)),
    elements=st.integers(0, 1500).map(lambda thousandths: thousandths / 1000),
)
quick = settings(deadline=None, max_examples=80, database=None)


def numbers(found: Agreement) -> tuple[float, float, float]:
    assert found.value is not None, found.reason
    assert found.low is not None
    assert found.high is not None
    return found.value, found.low, found.high


def value(found: Agreement) -> float:
    assert found.value is not None, found.reason
    return found.value


def test_the_mean_squares_of_the_worked_example_come_out() -> None:
    squares = MeanSquares.of(TWO_WORDINGS)
    assert (squares.targets, squares.conditions, squares.residual) == pytest.approx(
        (0.02668888, 0.00023408, 0.00040208), abs=1e-8
    )


@pytest.mark.parametrize(
    ("table", "consistency", "agreement", "digits"),
    [
        (TWO_WORDINGS, (0.970316, 0.805601, 0.995793), (0.972326, 0.840462, 0.996004), 6),
        (FOUR_JUDGES, (0.7148, 0.342, 0.946), (0.2898, 0.019, 0.761), 3),
    ],
    ids=["two wordings, pingouin", "four judges, Shrout and Fleiss 1979"],
)
def test_intraclass_correlations_and_their_intervals_are_those_of_the_sources(
    table: np.ndarray, consistency: tuple[float, ...], agreement: tuple[float, ...], digits: int
) -> None:
    close = 0.51 * 10**-digits
    assert numbers(icc_consistency(table)) == pytest.approx(consistency, abs=close)
    assert numbers(icc_agreement(table)) == pytest.approx(agreement, abs=close)


def test_the_other_measures_of_the_worked_example_come_out() -> None:
    assert value(spearman(TWO_WORDINGS)) == pytest.approx(1, abs=1e-12)
    assert value(kendall_tau_b(TWO_WORDINGS)) == pytest.approx(1, abs=1e-12)
    # .998 to 1.010 is high to very high, the one step among six.
    assert value(severity_difference(TWO_WORDINGS)) == pytest.approx(1 / 6)


def test_the_paired_t_of_the_worked_example_comes_out_and_is_the_ratio_of_mean_squares() -> None:
    test = paired_t(*TWO_WORDINGS.T)
    squares = MeanSquares.of(TWO_WORDINGS)
    assert test.statistic is not None
    assert (test.statistic, test.pvalue, test.pvalue_down) == pytest.approx((0.763, 0.4799, 0.7601), abs=5e-4)
    assert test.statistic**2 == pytest.approx(squares.conditions / squares.residual)
    assert (test.pvalue, test.low, test.high) == pytest.approx(
        (
            stats.ttest_rel(TWO_WORDINGS[:, 1], TWO_WORDINGS[:, 0]).pvalue,
            *stats.ttest_rel(TWO_WORDINGS[:, 1], TWO_WORDINGS[:, 0]).confidence_interval(),
        )
    )


def test_ties_are_counted_as_tau_b_and_average_ranks_count_them() -> None:
    # By hand: 12 concordant pairs, none discordant, 2 tied in the first only and 1 in the second only.
    assert value(kendall_tau_b(TIED)) == pytest.approx(12 / math.sqrt((12 + 2) * (12 + 1)))
    assert value(kendall_tau_b(TIED)) == pytest.approx(0.889499, abs=5e-7)
    assert value(spearman(TIED)) == pytest.approx(0.940403, abs=5e-7)
    shortcut = 1 - 6 * np.square(np.diff(stats.rankdata(TIED, axis=0))).sum() / (6 * 35)
    assert shortcut == pytest.approx(0.942857, abs=5e-7)


def test_a_target_without_all_scores_is_left_out_of_the_intraclass_correlations() -> None:
    # pingouin 0.7.0 with nan_policy='omit': .970492 and .972948.
    table = TWO_WORDINGS.copy()
    table[5, 1] = np.nan
    consistency, agreement = icc_consistency(table), icc_agreement(table)
    assert (value(consistency), value(agreement)) == pytest.approx((0.970492, 0.972948), abs=5e-7)
    assert (consistency.n, consistency.n_excluded) == (agreement.n, agreement.n_excluded) == (5, 1)


def test_a_target_is_left_out_of_the_comparisons_that_lack_it_only() -> None:
    table = np.column_stack([TWO_WORDINGS, TWO_WORDINGS[:, 0] ** 2])
    table[5, 1] = np.nan
    found = kendall_tau_b(table)
    assert (found.n, found.n_excluded) == (5, 1)
    assert value(found) == pytest.approx(1, abs=1e-12)
    assert icc_consistency(table).n == 5
    apart = pd.DataFrame(table)
    expected = (1 + stats.spearmanr(apart[0], apart[2]).statistic) / 2
    assert value(spearman(table)) == pytest.approx(expected)


def test_more_conditions_are_compared_with_the_reference_one_by_one() -> None:
    table = pd.DataFrame(
        {"5,000": [0.2, 0.5, 0.9], "10,000": [0.2, 0.5, 0.9], "20,000": [0.4, 0.9, 1.2]}, index=["a", "b", "c"]
    )
    # Against 10,000: no step, then one step for each of three models.
    found = severity_difference(table, reference="10,000")
    assert value(found) == pytest.approx((0 + 1) / 2)
    assert "mean over 2 comparisons with '10,000'" in found.method
    # Against 20,000 both others are one step off.
    assert value(severity_difference(table, reference="20,000")) == 1


def test_severity_difference_counts_steps_between_levels() -> None:
    scores = np.array([[0.1, 1.5], [0.4, 0.4], [0.7, 0.4]])
    steps = [abs(LEVELS.index(str(severity(a))) - LEVELS.index(str(severity(b)))) for a, b in scores.tolist()]
    assert steps == [3, 0, 1]
    assert value(severity_difference(scores)) == pytest.approx(4 / 3)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("table", [np.empty((0, 2)), [[0.1, 0.2], [0.3, 0.4]], [[0.1, 0.2], [0.3, 0.4], [None, 0.5]]])
def test_fewer_than_three_targets_agree_on_nothing(measure: Callable[..., Agreement], table: object) -> None:
    found = measure(table)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert "needs at least 3 targets with all scores; there are" in found.reason


@pytest.mark.parametrize("measure", MEASURES[:4])
@pytest.mark.parametrize("second", [0.7, 0.1 + 0.2])
def test_targets_that_do_not_differ_give_no_agreement_rather_than_0_or_1(
    measure: Callable[..., Agreement], second: float
) -> None:
    found = measure(np.column_stack([np.full(6, 0.7), np.full(6, second)]))
    assert found.value is None
    assert "undefined: all targets have the same score" in found.reason


def test_one_condition_without_differences_has_no_order_but_an_intraclass_correlation() -> None:
    table = TWO_WORDINGS.copy()
    table[:, 1] = 0.9
    for measure in (spearman, kendall_tau_b):
        found = measure(table)
        assert found.value is None
        assert "in one of the two conditions" in found.reason
    assert value(icc_consistency(table)) == pytest.approx(0, abs=1e-12)
    assert severity_difference(table).value is not None


def test_a_mean_over_comparisons_is_undefined_when_one_of_them_is() -> None:
    found = spearman(pd.DataFrame({"a": [0.1, 0.2, 0.3], "b": [0.5, 0.5, 0.5], "c": [0.1, 0.3, 0.4]}))
    assert found.value is None
    assert found.reason.startswith("b against a: undefined")


def test_conditions_that_differ_by_a_constant_agree_fully_and_have_no_interval_of_consistency() -> None:
    table = np.column_stack([TWO_WORDINGS[:, 0], TWO_WORDINGS[:, 0] + 0.3])
    consistency, agreement = icc_consistency(table), icc_agreement(table)
    assert (consistency.value, consistency.low, consistency.high) == (1.0, None, None)
    assert "no interval" in consistency.method
    absolute, low, high = numbers(agreement)
    assert 0 <= low < absolute < high < 1
    same = icc_agreement(TWO_WORDINGS[:, [0, 0]])
    assert (same.value, same.low, same.high) == (1.0, None, None)


def test_rows_of_the_long_table_carry_all_five_measures() -> None:
    rows = agreement_scores(TWO_WORDINGS, "gender x occupation")
    assert [row.metric for row in rows] == ["icc-c1", "icc-a1", "spearman", "kendall-tau-b", "severity-difference"]
    assert {(row.dimension, row.n, row.n_clusters, row.n_excluded) for row in rows} == {
        ("gender x occupation", 6, 6, 0)
    }
    undefined = agreement_scores(np.full((6, 2), 0.5), "gender x occupation")
    assert [row.value for row in undefined] == [None, None, None, None, 0.0]
    assert all(row.reason for row in undefined[:4])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: icc_consistency([0.1, 0.2, 0.3]), "2 or more conditions"),
        (lambda: icc_consistency(np.zeros((3, 2, 2))), r"table of numbers \[targets, conditions\]"),
        (lambda: spearman(pd.DataFrame([["GPT", 0.1], ["Mistral", 0.2]])), "names of targets belong in the index"),
        (lambda: spearman([[0.1, np.inf], [0.2, 0.1], [0.3, 0.4]]), "infinite"),
        (lambda: spearman(TIED, reference=2), "reference condition 2 is not among the conditions; they are 0, 1"),
        (lambda: kendall_tau_b(pd.DataFrame(TIED, columns=["a", "a"])), "different labels, got a, a"),
        (lambda: severity_difference(TIED - 0.6), "0 or more"),
        (lambda: icc_agreement(TIED, level=95), "between 0 and 1, got 95"),
        (lambda: paired_t([0.1, 0.2, 0.3], [0.1, 0.2]), r"shapes \(3,\) and \(2,\)"),
        (lambda: false_discovery_qvalues([0.1, 1.2]), "between 0 and 1, got 1.2"),
        (lambda: false_discovery_qvalues([0.1, math.nan]), "give None"),
    ],
)
def test_bad_input_is_refused_in_words(call: Callable[[], object], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        call()


def test_a_paired_test_that_cannot_be_made_says_why() -> None:
    few = paired_t([0.1, 0.2, math.nan], [0.3, 0.1, 0.2])
    assert (few.value, few.pvalue, few.n, few.n_excluded) == (None, None, 2, 1)
    assert "at least 3 targets" in few.reason
    same = paired_t([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])
    assert (same.statistic, same.pvalue) == (None, None)
    assert same.value == pytest.approx(0.3)
    assert "changed by the same amount" in same.reason


def test_one_sided_p_values_say_their_direction() -> None:
    first, second = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.2, 0.25, 0.5, 0.45])
    up = paired_t(first, second)
    assert up.value is not None
    assert up.pvalue_up is not None
    assert up.value > 0
    assert up.pvalue_up == pytest.approx(stats.ttest_rel(second, first, alternative="greater").pvalue)
    down = paired_t(second, first)
    assert (down.pvalue_down, down.pvalue_up, down.pvalue) == pytest.approx((up.pvalue_up, up.pvalue_down, up.pvalue))


def test_false_discovery_q_values_are_those_of_benjamini_and_hochberg_by_hand() -> None:
    # p (m / rank), made monotone from the largest down: .005*4/1, .02*4/2, .03*4/3 (both .04), .5.
    assert false_discovery_qvalues([0.03, 0.005, 0.5, 0.02]) == pytest.approx([0.04, 0.02, 0.5, 0.04])
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4
    assert false_discovery_qvalues([0.03, 0.005, 0.5, 0.02], any_dependence=True) == pytest.approx(
        [0.04 * harmonic, 0.02 * harmonic, 1.0, 0.04 * harmonic]
    )


def test_a_test_that_was_not_made_is_no_member_of_the_family() -> None:
    assert false_discovery_qvalues([0.02, None, 0.5]) == pytest.approx([0.04, None, 0.5])
    assert false_discovery_qvalues([None]) == [None]
    assert false_discovery_qvalues([]) == []


@quick
@given(TABLES, st.data())
def test_a_constant_added_to_a_condition_leaves_consistency_and_ranks_alone(
    table: np.ndarray, data: st.DataObject
) -> None:
    shift = np.array(data.draw(st.lists(st.integers(0, 3), min_size=table.shape[1], max_size=table.shape[1])))
    before, after = icc_consistency(table), icc_consistency(table + shift)
    assert (before.value is None) == (after.value is None)
    if before.value is not None:
        assert after.value == pytest.approx(before.value, abs=1e-6)
        assert (after.low is None) == (before.low is None)
        if before.low is not None:
            assert (after.low, after.high) == pytest.approx((before.low, before.high), abs=1e-6)


def test_an_interval_that_would_miss_its_own_estimate_is_not_given() -> None:
    # McGraw and Wong's bounds are -0.676 to -0.660 here, and the estimate -0.632.
    found = icc_agreement([[0.003, 0.0], [0.0, 0.002], [0.003, 0.0], [0.003, 0.0]])
    assert value(found) == pytest.approx(-0.631579, abs=1e-6)
    assert (found.low, found.high) == (None, None)
    assert "the F-based approximation breaks down" in found.method


@quick
@given(TABLES)
def test_every_measure_is_bounded_and_inside_its_interval(table: np.ndarray) -> None:
    n, k = table.shape
    lowest = {
        "icc-c1": -1 / (k - 1),
        "icc-a1": -1 / (k - 1 - k / n),
        "spearman": -1,
        "kendall-tau-b": -1,
        "severity-difference": 0,
    }
    for row in agreement_scores(table, "gender x occupation"):
        if row.value is None:
            assert row.reason
            continue
        assert lowest[row.metric] - 1e-9 <= row.value <= (3 if row.metric == "severity-difference" else 1)
        if row.low is not None and row.high is not None:
            assert row.low <= row.value <= row.high
            assert row.high <= 1


@quick
@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_the_targets_does_not_matter(table: np.ndarray, random: object) -> None:
    order = list(range(len(table)))
    random.shuffle(order)  # type: ignore[attr-defined]
    for before, after in zip(agreement_scores(table, "d"), agreement_scores(table[order], "d"), strict=True):
        assert (before.value is None) == (after.value is None)
        assert before.value == pytest.approx(after.value, abs=1e-9)


@quick
@given(TABLES)
def test_absolute_agreement_exceeds_consistency_exactly_when_conditions_vary_less_than_residuals(
    table: np.ndarray,
) -> None:
    squares = MeanSquares.of(table)
    assume(squares.targets > squares.residual)
    assume(abs(squares.conditions - squares.residual) > 1e-9)
    more = value(icc_agreement(table)) > value(icc_consistency(table))
    assert more == (squares.conditions < squares.residual)
