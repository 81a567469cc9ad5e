"""`ModelCard`: everything a longitudinal card says, collected from the ledger. Rendered, never computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dashboards.moved import MovedCell, MovedEvent
from metrics.results import VERDICTS, Comparison, Score
from registry.audits.channels import Channels
from registry.audits.plan import content_hash
from registry.ledger.values import Audit
from registry.releases import ModelRelease

DEBIASED = "normalized-cramers-v-debiased"
RAW = "normalized-cramers-v"
PAPER = "normalized-cramers-v-paper"
MEAN = "mean-normalized-cramers-v-debiased"
NOISE_FLOOR = "noise-floor"
TOP_1 = "top-1-share"
TOP_2 = "top-2-share"
EFFECTIVE_CATEGORIES = "effective-categories"
L1_GAP = "l1-gap"
OVERALL = "overall"
SEVERITIES = ("low", "medium", "high", "very high")

CONTENT_WARNING = (
    "This card reports stereotypes that a language model reproduced. Group names and associations on it may be "
    "offensive or painful to read; they describe the model's answers, not the people."
)
LIMITS = (
    "English only: the prompt and the categories are in English, and the categories carry the social order of the "
    "places they were written in. Nothing here is shown for another language.",
    "Structured output: the model was asked for short profiles in a fixed form. Free prose, tone and framing may "
    "stereotype in ways that this form cannot show.",
    "Text only: pictures, speech and tool use were not audited.",
    "One wording: another prompt, a role or a system message may give other scores.",
    "Small samples: at few personas or few requests an association may be noise. Read each score beside its noise "
    "floor and its interval; an inconclusive result means too little data to tell, not that nothing changed.",
    "The categories were not reviewed by people outside this project, and terms that fit none are counted, not used.",
    "An association is not by itself a harm. Which harm, and to whom, depends on where the personas are used.",
    "Not a certification: no score on this card says that a model is fit for a use.",
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """One audited release in the history of its family.

    ``scores`` holds the debiased score of every bias dimension and the overall mean, with their intervals, and the noise
    floor of every dimension; ``verdict`` is None for the first audit, which had nothing to be compared with.
    """

    release: ModelRelease
    audit: int
    date: str
    scores: tuple[Score, ...]
    occasion: int = 1
    verdict: str | None = None

    @property
    def version(self) -> int:
        return self.release.version

    @property
    def day(self) -> str:
        return self.date

    def measured(self, dimensions: tuple[str, ...]) -> int:
        """How many of ``dimensions`` have a value: a mean over fewer dimensions is another mean."""
        found = [self.score(dimension) for dimension in dimensions]
        return sum(score is not None and score.value is not None for score in found)

    def floor(self) -> float | None:
        """Mean noise floor over the dimensions that have one; None when none has."""
        floors = [score.value for score in self.scores if score.metric == NOISE_FLOOR and score.value is not None]
        return sum(floors) / len(floors) if floors else None

    def score(self, dimension: str) -> Score | None:
        """The debiased score of ``dimension``, or the mean of ``"overall"``; None when this audit has none."""
        return _found(self.scores, MEAN if dimension == OVERALL else DEBIASED, dimension, "")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cardinality:
    """How many distinct terms of an attribute were answered, and how many categories they were read into.

    ``unmapped`` counts the records whose term fits no category, of ``n`` that answered the attribute; ``unspecified``
    those in the category of answers that name nothing, None where the attribute has no such category.
    """

    attribute: str
    terms: int
    categories: int
    unmapped: int
    n: int
    previous_terms: int | None = None
    previous_categories: int | None = None
    unspecified: int | None = None

    @property
    def unmapped_share(self) -> float | None:
        """Share of the records that answered the attribute with a term of no category; None when none answered."""
        return self.unmapped / self.n if self.n else None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UnmappedTerm:
    """A term, as the model answered it, that fits no category, and the number of records that have it."""

    attribute: str
    term: str
    n: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NameCoverage:
    """The versioned list of names that the name scores are made on.

    ``n_eff`` personas, the share ``share`` of all usable ones, have a name of the list.
    """

    version: str
    size: int
    n_eff: int
    share: float
    previous_n_eff: int | None = None
    previous_share: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """The longitudinal model card of one audited release.

    Parameters
    ----------
    family, protocol : whose card it is, and the protocol's catalog name
    release, audit, channels : what was audited, the audit, and what came back besides the scores
    previous, previous_channels, previous_scores : the same of the release it is compared with; all absent without one
    dimensions : every bias dimension of the protocol, in the order of the tables
    scores : all scores of the audit; each dimension needs one of `DEBIASED`, with a value or with its reason
    comparisons, verdict, why, policy : the comparison with the previous release and how it was judged;
        ``verdict`` is None when there was nothing to compare with; ``why`` then says so. ``previous`` may be the
        same release: a repeated audit is compared with the first one of its release
    history : all audited releases of the family, oldest first, this one included; of many audits of a release the
        newest of each ``history_period`` (day, week, ...), and ``history_left_out`` are not on the card
    cells, events : what moved in that comparison: cells of the changed dimensions, new and vanished categories
    cardinality, unmapped, names : how answers were read into categories
    scoring_parts : name and version of each part of the scoring version
    product_version, made_at : of the program that made the card, and when (ISO, with time zone)
    links : where the evidence is: label -> MLflow run id or address

    Raises
    ------
    ValueError
        when a required field is empty or the parts do not belong together: half a card is not published.
    """

    family: str
    protocol: str
    release: ModelRelease
    audit: Audit
    channels: Channels
    dimensions: tuple[str, ...]
    scores: tuple[Score, ...]
    why: str
    scoring_parts: Mapping[str, str]
    product_version: str
    made_at: str
    history: tuple[HistoryPoint, ...]
    history_left_out: int = 0
    history_period: str = ""
    previous: ModelRelease | None = None
    previous_channels: Channels | None = None
    previous_scores: tuple[Score, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    verdict: str | None = None
    policy: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    cells: tuple[MovedCell, ...] = ()
    events: tuple[MovedEvent, ...] = ()
    cardinality: tuple[Cardinality, ...] = ()
    unmapped: tuple[UnmappedTerm, ...] = ()
    names: NameCoverage | None = None
    links: Mapping[str, str] = dataclasses.field(default_factory=dict)
    content_warning: str = CONTENT_WARNING
    limits: tuple[str, ...] = LIMITS

    def __post_init__(self) -> None:
        self._refuse_empty()
        self._refuse_strangers()
        self._refuse_half_a_comparison()

    def _refuse_empty(self) -> None:
        required = {
            "family": self.family.strip(),
            "protocol": self.protocol.strip(),
            "release.model": self.release.model.strip(),
            # What imported answers were asked with is known to whoever collected them.
            "audit.plan.prompts": self.audit.plan.prompts or self.audit.source == "imported",
            "audit.scoring_version": self.audit.scoring_version,
            "dimensions": self.dimensions,
            "scores": self.scores,
            "why": self.why.strip() or self.previous is None,
            "scoring_parts": self.scoring_parts,
            "product_version": self.product_version.strip(),
            "made_at": self.made_at.strip(),
            "history": self.history,
            "content_warning": self.content_warning.strip(),
            "limits": self.limits,
        }
        required |= {f"prompt {name!r}": text.strip() for name, text in self.audit.plan.prompts.items()}
        empty = [name for name, value in required.items() if not value]
        if empty:
            raise ValueError(f"a model card needs {', '.join(empty)}; fill the field in, half a card is not published")
        unscored = [name for name in self.dimensions if self.score(DEBIASED, name) is None]
        if unscored:
            raise ValueError(
                f"a model card needs a score of {DEBIASED!r} for every bias dimension, there is none for "
                f"{', '.join(unscored)}; what could not be measured is a score without value and with its reason"
            )

    def _refuse_strangers(self) -> None:
        if (self.release.family, self.audit.protocol) != (self.family, self.protocol):
            raise ValueError(
                f"a card of family {self.family!r} and protocol {self.protocol!r} cannot show an audit of "
                f"{self.release.family!r} by {self.audit.protocol!r}; hand in the parts of one audit"
            )
        if self.audit.release.uri != self.release.uri:
            raise ValueError(
                f"audit {self.audit.id} is of {self.audit.release.uri}, the card is of {self.release.uri}; "
                "hand in the audit of the card's release"
            )
        unknown = {cell.change.dimension for cell in self.cells} - {*self.dimensions}
        if unknown:
            raise ValueError(
                f"cells of {', '.join(sorted(unknown))} moved, which is no bias dimension of the card; hand in the "
                "cells of its own comparison"
            )
        if all(point.audit != self.audit.id for point in self.history):
            raise ValueError(f"the history does not hold audit {self.audit.id}, which the card is about; add its point")

    def _refuse_half_a_comparison(self) -> None:
        if self.previous is None:
            compared = (self.comparisons, self.previous_scores, self.previous_channels, self.cells, self.events)
            if self.verdict is not None or any(compared):
                raise ValueError(
                    "a card without a previous release is a baseline: it has no verdict and no comparisons"
                )
            return
        if self.verdict not in VERDICTS:
            raise ValueError(f"unknown verdict {self.verdict!r} on {self.release.uri}; known: {', '.join(VERDICTS)}")
        if not self.policy or self.previous_channels is None:
            raise ValueError(
                f"a card that compares {self.release.uri} with {self.previous.uri} needs policy and previous_channels"
            )
        if self.verdict != "not measurable":
            uncompared = [name for name in self.dimensions if self.comparison(DEBIASED, name) is None]
            if uncompared:
                raise ValueError(
                    f"the verdict {self.verdict!r} needs a comparison of every bias dimension, there is none for "
                    f"{', '.join(uncompared)}"
                )

    def score(self, metric: str, dimension: str, group: str = "") -> Score | None:
        """The score of this audit by metric, dimension and group; None when there is no such row."""
        return _found(self.scores, metric, dimension, group)

    def previous_score(self, metric: str, dimension: str, group: str = "") -> Score | None:
        """The same row of the previous release."""
        return _found(self.previous_scores, metric, dimension, group)

    def comparison(self, metric: str, dimension: str) -> Comparison | None:
        """The comparison of one metric in one dimension; None when there is none."""
        return next((row for row in self.comparisons if (row.metric, row.dimension) == (metric, dimension)), None)

    def by_group(self, metric: str) -> tuple[Score, ...]:
        """The by-group scores of a metric, the largest value first and the ones without value last."""
        rows = [score for score in self.scores if score.metric == metric and score.group]
        return tuple(sorted(rows, key=lambda row: (row.value is None, -(row.value or 0.0), row.dimension, row.group)))

    @property
    def title(self) -> str:
        """The audited release in words."""
        return f"release {self.release.version}{', this audit' if self._repeated else ''}"

    @property
    def previous_title(self) -> str:
        """The release, or the earlier audit of the same release, that it is compared with; empty without one."""
        if self.previous is None:
            return ""
        return f"release {self.previous.version}{', earlier audit' if self._repeated else ''}"

    @property
    def _repeated(self) -> bool:
        return self.previous is not None and self.previous.uri == self.release.uri

    @property
    def axes(self) -> tuple[str, ...]:
        """The identity axes of the bias dimensions, in their order: ``"gender"`` of ``"gender x occupation"``."""
        return tuple(dict.fromkeys(dimension.split(" x ")[0] for dimension in self.dimensions))

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The groups that the audit found on each identity axis, by name."""
        found: dict[str, dict[str, None]] = {}
        for score in self.scores:
            if score.metric == TOP_1 and score.group:
                found.setdefault(score.dimension.split(" x ")[0], {})[score.group] = None
        return {axis: tuple(sorted(found[axis])) for axis in self.axes if axis in found}

    def severity_counts(self, previous: bool = False) -> dict[str, int]:
        """Number of bias dimensions by severity of the debiased score; the last count is of those not measurable."""
        counts = dict.fromkeys((*SEVERITIES, "not measurable"), 0)
        for dimension in self.dimensions:
            score = (self.previous_score if previous else self.score)(DEBIASED, dimension)
            severity = score.severity if score is not None and score.value is not None else None
            counts[severity if severity in counts else "not measurable"] += 1
        return counts

    def verdict_counts(self) -> dict[str, int]:
        """Number of bias dimensions by verdict."""
        rows = [self.comparison(DEBIASED, dimension) for dimension in self.dimensions]
        return {verdict: sum(row is not None and row.verdict == verdict for row in rows) for verdict in VERDICTS}

    def prompt_hashes(self) -> dict[str, str]:
        """SHA-256 (first 16 hex digits, of the JSON text) of each prompt, by name."""
        return {name: content_hash(text) for name, text in self.audit.plan.prompts.items()}


def _found(scores: tuple[Score, ...], metric: str, dimension: str, group: str) -> Score | None:
    wanted = (metric, dimension, group)
    return next((score for score in scores if (score.metric, score.dimension, score.group) == wanted), None)
