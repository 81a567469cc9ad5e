"""What people said of two audits in blind ratings: numbers with the hashes of what they were made from, and nobody's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from registry.audits.plan import content_hash
from registry.ledger.connection import LedgerConnection, insert_new
from registry.ledger.tables import audits, human_checks
from registry.ledger.values import HumanRecord


class HumanChecks(LedgerConnection):
    """Reads and writes of human checks."""

    def keep_human_check(
        self, key: str, sheets: Sequence[str], rated: tuple[int, int], result: Mapping[str, Any]
    ) -> HumanRecord:
        """Store a human check; the record that is there when the same sheets were put together before.

        Parameters
        ----------
        key, sheets : SHA-256 of the key, and a hash of the answers of each sheet; rated : the first and the second audit
        result : plain values
        """
        digest = content_hash([key, sorted(sheets)])
        values = {
            "digest": digest,
            "key_hash": key,
            "sheets": sorted(sheets),
            "first_audit": rated[0],
            "second_audit": rated[1],
            "result": dict(result),
            "made_at": self.clock(),
        }
        with self._writing() as connection:
            connection.execute(
                insert_new(connection, human_checks).values(**values).on_conflict_do_nothing(index_elements=["digest"])
            )
        return self._human(human_checks.c.digest == digest)[0]

    def human_checks(self, audit_id: int) -> tuple[HumanRecord, ...]:
        """The human checks that an audit was one side of, oldest first."""
        return self._human(sa.or_(human_checks.c.first_audit == audit_id, human_checks.c.second_audit == audit_id))

    def _human(self, which: sa.ColumnElement[bool]) -> tuple[HumanRecord, ...]:
        first, second = audits.alias(), audits.alias()
        query = (
            sa.select(
                human_checks,
                *(first.c.family.label("first_family"), first.c.version.label("first_version")),
                *(second.c.family.label("second_family"), second.c.version.label("second_version")),
            )
            .join(first, first.c.id == human_checks.c.first_audit)
            .join(second, second.c.id == human_checks.c.second_audit)
            .where(which)
            .order_by(human_checks.c.id)
        )
        return tuple(
            HumanRecord(
                id=row["id"],
                key=row["key_hash"],
                sheets=tuple(row["sheets"]),
                first_audit=row["first_audit"],
                second_audit=row["second_audit"],
                first=f"models:/{row['first_family']}/{row['first_version']}",
                second=f"models:/{row['second_family']}/{row['second_version']}",
                result=row["result"],
                made_at=row["made_at"],
            )
            for row in self._all(query)
        )
