"""What an audit of persona cues asked, in words: tasks, personas, cues, what fills them, and what nothing fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.blocks import Block, Bullets, Cell, Paragraph, Table
from dashboards.cells import MOST_ROWS
from dashboards.phrases import count_text, missing_text, percent_text, visible
from registry.audits.cue_facts import FEW_KNOWN, FEW_NAMES, NameCell, name_cells, notes_of
from registry.audits.plan import AuditPlan

CUE_DESIGN = ("tasks", "axes", "cues", "material", "missing", "paper")
"""Options of a plan that `cue_design_facts` tells."""


def cue_design_facts(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a plan of persona cues crosses, in lines of words; empty for another plan.

    >>> cue_design_facts({"per_call": 20})
    []
    >>> axis = {"name": "gender", "personas": [["male", "male"], ["non-binary", "unisex"]], "held": [{"age": "55+"}]}
    >>> facts = cue_design_facts({"tasks": [["salary", "1", "9f"]], "axes": [axis], "cues": ["name-user"], "paper": False})
    >>> facts[0], facts[1]
    (('tasks', 'salary (version 1, questions 9f)'), ('axis gender', 'male; non-binary (unisex by name)'))
    >>> facts[2:]
    [('held constant over gender', 'age 55+'), ('cues', 'name-user'), ('wordings and readers', "the project's own")]
    """
    tasks, axes, cues = (options.get(name) for name in ("tasks", "axes", "cues"))
    if not all(isinstance(part, Sequence) and not isinstance(part, str) for part in (tasks, axes, cues)):
        return []
    told = [f"{name} (version {version}, questions {digest})" for name, version, digest in tasks or ()]
    facts = [("tasks", "; ".join(told))]
    for axis in axes or ():
        named = [one if one == by_name else f"{one} ({by_name} by name)" for one, by_name in axis["personas"]]
        facts.append((f"axis {axis['name']}", "; ".join(named)))
        facts.append((f"held constant over {axis['name']}", "; ".join(map(_held_text, axis["held"]))))
    facts.append(("cues", "; ".join(map(str, cues or ()))))
    facts += [
        (f"what fills {name}", f"version {version}") for name, version in dict(options.get("material", {})).items()
    ]
    facts.append(
        ("wordings and readers", "as the paper's code has them" if options.get("paper") else "the project's own")
    )
    return facts


def _held_text(held: Any) -> str:
    """Values held constant, in words."""
    pairs = held.items() if isinstance(held, Mapping) else ()
    return ", ".join(f"{name} {value}" for name, value in pairs)


def not_asked(options: Mapping[str, Any]) -> tuple[Block, ...]:
    """What of the design there was nothing to fill a cue with, as the plan says it."""
    missing = options.get("missing", ())
    told = [_missing_text(row) for row in missing if isinstance(row, Sequence) and len(row) == 5]
    if not told:
        return ()
    rest = len(told) - MOST_ROWS
    more = f"; {count_text(rest)} more are in the JSON form of this card" if rest > 0 else ""
    return (Paragraph(f"Not asked, because nothing fills the cue{more}:"), Bullets(tuple(told[:MOST_ROWS])))


def _missing_text(row: Sequence[Any]) -> str:
    cue, axis, persona, held, reason = row
    at = _held_text(held)
    where = f"{visible(str(cue))}, {visible(str(axis))} {visible(str(persona))}{f' at {visible(at)}' if at else ''}"
    return f"{where}: {missing_text(str(reason))}"


def who_asked(plan: AuditPlan) -> tuple[Block, ...]:
    """What the cues say of their variants, and the names that were taken with how thin their cells are, the thinnest first."""
    notes, cells = notes_of(plan), name_cells(plan)
    blocks: list[Block] = []
    if notes:
        blocks += [
            Paragraph("Of what fills the cues:"),
            Bullets(tuple(visible(note, limit=400) for note in notes[:MOST_ROWS])),
        ]
    if cells:
        blocks.append(_name_table(cells))
    return tuple(blocks)


def _name_table(cells: Sequence[NameCell]) -> Table:
    thin = sum(cell.thin for cell in cells)
    told = (
        f"{count_text(thin)} of {count_text(len(cells))} cells are thin: fewer than {FEW_NAMES} names count for them, or the mean age that puts "
        f"names there is known of less than {percent_text(FEW_KNOWN)} of the people who bear them, those born in the United States. What such a "
        "cell shows may be about these few names."
    )
    rest = len(cells) - MOST_ROWS
    more = (f"{count_text(rest)} more cells are in the JSON form of this card.",) if rest > 0 else ()
    rows = tuple(_name_row(cell) for cell in cells[:MOST_ROWS])
    head = ("Persona", "Held constant", "Names in the cell", "Age known of", "Names taken")
    return Table("cue-names", "Names that were taken, and how thin their cells are", head, rows, (told, *more))


def _name_row(cell: NameCell) -> tuple[Cell, ...]:
    known = (
        Cell("names of one's own", kind="missing")
        if cell.known is None
        else Cell(percent_text(cell.known), numeric=True)
    )
    return (
        Cell(visible(f"{cell.axis}: {cell.persona}")),
        Cell(visible(_held_text(cell.held) or "nothing")),
        Cell(count_text(cell.names), numeric=True),
        known,
        Cell(visible(", ".join(name for name, _ in cell.used), limit=400)),
    )
