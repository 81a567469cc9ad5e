"""How many calls a provider takes at a time, found out from its answers. Pure: every time is passed in.

**Rising.** As in TCP (Jacobson 1988), the limit begins low. Until the provider first says no it rises by one for each
answer, so that it doubles in the time of one call; from then on by one for as many answers as the limit is high, so by
one in the time of one call. It rises only on answers that came while the limit was in use: what was not tried is not
known to work (RFC 7661 has the same rule).

**Falling.** A refusal for too many calls (429) multiplies the limit by 0.7, the factor of CUBIC (RFC 9438). Additive
rise with multiplicative fall is the rule of its kind under which several clients come to equal shares (Chiu and Jain
1989). A burst of refusals is one event: a call that began before the last fall says nothing about the limit after it,
and is not counted.

**Latency.** A provider that queues instead of refusing shows it in the latency (TCP Vegas, Brakmo and Peterson 1995).
The latency of a language model is noisy, and one that batches is slower and yet does more when it has more to do. So
medians are compared, of windows of at least eight answers, with the best window of the last ten minutes, and the limit
falls, by a tenth, only when all three hold: more calls were under way than in the best window, the latency is more than
twice the best, and it grew by more than the calls under way did, which is to say that fewer answers a second came than
before. By this rule the limit never falls below the number of calls at which the provider was at its best, so a
provider that is slow for reasons of its own is not asked ever less. Latencies below a tenth of a second count as that:
they show this machine more than the provider.

References
----------
Jacobson, V. (1988). Congestion avoidance and control. SIGCOMM '88, 314-329.
Chiu, D.-M. and Jain, R. (1989). Analysis of the increase and decrease algorithms for congestion avoidance in computer
networks. Computer Networks and ISDN Systems 17, 1-14.
Brakmo, L. and Peterson, L. (1995). TCP Vegas. IEEE Journal on Selected Areas in Communications 13, 1465-1480.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import statistics

START = 4.0
FALL = 0.7
LATENCY_FALL = 0.9
LATENCY_GROWTH = 2.0
SMALLEST_WINDOW = 8
BEST_FOR_S = 600.0
FASTEST_S = 0.1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Calls that may be under way, as a number with a fraction, and when it last fell (None: never, it still opens)."""

    value: float = START
    fell_at: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What answers said since the last look.

    Parameters
    ----------
    answers : that came while the limit was in use
    refused_s_ago : how long ago the latest of the calls that were refused for too many began; None for none
    slow_s_ago : how long ago a window began whose latency had clearly grown; None for none
    """

    answers: int = 0
    refused_s_ago: float | None = None
    slow_s_ago: float | None = None


def moved(limit: Limit, signals: Signals, *, now: float, ceiling: float) -> Limit:
    """The limit after the signals: never below 1, never above the ceiling.

    Examples
    --------
    >>> moved(Limit(value=4.0), Signals(answers=4), now=10.0, ceiling=16)
    Limit(value=8.0, fell_at=None)
    >>> fallen = moved(Limit(value=8.0), Signals(refused_s_ago=0.5), now=10.0, ceiling=16)
    >>> round(fallen.value, 3), fallen.fell_at
    (5.6, 10.0)
    >>> moved(fallen, Signals(refused_s_ago=0.6), now=10.1, ceiling=16) == fallen  # it began before the fall
    True
    >>> round(moved(fallen, Signals(answers=6), now=12.0, ceiling=16).value, 2)
    6.58
    """
    value, fell_at = limit.value, limit.fell_at
    if _counts(limit, signals.refused_s_ago, now):
        value, fell_at = value * FALL, now
    elif _counts(limit, signals.slow_s_ago, now):
        value, fell_at = value * LATENCY_FALL, now
    elif signals.answers > 0:
        # Adding 1 / value for each answer, all at once.
        value = value + signals.answers if fell_at is None else math.sqrt(value * value + 2.0 * signals.answers)
    return Limit(value=max(1.0, min(value, ceiling)), fell_at=fell_at)


def _counts(limit: Limit, s_ago: float | None, now: float) -> bool:
    """Whether something that began that long ago says anything about the limit as it is."""
    return s_ago is not None and (limit.fell_at is None or now - s_ago >= limit.fell_at)


@dataclasses.dataclass(frozen=True, slots=True)
class _Window:
    ended: float
    latency_s: float
    in_flight: float


class Latency:
    """Median latencies of windows of answers, and whether the last one has clearly grown.

    Examples
    --------
    >>> latency = Latency()
    >>> for call in range(8):
    ...     assert latency.answered(float(call), 1.0, in_flight=4) is None
    >>> slow = [latency.answered(10.0 + call, 5.0, in_flight=8) for call in range(16)]
    >>> [began for began in slow if began is not None]  # 5 times the latency at twice the calls
    [5.0, 13.0]
    """

    def __init__(self) -> None:
        self._windows: collections.deque[_Window] = collections.deque()
        self._current: list[tuple[float, float, int]] = []

    def answered(self, now: float, latency_s: float, *, in_flight: int) -> float | None:
        """Take an answer; gives the time at which a window began when it shows that latency has clearly grown.

        ``in_flight`` counts the call itself.
        """
        self._current.append((now - latency_s, latency_s, in_flight))
        if len(self._current) < max(SMALLEST_WINDOW, in_flight):
            return None
        began = min(start for start, _, _ in self._current)
        seen = _Window(
            now,
            statistics.median(latency for _, latency, _ in self._current),
            statistics.fmean(calls for _, _, calls in self._current),
        )
        self._current = []
        while self._windows and self._windows[0].ended < now - BEST_FOR_S:
            self._windows.popleft()
        best = min(self._windows, key=lambda window: window.latency_s, default=None)
        self._windows.append(seen)
        return began if best is not None and _grown(seen, best) else None


def _grown(seen: _Window, best: _Window) -> bool:
    latency, load = seen.latency_s / max(best.latency_s, FASTEST_S), seen.in_flight / best.in_flight
    return load > 1.0 and latency > max(LATENCY_GROWTH, load)


class Bucket:
    """So much a minute, in every minute: what one may take fills up slowly, and little of it may be saved up.

    At most ``per_minute`` fits into any 60 seconds: what may be saved is small, and the refill is slower by as much.

    Parameters
    ----------
    per_minute : what may be taken in a minute
    saved : what may be saved up; by default a twentieth of a minute's, and at least ``unit``
    unit : the size of one taking
    empty : begin with nothing saved, for one that joins others at the same provider

    Examples
    --------
    >>> calls = Bucket(60, now=0.0)
    >>> taken = []
    >>> for tick in range(3000):
    ...     if calls.wait_s(tick / 50, 1) == 0:
    ...         calls.take(tick / 50, 1)
    ...         taken.append(tick / 50)
    >>> len(taken), taken[:4]
    (60, [0.0, 0.02, 0.04, 1.04])
    """

    def __init__(self, per_minute: float, *, now: float, unit: float = 1.0, empty: bool = False) -> None:
        self._unit, self._filled_at, self._level = unit, now, 0.0
        self._rate(per_minute)
        if not empty:
            self._level = self._saved

    def retune(self, now: float, per_minute: float) -> None:
        """Change the rate; what was taken stays taken."""
        self._fill(now)
        self._rate(per_minute)

    def _rate(self, per_minute: float) -> None:
        self.per_minute = per_minute
        self._saved = max(self._unit, per_minute / 20.0)
        # A burst of what is saved, and the refill of a minute less one taking, make no more than the rate.
        self._a_second = max(per_minute - self._saved + self._unit, per_minute / 20.0) / 60.0
        self._level = min(self._level, self._saved)

    def _fill(self, now: float) -> None:
        self._level = min(self._saved, self._level + max(0.0, now - self._filled_at) * self._a_second)
        self._filled_at = now

    def wait_s(self, now: float, amount: float) -> float:
        """Seconds until so much may be taken; more than can be saved up needs a full bucket, and leaves a debt."""
        self._fill(now)
        missing = min(amount, self._saved) - self._level
        return missing / self._a_second if missing > 1e-9 else 0.0

    def take(self, now: float, amount: float) -> None:
        """Take; the level may fall below nothing, and must be paid back by waiting."""
        self._fill(now)
        self._level -= amount

    def correct(self, estimated: float, actual: float) -> None:
        """Replace what was estimated by what it was."""
        self._level = min(self._saved, self._level + estimated - actual)
