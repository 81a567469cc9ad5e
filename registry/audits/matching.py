"""How a free term is matched against the words of categories: normal form, segments, longest phrase, strong words first.

Used by `registry.audits.taxonomy`, which holds the data and the question; nothing here knows any word of any category.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import snowballstemmer

from metrics.catalog import DuplicateEntryError

ENGINE_VERSION = "1"
"""Part of the taxonomy's version: raised whenever the matching rules below would map a term differently."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_stemmed = lru_cache(maxsize=65536)(snowballstemmer.stemmer("english").stemWord)

_SEPARATORS = re.compile(r"\s*[,;/|+()\[\]:•\n]\s*|\s+[-–—]+\s+|[.!?]+(?=\s|$)|&|\b(?:and|or|but)\b")
_APOSTROPHES = re.compile(r"['’‘ʼ`]")
_NOT_WORD = re.compile(r"[^\w+#]+|_+")
_PREPOSITIONS = _listed(
    """
    of at in for with from by on to about into through via under against between among around within across per
    near who that which where while specializing specialising focusing focused related
    """
)
_FUNCTION_WORDS = _listed(
    """
    a an the this that these those is are am was were be been being do does did have has had having will would can
    could shall should may might must not no yes of at in for with from by on to about into as and or but so if
    then than too very i im ive id ill me my mine we weve our us you your he his him she her it its they their
    them who whom which what there here all any each some other one like love enjoy really also just most more
    much many etc eg ie s t m d ll re ve please n a na
    """
)
_CONNECTORS = _PREPOSITIONS | {"and", "or"}
_HONORIFICS = _listed(
    """
    mr mrs ms miss mx dr prof professor sir madam
    """
)


def _words(text: str) -> list[str]:
    return _NOT_WORD.sub(" ", _APOSTROPHES.sub("", text).replace("&", " and ")).split()


def normalized(term: str) -> str:
    """A term as it is compared: NFKC, case folded, apostrophes dropped, other punctuation and hyphens as one space.

    >>> normalized("  Bachelor’s-Degree, "), normalized("R&B"), normalized("C++")
    ('bachelors degree', 'r and b', 'c++')
    """
    return " ".join(_words(unicodedata.normalize("NFKC", term).casefold()))


def normalized_name(term: str) -> str | None:
    """A full name as it is compared: case folded, spaces collapsed, honorifics, quotes and bracketed parts dropped.

    Accents, hyphens and apostrophes are parts of names and stay. None when no letter is left.

    >>> normalized_name('Dr.  Zoë "Zo" O’Neill-Diaz,'), normalized_name("Mr."), normalized_name("0")
    ("zoë zo o'neill-diaz", None, None)
    """
    text = _APOSTROPHES.sub("'", unicodedata.normalize("NFKC", term).casefold())
    text = re.sub(r"\([^)]*\)", " ", text)
    words = [word.strip("'-._") for word in re.sub(r"[^\w'\-.]+", " ", text).split()]
    words = [word for word in words if word]
    while words and words[0] in _HONORIFICS:
        words = words[1:]
    name = " ".join(words)
    return name if any(character.isalpha() for character in name) else None


class TaxonomyError(ValueError):
    """A file of the taxonomy that cannot be used; the message names the file and what was expected."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """The compiled matching rules of one attribute.

    ``whole``: normalized answer -> category. ``strong`` and ``weak``: phrase, plain and stemmed, -> category. ``reach``:
    first word or stem of any phrase -> words of the longest phrase that begins so.
    """

    whole: Mapping[str, str]
    strong: Mapping[tuple[str, ...], str]
    weak: Mapping[tuple[str, ...], str]
    reach: Mapping[str, int]
    first: bool
    several: str | None
    unspecified: str | None
    question: frozenset[str]
    borrowed: tuple[tuple[str, str], ...]
    conditional: Mapping[str, tuple[str, Mapping[str, str]]]

    def phrase(self, words: Sequence[str], table: Mapping[tuple[str, ...], str]) -> str | None:
        """Category of the longest phrase of ``table`` in ``words``; of equals the first or last one, as declared."""
        stems = [_stemmed(word) for word in words]
        reach = self.reach
        ends = [max(reach.get(word, 0), reach.get(stem, 0)) for word, stem in zip(words, stems, strict=True)]
        for length in range(min(max(ends, default=0), len(words)), 0, -1):
            starts = range(len(words) - length + 1)
            for start in starts if self.first else reversed(starts):
                if ends[start] < length:
                    continue
                end = start + length
                hit = table.get(tuple(words[start:end])) or table.get((_STEM, *stems[start:end]))
                if hit is not None:
                    return hit
        return None

    def joined(self, words: Sequence[str]) -> str | None:
        """Category of the longest phrase that holds an "and" or "of" itself ("arts and crafts"): looked for unsplit."""
        if _CONNECTORS.isdisjoint(words):
            return None
        ends = [self.reach.get(word, 0) for word in words]
        for length in range(min(max(ends), len(words)), 1, -1):
            for start in range(len(words) - length + 1):
                if ends[start] < length:
                    continue
                part = tuple(words[start : start + length])
                if part in self.strong and not _CONNECTORS.isdisjoint(part):
                    return self.strong[part]
        return None

    def category(self, term: str) -> str | None:
        """Category of a term by this attribute's own words; None when none is in it."""
        folded = unicodedata.normalize("NFKC", term).casefold()
        words = _words(folded)
        whole = self.whole.get(" ".join(words)) or self.joined(words)
        if whole is not None:
            return whole
        segments = _parts(folded)
        for table in (self.strong, self.weak):
            hits: list[str] = []
            for segment in segments:
                hit = next((hit for part in segment if (hit := self.phrase(part, table)) is not None), None)
                if hit is not None and hit not in hits:
                    hits.append(hit)
            if hits:
                return self.several if self.several is not None and len(hits) > 1 else hits[0]
        return self.unspecified if self.unspecified is not None and self.says_nothing(words) else None

    def says_nothing(self, words: Sequence[str]) -> bool:
        """Whether an answer holds only function words, numbers and the words of the question."""
        return all(
            word in _FUNCTION_WORDS or word in self.question or not any(character.isalpha() for character in word)
            for word in words
        )


_STEM = "*"  # first element of a stemmed key, so that plain and stemmed phrases share one table


def _parts(text: str) -> list[list[list[str]]]:
    """An answer's segments (between commas, slashes, brackets, "and"), each cut at its prepositions."""
    segments = []
    for segment in _SEPARATORS.split(text):
        parts: list[list[str]] = [[]]
        for word in _words(segment):
            if word in _PREPOSITIONS:
                parts.append([])
            else:
                parts[-1].append(word)
        segments.append([part for part in parts if part])
    return [segment for segment in segments if segment]


def _strings(values: Mapping[str, Any], key: str, place: str) -> list[str]:
    found = values.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, str) and item.strip() for item in found):
        raise TaxonomyError(f"{place}: {key!r} must be a list of words or phrases, and is {found!r:.80}")
    return found


_Tables = dict[str, dict[tuple[str, ...], str]]


def _terms(values: Mapping[str, Any], place: str) -> tuple[dict[str, str], _Tables]:
    """Every term of a file by its whole form, and every phrase by its words and by its stems."""
    whole: dict[str, str] = {}
    tables: _Tables = {"rules": {}, "weak": {}}
    stems: dict[str, dict[tuple[str, ...], set[str]]] = {"rules": {}, "weak": {}}
    places: dict[str, str] = {}
    for category in values["category"]:
        name = category["name"]
        for kind in ("synonyms", "rules", "weak"):
            where = f"{place}, category {name!r}, {kind}"
            for term in _strings(category, kind, f"{place}, category {name!r}"):
                key = normalized(term)
                if whole.setdefault(key, name) != name:
                    raise DuplicateEntryError(f"term {term!r} is under two categories: {places[key]} and {where}")
                places[key] = where
                if kind != "synonyms":
                    words = tuple(key.split())
                    tables[kind][words] = name
                    stems[kind].setdefault((_STEM, *map(_stemmed, words)), set()).add(name)
    for category in values["category"]:
        whole.setdefault(normalized(category["name"]), category["name"])
    for kind, by_stem in stems.items():
        # A stem that two categories share ("animals", "animation") decides nothing; the plain words still do.
        tables[kind] |= {stem: names.pop() for stem, names in by_stem.items() if len(names) == 1}
    return whole, tables


def compiled(values: Mapping[str, Any], place: str) -> Rules:
    """The rules of one file; a term under two categories is refused, and both places are named."""
    whole, tables = _terms(values, place)
    reach: dict[str, int] = {}
    for phrase in (phrase for table in tables.values() for phrase in table):
        words = phrase[1:] if phrase[0] == _STEM else phrase
        reach[words[0]] = max(reach.get(words[0], 0), len(words))
    return Rules(
        whole=whole,
        strong=tables["rules"],
        weak=tables["weak"],
        reach=reach,
        first=values.get("decides", "last") == "first",
        several=values.get("several"),
        unspecified=values.get("unspecified"),
        question=frozenset(word for term in _strings(values, "question_words", place) for word in _words(term)),
        borrowed=tuple((entry["attribute"], entry["category"]) for entry in values.get("borrowed", [])),
        conditional={
            entry["category"]: (entry["attribute"], dict(entry["becomes"])) for entry in values.get("conditional", [])
        },
    )
