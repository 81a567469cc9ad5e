"""What a persona-cue audit asks: questions of tasks, put by personas who became known by cues, and the bare questions.

A *prompt* is one question with one variant of a cue for one persona; samples of it are its repeats. The baseline asks each
question without a persona. Cells name everything that an analysis needs, so that an audit can be read when questions, names
and conversations have long become others.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from metrics.errors import BadInputError
from registry.audits.cue_facts import cue_facts
from registry.audits.cues import CUES, HISTORIES, NAMES, Material, Variant, VariantSet
from registry.audits.history_sources import histories_from
from registry.audits.personas import PersonaAxis, load_axis
from registry.audits.plan import Request, content_hash
from registry.audits.question import Question, QuestionSet
from registry.audits.tasks import TASKS, Task

NO_PERSONA = "no-persona"
DEFAULT_AXES = ("gender", "race-ethnicity", "age")
MOST_CALLS = 20_000_000
_NAMES_SEED = (
    0  # which names and conversations are taken: the same in every audit, so that releases are compared on them
)


@dataclasses.dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt: what it is about, as a stored request says it, and its messages."""

    cell: Mapping[str, str]
    messages: tuple[Mapping[str, str], ...]


@dataclasses.dataclass(frozen=True)
class CueDesign:
    """Tasks crossed with axes and cues.

    Parameters
    ----------
    tasks : task -> its questions; axes : what varies, one after the other; cues : without the baseline
    questions : how many of each task, fewer where it has fewer; variants : of each cue
    material : names and conversations; paper : wordings, readers and ages as in the paper's code
    """

    tasks: Mapping[str, QuestionSet]
    axes: tuple[PersonaAxis, ...]
    cues: tuple[str, ...]
    questions: int
    variants: int
    material: Material
    paper: bool = False

    @cached_property
    def variant_sets(self) -> tuple[VariantSet, ...]:
        """The variants of each cue for each axis, in the order in which they are asked."""
        return tuple(
            CUES[cue]().variants(axis, self.variants, self.material, seed=_NAMES_SEED, paper=self.paper)
            for axis, cue in itertools.product(self.axes, self.cues)
        )

    def chosen(self, task: str) -> tuple[Question, ...]:
        """The questions of a task that are asked, topics and polarities in turn."""
        found = self.tasks[task]
        return found.first(min(self.questions, len(found.questions)))

    @property
    def size(self) -> int:
        """Prompts of the design."""
        asked = sum(len(self.chosen(task)) for task in self.tasks)
        return asked * (1 + sum(found.count * len(found.variants) for found in self.variant_sets))

    def prompts(self) -> Iterator[Prompt]:
        """Every prompt, always in the same order: question by question, the bare question first."""
        bare = CUES[NO_PERSONA]().variants(None)
        for name in self.tasks:
            task = TASKS[name]
            for question in self.chosen(name):
                text = task.prompt(question, paper=self.paper)
                for found in (bare, *self.variant_sets):
                    for variant in itertools.chain.from_iterable(found.variants.values()):
                        turns = CUES[found.cue]().turns(variant, text)
                        yield Prompt(_cell(task, question, found, variant), turns)

    def as_options(self) -> dict[str, Any]:
        """What of it is asked, for a plan: everything but how many."""
        used = {CUES[cue].needs for cue in self.cues}
        material = {NAMES: self.material.name_table().version} if NAMES in used else {}
        for cue in self.cues:
            if CUES[cue].needs == HISTORIES:
                material[cue] = self.material.history_set(cue).version
        missing = [
            [found.cue, found.axis, one.persona, dict(one.held), one.reason]
            for found in self.variant_sets
            for one in found.missing
        ]
        return {
            "tasks": [[name, TASKS[name].version, found.digest] for name, found in self.tasks.items()],
            "axes": [axis.as_json() for axis in self.axes],
            "cues": list(self.cues),
            "material": material,
            "missing": missing,
            "paper": self.paper,
        }

    def facts(self) -> dict[str, Any]:
        """What a reader should know of who is asked; see `registry.audits.cue_facts`."""
        return cue_facts(self.variant_sets, self.axes, self.material)

    def rendered(self) -> dict[str, str]:
        """The prompts by name: of each task with a place for the question, of each cue its wordings."""
        place = Question(id="question", text="{question}", topic="", reverse=False)
        prompts = {name: TASKS[name].prompt(place, paper=self.paper) for name in self.tasks}
        for cue in self.cues:
            wordings = getattr(CUES[cue], "wordings", ())
            prompts[cue] = "\n".join(wordings) if wordings else CUES[cue].title
        return prompts


def _cell(task: Task, question: Question, found: VariantSet, variant: Variant) -> dict[str, str]:
    """What a stored request says of itself; what is empty is left out."""
    filler = variant.name or variant.history or ", ".join(f"{number}" for number in variant.numbers.values())
    parts = {
        "task": task.name,
        "question": question.id,
        "topic": question.topic,
        "claim": question.claim,
        "reverse": "yes" if question.reverse else "",
        "cue": found.cue,
        "axis": found.axis,
        "persona": variant.persona,
        "variant": str(variant.number),
        "filler": filler,
        "held": ", ".join(f"{name} {value}" for name, value in variant.held.items()),
    }
    return {name: text for name, text in parts.items() if text}


def question_of(cell: Mapping[str, str]) -> Question:
    """The question of a stored request, as far as reading its answer needs it."""
    return Question(
        id=cell["question"],
        text="",
        topic=cell.get("topic", ""),
        reverse=cell.get("reverse") == "yes",
        claim=cell.get("claim", ""),
    )


def cue_requests(design: CueDesign, *, samples: int, seed: int, largest_seed: int) -> Iterator[Request]:
    """``samples`` requests for each prompt."""
    for index, prompt in enumerate(design.prompts()):
        for repeat in range(samples):
            yield Request(
                index=index,
                repeat=repeat,
                messages=prompt.messages,
                cell=prompt.cell,
                seed=(seed * 1_000_003 + index * 1009 + repeat) % largest_seed,
                expected=1,
            )


def cue_design(
    *,
    tasks: Sequence[str] | None,
    axes: Sequence[str] | None,
    cues: Sequence[str] | None,
    questions: int,
    variants: int,
    files: Mapping[str, Path] | None = None,
    judged: bool,
    paper: bool = False,
) -> CueDesign:
    """The design that names choose.

    Parameters
    ----------
    tasks, cues : catalog names; None is all of them, tasks that need a judge only when there is one (``judged``)
    axes : attributes, TOML files of one's own by their path, or several joined by ``+``; files : task or history cue -> a file of its questions or conversations

    Raises
    ------
    BadInputError : an unknown name, one named twice, a file that is not what it should be, a task whose judge is missing, nobody to ask
    """
    known = [name for name in TASKS if judged or not TASKS[name].rubric]
    wanted = _once("task", list(tasks) if tasks is not None else known)
    for name in wanted:
        if TASKS[name].rubric and not judged:
            raise BadInputError(
                f"the task {name} is rated by a judge, and none is configured: name one as [judge] release in spiritlevel.toml, "
                f"or leave the task out"
            )
    chosen = _once("cue", list(cues) if cues is not None else [name for name in CUES if name != NO_PERSONA])
    for name in chosen:
        if CUES[name].place and name == NO_PERSONA:
            raise BadInputError(f"{NO_PERSONA} is the baseline and always asked; name the cues to compare with it")
    given = dict(files or {})
    if strangers := set(given) - set(wanted) - {name for name in chosen if CUES[name].needs == HISTORIES}:
        raise BadInputError(
            f"a file is given for {', '.join(sorted(strangers))}, which is no task or history cue of this audit; they are "
            f"{', '.join([*wanted, *(name for name in chosen if CUES[name].needs == HISTORIES)])}"
        )
    sets = {name: TASKS[name].load(given[name]) if name in given else TASKS[name].own() for name in wanted}
    histories = {name: histories_from(path) for name, path in given.items() if name in chosen}
    for size, what in ((questions, "questions"), (variants, "variants")):
        if size < 1:
            raise BadInputError(f"an audit asks at least one of {what}, not {size}")
    design = CueDesign(
        tasks=sets,
        axes=_axes(axes),
        cues=tuple(chosen),
        questions=questions,
        variants=variants,
        material=Material(histories=histories),
        paper=paper,
    )
    if not any(found.count for found in design.variant_sets):
        reasons = [one.reason for found in design.variant_sets for one in found.missing]
        raise BadInputError(
            f"nobody can be asked as by these cues and axes: {reasons[0] if reasons else 'nothing fills them'}; add another cue, or "
            f"another axis"
        )
    return design


def _axes(names: Sequence[str] | None) -> tuple[PersonaAxis, ...]:
    found = tuple(load_axis(name) for name in _once("axis", list(names) if names is not None else list(DEFAULT_AXES)))
    _once("axis", [axis.name for axis in found])  # a file may have the name of another axis
    return found


def _once(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        raise BadInputError(f"name at least one {what}")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BadInputError(f"the {what} {twice[0]} is named twice")
    return list(names)


def design_digest(options: Mapping[str, Any]) -> str:
    """What two designs share that ask the same, in whatever size."""
    return content_hash(options)
