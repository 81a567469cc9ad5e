"""The charts of robustness: scores of a release under each prompt, and agreement beside that of asking again."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from dashboards.charts.chart import Chart, NoChart
from dashboards.charts.prompts import agreement_chart, prompt_chart
from dashboards.robustness import AGAIN, PLAIN, ConditionScore, Member, Robustness
from metrics.profiles import Profile
from metrics.results import Score
from metrics.robustness import condition_rows
from tests.dashboards.chart_checks import HOSTILE, assert_fit_for_a_page, rows_of, svg_of, texts
from tests.dashboards.sample import DIMENSIONS, sample_card

METRIC = "normalized-cramers-v-debiased"


def score_of(dimension: str, value: float | None = 0.5, **changes: Any) -> Score:
    bounds = {} if value is None else {"low": value - 0.1, "high": value + 0.1, "severity": "medium"}
    row: dict[str, Any] = {"metric": METRIC, "dimension": dimension, "value": value, "n": 1200, "n_clusters": 60}
    return Score(**row | bounds | {"reason": "" if value is not None else "one gender is left"} | changes)


def found_of(
    *conditions: str, releases: int = 3, dimensions: tuple[str, ...] = DIMENSIONS, family: str = "nova"
) -> Robustness:
    """A comparison of releases with scores that differ a little by condition."""
    card, rng = sample_card(), np.random.default_rng(3)
    names = [f"{family}/{version}" for version in range(1, releases + 1)]
    scores, rows = [], []
    for condition in (PLAIN, *conditions):
        scores += [
            ConditionScore(release=name, condition=condition, audit=at + 1, score=score_of(title, 0.2 + 0.2 * at))
            for at, name in enumerate(names)
            for title in dimensions
        ]
    for condition in conditions:
        pairs = {}
        for at, name in enumerate(names):
            values = {title: 0.2 + 0.2 * at + 0.03 * number for number, title in enumerate(dimensions)}
            draws = {title: value + 0.02 * rng.standard_normal(200) for title, value in values.items()}
            other = {title: value + 0.05 * float(rng.standard_normal()) for title, value in values.items()}
            pairs[name] = tuple(Profile(values=of, reasons={}, draws=draws, clusters=60) for of in (values, other))
        rows += condition_rows(condition, PLAIN, pairs, dimensions)
    return Robustness(
        instrument=card.instrument,
        metric=METRIC,
        dimensions=dimensions,
        members=tuple(Member(name=name, plain=card.audit, variants={}, again=None) for name in names),
        lacking=(),
        conditions=conditions,
        scores=tuple(scores),
        rows=tuple(rows),
        sizes=(),
        verdicts=(),
        orders=20,
        draws=200,
        product_version="0",
        made_at="2026-11-20",
    )


def with_score(found: Robustness, condition: str, dimension: str, score: Score) -> Robustness:
    """The comparison with one score of its first release replaced."""
    changed = [
        dataclasses.replace(one, score=score)
        if (one.release, one.condition, one.score.dimension) == (found.members[0].name, condition, dimension)
        else one
        for one in found.scores
    ]
    return dataclasses.replace(found, scores=tuple(changed))


MANY = ("debias", "role-play", "mine." + "w" * 30, "x", "y")


@pytest.mark.parametrize("conditions", [("debias",), (AGAIN,), (*MANY[:3], AGAIN), (*MANY, AGAIN)])
def test_both_charts_are_fit_for_a_page_with_any_number_of_prompts(conditions: tuple[str, ...]) -> None:
    found = found_of(*conditions)
    chart = prompt_chart(found, "nova/2")
    assert_fit_for_a_page(chart)
    assert len(rows_of(chart)) == (1 + len(conditions)) * len(DIMENSIONS)
    assert ("1 more prompts are in the data." in texts(chart)) == (len(conditions) > 5)
    assert_fit_for_a_page(agreement_chart(found, conditions[0]))


def test_names_that_are_markup_stay_text_in_both_charts() -> None:
    found = found_of("debias", dimensions=(HOSTILE, "gender x occupation"), family=HOSTILE)
    assert_fit_for_a_page(prompt_chart(found, f"{HOSTILE}/1"))
    assert_fit_for_a_page(agreement_chart(found, "debias"))


def test_a_score_that_is_missing_or_has_no_interval_is_a_word_and_no_mark() -> None:
    title = "gender x occupation"
    found = with_score(found_of("debias"), PLAIN, title, score_of(title, None))
    found = with_score(found, "debias", title, score_of(title, 0.4, low=None, high=None))
    chart = prompt_chart(found, "nova/1")
    assert {"plain prompt: not measurable", "debias: 0.400, no interval"} <= set(texts(chart))
    assert isinstance(chart, Chart)
    assert (
        f"{title}: plain prompt not measurable: one gender is left; prompt variant debias 0.400 (no interval)"
        in chart.description
    )
    row = next(row for row in rows_of(chart) if (row["condition"], row["dimension"]) == (PLAIN, title))
    assert (row["value"], row["level"], row["reason"]) == (None, None, "one gender is left")


def test_a_dimension_that_no_prompt_measured_is_in_the_data_alone() -> None:
    title = "gender x occupation"
    found = found_of("debias")
    for condition in (PLAIN, "debias"):
        found = with_score(found, condition, title, score_of(title, None))
    chart = prompt_chart(found, "nova/1")
    assert title not in texts(chart)
    assert "1 dimensions without any score: see the data." in texts(chart)
    assert len([row for row in rows_of(chart) if row["dimension"] == title]) == 2


def marks_of(chart: Chart | NoChart) -> int:
    return len(svg_of(chart).all("use"))


def test_an_agreement_beyond_the_scale_is_an_arrow_and_no_mark_at_its_edge() -> None:
    found = found_of("debias")
    row = found.of("debias", "dimension")[0]

    def with_icc(value: float) -> Robustness:
        measures = tuple(
            dataclasses.replace(one, value=value, low=-3.0, high=0.5) if one.metric == "icc-a1" else one
            for one in row.measures
        )
        changed = dataclasses.replace(row, measures=measures)
        return dataclasses.replace(found, rows=tuple(changed if one is row else one for one in found.rows))

    inside, beyond = (agreement_chart(with_icc(value), "debias") for value in (-0.9, -1.4))
    assert marks_of(beyond) == marks_of(inside) - 1
    assert any(one["value"] == -1.4 for one in rows_of(beyond))


def test_agreement_is_told_beside_that_of_asking_again_with_intervals_and_targets() -> None:
    found = found_of("debias")
    chart, row = agreement_chart(found, "debias"), found.of("debias", "dimension")[0]
    icc, again = row.measure("icc-a1"), row.ceiling
    assert isinstance(chart, Chart)
    assert (
        f"{row.group}: ICC(A,1) {icc.value:.3f} ({icc.low:.3f} to {icc.high:.3f}), "
        f"if asked again {again.value:.3f} ({again.low:.3f} to {again.high:.3f}), n 3"
    ) in chart.description
    assert {"By dimension", "By release", "mean of all dimensions", "nova/3", "n 3", "n 16"} <= set(texts(chart))


def test_what_cannot_be_drawn_says_why() -> None:
    few = agreement_chart(found_of("debias", releases=1, dimensions=("gender x occupation",)), "debias")
    assert isinstance(few, NoChart)
    assert few.why == "agreement needs at least 3 targets with all scores; there are 1"
    alone = prompt_chart(found_of(), "nova/1")
    assert isinstance(alone, NoChart)
    assert "no prompt variant that can be compared" in alone.why
    found = found_of("debias", dimensions=("gender x occupation",))
    for condition in (PLAIN, "debias"):
        found = with_score(found, condition, "gender x occupation", score_of("gender x occupation", None))
    nothing = prompt_chart(found, "nova/1")
    assert isinstance(nothing, NoChart)
    assert nothing.why == "no dimension could be measured under any prompt"
