"""Rank intervals: worked by hand, against Tukey's range, and how often they hold the true ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.errors import BadInputError
from metrics.rank import rank_intervals


def ranks(estimates, errors, **options):
    found = rank_intervals(np.array(estimates, dtype=float), np.array(errors, dtype=float), **options)
    return [(one.rank, one.low, one.high) for one in found]


def test_an_example_worked_by_hand() -> None:
    # Pair errors are sqrt(2): statistics .71, 7.07, 6.36. Three equal errors: Tukey's q(.95; 3, inf) = 3.314, and
    # 3.314 / sqrt(2) = 2.34. The last is told from both others, these not from each other.
    assert ranks([0, 1, 10], [1, 1, 1]) == [(1, 1, 2), (2, 1, 2), (3, 3, 3)]
    # Errors 3 and 4: the pair error is 5, and 2 competitors need 1.96 of it, 9.8.
    assert ranks([0, 9.3], [3, 4]) == [(1, 1, 2), (2, 1, 2)]
    assert ranks([0, 10.3], [3, 4]) == [(1, 1, 1), (2, 2, 2)]


@pytest.mark.parametrize("count", [2, 3, 6, 12])
def test_with_equal_errors_the_first_round_is_tukeys_range(count) -> None:
    # J. W. Tukey (1953): all pairs of k means; q(.95; k, inf) / sqrt(2) pair errors. Only the ends are apart here,
    # so the first round decides.
    critical = stats.studentized_range.ppf(0.95, count, np.inf)
    for factor, apart in ((0.96, False), (1.04, True)):
        estimates = np.zeros(count)
        estimates[0] = -critical * factor / 2
        estimates[-1] = critical * factor / 2
        first, *_, last = rank_intervals(estimates, np.ones(count), draws=40_000)
        assert (first.high == count - 1, last.low == 2) == (apart, apart)


def test_a_pair_that_may_not_be_told_apart_keeps_its_order_open() -> None:
    estimates, errors = [0, 50, 100], [1, 1, 1]
    comparable = np.ones((3, 3), dtype=bool)
    comparable[0, 2] = comparable[2, 0] = False
    assert ranks(estimates, errors, comparable=comparable) == [(1, 1, 2), (2, 2, 2), (3, 2, 3)]
    assert ranks(estimates, errors, comparable=np.zeros((3, 3), dtype=bool)) == [(1, 1, 3), (2, 1, 3), (3, 1, 3)]


def test_one_competitor_is_first_and_equal_ones_share_their_rank() -> None:
    assert ranks([0.4], [0.1]) == [(1, 1, 1)]
    assert ranks([0.4, 0.4, 0.9], [0.01] * 3) == [(1, 1, 2), (1, 1, 2), (3, 3, 3)]


def test_later_rounds_tell_apart_what_the_first_alone_does_not() -> None:
    # Many that are far off first leave the family; then one close pair is decided by a smaller critical value.
    far = [100 * number for number in range(1, 11)]
    single = stats.studentized_range.ppf(0.95, 12, np.inf) / np.sqrt(2)
    gap = 0.97 * single * np.sqrt(2)
    first, second, *_ = rank_intervals(np.array([0, gap, *far]), np.ones(12), draws=20_000)
    assert (first.high, second.low) == (1, 2)


@settings(deadline=None, max_examples=60, database=None)
@given(
    st.lists(st.tuples(st.floats(-2, 2), st.floats(0.01, 1)), min_size=1, max_size=9),
    st.integers(0, 3),
)
def test_every_interval_holds_the_plain_rank_and_stays_within_the_field(pairs, seed) -> None:
    estimates, errors = np.array(pairs).round(3).T
    found = rank_intervals(estimates, errors, draws=300, seed=seed)
    assert all(1 <= one.low <= one.rank <= one.high <= len(pairs) for one in found)
    moved = rank_intervals(estimates * 3 + 5, errors * 3, draws=300, seed=seed)
    assert [one.rank for one in moved] == [one.rank for one in found]
    backwards = rank_intervals(estimates[::-1], errors[::-1], draws=300, seed=seed)
    assert [one.rank for one in backwards[::-1]] == [one.rank for one in found]


@pytest.mark.parametrize(
    ("truth", "errors"),
    [
        ([0.3] * 5, [0.02] * 5),
        ([0.30, 0.32, 0.34, 0.36, 0.38], [0.02, 0.01, 0.03, 0.02, 0.01]),
        ([0.3, 0.3, 0.3, 0.5, 0.5, 0.9], [0.02, 0.05, 0.01, 0.02, 0.05, 0.03]),
    ],
)
def test_all_intervals_together_hold_the_true_ranks_as_often_as_they_say(truth, errors) -> None:
    rng = np.random.default_rng(3)
    true = np.array(truth)
    fewest = 1 + (true[:, None] > true).sum(axis=1)
    most = true.size - (true[:, None] < true).sum(axis=1)
    rounds = 1200
    held = 0
    for _ in range(rounds):
        seen = true + rng.standard_normal(true.size) * errors
        found = rank_intervals(seen, np.array(errors), draws=999, seed=int(rng.integers(2**31)))
        held += all(one.low <= low and high <= one.high for one, low, high in zip(found, fewest, most, strict=True))
    assert held / rounds >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / rounds)


@pytest.mark.parametrize(
    ("estimates", "errors", "options", "says"),
    [
        ([1, 2], [1], {}, "shapes"),
        ([], [], {}, "at least one"),
        ([1, float("nan")], [1, 1], {}, "finite"),
        ([1, 2], [1, 0], {}, "above 0"),
        ([1, 2], [1, 1], {"level": 95}, "probability"),
        ([1, 2], [1, 1], {"draws": 10}, "draws"),
        ([1, 2], [1, 1], {"comparable": np.triu(np.ones((2, 2), dtype=bool))}, "symmetric"),
    ],
)
def test_what_cannot_be_ranked_is_refused(estimates, errors, options, says) -> None:
    with pytest.raises(BadInputError, match=says):
        ranks(estimates, errors, **options)
