"""Contingency tables that remember which request each record came from.

Personas of one answer depend on each other, so every variance, interval and test of an association is made from
requests (clusters), never from single personas. `ClusteredTable` keeps the non-zero cell counts of each request in
sparse form: 10,000 requests of one record, or 500 of twenty, cost the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from metrics.errors import BadInputError
from metrics.moves import BiasDimension as BiasDimension

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FEWEST_RECORDS = 10
"""Fewer records than this are not called a measurement."""

RECORDS_PER_CATEGORY = 5
"""Records that a table needs per category of its longer side, on average: Cochran's rule for expected counts, by margins.

With fewer, most categories are seen once or twice, and V is near 1 whatever the model does.
"""

_CATEGORIES_NEEDED = "association needs at least 2 categories on each side; the table has"


class DegenerateTableError(BadInputError):
    """The table cannot show an association; the message says what it lacks."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusteredTable:
    """Counts of row x column categories by cluster, as sparse entries.

    Parameters
    ----------
    rows, columns : category labels; a label may have no record
    cluster, row, column : codes of each entry [entries]; count : its records [entries], above 0
    clusters_total : clusters of the frame, with or without a counted record
    n_excluded : records of the frame that are not counted here (a category is missing or not listed)
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cluster: IntArray
    row: IntArray
    column: IntArray
    count: IntArray
    clusters_total: int
    n_excluded: int = 0

    @property
    def n(self) -> int:
        """Counted records."""
        return int(self.count.sum())

    @property
    def n_clusters(self) -> int:
        """Clusters with at least one counted record."""
        return _distinct(self.cluster)

    @property
    def effective_clusters(self) -> float:
        """Number of equally large clusters that tell as much: ``n^2 / sum of n_k^2`` (Kish), at most ``n / largest n_k``.

        One request with 1,500 records and 40 with 10 are 41 clusters, and worth 1.3: what that one request happened to
        say is most of the table, and no variance can be learnt from it. Three with 400 beside 100 with 20 are worth 8. 0
        without records.
        """
        sizes = np.bincount(self.cluster, weights=self.count)
        return float(min(self.n**2 / np.square(sizes).sum(), self.n / sizes.max())) if self.n else 0.0

    @property
    def counts(self) -> FloatArray:
        """The plain table, shape [rows, columns]."""
        r, c = len(self.rows), len(self.columns)
        flat = np.bincount(self.row * c + self.column, weights=self.count, minlength=r * c)
        return flat.reshape(r, c).astype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of non-empty rows and columns."""
        return _distinct(self.row), _distinct(self.column)

    @property
    def df_star(self) -> int:
        """``min(rows, columns) - 1`` over non-empty categories; the degrees of freedom that Kim's table goes by."""
        return min(self.shape) - 1

    def cells(self) -> sparse.csr_array:
        """Cell counts of each cluster, shape [clusters_total, rows * columns]."""
        width = len(self.rows) * len(self.columns)
        entries = (self.count.astype(np.float32), (self.cluster, self.row * len(self.columns) + self.column))
        return sparse.csr_array(entries, shape=(self.clusters_total, width))

    def defect(self) -> str:
        """Why the table cannot show an association, in words; empty when it can."""
        if not self.n:
            return "no record has a category on both sides"
        for kind, labels, codes in (("row", self.rows, self.row), ("column", self.columns, self.column)):
            seen = [labels[code] for code in np.flatnonzero(np.bincount(codes))]
            if len(seen) < 2:
                return f"{_CATEGORIES_NEEDED} {len(seen)} {kind} ({', '.join(seen)})"
        if self.n < FEWEST_RECORDS:
            return f"association needs at least {FEWEST_RECORDS} records with both categories; there are {self.n}"
        return ""

    def sparseness(self) -> str:
        """Why the table is too sparse for its score to be shown, in words; empty when it is not."""
        longest = max(self.shape)
        if self.n < RECORDS_PER_CATEGORY * longest:
            return (
                f"{self.n} records are spread over {longest} categories; association needs "
                f"{RECORDS_PER_CATEGORY} records a category on average"
            )
        return ""

    def require_measurable(self) -> None:
        """Raise `DegenerateTableError` with the reason when the table cannot show an association."""
        if defect := self.defect():
            raise DegenerateTableError(defect)

    def relabelled(self, rows: Mapping[str, str | None], columns: Mapping[str, str | None]) -> ClusteredTable:
        """The table with categories renamed, merged (one new label for several) or left out (None).

        Labels are those of the mappings, in order; so two tables get one vocabulary from one pair of mappings.
        """
        new_rows, row_codes = _new_codes(self.rows, rows)
        new_columns, column_codes = _new_codes(self.columns, columns)
        row, column = row_codes[self.row], column_codes[self.column]
        kept = (row >= 0) & (column >= 0)
        return _table(
            new_rows,
            new_columns,
            (self.cluster[kept], row[kept], column[kept], self.count[kept]),
            self.clusters_total,
            self.n_excluded + int(self.count[~kept].sum()),
        )


def _distinct(codes: IntArray) -> int:
    """How many codes occur; they are small whole numbers, so counting beats sorting."""
    return int(np.count_nonzero(np.bincount(codes)))


def _new_codes(labels: Sequence[str], renamed: Mapping[str, str | None]) -> tuple[tuple[str, ...], IntArray]:
    new_labels = tuple(dict.fromkeys(label for label in renamed.values() if label is not None))
    position = {label: code for code, label in enumerate(new_labels)}
    codes = [-1 if (new := renamed[label]) is None else position[new] for label in labels]
    return new_labels, np.array(codes, dtype=np.int64)


def _table(
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    entries: tuple[IntArray, IntArray, IntArray, IntArray | None],
    clusters_total: int,
    n_excluded: int,
) -> ClusteredTable:
    cluster, row, column, count = entries
    r, c = max(len(rows), 1), max(len(columns), 1)
    keys, place = np.unique((cluster * r + row) * c + column, return_inverse=True)
    summed = np.bincount(place, weights=count, minlength=keys.size).astype(np.int64)
    return ClusteredTable(
        rows=rows,
        columns=columns,
        cluster=keys // (r * c),
        row=keys // c % r,
        column=keys % c,
        count=summed,
        clusters_total=clusters_total,
        n_excluded=n_excluded,
    )


def _coded(values: pd.Series, listed: Sequence[str] | None) -> tuple[tuple[str, ...], IntArray]:
    """Labels and the code of each value in them; -1 when missing or not listed."""
    if listed is not None:
        if len(set(listed)) != len(listed):
            raise BadInputError(
                f"category labels must be unique, got {len(listed)} labels of which {len(set(listed))} differ"
            )
        own, seen = _codes_of(values)
        places = pd.Index(list(listed), dtype=object).get_indexer(pd.Index(seen, dtype=object))
        codes = np.append(places, -1)[own]  # what is missing has code -1, the last place
        return tuple(listed), codes.astype(np.int64)
    codes, seen = _codes_of(values)
    return tuple(str(label) for label in seen), codes.astype(np.int64)


def _codes_of(values: pd.Series) -> tuple[NDArray[Any], pd.Index]:
    """Code of each value, and the values that the codes stand for; categories are read, not made again."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy(), values.cat.categories
    codes, seen = pd.factorize(values)
    return codes, pd.Index(seen)


def with_categories(frame: pd.DataFrame, dimensions: Sequence[BiasDimension]) -> pd.DataFrame:
    """The frame with the columns of the dimensions as categories: each is then encoded once, not once a dimension."""
    columns = {name for dimension in dimensions for name in (dimension.row, dimension.column) if name in frame}
    plain = [name for name in columns if not isinstance(frame[name].dtype, pd.CategoricalDtype)]
    return frame.assign(**{name: frame[name].astype("category") for name in plain}) if plain else frame


def _compact(labels: tuple[str, ...], codes: IntArray, listed: bool) -> tuple[tuple[str, ...], IntArray]:
    """Labels sorted and without those that no counted record has; a given list stays as it is."""
    if listed:
        return labels, codes
    used = sorted(np.flatnonzero(np.bincount(codes)).tolist(), key=lambda code: labels[code])
    position = np.zeros(len(labels), dtype=np.int64)
    position[used] = np.arange(len(used))
    return tuple(labels[code] for code in used), position[codes]


def cluster_column(frame: pd.DataFrame) -> str:
    """Name of the column that says which records hang together: ``cluster`` where there is one, else ``request``.

    They differ where an answer was given again word for word: a second copy is no second observation.
    """
    return "cluster" if "cluster" in frame.columns else "request"


def clustered_table(
    frame: pd.DataFrame,
    row: str,
    column: str,
    cluster: str | None = None,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    keep: NDArray[np.bool_] | None = None,
) -> ClusteredTable:
    """Contingency table of two frame columns, by cluster.

    Parameters
    ----------
    frame : one row per record
    row, column, cluster : names of frame columns; the cluster is that of `cluster_column` unless it is named
    rows, columns : the labels to count, in order; records with other labels are excluded. Default: all seen, sorted
    keep : records that may enter [records]; default all

    A record with a missing category on either side is excluded and counted in ``n_excluded``.

    >>> frame = pd.DataFrame({"request": [0, 0, 1], "gender": ["f", "m", None], "class": ["low", "high", "low"]})
    >>> table = clustered_table(frame, "gender", "class")
    >>> table.rows, table.columns, table.counts.tolist(), table.n_excluded
    (('f', 'm'), ('high', 'low'), [[0.0, 1.0], [1.0, 0.0]], 1)
    """
    cluster = cluster or cluster_column(frame)
    for name in (row, column, cluster):
        if name not in frame.columns:
            raise BadInputError(f"the frame has no column {name!r}; it has {', '.join(map(str, frame.columns))}")
    row_labels, row_codes = _coded(frame[row], rows)
    column_labels, column_codes = _coded(frame[column], columns)
    cluster_codes, clusters = pd.factorize(frame[cluster])
    counted = (row_codes >= 0) & (column_codes >= 0) & (cluster_codes >= 0)
    if keep is not None:
        counted &= keep
    row_labels, row_codes = _compact(row_labels, row_codes[counted], rows is not None)
    column_labels, column_codes = _compact(column_labels, column_codes[counted], columns is not None)
    entries = (cluster_codes[counted].astype(np.int64), row_codes, column_codes, None)
    return _table(row_labels, column_labels, entries, len(clusters), len(frame) - int(counted.sum()))


def dimension_table(
    frame: pd.DataFrame,
    dimension: BiasDimension,
    names: Sequence[str] | None,
    keep: NDArray[np.bool_] | None = None,
) -> ClusteredTable:
    """The table of a bias dimension; a name dimension counts the records with one of ``names`` only."""
    listed = list(names or ()) if dimension.by_name else None
    return clustered_table(frame, dimension.row, dimension.column, rows=listed, keep=keep)


def usable_records(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Which records are usable personas: those with outcome ``ok``, or all when the frame has no outcomes."""
    if "outcome" not in frame.columns:
        return np.ones(len(frame), dtype=np.bool_)
    usable: NDArray[np.bool_] = (frame["outcome"].astype(str) == "ok").to_numpy(dtype=np.bool_)
    return usable
