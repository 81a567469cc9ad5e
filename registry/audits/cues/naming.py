"""Names: a first name that goes with a persona, the other attributes held constant."""

from __future__ import annotations

from typing import ClassVar

from registry.audits.cues import NAMES, Cue, Material, Variant, VariantSet
from registry.audits.cues.balance import PAPER_ORDER, shared_out, wording_at
from registry.audits.names import check_names_of
from registry.audits.personas import PersonaAxis


class NameCue(Cue):
    """A cue that says a first name. The same seed takes the same names in every place, so that places can be compared."""

    explicitness = 2
    validity = 2
    needs = NAMES
    wordings: ClassVar[tuple[str, ...]]

    def made(self, axis: PersonaAxis, count: int, material: Material, *, seed: int, paper: bool) -> VariantSet:
        """Names in turn from each combination of held values, wordings in turn; each name once.

        The paper cycles the wordings over the list of all personas' names, so that the personas of one combination have
        different ones; by default they have the same, and a wording's effect is common to them.
        """
        for attribute in axis.attributes:
            check_names_of(attribute)
        table = material.name_table()
        held = axis.held or ({},)
        if paper and len(held) == len(PAPER_ORDER):
            held = tuple(held[at] for at in PAPER_ORDER)
        rows, missing = shared_out(
            axis,
            held,
            lambda persona, row: table.chosen({**persona.values, **row}, seed),
            count,
            what="name",
            called=self.label,
        )
        found: dict[str, list[Variant]] = {label: [] for label in (rows[0][1] if rows else {})}
        combinations = len({tuple(at.items()) for at, _ in rows})
        for number, (at, names) in enumerate(rows):
            for place, (label, name) in enumerate(names.items()):
                flat = number * len(names) + place
                wording = flat % len(self.wordings) if paper else wording_at(number, combinations, len(self.wordings))
                text = self.wordings[wording].format(name=name.text)
                found[label].append(
                    Variant(persona=label, number=number, wording=wording, held=at, name=name.text, text=text)
                )
        fewer = f"{self.name} has names for {len(rows)} variants of each persona of {axis.name}, not for {count}"
        kept = {label: tuple(variants) for label, variants in found.items()}
        return VariantSet(self.name, axis.name, kept, tuple(missing), () if len(rows) == count else (fewer,))
