"""`Robustness`: whether a family's scores hold when it is asked in another way, at another size, or again. Rendered, never computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dashboards.instrument import Instrument
from metrics.results import Comparison, Score
from registry.ledger.values import Audit

if TYPE_CHECKING:
    from metrics.robustness import ConditionRow
    from metrics.stability import SizeRow

PLAIN, AGAIN = "plain", "again"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A release and the audits of it that were used.

    ``plain`` : the newest with the protocol's own prompt; ``variants`` : the newest with each prompt variant; ``again`` : the one before ``plain``
    that asked the same, None when it was asked once
    """

    name: str
    plain: Audit
    variants: dict[str, Audit]
    again: Audit | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """An audit that is not there or cannot be used: of which release, for what, why, and which command makes it."""

    release: str
    condition: str
    reason: str
    command: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VariantVerdict:
    """What the verdict engine says of a prompt variant in one release: the plain prompt stands for the previous audit, the variant for the current one.

    It is made for this page alone: stored nowhere, published nowhere, told to nobody.
    """

    release: str
    variant: str
    verdict: str
    why: str
    rows: tuple[Comparison, ...]

    def count(self, verdict: str) -> int:
        """Dimensions with that verdict."""
        return sum(row.verdict == verdict for row in self.rows)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConditionScore:
    """The score of one dimension in one audit: of which release, under which condition (`PLAIN`, a variant's name or `AGAIN`)."""

    release: str
    condition: str
    audit: int
    score: Score


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """Everything that was compared.

    Parameters
    ----------
    metric : of the scores; orders, draws : how often requests were ordered and drawn anew
    members : releases in order; lacking : what could not be compared
    conditions : prompt variants that at least one release was asked with, and `AGAIN`
    scores : of every dimension in every audit that is compared, each with its interval; empty when there is nothing to compare
    rows : agreement of each condition with the plain prompt; sizes : of parts of the requests with all of them
    verdicts : of the verdict engine, one for each release and variant
    """

    instrument: Instrument
    metric: str
    dimensions: tuple[str, ...]
    members: tuple[Member, ...]
    lacking: tuple[Lacking, ...]
    conditions: tuple[str, ...]
    scores: tuple[ConditionScore, ...]
    rows: tuple[ConditionRow, ...]
    sizes: tuple[SizeRow, ...]
    verdicts: tuple[VariantVerdict, ...]
    orders: int
    draws: int
    product_version: str
    made_at: str

    def of(self, condition: str, grouping: str) -> Sequence[ConditionRow]:
        """Rows of a condition in one grouping, in order."""
        return [row for row in self.rows if (row.condition, row.grouping) == (condition, grouping)]

    def scores_of(self, release: str) -> dict[tuple[str, str], ConditionScore]:
        """The scores of a release by condition and dimension."""
        return {(one.condition, one.score.dimension): one for one in self.scores if one.release == release}


def condition_text(condition: str) -> str:
    """A condition in words.

    >>> condition_text("debias"), condition_text("again")
    ('prompt variant debias', 'the same prompt asked again')
    """
    return "the same prompt asked again" if condition == AGAIN else f"prompt variant {condition}"
