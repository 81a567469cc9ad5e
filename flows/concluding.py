"""What follows when an audit has its answers: scores, comparison, publication, alert, exit code."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from flows.blessing import baseline_comparisons
from flows.evidence import moved
from flows.instrument import newest_checks, split_checked
from flows.judging import judged, why_not_comparable
from flows.scoring import Scored, finished, is_current, read_answers, scored, scores_of
from flows.watching import WatchState, ask, is_recurrence, settled, watched
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.ledger.checks import InstrumentCheck
from registry.ledger.values import Audit, StoredComparison
from registry.ledger.watching import Confirmation
from registry.releases import ModelRelease

Tell = Callable[[str], None]

_LARGEST_EVIDENCE = 1e12


@dataclasses.dataclass(frozen=True, slots=True)
class Conclusion:
    """A finished audit with everything that follows from it.

    Parameters
    ----------
    comparison, previous : with the previous release (or the first audit of this one); ``note`` says why there is none
    with_baselines : comparisons with blessed releases
    checks : whether the instrument was steady
    recurrence : whether the release was audited in the same way before: the watch judges it then, not this comparison
    watch : the watch over such audits; confirmation : of an alarm, when this is the full audit that it asked for
    """

    scored: Scored
    comparison: StoredComparison | None
    previous: ModelRelease | None
    note: str
    with_baselines: tuple[StoredComparison, ...] = ()
    checks: tuple[InstrumentCheck, ...] = ()
    recurrence: bool = False
    watch: WatchState | None = None
    confirmation: Confirmation | None = None

    @property
    def held(self) -> str:
        """Why alerts are held, in words; empty when they are not."""
        return "; ".join(check.why for check in self.checks if check.state == "moved")

    @property
    def with_itself(self) -> bool:
        """Whether the comparison is with an earlier audit of the same kind of the same release: the watch's business."""
        return self.recurrence and self.previous is not None and self.previous.uri == self.scored.audit.release.uri

    @property
    def exit_code(self) -> int:
        """0 ok; 1 regressed, also against a blessed baseline; 3 inconclusive, not measurable, incomplete, or an alarm.

        Of recurring audits the watch says it, and 1 is a full audit that confirmed its alarm: to test each audit by itself
        against the first would be wrong in nearly every year.
        """
        verdict = self.comparison.verdict if self.comparison and not self.with_itself else None
        verdicts = {verdict, *(other.verdict for other in self.with_baselines)}
        if "regressed" in verdicts or (self.confirmation is not None and self.confirmation.verdict == "regressed"):
            return 1
        measured = any(score.value is not None for score in self.scored.scores if score.metric == "cramers-v")
        mixed = self.scored.reading.channels.mixed_release
        alarm = self.watch is not None and self.watch.state == "alarm" and self.confirmation is None
        if self.scored.audit.state == "incomplete" or not measured or mixed or alarm:
            return 3
        return 3 if verdict in {"inconclusive", "not measurable"} else 0


def closed(workspace: Workspace, audit: Audit) -> Audit:
    """Set an audit's state from its answers: complete, incomplete when calls failed, else still open."""
    done, total = workspace.ledger.progress(audit.id)
    if done < total:
        return audit if audit.state == "open" else workspace.ledger.change(audit.id, state="open", finished_at=None)
    failures = [answer.failure is not None for answer in workspace.ledger.responses(audit.id)]
    if failures and all(failures):
        return audit  # it stays open: an audit without a single answer is no evidence of anything
    state = "incomplete" if any(failures) else "complete"
    if audit.state == state:
        return audit
    return workspace.ledger.change(audit.id, state=state, finished_at=workspace.ledger.clock())


def _previous(workspace: Workspace, release: ModelRelease) -> ModelRelease | None:
    """The previous release by the registry, or by the ledger alone while MLflow does not answer."""
    from mlflow.exceptions import MlflowException

    try:
        return workspace.releases.previous(release)
    except (MlflowException, OSError):
        known = {audit.release.version: audit.release for audit in workspace.ledger.audits(family=release.family)}
        version = release.previous or max((number for number in known if number < release.version), default=0)
        return known.get(version)


def reference_audit(workspace: Workspace, audit: Audit) -> tuple[ModelRelease | None, Audit | None, str]:
    """What an audit is compared with: the previous release, else the first audit of this one; and why with nothing."""
    release = audit.release
    previous = _previous(workspace, release)
    if previous is None:
        earlier = [
            other
            for other in finished(workspace, family=release.family, version=release.version, protocol=audit.protocol)
            if other.id < audit.id and not why_not_comparable(other, audit)
        ]
        if earlier:
            return release, earlier[0], ""
        return (
            None,
            None,
            f"{release.uri} is the first release of its family that was audited: later ones are compared with it",
        )
    others = finished(workspace, family=previous.family, version=previous.version, protocol=audit.protocol)
    for other in reversed(others):
        if not why_not_comparable(other, audit):
            return previous, other, ""
    if not others:
        return None, None, f"the previous release {previous.uri} has no finished {audit.protocol} audit to compare with"
    return previous, others[-1], why_not_comparable(others[-1], audit) or ""


def concluded(
    workspace: Workspace, audit: Audit, *, tell: Tell, compare: bool = True, publish: bool = True
) -> Conclusion:
    """Score a finished audit, compare it with its reference and the blessed baselines, watch over it, and publish."""
    result = scored(workspace, workspace.ledger.audit(audit.id))
    conclusion = Conclusion(result, None, None, "")
    if compare:
        conclusion = _compared(workspace, audit, tell)
    if publish:
        publish_all(workspace, audit.release.family, audit.protocol, tell)
    return conclusion


def _compared(workspace: Workspace, audit: Audit, tell: Tell) -> Conclusion:
    policy = workspace.home.policy()
    previous, reference, note = reference_audit(workspace, audit)
    comparison = judged(workspace, reference, audit, policy, note or None) if reference is not None else None
    others = baseline_comparisons(workspace, audit, policy, tell, besides=reference)
    split_checked(workspace, audit)
    checks = newest_checks(workspace, audit)
    watch = watched(workspace, audit)
    if watch is not None and not any(check.state == "moved" for check in checks):
        ask(workspace, watch)
    return Conclusion(
        # after the comparisons: the first of a family freezes its names, and scores are made again with them
        scored(workspace, workspace.ledger.audit(audit.id)),
        comparison,
        previous,
        note,
        with_baselines=tuple(others),
        checks=checks,
        recurrence=is_recurrence(workspace, audit),
        watch=watch,
        confirmation=settled(workspace, audit),
    )


def publish_all(workspace: Workspace, family: str, protocol: str, tell: Tell) -> None:
    """Publish what MLflow does not have of a family yet: scores, comparisons, timeline, card. Each exactly once.

    The ledger remembers what was published under which scoring version, so a server that was down is caught up
    with by the next command.
    """
    if not _attempted(lambda: _recognise_store(workspace, tell), tell, f"what is new of {family}"):
        return
    unfinished = f"unpublished {family} {protocol}"
    audits = finished(workspace, family=family, protocol=protocol)
    behind = [audit for audit in audits if audit.run_id is None or not is_current(workspace, audit)]
    fresh = [result for result in (scored(workspace, audit) for audit in behind) if result.audit.run_id is None]
    waiting = [c for c in workspace.ledger.comparisons(family=family, protocol=protocol) if c.run_id is None]
    if not (fresh or waiting or workspace.ledger.fact(unfinished)):
        return
    workspace.ledger.set_fact(unfinished, "timeline and card")
    for result in fresh:
        publish_audit(workspace, result, tell)
    waiting = [c for c in workspace.ledger.comparisons(family=family, protocol=protocol) if c.run_id is None]
    for comparison in waiting:
        publish_comparison(workspace, comparison, tell)
    drawn = publish_timeline(workspace, family, protocol, tell)
    if publish_card(workspace, family, protocol, tell) and drawn:
        workspace.ledger.set_fact(unfinished, "")


def _recognise_store(workspace: Workspace, tell: Tell) -> None:
    """When MLflow's store was lost and made anew, everything is published to it again."""
    if workspace.ledger.publish_to(workspace.tracking.identity()):
        tell(
            "this MLflow store is not the one that results were published to: they are published again from the ledger"
        )


def publish_audit(workspace: Workspace, result: Scored, tell: Tell) -> None:
    """Publish an audit to MLflow, once per scoring version; what fails is said and can be repeated."""
    from flows import tracking

    audit = result.audit
    protocol = workspace.protocol(audit.protocol)

    evidence, notes = _beside_the_scores(workspace, audit)

    def publish() -> None:
        run_id = tracking.publish_audit(
            workspace.tracking,
            audit,
            result.reading.channels,
            result.scores,
            tables=protocol.tables(result.reading),
            texts={f"prompts/{name}.txt": text for name, text in audit.plan.prompts.items()},
            tests=evidence,
            notes=notes,
            ledger=workspace.ledger.identity,
        )
        workspace.ledger.change(audit.id, run_id=run_id)

    _attempted(publish, tell, f"audit {audit.id}")


def _beside_the_scores(workspace: Workspace, audit: Audit) -> tuple[dict[str, float], dict[str, str]]:
    """Evidence of the watch over an audit's release, and the state of watch and instrument in words."""
    notes = {f"instrument/{check.kind}": f"{check.state}: {check.why}" for check in newest_checks(workspace, audit)}
    state = watched(workspace, audit)
    row = next((row for row in state.rows if row.audit == f"audit {audit.id}"), None) if state else None
    if row is None:
        return {}, notes
    notes["watch"] = f"{row.state}: {row.why}"
    found = {"watch/e-value": row.e_value, "watch/cusum": row.cusum}
    # An e value grows without bound; what is beyond any threshold is cut there.
    return {name: min(value, _LARGEST_EVIDENCE) for name, value in found.items() if value is not None}, notes


def publish_timeline(workspace: Workspace, family: str, protocol: str, tell: Tell) -> bool:
    """Draw the family's history as lines in MLflow."""
    from flows import tracking

    def publish() -> None:
        points = [
            (audit.finished_at or audit.ordered_at, audit.release, scores_of(workspace, audit))
            for audit in finished(workspace, family=family, protocol=protocol)
        ]
        tracking.publish_timeline(workspace.tracking, family, protocol, points)

    return _attempted(publish, tell, f"the timeline of {family}")


def publish_comparison(workspace: Workspace, comparison: StoredComparison, tell: Tell) -> None:
    """Publish a comparison to MLflow; what fails is said and can be repeated."""
    from flows import tracking

    previous = workspace.ledger.audit(comparison.previous_audit)
    current = workspace.ledger.audit(comparison.current_audit)
    found = moved(workspace, comparison)

    def publish() -> None:
        run_id = tracking.publish_comparison(
            workspace.tracking,
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
                "cells": [cell.as_json() for cell in found.cells],
                "events": [event.as_json() for event in found.events],
            },
        )
        workspace.ledger.published_comparison(comparison.id, run_id)

    _attempted(publish, tell, f"comparison {comparison.id}")


def publish_card(workspace: Workspace, family: str, protocol: str, tell: Tell) -> bool:
    """Attach the family's newest card to its release run and model version."""
    from flows import tracking
    from flows.carding import card_of, rendered

    def publish() -> None:
        card = card_of(workspace, family, protocol)
        files: dict[str, bytes | str] = {f"card.{form}": rendered(card, form) for form in ("md", "html", "json")}
        verdict = card.verdict or "baseline"
        summary = f"{verdict} ({protocol}): {card.why}"
        tracking.publish_card(workspace.tracking, card.release, files, verdict=verdict, summary=summary)

    return _attempted(publish, tell, f"the card of {family}")


def _attempted(publish: Callable[[], None], tell: Tell, what: str) -> bool:
    # Results are safe in the ledger; a tracking server that is down must not turn a finished audit into a failure.
    from mlflow.exceptions import MlflowException

    try:
        publish()
        return True
    except (MlflowException, OSError, BadInputError) as error:
        # MLflow's messages quote addresses with their passwords, so only its kind of trouble is named.
        first = str(error) if isinstance(error, BadInputError) else type(error).__name__
        tell(f"{what} is stored but was not published to MLflow ({first}); the same command publishes it later")
        return False
