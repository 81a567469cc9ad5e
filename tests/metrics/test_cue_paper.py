"""The published analysis: scipy on the single answers, a published table, and the paper's counts on a made-up case."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.cue_paper import PaperTest, paper_summary, paper_tests
from metrics.errors import BadInputError
from metrics.samples import Estimate
from tests.metrics.cues import sums_of, yes_or_no
from tests.metrics.test_group_tests import PLANTS

PERSONAS = ("black", "white", "asian")


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1.0, 80_000.0]), lost=st.floats(0, 0.4))
@settings(max_examples=25, deadline=None)
def test_anova_and_tukey_are_scipys_on_the_single_answers(seed: int, scale: float, lost: float) -> None:
    rng = np.random.default_rng(seed)
    answers = scale * (1 + 0.1 * rng.normal(size=(3, 5, 2, 3)))
    answers[rng.random(answers.shape) < lost] = np.nan
    flat = [one[~np.isnan(one)] for one in answers]
    (test,) = paper_tests(sums_of(answers, sorted(PERSONAS)))
    expected = stats.f_oneway(*flat)
    assert test.anova.value == pytest.approx(expected.statistic, rel=1e-6)
    assert test.anova.pvalue == pytest.approx(expected.pvalue, rel=1e-6)
    tukey = stats.tukey_hsd(*flat)
    interval = tukey.confidence_interval(0.99)
    for row, place in zip(test.pairs, ((0, 1), (0, 2), (1, 2)), strict=True):
        assert row.value == pytest.approx(tukey.statistic[place], rel=1e-6, abs=1e-9 * scale)
        assert row.qvalue == pytest.approx(tukey.pvalue[place], abs=1e-6)
        assert (row.low, row.high) == (
            pytest.approx(interval.low[place], rel=1e-4, abs=1e-6 * scale),
            pytest.approx(interval.high[place], rel=1e-4, abs=1e-6 * scale),
        )


def test_anova_and_tukey_give_what_r_prints_for_plant_growth() -> None:
    # R: summary(aov(weight ~ group, PlantGrowth)); TukeyHSD(...), which prints the later group minus the earlier one.
    (test,) = paper_tests(sums_of(np.array(list(PLANTS.values()))[:, :, None, None], list(PLANTS)))
    assert test.anova.value == pytest.approx(4.846, abs=5e-4)
    assert test.anova.pvalue == pytest.approx(0.0159, abs=5e-5)
    assert [row.qvalue for row in test.pairs] == pytest.approx([0.3908711, 0.1979960, 0.0120064], abs=1e-6)
    assert test.differs(0.05)
    assert test.found(0.05) == {("trt2", "trt1")}
    assert test.found(0.01) == frozenset()


def test_means_have_the_interval_of_independent_answers() -> None:
    answers = yes_or_no(np.random.default_rng(1))
    (test,) = paper_tests(sums_of(answers, sorted(PERSONAS)))
    flat = answers[1].ravel()
    low, high = stats.t.interval(0.95, flat.size - 1, flat.mean(), stats.sem(flat))
    assert (test.means[1].low, test.means[1].high) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (np.full((2, 3, 2, 2), 80_000.5), "every answer to a persona is the same"),
        (np.full((2, 3, 2, 2), np.nan), "needs at least 2 answers with a number"),
        (np.arange(8.0).reshape(1, 2, 2, 2), "one persona only"),
    ],
)
def test_what_cannot_be_tested_says_why(answers: np.ndarray, reason: str) -> None:
    (test,) = paper_tests(sums_of(answers, PERSONAS[: len(answers)]))
    assert test.anova.value is None
    assert reason in test.anova.reason
    assert not test.differs()
    assert all(row.value is None for row in test.pairs)


def made(task: str, cue: str, *pairs: tuple[str, str, float]) -> PaperTest:
    """A test that finds the given pairs (first, second, difference), or nothing."""
    blank = Estimate(name="x", groups=("a", "b"), value=1.0, n=9, clusters=3, n_excluded=0, pvalue=0.5)
    rows = [dataclasses.replace(blank, groups=(one, two), value=gap, qvalue=0.001) for one, two, gap in pairs]
    test = dataclasses.replace(blank, pvalue=0.001 if pairs else 0.5)
    return PaperTest(task=task, axis="gender", cue=cue, means=(), anova=test, pairs=tuple(rows))


def test_the_summary_counts_as_the_paper_does() -> None:
    tests = [
        made("salary", "history-human", ("female", "non-binary", 1.0)),
        made("salary", "name-user", ("unisex", "female", -2.0)),  # the same pair, the same direction
        made("salary", "history-llm", ("female", "non-binary", -1.0)),  # the other direction
        made("legal", "history-human"),
        made("legal", "name-user", ("female", "male", 1.0)),
        made("moral", "history-human"),
        made("moral", "name-user"),
    ]
    found = paper_summary(tests)
    assert found.by_cue == {"history-human": (1, 3), "name-user": (2, 3), "history-llm": (1, 1)}
    assert found.by_task["salary"] == (3, 3)
    assert found.agreeing == {("salary", "gender"): ("name-user",)}
    assert (found.reference_found, found.reference_silent, found.elsewhere) == (1, 2, 1)
    assert paper_summary(tests, same={}).agreeing == {}


def test_tests_that_could_not_be_made_are_named_and_not_counted() -> None:
    (test,) = paper_tests(sums_of(np.ones((2, 3, 2, 2)), PERSONAS[:2]))
    found = paper_summary([test])
    assert found.by_cue == {}
    assert found.untested[0][0] == "salary x gender, name-user"


def test_two_releases_in_one_summary_are_refused() -> None:
    with pytest.raises(BadInputError, match="one test for every task, axis and cue"):
        paper_summary([made("salary", "name-user"), made("salary", "name-user")])


def test_several_combinations_are_cut_from_one_frame() -> None:
    frames = [
        sums_of(yes_or_no(np.random.default_rng(seed), questions=5), PERSONAS, cue=cue) for seed, cue in enumerate("xy")
    ]
    assert [(test.cue, test.anova.n) for test in paper_tests(pd.concat(frames))] == [("x", 225), ("y", 225)]
