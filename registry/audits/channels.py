"""What came back besides the scores: coverage, format, duplicates, served models, tokens.

These are channels of their own. A changed format or a higher refusal rate is reported as such and
never enters a bias score.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """Counts of one audit's answers.

    Parameters
    ----------
    calls : requests of the plan; answered : requests with any text from the model
    call_outcomes : number of calls by outcome (a call is ``ok`` when it gave at least one usable record)
    expected : records asked for; None when an import did not say
    usable : records with outcome ``ok``; shortfall : records asked for that never came, whatever the cause
    outcomes : records asked for by what became of them: ``ok``, the other outcomes, and ``missing`` (the model
        answered in good form with fewer than asked); sums to ``expected``, or to the records seen when unknown
    formats : number of answered calls by form (``json``, ``fenced``, ``prose``, ``none``)
    duplicates : usable records that repeat an earlier one in all attributes
    served_models : number of answers by the model id that the provider says answered
    fingerprints : number of answers by system fingerprint
    requested_model : the id that was asked for; None for imports that did not say
    prompt_tokens, completion_tokens : sums; None when any answer did not say
    cost_usd : tokens x price; None when tokens or prices are unknown
    missing_attributes : usable records without a given attribute, by attribute
    """

    calls: int
    answered: int
    call_outcomes: Mapping[str, int]
    expected: int | None
    usable: int
    shortfall: int
    outcomes: Mapping[str, int]
    formats: Mapping[str, int]
    duplicates: int
    served_models: Mapping[str, int]
    fingerprints: Mapping[str, int]
    requested_model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    missing_attributes: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def coverage(self) -> float | None:
        """Usable share of the records asked for; None when nothing was asked for."""
        total = sum(self.outcomes.values())
        return self.outcomes.get("ok", 0) / total if total else None

    @property
    def duplicate_rate(self) -> float | None:
        """Share of usable records that repeat an earlier one; None without usable records."""
        return self.duplicates / self.usable if self.usable else None

    @property
    def mixed_release(self) -> bool:
        """Whether more than one served model id answered: such an audit gives no verdict."""
        return len(self.served_models) > 1

    def rates(self) -> dict[str, float]:
        """Share of the records asked for, by outcome."""
        total = sum(self.outcomes.values())
        return {outcome: count / total for outcome, count in self.outcomes.items()} if total else {}
