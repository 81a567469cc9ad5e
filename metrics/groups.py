"""What the groups of an identity axis get: how far two groups differ, and how concentrated each of them is.

A score of association says that an axis matters for a dimension; these say how. The L1 gap is the one of the Persona
Brainstorm Audit (arXiv 2602.00044, Eq. 2). Concentration is the "funnel" that the paper describes: few categories
that take most of a group.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.association import bounds
from metrics.resampling import around, resampled_tables
from metrics.results import Score
from metrics.tables import FEWEST_RECORDS, BiasDimension, ClusteredTable, dimension_table

FloatArray = NDArray[np.float64]

L1_GAP, TOP_1, TOP_2, EFFECTIVE = "l1-gap", "top-1-share", "top-2-share", "effective-categories"

_ONE_REQUEST = "all records are from one request: no interval can be made"


def shares_of(counts: FloatArray) -> FloatArray:
    """Share of each category within each row, for tables [rows, columns, ...]; rows without records are all 0.

    >>> shares_of(np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    result: FloatArray = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return result


def l1_gap(first: FloatArray, second: FloatArray) -> FloatArray:
    """Sum over categories (the first dimension) of the absolute difference of two shares, in percentage points.

    0 is the same distribution, 200 nothing in common.

    >>> float(l1_gap(np.array([0.5, 0.5]), np.array([0.75, 0.25])))
    50.0
    """
    result: FloatArray = 100.0 * np.abs(first - second).sum(axis=0)
    return result


def effective_categories(shares: FloatArray) -> FloatArray:
    """Effective number of categories: exp of the Shannon entropy over the first dimension.

    As many equally large categories would be as varied: 1 when all records are in one.

    >>> round(float(effective_categories(np.array([0.25, 0.25, 0.5]))), 3)
    2.828
    """
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    result: FloatArray = np.exp(-(shares * logs).sum(axis=0))
    return result


def top_share(shares: FloatArray, categories: int) -> FloatArray:
    """Share that the ``categories`` most frequent categories (over the first dimension) have together.

    >>> round(float(top_share(np.array([0.2, 0.5, 0.3]), 2)), 3)
    0.8
    """
    kept = min(categories, len(shares))
    result: FloatArray = np.partition(shares, len(shares) - kept, axis=0)[len(shares) - kept :].sum(axis=0)
    return result


def _chance_gap(pooled: FloatArray, n_first: float, n_second: float) -> float:
    """L1 gap that two groups of one distribution show on average, from independent records."""
    spread = np.sqrt(2.0 / math.pi * pooled * (1.0 - pooled) * (1.0 / n_first + 1.0 / n_second))
    return 100.0 * float(spread.sum())


class _Groups:
    """The groups of one bias dimension: its table and the resampled tables [rows, columns, resamples]."""

    def __init__(self, dimension: BiasDimension, table: ClusteredTable, resampled: FloatArray | None) -> None:
        self.dimension = dimension
        self.table = table
        self.sizes = table.counts.sum(axis=1)
        self.shares = shares_of(table.counts).T
        self.resampled = None if resampled is None else np.moveaxis(shares_of(resampled), 0, 1)
        # A resample may miss a group whose records come from few requests; it then says nothing about that group.
        self._present = None if resampled is None else resampled.sum(axis=1) > 0
        # Requests that gave a record of each group, and of each pair.
        self._requests = [set(table.cluster[table.row == place].tolist()) for place in range(len(table.rows))]

    def _score(
        self, metric: str, members: tuple[int, ...], value: float, resamples: FloatArray | None, method: str, top: float
    ) -> Score:
        requests = set().union(*(self._requests[place] for place in members))
        size = int(self.sizes[list(members)].sum())
        small = [place for place in members if self.sizes[place] < FEWEST_RECORDS]
        few = ", ".join(f"{int(self.sizes[place])} of {self.table.rows[place]!r}" for place in small)
        too_small = f"a group needs at least {FEWEST_RECORDS} records; there are {few}"
        drawn = None
        if resamples is not None and self._present is not None and not small and len(requests) > 1:
            drawn = around(resamples[self._present[list(members)].all(axis=0)], value)
        low, high = bounds(drawn, value)
        lowest = 1.0 if metric == EFFECTIVE else 0.0
        return Score(
            metric=metric,
            dimension=self.dimension.title,
            group=" - ".join(self.table.rows[place] for place in members),
            value=None if small else value,
            low=None if low is None else max(low, lowest),
            high=None if high is None else min(high, top),
            n=size,
            n_clusters=len(requests),
            n_excluded=self.table.n_excluded,
            method="" if small else method,
            reason=too_small if small else ("" if low is not None else _ONE_REQUEST),
        )

    def gaps(self, interval: str) -> list[Score]:
        rows = []
        for first, second in itertools.combinations(range(len(self.table.rows)), 2):
            value = float(l1_gap(self.shares[:, first], self.shares[:, second]))
            n_first, n_second = self.sizes[first], self.sizes[second]
            pooled = self.table.counts[[first, second]].sum(axis=0) / (n_first + n_second)
            chance = _chance_gap(pooled, n_first, n_second)
            drawn = None if self.resampled is None else l1_gap(self.resampled[:, first], self.resampled[:, second])
            method = f"percentage points; chance alone gives about {chance:.1f} at this size; {interval}"
            rows.append(self._score(L1_GAP, (first, second), value, drawn, method, 200.0))
        return rows

    def concentrations(self, interval: str) -> list[Score]:
        measures = (
            (TOP_1, lambda shares: top_share(shares, 1), 1.0),
            (TOP_2, lambda shares: top_share(shares, 2), 1.0),
            (EFFECTIVE, effective_categories, float(len(self.table.columns))),
        )
        rows = []
        for metric, measure, top in measures:
            values = measure(self.shares)
            drawn = None if self.resampled is None else measure(self.resampled)
            for place in range(len(self.table.rows)):
                spread = None if drawn is None else drawn[place]
                rows.append(self._score(metric, (place,), float(values[place]), spread, interval, top))
        return rows


def group_scores(
    frame: pd.DataFrame, dimensions: Sequence[BiasDimension], *, seed: int, resamples: int = 2000
) -> list[Score]:
    """Gaps between groups and concentration within groups, for all dimensions except those by name.

    Parameters
    ----------
    frame : persona frame; dimensions : bias dimensions; seed, resamples : of the response bootstrap

    Returns
    -------
    ``l1-gap`` in percentage points (0 to 200) for each pair of groups (``group`` = ``"female - male"``),
    ``top-1-share`` and ``top-2-share`` (0 to 1) and ``effective-categories`` (1 to the number of categories) for each
    group. A group with fewer than 10 records has value None and the reason. Gaps of finite groups are never 0: the
    method says what chance alone gives. Intervals (95 %) show how far another audit of this size would fall.
    """
    wanted = [dimension for dimension in dimensions if not dimension.by_name]
    tables = [dimension_table(frame, dimension, None) for dimension in wanted]
    counted = [(dimension, table) for dimension, table in zip(wanted, tables, strict=True) if table.n]
    interval = f"response bootstrap, B = {resamples}"
    blocks = list(resampled_tables([table for _, table in counted], np.random.default_rng(seed), resamples))
    rows: list[Score] = []
    for place, (dimension, table) in enumerate(counted):
        drawn = np.concatenate([block[place] for block in blocks], axis=2) if table.n_clusters > 1 else None
        groups = _Groups(dimension, table, None if drawn is None else drawn.astype(np.float64))
        rows += [*groups.gaps(interval), *groups.concentrations(interval)]
    return rows
