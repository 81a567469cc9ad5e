"""Collecting answers from a real HTTP endpoint: exactly n calls, bounded, stored at once, within the budget."""

import asyncio
import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.budget import Budget, Spending
from flows.chat import EndpointError, OpenAIChat
from flows.collection import CollectionReport, Progress, collect
from flows.commands.progress import told
from flows.scripted import ScriptedChat
from registry.audits.plan import Outcome, Request, Response
from tests.flows.purse import Purse
from tests.stub_server import StubServer, stub_process


def requests(count: int) -> list[Request]:
    prompt = "Brainstorm 2 user profiles in JSON format"
    return [
        Request(index=index, messages=({"role": "user", "content": prompt},), seed=index, expected=2)
        for index in range(count)
    ]


def collected(server: StubServer, count: int, **options) -> tuple[CollectionReport, list[Response]]:
    kept: list[Response] = []

    async def run() -> CollectionReport:
        async with OpenAIChat("stub-1", base_url=server.base_url, api_key="any-key-at-all", timeout_s=20) as chat:
            settings = {"concurrency": 4, "on_response": kept.append} | options
            return await collect(chat, requests(count), **settings)

    return asyncio.run(run()), kept


def answering(tokens: int):
    """A scripted chat whose every answer takes that many tokens."""
    return ScriptedChat(
        lambda request: Response(index=0, text="x", prompt_tokens=tokens // 2, completion_tokens=tokens - tokens // 2)
    )


def scripted(chat, count: int, **options) -> tuple[CollectionReport, list[Response]]:
    kept: list[Response] = []
    settings = {"concurrency": 3, "on_response": kept.append} | options
    return asyncio.run(collect(chat, requests(count), **settings)), kept


def within(purse: Purse, chat, count: int, concurrency: int) -> tuple[CollectionReport, list[Response]]:
    """A collection that keeps to a purse."""
    kept: list[Response] = []

    def store(response: Response) -> None:
        kept.append(response)
        purse.pay(response)

    options = {"concurrency": concurrency, "budget": purse.budget, "allowance": purse}
    return scripted(chat, count, on_response=store, **options)[0], kept


def test_every_request_is_asked_exactly_once_with_no_more_in_flight_than_allowed():
    with StubServer(latency_s=0.02) as server:
        report, kept = collected(server, 40, concurrency=4)
        counts = server.counts()
    assert counts["calls"] == 40
    assert set(counts["by_seed"].values()) == {1}
    assert counts["peak_in_flight"] == 4 == report.peak_in_flight
    assert sorted(response.index for response in kept) == list(range(40))
    assert (report.done, report.total, report.outcomes, report.stopped_by) == (40, 40, {"answered": 40}, "")
    assert report.served_models == {"stub-1-2026-01-01": 40}
    assert 2.0 < report.mean_in_flight <= 4.0
    assert report.rate_per_s > 0
    assert report.prompt_tokens == 40 * 50
    assert report.completion_tokens == sum(r.completion_tokens for r in kept)


def test_failures_are_stored_and_counted_and_retries_are_too():
    script = {"by_seed": {"1": "400", "2": {"kind": "500", "should_retry": "false"}, "3": ["500", "ok"]}}
    with StubServer(**script) as server:
        report, kept = collected(server, 6, concurrency=1)
    assert report.outcomes == {"answered": 4, "provider error": 2}
    assert report.retries == 1
    assert len(kept) == 6


def test_an_answer_is_stored_before_it_counts():
    order: list[str] = []
    chat = ScriptedChat(["a", "b"])
    asyncio.run(
        collect(
            chat,
            requests(2),
            concurrency=1,
            on_response=lambda response: order.append(f"stored {response.index}"),
            progress=lambda progress: order.append(f"counted {progress.done}"),
        )
    )
    assert order == ["stored 0", "counted 1", "stored 1", "counted 2"]


def test_a_generator_is_not_run_ahead():
    made: list[int] = []

    def lazily():
        for request in requests(50):
            made.append(request.index)
            yield request

    ahead: list[int] = []
    kept: list[Response] = []

    def store(response: Response) -> None:
        kept.append(response)
        ahead.append(len(made) - len(kept))

    report = asyncio.run(collect(answering(10), lazily(), concurrency=3, on_response=store))
    assert report.done == 50
    assert report.total is None
    assert max(ahead) <= 3


def test_progress_says_how_far_it_is():
    seen: list[Progress] = []
    budget = Budget(price_input=1.0, price_output=3.0)
    scripted(answering(100), 10, progress=seen.append, budget=budget)
    assert [state.done for state in seen] == list(range(1, 11))
    last = seen[-1]
    assert (last.total, last.failed, last.tokens, last.eta_s) == (10, 0, 1000, 0.0)
    assert last.cost_usd == pytest.approx(10 * (50 * 1.0 + 50 * 3.0) / 1e6)


def test_the_line_of_a_shared_collection_says_what_all_workers_did_and_what_this_process_did():
    own = Progress(
        done=120, total=400, failed=2, in_flight=4, elapsed_s=10.0, rate_per_s=12.0, eta_s=23.0, tokens=900, cost_usd=None,
        mean_in_flight=3.9, limit=4,
    )  # fmt: skip
    alone = "nova: 120 of 400 calls, 12.0 a second, 23 s left, 3.9 of 4 under way, 2 failed, 900 tokens, cost unknown"
    assert told("nova", 0, own) == alone
    assert told("nova", 0, dataclasses.replace(own, of_others=90)) == (
        "nova: 120 of 400 calls (90 by other workers), 12.0 a second, 23 s left; this process: 3.9 of 4 under way, "
        "2 failed, 900 tokens, cost unknown"
    )


def test_cost_is_unknown_and_not_zero_without_prices_or_counts():
    assert scripted(answering(100), 2)[0].cost_usd is None
    report, _ = scripted(ScriptedChat(["a", "b"]), 2, budget=Budget(price_input=1.0, price_output=1.0))
    assert report.cost_usd is None
    assert report.without_count == 2


@given(
    limit=st.integers(0, 3000),
    sizes=st.lists(st.integers(2, 120), min_size=1, max_size=30),
    concurrency=st.integers(1, 8),
)
def test_a_budget_in_tokens_is_never_passed_when_the_largest_call_is_stated(limit, sizes, concurrency):
    chat = ScriptedChat(lambda r: Response(index=0, text="x", prompt_tokens=1, completion_tokens=sizes[r.index] - 1))
    report, kept = within(Purse(limit, budget=Budget(first_call_tokens=max(sizes))), chat, len(sizes), concurrency)
    spent = sum(sizes[response.index] for response in kept)
    assert spent <= limit
    assert report.prompt_tokens + report.completion_tokens == spent
    assert report.stopped_by == ("" if report.done == len(sizes) else "budget")
    if report.stopped_by:
        assert spent + max(sizes) > limit, "it stops only when one more large call might not fit"


def test_a_budget_stops_a_real_collection_before_it_is_passed():
    purse, kept = Purse(3000), []

    def store(response: Response) -> None:
        kept.append(response)
        purse.pay(response)

    with StubServer(latency_s=0.01) as server:
        budget = Budget(first_call_tokens=300)
        report, _ = collected(server, 60, concurrency=8, budget=budget, allowance=purse, on_response=store)
        assert server.calls == len(kept) < 60
    assert (report.stopped_by, report.why) == ("budget", "the purse is empty")
    assert 0 < report.prompt_tokens + report.completion_tokens <= 3000


def test_prices_below_zero_are_refused():
    with pytest.raises(ValueError, match="price_output must be a number of at least 0, got -1"):
        Budget(price_output=-1)


def test_a_budget_in_dollars_is_kept():
    budget = Budget(first_call_tokens=60, price_input=1.0, price_output=3.0)
    report, _ = within(Purse(usd=0.001, budget=budget), answering(100), 20, concurrency=4)
    assert (report.done, report.stopped_by) == (5, "budget"), "a call costs 0.0002 dollars"
    assert report.cost_usd == pytest.approx(0.001)


def test_a_budget_over_an_endpoint_that_counts_nothing_is_charged_a_large_call_for_each():
    purse = Purse(1000, budget=Budget(first_call_tokens=300))
    report, _ = within(purse, ScriptedChat(lambda request: "x"), 9, concurrency=3)
    assert (report.done, report.stopped_by, report.without_count) == (3, "budget", 3)


def test_a_call_that_timed_out_is_charged_and_a_refused_one_is_not():
    purse = Purse(300, budget=Budget(first_call_tokens=100))
    spending = Spending(purse.budget, purse)
    for failure in (Outcome.TIMED_OUT, Outcome.PROVIDER_ERROR):
        assert spending.admit()
        purse.pay(failed := Response(index=0, failure=failure))
        spending.settle(failed)
    assert [spending.admit() for _ in range(3)] == [True, True, False]


def test_a_set_stop_finishes_what_is_in_flight_and_asks_no_more():
    async def run(server: StubServer) -> tuple[CollectionReport, int]:
        stop = asyncio.Event()
        kept: list[Response] = []

        def store(response: Response) -> None:
            kept.append(response)
            if len(kept) == 5:
                stop.set()

        async with OpenAIChat("stub-1", base_url=server.base_url) as chat:
            report = await collect(chat, requests(50), concurrency=4, on_response=store, stop=stop)
        return report, len(kept)

    with StubServer(latency_s=0.01) as server:
        report, stored = asyncio.run(run(server))
        assert server.calls == stored == report.done
    assert 5 <= stored <= 8
    assert (report.stopped_by, report.why) == ("stop", "stopped on request")


def cancelled_collection(server: StubServer, kept: list[Response], **options) -> None:
    """Cancel a collection as soon as its fifth answer is stored, as Ctrl-C does."""

    async def run() -> None:
        async with OpenAIChat("stub-1", base_url=server.base_url) as chat:

            def store(response: Response) -> None:
                kept.append(response)
                if len(kept) == 5:
                    task.cancel()

            task = asyncio.create_task(collect(chat, requests(200), concurrency=8, on_response=store, **options))
            with pytest.raises(asyncio.CancelledError):
                await task
            others = asyncio.all_tasks() - {asyncio.current_task()}
            assert not others, "no call goes on after the collection"

    asyncio.run(run())


def test_a_cancelled_collection_brings_in_the_calls_in_flight():
    kept: list[Response] = []
    with StubServer(latency_s=0.03) as server:
        cancelled_collection(server, kept)
        assert server.calls == len(kept) == len({response.index for response in kept})
    assert 5 <= len(kept) < 40


def test_a_cancelled_collection_without_grace_drops_the_calls_in_flight_and_keeps_the_rest():
    kept: list[Response] = []
    with StubServer(by_seed={str(seed): "hang" for seed in range(5, 200)}) as server:
        cancelled_collection(server, kept, grace_s=0)
    assert sorted(response.index for response in kept) == [0, 1, 2, 3, 4]


def test_a_request_that_waits_for_its_next_try_is_cancelled_too():
    async def run(server: StubServer) -> None:
        began = asyncio.Event()

        async def sleep(seconds: float) -> None:
            began.set()
            await asyncio.Event().wait()

        async with OpenAIChat("stub-1", base_url=server.base_url, sleep=sleep) as chat:
            task = asyncio.create_task(collect(chat, requests(1), concurrency=1, on_response=lambda _: None, grace_s=0))
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with StubServer(default="500") as server:
        asyncio.run(run(server))
        assert server.calls == 1


def test_what_the_storage_raises_ends_the_collection():
    def broken(response: Response) -> None:
        raise OSError("disk full")

    with StubServer() as server, pytest.raises(OSError, match="disk full"):
        collected(server, 30, on_response=broken)
    assert server.calls <= 8


def test_an_endpoint_that_cannot_be_used_ends_the_collection_with_its_sentence():
    with StubServer(key="the-right-key") as server, pytest.raises(EndpointError, match="refused the API key"):
        collected(server, 30, concurrency=2)
    assert server.calls <= 4


def test_a_run_of_permanent_failures_stops_the_collection():
    with StubServer(calls=["ok"] * 3, default="401") as server:
        report, kept = collected(server, 100, concurrency=1, failures_in_a_row=7)
    assert (report.stopped_by, len(kept)) == ("failures", 10)
    assert report.why.startswith("7 requests in a row failed for good; the last: 401: Incorrect API key")
    assert report.outcomes == {"answered": 3, "provider error": 7}


def test_scattered_permanent_failures_do_not_stop_it():
    with StubServer(by_seed={str(seed): "400" for seed in range(1, 40, 2)}) as server:
        report, _ = collected(server, 40, concurrency=1, failures_in_a_row=2)
    assert report.stopped_by == ""
    assert report.outcomes == {"answered": 20, "provider error": 20}


def test_no_requests_are_a_report_of_nothing():
    report, kept = scripted(ScriptedChat([]), 0)
    assert (report.done, report.total, report.outcomes, kept) == (0, 0, {}, [])


def test_a_concurrency_below_one_is_refused():
    with pytest.raises(ValueError, match="concurrency must be at least 1, got 0"):
        scripted(ScriptedChat(["a"]), 1, concurrency=0)


def test_the_endpoint_also_runs_as_a_process_of_its_own(tmp_path):
    kept: list[Response] = []

    async def run(base_url: str) -> CollectionReport:
        async with OpenAIChat("stub-2", base_url=base_url) as chat:
            return await collect(chat, requests(12), concurrency=3, on_response=kept.append)

    with stub_process(tmp_path, models={"stub-2": 1.0}, by_seed={"4": "refusal"}) as base_url:
        report = asyncio.run(run(base_url))
    assert report.outcomes == {"answered": 12}
    assert [response.index for response in kept if response.refusal] == [4]
