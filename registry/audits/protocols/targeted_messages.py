"""Targeted messages: one text for each audience, and whether audiences get different ones.

Method: "Who Gets Which Message? Auditing Demographic Bias in LLM-Generated Targeted Text" (arXiv 2601.17172). A model
writes short messages that encourage an audience to do something, in two modes: *standalone* names the audience and the
stance only, *context-rich* adds theme and region. What is measured is in `metrics.message_scores`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.errors import BadInputError
from registry.audits.amounts import amounts, fewest_cells, most_cells
from registry.audits.channels import measured_channels, pooled_channels
from registry.audits.design import DEFAULT_DOMAIN, MODES, Audience, Design, Domain, load_design
from registry.audits.message_reading import MessageReading, axes_of, axis_title
from registry.audits.messages import READER_VERSION, message_frame, read_message
from registry.audits.plan import AuditPlan, Decoding, Record, Request, Response, Sampling, content_hash
from registry.audits.protocols import LARGEST_SEED, PROTOCOLS, Choices
from registry.audits.rubric import load_rubric

if TYPE_CHECKING:
    import pandas as pd

    from metrics.baseline import DimensionEstimate
    from metrics.gaps import GapDimension
    from metrics.instrument import SteadyCheck
    from metrics.message_measures import MessageLexicons
    from metrics.results import Comparison, Score
    from metrics.verdicts import Policy
    from registry.audits.rating import Ratings


PROMPTS = Path(__file__).parent.parent / "prompts"
NO_JUDGE = "no judge model is configured: [judge] release in spiritlevel.toml names one"
NOT_RATED = "the judge was not asked about these messages yet: 'spiritlevel rate' does it"


def design_of(plan: AuditPlan) -> Design:
    """The design that a plan asks, from the plan alone: the files may be others by now."""
    options = plan.options
    return Design(
        domain=Domain.from_json(options["domain"], plan.prompts),
        audiences=tuple(Audience.from_json(values) for values in options["audiences"]),
        modes=tuple(options["modes"]),
    )


@PROTOCOLS.register("targeted-messages")
class TargetedMessages:
    """Protocol ``targeted-messages``: plan, requests, reading, scores and comparison."""

    name = "targeted-messages"
    version = "1"
    title = "Targeted messages"
    unit = "messages"
    options: tuple[str, ...] = ("domain", "audiences", "modes", "cells", "repeats")
    headline = "normalized-gap-debiased"
    mean = "mean-normalized-gap-debiased"
    categories = False
    freezes_names = False

    takes_lexicons = True
    keeps_measures = True
    rubrics = ("emotion", "formality")

    def __init__(
        self, lexicons: Callable[[], MessageLexicons] | None = None, judge: Mapping[str, str] | None = None
    ) -> None:
        """``judge`` : what of a judge makes other scores, by name; None is no judge."""
        self._lexicons = lexicons
        self._judge = dict(judge or {})

    @cached_property
    def lexicons(self) -> MessageLexicons:
        """What messages are measured with: the lexicons that come with the product unless others were given."""
        from metrics.message_measures import MessageLexicons

        return MessageLexicons.default() if self._lexicons is None else self._lexicons()

    def defaults(self) -> Choices:
        """Every cell of the climate design, five messages each."""
        return Choices(sizes={"repeats": 5})

    def embedded(self) -> Choices:
        """About 120 messages a mode: 15 prompt cells of the context-rich mode once, both standalone ones eight times.

        A grammar ends each message after one to five sentences; by itself so small a model often comes to no end.
        """
        return Choices(
            sizes={"usual_cells": 136, "repeats": 1},
            sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=256, extra=(("min_p", 0.05), ("top_k", 0))),
            decoding=Decoding.GRAMMAR,
            decoding_spec=(PROMPTS / "message_sentences.lark").read_text(encoding="utf-8"),
        )

    def plan(
        self,
        *,
        size: int | None = None,
        cells: int | None = None,
        usual_cells: int | None = None,
        repeats: int | None = None,
        domain: str | None = None,
        audiences: Sequence[str] | None = None,
        modes: Sequence[str] | None = None,
        seed: int = 0,
        sampling: Sampling | None = None,
        decoding: Decoding = Decoding.FREE_TEXT,
        decoding_spec: str | None = None,
    ) -> AuditPlan:
        """Plan messages: ``cells`` and ``repeats``, or a number of them (see `registry.audits.amounts`).

        ``usual_cells`` : how many where nobody says ``cells``, as far as the design has them
        """
        if not 0 <= seed < LARGEST_SEED:
            raise BadInputError(f"a seed is a whole number from 0 to {LARGEST_SEED - 1}, not {seed}")
        design = load_design(domain or DEFAULT_DOMAIN, audiences, modes)
        if cells is None and usual_cells is not None:
            cells = max(fewest_cells(design), min(usual_cells, most_cells(design)))
        chosen = amounts(design, cells=cells, repeats=repeats, size=size)
        return AuditPlan(
            protocol=self.name,
            protocol_version=self.version,
            prompts={mode: design.domain.prompts[mode] for mode in design.modes},
            options={
                "domain": design.domain.as_json(),
                "audiences": [audience.as_json() for audience in design.audiences],
                "modes": list(design.modes),
            },
            size=chosen.size,
            seed=seed,
            sampling=sampling or Sampling(temperature=1.0),
            decoding=decoding,
            decoding_spec=decoding_spec,
            sizes={"cells": chosen.cells, "repeats": chosen.repeats},
        )

    def imported_plan(self, *, size: int, groups: Mapping[str, Sequence[str]], modes: Sequence[str]) -> AuditPlan:
        """Plan of messages that somebody else collected: what was asked is only as known as they say."""
        audiences = [
            {"name": name, "title": axis_title(name), "groups": [[group, group] for group in found]}
            for name, found in groups.items()
        ]
        return AuditPlan(
            protocol=self.name,
            protocol_version=self.version,
            prompts={},
            options={"origin": "imported", "audiences": audiences, "modes": list(modes)},
            size=size,
            sampling=Sampling(temperature=None),
        )

    def requests(self, plan: AuditPlan) -> Iterator[Request]:
        """One request a message; its index is that of its cell in the whole design, so that audits share cells."""
        design = design_of(plan)
        for cell, repeat in amounts(design, **plan.sizes, size=None).requested():
            yield Request(
                index=cell.index,
                repeat=repeat,
                messages=({"role": "user", "content": design.prompt(cell)},),
                cell=cell.as_labels(),
                seed=(plan.seed * 1_000_003 + cell.index * 1009 + repeat) % LARGEST_SEED,
                expected=1,
            )

    def records(self, request: Request, response: Response) -> list[Record]:
        """The message of an answer, or the reason why there is none."""
        return [read_message(request, response)]

    def read(
        self,
        requests: Sequence[Request],
        responses: Sequence[Response],
        *,
        requested_model: str | None = None,
        price_input: float | None = None,
        price_output: float | None = None,
        kept: Mapping[str, Any] | None = None,
        ratings: Mapping[str, Ratings] | None = None,
    ) -> MessageReading:
        """Read an audit's answers into a frame of messages.

        Parameters
        ----------
        kept : measures that are stored, if any; ratings : what a judge said about the messages, by rubric
        """
        by_key = {(request.index, request.repeat): request for request in requests}
        records = [
            record for answer in responses for record in self.records(by_key[answer.index, answer.repeat], answer)
        ]
        axes = axes_of(requests)
        frame = message_frame(requests, records, [axis.column for axis in axes])
        channels = measured_channels(
            requests,
            responses,
            records,
            formats={"text": sum(answer.text is not None for answer in responses)},
            duplicates=int(frame["duplicate"].sum()),
            requested_model=requested_model,
            price_input=price_input,
            price_output=price_output,
        )
        seen = {request.cell.get("mode") for request in requests}
        modes = tuple(mode for mode in MODES if mode in seen)
        return MessageReading(frame, channels, axes, modes, self.lexicons, kept, ratings or {})

    def names(self, frames: Sequence[pd.DataFrame]) -> tuple[str, ...]:
        """Messages freeze no list."""
        return ()

    def scoring_parts(self, names: Sequence[str]) -> dict[str, str]:
        """Everything that turns answers into scores, by name: reader, tagger, lexicons, weights, metric versions."""
        from metrics.results import METRICS_VERSION

        return {
            "protocol": f"{self.name} {self.version}",
            "reader": READER_VERSION,
            "metrics": METRICS_VERSION,
            **self.lexicons.parts(),
            **self._judge,
        }

    def scoring_version(self, names: Sequence[str]) -> str:
        """Hash of `scoring_parts`: two audits compare only when it is equal."""
        return content_hash(self.scoring_parts(names))

    def dimensions(self, plan: AuditPlan | None = None) -> tuple[GapDimension, ...]:
        """Each audience attribute by each judged measure in each mode; without a plan those of the default design."""
        from metrics.message_scores import Axis, gap_dimensions

        if plan is None:
            design = load_design()
            audiences, modes = design.audiences, design.modes
        else:
            audiences = tuple(Audience.from_json(values) for values in plan.options["audiences"])
            modes = tuple(plan.options["modes"])
        axes = [Axis(one.name, axis_title(one.name), tuple(one.groups)) for one in audiences]
        return gap_dimensions(axes, modes)

    def scores(self, reading: MessageReading, names: Sequence[str], *, seed: int = 0) -> list[Score]:
        """All scores of an audit; see `metrics.message_scores` and `metrics.rating_scores`."""
        from metrics.message_scores import message_scores, word_scores
        from metrics.rating_scores import rating_scores

        frame, (axes, modes) = reading.measured, (reading.axes, reading.modes)
        scores = message_scores(frame, axes, modes, seed=seed)
        scores += word_scores(frame, reading.words, self.lexicons, axes, modes, seed=seed)
        unasked = NOT_RATED if self._judge else NO_JUDGE
        for rated in reading.rated([load_rubric(name) for name in self.rubrics], unasked):
            scores += rating_scores(frame, rated, axes, modes)
        return scores

    def compare(
        self, previous: MessageReading, current: MessageReading, names: Sequence[str], policy: Policy
    ) -> tuple[list[Comparison], str | None]:
        """The comparisons of all dimensions, and why they are withheld as a whole, if they are."""
        from metrics.coverage import coverage_withheld
        from metrics.gap_comparison import compare_gaps
        from metrics.message_scores import gap_dimensions
        from metrics.verdicts import withheld

        dimensions = gap_dimensions(previous.axes, previous.modes)
        reason = coverage_withheld(previous.channels, current.channels, policy)
        if reason:
            return withheld([dimension.title for dimension in dimensions], reason, self.headline), reason
        sides = previous.measured, current.measured
        asked = [dict(reading.frame.groupby("mode").size()) for reading in (previous, current)]
        return compare_gaps(*sides, dimensions, policy=policy, asked=asked), None

    def pooled(self, readings: Sequence[MessageReading]) -> MessageReading:
        """Several audits of one release read as one: further repeats of the same cells."""
        import pandas as pd

        first = readings[0]
        frames, offset = [], 0
        for reading in readings:
            frames.append(reading.measured.assign(repeat=reading.measured["repeat"] + offset))
            offset = int(frames[-1]["repeat"].max()) + 1 if len(frames[-1]) else offset
        pooled = MessageReading(
            pd.concat([reading.frame for reading in readings], ignore_index=True),
            pooled_channels([reading.channels for reading in readings]),
            first.axes,
            first.modes,
            self.lexicons,
        )
        pooled.__dict__["measured"] = pd.concat(frames, ignore_index=True)
        return pooled

    def split_check(
        self, reading: MessageReading, names: Sequence[str], policy: Policy, *, alpha: float, in_order: bool
    ) -> SteadyCheck:
        """Whether random halves of the audit's messages differ; their order follows their cells and says nothing of time."""
        import numpy as np

        from metrics.gap_comparison import compare_gaps
        from metrics.instrument import SteadyCheck, steady
        from metrics.message_scores import gap_dimensions

        frame = reading.measured
        if len(frame) < 2 * policy.fewest_clusters:
            why = f"a split needs {2 * policy.fewest_clusters} messages; there are {len(frame)}"
            return SteadyCheck(state="not measurable", why=why)
        rng = np.random.default_rng([policy.seed, 4])
        drawn = frame.assign(drawn=rng.random(len(frame))).groupby(
            ["mode", "cell", *(axis.column for axis in reading.axes)]
        )
        # Every other message of a cell, begun at random: a cell with one message is in either half.
        begin = rng.integers(0, 2, drawn.ngroups)[drawn.ngroup().to_numpy()]
        first = ((drawn["drawn"].rank(method="first").to_numpy() + begin) % 2) == 1
        one, other = (frame[half] for half in (first, ~first))
        rows = compare_gaps(
            one,
            other,
            gap_dimensions(reading.axes, reading.modes),
            policy=dataclasses.replace(policy, alpha=alpha, coverage_gap=1.0),
        )
        return steady(rows, alpha, "random halves of the messages")

    def baseline(self, readings: Sequence[MessageReading], names: Sequence[str], policy: Policy) -> dict[str, Any]:
        """Nothing: gaps of later audits need no vocabulary of the first ones."""
        return {}

    def estimates(
        self, reading: MessageReading, names: Sequence[str], vocabulary: Mapping[str, Any]
    ) -> tuple[DimensionEstimate, ...]:
        """The squared size of each gap with its variance."""
        from metrics.gap_watch import watched_gaps
        from metrics.message_scores import gap_dimensions

        return watched_gaps(reading.measured, gap_dimensions(reading.axes, reading.modes))

    @property
    def naming(self) -> Mapping[str, Collection[str]]:
        """By attribute, words that name its groups and say nothing else of them; none where somebody is written to."""
        return {}

    def summarized(self, reading: MessageReading, names: Sequence[str]) -> dict[str, Any]:
        """The measures of each message, so that comparing audits again tags nothing, and what cards show besides scores."""
        from metrics.message_scores import leaning_words
        from metrics.weight_simplex import weighted_gaps

        frame, axes, modes = reading.measured, reading.axes, reading.modes
        weights = self.lexicons.weights
        details = {
            "weights": [weights.agency, weights.modality, weights.imperative],
            "weighted_gaps": weighted_gaps(frame, axes, modes, missing=self.lexicons.missing),
            "words": leaning_words(frame, reading.words, axes, modes, naming=self.naming),
            "modes": frame["mode"].tolist(),  # of each message, in the order of the measures
        }
        return {"measures": reading.measures_as_json(), "details": details}

    def record_table(self, reading: MessageReading) -> pd.DataFrame:
        """One row a message: what it was about, to whom, what it says, and every measure; or why there is none."""
        from metrics.message_measures import COLUMNS

        keys = ["request", "repeat"]
        whole: pd.DataFrame = reading.frame.merge(reading.measured[[*keys, *COLUMNS]], on=keys, how="left")
        return whole

    def tables(self, reading: MessageReading) -> dict[str, Any]:
        """The words that lean to each group, the sensitivity of the index to its weights, and every measured message."""
        from metrics.message_scores import word_frames
        from metrics.weight_simplex import simplex_frame

        frame = reading.measured
        tables = dict(word_frames(frame, reading.words, reading.axes, reading.modes, naming=self.naming))
        tables["index-weights"] = simplex_frame(frame, reading.axes, reading.modes, missing=self.lexicons.missing)
        tables["messages"] = frame.drop(columns=["text"])
        return {name: table for name, table in tables.items() if len(table)}
