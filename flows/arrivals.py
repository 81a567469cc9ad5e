"""New versions: what is registered is audited once without anybody asking, with the previous release as its reference.

The model registry is looked at with every look of the duty clock; a webhook only makes it look at once. A version is noted and
its runs are queued in one transaction: of several processes one does it, and one that dies leaves both or neither.
"""

from __future__ import annotations

import datetime as dt

from flows.duties import Duty
from flows.duty_runs import duty_of
from flows.ordering import plan_of
from flows.workspace import Workspace
from registry.ledger import duties as states
from registry.ledger.connection import moment_text
from registry.ledger.duties import DutyRun, QueuedRun, StoredDuty
from registry.releases import ModelRelease, UnknownReleaseError

_PATIENT_ATTEMPTS = 3  # of the reference's audit, before the new version goes on without


def arrivals(workspace: Workspace, now: dt.datetime) -> list[str]:
    """Look for new versions of every declared family; returns those that are new, as ``family/version``.

    On the first look at a family, and after it was not declared for a while, the versions that are there are only noted.
    """
    ledger, found = workspace.ledger, []
    declared: dict[str, list[StoredDuty]] = {}
    for duty in ledger.duties():
        declared.setdefault(duty.family, []).append(duty)
    for family, duties in declared.items():
        if not workspace.home.service.family(family).on_new_version:
            continue
        versions = workspace.releases.registry.versions(family)
        looked, since = ledger.looked_at(family), min(duty.since for duty in duties)
        if looked is None or looked < since:
            ledger.sight(family, versions)
            ledger.look_at(family, moment_text(now))
            continue
        new = sorted(set(versions) - ledger.sighted(family))
        found += [f"{family}/{one}" for one in new if _sighted(workspace, family, one, duties, now)]
    return found


def _sighted(workspace: Workspace, family: str, version: int, duties: list[StoredDuty], now: dt.datetime) -> bool:
    """Note a new version and queue its runs; False when another process did."""
    queued = [
        QueuedRun(
            duty=duty.name,
            slot=f"version {version}",
            due_at=moment_text(now),
            kind=states.VERSION,
            release=f"models:/{family}/{version}",
        )
        for duty in _once_a_protocol(duties)
    ]
    return bool(workspace.ledger.sight(family, [version], queued))


def _once_a_protocol(duties: list[StoredDuty]) -> list[StoredDuty]:
    """One duty for each protocol: a new version is audited once with each, as the first that is declared says."""
    first: dict[str, StoredDuty] = {}
    for duty in sorted(duties, key=lambda one: (one.definition["position"], one.name)):
        first.setdefault(duty.protocol, duty)
    return list(first.values())


def reference_first(workspace: Workspace, run: DutyRun) -> list[DutyRun]:
    """The run of the previous release's audit that a new version's has to wait for; none when it may begin.

    The previous release is audited first when it has no finished audit that asked the same. When that cannot be done
    (a model that was retired), the new version is audited all the same, and its result says that there is no reference.

    Raises
    ------
    UnknownReleaseError
        When the registry, or the ledger while MLflow does not answer, does not have the new version.
    """
    duty = duty_of(workspace, run.duty)
    wanted = _reference(workspace, duty, run)
    if wanted is None:
        return []
    slot = f"reference {wanted}"
    workspace.ledger.queue_runs(
        [
            QueuedRun(
                duty=duty.name,
                slot=slot,
                due_at=run.due_at,
                kind=states.REFERENCE,
                release=f"models:/{duty.family}/{wanted}",
                why=f"for {run.slot}",
            )
        ]
    )
    reference = workspace.ledger.run_of(duty.name, slot)
    if reference is None or reference.state in (states.DONE, states.REFUSED, states.SKIPPED):
        return []
    tried = reference.state in (states.OPEN, states.FAILED)
    if tried and (reference.next_at is None or reference.attempts >= _PATIENT_ATTEMPTS):
        return []
    return [reference]


def _reference(workspace: Workspace, duty: Duty, run: DutyRun) -> int | None:
    """The version that is to be audited before a new one: the previous, when nothing of it can be compared."""
    release = workspace.releases.find(run.release or duty.reference)
    if not workspace.home.service.family(duty.family).audit_previous:
        return None
    previous = _previous(workspace, release)
    if previous is None or previous.family != duty.family:
        return None
    order = duty.audit.order()
    key = plan_of(workspace, release, order).collection_key
    if plan_of(workspace, previous, order).collection_key != key:
        return None  # the two are asked different things, and could not be compared anyway
    same = workspace.ledger.audits(
        family=previous.family, version=previous.version, protocol=duty.protocol, collection_key=key
    )
    return None if any(audit.concluded for audit in same) else previous.version


def _previous(workspace: Workspace, release: ModelRelease) -> ModelRelease | None:
    try:
        return workspace.releases.previous(release)
    except UnknownReleaseError:  # it declares one that is not there, which its own audit says
        if workspace.releases.away:
            raise
        return None
