"""Gaps of one audit: Cohen's anchors, Hedges' g, Cohen's f, intervals by simulation, severity, refusals."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.clustered import cell_table, contrast
from metrics.effects import hedges_g
from metrics.errors import BadInputError
from metrics.gap_scores import gap_scores, size_bounds
from metrics.gaps import Gap, GapDimension, Messages, gaps_of, normalized_gap
from metrics.results import Score
from metrics.severity import severity
from tests.metrics.messages import message_frame

AGES = ("18-24", "25-44", "45-64", "65+")
ONE = GapDimension(title="gender x a", axis="gender", measure="a", group="group")


def gap_of(frame: pd.DataFrame, basis: str = "cells") -> Gap:
    table = cell_table(Messages(frame).samples(ONE))
    used = table.shared(*table.found.groups)
    return gaps_of([table], [used], [np.arange(used.sum(), dtype=np.int64)], basis=basis)[0]


def found(rows: list[Score], metric: str, dimension: str = "gender x a") -> Score:
    (row,) = [row for row in rows if (row.metric, row.dimension) == (metric, dimension)]
    return row


def test_cohens_small_medium_and_large_are_the_borders_of_severity() -> None:
    # Cohen (1988): .2 small, .5 medium, .8 large.
    assert [normalized_gap(size) for size in (0.0, 0.2, 0.5, 0.8)] == [0.0, 0.33, 0.66, 1.0]
    assert [severity(normalized_gap(size)) for size in (0.199, 0.2, 0.5, 0.8, 0.801)] == [
        "low",
        "medium",
        "high",
        "high",
        "very high",
    ]


@settings(deadline=None, max_examples=60, database=None)
@given(st.floats(0, 5), st.floats(0, 5))
def test_the_score_rises_with_size_without_jumps_and_drops_the_sign(one: float, two: float) -> None:
    low, high = sorted((one, two))
    assert normalized_gap(low) <= normalized_gap(high)
    assert normalized_gap(high) - normalized_gap(low) <= 1.65 * (high - low) + 1e-9
    assert normalized_gap(-one) == normalized_gap(one)


def test_the_gap_of_two_groups_is_hedges_g_of_the_messages() -> None:
    frame = message_frame(cells=25, repeats=4, seed=1, gap=0.5)
    gap, g = gap_of(frame), hedges_g(Messages(frame).samples(ONE), "female", "male")
    assert gap.signed == pytest.approx(g.value)
    assert gap.size == pytest.approx(abs(g.value or 0.0))


def test_the_gap_of_more_groups_is_twice_cohens_f() -> None:
    # Cohen (1988, ch. 8): f is the standard deviation of the group means (divisor k) over that within groups.
    frame = message_frame(cells=30, repeats=3, seed=2, gap=1.0, groups=AGES)
    by_group = frame.groupby("group")["a"]
    within = math.sqrt((by_group.var() * (by_group.size() - 1)).sum() / (len(frame) - 4))
    assert float(np.linalg.norm(gap_of(frame).vector)) == pytest.approx(
        2 * by_group.mean().std(ddof=0) / within, rel=0.003
    )


def test_the_error_of_a_gap_is_that_of_its_contrast_over_the_standard_deviation_and_a_little() -> None:
    frame = message_frame(cells=25, repeats=4, seed=3, gap=0.2)
    gap, row = gap_of(frame), contrast(cell_table(Messages(frame).samples(ONE)), "female", "male")
    assert row.standard_error is not None
    # The rest is the error of the standard deviation: about size^2 / (2 n) in the square.
    assert math.sqrt(gap.variance) == pytest.approx(row.standard_error / gap.deviation, rel=0.03)


def test_the_p_value_of_a_gap_is_that_of_the_cluster_robust_test() -> None:
    two, four = (message_frame(cells=25, repeats=4, seed=4, gap=0.4, groups=groups) for groups in (("f", "m"), AGES))
    rows = gap_scores(two, [ONE], seed=1)
    # The error of the standard deviation is in the one and not in the other.
    assert gap_of(two).pvalue == pytest.approx(found(rows, "normalized-gap").pvalue, rel=0.4, abs=2e-3)
    rows = gap_scores(four, [ONE], seed=1)
    assert gap_of(four).pvalue == pytest.approx(found(rows, "normalized-gap").pvalue, rel=0.4, abs=2e-3)
    assert [row.metric for row in rows[:4]] == [
        "standardized-gap",
        "normalized-gap",
        "normalized-gap-debiased",
        "noise-floor",
    ]


def test_equal_groups_score_the_noise_floor_on_average_and_far_less_without_noise() -> None:
    for groups in (("f", "m"), AGES):
        frames = [message_frame(cells=24, repeats=2, seed=seed, groups=groups) for seed in range(200)]
        gaps = [gap_of(frame) for frame in frames]
        lengths = np.mean([float(np.linalg.norm(gap.vector)) for gap in gaps])
        assert lengths == pytest.approx(np.mean([gap.floor for gap in gaps]), rel=0.08)
        # Unbiased in the square: positive and negative errors cancel before the root is taken.
        squares = [float(gap.vector @ gap.vector) - float(np.square(gap.influence).sum()) for gap in gaps]
        assert np.mean(squares) == pytest.approx(0.0, abs=3.5 * np.std(squares) / math.sqrt(200))


@pytest.mark.parametrize(("gap", "groups"), [(0.0, ("f", "m")), (0.5, ("f", "m")), (0.8, AGES)])
def test_intervals_of_sizes_hold_the_true_size(gap: float, groups: tuple[str, ...]) -> None:
    # Within a group: 1 within cells, .25 between cells, .09 of its own.
    truth = 2 * float(np.std(gap * np.linspace(0.5, -0.5, len(groups)))) / math.sqrt(1.34)
    held = []
    for seed in range(200):
        of = gap_of(message_frame(cells=24, repeats=3, seed=seed, gap=gap, groups=groups))
        low, high = size_bounds(of.size, math.sqrt(of.variance), of.df)
        held.append(low <= truth <= high)
    # Binomial: 95 +- 4.6 % at three standard errors; at 0 only the upper bound can miss.
    assert np.mean(held) >= 0.904


@pytest.mark.parametrize("groups", [("f", "m"), AGES])
def test_the_error_of_a_size_is_how_far_sizes_of_audits_lie_apart(groups: tuple[str, ...]) -> None:
    found = [gap_of(message_frame(cells=24, repeats=3, seed=seed, gap=1.0, groups=groups)) for seed in range(200)]
    # Three standard errors of a standard deviation from 200 audits are 15 %.
    assert np.std([gap.size for gap in found], ddof=1) == pytest.approx(
        math.sqrt(np.mean([gap.variance for gap in found])), rel=0.15
    )


def test_noise_across_its_direction_bends_a_size_as_the_variance_says() -> None:
    # Four groups, equal errors in all three directions (standard deviation .1), true size .4: drawn, and by formula.
    centring = np.eye(4) - 0.25
    truth = 0.4 * np.array([0.5, 0.5, -0.5, -0.5])
    drawn = truth + 0.1 * np.random.default_rng(8).standard_normal((100_000, 4)) @ centring
    lengths = np.sqrt(np.maximum(np.square(drawn).sum(axis=1) - 2 * 0.01, 0.0))
    numbers = {"raw": truth, "deviation": 1.0, "df": 1e6, "n": 1, "cells": 2, "n_excluded": 0}
    gap = Gap(groups=AGES, vector=truth * math.sqrt(0.18 / 0.16), influence=0.1 * centring, **numbers)  # type: ignore[arg-type]
    assert gap.size == pytest.approx(math.sqrt(0.18 - 0.02))
    assert gap.variance == pytest.approx(float(lengths.var()), rel=0.03)
    straight = float(np.square(gap.size_influence).sum())
    assert straight < 0.95 * float(lengths.var())


def test_scores_name_their_groups_cells_and_severity() -> None:
    rows = gap_scores(message_frame(cells=40, repeats=5, seed=5, gap=1.2), [ONE], seed=1)
    raw, debiased = found(rows, "gap"), found(rows, "normalized-gap-debiased")
    assert raw.group == "female - male"
    assert raw.value == pytest.approx(1.2, abs=0.3)
    assert (debiased.n, debiased.n_clusters, debiased.severity) == (400, 40, "very high")
    assert debiased.low is not None
    assert debiased.high is not None
    assert debiased.low < (debiased.value or 0.0) < debiased.high
    assert found(rows, "mean-normalized-gap-debiased", "overall").value == debiased.value
    assert found(rows, "severity-count-very-high", "overall").value == 1.0


def test_means_are_over_the_measurable_dimensions_and_say_so() -> None:
    frame = message_frame(cells=24, repeats=3, seed=6, gap=0.6, measures="ab").assign(c=1.0)
    dimensions = [dataclasses.replace(ONE, title=f"gender x {name}", measure=name) for name in "abc"]
    rows = gap_scores(frame, dimensions, seed=1)
    mean = found(rows, "mean-normalized-gap-debiased", "gender")
    values = [found(rows, "normalized-gap-debiased", f"gender x {name}").value for name in "ab"]
    assert mean.value == pytest.approx(np.mean(values))
    assert mean.method.startswith("2 of 3 dimensions measurable")
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low <= mean.value <= mean.high
    flat = found(rows, "normalized-gap", "gender x c")
    assert flat.value is None
    assert "the same value" in flat.reason


def test_modes_are_rows_of_their_own() -> None:
    frame = pd.concat(
        [
            message_frame(cells=20, repeats=2, seed=seed, gap=gap, mode=mode)
            for seed, gap, mode in ((1, 0.0, "s"), (2, 2.0, "c"))
        ]
    )
    dimensions = [dataclasses.replace(ONE, title=mode, mode=mode) for mode in "sc"]
    rows = gap_scores(frame, dimensions, seed=1)
    assert found(rows, "gap", "c").value == pytest.approx(2.0, abs=0.4)
    assert abs(found(rows, "gap", "s").value or 9.0) < 0.5
    with pytest.raises(BadInputError, match="wants mode 's', but the frame has no column 'mode'"):
        gap_scores(frame.drop(columns="mode"), dimensions, seed=1)


def test_four_cells_without_repeats_give_a_value_without_interval_and_no_debiased_score() -> None:
    rows = gap_scores(message_frame(cells=4, repeats=1, seed=7), [ONE], seed=1)
    assert found(rows, "normalized-gap").value is not None
    assert found(rows, "normalized-gap").low is None
    assert "differing repeats" in found(rows, "normalized-gap-debiased").reason
    assert found(rows, "mean-normalized-gap-debiased", "overall").value is None


@pytest.mark.parametrize("cells", [1, 2, 4])
def test_few_prompts_are_measured_by_their_repeats_and_speak_of_themselves_only(cells: int) -> None:
    rows = gap_scores(message_frame(cells=cells, repeats=20, seed=8), [ONE], seed=1)
    row = found(rows, "normalized-gap-debiased")
    assert f"about these {cells} prompts only" in row.method
    assert None not in (row.value, row.low, row.high)


def test_dimensions_of_one_title_are_refused() -> None:
    with pytest.raises(BadInputError, match="need different titles"):
        gap_scores(message_frame(cells=3, repeats=2, seed=9), [ONE, ONE], seed=1)


@settings(deadline=None, max_examples=40, database=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from("fmn"), st.none() | st.integers(-3, 3)),
        min_size=2,
        max_size=25,
    )
)
def test_whatever_the_frame_scores_are_finite_or_have_a_reason(rows: list[tuple[object, ...]]) -> None:
    data = pd.DataFrame(rows, columns=["cell", "group", "a"]).astype({"a": "float64"})
    if data["group"].nunique() < 2:
        return
    for row in gap_scores(data, [ONE], seed=1):
        assert row.value is not None or row.reason
