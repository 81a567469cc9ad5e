"""Load control of one provider: how many calls are under way, with all other workers of the same ledger in mind.

The rules are in `flows.congestion`, the bookkeeping in `flows.load_state`, both without a clock of their own. Here is the
thin part that waits: calls queue for a slot, a freed slot is given on at once, and every second or two the workers of one
ledger tell each other what they need and what they learned (`registry.ledger.loads`).
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import datetime as dt
import logging
import math
import random
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, Self

from flows.congestion import START, Limit, Signals, moved
from flows.load_state import LoadLimits, LoadState, LoadStats
from registry.ledger.loads import Demand, ProviderShare, Rule
from registry.ledger.opening import LedgerError

__all__ = ["Call", "LoadControl", "LoadEndedError", "LoadLimits", "LoadStats", "PauseTooLongError"]

EXCHANGE_S = 1.5
SOONEST_EXCHANGE_S = 0.25
LEAVE_S = 3.0
TELL_PAUSES_FROM_S = 2.0
TELL_AGAIN_S = 30.0
_NO_BOUND = 1_000_000
_log = logging.getLogger(__name__)


class SharedLoads(Protocol):
    """The ledger, as far as load control needs it."""

    def share_provider(self, provider: str, holder: str, demand: Demand, rule: Rule) -> ProviderShare: ...

    def leave_provider(self, provider: str, holder: str) -> None: ...


class LoadEndedError(Exception):
    """No further call may begin here; ``by`` and the message say why."""

    def __init__(self, by: str, why: str) -> None:
        super().__init__(why)
        self.by = by


class PauseTooLongError(Exception):
    """The provider's pause ends after the time until which a call can wait."""


@dataclasses.dataclass(slots=True, eq=False)
class _Waiter:
    granted: asyncio.Future[float]
    tokens: float
    deadline: float


class Call:
    """One call that is under way. Say how it ended with one of the methods; without that it only frees its slot."""

    def __init__(self, load: LoadControl, began: float, estimated: float) -> None:
        self._load, self.began, self._estimated = load, began, estimated

    def answered(self, tokens: int | None) -> None:
        """It brought an answer; ``tokens`` as the provider counted them."""
        state, now = self._load.state, self._load.now()
        state.answered(now, began=self.began)
        if tokens is not None:
            state.counted(self._estimated, float(tokens))
            self._load.mean_tokens.append(tokens)

    def refused(self, wait_s: float | None, *, overloaded: bool = False) -> None:
        """It was refused because too much is asked, of the provider by us or (overloaded) by all; ``wait_s`` as it said."""
        self._load.state.counted(self._estimated, 0.0)
        self._load.refuse(self.began, wait_s, overloaded)

    def timed_out(self) -> None:
        """It brought nothing within its time."""
        self._load.state.timed_out(self._load.now(), began=self.began)


class LoadControl:
    """Slots for calls to one provider. One instance belongs to one event loop; use it as an asynchronous context.

    Parameters
    ----------
    provider : host and port of the endpoint
    limits : what may never be passed; without them nothing is limited until the provider says so
    shared : the ledger through which workers share a provider; None is alone
    tell : takes remarks for the user: what is waited for, and that the ledger does not answer
    monotonic, sleep : source of elapsed seconds and the way to wait
    spread : random numbers in [0, 1) that lengthen pauses a little

    Examples
    --------
    >>> async def three_calls():
    ...     async with LoadControl("127.0.0.1:1", LoadLimits(concurrency=2)) as load:
    ...         async def one():
    ...             async with load.slot() as call:
    ...                 await asyncio.sleep(0.01)
    ...                 call.answered(tokens=100)
    ...         await asyncio.gather(one(), one(), one())
    ...         return load.stats().peak_in_flight
    >>> asyncio.run(three_calls())
    2
    """

    def __init__(
        self,
        provider: str,
        limits: LoadLimits | None = None,
        *,
        shared: SharedLoads | None = None,
        tell: Callable[[str], object] = _log.info,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self.provider, self.shared, self.tell = provider, shared, tell
        self.limits = limits or LoadLimits(concurrency=_NO_BOUND, start=_NO_BOUND)
        self.now, self._sleep, self._spread = monotonic, sleep, spread
        self.state = LoadState(self.limits, now=monotonic(), shared=shared is not None)
        self.holder = uuid.uuid4().hex
        self.mean_tokens: collections.deque[int] = collections.deque(maxlen=50)
        self.on_pause: Callable[[], object] | None = None
        self._again: collections.deque[_Waiter] = collections.deque()  # further tries come before new requests
        self._new: collections.deque[_Waiter] = collections.deque()
        self._ended: LoadEndedError | None = None
        self._waker: asyncio.Task[None] | None = None
        self._wakes_at = math.inf
        self._exchanging: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._exchange_lock = asyncio.Lock()
        self._away = False
        self._told_at = -math.inf
        self._untold_pause_until = -math.inf

    # Slots --------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def slot(self, tokens: float = 0.0, *, deadline: float | None = None) -> AsyncIterator[Call]:
        """Wait for a slot, and hold it for the block.

        Parameters
        ----------
        tokens : how many the call will take, estimated
        deadline : of a further try of a request, as of the monotonic clock; such a try comes before new requests

        Raises
        ------
        PauseTooLongError : the provider asked to wait beyond the deadline
        LoadEndedError : `end` was called
        """
        began = await self._granted(tokens, deadline)
        try:
            yield Call(self, began, tokens)
        finally:
            self.state.end(self.now())
            self._pump()

    async def _granted(self, tokens: float, deadline: float | None) -> float:
        if self._ended is not None:
            raise self._ended
        waiter = _Waiter(asyncio.get_running_loop().create_future(), tokens, math.inf if deadline is None else deadline)
        queue = self._new if deadline is None else self._again
        queue.append(waiter)
        self.state.waiting += 1
        try:
            self._pump()
            return await waiter.granted
        except asyncio.CancelledError:
            if waiter.granted.done() and not waiter.granted.cancelled() and waiter.granted.exception() is None:
                self.state.end(self.now())  # it was given a slot in the same instant
            raise
        finally:
            self.state.waiting -= 1
            if waiter in queue:
                queue.remove(waiter)
            self._pump()

    def _pump(self) -> None:
        """Give slots to those that wait, in order; come again when only time stands between."""
        self._fail_those_that_cannot_wait()
        while self._again or self._new:
            queue = self._again or self._new
            waiter = queue[0]
            if waiter.granted.done():
                queue.popleft()
                continue
            now = self.now()
            wait_s = self.state.wait_s(now, waiter.tokens)
            if wait_s > 0:
                self._wake_in(wait_s)
                return
            queue.popleft()
            self.state.begin(now, waiter.tokens)
            waiter.granted.set_result(now)
        self._wake_in(math.inf)

    def _fail_those_that_cannot_wait(self) -> None:
        if self._ended is None and self.state.paused_until <= self.now():
            return
        for waiter in [*self._again, *self._new]:
            if waiter.granted.done():
                continue
            if self._ended is not None:
                waiter.granted.set_exception(self._ended)
            elif self.state.paused_until > max(self.now(), waiter.deadline):
                waiter.granted.set_exception(PauseTooLongError(self.state.pause_words))

    def _wake_in(self, wait_s: float) -> None:
        at = self.now() + wait_s
        if self._waker is not None and not self._waker.done():
            if math.isfinite(at) and abs(self._wakes_at - at) < 1e-3:
                return
            self._waker.cancel()
        self._wakes_at, self._waker = at, None
        if math.isfinite(wait_s):
            self._waker = asyncio.get_running_loop().create_task(self._wake(wait_s))

    async def _wake(self, wait_s: float) -> None:
        await self._sleep(wait_s)
        self._waker = None
        self._pump()

    def refuse(self, began: float, wait_s: float | None, overloaded: bool = False) -> None:
        """Take a refusal of the provider; a pause that it asks for holds for all calls, here and elsewhere."""
        self.state.refused(self.now(), began=began, wait_s=wait_s, overloaded=overloaded, spread=self._spread())
        self._announce_pause()
        self._untold_pause_until = max(self._untold_pause_until, self.state.paused_until)
        self._hurry.set()
        self._pump()

    def _announce_pause(self) -> None:
        left = self.pause_left_s
        if left >= TELL_PAUSES_FROM_S and self.now() - self._told_at >= min(TELL_AGAIN_S, left):
            self._told_at = self.now()
            until = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=left)
            self.tell(f"{self.provider}: {self.state.pause_words}; going on in {left:.0f} s, at {until:%H:%M:%S} UTC")
            if self.on_pause is not None:
                self.on_pause()

    def end(self, by: str, why: str) -> None:
        """Let no further call begin: whoever waits is told at once."""
        if self._ended is None:
            self._ended = LoadEndedError(by, why)
        self._pump()

    # What is known ------------------------------------------------------------------------------------------------

    @property
    def pause_left_s(self) -> float:
        """Seconds until a call may begin again after the provider asked to wait."""
        return max(0.0, self.state.paused_until - self.now())

    @property
    def called_s(self) -> float:
        """Seconds of all calls until now."""
        return self.state.called_s(self.now())

    @property
    def waits_for(self) -> str:
        """What calls wait for besides a slot, in words; empty when it is nothing."""
        left = self.pause_left_s
        return f"{self.state.pause_words}, {left:.0f} s left" if left > 0 else ""

    def tokens_of_a_call(self, otherwise: float) -> float:
        """How many tokens the next call will take, from those before it."""
        return sum(self.mean_tokens) / len(self.mean_tokens) if self.mean_tokens else otherwise

    def stats(self) -> LoadStats:
        """What was reached until now."""
        return self.state.stats(self.now())

    # With other workers -------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Begin to share: no call is made before the first share is there, or the ledger does not answer."""
        if self.shared is not None:
            await self._exchange()
            self._exchanging = asyncio.create_task(self._exchange_for_ever())

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop waiting and sharing; the share goes back to the others."""
        with contextlib.suppress(TimeoutError):  # an exchange that is under way would take the share again
            async with asyncio.timeout(LEAVE_S), self._exchange_lock:
                if self._exchanging is not None:
                    self._exchanging.cancel()
        for task in (self._waker, self._exchanging):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._exchanging is not None and self.shared is not None and not self._away:
            with contextlib.suppress(LedgerError):  # it is given up when it was silent for a while
                await asyncio.to_thread(self.shared.leave_provider, self.provider, self.holder)
        self._waker = self._exchanging = None

    async def _exchange_for_ever(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), EXCHANGE_S)
            self._hurry.clear()
            async with self._exchange_lock:
                await self._exchange()
            await asyncio.sleep(SOONEST_EXCHANGE_S)

    async def _exchange(self) -> None:
        """Tell what was learned and take the share; while the ledger is away the last share holds."""
        assert self.shared is not None
        now = self.now()
        signals = self.state.signals_since(now)
        untold = self._untold_pause_until
        demand = Demand(
            wanted=self.state.wanted,
            in_flight=self.state.in_flight,
            concurrency=self.limits.provider_concurrency,
            calls_per_minute=self.limits.calls_per_minute,
            tokens_per_minute=self.limits.tokens_per_minute,
            pause_s=max(0.0, untold - now),
        )
        try:
            share = await asyncio.to_thread(
                self.shared.share_provider, self.provider, self.holder, demand, _rule(signals, self.limits.start)
            )
        except Exception as error:  # whatever it is: sharing is help, and must not end an audit
            self.state.keep(signals)
            if not self._away:
                self.tell(f"the share of {self.provider} stays as it is until the ledger answers: {error}")
            self._away = True
            return
        self._away = False
        if self._untold_pause_until == untold:
            self._untold_pause_until = -math.inf
        self._take(share)

    def _take(self, share: ProviderShare) -> None:
        now = self.now()
        self.state.shared_out(now, share.concurrency, share.calls_per_minute, share.tokens_per_minute)
        if share.paused_s > self.pause_left_s + 0.5:
            left = share.paused_s + self._spread() * min(1.0, 0.1 * share.paused_s)
            self.state.pause(now, left, "the provider asked another worker to wait")
            self._announce_pause()
        if share.concurrency < share.fair:
            self._hurry.set()  # others give back what they have too much within seconds
        self._pump()


def _rule(signals: Signals, start: float) -> Rule:
    """The AIMD rule with what this worker learned, in the form in which the ledger applies it."""

    def rule(value: float | None, fell_at: float | None, now: float, most: float) -> tuple[float, float | None]:
        known = Limit(value=min(START, start)) if value is None else Limit(value=value, fell_at=fell_at)
        limit = moved(known, signals, now=now, ceiling=most)
        return limit.value, limit.fell_at

    return rule
