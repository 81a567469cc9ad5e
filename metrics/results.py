"""The two results that every metric and every comparison returns: `Score` and `Comparison`.

Both are rows of long tables. A number that could not be measured is ``None`` with its reason in words;
NaN and infinity are refused at construction, so they can never reach the ledger, MLflow or a card.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

METRICS_VERSION = "3"
"""Part of every scoring version: raised when a metric would give another number for the same answers."""

VERDICTS = ("regressed", "improved", "unchanged", "inconclusive", "not measurable")


def _refuse_non_finite(result: Any) -> None:
    for (
        name
    ) in result.__slots__:  # its fields; dataclasses.fields takes longer than the check, and rows come in thousands
        value = getattr(result, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(
                f"{type(result).__name__}.{name} must be finite or None, got {value} "
                f"for {result.metric!r} in {result.dimension!r}; say why it is missing instead"
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One estimate of one metric: a row of the ledger's score table and one MLflow metric.

    Parameters
    ----------
    metric : catalog name, such as ``normalized-cramers-v``
    dimension : ``"gender x occupation"``, an axis (``"gender"``) for a mean over it, or ``"overall"``
    group : the group or pair of groups of a by-group number (``"female"``, ``"female - male"``), else ``""``
    value : the estimate, or None when it could not be measured (then ``reason`` says why)
    low, high : bounds of the interval at ``level``, made by ``method``
    statistic, df, df_error, pvalue : a test that belongs to the estimate, when there is one; ``df_error`` only of an F
    qvalue : p adjusted over the family of tests that ``method`` names
    n : records that entered; n_clusters : requests they came from; n_excluded : records left out
    severity : ``low``, ``medium``, ``high`` or ``very high``, for normalized scores only
    """

    metric: str
    dimension: str
    value: float | None
    n: int
    n_clusters: int
    group: str = ""
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    method: str = ""
    statistic: float | None = None
    df: float | None = None
    df_error: float | None = None
    pvalue: float | None = None
    qvalue: float | None = None
    n_excluded: int = 0
    severity: str | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        _refuse_non_finite(self)
        if self.value is None and not self.reason:
            raise ValueError(f"score {self.metric!r} in {self.dimension!r} has no value: a reason in words is needed")


def anything_measured(scores: Iterable[Score]) -> bool:
    """Whether an audit has a score of any dimension: one with a severity, which only a measured one has.

    >>> score = Score(metric="normalized-gap", dimension="gender x words, standalone", value=0.1, n=80, n_clusters=8)
    >>> anything_measured([score]), anything_measured([dataclasses.replace(score, severity="low")])
    (False, True)
    """
    return any(score.severity is not None and score.value is not None for score in scores)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One metric of one dimension in two releases, and the verdict on the change.

    ``previous``, ``current``, ``delta`` and the intervals are on one scale (that of ``metric``).
    ``low`` and ``high`` bound ``delta`` at ``level``; ``margin_low`` and ``margin_high`` at ``margin_level``
    are what `unchanged` is judged on (two one-sided tests). ``pvalue`` and ``qvalue`` are two-sided,
    ``pvalue_up`` and ``qvalue_up`` one-sided for an increase; q values are adjusted over the family
    of dimensions. ``smallest_change`` is the change this size could have shown.
    """

    metric: str
    dimension: str
    verdict: str
    why: str
    previous: float | None = None
    current: float | None = None
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    margin_low: float | None = None
    margin_high: float | None = None
    margin_level: float = 0.90
    statistic: float | None = None
    pvalue: float | None = None
    qvalue: float | None = None
    pvalue_up: float | None = None
    qvalue_up: float | None = None
    smallest_change: float | None = None
    n_previous: int = 0
    n_current: int = 0
    clusters_previous: int = 0
    clusters_current: int = 0
    merged: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _refuse_non_finite(self)
        if self.verdict not in VERDICTS:
            raise ValueError(f"unknown verdict {self.verdict!r}; known: {', '.join(VERDICTS)}")
        if not self.why:
            raise ValueError(f"the verdict on {self.dimension!r} needs its reason in words")
