"""The state of the calls to one provider: what is under way, what may begin, when. Pure: every time is passed in."""

from __future__ import annotations

import dataclasses
import math

from flows.congestion import START, Bucket, Latency, Limit, Signals, moved

SHORTEST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
RECENT_S = 10.0  # over about so long the concurrency that is reached is averaged
IDLE_SHARE = 0.5
IDLE_FOR_S = 60.0
_SOON = 1e-6


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LoadLimits:
    """What may never be passed.

    Parameters
    ----------
    concurrency : calls under way, of this process
    calls_per_minute, tokens_per_minute : None is no bound
    provider_concurrency : calls under way, over all workers; None is found out from the provider's answers
    start : calls under way at the beginning; more are tried when these are answered
    """

    concurrency: int
    calls_per_minute: float | None = None
    tokens_per_minute: float | None = None
    provider_concurrency: int | None = None
    start: float = START

    @property
    def ceiling(self) -> int:
        """Calls under way that this process may reach when it is alone."""
        return min(self.concurrency, self.provider_concurrency or self.concurrency)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LoadStats:
    """What was reached.

    Parameters
    ----------
    mean_in_flight, peak_in_flight : calls under way; lowest_limit, highest_limit : that might have been
    recent_in_flight, limit : of the last seconds, and now
    refused : calls that were refused for too many; falls : times the limit fell
    paused_s : seconds for which nothing could begin because the provider had asked to wait
    """

    mean_in_flight: float
    peak_in_flight: int
    lowest_limit: int
    highest_limit: int
    recent_in_flight: float
    limit: int
    refused: int
    falls: int
    paused_s: float


class LoadState:
    """Decides when a call may begin.

    Examples
    --------
    >>> state = LoadState(LoadLimits(concurrency=8), now=0.0)
    >>> while state.wait_s(0.0) == 0:
    ...     state.begin(0.0)
    >>> state.slots, state.in_flight, state.wait_s(0.0)
    (4, 4, inf)
    >>> state.refused(1.0, began=0.0, wait_s=30.0)
    >>> for _ in range(4):
    ...     state.end(1.0)
    >>> state.slots, state.in_flight, state.wait_s(1.0)
    (2, 0, 30.0)
    """

    def __init__(self, limits: LoadLimits, *, now: float, shared: bool = False) -> None:
        self.limits, self.shared = limits, shared
        self.limit = Limit(value=max(1.0, min(limits.start, limits.ceiling)))
        self.share: int | None = None  # of the calls that all workers may make; None: nobody shares
        self.in_flight = self.waiting = 0
        self.draining = False  # no further call will come than those that wait
        self.paused_until = -math.inf
        self.pause_words = ""
        self.latency = Latency()
        self._calls = self._bucket(limits.calls_per_minute, now)
        self._tokens: Bucket | None = None
        self._tokens_per_minute = limits.tokens_per_minute
        self._signals = Signals()
        self._refused_windows = 0
        self._refused_last_began = -math.inf
        self._began_at = self._at = now
        self._busy = self._paused = self._recent = 0.0
        self.peak = self.refusals = self.falls = 0
        self.lowest = self.highest = self.slots

    def _bucket(self, per_minute: float | None, now: float, unit: float = 1.0) -> Bucket | None:
        return None if per_minute is None else Bucket(per_minute, now=now, unit=unit, empty=self.shared)

    # What may begin -----------------------------------------------------------------------------------------------

    @property
    def slots(self) -> int:
        """Calls that may be under way now."""
        own = math.floor(self.limit.value + 1e-9)
        return own if self.share is None else min(own, self.share)

    @property
    def pressed(self) -> bool:
        """Whether the limit is in use: what is learned while it is not says nothing about it."""
        return self.in_flight >= self.slots or self.waiting > 0

    def wait_s(self, now: float, tokens: float = 0.0) -> float:
        """Seconds until a call may begin; 0 is now, infinity is when another one ends or the limit rises."""
        if self.in_flight >= self.slots:
            return math.inf
        waits = [self.paused_until - now]
        if self._calls is not None:
            waits.append(self._calls.wait_s(now, 1.0))
        if self._tokens_per_minute is not None:
            waits.append(self._token_bucket(now, tokens).wait_s(now, tokens))
        longest = max(waits)
        return longest if longest > _SOON else 0.0

    def _token_bucket(self, now: float, tokens: float) -> Bucket:
        """Made with the first call, whose size is the unit in which tokens are taken."""
        if self._tokens is None:
            assert self._tokens_per_minute is not None
            bucket = self._bucket(self._tokens_per_minute, now, unit=max(1.0, tokens))
            assert bucket is not None
            self._tokens = bucket
        return self._tokens

    def begin(self, now: float, tokens: float = 0.0) -> None:
        """Count a call as under way; `wait_s` said 0."""
        self._pass(now)
        if self._calls is not None:
            self._calls.take(now, 1.0)
        if self._tokens_per_minute is not None:
            self._token_bucket(now, tokens).take(now, tokens)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)

    # How calls end ------------------------------------------------------------------------------------------------

    def end(self, now: float) -> None:
        """A call is no more under way; what is known of it is said before by one of the methods below."""
        self._pass(now)
        self.in_flight -= 1

    def counted(self, estimated: float, actual: float) -> None:
        """The provider said how many tokens a call took."""
        if self._tokens is not None:
            self._tokens.correct(estimated, actual)

    def answered(self, now: float, *, began: float) -> None:
        """A call brought an answer."""
        self._refused_windows = 0
        slow = self.latency.answered(now, now - began, in_flight=self.in_flight)
        if slow is not None:
            self._learn(now, Signals(slow_s_ago=now - slow))
        elif self.pressed:
            self._learn(now, Signals(answers=1))

    def timed_out(self, now: float, *, began: float) -> None:
        """A call brought nothing within its time: the latency grew as far as it can."""
        self._learn(now, Signals(slow_s_ago=now - began))

    def refused(
        self,
        now: float,
        *,
        began: float,
        wait_s: float | None = None,
        overloaded: bool = False,
        spread: float = 0.0,
    ) -> None:
        """The provider refused a call for too many, and may have said how long to wait.

        Without that, one refusal lowers the limit and nothing else. When nothing at all is answered any more, all calls
        pause, for twice as long each time; not so when the provider is overloaded (503), for then it is the request
        that is given up after some tries. ``spread`` in [0, 1) lengthens a pause a little, so that workers do not all begin
        again in one instant.
        """
        self.refusals += 1
        if began >= self._refused_last_began:  # not another one of the same burst
            self._refused_windows += 1
            self._refused_last_began = now
        self._learn(now, Signals(refused_s_ago=now - began))
        if wait_s is not None:
            self.pause(now, wait_s + spread * min(1.0, 0.1 * wait_s), f"the provider asked to wait {wait_s:.3g} s")
        elif self._refused_windows > 1 and not overloaded:
            backoff = min(LONGEST_PAUSE_S, SHORTEST_PAUSE_S * 2.0 ** (self._refused_windows - 2))
            self.pause(now, backoff * (0.5 + 0.5 * spread), "the provider refuses every call for too many")

    def pause(self, now: float, seconds: float, words: str) -> None:
        """Begin no call for a while."""
        self._pass(now)
        if now + seconds > self.paused_until:
            self.paused_until, self.pause_words = now + seconds, words

    def _learn(self, now: float, signals: Signals) -> None:
        """Move the own limit at once, and keep what was learned for the others."""
        self._pass(now)
        ceiling = self.limits.ceiling if self.share is None else max(1, self.share)
        before = self.limit
        self.limit = moved(before, signals, now=now, ceiling=ceiling)
        self.falls += self.limit.fell_at != before.fell_at
        self._signals = _together(self._signals, signals, 0.0)
        self._note()

    # Between workers ----------------------------------------------------------------------------------------------

    @property
    def wanted(self) -> int:
        """Calls that this process would have under way if it might."""
        left = self.in_flight + self.waiting if self.draining else self.limits.concurrency
        return min(self.limits.concurrency, left)

    def signals_since(self, now: float) -> Signals:
        """What was learned since the last time, as of now."""
        self._pass(now)
        told, self._signals = self._signals, Signals()
        return told

    def keep(self, signals: Signals) -> None:
        """Take back signals that could not be told."""
        self._signals = _together(signals, self._signals, 0.0)

    def shared_out(
        self, now: float, share: int, calls_per_minute: float | None, tokens_per_minute: float | None
    ) -> None:
        """Take the share that the workers agreed on, as far as this process may have calls under way."""
        self._pass(now)
        self.share = min(share, self.limits.ceiling)
        self.limit = Limit(value=max(1.0, float(self.share)), fell_at=self.limit.fell_at)
        if calls_per_minute is not None and self._calls is not None:
            self._calls.retune(now, calls_per_minute)
        if tokens_per_minute is not None:
            self._tokens_per_minute = tokens_per_minute
            if self._tokens is not None:
                self._tokens.retune(now, tokens_per_minute)
        self._note()

    # What was reached ---------------------------------------------------------------------------------------------

    def _pass(self, now: float) -> None:
        """Let time pass in the averages."""
        span = now - self._at
        if span <= 0:
            return
        self._busy += span * self.in_flight
        self._paused += max(0.0, min(now, self.paused_until) - self._at)
        self._recent += (self.in_flight - self._recent) * -math.expm1(-span / RECENT_S)
        self._signals = _together(self._signals, Signals(), span)
        self._at = now

    def _note(self) -> None:
        self.lowest, self.highest = min(self.lowest, self.slots), max(self.highest, self.slots)

    def called_s(self, now: float) -> float:
        """Seconds of all calls until now."""
        self._pass(now)
        return self._busy

    def stats(self, now: float) -> LoadStats:
        """What was reached until now."""
        self._pass(now)
        span = now - self._began_at
        # The average begins at nothing; divided by how much of it has been filled it is an average from the start.
        filled = -math.expm1(-max(0.0, span) / RECENT_S) or 1.0
        return LoadStats(
            mean_in_flight=self._busy / span if span > 0 else 0.0,
            peak_in_flight=self.peak,
            lowest_limit=self.lowest,
            highest_limit=self.highest,
            recent_in_flight=self._recent / filled,
            limit=self.slots,
            refused=self.refusals,
            falls=self.falls,
            paused_s=self._paused,
        )


class Idleness:
    """Notices that far fewer calls are under way than might be, although requests wait: a fault that costs only time."""

    words = ""

    def __init__(self) -> None:
        self._since: float | None = None
        self._told = False

    def lasts(self, now: float, stats: LoadStats, state: LoadState, *, taken: int) -> bool:
        """Whether to say so now, in ``words``; once. ``taken`` : requests that were taken up and have no answer."""
        idle = (
            stats.limit >= 2
            and stats.recent_in_flight < IDLE_SHARE * stats.limit
            and now >= state.paused_until
            and not state.draining
        )
        if not idle or self._told:
            self._since = None
            return False
        self._since = now if self._since is None else self._since
        if now - self._since < IDLE_FOR_S:
            return False
        self._told = True
        limits = state.limits
        why = "the storage of answers, or the supply of requests, is slower than the provider"
        if limits.calls_per_minute is not None or limits.tokens_per_minute is not None:
            why = "the calls or tokens a minute that are configured for the provider allow no more"
        elif taken >= stats.limit:
            why = "most requests wait between their tries, for the provider fails"
        self.words = (
            f"only {stats.recent_in_flight:.1f} of {stats.limit} calls are under way although requests wait: {why}"
        )
        return True


def _together(earlier: Signals, later: Signals, aged_s: float) -> Signals:
    """Two sets of signals as one: the earlier has aged meanwhile; of falls the youngest call counts."""

    def youngest(old: float | None, new: float | None) -> float | None:
        known = [age for age in (None if old is None else old + aged_s, new) if age is not None]
        return min(known, default=None)

    return Signals(
        answers=earlier.answers + later.answers,
        refused_s_ago=youngest(earlier.refused_s_ago, later.refused_s_ago),
        slow_s_ago=youngest(earlier.slow_s_ago, later.slow_s_ago),
    )
