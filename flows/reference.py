"""Which release is meant, and what an audit is compared with: from the ledger where it knows, else from the registry.

A number that was audited is in the ledger for good: reading a card or a comparison then needs no MLflow, which takes longer
to load than everything else together.
"""

from __future__ import annotations

from flows.judging import why_not_comparable
from flows.scoring import finished
from flows.workspace import Workspace
from registry.ledger.values import Audit
from registry.releases import ModelRelease


def release_of(workspace: Workspace, reference: str) -> ModelRelease:
    """The release of ``models:/family/3`` as its newest audit has it; whatever else is written, as the registry says.

    Raises
    ------
    UnknownReleaseError : neither knows it
    """
    family, slash, version = reference.removeprefix("models:").strip("/").rpartition("/")
    if slash and version.isascii() and version.isdecimal() and version == str(int(version)):
        audit = workspace.ledger.newest_audit(family, int(version))
        if audit is not None:
            return audit.release
    return workspace.releases.find(reference)


def previous_release(workspace: Workspace, release: ModelRelease) -> ModelRelease | None:
    """The release before: the declared one, else the next lower version; None when there is none.

    The registry numbers versions one after the other, so the next lower number is the one before when it was audited. The
    registry is asked when it was not, for it may have been registered only, or deleted.
    """
    before = release.previous or release.version - 1
    if before < 1:
        return None
    audit = workspace.ledger.newest_audit(release.family, before)
    if audit is not None:
        return audit.release
    from mlflow.exceptions import MlflowException

    try:
        return workspace.releases.previous(release)
    except (MlflowException, OSError):  # the ledger alone, while MLflow does not answer
        if release.previous:
            return None
        lower = {
            audit.version: audit.id
            for audit in workspace.ledger.occasions(family=release.family)
            if audit.version < release.version
        }
        return workspace.ledger.audit(lower[max(lower)]).release if lower else None


def reference_audit(workspace: Workspace, audit: Audit) -> tuple[ModelRelease | None, Audit | None, str]:
    """What an audit is compared with: the previous release, else the first audit of this one; and why with nothing."""
    release = audit.release
    previous = previous_release(workspace, release)
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
