"""How persuasive a message is written to be: who acts in it, how certain it sounds, and whether it gives orders.

Three components and their index, after the Persuasion Bias Index of arXiv 2601.17172, which is in `metrics.persuasion_paper`
as published. Here is the sound form: verbs by lemma and part of speech, modal verbs only where they are modal verbs,
imperatives as a share of sentences. A component that was not found is missing, with its reason; only the index takes it as
neutral, and says so. None of this says that a message persuades anybody: no reader was asked.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from metrics.errors import BadInputError
from metrics.measures import BoolArray, FloatArray, MessageMeasure
from metrics.persuasion_paper import (
    NO_VERB,
    WordClasses,
    agency_framing_paper,
    balance,
    entries_of,
    imperative_mood_paper,
    modal_certainty_paper,
    modal_words,
    persuasion_bias_index_paper,
)
from metrics.text import TaggedTexts

AGENCY, MODALITY, IMPERATIVE = "agency-framing", "modal-certainty", "imperative-mood"
INDEX = "persuasion-bias-index"

NEUTRAL, EXCLUDE = MISSING = ("neutral", "exclude")
"""How the index takes a component that a message does not have."""

NO_MODAL = "no modal word"
NO_SENTENCE = "no sentence with a word"

_MODAL_VERBS = frozenset(("can", "could", "may", "might", "must", "ought", "shall", "should", "will", "would"))
# "cannot" and "could not" rule something out; "may not" and "might not" still leave both open.
_CERTAIN_WHEN_DENIED = frozenset(("can", "could"))
_DENIALS = frozenset(("not", "n't", "never"))
_NO_DENIAL_BEFORE = frozenset(("only", "just", "merely", "simply"))


def agency_framing(tagged: TaggedTexts, lexicon: WordClasses) -> MessageMeasure:
    """How much more often a message uses verbs of high than of low agency: ``A = (H - L) / (H + L)``.

    H and L count tokens that the tagger calls a verb, in any form, whose lemma is in the class. A participle used as an
    adjective and a noun that looks like a verb do not count. Who the subject is, passive voice and negation do not matter.

    Parameters
    ----------
    tagged : texts with parts of speech; lexicon : classes ``high`` and ``low``, unit ``lemma``

    Returns
    -------
    ``agency-framing`` from -1 (only low) to 1 (only high), hits H + L; missing without a hit.

    >>> from metrics.lexicon import load_lexicon
    >>> from metrics.text import tagged
    >>> found = agency_framing(tagged(["They led and built it, we waited.", "A sunny day."]), load_lexicon("agency"))
    >>> [None if a is None else round(a, 3) for a in found.values.tolist()], found.hits.tolist()
    ([0.333, None], [3, 0])
    """
    tagged.require_parsed(AGENCY)
    verb = tagged.pos_in("VERB")
    h, lo = (
        tagged.per_text(verb & tagged.lemma_in(lemmas)) for lemmas in entries_of(lexicon, ("high", "low"), ("lemma",))
    )
    reasons = [reason or ("" if n else NO_VERB) for reason, n in zip(tagged.unread, h + lo, strict=True)]
    return MessageMeasure.of(AGENCY, balance(h, lo), h + lo, reasons)


def _following(tagged: TaggedTexts, which: BoolArray, steps: int) -> BoolArray:
    """Whether the token ``steps`` further on in the same sentence is among ``which`` [tokens]."""
    found = np.zeros(len(which), dtype=bool)
    if steps < len(which):
        found[:-steps] = which[steps:] & (tagged.sentence[steps:] == tagged.sentence[:-steps])
    return found


def _denied(tagged: TaggedTexts) -> BoolArray:
    """Whether "not", "n't" or "never" comes next, but not "not only" [tokens]."""
    denial = tagged.word_in(_DENIALS) & ~_following(tagged, tagged.word_in(_NO_DENIAL_BEFORE), 1)
    return _following(tagged, denial, 1)


def modal_certainty(tagged: TaggedTexts, lexicon: WordClasses) -> MessageMeasure:
    """How much more often a message speaks with certainty than with a hedge: ``M = (C - H) / (C + H)``.

    A modal verb of the lexicon counts in any form ("'ll", "wo(n't)") where it is tagged as one (``MD``): not the noun "will",
    the month of May or a can of beans. Other words count unless they are a name or an answer by themselves ("Certainly!").
    "Cannot" and "could not" rule something out and count as certainty; every other word keeps its class when denied.

    Parameters
    ----------
    tagged : texts with parts of speech; lexicon : classes ``certainty`` and ``hedge``, single words

    Returns
    -------
    ``modal-certainty`` from -1 (only hedges) to 1 (only certainty), hits C + H; missing without a hit.

    >>> from metrics.lexicon import load_lexicon
    >>> from metrics.text import tagged
    >>> texts = ["We'll win.", "Ask Will, he may help.", "You cannot lose.", "Where there is a will."]
    >>> modal_certainty(tagged(texts), load_lexicon("modality")).values.tolist()
    [1.0, -1.0, 1.0, None]
    """
    tagged.require_parsed(MODALITY)
    certainty, hedge = modal_words(lexicon)
    modal = tagged.tag_in("MD")
    # spaCy's lemma of a modal verb is its full form: "will" of "'ll" and "wo"; "can" of "ca".
    other = ~tagged.pos_in("PROPN", "INTJ") & ~tagged.is_root & ~modal

    def found(words: frozenset[str]) -> BoolArray:
        verbs = words & _MODAL_VERBS
        return (modal & tagged.lemma_in(verbs)) | (other & tagged.word_in(words - verbs))

    certain, hedged = found(certainty), found(hedge)
    ruled_out = hedged & modal & tagged.lemma_in(_CERTAIN_WHEN_DENIED) & _denied(tagged)
    c, h = tagged.per_text(certain | ruled_out), tagged.per_text(hedged & ~ruled_out)
    reasons = [reason or ("" if n else NO_MODAL) for reason, n in zip(tagged.unread, c + h, strict=True)]
    return MessageMeasure.of(MODALITY, balance(c, h), c + h, reasons)


def imperative_mood(tagged: TaggedTexts) -> MessageMeasure:
    """Share of sentences that give an order or an invitation: ``I = imperative sentences / sentences with a word``.

    A sentence is imperative when its root is in base form (``VB``) and has neither a subject nor an auxiliary other than
    "do": "Join us", "Be bold", "Do not wait"; not "We will win", "To win", "Can't stop". A sentence of only signs is none.
    The tagger ends a sentence at its full stop, so a line without one may run into the next; it may read whom a sentence
    calls ("Parents, join us") as its subject.

    Returns
    -------
    ``imperative-mood`` from 0 to 1, hits are the sentences; missing without a sentence.

    >>> from metrics.text import tagged
    >>> imperative_mood(tagged(["Join us today! You can win. Do not wait. We will act.", "***"])).values.tolist()
    [0.5, None]
    """
    tagged.require_parsed(IMPERATIVE)
    order = tagged.is_root & tagged.tag_in("VB") & ~tagged.has_subject & ~tagged.has_aux
    with_word = tagged.sentences_with(tagged.is_word)
    orders = tagged.sentences_per_text(tagged.sentences_with(order) & with_word)
    sentences = tagged.sentences_per_text(with_word)
    reasons = [reason or ("" if n else NO_SENTENCE) for reason, n in zip(tagged.unread, sentences, strict=True)]
    return MessageMeasure.of(IMPERATIVE, orders / np.maximum(sentences, 1), sentences, reasons)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights of the three components in the index: 0 or more, together 1.

    Equal by default: nothing is known that would make one component count for more.
    """

    agency: float = 1 / 3
    modality: float = 1 / 3
    imperative: float = 1 / 3

    def __post_init__(self) -> None:
        given = (self.agency, self.modality, self.imperative)
        if not all(math.isfinite(one) and one >= 0 for one in given) or abs(sum(given) - 1) > 1e-9:
            raise BadInputError(
                f"weights of agency, modality and imperative are 0 or more and sum to 1, got {', '.join(map(str, given))}"
            )


def index_components(
    agency: MessageMeasure, modality: MessageMeasure, imperative: MessageMeasure, missing: str
) -> tuple[FloatArray, list[str]]:
    """The three on one scale from -1 to 1 [3, messages], and why a message has no index [messages]."""
    if len({len(measure.reasons) for measure in (agency, modality, imperative)}) != 1:
        raise BadInputError(
            "the three components must be of the same messages, but they are of different numbers of them"
        )
    if missing not in MISSING:
        raise BadInputError(f"a missing component is taken as {' or '.join(MISSING)}, got {missing!r}")
    scaled = (agency.values, modality.values, 2.0 * imperative.values - 1.0)
    needed = (imperative,) if missing == NEUTRAL else (imperative, agency, modality)
    reasons = [next(filter(None, why), "") for why in zip(*(measure.reasons for measure in needed), strict=True)]
    return np.stack([part.filled(0.0) for part in scaled]), reasons


def persuasion_bias_index(
    agency: MessageMeasure,
    modality: MessageMeasure,
    imperative: MessageMeasure,
    weights: Weights | None = None,
    missing: str = NEUTRAL,
) -> MessageMeasure:
    """Weighted mean of the three components on one scale: ``w_A A + w_M M + w_I (2 I - 1)``.

    I is a share and is stretched to -1..1, so that one unit of weight means the same for each. The index is 1 when all verbs
    are of high agency, all modal words certain and all sentences imperative, and -1 in the opposite case.

    A message without a verb or without a modal word of the lexicon leans neither way, so it enters with 0, the middle of the
    scale: of excerpts of 50 words, 55 to 83 % have no modal word, and the index of the rest alone would be one of
    hand-picked messages. How many those are stands with the components, as missing. ``missing="exclude"`` leaves them out.

    Parameters
    ----------
    agency, modality, imperative : the components of the same messages; weights : of the three, equal by default
    missing : ``neutral`` or ``exclude``

    Returns
    -------
    ``persuasion-bias-index`` from -1 to 1; hits are those of all components. A message without a sentence has none.

    >>> one = [MessageMeasure.of("m", np.array([x, x]), np.ones(2, int), ["", why]) for x, why in
    ...        ((0.6, ""), (-0.3, "no modal word"), (0.5, ""))]
    >>> persuasion_bias_index(*one).values.round(3).tolist()
    [0.1, 0.2]
    >>> persuasion_bias_index(*one, missing="exclude").excluded
    {'no modal word': 1}
    """
    weights = weights or Weights()
    components, reasons = index_components(agency, modality, imperative, missing)
    values = np.array([weights.agency, weights.modality, weights.imperative]) @ components
    return MessageMeasure.of(INDEX, values, agency.hits + modality.hits + imperative.hits, reasons)


def persuasion_measures(
    texts: Sequence[str],
    tagged: TaggedTexts,
    *,
    agency: WordClasses,
    modality: WordClasses,
    agency_paper: WordClasses | None = None,
    weights: Weights | None = None,
    missing: str = NEUTRAL,
) -> dict[str, MessageMeasure]:
    """All eight persuasion measures of each message, by metric name: the four of this module and the four ``-paper`` ones.

    Parameters
    ----------
    texts : [messages]; tagged : the same, tagged
    agency, modality : lexicons of lemmas and of modal words
    agency_paper : lexicon of third-person forms for the paper's agency; by default the forms of ``agency``
    weights, missing : of the index, as in `persuasion_bias_index`

    Raises
    ------
    BadInputError when texts and tagged texts differ in number, or a lexicon is of another unit or has other classes.
    """
    if len(texts) != tagged.n:
        raise BadInputError(f"there are {len(texts)} texts but {tagged.n} tagged ones; tag the same texts")
    own = (agency_framing(tagged, agency), modal_certainty(tagged, modality), imperative_mood(tagged))
    paper = (
        agency_framing_paper(texts, agency if agency_paper is None else agency_paper),
        modal_certainty_paper(tagged, modality),
        imperative_mood_paper(tagged),
    )
    found = (*own, persuasion_bias_index(*own, weights, missing), *paper, persuasion_bias_index_paper(*paper))
    return {measure.metric: measure for measure in found}
