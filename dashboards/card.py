"""`ModelCard`: everything a longitudinal card says, collected from the ledger. Rendered, never computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dashboards.baselines import BaselineChange, ComparisonSource
from dashboards.energy import NOT_LOOKED_UP, Energy
from dashboards.instruments import PERSONA_BRAINSTORM, Instrument
from dashboards.message_details import MessageDetails
from dashboards.moved import MovedCell, MovedEvent
from dashboards.score_rows import ScoreRows
from metrics.results import VERDICTS, Comparison, Score
from registry.audits.channels import Channels
from registry.audits.plan import content_hash
from registry.ledger.values import Audit, Erratum, HumanRecord, Origin
from registry.releases import ModelRelease

TOP_1 = "top-1-share"
TOP_2 = "top-2-share"
EFFECTIVE_CATEGORIES = "effective-categories"
L1_GAP = "l1-gap"
OVERALL = "overall"
SEVERITIES = ("low", "medium", "high", "very high")


def axis_of(dimension: str) -> str:
    """The first half of a dimension: whom it is about; a user may have named it.

    >>> axis_of("sexual orientation x occupation"), axis_of("size x shape x words, standalone")
    ('sexual orientation', 'size x shape')
    """
    return dimension.rpartition(" x ")[0]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """One audited release in the history of its family.

    ``scores`` holds the headline score of every bias dimension and the overall mean, with their intervals, and the noise
    floor of every dimension; ``verdict`` is None for the first audit, which had nothing to be compared with. ``asked`` is the
    collection key: only points with the same one were asked alike.
    """

    release: ModelRelease
    audit: int
    date: str
    scores: tuple[Score, ...]
    occasion: int = 1
    verdict: str | None = None
    scoring_version: str | None = None
    run_id: str | None = None
    asked: str = ""
    instrument: Instrument = PERSONA_BRAINSTORM

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
        metric = self.instrument.noise_floor
        floors = [score.value for score in self.scores if score.metric == metric and score.value is not None]
        return sum(floors) / len(floors) if floors else None

    def score(self, dimension: str) -> Score | None:
        """The headline score of ``dimension``, or the mean of ``"overall"``; None when this audit has none."""
        metric = self.instrument.mean if dimension == OVERALL else self.instrument.headline
        return next((score for score in self.scores if (score.metric, score.dimension) == (metric, dimension)), None)


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
    previous, previous_audit, previous_channels, previous_scores : the same of the release it is compared with; all absent without one
    dimensions : every bias dimension of the protocol, in the order of the tables
    scores : all scores of the audit; each dimension needs one of the headline metric, with a value or with its reason
    comparisons, verdict, why, policy : the comparison with the previous release and how it was judged;
        ``verdict`` is None when there was nothing to compare with; ``why`` then says so. ``previous`` may be the
        same release: a repeated audit is compared with the first one of its release
    history : all audited releases of the family, oldest first, this one included; of many audits of a release the
        newest of each ``history_period`` (day, week, ...), and ``history_left_out`` are not on the card
    source : where the comparison is kept
    baselines : the change from each blessed release
    cells, events : what moved in that comparison: cells of the changed dimensions, new and vanished categories
    cardinality, unmapped, names : how answers were read into categories
    energy : what is known of the energy that the answers took
    uneven : dimensions whose groups were answered so unevenly that those left are not comparable, with the reason in words
    scoring_parts : name and version of each part of the scoring version
    product_version, made_at : of the program that made the card, and when (ISO, with time zone)
    errata : on cards of the family up to this release, oldest first
    origins : where answers came from that were not asked for here
    human_checks : what people said who rated this audit blindly beside another one, oldest first
    links : where the evidence is: label -> MLflow run id or address
    details : what a card of messages shows besides the scores
    instrument : how the protocol is told; content_warning, limits : of the instrument, and what there is to say besides

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
    previous_audit: Audit | None = None
    comparisons: tuple[Comparison, ...] = ()
    verdict: str | None = None
    policy: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    source: ComparisonSource | None = None
    baselines: tuple[BaselineChange, ...] = ()
    cells: tuple[MovedCell, ...] = ()
    events: tuple[MovedEvent, ...] = ()
    cardinality: tuple[Cardinality, ...] = ()
    unmapped: tuple[UnmappedTerm, ...] = ()
    names: NameCoverage | None = None
    energy: Energy = NOT_LOOKED_UP
    uneven: Mapping[str, str] = dataclasses.field(default_factory=dict)
    details: MessageDetails = dataclasses.field(default_factory=MessageDetails)
    errata: tuple[Erratum, ...] = ()
    origins: tuple[Origin, ...] = ()
    human_checks: tuple[HumanRecord, ...] = ()
    links: Mapping[str, str] = dataclasses.field(default_factory=dict)
    instrument: Instrument = PERSONA_BRAINSTORM
    content_warning: str = PERSONA_BRAINSTORM.content_warning
    limits: tuple[str, ...] = PERSONA_BRAINSTORM.limits
    _sides: tuple[ScoreRows, ScoreRows] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        told = self.instrument
        single = (told.headline, told.noise_floor, told.paper)
        object.__setattr__(
            self, "_sides", tuple(ScoreRows(side, single) for side in (self.scores, self.previous_scores))
        )
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
        headline = self.instrument.headline
        unscored = [name for name in self.dimensions if self.score(headline, name) is None]
        if unscored:
            raise ValueError(
                f"a model card needs a score of {headline!r} for every bias dimension, there is none for "
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
        if any(point.instrument != self.instrument for point in self.history):
            raise ValueError(
                f"a card told as {self.instrument.title!r} cannot show a history that is told otherwise; give every point "
                "the card's instrument"
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
            headline = self.instrument.headline
            uncompared = [name for name in self.dimensions if self.comparison(headline, name) is None]
            if uncompared:
                raise ValueError(
                    f"the verdict {self.verdict!r} needs a comparison of every bias dimension, there is none for "
                    f"{', '.join(uncompared)}"
                )

    def score(self, metric: str, dimension: str, group: str = "") -> Score | None:
        """The score of this audit by metric, dimension and group; None when there is no such row."""
        return self._sides[0].one.get((metric, dimension, group))

    def previous_score(self, metric: str, dimension: str, group: str = "") -> Score | None:
        """The same row of the previous release."""
        return self._sides[1].one.get((metric, dimension, group))

    def grouped(self, metric: str, dimension: str) -> tuple[Score, ...]:
        """The by-group scores of a metric in a dimension, as they were measured in order."""
        return tuple(self._sides[0].grouped.get((metric, dimension), ()))

    def of_metric(self, metric: str) -> tuple[Score, ...]:
        """All scores of a metric, in order."""
        return tuple(self._sides[0].metrics.get(metric, ()))

    def comparison(self, metric: str, dimension: str) -> Comparison | None:
        """The comparison of one metric in one dimension; None when there is none."""
        return next((row for row in self.comparisons if (row.metric, row.dimension) == (metric, dimension)), None)

    def by_group(self, metric: str) -> tuple[Score, ...]:
        """The by-group scores of a metric, the largest value first and the ones without value last."""
        rows = [score for score in self.scores if score.metric == metric and score.group]
        return tuple(sorted(rows, key=lambda row: (row.value is None, -(row.value or 0.0), row.dimension, row.group)))

    def is_pair(self, score: Score) -> bool:
        """Whether a by-group score is of two groups, as in ``"male - female"``: both are groups of its dimension too."""
        pieces = score.group.split(" - ")
        one = self._sides[0].one
        return any(
            all((score.metric, score.dimension, " - ".join(half)) in one for half in (pieces[:at], pieces[at:]))
            for at in range(1, len(pieces))
        )

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
        """Whose groups the bias dimensions compare, in their order: ``"gender"`` of ``"gender x occupation"``."""
        return tuple(dict.fromkeys(self.instrument.whose(dimension) for dimension in self.dimensions))

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The groups that the audit found on each identity axis, by name."""
        told = self.instrument
        found: dict[str, dict[str, None]] = {told.whose(dimension): {} for dimension in self.dimensions}
        for metric in (TOP_1, *(measure.metric for measure in told.measures), told.by_group):
            for score in self.of_metric(metric):
                if score.group and not self.is_pair(score) and told.whose(score.dimension) in found:
                    found[told.whose(score.dimension)][score.group] = None
        return {axis: tuple(sorted(groups)) for axis, groups in found.items() if groups}

    def severity_counts(self, previous: bool = False) -> dict[str, int]:
        """Number of bias dimensions by severity of the headline score; the last count is of those not measurable."""
        counts = dict.fromkeys((*SEVERITIES, "not measurable"), 0)
        for dimension in self.dimensions:
            score = (self.previous_score if previous else self.score)(self.instrument.headline, dimension)
            severity = score.severity if score is not None and score.value is not None else None
            counts[severity if severity in counts else "not measurable"] += 1
        return counts

    def verdict_counts(self) -> dict[str, int]:
        """Number of bias dimensions by verdict."""
        rows = [self.comparison(self.instrument.headline, dimension) for dimension in self.dimensions]
        return {verdict: sum(row is not None and row.verdict == verdict for row in rows) for verdict in VERDICTS}

    def prompt_hashes(self) -> dict[str, str]:
        """SHA-256 (first 16 hex digits, of the JSON text) of each prompt, by name."""
        return {name: content_hash(text) for name, text in self.audit.plan.prompts.items()}
