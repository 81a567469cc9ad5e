"""What an audit of messages can show: calculated, and then seen in simulated audits."""

from __future__ import annotations

import pytest

from metrics.gap_comparison import compare_gaps
from metrics.gap_power import GapPilot, ModeSize, assumed_gaps, critical_gap, measured_gaps, planned_gaps
from metrics.gap_watch import watched_gaps
from metrics.gaps import GapDimension
from metrics.policy import Policy
from tests.metrics.messages import message_frame

ONE = GapDimension(title="gender x a", axis="gender", measure="a", group="group")
QUICK = Policy(multipliers=999, resamples=100)


def test_the_planned_rise_is_shown_in_about_four_of_five_simulated_comparisons():
    # The plan's own claim (80 % power) held against audits that are compared as releases are.
    pilot = message_frame(cells=40, repeats=4, seed=1, gap=0.3, design=3, same=1.0)
    (row,) = planned_gaps(
        measured_gaps(pilot, [ONE], {"": ModeSize(messages=len(pilot), cells=40)}),
        size=len(pilot),
        change=0.2,
        policy=QUICK,
    )
    shown = 0
    for number in range(60):
        one = message_frame(cells=40, repeats=4, seed=100 + 2 * number, gap=0.3, design=3, same=1.0)
        other = message_frame(
            cells=40, repeats=4, seed=101 + 2 * number, gap=0.3 + row.detectable_v, design=3, same=1.0
        )
        (found,) = compare_gaps(one, other, [ONE], policy=QUICK)
        shown += found.qvalue_up is not None and found.qvalue_up <= QUICK.alpha
    assert shown >= 39  # planned for 48 of 60, less three standard deviations of such a count; 42 were seen


def test_four_times_as_many_cells_show_half_the_rise():
    pilots = [GapPilot(title="a", variance=0.04 / n, counted=100 * n) for n in (1, 4)]
    rows = [planned_gaps([pilot], size=pilot.counted, change=0.33, policy=QUICK)[0] for pilot in pilots]
    assert rows[0].detectable_v == pytest.approx(2 * rows[1].detectable_v)
    assert rows[0].size_for_change == pytest.approx(rows[1].size_for_change, abs=1)


def test_without_a_pilot_the_variance_is_that_of_independent_messages():
    # Two groups of n / 2 messages each: the difference of their means has variance 1 / (n / 2) + 1 / (n / 2) = 4 / n.
    (pilot,) = assumed_gaps([ONE], {"": ModeSize(messages=400, cells=20)}, 2.0)
    assert pilot.variance == pytest.approx(2 * 4 / 400)


def test_more_dimensions_ask_for_a_larger_statistic():
    assert critical_gap(1, 0.05) < critical_gap(6, 0.05) < critical_gap(24, 0.05)


def test_a_pilot_without_one_of_the_groups_is_said_and_planned_without():
    frame = message_frame(cells=5, repeats=2, seed=2)
    (pilot,) = measured_gaps(frame[frame["group"] == "f"], [ONE], {"": ModeSize(messages=20, cells=5)})
    (row,) = planned_gaps([pilot], size=20, change=0.3, policy=QUICK)
    assert (row.detectable, row.reason) == (None, "a group has no usable message in the pilot")


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
