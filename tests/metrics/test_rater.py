"""How far a judge can be relied on: kappa against other programs, matched pairs, and when nothing is concluded."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.errors import BadInputError
from metrics.rater import GoldAnswers, distrust, judge_agreement, judge_readable, judge_swap

# Shares that agree: .53 + .14 + .03 = .70. By chance, from the margins: .60 x .65 + .30 x .25 + .10 x .10 = .475.
SHARES = np.array([[0.53, 0.05, 0.02], [0.11, 0.14, 0.05], [0.01, 0.06, 0.03]])


def gold(wanted, said, *, answers=("1", "2", "3"), ordered=False, text=None):
    text = range(len(wanted)) if text is None else text
    return GoldAnswers(answers=answers, ordered=ordered, text=tuple(text), wanted=tuple(wanted), given=tuple(said))


def of_table(table, **options):
    pairs = [(str(i + 1), str(j + 1)) for i, j in np.ndindex(*table.shape) for _ in range(round(table[i, j]))]
    return gold([one for one, _ in pairs], [other for _, other in pairs], **options)


def test_kappa_is_what_is_reckoned_by_hand():
    found = judge_agreement(of_table(SHARES * 200), "mood")
    assert (found.value, found.n) == (pytest.approx((0.70 - 0.475) / (1 - 0.475)), 200)


@pytest.mark.parametrize("ordered", [False, True])
def test_kappa_is_that_of_statsmodels(ordered):
    from statsmodels.stats.inter_rater import cohens_kappa

    table = np.array([[12, 3, 1], [2, 9, 4], [0, 5, 14]])
    expected = cohens_kappa(table, wt="quadratic" if ordered else None)
    found = judge_agreement(of_table(table, ordered=ordered), "mood")
    assert found.value == pytest.approx(expected.kappa)
    assert found.low == pytest.approx(expected.kappa_low, abs=0.05)
    assert found.high == pytest.approx(expected.kappa_upp, abs=0.05)


def test_questions_of_one_text_vary_together_so_that_pairs_make_no_interval_narrower():
    wanted, said = ["1", "2", "3"] * 10, (["1", "2", "3"] * 10)[:-6] + ["1"] * 6
    single = judge_agreement(gold(wanted, said), "mood")
    twice = judge_agreement(gold(wanted * 2, said * 2, text=[*range(30)] * 2), "mood")
    assert (twice.value, twice.n, twice.n_clusters) == (pytest.approx(single.value), 60, 30)
    assert twice.high - twice.low == pytest.approx(single.high - single.low)


@given(st.lists(st.sampled_from("123"), min_size=2, max_size=40), st.booleans())
def test_a_judge_that_is_always_right_has_kappa_one_or_none_where_there_is_one_answer_only(wanted, ordered):
    found = judge_agreement(gold(wanted, wanted, ordered=ordered), "mood")
    assert found.value == (pytest.approx(1.0) if len(set(wanted)) > 1 else None)
    assert found.value is not None or "one and the same answer" in found.reason


def test_a_judge_that_always_says_the_same_agrees_by_chance_alone_and_has_no_interval():
    found = judge_agreement(gold(["1", "2", "3"] * 10, ["2"] * 30), "mood")
    assert (found.value, found.low, found.high, found.n) == (0.0, None, None, 30)
    assert "one and the same answer about every gold text" in found.reason


@given(st.lists(st.tuples(st.sampled_from("123"), st.sampled_from(["1", "2", "3", None])), min_size=1, max_size=30))
def test_no_number_is_infinite_and_none_lies_outside_its_interval(pairs):
    found = gold([one for one, _ in pairs], [other for _, other in pairs], ordered=True)
    for row in (judge_agreement(found, "mood"), *judge_swap(found, "mood")):
        assert row.value is not None or row.reason
        assert row.value is None or row.low is None or row.low <= row.value <= row.high


def test_nothing_is_concluded_from_a_judge_that_disagrees_or_cannot_be_read():
    wanted = ["1", "2", "3"] * 10
    wrong, right = gold(wanted, [*wanted[1:], "1"]), gold(wanted, wanted)
    assert "agrees with its gold set only to kappa" in distrust(wrong, judge_agreement(wrong, "mood"))
    assert distrust(right, judge_agreement(right, "mood")) == ""
    mute = gold(wanted, [*wanted[:20], *[None] * 10])
    assert "only 67% of 30 gold texts got an answer" in distrust(mute, judge_agreement(mute, "mood"))
    assert distrust(gold([], []), judge_agreement(gold([], []), "mood")) == "the judge was not asked about its gold set"


def test_matched_pairs_show_a_judge_that_rates_one_audience_higher():
    wanted = list(itertools.chain.from_iterable([answer, answer] for answer in "1212121212"))
    said = list(
        itertools.chain.from_iterable([answer, str(int(answer) + (n % 2))] for n, answer in enumerate("1212121212"))
    )
    swap, step = judge_swap(gold(wanted, said, ordered=True, text=[n // 2 for n in range(20)]), "tone")
    assert (swap.value, swap.n) == (0.5, 10)
    assert step.value == pytest.approx(0.5)
    half = 2.262157 * np.std([0, 1] * 5, ddof=1) / np.sqrt(10)  # t(.975, 9) = 2.262157, of any table
    assert step.low == pytest.approx(0.5 - half, abs=1e-5)


def test_a_gold_set_without_pairs_says_so():
    (swap,) = judge_swap(gold(["1", "2"], ["1", "2"]), "mood")
    assert swap.value is None
    assert "no matched pair" in swap.reason


def test_the_share_of_readable_answers_has_an_interval_and_nothing_asked_has_none():
    # Wilson's interval of 45 of 50 by R's prop.test(45, 50, correct = FALSE): .7864 to .9565
    found = judge_readable(45, 50, "mood")
    assert (round(found.low, 4), round(found.high, 4)) == (0.7864, 0.9565)
    assert judge_readable(0, 0, "mood").value is None


def test_a_gold_set_of_unequal_lengths_is_refused():
    with pytest.raises(BadInputError, match="one text, right answer and given answer"):
        gold(["1"], [])
