"""What a collection may spend, and what it has spent."""

from __future__ import annotations

import dataclasses
import math
from typing import Protocol

from metrics.errors import BadInputError
from registry.audits.plan import Outcome, Response

CALLS_AHEAD = 4  # are set aside besides those in flight and as many again


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one collection. Without limits it only counts.

    Parameters
    ----------
    max_tokens : prompt and completion tokens in all
    max_cost_usd : US dollars in all; needs both prices
    price_input, price_output : US dollars per million tokens; None is unknown, never free
    first_call_tokens : tokens of a large call, reserved for each call in flight until a larger one is seen. With
        the prompt and ``max_tokens`` in it the limits hold exactly; without it the first call goes alone.

    Raises
    ------
    BadInputError : for a limit in dollars without both prices, and for numbers below zero

    Examples
    --------
    >>> Budget(max_cost_usd=5.0, price_input=0.5, price_output=None)
    Traceback (most recent call last):
    ...
    metrics.errors.BadInputError: a budget in dollars needs the prices of input and output tokens, got 0.5 and None; ...
    """

    max_tokens: int | None = None
    max_cost_usd: float | None = None
    price_input: float | None = None
    price_output: float | None = None
    first_call_tokens: int | None = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise BadInputError(f"budget: {field.name} must be a number of at least 0, got {value}")
        if self.max_cost_usd is not None and (self.price_input is None or self.price_output is None):
            raise BadInputError(
                f"a budget in dollars needs the prices of input and output tokens, got {self.price_input} and "
                f"{self.price_output}; state both for this release, or set a budget in tokens"
            )

    @property
    def limited(self) -> bool:
        """Whether there is anything to keep to."""
        return self.max_tokens is not None or self.max_cost_usd is not None

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
    """Running account of one collection against its `Budget`.

    A call is admitted only when the budget holds what was spent, the largest call seen for each call in flight,
    and one more of that size. A call that timed out may have been billed, and one without a token count, or with
    none for its text, surely was: each is charged at the largest call seen.

    Parameters
    ----------
    budget : limits of this collection alone, and prices
    allowance : limits that it shares with others; asked again when what was set aside is used up

    Examples
    --------
    >>> spending = Spending(Budget(max_tokens=250, first_call_tokens=100))
    >>> spending.admit(), spending.admit(), spending.admit()
    (True, True, False)
    >>> spending.settle(Response(index=0, prompt_tokens=20, completion_tokens=30))
    >>> spending.admit(), spending.tokens
    (True, 50)
    """

    def __init__(self, budget: Budget | None = None, allowance: Allowance | None = None) -> None:
        self.budget, self.allowance = budget or Budget(), allowance
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.without_count = 0
        self.in_flight = 0
        self._charged_tokens = 0
        self._charged_usd = 0.0
        self._known = self.budget.first_call_tokens is not None
        self._largest_tokens = self.budget.first_call_tokens or 0
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
        if not self._known:
            return "the endpoint reports no token counts, so a budget cannot be kept; state first_call_tokens"
        if self.allowance is not None and self._within_own(1):
            return self._granted.why
        limits = []
        if self.budget.max_tokens is not None:
            limits.append(f"{self._charged_tokens} of {self.budget.max_tokens} tokens")
        if self.budget.max_cost_usd is not None:
            limits.append(f"{self._charged_usd:.4f} of {self.budget.max_cost_usd:.4f} US dollars")
        return f"{' and '.join(limits)} are spent, and one more call may take {self._largest_tokens} tokens"

    def admit(self) -> bool:
        """Reserve one call; False when the budget might not hold it."""
        if (self.budget.limited or self.allowance is not None) and not self._room():
            return False
        self.in_flight += 1
        return True

    def _room(self) -> bool:
        if not self._known:
            return self.in_flight == 0 and not self.without_count
        calls = self.in_flight + 1
        if not self._within_own(calls):
            return False
        if self.allowance is None or self._within_granted(calls):
            return True
        if self._changed:
            self.renew()
        return self._within_granted(calls)

    def _within_own(self, calls: int) -> bool:
        budget = self.budget
        tokens = self._charged_tokens + calls * self._largest_tokens
        dollars = self._charged_usd + calls * self._largest_usd
        within_tokens = budget.max_tokens is None or tokens <= budget.max_tokens
        return within_tokens and (budget.max_cost_usd is None or dollars <= budget.max_cost_usd + 1e-12)

    def _within_granted(self, calls: int) -> bool:
        tokens = self._used_tokens + calls * self._largest_tokens
        dollars = self._used_usd + calls * self._largest_usd
        return tokens <= self._granted.tokens and dollars <= self._granted.usd + 1e-12

    def renew(self) -> None:
        """Set aside what the calls in flight and about as many after them may take."""
        if self.allowance is None or not self._known:
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
            self._known = True
        elif response.failure is Outcome.PROVIDER_ERROR:
            return
        else:
            tokens, dollars = self._largest_tokens, self._largest_usd
            self.without_count += 1
        self._charged_tokens += tokens
        self._charged_usd += dollars
        self._used_tokens += tokens
        self._used_usd += dollars


def _count(response: Response) -> tuple[int, int] | None:
    """The tokens that were counted; None for no count, and for one that cannot be: no call is free."""
    prompt, completion = response.prompt_tokens, response.completion_tokens
    if prompt is None or completion is None or prompt == 0 or (completion == 0 and (response.text or response.refusal)):
        return None
    return prompt, completion
