"""Cue ``no-persona``: the bare question, the baseline of every other cue."""

from __future__ import annotations

from registry.audits.cues import CUES, DEFAULT_VARIANTS, NOWHERE, Cue, Material, Variant, VariantSet
from registry.audits.personas import PersonaAxis


@CUES.register("no-persona")
class NoPersona(Cue):
    """Nothing is said of who asks; there is one variant, and no axis."""

    name = "no-persona"
    title = "no persona"
    explicitness = 0
    validity = 0
    place = NOWHERE

    def variants(
        self,
        axis: PersonaAxis | None = None,
        count: int = DEFAULT_VARIANTS,
        material: Material | None = None,
        *,
        seed: int = 0,
        paper: bool = False,
    ) -> VariantSet:
        """One variant without persona or text, whatever is asked."""
        return VariantSet(self.name, "", {"": (Variant(),)})
