"""What a watch's baseline counts: one vocabulary and scale for all later audits."""

from __future__ import annotations

import pandas as pd
import pytest

from metrics.baseline import BaselineVocabulary, baseline_vocabularies, watched_estimates
from metrics.contingency import association
from metrics.tables import clustered_table
from tests.metrics.frames import WITHOUT_NAMES, persona_frame

FRAMES = [persona_frame(60, 20, seed=seed) for seed in range(3)]
VOCABULARY = baseline_vocabularies(FRAMES, WITHOUT_NAMES, names=(), merge_below=10)


def test_without_rare_categories_the_estimate_is_the_jackknifed_v_squared_of_the_table() -> None:
    frame = persona_frame(60, 20, seed=9)
    for dimension, found in zip(
        WITHOUT_NAMES, watched_estimates(frame, WITHOUT_NAMES, VOCABULARY, names=()), strict=True
    ):
        table = clustered_table(frame, dimension.row, dimension.column)
        if set(table.rows) == set(VOCABULARY[dimension.title].rows) and set(table.columns) == set(
            VOCABULARY[dimension.title].columns
        ):
            expected = association(table)
            assert found.estimate == pytest.approx(expected.v_squared_jackknife)
            assert found.variance == pytest.approx(expected.jackknife_variance)


def test_a_category_that_the_baseline_has_too_few_of_does_not_change_the_scale() -> None:
    frame = persona_frame(60, 20, seed=9)
    odd = frame.copy()
    odd.loc[odd.index[:3], "gender_category"] = "a gender that the baseline never saw"
    before = watched_estimates(frame, WITHOUT_NAMES, VOCABULARY, names=())
    after = watched_estimates(odd, WITHOUT_NAMES, VOCABULARY, names=())
    for one, other in zip(before, after, strict=True):
        assert one.estimate is not None
        assert other.estimate == pytest.approx(one.estimate, abs=0.02)
        assert other.n >= one.n - 3


def test_rare_categories_of_the_baseline_are_one() -> None:
    frame = FRAMES[0].copy()
    frame.loc[frame.index[:6], "gender_category"] = "rare one"
    frame.loc[frame.index[6:12], "gender_category"] = "rare two"
    (gender, *_) = [d for d in WITHOUT_NAMES if d.axis == "gender"]
    rows = baseline_vocabularies([frame], [gender], names=(), merge_below=10)[gender.title].rows
    assert "other" in rows
    assert not {"rare one", "rare two"} & set(rows)


def test_a_vocabulary_survives_storage() -> None:
    for vocabulary in VOCABULARY.values():
        assert BaselineVocabulary.from_json(vocabulary.as_json()) == vocabulary


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (FRAMES[0].assign(gender_category=FRAMES[0]["gender_category"].iloc[0]), "the table has 1 row"),
        (FRAMES[0].assign(request=0), "all records are from one request"),
        (FRAMES[0].head(8), "at least 10 records"),
    ],
)
def test_what_cannot_be_measured_has_its_reason(frame: pd.DataFrame, words: str) -> None:
    (gender, *_) = [d for d in WITHOUT_NAMES if d.axis == "gender"]
    (found,) = watched_estimates(frame, [gender], VOCABULARY, names=())
    assert found.estimate is None
    assert words in found.reason
