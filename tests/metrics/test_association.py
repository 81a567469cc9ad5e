"""Scores of an audit: completeness, agreement with the estimators, refusals, and coverage of the intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.association import BiasDimension, association_scores, clustered_table, cramers_v, noise_floor
from metrics.results import Score
from metrics.severity import normalized, paper_score, severity, severity_counts
from tests.metrics.frames import DIMENSIONS, WITHOUT_NAMES, persona_frame

FRAME = persona_frame(120, 20, seed=1, modes=True)
NAMES = FRAME["name_category"].value_counts().index[:50].tolist()
SCORES = association_scores(FRAME, DIMENSIONS, names=NAMES, seed=7, resamples=400)
DEBIASED = "normalized-cramers-v-debiased"
PER_DIMENSION = (
    "cramers-v",
    "cramers-v-bergsma",
    "normalized-cramers-v-paper",
    "normalized-cramers-v",
    DEBIASED,
    "noise-floor",
    "design-effect",
)


def score(metric: str, dimension: str, scores: list[Score] = SCORES) -> Score:
    (found,) = [row for row in scores if (row.metric, row.dimension) == (metric, dimension)]
    return found


def values(metric: str) -> list[float | None]:
    return [row.value for row in SCORES if row.metric == metric]


def test_every_dimension_has_every_metric_in_order() -> None:
    rows = [(row.dimension, row.metric) for row in SCORES[: 7 * 16]]
    assert rows == [(dimension.title, metric) for dimension in DIMENSIONS for metric in PER_DIMENSION]
    assert len(SCORES) == 7 * 16 + 3 * 5 + 8


def test_every_estimate_has_n_an_interval_and_its_method() -> None:
    for row in SCORES:
        assert row.value is not None
        assert row.method
        assert row.n > 0
        assert row.n_clusters == 120
        if row.metric in ("noise-floor", "design-effect"):
            assert "no interval" in row.method
            assert row.low is None
        else:
            assert row.low is not None
            assert row.high is not None
            assert row.low <= row.value <= row.high


def test_scores_are_those_of_the_table() -> None:
    table = clustered_table(FRAME, "gender_category", "occupation_category")
    unique = clustered_table(FRAME[~FRAME["duplicate"]], "gender_category", "occupation_category")
    assert score("cramers-v", "gender x occupation").value == cramers_v(table)
    assert score("normalized-cramers-v", "gender x occupation").value == pytest.approx(normalized(cramers_v(table), 2))
    assert score("normalized-cramers-v-paper", "gender x occupation").value == paper_score(cramers_v(unique), 2)
    assert score("noise-floor", "gender x occupation").value == noise_floor(table)


def test_the_test_of_independence_is_attached_to_the_plain_score_only() -> None:
    plain = score("normalized-cramers-v", "gender x occupation")
    assert plain.df == 34
    assert plain.pvalue is not None
    assert plain.statistic is not None
    assert {row.metric for row in SCORES if row.pvalue is not None} == {"normalized-cramers-v"}


def test_severity_is_that_of_the_normalized_scores_only() -> None:
    for row in SCORES:
        normal = "normalized-cramers-v" in row.metric
        assert row.severity == (severity(row.value) if normal else None)


def test_the_interval_of_a_debiased_score_is_for_the_association_and_that_of_a_plain_one_includes_the_noise() -> None:
    plain, debiased = score("normalized-cramers-v", "name x occupation"), score(DEBIASED, "name x occupation")
    assert plain.low is not None
    assert debiased.high is not None
    assert debiased.high < plain.low


def test_name_dimensions_count_listed_names_and_say_how_many_records_they_left_out() -> None:
    row = score(DEBIASED, "name x occupation")
    assert row.n == FRAME["name_category"].isin(NAMES).sum() < len(FRAME)
    assert row.n + row.n_excluded == len(FRAME)


def test_means_are_over_the_dimensions_of_the_axis() -> None:
    for metric in ("normalized-cramers-v-paper", "normalized-cramers-v", DEBIASED):
        of_axis = [
            score(metric, f"ethnicity x {social}").value
            for social in ("social class", "education", "occupation", "interest")
        ]
        assert score(f"mean-{metric}", "ethnicity").value == pytest.approx(np.mean(of_axis))
        assert score(f"mean-{metric}", "overall").value == pytest.approx(np.mean(values(metric)))
    assert "16 of 16 dimensions measurable" in score(f"mean-{DEBIASED}", "overall").method


@pytest.mark.parametrize(
    ("prefix", "metric"), [("severity-count", DEBIASED), ("severity-count-paper", "normalized-cramers-v-paper")]
)
def test_severity_counts_are_those_of_the_dimensions(prefix: str, metric: str) -> None:
    for level, count in severity_counts(values(metric)).items():
        assert score(f"{prefix}-{level.replace(' ', '-')}", "overall").value == count


def test_the_same_seed_gives_the_same_scores_and_another_seed_other_bounds() -> None:
    def again(seed: int) -> list[Score]:
        return association_scores(FRAME, WITHOUT_NAMES[:2], seed=seed, resamples=200)

    assert again(1) == again(1)
    assert [row.low for row in again(1)] != [row.low for row in again(2)]
    assert [row.value for row in again(1)] == [row.value for row in again(2)]


def test_a_dimension_that_cannot_be_measured_says_why_and_leaves_the_means() -> None:
    frame = FRAME.assign(gender_category="female")
    scores = association_scores(frame, DIMENSIONS, names=NAMES, seed=1, resamples=200)
    row = score(DEBIASED, "gender x occupation", scores)
    assert row.value is None
    assert row.severity is None
    assert row.reason == "association needs at least 2 categories on each side; the table has 1 row (female)"
    assert "12 of 16 dimensions measurable" in score(f"mean-{DEBIASED}", "overall", scores).method
    empty = score(f"mean-{DEBIASED}", "gender", scores)
    assert empty.value is None
    assert empty.reason == "none of 4 dimensions is measurable"


def test_without_a_list_of_names_name_dimensions_are_not_measured() -> None:
    scores = association_scores(FRAME, DIMENSIONS, seed=1, resamples=200)
    assert score("cramers-v", "name x interest", scores).reason.startswith("no list of names was given")


def test_without_marked_duplicates_paper_mode_is_not_measured() -> None:
    scores = association_scores(FRAME.drop(columns="duplicate"), WITHOUT_NAMES, seed=1, resamples=200)
    assert "no column 'duplicate'" in score("normalized-cramers-v-paper", "gender x interest", scores).reason
    assert score(DEBIASED, "gender x interest", scores).value == score(DEBIASED, "gender x interest").value


def test_duplicates_count_in_the_verdict_score_and_not_in_paper_mode() -> None:
    twice = pd.concat([FRAME.assign(duplicate=False), FRAME.assign(duplicate=True)], ignore_index=True)
    scores = association_scores(twice, WITHOUT_NAMES[:1], seed=1, resamples=200)
    title = WITHOUT_NAMES[0].title
    assert score("normalized-cramers-v-paper", title, scores).n == len(FRAME)
    assert score(DEBIASED, title, scores).n == 2 * len(FRAME)


def test_one_request_gives_values_without_intervals_and_no_debiased_score() -> None:
    scores = association_scores(persona_frame(1, 200, seed=3), WITHOUT_NAMES[:1], seed=1, resamples=200)
    assert score("cramers-v", WITHOUT_NAMES[0].title, scores).value is not None
    for metric in ("cramers-v", DEBIASED, "noise-floor", "design-effect"):
        row = score(metric, WITHOUT_NAMES[0].title, scores)
        assert row.low is None
        assert row.reason.startswith("all records are from one request")


def test_an_empty_frame_gives_rows_with_reasons() -> None:
    scores = association_scores(FRAME.iloc[:0], DIMENSIONS, names=NAMES, seed=1, resamples=200)
    assert len(scores) == len(SCORES)
    assert all(row.value is None and row.reason for row in scores)


def test_two_dimensions_of_one_title_are_refused() -> None:
    with pytest.raises(ValueError, match="different titles"):
        association_scores(FRAME, [WITHOUT_NAMES[0]] * 2, seed=1)
    with pytest.raises(ValueError, match="at least 100 resamples"):
        association_scores(FRAME, WITHOUT_NAMES, seed=1, resamples=10)


def test_intervals_of_an_associated_dimension_cover_the_population_value() -> None:
    dimensions = [dimension for dimension in WITHOUT_NAMES if dimension.social in ("occupation", "education")]
    population = persona_frame(8000, 20, seed=50, modes=True)
    truth = {
        row.dimension: row.value
        for row in association_scores(population, dimensions, seed=1, resamples=100)
        if row.metric == DEBIASED
    }
    covered = []
    for seed in range(25):
        scores = association_scores(persona_frame(100, 20, seed=seed, modes=True), dimensions, seed=seed, resamples=300)
        for row in scores:
            if row.metric == DEBIASED:
                true = truth[row.dimension]
                assert row.low is not None
                assert row.high is not None
                assert true is not None
                covered.append(row.low <= true <= row.high)
    # 150 intervals of nominal 95 %: 87 % is three standard errors and a half below.
    assert np.mean(covered) >= 0.87


@settings(deadline=None, max_examples=25, database=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 6), st.sampled_from(["f", "m", None]), st.sampled_from(["u", "v", "w", None]), st.booleans()
        ),
        max_size=60,
    )
)
def test_whatever_the_frame_numbers_are_finite_and_missing_ones_have_a_reason(rows: list[tuple[object, ...]]) -> None:
    frame = pd.DataFrame(rows, columns=["request", "row", "column", "duplicate"])
    dimension = BiasDimension(title="a x b", axis="a", social="b", row="row", column="column")
    for row in association_scores(frame, [dimension], seed=0, resamples=100):
        assert row.value is not None or row.reason  # NaN is refused by Score itself
        if row.metric.startswith("cramers") and row.value is not None:
            assert 0 <= row.value <= 1


def test_names_that_are_nearly_all_different_are_not_measurable_rather_than_very_high() -> None:
    """33 records over 31 names: V is near 1 for a model that draws everything at random."""
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "request": range(33),
            "name_category": [f"name {i % 31}" for i in range(33)],
            "education_level_category": generator.choice(["a", "b", "c"], 33),
        }
    )
    dimension = BiasDimension(
        title="name x education",
        axis="name",
        social="education",
        row="name_category",
        column="education_level_category",
    )
    names = [f"name {i}" for i in range(31)]
    scores = association_scores(frame, [dimension], names=names, seed=1, resamples=100)
    assert {score.value for score in scores if score.dimension == dimension.title} == {None}
    assert "33 records are spread over 31 categories" in scores[0].reason
