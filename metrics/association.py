"""Scores of association for every bias dimension of an audit, with intervals from one joint response bootstrap.

`association_scores` turns a persona frame into rows: V, its corrections, the three normalized scores, what chance
alone would score, means over dimensions and counts of severity levels. The estimators are in `metrics.contingency`,
the tables in `metrics.tables`; both are offered here as well.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.contingency import (
    Association,
    IndependenceTest,
    association,
    bergsma_v,
    bergsma_v_squared,
    cramers_v,
    independence_design_effect,
    independence_test,
    influence_of_v_squared,
    jackknife_v_squared,
    noise_floor,
    score_of,
)
from metrics.errors import BadInputError
from metrics.resampling import around, interval_error, resampled_v_squared
from metrics.results import Score
from metrics.severity import LEVELS, paper_score, severity, severity_indices
from metrics.tables import (
    BiasDimension,
    ClusteredTable,
    DegenerateTableError,
    cluster_column,
    clustered_table,
    dimension_table,
    usable_records,
    with_categories,
)

__all__ = [
    "Association",
    "BiasDimension",
    "ClusteredTable",
    "DegenerateTableError",
    "IndependenceTest",
    "association",
    "association_scores",
    "bergsma_v",
    "clustered_table",
    "cramers_v",
    "independence_design_effect",
    "independence_test",
    "influence_of_v_squared",
    "jackknife_v_squared",
    "noise_floor",
]

FloatArray = NDArray[np.float64]

PAPER = "normalized-cramers-v-paper"
PLAIN = "normalized-cramers-v"
DEBIASED = "normalized-cramers-v-debiased"
NORMALIZED = (PAPER, PLAIN, DEBIASED)
"""The three normalized scores, which also have means over dimensions."""

OVERALL = "overall"
_ONE_REQUEST = "all records are from one request: neither a correction nor an interval can be made"
_UNMARKED = "the frame does not mark duplicates (no column 'duplicate'), which paper mode removes first"
_NO_VARIANCE = "every request shows the same association: there is no variance to compare"
_QUANTILES = (0.025, 0.975)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Measured:
    """One measurable table with its estimates and its resampled V squared [resamples], None from one request."""

    table: ClusteredTable
    estimates: Association
    resamples: FloatArray | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Dimension:
    """What one bias dimension gave: measured as answered and without duplicates, or the reasons why not."""

    dimension: BiasDimension
    counted: ClusteredTable
    answered: _Measured | str
    unique: _Measured | str


def bounds(resamples: FloatArray | None, value: float) -> tuple[float | None, float | None]:
    """95 % percentile bounds of resampled values; widened to hold ``value`` when they narrowly miss it."""
    if resamples is None or not resamples.size:
        return None, None
    low, high = np.quantile(resamples, _QUANTILES)
    return min(float(low), value), max(float(high), value)


def _centred(measured: _Measured, *, debiased: bool) -> FloatArray | None:
    """Resampled V squared around the plain estimate, or around the jackknifed one.

    A table of finite size overstates V squared, and a resample of it does so once more. The shape is kept; place and
    spread are replaced by what they should be: the estimate and its error by the jackknife.
    """
    estimates = measured.estimates
    if measured.resamples is None or estimates.v_squared_jackknife is None or estimates.jackknife_variance is None:
        return None
    error = interval_error(estimates.jackknife_variance, measured.table.n_clusters)
    # A negative estimate is shown as 0, and its interval is then one around 0: how much there may be all the same.
    middle = max(estimates.v_squared_jackknife, 0.0) if debiased else estimates.v_squared
    return around(measured.resamples, middle, error)


def _mapped(values: FloatArray | None, mapping: Callable[[FloatArray], FloatArray]) -> FloatArray | None:
    return None if values is None else mapping(values)


def _measure(tables: Sequence[ClusteredTable | str], rng: np.random.Generator, resamples: int) -> list[_Measured | str]:
    """Estimates of all tables, with one bootstrap for all that have at least two requests."""
    defects = [table if isinstance(table, str) else table.defect() or table.sparseness() for table in tables]
    sound = [table for table, defect in zip(tables, defects, strict=True) if not isinstance(table, str) and not defect]
    estimates = [association(table) for table in sound]
    drawn = [i for i, estimate in enumerate(estimates) if estimate.v_squared_jackknife is not None]
    squares = resampled_v_squared([sound[i] for i in drawn], [estimates[i].df_star for i in drawn], rng, resamples)
    by_place = dict(zip(drawn, squares, strict=True))
    measured = iter(
        _Measured(table=table, estimates=estimate, resamples=by_place.get(i))
        for i, (table, estimate) in enumerate(zip(sound, estimates, strict=True))
    )
    return [defect or next(measured) for defect in defects]


def _dimensions(
    frame: pd.DataFrame, dimensions: Sequence[BiasDimension], names: Sequence[str] | None, seed: int, resamples: int
) -> list[_Dimension]:
    counted = [dimension_table(frame, dimension, names) for dimension in dimensions]
    answered: list[ClusteredTable | str] = list(counted)
    unique: list[ClusteredTable | str] = [_UNMARKED for _ in dimensions]
    if "duplicate" in frame.columns:
        first = ~frame["duplicate"].fillna(False).to_numpy(dtype=np.bool_)
        unique = [dimension_table(frame, dimension, names, keep=first) for dimension in dimensions]
    for place, dimension in enumerate(dimensions):
        if dimension.by_name and not names:
            answered[place] = unique[place] = "no list of names was given, and names are counted from a list only"
    both = _measure([*answered, *unique], np.random.default_rng(seed), resamples)
    return [
        _Dimension(dimension=dimension, counted=table, answered=answered, unique=without)
        for dimension, table, answered, without in zip(
            dimensions, counted, both[: len(counted)], both[len(counted) :], strict=True
        )
    ]


def _row(
    metric: str,
    dimension: BiasDimension,
    table: ClusteredTable,
    value: float | None,
    resamples: FloatArray | None,
    method: str,
    test: IndependenceTest | None = None,
) -> Score:
    low, high = (None, None) if value is None else bounds(resamples, value)
    return Score(
        metric=metric,
        dimension=dimension.title,
        value=value,
        low=low,
        high=high,
        method=method,
        n=table.n,
        n_clusters=table.n_clusters,
        n_excluded=table.n_excluded,
        statistic=None if test is None else test.statistic,
        df=None if test is None else float(test.df),
        pvalue=None if test is None else test.pvalue,
        severity=severity(value) if metric in NORMALIZED else None,
        reason="" if value is not None and low is not None else _ONE_REQUEST,
    )


def _sqrt(v_squared: FloatArray) -> FloatArray:
    result: FloatArray = np.sqrt(np.clip(v_squared, 0.0, 1.0))
    return result


def _scores_as_answered(dimension: BiasDimension, measured: _Measured, interval: str) -> list[Score]:
    table, estimates = measured.table, measured.estimates
    plain, true = _centred(measured, debiased=False), _centred(measured, debiased=True)
    df, jackknife = estimates.df_star, estimates.v_squared_jackknife
    test = independence_test(table)
    corrected = _mapped(plain, lambda square: np.sqrt(bergsma_v_squared(np.clip(square, 0, 1), table.shape, table.n)))

    def mapped(values: FloatArray | None) -> FloatArray | None:
        return _mapped(values, lambda square: score_of(square, df))

    def row(metric: str, value: float | None, resamples: FloatArray | None, method: str) -> Score:
        return _row(metric, dimension, table, value, resamples, method, test if metric == PLAIN else None)

    debiased = None if jackknife is None else float(score_of(np.asarray(jackknife), df))
    tested = "" if test is None else f"; chi-squared test with Rao-Scott design effect {test.design_effect:.2f}"
    floor, effect = noise_floor(table), estimates.design_effect
    rows = [
        row("cramers-v", cramers_v(table), _mapped(plain, _sqrt), interval),
        row("cramers-v-bergsma", bergsma_v(table), corrected, interval),
        row(
            PLAIN,
            float(score_of(np.asarray(estimates.v_squared), df)),
            mapped(plain),
            f"{interval}; df* = {df}{tested}",
        ),
        row(DEBIASED, debiased, mapped(true), f"jackknife over requests; {interval}; df* = {df}"),
        row("noise-floor", floor, None, "score expected without any association at this size; no interval"),
        row("design-effect", effect, None, "variance of V squared over that of independent records; no interval"),
    ]
    return [_without_interval(score) if score.metric in ("noise-floor", "design-effect") else score for score in rows]


def _without_interval(score: Score) -> Score:
    """These have no interval by nature: the method says so, and a reason is needed for a missing value only."""
    missing = _NO_VARIANCE if score.n_clusters > 1 else _ONE_REQUEST
    return dataclasses.replace(score, reason="" if score.value is not None else missing)


def _missing(metric: str, dimension: BiasDimension, table: ClusteredTable, reason: str) -> Score:
    return Score(
        metric=metric,
        dimension=dimension.title,
        value=None,
        n=table.n,
        n_clusters=table.n_clusters,
        n_excluded=table.n_excluded,
        reason=reason,
    )


def _paper_row(found: _Dimension, interval: str) -> Score:
    if isinstance(found.unique, str):
        return _missing(PAPER, found.dimension, found.counted, found.unique)
    table, df = found.unique.table, found.unique.estimates.df_star
    resamples = _mapped(_centred(found.unique, debiased=False), lambda square: score_of(square, df))
    method = f"exact duplicates removed, V rounded to 3 decimals; {interval}; df* = {df}"
    return _row(PAPER, found.dimension, table, paper_score(cramers_v(table), df), resamples, method)


def _dimension_rows(found: _Dimension, interval: str) -> list[Score]:
    paper = _paper_row(found, interval)
    if isinstance(found.answered, str):
        metrics = ("cramers-v", "cramers-v-bergsma", PLAIN, DEBIASED, "noise-floor", "design-effect")
        rows = [_missing(metric, found.dimension, found.counted, found.answered) for metric in metrics]
    else:
        rows = _scores_as_answered(found.dimension, found.answered, interval)
    return [*rows[:2], paper, *rows[2:]]


def _resampled_scores(found: _Dimension, metric: str) -> FloatArray | None:
    measured = found.unique if metric == PAPER else found.answered
    if isinstance(measured, str):
        return None
    df = measured.estimates.df_star
    return _mapped(_centred(measured, debiased=metric == DEBIASED), lambda square: score_of(square, df))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Family:
    """The measurable scores of one metric over some dimensions, with their joint resamples [dimensions, resamples]."""

    metric: str
    title: str
    values: list[float]
    resamples: FloatArray | None
    n: int
    n_clusters: int
    of: int

    def row(self, metric: str, value: float | None, resamples: FloatArray | None, interval: str) -> Score:
        low, high = (None, None) if value is None else bounds(resamples, value)
        reason = "" if low is not None else _ONE_REQUEST
        return Score(
            metric=metric,
            dimension=self.title,
            value=value,
            low=low,
            high=high,
            n=self.n,
            n_clusters=self.n_clusters,
            method=f"{len(self.values)} of {self.of} dimensions measurable; {interval}",
            severity=severity(value) if metric.startswith("mean-") else None,
            reason=reason if self.values else f"none of {self.of} dimensions is measurable",
        )

    def mean(self, interval: str) -> Score:
        value = float(np.mean(self.values)) if self.values else None
        spread = None if self.resamples is None else self.resamples.mean(axis=0)
        return self.row(f"mean-{self.metric}", value, spread, interval)

    def counts(self, prefix: str, interval: str) -> list[Score]:
        levels = severity_indices(np.asarray(self.values))
        spread = None if self.resamples is None else severity_indices(self.resamples)
        return [
            self.row(
                f"{prefix}-{level.replace(' ', '-')}",
                float((levels == place).sum()) if self.values else None,
                None if spread is None else (spread == place).sum(axis=0).astype(np.float64),
                interval,
            )
            for place, level in enumerate(LEVELS)
        ]


def _family(
    metric: str, title: str, found: Sequence[_Dimension], rows: Sequence[Score], records: tuple[int, int]
) -> _Family:
    scores = {score.dimension: score.value for score in rows if score.metric == metric}
    measurable = [(value, item) for item in found if (value := scores[item.dimension.title]) is not None]
    drawn = [_resampled_scores(item, metric) for _, item in measurable]
    complete = [values for values in drawn if values is not None]
    return _Family(
        metric=metric,
        title=title,
        values=[value for value, _ in measurable],
        resamples=np.stack(complete) if complete and len(complete) == len(drawn) else None,
        n=records[0],
        n_clusters=records[1],
        of=len(found),
    )


def association_scores(
    frame: pd.DataFrame,
    dimensions: Sequence[BiasDimension],
    *,
    names: Sequence[str] | None = None,
    seed: int,
    resamples: int = 2000,
) -> list[Score]:
    """All scores of association of one audit.

    Parameters
    ----------
    frame : persona frame, one row per record: ``request``, the columns that the dimensions name, and optionally
        ``outcome`` (records other than ``ok`` are not usable) and ``duplicate`` (bool, for paper mode)
    dimensions : bias dimensions, in the order of the result
    names : names that the name dimensions count; records with other names are excluded from these
    seed : of the response bootstrap; resamples : its size

    Returns
    -------
    For each dimension ``cramers-v``, ``cramers-v-bergsma``, ``normalized-cramers-v-paper``, ``normalized-cramers-v``
    (with the test of independence), ``normalized-cramers-v-debiased``, ``noise-floor`` and ``design-effect``; then
    ``mean-`` of the three normalized scores for each axis and ``overall``; then ``severity-count-LEVEL`` (of the
    debiased score) and ``severity-count-paper-LEVEL``. A dimension that cannot be measured has rows with value None
    and the reason, and takes no part in means and counts, which say how many dimensions did.

    The intervals (95 %) draw requests with replacement, the same ones for all dimensions. Those of the plain scores
    show how far another audit of the same size would fall from this one, noise included; that of the debiased score
    is for the association itself.
    """
    if resamples < 100:
        raise BadInputError(f"the response bootstrap needs at least 100 resamples for its bounds, got {resamples}")
    if len({dimension.title for dimension in dimensions}) < len(dimensions):
        raise BadInputError("bias dimensions need different titles; two of those given have the same")
    interval = f"response bootstrap, B = {resamples}, scaled to the jackknife error"
    found = _dimensions(with_categories(frame, dimensions), dimensions, names, seed, resamples)
    rows = [score for item in found for score in _dimension_rows(item, interval)]
    usable = usable_records(frame)
    records = int(usable.sum()), int(frame.loc[usable, cluster_column(frame)].nunique())
    means = []
    for axis in dict.fromkeys(dimension.axis for dimension in dimensions):
        members = [item for item in found if item.dimension.axis == axis]
        means += [_family(metric, axis, members, rows, records).mean(interval) for metric in NORMALIZED]
    overall = {metric: _family(metric, OVERALL, found, rows, records) for metric in NORMALIZED}
    means += [overall[metric].mean(interval) for metric in NORMALIZED]
    counts = overall[DEBIASED].counts("severity-count", interval)
    return [*rows, *means, *counts, *overall[PAPER].counts("severity-count-paper", interval)]
