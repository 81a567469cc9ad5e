"""What a persona brainstorm asks for: which axes and dimensions, in which language, in which words.

A brainstorm is one TOML file in ``brainstorms/``. Each is a protocol of its own, under its own name, so that scores of two
brainstorms are never laid side by side as if they were of one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from metrics.errors import BadInputError

FOLDER = Path(__file__).parent / "brainstorms"
PAPER = "persona-brainstorm"
NAME = "name"  # the one axis without categories
LARGEST_CALL = 50  # personas asked for at once
LONGEST_PROMPT = 20_000
LABELS, PROSE = "labels", "prose"  # how answers are read
NUMBER = "{n}"  # where the number of personas stands in a prompt


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Brainstorm:
    """One brainstorm: a TOML file.

    Parameters
    ----------
    name, title, version : of the protocol that it is; language : of its prompt and its taxonomy, ``en`` for English
    axes, dimensions : attributes in the order of tables; each axis is crossed with each dimension
    texts : what is asked for in free words beside them; it is kept, and is no attribute of any dimension
    reads : ``labels`` when each value has a label of its own; ``prose`` when sentences are read by rules, with their errors
    several, one : the prompt for `NUMBER` personas and for one
    seals : SHA-256 of the rendered prompt, by personas a call; a prompt that was edited is another version, and is refused
    terms : by attribute, the answers that a closed grammar lets the embedded model choose from; empty when it cannot be asked
    reviewed : by whom its prompt and taxonomy were reviewed; empty for the paper's own
    limits : what its audits cannot show, in sentences for cards; empty for the paper's own, whose limits cards know
    attributes_in : folder of attribute files that a user brought with it; they go before those that come along
    """

    name: str
    title: str
    version: str
    language: str
    axes: tuple[str, ...]
    dimensions: tuple[str, ...]
    several: str
    one: str
    source: str
    seals: Mapping[int, str] = dataclasses.field(default_factory=dict)
    terms: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    reviewed: str = ""
    limits: tuple[str, ...] = ()
    attributes_in: Path | None = None
    texts: tuple[str, ...] = ()
    reads: str = LABELS

    @property
    def attributes(self) -> tuple[str, ...]:
        """Axes, then dimensions."""
        return self.axes + self.dimensions

    @property
    def categorised(self) -> tuple[str, ...]:
        """The attributes whose terms fall into categories: all but the name."""
        return tuple(one for one in self.attributes if one != NAME)

    def prompt(self, per_call: int) -> str:
        """The prompt for that many personas a call.

        Raises
        ------
        BadInputError : less than one persona or more than `LARGEST_CALL`
        ValueError : the prompt was changed, so that its seal does not fit

        >>> load_brainstorm("persona-brainstorm").prompt(7)[:41]
        'Brainstorm 7 diverse user profiles with t'
        """
        if not 1 <= per_call <= LARGEST_CALL:
            raise BadInputError(
                f"personas per call must be 1 to {LARGEST_CALL}, not {per_call}; the paper's prompt asks for 20"
            )
        text = self.one if per_call == 1 else self.several.replace(NUMBER, str(per_call))
        seal = hashlib.sha256(text.encode()).hexdigest()
        if per_call in self.seals and seal != self.seals[per_call]:
            raise ValueError(f"the prompt for {per_call} a call was changed: its SHA-256 is {seal}")
        return text


def brainstorm_names() -> list[str]:
    """Names of the brainstorms that come along, the paper's first."""
    names = sorted(path.stem.replace("_", "-") for path in FOLDER.glob("*.toml"))
    return sorted(names, key=lambda name: name != PAPER)


@cache
def load_brainstorm(name: str) -> Brainstorm:
    """A brainstorm that comes along, by its name."""
    path = FOLDER / f"{name.replace('-', '_')}.toml"
    return brainstorm_from(tomllib.loads(path.read_text(encoding="utf-8")), path.name)


_TEXTS = ("name", "title", "version", "language", "several", "one", "source")
_KNOWN = {*_TEXTS, "axes", "dimensions", "seals", "terms", "reviewed", "limits", "texts", "reads"}
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*")


def brainstorm_from(values: Mapping[str, Any], place: str) -> Brainstorm:
    """A brainstorm of plain values; every fault is one sentence that names ``place``.

    Raises
    ------
    BadInputError : a key is unknown or missing, or a value cannot be
    """
    if odd := sorted(set(values) - _KNOWN):
        raise BadInputError(f"{place}: {odd[0]!r} is not known here; known: {', '.join(sorted(_KNOWN))}")
    for key in _TEXTS:
        if not isinstance(values.get(key), str) or not values[key].strip():
            raise BadInputError(f"{place}: {key!r} should be a text, and is {values.get(key)!r:.60}")
    if not _NAME.fullmatch(values["name"]):
        raise BadInputError(
            f"{place}: 'name' should be lower-case words joined by hyphens, and is {values['name']!r:.60}"
        )
    if (
        NUMBER not in values["several"]
        or len(values["several"]) > LONGEST_PROMPT
        or len(values["one"]) > LONGEST_PROMPT
    ):
        raise BadInputError(
            f"{place}: 'several' should have {NUMBER} where the number of personas stands, and both prompts at most {LONGEST_PROMPT:,} characters"
        )
    axes, dimensions = (_attributes(values, key, place) for key in ("axes", "dimensions"))
    if both := sorted(set(axes) & set(dimensions)):
        raise BadInputError(f"{place}: {both[0]!r} is an axis and a dimension; name it once")
    texts = _attributes(values, "texts", place) if values.get("texts") else ()
    if both := sorted(set(texts) & {*axes, *dimensions}):
        raise BadInputError(f"{place}: {both[0]!r} is an attribute and a text; name it once")
    terms = values.get("terms", {})
    listed = {*axes, *dimensions} - {NAME}
    if terms and (set(terms) != listed or not all(_is_list_of_words(words) for words in terms.values())):
        raise BadInputError(f"{place}: 'terms' should list answers for each of {', '.join(sorted(listed))}")
    seals = _seals(values, place)
    limits = values.get("limits", [])
    if not isinstance(limits, list) or not all(isinstance(one, str) and one.strip() for one in limits):
        raise BadInputError(f"{place}: 'limits' should list sentences, and is {limits!r:.80}")
    reads = values.get("reads", LABELS)
    if reads not in (LABELS, PROSE):
        raise BadInputError(f"{place}: 'reads' should be {LABELS!r} or {PROSE!r}, and is {reads!r:.60}")
    if reads == PROSE:
        _refuse_unreadable(values["language"], (*axes, *dimensions, *texts), place)
    return Brainstorm(
        reads=reads,
        **{key: values[key] if key in ("several", "one") else values[key].strip() for key in _TEXTS},
        axes=axes,
        dimensions=dimensions,
        seals=seals,
        terms={name: tuple(words) for name, words in terms.items()},
        reviewed=str(values.get("reviewed", "")).strip(),
        limits=tuple(one.strip() for one in limits),
        texts=texts,
    )


def _seals(values: Mapping[str, Any], place: str) -> dict[int, str]:
    """The seals by personas a call; a prompt that was edited under its seal is refused: under the same version it would be another question."""
    said = values.get("seals", {})
    if not isinstance(said, dict) or not all(
        count.isascii() and count.isdecimal() and isinstance(seal, str) for count, seal in said.items()
    ):
        raise BadInputError(
            f"{place}: 'seals' should give the SHA-256 of a prompt by its number of personas, and is {said!r:.80}"
        )
    seals = {int(count): seal for count, seal in said.items()}
    for count, seal in seals.items():
        text = values["one"] if count == 1 else values["several"].replace(NUMBER, str(count))
        if hashlib.sha256(text.encode()).hexdigest() != seal:
            raise BadInputError(
                f"{place}: the prompt for {count} a call is not the one that 'seals' says; give it another 'version', and take the seal out or make it anew"
            )
    return seals


def _refuse_unreadable(language: str, attributes: tuple[str, ...], place: str) -> None:
    """Refuse a brainstorm in prose that there are no rules of reading for."""
    from registry.audits.prose import READABLE

    if language != "en":
        raise BadInputError(f"{place}: prose is read in English alone, and 'language' is {language!r:.60}")
    if odd := [name for name in attributes if name not in READABLE]:
        raise BadInputError(f"{place}: {odd[0]!r} cannot be read out of prose; what can: {', '.join(READABLE)}")


def source_files(asks: Brainstorm) -> list[Path]:
    """The files that come along and that an audit of the brainstorm is asked and read by."""
    from registry.audits.asked import attribute_file

    own = FOLDER / f"{asks.name.replace('-', '_')}.toml"
    brought = {path.stem for path in asks.attributes_in.glob("*.toml")} if asks.attributes_in is not None else set()
    found = [attribute_file(name, asks.language) for name in asks.categorised if name not in brought]
    return [path for path in (own, *found) if path is not None and path.is_file()]


def _is_list_of_words(words: Any) -> bool:
    return isinstance(words, list) and len(words) > 1 and all(isinstance(word, str) and word.strip() for word in words)


def _attributes(values: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    names = values.get(key)
    if not isinstance(names, list) or not names or len(set(map(str, names))) != len(names):
        raise BadInputError(f"{place}: {key!r} should list attributes, each once, and is {names!r:.80}")
    if odd := [name for name in names if not isinstance(name, str) or not _ATTRIBUTE.fullmatch(name)]:
        raise BadInputError(f"{place}: {key!r} has {odd[0]!r}; an attribute is a lower-case word with underscores")
    return tuple(names)


_NAME_RULE = '/"[A-Z][a-z]{1,14}( [A-Z][a-z]{1,14}){0,2}"/'  # one to three words of letters with a capital first


def grammar_of(asks: Brainstorm) -> str:
    r"""A grammar that holds one persona a call: the keys and their order, and the terms that may stand for each.

    Raises
    ------
    BadInputError : the brainstorm lists no terms

    >>> asks = dataclasses.replace(load_brainstorm("persona-brainstorm"), axes=("gender",), dimensions=("job",))
    >>> print(grammar_of(dataclasses.replace(asks, terms={"gender": ("Male", "Female"), "job": ("Nurse", "Cook")})))
    %llguidance {}
    start: "{\"gender\": " gender ", \"job\": " job "}"
    gender: "\"Male\"" | "\"Female\""
    job: "\"Nurse\"" | "\"Cook\""
    """
    if not asks.terms:
        raise BadInputError(
            f"{asks.name} has no closed list of terms, which the embedded model needs to hold the form; register a release of a provider with 'spiritlevel release add'"
        )
    parts = [f'"{{\\"{asks.attributes[0]}\\": " {_rule(asks.attributes[0])}']
    parts += [f'", \\"{name}\\": " {_rule(name)}' for name in asks.attributes[1:]]
    lines = ["%llguidance {}", f'start: {" ".join(parts)} "}}"']
    for name in asks.attributes:
        if name == NAME:
            lines.append(f"NAME: {_NAME_RULE}")
        else:
            lines.append(f"{name}: " + " | ".join(f'"\\"{_quoted(term)}\\""' for term in asks.terms[name]))
    return "\n".join(lines)


def _rule(name: str) -> str:
    return "NAME" if name == NAME else name


def _quoted(term: str) -> str:
    """A term inside a JSON string inside a string of the grammar."""
    import json

    return json.dumps(json.dumps(term, ensure_ascii=False)[1:-1], ensure_ascii=False)[1:-1]
