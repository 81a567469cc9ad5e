"""What an audit of persona cues asked, in words: tasks, personas, cues, what fills them, and what nothing fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.blocks import Block, Bullets, Paragraph
from dashboards.cells import MOST_ROWS
from dashboards.phrases import count_text, missing_text, visible

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
