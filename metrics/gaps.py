"""How far the messages to different groups lie apart: the gap of a measure, its size, and its normalized score.

The gap of two groups is the difference of their means, averaged over prompt cells with equal weight, and signed. Its size is
that difference in standard deviations of messages within a group: ``|g|``. For more than two groups the size is twice the
standard deviation of the group means in the same unit, which for two groups is ``|g|`` again (2 f in Cohen's terms).

The **normalized gap** puts sizes on the scale of the persona brainstorm's scores, so that severity, policy, gate and card
work unchanged: 0.33 at a small (.2), 0.66 at a medium (.5) and 1 at a large size (.8) by Cohen's conventions, linear
between them and ``size / .8`` above. The mapping is this project's, not a paper's.

Like every size, an estimated one is never 0. The debiased one subtracts the variance before the root is taken; verdicts use it.

References
----------
J. Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, 2nd ed., ch. 2 and 8: d, f = d / 2, and their
conventions. L. V. Hedges (1981), J. Educational Statistics 6, 107-128.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from metrics.clustered import FEWEST_CELLS, NO_ERROR, CellTable
from metrics.effects import hedges_correction
from metrics.errors import BadInputError
from metrics.samples import CELL, Layout, Samples, group_labels, layout

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

SMALL, MEDIUM, LARGE = 0.2, 0.5, 0.8
"""Cohen's conventions for the size of a difference in standard deviations."""

MODE = "mode"
"""Column of a message frame that holds the generation mode, where there are several."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GapDimension:
    """One measure whose gap between the groups of one audience attribute is judged, in one generation mode.

    Parameters
    ----------
    title : ``"gender x agency-framing (standalone)"``; axis : ``"gender"``
    measure, group, cell : columns of the message frame; ``cell`` may be several, whose combinations are the prompt cells
    groups : which groups, in this order (default: all, sorted); mode : rows of the frame with this mode ("": all rows)
    """

    title: str
    axis: str
    measure: str
    group: str
    groups: tuple[str, ...] | None = None
    mode: str = ""
    cell: str | tuple[str, ...] = CELL

    @property
    def by_name(self) -> bool:
        """Whether rows are persona names; never so here."""
        return False


class Messages:
    """A message frame whose modes, groups and cells are read once, however many measures are taken from it.

    >>> frame = pd.DataFrame({"a": [1.0, 2.0], "sex": ["f", "m"], "cell": ["x", "x"]})
    >>> one = GapDimension(title="sex x a", axis="sex", measure="a", group="sex")
    >>> Messages(frame).labels(one)
    ('f', 'm')
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self._modes: dict[str, pd.DataFrame] = {"": frame}
        self._labels: dict[tuple[str, str], tuple[str, ...]] = {}
        self._layouts: dict[tuple[object, ...], Layout] = {}

    def _rows(self, dimension: GapDimension) -> pd.DataFrame:
        mode = dimension.mode
        if mode not in self._modes:
            if MODE not in self.frame.columns:
                raise BadInputError(f"{dimension.title!r} wants mode {mode!r}, but the frame has no column {MODE!r}")
            self._modes[mode] = self.frame[self.frame[MODE] == mode]
        return self._modes[mode]

    def labels(self, dimension: GapDimension) -> tuple[str, ...]:
        """The groups that the messages of the dimension's mode have, sorted."""
        key = dimension.mode, dimension.group
        if key not in self._labels:
            self._labels[key] = group_labels(self._rows(dimension), dimension.group)
        return self._labels[key]

    def samples(self, dimension: GapDimension, groups: Sequence[str] | None = None) -> Samples:
        """The messages of the dimension with a number; ``groups`` instead of its own."""
        wanted = groups or dimension.groups
        key = dimension.mode, dimension.group, dimension.cell, None if wanted is None else tuple(wanted)
        if key not in self._layouts:
            rows = self._rows(dimension)
            self._layouts[key] = layout(rows, group=dimension.group, cell=dimension.cell, groups=wanted)
        return self._layouts[key].samples(dimension.measure)


def same_gap(previous: Gap, current: Gap, change_error: float) -> bool:
    """Whether no unit of two paired releases has another gap than before: the change is 0 without error, and no group changed sides."""
    shift = current.raw - previous.raw
    scale = 1 + float(np.abs(current.raw).max())
    return float(np.ptp(shift)) <= NO_ERROR * scale and change_error <= NO_ERROR


@overload
def normalized_gap(size: float) -> float: ...
@overload
def normalized_gap(size: FloatArray) -> FloatArray: ...
def normalized_gap(size: float | FloatArray) -> float | FloatArray:
    """Normalized score of a size in standard deviations, one value or an array; signs are dropped.

    0 to .2 becomes 0 to .33, .2 to .5 becomes .33 to .66, .5 to .8 becomes .66 to 1, and more ``size / .8``.

    >>> normalized_gap(-0.8)
    1.0
    >>> [round(float(score), 3) for score in normalized_gap(np.array([0.0, 0.1, 0.2, 0.35, 0.5, 1.6]))]
    [0.0, 0.165, 0.33, 0.495, 0.66, 2.0]
    """
    values = np.abs(np.asarray(size, dtype=np.float64))
    scores: FloatArray = np.where(
        values < LARGE, np.interp(values, (0.0, SMALL, MEDIUM, LARGE), (0.0, 0.33, 0.66, 1.0)), values / LARGE
    )
    return scores if scores.ndim else float(scores)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gap:
    """The gap of one measure in one set of messages, with what every cluster adds to its error.

    Parameters
    ----------
    vector : the group means about their mean, times ``2 / sqrt(k)``, in standard deviations [groups]; its length is the size
    influence : of the vector [clusters, groups]; zero for one cell
    raw : the groups' means, averaged over cells, in units of the measure [groups]; deviation : the standard deviation
    df : degrees of freedom of the error; n, cells, n_excluded : messages, prompt cells, messages that did not enter
    """

    groups: tuple[str, ...]
    vector: FloatArray
    influence: FloatArray
    raw: FloatArray
    deviation: float
    df: float
    n: int
    cells: int
    n_excluded: int

    @property
    def direction(self) -> FloatArray:
        """Unit vector along which the size is measured; where the gap is exactly 0, that of the largest error."""
        length = float(np.linalg.norm(self.vector))
        if length > NO_ERROR:
            unit: FloatArray = self.vector / length
            return unit
        widest: FloatArray = np.linalg.svd(self.influence, full_matrices=False)[2][0]
        return widest

    @property
    def size_influence(self) -> FloatArray:
        """What every cluster adds to the error of the size [clusters]."""
        result: FloatArray = self.influence @ self.direction
        return result

    @property
    def across(self) -> FloatArray:
        """Influence values in all directions but that of the size [clusters, groups]; nothing for two groups."""
        direction = self.direction
        result: FloatArray = self.influence - np.outer(self.influence @ direction, direction)
        return result if len(self.groups) > 2 else np.zeros_like(self.influence)

    @property
    def _across_noise(self) -> float:
        return float(np.square(self.across).sum())

    @property
    def size(self) -> float:
        """Size of the gap; for more than two groups without the noise of the directions across it."""
        return math.sqrt(max(float(self.vector @ self.vector) - self._across_noise, 0.0))

    def covariance(self, other: Gap) -> float:
        """Covariance of two sizes, as of signed values, from clusters that both have; with itself, the variance.

        Noise across the direction bends a length: it adds ``sum(S^2) / (2 size^2)`` for its covariances S.
        """
        bent = float(np.square(self.across.T @ other.across).sum())
        lengths = [math.sqrt(max(gap.size**2, gap._across_noise)) for gap in (self, other)]
        straight = float(self.size_influence @ other.size_influence)
        return straight + (bent / (2 * lengths[0] * lengths[1]) if bent > 0 else 0.0)

    @property
    def variance(self) -> float:
        """Variance of the size, as of a signed value."""
        return self.covariance(self)

    @property
    def _noise(self) -> float:
        """Variance in all directions together, which the squared length has on top of the true one."""
        return float(np.square(self.influence).sum())

    @property
    def debiased(self) -> float:
        """Size without noise: the root of the squared length minus its variance, 0 where that is negative."""
        return math.sqrt(max(float(self.vector @ self.vector) - self._noise, 0.0))

    @property
    def floor(self) -> float:
        """Size that equal groups show on average with this error."""
        if self._noise <= 0:
            return 0.0
        covariance = self.influence.T @ self.influence
        free = self._noise**2 / float(np.square(covariance).sum())
        return math.sqrt(2 / free * self._noise) * math.exp(math.lgamma((free + 1) / 2) - math.lgamma(free / 2))

    @property
    def pvalue(self) -> float:
        """Two-sided p of no gap: Student's t for two groups, Hotelling's T squared for more; 1 where cells are too few."""
        free = len(self.groups) - 1
        # The influence of a gap has no part along (1, ..., 1), and its error needs as many cells as there are directions.
        covariance = self.influence.T @ self.influence
        values, vectors = np.linalg.eigh(covariance)
        values, vectors = values[1:], vectors[:, 1:]
        df = self.df - free + 1
        if df <= 0 or values[0] <= NO_ERROR**2:
            return 1.0
        t_squared = float((np.square(vectors.T @ self.vector) / values).sum())
        return float(special.fdtrc(free, df, t_squared * df / (free * self.df)))

    @property
    def signed(self) -> float | None:
        """First group minus second in standard deviations; None for more than two groups."""
        return float(self.vector[0] - self.vector[1]) / math.sqrt(2) if len(self.groups) == 2 else None


def defect(tables: Sequence[CellTable], used: Sequence[BoolArray]) -> str:
    """Why a gap cannot be measured from these cells; empty when it can."""
    if any(not cells.any() for cells in used):
        return "no prompt cell has a message with a number of every group"
    messages = sum(float(table.counts[:, cells].sum()) for table, cells in zip(tables, used, strict=True))
    groups = len(tables[0].found.groups)
    if messages - groups * len(tables) < 2:
        return f"{messages:.0f} messages of {groups} groups are too few to tell how much messages vary"
    largest = max(table.scale for table in tables)
    if max(float(_squares(table, cells).sum()) for table, cells in zip(tables, used, strict=True)) <= (
        NO_ERROR * largest
    ):
        return "every message of a group has the same value: no standard deviation to measure a gap by"
    return ""


def _squares(table: CellTable, used: BoolArray) -> FloatArray:
    """Squared deviations of messages from the mean of their group over all used cells, by cell [cells used]."""
    counts, means = table.counts[:, used], table.means[:, used]
    of_group = (counts * means).sum(axis=1, keepdims=True) / counts.sum(axis=1, keepdims=True)
    result: FloatArray = (table.squares[:, used] + counts * np.square(means - of_group)).sum(axis=0)
    return result


def basis_of(used: Sequence[BoolArray]) -> str:
    """What the error of a gap comes from: ``cells``, or ``repeats`` where there are too few prompt cells to tell."""
    return "cells" if min(int(cells.sum()) for cells in used) >= FEWEST_CELLS else "repeats"


def gaps_of(
    tables: Sequence[CellTable], used: Sequence[BoolArray], places: Sequence[IntArray], *, basis: str = "cells"
) -> list[Gap]:
    """The gaps of one measure in one or more sets of messages, in standard deviations pooled over all of them.

    Parameters
    ----------
    tables : by group and cell, with the same groups; used : the cells of each table that enter (`defect` must be empty)
    places : position of each used cell among all clusters: equal in two tables where they are the same cell
    basis : ``cells``: the error comes from how cells differ; ``repeats``: from how messages within cells differ

    Returns
    -------
    One `Gap` a table. The standard deviation is that of messages within a group, cells together; its own error is part of
    the influence values, so that a cell with wild messages counts.
    """
    squares = [_squares(table, cells) for table, cells in zip(tables, used, strict=True)]
    sizes = [table.counts[:, cells].sum(axis=0) for table, cells in zip(tables, used, strict=True)]
    groups = len(tables[0].found.groups)
    free = float(sum(count.sum() for count in sizes)) - groups * len(tables)
    variance = float(sum(square.sum() for square in squares)) / free
    clusters = 1 + max(int(place.max()) for place in places)
    of_scale = np.zeros(clusters)
    for place, square, count in zip(places, squares, sizes, strict=True):
        np.add.at(of_scale, place, (square - variance * count) / (2 * variance * free))
    unit = 2 / math.sqrt(groups) * hedges_correction(max(free, 2.0)) / math.sqrt(variance)
    found = []
    for table, cells, place in zip(tables, used, places, strict=True):
        means = table.means[:, cells]
        centred = unit * (means - means.mean(axis=0)).T
        vector = centred.mean(axis=0)
        if basis == "cells":
            count = len(place)
            influence = -np.outer(of_scale, vector) if count > 1 else np.zeros((clusters, groups))
            influence[place] += (centred - vector) / math.sqrt(max(count * (count - 1.0), 1.0))
            df = float(max(count - 1, 1))
        else:
            influence, df = _of_repeats(table, cells, unit)
        found.append(_gap(table, cells, vector, influence, means.mean(axis=1), math.sqrt(variance), df))
    return found


def _of_repeats(table: CellTable, used: BoolArray, unit: float) -> tuple[FloatArray, float]:
    """Influence values with one row per group, from the variance of its messages within cells, and Satterthwaite's df."""
    counts, groups = table.counts[:, used], len(table.counts)
    free = (counts - 1).sum(axis=1)
    within = table.squares[:, used].sum(axis=1) / np.maximum(free, 1.0)
    parts = within * (1 / counts).sum(axis=1) / counts.shape[1] ** 2
    influence = unit * np.sqrt(parts)[:, None] * (np.eye(groups) - 1 / groups)
    below = float((np.square(parts) / np.maximum(free, 1.0)).sum())
    return influence, float(parts.sum()) ** 2 / below if below > 0 else 1.0


def _gap(
    table: CellTable,
    used: BoolArray,
    vector: FloatArray,
    influence: FloatArray,
    raw: FloatArray,
    deviation: float,
    df: float,
) -> Gap:
    inside = int(table.counts[:, used].sum())
    return Gap(
        groups=table.found.groups,
        vector=vector,
        influence=influence,
        raw=raw,
        deviation=deviation,
        df=df,
        n=inside,
        cells=int(used.sum()),
        n_excluded=int(table.counts.sum()) - inside + int(table.found.excluded.sum()),
    )
