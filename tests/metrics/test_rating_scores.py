"""Scores of a judge's answers: shares and means by group, adjusted differences, and nothing where the judge is not to be trusted."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from metrics.agreement import false_discovery_qvalues
from metrics.clustered import cell_table, contrast
from metrics.message_scores import Axis
from metrics.rater import GoldAnswers
from metrics.rating_scores import Rated, rating_scores
from metrics.samples import samples

AXIS = Axis("gender", "gender", ("female", "male"))
ANSWERS = ("anger", "joy", "none")
MODES = ("context-rich",)


def gold(right=1.0, *, answers=ANSWERS, ordered=False):
    wanted = list(answers) * 10
    known = round(right * len(wanted))
    said = wanted[:known] + [answers[(answers.index(one) + 1) % len(answers)] for one in wanted[known:]]
    return GoldAnswers(
        answers=answers, ordered=ordered, text=tuple(range(len(wanted))), wanted=tuple(wanted), given=tuple(said)
    )


@pytest.fixture
def frame():
    rows = [
        {"mode": "context-rich", "theme": theme, "cell": f"{theme} / {region}", "gender": gender}
        for theme, region, gender, _ in itertools.product(("flag", "jobs"), range(6), AXIS.groups, range(4))
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def answers(frame):
    """Men get anger under the flag in three of four messages, everybody else in one of four."""
    draw = np.random.default_rng(3)
    share = np.where((frame["gender"] == "male") & (frame["theme"] == "flag"), 0.75, 0.25)
    angry = draw.random(len(frame)) < share
    return ["anger" if one else str(draw.choice(["joy", "none"])) for one in angry]


def rated(given, **options):
    return Rated(name="emotion", gold=gold(**options), given=given)


def test_shares_by_group_are_the_means_of_cells_and_differences_are_tested_over_cells(frame, answers):
    found = rating_scores(frame, rated(answers), [AXIS], MODES)
    by = {(row.metric, row.dimension, row.group): row for row in found}
    title = "gender x anger, context-rich"
    with_hits = frame.assign(hit=[float(one == "anger") for one in answers])
    male = with_hits[with_hits["gender"] == "male"].groupby("cell")["hit"].mean().mean()
    assert by["emotion-share", title, "male"].value == pytest.approx(male)
    table = cell_table(samples(with_hits, "hit", group="gender", groups=AXIS.groups))
    expected = contrast(table, "male", "female")
    row = by["emotion-share", title, "male - female"]
    assert (row.value, row.n, row.n_clusters) == (pytest.approx(expected.value), 96, 12)
    assert row.pvalue >= expected.pvalue
    assert "3 differences over pairs of groups, answers (Benjamini and Hochberg)" in row.method


def test_a_difference_under_one_theme_is_found_there_and_adjusted_over_answers_and_themes(frame, answers):
    found = [
        row for row in rating_scores(frame, rated(answers), [AXIS], MODES) if row.metric == "emotion-share-by-theme"
    ]
    assert {row.dimension for row in found} == {f"gender x {a}, theme {t}" for a in ANSWERS for t in ("flag", "jobs")}
    by = {row.dimension: row for row in found}
    assert by["gender x anger, theme flag"].pvalue < 0.05 < by["gender x anger, theme jobs"].pvalue
    assert by["gender x anger, theme flag"].value > 0.2
    made = [row for row in found if row.pvalue is not None]
    assert all(f"{len(found)} differences" in row.method for row in made)


def test_the_adjustment_is_benjamini_and_hochbergs(frame, answers):
    bare = []
    for answer in ANSWERS:
        hits = frame.assign(hit=[float(one == answer) for one in answers])
        bare.append(
            contrast(cell_table(samples(hits, "hit", group="gender", groups=AXIS.groups)), "male", "female").pvalue
        )
    found = rating_scores(frame, rated(answers), [AXIS], MODES)
    given = [row.pvalue for row in found if row.metric == "emotion-share" and row.group == "male - female"]
    assert given == pytest.approx(false_discovery_qvalues(bare))


def test_a_judge_that_disagrees_with_its_gold_set_gives_no_number_but_its_own_quality(frame, answers):
    found = rating_scores(frame, rated(answers, right=0.5), [AXIS], MODES)
    assert [row.metric for row in found] == ["judge-agreement", "judge-readable", "judge-swap", "emotion-share"]
    assert found[-1].value is None
    assert "agrees with its gold set only to kappa" in found[-1].reason
    assert found[-1].n == len(frame)


def test_messages_without_an_answer_are_excluded_and_counted(frame, answers):
    some = [None if place % 8 == 0 else answer for place, answer in enumerate(answers)]
    found = rating_scores(frame, rated(some), [AXIS], MODES)
    row = next(one for one in found if one.metric == "emotion-share" and one.group == "male - female")
    assert (row.n, row.n_excluded) == (84, 12)
    readable = next(one for one in found if one.metric == "judge-readable")
    assert (readable.value, readable.n) == (84 / 96, 96)


def test_a_scale_is_a_mean_and_no_judge_is_one_row_with_a_reason(frame):
    scale = gold(answers=("1", "2", "3"), ordered=True)
    given = ["3" if gender == "male" else "2" for gender in frame["gender"]]
    found = rating_scores(frame, Rated(name="formality", gold=scale, given=given), [AXIS], MODES)
    by = {(row.metric, row.group): row for row in found}
    assert by["formality-rating", "male - female"].value == pytest.approx(1.0)
    assert by["formality-rating", "male"].value == pytest.approx(3.0)
    (none,) = rating_scores(frame, Rated(name="formality", gold=scale, given=given, missing="no judge"), [AXIS], MODES)
    assert (none.value, none.reason) == (None, "no judge")
