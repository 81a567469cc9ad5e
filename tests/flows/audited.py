"""Finished audits with planted bias, straight in the ledger: as a worker leaves a live one, and as an import does."""

from __future__ import annotations

from flows.concluding import Conclusion, closed, concluded
from flows.workspace import Workspace
from registry.audits.plan import Response
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.ledger.bundles import work_for
from registry.ledger.values import Audit
from registry.releases import ModelRelease
from tests.stub_personas import answer_text

PER_CALL = 20
CALLS = 100


def texts_of(*, bias: float, seed: str, calls: int = CALLS) -> list[str]:
    """Answers of a stub model; with a bias of 0.9 its women work in care."""
    return [answer_text({}, seed=f"{seed} {number}", bias=bias, per_call=PER_CALL) for number in range(calls)]


def release_of(version: int, family: str = "nova") -> ModelRelease:
    return ModelRelease(family=family, version=version, model=f"{family}-{version}", run_id=f"run{family}{version}")


def audit_of(
    workspace: Workspace,
    version: int,
    texts: list[str],
    *,
    family: str = "nova",
    live: bool = True,
    seed: int = 0,
    served: str = "",
    fingerprint: str | None = None,
) -> Audit:
    """A finished audit with these answers."""
    protocol, release = PersonaBrainstorm(), release_of(version, family)
    found = [
        Response(index=i, text=text, served_model=served or release.model, system_fingerprint=fingerprint)
        for i, text in enumerate(texts)
    ]
    size = PER_CALL * len(texts)
    if live:
        plan = protocol.plan(size=size, seed=seed)
        audit = workspace.ledger.order(release, plan, protocol.requests(plan))
    else:
        plan = protocol.imported_plan(size=size, per_call=PER_CALL)
        audit = workspace.ledger.order(release, plan, work_for(found, PER_CALL), source="imported")
    workspace.ledger.record_all(audit.id, found)
    return closed(workspace, audit)


def concluded_of(workspace: Workspace, version: int, texts: list[str], **options: object) -> Conclusion:
    """The conclusion of a new audit with these answers; nothing is published or told."""
    audit = audit_of(workspace, version, texts, **options)  # type: ignore[arg-type]
    return concluded(workspace, audit, tell=lambda _: None, publish=False)
