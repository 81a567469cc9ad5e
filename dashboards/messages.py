"""What the sections on messages look up: dimensions by their parts, means and differences of groups, the design."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.card import ModelCard
from dashboards.instruments import Instrument, Measure
from metrics.results import Score

_DF = re.compile(r"with [\d.,]+ df")
#: Below this p value a single difference is called beyond chance. Verdicts are adjusted, and by the policy.
CHANCE = 0.05


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """A dimension of messages: ``"gender x agency framing, context-rich"``."""

    axis: str
    measure: str
    mode: str

    @property
    def title(self) -> str:
        return f"{self.axis} x {self.measure}, {self.mode}" if self.mode else f"{self.axis} x {self.measure}"


def parts_of(dimension: str) -> Parts:
    """A dimension by its parts.

    >>> parts_of("gender x agency framing, context-rich")
    Parts(axis='gender', measure='agency framing', mode='context-rich')
    >>> parts_of("gender x agency framing")
    Parts(axis='gender', measure='agency framing', mode='')
    """
    axis, _, rest = dimension.rpartition(" x ")
    measure, comma, mode = rest.rpartition(", ")
    return Parts(axis, measure if comma else rest, mode if comma else "")


def band_of(dimension: str) -> tuple[str, str]:
    """What dimensions share that stand together in a table or chart: axis and mode.

    >>> band_of("gender x occupation"), band_of("gender x words, standalone")
    (('gender', ''), ('gender', 'standalone'))
    """
    parts = parts_of(dimension)
    return parts.axis, parts.mode


def measure_of(instrument: Instrument, dimension: str) -> Measure | None:
    """The measure that a dimension is of; None when the instrument has no such measure."""
    title = parts_of(dimension).measure
    return next((measure for measure in instrument.measures if measure.title == title), None)


def means(card: ModelCard, metric: str, dimension: str) -> tuple[Score, ...]:
    """The mean of each group, in order."""
    return tuple(score for score in card.grouped(metric, dimension) if not card.is_pair(score))


def differences(card: ModelCard, metric: str, dimension: str) -> tuple[Score, ...]:
    """The difference of each pair of groups, in order."""
    return tuple(score for score in card.grouped(metric, dimension) if card.is_pair(score))


def largest_difference(card: ModelCard, dimension: str) -> Score | None:
    """The difference of the two groups that are farthest apart in a dimension; None when there is none."""
    measure = measure_of(card.instrument, dimension)
    found = differences(card, measure.metric, dimension) if measure is not None else ()
    return max(
        (score for score in found if score.value is not None), key=lambda score: abs(score.value or 0), default=None
    )


def bands(card: ModelCard) -> tuple[tuple[str, str], ...]:
    """Every pair of audience attribute and mode that the card has, in order."""
    return tuple(dict.fromkeys(band_of(dimension) for dimension in card.dimensions))


def beyond_chance(score: Score) -> bool | None:
    """Whether a single difference is told from none by its own test, else by its interval; None when neither is there.

    >>> row = dict(metric="words", dimension="gender x words, standalone", value=2.0, n=90, n_clusters=9)
    >>> [beyond_chance(Score(**row, **test)) for test in ({"pvalue": 0.2}, {"low": 0.1, "high": 4.0}, {})]
    [False, True, None]
    """
    if score.value is None:
        return None
    if score.pvalue is not None:
        return score.pvalue <= CHANCE
    if score.low is None or score.high is None:
        return None
    return score.low > 0 or score.high < 0


def surest_first(scores: Sequence[Score]) -> list[Score]:
    """By p value, the smallest first; without one last, in their order."""
    return sorted(scores, key=lambda score: (score.pvalue is None, score.pvalue or 0.0))


def methods(scores: Sequence[Score]) -> tuple[str, ...]:
    """How these scores were made, each way once; degrees of freedom stand with each score.

    >>> row = dict(metric="words", dimension="gender x words, standalone", value=2.0, n=90, n_clusters=9)
    >>> methods([Score(**row, method=f"variance between repeats, t with {df} df") for df in ("116.0", "98.3")])
    ('variance between repeats, t with its df',)
    """
    return tuple(dict.fromkeys(_DF.sub("with its df", score.method) for score in scores if score.method))


def unmeasured(card: ModelCard, metric: str, dimension: str) -> str:
    """Why a measure has no mean of any group in a dimension; empty when it has, or when nothing is said of it."""
    score = card.score(metric, dimension)
    return score.reason if score is not None and score.value is None and not means(card, metric, dimension) else ""


DESIGN = ("domain", "audiences", "modes")


def design_facts(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a plan of messages crosses, in lines of words; empty for a plan that has no design.

    >>> design_facts({"per_call": 20})
    []
    >>> gender = {"name": "gender", "title": "gender", "groups": [["male", "men"]]}
    >>> design_facts({"domain": {"title": "tea", "stances": [["green", ["health"]]], "regions": ["West"]}, "audiences": [gender]})
    [('topic', 'tea'), ('stance green', 'health'), ('regions', 'West'), ('audience gender', 'male ("men")')]
    """
    domain, audiences = options.get("domain"), options.get("audiences")
    facts: list[tuple[str, str]] = []
    if not isinstance(audiences, Sequence) or isinstance(audiences, str):
        return facts
    if isinstance(domain, Mapping):  # of messages that somebody else collected only the groups are known
        facts.append(("topic", str(domain.get("title", ""))))
        facts += [(f"stance {name}", "; ".join(themes)) for name, themes in domain.get("stances", ())]
        facts.append(("regions", "; ".join(domain.get("regions", ()))))
    for audience in audiences:
        groups = "; ".join(f'{name} ("{phrase}")' for name, phrase in audience["groups"])
        facts.append((f"audience {audience['title']}", groups))
    modes = options.get("modes", ())
    return [*facts, ("modes", "; ".join(modes))] if modes else facts
