"""Explicit mentions: wordings with places for what varies, and the cues that fill them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from registry.audits.cues import Cue, Material, Variant, VariantSet
from registry.audits.personas import AND, NUMBER, Attribute, PersonaAxis

PAPER_WORDINGS = 5  # the first ones of each cue are the paper's

_AN_NUMBERS = ("8", "11", "18")
_A_THOUGH_VOWEL = ("uni", "use", "eu", "one", "once")


def article(word: str) -> str:
    """The indefinite article before a word or a number as spoken.

    >>> [article(word) for word in ("Asian", "male", "18", "81", "26", "unitarian")]
    ['an', 'a', 'an', 'an', 'a', 'a']
    """
    first = word.split()[0].casefold()
    if first.isdigit():
        return "an" if first in _AN_NUMBERS or first.startswith("8") else "a"
    return "an" if first.startswith(tuple("aeiou")) and not first.startswith(_A_THOUGH_VOWEL) else "a"


def mention(
    wording: str,
    attributes: tuple[Attribute, ...],
    values: Mapping[str, str],
    numbers: Mapping[str, int],
    *,
    whose: str,
    paper: bool = False,
) -> str:
    """A wording filled in for a persona.

    Parameters
    ----------
    wording : with ``{are}`` ("26 years old"), ``{kind}`` ("a 26 year old"), ``{fact}`` or ``{Fact}`` ("my age is 26")
    values : attribute -> value; numbers : attribute -> number; whose : "my" or "the user's"
    paper : the paper's words, and "a" before everything, as in its code ("a Asian individual")
    """
    are, kinds, facts = [], [], []
    for attribute in attributes:
        value = attribute[values[attribute.name]]
        if attribute.kind == NUMBER:
            word = str(numbers[attribute.name])
            are.append(f"{word} years old")
            kinds.append(f"{word} year old")
        else:
            word = value.paper_word if paper else value.word
            are.append(word)
            kinds.append(word)
        facts.append(f"{whose} {attribute.noun} is {word}")
    kind, fact = AND.join(kinds), AND.join(facts)
    return wording.format(
        are=AND.join(are),
        kind=f"{'a' if paper else article(kind)} {kind}",
        fact=fact,
        Fact=fact[0].upper() + fact[1:],
    )


class ExplicitMention(Cue):
    """A cue that says outright what varies, and nothing else of the persona."""

    explicitness = 3
    validity = 1
    whose: ClassVar[str]
    wordings: ClassVar[tuple[str, ...]]

    def wording(self, number: int, axis: PersonaAxis, *, paper: bool) -> tuple[str, str]:
        """A wording and whose attributes it speaks of."""
        return self.wordings[number], self.whose

    def made(self, axis: PersonaAxis, count: int, material: Material, *, seed: int, paper: bool) -> VariantSet:
        """Wordings in turn, numbers onward; a row of texts in which one was there before is passed over."""
        wordings = PAPER_WORDINGS if paper else len(self.wordings)
        most = 40 * count + wordings  # rows to look at: numbers of a narrow range come again and again
        drawn = {one.name: one.numbers(most) for one in axis.attributes if one.kind == NUMBER}
        found: dict[str, list[Variant]] = {self.label(persona): [] for persona in axis.personas}
        seen: dict[str, set[str]] = {name: set() for name in found}
        number = 0
        for row in range(most):
            if number == count:
                break
            made = self._row(row % wordings, row, number, axis, drawn, paper=paper)
            if any(variant.text in seen[name] for name, variant in made.items()):
                continue
            for name, variant in made.items():
                found[name].append(variant)
                seen[name].add(variant.text)
            number += 1
        kept = {name: tuple(variants) for name, variants in found.items()}
        fewer = f"{self.name} has {number} different texts for each persona of {axis.name}, not {count}"
        return VariantSet(self.name, axis.name, kept, notes=() if number == count else (fewer,))

    def _row(
        self,
        wording: int,
        row: int,
        number: int,
        axis: PersonaAxis,
        drawn: Mapping[str, list[dict[str, int]]],
        *,
        paper: bool,
    ) -> dict[str, Variant]:
        text, whose = self.wording(wording, axis, paper=paper)
        made = {}
        for persona in axis.personas:
            numbers = {name: rows[row][persona.values[name]] for name, rows in drawn.items()}
            said = mention(text, axis.attributes, persona.values, numbers, whose=whose, paper=paper)
            label = self.label(persona)
            made[label] = Variant(persona=label, number=number, wording=wording, numbers=numbers, text=said)
        return made
