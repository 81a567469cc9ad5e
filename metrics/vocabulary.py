"""One vocabulary for two tables of a bias dimension, in which no category is rare.

Categories with few pooled records are merged into `other`: a category that is seen once or twice says nothing about how
much requests vary, and would raise alarms by itself. What is still rare after merging is left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metrics.tables import ClusteredTable

FloatArray = NDArray[np.float64]

OTHER = "other"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What becomes of each label (a new label, or None: left out), and the labels that were merged."""

    rows: dict[str, str | None]
    columns: dict[str, str | None]
    merged: tuple[str, ...]


def shared_vocabulary(previous: ClusteredTable, current: ClusteredTable, below: int) -> Vocabulary:
    """One vocabulary for two tables, in which every category has at least ``below`` pooled records.

    Records that are left out on one side make categories of the other side rarer, so it is done until it holds.
    """
    rows = sorted({*previous.rows, *current.rows})
    columns = sorted({*previous.columns, *current.columns})
    counts = np.zeros((len(rows), len(columns)))
    row_place, column_place = ({label: place for place, label in enumerate(labels)} for labels in (rows, columns))
    for table in (previous, current):
        places = [row_place[label] for label in table.rows], [column_place[label] for label in table.columns]
        counts[np.ix_(*places)] += table.counts
    row_to: dict[str, str | None] = {label: label for label in rows}
    column_to: dict[str, str | None] = {label: label for label in columns}
    while True:
        before = (dict(row_to), dict(column_to))
        kept_columns = np.array([column_to[label] is not None for label in columns], dtype=np.bool_)
        row_to = _again(row_to, counts[:, kept_columns].sum(axis=1), below)
        kept_rows = np.array([row_to[label] is not None for label in rows], dtype=np.bool_)
        column_to = _again(column_to, counts[kept_rows].sum(axis=0), below)
        if (row_to, column_to) == before:
            break
    seen = [
        *zip(row_to.items(), counts.sum(axis=1), strict=True),
        *zip(column_to.items(), counts.sum(axis=0), strict=True),
    ]
    merged = tuple(label for (label, new), total in seen if new != label and total > 0)
    return Vocabulary(rows=row_to, columns=column_to, merged=merged)


def merged_labels(labels: Sequence[str], totals: FloatArray, below: int) -> dict[str, str | None]:
    """One round: rare labels become `other`; an `other` that stays rare is left out.

    >>> merged_labels(["a", "b", "c"], np.array([30.0, 6.0, 5.0]), 10)
    {'a': 'a', 'b': 'other', 'c': 'other'}
    >>> merged_labels(["a", "b"], np.array([30.0, 6.0]), 10)
    {'a': 'a', 'b': None}
    """
    counted: dict[str, float] = dict(zip(labels, totals.tolist(), strict=True))
    rare = {label for label, total in counted.items() if total < below and label != OTHER}
    together = counted.get(OTHER, 0.0) + sum(counted[label] for label in rare)
    target = OTHER if together >= below else None
    renamed: dict[str, str | None] = {label: target if label in rare else label for label in labels}
    if OTHER in renamed:
        renamed[OTHER] = target
    return renamed


def _again(renamed: dict[str, str | None], totals: FloatArray, below: int) -> dict[str, str | None]:
    """One more round of `merged_labels` on labels that were renamed before; what was left out stays out."""
    by_new: dict[str, float] = {}
    for new, total in zip(renamed.values(), totals.tolist(), strict=True):
        if new is not None:
            by_new[new] = by_new.get(new, 0.0) + total
    merged = merged_labels(list(by_new), np.array(list(by_new.values())), below)
    return {label: None if new is None else merged[new] for label, new in renamed.items()}
