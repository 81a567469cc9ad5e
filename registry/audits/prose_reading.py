"""Answers in prose read as personas: which part of a text is about whom, and what it states of that person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from registry.audits.plan import Outcome
from registry.audits.prose import extracted
from registry.audits.refusals import declines
from registry.audits.shapes import Found, Read, is_whole, lacking, term_of

if TYPE_CHECKING:
    from registry.audits.asked import Asked
    from registry.audits.taxonomy import Taxonomy

PROSE = "prose"
_NUMBERED = re.compile(
    r"^[^\S\n]{0,9}(?:#{1,6}[^\S\n]+)?[*_]{0,3}(?:(?:persona|profile|person|user|character|description|individual)[^\S\n]+)?#?(?P<number>\d{1,3})[*_]{0,3}[.):–—-]",
    re.IGNORECASE | re.MULTILINE,
)
_GAP = re.compile(r"\n[^\S\n]*\n")


def read_prose(text: str, expected: int | None, asked: Asked, taxonomy: Taxonomy, *, cut: bool) -> list[Read]:
    """The people that a text tells of; none when it states nothing of anybody.

    People are told apart by numbers that run from 1, or by empty lines where there are as many parts as people were asked
    for. Where neither holds and more than one was asked for, the text is one unparsable record: two people must never become one.

    Parameters
    ----------
    expected : people asked for; with one the whole text is about that person; None is unknown, and one paragraph is one person then
    cut : the answer ended at the token limit: the last person may lack what would have come, and is not used
    """
    parts = people_in(text, expected)
    if parts is None:
        whom = f"{expected} people" if expected else "an unknown number of people"
        reason = f"prose about {whom}: neither numbers from 1 nor as many paragraphs tell them apart"
        reads = [Read(Outcome.UNPARSABLE, reason, None, PROSE)]
        return [] if declines(text) or not extracted(text, taxonomy, asked.names) else reads
    reads = [read for part in parts if (read := _person(part, asked, taxonomy)) is not None]
    if not any(read.outcome is Outcome.OK for read in reads):
        return [] if declines(text) else reads
    if cut and reads[-1].outcome is Outcome.OK:
        reads[-1] = Read(Outcome.TRUNCATED, "the last persona may be cut off at the token limit", None, PROSE)
    return reads


def people_in(text: str, expected: int | None) -> list[str] | None:
    r"""The parts of a text that tell of one person each; None when nothing tells them apart.

    >>> people_in("1. Ana is a nurse.\n2. Bo is a cook.", 2), people_in("Ana is a nurse.\nBo is a cook.", 2)
    (['Ana is a nurse.', 'Bo is a cook.'], None)
    """
    if expected == 1:
        return [text]
    marks = list(_in_order(text))
    if len(marks) > 1:
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        return [text[mark.end() : end].strip(" \t\r\n*_") for mark, end in zip(marks, ends, strict=True)]
    parts = [part.strip() for part in _GAP.split(text.replace("\r\n", "\n")) if part.strip()]
    return parts if len(parts) == (expected or 1) else None


def _in_order(text: str) -> Iterator[re.Match[str]]:
    """The marks whose numbers run 1, 2, 3: another number begins no person."""
    at = 1
    for match in _NUMBERED.finditer(text):
        if int(match["number"]) == at:
            yield match
            at += 1


def _person(text: str, asked: Asked, taxonomy: Taxonomy) -> Read | None:
    said = extracted(text, taxonomy, asked.names)
    found: Found = {name: term_of(said[name].text) if name in said else None for name in asked.names}
    if is_whole(found, asked):
        return Read(Outcome.OK, "", found, PROSE)
    reason = lacking(found, asked, "a text")
    return Read(Outcome.UNPARSABLE, reason, None, PROSE) if reason else None
