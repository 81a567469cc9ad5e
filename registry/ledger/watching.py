"""Watches over the recurring audits of one release: what their baseline is, what each audit showed, what was confirmed.

The state of a watch is a function of the stored points in the order of their audits, so a missed or late audit changes
nothing, and one that is looked at twice is stored once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from metrics.results import Comparison
from registry.ledger import rows
from registry.ledger.connection import LedgerConnection
from registry.ledger.tables import audits, confirmations, watch_points, watches


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """One release, protocol, question, reading and size that is watched over.

    ``episode`` : 0, 1, ...; a settled alarm begins the next one. ``baseline`` : ids of its audits; ``vocabulary`` : what they
    count, by dimension
    """

    id: int
    family: str
    version: int
    protocol: str
    collection_key: str
    scoring_version: str
    size: int
    episode: int
    baseline: tuple[int, ...]
    vocabulary: Mapping[str, Any]
    made_at: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchPoint:
    """What one audit showed of one dimension, in the vocabulary of the watch's baseline."""

    audit: int
    dimension: str
    estimate: float | None
    variance: float | None
    n: int
    n_clusters: int
    reason: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The full audit that an alarm asks for before anybody is paged; ``audit`` and ``verdict`` are None while it is wanted."""

    watch: int
    alarm_audit: int
    audit: int | None
    verdict: str | None
    why: str
    asked_at: str
    made_at: str | None
    rows: tuple[Mapping[str, Any], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchKey:
    """What makes a watch one: fields of `Watch`."""

    family: str
    version: int
    protocol: str
    collection_key: str
    scoring_version: str
    size: int
    episode: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchPace:
    """How often a watch looks: its newest episode, its audits, and when the first and the newest were finished."""

    episode: int
    audits: int
    first: str | None
    newest: str | None


class Watches(LedgerConnection):
    """Reads and writes of watches."""

    def watch(self, key: WatchKey) -> Watch | None:
        """The watch over a release, or None before its baseline is complete."""
        found = self._all(sa.select(watches).where(*_same(dataclasses.asdict(key))))
        return _watch(found[0]) if found else None

    def watches(self, **wanted: Any) -> list[Watch]:
        """The watches that match fields of `WatchKey`, oldest first."""
        return [_watch(row) for row in self._all(sa.select(watches).where(*_same(wanted)).order_by(watches.c.id))]

    def begin_watch(self, key: WatchKey, *, baseline: Sequence[int], vocabulary: Mapping[str, Any]) -> Watch:
        """Store a watch with its baseline; it is written once, and another process's is taken when it came first."""
        values = {"baseline": list(baseline), "vocabulary": dict(vocabulary), "made_at": self.clock()}
        try:
            with self._writing() as connection:
                connection.execute(watches.insert().values(**dataclasses.asdict(key), **values))
        except sa.exc.IntegrityError:
            pass
        found = self.watch(key)
        if found is None:
            raise RuntimeError("a watch was stored and is not there")
        return found

    def watch_paces(self) -> list[WatchPace]:
        """How often each watched release is looked at, by its newest episode; one query for all."""
        seen = sa.select(watch_points.c.watch_id, watch_points.c.audit_id).distinct().subquery()
        times = sa.func.min(audits.c.finished_at), sa.func.max(audits.c.finished_at)
        query = (
            sa.select(
                *[watches.c[name] for name in (*_SERIES, "episode", "id")],
                sa.func.count(audits.c.finished_at).label("audits"),
                times[0].label("first"),
                times[1].label("newest"),
            )
            .select_from(watches.outerjoin(seen, seen.c.watch_id == watches.c.id))
            .outerjoin(audits, audits.c.id == seen.c.audit_id)
            .group_by(*[watches.c[name] for name in (*_SERIES, "episode", "id")])
            .order_by(watches.c.id)
        )
        newest = {tuple(row[name] for name in _SERIES): row for row in self._all(query)}
        return [
            WatchPace(episode=row["episode"], audits=row["audits"], first=row["first"], newest=row["newest"])
            for row in newest.values()
        ]

    def store_points(self, watch_id: int, audit_id: int, points: Sequence[WatchPoint]) -> None:
        """Store what an audit showed, in place of what was stored of it."""
        with self._writing() as connection:
            same = (watch_points.c.watch_id == watch_id, watch_points.c.audit_id == audit_id)
            connection.execute(watch_points.delete().where(*same))
            values = [dataclasses.asdict(point) | {"watch_id": watch_id, "audit_id": audit_id} for point in points]
            for row in values:
                del row["audit"]
            connection.execute(watch_points.insert(), values)

    def points(self, watch_id: int) -> dict[int, list[WatchPoint]]:
        """Stored points by audit, oldest audit first."""
        query = sa.select(watch_points).where(watch_points.c.watch_id == watch_id).order_by(watch_points.c.audit_id)
        found: dict[int, list[WatchPoint]] = {}
        for row in self._all(query):
            values = {name: value for name, value in row.items() if name not in {"watch_id", "audit_id"}}
            found.setdefault(row["audit_id"], []).append(WatchPoint(audit=row["audit_id"], **values))
        return found

    def ask_confirmation(self, watch_id: int, alarm_audit: int, why: str) -> Confirmation:
        """Ask for the full audit that an alarm needs; asked twice, it is one."""
        values = {"watch_id": watch_id, "alarm_audit_id": alarm_audit, "why": why, "asked_at": self.clock(), "rows": []}
        try:
            with self._writing() as connection:
                connection.execute(confirmations.insert().values(**values))
        except sa.exc.IntegrityError:
            pass
        return next(c for c in self.confirmations(watch_id) if c.alarm_audit == alarm_audit)

    def settle_confirmation(
        self, watch_id: int, alarm_audit: int, *, audit: int, verdict: str, why: str, results: Sequence[Comparison]
    ) -> None:
        """Store what the full audit gave, compared with the pooled baseline."""
        same = (confirmations.c.watch_id == watch_id, confirmations.c.alarm_audit_id == alarm_audit)
        with self._writing() as connection:
            connection.execute(
                confirmations.update()
                .where(*same)
                .values(
                    audit_id=audit,
                    verdict=verdict,
                    why=why,
                    rows=[rows.plain(result) for result in results],
                    made_at=self.clock(),
                )
            )

    def confirmations(self, watch_id: int) -> list[Confirmation]:
        """What alarms of a watch asked for, oldest first."""
        query = sa.select(confirmations).where(confirmations.c.watch_id == watch_id).order_by(confirmations.c.id)
        return [
            Confirmation(
                watch=row["watch_id"],
                alarm_audit=row["alarm_audit_id"],
                audit=row["audit_id"],
                verdict=row["verdict"],
                why=row["why"],
                asked_at=row["asked_at"],
                made_at=row["made_at"],
                rows=tuple(row["rows"]),
            )
            for row in self._all(query)
        ]


_SERIES = ("family", "version", "protocol", "collection_key", "size")


def _same(wanted: Mapping[str, Any]) -> list[sa.ColumnElement[bool]]:
    return [watches.c[name] == value for name, value in wanted.items()]


def _watch(row: Mapping[str, Any]) -> Watch:
    return Watch(**{name: value for name, value in row.items() if name != "baseline"}, baseline=tuple(row["baseline"]))
