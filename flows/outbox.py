"""What each row of the outbox to MLflow becomes: an audit's run, a comparison's run, a timeline, a card, an alias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flows import tracking as mlflow_runs
from flows.drifting import drift_files
from flows.evidence import moved
from flows.family_view import comparisons_with_previous
from flows.instrument import newest_checks
from flows.mlflow_view import show_family
from flows.scoring import current_scores, finished, read_answers, scored
from flows.stores import Tracking
from flows.watching import WatchState, watched
from flows.workspace import Workspace
from registry.audits.plan import content_hash
from registry.ledger.checks import InstrumentCheck
from registry.ledger.publications import Publication
from registry.ledger.sealed import answers_digest
from registry.ledger.values import Audit

_LARGEST_EVIDENCE = 1e12


def in_words(row: Publication) -> str:
    """What a row is about, for a message."""
    names = {
        "audit": f"audit {row.subject}",
        "comparison": f"comparison {row.subject}",
        "timeline": f"the timeline of {row.family}",
        "card": f"the card of {row.family}",
        "alias": f"the alias {row.protocol!r} of {row.family}",
    }
    return names[row.kind]


def published(workspace: Workspace, store: Tracking, row: Publication, *, redrawn: Callable[[], None]) -> bool:
    """Publish what a row is about and mark it as done; False when it is not there yet, or changed meanwhile.

    Raises whatever MLflow raises; it may be called again then.
    """
    if row.kind == "audit":
        return _audit(workspace, store, row)
    if row.kind == "comparison":
        return _comparison(workspace, store, row)
    if row.kind == "timeline":
        _timeline(workspace, store, row, redrawn)
    elif row.kind == "card":
        _card(workspace, store, row)
    else:
        _alias(workspace, store, row)
    return workspace.ledger.published(row)


def audit_content(audit: Audit, checks: tuple[InstrumentCheck, ...], watch: WatchState | None) -> str:
    """Identity of what is published about a concluded audit: it waits again when any of this changes."""
    kept = [[check.kind, check.state, check.why] for check in checks]
    seen = _row_of(watch, audit)
    state = [seen.state, seen.why, seen.e_value, seen.cusum] if seen is not None else []
    return content_hash([audit.scoring_version, audit.state, audit.finished_at, kept, state])


def _audit(workspace: Workspace, store: Tracking, row: Publication) -> bool:
    audit = workspace.ledger.audit(row.subject)
    if audit.state == "open":  # it is asked again; it waits again when it is concluded
        return False
    result = scored(workspace, audit)
    # Scored anew just now, which made the row another one; or it is being asked again.
    if result.audit.scoring_version != audit.scoring_version or not audit.scoring_version:
        return False
    protocol = workspace.protocol(audit.protocol)
    evidence, notes = _beside_the_scores(workspace, audit)
    if origins := workspace.ledger.origins(audit.id):
        told = "; ".join(f"{one.in_words()}; {one.provenance or 'no provenance stated'}" for one in origins)
        notes = {**notes, "spiritlevel.origins": told}
    # What came after the first answers makes the run another one: answers of the release, and those of a judge.
    rated = sum(len(one.answers) for one in getattr(result.reading, "ratings", {}).values())
    repeated = workspace.ledger.repeated(audit.id) + rated
    run_id = mlflow_runs.publish_audit(
        store,
        audit,
        result.reading.channels,
        result.scores,
        tables=protocol.tables(result.reading),
        texts={f"prompts/{name}.txt": text for name, text in audit.plan.prompts.items()},
        tests=evidence,
        notes=notes,
        ledger=workspace.ledger.identity,
        repeated=repeated,
        answers=answers_digest(workspace.ledger, audit.id),
    )
    return workspace.ledger.published(row, run_id=run_id, scoring_version=audit.scoring_version)


def _row_of(state: WatchState | None, audit: Audit) -> Any:
    return next((row for row in state.rows if row.audit == f"audit {audit.id}"), None) if state else None


def _beside_the_scores(workspace: Workspace, audit: Audit) -> tuple[dict[str, float], dict[str, str]]:
    """Evidence of the watch over an audit's release, and the state of watch and instrument in words."""
    notes = {f"instrument/{check.kind}": f"{check.state}: {check.why}" for check in newest_checks(workspace, audit)}
    row = _row_of(watched(workspace, audit), audit)
    if row is None:
        return {}, notes
    notes["watch"] = f"{row.state}: {row.why}"
    found = {"watch/e-value": row.e_value, "watch/cusum": row.cusum}
    # An e value grows without bound; what is beyond any threshold is cut there.
    return {name: min(value, _LARGEST_EVIDENCE) for name, value in found.items() if value is not None}, notes


def _comparison(workspace: Workspace, store: Tracking, row: Publication) -> bool:
    comparison = workspace.ledger.comparison(row.subject)
    if comparison is None:  # an audit of it was asked again; it waits again when it is judged anew
        return False
    previous = workspace.ledger.audit(comparison.previous_audit)
    current = workspace.ledger.audit(comparison.current_audit)
    changed = moved(workspace, comparison)
    run_id = mlflow_runs.publish_comparison(
        store,
        comparison.rows,
        previous=previous.release,
        current=current.release,
        protocol=comparison.protocol,
        verdict=comparison.verdict,
        why=comparison.why,
        policy=comparison.policy,
        key=f"{workspace.ledger.identity}/{comparison.id}",
        previous_channels=read_answers(workspace, previous).channels,
        current_channels=read_answers(workspace, current).channels,
        compared_at=comparison.made_at,
        moved={
            "cells": [cell.as_json() for cell in changed.cells],
            "events": [event.as_json() for event in changed.events],
        },
        files=drift_files(workspace, comparison, previous, current),
    )
    with_previous = comparisons_with_previous(workspace, comparison.family, comparison.protocol).get(current.id)
    if with_previous is not None and with_previous.id == comparison.id:
        day = current.finished_at or current.ordered_at
        mlflow_runs.publish_verdicts(store, current.release, comparison.protocol, comparison.rows, day=day)
    return workspace.ledger.published(row, run_id=run_id)


def _timeline(workspace: Workspace, store: Tracking, row: Publication, redrawn: Callable[[], None]) -> None:
    audits = finished(workspace, family=row.family, protocol=row.protocol)
    scores = current_scores(workspace, row.family, row.protocol, [audit.id for audit in audits])
    made = comparisons_with_previous(workspace, row.family, row.protocol)
    points = [
        mlflow_runs.Moment(
            at=audit.finished_at or audit.ordered_at,
            release=audit.release,
            scores=scores.get(audit.id, []),
            rows=made[audit.id].rows if audit.id in made else None,
        )
        for audit in audits
    ]
    mlflow_runs.publish_timeline(store, row.family, row.protocol, points, redrawn=redrawn)


def _card(workspace: Workspace, store: Tracking, row: Publication) -> None:
    """The card of the newest release by this protocol, as one document with those by its others, and how the family is described.

    When several protocols' cards wait, the last one does it for all.
    """
    waiting = [one for one in workspace.ledger.waiting_publications(row.family) if one.kind == "card"]
    versions = {
        name: _newest_version(workspace, row.family, name) for name in {row.protocol, *(w.protocol for w in waiting)}
    }
    if any(one.id > row.id and versions[one.protocol] == versions[row.protocol] for one in waiting):
        return
    from flows.carding import rendered
    from flows.errata import cards_given_out

    version = versions[row.protocol]
    whole = cards_given_out(workspace, row.family, version)
    document = whole if len(whole.cards) > 1 else whole.cards[0]
    files: dict[str, bytes | str] = {f"card.{form}": rendered(document, form) for form in ("md", "html", "json")}
    mlflow_runs.publish_card(store, whole.cards[0].release, files)
    show_family(workspace, store, row.family)


def _newest_version(workspace: Workspace, family: str, protocol: str) -> int:
    occasions = workspace.ledger.occasions(family=family, protocol=protocol)
    return max(one.version for one in occasions if one.state != "open")


def _alias(workspace: Workspace, store: Tracking, row: Publication) -> None:
    """The newest blessing of a name as an alias of its version, so that ``models:/family@baseline`` means it."""
    blessing = workspace.ledger.blessed(row.family, row.protocol)
    if blessing is not None:
        store.releases().point(row.family, row.protocol, blessing.version)
