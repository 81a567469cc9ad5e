"""The stub endpoint as a judge: it knows the gold sets, and rates messages by the kind of sentences in them.

``bias`` is the share of gold texts that it gets wrong; a judge with a bias of 1 is no better than chance.
"""

from __future__ import annotations

import functools
import random
import re

from registry.audits.rubric import load_rubric, rubric_names

_TEXT = re.compile(r"<<<MESSAGE\n(.*)\nMESSAGE>>>", re.DOTALL)
_STRONG = re.compile(r"\b(?:lead|build|command|win|demand|drive|charge)\b", re.IGNORECASE)
_SOFT = re.compile(r"\b(?:care|support|nurture|share|listen|comfort|perhaps)\b", re.IGNORECASE)


@functools.cache
def _known() -> dict[tuple[str, str], str]:
    return {(name, one.text): one.answer for name in rubric_names() for one in load_rubric(name).gold}


def is_rating(prompt: str) -> bool:
    """Whether a prompt asks a judge about a text."""
    return _TEXT.search(prompt) is not None


def rated_text(prompt: str, draw: random.Random, bias: float) -> str:
    """The answer about the text in a prompt: of the gold set as it should be, of messages anger for strong words, else trust."""
    found = _TEXT.search(prompt)
    text = found.group(1) if found else ""
    rubric = next(one for one in map(load_rubric, rubric_names()) if one.prompt(text) == prompt)
    answers = list(rubric.answers)
    right = _known().get((rubric.name, text))
    if right is not None and draw.random() >= bias:
        return right
    if right is not None:
        return draw.choice([answer for answer in answers if answer != right])
    strong = len(_STRONG.findall(text)) > len(_SOFT.findall(text))
    if rubric.ordered:
        return "4" if strong else "2"
    return "Anger." if strong else "trust"
