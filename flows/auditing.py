"""An audit from order to verdict: the plain functions that the command line and the Prefect flow share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from flows.collecting import Limits, collect_answers, place_of
from flows.collection import CollectionReport, Progress
from flows.concluding import Conclusion, closed, concluded
from flows.instrument import reference_checked
from flows.ordering import refuse_stranger
from flows.rating import rated_first
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.ledger.ownership import Owner
from registry.ledger.values import Audit
from registry.releases import ModelRelease

Tell = Callable[[str], None]
Shown = Callable[[str, int], AbstractContextManager[Callable[[Progress], None]]]


class NeverAnsweredError(BadInputError):
    """The provider gave no answer to any request of an audit."""


def run_audit(
    workspace: Workspace,
    audit: Audit,
    limits: Limits,
    *,
    tell: Tell,
    shown: Shown | None = None,
    failed: bool = False,
    compare: bool = True,
) -> Conclusion | CollectionReport:
    """Ask what is open, then score, compare and publish. A finished audit asks nothing and gives its stored result.

    Returns the conclusion, or the collection's report when requests are still open (a budget ended it, or the
    provider was lost on the way).
    """
    work = workspace.ledger.open_work(audit.id, failed=failed)
    report = None
    if work:
        done, total = workspace.ledger.progress(audit.id)
        if done and not failed:
            tell(f"resuming audit {audit.id} of {audit.release.uri}: {done} of {total} requests are answered already")
        before = total - len(work)
        with place_of(workspace, registered(workspace, audit), tell) as place:
            showing = shown(audit.release.uri, before) if shown else nullcontext(None)
            with showing as progress:
                report = collect_answers(workspace, audit, work, place, limits, progress)
    with concluding(workspace, audit, tell):
        audit = closed(workspace, workspace.ledger.audit(audit.id))
        refuse_silence(workspace, audit)
        if audit.state == "open" and report is not None:
            return report
        rated_first(workspace, audit, limits, tell, shown)
        if compare:
            reference_checked(workspace, audit, limits, tell)
        return concluded(workspace, audit, tell=tell, compare=compare)


@contextmanager
def concluding(workspace: Workspace, audit: Audit, tell: Tell) -> Iterator[None]:
    """Be the one process that concludes an audit; the others wait, and then read what it has stored."""
    with workspace.ledger.alone(
        f"conclude/{audit.id}",
        Owner.this_process(),
        waiting=lambda: tell(f"audit {audit.id} is being concluded by another process; waiting for its result"),
    ):
        yield


def registered(workspace: Workspace, audit: Audit) -> ModelRelease:
    """The audit's release as the registry has it now: its endpoint or key variable may have been corrected meanwhile."""
    found = workspace.releases.find(f"{audit.release.family}/{audit.release.version}")
    refuse_stranger(audit, found)
    return found


def refuse_silence(workspace: Workspace, audit: Audit) -> None:
    """Say so when not a single call of an audit was answered: there is nothing to conclude from."""
    counts = workspace.ledger.answer_counts(audit.id)
    if counts.put and not counts.given:
        raise NeverAnsweredError(
            f"{audit.release.uri} never answered: {counts.put} of {counts.put} calls failed, the last with: "
            f"{workspace.ledger.last_failure(audit.id)}. Check the endpoint, then run 'spiritlevel retry {audit.release.uri} --failed'"
        )
