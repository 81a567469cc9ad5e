"""A human check as evidence: kept in the ledger with the hashes of its key and sheets, and with nobody's name or words."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from registry.ledger.values import HumanRecord

if TYPE_CHECKING:
    from flows.human_check import HumanCheck
    from flows.workspace import Workspace

_NUMBERS = ("previous", "current", "delta", "low", "high", "level", "pvalue", "n_previous", "n_current")
_LONGEST = 400


def kept(workspace: Workspace, found: HumanCheck) -> tuple[HumanRecord | None, str]:
    """Store a human check; None with the reason where this ledger does not hold the two audits that were rated.

    The same sheets with the same key are the same record.
    """
    rated = []
    for told in found.key.releases:
        audit_id, uri = told.get("audit"), str(told.get("release"))
        known = workspace.ledger.audits_of([audit_id]).get(audit_id) if isinstance(audit_id, int) else None
        if known is None or known.release.uri != uri or known.release.model != told.get("model"):
            return None, (
                f"not kept: this ledger has no audit {audit_id} of {uri}; import the sheets where they were exported from"
            )
        rated.append(known.id)
    first, second = rated
    return workspace.ledger.keep_human_check(found.digest, found.sheets, (first, second), _result(found)), ""


def fullest_of_each(records: Iterable[HumanRecord]) -> tuple[HumanRecord, ...]:
    """Of each key the record of most raters, the newest of equals: when sheets came one after the other, the last import has them all."""
    most: dict[str, HumanRecord] = {}
    for one in sorted(records, key=lambda one: (one.result["raters"], one.id)):
        most[one.key] = one
    return tuple(sorted(most.values(), key=lambda one: one.id))


def _result(found: HumanCheck) -> dict[str, Any]:
    """Numbers and our own words. A key is a file that anybody may have changed, so only what is expected is taken."""
    key, measured = found.key, found.key.measured
    numbers = {name: _number(measured.get(name)) for name in _NUMBERS}
    return {
        "dimension": str(key.dimension)[:_LONGEST],
        "pairs": int(key.items),
        "personas": int(key.personas),
        "raters": len(found.raters),
        "invited": len(key.sheets),
        "preference": dataclasses.asdict(found.share),
        "same": found.same,
        "severity": [dataclasses.asdict(one) for one in found.severity],
        "agreement": [dataclasses.asdict(one) for one in found.agreement],
        "missing": dict(found.missing),
        "asked": dict(found.asked),
        "contradictions": found.contradictions,
        "measured": numbers
        | {"metric": str(measured.get("metric", ""))[:_LONGEST], "reason": str(measured.get("reason", ""))[:_LONGEST]},
        "direction": found.direction[0],
        "direction_why": found.direction[1],
    }


def _number(value: Any) -> float | int | None:
    plain = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if plain else None
