"""Rubrics: what a judge model is asked about one text, which answers there are, and the gold set that shows how well it does.

A rubric is a TOML file in ``rubrics/``. Its gold set is asked in every rating, so that each audit says how far its judge can
be relied on. A gold text with ``{audience}`` is asked once for each audience: a judge that answers such matched pairs
differently treats audiences differently itself.
"""

from __future__ import annotations

import dataclasses
import re
import string
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metrics.catalog import UnknownEntryError
from metrics.errors import BadInputError
from registry.audits.plan import Response, content_hash

READER_VERSION = "1"
"""Part of the scoring version: raised whenever the same answer of a judge would be read differently."""

CATEGORY, SCALE = "category", "scale"
LONGEST_ANSWER = 8  # words; what is longer explains, hedges or weighs, and one answer cannot be told from it
FEWEST_GOLD = 20

_FOLDER = Path(__file__).parent / "rubrics"
_BEGIN, _END = "<<<MESSAGE", "MESSAGE>>>"
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_DENIALS = frozenset({"not", "no", "neither", "nor", "cannot", "never"})


@dataclasses.dataclass(frozen=True, slots=True)
class GoldText:
    """A text of the gold set with the answer that is right; ``audience`` is empty, or what stands for ``{audience}`` in it."""

    number: int
    text: str
    answer: str
    audience: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """One question to a judge.

    Parameters
    ----------
    name : of its file; title : in words; version : raised when its meaning changes
    kind : ``category``, or ``scale`` when the answers are whole numbers in order
    question : the whole prompt, with ``{answers}`` and ``{text}``
    answers : name -> what it means; gold : the gold set; source : of the categories and of the gold texts
    """

    name: str
    title: str
    version: str
    kind: str
    question: str
    answers: Mapping[str, str]
    gold: tuple[GoldText, ...]
    source: str

    @property
    def ordered(self) -> bool:
        """Whether its answers are the steps of a scale."""
        return self.kind == SCALE

    @property
    def digest(self) -> str:
        """Hash of what is asked and how answers are read: part of the scoring version."""
        gold = [[one.number, one.text, one.answer, one.audience] for one in self.gold]
        return content_hash([self.version, self.kind, self.prompt("{text}"), list(self.answers), gold, READER_VERSION])

    def prompt(self, text: str) -> str:
        """The question about a text. The text is fenced, and cannot close the fence: it is material, not an instruction."""
        fenced = text.replace(_END, "MESSAGE> >>").replace(_BEGIN, "< <<MESSAGE")
        listed = "\n".join(f"- {name}: {meaning}" for name, meaning in self.answers.items())
        return self.question.format(answers=listed, text=f"{_BEGIN}\n{fenced}\n{_END}")

    def grammar(self) -> str:
        """A grammar that lets a small local model say nothing but an answer (llguidance's form of Lark)."""
        return "%llguidance {}\nstart: " + " | ".join(f'"{name}"' for name in self.answers) + "\n"

    def read(self, response: Response) -> tuple[str | None, str]:
        """The answer in a judge's response, or None and why there is none.

        Answers count as whole words of a short response that names exactly one and denies nothing.

        >>> rubric = load_rubric("formality")
        >>> rubric.read(Response(index=0, text="4")), rubric.read(Response(index=0, text="4/5"))
        (('4', ''), (None, 'names several answers: 4, 5'))
        """
        if response.failure is not None:
            return None, response.detail or str(response.failure)
        text = (response.text or "").rpartition("</think>")[2].strip()
        if response.refusal or not text:
            return None, "the judge refused" if response.refusal else "the judge said nothing"
        words = [word.casefold() for word in _WORD.findall(text)]
        known = {name.casefold(): name for name in self.answers}
        found = list(dict.fromkeys(known[word] for word in words if word in known))
        if not found:
            return None, "names no answer"
        if len(found) > 1:
            return None, f"names several answers: {', '.join(found)}"
        if len(words) > LONGEST_ANSWER:
            return None, f"an answer in more than {LONGEST_ANSWER} words"
        if any(word in _DENIALS or word.endswith(("n't", "n\u2019t")) for word in words):
            return None, "names an answer and denies"
        return found[0], ""


def rubric_names() -> list[str]:
    """The rubrics that come along."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load_rubric(name: str) -> Rubric:
    """A rubric that comes along, by its name.

    >>> load_rubric("formality").kind
    'scale'
    """
    if name not in rubric_names():
        raise UnknownEntryError(f"no rubric is named {name!r}; known: {', '.join(rubric_names())}")
    return read_rubric(_FOLDER / f"{name}.toml")


def read_rubric(path: Path) -> Rubric:
    """The rubric of a file.

    Raises
    ------
    BadInputError : with what is wrong in it
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInputError(f"the rubric {path.name} cannot be read: {error}") from error
    return rubric_from(values, path.stem)


def rubric_from(values: Mapping[str, Any], name: str) -> Rubric:
    """A rubric of plain values."""

    def wrong(what: str) -> BadInputError:
        return BadInputError(f"rubric {name}: {what}")

    texts = {key: values.get(key) for key in ("title", "version", "kind", "source", "question")}
    for key, value in texts.items():
        if not isinstance(value, str) or not value.strip():
            raise wrong(f"{key} is a text, got {value!r}")
    if texts["kind"] not in (CATEGORY, SCALE):
        raise wrong(f"kind is {CATEGORY} or {SCALE}, got {texts['kind']!r}")
    fields = sorted(field for _, field, _, _ in string.Formatter().parse(str(texts["question"])) if field is not None)
    if fields != ["answers", "text"]:
        raise wrong(f"question has {{answers}} and {{text}} once each and nothing else in braces, got {fields}")
    answers = {str(one.get("name", "")): str(one.get("means", "")) for one in values.get("answers", [])}
    _check_answers(answers, len(values.get("answers", [])), str(texts["kind"]), wrong)
    gold = tuple(_gold(values.get("gold", []), values.get("audiences", []), answers, wrong))
    return Rubric(name=name, answers=answers, gold=gold, **{key: str(value) for key, value in texts.items()})


def _check_answers(answers: Mapping[str, str], given: int, kind: str, wrong: Any) -> None:
    if len(answers) != given or len(answers) < 2 or not all(map(_WORD.fullmatch, answers)):
        raise wrong(f"at least two answers of one word each, all different, got {list(answers)}")
    if kind == SCALE and list(answers) != [str(number + 1) for number in range(len(answers))]:
        raise wrong(f"the answers of a scale are 1, 2, 3 and so on in order, got {list(answers)}")


def _gold(
    texts: Sequence[Mapping[str, Any]], audiences: Sequence[str], answers: Mapping[str, str], wrong: Any
) -> Iterator[GoldText]:
    if len(texts) < FEWEST_GOLD:
        raise wrong(f"at least {FEWEST_GOLD} gold texts, got {len(texts)}: fewer do not tell how good a judge is")
    twice = [text for text, n in Counter(str(one.get("text")) for one in texts).items() if n > 1]
    if twice:
        raise wrong(f"a gold text stands there twice: {twice[0][:60]!r}")
    for number, one in enumerate(texts):
        text, answer = one.get("text"), one.get("answer")
        if not isinstance(text, str) or not text.strip() or not isinstance(answer, str) or answer not in answers:
            raise wrong(f"gold text {number + 1} needs a text and an answer of {list(answers)}, got {answer!r}")
        if "{audience}" not in text:
            yield GoldText(number, text, answer)
            continue
        if len(audiences) < 2:
            raise wrong("a gold text has {audience}, so audiences lists at least two")
        yield from (GoldText(number, text.replace("{audience}", audience), answer, audience) for audience in audiences)
