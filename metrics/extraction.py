"""How far what was read out of prose agrees with what the same person is known to be: precision, recall, and who is read worse."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from metrics.contingency import independence_test
from metrics.errors import BadInputError
from metrics.exact import holm
from metrics.shares import METHOD, shares_of
from metrics.tables import DegenerateTableError, clustered_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

FEWEST = 10  # people of a group: fewer say nothing about how well it is read
RIGHT, NOT_RIGHT = "right", "not right"
COLUMNS = ("request", "stated", "read")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A share of ``hits`` in ``n``, with a 95 % interval that knows which texts came in one answer; all None when ``n`` is 0."""

    hits: int
    n: int
    share: float | None
    low: float | None
    high: float | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReadingErrors:
    """How well one attribute is read.

    Parameters
    ----------
    precision : right ones among those that were read and whose category is known; recall : right ones among all whose category is known
    missed, wrong : of those whose category is known, how many were not read, and read as something else
    unlabelled : read where no category is known, so that nobody can say whether it is right
    groups : recall by category; those with fewer than `FEWEST` people are in ``few`` with their number
    pvalue : of the groups being read equally well (Rao-Scott), adjusted by Holm over the attributes; None with the reason in ``why``
    method : of the intervals
    """

    attribute: str
    precision: Part
    recall: Part
    missed: int
    wrong: int
    unlabelled: int
    groups: dict[str, Part]
    few: dict[str, int]
    pvalue: float | None
    why: str
    method: str = METHOD


def reading_errors(frames: dict[str, pd.DataFrame]) -> list[ReadingErrors]:
    """The errors of each attribute.

    Parameters
    ----------
    frames : by attribute one row a text: ``request`` (texts of one request are one cluster), ``stated`` (the category that is known, or
        missing) and ``read`` (the category that was read, or missing)

    Returns
    -------
    One for each attribute, in the order of ``frames``. A text whose category is not known is counted where it was read, and enters no share.

    Raises
    ------
    BadInputError : a frame lacks a column

    Notes
    -----
    Recall is taken over people whose attribute is known, whether or not their text mentions it: it is a lower bound of how much of what is *written* is read.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"request": range(4), "stated": ["f", "f", "m", None], "read": ["f", None, "f", "m"]})
    >>> found = reading_errors({"gender": frame})[0]
    >>> found.precision.hits, found.precision.n, found.recall.hits, found.recall.n, found.missed, found.wrong, found.unlabelled
    (1, 2, 1, 3, 1, 1, 1)
    """
    found = [_errors(name, frame) for name, frame in frames.items()]
    tested = [one.pvalue for one in found if one.pvalue is not None]
    adjusted = iter(holm(tested))
    return [dataclasses.replace(one, pvalue=next(adjusted)) if one.pvalue is not None else one for one in found]


def _errors(name: str, frame: pd.DataFrame) -> ReadingErrors:
    if lacking := [column for column in COLUMNS if column not in frame.columns]:
        raise BadInputError(f"the readings of {name} lack the column {lacking[0]!r}; they need {', '.join(COLUMNS)}")
    stated, read = frame["stated"].notna(), frame["read"].notna()
    same = stated & read & (frame["stated"].astype(object) == frame["read"].astype(object))
    known = frame[stated].assign(outcome=np.where(same[stated], RIGHT, NOT_RIGHT), was_read=read[stated])
    sizes = known["stated"].value_counts()
    few = {str(group): int(n) for group, n in sizes.items() if n < FEWEST}
    shown = sorted(str(group) for group, n in sizes.items() if n >= FEWEST)
    pvalue, why = _differ(known, shown)
    return ReadingErrors(
        attribute=name,
        precision=_part(known[known["was_read"]]),
        recall=_part(known),
        missed=int((~known["was_read"]).sum()),
        wrong=int((known["was_read"] & (known["outcome"] == NOT_RIGHT)).sum()),
        unlabelled=int((read & ~stated).sum()),
        groups=_parts(known, "stated", shown),
        few=few,
        pvalue=pvalue,
        why=why,
    )


def _part(rows: pd.DataFrame) -> Part:
    return _parts(rows.assign(all="all"), "all", ["all"])["all"]


def _parts(rows: pd.DataFrame, column: str, groups: Sequence[str]) -> dict[str, Part]:
    """The share of right ones in each group."""
    if not len(rows) or not groups:
        return {group: Part(hits=0, n=0, share=None, low=None, high=None) for group in groups}
    shares = shares_of(
        clustered_table(rows, column, "outcome", cluster="request", rows=groups, columns=[RIGHT, NOT_RIGHT])
    )
    return {
        group: Part(
            hits=int(shares.counts[at, 0]),
            n=int(shares.sizes[at]),
            share=float(shares.share[at, 0]),
            low=min(float(shares.low[at, 0]), float(shares.share[at, 0])),
            high=max(float(shares.high[at, 0]), float(shares.share[at, 0])),
        )
        for at, group in enumerate(groups)
    }


def _differ(known: pd.DataFrame, groups: Sequence[str]) -> tuple[float | None, str]:
    """P of all groups being read equally well; None with the reason in words."""
    if len(groups) < 2:
        return None, f"fewer than two groups have {FEWEST} people"
    table = clustered_table(known, "stated", "outcome", cluster="request", rows=groups)
    if table.shape[1] < 2:
        return None, "all of them were read alike, without an exception"
    try:
        tested = independence_test(table)
    except DegenerateTableError as error:
        return None, str(error)
    return (None, "all texts came in one answer") if tested is None else (tested.pvalue, "")
