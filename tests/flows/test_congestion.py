"""The law of the adaptive limit: additive increase, one fall for a burst, latency as a signal, rates by the minute."""

import bisect
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.congestion import Bucket, Latency, Limit, Signals, moved

AGES = st.none() | st.floats(0, 100)


# The rules ------------------------------------------------------------------------------------------------------------


@given(
    ceiling=st.integers(1, 500),
    events=st.lists(st.tuples(st.floats(0, 30), st.integers(0, 50), AGES, AGES), max_size=60),
)
def test_the_limit_is_never_above_the_ceiling_and_never_below_one(ceiling, events):
    limit, now = Limit(value=min(4.0, ceiling)), 0.0
    for passed_s, answers, refused, slow in events:
        now += passed_s
        before = limit
        limit = moved(limit, Signals(answers=answers, refused_s_ago=refused, slow_s_ago=slow), now=now, ceiling=ceiling)
        assert 1.0 <= limit.value <= ceiling
        if refused is None and slow is None:
            assert limit.value >= before.value, "only a signal lowers it"


@given(burst=st.integers(1, 64), before=st.floats(1, 64))
def test_a_burst_of_refusals_is_one_fall_however_many_calls_it_met(burst, before):
    limit = Limit(value=before)
    for number in range(burst):
        now = 5.0 + number / 1000
        limit = moved(limit, Signals(refused_s_ago=now - 4.0), now=now, ceiling=64)  # all began at second 4
    assert limit.value == pytest.approx(max(1.0, before * 0.7))


@given(storm=st.integers(5, 40), ceiling=st.integers(4, 64))
def test_after_a_storm_the_limit_recovers_by_one_in_the_time_of_a_call(storm, ceiling):
    limit, now = Limit(value=float(ceiling)), 0.0
    for _ in range(storm):
        now += 1
        limit = moved(limit, Signals(refused_s_ago=0.5), now=now, ceiling=ceiling)
    windows = 0
    while limit.value < ceiling:
        now, windows = now + 1, windows + 1
        limit = moved(limit, Signals(answers=math.ceil(limit.value)), now=now, ceiling=ceiling)
        assert windows <= ceiling + 1
    assert windows >= (ceiling - 1) // 2


def test_it_opens_by_doubling_until_the_first_refusal_and_adds_from_then_on():
    limit = Limit(value=4.0)
    for now, expected in ((1.0, 8.0), (2.0, 16.0), (3.0, 32.0)):
        limit = moved(limit, Signals(answers=int(limit.value)), now=now, ceiling=100)
        assert limit.value == expected
    limit = moved(limit, Signals(refused_s_ago=0.1), now=4.0, ceiling=100)
    after = moved(limit, Signals(answers=22), now=5.0, ceiling=100)
    assert limit.value == pytest.approx(22.4)
    assert 0.9 < after.value - limit.value < 1.0


def windows_of(latency: Latency, seconds: float, in_flight: int, *, at: float, count: int = 32) -> list[float]:
    seen = [latency.answered(at + number / 10, seconds, in_flight=in_flight) for number in range(count)]
    return [began for began in seen if began is not None]


def test_latency_that_grows_with_the_load_and_faster_than_it_is_a_signal():
    latency = Latency()
    assert not windows_of(latency, 2.0, 4, at=0)
    assert windows_of(latency, 9.0, 8, at=100), "twice the calls, more than four times the latency"


@pytest.mark.parametrize(
    ("seconds", "in_flight", "why"),
    [
        (3.9, 8, "less than twice the best is noise"),
        (9.0, 24, "a provider that batches is slower and does more"),
        (9.0, 4, "with as few calls as at its best it is slow for reasons of its own"),
        (60.0, 2, "and with fewer all the more"),
    ],
)
def test_other_growth_of_latency_is_none(seconds, in_flight, why):
    latency = Latency()
    windows_of(latency, 2.0, 4, at=0)
    assert not windows_of(latency, seconds, in_flight, at=100), why


def test_a_best_latency_of_long_ago_is_forgotten():
    latency = Latency()
    windows_of(latency, 2.0, 4, at=0)
    assert not windows_of(latency, 9.0, 8, at=1000)


@given(
    per_minute=st.floats(1, 300),
    tries=st.lists(st.floats(0, 9), min_size=1, max_size=60),
)
def test_no_minute_holds_more_calls_than_are_allowed(per_minute, tries):
    bucket, now, taken = Bucket(per_minute, now=0.0), 0.0, []
    for passed_s in tries:
        now += passed_s
        while bucket.wait_s(now, 1) == 0 and len(taken) < 400:
            bucket.take(now, 1)
            taken.append(now)
    for first, start in enumerate(taken):
        inside = bisect.bisect_left(taken, start + 60 - 1e-6) - first
        assert inside <= math.ceil(per_minute)


@given(tokens=st.lists(st.integers(1, 400), min_size=5, max_size=80), estimate=st.integers(1, 400))
def test_tokens_a_minute_are_kept_though_estimates_are_wrong(tokens, estimate):
    bucket, now, taken = Bucket(1000, now=0.0, unit=estimate), 0.0, []
    for actual in tokens:
        now += bucket.wait_s(now, estimate) + 1e-9
        assert bucket.wait_s(now, estimate) <= 1e-6
        bucket.take(now, estimate)
        bucket.correct(estimate, actual)
        taken.append((now, actual))
    span = now
    # Over the whole time the rate is kept, but for what may be saved up and the last call.
    assert sum(actual for _, actual in taken) <= 1000 * span / 60 + max(estimate, 50) + 400 + estimate
