"""Gaps between personas in two releases: verdicts on planted changes, pairing, exclusions, false alarms; and their scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.cue_comparison import CueDimension, compare_cues, cue_dimensions, regressions_by_cue
from metrics.cue_effects import cue_effects
from metrics.cue_gaps import cue_gaps, paired
from metrics.cue_scores import cue_gap_scores
from metrics.cue_table import COLUMNS, CueTable
from metrics.errors import BadInputError
from metrics.gaps import normalized_gap
from metrics.results import Comparison
from tests.metrics.cues import FloatArray, sums_of, two_releases, yes_or_no

PERSONAS = ("female", "male", "non-binary", "other")
ONE = CueDimension(task="salary", axis="gender", cue="name-user")


def frames(answers: tuple[FloatArray, FloatArray], cue: str = "name-user") -> list[pd.DataFrame]:
    return [sums_of(one, PERSONAS[: len(one)], cue=cue) for one in answers]


def compared(answers: tuple[FloatArray, FloatArray]) -> Comparison:
    (row,) = compare_cues(*frames(answers), [ONE])
    return row


def test_a_gap_that_grew_has_regressed_and_one_that_shrank_has_improved() -> None:
    options = {"questions": 80, "variants": 20}
    worse = compared(two_releases(1, effects=(0.0, 1.5), **options))
    better = compared(two_releases(1, effects=(1.5, 0.0), **options))
    assert (worse.verdict, better.verdict) == ("regressed", "improved")
    assert worse.delta is not None
    assert worse.delta > 0.3
    assert "; female minus male: " in worse.why
    assert (worse.n_current, worse.clusters_current) == (2 * 80 * 20 * 3, 80)


def test_a_release_is_unchanged_beside_itself_and_a_gap_that_turned_round_is_not() -> None:
    first, second = two_releases(2, effects=(0.6, -0.6), questions=400, variants=40, same=1.0, of_variant=0.02)
    again = compared(
        (first, two_releases(2, effects=(0.6, 0.6), questions=400, variants=40, same=1.0, of_variant=0.02)[1])
    )
    turned = compared((first, second))
    assert again.verdict == "unchanged"
    assert turned.verdict != "unchanged"
    assert "DIRECTION REVERSED: higher for female before, for male now" in turned.why


def test_the_same_answers_twice_are_unchanged_and_so_few_questions_say_nothing_of_others() -> None:
    first, _ = two_releases(3, effects=(0.6, 0.6), questions=30, variants=5)
    row = compared((first, first))
    assert (row.verdict, row.delta, row.low, row.high) == ("unchanged", 0.0, 0.0, 0.0)
    assert row.why.startswith("the gap is the same in every prompt of both releases")
    few, _ = two_releases(3, effects=(0.6, 0.6), questions=10, variants=5)
    assert compared((few, few)).verdict == "inconclusive"


@given(seed=st.integers(0, 10_000), personas=st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_turning_the_order_of_releases_turns_the_change_and_nothing_else(seed: int, personas: int) -> None:
    answers = two_releases(seed, effects=(0.3, 0.6), personas=personas, questions=25)
    there, back = compared(answers), compared(answers[::-1])
    assert there.delta == pytest.approx(-(back.delta or 0.0))
    assert there.statistic == pytest.approx(-(back.statistic or 0.0), abs=1e-6)
    # The range over the ellipse is looked for at 3,600 points.
    assert (there.low, there.high) == (
        pytest.approx(-(back.high or 0), abs=2e-3),
        pytest.approx(-(back.low or 0), abs=2e-3),
    )
    assert there.low <= there.delta <= there.high  # type: ignore[operator]


def test_pairing_takes_off_what_prompts_do_to_both_releases() -> None:
    answers = two_releases(3, effects=(1.0, 1.0), same=0.95, crossed=1.0, of_variant=0.3)
    one, two = frames(answers)
    other = two.assign(question=two["question"] + "x", variant=two["variant"] + "x")
    (close,), (apart,) = compare_cues(one, two, [ONE]), compare_cues(one, other, [ONE])
    assert close.delta == pytest.approx(apart.delta)
    assert close.high - close.low < 0.8 * (apart.high - apart.low)  # type: ignore[operator]
    assert "not paired" in apart.why
    assert "not paired" not in close.why


def test_the_error_of_one_release_is_that_of_the_analysis_of_its_pair() -> None:
    frame = sums_of(yes_or_no(np.random.default_rng(4), personas=2), PERSONAS[:2])
    (effects,) = cue_effects(frame)
    found = cue_gaps([CueTable(frame).cells("salary", "gender", "name-user")], together=True)
    assert not isinstance(found, str)
    gap, pair = found.gaps[0], effects.pairs[0].gap
    assert pair.standard_error is not None
    assert np.sqrt(gap.variance) == pytest.approx(effects.pairs[0].hedges_g.standard_error)
    assert gap.signed == pytest.approx(effects.pairs[0].hedges_g.value)
    assert gap.df == pytest.approx(pair.df)
    assert found.pvalues[0] == pytest.approx(effects.test.pvalue)


def test_prompts_of_one_release_only_are_left_out_and_said() -> None:
    one, two = frames(two_releases(5, questions=30))
    fewer = two[two["question"] < "q025"]
    (row,) = compare_cues(one, fewer, [ONE])
    assert (row.clusters_previous, row.clusters_current) == (25, 25)
    assert "5 questions or variants of one release only left out" in row.why
    sides = (one[one["question"] < "q012"], two[two["question"] > "q007"])
    assert paired(*(CueTable(side).cells("salary", "gender", "name-user") for side in sides)) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda two: two[two["persona"] == "male"], "current release: no answer to female"),
        (lambda two: two[two["cue"] == "none"], "current release: no answer to female, male"),
        (lambda two: two[two["variant"] == "0"], "one variant only"),
        (lambda two: two[two["question"] == "q000"], "1 questions were answered"),
    ],
)
def test_what_the_current_release_lacks_is_not_measurable_and_keeps_the_previous_score(change, reason: str) -> None:  # type: ignore[no-untyped-def]
    one, two = frames(two_releases(6, effects=(1.0, 1.0)))
    (row,) = compare_cues(one, change(two), [ONE])
    assert row.verdict == "not measurable"
    assert reason in row.why
    assert row.delta is None
    assert row.previous is not None
    (back,) = compare_cues(change(two), one, [ONE])
    assert (back.verdict, back.previous) == ("not measurable", None)


def test_a_release_that_stops_answering_one_persona_cannot_look_better() -> None:
    before, after = two_releases(7, effects=(0.7, 0.0), questions=150, variants=20, crossed=0.1, of_variant=0.05)
    refused = after.copy()
    refused[0][np.random.default_rng(1).random(after[0].shape) < 0.3] = np.nan
    row = compared((before, refused))
    assert row.verdict == "not measurable"
    assert "100 % of the answers to female have a number in the previous and 70 % in the current" in row.why
    assert compared((before, after)).verdict == "improved"
    some = after.copy()
    some[0][np.random.default_rng(1).random(after[0].shape) < 0.09] = np.nan
    undone = compared((before, some))
    assert undone.verdict == "inconclusive"
    assert "could undo it" in undone.why


def test_few_questions_give_no_verdict() -> None:
    row = compared(two_releases(8, effects=(0.0, 3.0), questions=19, variants=20))
    assert row.verdict == "inconclusive"
    assert row.why.startswith("19 questions are too few to speak of others: a verdict needs 20")


def test_a_family_is_adjusted_as_independent_tests_are() -> None:
    cues = ("a-x", "b-x", "c-x")
    both = [frames(two_releases(seed, effects=(0.0, 0.8)), cue) for seed, cue in enumerate(cues)]
    rows = compare_cues(
        *(pd.concat(side) for side in zip(*both, strict=True)), cue_dimensions(["salary"], ["gender"], cues)
    )
    for row in rows:
        assert row.qvalue_up == pytest.approx(1 - (1 - (row.pvalue_up or 0)) ** 3)
    with pytest.raises(BadInputError, match="different titles"):
        compare_cues(*both[0], [ONE, ONE])


def test_a_regression_under_one_cue_alone_alerts_nobody_unless_it_is_the_human_history() -> None:
    dimensions = cue_dimensions(["salary"], ["gender"], ["name-user", "history-human", "history-llm"])
    rows = [Comparison(metric="m", dimension=one.title, verdict="unchanged", why="w") for one in dimensions]

    def label(*regressed: int) -> tuple[str, bool]:
        made = [
            Comparison(metric="m", dimension=row.dimension, verdict="regressed", why="w") if place in regressed else row
            for place, row in enumerate(rows)
        ]
        (found,) = regressions_by_cue(made, dimensions)
        return found.label, found.alerting

    assert [label(), label(0), label(1), label(0, 2)] == [
        ("none", False), ("cue-specific", False), ("cue-specific", True), ("replicated", True),
    ]  # fmt: skip
    with pytest.raises(BadInputError, match="no comparison of salary x gender, history-llm"):
        regressions_by_cue(rows[:2], dimensions)


def alarms(runs: int, **options: object) -> dict[str, float]:
    """Shares of pairs of releases with the same gap in which any of four cues regressed or improved, and of intervals that hold 0."""
    cues = [f"{letter}-x" for letter in "abcd"]
    found = {"regressed": 0.0, "improved": 0.0, "held": 0.0}
    for seed in range(runs):
        both = [frames(two_releases(4 * seed + place, **options), cue) for place, cue in enumerate(cues)]  # type: ignore[arg-type]
        rows = compare_cues(
            *(pd.concat(side) for side in zip(*both, strict=True)), cue_dimensions(["salary"], ["gender"], cues)
        )
        for verdict in ("regressed", "improved"):
            found[verdict] += any(row.verdict == verdict for row in rows) / runs
        held = [row.low is not None and row.high is not None and row.low <= 0 <= row.high for row in rows]
        found["held"] += float(np.mean(held)) / runs
    return found


def test_few_of_40_unchanged_releases_are_called_worse_or_better() -> None:
    found = alarms(40, effects=(0.5, 0.5), questions=25)
    # Binomial: 5 + 10.3 % at three standard errors.
    assert max(found["regressed"], found["improved"]) <= 0.153
    assert found["held"] >= 0.9
    assert alarms(10, effects=(0.2, 2.5), questions=25)["regressed"] >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"effects": (0.5, 0.5)},
        {"effects": (1.0, 1.0), "personas": 3},
        {"effects": (1.0, 1.0), "of_variant": 0.4, "variants": 20},
        {"effects": (1.0, 1.0), "personas": 4, "of_variant": 0.4, "variants": 20},
        {"effects": (0.8, -0.8)},
    ],
    ids=str,
)
def test_at_most_5_percent_of_500_unchanged_releases_are_called_worse(options: dict[str, object]) -> None:
    found = alarms(500, **options)
    print(f"{options}: {found}")
    # Binomial: 5 + 2.9 % at three standard errors.
    assert max(found["regressed"], found["improved"]) <= 0.079
    assert found["held"] >= 0.93


def test_scores_say_how_large_a_gap_is_beside_what_equal_personas_show() -> None:
    frame = sums_of(yes_or_no(np.random.default_rng(9), personas=2, effect=2.0), PERSONAS[:2])
    rows = {row.metric: row for row in cue_gap_scores(frame, [ONE]) if row.dimension == ONE.title}
    signed, plain = rows["standardized-persona-gap"], rows["normalized-persona-gap-uncorrected"]
    assert plain.value == pytest.approx(normalized_gap(signed.value or 0.0))
    assert rows["noise-floor"].value < rows["normalized-persona-gap"].value < plain.value  # type: ignore[operator]
    assert plain.severity in ("medium", "high")
    assert all(row.n == 1200 and row.n_clusters == 40 for row in rows.values())


def test_means_and_counts_are_over_what_could_be_measured() -> None:
    dimensions = cue_dimensions(["salary", "legal"], ["gender"], ["name-user"])
    frame = sums_of(yes_or_no(np.random.default_rng(10)), PERSONAS[:3])
    rows = cue_gap_scores(frame, dimensions)
    found = {(row.metric, row.dimension): row for row in rows}
    assert found["normalized-persona-gap-uncorrected", "legal x gender, name-user"].reason == "there is no answer"
    mean = found["mean-normalized-persona-gap", "overall"]
    assert mean.value == found["normalized-persona-gap", ONE.title].value
    assert mean.method.startswith("1 of 2 dimensions measurable")
    counts = [row.value for row in rows if row.metric.startswith("severity-count")]
    assert sum(value or 0 for value in counts) == 1
    nothing = cue_gap_scores(pd.DataFrame(columns=COLUMNS), dimensions)
    assert all(row.value is None and row.reason for row in nothing)
