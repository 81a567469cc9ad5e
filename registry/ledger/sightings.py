"""Which versions of a family were seen, so that each new one is audited once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from registry.ledger.connection import patient
from registry.ledger.duties import Duties, QueuedRun
from registry.ledger.service_tables import duty_runs, sightings

_LOOK = 0  # in place of a version, which MLflow counts from 1: when the family was first looked at


class Sightings(Duties):
    """Versions that were seen, and the runs that follow from that."""

    def looked_at(self, family: str) -> str | None:
        """When a family was looked at for the first time since it is declared; None for never."""
        query = sa.select(sightings.c.seen_at).where(sightings.c.family == family, sightings.c.version == _LOOK)
        found = self._all(query)
        return str(found[0]["seen_at"]) if found else None

    @patient
    def look_at(self, family: str, now: str) -> None:
        """Note that a family was looked at: what comes from now on is new."""
        same = (sightings.c.family == family, sightings.c.version == _LOOK)
        with self._writing() as connection:
            connection.execute(sightings.delete().where(*same))
            row = {"family": family, "version": _LOOK, "seen_at": now}
            connection.execute(sightings.insert().values(**row))

    def sighted(self, family: str) -> set[int]:
        """Versions of a family that were seen already."""
        query = sa.select(sightings.c.version).where(sightings.c.family == family, sightings.c.version != _LOOK)
        return {int(row["version"]) for row in self._all(query)}

    @patient
    def sight(self, family: str, versions: Iterable[int], queued: Sequence[QueuedRun] = ()) -> list[int]:
        """Note versions that were seen, and in the same transaction the runs that follow from that.

        Returns the versions that are new. When none is, nothing is queued: another process saw them first.
        """
        with self._writing() as connection:
            new = []
            for version in versions:
                row = {"family": family, "version": version, "seen_at": self.clock()}
                if self._insert_new(connection, sightings, [row]):
                    new.append(version)
            if new and queued:
                self._insert_new(connection, duty_runs, [self._new_run(run) for run in queued])
        return new
