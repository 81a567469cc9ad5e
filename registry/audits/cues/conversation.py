"""Conversations before the question, by people of a persona, the other attributes held constant."""

from __future__ import annotations

from collections.abc import Mapping

from registry.audits.cues import HISTORIES, HISTORY, Cue, Material, Variant, VariantSet
from registry.audits.cues.balance import PAPER_ORDER, shared_out
from registry.audits.histories import History
from registry.audits.personas import Persona, PersonaAxis


class HistoryCue(Cue):
    """A cue that says nothing of the persona: who asks shows in how they wrote before."""

    explicitness = 1
    place = HISTORY
    needs = HISTORIES

    def made(self, axis: PersonaAxis, count: int, material: Material, *, seed: int, paper: bool) -> VariantSet:
        """Conversations in turn from each combination of held values, each once, none that says outright what varies."""
        histories = material.history_set(self.name)
        notes = []
        held = axis.held or ({},)
        unheld = sorted({name for row in held for name in row} - histories.attributes)
        if unheld:
            held = ({},)
            notes.append(f"{histories.title} do not tell {', '.join(unheld)} of everybody: nothing is held constant")
        elif paper and len(held) == len(PAPER_ORDER):
            held = tuple(held[at] for at in PAPER_ORDER)
        outright = 0

        def implicit(persona: Persona, row: Mapping[str, str]) -> tuple[History, ...]:
            nonlocal outright
            cell = {**persona.values, **row}
            kept = histories.chosen(cell, axis.attributes, seed)
            outright += len(histories.serving(cell, axis.attributes)) - len(kept)
            return kept

        rows, missing = shared_out(
            axis,
            held,
            implicit,
            count,
            what="conversation",
            called=self.label,
        )
        found: dict[str, list[Variant]] = {label: [] for label in (rows[0][1] if rows else {})}
        for number, (at, chosen) in enumerate(rows):
            for label, history in chosen.items():
                found[label].append(
                    Variant(persona=label, number=number, held=at, history=history.id, turns=history.turns)
                )
        if outright:
            notes.append(f"{outright} conversations of {histories.title} say {axis.title} outright and are not taken")
        if len(rows) < count:
            notes.append(f"{self.name} has conversations for {len(rows)} variants of each persona, not for {count}")
        return VariantSet(
            self.name, axis.name, {label: tuple(made) for label, made in found.items()}, tuple(missing), tuple(notes)
        )
