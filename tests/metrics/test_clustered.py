"""Cluster-robust contrasts: against paired tests of scipy and statsmodels, size and coverage by simulation, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multivariate import test_mvmean as mean_test

from metrics.clustered import cell_table, contrast, few_cells, group_mean, joint_test, normal_scores, pairwise
from metrics.errors import BadInputError
from metrics.group_tests import welch
from metrics.samples import Samples, samples
from tests.metrics.messages import message_frame

AGES = ("18-24", "25-44", "45-64", "65+")


def read(frame: pd.DataFrame) -> Samples:
    return samples(frame, "a", group="group")


def cell_means(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.groupby(["cell", "group"])["a"].mean().unstack()


def test_a_contrast_is_the_paired_t_test_of_the_cells_means() -> None:
    frame = message_frame(cells=17, repeats=4, seed=1, gap=0.3)
    means = cell_means(frame)
    expected = stats.ttest_rel(means["female"], means["male"])
    interval = expected.confidence_interval()
    row = contrast(cell_table(read(frame)), "female", "male")
    assert row.statistic == pytest.approx(expected.statistic)
    assert row.pvalue == pytest.approx(expected.pvalue)
    assert (row.low, row.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert (row.n, row.clusters, row.df) == (136, 17, 16.0)


def test_a_cell_with_many_messages_counts_as_much_as_one_with_few() -> None:
    # Cell x: 1 - 3 = -2; cell y: mean of (4, 4, 4, 0) - 1 = 2. Their mean is 0, whatever the number of messages.
    frame = pd.DataFrame(
        {"a": [1.0, 3.0, 4.0, 4.0, 4.0, 0.0, 1.0], "group": [*"fmffffm"], "cell": [*"xxyyyyy"]},
    )
    row = contrast(cell_table(read(frame)), "f", "m")
    assert row.value == 0.0
    # Their standard deviation is sqrt(8); over the root of 2 it is 2, and t with 1 df at 97.5 % is 12.706.
    assert row.standard_error == pytest.approx(2.0)
    assert row.high == pytest.approx(12.706 * 2, abs=0.01)


def test_a_cell_without_a_group_is_left_out_of_its_contrasts_only_and_counted() -> None:
    frame = message_frame(cells=12, repeats=2, seed=2, groups=AGES)
    gone = (frame["cell"] == "cell 000") & (frame["group"] == "65+")
    rows = {row.groups: row for row in pairwise(cell_table(read(frame[~gone])), seed=1)}
    assert rows["18-24", "25-44"].clusters == 12
    assert rows["18-24", "65+"].clusters == 11
    assert "1 cells without a message of each group left out" in rows["18-24", "65+"].method
    assert rows["18-24", "65+"].n_excluded == 2


def test_the_joint_test_is_hotellings_of_statsmodels() -> None:
    frame = message_frame(cells=20, repeats=3, seed=3, gap=0.4, groups=AGES)
    means = cell_means(frame)
    differences = means[list(AGES[:-1])].sub(means[AGES[-1]], axis=0).to_numpy()
    expected = mean_test(differences, np.zeros(3))
    row = joint_test(cell_table(read(frame)))
    assert row.statistic == pytest.approx(expected.statistic)
    assert row.pvalue == pytest.approx(expected.pvalue)
    assert (row.df, row.df_error) == (3.0, 17.0)


def test_the_joint_test_of_two_groups_is_the_square_of_t() -> None:
    table = cell_table(read(message_frame(cells=9, repeats=2, seed=4)))
    row, t = joint_test(table), contrast(table, "female", "male")
    assert t.statistic is not None
    assert row.statistic == pytest.approx(t.statistic**2)
    assert row.pvalue == pytest.approx(t.pvalue)


def test_the_mean_of_a_group_is_that_of_its_cells_with_a_t_interval() -> None:
    frame = message_frame(cells=10, repeats=3, seed=5)
    means = cell_means(frame)["male"]
    interval = stats.ttest_1samp(means, 0.0).confidence_interval()
    row = group_mean(cell_table(read(frame)), "male")
    assert row.value == pytest.approx(means.mean())
    assert (row.low, row.high) == (pytest.approx(interval.low), pytest.approx(interval.high))


def test_an_interval_from_repeats_is_that_of_a_stratified_mean() -> None:
    frame = message_frame(cells=4, repeats=6, seed=6)
    within = frame.groupby(["cell", "group"])["a"].var().groupby("group").mean()
    row = contrast(cell_table(read(frame)), "female", "male", basis="repeats")
    # Every cell has 6 messages: variance of the mean of 4 cell means is s^2 / 24 for each group.
    assert row.standard_error == pytest.approx(np.sqrt(within.sum() / 24))
    assert row.df is not None
    assert 20 < row.df <= 40
    assert "about these 4 prompts only" in row.method


def test_two_cells_give_an_interval_that_says_how_little_they_tell() -> None:
    row = contrast(cell_table(read(message_frame(cells=2, repeats=50, seed=7))), "female", "male")
    assert row.df == 1.0
    assert row.standard_error is not None
    assert row.low is not None
    assert row.value is not None
    assert row.value - row.low == pytest.approx(12.706 * row.standard_error, rel=1e-4)
    assert row.reason == "2 prompt cells are too few to speak of other prompts than these: a verdict needs 20"


def test_the_smallest_number_of_cells_is_the_callers_policy() -> None:
    table = cell_table(read(message_frame(cells=6, repeats=2, seed=8)))
    assert contrast(table, "female", "male", fewest=6).reason == ""
    assert "a verdict needs 7" in contrast(table, "female", "male", fewest=7).reason
    assert few_cells(20) == ""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"a": [1.0, 2.0], "group": [*"fm"], "cell": [*"xx"]}, "all messages are from one prompt cell"),
        (
            {"a": [1.0, 2.0], "group": [*"fm"], "cell": [*"xy"]},
            "no prompt cell has a message with a number of f and of m",
        ),
        ({"a": [1.0, 2.0, 3.0, 4.0], "group": [*"fmfm"], "cell": [*"xxyy"]}, "all 2 cells show the same number"),
    ],
)
def test_what_cells_cannot_tell_has_no_interval_and_a_reason(data: dict[str, list[object]], reason: str) -> None:
    table = cell_table(read(pd.DataFrame(data)))
    row = contrast(table, "f", "m")
    assert row.low is None
    assert reason in row.reason
    assert pairwise(table, seed=1) == [row]
    assert joint_test(table).value is None


def test_an_unknown_basis_is_refused() -> None:
    table = cell_table(read(message_frame(cells=3, repeats=2, seed=9)))
    with pytest.raises(BadInputError, match="the basis cells or repeats, got 'messages'"):
        contrast(table, "female", "male", basis="messages")


def test_messages_without_repeats_have_no_interval_from_repeats() -> None:
    row = contrast(cell_table(read(message_frame(cells=5, repeats=1, seed=9))), "female", "male", basis="repeats")
    assert row.low is None
    assert "no group varies within a cell" in row.reason


def test_adjusted_p_values_lie_between_the_single_ones_and_bonferronis() -> None:
    rows = pairwise(cell_table(read(message_frame(cells=30, repeats=3, seed=10, gap=0.6, groups=AGES))), seed=1)
    assert len(rows) == 6
    for row in rows:
        assert row.pvalue is not None
        assert row.qvalue is not None
        # Four standard errors of a probability from 4,999 draws.
        slack = 4 * np.sqrt(max(row.qvalue * (1 - row.qvalue), 1e-3) / 4999)
        assert row.pvalue - slack <= row.qvalue <= min(6 * row.pvalue, 1.0) + slack


def test_few_cells_are_adjusted_by_holm() -> None:
    rows = pairwise(cell_table(read(message_frame(cells=8, repeats=3, seed=11, groups=AGES))), seed=1)
    pvalues = sorted(row.pvalue for row in rows if row.pvalue is not None)
    smallest = min(rows, key=lambda row: row.pvalue or 1.0)
    assert smallest.qvalue == pytest.approx(min(6 * pvalues[0], 1.0))
    assert "q by Holm over 6 pairs" in smallest.method


def test_normal_scores_keep_tail_probabilities_far_out() -> None:
    t = np.array([-8.0, -1.0, 0.0, 2.5, 300.0])
    found = normal_scores(t, 12.0)
    assert stats.norm.sf(np.abs(found)) == pytest.approx(stats.t.sf(np.abs(t), 12), rel=1e-6)
    assert np.isfinite(normal_scores(np.array([1e9]), 500.0)).all()


@settings(deadline=None, max_examples=40, database=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from("fm"), st.integers(-4, 4)),
        min_size=2,
        max_size=25,
    )
)
def test_whatever_the_cells_a_contrast_is_finite_or_has_a_reason(rows: list[tuple[str, str, int]]) -> None:
    data = pd.DataFrame(rows, columns=["cell", "group", "a"]).astype({"a": "float64"})
    if data["group"].nunique() < 2:
        return
    table = cell_table(read(data))
    for basis in ("cells", "repeats"):
        row, turned = contrast(table, "f", "m", basis=basis), contrast(table, "m", "f", basis=basis)
        assert row.n + row.n_excluded == len(data)
        assert row.value is None or turned.value == pytest.approx(-row.value)
        assert row.low is not None or row.reason


def rejections(runs: int, cells: int, repeats: int, groups: tuple[str, ...] = ("female", "male")) -> dict[str, float]:
    """Share of simulated audits without a gap that are called different, and share of intervals that hold 0."""
    found = {"cells": 0, "held": 0, "welch": 0, "joint": 0, "family": 0}
    for seed in range(runs):
        read_frame = read(message_frame(cells=cells, repeats=repeats, seed=seed, uneven=0.5, groups=groups))
        table = cell_table(read_frame)
        row = contrast(table, groups[0], groups[1])
        assert row.pvalue is not None
        assert row.low is not None
        assert row.high is not None
        found["cells"] += row.pvalue <= 0.05
        found["held"] += row.low <= 0 <= row.high
        found["welch"] += (welch(read_frame, groups[0], groups[1]).pvalue or 1.0) <= 0.05
        found["joint"] += (joint_test(table).pvalue or 1.0) <= 0.05
        found["family"] += min(row.qvalue or 1.0 for row in pairwise(table, seed=1, draws=999)) <= 0.05
    return {name: count / runs for name, count in found.items()}


@pytest.mark.slow
def test_cells_hold_the_level_where_messages_taken_as_independent_do_not() -> None:
    found = rejections(200, cells=10, repeats=12)
    # Binomial: 5 +- 4.6 % at three standard errors of 200 audits.
    assert found["cells"] <= 0.096
    assert found["held"] >= 0.904
    assert found["welch"] >= 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "repeats"), list(itertools.product((6, 20, 55), (1, 5))))
def test_size_is_5_and_coverage_95_percent_in_2000_audits(cells: int, repeats: int) -> None:
    found = rejections(2000, cells=cells, repeats=repeats, groups=AGES)
    print(f"{cells} cells, {repeats} repeats: {found}")
    for name in ("cells", "joint"):
        assert 0.033 <= found[name] <= 0.067
    # Below 20 cells Holm's adjustment, which is careful.
    assert (0.033 if cells >= 20 else 0.015) <= found["family"] <= 0.067
    assert 0.933 <= found["held"] <= 0.967
