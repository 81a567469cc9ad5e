"""Two releases: verdicts on planted changes, reversals, pairing, coverage of messages, symmetry, refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.errors import BadInputError
from metrics.gap_comparison import compare_gaps
from metrics.gap_scores import gap_scores
from metrics.gaps import GapDimension, normalized_gap
from metrics.policy import Policy
from metrics.results import Comparison
from metrics.verdicts import release_verdict
from tests.metrics.messages import message_frame

QUICK = Policy(multipliers=999)
ONE = GapDimension(title="gender x a", axis="gender", measure="a", group="group")
AGES = ("18-24", "25-44", "45-64", "65+")


def releases(
    first: float,
    second: float,
    *,
    cells: int = 40,
    repeats: int = 8,
    same: float = 0.8,
    groups: tuple[str, ...] = ("f", "m"),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two releases with the same prompts and the given gaps."""
    previous, current = (
        message_frame(cells=cells, repeats=repeats, seed=seed, gap=gap, same=same, design=3, groups=groups)
        for seed, gap in ((1, first), (2, second))
    )
    return previous, current


def compared(previous: pd.DataFrame, current: pd.DataFrame, policy: Policy = QUICK) -> Comparison:
    (row,) = compare_gaps(previous, current, [ONE], policy=policy)
    return row


def test_a_gap_that_grew_has_regressed_and_one_that_shrank_has_improved() -> None:
    worse, better = compared(*releases(0.1, 0.9)), compared(*releases(0.9, 0.1))
    assert (worse.verdict, better.verdict) == ("regressed", "improved")
    assert worse.delta is not None
    assert worse.delta > 0.5
    assert "; f minus m: " in worse.why
    assert worse.qvalue_up is not None
    assert worse.qvalue_up <= 0.05


def test_a_gap_on_the_other_side_that_is_larger_has_regressed_and_says_that_it_turned() -> None:
    row = compared(*releases(0.4, -1.2))
    assert row.verdict == "regressed"
    assert "DIRECTION REVERSED: higher for f before, for m now" in row.why


def test_a_gap_of_the_same_size_on_the_other_side_is_not_unchanged() -> None:
    wide = Policy(multipliers=999, margin=0.5)
    kept, turned = compared(*releases(0.8, 0.8), wide), compared(*releases(0.8, -0.8), wide)
    assert kept.verdict == "unchanged"
    assert turned.verdict == "inconclusive"
    assert turned.why.startswith("as large as before, but not the same")
    assert "DIRECTION REVERSED" in turned.why


def test_an_unchanged_release_of_enough_messages_is_unchanged() -> None:
    row = compared(*releases(0.3, 0.3, cells=200, repeats=30, same=0.95))
    assert row.verdict == "unchanged"
    assert row.margin_low is not None
    assert row.margin_high is not None
    assert -0.1 < row.margin_low <= row.margin_high < 0.1


def test_far_from_zero_the_test_is_the_paired_t_test_of_the_cells_changes() -> None:
    previous, current = releases(1.0, 1.3, cells=30)
    changes = [
        frame.groupby(["cell", "group"])["a"].mean().unstack().pipe(lambda means: means["f"] - means["m"])
        for frame in (previous, current)
    ]
    expected = stats.ttest_1samp(changes[1] - changes[0], 0.0)
    row = compared(previous, current)
    # The common standard deviation cancels but for its own error.
    assert row.pvalue == pytest.approx(expected.pvalue, rel=0.15)


def test_releases_are_paired_by_cell_where_they_share_cells() -> None:
    previous, current = releases(0.6, 0.6, same=0.95, repeats=40)
    apart = current.assign(cell="other " + current["cell"])
    paired, unpaired = compared(previous, current), compared(previous, apart)
    assert "not paired" in unpaired.why
    widths = [row.high - row.low for row in (paired, unpaired) if row.high is not None and row.low is not None]
    assert widths[0] < 0.75 * widths[1]


def test_cells_of_one_release_only_are_left_out_of_a_paired_comparison() -> None:
    previous, current = releases(0.6, 0.6)
    row = compared(previous, current[current["cell"] < "cell 030"])
    assert (row.clusters_previous, row.clusters_current) == (30, 30)
    assert "10 prompt cells of one release only" in row.why


def test_a_release_that_merely_varies_less_has_not_changed() -> None:
    # All deviations from the group's mean are halved: g doubles in the current release alone, the raw gap does not.
    previous, current = releases(0.6, 0.6, cells=60, repeats=12)
    centre = current.groupby("group")["a"].transform("mean")
    current["a"] = centre + (current["a"] - centre) / 2
    row, alone = compared(previous, current), gap_scores(current, [ONE], seed=1)[2]
    assert row.verdict != "regressed"
    assert row.delta is not None
    assert abs(row.delta) < 0.25
    assert alone.value is not None
    assert row.current is not None
    assert alone.value > 1.3 * row.current


def test_more_than_two_groups_are_judged_by_the_spread_of_their_means() -> None:
    row = compared(*releases(0.1, 1.6, groups=AGES))
    assert row.verdict == "regressed"
    assert "lowest to highest group" in row.why
    assert "65+" in row.why.split("before, ")[1]


def test_numbers_are_on_one_scale_and_hang_together() -> None:
    row = compared(*releases(0.2, 0.5))
    assert row.previous is not None
    assert row.current is not None
    assert row.delta == pytest.approx(row.current - row.previous)
    assert None not in (row.low, row.margin_low, row.margin_high, row.high)
    assert row.low <= row.margin_low <= row.delta <= row.margin_high <= row.high  # type: ignore[operator]
    assert row.smallest_change is not None
    assert 0 < row.smallest_change < 1
    assert row.metric == "normalized-gap-debiased"
    assert (row.n_previous, row.clusters_previous) == (640, 40)


def test_a_family_of_measures_is_adjusted_together() -> None:
    frames = [
        message_frame(cells=40, repeats=4, seed=seed, gap=gap, measures="abcd", design=3)
        for seed, gap in ((1, 0.5), (2, 0.9))
    ]
    dimensions = [dataclasses.replace(ONE, title=name, measure=name) for name in "abcd"]
    rows = compare_gaps(*frames, dimensions, policy=QUICK)
    assert [row.dimension for row in rows] == [*"abcd"]
    for row in rows:
        (alone,) = compare_gaps(*frames, [dimensions["abcd".index(row.dimension)]], policy=QUICK)
        assert alone.pvalue == row.pvalue
        assert alone.qvalue is not None
        assert row.qvalue is not None
        assert row.qvalue >= alone.qvalue - 0.03


@pytest.mark.parametrize(
    ("change", "reason", "lost"),
    [
        (lambda frame: frame[frame["group"] == "f"], "current release: no message to m", True),
        (
            lambda frame: frame.assign(a=frame["a"].where(np.arange(len(frame)) % 4 == 0)),
            "25 % of the messages have a number",
            True,
        ),
        (
            lambda frame: frame.assign(a=frame["a"].where(np.arange(len(frame)) % 4 > 0)),
            "more than 10 points apart",
            True,
        ),
        (lambda frame: frame.assign(a=np.nan), "no prompt cell has a message with a number of every group", True),
    ],
)
def test_what_cannot_be_measured_any_more_says_why_and_leaves_the_release_open(
    change: object, reason: str, lost: bool
) -> None:
    previous, current = releases(0.5, 0.5)
    row = compared(previous, change(current))  # type: ignore[operator]
    assert row.verdict == "not measurable"
    assert reason in row.why
    assert (row.previous is not None) == lost
    assert row.current is None
    assert release_verdict([row])[0] == "not measurable"
    other = dataclasses.replace(compared(previous, current), verdict="unchanged", why="the same")
    assert release_verdict([row, other])[0] == ("inconclusive" if lost else "unchanged")


def test_twelve_prompt_cells_are_measured_and_give_no_verdict() -> None:
    row = compared(*releases(0.1, 2.0, cells=12, repeats=20))
    assert (row.verdict, row.clusters_current) == ("inconclusive", 12)
    assert row.why.startswith("12 prompt cells are too few to speak of other prompts than these: a verdict needs 20")
    assert row.delta is not None


def test_two_prompts_of_many_repeats_give_a_verdict_about_these_prompts_only() -> None:
    row = compared(*releases(0.1, 2.0, cells=2, repeats=100))
    assert (row.verdict, row.clusters_current) == ("regressed", 2)
    assert "about these 2 prompts only" in row.why
    few = compared(*releases(0.1, 2.0, cells=2, repeats=4))
    assert (few.verdict, "a verdict needs 20 messages" in few.why) == ("inconclusive", True)


def test_two_prompts_without_repeats_say_nothing_of_how_much_messages_vary() -> None:
    row = compared(*releases(0.1, 2.0, cells=2, repeats=1))
    assert row.verdict == "not measurable"


@pytest.mark.slow
def test_few_of_200_unchanged_releases_of_two_prompts_are_called_worse() -> None:
    def drawn(seed: int) -> pd.DataFrame:
        return message_frame(cells=2, repeats=40, seed=seed, gap=0.2, design=3, same=1.0)

    worse = [compared(drawn(2 * n + 100), drawn(2 * n + 101)).verdict == "regressed" for n in range(200)]
    assert sum(worse) <= 18  # 5 % of 200 and three standard deviations


def test_releases_with_the_same_gap_in_every_prompt_cell_are_unchanged() -> None:
    previous, _ = releases(0.5, 0.5)
    row = compared(previous, previous)
    assert (row.verdict, row.delta, row.low, row.high) == ("unchanged", 0.0, 0.0, 0.0)
    assert row.previous == row.current
    assert row.previous == pytest.approx(compared(*releases(0.5, 0.5)).previous, rel=0.1)
    assert row.why.startswith("the gap is the same in every prompt cell of both releases")
    shifted = previous.assign(a=previous["a"] + 3.0)
    assert compared(previous, shifted).verdict == "unchanged"


def test_the_same_gap_on_the_other_side_or_in_few_cells_is_not_called_unchanged() -> None:
    previous, _ = releases(0.5, 0.5)
    turned = previous.assign(group=previous["group"].map({"f": "m", "m": "f"}))
    assert compared(previous, turned).verdict != "unchanged"
    few, _ = releases(0.5, 0.5, cells=8)
    row = compared(few, few)
    assert row.verdict == "inconclusive"
    assert "nothing has changed there" in row.why


def test_prompt_cells_that_are_all_alike_in_both_releases_are_unchanged_too() -> None:
    previous, _ = releases(0.5, 0.5)
    number = previous.groupby(["cell", "group"]).cumcount()
    alike = previous.assign(a=number + 0.5 * (previous["group"] == "f"))
    assert compared(alike, alike).verdict == "unchanged"


def test_messages_that_did_not_come_can_undo_an_improvement() -> None:
    previous, current = releases(0.7, 0.45, cells=60, repeats=30)
    assert compared(previous, current).verdict == "improved"
    # Nine of a hundred messages to one group are missing: at an extreme they could have made the gap as large as before.
    lost = (current["group"] == "f") & (np.arange(len(current)) % 11 < 2)
    row = compared(previous, current.assign(a=current["a"].where(~lost)))
    assert row.verdict == "inconclusive"
    assert "the messages that did not come could undo it" in row.why


def test_messages_that_were_asked_for_and_are_not_in_the_frame_count_as_missing() -> None:
    previous, current = releases(0.5, 0.5)
    (row,) = compare_gaps(previous, current, [ONE], policy=QUICK, asked=({"": 640}, {"": 800}))
    assert row.verdict == "not measurable"
    assert "100 % of the messages have a number in the previous and 80 %" in row.why


def test_missing_columns_and_equal_titles_are_refused() -> None:
    previous, current = releases(0.5, 0.5, cells=20, repeats=2)
    with pytest.raises(BadInputError, match="no column b"):
        compare_gaps(previous, current, [dataclasses.replace(ONE, measure="b")])
    with pytest.raises(BadInputError, match="no column age"):
        compare_gaps(previous, current, [dataclasses.replace(ONE, group="age")])
    with pytest.raises(BadInputError, match="need different titles"):
        compare_gaps(previous, current, [ONE, ONE])


@settings(deadline=None, max_examples=25, database=None)
@given(st.integers(0, 10_000), st.floats(-1, 1), st.floats(-1, 1), st.sampled_from([("f", "m"), AGES]))
def test_exchanged_releases_exchange_the_sign_and_units_do_not_matter(
    seed: int, first: float, second: float, groups: tuple[str, ...]
) -> None:
    frames = [
        message_frame(cells=20, repeats=2, seed=seed + place, gap=gap, groups=groups, design=seed)
        for place, gap in enumerate((first, second))
    ]
    row, turned = compared(*frames), compared(frames[1], frames[0])
    scaled = compared(*(frame.assign(a=7 - 100 * frame["a"]) for frame in frames))
    assert row.delta is not None
    assert row.statistic is not None
    assert turned.delta == pytest.approx(-row.delta)
    assert turned.statistic == pytest.approx(-row.statistic)
    assert scaled.delta == pytest.approx(row.delta)
    assert scaled.statistic == pytest.approx(row.statistic)
    assert normalized_gap(0.0) <= (row.previous or 0.0)


@settings(deadline=None, max_examples=30, database=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("pc"), st.sampled_from("xyz"), st.sampled_from("fm"), st.none() | st.integers(-3, 3)),
        min_size=2,
        max_size=30,
    )
)
def test_whatever_the_frames_every_row_has_a_verdict_and_a_reason(rows: list[tuple[object, ...]]) -> None:
    data = pd.DataFrame(rows, columns=["release", "cell", "group", "a"]).astype({"a": "float64"})
    frames = [data[data["release"] == name] for name in "pc"]
    row = compared(*frames, Policy(multipliers=999, fewest_clusters=2))
    assert row.why
    assert row.verdict == "not measurable" or row.delta is not None
