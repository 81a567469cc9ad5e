"""Answers without JSON read as personas: tables, tagged text, and lines or sentences in which each value has a label.

A value without a label is never read by its position: a text in which people are told without labels holds no persona here.
"""

from __future__ import annotations

import csv
import itertools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from registry.audits.asked import Asked
from registry.audits.brainstorm import NAME
from registry.audits.plan import Outcome
from registry.audits.shapes import Found, Read, is_whole, lacking, name_like, table_of, term_of

TABLE, TAGS, LABELS = "table", "tags", "labels"
LONGEST_LINE = 20_000  # characters of one line that are looked at

_RULE = re.compile(r"^[\s|:+=-]+$")
_TAG = re.compile(r"<([^\W\d][\w .-]{0,60})(?:\s[^<>]{0,200})?>([^<>]{0,2000})</\1\s*>")
_MARKS = r"[^\S\n]{0,40}+(?:[-*+•·>#]{1,6}+[^\S\n]{0,9}+|\(?\d{1,3}[.)][^\S\n]{0,9}+)"  # of a list: bullets, numbers
_LABEL = re.compile(
    r"(?:^|(?<=[;,|•·.\n])|(?<=\s[-–—])|(?<=[*_]))"  # where a label may begin
    rf"{_MARKS}{{0,3}}+[*_\"'`]{{0,3}}"
    r"(?P<label>[^\W\d_](?:(?!\s[-–—]\s)[^\n:：=;,|•·.<>{}\[\]*]){0,59}?)[*_\"'`]{0,3}\s?[:：=]",
    re.MULTILINE,
)
_HEADING = re.compile(
    rf"^{_MARKS}{{1,3}}+[*_]{{0,3}}(?P<text>(?:(?!\s[-–—]\s)[^\n:：=|*_,;()]){{1,80}}+)(?!\s?[*_]{{0,3}}\s?[:：=])",
    re.MULTILINE,
)
_ANY_TAG = re.compile(r"</?([^\W\d][\w .-]{0,60})[^<>]{0,200}>")
_SECTION = re.compile(  # a heading of Markdown, a rule, or a line such as "Persona 2:"
    r"^[^\S\n]{0,9}(?:#{1,6}[^\S\n]|(?:-{3,}|={3,}|\*{3,})[^\S\n]*$|[*_#>\s-]{0,9}[^\W\d_]{1,20}[^\S\n]{0,3}#?\d{1,4}\b[^\n]{0,3}$)",
    re.MULTILINE,
)
_BREAK = re.compile(rf"\n[^\S\n]*(?=\n)|^(?={_MARKS})", re.MULTILINE)  # an empty line, or the next item of a list
_AROUND = " \t\"'`*_"
_EDGES = " \t\r\n*_`;,|•·"
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"))


class _Mark(NamedTuple):
    """A value with its attribute, what stands above it as a heading, and the piece and section of the text that it is in."""

    name: str
    text: str
    heading: str = ""
    piece: int = 0
    section: int = 0


def read_labelled(text: str, asked: Asked, *, cut: bool) -> list[Read]:
    """The personas of a text without JSON, each with the form that it stands in as its shape; none when it has no labels.

    ``cut`` : the answer ended at the token limit, so that the last persona may lack its end: it is not used.

    >>> from registry.audits.asked import asked_by_the_paper
    >>> found = read_labelled("1. **Ada** - Gender: female; Job: nurse", asked_by_the_paper(), cut=False)
    >>> found[0].shape, found[0].found["gender"], found[0].found["occupation"]
    ('labels', 'female', 'nurse')
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for form, read in ((TABLE, _tables), (TAGS, _tags), (LABELS, _labels)):
        found = list(read(text, asked, cut))
        if any(one.outcome is Outcome.OK for one in found):
            if cut and found[-1].outcome is Outcome.OK:
                found[-1] = Read(Outcome.TRUNCATED, "the last persona may be cut off at the token limit", None, form)
            return found
    return []


# ---------------------------------------------------------------- tables


def _tables(text: str, asked: Asked, _cut: bool) -> Iterator[Read]:
    """Tables of Markdown, and of values between bars, tabs, semicolons or commas, under a line that names attributes."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        mark = _mark(lines[at], asked)
        if mark is None:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and lines[end].strip() and mark in lines[end]:
            end += 1
        rows = [_cells(line, mark) for line in lines[at:end] if not (mark == "|" and _RULE.match(line))]
        yield from table_of(rows, asked, TABLE)
        at = end


def _mark(line: str, asked: Asked) -> str | None:
    """What stands between the cells of a line that names attributes; None when it names none."""
    if len(line) > 2_000:
        return None
    for mark in ("|", "\t", ";", ","):
        if mark in line:
            heads = {known[0] for cell in _cells(line, mark) if (known := asked.attribute(cell))}
            if heads & set(asked.axes) and heads & set(asked.dimensions):
                return mark
    return None


def _cells(line: str, mark: str) -> list[str]:
    line = line[:LONGEST_LINE].strip().strip("\ufeff")
    if mark == "|":
        return [_bare(cell) for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
    try:
        return [_bare(cell) for cell in next(csv.reader([line], delimiter=mark, skipinitialspace=True), [])]
    except csv.Error:
        return []


def _bare(text: str) -> str:
    """A value without emphasis and the quotes around it."""
    text = text.strip(_EDGES)
    for opening, closing in _QUOTES:
        if len(text) > 1 and text.startswith(opening) and text.endswith(closing):
            return text[1:-1].strip()
    return text


# ---------------------------------------------------------------- tags


def _tags(text: str, asked: Asked, cut: bool) -> Iterator[Read]:
    """Values between tags that name attributes; any other tag between them is where a person may end."""
    others = [match.start() for match in _ANY_TAG.finditer(text) if asked.attribute(match[1].strip()) is None]
    found = [
        _Mark(known[0], _bare(match[2]), section=bisect_right(others, match.start()))
        for match in _TAG.finditer(text)
        if (known := asked.attribute(match[1])) is not None
    ]
    yield from _people(found, asked, TAGS, cut)


# ---------------------------------------------------------------- labels


def _labels(text: str, asked: Asked, cut: bool) -> Iterator[Read]:
    """Values after labels, on lines of their own or several on one; where a person ends is said by `_people`."""
    marks = _marked(text, asked)
    headings = [match for match in _HEADING.finditer(text) if _is_heading(match["text"].strip(), asked)]
    breaks = [match.start() for match in _BREAK.finditer(text)]
    sections = sorted({match.start() for match in (*headings, *_SECTION.finditer(text))})
    found, place = [], 0
    for at, (match, name) in enumerate(marks):
        end = marks[at + 1][0].start() if at + 1 < len(marks) else len(text)
        line = text.find("\n", match.end(), end)
        value = text[match.end() : line if line >= 0 else end]
        heading = ""
        while place < len(headings) and headings[place].start() < match.start("label"):
            heading, place = headings[place]["text"].strip(), place + 1
        where = match.start("label")
        found.append(
            _Mark(name, _bare(_unlisted(value)), heading, bisect_right(breaks, where), bisect_right(sections, where))
        )
    yield from _people(found, asked, LABELS, cut)


def _marked(text: str, asked: Asked) -> list[tuple[re.Match[str], str]]:
    """The labels that name attributes. Where lines begin with a label, the same one in the middle of a line is part of a value."""
    marks = [
        (
            match,
            known[0],
            not any(map(str.isalpha, text[text.rfind("\n", 0, match.start("label")) + 1 : match.start("label")])),
        )
        for match in _LABEL.finditer(text)
        if (known := asked.attribute(match["label"].strip(_AROUND))) is not None
    ]
    first = {name for _, name, begins in marks if begins}
    return [(match, name) for match, name, begins in marks if begins or name not in first]


def _is_heading(text: str, asked: Asked) -> bool:
    return name_like(text) and asked.attribute(text) is None


def _unlisted(value: str) -> str:
    """A value without the mark that begins the next item of a list on the same line."""
    return re.sub(r"[\s;,|•·]+[-–—*]?[\s*_]*$|\s[-–—]\s*$", "", value)


def _people(found: Sequence[_Mark], asked: Asked, form: str, cut: bool) -> Iterator[Read]:
    """People of attributes in a row, told apart by headings, other tags, and pieces of text with several attributes each.

    Between two such places attributes that come again begin a new person, but only where every person there answers the same ones:
    where one lacks an attribute, the next one's would be taken for it.
    """
    several = {piece for piece, n in Counter(mark.piece for mark in found).items() if n > 1}
    for _, marks in itertools.groupby(
        found, key=lambda mark: (mark.section, mark.piece if mark.piece in several else -1)
    ):
        runs: list[dict[str, _Mark]] = [{}]
        for mark in marks:
            if mark.name in runs[-1]:
                runs.append({})
            runs[-1][mark.name] = mark
        last_is_cut = cut and next(reversed(runs[-1].values())) is found[-1]
        if len({frozenset(run) for run in (runs[:-1] if last_is_cut and len(runs) > 1 else runs)}) > 1:
            yield Read(
                Outcome.UNPARSABLE,
                f"people in a run of {form} are not told apart, for some lack an attribute",
                None,
                form,
            )
            continue
        for run in runs:
            person: Found = dict.fromkeys(asked.names)
            person |= {name: term_of(mark.text, asked.longest(name)) for name, mark in run.items()}
            yield from _ended(person, next(iter(run.values())).heading, asked, form)


def _ended(person: Found, title: str, asked: Asked, form: str) -> Iterator[Read]:
    if NAME in asked.axes and person[NAME] is None and title:
        person = {**person, NAME: term_of(title)}
    if is_whole(person, asked):
        yield Read(Outcome.OK, "", person, form)
    elif reason := lacking(person, asked, f"a run of {form}"):
        yield Read(Outcome.UNPARSABLE, reason, None, form)
