"""Free terms put into categories, the original term always kept.

A taxonomy is data: one TOML file an attribute, in ``axes/`` and ``dimensions/``. This module holds the rules by which a
term is matched against them. A term that no rule knows stays unmapped: it is listed and counted, never guessed.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import snowballstemmer

from metrics.catalog import DuplicateEntryError, UnknownEntryError
from registry.audits.plan import Outcome, Record, content_hash

if TYPE_CHECKING:
    import pandas as pd

ENGINE_VERSION = "1"
"""Part of `Taxonomy.version`: raised whenever the matching rules below would map a term differently."""

_FOLDERS = {"axis": Path(__file__).parent / "axes", "dimension": Path(__file__).parent / "dimensions"}
_stemmed = lru_cache(maxsize=65536)(snowballstemmer.stemmer("english").stemWord)

_SEPARATORS = re.compile(r"\s*[,;/|+()\[\]:•\n]\s*|\s+[-–—]+\s+|[.!?]+(?=\s|$)|\s&\s|\b(?:and|or|but|und)\b", re.I)
_APOSTROPHES = re.compile(r"['’‘ʼ`]")
_NOT_WORD = re.compile(r"[^\w+#]+|_+")
_PREPOSITIONS = frozenset(
    "of at in for with from by on to about into through via under against between among around within across per near "
    "who that which where while specializing specialising focusing focused related".split()
)
_FUNCTION_WORDS = frozenset(
    "a an the this that these those is are am was were be been being do does did have has had having will would can could "
    "shall should may might must not no yes of at in for with from by on to about into as and or but so if then than too "
    "very i im ive id ill me my mine we weve our us you your he his him she her it its they their them who whom which what "
    "there here all any each some other one like love enjoy really also just most more much many etc eg ie s t m d ll re ve "
    "please n a na".split()
)
_JOINED = frozenset({"and", "or"})
_HONORIFICS = frozenset("mr mrs ms miss mx dr prof professor sir madam".split())


def _words(text: str) -> list[str]:
    return _NOT_WORD.sub(" ", _APOSTROPHES.sub("", text)).split()


def normalized(term: str) -> str:
    """A term as it is compared: NFKC, case folded, apostrophes dropped, other punctuation and hyphens as one space.

    >>> normalized("  Bachelor’s-Degree, "), normalized("R&B"), normalized("C++")
    ('bachelors degree', 'r b', 'c++')
    """
    return " ".join(_words(unicodedata.normalize("NFKC", term).casefold()))


def normalized_name(term: str) -> str | None:
    """A full name as it is compared: case folded, spaces collapsed, honorifics, quotes and nicknames in brackets dropped.

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
class Attribute:
    """One attribute of a persona: an identity axis or a social dimension, with its categories in order."""

    name: str
    title: str
    kind: Literal["axis", "dimension"]
    version: int
    source: str
    categories: tuple[str, ...]
    place: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class _Rules:
    """The compiled matching rules of one attribute.

    ``whole``: normalized answer -> category. ``strong`` and ``weak``: words of a phrase, plain and stemmed, -> category.
    """

    whole: Mapping[str, str]
    strong: Mapping[tuple[str, ...], str]
    weak: Mapping[tuple[str, ...], str]
    longest: int
    first: bool
    several: str | None
    unspecified: str | None
    question: frozenset[str]
    borrowed: tuple[tuple[str, str], ...]
    conditional: Mapping[str, tuple[str, Mapping[str, str]]]

    def phrase(self, words: Sequence[str], table: Mapping[tuple[str, ...], str]) -> str | None:
        """Category of the longest phrase of ``table`` in ``words``; of equals the first or the last one, as declared."""
        stems = [_stemmed(word) for word in words]
        for length in range(min(self.longest, len(words)), 0, -1):
            starts = range(len(words) - length + 1)
            for start in starts if self.first else reversed(starts):
                hit = table.get(tuple(words[start : start + length])) or table.get(
                    (_STEM, *stems[start : start + length])
                )
                if hit is not None:
                    return hit
        return None

    def joined(self, words: Sequence[str]) -> str | None:
        """Category of the longest phrase that holds an "and" itself ("arts and crafts"): looked for before splitting."""
        for length in range(min(self.longest, len(words)), 2, -1):
            for start in range(len(words) - length + 1):
                part = tuple(words[start : start + length])
                if not _JOINED.isdisjoint(part[1:-1]) and part in self.strong:
                    return self.strong[part]
        return None


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


class Taxonomy:
    """Attributes with their categories, and the category of any term. Immutable; made by `load_taxonomy`.

    >>> taxonomy = load_taxonomy()
    >>> taxonomy.category("occupation", "Pediatric Nurse"), taxonomy.category("occupation", "Zorblax")
    ('Healthcare', None)
    >>> taxonomy.category("sexual_orientation", "Homosexual", {"gender": "Woman"})
    'lesbian'
    """

    def __init__(self, attributes: Iterable[Attribute], rules: Mapping[str, _Rules], version: str) -> None:
        self._attributes = tuple(attributes)
        self._rules = dict(rules)
        self._version = version
        self._known: dict[tuple[str, str], str | None] = {}

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes in file order: axes, then dimensions. Names are not categorised and not among them."""
        return self._attributes

    @property
    def version(self) -> str:
        """Hash of the content of all files and of the matching rules; part of the scoring version."""
        return self._version

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name; `UnknownEntryError` names the nearest."""
        self._of(name)
        return next(attribute for attribute in self._attributes if attribute.name == name)

    def _of(self, name: str) -> _Rules:
        if name not in self._rules:
            near = difflib.get_close_matches(name, self._rules, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise UnknownEntryError(f"no attribute is named {name!r}{hint} Known: name, {', '.join(self._rules)}")
        return self._rules[name]

    def category(self, attribute: str, term: str | None, persona: Mapping[str, str | None] | None = None) -> str | None:
        """Category of ``term``; None when it is missing or no rule knows it.

        Parameters
        ----------
        attribute :
            name as in the answer (``"occupation"``); for ``"name"`` the normalized full name is returned
        term :
            the term as answered
        persona :
            the other terms of the same persona, for the few words that only they tell apart ("homosexual")

        Notes
        -----
        Tried in order: the whole answer; phrases with an "and" in them; the longest phrase of the first segment that
        has one, before its first preposition where possible ("Director of Nursing" falls to Healthcare because
        "director" is a weak word); weak words ("manager", "specialist"); an answer that only repeats the question
        ("Top personal interest is ..."); an answer to another question ("Female" as an occupation).
        """
        if term is None:
            return None
        if attribute == "name":
            return normalized_name(term)
        key = (attribute, term)
        if key not in self._known:
            self._known[key] = self._category(self._of(attribute), term)
        conditional = self._rules[attribute].conditional.get(self._known[key] or "")
        if conditional is None:
            return self._known[key]
        other, by_category = conditional
        return by_category.get(self.category(other, (persona or {}).get(other)) or "")

    def _category(self, rules: _Rules, term: str) -> str | None:
        folded = unicodedata.normalize("NFKC", term).casefold()
        words = _words(folded)
        whole = rules.whole.get(" ".join(words)) or rules.joined(words)
        if whole is not None:
            return whole
        segments = _parts(folded)
        for table in (rules.strong, rules.weak):
            hits: list[str] = []
            for segment in segments:
                hit = next((hit for part in segment if (hit := rules.phrase(part, table)) is not None), None)
                if hit is not None and hit not in hits:
                    hits.append(hit)
            if hits:
                return rules.several if rules.several is not None and len(hits) > 1 else hits[0]
        if rules.unspecified is not None and self._says_nothing(words, rules.question):
            return rules.unspecified
        for other, target in rules.borrowed:
            found = self._category(self._rules[other], term)
            if found is not None and found != self._rules[other].unspecified:
                return target
        return None

    @staticmethod
    def _says_nothing(words: Sequence[str], question: frozenset[str]) -> bool:
        """Whether an answer holds only function words, numbers and the words of the question."""
        return all(
            word in _FUNCTION_WORDS or word in question or not any(character.isalpha() for character in word)
            for word in words
        )


def _strings(values: Mapping[str, Any], key: str, place: str) -> list[str]:
    found = values.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, str) and item.strip() for item in found):
        raise TaxonomyError(f"{place}: {key!r} must be a list of words or phrases, and is {found!r:.80}")
    return found


def _compiled(values: Mapping[str, Any], place: str) -> _Rules:
    """The rules of one file; a term under two categories is refused, and both places are named."""
    whole: dict[str, str] = {}
    tables: dict[str, dict[tuple[str, ...], str]] = {"rules": {}, "weak": {}}
    stems: dict[str, dict[tuple[str, ...], set[str]]] = {"rules": {}, "weak": {}}
    seen: dict[str, tuple[str, str]] = {}
    for category in values["category"]:
        name = category["name"]
        for kind in ("synonyms", "rules", "weak"):
            for term in _strings(category, kind, f"{place}, category {name!r}"):
                key = normalized(term)
                where = f"{place}, category {name!r}, {kind}"
                if key in seen and seen[key][0] != name:
                    raise DuplicateEntryError(f"term {term!r} is under two categories: {seen[key][1]} and {where}")
                seen[key] = (name, where)
                if kind == "synonyms":
                    whole[key] = name
                    continue
                words = tuple(key.split())
                tables[kind][words] = name
                stems[kind].setdefault((_STEM, *map(_stemmed, words)), set()).add(name)
        whole.setdefault(normalized(name), name)
    for kind, by_stem in stems.items():
        # A stem that two categories share ("animals", "animation") decides nothing; the plain words still do.
        tables[kind] |= {stem: names.pop() for stem, names in by_stem.items() if len(names) == 1}
    longest = max((len(key) for table in tables.values() for key in table), default=1)
    return _Rules(
        whole=whole,
        strong=tables["rules"],
        weak=tables["weak"],
        longest=longest,
        first=values.get("decides", "last") == "first",
        several=values.get("several"),
        unspecified=values.get("unspecified"),
        question=frozenset(word for term in _strings(values, "question_words", place) for word in _words(term)),
        borrowed=tuple((entry["attribute"], entry["category"]) for entry in values.get("borrowed", [])),
        conditional={
            entry["category"]: (entry["attribute"], dict(entry["becomes"])) for entry in values.get("conditional", [])
        },
    )


def _checked(values: Mapping[str, Any], place: str) -> Attribute:
    """The attribute a file declares; every fault is one sentence that names the file."""
    for key, kind in {"name": str, "title": str, "kind": str, "source": str, "version": int, "category": list}.items():
        if not isinstance(values.get(key), kind):
            raise TaxonomyError(f"{place}: expected {key!r} ({kind.__name__}) and found {values.get(key)!r:.60}")
    if values["kind"] not in _FOLDERS:
        raise TaxonomyError(f"{place}: 'kind' must be 'axis' or 'dimension', and is {values['kind']!r}")
    if values["name"] == "name" or not re.fullmatch(r"[a-z][a-z0-9_]*", values["name"]):
        raise TaxonomyError(f"{place}: 'name' must be a lower-case word with underscores other than 'name'")
    if values.get("decides", "last") not in ("first", "last"):
        raise TaxonomyError(f"{place}: 'decides' must be 'first' or 'last', and is {values['decides']!r}")
    names = [category.get("name") for category in values["category"]]
    shown = [name for name in names if name not in {entry.get("category") for entry in values.get("conditional", [])}]
    if len(set(names)) != len(names) or not all(isinstance(name, str) and name for name in names) or len(shown) < 2:
        raise TaxonomyError(f"{place}: expected two or more [[category]] with different names, and found {names!r:.120}")
    targets = [values.get("several"), values.get("unspecified"), *(e.get("category") for e in values.get("borrowed", []))]
    targets += [target for entry in values.get("conditional", []) for target in entry.get("becomes", {}).values()]
    for target in targets:
        if target is not None and target not in shown:
            raise TaxonomyError(f"{place}: {target!r} is not one of its categories ({', '.join(shown)})")
    return Attribute(
        values["name"], values["title"], values["kind"], values["version"], values["source"], tuple(shown), place
    )


def load_taxonomy(extra: Path | None = None) -> Taxonomy:
    """The taxonomy of the packaged files, and of every ``*.toml`` under ``extra`` when a folder is given.

    Raises
    ------
    TaxonomyError
        a file is not TOML or lacks something; the sentence names the file
    DuplicateEntryError
        a term is under two categories, or an attribute is defined twice; both places are named
    """
    return _load(extra.resolve() if extra is not None else None)


@lru_cache(maxsize=8)
def _load(extra: Path | None) -> Taxonomy:
    paths = [path for folder in _FOLDERS.values() for path in sorted(folder.glob("*.toml"))]
    if extra is not None:
        if not extra.is_dir():
            raise TaxonomyError(f"expected a folder of TOML files, and {str(extra)!r} is not a folder")
        paths += sorted(extra.rglob("*.toml"))
    files: dict[str, tuple[Attribute, Mapping[str, Any]]] = {}
    for path in paths:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise TaxonomyError(f"{path.name}: not readable as TOML: {error}") from error
        place = f"{path.parent.name}/{path.name}"
        attribute = _checked(values, place)
        if attribute.name in files:
            raise DuplicateEntryError(
                f"attribute {attribute.name!r} is defined twice: in {files[attribute.name][0].place} and in {place}"
            )
        files[attribute.name] = (attribute, values)
    rules = {name: _compiled(values, attribute.place) for name, (attribute, values) in files.items()}
    for name, found in rules.items():
        for other in [*(other for other, _ in found.borrowed), *(other for other, _ in found.conditional.values())]:
            if other not in rules or other == name:
                raise TaxonomyError(f"{files[name][0].place}: {other!r} is not another attribute")
    version = content_hash([ENGINE_VERSION, {name: values for name, (_, values) in files.items()}])
    return Taxonomy([attribute for attribute, _ in files.values()], rules, version)
