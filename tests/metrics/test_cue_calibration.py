"""`benchmarks.calibration.cues` in small: the analysis of verdicts errs in at most 5 % of audits, the published ANOVA far more often."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.calibration.cues import SCENARIOS, Design, answers, logit_effect, outcomes, report
from benchmarks.calibration.outcomes import Share

NAMED = {scenario.name[:2]: scenario for scenario in SCENARIOS}


@pytest.mark.parametrize("name", ["S0", "S1", "S2", "S3", "S4"])
def test_the_exact_interval_of_false_alarms_in_1000_audits_does_not_reach_6_5_percent(name: str) -> None:
    found = outcomes(NAMED[name], Design(), runs=1000, seed=0)
    assert Share.among(found.quasi <= 0.05).interval[1] <= 0.065
    assert found.held.mean() >= 0.94


@pytest.mark.parametrize("name", ["S3", "S4"])
def test_the_published_anova_fails_the_same_check_on_the_same_answers(name: str) -> None:
    found = outcomes(NAMED[name], Design(releases=7), runs=500, seed=0)
    assert Share.among(found.anova <= 0.01).interval[0] > 0.35
    assert found.held_independent.mean() < 0.65
    assert found.held.mean() >= 0.92


def test_a_gap_of_4_points_is_found_with_enough_variants_and_often_missed_with_five() -> None:
    many, few = (
        outcomes(NAMED["S3"], Design(variants=variants), runs=300, seed=0, points=0.04) for variants in (20, 5)
    )
    assert np.mean(many.quasi <= 0.05) >= 0.8
    assert np.mean(few.quasi <= 0.05) <= 0.5
    assert many.held.mean() >= 0.92


@pytest.mark.slow
def test_unequal_variants_and_silent_prompts_cost_little() -> None:
    for name in ("S5", "S6"):
        assert np.mean(outcomes(NAMED[name], Design(), runs=500, seed=1).quasi <= 0.05) <= 0.075


def test_the_simulated_gap_is_the_one_asked_for() -> None:
    effect = logit_effect(NAMED["S3"], 0.04)
    yes, asked = answers(np.random.default_rng(1), 500, NAMED["S3"], Design(), effect)
    share = yes.sum(axis=(0, 2, 3)) / asked.sum(axis=(0, 2, 3))
    assert share[0] - share[1] == pytest.approx(0.04, abs=0.006)
    assert share[1] - share[2] == pytest.approx(0, abs=0.006)


def test_the_report_has_a_row_for_every_scenario_and_design() -> None:
    lines = report(20, 10).splitlines()
    assert len(lines) == 2 + 3 * len(SCENARIOS) - 2 + 1 + 2 + len(SCENARIOS)
    assert all(line.count("|") == 7 for line in lines[:20])
