"""Has the association of a bias dimension changed from one release to the next?

The statistic is the difference of jackknifed V squared over its standard error from requests; the family of dimensions
is adjusted by max-T over joint Gaussian multipliers; sizes and intervals are on the scale of the normalized score.

Two guards keep rare categories from raising alarms. Both releases share one vocabulary, in which categories with fewer
than 10 pooled records are merged into `other`, with df* of the pooled table. And the standard error is taken at the
pooled table as well, and the larger one used: five records of a category that happen to be all of one gender say
"no variance" about themselves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from metrics.contingency import Association, association, influence_of_v_squared, score_of, variance_of
from metrics.coverage import unless_missing_undo_it
from metrics.multiplicity import max_t_critical, max_t_qvalues
from metrics.resampling import around, interval_error, multiplier_draws, resampled_v_squared
from metrics.results import Comparison
from metrics.tables import BiasDimension, ClusteredTable, dimension_table, usable_records, with_categories
from metrics.verdicts import (
    METRIC,
    DecidingSize,
    Policy,
    detectable_v_squared,
    judged,
    not_measurable,
    release_verdict,
    size_that_would_decide,
    withheld,
)
from metrics.vocabulary import shared_vocabulary

__all__ = [
    "METRIC",
    "DecidingSize",
    "Policy",
    "compare_associations",
    "release_verdict",
    "size_that_would_decide",
    "withheld",
]

FloatArray = NDArray[np.float64]

# A standard error of V squared below this is rounding noise.
_NO_ERROR = 1e-9


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pair:
    """One dimension in both releases, in one vocabulary and on one scale.

    ``missing`` : records of the current release that did not come or have no category, beyond the previous one's share
    """

    dimension: BiasDimension
    previous: ClusteredTable
    current: ClusteredTable
    merged: tuple[str, ...]
    left_out: int
    df_star: int
    of_previous: Association
    of_current: Association
    influences: tuple[FloatArray, FloatArray]
    standard_error: float
    missing: int

    @property
    def jackknifes(self) -> tuple[float, float]:
        return self.of_previous.v_squared_jackknife or 0.0, self.of_current.v_squared_jackknife or 0.0

    @property
    def guard(self) -> float:
        """How many times larger the guarded variance of the change is than the jackknife's; at least 1."""
        own = (self.of_previous.jackknife_variance or 0.0) + (self.of_current.jackknife_variance or 0.0)
        return max(1.0, self.standard_error**2 / own) if own > _NO_ERROR**2 else 1.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Side:
    """One release of a comparison: its frame, how many of its records are usable, and how many were asked for."""

    name: str
    frame: pd.DataFrame
    usable: int
    asked: int

    def share(self, table: ClusteredTable, dimension: BiasDimension) -> float:
        """Share of the records asked for that could be counted; whether a name is listed does not matter here."""
        counted = int(self.frame[dimension.column].notna().sum()) if dimension.by_name else table.n
        return min(counted / self.asked, 1.0) if self.asked else 0.0

    def defect(self, table: ClusteredTable, counted: int, dimension: BiasDimension, policy: Policy) -> str:
        """Why this side of a dimension cannot be measured; empty when it can. ``counted``: records before merging."""
        if defect := table.defect():
            return f"{self.name} release: {defect}"
        if table.n_clusters < 2:
            return f"{self.name} release: all records are from one request, so that nothing says how much requests vary"
        share = counted / self.usable if self.usable else 0.0
        if not dimension.by_name and share < policy.mapped_floor:
            return (
                f"{self.name} release: {100 * share:.0f} % of the usable records have a category on both sides; "
                f"a verdict needs {100 * policy.mapped_floor:.0f} %"
            )
        return ""


def _side(name: str, frame: pd.DataFrame, asked: int | None) -> _Side:
    usable = int(usable_records(frame).sum())
    return _Side(name=name, frame=frame, usable=usable, asked=max(asked or 0, usable))


def _pair(
    sides: Sequence[_Side], dimension: BiasDimension, names: Sequence[str] | None, policy: Policy
) -> _Pair | Comparison:
    if dimension.by_name and not names:
        return not_measurable(dimension.title, "no list of names was given, and names are counted from a list only")
    counted = [dimension_table(side.frame, dimension, names) for side in sides]
    shared = shared_vocabulary(counted[0], counted[1], policy.merge_below)
    tables = [table.relabelled(shared.rows, shared.columns) for table in counted]
    numbers = _sizes(tables[0], tables[1])
    for side, table, before in zip(sides, tables, counted, strict=True):
        if defect := side.defect(table, before.n, dimension, policy):
            lost = _alone(tables[0]) if side is sides[1] else None
            return not_measurable(dimension.title, defect, merged=shared.merged, previous=lost, **numbers)
    shares = [side.share(table, dimension) for side, table in zip(sides, counted, strict=True)]
    if abs(shares[0] - shares[1]) > policy.coverage_gap + _NO_ERROR:
        reason = (
            f"{100 * shares[0]:.0f} % of the records asked for can be counted here in the previous and {100 * shares[1]:.0f} % "
            f"in the current release; more than {100 * policy.coverage_gap:.0f} points apart, the answers left are not comparable"
        )
        lost = _alone(tables[0]) if shares[1] < shares[0] else None
        return not_measurable(dimension.title, reason, merged=shared.merged, previous=lost, **numbers)
    pooled = tables[0].counts + tables[1].counts
    df_star = int(min((pooled.sum(axis=1) > 0).sum(), (pooled.sum(axis=0) > 0).sum())) - 1
    estimates = [association(table, df_star) for table in tables]
    influences, error = _influences(tables, estimates, pooled if policy.standard_error == "guarded" else None)
    if error < _NO_ERROR:
        reason = "every request of both releases shows the same association: no variation to judge a change by"
        return not_measurable(dimension.title, reason, merged=shared.merged, **numbers)
    return _Pair(
        dimension=dimension,
        previous=tables[0],
        current=tables[1],
        merged=shared.merged,
        left_out=sum(before.n - table.n for before, table in zip(counted, tables, strict=True)),
        df_star=df_star,
        of_previous=estimates[0],
        of_current=estimates[1],
        influences=influences,
        standard_error=error,
        missing=round(
            max(shares[0] - shares[1], 0.0) * sides[1].asked * _listed_share(sides[1], counted[1], dimension)
        ),
    )


def _alone(previous: ClusteredTable) -> float:
    """Score of a previous release that the current one cannot be measured against."""
    found = association(previous)
    return float(score_of(np.asarray(found.v_squared_jackknife or found.v_squared), found.df_star))


def _listed_share(side: _Side, table: ClusteredTable, dimension: BiasDimension) -> float:
    """Share of the countable records that this dimension counts: 1, but for names those with a listed name."""
    countable = int(side.frame[dimension.column].notna().sum()) if dimension.by_name else table.n
    return table.n / countable if countable else 0.0


def _influences(
    tables: Sequence[ClusteredTable], estimates: Sequence[Association], pooled: FloatArray | None
) -> tuple[tuple[FloatArray, FloatArray], float]:
    """Influence values of both releases, at their own tables or the pooled one, whichever gives the larger error."""
    choices = [(estimates[0].influence, estimates[1].influence)]
    if pooled is not None:
        df = estimates[0].df_star
        choices.append((influence_of_v_squared(tables[0], df, pooled), influence_of_v_squared(tables[1], df, pooled)))
    clusters = tables[0].n_clusters, tables[1].n_clusters
    variances = [sum(map(variance_of, choice, clusters)) for choice in choices]
    chosen = int(np.argmax(variances))
    return choices[chosen], float(np.sqrt(variances[chosen]))


def _sizes(previous: ClusteredTable, current: ClusteredTable) -> dict[str, Any]:
    return {
        "n_previous": previous.n,
        "n_current": current.n,
        "clusters_previous": previous.n_clusters,
        "clusters_current": current.n_clusters,
    }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _FamilyTest:
    """z of each pair with p values, q values and the critical value of the largest z (one-sided)."""

    statistics: FloatArray
    pvalues: FloatArray
    pvalues_up: FloatArray
    qvalues: FloatArray
    qvalues_up: FloatArray
    critical_up: float


def _family_test(pairs: Sequence[_Pair], policy: Policy) -> _FamilyTest:
    errors = np.array([pair.standard_error for pair in pairs])
    change = np.array([pair.jackknifes[1] - pair.jackknifes[0] for pair in pairs])
    influences = [
        np.stack([pair.influences[0] for pair in pairs], axis=1),
        np.stack([pair.influences[1] for pair in pairs], axis=1),
    ]
    rng = np.random.default_rng([policy.seed, 2])
    draws = multiplier_draws(rng, influences, policy.multipliers) / errors
    z = change / errors
    return _FamilyTest(
        statistics=z,
        pvalues=2.0 * special.ndtr(-np.abs(z)),
        pvalues_up=special.ndtr(-z),
        qvalues=max_t_qvalues(z, draws, two_sided=True),
        qvalues_up=max_t_qvalues(z, draws, two_sided=False),
        critical_up=max_t_critical(draws, policy.alpha, two_sided=False),
    )


def _resampled_changes(pairs: Sequence[_Pair], policy: Policy) -> FloatArray:
    """Change of the score in each resample of both releases, shape [pairs, resamples].

    V squared of a resample has the noise of the table twice, so the draws get the place of the jackknifed estimate and
    the spread of its error: by the jackknife, or the error of the test where that is larger.
    """
    scores = []
    df_stars = [pair.df_star for pair in pairs]
    for stream, tables, estimates in (
        (0, [pair.previous for pair in pairs], [pair.of_previous for pair in pairs]),
        (1, [pair.current for pair in pairs], [pair.of_current for pair in pairs]),
    ):
        squares = resampled_v_squared(tables, df_stars, np.random.default_rng([policy.seed, stream]), policy.resamples)
        drawn = []
        for pair, table, of, square in zip(pairs, tables, estimates, squares, strict=True):
            error = interval_error((of.jackknife_variance or 0.0) * pair.guard, table.n_clusters)
            drawn.append(score_of(around(square, max(of.v_squared_jackknife or 0.0, 0.0), error), pair.df_star))
        scores.append(np.stack(drawn))
    changes: FloatArray = scores[1] - scores[0]
    return changes


def _row(pair: _Pair, place: int, test: _FamilyTest, changes: FloatArray, policy: Policy) -> Comparison:
    before, after = pair.jackknifes
    reach = detectable_v_squared(before, pair.standard_error, test.critical_up)
    previous, current, reached = (float(score) for score in score_of(np.array([before, after, reach]), pair.df_star))
    delta = current - previous
    low, margin_low, margin_high, high = (float(bound) for bound in np.quantile(changes, (0.025, 0.05, 0.95, 0.975)))
    left_out = f"{pair.left_out} records of rare categories were left out" if pair.left_out else ""
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
        pvalue=float(test.pvalues[place]),
        qvalue=float(test.qvalues[place]),
        pvalue_up=float(test.pvalues_up[place]),
        qvalue_up=float(test.qvalues_up[place]),
        smallest_change=reached - previous,
        merged=pair.merged,
        **_sizes(pair.previous, pair.current),
    )
    worth = pair.previous.effective_clusters, pair.current.effective_clusters
    row = judged(row, policy, by_name=pair.dimension.by_name, worth=worth, note=left_out)
    return unless_missing_undo_it(row, pair.current, pair.of_current, pair.missing, policy)


def compare_associations(
    previous: pd.DataFrame,
    current: pd.DataFrame,
    dimensions: Sequence[BiasDimension],
    *,
    names: Sequence[str] | None = None,
    policy: Policy | None = None,
    asked: tuple[int | None, int | None] = (None, None),
) -> list[Comparison]:
    """One row per dimension, in order: how the score changed from the previous release to the current one.

    Parameters
    ----------
    previous, current : persona frames of two audits that asked the same (equal collection key and scoring version);
        the sizes may differ
    dimensions : bias dimensions, which form the family of tests
    names : names that the name dimensions count, the same for both releases
    policy : how the change is judged; default `Policy()`
    asked : records that each release was asked for; None when unknown, and then those that are there. A dimension whose
        share of countable records differs by more than the policy's gap is not measurable, and what looks improved is
        not called so when the records that did not come could undo it

    Returns
    -------
    Rows of metric ``normalized-cramers-v-debiased``. A dimension that cannot be measured in both releases has the
    verdict `not measurable`, no numbers and the reason, and is not part of the family.
    """
    policy = policy or Policy()
    sides = tuple(
        _side(name, with_categories(frame, dimensions), of)
        for name, frame, of in (("previous", previous, asked[0]), ("current", current, asked[1]))
    )
    found = [_pair(sides, dimension, names, policy) for dimension in dimensions]
    pairs = [item for item in found if isinstance(item, _Pair)]
    if not pairs:
        return [item for item in found if isinstance(item, Comparison)]
    test, changes = _family_test(pairs, policy), _resampled_changes(pairs, policy)
    measured = iter([_row(pair, i, test, changes[i], policy) for i, pair in enumerate(pairs)])
    return [item if isinstance(item, Comparison) else next(measured) for item in found]
