"""Persona cues: gaps, deviations and the test of all personas; published pairs, missing answers, and what cannot be measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.cue_effects import baseline_means, cue_effects
from metrics.cue_pairs import cue_pairs
from metrics.cue_table import CueTable
from metrics.errors import BadInputError
from tests.metrics.cues import baseline_of, sums_of, yes_or_no
from tests.metrics.test_cue_variance import SCORES
from tests.metrics.test_group_tests import SPREAD

PERSONAS = ("female", "male", "non-binary")


def analysed(answers: np.ndarray, **options: object):  # type: ignore[no-untyped-def]
    personas = PERSONAS[: len(answers)]
    (found,) = cue_effects(sums_of(answers, personas), **options)  # type: ignore[arg-type]
    return found


def test_gap_and_test_are_those_of_r() -> None:
    # The figures of test_cue_variance, through frames: one answer a prompt.
    found = analysed(SCORES[..., None])
    gap = found.pairs[0].gap
    assert (gap.value, gap.standard_error) == (pytest.approx(-10.66666667), pytest.approx(3.395668520, rel=1e-6))
    assert found.test.value == pytest.approx(6.254388505880)
    assert (gap.n, gap.clusters, found.test.n) == (48, 6, 72)
    assert found.means[0].low == pytest.approx(48.91666667 - stats.t.ppf(0.975, 5.116827985) * 4.485315126, rel=1e-5)


def test_games_howell_on_variant_means_gives_what_spss_prints() -> None:
    # The variants of a persona are the values of SPSS's example; every question repeats them.
    printed = {
        ("0", "1"): (28.16666667, -141.985416377670, 198.318749711003, 0.8727542747886180),
        ("0", "3"): (16.26666667, -35.0933112382470, 67.6266445715803, 0.4262506151302880),
        ("2", "3"): (11.80000000, -16.2894857524254, 39.8894857524254, 0.4755344436335670),
    }
    frame = pd.concat(
        sums_of(np.tile(np.array(values), (1, 4, 1))[..., None], [name]) for name, values in SPREAD.items()
    )
    pairs = cue_pairs(CueTable(frame).cells("salary", "gender", "name-user"))
    rows = {pair.personas: pair.games_howell for pair in pairs}
    for pair, (value, low, high, p) in printed.items():
        assert rows[pair].value == pytest.approx(value)
        assert (rows[pair].low, rows[pair].high) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))
        assert rows[pair].qvalue == pytest.approx(p, abs=1e-7)


def test_pairs_are_adjusted_by_the_studentized_range() -> None:
    two, three = (analysed(yes_or_no(np.random.default_rng(2), personas=k)) for k in (2, 3))
    assert two.pairs[0].gap.qvalue == pytest.approx(two.pairs[0].gap.pvalue, abs=1e-7)
    for pair in three.pairs:
        t, df = abs(pair.gap.statistic), pair.gap.df
        assert pair.gap.qvalue == pytest.approx(stats.studentized_range.sf(np.sqrt(2) * t, 3, df), abs=1e-6)


def test_eta_squared_and_hedges_g_are_those_of_the_answers() -> None:
    answers = yes_or_no(np.random.default_rng(3), effect=1.0)
    found = analysed(answers)
    flat = [one.ravel() for one in answers]
    f = stats.f_oneway(*flat).statistic
    k, n = 3, answers.size
    assert found.eta_squared.value == pytest.approx((k - 1) * f / ((k - 1) * f + n - k))
    deviation = np.sqrt((flat[0].var(ddof=1) + flat[1].var(ddof=1)) / 2)
    d = (flat[0].mean() - flat[1].mean()) / deviation
    assert found.pairs[0].hedges_g.value == pytest.approx(d * (1 - 3 / (4 * (2 * flat[0].size - 2) - 1)), rel=1e-6)
    assert found.omega_squared.value < found.eta_squared.value


def test_the_deviation_from_the_baseline_is_paired_by_question() -> None:
    rng = np.random.default_rng(4)
    difficulty = rng.normal(0, 100, (1, 30, 1, 1))
    answers = difficulty + rng.normal(0, 1, (3, 30, 5, 2)) + np.array([0.0, 5.0, 0.0]).reshape(3, 1, 1, 1)
    baseline = difficulty[0, :, 0] + rng.normal(0, 1, (30, 3))
    frame = pd.concat([sums_of(answers, PERSONAS), baseline_of(baseline)])
    (found,) = cue_effects(frame)
    moved = found.deviations[1]
    assert moved.value == pytest.approx(5, abs=0.6)
    assert moved.low is not None
    assert moved.low > 4
    assert found.deviations[0].pvalue > 0.01
    assert baseline_means(frame)["salary"].value == pytest.approx(baseline.mean())


def test_questions_without_a_baseline_are_left_out_and_counted() -> None:
    answers = yes_or_no(np.random.default_rng(5), questions=10)
    frame = pd.concat([sums_of(answers, PERSONAS), baseline_of(answers[0, :8, 0])])
    (found,) = cue_effects(frame)
    assert (found.deviations[0].clusters, found.deviations[0].n_excluded) == (8, 2 * 15)
    assert found.means[0].clusters == 10


def test_refusing_one_persona_hides_no_gap() -> None:
    # Everybody gets yes in half of the questions; whoever would have got no is refused in one group.
    answers = np.tile(np.arange(20.0).reshape(1, 20, 1, 1) % 2, (2, 1, 4, 3)) * np.array([1.0, 0.0]).reshape(2, 1, 1, 1)
    answers = np.where(
        (np.arange(2).reshape(2, 1, 1, 1) == 1) & (np.arange(20).reshape(1, 20, 1, 1) < 6), np.nan, answers
    )
    found = analysed(answers, bounds={"salary": (0.0, 1.0)})
    pair = found.pairs[0]
    assert pair.worst is not None
    assert (pair.worst.low, pair.worst.high) == (pytest.approx(0.5 - 0.3), pytest.approx(0.5))
    assert pair.gap.clusters == 14
    assert "70 % of the answers to male have a number" in found.test.reason


@given(seed=st.integers(0, 10_000), share=st.floats(0.01, 0.3))
@settings(max_examples=25, deadline=None)
def test_the_worst_case_holds_the_gap_that_the_excluded_answers_would_have_shown(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    answers = yes_or_no(rng, personas=2, questions=8, variants=3)
    holed = np.where(rng.random(answers.shape) < share * answers, np.nan, answers)
    worst = analysed(holed, bounds={"salary": (0.0, 1.0)}).pairs[0].worst
    assert worst is not None
    assert worst.low is not None
    assert worst.high is not None
    assert worst.low - 1e-9 <= answers[0].mean() - answers[1].mean() <= worst.high + 1e-9


def test_the_family_of_tests_is_adjusted_and_named() -> None:
    frames = [
        sums_of(yes_or_no(np.random.default_rng(seed), effect=2.0 * (seed == 0)), PERSONAS, task=task, cue=cue)
        for seed, (task, cue) in enumerate((task, cue) for task in ("a", "b") for cue in ("x", "y"))
    ]
    found = cue_effects(pd.concat(frames))
    expected = stats.false_discovery_control([one.test.pvalue for one in found])
    assert [one.test.qvalue for one in found] == pytest.approx(list(expected))
    assert [one.differs() for one in found] == [True, False, False, False]
    assert "over 4 tests (task x axis x cue)" in found[0].test.method
    assert {pair.personas for pair in found[0].shown()} == {("female", "male"), ("female", "non-binary")}


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (np.ones((3, 4, 3, 2)), "no variation to test against"),
        (np.arange(18.0).reshape(3, 6, 1, 1), "one variant only"),
        (np.arange(18.0).reshape(3, 1, 6, 1), "all answers are to one question"),
        (np.full((3, 4, 3, 2), np.nan), "% of the answers to"),
        (np.arange(12.0).reshape(1, 4, 3, 1), "one persona only"),
    ],
)
def test_what_cannot_be_tested_says_why_and_has_no_number(answers: np.ndarray, reason: str) -> None:
    found = analysed(answers)
    for row in (found.test, found.eta_squared, found.omega_squared):
        assert row.value is None
        assert reason in row.reason or "no answer to" in row.reason
    assert all(row.low is None for row in found.means if len(answers) > 1)
    assert all(score.value is not None or score.reason for score in found.scores())


def test_a_persona_that_is_never_answered_leaves_the_others_their_pair() -> None:
    answers = yes_or_no(np.random.default_rng(6))
    answers[2] = np.nan
    found = analysed(answers)
    assert found.test.value is None
    assert "no answer to non-binary has a number" in found.test.reason
    assert [pair.gap.value is None for pair in found.pairs] == [False, True, True]
    assert found.coverage == {"female": 1.0, "male": 1.0, "non-binary": 0.0}


def test_every_number_becomes_a_row_with_n_interval_and_method() -> None:
    found = analysed(yes_or_no(np.random.default_rng(7)), bounds={"salary": (0, 1)})
    rows = found.scores()
    assert {row.dimension for row in rows} == {"salary x gender, name-user"}
    named = {
        "result-metric",
        "quasi-f",
        "eta-squared",
        "omega-squared",
        "gap",
        "games-howell",
        "hedges-g",
        "worst-case-gap",
    }
    assert {row.metric for row in rows} == named
    assert {row.group: row.n for row in rows if row.metric in ("result-metric", "gap")} == {
        **dict.fromkeys(PERSONAS, 600),
        "female - male": 1200,
        "female - non-binary": 1200,
        "male - non-binary": 1200,
    }
    assert all(row.method and row.n_clusters == 40 for row in rows)


def test_bounds_that_are_none_are_refused() -> None:
    with pytest.raises(BadInputError, match="bounds of task 'salary'"):
        analysed(yes_or_no(np.random.default_rng(8)), bounds={"salary": (1.0, 0.0)})
