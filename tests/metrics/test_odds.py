"""Lexical odds: a hand-computed table, scipy's sample odds ratio, a published example of the Dirichlet z, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats.contingency import odds_ratio

from metrics.errors import BadInputError
from metrics.odds import against_rest, lexical_odds, top_words

# Words lead, care, plan, rest: 20 of group a's 200 words, 5 of group b's 250, ...
A, B = [20, 4, 30, 146], [5, 30, 32, 183]


def test_add_one_is_the_table_worked_by_hand() -> None:
    found = lexical_odds(A, B, method="add-one")
    # ((20+1)/(200-20+1)) / ((5+1)/(250-5+1)) = (21/181) / (6/246) and (5/197) / (31/221).
    assert found.odds_ratio[0] == pytest.approx((21 / 181) / (6 / 246))
    assert found.odds_ratio[1] == pytest.approx((5 / 197) / (31 / 221))
    assert found.odds_ratio[0] == pytest.approx(4.757, abs=0.001)
    # Woolf: the error of the log is the root of 1/21 + 1/181 + 1/6 + 1/246 = 0.4731; 1.96 of them about log 4.757.
    assert found.low[0] == pytest.approx(4.757 / math.exp(1.96 * 0.4731), abs=0.002)
    assert found.high[0] == pytest.approx(4.757 * math.exp(1.96 * 0.4731), abs=0.01)


def test_without_anything_added_it_is_scipys_sample_odds_ratio_and_interval() -> None:
    found = lexical_odds(A, B, method="floored", threshold=4)
    for place, (one, two) in enumerate(zip(A, B, strict=True)):
        expected = odds_ratio([[one, 200 - one], [two, 250 - two]], kind="sample")
        interval = expected.confidence_interval(0.95)
        assert found.odds_ratio[place] == pytest.approx(expected.statistic)
        assert (found.low[place], found.high[place]) == (pytest.approx(interval.low), pytest.approx(interval.high))


def test_woolfs_p_is_near_fishers_where_counts_are_large() -> None:
    found = lexical_odds([400, 1600], [300, 1700], method="floored")
    fisher = stats.fisher_exact([[400, 1600], [300, 1700]]).pvalue
    assert found.pvalue[0] == pytest.approx(fisher, rel=0.15)


def test_the_dirichlet_z_of_two_sentences_is_the_published_one() -> None:
    # "the quick brown fox jumps over the lazy pig" and "the lazy purple pig jumps over the lazier donkey", prior .05 each:
    # the documentation of the package fightin_words gives z of +-0.6894227886807968 to words of one sentence only.
    words = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "pig", "purple", "lazier", "donkey"]
    first, second = [2, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0], [2, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    found = lexical_odds(first, second, prior=[0.05] * len(words))
    assert found.z[words.index("donkey")] == pytest.approx(-0.6894227886807968, abs=1e-9)
    assert found.z[words.index("fox")] == pytest.approx(0.6894227886807968, abs=1e-9)
    assert found.z[words.index("the")] == pytest.approx(0.0)


def test_the_default_prior_is_that_of_both_groups_and_draws_rare_words_in() -> None:
    first, second = [3, 60, 937], [0, 20, 980]
    found, raw = lexical_odds(first, second), lexical_odds(first, second, method="add-one")
    # alpha of the first word: 500 * 3 / 2000 = 0.75; log(3.75 / 1496.25) - log(0.75 / 1499.25), variance 1/3.75 + 1/.75.
    expected = math.log(3.75 / 1496.25) - math.log(0.75 / 1499.25)
    assert found.log_odds[0] == pytest.approx(expected)
    assert found.z[0] == pytest.approx(expected / math.sqrt(1 / 3.75 + 1 / 0.75))
    # By odds ratio the rare word leads; by z the frequent one does.
    assert raw.log_odds[0] > raw.log_odds[1]
    assert found.z[0] < found.z[1]
    assert abs(lexical_odds(first, second, alpha0=50_000).log_odds[0]) < 0.1


def test_empty_cells_are_corrected_and_flagged_and_nothing_is_infinite() -> None:
    first, second = [0, 5, 12, 40], [7, 0, 12, 40]
    for method in ("dirichlet", "add-one", "floored"):
        found = lexical_odds(first, second, method=method, threshold=0)
        assert found.corrected.tolist() == [True, True, False, False]
        assert np.isfinite(found.odds_ratio.filled(-1)).all()
        assert np.isfinite(found.high.filled(-1)).all()
        assert not np.ma.getmaskarray(found.z).any()
    # One half in all four (Haldane, Anscombe): (0.5 / 57.5) / (7.5 / 52.5).
    assert found.odds_ratio[0] == pytest.approx((0.5 / 57.5) / (7.5 / 52.5))


def test_words_that_are_too_rare_for_the_floor_are_masked_with_the_reason() -> None:
    found = lexical_odds([9, 50, 0], [50, 50, 0], method="floored")
    assert np.ma.getmaskarray(found.odds_ratio).tolist() == [True, False, True]
    assert found.reasons == ("fewer than 10 occurrences in a group", "", "the word occurs in neither group")
    assert np.isfinite(found.odds_ratio.data).all()


def test_q_values_are_benjamini_hochbergs_over_the_measured_words() -> None:
    found = lexical_odds([30, 12, 0, 400], [10, 11, 0, 420], method="add-one")
    measured = found.pvalue.compressed()
    assert found.qvalue.compressed() == pytest.approx(stats.false_discovery_control(measured, method="bh"))
    assert "over 3 words" in found.method


def test_one_group_stands_against_all_others_together() -> None:
    found = against_rest({"young": A, "middle": B, "old": B}, method="add-one")
    assert found["young"].counts_b.tolist() == [2 * count for count in B]
    assert found["old"].odds_ratio[0] == pytest.approx((6 / 246) / (26 / 426))


def by_cell(rng: np.random.Generator, cells: int, wild: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts of 3 words, 120 words a cell and group, for two groups without a difference; ``wild`` makes cells differ."""
    shares = np.array([0.1, 0.2, 0.7]) * np.exp(wild * rng.standard_normal((2, cells, 3)))
    shares /= shares.sum(axis=2, keepdims=True)
    first, second = (rng.multinomial(120, shares[group]) for group in (0, 1))
    return first, second


def test_cells_that_differ_widen_the_error_and_cells_that_do_not_leave_the_formulas() -> None:
    rng = np.random.default_rng(4)
    wild, calm = by_cell(rng, 30, 1.0), by_cell(rng, 30, 0.0)
    flat = lexical_odds(wild[0].sum(axis=0), wild[1].sum(axis=0), method="add-one")
    found = lexical_odds(*wild, method="add-one")
    assert (found.log_odds == flat.log_odds).all()
    assert (np.log(found.high / found.low) > 2 * np.log(flat.high / flat.low)).all()
    steady = lexical_odds(*calm, method="add-one")
    plain = lexical_odds(calm[0].sum(axis=0), calm[1].sum(axis=0), method="add-one")
    assert (np.log(steady.high / steady.low) >= np.log(plain.high / plain.low) - 1e-12).all()
    assert (np.log(steady.high / steady.low) < 1.6 * np.log(plain.high / plain.low)).all()


def test_by_cell_p_below_5_percent_comes_in_5_percent_of_audits_and_by_token_far_more_often() -> None:
    rng = np.random.default_rng(5)
    robust, tokens = [], []
    for _ in range(300):
        first, second = by_cell(rng, 25, 0.7)
        robust.append(lexical_odds(first, second, method="add-one").pvalue[0] <= 0.05)
        tokens.append(lexical_odds(first.sum(axis=0), second.sum(axis=0), method="add-one").pvalue[0] <= 0.05)
    # Binomial: 5 +- 3.8 % at three standard errors.
    assert np.mean(robust) <= 0.088
    assert np.mean(tokens) >= 0.2


def test_top_words_are_those_that_lean_most_to_each_side() -> None:
    words = ["lead", "care", "plan", "rest"]
    rows = top_words(lexical_odds(A, B), words, n=1)
    assert [(row.word, row.count_a, row.count_b) for row in rows] == [("lead", 20, 5), ("care", 4, 30)]
    assert rows[0].low < rows[0].odds_ratio < rows[0].high
    assert len(top_words(lexical_odds(A, B), words, n=10)) == 4
    assert [row.word for row in top_words(lexical_odds(A, B, method="floored"), words)] == ["plan", "rest"]


def test_a_vocabulary_of_another_length_is_refused() -> None:
    with pytest.raises(BadInputError, match="4 words were counted but 2 given"):
        top_words(lexical_odds(A, B), ["lead", "care"])


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ((A, B[:3]), {}, r"counts of the same words and cells, got shapes \(4,\) and \(3,\)"),
        (([-1, 2], [1, 2]), {}, "counts of 0 or more, and finite"),
        (([math.nan, 2], [1, 2]), {}, "counts of 0 or more, and finite"),
        (([], []), {}, "with at least one word"),
        ((A, B), {"method": "mcq"}, "unknown method 'mcq' of lexical odds; known: dirichlet, add-one, floored"),
        ((A, B), {"alpha0": 0}, "alpha0 is a number of words above 0"),
        ((A, B), {"prior": [1.0]}, "one count of 0 or more for each of 4 words"),
    ],
)
def test_counts_that_make_no_table_are_refused(counts: tuple[Any, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        lexical_odds(*counts, **options)


def test_one_group_alone_is_refused() -> None:
    with pytest.raises(BadInputError, match="at least two groups, got young"):
        against_rest({"young": A})


@settings(deadline=None, max_examples=60, database=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=12),
    st.sampled_from(["dirichlet", "add-one", "floored"]),
    st.sampled_from([0, 10]),
)
def test_odds_turn_with_the_groups_and_are_finite_or_masked(
    counts: list[tuple[int, int]], method: str, threshold: int
) -> None:
    first, second = ([pair[side] for pair in counts] for side in (0, 1))
    found = lexical_odds(first, second, method=method, threshold=threshold)
    turned = lexical_odds(second, first, method=method, threshold=threshold)
    assert found.log_odds.filled(0) == pytest.approx(-turned.log_odds.filled(0))
    for values in (found.odds_ratio, found.z, found.low, found.high, found.pvalue, found.qvalue):
        assert np.isfinite(values.data).all()
        assert [bool(reason) for reason in found.reasons] == np.ma.getmaskarray(values).tolist()
    low, value, high = (values.compressed() for values in (found.low, found.odds_ratio, found.high))
    assert (low <= value).all()
    assert (value <= high).all()
