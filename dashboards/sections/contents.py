"""The contents of a card, in order, before it has a format."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from dashboards.blocks import Section
from dashboards.card import OVERALL, ModelCard
from dashboards.phrases import count_text, interval_text, percent_text, score_text, sentence_start, visible
from dashboards.sections.audit import (
    asked_section,
    categories_section,
    cost_section,
    coverage_section,
    limits_section,
    meaning_section,
)
from dashboards.sections.baseline import baseline_section
from dashboards.sections.cue import answers_section, cue_gaps_section
from dashboards.sections.cue_correlation import cue_correlations_section
from dashboards.sections.cue_finding import explicitness_section, replication_section
from dashboards.sections.cue_paper import cue_paper_section
from dashboards.sections.errata import errata_section
from dashboards.sections.evidence import evidence_section
from dashboards.sections.groups import concentration_section
from dashboards.sections.history import history_section
from dashboards.sections.message import amplification_section, gaps_section
from dashboards.sections.mitigation import mitigation_section
from dashboards.sections.moved import moved_sections
from dashboards.sections.paper import classical_section, paper_section
from dashboards.sections.people import people_sections
from dashboards.sections.rating import ratings_section
from dashboards.sections.results import dimensions_section, severity_section
from dashboards.sections.weight import weights_section
from dashboards.sections.word import lexicons_section, single_words_section, words_section

_RELATION = {
    "regressed": "has regressed against",
    "improved": "has improved on",
    "unchanged": "is unchanged, within the margin, from",
    "inconclusive": "cannot be judged as a whole against",
    "not measurable": "could not be compared with",
}
_MOST_WHY = 600
#: What an instrument's ``sections`` name.
_SECTIONS: dict[str, Callable[[ModelCard], Section]] = {
    "concentration": concentration_section,
    "gaps": gaps_section,
    "weights": weights_section,
    "paper-mode": paper_section,
    "amplification": amplification_section,
    "ratings": ratings_section,
    "words": words_section,
    "single-words": single_words_section,
    "lexicons": lexicons_section,
    "classical": classical_section,
    "cue-answers": answers_section,
    "cue-gaps": cue_gaps_section,
    "cue-replication": replication_section,
    "cue-explicitness": explicitness_section,
    "cue-paper": cue_paper_section,
    "cue-correlations": cue_correlations_section,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Fact:
    """One of the few numbers at the top of a card."""

    title: str
    text: str


def title(card: ModelCard) -> str:
    """The card's heading."""
    return f"Bias audit of {visible(card.family)}, release {card.release.version}"


def subtitle(card: ModelCard) -> str:
    """What was audited, how and when."""
    day = visible(card.audit.finished_at or card.audit.ordered_at)[:10]
    return f"Model {visible(card.release.model)}, audited by {visible(card.protocol)} on {day}"


def headline(card: ModelCard) -> str:
    """The verdict in one sentence with its reason."""
    release = sentence_start(card.title)
    why = visible(card.why, limit=_MOST_WHY) or "nothing was audited before it that it could be compared with"
    if card.previous is None or card.verdict is None:
        return f"{release} has no verdict: {why}"
    return f"{release} {_RELATION[card.verdict]} {card.previous_title}: {why}"


def _of_answers(card: ModelCard) -> str:
    """How many answers the records came from, where a record is not an answer itself."""
    return "" if card.instrument.unit == "answers" else f" from {count_text(card.channels.answered)} answers"


def facts(card: ModelCard) -> tuple[Fact, ...]:
    """The few numbers at the top."""
    if card.previous is not None:
        second = Fact(
            f"{sentence_start(card.instrument.dimension)}s regressed", _of(card.verdict_counts()["regressed"], card)
        )
    else:
        second = Fact("Very high severity", _of(card.severity_counts()["very high"], card))
    coverage = card.channels.coverage
    return (
        _mean_fact(card),
        second,
        Fact(
            sentence_start(card.instrument.unit),
            f"{count_text(card.channels.usable)}{_of_answers(card)}",
        ),
        Fact("Usable answers", "not measurable: nothing was asked for" if coverage is None else percent_text(coverage)),
    )


def _of(count: int, card: ModelCard) -> str:
    return f"{count_text(count)} of {count_text(len(card.dimensions))}"


def _mean_fact(card: ModelCard) -> Fact:
    """The overall mean, before and now; over how many dimensions when some could not be measured."""
    words = []
    for previous in (True, False) if card.previous else (False,):
        score = (card.previous_score if previous else card.score)(card.instrument.mean, OVERALL)
        unmeasured = card.severity_counts(previous)["not measurable"]
        over = f" (over {_of(len(card.dimensions) - unmeasured, card)} dimensions)" if unmeasured else ""
        if score is None or score.value is None:
            words.append("not measurable")
            continue
        between = (
            "" if previous or score.low is None or score.high is None else f" ({interval_text(score.low, score.high)})"
        )
        words.append(score_text(score.value) + between + over)
    return Fact("Mean score", " → ".join(words))


def contents(card: ModelCard) -> tuple[Section, ...]:
    """All sections of the card, in order."""
    return (
        dimensions_section(card),
        baseline_section(card),
        *moved_sections(card),
        severity_section(card),
        coverage_section(card),
        *(_SECTIONS[name](card) for name in card.instrument.sections),
        *people_sections(card),
        history_section(card),
        *((categories_section(card),) if card.instrument.categories else ()),
        asked_section(card),
        cost_section(card),
        meaning_section(card),
        mitigation_section(card),
        limits_section(card),
        errata_section(card),
        evidence_section(card),
    )
