"""Names and conversations shared out evenly: each persona of an axis at the same combinations of held values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd
from typing import TypeVar

from registry.audits.cues import Missing
from registry.audits.personas import Persona, PersonaAxis

T = TypeVar("T")

# Of the five combinations, as random.Random(13).sample(range(5), 5) draws them in the paper's code.
PAPER_ORDER = (2, 4, 3, 0, 1)


def shared_out(
    axis: PersonaAxis,
    held: Sequence[Mapping[str, str]],
    found: Callable[[Persona, Mapping[str, str]], Sequence[T]],
    count: int,
    *,
    what: str,
    called: Callable[[Persona], str],
) -> tuple[list[tuple[Mapping[str, str], dict[str, T]]], list[Missing]]:
    """``count`` rows of one filler for each persona, taken in turn from the combinations where every persona has some.

    A persona that has nothing anywhere is not measurable. A combination at which one of the others has nothing is left out
    for all of them: else that persona would be compared at other ages or races than the rest.

    Parameters
    ----------
    held : combinations in order; found : the fillers of a persona at one; what : "name", for the reasons
    called : a persona's label under the cue

    Returns
    -------
    rows of (held values, label -> filler), as many as there are; and what is missing
    """
    labels = [called(persona) for persona in axis.personas]
    cells = {
        (label, at): found(persona, row)
        for label, persona in zip(labels, axis.personas, strict=True)
        for at, row in enumerate(held)
    }
    places = range(len(held))
    asked = [label for label in labels if any(cells[label, at] for at in places)]
    missing = _missing(cells, labels, asked, held, what)
    depth = [min((len(cells[label, at]) for label in asked), default=0) for at in places]
    if len(asked) < 2 or not any(depth):
        return [], missing
    rows: list[tuple[Mapping[str, str], dict[str, T]]] = []
    for taken in range(max(depth)):
        for at in places:
            if taken < depth[at] and len(rows) < count:
                rows.append((held[at], {label: cells[label, at][taken] for label in asked}))
    return rows, missing


def _missing(
    cells: Mapping[tuple[str, int], Sequence[object]],
    labels: Sequence[str],
    asked: Sequence[str],
    held: Sequence[Mapping[str, str]],
    what: str,
) -> list[Missing]:
    nowhere = [
        Missing(label, {}, f"no {what} for {label} at any of the {len(held)} combinations of held values")
        for label in labels
        if label not in asked
    ]
    return nowhere + [
        Missing(label, row, f"no {what} for {label}, {_said(row)}")
        for at, row in enumerate(held)
        for label in asked
        if not cells[label, at]
    ]


def wording_at(number: int, combinations: int, wordings: int) -> int:
    """The wording of a variant such that in time each wording meets each combination of held values.

    >>> [[wording_at(row * 5 + at, 5, 5) for at in range(5)] for row in range(3)]
    [[0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [2, 3, 4, 0, 1]]
    """
    if gcd(combinations, wordings) == 1:
        return number % wordings
    return (number + number // combinations) % wordings


def _said(held: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in held.items()) or "nothing held constant"
