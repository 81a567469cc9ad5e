"""By-group numbers: against values worked by hand, scipy's entropy, and their refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.association import BiasDimension
from metrics.groups import effective_categories, group_scores, l1_gap, top_share
from metrics.results import Score
from tests.metrics.frames import DIMENSIONS, persona_frame

GENDER = BiasDimension(title="gender x job", axis="gender", social="job", row="gender", column="job")


def frame(**jobs: str) -> pd.DataFrame:
    """Groups with one letter for each record's category, five records a request."""
    rows = [(gender, job) for gender, letters in jobs.items() for job in letters]
    return pd.DataFrame(rows, columns=["gender", "job"]).assign(request=np.arange(len(rows)) % 5)


def found(scores: list[Score], metric: str, group: str) -> Score:
    (row,) = [row for row in scores if (row.metric, row.group) == (metric, group)]
    return row


def test_gap_and_concentration_of_a_worked_table() -> None:
    scores = group_scores(frame(female="aaaaabbbcc", male="aabbbbbbbbbbbccccccc"), [GENDER], seed=1, resamples=300)
    # female 50, 30, 20 %; male 10, 55, 35 %: 40 + 25 + 15.
    assert found(scores, "l1-gap", "female - male").value == pytest.approx(80.0)
    assert found(scores, "top-1-share", "female").value == pytest.approx(0.5)
    assert found(scores, "top-2-share", "male").value == pytest.approx(0.9)
    expected = np.exp(stats.entropy([0.5, 0.3, 0.2]))
    assert found(scores, "effective-categories", "female").value == pytest.approx(expected)


def test_a_group_of_fewer_than_ten_records_is_not_measured() -> None:
    scores = group_scores(frame(female="abcabcabcabc", nonbinary="abc"), [GENDER], seed=1, resamples=300)
    for metric, group in (("l1-gap", "female - nonbinary"), ("top-1-share", "nonbinary")):
        row = found(scores, metric, group)
        assert row.value is None
        assert row.low is None
        assert row.reason == "a group needs at least 10 records; there are 3 of 'nonbinary'"
    assert found(scores, "top-1-share", "female").value == pytest.approx(1 / 3)


def test_names_have_no_group_numbers_and_every_other_pair_has_one() -> None:
    data = persona_frame(60, 20, seed=2)
    scores = group_scores(data, DIMENSIONS, seed=3, resamples=200)
    assert not [row for row in scores if row.dimension.startswith("name")]
    groups = sorted(data["ethnicity_category"].unique())
    pairs = [row.group for row in scores if (row.metric, row.dimension) == ("l1-gap", "ethnicity x interest")]
    assert pairs == [f"{first} - {second}" for first, second in itertools.combinations(groups, 2)]
    for row in scores:
        assert row.value is None or (row.low is not None and row.high is not None and row.low <= row.value <= row.high)


def test_the_chance_gap_in_the_method_is_what_equal_groups_show() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(40):
        data = pd.DataFrame(
            {"request": range(200), "gender": ["f", "m"] * 100, "job": rng.integers(0, 12, 200).astype(str)}
        )
        rows += [row for row in group_scores(data, [GENDER], seed=1, resamples=100) if row.metric == "l1-gap"]
    stated = [float(row.method.split("about ")[1].split(" ")[0]) for row in rows]
    assert np.mean([row.value for row in rows if row.value is not None]) == pytest.approx(np.mean(stated), rel=0.06)


def test_the_interval_of_a_gap_covers_what_audits_of_this_size_give_on_average() -> None:
    dimension = [DIMENSIONS[6]]
    audits = [group_scores(persona_frame(60, 20, seed=seed), dimension, seed=seed, resamples=300) for seed in range(40)]
    gaps = [[row for row in scores if row.metric == "l1-gap"] for scores in audits]
    average = np.mean([[row.value for row in scores] for scores in gaps], axis=0)
    covered = [
        row.low <= average[place] <= row.high
        for scores in gaps
        for place, row in enumerate(scores)
        if row.low is not None and row.high is not None
    ]
    assert len(covered) == 120
    assert np.mean(covered) >= 0.87


def test_one_request_gives_numbers_without_intervals() -> None:
    data = frame(female="aaaaabbbcc", male="aabbbbbbbbbcc").assign(request=1)
    for row in group_scores(data, [GENDER], seed=1, resamples=200):
        assert row.value is not None
        assert row.low is None
        assert row.reason.startswith("all records are from one request")


@settings(deadline=None, max_examples=60, database=None)
@given(st.lists(st.integers(0, 50), min_size=2, max_size=9).filter(any), st.integers(0, 1000))
def test_shares_have_bounded_gaps_and_between_one_and_all_effective_categories(counts: list[int], seed: int) -> None:
    share = np.array(counts, dtype=float) / sum(counts)
    other = np.random.default_rng(seed).permutation(share)
    assert 0 <= float(l1_gap(share, other)) <= 200 + 1e-9
    assert float(l1_gap(share, other)) == pytest.approx(float(l1_gap(other, share)))
    assert 1 - 1e-9 <= float(effective_categories(share)) <= (share > 0).sum() + 1e-9
    assert float(top_share(share, 1)) <= float(top_share(share, 2)) <= 1 + 1e-9
    assert float(effective_categories(share)) == pytest.approx(float(effective_categories(other)))


@settings(deadline=None, max_examples=25, database=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["f", "m", "n"]), st.sampled_from([*"abc"])), max_size=50))
def test_whatever_the_frame_group_numbers_are_finite_or_have_a_reason(rows: list[tuple[object, ...]]) -> None:
    data = pd.DataFrame(rows, columns=["request", "gender", "job"])
    for row in group_scores(data, [GENDER], seed=0, resamples=100):
        assert row.value is not None or row.reason
