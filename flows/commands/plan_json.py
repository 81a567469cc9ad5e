"""A plan of an audit as plain values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.planning import PlannedAudit


def plan_as_json(result: PlannedAudit) -> dict[str, Any]:
    """A plan for machines; a number that is null has its reason in the row or the notes."""
    return {
        "previous": result.previous,
        "current": result.current,
        "protocol": result.protocol,
        "variant": result.variant or None,
        "size": result.size,
        "per_call": result.per_call,
        "calls": -(-result.size // result.per_call),
        "change": result.change,
        "assumed": result.assumed,
        "pilot_audit": result.pilot,
        "source": result.source,
        "alpha": result.policy.alpha,
        "margin": result.policy.margin,
        "critical": list(result.critical),
        "dimensions": [
            dataclasses.asdict(row) | {"reason": row.reason or None} for rows in result.rows for row in rows
        ],
        "targets": [
            {
                "purpose": target.purpose,
                "size": target.size,
                "design_effect": target.design_effect,
                "releases": [dataclasses.asdict(cost) for cost in target.costs],
            }
            for target in result.targets
        ],
        "notes": list(result.notes),
        **_reach_as_json(result),
    }


def _reach_as_json(result: PlannedAudit) -> dict[str, Any]:
    """What only plans of messages have: one entry of ``reach`` for each attribute, mode and assumption."""
    if result.unit != "messages":
        return {}
    return {"assumptions": list(result.assumptions), "reach": [dataclasses.asdict(one) for one in result.reach]}
