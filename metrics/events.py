"""Categories that appear in a release or vanish from it: events of their own, never a verdict on bias.

A score cannot see them: a category without a record in one release has no share there. The unit is the request, as
everywhere: twelve personas of a new category in one answer are one request that has it.

Each is tested by Fisher's exact test and adjusted by Holm, see `metrics.exact`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd

from metrics.exact import fisher_exact, holm
from metrics.moves import CategoryEvent as CategoryEvent
from metrics.tables import BiasDimension, cluster_column, usable_records
from metrics.verdicts import Policy


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
