"""What an audit of messages of a planned size can show: gaps, as `metrics.power` does it for associations.

The variance of a gap's size comes from a pilot audit, and falls with the number of prompt cells (or, where these are too few,
of messages). Without a pilot messages are taken as independent: with n messages to each of k groups the variance is
``4 / (k n)`` squared standard deviations, times an assumed design effect.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import special

from metrics.clustered import cell_table
from metrics.gaps import Gap, GapDimension, Messages, basis_of, defect, gaps_of, normalized_gap
from metrics.policy import Policy
from metrics.power import DimensionPlan
from metrics.verdicts import POWER

_Z_POWER = float(special.ndtri(POWER))
_Z_MARGIN = float(special.ndtri(0.95))
_LARGEST = 20.0  # standard deviations; no gap is larger


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModeSize:
    """What a plan asks of one mode: messages in all, and prompt cells they are about."""

    messages: int
    cells: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GapPilot:
    """Size of a gap in standard deviations, and the variance of that size in an audit as planned; or why there is none."""

    title: str
    size: float = 0.0
    variance: float | None = None
    counted: int = 0
    reason: str = ""


def critical_gap(dimensions: int, alpha: float) -> float:
    """The z that the largest of so many one-sided tests exceeds with probability alpha when nothing changed (Šidák 1967).

    >>> round(critical_gap(1, 0.05), 3), round(critical_gap(24, 0.05), 3)
    (1.645, 2.858)
    """
    return float(special.ndtri((1 - alpha) ** (1 / max(dimensions, 1))))


def measured_gaps(
    frame: pd.DataFrame, dimensions: Sequence[GapDimension], sizes: Mapping[str, ModeSize]
) -> list[GapPilot]:
    """The pilot that a finished audit is: each gap with the variance that an audit of the planned sizes would have.

    Parameters
    ----------
    frame : message frame of the pilot; sizes : of each mode, as planned
    """
    messages = Messages(frame)
    found = []
    for dimension in dimensions:
        planned = sizes[dimension.mode]
        labels = messages.labels(dimension)
        if len(labels) < 2 or (dimension.groups is not None and not set(dimension.groups) <= set(labels)):
            found.append(GapPilot(title=dimension.title, reason="a group has no usable message in the pilot"))
            continue
        table = cell_table(messages.samples(dimension))
        used = table.shared(*table.found.groups)
        if reason := defect([table], [used]):
            found.append(GapPilot(title=dimension.title, reason=reason))
            continue
        basis = basis_of([used])
        gap: Gap = gaps_of([table], [used], [np.arange(int(used.sum()), dtype=np.int64)], basis=basis)[0]
        share = gap.n / max(gap.n + gap.n_excluded, 1)
        scale = gap.cells / planned.cells if basis == "cells" else gap.n / max(planned.messages * share, 1.0)
        found.append(
            GapPilot(
                title=dimension.title,
                size=gap.debiased,
                variance=gap.variance * scale if gap.variance > 0 else None,
                counted=round(planned.messages * share),
                reason="" if gap.variance > 0 else "the gap is the same in every prompt cell of the pilot",
            )
        )
    return found


def assumed_gaps(
    dimensions: Sequence[GapDimension], sizes: Mapping[str, ModeSize], design_effect: float
) -> list[GapPilot]:
    """Without a pilot: no gap, and independent messages whose variance the design effect multiplies."""
    return [
        GapPilot(
            title=dimension.title,
            variance=4 * design_effect / max(sizes[dimension.mode].messages, 1),
            counted=sizes[dimension.mode].messages,
        )
        for dimension in dimensions
    ]


def planned_gaps(
    pilots: Sequence[GapPilot], *, size: int, change: float, policy: Policy, design_effect: float | None = None
) -> tuple[DimensionPlan, ...]:
    """One row a dimension: the smallest rise that is shown with 80 % power, and the size that the wanted one takes.

    Two releases of the same size are compared, so the variance of a change is twice that of a size. ``v`` and ``detectable_v``
    of a row are in standard deviations.

    >>> pilot = GapPilot(title="gender x words, standalone", size=0.0, variance=0.01, counted=400)
    >>> (row,) = planned_gaps([pilot], size=400, change=0.33, policy=Policy())
    >>> round(row.detectable_v, 2), round(row.detectable, 2), row.size_for_change
    (0.35, 0.5, 1237)
    """
    critical = critical_gap(len(pilots), policy.alpha)
    return tuple(_planned(pilot, size, change, policy, critical, design_effect) for pilot in pilots)


def _planned(
    pilot: GapPilot, size: int, change: float, policy: Policy, critical: float, design_effect: float | None
) -> DimensionPlan:
    if pilot.variance is None:
        return DimensionPlan(dimension=pilot.title, reason=pilot.reason)
    error = math.sqrt(2 * pilot.variance)
    rise = (critical + _Z_POWER) * error
    before = normalized_gap(pilot.size)
    wanted = _rise_of(pilot.size, change)
    slope = max(normalized_gap(pilot.size + 0.01) - before, 1e-6) / 0.01
    inside = policy.margin / (slope * error) - _Z_MARGIN
    return DimensionPlan(
        dimension=pilot.title,
        score=before,
        v=pilot.size,
        design_effect=design_effect,
        counted=pilot.counted,
        detectable=normalized_gap(pilot.size + rise) - before,
        detectable_v=rise,
        size_for_change=math.ceil(size * (rise / wanted) ** 2),
        chance_shown=float(special.ndtr(wanted / error - critical)),
        chance_unchanged=max(2 * float(special.ndtr(inside)) - 1, 0.0) if inside > 0 else 0.0,
    )


def _rise_of(size: float, change: float) -> float:
    """Rise in standard deviations that raises the normalized gap by ``change``."""
    from scipy import optimize

    target = normalized_gap(size) + change
    return float(optimize.brentq(lambda end: normalized_gap(end) - target, size, _LARGEST)) - size
