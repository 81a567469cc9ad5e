"""Does a gap point the same way in every release or family? A table of signs, their test, and whether sizes agree.

The published finding is that men get the more persuasive messages from every model. Two questions are in it. Do the signs
agree more than coins would (exact sign test)? And are the gaps of one size (Cochran's Q)? Few models cannot answer the first:
with three, even three equal signs have p = .25, and the table says so.

References
----------
W. J. Dixon, A. M. Mood (1946), JASA 41, 557-566: the sign test. W. G. Cochran (1954), Biometrics 10, 101-129: Q.
J. P. T. Higgins, S. G. Thompson (2002), Statistics in Medicine 21, 1539-1558: I squared.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from scipy import special

from metrics.errors import BadInputError
from metrics.samples import Estimate

Sign = Literal["+", "-", "0"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """The gap of one release or family: its sign, its interval, and whether the interval excludes 0 (``shown``)."""

    name: str
    sign: Sign
    shown: bool
    value: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    n_excluded: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DirectionTable:
    """Signs of one gap over releases or families, and their tests.

    Parameters
    ----------
    positive, negative : entries above and below 0; exact zeros count for neither
    pvalue : exact two-sided sign test that either sign is as likely; smallest_pvalue : what it could have reached
    heterogeneity, df, heterogeneity_pvalue : Cochran's Q of equal gaps, over entries with a standard error
    i_squared : share of the spread of the gaps beyond their errors, 0 to 1
    pooled, low, high : mean of the gaps weighted by their precision, with 95 % interval; None where they do not agree
    left_out : entries without a value, with the reason
    why : what it comes to, in words
    """

    rows: tuple[Direction, ...]
    positive: int
    negative: int
    pvalue: float | None
    smallest_pvalue: float | None
    heterogeneity: float | None
    df: int
    heterogeneity_pvalue: float | None
    i_squared: float | None
    pooled: float | None
    low: float | None
    high: float | None
    left_out: tuple[tuple[str, str], ...]
    why: str


def sign_test(positive: int, negative: int) -> float | None:
    """Exact two-sided p that either sign is as likely: ``2 P(at most the rarer one)``, at most 1; None without signs.

    >>> sign_test(3, 0), sign_test(8, 1)
    (0.25, 0.0390625)
    """
    total = positive + negative
    if not total:
        return None
    return min(1.0, 2 * float(special.bdtr(min(positive, negative), total, 0.5)))


def direction_table(gaps: Mapping[str, Estimate], *, alpha: float = 0.05) -> DirectionTable:
    """Is the direction of a gap consistent over releases or families?

    Parameters
    ----------
    gaps : one estimate (`metrics.clustered.contrast`) per release or family, all of one measure and the same two groups in
        the same order. Releases of one family are not independent: give one per family, or read the sign test as a
        description
    alpha : below it Q says that the gaps differ, and no pooled one is given

    Raises
    ------
    BadInputError : no entry, or entries about different groups

    >>> def gap(value):
    ...     return Estimate(
    ...         name="cell-contrast", groups=("f", "m"), value=value, n=100, clusters=50, n_excluded=0,
    ...         standard_error=0.1, low=value - 0.2, high=value + 0.2, df=49.0,
    ...     )
    >>> table = direction_table({"one": gap(-0.3), "two": gap(-0.1), "three": gap(-0.4)})
    >>> table.negative, table.pvalue, table.smallest_pvalue
    (3, 0.25, 0.25)
    """
    if not gaps:
        raise BadInputError("a table of directions needs the gap of at least one release, got none")
    if len({gap.groups for gap in gaps.values()}) > 1:
        named = "; ".join(f"{name}: {' - '.join(gap.groups)}" for name, gap in gaps.items())
        raise BadInputError(f"all gaps must be about the same groups in the same order, got {named}")
    rows = tuple(_direction(name, gap) for name, gap in gaps.items() if gap.value is not None)
    signs = [row.sign for row in rows]
    positive, negative = signs.count("+"), signs.count("-")
    pvalue = sign_test(positive, negative)
    measured = [gap for gap in gaps.values() if gap.value is not None and gap.standard_error]
    q, q_pvalue, spread = _heterogeneity(measured)
    agree = q_pvalue is None or q_pvalue > alpha
    pooled, low, high = _pooled(measured) if agree else (None, None, None)
    smallest = sign_test(positive + negative, 0)
    return DirectionTable(
        rows=rows,
        positive=positive,
        negative=negative,
        pvalue=pvalue,
        smallest_pvalue=smallest,
        heterogeneity=q,
        df=max(len(measured) - 1, 0),
        heterogeneity_pvalue=q_pvalue,
        i_squared=spread,
        pooled=pooled,
        low=low,
        high=high,
        left_out=tuple((name, gap.reason) for name, gap in gaps.items() if gap.value is None),
        why=_why(rows, next(iter(gaps.values())).groups, pvalue, smallest, q_pvalue, alpha),
    )


def _direction(name: str, gap: Estimate) -> Direction:
    value = gap.value or 0.0
    return Direction(
        name=name,
        sign="+" if value > 0 else "-" if value < 0 else "0",
        shown=gap.low is not None and gap.high is not None and not gap.low <= 0 <= gap.high,
        value=value,
        low=gap.low,
        high=gap.high,
        n=gap.n,
        clusters=gap.clusters,
        n_excluded=gap.n_excluded,
    )


def _weights(measured: list[Estimate]) -> tuple[np.ndarray, np.ndarray]:
    values = np.array([gap.value for gap in measured], dtype=np.float64)
    return values, 1 / np.square(np.array([gap.standard_error for gap in measured], dtype=np.float64))


def _heterogeneity(measured: list[Estimate]) -> tuple[float | None, float | None, float | None]:
    """Cochran's Q, its p, and I squared; None for fewer than two gaps with an error."""
    if len(measured) < 2:
        return None, None, None
    values, weights = _weights(measured)
    q = float((weights * np.square(values - np.average(values, weights=weights))).sum())
    df = len(measured) - 1
    return q, float(special.chdtrc(df, q)), max(q - df, 0.0) / q if q > 0 else 0.0


def _pooled(measured: list[Estimate]) -> tuple[float | None, float | None, float | None]:
    if not measured:
        return None, None, None
    values, weights = _weights(measured)
    mean, reach = float(np.average(values, weights=weights)), float(special.ndtri(0.975)) / math.sqrt(weights.sum())
    return mean, mean - reach, mean + reach


def _why(
    rows: tuple[Direction, ...],
    groups: tuple[str, ...],
    pvalue: float | None,
    smallest: float | None,
    q_pvalue: float | None,
    alpha: float,
) -> str:
    if pvalue is None or smallest is None:
        return "no release has a gap with a sign"
    signs = [row.sign for row in rows]
    shown = [row for row in rows if row.shown]
    words = (
        f"{groups[0]} above {groups[-1]} in {signs.count('+')}, below in {signs.count('-')} of {len(rows)}; "
        f"{len(shown)} shown ({sum(row.value > 0 for row in shown)} above, {sum(row.value < 0 for row in shown)} below)"
    )
    if smallest > alpha:
        words += f"; so few cannot show a common direction (the sign test reaches {smallest:.2g} at best)"
    else:
        words += f"; sign test p = {pvalue:.3g}"
    if q_pvalue is not None and q_pvalue <= alpha:
        words += f"; the gaps differ from each other (Cochran's Q p = {q_pvalue:.3g})"
    return words
