"""What a collection has spent, and whether the budgets that bind it hold one more call."""

from __future__ import annotations

import dataclasses
import math
from typing import Protocol

from metrics.errors import BadInputError
from registry.audits.plan import Outcome, Response

CALLS_AHEAD = 4  # are set aside besides those in flight and as many again


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one collection counts with. How much it may spend is the `Allowance`'s.

    Parameters
    ----------
    price_input, price_output : US dollars per million tokens; None is unknown, never free
    first_call_tokens : tokens of a large call, reserved for each call in flight until a larger one is seen. With
        the prompt and ``max_tokens`` in it an allowance holds exactly.

    Raises
    ------
    BadInputError : for numbers below zero
    """

    price_input: float | None = None
    price_output: float | None = None
    first_call_tokens: int = 0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise BadInputError(f"budget: {field.name} must be a number of at least 0, got {value}")

    def cost_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """US dollars of a call; None when a price is unknown.

        >>> Budget(price_input=2.0, price_output=10.0).cost_usd(1000, 500)
        0.007
        """
        if self.price_input is None or self.price_output is None:
            return None
        return (prompt_tokens * self.price_input + completion_tokens * self.price_output) / 1e6


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What may be spent until the allowance is renewed; ``why`` says which budget has no more, as of then."""

    tokens: int
    usd: float
    why: str = ""


class Allowance(Protocol):
    """Budgets that others spend from too: what calls may take is set aside before they are made."""

    def renew(self, tokens: int, usd: float, one_call_tokens: int) -> Granted:
        """Set aside what calls that have no answer yet may take, at most so much, in place of what was set aside."""
        ...

    def close(self) -> None:
        """Give back what is set aside."""
        ...


class Spending:
    """Running account of one collection against its `Allowance`; without one it only counts.

    A call is admitted only when the allowance holds what was spent, the largest call seen for each call in flight,
    and one more of that size. A call that timed out may have been billed, and one without a token count, or with
    none for its text, surely was: each is charged at the largest call seen.

    Parameters
    ----------
    budget : prices, and the size of a large call
    allowance : limits, which others may spend from too; asked again when what was set aside is used up

    Examples
    --------
    >>> spending = Spending(Budget(price_input=2.0, price_output=10.0))
    >>> spending.admit(), spending.in_flight
    (True, 1)
    >>> spending.settle(Response(index=0, prompt_tokens=20, completion_tokens=30))
    >>> spending.in_flight, spending.tokens, spending.cost_usd
    (0, 50, 0.00034)
    """

    def __init__(self, budget: Budget | None = None, allowance: Allowance | None = None) -> None:
        self.budget, self.allowance = budget or Budget(), allowance
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.without_count = 0
        self.in_flight = 0
        self._largest_tokens = self.budget.first_call_tokens
        # A stated size says nothing of its parts: take the dearer price for all of it.
        dearer = max(self.budget.price_input or 0.0, self.budget.price_output or 0.0)
        self._largest_usd = self._largest_tokens * dearer / 1e6
        self._granted = Granted(tokens=0, usd=0.0)
        self._used_tokens, self._used_usd = 0, 0.0  # of what was granted
        self._changed = True  # since the allowance was renewed

    @property
    def tokens(self) -> int:
        """Tokens that the provider reported."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def cost_usd(self) -> float | None:
        """US dollars of the reported tokens; None when a price or any answer's count is unknown."""
        return None if self.without_count else self.budget.cost_usd(self.prompt_tokens, self.completion_tokens)

    @property
    def why_stopped(self) -> str:
        """Why `admit` refuses while nothing is in flight."""
        return self._granted.why

    def admit(self) -> bool:
        """Reserve one call; False when the budget might not hold it."""
        if self.allowance is not None and not self._room():
            return False
        self.in_flight += 1
        return True

    def _room(self) -> bool:
        calls = self.in_flight + 1
        if self._within_granted(calls):
            return True
        if self._changed:
            self.renew()
        return self._within_granted(calls)

    def _within_granted(self, calls: int) -> bool:
        tokens = self._used_tokens + calls * self._largest_tokens
        dollars = self._used_usd + calls * self._largest_usd
        return tokens <= self._granted.tokens and dollars <= self._granted.usd + 1e-12

    def renew(self) -> None:
        """Set aside what the calls in flight and about as many after them may take."""
        if self.allowance is None:
            return
        calls = 2 * self.in_flight + CALLS_AHEAD
        self._granted = self.allowance.renew(
            calls * self._largest_tokens, calls * self._largest_usd, self._largest_tokens
        )
        self._used_tokens, self._used_usd, self._changed = 0, 0.0, False

    def close(self) -> None:
        """Give back what is set aside for calls that are not made any more."""
        if self.allowance is not None:
            self.allowance.close()

    def settle(self, response: Response) -> None:
        """Turn a reservation into what the call took."""
        self.in_flight -= 1
        self._changed = True
        counted = _count(response)
        if counted is not None:
            prompt, completion = counted
            tokens, dollars = prompt + completion, self.budget.cost_usd(prompt, completion) or 0.0
            self.prompt_tokens += prompt
            self.completion_tokens += completion
            self._largest_tokens = max(self._largest_tokens, tokens)
            self._largest_usd = max(self._largest_usd, dollars)
        elif response.failure is Outcome.PROVIDER_ERROR:
            return
        else:
            tokens, dollars = self._largest_tokens, self._largest_usd
            self.without_count += 1
        self._used_tokens += tokens
        self._used_usd += dollars


def _count(response: Response) -> tuple[int, int] | None:
    """The tokens that were counted; None for no count, and for one that cannot be: no call is free."""
    prompt, completion = response.prompt_tokens, response.completion_tokens
    if prompt is None or completion is None or prompt == 0 or (completion == 0 and (response.text or response.refusal)):
        return None
    return prompt, completion
