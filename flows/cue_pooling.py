"""Persona cues over several releases or families, from their stored answers. Asks no model."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dashboards.cue_pool import CuePool, LeftOut, PooledRelease
from flows.ranking import NotRanked, newest_comparable
from flows.redaction import without_secrets
from flows.scoring import SCORING_SEED, read_answers
from flows.soundness import unsound
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.audits.cues import CUES
from registry.audits.tasks import TASKS
from registry.ledger.values import Audit
from registry.releases import ModelRelease

if TYPE_CHECKING:
    import pandas as pd

    from registry.audits.cue_reading import CueReading

PROTOCOL = "persona-cues"
BY, POOL = ("release", "family"), ("equal", "answers")
_MANY = 100_000  # answers; so many take some seconds, and what is done is told


def pooled_cues(
    workspace: Workspace, releases: Sequence[ModelRelease], *, by: str = "release", weights: str = "equal"
) -> CuePool:
    """What cues show in several releases together, and how far releases and cues agree.

    Parameters
    ----------
    releases : the newest finished audit of each that asked what most of them were asked is taken
    by : ``release`` or ``family``: what is correlated, and counts the same; weights : ``equal``, or ``answers`` are added up

    Raises
    ------
    BadInputError : fewer than two of them, or of their families, can be put together
    """
    _refuse_unknown(by, weights)
    audits, left_out = _audits(workspace, releases)
    readings: dict[str, CueReading] = {}
    for number, audit in enumerate(audits, 1):
        _progress(workspace, audits, f"{audit.release.uri}: answers are summed, {number} of {len(audits)}")
        readings[name_of(audit.release)] = read_answers(workspace, audit)  # type: ignore[assignment]
    kept = {}
    for audit in audits:
        reading = readings[name_of(audit.release)]
        if reason := unsound(reading.channels, workspace.home.policy(audit.release.family)):
            left_out.append(LeftOut(release=audit.release.uri, audit=audit.id, reason=reason))
        else:
            kept[name_of(audit.release)] = audit
    _refuse_few(releases, list(kept.values()), left_out, by)
    return _made(workspace, kept, {name: readings[name].frame for name in kept}, left_out, by, weights)


def name_of(release: ModelRelease) -> str:
    """A release in a table: ``nova-chat/3``."""
    return f"{release.family}/{release.version}"


def _refuse_unknown(by: str, weights: str) -> None:
    for option, value, known in (("--by", by, BY), ("--pool", weights, POOL)):
        if value not in known:
            raise BadInputError(f"{option} should be {' or '.join(known)}, not {value!r}")


def _audits(workspace: Workspace, releases: Sequence[ModelRelease]) -> tuple[list[Audit], list[LeftOut]]:
    """The audits that asked the same, and the releases that have none such."""
    if len({release.uri for release in releases}) < 2:
        raise BadInputError("persona cues are put together over at least two releases; name two or more")
    audits, apart = newest_comparable(workspace, releases, PROTOCOL)
    return audits, [_left_out(one) for one in apart]


def _left_out(one: NotRanked) -> LeftOut:
    """A release that cannot be put with others, and why; where it was never audited, with the command."""
    uri = one.release.uri
    hint = f"; run 'spiritlevel audit {uri} --protocol {PROTOCOL}'" if one.audit is None else ""
    return LeftOut(release=uri, audit=one.audit, reason=f"{one.reason}{hint}")


def _refuse_few(releases: Sequence[ModelRelease], kept: Sequence[Audit], left_out: Sequence[LeftOut], by: str) -> None:
    """Refuse what leaves one release or family, with all reasons."""
    units = {audit.release.family if by == "family" else audit.release.uri for audit in kept}
    if len(units) > 1:
        return
    several = "families" if by == "family" else "releases"
    there = ", ".join(sorted(units)) or "none"
    why = "".join(f"; {one.release}: {one.reason}" for one in left_out)
    more = "" if why else "; name releases of another family, or take --by release"
    raise BadInputError(
        f"persona cues are put together over at least two {several} that were asked the same, and of {len(releases)} releases named "
        f"there is {there}{why}{more}"
    )


def _progress(workspace: Workspace, audits: Sequence[Audit], text: str) -> None:
    """Say what is done, where it takes seconds."""
    if sum(audit.plan.size for audit in audits) > _MANY:
        workspace.tell(text)


def _made(
    workspace: Workspace,
    audits: Mapping[str, Audit],
    frames: Mapping[str, pd.DataFrame],
    left_out: Sequence[LeftOut],
    by: str,
    weights: str,
) -> CuePool:
    from metrics.cue_audit import effect_scores
    from metrics.cue_effects import cue_effects
    from metrics.cue_paper import paper_summary, paper_tests
    from metrics.cue_pooling import (
        correlations_between,
        correlations_of_cues,
        cue_counts,
        pooled_units,
        shared_prompts,
        shown_tests,
        units_of,
    )
    from metrics.cue_replication import replication
    from metrics.cue_table import cue_table

    every = list(audits.values())
    frames, lost = shared_prompts(frames)
    units = units_of(frames, {name: audit.release.family for name, audit in audits.items()}, by, weights)
    _progress(workspace, every, "differences between personas are measured over all of them")
    table = cue_table(pooled_units(units.values(), weights))
    bounds = {task: (TASKS[task].metric.low, TASKS[task].metric.high) for task in table.tasks}
    effects, tests = cue_effects(table, bounds=bounds), paper_tests(pooled_units(frames.values(), "answers"))
    dimensions = workspace.protocol(PROTOCOL).dimensions(every[0].plan)
    explicitness = {name: float(CUES[name].explicitness) for name in CUES}
    scores = effect_scores(table, effects, tests, dimensions, explicitness=explicitness, seed=SCORING_SEED)
    shown, paper = paper_summary(shown_tests(effects), alpha=0.05), paper_summary(tests)
    several = "families" if by == "family" else "releases"
    _progress(workspace, every, f"{several} are correlated")
    between = correlations_between(units, by, seed=SCORING_SEED)
    _progress(workspace, every, "cues are correlated")
    return CuePool(
        members=tuple(_member(name, audits[name], frames[name]) for name in frames),
        left_out=tuple(left_out),
        lost=lost,
        by=by,
        units=tuple(units),
        weights=weights,
        dimensions=tuple(dimension.title for dimension in dimensions),
        scores=tuple(scores),
        counts=cue_counts(shown, paper),
        shown=shown,
        paper=paper,
        replication=tuple(replication(effects)),
        cues=tuple(correlations_of_cues(units, by, seed=SCORING_SEED)),
        between=tuple(between),
        product_version=importlib.metadata.version("spiritlevel"),
        made_at=workspace.ledger.clock(),
    )


def _member(name: str, audit: Audit, frame: pd.DataFrame) -> PooledRelease:
    return PooledRelease(
        name=name,
        audit=audit,
        answers=int(frame["n"].sum()),
        excluded=int(frame["excluded"].sum()),
        questions=len(frame[["task", "question"]].drop_duplicates()),
    )


def rendered(pool: CuePool) -> str:
    """The page, without anything that looks like a key."""
    from dashboards.cue_pool_page import pool_page

    return without_secrets(pool_page(pool))
