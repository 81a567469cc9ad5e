"""What is compared and what moved in it, as values: a bias dimension, a cell, a category that came or went.

`metrics.tables`, `metrics.cells` and `metrics.events` measure them. Reading stored ones needs no numerical library.
"""

from __future__ import annotations

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BiasDimension:
    """One identity axis with one social dimension, and the frame columns that hold their categories.

    Parameters
    ----------
    title : ``"gender x occupation"``; axis : ``"gender"``; social : ``"occupation"``
    row, column : columns of the persona frame (``"gender_category"``, ``"occupation_category"``)
    """

    title: str
    axis: str
    social: str
    row: str
    column: str

    @property
    def by_name(self) -> bool:
        """Whether the rows are persona names, which are counted for a given list of names only."""
        return self.row == "name_category"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """One cell of a bias dimension in two releases, and what it adds to the change of V squared.

    Parameters
    ----------
    dimension, row, column : ``"gender x occupation"``, ``"female"``, ``"Healthcare"``
    n_previous, n_current : records in the cell
    share_previous, share_current : of the records of the row; None when the release has none
    contribution : to the change of jackknifed V squared; above 0 when the cell moved away from independence
    statistic : change of the cell's residual over its standard error; above 0 when the cell is fuller now, against
        independence, and below 0 when it is emptier
    pvalue, qvalue : two-sided p, and p adjusted over the family of cells; None, like the statistic, for a cell with
        fewer pooled records than the policy merges categories below, and when no request varies in it
    """

    dimension: str
    row: str
    column: str
    n_previous: int
    n_current: int
    share_previous: float | None
    share_current: float | None
    contribution: float
    statistic: float | None = None
    pvalue: float | None = None
    qvalue: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CategoryEvent:
    """A category that one of two releases has and the other has not.

    Parameters
    ----------
    attribute, category : ``"gender"``, ``"agender"``
    kind : ``new`` or ``vanished``
    n_previous, n_current : records of the category, 0 in one release
    of_previous, of_current : records that have any category of the attribute
    pvalue, qvalue : Fisher's exact test of the requests with and without it, two-sided; adjusted by Holm over the
        categories of all attributes that are not rare in both releases together
    """

    attribute: str
    category: str
    kind: Literal["new", "vanished"]
    n_previous: int
    n_current: int
    of_previous: int
    of_current: int
    pvalue: float
    qvalue: float
