"""Does context make a gap larger? The gap of the context-rich mode against that of the standalone mode.

The two modes have different prompts, so nothing is paired. Both the signed gap and its size are compared: context may make a
gap larger, smaller, or turn it round.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from metrics.clustered import BASES, NO_ERROR, CellTable, cell_table, contrast, few_cells
from metrics.errors import BadInputError
from metrics.folding import FoldedPair
from metrics.gaps import Gap, GapDimension, Messages, defect, gaps_of, normalized_gap
from metrics.samples import Estimate

BoolArray = NDArray[np.bool_]

SIGNED, SIZE = "amplification", "normalized-amplification"
STANDALONE, CONTEXT_RICH = "standalone", "context-rich"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Amplification:
    """Context-rich minus standalone gap of one measure.

    Parameters
    ----------
    title : of the context-rich dimension
    signed : difference of the signed gaps in units of the measure; None for more than two groups
    size : difference of the normalized gaps (debiased); above 0 context makes the gap larger
    """

    title: str
    signed: Estimate | None
    size: Estimate


def amplification(
    context_rich: pd.DataFrame,
    standalone: pd.DataFrame,
    dimensions: Sequence[GapDimension],
    *,
    basis: str = "cells",
    fewest: int | None = None,
) -> list[Amplification]:
    """How much larger gaps are with theme and region in the prompt than without.

    Parameters
    ----------
    context_rich, standalone : message frames of the two modes (rows of one mode each)
    dimensions : what is measured between which groups; their ``mode`` is not looked at
    basis : as of `metrics.clustered.contrast`. The standalone mode has as many prompts as stances, so that ``cells`` gives
        wide intervals; ``repeats`` speaks of these prompts only
    fewest : cells below which an estimate carries the reason that they are too few (default: the policy's)

    Returns
    -------
    One row per dimension. Standard errors of the two modes add in squares, with Satterthwaite's df. The interval of the size
    is the range over the ellipse of plausible pairs of gaps (`metrics.folding`).

    >>> rich = pd.DataFrame({"a": [1.0, 2, 3, 5, 2, 4], "sex": [*"fmfmfm"], "cell": [*"wwxxyy"]})
    >>> bare = pd.DataFrame({"a": [1.0, 1, 3, 4, 2, 2], "sex": [*"fmfmfm"], "cell": [*"wwxxyy"]})
    >>> one = GapDimension(title="sex x a", axis="sex", measure="a", group="sex")
    >>> round(amplification(rich, bare, [one])[0].signed.value, 3)
    -1.333
    """
    if basis not in BASES:
        raise BadInputError(f"amplification has the basis {' or '.join(BASES)}, got {basis!r}")
    rows = []
    modes = Messages(context_rich), Messages(standalone)
    for dimension in dimensions:
        free = dataclasses.replace(dimension, mode="")
        groups = dimension.groups or tuple(sorted({*modes[0].labels(free), *modes[1].labels(free)}))
        tables = [cell_table(messages.samples(free, groups)) for messages in modes]
        signed = _signed(tables, basis, fewest) if len(groups) == 2 else None
        rows.append(Amplification(title=dimension.title, signed=signed, size=_size(tables, basis, fewest)))
    return rows


def _sizes(tables: Sequence[CellTable]) -> tuple[int, int, int]:
    counts = [table.found.counts(table.found.groups) for table in tables]
    return (
        sum(count["n"] for count in counts),
        sum(count["clusters"] for count in counts),
        sum(count["n_excluded"] for count in counts),
    )


def _limit(tables: Sequence[CellTable], basis: str, fewest: int | None) -> str:
    cells = [int(table.shared(*table.found.groups).sum()) for table in tables]
    said = [
        f"{mode}: {words}"
        for mode, count in zip((CONTEXT_RICH, STANDALONE), cells, strict=True)
        if (words := few_cells(count, fewest))
    ]
    return "; ".join(said) if basis == "cells" else ""


def _bare(tables: Sequence[CellTable], name: str, value: float | None, reason: str) -> Estimate:
    n, clusters, excluded = _sizes(tables)
    return Estimate(
        name=name,
        groups=tables[0].found.groups,
        value=value,
        n=n,
        clusters=clusters,
        n_excluded=excluded,
        method=f"{CONTEXT_RICH} minus {STANDALONE}",
        reason=reason,
    )


def _signed(tables: Sequence[CellTable], basis: str, fewest: int | None) -> Estimate:
    groups = tables[0].found.groups
    rich, alone = (contrast(table, groups[0], groups[1], basis=basis, fewest=fewest) for table in tables)
    if rich.value is None or alone.value is None:
        return _bare(tables, SIGNED, None, rich.reason if rich.value is None else alone.reason)
    value = rich.value - alone.value
    if rich.standard_error is None or alone.standard_error is None or rich.df is None or alone.df is None:
        return _bare(tables, SIGNED, value, rich.reason if rich.standard_error is None else alone.reason)
    squares = rich.standard_error**2, alone.standard_error**2
    error = float(np.sqrt(sum(squares)))
    df = sum(squares) ** 2 / (squares[0] ** 2 / rich.df + squares[1] ** 2 / alone.df)
    reach = float(special.stdtrit(df, 0.975)) * error
    return dataclasses.replace(
        _bare(tables, SIGNED, value, _limit(tables, basis, fewest)),
        standard_error=error,
        low=value - reach,
        high=value + reach,
        statistic=value / error,
        df=df,
        pvalue=float(2 * special.stdtr(df, -abs(value / error))),
        method=f"{CONTEXT_RICH} minus {STANDALONE}, variance between {basis}, t with {df:.1f} df",
    )


def _gaps(tables: Sequence[CellTable], used: Sequence[BoolArray], basis: str) -> list[Gap]:
    first = int(used[0].sum())
    places = [np.arange(first, dtype=np.int64), first + np.arange(used[1].sum(), dtype=np.int64)]
    return gaps_of(tables, used, places, basis=basis)


def _size(tables: Sequence[CellTable], basis: str, fewest: int | None) -> Estimate:
    used = [table.shared(*table.found.groups) for table in tables]
    if reason := defect(tables, used):
        return _bare(tables, SIZE, None, reason)
    rich, alone = _gaps(tables, used, basis)
    value = normalized_gap(rich.debiased) - normalized_gap(alone.debiased)
    variances = alone.variance, rich.variance
    lone = basis == "cells" and min(rich.cells, alone.cells) < 2
    if lone or min(variances) <= NO_ERROR**2:
        what = "one prompt cell" if lone else f"{basis} that all show the same"
        return _bare(tables, SIZE, None, f"a mode has {what}: nothing says how much its gap varies")
    df = sum(variances) ** 2 / (variances[0] ** 2 / alone.df + variances[1] ** 2 / rich.df)
    # The two modes share the standard deviation, whose error is small: they are taken as independent.
    folded = FoldedPair(
        previous=alone.size,
        current=rich.size,
        variances=variances,
        covariance=0.0,
        df=max(df, 1.0),
        pvalues_zero=(alone.pvalue, rich.pvalue),
    )
    low, high = folded.bounds(0.95, normalized_gap)
    return dataclasses.replace(
        _bare(tables, SIZE, value, _limit(tables, basis, fewest)),
        low=min(low, value),
        high=max(high, value),
        statistic=folded.statistic,
        df=df,
        pvalue=folded.pvalue,
        method=f"normalized gaps, {CONTEXT_RICH} minus {STANDALONE}, variance between {basis}, {df:.1f} df",
    )
