"""What the ledger returns: frozen values, never rows bound to a session."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from registry.audits.plan import AuditPlan
from registry.releases import ModelRelease


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One ordered audit of a release: an occasion.

    Parameters
    ----------
    id : ledger id; occasion : 1, 2, ... within release, protocol and collection key
    release : the release as it was registered when the audit was ordered
    source : ``live`` or ``imported``
    state : ``open`` (requests are unanswered), ``complete``, or ``incomplete`` (given up with failures)
    differences : sampling parameters that the endpoint refused, and what was sent instead
    scoring_version : of the stored scores; None before the first scoring
    run_id : MLflow run it was published to; None before that
    """

    id: int
    release: ModelRelease
    protocol: str
    occasion: int
    plan: AuditPlan
    source: str
    state: str
    ordered_at: str
    finished_at: str | None = None
    differences: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    scoring_version: str | None = None
    run_id: str | None = None
