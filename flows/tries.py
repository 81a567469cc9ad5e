"""The tries of one request: how long to wait before the next one, and when there is none. Pure: times are passed in."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from flows.provider_errors import ProviderError

BACKOFF_S = 0.5
LONGEST_BACKOFF_S = 60.0


@dataclasses.dataclass(slots=True, kw_only=True)
class Tries:
    """What one request has been through.

    A refusal for too many calls is no fault of the request: it is not one of its ``attempts``, only time bounds it. When a
    request is given up for that, or because nobody is there, it stays open; and when nothing else was answered meanwhile
    either, no other request needs to be tried (`ProviderError.ends`).

    Parameters
    ----------
    attempts : tries that may fail; deadline_s : seconds from the first try until the last may begin
    answers_before : answers that the endpoint had given when this request began
    """

    attempts: int
    deadline_s: float
    answers_before: int = 0
    made: int = 0
    faults: int = 0
    deadline: float = math.inf
    words: str = ""

    def begin(self, now: float) -> bool:
        """Begin a try; False when it is too late for one. The first sets the deadline: until then it only had no turn."""
        if not self.made:
            self.deadline = now + self.deadline_s
        if now >= self.deadline:
            return False
        self.made += 1
        return True

    def next_s(
        self, error: ProviderError, *, now: float, answers: int, uniform: Callable[[float, float], float]
    ) -> float | ProviderError:
        """Seconds until the next try, or the failure with the reason why there is none.

        >>> tries = Tries(attempts=2, deadline_s=60.0)
        >>> failure = ProviderError(words="500: oops", transient=True)
        >>> tries.begin(0.0), tries.next_s(failure, now=1.0, answers=0, uniform=max)
        (True, 0.5)
        >>> tries.begin(1.5), tries.next_s(failure, now=2.0, answers=0, uniform=max).words
        (True, '500: oops; given up after 2 tries')
        """
        self.words = error.words
        if not error.transient:
            return dataclasses.replace(error, ends="quota") if error.spent else error
        self.faults += not error.rate_limited
        wait_s = self._wait_s(error, uniform)
        if self.faults < self.attempts and now + wait_s < self.deadline:
            return wait_s
        if self.faults >= self.attempts:
            words = f"given up after {self.made} {'try' if self.made == 1 else 'tries'}"
        else:
            asked = f"it asked to wait {error.wait_s:g} s, and " if error.wait_s else ""
            words = f"{asked}one request may take {self.deadline_s:g} s in all"
        lasting = answers == self.answers_before or (error.wait_s or 0.0) >= self.deadline_s
        why = "rate limit" if error.rate_limited else "unreachable" if error.unreachable else ""
        ends, lost = why if lasting else "", error.lost or error.rate_limited
        return dataclasses.replace(error, words=f"{error.words}; {words}", lost=lost, ends=ends)

    def _wait_s(self, error: ProviderError, uniform: Callable[[float, float], float]) -> float:
        if error.wait_s:
            # For a rate limit the whole provider pauses, and that pause has its own spread.
            return error.wait_s + (0.0 if error.rate_limited else uniform(0.0, min(1.0, 0.1 * error.wait_s)))
        return min(LONGEST_BACKOFF_S, BACKOFF_S * 2.0 ** (self.made - 1)) * uniform(0.5, 1.0)

    def too_late(self, words: str, *, answers: int) -> ProviderError:
        """The failure when no slot comes free before the deadline."""
        words = (
            f"{words or self.words}; no call could begin in time, and one request may take {self.deadline_s:g} s in all"
        )
        return ProviderError(words=words, lost=True, ends="rate limit" if answers == self.answers_before else "")
