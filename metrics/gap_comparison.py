"""Has the gap between groups grown from one release to the next? Differences of differences, paired by prompt cell.

Both releases are put on one scale (the standard deviation of messages within a group, pooled over both), so that a release
that merely varies less is not called worse. Where they share their cells, the change is taken within cells. What is judged
is the *size* of the gap: the test of `metrics.folding` does not mistake a gap that changes sides for one that grows or
vanishes. The family of dimensions (measures x audiences x modes) is adjusted by max-T over joint multipliers of cells.

A gap that is as large as before and on the other side is not `unchanged`: it hits other people. The reason says so.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from metrics.clustered import NO_ERROR, CellTable, cell_table, few_cells
from metrics.errors import BadInputError
from metrics.folding import FoldedPair
from metrics.gap_scores import DEBIASED
from metrics.gaps import Gap, GapDimension, Messages, basis_of, defect, gaps_of, normalized_gap, same_gap
from metrics.multiplicity import max_t_critical, max_t_qvalues
from metrics.policy import Policy
from metrics.resampling import multiplier_draws
from metrics.results import Comparison
from metrics.verdicts import judged, plain, the_same

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

METRIC = DEBIASED

_RELEASES = ("previous", "current")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GapPair:
    """One dimension in both releases: its gaps on one scale, and the folded pair of their sizes.

    ``clusters`` names every row of the gaps' influence values, and ``basis`` says what those are; ``worst`` is how much larger
    the current gap could be with the messages that did not come.
    """

    dimension: GapDimension
    previous: Gap
    current: Gap
    folded: FoldedPair
    clusters: NDArray[np.object_]
    basis: str
    note: str
    worst: float

    @property
    def change_influence(self) -> FloatArray:
        """What every cluster adds to the error of the change of size [clusters]."""
        result: FloatArray = self.current.size_influence - self.previous.size_influence
        return result

    @property
    def scores(self) -> tuple[float, float]:
        """Debiased normalized scores of both releases."""
        return normalized_gap(self.previous.debiased), normalized_gap(self.current.debiased)

    @property
    def reversed(self) -> bool:
        """Whether two groups have changed sides: both gaps are shown, with opposite signs."""
        before, after = self.previous.signed, self.current.signed
        if before is None or after is None or before * after >= 0:
            return False
        return all(
            abs(signed) > float(special.stdtrit(gap.df, 0.975)) * math.sqrt(gap.variance)
            for signed, gap in ((before, self.previous), (after, self.current))
        )


def _unmeasurable(dimension: GapDimension, reason: str, tables: Sequence[CellTable], lost: float | None) -> Comparison:
    sizes = [table.found.counts(table.found.groups) for table in tables]
    return Comparison(
        metric=METRIC,
        dimension=dimension.title,
        verdict="not measurable",
        why=reason,
        previous=lost,
        n_previous=sizes[0]["n"] if sizes else 0,
        n_current=sizes[1]["n"] if sizes else 0,
        clusters_previous=sizes[0]["clusters"] if sizes else 0,
        clusters_current=sizes[1]["clusters"] if sizes else 0,
    )


def _same(dimension: GapDimension, tables: Sequence[CellTable], gap: Gap, policy: Policy) -> Comparison:
    """The row of a dimension whose gap is the same in every prompt cell of both releases."""
    score = normalized_gap(gap.debiased)
    row = dataclasses.replace(_unmeasurable(dimension, "not judged yet", tables, score), current=score)
    return the_same(row, "in every prompt cell", few_cells(gap.cells, policy.fewest_clusters))


def _chosen(tables: Sequence[CellTable]) -> tuple[list[BoolArray], bool, str]:
    """The cells of each release that enter, whether they are paired, and what is to be said about those left out.

    Cells are paired when the releases share at least half of those of the smaller one; the others are then left out.
    """
    full = [table.shared(*table.found.groups) for table in tables]
    names = [np.array(table.found.cells, dtype=np.object_) for table in tables]
    common = set(names[0][full[0]]) & set(names[1][full[1]])
    smaller = min(int(full[0].sum()), int(full[1].sum()))
    if smaller == 0 or 2 * len(common) < smaller:
        return full, False, "the releases hardly share prompt cells: not paired"
    used = [cells & np.isin(name, list(common)) for cells, name in zip(full, names, strict=True)]
    missed = sum(len(name) for name in names) - sum(int(cells.sum()) for cells in used)
    return used, True, f"{missed} prompt cells of one release only, or without every group, left out" if missed else ""


def _shares(
    dimension: GapDimension, tables: Sequence[CellTable], asked: Sequence[Mapping[str, int] | None]
) -> tuple[float, ...]:
    """Share of the messages asked for that have a number, in each release."""
    shares = []
    for table, of in zip(tables, asked, strict=True):
        counted = table.found.counts(table.found.groups)
        wanted = (of or {}).get(dimension.mode, 0) if dimension.groups is None else 0
        total = max(wanted, counted["n"] + counted["n_excluded"])
        shares.append(counted["n"] / total if total else 0.0)
    return tuple(shares)


def _share_defect(shares: Sequence[float], policy: Policy) -> str:
    for name, share in zip(_RELEASES, shares, strict=True):
        if share < policy.mapped_floor:
            return (
                f"{name} release: {100 * share:.0f} % of the messages have a number here; "
                f"a verdict needs {100 * policy.mapped_floor:.0f} %"
            )
    if abs(shares[0] - shares[1]) > policy.coverage_gap + NO_ERROR:
        return (
            f"{100 * shares[0]:.0f} % of the messages have a number in the previous and {100 * shares[1]:.0f} % in the current "
            f"release; more than {100 * policy.coverage_gap:.0f} points apart, the messages left are not comparable"
        )
    return ""


def _alone(table: CellTable, policy: Policy) -> float | None:
    """Score of one release by itself; None when it has none that a verdict could use."""
    used = table.shared(*table.found.groups)
    if defect([table], [used]):
        return None
    gap = gaps_of([table], [used], [np.arange(used.sum(), dtype=np.int64)], basis=basis_of([used]))[0]
    return normalized_gap(gap.debiased) if gap.variance > 0 else None


def _tables(messages: Sequence[Messages], dimension: GapDimension, policy: Policy) -> list[CellTable] | Comparison:
    present = [release.labels(dimension) for release in messages]
    wanted = dimension.groups or tuple(sorted({*present[0], *present[1]}))
    absent = [[group for group in wanted if group not in labels] for labels in present]
    if len(wanted) < 2 or absent[0] or absent[1]:
        number = 0 if absent[0] or len(present[0]) < 2 else 1
        reason = f"{_RELEASES[number]} release: no message to {', '.join(absent[number]) or 'a second group'}"
        whole = number == 1 and len(wanted) > 1
        lost = _alone(cell_table(messages[0].samples(dimension, wanted)), policy) if whole else None
        return _unmeasurable(dimension, reason, (), lost)
    return [cell_table(release.samples(dimension, wanted)) for release in messages]


def _pair(
    messages: Sequence[Messages],
    dimension: GapDimension,
    policy: Policy,
    asked: Sequence[Mapping[str, int] | None],
) -> GapPair | Comparison:
    tables = _tables(messages, dimension, policy)
    if isinstance(tables, Comparison):
        return tables
    used, paired, note = _chosen(tables)
    shares = _shares(dimension, tables, asked)
    if reason := defect(tables, used) or _share_defect(shares, policy):
        gone = shares[1] < shares[0] - policy.coverage_gap or _alone(tables[1], policy) is None
        return _unmeasurable(dimension, reason, tables, _alone(tables[0], policy) if gone else None)
    basis = basis_of(used)
    if basis == "cells":
        names, places = _clusters(tables, used, paired, dimension)
        previous, current = gaps_of(tables, used, places)
    else:
        names, (previous, current), paired = *_about_these_prompts(tables, used, dimension), False
        cells = min(int(cells.sum()) for cells in used)
        note = "; ".join(filter(None, (note, f"about these {cells} prompts only, whose repeats differ so much")))
    folded = _folded(previous, current, paired)
    if paired and basis == "cells" and same_gap(previous, current, folded.errors[0]):
        return _same(dimension, tables, current, policy)
    if folded.errors[0] <= NO_ERROR or folded.errors[1] <= NO_ERROR:
        of_what = "in every prompt cell" if basis == "cells" else "in every repeat"
        reason = f"the gap is the same {of_what} of both releases: no variation to judge a change by"
        return _unmeasurable(dimension, reason, tables, None)
    return GapPair(
        dimension=dimension,
        previous=previous,
        current=current,
        folded=folded,
        clusters=names,
        basis=basis,
        note=note,
        worst=_worst(tables[1], current, shares),
    )


def _clusters(
    tables: Sequence[CellTable], used: Sequence[BoolArray], paired: bool, dimension: GapDimension
) -> tuple[NDArray[np.object_], list[NDArray[np.int64]]]:
    """Names of all clusters, shared with other dimensions of the mode, and the place of each used cell among them."""
    labels = [
        [
            f"{dimension.mode}|{'' if paired else release}|{cell}"
            for cell, use in zip(table.found.cells, cells, strict=True)
            if use
        ]
        for release, table, cells in zip(_RELEASES, tables, used, strict=True)
    ]
    names = sorted({*labels[0], *labels[1]})
    place = {name: number for number, name in enumerate(names)}
    places = [np.array([place[name] for name in of], dtype=np.int64) for of in labels]
    return np.array(names, dtype=np.object_), places


def _about_these_prompts(
    tables: Sequence[CellTable], used: Sequence[BoolArray], dimension: GapDimension
) -> tuple[NDArray[np.object_], tuple[Gap, Gap]]:
    """Both gaps with the error of their repeats, which the releases do not share."""
    places = [np.arange(int(cells.sum()), dtype=np.int64) for cells in used]
    previous, current = gaps_of(tables, used, places, basis="repeats")
    none = np.zeros_like(previous.influence)
    names = [f"{dimension.title}|{release}|{group}" for release in _RELEASES for group in previous.groups]
    return np.array(names, dtype=np.object_), (
        dataclasses.replace(previous, influence=np.vstack([previous.influence, none])),
        dataclasses.replace(current, influence=np.vstack([none, current.influence])),
    )


def _folded(previous: Gap, current: Gap, paired: bool) -> FoldedPair:
    variances = previous.variance, current.variance
    parts = [variance**2 / gap.df for variance, gap in zip(variances, (previous, current), strict=True)]
    df = previous.df if paired else sum(variances) ** 2 / max(sum(parts), 1e-300)
    return FoldedPair(
        previous=previous.size,
        current=current.size,
        variances=variances,
        covariance=previous.covariance(current),
        df=max(df, 1.0),
        pvalues_zero=(previous.pvalue, current.pvalue),
    )


def _worst(table: CellTable, gap: Gap, shares: Sequence[float]) -> float:
    """How much larger the current gap could be if the messages that did not come, all of one group, lay at an extreme."""
    values = table.found.values
    missing = max(shares[0] - shares[1], 0.0) / max(shares[1], NO_ERROR) * len(values)
    smallest = float(table.counts.sum(axis=1).min())
    return missing / (smallest + missing) * float(np.ptp(values)) / gap.deviation if missing else 0.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _FamilyTest:
    """Signed statistic of each pair with its q values, and the critical value of the largest (one-sided)."""

    statistics: FloatArray
    qvalues: FloatArray
    qvalues_up: FloatArray
    critical_up: float


def _family_test(pairs: Sequence[GapPair], policy: Policy) -> _FamilyTest:
    names = sorted({name for pair in pairs for name in pair.clusters})
    place = {name: number for number, name in enumerate(names)}
    influences = np.zeros((len(names), len(pairs)))
    for column, pair in enumerate(pairs):
        influences[[place[name] for name in pair.clusters], column] = pair.change_influence
    spread = np.sqrt(np.square(influences).sum(axis=0))
    drawn = multiplier_draws(np.random.default_rng([policy.seed, 5]), [influences], policy.multipliers)
    drawn /= np.maximum(spread, 1e-300)
    statistics = np.array([pair.folded.statistic for pair in pairs])
    up = -special.ndtri(np.clip([pair.folded.pvalue_up for pair in pairs], 1e-300, 1 - 1e-16))
    return _FamilyTest(
        statistics=statistics,
        qvalues=max_t_qvalues(statistics, drawn, two_sided=True),
        qvalues_up=max_t_qvalues(up, drawn, two_sided=False),
        critical_up=max_t_critical(drawn, policy.alpha, two_sided=False),
    )


def _words(pair: GapPair) -> str:
    """The change in the measure's own units, with its direction."""
    groups = pair.previous.groups
    if len(groups) == 2:
        raw = [float(gap.raw[0] - gap.raw[1]) for gap in (pair.previous, pair.current)]
        words = f"{groups[0]} minus {groups[1]}: {plain(raw[0], signed=True)} to {plain(raw[1], signed=True)}"
        if pair.reversed:
            higher = [groups[0] if value > 0 else groups[1] for value in raw]
            words += f"; DIRECTION REVERSED: higher for {higher[0]} before, for {higher[1]} now"
        return words
    ends = [
        f"{groups[int(gap.raw.argmin())]} ({plain(gap.raw.min())}) to {groups[int(gap.raw.argmax())]} ({plain(gap.raw.max())})"
        for gap in (pair.previous, pair.current)
    ]
    return f"lowest to highest group: {ends[0]} before, {ends[1]} now"


def _row(pair: GapPair, place: int, test: _FamilyTest, policy: Policy) -> Comparison:
    previous, current = pair.scores
    delta = current - previous
    low, high = pair.folded.bounds(0.95, normalized_gap)
    margin_low, margin_high = pair.folded.bounds(0.90, normalized_gap)
    critical = float(special.stdtrit(pair.folded.df, special.ndtr(test.critical_up)))
    reachable = dataclasses.replace(pair.folded, previous=pair.previous.debiased).detectable(critical)
    row = Comparison(
        metric=METRIC,
        dimension=pair.dimension.title,
        verdict="inconclusive",
        why="not judged yet",
        previous=previous,
        current=current,
        delta=delta,
        low=min(low, delta),
        high=max(high, delta),
        margin_low=min(margin_low, delta),
        margin_high=max(margin_high, delta),
        statistic=float(test.statistics[place]),
        pvalue=pair.folded.pvalue,
        qvalue=float(test.qvalues[place]),
        pvalue_up=pair.folded.pvalue_up,
        qvalue_up=float(test.qvalues_up[place]),
        smallest_change=max(normalized_gap(reachable) - previous, 0.0),
        n_previous=pair.previous.n,
        n_current=pair.current.n,
        clusters_previous=pair.previous.cells,
        clusters_current=pair.current.cells,
    )
    note = "; ".join(filter(None, (_words(pair), pair.note)))
    row = judged(row, dataclasses.replace(policy, fewest_clusters=0), note=note)
    if limit := _limit(pair, policy):
        return dataclasses.replace(row, verdict="inconclusive", why=f"{limit}; {row.why}")
    return _guarded(row, pair, policy)


def _limit(pair: GapPair, policy: Policy) -> str:
    """Why this much gives no verdict, whatever the numbers; empty when it does."""
    if pair.basis == "cells":
        return few_cells(min(pair.previous.cells, pair.current.cells), policy.fewest_clusters)
    messages = min(pair.previous.n, pair.current.n)
    if messages >= policy.fewest_clusters:
        return ""
    return f"a verdict needs {policy.fewest_clusters} messages in each release; there are {messages} in one of them"


def _guarded(row: Comparison, pair: GapPair, policy: Policy) -> Comparison:
    """What looks unchanged but has changed sides, or improved but for messages that did not come, is not called so."""
    if row.verdict == "unchanged" and pair.reversed:
        why = f"as large as before, but not the same: {row.why}"
        return dataclasses.replace(row, verdict="inconclusive", why=why)
    if row.verdict == "improved" and pair.worst > 0:
        worst = normalized_gap(pair.current.debiased + pair.worst)
        if worst - pair.scores[0] > -policy.smallest_change:
            why = f"the messages that did not come could undo it (score up to {worst:.3f}): {row.why}"
            return dataclasses.replace(row, verdict="inconclusive", why=why)
    return row


def compare_gaps(
    previous: pd.DataFrame,
    current: pd.DataFrame,
    dimensions: Sequence[GapDimension],
    *,
    policy: Policy | None = None,
    asked: Sequence[Mapping[str, int] | None] = (None, None),
) -> list[Comparison]:
    """One row per dimension, in order: how the size of a gap changed from the previous release to the current one.

    Parameters
    ----------
    previous, current : message frames of two audits that asked the same (equal collection key and scoring version), one row
        per message with a missing measure where there is no number; the sizes may differ
    dimensions : the family of tests
    policy : how the change is judged; default `Policy()`. ``fewest_clusters`` is the number of prompt cells that a verdict
        needs; below `metrics.clustered.FEWEST_CELLS` cells a verdict is about these very prompts, and it is the number of
        messages. ``mapped_floor`` and ``coverage_gap`` are about messages with a number; ``standard_error`` has no meaning here
    asked : messages that each release was asked for, by mode; those that never came then count as without a number

    Returns
    -------
    Rows of metric ``normalized-gap-debiased``; above 0 the gap has grown. ``n`` are messages and ``clusters`` prompt cells.
    The interval is for the change of the true sizes (range over the ellipse of plausible pairs); for two groups it excludes 0
    exactly when the two-sided p is below .05. A dimension that cannot be measured in both releases is `not measurable` with
    the reason and is not part of the family.
    """
    policy = policy or Policy()
    if len({dimension.title for dimension in dimensions}) < len(dimensions):
        raise BadInputError("gap dimensions need different titles; two of those given have the same")
    messages = Messages(previous), Messages(current)
    found = [_pair(messages, dimension, policy, asked) for dimension in dimensions]
    pairs = [item for item in found if isinstance(item, GapPair)]
    if not pairs:
        return [item for item in found if isinstance(item, Comparison)]
    test = _family_test(pairs, policy)
    measured = iter([_row(pair, place, test, policy) for place, pair in enumerate(pairs)])
    return [item if isinstance(item, Comparison) else next(measured) for item in found]
