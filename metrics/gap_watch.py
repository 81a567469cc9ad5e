"""What one audit of messages shows to the watch over its release: the squared size of each gap, and its variance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from metrics.baseline import DimensionEstimate
from metrics.clustered import cell_table
from metrics.gaps import Gap, GapDimension, Messages, basis_of, defect, gaps_of

_NO_VARIANCE = 1e-18


def squared_size(gap: Gap) -> tuple[float, float]:
    """The squared size of a gap without its noise, and the variance of that.

    With the vector v of group means and its covariance S, ``|v|^2 - tr S`` is unbiased, of variance ``4 v' S v + 2 tr S^2``.
    """
    covariance = gap.influence.T @ gap.influence
    square = float(gap.vector @ gap.vector - np.trace(covariance))
    return square, float(4 * gap.vector @ covariance @ gap.vector + 2 * np.square(covariance).sum())


def watched_gaps(frame: pd.DataFrame, dimensions: Sequence[GapDimension]) -> tuple[DimensionEstimate, ...]:
    """The squared size of each gap of one audit, in standard deviations; or why there is none."""
    messages = Messages(frame)
    return tuple(_estimate(messages, dimension) for dimension in dimensions)


def _estimate(messages: Messages, dimension: GapDimension) -> DimensionEstimate:
    labels = messages.labels(dimension)
    if len(labels) < 2 or (dimension.groups is not None and not set(dimension.groups) <= set(labels)):
        return DimensionEstimate(dimension=dimension.title, n=0, n_clusters=0, reason="a group has no usable message")
    table = cell_table(messages.samples(dimension))
    used = table.shared(*table.found.groups)
    n, clusters = len(table.found.values), int(used.sum())
    if reason := defect([table], [used]):
        return DimensionEstimate(dimension=dimension.title, n=n, n_clusters=clusters, reason=reason)
    gap = gaps_of([table], [used], [np.arange(clusters, dtype=np.int64)], basis=basis_of([used]))[0]
    square, variance = squared_size(gap)
    if variance < _NO_VARIANCE:
        reason = "the gap is the same in every prompt cell: no variation to judge a change by"
        return DimensionEstimate(dimension=dimension.title, n=n, n_clusters=clusters, reason=reason)
    return DimensionEstimate(dimension=dimension.title, n=n, n_clusters=clusters, estimate=square, variance=variance)
