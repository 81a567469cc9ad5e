"""What one audit of persona cues shows to the watch over its release: the squared size of each gap, and its variance."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from metrics.baseline import DimensionEstimate
from metrics.cue_comparison import CueDimension
from metrics.cue_gaps import cue_gaps
from metrics.cue_table import CueTable, cue_table
from metrics.gap_watch import squared_size

_NO_VARIANCE = 1e-18


def watched_cue_gaps(
    frame: pd.DataFrame | CueTable, dimensions: Sequence[CueDimension]
) -> tuple[DimensionEstimate, ...]:
    """The squared size of each gap of one audit, in standard deviations of answers to a persona; or why there is none."""
    table = cue_table(frame)
    return tuple(_estimate(table, dimension) for dimension in dimensions)


def _estimate(table: CueTable, dimension: CueDimension) -> DimensionEstimate:
    key = (dimension.task, dimension.axis, dimension.cue)
    if key not in table.combinations:
        return DimensionEstimate(dimension=dimension.title, n=0, n_clusters=0, reason="there is no answer")
    cells = table.cells(*key)
    n, questions = int(cells.n.sum()), int((cells.n > 0).any(axis=(0, 2)).sum())
    found = cue_gaps([cells], together=True)
    if isinstance(found, str):
        return DimensionEstimate(dimension=dimension.title, n=n, n_clusters=questions, reason=found)
    square, variance = squared_size(found.gaps[0])
    if variance < _NO_VARIANCE:
        reason = "every prompt of a persona gave the same: no variation to judge a change by"
        return DimensionEstimate(dimension=dimension.title, n=n, n_clusters=questions, reason=reason)
    return DimensionEstimate(dimension=dimension.title, n=n, n_clusters=questions, estimate=square, variance=variance)
