"""Personas: attributes of people, the axes that an audit varies, and what each cue may say of a persona.

An *attribute* (gender, race-ethnicity, age) is one TOML file in ``persona_axes/``: its values with the words that cues use
for them. An *axis* is what varies, one attribute or several together (``gender+race-ethnicity``); names and conversations
convey more than what varies, so the other attributes are *held constant* over a few combinations, the same for each persona.

Method: "One Persona, Many Cues, Different Results" (arXiv 2601.18572), section 3.1 and appendix A.4.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import random
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from metrics.catalog import UnknownEntryError
from metrics.errors import BadInputError
from registry.audits.plan import content_hash

GROUP, NUMBER = "group", "number"
JOIN = "+"  # of attributes that vary together; their values are joined by AND, for a value may end with a plus
AND = " and "
LONGEST_WORD, LONGEST_NAME = 60, 40
MOST_PERSONAS, MOST_NAMES = 60, 10_000
OF_DIMENSIONS = (" x ", ", ")  # what stands between task, axis and cue: no name of one may have it

_FOLDER = Path(__file__).parent / "persona_axes"


def plain_text(place: str, text: Any, longest: int, *, lines: bool = False) -> str:
    """``text`` when it may stand in a prompt: not empty, not too long, no control characters; else a `BadInputError`.

    Parameters
    ----------
    place : where it stands, for the message; longest : in characters; lines : whether line breaks and tabs are allowed
    """
    allowed = "\n\t\u200c\u200d" if lines else ""  # the joiners belong to emoji and to several scripts
    if not isinstance(text, str) or not text.strip() or len(text) > longest:
        raise BadInputError(f"{place} should be a text of 1 to {longest:,} characters, not {text!r:.80}")
    control = next((c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") and c not in allowed), None)
    if control is not None:
        raise BadInputError(f"{place} has the control character {control!r}; remove it")
    return text


def dimension_part(place: str, text: Any) -> str:
    """``text`` when it may be the name of a task, an axis or a persona: short, and nothing in it that stands between such names.

    >>> dimension_part("here", "55+")
    '55+'
    """
    name = plain_text(place, text, LONGEST_WORD)
    for mark in OF_DIMENSIONS:
        if mark in name or name != name.strip():
            raise BadInputError(
                f"{place} is {name!r}; dimensions are written 'task x axis, cue', so that no name has {mark!r} in it or a space at an end"
            )
    return name


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """One group of an attribute and how cues speak of it.

    Parameters
    ----------
    name : as records say it; word : in an explicit mention, empty for a number; paper_word : as the paper writes it
    low, high : range that a number is drawn from
    names : what stands for it in the table of names, a word or a range above the first and up to the second; None is nothing
    first_names : names that the file itself gives, of an attribute that the table of names does not have
    """

    name: str
    word: str = ""
    paper_word: str = ""
    low: int = 0
    high: int = 0
    names: str | tuple[float, float] | None = None
    first_names: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An attribute of people: one TOML file.

    Parameters
    ----------
    noun : in "My ... is"; kind : `GROUP`, or `NUMBER` when a number is said and groups are compared
    held : combinations of the other attributes' values, in order; mentions : what says it outright
    """

    name: str
    title: str
    noun: str
    kind: str
    values: tuple[Value, ...]
    held: tuple[Mapping[str, str], ...]
    mentions: tuple[str, ...]
    seed: int
    source: str

    def __getitem__(self, name: str) -> Value:
        for value in self.values:
            if value.name == name:
                return value
        raise UnknownEntryError(f"{self.name} has no value {name!r}; known: {', '.join(v.name for v in self.values)}")

    @property
    def version(self) -> str:
        """Hash of everything that stands in prompts: a changed word is another question."""
        said = [
            [one.name, one.word, one.paper_word, one.low, one.high, one.names, one.first_names] for one in self.values
        ]
        return content_hash([self.noun, self.kind, self.seed, said, sorted(self.mentions)])

    def numbers(self, count: int) -> list[dict[str, int]]:
        """``count`` numbers for each value, drawn from its range: the first are the same however many are asked.

        >>> load_attribute("age").numbers(2)
        [{'18-34': 26, '35-54': 44, '55+': 60}, {'18-34': 25, '35-54': 39, '55+': 62}]
        """
        drawn = random.Random(self.seed)  # noqa: S311  (the paper's draw, not a secret)
        return [{value.name: drawn.randint(value.low, value.high) for value in self.values} for _ in range(count)]


@dataclasses.dataclass(frozen=True, slots=True)
class Persona:
    """One group of an axis: the value of each attribute that the axis varies.

    Parameters
    ----------
    name : as records say it; values : attribute -> value; named : as records under name cues say it
    """

    axis: str
    name: str
    values: Mapping[str, str]
    named: str


@dataclasses.dataclass(frozen=True)
class PersonaAxis:
    """What varies from persona to persona, and what is held constant meanwhile.

    Examples
    --------
    >>> axis = load_axis("gender")
    >>> [persona.name for persona in axis.personas], dict(axis.held[0])
    (['female', 'male', 'non-binary'], {'age': '18-34', 'race-ethnicity': 'white'})
    >>> load_axis("gender+race-ethnicity").persona("female and black").values
    {'gender': 'female', 'race-ethnicity': 'black'}
    """

    attributes: tuple[Attribute, ...]
    held: tuple[Mapping[str, str], ...]

    @property
    def name(self) -> str:
        return JOIN.join(attribute.name for attribute in self.attributes)

    @property
    def title(self) -> str:
        return AND.join(attribute.title for attribute in self.attributes)

    @property
    def personas(self) -> tuple[Persona, ...]:
        """Every combination of the values that vary."""
        combined = itertools.product(*(attribute.values for attribute in self.attributes))
        return tuple(self._persona(values) for values in combined)

    def as_json(self) -> dict[str, Any]:
        """What a plan says of it: names and titles, and a hash of the texts, which stand with the variants."""
        return {
            "name": self.name,
            "title": self.title,
            "personas": [[persona.name, persona.named] for persona in self.personas],
            "held": [dict(row) for row in self.held],
            "version": content_hash([attribute.version for attribute in self.attributes]),
        }

    def persona(self, name: str) -> Persona:
        """The persona of that name."""
        found = {persona.name: persona for persona in self.personas}
        if name not in found:
            raise UnknownEntryError(f"the axis {self.name} has no persona {name!r}; known: {', '.join(found)}")
        return found[name]

    def _persona(self, values: Sequence[Value]) -> Persona:
        named = (value.names if isinstance(value.names, str) else value.name for value in values)
        return Persona(
            axis=self.name,
            name=AND.join(value.name for value in values),
            values={attribute.name: value.name for attribute, value in zip(self.attributes, values, strict=True)},
            named=AND.join(named),
        )


def load_axis(name: str) -> PersonaAxis:
    """An axis by its name; several attributes joined by ``+`` vary together.

    Attributes that are held constant for one of them are held constant for the combination, over the values that they
    are held at there.

    Raises
    ------
    BadInputError : for an unknown name, an attribute named twice, or a file that is no attribute
    """
    whole = name.endswith(".toml") and Path(name).is_file()  # a path may have a plus in it
    attributes = tuple(load_attribute(part) for part in ([name] if whole else name.split(JOIN)))
    varied = [attribute.name for attribute in attributes]
    doubled = [part for part, n in Counter(varied).items() if n > 1]
    if doubled:
        raise BadInputError(f"the axis {name!r} names {doubled[0]!r} twice; name each attribute once")
    for attribute in attributes:
        _check_held(attribute)
    axis = PersonaAxis(attributes, attributes[0].held if len(attributes) == 1 else _held_together(attributes))
    twice = [persona for persona, n in Counter(persona.name for persona in axis.personas).items() if n > 1]
    if twice:
        raise BadInputError(
            f"the axis {name!r} has two personas named {twice[0]!r}; rename a value that has {AND!r} in it"
        )
    if len(axis.personas) > MOST_PERSONAS:
        raise BadInputError(
            f"the axis {name!r} has {len(axis.personas)} personas; at most {MOST_PERSONAS} can be asked"
        )
    return axis


def _check_held(attribute: Attribute) -> None:
    """Refuse values held constant that no attribute has, before anybody is asked at them."""
    for row in attribute.held:
        for name, value in row.items():
            try:
                load_attribute(name)[value]
            except UnknownEntryError as error:
                raise BadInputError(f"the axis {attribute.name}: [[held]] {name} = {value!r}: {error}") from None


def _held_together(attributes: Sequence[Attribute]) -> tuple[Mapping[str, str], ...]:
    varied = {attribute.name for attribute in attributes}
    rows = [row for attribute in attributes for row in attribute.held]
    others = list(dict.fromkeys(name for row in rows for name in row if name not in varied))
    kept = {name: {row[name] for row in rows if name in row} for name in others}
    ordered = [[value.name for value in load_attribute(name).values if value.name in kept[name]] for name in others]
    return tuple(dict(zip(others, values, strict=True)) for values in itertools.product(*ordered))


# ---------------------------------------------------------------- files


def known_axes() -> list[str]:
    """Names of the attributes that come with the product."""
    return sorted(path.stem.replace("_", "-") for path in _FOLDER.glob("*.toml"))


def load_attribute(name: str) -> Attribute:
    """An attribute that comes along by its name, or one of the user's own by the path of its TOML file."""
    path = Path(name) if name.endswith(".toml") else _FOLDER / f"{name.replace('-', '_')}.toml"
    if not name.endswith(".toml") and name not in known_axes():
        near = difflib.get_close_matches(name, known_axes(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise UnknownEntryError(
            f"no persona axis is named {name!r}{hint} Known: {', '.join(known_axes())}, or several joined by {JOIN!r}. "
            f"A file of your own is named by its path, which ends in .toml"
        )
    return _packaged(path) if path.parent == _FOLDER else _attribute(path)


def _attribute(path: Path) -> Attribute:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInputError(f"the persona axis {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} is no TOML file: {error}") from error
    return attribute_from(values, str(path))


_packaged = lru_cache(maxsize=None)(_attribute)  # what comes along does not change while a program runs


_KNOWN = {"name", "title", "noun", "kind", "seed", "source", "mentions", "value", "held"}
_OF_VALUE = {GROUP: {"name", "word", "paper_word", "names", "first_names"}}
_OF_VALUE[NUMBER] = {"name", "from", "to", "names", "first_names"}


def attribute_from(values: Mapping[str, Any], place: str) -> Attribute:
    """An attribute of plain values; ``place`` stands in messages."""
    _only(place, values, _KNOWN)
    kind = values.get("kind")
    if kind not in (GROUP, NUMBER):
        raise BadInputError(f"{place}: kind is {GROUP!r} or {NUMBER!r}, not {kind!r}")
    texts = {key: plain_text(f"{place}: {key}", values.get(key), LONGEST_WORD) for key in ("name", "title", "noun")}
    name = dimension_part(f"{place}: name", texts["name"])
    if JOIN in name or name.casefold() != name or " " in name:
        raise BadInputError(f"{place}: name is one lower-case word without {JOIN!r}, not {name!r}")
    tables = values.get("value")
    if not isinstance(tables, list) or len(tables) < 2 or not all(isinstance(one, dict) for one in tables):
        raise BadInputError(f"{place}: an axis needs at least two [[value]] to compare")
    found = tuple(_value(one, str(kind), f"{place}, value {number}") for number, one in enumerate(tables, 1))
    told: dict[str, list[Any]] = {
        "name": [value.name for value in found],
        "word": [value.word.casefold() for value in found if value.word],
        "names": [value.names for value in found if value.names],
        "first name": [name.casefold() for value in found for name in value.first_names],
    }
    for what, said in told.items():
        twice = [text for text, n in Counter(said).items() if n > 1]
        if twice:
            raise BadInputError(
                f"{place}: two values have the same {what}, {twice[0]!r}, so that nobody could tell them apart"
            )
    seed = values.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise BadInputError(f"{place}: seed is a whole number, not {seed!r}")
    return Attribute(
        **texts,
        kind=str(kind),
        values=found,
        held=_held(values.get("held", []), name, place),
        mentions=tuple(
            plain_text(f"{place}: a mention", text, LONGEST_WORD).casefold() for text in values.get("mentions", [])
        ),
        seed=seed,
        source=plain_text(f"{place}: source", values.get("source"), 4000, lines=True).strip(),
    )


def _value(given: Mapping[str, Any], kind: str, place: str) -> Value:
    _only(place, given, _OF_VALUE[kind])
    name = dimension_part(f"{place}: name", given.get("name"))
    names, first = _names(given.get("names"), place), _first_names(given.get("first_names", []), place)
    if kind == GROUP:
        word = plain_text(f"{place}: word", given.get("word"), LONGEST_WORD)
        paper = plain_text(f"{place}: paper_word", given.get("paper_word", word), LONGEST_WORD)
        return Value(name, word, paper, names=names, first_names=first)
    low, high = given.get("from"), given.get("to")
    if not isinstance(low, int) or not isinstance(high, int) or not 0 <= low <= high:
        raise BadInputError(f"{place}: 'from' and 'to' are whole numbers in order, not {low!r} and {high!r}")
    return Value(name, low=low, high=high, names=names, first_names=first)


def _names(given: Any, place: str) -> str | tuple[float, float] | None:
    if given is None:
        return None
    if isinstance(given, str):
        return plain_text(f"{place}: names", given, LONGEST_WORD)
    if isinstance(given, list) and len(given) == 2 and all(isinstance(one, int | float) for one in given):
        return float(given[0]), float(given[1])
    raise BadInputError(f"{place}: names is a word of the table of names or a range of two numbers, not {given!r}")


def _first_names(given: Any, place: str) -> tuple[str, ...]:
    if not isinstance(given, list) or len(given) > MOST_NAMES:
        raise BadInputError(f"{place}: first_names is a list of at most {MOST_NAMES:,} names, not {given!r:.80}")
    return tuple(
        dimension_part(f"{place}: a first name", plain_text(f"{place}: a first name", one, LONGEST_NAME))
        for one in given
    )


def _held(given: Any, own: str, place: str) -> tuple[Mapping[str, str], ...]:
    if not isinstance(given, list) or not all(isinstance(row, dict) for row in given):
        raise BadInputError(f"{place}: what is held constant stands in [[held]] tables")
    for row in given:
        if set(row) != set(given[0]) or own in row or not all(isinstance(value, str) for value in row.values()):
            raise BadInputError(
                f"{place}: each [[held]] names the same other attributes with a value each, not {dict(row)!r}"
            )
    return tuple(dict(row) for row in given)


def _only(place: str, values: Mapping[str, Any], known: set[str]) -> None:
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(known))}"
            raise BadInputError(f"{place}: unknown field {name!r}{hint}")
