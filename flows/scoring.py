"""From stored answers to stored scores. Asks no model; may be repeated at any time."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from flows.summaries import kept_summary, stored_summary
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.results import Score
from registry.audits.protocols import Reading
from registry.audits.protocols.persona_brainstorm import TAKE_NAMES_AGAIN_BELOW
from registry.ledger.values import Audit, NameList

TRIES = 3  # to read answers while others come; a reader that is slower than they come does not wait for their end
SCORING_SEED = 0  # of the resampling; fixed, so that the same answers give the same numbers on every machine


@dataclasses.dataclass(frozen=True, slots=True)
class Scored:
    """An audit with its answers as read and its scores under the current scoring version.

    ``attempts`` tells these answers from later ones (`Ledger.attempts`). ``frozen`` : whether ``names`` are the family's list, kept
    since its first comparison; before that they are the audit's own.
    """

    audit: Audit
    reading: Reading
    names: tuple[str, ...]
    scores: list[Score]
    attempts: int
    frozen: bool = False


def read_answers(workspace: Workspace, audit: Audit) -> Reading:
    """An audit's answers as its protocol reads them today; read once per command."""
    key = (audit.id, workspace.ledger.attempts(audit.id))  # first: what comes meanwhile is read again
    if key not in workspace.readings:
        release = audit.release
        protocol = workspace.protocol(audit.protocol)
        if getattr(protocol, "tallied", False):
            from flows.tallying import tallied_reading

            workspace.readings[key] = tallied_reading(workspace, audit, protocol, **_ratings(workspace, audit))
        else:
            workspace.readings[key] = protocol.read(
                workspace.ledger.requests(audit.id),
                workspace.ledger.responses(audit.id),
                requested_model=release.model if audit.source == "live" else None,
                price_input=release.price_input,
                price_output=release.price_output,
                **_kept_measures(workspace, audit),
                **_ratings(workspace, audit),
            )
        if workspace.measuring is not None and hasattr(workspace.readings[key], "measuring"):
            workspace.readings[key].measuring = partial(workspace.measuring, release.uri, f"{protocol.unit} measured")
    reading: Reading = workspace.readings[key]
    return reading


def _kept_measures(workspace: Workspace, audit: Audit) -> dict[str, Any]:
    """What was measured of each record before, for a protocol that keeps that."""
    if not getattr(workspace.protocol(audit.protocol), "keeps_measures", False):
        return {}
    version = frozen_version(workspace, audit)
    kept = stored_summary(workspace, audit, version) if version is not None else None
    return {"kept": kept.measures if kept is not None else None}


def _ratings(workspace: Workspace, audit: Audit) -> dict[str, Any]:
    """What a judge said about the texts, for a protocol that has some rated."""
    if not getattr(workspace.protocol(audit.protocol), "rubrics", ()):
        return {}
    from flows.rating import ratings_of

    return {"ratings": ratings_of(workspace, audit)}


def finished(workspace: Workspace, **filters: Any) -> list[Audit]:
    """Audits that have all the answers they will get, oldest first."""
    return [audit for audit in workspace.ledger.audits(**filters) if audit.state != "open"]


def frozen_names(workspace: Workspace, current: Audit) -> tuple[str, ...]:
    """The family's frozen name list, made at its first comparison by pooling over its audits.

    When a release hardly uses the listed names any more (less than half of what its own most frequent names
    would cover), a new version is pooled with that release in it; history is then scored again.
    """
    ledger, protocol = workspace.ledger, workspace.protocol(current.protocol)
    if not protocol.freezes_names:
        return ()
    family = current.release.family
    newest = ledger.name_list(family, current.protocol)
    if newest is not None and (current.id in newest.audits or _covers(workspace, current, newest.names)):
        return newest.names
    pooled = finished(workspace, family=family, protocol=current.protocol)
    names = protocol.names([read_answers(workspace, audit).frame for audit in pooled])
    reason = (
        f"pooled over {len(pooled)} audits at the first comparison"
        if newest is None
        else f"audit {current.id} hardly used the names of version {newest.version}; pooled again over {len(pooled)} audits"
    )
    made = NameList(
        family=family,
        protocol=current.protocol,
        version=newest.version + 1 if newest else 1,
        names=names,
        audits=tuple(audit.id for audit in pooled),
        reason=reason,
    )
    ledger.freeze_names(made)
    return made.names


def _covers(workspace: Workspace, current: Audit, names: Sequence[str]) -> bool:
    """Whether a release still uses the listed names enough, against those that it uses most itself."""
    protocol = workspace.protocol(current.protocol)
    kept = stored_summary(workspace, current, protocol.scoring_version(names))
    listed, own = (kept.listed, kept.own_listed) if kept else protocol.listed(read_answers(workspace, current), names)
    return bool(own == 0 or listed >= TAKE_NAMES_AGAIN_BELOW * own)


def frozen_version(workspace: Workspace, audit: Audit) -> str | None:
    """Today's scoring version of an audit, told without reading its answers; None when only they can tell.

    That is so before the family's first comparison: an audit is scored on its own names then.
    """
    return scoring_version_of(workspace, audit.release.family, audit.protocol)


def scoring_version_of(workspace: Workspace, family: str, protocol: str) -> str | None:
    """Today's scoring version of a family; None while names are not frozen that are to be."""
    known = workspace.protocol(protocol)
    frozen = workspace.ledger.name_list(family, protocol) if known.freezes_names else None
    if frozen is None and known.freezes_names:
        return None
    version: str = known.scoring_version(frozen.names if frozen else ())
    return version


def is_current(workspace: Workspace, audit: Audit) -> bool:
    """Whether an audit's stored scores are of today's scoring version, told without reading its answers."""
    version = frozen_version(workspace, audit)
    return version is not None and audit.state != "open" and audit.scoring_version == version


def scores_of(workspace: Workspace, audit: Audit) -> list[Score]:
    """An audit's scores under today's scoring version; its answers are read only when they have to be scored again."""
    if is_current(workspace, audit):
        return workspace.ledger.scores(audit.id)
    return scored(workspace, audit).scores


def current_scores(
    workspace: Workspace, family: str, protocol: str, ids: Sequence[int], metrics: Collection[str] | None = None
) -> dict[int, list[Score]]:
    """Scores of many finished audits of a family under today's scoring version, in a few queries; of some metrics only.

    Those that are of another scoring version are scored again, which reads their answers.
    """
    ledger, wanted = workspace.ledger, set(ids)
    version = scoring_version_of(workspace, family, protocol)
    behind = wanted if version is None else wanted & set(ledger.unscored(family, protocol, version))
    for audit in ledger.audits_of(behind).values():
        scored(workspace, audit)
    return ledger.scores_of(wanted, metrics)


def scored(workspace: Workspace, audit: Audit) -> Scored:
    """The audit's scores under today's scoring version; measured now when the stored ones are of another, or of older answers.

    While its requests are asked again they may come faster than they are read: then the scores are those of the answers as
    read, and are not stored.
    """
    protocol, tries = workspace.protocol(audit.protocol), 0
    while True:
        audit, attempts = workspace.ledger.audit(audit.id), workspace.ledger.attempts(audit.id)
        _refuse_unfinished(workspace, audit)
        reading = read_answers(workspace, audit)
        frozen = workspace.ledger.name_list(audit.release.family, audit.protocol)
        names = frozen.names if frozen else protocol.names([reading.frame]) if protocol.freezes_names else ()
        version = protocol.scoring_version(names)
        if audit.scoring_version == version:
            return Scored(
                audit, reading, names, workspace.ledger.scores(audit.id, version), attempts, frozen is not None
            )
        scores = protocol.scores(reading, names, seed=SCORING_SEED)
        tries += 1
        if workspace.ledger.store_scores(audit.id, version, scores, attempts=attempts) or tries == TRIES:
            if frozen or not protocol.freezes_names:
                kept_summary(workspace, audit, reading, names, version, attempts)
            return Scored(workspace.ledger.audit(audit.id), reading, names, scores, attempts, frozen is not None)


def _refuse_unfinished(workspace: Workspace, audit: Audit) -> None:
    if audit.state == "open":
        done, total = workspace.ledger.progress(audit.id)
        raise BadInputError(
            f"audit {audit.id} of {audit.release.uri} is not finished ({done} of {total} requests); resume it with "
            f"'spiritlevel audit {audit.release.uri} --protocol {audit.protocol}' and the options that it was ordered with"
        )
