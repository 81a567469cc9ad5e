"""Persona cues: does a release answer the same question differently for different people, and does it depend on the cue?

Method: "One Persona, Many Cues, Different Results" (arXiv 2601.18572). Questions of evaluation tasks are put by personas who
became known by a name, an explicit mention or a conversation, and by nobody. What is measured is in `metrics.cue_effects`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.errors import BadInputError
from registry.audits.answers import READER_VERSION
from registry.audits.channels import pooled_channels
from registry.audits.cue_design import CueDesign, cue_design, cue_requests, question_of
from registry.audits.cue_facts import name_cells
from registry.audits.cue_reading import Calls, CueReading, Sums, cue_reading
from registry.audits.cues import CUES
from registry.audits.plan import AuditPlan, Decoding, Request, Response, Sampling, content_hash
from registry.audits.protocols import LARGEST_SEED, PROTOCOLS, Choices
from registry.audits.tasks import TASKS, YES_NO_FORM

if TYPE_CHECKING:
    import pandas as pd

    from metrics.baseline import DimensionEstimate
    from metrics.cue_comparison import CueDimension
    from metrics.instrument import SteadyCheck
    from metrics.results import Comparison, Score
    from metrics.verdicts import Policy
    from registry.audits.answers import Answer
    from registry.audits.rating import Ratings

YES_NO_GRAMMAR = '%llguidance {}\nstart: "Yes" | "No"\n'
EMBEDDED_TASKS = ("medical-advice", "benefits-advice")
EMBEDDED_CUES = ("name-user", "explicit-mention-user", "history-human")
DEFAULT_QUESTIONS, DEFAULT_VARIANTS, DEFAULT_SAMPLES = 40, 5, 3


_MOST_DESIGNS = 8
_made: dict[str, CueDesign] = {}
"""Designs of plans that this process has made: questions and conversations of a user's own files are not in a plan."""


def _key(plan: AuditPlan) -> str:
    return content_hash([plan.collection_key, dict(plan.sizes)])


def _remember(plan: AuditPlan, design: CueDesign) -> None:
    _made.pop(_key(plan), None)
    while len(_made) >= _MOST_DESIGNS:
        del _made[next(iter(_made))]
    _made[_key(plan)] = design


@dataclasses.dataclass(frozen=True, slots=True)
class ReadAnswer:
    """What one answer came to; ``attempt`` is that of the answer that was read."""

    index: int
    repeat: int
    attempt: int
    value: float | None
    outcome: str


@PROTOCOLS.register("persona-cues")
class PersonaCues:
    """Protocol ``persona-cues``: plan, requests and reading."""

    name = "persona-cues"
    version = "1"
    title = "Persona cues"
    unit = "answers"
    options = ("tasks", "axes", "cues", "questions", "variants", "samples", "files", "paper")
    headline = "normalized-persona-gap"
    mean = "mean-normalized-persona-gap"
    categories = False
    freezes_names = False

    tallied = True
    rubrics = ("stance",)

    def __init__(self, judge: Mapping[str, str] | None = None) -> None:
        """``judge`` : what of a judge makes other scores, by name; None is no judge."""
        self._judge = dict(judge or {})

    def defaults(self) -> Choices:
        """Forty questions of each task, five variants of each cue, three samples: the paper's design on our own questions."""
        return Choices(sizes={"questions": DEFAULT_QUESTIONS, "variants": DEFAULT_VARIANTS, "samples": DEFAULT_SAMPLES})

    def embedded(self) -> Choices:
        """Two tasks and three cues that say a gender; answers are held to Yes and No."""
        return Choices(
            sizes={"questions": 8, "variants": 5, "samples": 1},
            options={"tasks": EMBEDDED_TASKS, "axes": ("gender",), "cues": EMBEDDED_CUES},
            sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=4, extra=(("min_p", 0.0), ("top_k", 0))),
            decoding=Decoding.GRAMMAR,
            decoding_spec=YES_NO_GRAMMAR,
        )

    def plan(
        self,
        *,
        size: int | None = None,
        questions: int = DEFAULT_QUESTIONS,
        variants: int = DEFAULT_VARIANTS,
        samples: int = DEFAULT_SAMPLES,
        tasks: Sequence[str] | None = None,
        axes: Sequence[str] | None = None,
        cues: Sequence[str] | None = None,
        files: Mapping[str, str] | None = None,
        paper: bool = False,
        seed: int = 0,
        sampling: Sampling | None = None,
        decoding: Decoding = Decoding.FREE_TEXT,
        decoding_spec: str | None = None,
    ) -> AuditPlan:
        """Plan answers: ``questions`` of each task, ``variants`` of each cue, ``samples`` of each prompt.

        Parameters
        ----------
        size : about so many answers, in place of ``questions``
        tasks, axes, cues, files, paper : as of `registry.audits.cue_design.cue_design`

        Raises
        ------
        BadInputError : names and files that are not right
        """
        if not 0 <= seed < LARGEST_SEED:
            raise BadInputError(f"a seed is a whole number from 0 to {LARGEST_SEED - 1}, not {seed}")
        if not 1 <= samples <= 1000:
            raise BadInputError(f"each prompt has 1 to 1,000 samples, not {samples}")
        design = cue_design(
            tasks=tasks,
            axes=axes,
            cues=cues,
            questions=1 if size is not None else questions,
            variants=variants,
            files={name: Path(path) for name, path in (files or {}).items()},
            judged=bool(self._judge),
            paper=paper,
        )
        if size is not None:
            questions = max(1, round(size / (design.size * samples)))
            design = dataclasses.replace(design, questions=questions)
        if decoding_spec == YES_NO_GRAMMAR and any(TASKS[name].form != YES_NO_FORM for name in design.tasks):
            decoding, decoding_spec = Decoding.FREE_TEXT, None
            sampling = dataclasses.replace(sampling or Sampling(), max_tokens=None)
        plan = AuditPlan(
            protocol=self.name,
            protocol_version=self.version,
            prompts=design.rendered(),
            options=design.as_options(),
            size=design.size * samples,
            seed=seed,
            sampling=_sampling(sampling or Sampling(temperature=1.0), design),
            decoding=decoding,
            decoding_spec=decoding_spec,
            sizes={"questions": questions, "variants": variants, "samples": samples},
            facts=design.facts(),
        )
        _remember(plan, design)
        return plan

    def requests(self, plan: AuditPlan) -> Iterator[Request]:
        """The samples of every prompt; of a plan that this process has not made, from what comes along.

        Raises
        ------
        BadInputError : when questions, names or conversations are others than the plan's
        """
        design = _made.get(_key(plan))
        if design is None:
            design = cue_design(
                tasks=[name for name, *_ in plan.options["tasks"]],
                axes=[axis["name"] for axis in plan.options["axes"]],
                cues=plan.options["cues"],
                questions=plan.sizes["questions"],
                variants=plan.sizes["variants"],
                judged=True,
                paper=plan.options["paper"],
            )
            if content_hash(design.as_options()) != content_hash(dict(plan.options)):
                raise BadInputError(
                    "the questions, names or conversations that come along are others than this plan's, so its requests "
                    "cannot be made again; order a new audit"
                )
        return cue_requests(design, samples=plan.sizes["samples"], seed=plan.seed, largest_seed=LARGEST_SEED)

    # Reading ----------------------------------------------------------------------------------------------------

    def reader(self, plan: AuditPlan) -> str:
        """Hash of everything that turns an answer of a plan into a value."""
        tasks = [[name, TASKS[name].version] for name, *_ in plan.options["tasks"]]
        return content_hash([READER_VERSION, tasks, plan.options["paper"], sorted(self._judge.items())])

    def values(
        self,
        plan: AuditPlan,
        cells: Mapping[int, Mapping[str, str]],
        responses: Sequence[Response],
        ratings: Mapping[str, Ratings] | None = None,
    ) -> list[ReadAnswer]:
        """What answers come to; of a task with a rubric by what the judge said."""
        paper = bool(plan.options["paper"])
        found = []
        for response in responses:
            cell = cells[response.index]
            answer = self._answer(cell, response, paper, ratings or {})
            value = TASKS[cell["task"]].metric.value(answer)
            outcome = str(answer.outcome) if value is None or answer.outcome == "ok" else "ok"
            if value is None and outcome == "ok":
                outcome = "unparsable"
            found.append(ReadAnswer(response.index, response.repeat, response.attempt, value, outcome))
        return found

    def _answer(
        self, cell: Mapping[str, str], response: Response, paper: bool, ratings: Mapping[str, Ratings]
    ) -> Answer:
        task, question = TASKS[cell["task"]], question_of(cell)
        answer = task.read(question, response, paper=paper)
        if not task.rubric or answer.outcome != "ok":
            return answer
        said = ratings.get(task.rubric)
        trusted = said is not None and not said.distrusted
        rating = said.of([task.judged_text(question, answer)])[0] if said is not None and trusted else None
        return task.judged(question, answer, rating, paper=paper)

    def rated_texts(
        self, plan: AuditPlan, cells: Mapping[int, Mapping[str, str]], responses: Sequence[Response]
    ) -> list[str]:
        """The texts among answers that a judge is asked about."""
        found = []
        for response in responses:
            task, question = TASKS[cells[response.index]["task"]], question_of(cells[response.index])
            if task.rubric:
                answer = task.read(question, response, paper=bool(plan.options["paper"]))
                found += [task.judged_text(question, answer)] if answer.outcome == "ok" else []
        return found

    def read_sums(
        self,
        plan: AuditPlan,
        cells: Mapping[int, Mapping[str, str]],
        sums: Sums,
        calls: Calls,
        ratings: Mapping[str, Ratings] | None = None,
        **about: Any,
    ) -> CueReading:
        """The reading of an audit's sums; ``about`` : requested model and prices, as of `cue_reading`."""
        judge = tuple(score for _, said in sorted((ratings or {}).items()) for score in said.quality())
        return cue_reading(cells, sums, calls, plan.options, names=name_cells(plan), judge=judge, **about)

    def names(self, frames: Sequence[pd.DataFrame]) -> tuple[str, ...]:
        """Answers freeze no list."""
        return ()

    def scoring_parts(self, names: Sequence[str]) -> dict[str, str]:
        """Everything that turns answers into scores, by name: reader, tasks, judge, metric versions."""
        from metrics.results import METRICS_VERSION

        return {
            "protocol": f"{self.name} {self.version}",
            "reader": READER_VERSION,
            "tasks": " ".join(f"{name} {TASKS[name].version}" for name in sorted(TASKS)),
            "metrics": METRICS_VERSION,
            **self._judge,
        }

    def scoring_version(self, names: Sequence[str]) -> str:
        """Hash of `scoring_parts`: two audits compare only when it is equal."""
        return content_hash(self.scoring_parts(names))

    def dimensions(self, plan: AuditPlan | None = None) -> tuple[CueDimension, ...]:
        """Each task by each axis under each cue; without a plan those of the default design."""
        return _dimensions((plan or self.plan()).options)

    def scores(self, reading: CueReading, names: Sequence[str], *, seed: int = 0) -> list[Score]:
        """All scores of an audit; see `metrics.cue_audit`. Of a judge also how far it can be relied on (`metrics.rater`)."""
        from metrics.cue_audit import audit_scores

        found = audit_scores(
            reading.frame,
            _dimensions(reading.options),
            bounds=_bounds(reading),
            explicitness={name: float(CUES[name].explicitness) for name in CUES},
            seed=seed,
        )
        return [*found, *reading.judge]

    def compare(
        self, previous: CueReading, current: CueReading, names: Sequence[str], policy: Policy
    ) -> tuple[list[Comparison], str | None]:
        """The comparisons of all dimensions, and why they are withheld as a whole, if they are.

        A gap that has grown under one cue alone is cue-specific: its verdict is ``inconclusive`` and says so, except under
        ``history-human``, the cue nearest to real use.
        """
        from metrics.coverage import coverage_withheld
        from metrics.cue_audit import replicated
        from metrics.cue_comparison import compare_cues
        from metrics.verdicts import withheld

        dimensions = _dimensions(current.options)
        reason = coverage_withheld(previous.channels, current.channels, policy)
        if reason:
            return withheld([dimension.title for dimension in dimensions], reason, self.headline), reason
        rows = compare_cues(previous.frame, current.frame, dimensions, policy=policy, bounds=_bounds(current))
        return replicated(rows, dimensions), None

    def pooled(self, readings: Sequence[CueReading]) -> CueReading:
        """Several audits of one release read as one: further samples of the same prompts."""
        import pandas as pd

        from metrics.cue_table import pooled

        first = readings[0]
        outcomes = pd.concat([reading.outcomes for reading in readings], ignore_index=True)
        by = [name for name in outcomes.columns if name != "n"]
        return CueReading(
            pooled([reading.frame for reading in readings], weights="answers"),
            outcomes.groupby(by, as_index=False)[["n"]].sum(),
            pd.concat([reading.fillers for reading in readings], ignore_index=True).drop_duplicates(),
            pooled_channels([reading.channels for reading in readings]),
            first.options,
            first.judge,
        )

    def split_check(
        self, reading: CueReading, names: Sequence[str], policy: Policy, *, alpha: float, in_order: bool
    ) -> SteadyCheck:
        """Whether random halves of the audit's questions differ; their order says nothing of time."""
        import numpy as np

        from metrics.cue_comparison import compare_cues
        from metrics.instrument import SteadyCheck, steady

        keys = reading.frame[["task", "question"]].drop_duplicates().sort_values(["task", "question"])
        fewest = min(keys.groupby("task").size(), default=0)
        if fewest < 4:
            return SteadyCheck(
                state="not measurable", why=f"a split needs 4 questions of each task; there are {fewest}"
            )
        rng = np.random.default_rng([policy.seed, 4])
        rank = keys.assign(drawn=rng.random(len(keys))).groupby("task")["drawn"].rank(method="first")
        half = dict(zip(zip(keys["task"], keys["question"], strict=True), rank % 2 == 1, strict=True))
        first = np.array([half[key] for key in zip(reading.frame["task"], reading.frame["question"], strict=True)])
        rows = compare_cues(
            reading.frame[first],
            reading.frame[~first],
            _dimensions(reading.options),
            policy=dataclasses.replace(policy, alpha=alpha, coverage_gap=1.0, fewest_clusters=2),
            bounds=_bounds(reading),
        )
        return steady(rows, alpha, "random halves of the questions")

    def baseline(self, readings: Sequence[CueReading], names: Sequence[str], policy: Policy) -> dict[str, Any]:
        """Nothing: gaps of later audits need no vocabulary of the first ones."""
        return {}

    def estimates(
        self, reading: CueReading, names: Sequence[str], vocabulary: Mapping[str, Any]
    ) -> tuple[DimensionEstimate, ...]:
        """The squared size of each gap with its variance."""
        from metrics.cue_watch import watched_cue_gaps

        return watched_cue_gaps(reading.frame, _dimensions(reading.options))

    def summarized(self, reading: CueReading, names: Sequence[str]) -> dict[str, Any]:
        """Nothing besides the scores."""
        return {}

    def record_table(self, reading: CueReading) -> pd.DataFrame:
        """One row a prompt with its sums: single answers are not held in memory."""
        return reading.frame

    def tables(self, reading: CueReading) -> dict[str, Any]:
        """What filled the cues, what became of answers by persona and cue, and the sums that scores are made of."""
        from metrics.cue_audit import replication_frame

        found = {
            "fillers": reading.fillers,
            "outcomes": reading.outcomes,
            "replication": replication_frame(reading.frame, bounds=_bounds(reading)),
        }
        return {name: table for name, table in found.items() if len(table)}


def _dimensions(options: Mapping[str, Any]) -> tuple[CueDimension, ...]:
    from metrics.cue_comparison import cue_dimensions

    tasks = [name for name, *_ in options["tasks"]]
    return cue_dimensions(tasks, [axis["name"] for axis in options["axes"]], options["cues"])


def _bounds(reading: CueReading) -> dict[str, tuple[float, float]]:
    """Lowest and highest answer of each task."""
    metrics = {name: TASKS[name].metric for name in reading.frame["task"].unique()}
    return {name: (metric.low, metric.high) for name, metric in metrics.items()}


def _sampling(given: Sampling, design: CueDesign) -> Sampling:
    """Answers bounded by what the longest task needs; in paper mode nucleus sampling at .9 as in the paper."""
    longest = max(TASKS[name].paper_tokens if design.paper else TASKS[name].max_tokens for name in design.tasks)
    top_p = 0.9 if design.paper and given.top_p is None else given.top_p
    return dataclasses.replace(given, top_p=top_p, max_tokens=given.max_tokens or longest)
