"""What was measured and judged: frozen name lists, scores, comparisons."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from metrics.results import Comparison, Score
from registry.audits.plan import content_hash
from registry.ledger import rows
from registry.ledger.publications import Publications
from registry.ledger.summaries import sum_of_attempts
from registry.ledger.tables import (
    audits,
    comparison_rows,
    comparisons,
    confirmations,
    facts,
    instrument_checks,
    name_lists,
    responses,
    watch_points,
)
from registry.ledger.tables import scores as score_table
from registry.ledger.values import Audit, NameList, StoredComparison


class Results(Publications):
    """Reads and writes of everything that follows from answers; all of it can be made again from them."""

    def name_list(self, family: str, protocol: str) -> NameList | None:
        """The newest frozen name list of a family, or None before its first comparison."""
        query = (
            sa.select(name_lists)
            .where(name_lists.c.family == family, name_lists.c.protocol == protocol)
            .order_by(name_lists.c.version.desc())
            .limit(1)
        )
        found = self._all(query)
        return rows.name_list_from_row(found[0]) if found else None

    def freeze_names(self, names: NameList) -> None:
        """Store a version of a family's name list; a version is written once."""
        with self._writing() as connection:
            values = dataclasses.asdict(names) | {
                "names": list(names.names),
                "audits": list(names.audits),
                "made_at": self.clock(),
            }
            connection.execute(name_lists.insert().values(**values))

    def store_scores(
        self, audit_id: int, scoring_version: str, results: Sequence[Score], *, attempts: int | None = None
    ) -> bool:
        """Store an audit's scores under a scoring version, replacing a half-written set of the same version.

        ``attempts`` : `attempts` of the answers that they were made from. When others came meanwhile, nothing is stored, and
        the result is False.
        """
        same = (score_table.c.audit_id == audit_id, score_table.c.scoring_version == scoring_version)
        with self._writing() as connection:
            if attempts is not None and not _answered_as(connection, {audit_id: attempts}):
                return False
            connection.execute(score_table.delete().where(*same))
            if results:
                connection.execute(
                    score_table.insert(),
                    [
                        rows.plain(score)
                        | {"audit_id": audit_id, "scoring_version": scoring_version, "position": position}
                        for position, score in enumerate(results)
                    ],
                )
            # What MLflow holds under another scoring version is not this: the audit waits to be published again.
            other = sa.or_(audits.c.scoring_version.is_(None), audits.c.scoring_version != scoring_version)
            values = {"scoring_version": scoring_version, "run_id": None}
            if connection.execute(audits.update().where(audits.c.id == audit_id, other).values(**values)).rowcount:
                self._publish_audit_later(connection, audit_id, content_hash([scoring_version, attempts]))
        return True

    def repeated(self, audit_id: int) -> int:
        """How many answers of an audit came for a request that had one already."""
        again = (responses.c.audit_id == audit_id, responses.c.attempt > 1)
        return int(self._all(sa.select(sa.func.count().label("n")).select_from(responses).where(*again))[0]["n"])

    def _answered_again(self, connection: Connection, audit_id: int) -> None:
        """Drop what follows from an audit's answers, inside the transaction that stores a further answer to one of its requests.

        Comparisons keep their ids, which MLflow and incidents name; they are shown again when they are judged anew.
        """
        known = sa.select(audits.c.scoring_version).where(audits.c.id == audit_id).with_for_update(key_share=True)
        version = connection.execute(known).scalar_one()
        if not version:
            return
        mine = audits.update().where(audits.c.id == audit_id)
        connection.execute(mine.values(scoring_version="", run_id=None))
        either = sa.or_(comparisons.c.previous_audit_id == audit_id, comparisons.c.current_audit_id == audit_id)
        judged = comparisons.update().where(either, comparisons.c.scoring_version == version)
        connection.execute(judged.values(verdict="", gathered_at=None))
        split = (instrument_checks.c.audit_id == audit_id, instrument_checks.c.kind == "split")
        connection.execute(instrument_checks.delete().where(*split))
        connection.execute(watch_points.delete().where(watch_points.c.audit_id == audit_id))
        settled = confirmations.update().where(confirmations.c.audit_id == audit_id)
        connection.execute(settled.values(audit_id=None, verdict=None, made_at=None, rows=[]))

    def scores(self, audit_id: int, scoring_version: str | None = None) -> list[Score]:
        """Scores of an audit in their order, under its current scoring version unless another is named."""
        version = scoring_version or self._scoring_version(audit_id)
        query = (
            sa.select(score_table)
            .where(score_table.c.audit_id == audit_id, score_table.c.scoring_version == (version or ""))
            .order_by(score_table.c.position)
        )
        return [rows.score_from_row(row) for row in self._all(query)]

    def _scoring_version(self, audit_id: int) -> str | None:
        found = self._all(sa.select(audits.c.scoring_version).where(audits.c.id == audit_id))
        return found[0]["scoring_version"] if found else None

    def store_comparison(
        self,
        previous: Audit,
        current: Audit,
        *,
        scoring_version: str,
        policy: Mapping[str, Any],
        verdict: str,
        why: str,
        results: Sequence[Comparison],
        attempts: Mapping[int, int] | None = None,
    ) -> StoredComparison | None:
        """Store a judged comparison once per pair of audits, scoring version and policy; judged again, it is replaced.

        ``attempts`` : by audit, `attempts` of the answers that were compared. When others came meanwhile, nothing is stored,
        and the result is None.
        """
        key = {
            "previous_audit_id": previous.id,
            "current_audit_id": current.id,
            "scoring_version": scoring_version,
            "policy_hash": content_hash(policy),
        }
        with self._writing() as connection:
            if attempts is not None and not _answered_as(connection, attempts):
                return None
            same = [comparisons.c[name] == value for name, value in key.items()]
            found = connection.execute(sa.select(comparisons.c.id).where(*same)).scalar_one_or_none()
            values = key | {
                "family": current.release.family,
                "protocol": current.protocol,
                "policy": dict(policy),
                "verdict": verdict,
                "why": why,
                "made_at": self.clock(),
                "gathered_at": None,
            }
            if found is None:
                insert = comparisons.insert().values(**values).returning(comparisons.c.id)
                found = connection.execute(insert).scalar_one()
            else:
                connection.execute(comparisons.update().where(comparisons.c.id == found).values(**values))
                connection.execute(comparison_rows.delete().where(comparison_rows.c.comparison_id == found))
            if results:
                connection.execute(
                    comparison_rows.insert(),
                    [
                        rows.plain(result) | {"comparison_id": found, "position": position}
                        for position, result in enumerate(results)
                    ],
                )
            content = content_hash([scoring_version, verdict, why, [rows.plain(result) for result in results]])
            self._publish_comparison_later(connection, found, current.release.family, current.protocol, content)
        return self._comparisons(comparisons.c.id == found)[0]

    def comparisons(
        self, *, family: str | None = None, protocol: str | None = None, current: int | None = None
    ) -> list[StoredComparison]:
        """Stored comparisons that match, oldest first; without those that wait to be judged anew."""
        conditions = []
        if family is not None:
            conditions.append(comparisons.c.family == family)
        if protocol is not None:
            conditions.append(comparisons.c.protocol == protocol)
        if current is not None:
            conditions.append(comparisons.c.current_audit_id == current)
        return self._comparisons(*conditions)

    def comparison(self, comparison_id: int) -> StoredComparison | None:
        """The stored comparison of that id; None while it waits to be judged anew."""
        found = self._comparisons(comparisons.c.id == comparison_id)
        return found[0] if found else None

    def unjudged(self, audit_id: int) -> list[StoredComparison]:
        """Comparisons with an audit on either side that wait to be judged anew, for it has further answers."""
        either = sa.or_(comparisons.c.previous_audit_id == audit_id, comparisons.c.current_audit_id == audit_id)
        return self._comparisons(either, judged=False)

    def _comparisons(self, *conditions: sa.ColumnElement[bool], judged: bool = True) -> list[StoredComparison]:
        conditions = (*conditions, comparisons.c.verdict != "" if judged else comparisons.c.verdict == "")
        heads = self._all(sa.select(comparisons).where(*conditions).order_by(comparisons.c.id))
        query = (
            sa.select(comparison_rows)
            .join(comparisons, comparisons.c.id == comparison_rows.c.comparison_id)
            .where(*conditions)
            .order_by(comparison_rows.c.position)
        )
        by_comparison: dict[int, list[Comparison]] = {}
        for row in self._all(query):
            by_comparison.setdefault(row["comparison_id"], []).append(rows.comparison_from_row(row))
        return [
            StoredComparison(
                id=head["id"],
                family=head["family"],
                protocol=head["protocol"],
                previous_audit=head["previous_audit_id"],
                current_audit=head["current_audit_id"],
                scoring_version=head["scoring_version"],
                policy=head["policy"],
                verdict=head["verdict"],
                why=head["why"],
                rows=tuple(by_comparison.get(head["id"], [])),
                made_at=head["made_at"],
                run_id=head["run_id"],
            )
            for head in heads
        ]

    def fact(self, name: str) -> str:
        """A remembered text by its name; empty when there is none."""
        found = self._all(sa.select(facts.c.value).where(facts.c.name == _fact_name(name)))
        return str(found[0]["value"]) if found else ""

    def set_fact(self, name: str, value: str) -> None:
        """Remember a text under a name; an empty one is forgotten."""
        key = _fact_name(name)
        with self._writing() as connection:
            connection.execute(facts.delete().where(facts.c.name == key))
            if value:
                connection.execute(facts.insert().values(name=key, value=value))


def _answered_as(connection: Connection, attempts: Mapping[int, int]) -> bool:
    """Whether audits still have these answers, by `attempts`; a further answer of theirs waits for the end of the transaction."""
    mine = sa.select(audits.c.id).where(audits.c.id.in_(attempts)).order_by(audits.c.id)
    connection.execute(mine.with_for_update(key_share=True)).all()
    return all(connection.execute(sum_of_attempts(audit_id)).scalar_one() == n for audit_id, n in attempts.items())


def _fact_name(name: str) -> str:
    """The name, or its hash when it is longer than the column."""
    return name if len(name) <= 80 else content_hash(name)
