"""Releases in the order of their mean score, with an interval on every rank. Asks no model.

Only what can be compared is ranked: the newest audit of each release that asked the same as most others did, over the
dimensions that are measurable in all of them. Names are not counted. Each family has a frozen name list of its own, so
two families' name scores are of different things; with one list pooled over the ranked releases, the order of two of
them would depend on who else is ranked.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Sequence

import numpy as np

from dashboards.card import OVERALL, axis_of
from dashboards.instruments import Instrument, instrument_of
from flows.judging import why_not_comparable
from flows.ordering import refuse_stranger
from flows.scoring import SCORING_SEED, Scored, finished, scored
from flows.soundness import unsound
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.rank import rank_intervals
from metrics.results import Score
from registry.audits.plan import AuditPlan
from registry.audits.protocols import Dimension
from registry.ledger.values import Audit
from registry.releases import ModelRelease

LEVEL = 0.95
_Z = 1.959964  # of a 95 % interval: half its width over this is the standard error
_SIMILAR_SIZES = 2.0  # larger by this factor, and the means of two audits are of different noise
_FEWEST_MEASURABLE = 0.5  # share of the dimensions that a release needs, so that one poor audit does not empty the rest

NAMES_NOT_COUNTED = "names are not counted in a ranking, for each family has a name list of its own"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RankedRelease:
    """One release in a ranking.

    Parameters
    ----------
    rank : in the plain order, 1 for the lowest mean; rank_low, rank_high : its interval, simultaneous over all releases
    mean, low, high : mean headline score over the common dimensions with its 95 % interval
    n, n_clusters : records and their clusters; coverage : usable share of the records asked for
    shown_lower_than : releases whose mean is shown to be higher
    """

    release: ModelRelease
    audit: int
    rank: int
    rank_low: int
    rank_high: int
    mean: float
    low: float
    high: float
    standard_error: float
    n: int
    n_clusters: int
    coverage: float
    shown_lower_than: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NotRanked:
    """A release that is not in the ranking, and why."""

    release: ModelRelease
    audit: int | None
    reason: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Releases in order, with the dimensions that their mean is over, those that are not in it, and those not ranked."""

    instrument: Instrument
    axis: str
    dimensions: tuple[str, ...]
    left_out: dict[str, str]
    ranked: tuple[RankedRelease, ...]
    not_ranked: tuple[NotRanked, ...]
    level: float = LEVEL

    @property
    def says(self) -> str:
        """What a rank says, and what it does not."""
        return (
            f"Rank 1 is the lowest mean: less of these {self.instrument.tie}s was found in these answers. It says nothing about "
            "what was not asked. A rank interval begins at 1 + the releases shown to be lower and ends where those shown to be "
            "higher begin; all intervals hold together with the level given. What lies within one is not told apart by this "
            "evidence."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know besides, in words."""
        sizes = [row.n for row in self.ranked]
        if not sizes or max(sizes) <= _SIMILAR_SIZES * min(sizes):
            return ()
        return (
            f"the audits differ in size ({min(sizes):,} to {max(sizes):,} {self.instrument.unit}): where there is hardly any "
            f"{self.instrument.tie}, noise lifts the mean of a small audit more; rank audits of one size",
        )


def releases_named(workspace: Workspace, names: Sequence[str]) -> list[ModelRelease]:
    """The releases of the families that are named, and releases named singly; by default of all audited families."""
    if not names:
        names = sorted({release.family for release in workspace.ledger.audited_releases()})
        if not names:
            raise BadInputError("the ledger has no audit yet; 'spiritlevel audit RELEASE --protocol NAME' makes one")
    found: dict[str, ModelRelease] = {}
    for name in names:
        single = "/" in name or "@" in name
        for release in [workspace.releases.find(name)] if single else workspace.releases.list(name):
            found.setdefault(release.uri, release)
    return list(found.values())


def ranking(workspace: Workspace, releases: Sequence[ModelRelease], protocol: str, axis: str = OVERALL) -> Ranking:
    """Rank releases by their mean headline score over common dimensions.

    Parameters
    ----------
    axis : ``overall`` or an axis of the protocol

    Raises
    ------
    BadInputError
        An axis that is not known, or one of names.
    """
    told = instrument_of(protocol)
    chosen, not_ranked = newest_comparable(workspace, releases, protocol)
    wanted, names = _dimensions(workspace, protocol, axis, chosen[0].plan if chosen else None)
    entrants: list[Scored] = []
    for audit in chosen:
        policy = workspace.home.policy(audit.release.family)
        made = scored(workspace, audit)
        measurable = [d for d in wanted if not _missing(made, told, d.title)]
        reason = unsound(made.reading.channels, policy)
        if not reason and len(measurable) < max(1, _FEWEST_MEASURABLE * len(wanted)):
            first = next(_missing(made, told, d.title) for d in wanted if d not in measurable)
            reason = f"only {len(measurable)} of {len(wanted)} dimensions are measurable ({first})"
        if reason:
            not_ranked.append(NotRanked(release=audit.release, audit=audit.id, reason=reason))
        else:
            entrants.append(made)
    left_out = dict.fromkeys((d.title for d in names), NAMES_NOT_COUNTED)
    for dimension in wanted:
        without = {made.audit.release.uri: why for made in entrants if (why := _missing(made, told, dimension.title))}
        if without:
            left_out[dimension.title] = "; ".join(f"not measurable in {uri}: {why}" for uri, why in without.items())
    common = [dimension for dimension in wanted if dimension.title not in left_out]
    means = [_mean(workspace, made, told, common, axis) for made in entrants] if common else []
    ranked, flat = _ranked(entrants, means, workspace.home.policy().coverage_gap)
    return Ranking(
        instrument=told,
        axis=axis,
        dimensions=tuple(dimension.title for dimension in common),
        left_out=left_out,
        ranked=tuple(ranked),
        not_ranked=(*not_ranked, *flat),
    )


def _dimensions(
    workspace: Workspace, protocol: str, axis: str, plan: AuditPlan | None
) -> tuple[list[Dimension], list[Dimension]]:
    """The dimensions of an axis that do not count names, and those that do."""
    every: list[Dimension] = list(workspace.protocol(protocol).dimensions(plan))
    axes = list(dict.fromkeys(axis_of(dimension.title) for dimension in every))
    if axis != OVERALL and axis not in axes:
        near = difflib.get_close_matches(axis, [*axes, OVERALL], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise BadInputError(f"{protocol} has no axis {axis!r}{hint} Known: {', '.join([OVERALL, *axes])}")
    of_axis = [dimension for dimension in every if axis in (OVERALL, axis_of(dimension.title))]
    wanted = [dimension for dimension in of_axis if not dimension.by_name]
    if not wanted:
        raise BadInputError(
            f"{NAMES_NOT_COUNTED}; choose another axis" if of_axis else f"{protocol} measures no dimension to rank by"
        )
    return wanted, [dimension for dimension in of_axis if dimension.by_name]


def _asked(audit: Audit) -> tuple[str, str]:
    return audit.plan.collection_key, json.dumps(dict(audit.differences), sort_keys=True, default=str)


def newest_comparable(
    workspace: Workspace, releases: Sequence[ModelRelease], protocol: str
) -> tuple[list[Audit], list[NotRanked]]:
    """The newest audit of each release that asked what most releases were asked; and those that have none such."""
    audits: dict[str, list[Audit]] = {}
    not_ranked = []
    for release in releases:
        own = finished(workspace, family=release.family, version=release.version, protocol=protocol)
        if not own:
            not_ranked.append(NotRanked(release=release, audit=None, reason=f"no finished {protocol} audit"))
            continue
        for audit in own:
            refuse_stranger(audit, release)
        audits[release.uri] = own
    keys = [{_asked(audit) for audit in own} for own in audits.values()]
    newest = {
        _asked(audit): audit.id for audit in sorted((a for own in audits.values() for a in own), key=lambda a: a.id)
    }
    if not newest:
        return [], not_ranked
    usual = max(newest, key=lambda key: (sum(key in own for own in keys), newest[key]))
    chosen = [next((a for a in reversed(own) if _asked(a) == usual), None) for own in audits.values()]
    ranked = [audit for audit in chosen if audit is not None]
    for own, one in zip(audits.values(), chosen, strict=True):
        if one is None:
            why = why_not_comparable(ranked[0], own[-1]) or "it was asked other things"
            not_ranked.append(NotRanked(release=own[-1].release, audit=own[-1].id, reason=why))
    return ranked, not_ranked


def _missing(made: Scored, told: Instrument, title: str) -> str:
    """Why a dimension was not measured with an interval in an audit; empty when it was."""
    score = next((s for s in made.scores if s.metric == told.headline and s.dimension == title), None)
    if score is None:
        return "this audit has no such score"
    return "" if score.value is not None and score.low is not None else score.reason or "the score has no interval"


def _ranked(
    entrants: Sequence[Scored], means: Sequence[Score], coverage_gap: float
) -> tuple[list[RankedRelease], list[NotRanked]]:
    """Releases by their means over the common dimensions, none when there are no such. A mean without error is not ranked."""
    if not means:
        reason = "no dimension is measurable in every release"
        return [], [NotRanked(release=e.audit.release, audit=e.audit.id, reason=reason) for e in entrants]
    found = list(zip(entrants, means, strict=True))
    usable = [(made, mean, *mean_range) for made, mean in found if (mean_range := _range(mean))]
    flat = [
        NotRanked(release=made.audit.release, audit=made.audit.id, reason="the mean score has no interval with a width")
        for made, mean in found
        if not _range(mean)
    ]
    if not usable:
        return [], flat
    values = np.array([value for _, _, value, _, _ in usable])
    errors = np.array([(high - low) / (2 * _Z) for *_, low, high in usable])
    coverage = np.array([made.reading.channels.coverage or 0.0 for made, *_ in usable])
    # Answers left after very different shares of refusals are not comparable: such a pair keeps its order open.
    near = np.abs(coverage[:, None] - coverage[None, :]) <= coverage_gap + 1e-12
    intervals = rank_intervals(values, errors, level=LEVEL, comparable=near, seed=SCORING_SEED)
    rows = [
        RankedRelease(
            release=made.audit.release,
            audit=made.audit.id,
            rank=interval.rank,
            rank_low=interval.low,
            rank_high=interval.high,
            mean=value,
            low=low,
            high=high,
            standard_error=float(error),
            n=mean.n,
            n_clusters=mean.n_clusters,
            coverage=float(share),
            shown_lower_than=tuple(usable[place][0].audit.release.uri for place in interval.smaller_than),
        )
        for (made, mean, value, low, high), interval, error, share in zip(
            usable, intervals, errors, coverage, strict=True
        )
    ]
    return sorted(rows, key=lambda row: (row.rank, row.release.family, row.release.version)), flat


def _mean(workspace: Workspace, made: Scored, told: Instrument, common: Sequence[Dimension], axis: str) -> Score:
    """The mean over the common dimensions, with an error that holds for just these."""
    if workspace.protocol(
        made.audit.protocol
    ).categories:  # made from the answers, by joint resamples of these dimensions
        from metrics.association import association_scores

        scores = association_scores(made.reading.frame, common, seed=SCORING_SEED)  # type: ignore[arg-type]
        return next(score for score in scores if score.metric == told.mean and score.dimension == OVERALL)
    titles = {dimension.title for dimension in common}
    own = [s for s in made.scores if s.metric == told.headline and s.value is not None]
    of_axis = {s.dimension for s in own if axis in (OVERALL, axis_of(s.dimension))}
    stored = next((s for s in made.scores if s.metric == told.mean and s.dimension == axis), None)
    if stored is not None and of_axis == titles:
        return stored
    return mean_at_most([s for s in own if s.dimension in titles], told.mean, axis)


def mean_at_most(scores: Sequence[Score], metric: str, axis: str) -> Score:
    """The mean of scores of one audit with the widest interval that it can have.

    How much their errors go together is not known here. The error of a mean is at most the mean of the errors, which it is
    when they go together wholly. An interval that ends at 0 is taken to be as wide below its score as above it.

    >>> rows = [Score(metric="normalized-gap", dimension=d, value=v, low=0.0, high=v + 0.2, n=90, n_clusters=9)
    ...         for d, v in (("a", 0.1), ("b", 0.3))]
    >>> mean = mean_at_most(rows, "mean-normalized-gap", "overall")
    >>> mean.value, round(mean.low, 3), round(mean.high, 3)
    (0.2, -0.05, 0.45)
    """
    values = [score.value or 0.0 for score in scores]
    sides = [
        max((score.high or 0.0) - value, value - (score.low or 0.0))
        for score, value in zip(scores, values, strict=True)
    ]
    mean, side = sum(values) / len(values), sum(sides) / len(sides)
    return Score(
        metric=metric,
        dimension=axis,
        value=mean,
        low=mean - side,
        high=mean + side,
        method=f"{len(scores)} dimensions; the error of their mean is at most the mean of their errors",
        n=max(score.n for score in scores),
        n_clusters=max(score.n_clusters for score in scores),
    )


def _range(mean: Score) -> tuple[float, float, float] | None:
    if mean.value is None or mean.low is None or mean.high is None or mean.high <= mean.low:
        return None
    return mean.value, mean.low, mean.high
