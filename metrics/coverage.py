"""What the answers that did not come allow to say: whether a comparison is withheld, and worst-case bounds.

A model that refuses half of what it is asked has not become fairer by it: who is missing is unknown. So coverage is
looked at before any score, in all and within each group that was asked about, and a score stands beside the most extreme
scores that the missing records could have made of it.

References
----------
C. F. Manski (1989), "Anatomy of the Selection Problem", Journal of Human Resources 24(3), 343-360: bounds without any
assumption on what is missing.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from metrics.contingency import Association, phi_squared, score_of
from metrics.results import Comparison, Score
from metrics.tables import ClusteredTable
from metrics.verdicts import Policy

FloatArray = NDArray[np.float64]

WORST_CASE_LOW = "worst-case-low"
WORST_CASE_HIGH = "worst-case-high"

_STEPS = 64
_ANSWERED = 1e-12


class AnswerChannels(Protocol):
    """What `coverage_withheld` needs to know of an audit's answers."""

    @property
    def coverage(self) -> float | None:
        """Usable share of the records asked for; None when nothing was asked for."""

    @property
    def mixed_release(self) -> bool:
        """Whether more than one served model answered."""

    @property
    def group_coverage(self) -> Mapping[str, float]:
        """Usable share of the records asked for, by group that the requests were about; empty without groups."""

    @property
    def group_sizes(self) -> Mapping[str, int]:
        """Records asked for, by the same groups; empty when that is not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class AnswerCoverage:
    """Plain numbers for `coverage_withheld`."""

    coverage: float | None
    mixed_release: bool = False
    group_coverage: Mapping[str, float] = dataclasses.field(default_factory=dict)
    group_sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)


def coverage_withheld(previous: AnswerChannels, current: AnswerChannels, policy: Policy) -> str | None:
    """Why the answers of two audits allow no verdict at all; None when they do.

    More than one served model; usable records below the policy's floor; shares that differ between the releases by
    more than its gap: in all, or in one of the groups that the requests were about, and there by more than chance (two
    proportions, alpha shared among the groups), for a group may be small.

    >>> coverage_withheld(AnswerCoverage(0.98), AnswerCoverage(0.41), Policy())
    'the current release gave usable records for 41 % of those asked for; a verdict needs 50 %'
    """
    shares = []
    for side, channels in (("previous", previous), ("current", current)):
        if channels.mixed_release:
            return (
                f"mixed release: more than one served model answered in the audit of the {side} release; "
                f"the numbers are of neither"
            )
        if channels.coverage is None:
            return f"the audit of the {side} release has no record at all"
        if channels.coverage < policy.coverage_floor:
            return (
                f"the {side} release gave usable records for {channels.coverage:.0%} of those asked for; "
                f"a verdict needs {policy.coverage_floor:.0%}"
            ).replace("%", " %")
        shares.append(channels.coverage)
    if abs(shares[1] - shares[0]) > policy.coverage_gap + _ANSWERED:
        return _apart("", shares[0], shares[1], policy)
    return _withheld_by_group(previous, current, policy)


def _withheld_by_group(previous: AnswerChannels, current: AnswerChannels, policy: Policy) -> str | None:
    one, other = previous.group_coverage, current.group_coverage
    groups = sorted(set(one) & set(other))
    for group in groups:
        shares = one[group], other[group]
        for side, share in zip(("previous", "current"), shares, strict=True):
            if share < policy.coverage_floor:
                return (
                    f"for {group} the {side} release gave usable records for {share:.0%} of those asked for; "
                    f"a verdict needs {policy.coverage_floor:.0%}"
                ).replace("%", " %")
        sizes = previous.group_sizes.get(group, 0), current.group_sizes.get(group, 0)
        apart = abs(shares[1] - shares[0]) > policy.coverage_gap + _ANSWERED
        if apart and _beyond_chance(shares, sizes, policy.alpha / len(groups)):
            return _apart(f"for {group} ", *shares, policy)
    return None


def _beyond_chance(shares: tuple[float, float], sizes: tuple[int, int], alpha: float) -> bool:
    """Whether two shares differ by more than chance, as far as can be told: where a size is unknown they do.

    >>> [_beyond_chance((0.94, 0.79), (n, n), 0.01) for n in (0, 60, 120)]
    [True, False, True]
    """
    if 0 in sizes:
        return True
    pooled = (shares[0] * sizes[0] + shares[1] * sizes[1]) / sum(sizes)
    error = math.sqrt(pooled * (1 - pooled) * (1 / sizes[0] + 1 / sizes[1]))
    return error == 0 or math.erfc(abs(shares[1] - shares[0]) / error / math.sqrt(2)) <= alpha


def _apart(whom: str, previous: float, current: float, policy: Policy) -> str:
    return (
        f"{whom}usable records are {previous:.0%} of those asked for in the previous and {current:.0%} in the current "
        f"release; more than {policy.coverage_gap * 100:.0f} points apart, the answers left are not comparable"
    ).replace("%", " %")


def _with_more(counts: FloatArray, records: float) -> FloatArray:
    """Phi squared + 1 of the table with ``records`` more in one cell, for each cell [rows, columns].

    Only the row and the column of that cell change, so all cells cost what one table costs.
    """
    by_row = np.maximum(counts.sum(axis=1, keepdims=True), _ANSWERED)
    by_column = np.maximum(counts.sum(axis=0, keepdims=True), _ANSWERED)
    by_column_share = np.square(counts) / by_column
    by_row_share = np.square(counts) / by_row
    both = by_column_share / by_row
    in_row, in_column = by_column_share.sum(axis=1, keepdims=True), by_row_share.sum(axis=0, keepdims=True)
    untouched = both.sum() - in_row / by_row - in_column / by_column + both
    row_now, column_now = by_row + records, by_column + records
    touched = (in_row - by_column_share) / row_now + (in_column - by_row_share) / column_now
    result: FloatArray = untouched + touched + np.square(counts + records) / (row_now * column_now)
    return result


def worst_case_v_squared(table: ClusteredTable, missing: int, df_star: int | None = None) -> tuple[float, float]:
    """Lowest and highest V squared that ``missing`` more records could have made of the table.

    The records are placed in 64 portions, each where it lowers (raises) phi squared the most, in the categories that
    were seen. Each end is reached by a placement that was found, so the truth may lie further out, never nearer.
    """
    table.require_measurable()
    seen = table.counts
    seen = seen[seen.sum(axis=1) > 0][:, seen.sum(axis=0) > 0]
    df = min(seen.shape) - 1 if df_star is None else df_star
    ends = []
    for sign in (1.0, -1.0):
        counts = seen.copy()
        portion = missing / _STEPS
        for _ in range(_STEPS if missing else 0):
            place = int(np.argmin(sign * _with_more(counts, portion)))
            counts.flat[place] += portion
        found = phi_squared(counts) / df
        ends.append(found)
    plain = phi_squared(seen) / df
    return min(ends[0], plain), min(max(ends[1], plain), 1.0)


def unless_missing_undo_it(
    row: Comparison, current: ClusteredTable, estimates: Association, missing: int, policy: Policy
) -> Comparison:
    """The row, or `inconclusive` in place of `improved` when the records that did not come could undo it.

    ``missing`` are records of the current release beyond the share that the previous one misses. They are placed at
    worst, the bias of the table is taken off as in the estimate, and the improvement must still reach what matters.
    """
    if row.verdict != "improved" or not missing or row.previous is None:
        return row
    _, highest = worst_case_v_squared(current, missing, estimates.df_star)
    score = float(score_of(np.asarray(highest - estimates.bias), estimates.df_star))
    if row.previous - score >= policy.smallest_change:
        return row
    why = (
        f"looks improved ({row.previous:.3f} to {row.current:.3f}), but {missing:,} more records cannot be counted than in "
        f"the previous release, and placed at worst they would undo it ({score:.3f})"
    )
    return dataclasses.replace(row, verdict="inconclusive", why=why)


def worst_case_scores(tables: Mapping[str, ClusteredTable], expected: int | None, usable: int) -> list[Score]:
    """Rows ``worst-case-low`` and ``worst-case-high`` of each dimension: what the missing records could have made.

    Parameters
    ----------
    tables : by dimension, the counted table
    expected : records asked for; None when unknown, and then the bounds are missing and say so
    usable : records that came and can be used

    The bounds are normalized scores of plain V. They need no assumption on who is missing and are wide for that
    reason: with a tenth missing, most scores can be anything from low to very high.
    """
    rows = []
    for dimension, table in tables.items():
        reason = ""
        bounds: tuple[float | None, float | None] = (None, None)
        if expected is None:
            reason = "how many records were asked for is not known, so nobody can say how many are missing"
        elif defect := table.defect():
            reason = defect
        else:
            missing = max(expected - usable, 0)
            low, high = worst_case_v_squared(table, missing)
            bounds = (_scored(low, table), _scored(high, table))
        method = "" if reason else f"{max((expected or 0) - usable, 0):,} missing records placed at worst; no interval"
        rows += [
            Score(
                metric=metric,
                dimension=dimension,
                value=value,
                n=table.n,
                n_clusters=table.n_clusters,
                n_excluded=table.n_excluded,
                method=method,
                reason=reason,
            )
            for metric, value in zip((WORST_CASE_LOW, WORST_CASE_HIGH), bounds, strict=True)
        ]
    return rows


def _scored(v_squared: float, table: ClusteredTable) -> float:
    return float(score_of(np.asarray(v_squared), table.df_star))


def worst_case_in_words(sides: Sequence[tuple[str, Sequence[Score], int]]) -> str:
    """One sentence on what missing records could have made of two audits, for a comparison that is withheld.

    ``sides`` : name of the release, its rows of `worst_case_scores`, and how many records did not come. Empty when none
    is missing or known.
    """
    parts = []
    for side, scores, missing in sides:
        if not missing:
            continue
        ends = []
        for metric in (WORST_CASE_LOW, WORST_CASE_HIGH):
            values = [score.value for score in scores if score.metric == metric and score.value is not None]
            ends.append(math.fsum(values) / len(values) if values else None)
        if ends[0] is not None and ends[1] is not None:
            parts.append(f"from {ends[0]:.2f} to {ends[1]:.2f} in the {side} release ({missing:,} missing)")
        else:
            parts.append(f"anything in the {side} release ({missing:,} missing)")
    if not parts:
        return ""
    return f"had the missing records come, the mean plain score could be {' and '.join(parts)}"
