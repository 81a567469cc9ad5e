"""Collecting answers: bounded concurrency, each answer stored when it arrives, limits kept before they are passed."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sized

from flows.budget import Allowance, Budget, Spending
from flows.chat import ChatModel
from flows.load import LoadControl
from flows.load_state import Idleness
from registry.audits.plan import Request, Response

ANSWERED = "answered"
TICK_S = 1.0
_log = logging.getLogger(__name__)
RENEW_S = 20.0  # what is set aside of a budget is given up when it is not renewed


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a collection is.

    Parameters
    ----------
    done, total : requests with an answer or a failure, and requests in all (None when that is not known)
    of_others : how many of those done other workers brought in; the other numbers besides rate_per_s and eta_s are this one's
    failed : requests without an answer; in_flight : calls under way
    elapsed_s, rate_per_s : seconds since the start, and requests done per second
    eta_s : seconds left at this rate; None when it cannot be said
    tokens : tokens reported so far; cost_usd : their cost, None when a price or a count is unknown
    mean_in_flight, limit : calls under way over the last seconds, and how many may be; None without load control
    waits_for : what all calls wait for, in words; empty when they do not
    """

    done: int
    total: int | None
    failed: int
    in_flight: int
    elapsed_s: float
    rate_per_s: float
    eta_s: float | None
    tokens: int
    cost_usd: float | None
    mean_in_flight: float | None = None
    limit: int | None = None
    waits_for: str = ""
    of_others: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CollectionReport:
    """What a collection did.

    Parameters
    ----------
    done, total : requests with an answer or a failure, and requests in all (None when that is not known)
    outcomes : number of requests by ``answered``, ``timed out`` or ``provider error``
    retries : tries beyond the first, over all requests
    stopped_by : ``""`` when everything was asked, else ``stop``, ``budget``, ``failures``, or what the provider lacks for
        all requests: ``quota``, ``rate limit``, ``unreachable``; why : in words
    elapsed_s, rate_per_s : seconds, and requests done per second
    mean_in_flight, peak_in_flight : the concurrency that was reached
    prompt_tokens, completion_tokens : as reported; without_count : answers that reported none
    cost_usd : None when a price or any count is unknown
    served_models : answers by the model id that the provider says answered
    lowest_limit, highest_limit : calls that might have been under way; None without load control
    refused, falls, paused_s : calls that the provider refused for too many, how often the limit fell, and seconds for
        which nothing could begin because the provider had asked to wait
    """

    done: int
    total: int | None
    outcomes: Mapping[str, int]
    retries: int
    stopped_by: str
    why: str
    elapsed_s: float
    rate_per_s: float
    mean_in_flight: float
    peak_in_flight: int
    prompt_tokens: int
    completion_tokens: int
    without_count: int
    cost_usd: float | None
    served_models: Mapping[str, int]
    lowest_limit: int | None = None
    highest_limit: int | None = None
    refused: int = 0
    falls: int = 0
    paused_s: float = 0.0

    @property
    def throttling(self) -> str:
        """How the provider held calls back, in words; empty when it did not."""
        if not self.falls and not self.refused and self.paused_s < 1.0:
            return ""
        waited = f", and for {self.paused_s:.0f} s nothing could begin" if self.paused_s >= 1.0 else ""
        why = f"refused {self.refused} calls for too many" if self.refused else "answered more slowly under load"
        return (
            f"the provider {why}; between {self.lowest_limit} and "
            f"{self.highest_limit} were allowed at a time, {self.mean_in_flight:.1f} were under way on average{waited}"
        )


async def collect(
    chat: ChatModel,
    requests: Iterable[Request],
    *,
    concurrency: int,
    on_response: Callable[[Response], object],
    stop: asyncio.Event | None = None,
    budget: Budget | None = None,
    allowance: Allowance | None = None,
    load: LoadControl | None = None,
    tell: Callable[[str], object] = _log.info,
    progress: Callable[[Progress], object] | None = None,
    total: int | None = None,
    failures_in_a_row: int = 20,
    grace_s: float = 5.0,
    monotonic: Callable[[], float] = time.monotonic,
) -> CollectionReport:
    """Ask all requests, at most ``concurrency`` at a time.

    Parameters
    ----------
    requests : taken one by one as workers are free; a generator is never run ahead
    on_response : stores a response; called once for each, when it arrives and before it counts. What it raises
        ends the collection.
    stop : when set, no further call is made, and calls in flight are finished
    budget : prices, and the size of a large call
    allowance : limits, kept by reserving the largest call seen for each call in flight; given back at the end
    load : the load control that ``chat`` takes its slots from, already open; the requests that wait for one are at most
        ``concurrency``, too
    tell : takes remarks for the user, such as that far fewer calls are under way than might be
    progress : called after each response, and every second while all calls wait
    total : number of requests, when ``requests`` has no length
    failures_in_a_row : a run of that many permanent failures stops the collection
    grace_s : when this task is cancelled (Ctrl-C), calls in flight have that long to bring their answer in

    Returns
    -------
    CollectionReport : also after a stop; a cancelled collection raises, with everything received stored

    Raises
    ------
    ValueError : for a concurrency below 1
    EndpointError : from the chat model, when the endpoint cannot be used at all

    Examples
    --------
    >>> import asyncio
    >>> from flows.scripted import ScriptedChat
    >>> asked = [Request(index=i, messages=({"role": "user", "content": f"Say {i}"},)) for i in range(3)]
    >>> kept = []
    >>> report = asyncio.run(collect(ScriptedChat(["a", "b", "c"]), asked, concurrency=2, on_response=kept.append))
    >>> report.done, dict(report.outcomes), sorted(response.text for response in kept)
    (3, {'answered': 3}, ['a', 'b', 'c'])
    """
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, got {concurrency}")
    if total is None and isinstance(requests, Sized):
        total = len(requests)
    spending = Spending(budget, allowance)
    run = _Run(chat, requests, on_response, stop, spending, load, tell, progress, total, failures_in_a_row, monotonic)
    workers = [asyncio.create_task(run.work()) for _ in range(min(concurrency, total or concurrency))]
    ticking = asyncio.create_task(run.tick())
    try:
        finished, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
    except asyncio.CancelledError:
        run.halt("stop", "cancelled")
        await asyncio.wait(workers, timeout=grace_s)
        raise
    finally:
        for task in (*workers, ticking):
            task.cancel()
        await asyncio.gather(*workers, ticking, return_exceptions=True)
        spending.close()
    for worker in finished:
        worker.result()
    return run.report()


class _Run:
    """State of one collection, shared by its workers."""

    def __init__(
        self,
        chat: ChatModel,
        requests: Iterable[Request],
        on_response: Callable[[Response], object],
        stop: asyncio.Event | None,
        spending: Spending,
        load: LoadControl | None,
        tell: Callable[[str], object],
        progress: Callable[[Progress], object] | None,
        total: int | None,
        failures_in_a_row: int,
        monotonic: Callable[[], float],
    ) -> None:
        self.chat, self.on_response, self.stop, self.progress = chat, on_response, stop, progress
        self.requests = iter(requests)
        self.waiting: collections.deque[Request] = collections.deque()
        self.spending, self.total, self.failures_in_a_row = spending, total, failures_in_a_row
        self.load, self.tell, self.monotonic = load, tell, monotonic
        self.idleness = Idleness()
        if load is not None:
            load.state.draining, load.on_pause = False, self.show
            self.called_s = load.called_s
        self.started = monotonic()
        self.settled = asyncio.Event()
        self.stopped_by = self.why = ""
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.served: collections.Counter[str] = collections.Counter()
        self.retries = self.in_a_row = self.peak = 0
        self.busy_s = 0.0

    def halt(self, by: str, why: str) -> None:
        """Make no further call; the first reason stands."""
        if not self.stopped_by:
            self.stopped_by, self.why = by, why
        if self.load is not None:
            self.load.end(by, why)
        self.wake()

    def wake(self) -> None:
        """Let workers that wait for room in the budget look again."""
        self.settled.set()
        self.settled = asyncio.Event()

    async def work(self) -> None:
        """Ask requests until there are none, or the run is halted."""
        while (request := await self.next_request()) is not None:
            self.peak = max(self.peak, self.spending.in_flight)
            began = self.monotonic()
            try:
                response = await self.chat.answer(request)
                if self.stopped_by and response.extra.get("lost"):
                    self.spending.settle(
                        response
                    )  # it was never asked, or is asked again: there is nothing to say of it
                    continue
                # No await between the answer and its storage: a cancelled task cannot lose what it has.
                self.on_response(response)
            finally:
                self.busy_s += self.monotonic() - began
            self.count(response)

    async def next_request(self) -> Request | None:
        """The next request with its call reserved; None when there is none to make."""
        while not self.stopped_by:
            if self.stop is not None and self.stop.is_set():
                self.halt("stop", "stopped on request")
                break
            request = self.waiting.popleft() if self.waiting else next(self.requests, None)
            if request is None:
                if self.load is not None:
                    self.load.state.draining = True
                break
            if self.spending.admit():
                return request
            self.waiting.append(request)
            if self.spending.in_flight == 0:
                self.halt("budget", self.spending.why_stopped)
                break
            await self.settled.wait()
        return None

    def count(self, response: Response) -> None:
        """Take a stored response into the numbers."""
        self.spending.settle(response)
        self.outcomes[str(response.failure) if response.failure else ANSWERED] += 1
        if response.served_model:
            self.served[response.served_model] += 1
        self.retries += max(0, int(response.extra.get("tries", 1)) - 1)
        self.in_a_row = self.in_a_row + 1 if response.failure and response.extra.get("permanent") else 0
        if self.in_a_row >= self.failures_in_a_row:
            self.halt("failures", f"{self.in_a_row} requests in a row failed for good; the last: {response.detail}")
        if response.extra.get("ends"):
            self.halt(str(response.extra["ends"]), response.detail)
        self.show()
        self.wake()

    def show(self) -> None:
        """Show how far it is."""
        if self.progress is not None:
            self.progress(self.state())

    async def tick(self) -> None:
        """What must be looked at while no answer comes."""
        renewed = self.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            now = self.monotonic()
            if self.stop is not None and self.stop.is_set():
                self.halt("stop", "stopped on request")
            if now - renewed >= RENEW_S:
                renewed = now
                self.spending.renew()
            if self.load is None:
                continue
            if self.load.pause_left_s > 0:
                self.show()
            if self.idleness.lasts(now, self.load.stats(), self.load.state, taken=self.spending.in_flight):
                self.tell(self.idleness.words)

    def state(self) -> Progress:
        """How far the run is."""
        done, elapsed = self.outcomes.total(), self.monotonic() - self.started
        rate = done / elapsed if elapsed > 0 else 0.0
        known = self.total is not None and rate > 0 and math.isfinite(rate)
        reached = self.load.stats() if self.load is not None else None
        return Progress(
            done=done,
            total=self.total,
            failed=done - self.outcomes[ANSWERED],
            in_flight=self.spending.in_flight,
            elapsed_s=elapsed,
            rate_per_s=rate,
            eta_s=max(0, self.total - done) / rate if known and self.total is not None else None,
            tokens=self.spending.tokens,
            cost_usd=self.spending.cost_usd,
            mean_in_flight=reached.recent_in_flight if reached else None,
            limit=reached.limit if reached else None,
            waits_for=self.load.waits_for if self.load is not None else "",
        )

    def report(self) -> CollectionReport:
        """What the run did."""
        state, reached = self.state(), self.load.stats() if self.load is not None else None
        busy_s = self.load.called_s - self.called_s if self.load is not None else self.busy_s
        return CollectionReport(
            done=state.done,
            total=self.total,
            outcomes=dict(self.outcomes),
            retries=self.retries,
            stopped_by=self.stopped_by,
            why=self.why,
            elapsed_s=state.elapsed_s,
            rate_per_s=state.rate_per_s,
            mean_in_flight=busy_s / state.elapsed_s if state.elapsed_s > 0 else 0.0,
            peak_in_flight=reached.peak_in_flight if reached else self.peak,
            prompt_tokens=self.spending.prompt_tokens,
            completion_tokens=self.spending.completion_tokens,
            without_count=self.spending.without_count,
            cost_usd=state.cost_usd,
            served_models=dict(self.served),
            lowest_limit=reached.lowest_limit if reached else None,
            highest_limit=reached.highest_limit if reached else None,
            refused=reached.refused if reached else 0,
            falls=reached.falls if reached else 0,
            paused_s=reached.paused_s if reached else 0.0,
        )
