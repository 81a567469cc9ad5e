"""Lists of words in classes: what they are, where they come from, and which words of a text they know.

A lexicon is data: one TOML file whose header says what it is (title, source, licence, version, unit) before it lists any
word. Those that are shipped lie in ``metrics/lexicons`` and were written for this project; `metrics.connotation` reads the
published connotation frames, which a user brings.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from metrics.catalog import UnknownEntryError
from metrics.errors import BadInputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNITS = {
    "lemma": "dictionary forms",
    "stem": "dictionary forms of one word; a final * stands for any ending",
    "third-person": "verbs as written after he or she; several words allowed",
    "phrase": "words as written, in lower case; several words allowed",
}
"""What an entry is compared with."""

UNKNOWN = -1
"""The place of a word that a lexicon does not know."""

_SHIPPED = Path(__file__).parent / "lexicons"
_HEADER = ("name", "title", "source", "licence", "version", "unit")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SHORTEST_STEM = 3
_MOST_BYTES = 5_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lexicon:
    """Words in classes, with their origin. Immutable; refuses what would make a word's class ambiguous.

    Parameters
    ----------
    name : catalog name, also the name of its file; title : in words
    source : who chose the words and from which idea; licence : SPDX name; version : raised when the words change
    unit : what an entry is, one of `UNITS`
    classes : class name -> entries (lower case), in the order that results use
    recognised : False when the content is not the published one that figures were checked with

    Raises
    ------
    BadInputError : a missing header, an unknown unit, an empty class, an entry in two classes (for stems also: reached by a
        stem of another class), or an entry that is not trimmed lower case

    >>> tiny = Lexicon(name="tiny", title="t", source="s", licence="CC0-1.0", version="1", unit="stem",
    ...                classes={"up": {"rise", "grow*"}, "down": {"fall"}})
    >>> tiny.places(["growth", "Rise", "rises", "fall"]).tolist()
    [0, 0, -1, 1]
    """

    name: str
    title: str
    source: str
    licence: str
    version: str
    unit: str
    classes: Mapping[str, frozenset[str]] = dataclasses.field(repr=False)
    recognised: bool = True

    def __post_init__(self) -> None:
        classes = {title: frozenset(entries) for title, entries in self.classes.items()}
        object.__setattr__(self, "classes", MappingProxyType(classes))
        _require_header(self)
        _require_entries(self)

    def __hash__(self) -> int:
        return hash((self.name, self.version, self.digest))

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return functools.partial(Lexicon, **{**fields, "classes": dict(self.classes)}), ()

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the places that `places` returns."""
        return tuple(self.classes)

    @property
    def multiword(self) -> frozenset[str]:
        """Entries of several words, which a look-up of single words cannot find."""
        return frozenset(entry for entries in self.classes.values() for entry in entries if " " in entry)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256, first 16 hex digits, of unit and entries: part of the scoring version.

        Title, source and the order of the entries do not change it.
        """
        content = [self.unit, {title: sorted(entries) for title, entries in self.classes.items()}]
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]

    @functools.cached_property
    def _tables(self) -> tuple[dict[str, int], dict[str, int], tuple[int, ...]]:
        """Whole entries -> class, beginnings -> class, and the lengths of the beginnings."""
        whole: dict[str, int] = {}
        beginnings: dict[str, int] = {}
        for place, entries in enumerate(self.classes.values()):
            for entry in entries:
                if self.unit == "stem" and entry.endswith("*"):
                    beginnings[entry[:-1]] = place
                else:
                    whole[entry] = place
        return whole, beginnings, tuple(sorted({len(beginning) for beginning in beginnings}))

    def places(self, words: Sequence[str]) -> NDArray[np.int16]:
        """Class of each word: its place in `class_names`, or -1.

        Parameters
        ----------
        words : what the unit asks for (unique lemmas, say), shape [words]; case does not matter

        Meant for a vocabulary, whose result is then indexed by the tokens: ``lexicon.places(lemmas)[token_lemma]``.
        """
        import numpy as np

        whole, beginnings, lengths = self._tables

        def place_of(word: str) -> int:
            place = whole.get(word)
            if place is None:
                starts = (beginnings.get(word[:length]) for length in lengths)
                place = next((start for start in starts if start is not None), UNKNOWN)
            return place

        return np.fromiter((place_of(word.lower()) for word in words), dtype=np.int16, count=len(words))


def _require_header(lexicon: Lexicon) -> None:
    for field in _HEADER:
        value: object = getattr(lexicon, field)
        if not isinstance(value, str) or not value.strip():
            raise BadInputError(
                f"lexicon {lexicon.name!r}: {field!r} must be a text that is not empty, got {value!r}; write it in the header"
            )
        if not value.replace("\n", "").isprintable():
            raise BadInputError(f"lexicon {lexicon.name!r}: {field!r} has control characters; take them out")
    if not _NAME.fullmatch(lexicon.name):
        raise BadInputError(f"a lexicon's name is lower-case words joined by hyphens, got {lexicon.name!r}; rename it")
    if lexicon.unit not in UNITS:
        raise BadInputError(
            f"lexicon {lexicon.name!r}: unit must be one of {', '.join(UNITS)}, got {lexicon.unit!r}; choose one of them"
        )
    if not lexicon.classes:
        raise BadInputError(f"lexicon {lexicon.name!r} needs at least one class with entries, got none; add one")


def _require_entries(lexicon: Lexicon) -> None:
    owner: dict[str, str] = {}
    for title, entries in lexicon.classes.items():
        if not _NAME.fullmatch(title):
            raise BadInputError(
                f"lexicon {lexicon.name!r}: a class is named by lower-case words joined by hyphens, got {title!r}; rename it"
            )
        if not entries:
            raise BadInputError(
                f"lexicon {lexicon.name!r}: every class needs entries, {title!r} has none; fill it or leave it out"
            )
        for entry in sorted(entries, key=str):
            _require_entry(lexicon, entry)
            if entry in owner:
                raise BadInputError(
                    f"lexicon {lexicon.name!r}: an entry belongs to one class, but {entry!r} is in {owner[entry]!r} and "
                    f"{title!r}; take it out of one"
                )
            owner[entry] = title
    if lexicon.unit == "stem":
        for stem, reached in _reached(owner):
            raise BadInputError(
                f"lexicon {lexicon.name!r}: stem {stem!r} of {owner[stem]!r} also reaches {reached!r} of {owner[reached]!r}; "
                "write a longer stem or whole words"
            )


def _require_entry(lexicon: Lexicon, entry: object) -> None:
    if not isinstance(entry, str) or entry != " ".join(entry.lower().split()) or not entry.isprintable() or not entry:
        raise BadInputError(
            f"lexicon {lexicon.name!r}: entries are lower-case words, single spaces between them and none around them, got "
            f"{entry!r}; rewrite it"
        )
    if lexicon.unit == "stem" and " " in entry:
        raise BadInputError(
            f"lexicon {lexicon.name!r}: an entry of unit 'stem' is one word, got {entry!r}; use unit 'phrase'"
        )
    stem = entry.removesuffix("*") if lexicon.unit == "stem" else entry
    if "*" in stem or (stem != entry and len(stem) < _SHORTEST_STEM):
        raise BadInputError(
            f"lexicon {lexicon.name!r}: a * stands at the end of a stem of {_SHORTEST_STEM} letters or more, in unit 'stem' "
            f"only; got {entry!r}"
        )


def _reached(owner: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Stems that reach an entry of another class, each with that entry."""
    for stem in owner:
        if stem.endswith("*"):
            for entry, title in owner.items():
                if title != owner[stem] and entry.removesuffix("*").startswith(stem[:-1]):
                    yield stem, entry


def file_content(path: Path) -> bytes:
    """Bytes of a lexicon file; `BadInputError` when it cannot be read or is far larger than any list of words."""
    try:
        content = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else None
    except OSError as error:
        raise BadInputError(f"lexicon file {path} cannot be read: {error.strerror}; give the path of a file") from error
    if content is None:
        raise BadInputError(f"a lexicon file has at most {_MOST_BYTES:,} bytes, {path} has more; is it the right file?")
    return content


def file_text(content: bytes, path: Path) -> str:
    """The content of a lexicon file as text; `BadInputError` when it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"lexicon file {path} must be UTF-8 text, byte {error.start} is not; save it as UTF-8"
        ) from error


def read_lexicon(path: Path) -> Lexicon:
    """The lexicon of one TOML file: a header, then ``[classes]`` with a list of entries for each class.

    Raises `BadInputError` for what `Lexicon` refuses, for an unknown key, and for an entry that is listed twice.
    """
    try:
        data = tomllib.loads(file_text(file_content(path), path))
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"lexicon file {path} must be TOML: {error}; correct that line") from error
    missing = [key for key in (*_HEADER, "classes") if key not in data]
    unknown = sorted(set(data) - {*_HEADER, "classes", "recognised"})
    if missing or unknown:
        raise BadInputError(
            f"lexicon file {path.name} starts with {', '.join(_HEADER)} and has [classes]; "
            f"missing: {', '.join(missing) or 'nothing'}; unknown: {', '.join(unknown) or 'nothing'}"
        )
    classes, recognised = data.pop("classes"), data.pop("recognised", True)
    if not isinstance(recognised, bool):
        raise BadInputError(f"lexicon file {path.name}: 'recognised' is true or false, got {recognised!r}")
    if not isinstance(classes, dict):
        raise BadInputError(f"lexicon file {path.name}: [classes] is a table of lists, got {classes!r}")
    for title, entries in classes.items():
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise BadInputError(f"lexicon file {path.name}: class {title!r} must be a list of texts; quote each entry")
        if len(set(entries)) < len(entries):
            twice = next(entry for place, entry in enumerate(entries) if entry in entries[:place])
            raise BadInputError(f"lexicon file {path.name}: {twice!r} is listed twice in {title!r}; take one out")
    return Lexicon(classes=classes, recognised=recognised, **data)


def lexicon_names() -> tuple[str, ...]:
    """Names of the shipped lexicons."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.toml")))


@functools.cache
def load_lexicon(name: str) -> Lexicon:
    """A shipped lexicon by its name; another name is answered with the nearest.

    >>> lexicon = load_lexicon("modality")
    >>> lexicon.class_names, lexicon.unit, lexicon.places(["must", "maybe", "perhaps"]).tolist()
    (('certainty', 'hedge'), 'phrase', [0, -1, 1])
    """
    known = lexicon_names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise UnknownEntryError(f"no lexicon is named {name!r}{hint} Known: {', '.join(known)}")
    return read_lexicon(_SHIPPED / f"{name}.toml")


def store_lexicon(lexicon: Lexicon, folder: Path) -> Path:
    """Write ``lexicon`` to ``folder`` as a file that `read_lexicon` reads, and return its path.

    A file of that name is replaced, in one step: whoever reads meanwhile finds the old or the new one, whole.
    """
    lines = [f"{field} = {json.dumps(getattr(lexicon, field), ensure_ascii=False)}" for field in _HEADER]
    lines += [f"recognised = {str(lexicon.recognised).lower()}", "", "[classes]"]
    for title, entries in lexicon.classes.items():
        words = [f"  {json.dumps(entry, ensure_ascii=False)}," for entry in sorted(entries)]
        lines += [f"{json.dumps(title, ensure_ascii=False)} = [", *words, "]"]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{lexicon.name}.toml"
    part = path.with_suffix(".part")
    part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    part.replace(path)
    return path


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HitRate:
    """Share of words with a class (None without a word, and why); ``hits`` of ``n``, ``by_class`` in the lexicon's order."""

    value: float | None
    hits: int
    n: int
    by_class: tuple[int, ...]
    reason: str = ""


def hit_rate(
    lexicon: Lexicon, words: Sequence[str], counts: Sequence[int] | NDArray[np.integer[Any]] | None = None
) -> HitRate:
    """How many of the words a lexicon knows: hits / n.

    Parameters
    ----------
    words : vocabulary, shape [words]; counts : how often each occurs, shape [words]; None counts each word once

    >>> rate = hit_rate(load_lexicon("modality"), ["will", "may", "tree"], [3, 1, 4])
    >>> rate.value, rate.by_class
    (0.5, (3, 1))
    """
    import numpy as np

    times = np.ones(len(words), dtype=np.int64) if counts is None else np.asarray(counts)
    if not times.size:
        times = times.astype(np.int64)  # an empty list has no type of its own
    if times.shape != (len(words),) or times.dtype.kind not in "iu" or (times < 0).any():
        raise BadInputError(
            f"counts are whole numbers of 0 or more, one for each of {len(words)} words; got {times.dtype} of shape {times.shape}"
        )
    places = lexicon.places(words)
    by_class = tuple(int(times[places == place].sum()) for place in range(len(lexicon.classes)))
    n, hits = int(times.sum()), sum(by_class)
    return HitRate(
        value=hits / n if n else None,
        hits=hits,
        n=n,
        by_class=by_class,
        reason="" if n else "there is no word to look up",
    )
