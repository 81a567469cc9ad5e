"""Objects of an answer read as personas, whatever shape they have: flat, grouped, keyed by name, by column, attribute by attribute.

What an object says is taken by its keys alone, never by position; where a shape could be read in two ways it is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from registry.audits.asked import LONGEST_TERM, LONGEST_TEXT, Asked
from registry.audits.brainstorm import NAME
from registry.audits.plan import Outcome
from registry.audits.salvage import Pairs

DEEPEST_GROUP = 4  # objects inside each other that can be groups of one persona's attributes

FLAT, GROUPED, KEYED, COLUMNS, ROWS, ATTRIBUTE_LIST = "flat", "grouped", "keyed", "columns", "rows", "attribute list"

Found = dict[str, str | None]
"""By attribute the term as answered, or None when it says nothing."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


class Read(NamedTuple):
    """One persona or almost-persona: what became of it, why, what it says, in which shape it stood."""

    outcome: Outcome
    reason: str
    found: Found | None
    shape: str = FLAT


_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def term_of(value: Any, longest: int = LONGEST_TERM) -> str | None:
    """One answered value as text, or None when it says nothing (null, blank, an object)."""
    if value is None or isinstance(value, (Pairs, dict)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        parts = [part for item in value if not isinstance(item, list) and (part := term_of(item, longest)) is not None]
        return ", ".join(parts)[:longest] or None
    text = _SURROGATE.sub("\ufffd", _UNSTORABLE.sub(" ", str(value))).strip()
    return text[:longest] or None


def is_whole(found: Found, asked: Asked) -> bool:
    """Whether it is a persona: at least one identity axis and one social dimension are answered."""
    return any(found.get(name) for name in asked.axes) and any(found.get(name) for name in asked.dimensions)


def lacking(found: Found, asked: Asked, what: str = "an object") -> str:
    """In words, what an almost-persona answers and lacks; empty when it answers nothing."""
    answered = [name for name in asked.names if found.get(name) is not None]
    if not answered:
        return ""
    axes = any(name in asked.axes for name in answered)
    return f"{what} answers {', '.join(answered)} but no {'social dimension' if axes else 'identity axis'}"


# ---------------------------------------------------------------- one object

_INNER = ("value", "name", "title", "label", "type", "level", "degree", "category", "primary", "main", "answer")


def _inner_text(inner: Pairs) -> str | None:
    """What an object says that stands where a term should: its one text, or that under a key such as "value"."""
    texts = [(key.casefold(), text) for key, value in inner if (text := term_of(value)) is not None]
    if len(texts) == 1:
        return texts[0][1]
    named = dict(reversed(texts))
    return next((named[key] for key in _INNER if key in named), None)


def _said(known: tuple[str, int] | None, value: Any, asked: Asked) -> str | None:
    if known is None:
        return None
    return _inner_text(value) if isinstance(value, Pairs) else term_of(value, asked.longest(known[0]))


class _Answers:
    """What an object answers. An attribute's own name beats another key; of equals the first one wins."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[int, str]] = {}
        self.twice = False

    def take(self, known: tuple[str, int] | None, text: str | None, *, again: bool = False) -> None:
        if known is None or text is None:
            return
        name, rank = known
        if name in self.found:
            self.twice = self.twice or again
            if self.found[name][0] <= rank:
                return
        self.found[name] = (rank, text)

    def as_found(self, asked: Asked) -> Found:
        return {name: self.found[name][1] if name in self.found else None for name in asked.names}


def flat(pairs: Pairs, asked: Asked) -> Found:
    """The attributes that an object answers itself; an object under the key of an attribute counts by its one text."""
    answers = _Answers()
    for key, value in pairs:
        known = asked.attribute(key)
        answers.take(known, _said(known, value, asked))
    return answers.as_found(asked)


def _grouped(pairs: Pairs, asked: Asked) -> Found | None:
    """An object's attributes with those of the objects inside it; None where an attribute is answered in two of them."""
    answers = _Answers()
    pending = [(pairs, 0)]
    while pending:
        inside, depth = pending.pop()
        names = [re.sub(r"\d+", "", key) for key, value in inside if isinstance(value, Pairs)]
        if len(set(names)) < len(names):  # persona_1 and persona_2 are people, not groups of one
            return None
        for key, value in inside:
            known = asked.attribute(key)
            if known is None and isinstance(value, Pairs):
                if depth < DEEPEST_GROUP:
                    pending.append((value, depth + 1))
                continue
            answers.take(known, _said(known, value, asked), again=bool(depth) or inside is not pairs)
    return None if answers.twice else answers.as_found(asked)


_LABEL = ("attribute", "field", "key", "property", "label", "name")
_VALUE = ("value", "answer", "text")


def attribute_list(items: Any, asked: Asked) -> Found | None:
    """A list of objects that each name an attribute and its value; None for any other list.

    >>> from registry.audits.asked import asked_by_the_paper
    >>> items = [Pairs((("field", "gender"), ("value", "woman"))), Pairs((("field", "job"), ("value", "nurse")))]
    >>> {name: text for name, text in attribute_list(items, asked_by_the_paper()).items() if text}
    {'gender': 'woman', 'occupation': 'nurse'}
    """
    if not isinstance(items, list) or len(items) < 2 or not all(isinstance(one, Pairs) for one in items):
        return None
    answers = _Answers()
    for one in items:
        said = {key.casefold(): value for key, value in reversed(one)}
        label = next((said[key] for key in _LABEL if isinstance(said.get(key), str)), None)
        value = next((said[key] for key in _VALUE if key in said), None)
        if label is None or value is None or len(said) > 4:
            return None
        known = asked.attribute(label)
        answers.take(known, _said(known, value, asked), again=True)
    return None if answers.twice or not answers.found else answers.as_found(asked)


# ---------------------------------------------------------------- several personas in one object

_NO_NAMES = _listed(
    """
    user users persona personas profile profiles person persons people character characters individual individuals member members
    participant participants item items entry entries record records result results response output data answer answers object json
    identity identities demographic demographics social personal background details detail info information attribute attributes
    basic basics general example sample new first second third one two three list set group groups type education work life interest
    interests career status summary section part overview notes male female man woman gender here below diverse the name
    """
)
"""Words in lower case that a heading of a list or a group of attributes may have, and no person's name does."""


def name_like(key: str) -> bool:
    """Whether a key or a heading can be the name of a person: words of letters, the first with a capital, none of a list's own.

    >>> [name_like(key) for key in ("Ada Lovelace", "persona_1", "Profile", "Zoë", "identity", "आदा")]
    [True, False, False, True, False, True]
    """
    words = key.split()
    if not 1 <= len(words) <= 5 or len(key) > 60 or any(sign.isdigit() or sign in "_:;/|{}[]<>=" for sign in key):
        return False
    if not any(sign.isalpha() for sign in key) or not _NO_NAMES.isdisjoint(key.casefold().split()):
        return False
    first = next(sign for sign in key if sign.isalpha())
    return first.isupper() or not first.islower()


def _columns(pairs: Pairs, asked: Asked) -> list[Read] | None:
    """Personas of an object that has a list for each attribute; None when it is no such object."""
    columns: dict[str, list[Any]] = {}
    for key, value in pairs:
        known = asked.attribute(key)
        if known is None:
            continue
        if not isinstance(value, list) or any(isinstance(item, (list, Pairs)) for item in value):
            return None
        columns.setdefault(known[0], value)
    sizes = {len(column) for column in columns.values()}
    if not (set(columns) & set(asked.axes) and set(columns) & set(asked.dimensions)) or max(sizes) < 2:
        return None
    if len(sizes) > 1:
        counted = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        return [Read(Outcome.UNPARSABLE, f"an object has lists of different lengths ({counted})", None, COLUMNS)]
    found = []
    for at in range(sizes.pop()):
        one: Found = {
            name: term_of(columns[name][at], asked.longest(name)) if name in columns else None for name in asked.names
        }
        found.append(_judged(one, asked, COLUMNS, "an entry of the lists"))
    return found


def _judged(found: Found, asked: Asked, shape: str, what: str) -> Read:
    if is_whole(found, asked):
        return Read(Outcome.OK, "", found, shape)
    return Read(Outcome.UNPARSABLE, lacking(found, asked, what) or f"{what} answers nothing", None, shape)


def _keyed(pairs: Pairs, asked: Asked) -> list[Read] | None:
    """Personas of an object that has one object for each person, under the person's name; None when it is no such object."""
    if NAME not in asked.axes:
        return None
    inner = [(key, value) for key, value in pairs if isinstance(value, Pairs)]
    if not inner or len(inner) < len(pairs) or not all(name_like(key) for key, _ in inner):
        return None
    found = []
    for key, value in inner:
        if asked.attribute(key) is not None:
            return None
        one = flat(value, asked)
        if one[NAME] is not None or not any(one.values()):
            return None
        found.append({**one, NAME: term_of(key)})
    return [_judged(one, asked, KEYED, "an object under a name") for one in found]


def personas_of(pairs: Pairs, asked: Asked) -> list[Read] | None:
    """The personas that an object is; None when it is none itself and what is inside it should be looked at.

    Tried in this order: one person for each name, lists as columns, a person of its own, a person in groups.
    """
    if (keyed := _keyed(pairs, asked)) is not None and any(one.outcome is Outcome.OK for one in keyed):
        return keyed
    if (columns := _columns(pairs, asked)) is not None:
        return columns
    own = flat(pairs, asked)
    if is_whole(own, asked):
        return [Read(Outcome.OK, "", own)]
    for _, value in pairs:
        listed = attribute_list(value, asked)
        if listed is not None and is_whole(listed, asked):
            merged = {name: own[name] or listed[name] for name in asked.names}
            return [Read(Outcome.OK, "", merged, ATTRIBUTE_LIST)]
    if any(isinstance(value, Pairs) for _, value in pairs) and not _holds_a_persona(pairs, asked):
        grouped = _grouped(pairs, asked)
        if grouped is not None and is_whole(grouped, asked):
            return [Read(Outcome.OK, "", grouped, GROUPED)]
    return None


def _holds_a_persona(pairs: Pairs, asked: Asked) -> bool:
    """Whether an object directly inside is a persona by itself, so that they are several people and no groups of one."""
    pending = [(value, 1) for _, value in pairs if isinstance(value, Pairs)]
    while pending:
        inside, depth = pending.pop()
        if is_whole(flat(inside, asked), asked):
            return True
        if depth < DEEPEST_GROUP:
            pending += [(value, depth + 1) for _, value in inside if isinstance(value, Pairs)]
    return False


def rows_of(value: Any, asked: Asked) -> Iterator[Read]:
    """Personas of a list of lists whose first names the attributes; nothing for any other value."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(row, list) for row in value):
        return
    yield from table_of([[term_of(cell, LONGEST_TEXT) for cell in row] for row in value], asked, ROWS)


def table_of(rows: Sequence[Sequence[str | None]], asked: Asked, shape: str) -> Iterator[Read]:
    """Personas of a table whose first row names the attributes; a row of another length is unparsable."""
    heads = [asked.attribute(cell) if cell else None for cell in rows[0]]
    names = [head[0] for head in heads if head is not None]
    if not (set(names) & set(asked.axes) and set(names) & set(asked.dimensions)) or len(set(names)) < len(names):
        return
    for row in rows[1:]:
        if len(row) != len(heads):
            reason = f"a row of a table has {len(row)} cells and its head has {len(heads)}"
            yield Read(Outcome.UNPARSABLE, reason, None, shape)
            continue
        found: Found = dict.fromkeys(asked.names)
        found |= {
            head[0]: term_of(cell, asked.longest(head[0]))
            for head, cell in zip(heads, row, strict=True)
            if head is not None
        }
        if any(found.values()):
            yield _judged(found, asked, shape, "a row of a table")
