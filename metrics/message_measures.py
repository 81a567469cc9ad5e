"""What is measured of every message: persuasion, style and sentiment, one column each, and the words that lexicons know."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metrics.lexicon import Lexicon, load_lexicon
from metrics.persuasion import NEUTRAL, Weights, persuasion_measures
from metrics.text import TAGGER_VERSION, TaggedTexts, tagged

if TYPE_CHECKING:
    import pandas as pd

CATEGORIES = (
    "agentic-communal",
    "ability",
    "standout",
    "leadership",
    "masculine-feminine",
    "personal-professional",
    "warmth-coldness",
    "competence-incompetence",
    "independence-dependence",
    "progressive-traditional",
    "energy-frailty",
    "opportunity-risk",
)
"""Lexicons whose classes are counted as words of a kind."""


@dataclasses.dataclass(frozen=True, slots=True)
class Measure:
    """One measure of a message: its metric, its words in titles, whether verdicts are given on it, and its paper mode."""

    metric: str
    title: str
    judged: bool = True
    paper: str = ""


MEASURES = (
    Measure("agency-framing", "agency framing", paper="agency-framing-paper"),
    Measure("modal-certainty", "modal certainty", paper="modal-certainty-paper"),
    Measure("imperative-mood", "imperative mood", paper="imperative-mood-paper"),
    Measure("persuasion-bias-index", "persuasion bias index", paper="persuasion-bias-index-paper"),
    Measure("formality", "formality"),
    Measure("sentiment", "sentiment"),
    Measure("readability", "readability", judged=False),
    Measure("words", "words", judged=False),
)
_STYLE = {
    "formality-f-score": "formality",
    "vader-compound": "sentiment",
    "flesch-reading-ease": "readability",
    "words": "words",
}
COLUMNS = tuple(metric for measure in MEASURES for metric in (measure.metric, measure.paper) if metric)


@dataclasses.dataclass(frozen=True)
class MessageLexicons:
    """The lexicons and weights that messages are measured with: part of the scoring version.

    Parameters
    ----------
    agency : high and low agency by lemma; agency_paper : third-person forms, for the published computation; None takes the
        forms of ``agency``
    modality : certainty and hedges; categories : classes of words that are counted
    weights : of the index's three components; missing : what a message without a component counts as
    """

    agency: Lexicon
    modality: Lexicon
    categories: tuple[Lexicon, ...]
    agency_paper: Lexicon | None = None
    weights: Weights = dataclasses.field(default_factory=Weights)
    missing: str = NEUTRAL

    @classmethod
    def default(cls) -> MessageLexicons:
        """The lexicons that come with the product."""
        return cls(load_lexicon("agency"), load_lexicon("modality"), tuple(map(load_lexicon, CATEGORIES)))

    def parts(self) -> dict[str, str]:
        """What of it makes other scores, by name."""
        weights = [getattr(self.weights, field.name) for field in dataclasses.fields(self.weights)]
        return {
            "agency lexicon": f"{self.agency.name} {self.agency.digest}",
            "agency lexicon of paper mode": (
                f"{self.agency_paper.name} {self.agency_paper.digest}"
                if self.agency_paper
                else "forms of the agency lexicon"
            ),
            "modality lexicon": self.modality.digest,
            "word categories": " ".join(lexicon.digest for lexicon in self.categories),
            "index": f"weights {weights}, missing {self.missing}",
            "tagger": TAGGER_VERSION,
        }


def measured(
    texts: Sequence[str], lexicons: MessageLexicons, *, progress: Callable[[int, int], None] | None = None
) -> tuple[pd.DataFrame, TaggedTexts]:
    """All measures of each message, one column of `COLUMNS` each, missing where there is no number; and the tagged texts.

    Parameters
    ----------
    texts : of any content; progress : is called with the texts done and all texts
    """
    import pandas as pd

    from metrics.style import style_measures

    found = tagged(texts, progress=progress)
    persuasion = persuasion_measures(
        texts,
        found,
        agency=lexicons.agency,
        modality=lexicons.modality,
        agency_paper=lexicons.agency_paper,
        weights=lexicons.weights,
        missing=lexicons.missing,
    )
    style = style_measures(texts, found)
    all_measures = persuasion | {title: style[metric] for metric, title in _STYLE.items()}
    columns = {name: np.ma.filled(all_measures[name].values, np.nan) for name in COLUMNS}
    return pd.DataFrame(columns, columns=list(COLUMNS)), found


@dataclasses.dataclass(frozen=True)
class WordTable:
    """Words of messages: the tagged texts, ``totals`` words of each [messages], and class -> its words in each [messages]."""

    tagged: TaggedTexts
    totals: NDArray[np.integer[Any]]
    hits: Mapping[str, NDArray[np.integer[Any]]]

    def content_counts(self, row: Sequence[int], rows: int) -> tuple[NDArray[np.integer[Any]], tuple[str, ...]]:
        """Nouns and adjectives by lemma [rows, words] and the words; ``row`` [messages] is the row of each, -1 leaves one out."""
        counts = self.tagged.lemma_counts(self.tagged.pos_in(*CONTENT) & self.tagged.is_word, row, rows)
        used = np.flatnonzero(counts.sum(axis=0))
        return counts[:, used], tuple(self.tagged.lemmas[place] for place in used)


CONTENT = ("NOUN", "ADJ")


def class_name(lexicon: Lexicon, title: str) -> str:
    """What a class of words is called: those of agency say so, for they are only high and low.

    >>> class_name(load_lexicon("agency"), "high"), class_name(load_lexicon("leadership"), "leadership")
    ('high agency', 'leadership')
    """
    return f"{title} agency" if set(lexicon.class_names) == {"high", "low"} else title


def word_table(found: TaggedTexts, lexicons: MessageLexicons) -> WordTable:
    """Count the words of messages that each class of the lexicons knows.

    >>> table = word_table(tagged(["A strong leader and a strong team."]), MessageLexicons.default())
    >>> counts, words = table.content_counts([0], 1)
    >>> sorted(zip(words, counts[0].tolist(), strict=True))
    [('leader', 1), ('strong', 2), ('team', 1)]
    """
    hits = {}
    for lexicon in (lexicons.agency, *lexicons.categories):
        places = lexicon.places(found.lemmas)[found.lemma]
        for number, title in enumerate(lexicon.class_names):
            hits[class_name(lexicon, title)] = found.per_text((places == number) & found.is_word)
    return WordTable(tagged=found, totals=found.per_text(found.is_word), hits=hits)
