"""Whether gaps between audiences point the same way in several releases, from their stored scores. Asks no model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from flows.ordering import refuse_stranger
from flows.scoring import finished, scores_of
from flows.workspace import Workspace
from metrics.directions import DirectionTable, direction_table
from metrics.errors import BadInputError
from metrics.message_measures import MEASURES
from metrics.results import Score
from metrics.samples import Estimate
from registry.releases import ModelRelease

PROTOCOL = "targeted-messages"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GapDirections:
    """One gap over releases: what it is of, between which groups, all releases that were named, and its table of signs."""

    dimension: str
    metric: str
    groups: str
    releases: tuple[str, ...]
    table: DirectionTable


def directions(
    workspace: Workspace, releases: Sequence[ModelRelease], *, paper: bool = False
) -> tuple[GapDirections, ...]:
    """For each gap that at least two of the releases have: its sign in each, and whether the signs agree.

    Parameters
    ----------
    releases : of different families, ideally: releases of one family are not independent
    paper : the measures in the paper's form instead of the default one

    Raises
    ------
    BadInputError : fewer than two releases, or one without a finished audit of messages
    """
    if len({release.uri for release in releases}) < 2:
        raise BadInputError(
            "directions are compared over at least two releases; name two or more, of different families"
        )
    found: dict[tuple[str, str, str], dict[str, Estimate]] = {}
    wanted = {measure.paper if paper else measure.metric for measure in MEASURES} - {""}
    for release in releases:
        audits = finished(workspace, family=release.family, version=release.version, protocol=PROTOCOL)
        if not audits:
            raise BadInputError(
                f"{release.uri} has no finished {PROTOCOL} audit; run 'spiritlevel audit {release.uri} --protocol {PROTOCOL}'"
            )
        refuse_stranger(audits[-1], release)
        for score in scores_of(workspace, audits[-1]):
            if score.metric in wanted and " - " in score.group:
                key = (score.dimension, score.metric, score.group)
                found.setdefault(key, {})[release.uri] = _estimate(score)
    shared = {key: gaps for key, gaps in found.items() if len(gaps) > 1}
    if not shared:
        raise BadInputError("these audits share no gap: they were asked for other audiences or in other modes")
    named = tuple(dict.fromkeys(release.uri for release in releases))
    return tuple(
        GapDirections(dimension=dimension, metric=metric, groups=groups, releases=named, table=direction_table(gaps))
        for (dimension, metric, groups), gaps in shared.items()
    )


def _estimate(score: Score) -> Estimate:
    """A stored difference with the standard error that its interval was made from."""
    from scipy import special

    error = None
    if score.low is not None and score.high is not None and score.df:
        error = (score.high - score.low) / (2 * float(special.stdtrit(score.df, 0.5 + score.level / 2)))
    return Estimate(
        name=score.metric,
        groups=tuple(score.group.split(" - ")),
        value=score.value,
        low=score.low,
        high=score.high,
        level=score.level,
        df=score.df,
        pvalue=score.pvalue,
        standard_error=error or None,
        n=score.n,
        clusters=score.n_clusters,
        n_excluded=score.n_excluded,
        method=score.method,
        reason=score.reason,
    )
