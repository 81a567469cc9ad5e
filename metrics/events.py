"""Categories that appear in a release or vanish from it: events of their own, never a verdict on bias.

A score cannot see them: a category without a record in one release has no share there. The unit is the request, as
everywhere: twelve personas of a new category in one answer are one request that has it.

References
----------
R. A. Fisher (1922), J. Royal Statistical Society 85, 87-94: the exact test. S. Holm (1979), "A simple sequentially
rejective multiple test procedure", Scandinavian Journal of Statistics 6, 65-70.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from metrics.errors import BadInputError
from metrics.tables import BiasDimension, cluster_column, usable_records
from metrics.verdicts import Policy

FloatArray = NDArray[np.float64]

# Tables that are as likely as the observed one count as extreme, whatever rounding makes of equal numbers.
_EQUAL = 1e-7


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CategoryEvent:
    """A category that one of two releases has and the other has not.

    Parameters
    ----------
    attribute, category : ``"gender"``, ``"agender"``
    kind : ``new`` or ``vanished``
    n_previous, n_current : records of the category, 0 in one release
    of_previous, of_current : records that have any category of the attribute
    pvalue, qvalue : Fisher's exact test of the requests with and without it, two-sided; adjusted by Holm over the
        categories of all attributes that are not rare in both releases together
    """

    attribute: str
    category: str
    kind: Literal["new", "vanished"]
    n_previous: int
    n_current: int
    of_previous: int
    of_current: int
    pvalue: float
    qvalue: float


def fisher_exact(with_it: tuple[int, int], clusters: tuple[int, int]) -> float:
    """Two-sided p of Fisher's exact test: is a category in equally many requests of two releases?

    Parameters
    ----------
    with_it : requests of each release that have the category; clusters : requests of each release

    >>> round(fisher_exact((0, 5), (10, 10)), 4)
    0.0325
    >>> fisher_exact((0, 5), (10, 10)) == fisher_exact((5, 0), (10, 10))
    True
    """
    if any(not 0 <= part <= whole for part, whole in zip(with_it, clusters, strict=True)):
        raise BadInputError(f"of {clusters} requests {with_it} cannot have a category; give counts from 0 to all")
    # The release with fewer requests first, so that swapping them gives the very same number.
    (part, whole), (other_part, other_whole) = sorted(
        zip(with_it, clusters, strict=True), key=lambda side: (side[1], side[0])
    )
    total = part + other_part
    found = np.arange(max(0, total - other_whole), min(whole, total) + 1, dtype=np.float64)
    chance = np.exp(
        _choices(whole, found) + _choices(other_whole, total - found) - _choices(whole + other_whole, np.array([total]))
    )
    observed = chance[part - int(found[0])]
    return float(min(chance[chance <= observed * (1 + _EQUAL)].sum(), 1.0))


def _choices(n: int, k: NDArray[np.float64] | NDArray[np.int64]) -> FloatArray:
    """Logarithm of the number of ways to choose k of n."""
    result: FloatArray = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return result


def holm(pvalues: Sequence[float]) -> list[float]:
    """P values adjusted by Holm's step-down procedure, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(pvalues, kind="stable")
    steps = np.array(pvalues, dtype=np.float64)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(value) for value in adjusted]


def attribute_columns(dimensions: Sequence[BiasDimension]) -> dict[str, str]:
    """The attributes of bias dimensions except names, by title, with the frame column of their categories."""
    columns = {d.axis: d.row for d in dimensions if not d.by_name}
    return columns | {d.social: d.column for d in dimensions}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """One attribute of one release: records and requests by category, and of all of them."""

    records: dict[str, int]
    requests: dict[str, int]
    n: int
    clusters: int


def _seen(frame: pd.DataFrame, column: str) -> _Seen:
    answered = frame.loc[
        usable_records(frame) & frame[column].notna().to_numpy(dtype=np.bool_), [cluster_column(frame), column]
    ]
    by_category = answered.groupby(column, observed=True)[cluster_column(frame)]
    return _Seen(
        records={str(label): int(count) for label, count in by_category.size().items()},
        requests={str(label): int(count) for label, count in by_category.nunique().items()},
        n=len(answered),
        clusters=int(answered[cluster_column(frame)].nunique()),
    )


def category_events(
    previous: pd.DataFrame,
    current: pd.DataFrame,
    dimensions: Sequence[BiasDimension],
    *,
    policy: Policy | None = None,
) -> tuple[CategoryEvent, ...]:
    """Categories with no record in one release and at least ``policy.merge_below`` in the other, the surest first.

    Parameters
    ----------
    previous, current : persona frames of two audits that asked the same; sizes may differ
    dimensions : bias dimensions, whose attributes are looked at; names are not, for most of them come and go
    policy : of the comparison; default `Policy()`

    Returns
    -------
    One event a category. An attribute that one release did not answer at all has none: nothing says what vanished.
    Swapping the releases turns `new` into `vanished` and changes no p value.
    """
    below = (policy or Policy()).merge_below
    tested: list[tuple[float, CategoryEvent | None]] = []
    for attribute, column in attribute_columns(dimensions).items():
        tested += _tested(attribute, _seen(previous, column), _seen(current, column), below)
    qvalues = holm([pvalue for pvalue, _ in tested])
    events = [
        dataclasses.replace(event, qvalue=qvalue)
        for (_, event), qvalue in zip(tested, qvalues, strict=True)
        if event is not None
    ]
    return tuple(sorted(events, key=lambda event: (event.pvalue, event.attribute, event.category)))


def _tested(attribute: str, before: _Seen, now: _Seen, below: int) -> list[tuple[float, CategoryEvent | None]]:
    """P of every category that could be an event, and its event when it is one (its q value is not known yet)."""
    if not before.n or not now.n:
        return []
    rows: list[tuple[float, CategoryEvent | None]] = []
    for category in sorted({*before.records, *now.records}):
        counts = before.records.get(category, 0), now.records.get(category, 0)
        if sum(counts) < below:
            continue
        requests = before.requests.get(category, 0), now.requests.get(category, 0)
        pvalue = fisher_exact(requests, (before.clusters, now.clusters))
        if min(counts):
            rows.append((pvalue, None))
            continue
        event = CategoryEvent(
            attribute=attribute,
            category=category,
            kind="vanished" if counts[0] else "new",
            n_previous=counts[0],
            n_current=counts[1],
            of_previous=before.n,
            of_current=now.n,
            pvalue=pvalue,
            qvalue=1.0,
        )
        rows.append((pvalue, event))
    return rows
