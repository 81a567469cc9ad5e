"""What moved in a judged comparison: made from the answers once, stored in the ledger, shown with examples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from dashboards.moved import Example, Moved, MovedCell, MovedEvent
from flows.scoring import read_answers
from flows.workspace import Workspace
from metrics.cells import CellChange, CommonTables, common_tables, moved_cells
from metrics.events import CategoryEvent, attribute_columns, category_events
from metrics.tables import BiasDimension, usable_records
from metrics.verdicts import Policy
from registry.ledger.evidence import Examples, Place, StoredCell, StoredEvent
from registry.ledger.values import StoredComparison

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

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
        dimension = next((dimension for dimension in self.dimensions if dimension.title == title), None)
        if dimension is None:
            return None
        return common_tables(*self.frames, dimension, names=self.names, policy=self.policy)


def _ground(workspace: Workspace, comparison: StoredComparison) -> _Ground | None:
    """None when nothing was measured, or when answers are read by other rules today than when it was made."""
    if all(row.delta is None for row in comparison.rows):
        return None
    protocol = workspace.protocol(comparison.protocol)
    frozen = workspace.ledger.name_list(comparison.family, comparison.protocol)
    names = frozen.names if frozen else ()
    if protocol.scoring_version(names) != comparison.scoring_version:
        return None
    audits = comparison.previous_audit, comparison.current_audit
    before, now = (read_answers(workspace, workspace.ledger.audit(audit)).frame for audit in audits)
    dimensions = tuple(d for d in protocol.dimensions() if {d.row, d.column} <= {*before.columns} & {*now.columns})
    policy = Policy.from_json(comparison.policy)
    return _Ground(audits=audits, frames=(before, now), dimensions=dimensions, names=names, policy=policy)


def gathered(workspace: Workspace, comparison: StoredComparison) -> tuple[list[StoredCell], list[StoredEvent]]:
    """Find what moved in a judged comparison and store it, with the places of examples.

    Cells are those of the dimensions that regressed or improved. New and vanished categories are found in every
    comparison that measured anything; they change no verdict.
    """
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
            cells += [StoredCell(cell, _cell_examples(ground, tables, cell)) for cell in shown]
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


def _cell_examples(ground: _Ground, tables: CommonTables, cell: CellChange) -> Examples:
    return _examples(ground, lambda frame: tables.records(frame, cell.row, cell.column))


def _event_examples(ground: _Ground, event: CategoryEvent) -> Examples:
    column = attribute_columns(ground.dimensions)[event.attribute]
    return _examples(ground, lambda frame: (frame[column] == event.category).fillna(False).to_numpy(dtype=bool))


def _examples(ground: _Ground, chosen: Callable[[pd.DataFrame], NDArray[np.bool_]]) -> Examples:
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
    """What moved in a comparison, with examples read from the answers now; found and stored when it is missing."""
    cells = workspace.ledger.moved_cells(comparison.id)
    events = workspace.ledger.category_events(comparison.id)
    if not cells and not events:
        cells, events = gathered(workspace, comparison)
    if not cells and not events:
        return Moved()
    ground = _ground(workspace, comparison)
    alpha = Policy.from_json(comparison.policy).alpha
    titles = dict.fromkeys(cell.change.dimension for cell in cells)
    tables = {title: ground.tables(title) for title in titles} if ground is not None else {}
    return Moved(
        cells=tuple(_moved_cell(ground, tables.get(cell.change.dimension), cell, alpha) for cell in cells),
        events=tuple(_moved_event(ground, event, alpha) for event in events),
    )


def _moved_cell(ground: _Ground | None, tables: CommonTables | None, stored: StoredCell, alpha: float) -> MovedCell:
    change = stored.change
    significant = change.qvalue is not None and change.qvalue <= alpha
    if ground is None or tables is None or change.column not in tables.previous.columns:
        return MovedCell(change=change, significant=significant)
    expected = tables.column_shares(change.column)
    previous, current = _read(ground, stored.examples)
    return MovedCell(
        change=change,
        significant=significant,
        expected_previous=expected[0],
        expected_current=expected[1],
        previous=previous,
        current=current,
    )


def _moved_event(ground: _Ground | None, stored: StoredEvent, alpha: float) -> MovedEvent:
    significant = stored.event.qvalue <= alpha
    if ground is None:
        return MovedEvent(event=stored.event, significant=significant)
    previous, current = _read(ground, stored.examples)
    return MovedEvent(event=stored.event, significant=significant, previous=previous, current=current)


def _read(ground: _Ground, examples: Examples) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """The examples of both releases, as answered."""
    sides = zip(ground.audits, ground.frames, (examples.previous, examples.current), strict=True)
    before, now = (tuple(_records(audit, frame, places)) for audit, frame, places in sides)
    return before, now


def _records(audit: int, frame: pd.DataFrame, places: Sequence[Place]) -> Iterable[Example]:
    answered = [str(name) for name in frame.columns if f"{name}_category" in frame.columns]
    for request, repeat, record in places:
        here = (frame["request"] == request) & (frame["index"] == record)
        if "repeat" in frame.columns:
            here &= frame["repeat"] == repeat
        for row in frame.loc[here, answered].head(1).to_dict("records"):
            attributes = {str(name): term for name, term in row.items() if isinstance(term, str)}
            yield Example(audit=audit, request=request, repeat=repeat, record=record, attributes=attributes)
