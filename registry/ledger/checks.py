"""Instrument checks: whether an audit's answers, and those of a frozen reference model, are steady."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from registry.audits.plan import content_hash
from registry.ledger.connection import LedgerConnection
from registry.ledger.tables import instrument_checks

KINDS = ("split", "reference")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentCheck:
    """One check of an audit.

    Parameters
    ----------
    audit : that was checked; kind : ``split`` (two halves of it) or ``reference`` (a frozen model asked again with it)
    state : ``steady``, ``moved`` or ``not measurable``, with ``why`` in words
    reference_audit : of the frozen model, for that kind
    """

    audit: int
    kind: str
    state: str
    why: str
    made_at: str
    reference_audit: int | None = None


class Checks(LedgerConnection):
    """Reads and writes of instrument checks; a check is kept once per audit, kind, scoring version and policy."""

    def store_check(
        self,
        audit_id: int,
        kind: str,
        *,
        scoring_version: str,
        policy: Mapping[str, Any],
        state: str,
        why: str,
        reference_audit: int | None = None,
    ) -> InstrumentCheck:
        """Store a check; made again, it is replaced."""
        key = {
            "audit_id": audit_id,
            "kind": kind,
            "scoring_version": scoring_version,
            "policy_hash": content_hash(policy),
        }
        made_at = self.clock()
        values = {"state": state, "why": why, "made_at": made_at, "reference_audit_id": reference_audit}
        same = [instrument_checks.c[name] == value for name, value in key.items()]
        with self._writing() as connection:
            connection.execute(instrument_checks.delete().where(*same))
            connection.execute(instrument_checks.insert().values(**key, **values))
        return InstrumentCheck(
            audit=audit_id,
            kind=kind,
            state=state,
            why=why,
            made_at=made_at,
            reference_audit=reference_audit,
        )

    def checks(
        self, audit_id: int, *, scoring_version: str | None = None, policy: Mapping[str, Any] | None = None
    ) -> list[InstrumentCheck]:
        """Checks of an audit, oldest first."""
        conditions = [instrument_checks.c.audit_id == audit_id]
        if scoring_version is not None:
            conditions.append(instrument_checks.c.scoring_version == scoring_version)
        if policy is not None:
            conditions.append(instrument_checks.c.policy_hash == content_hash(policy))
        query = sa.select(instrument_checks).where(*conditions).order_by(instrument_checks.c.id)
        return [
            InstrumentCheck(
                audit=row["audit_id"],
                kind=row["kind"],
                state=row["state"],
                why=row["why"],
                made_at=row["made_at"],
                reference_audit=row["reference_audit_id"],
            )
            for row in self._all(query)
        ]
