"""What the sections on persona cues look up: dimensions by their parts, personas, tests with their q, findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from dashboards.cue_names import DEVIATION, GAP, HEDGES_G, NO_PERSONA, QUASI_F, RESULT, WORST
from dashboards.instrument import Instrument
from dashboards.messages import methods
from metrics.results import Score
from registry.audits.cues import CUES

if TYPE_CHECKING:
    from metrics.cue_replication import Finding
    from registry.ledger.values import Audit

ALPHA = 0.05
"""Personas are said to differ where the q of their test is at most this."""


class CueScores(Protocol):
    """Scores of persona cues that are shown: those of a card, or of several releases put together."""

    @property
    def family(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def dimensions(self) -> tuple[str, ...]: ...
    @property
    def instrument(self) -> Instrument: ...
    @property
    def audit(self) -> Audit: ...
    def score(self, metric: str, dimension: str, group: str = "") -> Score | None:
        """The score of a metric, dimension and group; None when there is no such row."""

    def grouped(self, metric: str, dimension: str) -> tuple[Score, ...]:
        """The scores by group of a metric in a dimension."""

    def of_metric(self, metric: str) -> tuple[Score, ...]:
        """All scores of a metric."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Combination:
    """What one test is about: ``"salary x gender, name-user"``."""

    task: str
    axis: str
    cue: str

    @property
    def title(self) -> str:
        return f"{self.task} x {self.axis}, {self.cue}"

    @property
    def family(self) -> tuple[str, str]:
        """Task and axis, which all cues share."""
        return self.task, self.axis


def combination_of(dimension: str) -> Combination | None:
    """A dimension by its parts; None for what has no task, axis and cue.

    >>> combination_of("salary x gender, name-user")
    Combination(task='salary', axis='gender', cue='name-user')
    >>> combination_of("overall"), combination_of("salary, no-persona"), combination_of("salary x gender")
    (None, None, None)
    """
    task, times, rest = dimension.partition(" x ")
    axis, comma, cue = rest.rpartition(", ")
    return Combination(task, axis, cue) if times and comma and axis else None


def combinations(card: CueScores) -> tuple[Combination, ...]:
    """All of the card, in the order of its dimensions, then what is not a dimension of it."""
    names = (*card.dimensions, *(score.dimension for score in card.of_metric(QUASI_F)))
    found = (combination_of(name) for name in dict.fromkeys(names))
    return tuple(one for one in found if one is not None)


def families(card: CueScores) -> tuple[tuple[str, str], ...]:
    """Every task and axis, in order."""
    return tuple(dict.fromkeys(one.family for one in combinations(card)))


def qvalue(score: Score | None) -> float | None:
    """The adjusted p of a row that may not be there."""
    return None if score is None else score.qvalue


def ways(scores: Sequence[Score]) -> tuple[str, ...]:
    """How these scores were made, each way once; degrees of freedom and q stand with each score."""
    return methods([score for score in scores if score.value is not None])


def joint_test(card: CueScores, one: Combination) -> Score | None:
    """The test of all personas of a combination."""
    return next(iter(card.grouped(QUASI_F, one.title)), None) or card.score(QUASI_F, one.title)


def differs(card: CueScores, one: Combination) -> bool | None:
    """Whether the personas are shown to differ; None where nothing could be tested."""
    found = qvalue(joint_test(card, one))
    return None if found is None else found <= ALPHA


def means(card: CueScores, one: Combination) -> tuple[Score, ...]:
    """The result metric of each persona, in order."""
    return card.grouped(RESULT, one.title)


def personas(card: CueScores, axis: str) -> tuple[str, ...]:
    """The personas of an axis under all cues, in order; names may stand for others than other cues do."""
    found = (score.group for one in combinations(card) if one.axis == axis for score in means(card, one))
    return tuple(dict.fromkeys(found))


def baseline(card: CueScores, task: str) -> Score | None:
    """The mean of a task without a persona."""
    return next(iter(card.grouped(RESULT, f"{task}, {NO_PERSONA}")), None)


def deviations(card: CueScores) -> Iterator[tuple[Combination, Score]]:
    """Every persona's deviation from the answers without one."""
    for one in combinations(card):
        for score in card.grouped(DEVIATION, one.title):
            yield one, score


def explicitness_of(cue: str) -> int:
    """The rank of a cue; 0 for one that is not in the catalog.

    >>> explicitness_of("name-user"), explicitness_of("tea leaves")
    (2, 0)
    """
    return CUES[cue].explicitness if cue in CUES else 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """Two personas under one cue: their gap, in standard deviations, and with every excluded answer at its worst."""

    combination: Combination
    gap: Score
    effect: Score | None
    worst: Score | None

    @property
    def shown(self) -> bool:
        """Whether the gap is beyond chance among the pairs of its axis."""
        return self.gap.qvalue is not None and self.gap.qvalue <= ALPHA

    @property
    def size(self) -> float:
        """How large the gap is in standard deviations; below 0 where that was not measured."""
        return abs(self.effect.value) if self.effect is not None and self.effect.value is not None else -1.0


def pairs(card: CueScores) -> list[PairRow]:
    """Every two personas of every combination, the farthest apart first."""
    found = [
        PairRow(
            combination=one,
            gap=gap,
            effect=card.score(HEDGES_G, one.title, gap.group),
            worst=card.score(WORST, one.title, gap.group),
        )
        for one in combinations(card)
        for gap in card.grouped(GAP, one.title)
    ]
    return sorted(found, key=lambda row: -row.size)


def halves(card: CueScores, one: Combination, group: str) -> tuple[str, str] | None:
    """The two personas that a pair's group names; None when it names no two personas of the combination."""
    known = {score.group for score in means(card, one)}
    pieces = group.split(" - ")
    cuts = ((" - ".join(pieces[:at]), " - ".join(pieces[at:])) for at in range(1, len(pieces)))
    return next((cut for cut in cuts if cut[0] in known and cut[1] in known), None)


def findings(card: CueScores) -> list[Finding]:
    """Every pair that the analysis of verdicts shows to differ, the test of all personas included."""
    from metrics.cue_replication import Finding

    found = []
    for row in pairs(card):
        two = halves(card, row.combination, row.gap.group)
        if two is None or not row.shown or not differs(card, row.combination):
            continue
        higher, lower = two if (row.gap.value or 0.0) > 0 else two[::-1]
        of = row.combination
        found.append(Finding(task=of.task, axis=of.axis, cue=of.cue, higher=higher, lower=lower))
    return found


def size_of(card: CueScores, family: tuple[str, str]) -> float:
    """The largest score of a task and axis over its cues; below 0 when it has none."""
    headline = card.instrument.headline
    found = [card.score(headline, one.title) for one in combinations(card) if one.family == family]
    values = [score.value for score in found if score is not None and score.value is not None]
    return max(values, default=-1.0)


def largest_first(card: CueScores) -> list[tuple[str, str]]:
    """Tasks and axes that have a mean, those with the largest score first."""
    there = {one.family for one in combinations(card) if any(row.value is not None for row in means(card, one))}
    return sorted((one for one in families(card) if one in there), key=lambda one: -size_of(card, one))


def surest_first(card: CueScores, chosen: Sequence[Combination]) -> list[Combination]:
    """By the q of the test of all personas, the smallest first; without a test last."""

    def key(one: Combination) -> tuple[bool, float]:
        found = qvalue(joint_test(card, one))
        return found is None, found or 0.0

    return sorted(chosen, key=key)
