"""Cue sums: what a frame may hold, how it is cut, and how releases are put together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.cue_table import COLUMNS, CueTable, pooled
from metrics.errors import BadInputError
from tests.metrics.cues import baseline_of, sums_of, yes_or_no

ANSWERS = np.arange(24.0).reshape(2, 3, 2, 2)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_cells_are_the_sums_of_the_answers_in_any_order_of_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    answers = np.where(rng.random((2, 3, 2, 4)) < 0.2, np.nan, rng.normal(size=(2, 3, 2, 4)))
    frame = pd.concat([sums_of(answers, ["female", "male"]), baseline_of(answers[0, :, 0])])
    table = CueTable(frame.sample(frac=1, random_state=seed))
    cells = table.cells("salary", "gender", "name-user")
    assert cells.total == pytest.approx(np.nansum(answers, axis=3))
    assert (cells.n == (~np.isnan(answers)).sum(axis=3)).all()
    baseline = table.baseline("salary")
    assert baseline is not None
    assert baseline.total[0, :, 0] == pytest.approx(np.nansum(answers[0, :, 0], axis=1))


def test_the_pooled_variance_is_that_of_the_answers_about_their_persona() -> None:
    cells = CueTable(sums_of(ANSWERS, ["female", "male"])).cells("salary", "gender", "name-user")
    about = ANSWERS - ANSWERS.mean(axis=(1, 2, 3), keepdims=True)
    assert cells.variance() == pytest.approx((about**2).sum() / (ANSWERS.size - 2))
    assert cells.of(["male"]).variance() == pytest.approx(ANSWERS[1].var(ddof=1))


def test_prompts_that_were_not_asked_are_empty() -> None:
    frame = sums_of(ANSWERS, ["female", "male"]).iloc[1:]
    cells = CueTable(frame).cells("salary", "gender", "name-user")
    assert (cells.n[0, 0, 0], cells.excluded[0, 0, 0], cells.n[0, 0, 1]) == (0, 0, 2)
    assert np.isnan(cells.means[0, 0, 0])


def changed(**values: object) -> pd.DataFrame:
    frame = sums_of(ANSWERS, ["female", "male"]).astype({"n": object, "excluded": object})
    return frame.assign(**{name: [value, *frame[name].iloc[1:]] for name, value in values.items()})


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (changed().drop(columns="n"), "no column n"),
        (changed(total=float("nan")), "'total' must hold finite numbers"),
        (changed(n=1.5), "'n' counts answers"),
        (changed(excluded=-1), "'excluded' counts answers"),
        (changed(squares=0.0), "cannot have the total"),
        (changed(axis=""), "every cue names both"),
        (changed(cue="no-persona"), "only 'no-persona' neither"),
        (pd.concat([changed(), changed()]), "a prompt must stand in one row"),
    ],
)
def test_a_frame_that_no_answers_make_is_refused(frame: pd.DataFrame, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        CueTable(frame)


def test_an_unknown_combination_or_persona_is_refused_with_the_known_ones() -> None:
    table = CueTable(sums_of(ANSWERS, ["female", "male"]))
    with pytest.raises(BadInputError, match="there are salary x gender x name-user"):
        table.cells("salary", "age", "name-user")
    with pytest.raises(BadInputError, match="its personas are female, male"):
        table.cells("salary", "gender", "name-user").of(["unisex"])


def test_an_empty_frame_has_no_combinations() -> None:
    assert CueTable(pd.DataFrame(columns=COLUMNS)).combinations == ()


def test_pooled_releases_count_the_same_however_many_answers_they_have() -> None:
    many, few = (
        sums_of(yes_or_no(np.random.default_rng(seed), samples=n), ["a", "b", "c"]) for seed, n in ((1, 9), (2, 1))
    )
    means = (many["total"] / many["n"] + few["total"] / few["n"]) / 2
    both, added = pooled([many, few]), pooled([many, few], weights="answers")
    assert (both["total"] / both["n"]).to_numpy() == pytest.approx(means.to_numpy())
    assert added["total"].sum() == many["total"].sum() + few["total"].sum()


def test_a_prompt_that_one_release_did_not_answer_is_missing_from_the_pool() -> None:
    answers = ANSWERS.copy()
    answers[0, 0, 0] = np.nan
    both = pooled([sums_of(ANSWERS, ["female", "male"]), sums_of(answers, ["female", "male"])])
    first = both.iloc[0]
    assert (first["n"], first["excluded"]) == (0, 4)
    assert both["n"].sum() + both["excluded"].sum() == 2 * ANSWERS.size


def test_pooling_needs_a_release_and_a_known_weight() -> None:
    with pytest.raises(BadInputError, match="at least one release"):
        pooled([])
    with pytest.raises(BadInputError, match="'releases' or by 'answers'"):
        pooled([sums_of(ANSWERS, ["female", "male"])], weights="tokens")
