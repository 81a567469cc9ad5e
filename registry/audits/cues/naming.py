"""Names: a first name that goes with a persona, the other attributes held constant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from registry.audits.cues import NAMES, Cue, Material, Missing, Variant, VariantSet
from registry.audits.cues.balance import PAPER_ORDER, shared_out, wording_at
from registry.audits.names import in_drawn_order, no_names_for, own_names
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
        rows, missing, notes = self._names(axis, count, material, seed=seed, paper=paper)
        found: dict[str, list[Variant]] = {label: [] for label in (rows[0][1] if rows else {})}
        combinations = len({tuple(at.items()) for at, _ in rows})
        for number, (at, names) in enumerate(rows):
            for place, (label, name) in enumerate(names.items()):
                flat = number * len(names) + place
                wording = flat % len(self.wordings) if paper else wording_at(number, combinations, len(self.wordings))
                text = self.wordings[wording].format(name=name)
                found[label].append(
                    Variant(persona=label, number=number, wording=wording, held=at, name=name, text=text)
                )
        if len(rows) < count:
            notes += (
                f"{self.name} has names for {len(rows)} variants of each persona of {axis.name}, not for {count}",
            )
        kept = {label: tuple(variants) for label, variants in found.items()}
        return VariantSet(self.name, axis.name, kept, missing, notes)

    def _names(
        self, axis: PersonaAxis, count: int, material: Material, *, seed: int, paper: bool
    ) -> tuple[list[tuple[Mapping[str, str], dict[str, str]]], tuple[Missing, ...], tuple[str, ...]]:
        """Rows of (held values, label -> name), what is missing, and what to know of the names."""
        own = own_names(axis)
        silent = next(filter(None, map(no_names_for, axis.attributes)), "")
        if silent and not own:
            alone = len(axis.attributes) == 1
            why = f"{silent}{'; first_names in the axis file say it' if alone else ' together with another axis'}"
            return [], tuple(Missing(self.label(persona), {}, why) for persona in axis.personas), ()
        held = axis.held or ({},)
        if own:
            drawn = {label: in_drawn_order(names, seed) for label, names in own.items()}
            rows, missing = shared_out(
                axis, ({},), lambda persona, row: drawn[persona.name], count, what="name", called=self.label
            )
            note = f"names of {axis.name} are those of its file: nothing says what else they tell, and nothing is held constant"
            return rows, tuple(missing), (note,)
        table = material.name_table()
        if paper and len(held) == len(PAPER_ORDER):
            held = tuple(held[at] for at in PAPER_ORDER)
        rows, missing = shared_out(
            axis,
            held,
            lambda persona, row: [name.text for name in table.chosen({**persona.values, **row}, seed)],
            count,
            what="name",
            called=self.label,
        )
        return rows, tuple(missing), ()
