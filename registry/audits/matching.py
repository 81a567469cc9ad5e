"""How a free term is matched against the words of categories: normal form, segments, longest phrase, strong words first.

Used by `registry.audits.taxonomy`, which holds the data and the question; nothing here knows any word of any category.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metrics.catalog import DuplicateEntryError
from registry.audits.asked import ENGLISH
from registry.audits.bands import Bands, bands_of
from registry.audits.devanagari import LETTERS, folded, whole
from registry.audits.forms import (
    BE,
    CODE,
    NO_WORD,
    SUBJECTS,
    form,
    is_chain,
    is_clause,
    is_entry,
    known_word,
    weighed,
)
from registry.audits.language import Language, around_names, language_of

ENGINE_VERSION = "2"
"""Part of the taxonomy's version: raised whenever the matching rules below would map a term differently."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_APOSTROPHES = re.compile(r"['’‘ʼ`]")
_NOT_WORD = re.compile(r"[^\w+#]+|_+")
_NOT_WORD_OF_ANY = re.compile(rf"[^\w+#{LETTERS}]+|_+")
_NOT_IN_NAME = re.compile(rf"[^\w'\-.{LETTERS}]+")
_STOP = re.compile(rf"(?<=[{LETTERS}])\.")  # a title or an initial, written together with what follows
_ENGLISH = language_of(ENGLISH)


_CUES = BE | _listed(
    """
    love loves loved like likes liked enjoy enjoys enjoyed enjoying prefer prefers adore adores interested interest
    interests passion passions passionate fan hobby hobbies favorite favourite become becoming work works worked working
    study studies studying play plays playing specialize specialise focus focused career job occupation profession into
    expert obsessed addicted dream spend spending as field
    """
)
_NEGATIONS = _listed("not no never dont doesnt didnt cant cannot isnt arent wasnt wont without")
_DENYING = _NEGATIONS | {"non", "nor", "neither"}
_HAVE = _listed("has have had")
_WINDOW = 7  # words and commas after a cue in which a clause states its content
_COMMAS = re.compile(r"[,;/|+()\[\]:•\n]|[.!?]+(?=\s|$)")
_COMBINING = _listed(
    "cyber bio neuro micro astro geo eco agro electro photo video inter multi super over under tele mid"
)
_IT = re.compile(r"\bit\b")  # in a clause the pronoun, not the trade, which is written with capitals
_CAMEL = re.compile(r"(?<![^\W_])(?:[A-Z][a-z]{2,}){2,4}(?![^\W_])")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _humps(text: str) -> str:
    """Words written as one with capitals ("RockClimbing") taken apart."""
    return _CAMEL.sub(lambda match: _HUMP.sub(" ", match[0]), text)


def _words(text: str, between: re.Pattern[str] = _NOT_WORD) -> list[str]:
    return between.sub(" ", _APOSTROPHES.sub("", text).replace("&", " and ")).split()


def _text(term: str, language: Language) -> str:
    # English keeps the way in which its scores were made: an answer in Devanagari to an English question stays unmapped.
    text = unicodedata.normalize("NFKC", term)
    return text if language is _ENGLISH else folded(text)


def _words_of(text: str, language: Language) -> list[str]:
    return _words(text, _NOT_WORD if language is _ENGLISH else _NOT_WORD_OF_ANY)


def normalized(term: str) -> str:
    """A term as it is compared: NFKC, case folded, apostrophes dropped, other punctuation and hyphens as one space.

    Words in Devanagari stay whole, in one spelling (`registry.audits.devanagari.folded`).

    >>> normalized("  Bachelor’s-Degree, "), normalized("R&B"), normalized("C++")
    ('bachelors degree', 'r and b', 'c++')
    """
    return " ".join(_words(folded(unicodedata.normalize("NFKC", term).casefold()), _NOT_WORD_OF_ANY))


def normalized_name(term: str) -> str | None:
    """A full name as it is compared: case folded, spaces collapsed, honorifics, quotes and bracketed parts dropped.

    Accents, signs of Devanagari, hyphens and apostrophes are parts of names and stay. None when no letter is left.

    >>> normalized_name('Dr.  Zoë "Zo" O’Neill-Diaz,'), normalized_name("Mr."), normalized_name("0")
    ("zoë zo o'neill-diaz", None, None)
    >>> normalized_name("श्रीमती सुनीता शर्मा जी"), normalized_name("डॉ.फ़ातिमा")
    ('सुनीता शर्मा', 'फ़ातिमा')
    """
    text = whole(_APOSTROPHES.sub("'", unicodedata.normalize("NFKC", term).casefold()))
    text = _STOP.sub(" ", re.sub(r"\([^)]*\)", " ", text))
    words = [word.strip("'-._") for word in _NOT_IN_NAME.sub(" ", text).split()]
    words = [word for word in words if word]
    before, after = around_names()
    while words and words[0] in before:
        words = words[1:]
    while len(words) > 1 and words[-1] in after:
        words = words[:-1]
    name = " ".join(words)
    return name if any(character.isalpha() for character in name) else None


def content_stems(term: str) -> frozenset[str]:
    """The stems of a term's words without function words: what it has in common with another one.

    >>> sorted(content_stems("Stacking of ladders"))
    ['ladder', 'stack']
    """
    return frozenset(_ENGLISH.stem(word) for word in normalized(term).split() if word not in _ENGLISH.function_words)


class TaxonomyError(ValueError):
    """A file of the taxonomy that cannot be used; the message names the file and what was expected."""


class Match(NamedTuple):
    """A category, and on what basis a term was put there."""

    category: str
    basis: str


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
    language: Language = _ENGLISH
    bands: Bands | None = None
    denials: Mapping[tuple[str, ...], str] | None = (
        None  # phrases that deny something themselves, where a denial is looked at
    )

    def phrase(self, words: Sequence[str], table: Mapping[tuple[str, ...], str]) -> str | None:
        """Category of the longest phrase of ``table`` in ``words``; of equals the first or last one, as declared."""
        stems = [self.language.stem(word) for word in words]
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
        connectors = self.language.connectors
        if connectors.isdisjoint(words):
            return None
        ends = [self.reach.get(word, 0) for word in words]
        for length in range(min(max(ends), len(words)), 1, -1):
            for start in range(len(words) - length + 1):
                if ends[start] < length:
                    continue
                part = tuple(words[start : start + length])
                if part in self.strong and not connectors.isdisjoint(part):
                    return self.strong[part]
        return None

    def match(self, term: str) -> Match | None:
        """Category of a term by this attribute's own words and on what basis; None when none is in it.

        An attribute with an unspecified category reads codes, clauses and letters without meaning more strictly: a
        word in them counts only where it is plainly stated.
        """
        text = _text(term, self.language)
        words = self._words(text.casefold())
        if (listed := self.whole.get(" ".join(words))) is not None:
            return Match(listed, "term")
        if self.bands is not None and (band := self.bands.category(text)) is not None:
            return Match(band, "number")
        if self.denials is not None and not _DENYING.isdisjoint(words):
            denied = self.phrase(words, self.denials)  # "no diabetes" is not diabetes
            return Match(denied, "phrase") if denied is not None else None
        if self.unspecified is None:
            return self._content([text.casefold()])
        if not self.language.forms:
            turned = not self.language.negations.isdisjoint(words)
            return (None if turned else self._content([text.casefold()])) or self._question(words)
        if is_chain(text, words):
            return self._form(CODE)
        if is_clause(words):
            stated = self._content(_statements(_IT.sub(" ", text).casefold()))
            return Match(stated.category, "statement") if stated is not None else self._question(words)
        found = self._content([text.casefold()]) or self._glued(text, words)
        if found is None:
            return self._question(words)
        return self._form(NO_WORD) if self._drowned(text) else found

    def _words(self, text: str) -> list[str]:
        return _words_of(text, self.language)

    def _question(self, words: Sequence[str]) -> Match | None:
        named = self.unspecified if any(map(str.isalpha, "".join(words))) and self.says_nothing(words) else None
        return Match(named, "question") if named is not None else None

    def by_form(self, term: str) -> Match | None:
        """The unspecified category for a term whose form says that it names nothing; asked when all else failed."""
        if self.unspecified is None:
            return None
        if not self.language.forms:  # what can be said without a dictionary
            return None if any(map(str.isalpha, term)) else self._form(CODE)
        text = _humps(unicodedata.normalize("NFKC", term))
        found = form(text, _words(text.casefold()))
        return self._form(found) if found is not None else None

    def _drowned(self, text: str) -> bool:
        """Whether the words of an answer with content are, by two thirds, letters without meaning."""
        words = weighed(_words(_humps(text).casefold()))
        if len(words) < 4:
            return False
        stem = self.language.stem
        listed = (word in self.reach or stem(word) in self.reach or known_word(word) for word in words)
        return 3 * sum(not each for each in listed) >= 2 * len(words)

    def _form(self, name: str) -> Match | None:
        return Match(self.unspecified, f"form: {name}") if self.unspecified is not None else None

    def _content(self, texts: Sequence[str]) -> Match | None:
        """The first text with a strong phrase decides, then the first with a weak word."""
        for text in texts:
            if (joined := self.joined(self._words(text))) is not None:
                return Match(joined, "phrase")
        for table, basis in ((self.strong, "phrase"), (self.weak, "weak word")):
            for text in texts:
                hits: list[str] = []
                for segment in self._parts(text):
                    hit = next((hit for part in segment if (hit := self.phrase(part, table)) is not None), None)
                    if hit is not None and hit not in hits:
                        hits.append(hit)
                if hits:
                    return Match(self.several if self.several is not None and len(hits) > 1 else hits[0], basis)
        return None

    def _parts(self, text: str) -> list[list[list[str]]]:
        """An answer's segments (between commas, slashes, brackets, "and"), each cut at its adpositions; the head's part first."""
        segments = []
        for segment in self.language.cuts.split(text):
            parts: list[list[str]] = [[]]
            for word in self._words(segment):
                if word in self.language.adpositions:
                    parts.append([])
                else:
                    parts[-1].append(word)
            turned = self.language.head == "last" and not segment.isascii()
            segments.append([part for part in (reversed(parts) if turned else parts) if part])
        return [segment for segment in segments if segment]

    def _glued(self, text: str, words: Sequence[str]) -> Match | None:
        """Content of words written as one: "RockClimbing", and "Hobbydancer" by its last part."""
        if (apart := _humps(text)) != text and (found := self._content([apart.casefold()])) is not None:
            return found
        for word in words:
            for cut in range(4, len(word) - 4) if word.isascii() else ():
                head, hit = word[:cut], self.strong.get((word[cut:],))
                if hit is not None and (head in _COMBINING or known_word(head) == "word") and not is_entry(word):
                    return Match(hit, "compound")
        return None

    def says_nothing(self, words: Sequence[str]) -> bool:
        """Whether an answer holds only function words, numbers and the words of the question."""
        return all(
            word in self.language.function_words
            or word in self.question
            or not any(character.isalpha() for character in word)
            for word in words
        )


_STEM = "*"  # first element of a stemmed key, so that plain and stemmed phrases share one table


def _statements(text: str) -> list[str]:
    """What a clause plainly states: the words after "love", "interested in", "am", "work as"; its first subject.

    >>> _statements("in this video im a super nerd"), _statements("education is not for me")
    (['a super nerd'], ['education'])
    """
    words = [word for piece in _COMMAS.split(text) for word in [*_words(piece), ","]][:-1]
    found = []
    verb = next((at for at, word in enumerate(words) if word in BE or word in _HAVE), 0)
    if 0 < verb <= 10 and SUBJECTS.isdisjoint(words[: verb + 1]):
        found.append(" ".join(words[:verb]))
    for at, word in enumerate(words):
        after = words[at + 1 : at + 1 + _WINDOW]
        plain = word in SUBJECTS and word not in _CUES  # "I teach": what follows counts up to the next cue
        if not (plain or word in _CUES):
            continue
        if not _NEGATIONS.isdisjoint(words[max(0, at - 3) : at + 1]) or not _NEGATIONS.isdisjoint(after[: 1 + plain]):
            continue
        ends = SUBJECTS | _CUES if plain else SUBJECTS
        end = next((length for length, each in enumerate(after) if each in ends), len(after))
        if end:
            found.append(" ".join(after[:end]))
    return found


def _strings(values: Mapping[str, Any], key: str, place: str) -> list[str]:
    found = values.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, str) and item.strip() for item in found):
        raise TaxonomyError(f"{place}: {key!r} must be a list of words or phrases, and is {found!r:.80}")
    return found


_Tables = dict[str, dict[tuple[str, ...], str]]


def _terms(values: Mapping[str, Any], place: str, language: Language) -> tuple[dict[str, str], _Tables]:
    """Every term of a file by its whole form, and every phrase by its words and by its stems."""
    listed: dict[str, str] = {}
    tables: _Tables = {"rules": {}, "weak": {}}
    stems: dict[str, dict[tuple[str, ...], set[str]]] = {"rules": {}, "weak": {}}
    places: dict[str, str] = {}
    for category in values["category"]:
        name = category["name"]
        for kind in ("synonyms", "rules", "weak"):
            where = f"{place}, category {name!r}, {kind}"
            for term in _strings(category, kind, f"{place}, category {name!r}"):
                key = " ".join(_words_of(_text(term, language).casefold(), language))
                if listed.setdefault(key, name) != name:
                    raise DuplicateEntryError(f"term {term!r} is under two categories: {places[key]} and {where}")
                places[key] = where
                if kind != "synonyms":
                    words = tuple(key.split())
                    tables[kind][words] = name
                    stems[kind].setdefault((_STEM, *map(language.stem, words)), set()).add(name)
    for category in values["category"]:
        listed.setdefault(normalized(category["name"]), category["name"])
    for kind, by_stem in stems.items():
        # A stem that two categories share ("animals", "animation") decides nothing; the plain words still do.
        tables[kind] |= {stem: names.pop() for stem, names in by_stem.items() if len(names) == 1}
    return listed, tables


def compiled(values: Mapping[str, Any], place: str, language: Language = _ENGLISH) -> Rules:
    """The rules of one file; a term under two categories is refused, and both places are named."""
    listed, tables = _terms(values, place, language)
    reach: dict[str, int] = {}
    for phrase in (phrase for table in tables.values() for phrase in table):
        words = phrase[1:] if phrase[0] == _STEM else phrase
        reach[words[0]] = max(reach.get(words[0], 0), len(words))
    return Rules(
        whole=listed,
        strong=tables["rules"],
        weak=tables["weak"],
        reach=reach,
        first=values.get("decides", "last") == "first",
        several=values.get("several"),
        unspecified=values.get("unspecified"),
        question=frozenset(
            word
            for term in _strings(values, "question_words", place)
            for word in _words_of(_text(term, language), language)
        ),
        borrowed=tuple((entry["attribute"], entry["category"]) for entry in values.get("borrowed", [])),
        conditional={
            entry["category"]: (entry["attribute"], dict(entry["becomes"])) for entry in values.get("conditional", [])
        },
        language=language,
        bands=_bands(values, place),
        denials=_denials(tables["rules"]) if values.get("denies") else None,
    )


def _denials(phrases: Mapping[tuple[str, ...], str]) -> dict[tuple[str, ...], str]:
    return {words: category for words, category in phrases.items() if not _DENYING.isdisjoint(words)}


def _bands(values: Mapping[str, Any], place: str) -> Bands | None:
    try:
        return bands_of(values)
    except ValueError as error:
        raise TaxonomyError(f"{place}: {error}") from error
