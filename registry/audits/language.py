"""What reading an answer needs to know of a language: a stemmer, the words that hold an answer together, where its head stands.

One TOML file a language, in ``languages/``. English is the language of the paper; how words are put into categories is in
`registry.audits.matching`, and is the same for all.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
import unicodedata
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import snowballstemmer

from metrics.catalog import UnknownEntryError
from registry.audits.asked import ENGLISH
from registry.audits.devanagari import folded

FOLDER = Path(__file__).parent / "languages"
SHORTEST_STEM = 3  # of a word that is not English: what is shorter stands for too many others

_RUNS = r"\s+[-–—]+\s+|[.!?]+(?=\s|$)|&"
_LATIN = lru_cache(maxsize=65536)(snowballstemmer.stemmer("english").stemWord)


@dataclasses.dataclass(frozen=True)
class Language:
    """One language.

    Parameters
    ----------
    code, name : ISO 639-1, and the name in English
    stemmer : the Snowball algorithm for its words; words of the letters a to z are stemmed as English ones in every language
    head : which part of an answer that is cut at adpositions decides: the ``first`` ("director of nursing") or the ``last``
    forms : whether the rules of `registry.audits.forms` and of clauses apply, which need a dictionary of the language
    separators : words between things of equal rank
    adpositions : prepositions or postpositions, and what else ends a part; function_words : words that name nothing
    negations : words that turn what is said; where clauses are not understood, an answer that has one counts only when it is listed
    honorifics, after_names : before and after a name, and no part of it
    """

    code: str
    name: str
    stemmer: str
    head: Literal["first", "last"]
    forms: bool
    separators: tuple[str, ...]
    adpositions: frozenset[str]
    function_words: frozenset[str]
    negations: frozenset[str]
    honorifics: frozenset[str]
    after_names: frozenset[str]

    @property
    def content(self) -> list[Any]:
        """All that it is made of, as plain values: part of the version of a taxonomy in it."""
        values = dataclasses.asdict(self).values()
        return [sorted(value) if isinstance(value, frozenset) else value for value in values]

    @cached_property
    def connectors(self) -> frozenset[str]:
        """Words at which an answer is cut; a listed phrase that has one inside is looked for in the whole."""
        return self.adpositions | set(self.separators)

    @cached_property
    def cuts(self) -> re.Pattern[str]:
        """Where an answer is cut into segments: signs, and separating words."""
        words = "|".join(map(re.escape, self.separators))
        if self.code == ENGLISH:
            return re.compile(rf"\s*[,;/|+()\[\]:•\n]\s*|{_RUNS}|\b(?:{words})\b")
        # Not \b here: it stands between a consonant of Devanagari and its vowel sign.
        return re.compile(rf"\s*[,;/|+()\[\]:•\n।॥]\s*|{_RUNS}|(?<!\S)(?:{words})(?!\S)")

    @cached_property
    def _own(self) -> snowballstemmer.stemmer:
        return snowballstemmer.stemmer(self.stemmer)

    @cached_property
    def _stems(self) -> dict[str, str]:
        return {}

    def stem(self, word: str) -> str:
        """The stem of a word in normal form.

        >>> language_of("en").stem("nurses"), language_of("hi").stem("इंजीनियरों"), language_of("hi").stem("nurses")
        ('nurs', 'इंजीनियर', 'nurs')
        """
        if self.code == ENGLISH or word.isascii():
            return str(_LATIN(word))
        if word not in self._stems:
            if len(self._stems) > 65536:
                self._stems.clear()
            found = str(self._own.stemWord(word))
            self._stems[word] = found if len(found) >= SHORTEST_STEM else word
        return self._stems[word]


def languages() -> list[str]:
    """Codes of the languages that there are."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def language_of(code: str) -> Language:
    """The language of that code.

    Raises
    ------
    UnknownEntryError : there is none
    """
    if code not in languages():
        raise UnknownEntryError(f"no language is named {code!r:.20}; known are {', '.join(languages())}")
    text = unicodedata.normalize("NFKC", (FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    names = {key: tomllib.loads(text)[key] for key in ("honorifics", "after_names")}
    values = (
        tomllib.loads(folded(text)) | names
    )  # names keep their spelling, answers are folded before they are compared
    lists = ("adpositions", "function_words", "negations", "honorifics", "after_names")
    fields: dict[str, Any] = {key: values[key] for key in ("name", "stemmer", "head", "forms")}
    fields |= {key: frozenset(values[key].split()) for key in lists}
    return Language(code=code, separators=tuple(values["separators"]), **fields)


@cache
def around_names() -> tuple[frozenset[str], frozenset[str]]:
    """Words before a name and words after it, of all languages: a name says not in which language it was asked for."""
    known = [language_of(code) for code in languages()]
    return frozenset().union(*(one.honorifics for one in known)), frozenset().union(*(one.after_names for one in known))
