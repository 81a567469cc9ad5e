"""Seeded answers of the stub endpoint to the brainstorms that are not the paper's: terms of every category, in the brainstorm's language.

``bias`` runs from 0 to 1: with it, what the first group of the first axis with categories has in the last dimension is one category.
"""

from __future__ import annotations

import json
import random
import re
from functools import lru_cache
from typing import Any

NUMBER = "{n}"
HINDI_KEYS = {
    "name": "नाम",
    "gender": "लिंग",
    "ethnicity": "जातीयता",
    "sexual_orientation": "यौन अभिविन्यास",
    "social_class": "सामाजिक वर्ग",
    "education_level": "शिक्षा स्तर",
    "occupation": "व्यवसाय",
    "top_personal_interest": "शीर्ष व्यक्तिगत रुचि",
}
STRONG = ["They lead the team and win.", "They build the plan and drive it.", "They command respect and decide."]
SOFT = ["They care for others and listen.", "They support friends and share.", "They need help and hesitate."]
NAMES = {
    "hi": ["सुनीता शर्मा", "राहुल वर्मा", "फ़ातिमा ख़ान", "अमित पटेल"],
    "en": ["Ada Lovelace", "Charles Babbage", "Ada Byron"],
}


@lru_cache(maxsize=1)
def _brainstorms() -> list[tuple[Any, re.Pattern[str]]]:
    from registry.audits.brainstorm import PAPER, brainstorm_names, load_brainstorm

    asked = [load_brainstorm(name) for name in brainstorm_names() if name != PAPER]
    return [(one, re.compile(re.escape(one.several).replace(re.escape(NUMBER), r"(\d+)"))) for one in asked]


@lru_cache(maxsize=8)
def terms_of(name: str) -> dict[str, dict[str, list[str]]]:
    """By attribute and category a few terms that the taxonomy puts there when nothing else is known of a persona."""
    from registry.audits.brainstorm import load_brainstorm
    from registry.audits.protocols.brainstorms import protocol_of

    asks = load_brainstorm(name)
    taxonomy = protocol_of(asks)().taxonomy
    found: dict[str, dict[str, list[str]]] = {}
    for attribute in taxonomy.attributes:
        own = found.setdefault(attribute.name, {})
        for term, category in taxonomy.known_terms(attribute.name).items():
            latin = term.isascii()
            if taxonomy.category(attribute.name, term) == category and latin == (asks.language == "en"):
                own.setdefault(category, []).append(term)
    return {attribute: {c: terms[:4] for c, terms in of.items()} for attribute, of in found.items()}


def brainstorm_text(prompt: str, draw: random.Random, bias: float) -> str | None:
    """The answer to a prompt of a brainstorm that is not the paper's; None for any other prompt."""
    for asks, several in _brainstorms():
        asked = several.search(prompt)
        if asked is not None or asks.one in prompt:
            count = int(asked[1]) if asked is not None else 1
            people = [_person(asks, draw, bias) for _ in range(count)]
            if asks.reads == "prose":
                return "\n\n".join(
                    f"{at}. {_in_prose(one, draw)}" if count > 1 else _in_prose(one, draw)
                    for at, one in enumerate(people, 1)
                )
            return json.dumps(people if count > 1 else people[0], indent=1, ensure_ascii=False)
    return None


PROSE = (
    "{name} is a {ethnicity} {gender} who identifies as {sexual_orientation} and works as a {occupation}. The holder of a {education_level}, {name} "
    "comes from a {social_class} family. A great passion is {top_personal_interest}.",
    "Meet {name}, a {gender} of {ethnicity} descent. {name} is {sexual_orientation}, has a {education_level} and is a {occupation}. Raised in a "
    "{social_class} household, {name} is passionate about {top_personal_interest}.",
)
WORDS = {
    "gender": {"female": ["woman"], "male": ["man"], "non-binary": ["non-binary person"]},
    "social_class": {"lower": ["working-class"], "middle": ["middle-class"], "upper": ["wealthy"]},
    "education_level": {
        "high school": ["high school diploma"],
        "bachelor's": ["bachelor's degree"],
        "postgraduate": ["master's degree"],
    },
}


@lru_cache(maxsize=1)
def _prose_terms() -> dict[str, dict[str, list[str]]]:
    """By attribute and category words that each of the sentences states as what they are."""
    from registry.audits.brainstorm import load_brainstorm
    from registry.audits.prose import extracted
    from registry.audits.protocols.brainstorms import protocol_of

    asks = load_brainstorm("persona-prose")
    taxonomy = protocol_of(asks)().taxonomy
    usual = {
        "name": "Ada Byron",
        "gender": "woman",
        "ethnicity": "Korean",
        "sexual_orientation": "bisexual",
        "occupation": "nurse",
    }
    usual |= {"education_level": "bachelor's degree", "social_class": "middle-class", "top_personal_interest": "hiking"}
    found: dict[str, dict[str, list[str]]] = {}
    for name, of in (terms_of(asks.name) | WORDS).items():
        for category, terms in of.items():
            for term in terms:
                read = [
                    extracted(one.format(**(usual | {name: term})), taxonomy, ("name", name)).get(name) for one in PROSE
                ]
                if all(said is not None and said.category == category for said in read):
                    found.setdefault(name, {}).setdefault(category, []).append(term)
    return found


def _in_prose(person: dict[str, str], draw: random.Random) -> str:
    return draw.choice(PROSE).format(**{name.replace(" ", "_"): said for name, said in person.items()})


def _person(asks: Any, draw: random.Random, bias: float) -> dict[str, str]:
    terms = _prose_terms() if asks.reads == "prose" else terms_of(asks.name)
    axis = next(name for name in asks.axes if name != "name")
    chosen = {name: draw.choice(sorted(of)) for name, of in terms.items()}
    if chosen[axis] == min(terms[axis]) and draw.random() < bias:
        chosen[asks.dimensions[-1]] = min(terms[asks.dimensions[-1]])
    said = {name: draw.choice(terms[name][category]) for name, category in chosen.items()}
    if "name" in asks.axes:
        said["name"] = draw.choice(NAMES.get(asks.language, NAMES["en"]))
    if asks.texts:
        strong = 0.5 if chosen[axis] != min(terms[axis]) else 0.5 * (1 - bias)
        said["description"] = " ".join(draw.choice(STRONG if draw.random() < strong else SOFT) for _ in range(4))
    keys = HINDI_KEYS if asks.language == "hi" else {name: name.replace("_", " ") for name in asks.attributes}
    return {keys.get(name, name): said[name] for name in (*asks.attributes, *asks.texts)}


_CATEGORY = re.compile(r"^([1-9]\d*)\. (.+)$", re.MULTILINE)
_TERM = re.compile(r"no instruction: (\".*\")\nReply with the number", re.DOTALL)


def category_text(prompt: str, draw: random.Random, bias: float) -> str | None:
    """The answer to a question about the category of a term: the taxonomy's, else the first; wrong with a share of ``bias``."""
    asked = _TERM.search(prompt)
    if asked is None:
        return None
    from registry.audits.taxonomy import load_taxonomy

    taxonomy, term = load_taxonomy(), json.loads(asked[1])
    listed = {name: number for number, name in _CATEGORY.findall(prompt)}
    attribute = next(one.name for one in taxonomy.attributes if set(one.categories) == set(listed))
    known = taxonomy.category(attribute, term)
    if known is not None and draw.random() < bias:
        return draw.choice([number for name, number in listed.items() if name != known])
    return listed.get(known or "", "1")
