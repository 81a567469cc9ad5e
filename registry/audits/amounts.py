"""How many messages a design is asked for: from cells and repeats to requests, and from a number to cells and repeats."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from metrics.errors import BadInputError
from registry.audits.design import CONTEXT_RICH, STANDALONE, Cell, Design

MOST_REPEATS = 1000
MOST_STANDALONE_REPEATS = 25


@dataclasses.dataclass(frozen=True)
class Amounts:
    """What is asked of a design: some prompt cells of the context-rich mode, each cell so many times.

    The standalone mode has few prompt cells, all of which are asked; there only repeats can make up for that. So its
    cells are repeated until it has about as many messages as the context-rich mode, at most 25 times, at least ``repeats``.

    Parameters
    ----------
    cells : cells of both modes together; what is over after the last whole prompt cell is not asked
    repeats : messages a cell

    Raises
    ------
    BadInputError : for fewer cells than the standalone mode and one prompt cell have, or more than the design has

    Examples
    --------
    >>> from registry.audits.design import load_design
    >>> everything = Amounts(load_design(), 456, 5)
    >>> everything.contexts, everything.standalone_repeats, everything.size
    (55, 25, 2600)
    >>> small = Amounts(load_design(), 136, 1)
    >>> small.contexts, small.standalone_repeats, small.size
    (15, 8, 248)
    """

    design: Design
    cells: int
    repeats: int

    def __post_init__(self) -> None:
        everything, fewest = most_cells(self.design), fewest_cells(self.design)
        if not fewest <= self.cells <= everything:
            smallest = "the standalone mode" if STANDALONE in self.design.modes else "one prompt cell for all audiences"
            if len(self.design.modes) > 1:
                smallest += ", and one prompt cell of the other for all audiences"
            raise BadInputError(
                f"this design has {everything:,} cells: ask for at most that many, and at least {fewest:,} ({smallest}), not for "
                f"{self.cells:,}"
            )
        if not 1 <= self.repeats <= MOST_REPEATS:
            raise BadInputError(f"a cell is asked 1 to {MOST_REPEATS} times, not {self.repeats:,}")

    @property
    def contexts(self) -> int:
        """Prompt cells of the context-rich mode."""
        if CONTEXT_RICH not in self.design.modes:
            return 0
        return (self.cells - _standalone(self.design)) // self.design.audience_cells

    @property
    def standalone_repeats(self) -> int:
        """Messages a cell of the standalone mode."""
        if not self.contexts:
            return self.repeats
        even = round(self.contexts * self.repeats / len(self.design.prompt_cells(STANDALONE)))
        return max(self.repeats, min(even, MOST_STANDALONE_REPEATS))

    @property
    def size(self) -> int:
        """Messages in all."""
        standalone = _standalone(self.design) * self.standalone_repeats
        return standalone + self.contexts * self.design.audience_cells * self.repeats

    def requested(self) -> Iterator[tuple[Cell, int]]:
        """Each cell with the number of its repeat."""
        last = self.contexts * self.design.audience_cells
        if STANDALONE in self.design.modes:
            yield from ((cell, n) for cell in self.design.cells_of(STANDALONE) for n in range(self.standalone_repeats))
        yield from ((cell, n) for cell in self.design.cells_of(CONTEXT_RICH)[:last] for n in range(self.repeats))


def fewest_cells(design: Design) -> int:
    """Cells that the smallest audit of a design asks."""
    return _standalone(design) + (design.audience_cells if CONTEXT_RICH in design.modes else 0)


def amounts(design: Design, *, cells: int | None, repeats: int | None, size: int | None) -> Amounts:
    """What cells and repeats, or a number of messages, come to.

    ``size`` alone asks as many prompt cells as it reaches, and repeats only when all are asked: another prompt cell tells more
    than a repeat. The result may be smaller than ``size``, by what is over.
    """
    everything = most_cells(design)
    if size is None:
        return Amounts(design, everything if cells is None else cells, 5 if repeats is None else repeats)
    if cells is not None or repeats is not None:
        raise BadInputError("give either a number of messages, or cells and repeats")
    smallest = Amounts(design, fewest_cells(design), 1)
    if size < smallest.size:
        raise BadInputError(f"the smallest audit of this design asks for {smallest.size:,} messages, not {size:,}")
    whole = Amounts(design, everything, 1)
    if size < whole.size:
        possible = (
            Amounts(design, number, 1) for number in range(everything, smallest.cells - 1, -design.audience_cells)
        )
        return next(one for one in possible if one.size <= size)
    repeated = (Amounts(design, everything, number) for number in range(MOST_REPEATS, 0, -1))
    return next(one for one in repeated if one.size <= size)


def _standalone(design: Design) -> int:
    return len(design.cells_of(STANDALONE)) if STANDALONE in design.modes else 0


def most_cells(design: Design) -> int:
    """Cells of the modes that a design asks."""
    return sum(len(design.cells_of(mode)) for mode in design.modes)
