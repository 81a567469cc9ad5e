"""Means of groups of messages when the prompt cell is the cluster: contrasts, their family, and the joint test.

Within a cell (stance x theme x region) every group is written to, several times. So a contrast is paired by cell: in each
cell the mean of one group minus that of the other, and every cell counts the same whatever its number of messages. The
cells are taken as a sample of the prompts that could have been asked; how much the difference varies between them is
the error, with Student's t on cells - 1 degrees of freedom. Repeats within a cell make its mean steadier and add
no degree of freedom: a thousand messages from two prompts say little about a third.

References
----------
H. Hotelling (1931), Annals of Mathematical Statistics 2, 360-378: T squared. T. Hothorn, F. Bretz, P. Westfall (2008),
Biometrical Journal 50, 346-363: max-T over contrasts. F. E. Satterthwaite (1946), Biometrics Bulletin 2, 110-114.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from metrics.errors import BadInputError
from metrics.exact import holm
from metrics.multiplicity import max_t_qvalues
from metrics.policy import Policy
from metrics.resampling import multiplier_draws
from metrics.samples import Estimate, Samples, Sizes

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

CONTRAST, MEAN, JOINT = "cell-contrast", "cell-mean", "cell-joint-f"
BASES = ("cells", "repeats")

FEWEST_CELLS = 5
"""Prompt cells below which their variance tells next to nothing: with 2 of them t has 1 degree of freedom. Then what can be
said is about these very prompts (basis ``repeats``)."""

NO_ERROR = 1e-12
"""Relative to the values: a smaller error is rounding noise."""

_SMALLEST_P = 1e-300
_FEWEST_FOR_MAX_T = 20


def normal_scores(t: FloatArray, df: FloatArray | float) -> FloatArray:
    """Standard normal values with the tail probabilities of Student's t values, so that tests of different df compare.

    >>> normal_scores(np.array([2.228, -2.228]), 10).round(2).tolist()
    [1.96, -1.96]
    """
    tails = np.maximum(special.stdtr(df, -np.abs(t)), _SMALLEST_P)
    result: FloatArray = -np.sign(t) * special.ndtri(tails)
    return result


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellTable:
    """Messages of each group in each cell [groups, cells]: their number, mean (0 where none) and squared deviations.

    ``squares`` are about the mean of the group in the cell.
    """

    found: Samples
    counts: FloatArray
    means: FloatArray
    squares: FloatArray

    def shared(self, *groups: str) -> BoolArray:
        """Which cells have a message of every one of the groups."""
        places = [self.found.place(group) for group in groups]
        return np.asarray((self.counts[places] > 0).all(axis=0), dtype=np.bool_)

    @property
    def scale(self) -> float:
        """A size of the values that rounding is judged by."""
        return float(np.abs(self.means).max(initial=0.0)) + 1.0


def cell_table(found: Samples) -> CellTable:
    """Count, mean and squared deviations by group and cell.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 3.0, 4.0, 8.0], "sex": [*"ffmm"], "cell": [*"xxxy"]})
    >>> cell_table(samples(frame, "a", group="sex")).means.tolist()
    [[2.0, 0.0], [4.0, 8.0]]
    """
    shape = (len(found.groups), len(found.cells))
    flat = found.group * shape[1] + found.cell
    counts = np.bincount(flat, minlength=shape[0] * shape[1]).astype(np.float64)
    sums = np.bincount(flat, weights=found.values, minlength=len(counts))
    means = sums / np.maximum(counts, 1)
    deviations = np.square(found.values - means[flat])
    squares = np.bincount(flat, weights=deviations, minlength=len(counts)).astype(np.float64)
    return CellTable(
        found=found, counts=counts.reshape(shape), means=means.reshape(shape), squares=squares.reshape(shape)
    )


def few_cells(cells: int, fewest: int | None = None) -> str:
    """What is to be said about too few cells, by the policy's smallest number of clusters; empty when there are enough.

    >>> few_cells(2)
    '2 prompt cells are too few to speak of other prompts than these: a verdict needs 20'
    """
    needed = Policy().fewest_clusters if fewest is None else fewest
    if cells >= needed:
        return ""
    return f"{cells} prompt cells are too few to speak of other prompts than these: a verdict needs {needed}"


def _left_out(table: CellTable, used: BoolArray, groups: tuple[str, ...]) -> str:
    places = [table.found.place(group) for group in groups]
    missed = int(((table.counts[places] > 0).any(axis=0) & ~used).sum())
    return f"; {missed} cells without a message of each group left out" if missed else ""


def _sizes(table: CellTable, groups: tuple[str, ...], used: BoolArray) -> Sizes:
    """Messages and cells that entered; what lies in a cell that was left out counts as excluded."""
    places = [table.found.place(group) for group in groups]
    inside, all_of_them = table.counts[places][:, used].sum(), table.counts[places].sum()
    excluded = int(table.found.excluded[places].sum() + all_of_them - inside)
    return {"n": int(inside), "clusters": int(used.sum()), "n_excluded": excluded}


def _studentized(bare: Estimate, error: float, df: float, level: float) -> Estimate:
    """The estimate with its standard error, a t test of 0 and an interval."""
    value = bare.value or 0.0
    reach = float(special.stdtrit(df, 0.5 + level / 2)) * error
    t = value / error
    return dataclasses.replace(
        bare,
        standard_error=error,
        low=value - reach,
        high=value + reach,
        level=level,
        statistic=t,
        df=df,
        pvalue=float(2 * special.stdtr(df, -abs(t))),
        reason="",
    )


def group_mean(
    table: CellTable, group: str, *, basis: str = "cells", level: float = 0.95, fewest: int | None = None
) -> Estimate:
    """Mean of one group, every cell with the same weight; interval by Student's t.

    ``basis`` is as of `contrast`: from the variance between cells, or, about these very prompts, from that between repeats.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2.0, 6.0, 5.0], "sex": [*"fffm"], "cell": [*"xxyx"]})
    >>> group_mean(cell_table(samples(frame, "a", group="sex")), "f").value
    3.75
    """
    used = table.shared(group)
    sizes = _sizes(table, (group,), used)
    means = table.means[table.found.place(group), used]
    if basis == "cells" or not used.any():
        return _of_cells(table, (group,), means, sizes, "mean of cells", level, fewest)
    return _of_repeats(table, (group,), float(means.mean()), used, sizes, "mean of cells", level)


def _of_cells(
    table: CellTable,
    groups: tuple[str, ...],
    values: FloatArray,
    sizes: Sizes,
    words: str,
    level: float,
    fewest: int | None,
) -> Estimate:
    """Mean of one value per cell with its t interval, or the reason why there is none."""
    cells = len(values)
    bare = Estimate(
        name=CONTRAST if len(groups) > 1 else MEAN,
        groups=groups,
        value=float(values.mean()) if cells else None,
        method=f"{words}, equal weight per cell",
        reason=_unmeasurable(values, groups, NO_ERROR * table.scale),
        **sizes,
    )
    if bare.reason:
        return bare
    found = _studentized(bare, float(values.std(ddof=1)) / math.sqrt(cells), cells - 1.0, level)
    method = f"{bare.method}, variance between cells, t with {cells - 1} df"
    return dataclasses.replace(found, method=method, reason=few_cells(cells, fewest))


def _unmeasurable(values: FloatArray, groups: tuple[str, ...], rounding: float) -> str:
    """Why one value per cell gives no interval; empty when it does."""
    if not len(values):
        return f"no prompt cell has a message with a number of {' and of '.join(groups)}"
    if len(values) < 2:
        return "all messages are from one prompt cell: nothing says how much cells vary"
    if float(values.std(ddof=1)) <= rounding:
        return f"all {len(values)} cells show the same number: no variation to make an interval from"
    return ""


def contrast(
    table: CellTable,
    first: str,
    second: str,
    *,
    basis: str = "cells",
    level: float = 0.95,
    fewest: int | None = None,
) -> Estimate:
    """Difference of two groups (first minus second), averaged over cells with equal weight.

    Parameters
    ----------
    table : messages by group and cell; cells without a message of both groups are left out and counted
    basis : what the interval speaks of. ``cells``: prompts like these; the error is the standard deviation of the cell
        differences over the root of their number, t with cells - 1 df. ``repeats``: these very prompts and no others;
        the error comes from the messages within cells, ``sum over cells (s1^2 / n1 + s2^2 / n2) / cells^2`` with the
        variance of each group pooled over cells, t with Satterthwaite's df. Verdicts use ``cells``, below `FEWEST_CELLS` ``repeats``.
    fewest : cells below which the estimate carries the reason that they are too few (default: the policy's)

    Returns
    -------
    ``value`` in units of the measure. One cell gives a value without interval.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 3.0, 2.0, 2.5, 2.0, 7.0], "sex": [*"ffmfmm"], "cell": [*"xxxyyz"]})
    >>> row = contrast(cell_table(samples(frame, "a", group="sex")), "f", "m")
    >>> row.value, row.clusters, row.n, row.n_excluded
    (0.25, 2, 5, 1)
    """
    if basis not in BASES:
        raise BadInputError(f"a contrast has the basis {' or '.join(BASES)}, got {basis!r}")
    pair = (first, second)
    used = table.shared(first, second)
    sizes = _sizes(table, pair, used)
    one, two = (table.means[table.found.place(group), used] for group in pair)
    words = f"difference within cells{_left_out(table, used, pair)}"
    if basis == "cells" or not used.any():
        return _of_cells(table, pair, one - two, sizes, words, level, fewest)
    return _of_repeats(table, pair, float((one - two).mean()), used, sizes, words, level)


def _of_repeats(
    table: CellTable,
    groups: tuple[str, ...],
    value: float,
    used: BoolArray,
    sizes: Sizes,
    words: str,
    level: float,
) -> Estimate:
    """A mean over cells with the interval that repeats within them give."""
    bare = Estimate(
        name=CONTRAST if len(groups) > 1 else MEAN,
        groups=groups,
        value=value,
        method=f"{words}, equal weight per cell",
        reason="no group varies within a cell: without differing repeats nothing says how much messages vary",
        **sizes,
    )
    error, df = _repeat_error(table, groups, used)
    if error <= NO_ERROR * table.scale:
        return bare
    about = f"variance between repeats, t with {df:.1f} df: about these {sizes['clusters']} prompts only"
    return dataclasses.replace(_studentized(bare, error, df, level), method=f"{bare.method}, {about}")


def _repeat_error(table: CellTable, pair: tuple[str, ...], used: BoolArray) -> tuple[float, float]:
    """Standard error of a contrast from the messages within cells, and its degrees of freedom; 0 without repeats."""
    parts, free = [], []
    for group in pair:
        place = table.found.place(group)
        counts = table.counts[place, used]
        df = float((counts - 1).sum())
        if df < 1:
            return 0.0, 1.0
        variance = float(table.squares[place, used].sum()) / df
        parts.append(variance * float((1 / counts).sum()) / len(counts) ** 2)
        free.append(df)
    total = sum(parts)
    below = sum(part**2 / df for part, df in zip(parts, free, strict=True))
    return math.sqrt(total), (total**2 / below if below > 0 else 1.0)


def pairwise(
    table: CellTable, *, seed: int, draws: int = 4999, level: float = 0.95, fewest: int | None = None
) -> list[Estimate]:
    """All contrasts of two groups, with p values adjusted over the family by max-T (``qvalue``).

    Each t becomes the normal value of its own tail probability; the joint law of these is drawn by Gaussian multipliers
    of the cells, which carries how contrasts hang together. Fewer than 20 cells tell that too badly (with 6, max-T errs in
    7 % instead of 5): Holm's adjustment stands in. Intervals stay those of single contrasts.

    Parameters
    ----------
    seed, draws : of the multipliers

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2, 4, 1, 3, 5, 2, 2, 4], "age": [*"pqr" * 3], "cell": [*"xxxyyyzzz"]})
    >>> [row.groups for row in pairwise(cell_table(samples(frame, "a", group="age")), seed=1)]
    [('p', 'q'), ('p', 'r'), ('q', 'r')]
    """
    pairs = list(itertools.combinations(table.found.groups, 2))
    rows = [contrast(table, *pair, level=level, fewest=fewest) for pair in pairs]
    tested = [place for place, row in enumerate(rows) if row.statistic is not None]
    if not tested:
        return rows
    few = min(rows[place].clusters for place in tested) < _FEWEST_FOR_MAX_T
    chosen = [rows[place] for place in tested]
    qvalues = holm([row.pvalue or 0.0 for row in chosen]) if few else _max_t(table, chosen, seed, draws).tolist()
    for place, qvalue in zip(tested, qvalues, strict=True):
        words = f"{rows[place].method}; q by {'Holm' if few else 'max-T'} over {len(tested)} pairs"
        rows[place] = dataclasses.replace(rows[place], qvalue=float(qvalue), method=words)
    return rows


def _max_t(table: CellTable, rows: list[Estimate], seed: int, draws: int) -> FloatArray:
    influences = np.stack([_influence(table, row.groups[0], row.groups[1]) for row in rows], axis=1)
    joint = multiplier_draws(np.random.default_rng(seed), [influences], draws)
    t = np.array([row.statistic for row in rows], dtype=np.float64)
    df = np.array([row.df for row in rows], dtype=np.float64)
    spread = np.sqrt(np.square(influences).sum(axis=0))
    return max_t_qvalues(normal_scores(t, df), joint / spread, two_sided=True)


def _influence(table: CellTable, first: str, second: str) -> FloatArray:
    """What each cell adds to the error of a contrast [cells]; 0 for cells that it does not use."""
    used = table.shared(first, second)
    one, two = table.means[table.found.place(first)], table.means[table.found.place(second)]
    difference = np.where(used, one - two, 0.0)
    result: FloatArray = np.where(used, difference - difference.sum() / used.sum(), 0.0) / used.sum()
    return result


def joint_test(table: CellTable, *, fewest: int | None = None) -> Estimate:
    """Do any of the groups differ? Hotelling's T squared on the cells' contrasts, as an F statistic.

    With k groups and m cells that have all of them, D the m x (k - 1) differences from the last group with mean d and
    covariance S: ``F = (m - k + 1) / ((m - 1)(k - 1)) m d' S^-1 d`` with ``k - 1`` and ``m - k + 1`` df. Unlike a repeated
    measures ANOVA it needs no sphericity. For two groups it is the square of `contrast`'s t.

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2, 4, 1, 3, 5, 2, 2, 4, 1, 1, 2], "age": [*"pqr" * 4], "cell": [*"wwwxxxyyyzzz"]})
    >>> row = joint_test(cell_table(samples(frame, "a", group="age")))
    >>> row.df, row.df_error
    (2.0, 2.0)
    """
    groups = table.found.groups
    used = table.shared(*groups)
    sizes = _sizes(table, groups, used)
    cells, contrasts = int(used.sum()), len(groups) - 1
    words = f"Hotelling's T squared of {contrasts} contrasts within cells{_left_out(table, used, groups)}"
    bare = Estimate(name=JOINT, groups=groups, value=None, method=words, reason="not measured", **sizes)
    if cells <= contrasts:
        needed = f"a joint test of {len(groups)} groups needs more than {contrasts} cells with all of them"
        return dataclasses.replace(bare, reason=f"{needed}; there are {cells}")
    differences = (table.means[:-1, used] - table.means[-1, used]).T
    mean = differences.mean(axis=0)
    covariance = np.atleast_2d(np.cov(differences, rowvar=False))
    spread = np.linalg.eigvalsh(covariance)
    # The second bound: directions that differ by rounding alone, beside others that vary.
    if spread[0] <= max((NO_ERROR * table.scale) ** 2, NO_ERROR * spread[-1]):
        reason = "a contrast of the groups is the same in every cell: no variation to judge it by"
        return dataclasses.replace(bare, reason=reason)
    t_squared = cells * float(mean @ np.linalg.solve(covariance, mean))
    df_error = cells - contrasts
    f = df_error / ((cells - 1) * contrasts) * t_squared
    return dataclasses.replace(
        bare,
        value=f,
        statistic=f,
        df=float(contrasts),
        df_error=float(df_error),
        pvalue=float(special.fdtrc(contrasts, df_error, f)),
        reason=few_cells(cells, fewest),
    )
