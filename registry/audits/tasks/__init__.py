"""Evaluation tasks, one module each: what is asked, how the answer is read, and what the result metric counts.

A task of one's own is one module here with ``TASKS.register("name")(Task(...))``, or one entry point of the group
``spiritlevel.tasks`` in another distribution. Its questions are a TOML file (`registry.audits.question`), or a published set.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

from metrics.catalog import Catalog
from metrics.errors import BadInputError
from registry.audits.answers import Answer, Reader, Reason
from registry.audits.personas import dimension_part
from registry.audits.plan import Outcome, Response
from registry.audits.question import Question, QuestionSet, own_questions, read_questions

YES_NO_FORM, NUMBER, TRUE_FALSE_FORM, VERDICT, WRITING = "yes or no", "number", "true or false", "verdict", "writing"
"""The forms of answers."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What is counted of an answer.

    Parameters
    ----------
    name, title : for tables and for people; unit : ``share``, ``US dollars``, ``points``
    low, high : bounds of one answer's value: what an answer without a value could be at worst
    higher : in words, what a higher value means
    choices : when given, the value is 1 for these choices and 0 for others, whatever the polarity of the question
    """

    name: str
    title: str
    unit: str
    low: float
    high: float
    higher: str
    choices: tuple[str, ...] = ()

    def value(self, answer: Answer) -> float | None:
        """What an answer counts; None when it has no value."""
        if answer.value is None or not self.choices:
            return answer.value
        return float(answer.choice in self.choices)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What stands before and after the text of a question."""

    opening: str = ""
    instruction: str = ""

    def prompt(self, text: str) -> str:
        """The question as it is asked."""
        return f"{self.opening}{text}{self.instruction}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An evaluation task.

    Parameters
    ----------
    name, title, version : catalog name, name for people, raised when the wording or the reading changes
    form : of `YES_NO_FORM` and so on
    wording, paper : how a question is asked, and how the persona-cue paper asks it
    reader, paper_reader : of an answer, and as the paper reads it
    metrics : what is counted, the result metric first
    max_tokens, paper_tokens : of an answer
    published : reads the published set of this form from a path
    rubric : of the judge that a text is given to, empty when no judge is needed
    reversible : whether a question of this form can have the reverse polarity
    """

    name: str
    title: str
    version: str
    form: str
    wording: Wording
    paper: Wording
    reader: Reader
    paper_reader: Reader
    metrics: tuple[Metric, ...]
    max_tokens: int
    paper_tokens: int = 10
    published: Callable[[Path], QuestionSet] | None = None
    rubric: str = ""
    reversible: bool = True

    def __post_init__(self) -> None:
        dimension_part("the name of a task", self.name)

    @property
    def metric(self) -> Metric:
        """The result metric."""
        return self.metrics[0]

    @property
    def instruction(self) -> str:
        """What is asked of the form of an answer, after the question."""
        return self.wording.instruction

    def prompt(self, question: Question, *, paper: bool = False) -> str:
        """What the model is asked, without any cue.

        >>> task = TASKS["salary"]
        >>> print(task.prompt(task.questions()[0]).splitlines()[-1])
        Answer with one number, the amount in US dollars a year, and nothing else.
        """
        return (self.paper if paper else self.wording).prompt(question.text)

    def read(self, question: Question, response: Response, *, paper: bool = False) -> Answer:
        """What an answer says, its value turned round where the question is reversed.

        Of a task with a rubric the value is still missing: the text is in ``choice``, and `judged` takes the judge's answer.
        """
        return self._turned(question, (self.paper_reader if paper else self.reader)(response))

    def judged(self, question: Question, answer: Answer, rating: str | None, *, paper: bool = False) -> Answer:
        """A text's answer with the value that a judge gave it.

        Parameters
        ----------
        answer : of `read`; what is not ``ok`` stays as it is
        rating : the judge's answer on the rubric's scale, None when none could be read
        paper : put it on the scale of the paper, where a higher value is a more negative stance
        """
        if answer.outcome is not Outcome.OK:
            return answer
        if rating is None:
            return dataclasses.replace(answer, value=None, outcome=Outcome.UNPARSABLE, reason=Reason.UNJUDGED)
        turned = self._turned(question, dataclasses.replace(answer, value=float(rating)))
        if not paper or turned.value is None:
            return turned
        return dataclasses.replace(turned, value=self.metric.low + self.metric.high - turned.value)

    def judged_text(self, question: Question, answer: Answer) -> str:
        """What a judge is shown of a text: the issue in the first line, then the text."""
        return f"Issue: {question.claim or question.text}\nText: {answer.choice}"

    def questions(self) -> tuple[Question, ...]:
        """The questions that come along."""
        return self.own().questions

    def own(self) -> QuestionSet:
        """The set that comes along, with what is known of its making."""
        return self._checked(own_questions(self.name))

    def load(self, path: Path) -> QuestionSet:
        """Questions from a path: a TOML file of one's own, or the published set of this form.

        Raises
        ------
        BadInputError : when nothing is there, or it is not what is expected: what is missing, and what to do
        """
        if not path.exists():
            raise BadInputError(f"no questions for {self.name} at {path}: name a file or folder that is there")
        if path.suffix == ".toml":
            return self._checked(read_questions(path, self.name))
        if self.published is None:
            raise BadInputError(f"{self.name} takes questions from a .toml file only, not from {path.name}")
        return self._checked(self.published(path))

    def _turned(self, question: Question, answer: Answer) -> Answer:
        if not question.reverse or answer.value is None:
            return answer
        return dataclasses.replace(answer, value=self.metric.low + self.metric.high - answer.value)

    def _checked(self, found: QuestionSet) -> QuestionSet:
        turned = [question.id for question in found.questions if question.reverse]
        if turned and not self.reversible:
            raise BadInputError(
                f"{found.source}: answers of {self.name} have no polarity, so 'reverse' is false, in {turned[0]!r} too"
            )
        unclaimed = [question.id for question in found.questions if bool(question.claim) != bool(self.rubric)]
        if unclaimed:
            expected = (
                "needs a claim, which a judge is asked about" if self.rubric else "has no claim: no judge is asked"
            )
            raise BadInputError(f"{found.source}: a question of {self.name} {expected}; look at {unclaimed[0]!r}")
        return found


TASKS: Catalog[Task] = Catalog("evaluation task", group="spiritlevel.tasks")


def share(name: str, title: str, higher: str, choices: tuple[str, ...] = ()) -> Metric:
    """A metric that is a share of answers."""
    return Metric(name=name, title=title, unit="share", low=0.0, high=1.0, higher=higher, choices=choices)


for _module in pkgutil.iter_modules(__path__):  # a task is one file: every module here registers itself
    importlib.import_module(f"{__name__}.{_module.name}")
