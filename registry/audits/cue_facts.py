"""What a reader should know of the people of an audit: notes of the cues, which names were taken, and how thin their cells are.

A cell is the names that count for one persona at one combination of held values. It is *thin* when it has few names, or when the mean ages
that put names there are known of few of their bearers (those born in the country). These facts stand in the plan and are no part of its key.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from registry.audits.cues import CUES, NAMES, Material, VariantSet
from registry.audits.names import Name, own_names
from registry.audits.personas import PersonaAxis

if TYPE_CHECKING:
    from registry.audits.plan import AuditPlan

FEW_NAMES, FEW_KNOWN = 10, 0.5
"""Below so many names, or a mean age known of a smaller share of bearers, a cell is called thin."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NameCell:
    """The names of one persona at one combination of held values.

    Parameters
    ----------
    names : how many count for it; known : share of their bearers whom the mean age is known of, None for names of one's own
    used : the names that the audit took, each with its own share
    """

    axis: str
    persona: str
    held: Mapping[str, str]
    names: int
    known: float | None
    used: tuple[tuple[str, float | None], ...]

    @property
    def thin(self) -> bool:
        """Whether a reader should be told."""
        return self.names < FEW_NAMES or (self.known is not None and self.known < FEW_KNOWN)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> NameCell:
        used = tuple((name, known) for name, known in values["used"])
        return cls(**{**values, "used": used})


def cue_facts(variant_sets: Sequence[VariantSet], axes: Sequence[PersonaAxis], material: Material) -> dict[str, Any]:
    """Facts of a design, as plain values for a plan: ``notes`` (cue, axis, text) and ``names`` (a `NameCell` each)."""
    notes = [[found.cue, found.axis, note] for found in variant_sets for note in found.notes]
    by_name = {axis.name: axis for axis in axes}
    cells: dict[tuple[str, str, tuple[tuple[str, str], ...]], NameCell] = {}
    for found in variant_sets:
        if CUES[found.cue].needs == NAMES:  # the same names in every place: told once
            for cell in _cells(found, by_name[found.axis], material):
                cells.setdefault((cell.axis, cell.persona, tuple(cell.held.items())), cell)
    names = [dataclasses.asdict(cell) | {"used": [list(one) for one in cell.used]} for cell in cells.values()]
    return {key: rows for key, rows in (("notes", notes), ("names", names)) if rows}


def _cells(found: VariantSet, axis: PersonaAxis, material: Material) -> list[NameCell]:
    own, cue = own_names(axis), CUES[found.cue]()
    values = {cue.label(persona): persona.values for persona in axis.personas}
    cells = []
    for label, variants in found.variants.items():
        for held in {tuple(one.held.items()): one.held for one in variants}.values():
            taken = [one.name for one in variants if one.held == held]
            if own:
                cells.append(_own_cell(axis, label, len(own[label]), taken))
                continue
            known = {name.text: name for name in material.name_table().cell({**values[label], **held})}
            cells.append(
                NameCell(
                    axis=axis.name,
                    persona=label,
                    held=dict(held),
                    names=len(known),
                    known=_share(list(known.values())),
                    used=tuple((name, _share([known[name]])) for name in taken),
                )
            )
    return cells


def _own_cell(axis: PersonaAxis, label: str, names: int, taken: Sequence[str]) -> NameCell:
    return NameCell(
        axis=axis.name, persona=label, held={}, names=names, known=None, used=tuple((name, None) for name in taken)
    )


def _share(names: Sequence[Name]) -> float:
    return round(sum(name.born_here for name in names) / sum(name.bearers for name in names), 4)


def name_cells(plan: AuditPlan) -> tuple[NameCell, ...]:
    """The cells of names of a plan, the thinnest first."""
    cells = [NameCell.from_json(values) for values in plan.facts.get("names", ())]
    return tuple(sorted(cells, key=lambda cell: (not cell.thin, cell.names, cell.known or 0.0)))


def notes_of(plan: AuditPlan) -> list[str]:
    """What cues say of their variants, each once; where one is of several cues or axes, with all of them."""
    told: dict[str, list[str]] = {}
    for cue, axis, note in plan.facts.get("notes", ()):
        told.setdefault(note, []).append(f"{cue}, {axis}")
    return [f"{note} ({'; '.join(places)})" for note, places in told.items()]


def cell_text(cell: NameCell) -> str:
    """A cell in words.

    >>> cell_text(
    ...     NameCell(axis="gender", persona="unisex", held={"age": "55+"}, names=3, known=0.124, used=(("Marion", 0.2),))
    ... )
    'unisex, age 55+: 3 names, mean age known of 12 % of their bearers; taken: Marion'
    """
    held = "".join(f", {name} {value}" for name, value in cell.held.items())
    known = "" if cell.known is None else f", mean age known of {100 * cell.known:.0f} % of their bearers"
    return f"{cell.persona}{held}: {cell.names} names{known}; taken: {', '.join(name for name, _ in cell.used)}"
