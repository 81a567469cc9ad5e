"""An allowance without a ledger, for tests of what keeps to one."""

from __future__ import annotations

import math

from flows.budget import Budget, Granted
from registry.audits.plan import Outcome, Response


class Purse:
    """An allowance from one purse that nobody else has; `pay` takes out what an answer took, as the ledger counts it."""

    def __init__(self, tokens: float = math.inf, usd: float = math.inf, *, budget: Budget | None = None) -> None:
        self.left, self.usd_left, self.renewals = tokens, usd, 0
        self.budget = budget or Budget()

    def pay(self, response: Response) -> None:
        if response.prompt_tokens is not None and response.completion_tokens is not None:
            self.left -= response.prompt_tokens + response.completion_tokens
            self.usd_left -= self.budget.cost_usd(response.prompt_tokens, response.completion_tokens) or 0.0
        elif response.failure is not Outcome.PROVIDER_ERROR:
            self.left -= self.budget.first_call_tokens

    def renew(self, tokens: int, usd: float, one_call_tokens: int) -> Granted:
        self.renewals += 1
        return Granted(tokens=int(min(tokens, self.left)), usd=min(usd, self.usd_left), why="the purse is empty")

    def close(self) -> None: ...
