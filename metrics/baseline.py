"""What the audits of a baseline count, and what a later audit shows in the same terms.

A watch compares each audit of a release with its baseline, so all of them must be counted in one vocabulary and on one
scale. Both are fixed when the baseline is complete, and later audits are read into them: what the baseline had too few
records of, or none, is `other`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from metrics.contingency import jackknife
from metrics.tables import BiasDimension, ClusteredTable, dimension_table, with_categories
from metrics.vocabulary import OTHER, shared_vocabulary

_NO_VARIANCE = 1e-18


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BaselineVocabulary:
    """Of one dimension: the categories that are counted on each side, whatever else there is being `other`.

    ``df_star`` is the smaller number of categories less one; below 1 there is nothing to watch.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def df_star(self) -> int:
        return min(len(self.rows), len(self.columns)) - 1

    def as_json(self) -> dict[str, list[str]]:
        """Plain values for storage; `from_json` gives the same vocabulary back."""
        return {"rows": list(self.rows), "columns": list(self.columns)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> BaselineVocabulary:
        """The vocabulary of stored values."""
        return cls(rows=tuple(values["rows"]), columns=tuple(values["columns"]))

    def read(self, table: ClusteredTable) -> ClusteredTable:
        """The table in this vocabulary; records of unknown categories are `other`, or left out where it is not counted."""
        return table.relabelled(_into(table.rows, self.rows), _into(table.columns, self.columns))


def _into(labels: Sequence[str], counted: Sequence[str]) -> dict[str, str | None]:
    rest = OTHER if OTHER in counted else None
    return {label: label if label in counted else rest for label in labels}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DimensionEstimate:
    """Jackknifed V squared of one dimension with its variance, in the vocabulary of the baseline; or why there is none."""

    dimension: str
    n: int
    n_clusters: int
    estimate: float | None = None
    variance: float | None = None
    reason: str = ""


def baseline_vocabularies(
    frames: Sequence[pd.DataFrame], dimensions: Sequence[BiasDimension], *, names: Sequence[str], merge_below: int
) -> dict[str, BaselineVocabulary]:
    """The vocabulary of each dimension over the pooled audits of a baseline; rare categories are merged.

    Parameters
    ----------
    frames : persona frames of the baseline's audits
    dimensions, names : as of `metrics.comparison.compare_associations`
    merge_below : categories with fewer pooled records are merged into `other`
    """
    pooled = with_categories(pd.concat(frames, ignore_index=True), dimensions)
    found = {}
    for dimension in dimensions:
        table = dimension_table(pooled, dimension, names)
        shared = shared_vocabulary(table, table, 2 * merge_below)  # the table is counted on both sides
        found[dimension.title] = BaselineVocabulary(
            rows=_kept(shared.rows, table.counts.sum(axis=1) > 0, table.rows),
            columns=_kept(shared.columns, table.counts.sum(axis=0) > 0, table.columns),
        )
    return found


def _kept(renamed: Mapping[str, str | None], seen: Sequence[bool], labels: Sequence[str]) -> tuple[str, ...]:
    occurring = [label for label, there in zip(labels, seen, strict=True) if there]
    return tuple(sorted({new for label in occurring if (new := renamed[label]) is not None}))


def watched_estimates(
    frame: pd.DataFrame,
    dimensions: Sequence[BiasDimension],
    vocabularies: Mapping[str, BaselineVocabulary],
    *,
    names: Sequence[str],
) -> tuple[DimensionEstimate, ...]:
    """Jackknifed V squared of each dimension of one audit with its variance over repeated audits, on the baseline's scale."""
    frame = with_categories(frame, dimensions)
    return tuple(
        _estimate(dimension, dimension_table(frame, dimension, names), vocabularies[dimension.title])
        for dimension in dimensions
    )


def _estimate(dimension: BiasDimension, counted: ClusteredTable, vocabulary: BaselineVocabulary) -> DimensionEstimate:
    table = vocabulary.read(counted)
    title, n, clusters = dimension.title, table.n, table.n_clusters

    def missing(reason: str) -> DimensionEstimate:
        return DimensionEstimate(dimension=title, n=n, n_clusters=clusters, reason=reason)

    if vocabulary.df_star < 1:
        return missing("the baseline has fewer than 2 categories on a side")
    if defect := table.defect() or table.sparseness():
        return missing(defect)
    if clusters < 2:
        return missing("all records are from one request, so that nothing says how much requests vary")
    found = jackknife(table, vocabulary.df_star)
    if found.variance < _NO_VARIANCE:
        return missing("every request shows the same association: no variation to judge a change by")
    return DimensionEstimate(
        dimension=title, n=n, n_clusters=clusters, estimate=found.v_squared, variance=found.variance
    )
