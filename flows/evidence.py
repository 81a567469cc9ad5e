"""What moved in a judged comparison: made from the answers once, stored in the ledger, shown with examples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dashboards.moved import Example, Moved, MovedCell, MovedEvent
from flows.scoring import read_answers
from flows.workspace import Workspace
from metrics.moves import BiasDimension, CategoryEvent, CellChange
from metrics.policy import Policy
from registry.audits.plan import Outcome
from registry.ledger.evidence import Examples, Place, StoredCell, StoredEvent
from registry.ledger.values import StoredComparison

if TYPE_CHECKING:  # needed only to find what moved; what is stored is shown without a numerical library
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from metrics.cells import CommonTables

CHANGED = ("regressed", "improved")
MOST_CELLS = 5  # of a changed dimension: those with q <= alpha
FEWEST_CELLS = 3  # of a changed dimension: filled up with the largest of the others, which are marked
EXAMPLES = 2  # of each release


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ground:
    """What a comparison was made on, as its answers are read today."""

    audits: tuple[int, int]
    frames: tuple[pd.DataFrame, pd.DataFrame]
    dimensions: tuple[BiasDimension, ...]
    names: tuple[str, ...]
    policy: Policy

    def tables(self, title: str) -> CommonTables | None:
        """The tables of a dimension, as they were compared; None when it cannot be measured."""
        from metrics.cells import common_tables

        dimension = next((dimension for dimension in self.dimensions if dimension.title == title), None)
        if dimension is None:
            return None
        return common_tables(*self.frames, dimension, names=self.names, policy=self.policy)


def _ground(workspace: Workspace, comparison: StoredComparison) -> _Ground | None:
    """None when nothing was measured or could be a cell, or when answers are read by other rules today than when it was made."""
    protocol = workspace.protocol(comparison.protocol)
    if not protocol.categories or all(row.delta is None for row in comparison.rows):
        return None
    if not _read_alike(workspace, comparison):
        return None
    audits = comparison.previous_audit, comparison.current_audit
    before, now = (read_answers(workspace, workspace.ledger.audit(audit)).frame for audit in audits)
    dimensions = tuple(d for d in protocol.dimensions() if {d.row, d.column} <= {*before.columns} & {*now.columns})
    policy = Policy.from_json(comparison.policy)
    names = _names(workspace, comparison)
    return _Ground(audits=audits, frames=(before, now), dimensions=dimensions, names=names, policy=policy)


def _names(workspace: Workspace, comparison: StoredComparison) -> tuple[str, ...]:
    frozen = workspace.ledger.name_list(comparison.family, comparison.protocol)
    return frozen.names if frozen else ()


def _read_alike(workspace: Workspace, comparison: StoredComparison) -> bool:
    """Whether answers are read by the same rules today as when a comparison was made."""
    version: str = workspace.protocol(comparison.protocol).scoring_version(_names(workspace, comparison))
    return version == comparison.scoring_version


def gathered(workspace: Workspace, comparison: StoredComparison) -> tuple[list[StoredCell], list[StoredEvent]]:
    """Find what moved in a judged comparison and store it, with the places of examples.

    Cells are those of the dimensions that regressed or improved. New and vanished categories are found in every
    comparison that measured anything; they change no verdict.
    """
    from metrics.cells import moved_cells
    from metrics.events import category_events

    ground = _ground(workspace, comparison)
    if ground is None:
        return [], []
    changed = {row.dimension for row in comparison.rows if row.verdict in CHANGED}
    dimensions = [dimension for dimension in ground.dimensions if dimension.title in changed]
    found = moved_cells(*ground.frames, dimensions, names=ground.names, policy=ground.policy)
    cells = []
    for dimension in dimensions:
        own = [cell for cell in found if cell.dimension == dimension.title]
        tables = ground.tables(dimension.title)
        if tables is not None:
            shown = shown_cells(own, ground.policy.alpha)
            cells += [_stored(ground, tables, cell) for cell in shown]
    events = [
        StoredEvent(event, _event_examples(ground, event))
        for event in category_events(*ground.frames, ground.dimensions, policy=ground.policy)
    ]
    workspace.ledger.store_evidence(comparison.id, cells, events)
    return cells, events


def shown_cells(cells: Sequence[CellChange], alpha: float) -> list[CellChange]:
    """Those of a dimension's cells that are kept: the largest with q <= alpha, filled up with the largest others."""
    significant = [cell for cell in cells if cell.qvalue is not None and cell.qvalue <= alpha][:MOST_CELLS]
    others = [cell for cell in cells if cell not in significant]
    return significant + others[: max(0, FEWEST_CELLS - len(significant))]


def _stored(ground: _Ground, tables: CommonTables, cell: CellChange) -> StoredCell:
    expected = tables.column_shares(cell.column)
    examples = _examples(ground, lambda frame: tables.records(frame, cell.row, cell.column))
    return StoredCell(cell, examples, expected_previous=expected[0], expected_current=expected[1])


def _event_examples(ground: _Ground, event: CategoryEvent) -> Examples:
    from metrics.events import attribute_columns

    column = attribute_columns(ground.dimensions)[event.attribute]
    return _examples(ground, lambda frame: (frame[column] == event.category).fillna(False).to_numpy(dtype=bool))


def _examples(ground: _Ground, chosen: Callable[[pd.DataFrame], NDArray[np.bool_]]) -> Examples:
    from metrics.tables import usable_records

    before, now = (_places(frame, chosen(frame) & usable_records(frame)) for frame in ground.frames)
    return Examples(previous=before, current=now)


def _places(frame: pd.DataFrame, chosen: NDArray[np.bool_]) -> tuple[Place, ...]:
    """The first records in the order of the answers, from as many requests as there are."""
    found = frame[chosen].sort_values(["request", "index"], kind="stable")
    again = found.duplicated("request")  # a second record of a request comes after the first of every other
    first = found[~again].head(EXAMPLES)
    taken = first if len(first) == EXAMPLES else found.loc[[*first.index, *found[again].index[: EXAMPLES - len(first)]]]
    repeats = taken["repeat"] if "repeat" in taken.columns else [0] * len(taken)
    return tuple(
        (int(request), int(repeat), int(index))
        for request, repeat, index in zip(taken["request"], repeats, taken["index"], strict=True)
    )


def moved(workspace: Workspace, comparison: StoredComparison) -> Moved:
    """What moved in a comparison, with the examples read from their answers now; found and stored when it was not yet."""
    if not workspace.ledger.is_gathered(comparison.id):
        gathered(workspace, comparison)
    cells = workspace.ledger.moved_cells(comparison.id)
    events = workspace.ledger.category_events(comparison.id)
    if not cells and not events:
        return Moved()
    alike = _read_alike(workspace, comparison)
    examples = [*(cell.examples for cell in cells), *(event.examples for event in events)]
    shown = _shown(workspace, comparison, examples) if alike else None
    alpha = Policy.from_json(comparison.policy).alpha
    return Moved(
        cells=tuple(_moved_cell(cell, alpha, shown) for cell in cells),
        events=tuple(_moved_event(event, alpha, shown) for event in events),
    )


_Shown = dict[tuple[str, Place], Example]


def _moved_cell(stored: StoredCell, alpha: float, shown: _Shown | None) -> MovedCell:
    change = stored.change
    significant = change.qvalue is not None and change.qvalue <= alpha
    if shown is None:
        return MovedCell(change=change, significant=significant)
    return MovedCell(
        change=change,
        significant=significant,
        expected_previous=stored.expected_previous,
        expected_current=stored.expected_current,
        previous=_those_of("previous", stored.examples.previous, shown),
        current=_those_of("current", stored.examples.current, shown),
    )


def _moved_event(stored: StoredEvent, alpha: float, shown: _Shown | None) -> MovedEvent:
    significant = stored.event.qvalue <= alpha
    if shown is None:
        return MovedEvent(event=stored.event, significant=significant)
    return MovedEvent(
        event=stored.event,
        significant=significant,
        previous=_those_of("previous", stored.examples.previous, shown),
        current=_those_of("current", stored.examples.current, shown),
    )


def _those_of(side: str, places: Sequence[Place], shown: _Shown) -> tuple[Example, ...]:
    return tuple(shown[side, place] for place in places if (side, place) in shown)


def _shown(workspace: Workspace, comparison: StoredComparison, examples: Sequence[Examples]) -> _Shown:
    """The examples as answered. Only the answers that hold one are read."""
    protocol = workspace.protocol(comparison.protocol)
    shown: _Shown = {}
    for side, audit in (("previous", comparison.previous_audit), ("current", comparison.current_audit)):
        places: set[Place] = {place for found in examples for place in getattr(found, side)}
        for request, response in workspace.ledger.answers_at(audit, {place[:2] for place in places}):
            for record in protocol.records(request, response):
                place = (request.index, request.repeat, record.index)
                if place in places and record.outcome is Outcome.OK:
                    shown[side, place] = Example(
                        audit=audit,
                        request=request.index,
                        repeat=request.repeat,
                        record=record.index,
                        attributes={name: term for name, term in record.attributes.items() if isinstance(term, str)},
                    )
    return shown
