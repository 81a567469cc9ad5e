"""What people decided about terms that no rule knew: a file of versions that is only ever added to, and can be shared.

Each version has its decisions, who took it in, when, and a hash over itself and the version before it, so that a file that
was changed by hand is refused. The newest decision about a term counts.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from metrics.errors import BadInputError
from registry.audits.matching import normalized
from registry.audits.plan import content_hash

FORMAT = "spiritlevel/accepted-mappings/1"
LONGEST = {"attribute": 60, "term": 200, "category": 80, "who": 100, "why": 500}
"""Characters that a field of a decision may have; any other has as many as a name."""
LARGEST_FILE = 20_000_000
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"  # parts of words in Persian and in Indic scripts
_MARKUP = re.compile(r"<[a-z/!?]|&[#a-z0-9]+;|\]\(|javascript:", re.IGNORECASE)

Mapped = tuple[tuple[str, str, str], ...]
"""Attribute, term in normal form and category of everything that is accepted, in order."""


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about a term: the category that it is put into, or None when it stays unmapped."""

    attribute: str
    term: str
    category: str | None
    who: str
    why: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Attribute and term in normal form: what a decision is about."""
        return self.attribute, self.term


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """Decisions that were taken in at one time, and the hash of them and of all before."""

    number: int
    at: str
    by: str
    decisions: tuple[Decision, ...]
    digest: str


@dataclasses.dataclass(frozen=True, slots=True)
class Accepted:
    """All versions, oldest first. Empty where nobody has accepted anything."""

    versions: tuple[Version, ...] = ()

    @property
    def decided(self) -> dict[tuple[str, str], Decision]:
        """The newest decision about each term."""
        return {one.key: one for version in self.versions for one in version.decisions}

    @property
    def mapped(self) -> Mapped:
        """What is accepted now; terms that were rejected are not in it."""
        found = self.decided.values()
        return tuple(sorted((one.attribute, one.term, one.category) for one in found if one.category is not None))

    @property
    def scoring_part(self) -> str | None:
        """What the scoring version says of it: equal mappings are equal, whoever accepted them; None without any."""
        return part_of(self.mapped)

    def about(self, attributes: Iterable[str]) -> Mapped:
        """What is accepted now about these attributes: another brainstorm may have others."""
        wanted = set(attributes)
        return tuple(one for one in self.mapped if one[0] in wanted)

    def with_version(self, decisions: Iterable[Decision], *, by: str, at: str) -> Accepted:
        """With a next version of those decisions that are new; the same value when none is."""
        known = self.decided
        said = {one.key: one for one in decisions}
        new = tuple(one for key, one in said.items() if key not in known or known[key].category != one.category)
        if not new:
            return self
        before = self.versions[-1].digest if self.versions else ""
        made = Version(len(self.versions) + 1, at, by, new, "")
        return Accepted((*self.versions, dataclasses.replace(made, digest=_digest(made, before))))

    def text(self) -> str:
        """The file; `read_accepted` gives the same value back."""
        lines = [f"format = {_quoted(FORMAT)}"]
        for version in self.versions:
            lines += ["", "[[version]]", f"number = {version.number}"]
            lines += [f"{name} = {_quoted(getattr(version, name))}" for name in ("at", "by", "digest")]
            for one in version.decisions:
                values = {name: value for name, value in dataclasses.asdict(one).items() if value}
                lines += ["", "[[version.decision]]", *(f"{name} = {_quoted(value)}" for name, value in values.items())]
        return "\n".join(lines) + "\n"


def part_of(mapped: Mapped) -> str | None:
    """How many terms are accepted and the hash of which is in which category; None without any."""
    counted = "1 term" if len(mapped) == 1 else f"{len(mapped):,} terms"
    return f"{counted}, {content_hash(mapped)}" if mapped else None


def _digest(version: Version, before: str) -> str:
    decisions = [dataclasses.asdict(one) for one in version.decisions]
    return content_hash([before, version.number, version.at, version.by, decisions])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a text of JSON without hidden characters is a text of TOML


def read_accepted(text: str, place: str) -> Accepted:
    """The versions of a file; one that is none, or that was changed after it was written, is refused in one sentence."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(
            f"{place} should be a file of accepted mappings in TOML: {error}; take the file as written"
        ) from error
    if values.get("format") != FORMAT:
        found = repr(values.get("format"))[:60]
        raise BadInputError(
            f"{place} should have format = {FORMAT!r}, and has {found}; give a file of accepted mappings"
        )
    versions: list[Version] = []
    for number, table in enumerate(_tables(values, "version", place), 1):
        where = f"{place}, version {number}"
        decisions = tuple(_decision(one, where) for one in _tables(table, "decision", where))
        at, by, digest = (_text(table, name, where) for name in ("at", "by", "digest"))
        version = Version(number, at, by, decisions, digest)
        if table.get("number") != number or _digest(version, versions[-1].digest if versions else "") != digest:
            raise BadInputError(
                f"{where} is not as it was written: its hash is another; take the file from where it came, and change terms "
                "with 'spiritlevel taxonomy accept'"
            )
        versions.append(version)
    return Accepted(tuple(versions))


def _tables(values: Mapping[str, Any], name: str, place: str) -> list[Mapping[str, Any]]:
    found = values.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise BadInputError(f"{place}: {name!r} should be a list of tables; take the file as it was written")
    return found


def _text(values: Mapping[str, Any], name: str, place: str) -> str:
    value = values.get(name, "")
    if not isinstance(value, str):
        raise BadInputError(f"{place}: {name!r} should be text, and is {value!r:.60}; take the file as it was written")
    return value


def _decision(values: Mapping[str, Any], place: str) -> Decision:
    attribute, term, category, who, why = (_text(values, name, place) for name in LONGEST)
    return checked(Decision(attribute, term, category or None, who, why), place)


def checked(decision: Decision, place: str) -> Decision:
    """The decision with its term in normal form; hidden characters, markup and texts without end are refused."""
    for name, value in dataclasses.asdict(decision).items():
        plain(name, value or "", place)
    term = normalized(decision.term)
    if not any(map(str.isalpha, term)):
        raise BadInputError(f"{place}: a term has a letter, and {decision.term!r:.60} has none; remove the row")
    if not decision.who:
        raise BadInputError(f"{place}: 'who' is empty; write who decided about {decision.term!r:.60}")
    return dataclasses.replace(decision, term=term)


def plain(name: str, text: str, place: str) -> str:
    """The text, if a person can have typed it: short, on one line, nothing hidden, no markup."""
    if len(text) > LONGEST.get(name, LONGEST["who"]):
        raise BadInputError(
            f"{place}: {name!r} has {len(text):,} characters and may have {LONGEST.get(name, LONGEST['who'])}; shorten it"
        )
    for character in text:
        if unicodedata.category(character) in _HIDDEN and character not in _JOINERS:
            raise BadInputError(
                f"{place}: {name!r} has the hidden character U+{ord(character):04X}; type the text again without it"
            )
    if found := _MARKUP.search(text):
        raise BadInputError(f"{place}: {name!r} has markup ({found[0]}), and takes words only; write it without")
    return text


def refuse_unknown(
    categories: Mapping[str, Iterable[str]], attribute: str, term: str, category: str, place: str = "accepted.toml"
) -> None:
    """Refuse a term whose attribute or category there is not; the sentence names the nearest."""
    known = list(categories.get(attribute, categories))
    wanted, kind = (category, "category") if attribute in categories else (attribute, "attribute")
    if wanted in known and kind == "category":
        return
    near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    raise BadInputError(
        f"{place}: {attribute[:60]!r} term {term!r:.80} should be under a known {kind}, and {wanted!r:.80} is none; {hint}"
    )
