"""The Persona Brainstorm Audit: a model imagines people, and associations among their attributes are measured.

Method: "When LLMs Imagine People: A Human-Centered Persona Brainstorm Audit" (arXiv 2602.00044). Four identity
axes are crossed with four social dimensions; each of the 16 bias dimensions gets a normalized Cramér's V. The
prompt is the paper's, to the letter, and sealed by its hash. Other brainstorms ask for other attributes or in another
language; each is a class of its own (`registry.audits.protocols.brainstorms`).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from metrics.errors import BadInputError
from registry.audits.asked import Asked, asked_of
from registry.audits.brainstorm import NAME, PAPER, PROSE, Brainstorm, grammar_of, load_brainstorm
from registry.audits.persona_reading import Reading, pooled_readings, read_answers, stated_shares, too_few
from registry.audits.plan import AuditPlan, Decoding, Record, Request, Response, Sampling, content_hash
from registry.audits.protocols import LARGEST_SEED, PROTOCOLS, Choices
from registry.audits.variants import variant_prompt

if TYPE_CHECKING:
    import pandas as pd

    from metrics.baseline import DimensionEstimate
    from metrics.instrument import SteadyCheck
    from metrics.results import Comparison, Score
    from metrics.tables import BiasDimension
    from metrics.verdicts import Policy
    from registry.audits.accepted import Accepted, Mapped
    from registry.audits.parsing import Prose
    from registry.audits.taxonomy import Taxonomy

PROMPTS = Path(__file__).parent.parent / "prompts"
LARGEST_SIZE = 10_000_000
TOKENS_PER_ATTRIBUTE = 24  # of a persona under a grammar: its key, and a term of a few words
NAMES_LISTED = 50  # the paper analyses the 50 most frequent names
MAPPED_FLOOR = 0.80  # below this share of terms with a category, a dimension is not measurable
STATED_FLOOR = 0.70  # below this share of texts in prose that state an attribute, a dimension is not measurable
UNMAPPED_SHOWN = 5  # terms per attribute on a card; all of them are a table in MLflow
TAKE_NAMES_AGAIN_BELOW = 0.5  # of the share of records that the name list covered when it was frozen


@PROTOCOLS.register("persona-brainstorm")
class PersonaBrainstorm:
    """Protocol ``persona-brainstorm``: plan, requests, reading, scores and comparison."""

    name = "persona-brainstorm"
    version = "1"
    title = "Persona brainstorm"
    unit = "personas"
    options = ("per_call", "variant", "prompt")
    headline = "normalized-cramers-v-debiased"
    mean = "mean-normalized-cramers-v-debiased"
    categories = True
    freezes_names = True
    takes_accepted = True
    asks: ClassVar[Brainstorm] = load_brainstorm(PAPER)

    def __init__(self, accepted: Callable[[], Accepted] | None = None) -> None:
        self._accepted = accepted

    @property
    def taxonomy(self) -> Taxonomy:
        """What terms are put into categories by: the packaged files, and what the people of this home accepted."""
        return self._taxonomy(self._accepted().about(self.asks.categorised) if self._accepted is not None else ())

    def _taxonomy(self, accepted: Mapped = ()) -> Taxonomy:
        from registry.audits.taxonomy import load_taxonomy

        asks = self.asks
        return load_taxonomy(asks.attributes_in, accepted, attributes=asks.categorised, language=asks.language)

    @cached_property
    def _asked(self) -> Asked:
        return asked_of(self.asks)

    def prompt(self, per_call: int) -> str:
        """The prompt for that many personas a call (20 in the paper)."""
        return self.asks.prompt(per_call)

    def defaults(self) -> Choices:
        """5,000 personas, 20 a call as in the paper, in free text; in prose one a call, so that none is taken for another."""
        return Choices(sizes={"size": 5000}, options={"per_call": 1} if self.asks.reads == PROSE else {})

    def embedded(self) -> Choices:
        """One persona a call, its shape held by a grammar, truncation samplers off.

        With llama.cpp's default samplers (top_k 40, top_p .95, min_p .05) rare groups vanish from what a small
        model says, so they are switched off and recorded.
        """
        paper = self.asks.name == PAPER
        tokens = 160 if paper else TOKENS_PER_ATTRIBUTE * len(self.asks.attributes)
        return Choices(
            sizes={"size": 240},
            options={"per_call": 1},
            sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=tokens, extra=(("min_p", 0.0), ("top_k", 0))),
            decoding=Decoding.GRAMMAR,
            decoding_spec=(PROMPTS / "persona_grammar.lark").read_text(encoding="utf-8")
            if paper
            else grammar_of(self.asks),
        )

    def plan(
        self,
        *,
        size: int,
        seed: int = 0,
        per_call: int = 20,
        variant: str | None = None,
        prompt: str | None = None,
        sampling: Sampling | None = None,
        decoding: Decoding = Decoding.FREE_TEXT,
        decoding_spec: str | None = None,
    ) -> AuditPlan:
        """Plan ``size`` personas. Exactly ceil(size / per_call) requests are made; there is no top-up.

        ``variant`` and ``prompt`` ask in other words, under another collection key: `registry.audits.variants.variant_prompt`.
        """
        if not 1 <= size <= LARGEST_SIZE:
            raise BadInputError(f"an audit asks for 1 to {LARGEST_SIZE:,} personas, not {size:,}")
        if not 0 <= seed < LARGEST_SEED:
            raise BadInputError(f"a seed is a whole number from 0 to {LARGEST_SEED - 1}, not {seed}")
        text = self.prompt(per_call)
        options: dict[str, Any] = {"per_call": per_call}
        if variant is not None or prompt is not None:
            name, text = variant_prompt(text, per_call, variant, prompt)
            options |= {"variant": name}
        return AuditPlan(
            protocol=self.name,
            protocol_version=self.version,
            prompts={"user": text},
            options=options,
            size=size,
            seed=seed,
            sampling=sampling or Sampling(temperature=1.0),
            decoding=decoding,
            decoding_spec=decoding_spec,
        )

    def imported_plan(
        self, *, size: int, per_call: int | None = None, variant: str | None = None, prompt: str | None = None
    ) -> AuditPlan:
        """Plan of answers that somebody else collected: what was asked is only as known as they say.

        ``variant`` and ``prompt`` say that it was another wording, as in `plan`. Raises BadInputError for a shipped one without ``per_call``.
        """
        prompts, options = dict[str, str](), {"origin": "imported", "per_call": per_call or "unknown"}
        if variant is not None or prompt is not None:
            plain = "" if prompt is not None or per_call is None else self.prompt(per_call)
            name, prompts["user"] = variant_prompt(plain, per_call or 1, variant, prompt)
            if prompt is None and per_call is None:
                raise BadInputError(
                    f"the wording of {name} says how many personas a call asks for: give --per-call 20, or 1, as it was asked"
                )
            options["variant"] = name
        return AuditPlan(
            protocol=self.name,
            protocol_version=self.version,
            prompts=prompts,
            options=options,
            size=size,
            sampling=Sampling(temperature=None),
        )

    def requests(self, plan: AuditPlan) -> Iterator[Request]:
        """The requests of a plan, one after the other; each has a seed of its own."""
        per_call = int(plan.options["per_call"])
        message = {"role": "user", "content": plan.prompts["user"]}
        for index in range(-(-plan.size // per_call)):
            yield Request(
                index=index, messages=(message,), seed=(plan.seed * 1_000_003 + index) % LARGEST_SEED, expected=per_call
            )

    def records(self, request: Request, response: Response) -> list[Record]:
        """Every whole persona of an answer, and a record with its reason for everything else."""
        from registry.audits.parsing import read_personas

        return read_personas(request, response, self._asked, self._prose)

    @property
    def _prose(self) -> Prose | None:
        if self.asks.reads != PROSE:
            return None
        from registry.audits.prose_reading import read_prose

        asked, taxonomy = self._asked, self.taxonomy
        return lambda text, expected, cut: read_prose(text, expected, asked, taxonomy, cut=cut)

    def read(
        self,
        requests: Sequence[Request],
        responses: Sequence[Response],
        *,
        requested_model: str | None = None,
        price_input: float | None = None,
        price_output: float | None = None,
    ) -> Reading:
        """Read an audit's answers into the persona frame and the channels beside it."""
        return read_answers(
            requests,
            responses,
            self.records,
            self.taxonomy,
            texts=self.asks.texts,
            requested_model=requested_model,
            price_input=price_input,
            price_output=price_output,
        )

    def names(self, frames: Sequence[pd.DataFrame]) -> tuple[str, ...]:
        """The 50 most frequent names, pooled over audits; ties in alphabetical order."""
        counts: Counter[str] = Counter()
        for frame in frames:
            counts.update(frame.loc[frame["outcome"] == "ok", "name_category"].dropna())
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return tuple(name for name, _ in ranked[:NAMES_LISTED])

    def scoring_parts(self, names: Sequence[str]) -> dict[str, str]:
        """Everything that turns answers into scores, by name: parser, taxonomy, names, metric versions."""
        from metrics.results import METRICS_VERSION
        from registry.audits.accepted import part_of
        from registry.audits.parsing import PARSER_VERSION

        decided = part_of(self._accepted().about(self.asks.categorised)) if self._accepted is not None else None
        return {
            "protocol": f"{self.name} {self.version}",
            "parser": PARSER_VERSION,
            "keys": self._asked.version,
            "taxonomy": self._taxonomy().version,
            **({"accepted mappings": decided} if decided is not None else {}),
            "names": content_hash(sorted(names)),
            "metrics": METRICS_VERSION,
            "mapped floor": str(MAPPED_FLOOR),
            **self._prose_parts(),
        }

    def _prose_parts(self) -> dict[str, str]:
        if self.asks.reads != PROSE:
            return {}
        from registry.audits.prose_cues import CUES_VERSION  # compiles its patterns: not for who needs none

        return {"cues": CUES_VERSION, "stated floor": str(STATED_FLOOR)}

    def scoring_version(self, names: Sequence[str]) -> str:
        """Hash of `scoring_parts`: two audits compare only when it is equal."""
        return content_hash(self.scoring_parts(names))

    def dimensions(self, plan: AuditPlan | None = None) -> tuple[BiasDimension, ...]:
        """The bias dimensions: identity axes by social dimensions, in that order (16 in the paper's); every plan has the same."""
        from metrics.moves import BiasDimension

        titles = {NAME: "name"} | {attribute.name: attribute.title for attribute in self._taxonomy().attributes}
        return tuple(
            BiasDimension(
                title=f"{titles[axis]} x {titles[social]}",
                axis=titles[axis],
                social=titles[social],
                row=f"{axis}_category",
                column=f"{social}_category",
            )
            for axis in self.asks.axes
            for social in self.asks.dimensions
        )

    def scores(self, reading: Reading, names: Sequence[str], *, seed: int = 0, resamples: int = 2000) -> list[Score]:
        """All scores of an audit: bias dimensions, means, severity counts, gaps and concentration by group."""
        from metrics.association import association_scores
        from metrics.groups import group_scores

        names = sorted(
            names
        )  # ends of intervals depend on the order of rows in the last digits; versions do not know it
        frame, unmapped = self._measurable(reading)
        dimensions = self.dimensions()
        scores = association_scores(frame, dimensions, names=names, seed=seed, resamples=resamples)
        scores += group_scores(
            frame, [d for d in dimensions if not d.by_name and d.title not in unmapped], seed=seed, resamples=resamples
        )
        scores += self._worst_case(reading, frame, names)
        return [
            dataclasses.replace(score, reason=unmapped[score.dimension])
            if score.value is None and score.dimension in unmapped
            else score
            for score in scores
        ]

    def compare(
        self, previous: Reading, current: Reading, names: Sequence[str], policy: Policy
    ) -> tuple[list[Comparison], str | None]:
        """A comparison for each bias dimension, and why they are withheld as a whole, if they are."""
        from metrics.comparison import compare_associations
        from metrics.coverage import coverage_withheld, worst_case_in_words
        from metrics.verdicts import withheld

        reason = coverage_withheld(previous.channels, current.channels, policy)
        if reason:
            sides = [
                (side, self._worst_case(reading, reading.frame, names), reading.channels.shortfall)
                for side, reading in (("previous", previous), ("current", current))
            ]
            bounds = worst_case_in_words(sides)
            reason = f"{reason}; {bounds}" if bounds else reason
            return withheld([dimension.title for dimension in self.dimensions()], reason), reason
        (one, unmapped_previous), (other, unmapped_current) = self._measurable(previous), self._measurable(current)
        unmapped = unmapped_previous | unmapped_current
        asked = previous.channels.expected, current.channels.expected
        rows = compare_associations(one, other, self.dimensions(), names=names, policy=policy, asked=asked)
        return [
            dataclasses.replace(row, why=unmapped[row.dimension])
            if row.verdict == "not measurable" and row.dimension in unmapped
            else row
            for row in rows
        ], None

    def pooled(self, readings: Sequence[Reading]) -> Reading:
        """Several audits of one release read as one; requests of different audits stay different."""
        return pooled_readings(readings)

    def split_check(
        self, reading: Reading, names: Sequence[str], policy: Policy, *, alpha: float, in_order: bool
    ) -> SteadyCheck:
        """Whether the audit's own halves differ; see `metrics.instrument.split_check`."""
        from metrics.instrument import split_check

        frame, _ = self._measurable(reading)
        usable = frame[frame["outcome"] == "ok"]
        return split_check(usable, self.dimensions(), names=names, policy=policy, alpha=alpha, in_order=in_order)

    def baseline(self, readings: Sequence[Reading], names: Sequence[str], policy: Policy) -> dict[str, Any]:
        """What the audits of a watch's baseline count, by dimension, as plain values."""
        from metrics.baseline import baseline_vocabularies

        frames = [self._measurable(reading)[0] for reading in readings]
        found = baseline_vocabularies(frames, self.dimensions(), names=names, merge_below=policy.merge_below)
        return {title: vocabulary.as_json() for title, vocabulary in found.items()}

    def estimates(
        self, reading: Reading, names: Sequence[str], vocabulary: Mapping[str, Any]
    ) -> tuple[DimensionEstimate, ...]:
        """What one audit shows in the terms of a watch's baseline."""
        from metrics.baseline import BaselineVocabulary, watched_estimates

        known = {title: BaselineVocabulary.from_json(values) for title, values in vocabulary.items()}
        return watched_estimates(self._measurable(reading)[0], self.dimensions(), known, names=names)

    def _worst_case(self, reading: Reading, frame: pd.DataFrame, names: Sequence[str]) -> list[Score]:
        from metrics.coverage import worst_case_scores
        from metrics.tables import dimension_table

        tables = {dimension.title: dimension_table(frame, dimension, names) for dimension in self.dimensions()}
        return worst_case_scores(tables, reading.channels.expected, reading.channels.usable)

    def measurable_frame(self, reading: Reading) -> pd.DataFrame:
        """The persona frame without the categories of attributes that too few terms were mapped for."""
        return self._measurable(reading)[0]

    def _measurable(self, reading: Reading) -> tuple[pd.DataFrame, dict[str, str]]:
        """The frame without the categories of attributes that too few terms were mapped for, or too few texts state; why, by dimension."""
        frame, reasons = reading.frame, {}
        for attribute, why in self.too_few(reading).items():
            column = f"{attribute}_category"
            frame = frame.assign(**{column: None})
            for dimension in self.dimensions():
                if column in (dimension.row, dimension.column):
                    reasons[dimension.title] = why
        return frame, reasons

    def too_few(self, reading: Reading) -> dict[str, str]:
        """In words, by attribute, that too few answers can be counted for it."""
        stated = stated_shares(reading.frame, self.asks.attributes) if self.asks.reads == PROSE else {}
        return too_few(stated, STATED_FLOOR, reading.mapped, MAPPED_FLOOR)

    def listed(self, reading: Reading, names: Sequence[str]) -> tuple[int, int]:
        """How many usable personas have a name of the list, and how many would with the audit's own most frequent names."""
        own = self.names([reading.frame])
        said = reading.frame.loc[reading.frame["outcome"] == "ok", "name_category"]
        return int(said.isin(names).sum()), int(said.isin(own).sum())

    def summarized(self, reading: Reading, names: Sequence[str]) -> dict[str, Any]:
        """Cardinality, unmapped terms, use of listed names and shares by group, as `flows.summaries.Summary` takes them."""
        import pandas as pd

        from metrics.distributions import category_counts
        from metrics.drill import drill_of

        tables = self.tables(reading)
        usable = reading.frame[reading.frame["outcome"] == "ok"]
        listed, own_listed = self.listed(reading, names)
        return {
            "attributes": tuple(
                {
                    "attribute": row["attribute"],
                    "terms": int(row["terms"]),
                    "categories": int(row["categories"]),
                    "n": int(row["n"]),
                    "unmapped": int(row["n"]) - (0 if pd.isna(row["mapped"]) else round(row["mapped"] * row["n"])),
                    "unspecified": None if pd.isna(row["unspecified"]) else int(row["unspecified"]),
                }
                for row in tables["cardinality"].to_dict("records")
            ),
            "unmapped": tuple(
                (name.removeprefix("unmapped-"), str(row["term"]), int(row["count"]))
                for name, table in tables.items()
                if name.startswith("unmapped-")
                for row in table.head(UNMAPPED_SHOWN).to_dict("records")
            ),
            "listed": listed,
            "listed_share": listed / len(usable) if len(usable) else 0.0,
            "own_listed": own_listed,
            "details": {
                "drill": drill_of(reading.frame, self.dimensions(), names),
                "categories": category_counts(reading.frame, self.dimensions(), names),
            },
        }

    def record_table(self, reading: Reading) -> pd.DataFrame:
        """One row a persona: ``request, index, outcome, reason``, the attributes as answered, and their categories."""
        names = self.asks.attributes
        categories = [f"{name}_category" for name in names]
        return reading.frame[["request", "index", "outcome", "reason", *names, *categories, *self.asks.texts]]

    def tables(self, reading: Reading) -> dict[str, Any]:
        """Tables beside the scores: cardinality before and after mapping, terms without a category or that name nothing."""
        from registry.audits.term_tables import cardinality, unmapped_terms, unspecified_terms

        taxonomy = self.taxonomy
        tables = {"cardinality": cardinality(reading.frame, taxonomy)}
        for attribute in taxonomy.attributes:
            if attribute.name != "name":
                terms = unmapped_terms(reading.frame, attribute.name)
                if len(terms):
                    tables[f"unmapped-{attribute.name}"] = terms
                nothing = unspecified_terms(reading.frame, attribute.name, taxonomy)
                if len(nothing):
                    tables[f"unspecified-{attribute.name}"] = nothing
        return tables
