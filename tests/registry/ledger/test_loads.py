"""Shares of a provider: fair, never more than the limit together, and those of the dead are given to others."""

import datetime as dt
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.ledger.connection import moment_text
from registry.ledger.loads import SILENT_S, Demand, fair_shares
from registry.ledger.ownership import Owner
from registry.ledger.store import Ledger

HOST = "api.example.org"


class Clock:
    """A clock that the test moves; on PostgreSQL the server's own holds, and only small steps are made."""

    def __init__(self) -> None:
        self.moment = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)

    def __call__(self) -> str:
        return moment_text(self.moment)

    def pass_s(self, seconds: float) -> None:
        self.moment += dt.timedelta(seconds=seconds)


def kept_at(limit: float):
    """A rule by which the limit is what it is."""
    return lambda value, fell_at, now, most: (limit, fell_at)


def demand(wanted: int, in_flight: int = 0, **fields) -> Demand:
    return Demand(wanted=wanted, in_flight=in_flight, **fields)


@given(
    total=st.integers(0, 200),
    wanted=st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 60), max_size=8),
    turn=st.integers(0, 100),
)
def test_shares_add_up_to_what_is_there_or_wanted_and_nobody_has_more_while_another_has_less(total, wanted, turn):
    shares = fair_shares(total, wanted, turn)
    assert sum(shares.values()) == min(total, sum(wanted.values()))
    assert all(0 <= shares[name] <= wanted[name] for name in wanted)
    hungry = [shares[name] for name in wanted if shares[name] < wanted[name]]
    assert max(shares.values(), default=0) <= min(hungry, default=200) + 1, (
        "the most is at most one above the hungriest"
    )


@given(workers=st.integers(2, 7), total=st.integers(1, 6))
def test_with_fewer_calls_than_workers_everybody_has_a_turn(workers, total):
    wanted = {f"worker {number}": 4 for number in range(workers)}
    had = {name for turn in range(workers) for name, share in fair_shares(total, wanted, turn).items() if share}
    assert had == set(wanted)


def test_a_worker_alone_has_all_and_two_share_without_ever_passing_the_limit(ledger):
    assert ledger.share_provider(HOST, "a", demand(8), kept_at(6.0)).concurrency == 6
    second = ledger.share_provider(HOST, "b", demand(8), kept_at(6.0))
    assert (second.concurrency, second.fair, second.workers) == (0, 3, 2), "all six are still with the first"
    assert ledger.share_provider(HOST, "a", demand(8, in_flight=6), kept_at(6.0)).concurrency == 3
    assert ledger.share_provider(HOST, "b", demand(8), kept_at(6.0)).concurrency == 0, (
        "three calls too many are running"
    )
    assert ledger.share_provider(HOST, "a", demand(8, in_flight=3), kept_at(6.0)).concurrency == 3
    assert ledger.share_provider(HOST, "b", demand(8), kept_at(6.0)).concurrency == 3


def test_what_one_does_not_want_the_other_has(ledger):
    ledger.share_provider(HOST, "a", demand(2), kept_at(9.0))
    assert ledger.share_provider(HOST, "b", demand(12), kept_at(9.0)).concurrency == 7


def test_a_share_that_is_given_back_goes_to_the_others_and_other_providers_are_not_concerned(ledger):
    ledger.share_provider(HOST, "a", demand(8), kept_at(6.0))
    assert ledger.share_provider("elsewhere:8000", "b", demand(8), kept_at(6.0)).concurrency == 6
    ledger.leave_provider(HOST, "a")
    assert ledger.share_provider(HOST, "b", demand(8), kept_at(6.0)).concurrency == 6


def test_the_share_of_a_worker_that_is_silent_expires(tmp_path):
    clock = Clock()
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}", clock=clock)
    ledger.share_provider(HOST, "dead", demand(8), kept_at(6.0))
    clock.pass_s(SILENT_S - 1)
    assert ledger.share_provider(HOST, "b", demand(8), kept_at(6.0)).concurrency == 0
    clock.pass_s(2)
    assert ledger.share_provider(HOST, "b", demand(8), kept_at(6.0)).concurrency == 6
    ledger.close()


def test_the_share_of_a_process_of_this_host_that_is_gone_expires_at_once(ledger):
    me = Owner.this_process()
    gone, elsewhere = Owner(me.host, me.pid, me.started - 1000), Owner("elsewhere", me.pid, 1.0)
    ledger.share_provider(HOST, "gone", demand(8), kept_at(6.0), gone)
    assert ledger.share_provider(HOST, "b", demand(8), kept_at(6.0)).concurrency == 6
    ledger.share_provider(HOST, "b", demand(2), kept_at(6.0))
    ledger.share_provider(HOST, "c", demand(8), kept_at(6.0), elsewhere)
    assert ledger.share_provider(HOST, "b", demand(8), kept_at(6.0)).concurrency == 2, (
        "of another host nothing is known"
    )


def test_a_pause_that_one_worker_was_told_holds_for_all_and_the_longest_counts(ledger):
    assert ledger.share_provider(HOST, "a", demand(8), kept_at(4.0)).paused_s == 0
    ledger.share_provider(HOST, "a", demand(8, pause_s=30.0), kept_at(4.0))
    ledger.share_provider(HOST, "a", demand(8, pause_s=5.0), kept_at(4.0))
    assert 25 < ledger.share_provider(HOST, "b", demand(8), kept_at(4.0)).paused_s <= 30


def test_limits_a_minute_are_divided_by_what_is_wanted(ledger):
    limits = {"calls_per_minute": 60.0, "tokens_per_minute": 9000.0}
    assert ledger.share_provider(HOST, "a", demand(4, **limits), kept_at(9.0)).calls_per_minute == 60
    second = ledger.share_provider(HOST, "b", demand(8, **limits), kept_at(9.0))
    first = ledger.share_provider(HOST, "a", demand(4, **limits), kept_at(9.0))
    assert first.calls_per_minute + second.calls_per_minute == pytest.approx(60)
    assert first.tokens_per_minute == pytest.approx(3000)


def test_the_rule_sees_what_was_kept_and_what_is_old_is_forgotten(tmp_path):
    clock = Clock()
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}", clock=clock)
    seen = []

    def rule(value, fell_at, now, most):
        seen.append((value, fell_at, most))
        return 5.0, now

    ledger.share_provider(HOST, "a", demand(8, concurrency=7), rule)
    at = clock.moment.timestamp()
    clock.pass_s(2)
    ledger.share_provider(HOST, "a", demand(8, concurrency=7), rule)
    clock.pass_s(3600)
    assert ledger.provider_loads() == [], "a limit that nobody used of late says nothing of today"
    ledger.share_provider(HOST, "a", demand(8), rule)
    assert seen == [(None, None, 7.0), (5.0, at, 7.0), (None, None, 8.0)]
    assert [(row["provider"], row["concurrency"], row["workers"]) for row in ledger.provider_loads()] == [
        (HOST, 5.0, 1)
    ]
    ledger.close()


def test_workers_that_come_at_the_same_instant_never_pass_the_limit_together(ledger):
    shares: dict[str, int] = {}

    def come(name: str) -> None:
        for _ in range(5):
            share = ledger.share_provider(HOST, name, demand(6, in_flight=shares.get(name, 0)), kept_at(7.0))
            shares[name] = share.concurrency

    workers = [threading.Thread(target=come, args=(f"worker {number}",)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(shares.values()) <= 7, "of all that is granted at one time"
    # A share may have been given back and divided again since.
    for name in sorted(shares):
        shares[name] = ledger.share_provider(HOST, name, demand(6), kept_at(7.0)).concurrency
    for name in sorted(shares):
        shares[name] = ledger.share_provider(HOST, name, demand(6), kept_at(7.0)).concurrency
    assert sum(shares.values()) == 7
    assert min(shares.values()) >= 1
