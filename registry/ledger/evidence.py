"""What moved in a judged comparison, kept beside it: cells, new and vanished categories, and where examples are.

Only the places of examples are stored, never a word of the answers: those are in the ledger once, and are read again
whenever an example is shown.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from metrics.cells import CellChange
from metrics.events import CategoryEvent
from registry.audits.plan import content_hash
from registry.ledger.connection import LedgerConnection
from registry.ledger.tables import comparison_cells, comparison_events

Place = tuple[int, int, int]
"""Where a record is in the answers of an audit: index and repeat of its request, and its place in the answer."""

_LONGEST_LABEL = 250


@dataclasses.dataclass(frozen=True, slots=True)
class Examples:
    """Places of example records in the previous and in the current audit."""

    previous: tuple[Place, ...] = ()
    current: tuple[Place, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class StoredCell:
    """A cell that moved, with the places of its examples."""

    change: CellChange
    examples: Examples = Examples()


@dataclasses.dataclass(frozen=True, slots=True)
class StoredEvent:
    """A new or vanished category, with the places of its examples."""

    event: CategoryEvent
    examples: Examples = Examples()


class Evidence(LedgerConnection):
    """Reads and writes of what moved in a comparison; all of it can be made again from the answers."""

    def store_evidence(self, comparison_id: int, cells: Sequence[StoredCell], events: Sequence[StoredEvent]) -> None:
        """Store what moved in a comparison, in order, replacing what was stored of it before."""
        with self._writing() as connection:
            for table, found in (
                (comparison_cells, [_values(cell.change, cell.examples, ("row", "column")) for cell in cells]),
                (comparison_events, [_values(event.event, event.examples, ("category",)) for event in events]),
            ):
                connection.execute(table.delete().where(table.c.comparison_id == comparison_id))
                if found:
                    placed = {"comparison_id": comparison_id}
                    connection.execute(
                        table.insert(), [row | placed | {"position": position} for position, row in enumerate(found)]
                    )

    def moved_cells(self, comparison_id: int) -> list[StoredCell]:
        """The stored cells of a comparison, in order; none when nothing was stored."""
        found = self._evidence(comparison_cells, comparison_id)
        return [StoredCell(CellChange(**_named(CellChange, row)), _examples(row)) for row in found]

    def category_events(self, comparison_id: int) -> list[StoredEvent]:
        """The stored events of a comparison, in order; none when nothing was stored."""
        found = self._evidence(comparison_events, comparison_id)
        return [StoredEvent(CategoryEvent(**_named(CategoryEvent, row)), _examples(row)) for row in found]

    def _evidence(self, table: sa.Table, comparison_id: int) -> list[dict[str, Any]]:
        return self._all(sa.select(table).where(table.c.comparison_id == comparison_id).order_by(table.c.position))


def storable_label(label: str) -> str:
    """A category's label as its column can hold it: a longer one is cut, and told apart by a hash of all of it.

    >>> storable_label("Healthcare"), len(storable_label("x" * 400))
    ('Healthcare', 250)
    """
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 17]}…{content_hash(label)}"


def _values(found: CellChange | CategoryEvent, examples: Examples, labels: Sequence[str]) -> dict[str, Any]:
    row = dataclasses.asdict(found)
    row |= {name: storable_label(row[name]) for name in labels}
    return row | {"examples": {side: [list(place) for place in getattr(examples, side)] for side in _SIDES}}


_SIDES = ("previous", "current")


def _examples(row: Mapping[str, Any]) -> Examples:
    return Examples(**{side: tuple((int(i), int(r), int(n)) for i, r, n in row["examples"][side]) for side in _SIDES})


def _named(kind: type[CellChange] | type[CategoryEvent], row: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: row[field.name] for field in dataclasses.fields(kind)}
