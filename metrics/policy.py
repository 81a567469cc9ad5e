"""The comparison policy as a value; `metrics.verdicts` judges by it. Needs no numerical library, so that reading it is quick."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from metrics.errors import BadInputError

CORRECTIONS = ("max-t",)
STANDARD_ERRORS = ("guarded", "own")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How the change of a score is judged.

    Parameters
    ----------
    alpha : family-wise error rate; correction : how q values are adjusted over the family (``max-t``)
    smallest_change : score change that matters; below it nothing is called regressed or improved
    margin : a change inside +-margin counts as none, if its 90 % interval is inside as well
    standard_error : ``own`` takes the variance of V squared at each release's own table; ``guarded`` also at the
        pooled table, and the larger of the two, since the first can collapse where a category is rare
    merge_below : categories with fewer pooled records are merged into ``other``
    name_n_eff : records with a listed name that a verdict on a name dimension needs, in each release
    fewest_clusters : requests that a verdict needs, in each release; where sizes differ, what they are worth counts
    coverage_floor : usable share of the records asked for; below it no verdict. coverage_gap : largest difference of
        the two shares. mapped_floor : share of usable records with a category on both sides of a dimension
    multipliers, resamples : draws of the joint null law and of the response bootstrap; seed : of both

    >>> Policy(alpha=0.01) == Policy.from_json(Policy(alpha=0.01).as_json())
    True
    """

    alpha: float = 0.05
    smallest_change: float = 0.05
    margin: float = 0.10
    correction: str = "max-t"
    standard_error: str = "guarded"
    merge_below: int = 10
    name_n_eff: int = 2000
    fewest_clusters: int = 20
    coverage_floor: float = 0.5
    coverage_gap: float = 0.10
    mapped_floor: float = 0.5
    multipliers: int = 4999
    resamples: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.correction not in CORRECTIONS:
            raise BadInputError(f"unknown correction {self.correction!r}; known: {', '.join(CORRECTIONS)}")
        if self.standard_error not in STANDARD_ERRORS:
            known = ", ".join(STANDARD_ERRORS)
            raise BadInputError(f"unknown standard error {self.standard_error!r}; known: {known}")
        if not 0 < self.alpha < 0.5:
            raise BadInputError(f"alpha is a probability between 0 and 0.5, got {self.alpha}")
        if self.smallest_change < 0 or self.margin <= 0:
            raise BadInputError(
                f"smallest_change and margin are positive, got {self.smallest_change} and {self.margin}"
            )
        if self.multipliers * self.alpha < 20 or self.resamples < 100:
            raise BadInputError(
                f"at alpha {self.alpha} at least {math.ceil(20 / self.alpha)} multipliers and 100 resamples are "
                f"needed, got {self.multipliers} and {self.resamples}"
            )

    def as_json(self) -> dict[str, Any]:
        """Plain values for storage; `from_json` gives the same policy back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Policy:
        """The policy of stored values; an unknown field is refused by name."""
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - known):
            raise BadInputError(f"a policy has no {', '.join(unknown)}; its fields are {', '.join(sorted(known))}")
        return cls(**values)
