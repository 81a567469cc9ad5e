"""What an audit of messages can show: calculated, and then seen in simulated audits."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.gap_comparison import compare_gaps
from metrics.gap_power import (
    FROM_PILOT,
    WANTED_CHANGE,
    WITHOUT_PILOT,
    Candidate,
    GapPilot,
    ModeSize,
    assumed_gaps,
    critical_gap,
    measured_gaps,
    planned_gaps,
    rise_of,
)
from metrics.gap_watch import watched_gaps
from metrics.gaps import GapDimension, normalized_gap
from metrics.policy import Policy
from tests.metrics.messages import message_frame

ONE = GapDimension(title="gender x a", axis="gender", measure="a", group="group")
QUICK = Policy(multipliers=999, resamples=100)
KEPT, CHANGED = FROM_PILOT
REPEATS = [
    Candidate(prompts=50, repeats=n, size=ModeSize(messages=100 * n, cells=50)) for n in (*range(1, 20), 100, 1000)
]


def planned(pilots, size, designs=REPEATS, *, change=WANTED_CHANGE, policy=QUICK, assumption=CHANGED):
    return planned_gaps(pilots, {"": size}, {"": designs}, change=change, policy=policy, assumption=assumption)


def test_the_planned_rise_is_shown_in_about_four_of_five_simulated_comparisons():
    # The plan's own claim (80 % power) held against audits that are compared as releases are. Messages vary by 1 within
    # a cell and group, cells by 0.5 and groups in them by 0.3: by 1.16 in all, which is the unit of a planned rise.
    pilot = message_frame(cells=40, repeats=4, seed=1, gap=0.3, design=3, same=1.0)
    (row,) = planned(measured_gaps(pilot, [ONE]), ModeSize(messages=len(pilot), cells=40), assumption=KEPT)
    rise, shown = row.detectable_v * math.sqrt(1 + 0.5**2 + 0.3**2), 0
    for number in range(60):
        one = message_frame(cells=40, repeats=4, seed=100 + 2 * number, gap=0.3, design=3, same=1.0)
        other = message_frame(cells=40, repeats=4, seed=101 + 2 * number, gap=0.3 + rise, design=3, same=1.0)
        (found,) = compare_gaps(one, other, [ONE], policy=QUICK)
        shown += found.qvalue_up is not None and found.qvalue_up <= QUICK.alpha
    assert 39 <= shown <= 57  # planned for 48 of 60, within three standard deviations of such a count


def test_the_default_change_is_from_no_gap_to_one_that_cohen_calls_small():
    assert rise_of(0.0, WANTED_CHANGE) == pytest.approx(0.2)  # Cohen 1988, ch. 2
    assert rise_of(0.0, Policy().smallest_change) == pytest.approx(0.0303, abs=1e-4)


def test_four_times_as_many_cells_show_half_the_rise():
    pilot = GapPilot(title="a", between=0.1, within=4.0)
    sizes = [ModeSize(messages=400 * n, cells=40 * n) for n in (1, 4)]
    rises = [planned([pilot], size)[0].detectable_v for size in sizes]
    assert rises[0] == pytest.approx(2 * rises[1], rel=0.03)  # but for Student's t in place of the normal


def test_repeats_stop_helping_where_prompts_change_their_gaps_and_do_not_where_they_keep_them():
    pilot = GapPilot(title="a", size=0.5, between=0.2, within=4.0)
    sizes = [ModeSize(messages=100 * n, cells=50) for n in (10, 1000)]
    changed, kept = ([planned([pilot], size, assumption=one)[0] for size in sizes] for one in (CHANGED, KEPT))
    assert kept[1].detectable_v < 0.2 * kept[0].detectable_v
    assert changed[1].detectable_v > 0.6 * changed[0].detectable_v
    assert [row.detectable_v <= other.detectable_v for row, other in zip(kept, changed, strict=True)] == [True, True]


def test_the_smallest_design_shows_the_wanted_change_and_the_one_before_it_does_not():
    pilot = GapPilot(title="a", within=4.0)
    (row,) = planned([pilot], ModeSize(messages=500, cells=50), change=0.5)
    place = next(at for at, one in enumerate(REPEATS) if one.size.messages == row.size_for_change)
    reached = [planned([pilot], REPEATS[at].size, change=0.5)[0].detectable for at in (place - 1, place)]
    assert reached[1] <= 0.5 < reached[0]
    assert (row.prompts, row.repeats, row.at_most) == (50, REPEATS[place].repeats, None)


def test_where_no_design_shows_the_change_the_largest_says_how_far_it_reaches():
    (row,) = planned([GapPilot(title="a", between=0.2, within=4.0)], ModeSize(messages=500, cells=50), change=0.05)
    assert (row.prompts, row.repeats, row.size_for_change) == (None, None, None)
    (largest,) = planned([GapPilot(title="a", between=0.2, within=4.0)], REPEATS[-1].size, change=0.05)
    assert row.at_most == pytest.approx(largest.detectable)
    assert row.at_most > 0.05


@settings(deadline=None, max_examples=30)
@given(size=st.floats(0, 3), between=st.floats(0, 1), within=st.floats(0.5, 9), kept=st.sampled_from([KEPT, CHANGED]))
def test_what_is_planned_is_finite_and_a_larger_gap_is_planned_from_its_own_score(size, between, within, kept):
    pilot = GapPilot(title="a", size=size, between=between, within=within)
    (row,) = planned([pilot], ModeSize(messages=900, cells=50), assumption=kept)
    assert row.score == pytest.approx(normalized_gap(size))
    assert 0 < row.detectable < 20
    assert 0 <= row.chance_shown <= 1
    assert 0 <= row.chance_unchanged <= 1
    assert (row.size_for_change is None) == (row.at_most is not None)


def test_a_design_of_too_few_prompts_gives_no_verdict_whatever_it_shows():
    pilot = GapPilot(title="a", within=4.0)
    (row,) = planned([pilot], ModeSize(messages=400, cells=15))
    assert (row.detectable, row.reason) == (None, "a verdict needs 20 prompt cells, and this design asks 15")
    assert row.size_for_change is not None
    (few,) = planned([pilot], ModeSize(messages=400, cells=2))  # about these two prompts only
    assert few.detectable is not None
    (none,) = planned([pilot], ModeSize(messages=16, cells=2))
    assert none.reason == "a verdict needs 20 messages, and this design asks 16"


def test_without_a_pilot_the_variance_is_that_of_independent_messages():
    # Two groups of n / 2 messages each: the difference of their means has variance 1 / (n / 2) + 1 / (n / 2) = 4 / n.
    pilots = [assumed_gaps([ONE], one)[0] for one in WITHOUT_PILOT]
    size = ModeSize(messages=400, cells=20)
    assert pilots[0].variances(size, WITHOUT_PILOT[0]) == (0.0, pytest.approx(4 / 400))
    assert pilots[1].variances(size, WITHOUT_PILOT[1]) == (pytest.approx(0.3**2 / 20), pytest.approx(4 / 400))


def test_a_pilot_tells_how_prompts_differ_from_how_messages_do():
    # By construction: gaps of cells vary by 2 x 0.3^2 and messages of a cell and group by 1, in units of 1.34.
    pilots = [measured_gaps(message_frame(cells=400, repeats=6, seed=seed), [ONE])[0] for seed in range(16)]
    assert sum(pilot.between for pilot in pilots) / 16 == pytest.approx(2 * 0.3**2 / 1.34, rel=0.15)
    assert sum(pilot.within for pilot in pilots) / 16 == pytest.approx(4 / 1.34, rel=0.03)
    assert all(pilot.apart for pilot in pilots)


def test_one_message_of_a_group_in_each_prompt_leaves_both_open():
    (pilot,) = measured_gaps(message_frame(cells=40, repeats=1, seed=4), [ONE])
    size = ModeSize(messages=80, cells=40)
    assert not pilot.apart
    assert pilot.variances(size, KEPT) == (0.0, pytest.approx(pilot.variances(size, CHANGED)[0]))
    rows = [planned([pilot], size, assumption=one)[0] for one in FROM_PILOT]
    assert rows[0].size_for_change is not None  # more messages help if prompts keep their gaps
    assert rows[1].size_for_change is None


def test_more_dimensions_ask_for_a_larger_statistic():
    assert critical_gap(1, 0.05) < critical_gap(6, 0.05) < critical_gap(24, 0.05)


def test_a_pilot_without_one_of_the_groups_is_said_and_planned_without():
    frame = message_frame(cells=5, repeats=2, seed=2)
    pilots = measured_gaps(frame[frame["group"] == "f"], [ONE])
    (row,) = planned(pilots, ModeSize(messages=20, cells=5))
    assert (row.detectable, row.score, row.reason) == (None, None, "a group has no usable message in the pilot")


def test_a_comparison_says_which_change_it_could_have_shown_also_where_it_gives_no_verdict():
    for cells, verdict in ((40, None), (8, "inconclusive")):
        frames = [message_frame(cells=cells, repeats=4, seed=seed, gap=0.3) for seed in (1, 2)]
        (row,) = compare_gaps(*frames, [ONE], policy=QUICK)
        assert row.smallest_change > 0
        assert verdict in (None, row.verdict)
        (pilot,) = measured_gaps(frames[0], [ONE])
        (plan,) = planned([pilot], ModeSize(messages=len(frames[0]), cells=40), assumption=CHANGED)
        if cells == 40:
            assert row.smallest_change == pytest.approx(plan.detectable, rel=0.35)


def test_the_squared_size_that_a_watch_sees_is_right_on_average_and_so_is_its_variance():
    truth = 0.5**2
    found = [
        watched_gaps(message_frame(cells=30, repeats=4, seed=seed, gap=0.5, design=3, same=1.0), [ONE])[0]
        for seed in range(150)
    ]
    estimates = [row.estimate for row in found]
    mean = sum(estimates) / len(estimates)
    spread = sum((one - mean) ** 2 for one in estimates) / (len(estimates) - 1)
    assert mean == pytest.approx(truth, abs=0.1)
    assert (
        0.5 < sum(row.variance for row in found) / len(found) / spread < 3.0
    )  # fixed prompts: the variance is on the safe side


def test_what_cannot_be_watched_says_why():
    frame = message_frame(cells=5, repeats=2, seed=2)
    (row,) = watched_gaps(frame[frame["group"] == "f"], [ONE])
    assert (row.estimate, row.reason) == (None, "a group has no usable message")
