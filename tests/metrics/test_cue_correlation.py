"""Correlations between cues and releases: scipy, known reliabilities, and simulated cues that are the same or not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from metrics.cue_correlation import CueCorrelation, cue_correlations
from metrics.cue_ranks import bootstrap_correlations, cluster_counts, lengthened, midranks, swapped_means
from metrics.errors import BadInputError
from tests.metrics.cues import sums_of, yes_or_no

PERSONAS = ("female", "male", "non-binary")


@given(seed=st.integers(0, 10_000), levels=st.integers(1, 30))
@settings(max_examples=40)
def test_ranks_are_scipys_less_their_mean(seed: int, levels: int) -> None:
    values = np.random.default_rng(seed).integers(0, levels, (4, 17)).astype(np.float64)
    assert midranks(values) == pytest.approx(stats.rankdata(values, axis=1) - 9)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30)
def test_a_resample_correlates_as_scipy_does_on_the_rows_drawn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, cluster = rng.integers(0, 6, (24, 2)).astype(np.float64), np.arange(24) % 8
    strata = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    found = bootstrap_correlations(columns, [(0, 1)], cluster, strata, np.random.default_rng(seed), 3)
    counts = cluster_counts(np.random.default_rng(seed), strata, 3)
    assert (counts[:, :4].sum(axis=1) == 4).all()
    for value, weights in zip(found[:, 0], counts, strict=True):
        drawn = np.repeat(columns, weights[cluster].astype(int), axis=0)
        if np.ptp(drawn[:, 0]) and np.ptp(drawn[:, 1]):
            assert value == pytest.approx(stats.spearmanr(drawn).statistic, abs=1e-6)
        else:
            assert np.isnan(value)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30)
def test_a_swap_moves_variants_within_a_row_and_loses_nothing(seed: int) -> None:
    first, second = np.random.default_rng(seed).normal(size=(2, 6, 3))
    one, two = swapped_means(first, second, np.random.default_rng(seed), 64)
    assert one + two == pytest.approx(np.tile(first.mean(axis=1) + second.mean(axis=1), (64, 1)), abs=1e-6)
    # Every drawn mean is that of one of the eight ways to swap three variants, and all eight come up.
    masks = np.array(list(np.ndindex(2, 2, 2)), dtype=bool)
    choices = np.where(masks[:, None], second, first).mean(axis=2)
    nearest = np.abs(choices[:, None] - one).argmin(axis=0)
    assert np.abs(np.take_along_axis(choices, nearest, axis=0) - one).max() < 1e-6
    assert len(np.unique(nearest)) == 8


@pytest.mark.parametrize(("one", "two"), [(1, 1), (2, 3), (10, 10), (1, 19)])
def test_the_reliability_of_the_whole_comes_out_of_parts_of_any_length(one: int, two: int) -> None:
    single = 0.3  # of one variant; of k of them it is k r / (1 + (k - 1) r), and parts correlate by the root of both
    of = [k * single / (1 + (k - 1) * single) for k in (one, two, one + two)]
    assert lengthened(np.sqrt(of[0] * of[1]), (one, two)) == pytest.approx(of[2])
    assert lengthened(-0.1, (one, two)) is None


def two_cues(seed: int, *, moved: float, law: float = 0.3, questions: int = 166) -> pd.DataFrame:
    """One persona, 5 variants x 3 samples under two cues; the second cue's logits are perturbed."""
    rng = np.random.default_rng(seed)
    share = rng.beta(law, law, questions).clip(1e-6, 1 - 1e-6)
    other = 1 / (1 + np.exp(-(np.log(share / (1 - share)) + rng.normal(0, moved, questions))))
    frames = []
    for cue, chance in (("name-user", share), ("history-human", other)):
        answers = (rng.random((1, questions, 5, 3)) < chance[:, None, None]).astype(np.float64)
        frames.append(sums_of(answers, ["female"], cue=cue))
    return pd.concat(frames)


def many(moved: float, runs: int = 30) -> list[CueCorrelation]:
    frames = (two_cues(seed, moved=moved) for seed in range(runs))
    return [cue_correlations(frame, by=("overall",), resamples=50, swaps=99)[0] for frame in frames]


def mean(rows: list[CueCorrelation], field: str) -> float:
    return float(np.mean([getattr(row, field) for row in rows]))


def test_identical_cues_are_at_their_ceiling_and_the_papers_test_rejects_them_always() -> None:
    # Known from simulation: correlation .948, reliability .952, disattenuated .995.
    rows = many(0.0)
    assert mean(rows, "value") == pytest.approx(0.948, abs=0.01)
    assert mean(rows, "ceiling") == pytest.approx(mean(rows, "value"), abs=0.005)
    assert mean(rows, "disattenuated") == pytest.approx(0.995, abs=0.01)
    assert all(row.paper_differs for row in rows)
    assert np.mean([row.pvalue <= 0.05 for row in rows if row.pvalue is not None]) <= 0.2


def test_cues_that_differ_fall_below_their_ceiling() -> None:
    # Known from simulation for a perturbation of 1 logit: correlation .914, disattenuated .959, nearly always found.
    rows = many(1.0, runs=15)
    assert mean(rows, "value") == pytest.approx(0.914, abs=0.015)
    assert mean(rows, "disattenuated") == pytest.approx(0.959, abs=0.015)
    assert np.mean([row.pvalue <= 0.02 for row in rows if row.pvalue is not None]) >= 0.8


def audit(
    seed: int, *, cues: tuple[str, ...] = ("name-user", "history-human"), tasks: tuple[str, ...] = ("a", "b")
) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.concat(
        sums_of(yes_or_no(rng, questions=12), PERSONAS, task=task, cue=cue) for task in tasks for cue in cues
    )


def pivot(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    rows = [key for key in ("release", "task", "persona", "cue", "question") if key in frame and key != column]
    sums = frame.groupby([*rows, column])[["total", "n"]].sum()
    return (sums["total"] / sums["n"]).unstack(column).to_numpy()


def test_every_grouping_is_scipys_correlation_of_the_pivoted_means() -> None:
    frame = audit(1)
    rows = cue_correlations(frame, resamples=200)
    assert [(row.grouping, row.group) for row in rows] == [
        ("overall", ""), ("task", "a"), ("task", "b"),
        ("persona", "gender: female"), ("persona", "gender: male"), ("persona", "gender: non-binary"),
    ]  # fmt: skip
    cuts = [frame, frame[frame["task"] == "a"], frame[frame["task"] == "b"]]
    cuts += [frame[frame["persona"] == persona] for persona in PERSONAS]
    for row, cut in zip(rows, cuts, strict=True):
        means = pivot(cut, "cue")
        assert row.value == pytest.approx(stats.spearmanr(means.round(9)).statistic, abs=1e-6)
        assert (row.n, row.questions) == (len(means), cut.groupby(["task", "question"]).ngroups)
        assert row.low is not None
        assert row.low <= row.value <= (row.high or 0)


def test_releases_are_correlated_over_cues_as_well_and_families_are_pooled_releases() -> None:
    frames = {"one": audit(1), "two": audit(2), "three": audit(3)}
    rows = cue_correlations(frames, source="release", by=("overall", "cue"), resamples=20, swaps=9)
    assert [(row.first, row.second) for row in rows[:3]] == [("one", "three"), ("one", "two"), ("three", "two")]
    stacked = pd.concat(frame.assign(release=name) for name, frame in frames.items())
    assert rows[0].value == pytest.approx(
        stats.spearmanr(pivot(stacked, "release")[:, :2].round(9)).statistic, abs=1e-6
    )
    assert {row.group for row in rows[3:]} == {"history-human", "name-user"}


def test_cues_of_several_releases_are_correlated_together_and_by_release() -> None:
    frames = {"one": audit(1), "two": audit(2)}
    both, one, two = cue_correlations(frames, by=("overall", "release"), resamples=20, swaps=9)
    assert both.n == one.n + two.n
    assert one.value == pytest.approx(cue_correlations(frames["one"], by=("overall",), resamples=20)[0].value)


def test_unisex_names_have_no_counterpart_unless_they_are_given_one() -> None:
    frame = audit(4)
    names = frame["cue"] == "name-user"
    frame.loc[names, "persona"] = frame.loc[names, "persona"].replace("non-binary", "unisex")
    alone, paired = (
        cue_correlations(frame, by=("overall",), resamples=20, swaps=9, same=same)[0]
        for same in (None, {"unisex": "non-binary"})
    )
    assert (alone.n, alone.excluded) == (48, 48)
    assert (paired.n, paired.excluded) == (72, 0)


def test_what_cannot_be_correlated_says_why() -> None:
    flat = pd.concat(sums_of(np.ones((3, 4, 2, 2)), PERSONAS, cue=cue) for cue in ("x", "y"))
    (row,) = cue_correlations(flat, by=("overall",))
    assert (row.value, row.ceiling, row.paper_upper) == (None, None, None)
    assert "all means of one side are the same" in row.reason
    assert row.as_score().reason == row.reason
    lone = pd.concat(sums_of(yes_or_no(np.random.default_rng(1), variants=1), PERSONAS, cue=cue) for cue in ("x", "y"))
    (row,) = cue_correlations(lone, by=("overall",), resamples=20)
    assert row.disattenuated is None
    assert "needs two variants" in row.method


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"source": "model"}, "cue or release"),
        ({"by": ("cue",)}, "got cue"),
        ({"source": "release"}, "at least 2 releases with answers"),
    ],
)
def test_what_makes_no_correlation_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        cue_correlations(audit(1), **options)  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="at least one release"):
        cue_correlations({})


def test_a_correlation_its_ceiling_and_the_disattenuated_one_are_rows_of_their_own() -> None:
    found = cue_correlations(audit(5), by=("task",), resamples=50)[0]
    row, ceiling, free = found.scores()
    assert (row.metric, row.dimension, row.group) == ("spearman", "task a", "history-human - name-user")
    assert (ceiling.metric, ceiling.value, ceiling.group) == ("spearman-noise-ceiling", found.ceiling, row.group)
    assert (free.metric, free.value, free.low) == (
        "spearman-disattenuated",
        found.disattenuated,
        found.disattenuated_low,
    )
    assert row.low is not None
