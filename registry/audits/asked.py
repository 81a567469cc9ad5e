"""Under which keys an answer gives the attributes that were asked for."""

from __future__ import annotations

import dataclasses
import re
import tomllib
import unicodedata
from functools import cache, cached_property, lru_cache
from pathlib import Path

from registry.audits.brainstorm import NAME, PAPER, Brainstorm, load_brainstorm
from registry.audits.plan import content_hash

_HERE = Path(__file__).parent
FOLDERS = {"axis": _HERE / "axes", "dimension": _HERE / "dimensions"}
ENGLISH = "en"
LONGEST_KEY = 60
LONGEST_TERM, LONGEST_TEXT = 400, 4_000
TEXT_KEYS = {
    "description": (
        "bio",
        "biography",
        "profile",
        "profile description",
        "summary",
        "about",
        "backstory",
        "short description",
    )
}

_NAMES = """
full name, persona name, user name, profile name, character name, first name, vollständiger Name, nombre, nombre completo, nom, nom complet,
prénom, nome, nome completo, naam, imię, imię i nazwisko, имя, полное имя, ad, isim, ad soyad, الاسم, नाम, 姓名, 名字, 名前, 氏名, 이름
"""
NAME_KEYS = tuple(key.strip() for key in _NAMES.split(","))


def squeezed(key: str) -> str:
    """A key without case, spaces, hyphens, underscores and other signs; marks that belong to letters stay.

    >>> squeezed("Sexual-Orientation: "), squeezed("top_personal interest")
    ('sexualorientation', 'toppersonalinterest')
    """
    said = unicodedata.normalize("NFKC", key).casefold()
    return "".join(sign for sign in said if sign.isalnum() or unicodedata.category(sign).startswith("M"))


@dataclasses.dataclass(frozen=True)
class Asked:
    """The attributes that answers are read for, and the keys they may stand under.

    Parameters
    ----------
    axes, dimensions : a persona answers at least one of each
    keys : by attribute, further keys than its own name; texts : what is asked for in free words
    """

    axes: tuple[str, ...]
    dimensions: tuple[str, ...]
    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.axes + self.dimensions + self.texts

    def longest(self, name: str) -> int:
        """Characters that are kept of an answer about an attribute; the answer itself is stored verbatim elsewhere."""
        return LONGEST_TEXT if name in self.texts else LONGEST_TERM

    @cached_property
    def _table(self) -> dict[str, tuple[str, int]]:
        table = {squeezed(alias): (name, 1) for name, aliases in self.keys for alias in aliases}
        return table | {squeezed(name): (name, 0) for name in self.names}

    @cached_property
    def _seen(self) -> dict[str, tuple[str, int] | None]:
        return {}

    def attribute(self, key: str) -> tuple[str, int] | None:
        """The attribute that a key means, with 0 for its own name and 1 for another key; None when it means none.

        >>> asked_of(load_brainstorm("persona-brainstorm")).attribute("Job Title")
        ('occupation', 1)
        """
        if len(key) > LONGEST_KEY:
            return None
        if key not in self._seen:
            if len(self._seen) > 4096:  # keys are a model's words: there is no end of them
                self._seen.clear()
            self._seen[key] = self._table.get(squeezed(key))
        return self._seen[key]

    @cached_property
    def hint(self) -> re.Pattern[str]:
        """What stands in any text that has such a key: the beginning of each key, up to its first sign that is no letter."""
        starts = {m[0] for key in self._all if (m := re.match(r"[^\W\d_]+", key.casefold()))}
        short = {one for one in starts if not any(one != other and one.startswith(other) for other in starts)}
        return re.compile("|".join(map(re.escape, sorted(short))) or r"(?!)", re.IGNORECASE)

    @property
    def _all(self) -> list[str]:
        return [*self.names, *(alias for _, aliases in self.keys for alias in aliases)]

    @property
    def version(self) -> str:
        """Hash of the attributes and their keys; part of the scoring version."""
        keys = sorted((name, sorted(keys)) for name, keys in self.keys)
        return content_hash([self.axes, self.dimensions, keys, *([self.texts] if self.texts else [])])


@cache
def attribute_file(name: str, language: str = ENGLISH) -> Path | None:
    """The packaged file of an attribute in a language; None when there is none.

    >>> attribute_file("occupation").name, attribute_file("shoe_size")
    ('occupation.toml', None)
    """
    for folder in FOLDERS.values():
        path = (folder if language == ENGLISH else folder / language) / f"{name}.toml"
        if path.is_file():
            return path
    return None


@lru_cache(maxsize=256)
def _keys_in(path: Path, _changed: int) -> tuple[str, ...]:
    return tuple(tomllib.loads(path.read_text(encoding="utf-8")).get("keys", ()))


@lru_cache(maxsize=64)
def _asked(
    axes: tuple[str, ...],
    dimensions: tuple[str, ...],
    texts: tuple[str, ...],
    language: str,
    brought: tuple[tuple[Path, int], ...],
) -> Asked:
    keys: list[tuple[str, tuple[str, ...]]] = [(NAME, NAME_KEYS)] if NAME in axes else []
    for name in (*axes, *dimensions):
        paths = dict.fromkeys((attribute_file(name), attribute_file(name, language)))
        keys += [(name, _keys_in(path, 0)) for path in paths if path is not None]
        keys += [(name, _keys_in(*file)) for file in brought if file[0].stem == name]
    keys += [(name, TEXT_KEYS.get(name, ())) for name in texts]
    return Asked(axes, dimensions, tuple(keys), texts)


def asked_of(asks: Brainstorm) -> Asked:
    """What the answers of a brainstorm are read for: English keys always, and those of its own language and files."""
    folder = asks.attributes_in
    paths = sorted(folder.glob("*.toml")) if folder is not None else ()
    stamps = tuple((path, path.stat().st_mtime_ns) for path in paths)
    return _asked(asks.axes, asks.dimensions, asks.texts, asks.language, stamps)


def asked_by_the_paper() -> Asked:
    """What answers of the paper's brainstorm are read for."""
    return asked_of(load_brainstorm(PAPER))
