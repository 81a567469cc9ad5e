"""Context-rich against standalone gaps: Welch's formula on cell contrasts, planted amplification, few prompts, refusals."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from metrics.amplification import amplification
from metrics.errors import BadInputError
from metrics.gaps import GapDimension
from tests.metrics.messages import message_frame

ONE = GapDimension(title="gender x a", axis="gender", measure="a", group="group")
AGES = ("18-24", "25-44", "45-64", "65+")


def differences(frame: pd.DataFrame) -> pd.Series:
    means = frame.groupby(["cell", "group"])["a"].mean().unstack()
    return means["female"] - means["male"]


def test_the_signed_difference_is_welchs_t_of_the_cells_differences() -> None:
    rich, alone = (
        message_frame(cells=40, repeats=3, seed=1, gap=0.8),
        message_frame(cells=25, repeats=3, seed=2, gap=0.2),
    )
    expected = stats.ttest_ind(differences(rich), differences(alone), equal_var=False)
    interval = expected.confidence_interval()
    (row,) = amplification(rich, alone, [ONE])
    assert row.signed is not None
    assert row.signed.statistic == pytest.approx(expected.statistic)
    assert row.signed.df == pytest.approx(expected.df)
    assert row.signed.pvalue == pytest.approx(expected.pvalue)
    assert (row.signed.low, row.signed.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert (row.signed.n, row.signed.clusters) == (390, 65)


def test_a_gap_that_context_turns_round_and_leaves_as_large_is_not_amplified_in_size() -> None:
    rich, alone = (
        message_frame(cells=60, repeats=5, seed=5, gap=0.8),
        message_frame(cells=60, repeats=5, seed=6, gap=-0.8),
    )
    (row,) = amplification(rich, alone, [ONE])
    assert row.signed is not None
    assert row.signed.pvalue is not None
    assert row.signed.pvalue < 1e-6
    assert row.size.low is not None
    assert row.size.high is not None
    assert row.size.low < 0 < row.size.high


def test_more_than_two_groups_have_a_size_only() -> None:
    rich, alone = (
        message_frame(cells=40, repeats=4, seed=seed, gap=gap, groups=AGES) for seed, gap in ((1, 1.6), (2, 0.2))
    )
    (row,) = amplification(rich, alone, [ONE])
    assert row.signed is None
    assert row.size.value is not None
    assert row.size.value > 0.3
    assert row.size.pvalue is not None
    assert row.size.pvalue < 0.05


def test_two_standalone_prompts_tell_little_about_others_and_more_about_themselves() -> None:
    rich, alone = (
        message_frame(cells=50, repeats=5, seed=1, gap=0.5),
        message_frame(cells=2, repeats=40, seed=2, gap=0.5),
    )
    by_cells, by_repeats = (amplification(rich, alone, [ONE], basis=basis)[0] for basis in ("cells", "repeats"))
    assert by_cells.size.reason.startswith("standalone: 2 prompt cells are too few")
    assert by_repeats.size.reason == ""
    for name in ("signed", "size"):
        wide, narrow = getattr(by_cells, name), getattr(by_repeats, name)
        assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
        # The debiased size takes off the variance that its interval is made from.
        assert wide.value == pytest.approx(narrow.value, abs=0.02)


def test_intervals_from_repeats_hold_the_difference_of_these_very_prompts() -> None:
    # Cells have gaps of their own; those of each frame are known only through its messages, so they are switched off here.
    held = []
    for seed in range(100):
        rich, alone = (
            message_frame(cells=6, repeats=6, seed=2 * seed + place, gap=gap, uneven=0.0)
            for place, gap in enumerate((0.6, 0.2))
        )
        (row,) = amplification(rich, alone, [ONE], basis="repeats")
        assert row.signed is not None
        held.append((row.signed.low or 0.0) <= 0.4 <= (row.signed.high or 0.0))
    # Binomial: 95 +- 6.5 % at three standard errors.
    assert np.mean(held) >= 0.885


def test_a_single_cell_or_a_constant_mode_says_why_there_is_no_interval() -> None:
    rich, alone = message_frame(cells=10, repeats=3, seed=1), message_frame(cells=1, repeats=9, seed=2)
    (row,) = amplification(rich, alone, [ONE])
    assert row.signed is not None
    assert row.signed.value is not None
    assert row.signed.low is None
    assert "one prompt cell" in row.signed.reason
    assert row.size.value is None
    assert "a mode has one prompt cell" in row.size.reason
    (flat,) = amplification(rich.assign(a=1.0), alone.assign(a=1.0), [ONE])
    assert "the same value" in flat.size.reason


def test_a_mode_without_numbers_is_not_measured() -> None:
    rich, alone = (
        message_frame(cells=10, repeats=3, seed=1),
        message_frame(cells=10, repeats=3, seed=2).assign(a=math.nan),
    )
    (row,) = amplification(rich, alone, [ONE])
    assert row.signed is not None
    assert row.signed.value is None
    assert row.size.value is None
    assert row.size.n_excluded == 60


def test_an_unknown_basis_and_a_missing_group_are_refused() -> None:
    rich, alone = message_frame(cells=5, repeats=3, seed=1), message_frame(cells=5, repeats=3, seed=2)
    with pytest.raises(BadInputError, match="the basis cells or repeats, got 'prompts'"):
        amplification(rich, alone, [ONE], basis="prompts")
    with pytest.raises(BadInputError, match="has no group male"):
        amplification(rich, alone[alone["group"] == "female"], [ONE])
    with pytest.raises(BadInputError, match="no column b"):
        amplification(rich, alone, [dataclasses.replace(ONE, measure="b")])
