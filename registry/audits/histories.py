"""Conversations as a persona cue: turns that came before the question, by people whose attributes are known.

Own format, JSON Lines, one conversation a line::

    {"id": "a1", "persona": {"gender": "female", "age": "18-34", "race-ethnicity": "asian"},
     "turns": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]}

With ``"writer"`` a line says whose it is: conversations of different people are taken before a second one of the same. With
``"axis": "gender"`` it serves that axis and combinations with it, no other: conversations of different personas at the same held
values were then written to match. A first line ``{"about": {"title": ..., "source": ..., "licence": ...}}`` says where they all
come from. Roles alternate from user to assistant. A conversation is an implicit cue: one that says outright what varies is not
taken for that axis.

What the published sets PRISM and PersonaMem-v2 hold is read by `registry.audits.history_sources`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from metrics.errors import BadInputError
from registry.audits.personas import Attribute, known_axes, load_attribute, plain_text
from registry.audits.plan import content_hash

LONGEST_TURN, LONGEST, MOST_TURNS = 12_000, 60_000, 60  # characters, characters, turns of a conversation
LONGEST_FILE = 200_000_000  # bytes
OWN = {"history-human": "human.jsonl", "history-llm": "llm.jsonl"}

_FOLDER = Path(__file__).parent / "histories_data"
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_ROLES = ("user", "assistant")


@dataclasses.dataclass(frozen=True, kw_only=True)
class History:
    """A conversation of somebody.

    Parameters
    ----------
    persona : attribute -> value of who wrote the user's turns; writer : who that is, when conversations tell
    axis : the only one it serves; empty is any
    """

    id: str
    persona: Mapping[str, str]
    turns: tuple[Mapping[str, str], ...]
    axis: str = ""
    writer: str = ""

    def mentions(self, attributes: Iterable[Attribute]) -> list[str]:
        """What of these attributes' lists of mentions it says, in whole words, in any turn; # is any number.

        >>> turns = ({"role": "user", "content": "I'm 41, a non-binary baker"}, {"role": "assistant", "content": "Hi"})
        >>> history = History(id="a", persona={}, turns=turns)
        >>> history.mentions([load_attribute("gender"), load_attribute("age")])
        ['non binary', "i'm #"]
        """
        phrases = [phrase for attribute in attributes for phrase in attribute.mentions]
        return [phrase for phrase in phrases if f" {_plain(phrase)} " in self._words]

    @cached_property
    def _words(self) -> str:
        return " " + " | ".join(_plain(turn["content"]) for turn in self.turns) + " "

    @property
    def characters(self) -> int:
        """Length of all turns together."""
        return sum(len(turn["content"]) for turn in self.turns)


def _plain(text: str) -> str:
    words = (word.casefold().replace("\u2019", "'") for word in _WORD.findall(text.replace("#", " 0 ")))
    return " ".join("#" if word.isdigit() else word for word in words)


@dataclasses.dataclass(frozen=True)
class HistorySet:
    """Conversations with where they come from.

    Parameters
    ----------
    left_out : reason -> how many conversations of the source could not be used
    """

    histories: tuple[History, ...]
    title: str
    source: str
    left_out: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @cached_property
    def version(self) -> str:
        """Hash of what can be said of a persona by them."""
        return content_hash(
            [
                [one.id, one.axis, one.writer, dict(one.persona), [dict(turn) for turn in one.turns]]
                for one in self.histories
            ]
        )

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that every conversation tells of its persona."""
        told = [frozenset(one.persona) for one in self.histories]
        return frozenset.intersection(*told) if told else frozenset()

    def cell(self, values: Mapping[str, str]) -> tuple[History, ...]:
        """The conversations of people of these values (attribute -> value)."""
        return tuple(one for one in self.histories if values.items() <= one.persona.items())

    def serving(self, values: Mapping[str, str], varied: Sequence[Attribute]) -> tuple[History, ...]:
        """Those of a cell that may serve the axis of these attributes, whatever they say."""
        axes = {"", *(attribute.name for attribute in varied)}
        return tuple(one for one in self.cell(values) if one.axis in axes)

    def chosen(self, values: Mapping[str, str], varied: Sequence[Attribute], seed: int) -> tuple[History, ...]:
        """Those of `serving` that say nothing outright of what varies, in the order of a seed, a writer's further ones last."""

        def drawn(history: History) -> str:
            return hashlib.sha256(f"{seed}:{history.id}".encode()).hexdigest()

        ordered = sorted((one for one in self.serving(values, varied) if not one.mentions(varied)), key=drawn)
        before: Counter[str] = Counter()
        ranked = []
        for one in ordered:
            ranked.append((before[one.writer or one.id], one))
            before[one.writer or one.id] += 1
        return tuple(one for _, one in sorted(ranked, key=lambda pair: pair[0]))


def checked_turns(turns: Any, place: str) -> tuple[Mapping[str, str], ...]:
    """Turns that may stand before a question: user and assistant in turn, ending with the assistant, within bounds."""
    if not isinstance(turns, list | tuple) or not 2 <= len(turns) <= MOST_TURNS:
        raise BadInputError(f"{place}: turns is a list of 2 to {MOST_TURNS} turns")
    kept = []
    for number, turn in enumerate(turns):
        role = turn.get("role") if isinstance(turn, Mapping) else None
        if role != _ROLES[number % 2]:
            raise BadInputError(f"{place}, turn {number + 1}: expected the role {_ROLES[number % 2]!r}, found {role!r}")
        content = turn.get("content")
        text = content.replace("\r\n", "\n") if isinstance(content, str) else content
        kept.append(
            {"role": role, "content": plain_text(f"{place}, turn {number + 1}", text, LONGEST_TURN, lines=True)}
        )
    if len(kept) % 2:
        raise BadInputError(f"{place}: the last turn should be the assistant's, for the question follows it")
    if sum(len(turn["content"]) for turn in kept) > LONGEST:
        raise BadInputError(f"{place}: a conversation has at most {LONGEST:,} characters")
    return tuple(kept)


# ---------------------------------------------------------------- files


def own_histories(cue: str) -> HistorySet:
    """The stand-ins that come along for ``history-human`` or ``history-llm``; they were not collected from people.

    >>> own_histories("history-human").title
    'stand-ins for human conversations'
    """
    return _packaged(_FOLDER / OWN[cue])


def read_histories(path: Path) -> HistorySet:
    """The conversations of a file in the own format.

    Raises
    ------
    BadInputError : with the line that is wrong, what was expected and what came
    """
    about: Mapping[str, Any] = {}
    histories = []
    for number, values in enumerate(json_lines(path), 1):
        place = f"{path.name}, line {number}"
        if number == 1 and set(values) == {"about"}:
            about = _about(values["about"], place)
            continue
        unknown = sorted(set(values) - {"id", "persona", "turns", "axis", "writer"})
        if unknown:
            raise BadInputError(
                f"{place}: unknown field {unknown[0]!r}; a line has id, persona, turns, and perhaps axis and writer"
            )
        histories.append(
            History(
                id=plain_text(f"{place}: id", values.get("id"), 100),
                persona=_persona(values.get("persona"), place),
                turns=checked_turns(values.get("turns"), place),
                **{key: plain_text(f"{place}: {key}", values[key], 100) for key in ("axis", "writer") if key in values},
            )
        )
    return history_set(histories, about.get("title", path.name), about.get("source", "a file of the user's own"))


_packaged = lru_cache(maxsize=2)(read_histories)


def history_set(
    histories: Sequence[History], title: str, source: str, left_out: Mapping[str, int] | None = None
) -> HistorySet:
    """A set of at least one conversation, all with different ids."""
    if not histories:
        why = "".join(f"; {reason}: {n}" for reason, n in (left_out or {}).items())
        raise BadInputError(f"{title}: there is no conversation that can be used{why}")
    twice = [name for name, n in Counter(one.id for one in histories).items() if n > 1]
    if twice:
        raise BadInputError(f"{title}: the id {twice[0]!r} is there twice; give each conversation one of its own")
    return HistorySet(tuple(histories), title, source, dict(left_out or {}))


def json_lines(path: Path) -> Iterable[dict[str, Any]]:
    """The objects of a JSON Lines file, one after the other."""
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise BadInputError(f"{path} has more than {LONGEST_FILE:,} bytes; expected a file of conversations")
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                values = json.loads(line)
                if not isinstance(values, dict):
                    raise BadInputError(f"{path.name}, line {number}: expected a JSON object, found {line[:60]!r}")
                yield values
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadInputError(f"{path.name}: a line is no JSON object: {error}") from error


def _about(values: Any, place: str) -> Mapping[str, str]:
    if not isinstance(values, dict) or set(values) - {"title", "source", "licence"}:
        raise BadInputError(f"{place}: about has title, source and licence, nothing else")
    return {key: plain_text(f"{place}: {key}", text, 2000, lines=True) for key, text in values.items()}


def _persona(values: Any, place: str) -> Mapping[str, str]:
    if not isinstance(values, dict) or not values:
        raise BadInputError(f"{place}: persona names attributes with a value each, such as {{'gender': 'female'}}")
    persona = {}
    for attribute, value in values.items():
        text = plain_text(f"{place}: persona, {attribute[:60]}", value, 60)
        known = [one.name for one in load_attribute(attribute).values] if attribute in known_axes() else [text]
        if text not in known:
            raise BadInputError(f"{place}: {attribute} is one of {', '.join(known)}, not {text!r}")
        persona[attribute] = text
    return persona
