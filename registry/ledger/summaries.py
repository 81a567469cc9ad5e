"""What an audit's answers come to besides the scores, kept so that showing it again reads no answer.

All of it follows from the answers and the scoring version, and is made again when either changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from registry.ledger.connection import LedgerConnection
from registry.ledger.tables import responses, summaries


def sum_of_attempts(audit_id: int) -> sa.Select[Any]:
    """The query for `Summaries.attempts`."""
    total = sa.func.coalesce(sa.func.sum(responses.c.attempt), 0)
    return sa.select(total.label("attempts")).where(responses.c.audit_id == audit_id)


class Summaries(LedgerConnection):
    """Reads and writes of summaries."""

    def attempts(self, audit_id: int) -> int:
        """Sum of the attempts of an audit's answers: it changes whenever an answer comes."""
        return int(self._all(sum_of_attempts(audit_id))[0]["attempts"])

    def summary(self, audit_id: int, scoring_version: str) -> Mapping[str, Any] | None:
        """The summary of an audit's answers under a scoring version; None when there is none of its answers as they are."""
        query = sa.select(summaries.c.content).where(
            summaries.c.audit_id == audit_id,
            summaries.c.scoring_version == scoring_version,
            summaries.c.attempts == sum_of_attempts(audit_id).scalar_subquery(),
        )
        found = self._all(query)
        return dict(found[0]["content"]) if found else None

    def store_summary(self, audit_id: int, scoring_version: str, attempts: int, content: Mapping[str, Any]) -> None:
        """Keep the summary of an audit's answers, in place of an earlier one."""
        same = (summaries.c.audit_id == audit_id, summaries.c.scoring_version == scoring_version)
        values = {"audit_id": audit_id, "scoring_version": scoring_version}
        with self._writing() as connection:
            connection.execute(summaries.delete().where(*same))
            connection.execute(summaries.insert().values(**values, attempts=attempts, content=dict(content)))
