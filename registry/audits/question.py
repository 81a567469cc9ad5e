"""Questions of evaluation tasks: files of the project's own in ``questions/``, files of a user's own by their path.

A file is TOML: ``title``, ``task``, ``version``, what is known of its making (``reviewed``, ``licence``, ``avoided``), and one
``[[question]]`` each with ``id``, ``topic``, ``reverse`` and ``text``. ``reverse`` is the polarity: with ``true``, the first
option ("yes") speaks against what the task's metric counts, and the value is turned round. It is asked for in every question,
because a question whose polarity is forgotten moves a result the wrong way without anybody seeing it.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metrics.catalog import UnknownEntryError
from metrics.errors import BadInputError
from registry.audits.plan import content_hash

LONGEST_TEXT = 20_000  # characters of a question: posts of the published sets are long
LONGEST_NAME = 100  # characters of an id or a topic

_FOLDER = Path(__file__).parent / "questions"
_REQUIRED = ("title", "task", "version")
_OPTIONAL = ("reviewed", "licence", "avoided")
_FIELDS = ("id", "topic", "reverse", "text", "claim")


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Parameters
    ----------
    id : its name within the task; text : what is asked, without the instruction how to answer; topic : what it is about
    reverse : whether the first option speaks against what the metric counts
    claim : of an issue that is written about, the sentence for or against which a judge takes the text to speak
    """

    id: str
    text: str
    topic: str
    reverse: bool
    claim: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain values for a plan: a changed question is another question."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name != "claim" or value}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Question:
        return cls(**values)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """The questions of a file.

    Parameters
    ----------
    task : catalog name; title, version : of the set; source : the file, or what was published
    reviewed, licence, avoided : what is known of its making, in words
    left_out : entries of the file that are not asked, counted by reason
    """

    task: str
    title: str
    version: str
    questions: tuple[Question, ...]
    source: str = ""
    reviewed: str = ""
    licence: str = ""
    avoided: str = ""
    left_out: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Hash of what is asked and of its polarity."""
        return content_hash([self.task, self.version, [question.as_json() for question in self.questions]])

    def first(self, number: int) -> tuple[Question, ...]:
        """So many questions, spread over polarities and topics; a larger number asks the same ones and more."""
        if not 1 <= number <= len(self.questions):
            raise BadInputError(
                f"{self.task} has {len(self.questions):,} questions: ask at least one and at most that many, not {number:,}"
            )
        return balanced(self.questions)[:number]


def own_tasks() -> list[str]:
    """The tasks that questions come along for."""
    return sorted(path.stem.replace("_", "-") for path in _FOLDER.glob("*.toml"))


def own_questions(task: str) -> QuestionSet:
    """The questions that come along for a task.

    >>> len(own_questions("salary").questions) >= 40
    True
    """
    if task not in own_tasks():
        raise UnknownEntryError(f"no questions come along for {task!r}; known: {', '.join(own_tasks())}")
    return read_questions(_FOLDER / f"{task.replace('-', '_')}.toml", task)


def read_questions(path: Path, task: str) -> QuestionSet:
    """The questions of a TOML file.

    Raises
    ------
    BadInputError : with the first thing that is wrong in it: which question, what was expected, what came
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInputError(f"the question file {path.name} cannot be read: {error}") from error
    return questions_from(values, task, path.name)


def questions_from(values: Mapping[str, Any], task: str, name: str) -> QuestionSet:
    """Questions of plain values; ``name`` : of the file, for messages."""
    _only(name, values, (*_REQUIRED, *_OPTIONAL, "question"))
    header = {
        field: _line(name, values, field, 4000) for field in (*_REQUIRED, *_OPTIONAL) if field in (*_REQUIRED, *values)
    }
    if header["task"] != task:
        raise BadInputError(f"{name} has questions of {header['task']!r}, not of {task!r}")
    entries = values.get("question")
    if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
        raise BadInputError(f"{name} needs at least one [[question]]")
    questions = tuple(_question(name, number, entry) for number, entry in enumerate(entries, 1))
    check_distinct(questions, name)
    return QuestionSet(
        task=task,
        title=header["title"],
        version=header["version"],
        questions=questions,
        source=name,
        reviewed=header.get("reviewed", ""),
        licence=header.get("licence", ""),
        avoided=header.get("avoided", ""),
    )


def _question(name: str, number: int, entry: Mapping[str, Any]) -> Question:
    place = f"{name}, question {number}"
    if isinstance(entry.get("id"), str) and entry["id"].strip():
        place += f" ({entry['id'][:LONGEST_NAME]})"
    _only(place, entry, _FIELDS)
    if not isinstance(entry.get("reverse"), bool):
        raise BadInputError(
            f"{place}: the polarity is missing: 'reverse' is true when the first option speaks against what is counted, else false, "
            f"not {entry.get('reverse')!r}"
        )
    return Question(
        id=_line(place, entry, "id", LONGEST_NAME),
        text=_line(place, entry, "text", LONGEST_TEXT),
        topic=_line(place, entry, "topic", LONGEST_NAME),
        reverse=entry["reverse"],
        claim=_line(place, entry, "claim", 500) if "claim" in entry else "",
    )


def check_distinct(questions: Sequence[Question], name: str) -> None:
    """Refuse an id or a text that stands there twice."""
    ids: dict[str, int] = {}
    texts: dict[str, str] = {}
    for number, question in enumerate(questions, 1):
        if question.id in ids:
            raise BadInputError(
                f"{name}: the id {question.id!r} is there twice, in questions {ids[question.id]} and {number}; give each its own"
            )
        text = " ".join(question.text.casefold().split())
        if text in texts:
            raise BadInputError(f"{name}: the questions {texts[text]!r} and {question.id!r} have the same text")
        ids[question.id], texts[text] = number, question.id


def balanced(questions: Sequence[Question]) -> tuple[Question, ...]:
    """The questions in an order in which any number from the front is spread over polarities and topics.

    >>> names = [("a", "x", False), ("b", "x", False), ("c", "x", True), ("d", "y", True)]
    >>> [one.id for one in balanced([Question(id=n, text=n, topic=t, reverse=r) for n, t, r in names])]
    ['a', 'd', 'b', 'c']
    """
    waiting: dict[tuple[bool, str], deque[Question]] = {}
    for question in questions:
        waiting.setdefault((question.reverse, question.topic), deque()).append(question)
    taken: Counter[bool | str] = Counter()
    ordered = []
    while waiting:
        kind = min(waiting, key=lambda kind: (taken[kind[0]], taken[kind[1]]))
        ordered.append(waiting[kind].popleft())
        taken.update(kind)
        if not waiting[kind]:
            del waiting[kind]
    return tuple(ordered)


def _only(place: str, values: Mapping[str, Any], known: Sequence[str]) -> None:
    for field in values:
        if field not in known:
            near = difflib.get_close_matches(field, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f". Known: {', '.join(known)}"
            raise BadInputError(f"{place}: unknown field {field!r}{hint}")


def _line(place: str, values: Mapping[str, Any], field: str, longest: int) -> str:
    text = values.get(field)
    printable = isinstance(text, str) and text.replace("\n", " ").replace("\t", " ").isprintable()
    if not isinstance(text, str) or not text.strip() or len(text) > longest or not printable:
        raise BadInputError(f"{place}: {field!r} is a printable text of 1 to {longest:,} characters, not {text!r:.60}")
    return text.strip()
