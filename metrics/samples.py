"""Messages as numbers with a group and a prompt cell, and the row that every statistic of them returns.

A measure (a column of numbers) is compared between groups of an audience (a column of labels). Messages of one prompt
cell resemble each other, so the cell is the cluster. Classical tests ignore it and say so; `metrics.clustered` does not.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.errors import BadInputError
from metrics.results import Score
from metrics.severity import severity

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

CELL = "cell"
"""Column of a message frame that holds the prompt cell."""


class Sizes(TypedDict):
    """How much an estimate is made from: messages, prompt cells, and messages that could not enter."""

    n: int
    clusters: int
    n_excluded: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One number about groups of messages, with its interval and the test that belongs to it.

    Parameters
    ----------
    name : what it is (``welch-t``); groups : the groups it is about; two groups: first minus second
    value : the estimate, or None when it could not be measured (then ``reason`` says why)
    low, high : bounds of the interval at ``level``; method : how they were made, in words
    statistic, df, df_error, pvalue : the test; ``df_error`` only where the test has two degrees of freedom
    qvalue : p adjusted over the family of tests that ``method`` names
    standard_error : of ``value``, where the interval is made from one
    n : messages that entered; clusters : prompt cells they came from; n_excluded : messages without a number
    reason : why a number is missing, or what limits it
    """

    name: str
    groups: tuple[str, ...]
    value: float | None
    n: int
    clusters: int
    n_excluded: int
    method: str = ""
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    statistic: float | None = None
    df: float | None = None
    df_error: float | None = None
    pvalue: float | None = None
    qvalue: float | None = None
    standard_error: float | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        for field in self.__slots__:
            number = getattr(self, field)
            if isinstance(number, float) and not math.isfinite(number):
                raise ValueError(f"{self.name}: {field} must be finite or None, got {number}; say why it is missing")
        if self.value is None and not self.reason:
            raise ValueError(f"{self.name} of {' - '.join(self.groups)} has no value: a reason in words is needed")

    def as_score(self, dimension: str, *, metric: str = "", normalized: bool = False) -> Score:
        """The number as a row of the score table; ``normalized`` scores get their severity.

        >>> row = Estimate(name="welch-t", groups=("f", "m"), value=0.1, n=9, clusters=3, n_excluded=0)
        >>> row.as_score("gender x agency-framing").group
        'f - m'
        """
        return Score(
            metric=metric or self.name,
            dimension=dimension,
            group=" - ".join(self.groups),
            value=self.value,
            low=self.low,
            high=self.high,
            level=self.level,
            method=self.method,
            statistic=self.statistic,
            df=self.df,
            df_error=self.df_error,
            pvalue=self.pvalue,
            qvalue=self.qvalue,
            n=self.n,
            n_clusters=self.clusters,
            n_excluded=self.n_excluded,
            severity=severity(self.value) if normalized else None,
            reason=self.reason,
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """The messages of some groups that have a number, in coded columns of equal length.

    ``group`` and ``cell`` are positions in ``groups`` and ``cells``, of which some may have no message with a number;
    ``excluded`` counts the messages of each group without one.
    """

    measure: str
    groups: tuple[str, ...]
    cells: tuple[str, ...]
    group: IntArray
    cell: IntArray
    values: FloatArray
    excluded: IntArray

    def place(self, group: str) -> int:
        """Position of a group; an unknown one is refused with the known ones."""
        if group not in self.groups:
            raise BadInputError(f"{self.measure!r} has no group {group!r}; its groups are {', '.join(self.groups)}")
        return self.groups.index(group)

    def of(self, group: str) -> FloatArray:
        """Values of one group, in the order of the frame."""
        values: FloatArray = self.values[self.group == self.place(group)]
        return values

    def counts(self, groups: Sequence[str]) -> Sizes:
        """Messages, cells and excluded messages of some groups together."""
        places = [self.place(group) for group in groups]
        chosen = np.isin(self.group, places)
        return {
            "n": int(chosen.sum()),
            "clusters": int(np.count_nonzero(np.bincount(self.cell[chosen]))),
            "n_excluded": int(self.excluded[places].sum()),
        }


def _require_columns(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    if missing := [column for column in columns if column not in frame.columns]:
        known = ", ".join(map(str, frame.columns)) or "none"
        raise BadInputError(f"the frame has no column {', '.join(missing)}; its columns are {known}")


def _numbers(frame: pd.DataFrame, measure: str) -> FloatArray:
    column = frame[measure]
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    words = np.isnan(values) & column.notna().to_numpy()
    if words.any() or np.isinf(values).any():
        found = column[words | np.isinf(values)].astype("object").iloc[0]
        raise BadInputError(
            f"{measure!r} must hold finite numbers or nothing, got {found!r}; leave out what could not be measured"
        )
    return values


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Which group and cell each row of a frame belongs to (-1: none), read once for all measures of the frame."""

    frame: pd.DataFrame
    groups: tuple[str, ...]
    cells: tuple[str, ...]
    group: IntArray
    cell: IntArray

    def samples(self, measure: str) -> Samples:
        """One measure of the laid out messages."""
        _require_columns(self.frame, [measure])
        values = _numbers(self.frame, measure)
        chosen = self.group >= 0
        kept = chosen & ~np.isnan(values)
        return Samples(
            measure=measure,
            groups=self.groups,
            cells=self.cells,
            group=self.group[kept],
            cell=self.cell[kept],
            values=values[kept],
            excluded=np.bincount(self.group[chosen & ~kept], minlength=len(self.groups)).astype(np.int64),
        )


def group_labels(frame: pd.DataFrame, group: str) -> tuple[str, ...]:
    """The groups that occur in a column, sorted.

    >>> group_labels(pd.DataFrame({"sex": ["m", None, "f", "m"]}), "sex")
    ('f', 'm')
    """
    _require_columns(frame, [group])
    return tuple(sorted({str(label) for label in frame[group].dropna().unique()}))


def layout(
    frame: pd.DataFrame,
    *,
    group: str,
    cell: str | Sequence[str] | None = CELL,
    groups: Sequence[str] | None = None,
) -> Layout:
    """Read the groups and cells of a message frame; parameters and refusals as of `samples`.

    >>> frame = pd.DataFrame({"sex": ["f", "m", "x"], "cell": ["a", "b", "b"]})
    >>> found = layout(frame, group="sex", groups=("m", "f"))
    >>> found.group.tolist(), found.cell.tolist()
    ([1, 0, -1], [0, 1, 1])
    """
    columns = [] if cell is None else [cell] if isinstance(cell, str) else list(cell)
    _require_columns(frame, [group, *columns])
    known = group_labels(frame, group)
    wanted = known if groups is None else tuple(map(str, groups))
    if unknown := [label for label in wanted if label not in known]:
        raise BadInputError(f"column {group!r} has no group {', '.join(unknown)}; it has {', '.join(known) or 'none'}")
    if len(set(wanted)) < 2 or len(set(wanted)) < len(wanted):
        raise BadInputError(f"a comparison needs at least two different groups, got {', '.join(wanted) or 'none'}")
    whole = frame[[group, *columns]].notna().all(axis=1).to_numpy()
    labels = frame[group].astype("str").where(whole)
    codes, cells = pd.factorize(_cell_names(frame, columns), sort=True)
    return Layout(
        frame=frame,
        groups=wanted,
        cells=tuple(map(str, cells)),
        group=np.asarray(pd.Index(list(wanted)).get_indexer(pd.Index(labels)), dtype=np.int64),
        cell=np.asarray(codes, dtype=np.int64),
    )


def samples(
    frame: pd.DataFrame,
    measure: str,
    *,
    group: str,
    cell: str | Sequence[str] | None = CELL,
    groups: Sequence[str] | None = None,
) -> Samples:
    """Read one measure of a message frame, one row per message.

    Parameters
    ----------
    frame : has the columns that the other arguments name; measure : numbers, missing where there is none
    group : column of group labels; groups : which of them, in this order (default: all, sorted)
    cell : column of prompt cells, or several whose combinations are the cells; None: every message is its own

    Raises
    ------
    BadInputError : a missing column, fewer than two groups, an unknown group, words or infinity among the numbers

    >>> frame = pd.DataFrame({"a": [1.0, None, 3.0], "sex": ["f", "f", "m"], "cell": ["x", "x", "x"]})
    >>> found = samples(frame, "a", group="sex")
    >>> found.groups, found.of("f").tolist(), found.excluded.tolist()
    (('f', 'm'), [1.0], [1, 0])
    """
    return layout(frame, group=group, cell=cell, groups=groups).samples(measure)


def _cell_names(frame: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.object_]:
    """Name of each message's cell; without columns, a number for each message."""
    if not columns:
        return np.array([f"message {place:09}" for place in range(len(frame))], dtype=np.object_)
    names = frame[columns[0]].astype("str")
    for column in columns[1:]:
        names = names + " x " + frame[column].astype("str")
    return names.to_numpy(dtype=np.object_)


def not_measured(found: Samples, name: str, groups: Sequence[str], reason: str) -> Estimate:
    """The row of a number that could not be measured, with how much there was.

    >>> frame = pd.DataFrame({"a": [1.0, 3.0], "sex": ["f", "m"], "cell": ["x", "x"]})
    >>> not_measured(samples(frame, "a", group="sex"), "welch-t", ("f", "m"), "too few").n
    2
    """
    return Estimate(name=name, groups=tuple(groups), value=None, reason=reason, **found.counts(groups))
