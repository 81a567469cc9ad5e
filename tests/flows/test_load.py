"""Load control: the queue with a simulated clock, and real providers that take only so much."""

import asyncio
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.chat import OpenAIChat
from flows.collection import CollectionReport, collect
from flows.congestion import Signals
from flows.load import LoadControl, LoadEndedError, LoadLimits, PauseTooLongError
from flows.load_state import Idleness, LoadState
from registry.audits.plan import Request, Response
from registry.ledger.opening import LedgerAwayError
from registry.ledger.store import Ledger
from tests.stub_server import StubServer, stub_process


def requests(count: int) -> list[Request]:
    prompt = "Brainstorm 2 user profiles in JSON format"
    messages = ({"role": "user", "content": prompt},)
    return [Request(index=index, messages=messages, seed=index, expected=2) for index in range(count)]


# The state ------------------------------------------------------------------------------------------------------------

EVENTS = st.lists(
    st.tuples(st.sampled_from(["begin", "answer", "refuse", "wait", "time out", "share", "pause"]), st.floats(0, 3)),
    max_size=120,
)


@given(concurrency=st.integers(1, 40), events=EVENTS)
def test_whatever_happens_no_more_calls_are_under_way_than_may_be(concurrency, events):
    state, now, running = LoadState(LoadLimits(concurrency=concurrency), now=0.0), 0.0, []
    for event, number in events:
        now += number
        if event == "begin" and state.wait_s(now) == 0:
            state.begin(now)
            running.append(now)
            assert state.in_flight <= state.slots <= concurrency
        elif event == "share":
            state.shared_out(now, int(number), None, None)
        elif event == "pause":
            state.pause(now, number, "so")
            assert number < 1e-5 or state.wait_s(now) > 0
        elif running and event in ("answer", "refuse", "time out"):
            began = running.pop(0)
            if event == "answer":
                state.answered(now, began=began)
            elif event == "refuse":
                state.refused(now, began=began)
            else:
                state.timed_out(now, began=began)
            state.end(now)
        assert 0 <= state.slots <= concurrency
        assert state.share is not None or state.slots >= 1
    stats = state.stats(now)
    assert stats.mean_in_flight <= stats.peak_in_flight <= concurrency
    assert stats.lowest_limit <= stats.highest_limit


def test_a_share_of_more_calls_than_this_process_may_make_gives_it_no_more():
    state = LoadState(LoadLimits(concurrency=1), now=0.0)
    state.shared_out(1.0, 2, None, None)
    assert state.slots == 1


def test_a_limit_that_is_not_used_does_not_rise():
    state = LoadState(LoadLimits(concurrency=32), now=0.0)
    for second in range(50):
        state.begin(second)
        state.answered(second + 0.5, began=second)
        state.end(second + 0.5)
    assert state.slots == 4


def test_when_nothing_is_answered_any_more_every_call_pauses_ever_longer():
    state, now, pauses = LoadState(LoadLimits(concurrency=8), now=0.0), 0.0, []
    for _ in range(12):
        now = max(now, state.paused_until) + 0.1
        state.begin(now)
        state.refused(now + 0.05, began=now, spread=1.0)
        state.end(now + 0.05)
        pauses.append(max(0.0, state.paused_until - now - 0.05))
        now += 0.05
    assert pauses[0] == 0
    assert pauses[1:5] == pytest.approx([0.5, 1, 2, 4])
    assert max(pauses) == pytest.approx(60)
    assert state.slots == 1


def test_signals_that_could_not_be_told_are_kept_and_age():
    state = LoadState(LoadLimits(concurrency=8), now=0.0)
    state.begin(0.0)
    state.refused(1.0, began=0.5)
    signals = state.signals_since(2.0)
    assert signals == Signals(answers=0, refused_s_ago=1.5)
    state.keep(signals)
    assert state.signals_since(12.0).refused_s_ago == 11.5


def test_few_calls_under_way_are_noticed_once_and_only_while_requests_wait():
    state, idleness = LoadState(LoadLimits(concurrency=8), now=0.0), Idleness()
    state.begin(0.0)
    said = [second for second in range(200) if idleness.lasts(second, state.stats(second), state, taken=1)]
    assert said == [60]
    assert "only 1.0 of 4 calls are under way" in idleness.words
    state.draining, again = True, Idleness()
    assert not any(again.lasts(second, state.stats(second), state, taken=1) for second in range(200, 400))


# The queue ------------------------------------------------------------------------------------------------------------


def test_a_freed_slot_goes_to_a_further_try_before_a_new_request_and_is_never_left_idle():
    async def run() -> list[str]:
        load, order = LoadControl("h", LoadLimits(concurrency=1)), []

        async def call(name: str, deadline: float | None) -> None:
            async with load.slot(deadline=deadline):
                order.append(name)
                await asyncio.sleep(0.001)

        async with load:
            async with load.slot():
                waiting = [asyncio.create_task(call(f"new {n}", None)) for n in range(3)]
                waiting.append(asyncio.create_task(call("again", math.inf)))
                await asyncio.sleep(0.01)
            await asyncio.gather(*waiting)
            assert load.stats().recent_in_flight > 0.8
        return order

    assert asyncio.run(run()) == ["again", "new 0", "new 1", "new 2"]


def test_who_waits_for_a_slot_is_told_at_once_of_the_end_and_of_a_pause_that_is_too_long():
    async def run() -> None:
        load = LoadControl("h", LoadLimits(concurrency=1))
        async with load, load.slot() as call:
            late = asyncio.create_task(load.slot(deadline=load.now() + 5).__aenter__())
            waits = asyncio.create_task(load.slot().__aenter__())
            await asyncio.sleep(0)
            call.refused(30.0)
            with pytest.raises(PauseTooLongError, match="asked to wait 30 s"):
                await late
            assert not waits.done()
            load.end("quota", "no quota left")
            with pytest.raises(LoadEndedError, match="no quota left"):
                await waits
            with pytest.raises(LoadEndedError):
                await load.slot().__aenter__()

    asyncio.run(run())


def test_a_call_that_is_cancelled_while_it_waits_or_as_it_gets_its_slot_leaves_no_slot_taken():
    async def run() -> None:
        load = LoadControl("h", LoadLimits(concurrency=1))
        async with load:
            holder = load.slot()
            await holder.__aenter__()
            waits = asyncio.create_task(load.slot().__aenter__())
            granted = asyncio.create_task(load.slot().__aenter__())
            await asyncio.sleep(0)
            waits.cancel()
            await asyncio.sleep(0)
            await holder.__aexit__(None, None, None)  # gives the slot to the second
            granted.cancel()
            await asyncio.gather(waits, granted, return_exceptions=True)
            assert (load.state.in_flight, load.state.waiting) == (0, 0)
            async with load.slot():
                assert load.state.in_flight == 1

    asyncio.run(run())


def test_what_is_waited_for_is_said_with_its_end_and_not_again_and_again():
    said: list[str] = []

    async def run() -> None:
        async with LoadControl("api.example.org", LoadLimits(concurrency=2), tell=said.append) as load:
            for _ in range(5):
                load.refuse(load.now(), 30.0)

    asyncio.run(run())
    assert len(said) == 1
    assert said[0].startswith("api.example.org: the provider asked to wait 30 s; going on in ")
    assert said[0].endswith(" UTC")


class Away:
    """A ledger whose database goes away and comes back."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.away, self.asked = ledger, False, 0

    def share_provider(self, *arguments):
        self.asked += 1
        if self.away:
            raise LedgerAwayError("the ledger does not answer")
        return self.ledger.share_provider(*arguments)

    def leave_provider(self, *arguments) -> None:
        self.ledger.leave_provider(*arguments)


def test_while_the_ledger_is_away_the_last_share_holds_and_refusals_still_lower_it(tmp_path):
    said: list[str] = []

    async def run() -> None:
        ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
        shared = Away(ledger)
        limits = LoadLimits(concurrency=6, provider_concurrency=6)
        async with LoadControl("h", limits, shared=shared, tell=said.append) as load:
            assert load.state.slots == 4
            shared.away = True
            load.refuse(load.now(), None)
            while shared.asked < 3:
                await asyncio.sleep(0.01)
            assert load.state.slots == 2
            assert len(said) == 1, "it is said once"
            shared.away = False
            while not ledger.provider_loads()[0]["lowered_at"]:
                await asyncio.sleep(0.01)
            assert ledger.provider_loads()[0]["concurrency"] == pytest.approx(2.8), "what was learned meanwhile is told"
        assert ledger.provider_loads()[0]["workers"] == 0, "the share is given back"
        ledger.close()

    asyncio.run(run())
    assert "stays as it is until the ledger answers" in said[0]


# Real providers -------------------------------------------------------------------------------------------------------


def collected(server: StubServer, count: int, limits: LoadLimits) -> tuple[CollectionReport, list[Response]]:
    kept: list[Response] = []

    async def run() -> CollectionReport:
        chat = OpenAIChat("stub-1", base_url=server.base_url, timeout_s=20, load=LoadControl("stub", limits))
        async with chat.load, chat:
            settings = {"concurrency": limits.concurrency, "on_response": kept.append, "load": chat.load}
            return await collect(chat, requests(count), **settings)

    return asyncio.run(run()), kept


def test_a_provider_that_takes_only_so_many_at_a_time_is_found_and_kept_near_that():
    with StubServer(at_a_time=6, latency_s=0.2) as server:
        report, kept = collected(server, 120, LoadLimits(concurrency=32))
        counts = server.counts()
    assert [response.failure for response in kept] == [None] * 120
    assert counts["calls"] - counts["refused"] == 120
    assert counts["refused"] == report.refused == report.retries < 40
    assert report.highest_limit <= 16
    assert 3 <= report.mean_in_flight <= 7.5
    assert report.falls >= 3


def test_a_provider_that_takes_all_is_asked_as_hard_as_is_allowed():
    with StubServer(latency_s=0.3) as server:
        report, _ = collected(server, 80, LoadLimits(concurrency=12))
        assert server.counts()["peak_in_flight"] == 12 == report.peak_in_flight == report.highest_limit
    assert (report.lowest_limit, report.refused, report.falls, report.paused_s) == (4, 0, 0, 0.0)
    assert report.mean_in_flight > 6


def test_a_provider_that_refuses_by_the_minute_and_says_how_long_is_waited_for_and_nothing_fails():
    with StubServer(per_minute=20, minute_s=1.0, says_wait=True) as server:
        report, kept = collected(server, 60, LoadLimits(concurrency=8))
        counts = server.counts()
    assert [response.failure for response in kept] == [None] * 60
    assert report.elapsed_s >= 1.9
    assert report.paused_s > 0.5
    assert counts["refused"] <= 40


def test_a_configured_rate_is_kept_without_a_single_refusal():
    with StubServer() as server:
        report, _ = collected(server, 20, LoadLimits(concurrency=8, calls_per_minute=240))
        assert server.calls == 20
    assert report.refused == 0
    assert report.elapsed_s >= 7 / 4, "12 may be saved up, the others come at less than 4 a second"


def test_a_wait_of_hours_ends_a_collection_at_once_and_says_so():
    script = {"calls": ["ok"] * 3, "default": {"kind": "429", "retry_after": "10800"}}
    with StubServer(**script) as server:
        report, kept = collected(server, 200, LoadLimits(concurrency=4))
        assert server.calls <= 3 + 4 + 4
    assert report.stopped_by == "rate limit"
    assert "it asked to wait 10800 s, and one request may take 900 s in all" in report.why
    assert report.elapsed_s < 10
    answered = [response for response in kept if response.failure is None]
    assert len(answered) == 3, "which three of the first four came first is left to chance"
    assert all(response.extra["lost"] for response in kept if response.failure is not None), "the others stay open"


def test_an_account_that_is_spent_on_the_way_ends_a_collection_with_one_call_for_each_under_way():
    with StubServer(calls=["ok"] * 5, default="quota") as server:
        report, _ = collected(server, 200, LoadLimits(concurrency=4))
        assert server.calls <= 5 + 4
    assert report.stopped_by == "quota"
    assert "exceeded your current quota" in report.why


PROCESS = """
import asyncio, json, sys
from flows.chat import OpenAIChat
from flows.collection import collect
from flows.load import LoadControl, LoadLimits
from registry.ledger.store import Ledger
from tests.flows.test_load import requests

async def run(base_url, ledger_url, count, most):
    limits = LoadLimits(concurrency=16, provider_concurrency=most)
    failed = []
    async with LoadControl("stub", limits, shared=Ledger(ledger_url)) as load:
        async with OpenAIChat("stub-1", base_url=base_url, timeout_s=20, load=load) as chat:
            report = await collect(chat, requests(count), concurrency=16, load=load,
                                   on_response=lambda r: failed.append(1) if r.failure else None)
    print(json.dumps([report.done, len(failed), report.refused, report.mean_in_flight]))

asyncio.run(run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) or None))
"""


def two_processes(base_url: str, ledger_url: str, count: int, most: int) -> list[list[float]]:
    command = [sys.executable, "-c", PROCESS, base_url, ledger_url, str(count), str(most)]
    root = Path(__file__).parents[2]
    started = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        return [json.loads(process.communicate(timeout=90)[0]) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    Ledger(url).close()
    return url


def test_two_processes_on_one_ledger_never_pass_the_providers_limit_together(ledger_url):
    with StubServer(latency_s=0.1) as server:
        results = two_processes(server.base_url, ledger_url, 60, most=5)
        counts = server.counts()
    assert [(done, failed) for done, failed, _, _ in results] == [(60, 0), (60, 0)]
    assert 4 <= counts["peak_in_flight"] <= 5


@pytest.mark.slow
def test_two_processes_find_what_the_provider_takes_and_stay_near_it_together(tmp_path):
    ledger_url = f"sqlite:///{tmp_path / 'ledger.db'}"
    ledger = Ledger(ledger_url)
    with stub_process(tmp_path, at_a_time=6, latency_s=0.5) as base_url:
        results = two_processes(base_url, ledger_url, 60, most=0)
    assert [(done, failed) for done, failed, _, _ in results] == [(60, 0), (60, 0)]
    assert 0 < sum(refused for _, _, refused, _ in results) < 40
    assert 2 <= ledger.provider_loads()[0]["concurrency"] <= 9
    ledger.close()
