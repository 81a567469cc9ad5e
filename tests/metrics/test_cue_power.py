"""What a planned audit of persona cues can show, against simulated audits and against components that are known."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.calibration.cues import (
    PLANNED,
    PLANNED_SCENARIOS,
    QUESTION_SPREAD,
    Scenario,
    outcomes,
    planned_difference,
    planning_report,
)
from metrics.cue_power import (
    WITHOUT_PILOT,
    Assumption,
    Components,
    CueSize,
    assumed,
    detectable,
    measured,
    no_test,
    shown_chance,
)
from metrics.cue_table import cue_table
from tests.metrics.cues import sums_of

SIZE = CueSize(personas=3, questions=40, variants=5, samples=3)


@pytest.mark.parametrize(("scenario", "assumption"), PLANNED_SCENARIOS)
def test_what_the_planner_says_is_shown_in_80_percent_is_found_in_about_so_many_simulated_audits(
    scenario: Scenario, assumption: Assumption
) -> None:
    assert (assumption.crossed, assumption.variant, assumption.nested) == (
        scenario.crossed,
        scenario.variant,
        scenario.nested,
    )
    for design in PLANNED[:2]:
        points = planned_difference(assumption, design)
        found = outcomes(scenario, design, runs=400, seed=7, points=points).quasi <= 0.05
        assert found.mean() == pytest.approx(0.8, abs=0.06)


def test_the_chance_of_another_difference_is_that_of_simulated_audits_too() -> None:
    (scenario, assumption), design = PLANNED_SCENARIOS[0], PLANNED[1]
    found = outcomes(scenario, design, runs=400, seed=8, points=0.04).quasi <= 0.05
    said = shown_chance(assumed(assumption), dataclasses.replace(SIZE, variants=20), 0.04)
    assert said == pytest.approx(float(found.mean()), abs=0.07)


def test_assumed_components_are_those_of_drawn_logits() -> None:
    rng, much, n = np.random.default_rng(0), WITHOUT_PILOT[1], 200_000
    question, crossed = rng.normal(0, QUESTION_SPREAD, n), rng.normal(0, much.crossed, (2, n))
    variant, nested = rng.normal(0, much.variant, (2, n)), rng.normal(0, much.nested, (2, n))
    first, second = (1 / (1 + np.exp(-(question + crossed[0] + variant[v] + nested[v]))) for v in (0, 1))
    other = 1 / (1 + np.exp(-(question + crossed[1] + variant[1] + nested[1])))
    found = assumed(much)
    assert found.variant + found.nested == pytest.approx(np.mean((first - second) ** 2) / 2, rel=0.02)
    assert sum((found.crossed, found.variant, found.nested)) == pytest.approx(
        np.mean((first - other) ** 2) / 2, rel=0.02
    )
    assert found.sampling == pytest.approx(np.mean(first * (1 - first)), rel=0.02)


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 60), st.integers(2, 20), st.integers(1, 5), st.floats(1, 5))
def test_more_questions_variants_and_samples_never_show_less_and_the_unit_is_the_answers(
    questions: int, variants: int, samples: int, factor: float
) -> None:
    of, size = assumed(WITHOUT_PILOT[1]), CueSize(personas=3, questions=questions, variants=variants, samples=samples)
    here = detectable(of, size)
    assert here is not None
    for name in ("questions", "variants", "samples"):
        more = detectable(of, dataclasses.replace(size, **{name: 4 * getattr(size, name)}))
        assert more is not None
        assert more <= here * 1.03
    scaled = detectable(of.scaled(factor * of.sampling**0.5), size)
    assert scaled == pytest.approx(factor * here, rel=0.01)


def test_components_of_an_audit_are_those_it_was_drawn_from() -> None:
    rng, (k, q, v, s) = np.random.default_rng(3), (4, 200, 40, 3)
    true = Components(crossed=4.0, variant=1.0, nested=9.0, sampling=16.0)
    answers = rng.normal(0, 10, (1, q, 1, 1)) + rng.normal(0, 2, (k, q, 1, 1)) + rng.normal(0, 1, (k, 1, v, 1))
    answers = answers + rng.normal(0, 3, (k, q, v, 1)) + rng.normal(0, 4, (k, q, v, s))
    found = measured(cue_table(sums_of(answers, list("abcd"))).cells("salary", "gender", "name-user"))
    assert isinstance(found, Components)
    for name, margin in (("crossed", 0.15), ("variant", 0.3), ("nested", 0.1), ("sampling", 0.05)):
        assert getattr(found, name) == pytest.approx(getattr(true, name), rel=margin)
    alone = measured(cue_table(sums_of(answers[..., :1], list("abcd"))).cells("salary", "gender", "name-user"))
    assert isinstance(alone, Components)
    assert not alone.apart
    assert alone.nested == pytest.approx(25, rel=0.05)


def test_a_design_without_a_test_shows_nothing_and_says_why() -> None:
    lone = dataclasses.replace(SIZE, variants=1)
    assert detectable(assumed(WITHOUT_PILOT[0]), lone) is None
    assert shown_chance(assumed(WITHOUT_PILOT[0]), lone, 0.1) is None
    assert no_test(lone) == "a test needs 2 variants of each persona, and this design has 1"
    same = np.ones((2, 4, 3, 2))
    assert measured(cue_table(sums_of(same, list("ab"))).cells("salary", "gender", "name-user")) == (
        "every prompt of a persona gave the same: no variation to plan with"
    )


def test_the_benchmark_of_the_planner_has_a_row_for_each_scenario_and_design() -> None:
    assert len(planning_report(10).splitlines()) == 2 + len(PLANNED_SCENARIOS) * len(PLANNED)
