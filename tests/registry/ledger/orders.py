"""Audits for tests of the ledger."""

from __future__ import annotations

from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.ledger.store import Ledger
from registry.ledger.values import Audit
from registry.releases import ModelRelease

RELEASE = ModelRelease(family="nova", version=1, model="nova-2026-10")
PROTOCOL = PersonaBrainstorm()


def ordered(ledger: Ledger, size: int = 60) -> Audit:
    """An audit of so many personas; 20 a request."""
    plan = PROTOCOL.plan(size=size)
    return ledger.order(RELEASE, plan, PROTOCOL.requests(plan))
