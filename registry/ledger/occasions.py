"""Audits at a glance: what lists and histories need of thousands of them, in one query each, without plans and answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import sqlalchemy as sa

from metrics.results import Score
from registry.audits.plan import OF_JUDGES
from registry.ledger import rows
from registry.ledger.connection import LedgerConnection
from registry.ledger.tables import audits, comparisons, requests, responses
from registry.ledger.tables import scores as score_table
from registry.ledger.values import Audit
from registry.releases import ModelRelease

T = TypeVar("T")
VARIANT = audits.c.plan[("options", "variant")].as_string()
"""Name of the prompt variant of an audit; NULL for the protocol's own prompt."""
_DERIVED = (
    VARIANT.label("variant"),
    audits.c.run_id.is_not(None).label("published"),
    audits.c.release["previous"].as_integer().label("previous"),
)
_AT_ONCE = 500  # values in one query; SQLite takes 32,766 in all, PostgreSQL 65,535
_OF_RELEASES = audits.c.protocol.not_in(OF_JUDGES)  # what a judge was asked is no audit of a release


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """One audit without what was asked: which release, when, and how far it is. Fields are those of `Audit`."""

    id: int
    family: str
    version: int
    protocol: str
    occasion: int
    source: str
    state: str
    ordered_at: str
    finished_at: str | None
    scoring_version: str | None
    published: bool
    previous: int | None = None  # the version that was declared to come before its release
    variant: str | None = None  # the prompt variant that it asked with; None is the protocol's own prompt

    @property
    def day(self) -> str:
        """The day it was finished, else ordered."""
        return (self.finished_at or self.ordered_at)[:10]

    @property
    def release(self) -> str:
        return f"models:/{self.family}/{self.version}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One stored comparison without its rows, and the version of the release that was compared with."""

    id: int
    previous: int
    current: int
    verdict: str
    made_at: str
    previous_version: int


class Occasions(LedgerConnection):
    """Reads of many audits at once."""

    def occasions(
        self,
        *,
        family: str | None = None,
        version: int | None = None,
        protocol: str | None = None,
        variants: bool = False,
    ) -> list[Occasion]:
        """Audits that match at a glance, oldest first; those that asked with a prompt variant only if ``variants``."""
        names = [field.name for field in dataclasses.fields(Occasion) if field.name in audits.c]
        wanted = {"family": family, "version": version, "protocol": protocol}
        query = sa.select(*[audits.c[name] for name in names], *_DERIVED)
        query = query.where(*[audits.c[name] == value for name, value in wanted.items() if value is not None])
        if protocol is None:
            query = query.where(_OF_RELEASES)
        if not variants:
            query = query.where(VARIANT.is_(None))
        return [Occasion(**row) for row in self._all(query.order_by(audits.c.id))]

    def audits_of(self, ids: Iterable[int]) -> dict[int, Audit]:
        """Audits by id."""
        found: dict[int, Audit] = {}
        for some in _in_parts(sorted(set(ids))):
            for row in self._all(sa.select(audits).where(audits.c.id.in_(some))):
                found[row["id"]] = rows.audit_from_row(row)
        return found

    def audited_releases(self) -> list[ModelRelease]:
        """Every release that was audited, as its newest audit has it, by family and version."""
        newest = sa.select(sa.func.max(audits.c.id)).where(_OF_RELEASES).group_by(audits.c.family, audits.c.version)
        query = sa.select(audits.c.release).where(audits.c.id.in_(newest)).order_by(audits.c.family, audits.c.version)
        return [ModelRelease(**row["release"]) for row in self._all(query)]

    def newest_audit(self, family: str, version: int) -> Audit | None:
        """The newest audit of a release, of any protocol; None for a release that was never audited."""
        query = sa.select(audits).where(audits.c.family == family, audits.c.version == version)
        found = self._all(query.order_by(audits.c.id.desc()).limit(1))
        return rows.audit_from_row(found[0]) if found else None

    def versions(self, family: str) -> list[int]:
        """Versions of a family that were audited, in order."""
        query = sa.select(audits.c.version).distinct().where(audits.c.family == family, _OF_RELEASES)
        return sorted(row["version"] for row in self._all(query))

    def protocols(self, family: str, versions: Collection[int] | None = None) -> list[str]:
        """Names of the protocols that releases of a family were audited with."""
        query = sa.select(audits.c.protocol).distinct().where(audits.c.family == family, _OF_RELEASES)
        if versions is not None:
            query = query.where(audits.c.version.in_(sorted(versions)))
        return sorted(row["protocol"] for row in self._all(query))

    def unscored(self, family: str, protocol: str, scoring_version: str | None) -> list[int]:
        """Ids of finished audits without scores of their answers, or with those of another scoring version than the one given."""
        known = sa.func.coalesce(audits.c.scoring_version, "")
        stale = known == "" if scoring_version is None else known != scoring_version
        mine = (audits.c.family == family, audits.c.protocol == protocol, audits.c.state != "open")
        query = sa.select(audits.c.id).where(*mine, stale).order_by(audits.c.id)
        return [row["id"] for row in self._all(query)]

    def scores_of(self, ids: Iterable[int], metrics: Collection[str] | None = None) -> dict[int, list[Score]]:
        """Scores of many audits, each under its current scoring version and in its order; of some metrics only when named."""
        found: dict[int, list[Score]] = {}
        current = sa.and_(
            score_table.c.audit_id == audits.c.id, score_table.c.scoring_version == audits.c.scoring_version
        )
        for some in _in_parts(sorted(set(ids))):
            query = sa.select(score_table).join(audits, current).where(audits.c.id.in_(some))
            if metrics is not None:
                query = query.where(score_table.c.metric.in_(sorted(metrics)))
            for row in self._all(query.order_by(score_table.c.audit_id, score_table.c.position)):
                found.setdefault(row["audit_id"], []).append(rows.score_from_row(row))
        return found

    def judgements(
        self, *, family: str | None = None, protocol: str | None = None, current: Iterable[int] | None = None
    ) -> list[Judgement]:
        """Stored comparisons without their rows, oldest first; without those that wait to be judged anew."""
        columns = {"id": "id", "previous": "previous_audit_id", "current": "current_audit_id"}
        columns |= {name: name for name in ("verdict", "made_at")}
        labelled = [comparisons.c[column].label(name) for name, column in columns.items()]
        query = sa.select(*labelled, audits.c.version.label("previous_version"))
        query = query.join_from(comparisons, audits, audits.c.id == comparisons.c.previous_audit_id)
        query = query.where(comparisons.c.verdict != "")
        wanted = {"family": family, "protocol": protocol}
        query = query.where(*[comparisons.c[name] == value for name, value in wanted.items() if value is not None])
        if current is None:
            return [Judgement(**row) for row in self._all(query.order_by(comparisons.c.id))]
        parts = _in_parts(sorted(set(current)))
        found = [row for some in parts for row in self._all(query.where(comparisons.c.current_audit_id.in_(some)))]
        return sorted((Judgement(**row) for row in found), key=lambda one: one.id)

    def progress_of_all(self) -> Mapping[int, tuple[int, int]]:
        """For every audit, its requests that have an answer or a recorded failure, and requests in all."""
        answered = sa.select(responses.c.audit_id, responses.c.index, responses.c.repeat).distinct().subquery()
        of_answers = sa.select(answered.c.audit_id, sa.func.count().label("n")).group_by(answered.c.audit_id)
        of_requests = sa.select(requests.c.audit_id, sa.func.count().label("n")).group_by(requests.c.audit_id)
        done = {row["audit_id"]: row["n"] for row in self._all(of_answers)}
        return {row["audit_id"]: (done.get(row["audit_id"], 0), row["n"]) for row in self._all(of_requests)}


def _in_parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
