"""How a message is written: formality, length, readability and sentiment, one number a message.

References
----------
F. Heylighen, J.-M. Dewaele (2002), "Variation in the contextuality of language: an empirical measure", Foundations of
Science 7, 293-340: the F-score.
C. J. Hutto, E. Gilbert (2014), "VADER: a parsimonious rule-based model for sentiment analysis of social media text", ICWSM.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from metrics.measures import FloatArray, IntArray, MessageMeasure
from metrics.persuasion import NO_SENTENCE
from metrics.readability import reading_ease
from metrics.text import TaggedTexts, unread_reasons

FORMALITY, SENTIMENT = "formality-f-score", "vader-compound"
TOKENS, WORDS, SENTENCES, WORDS_PER_SENTENCE = "tokens", "words", "sentences", "words-per-sentence"

FEWEST_WORDS = 10
"""Fewer words give no formality score: each of 10 moves it by 5 points already."""

TOO_FEW_WORDS = f"fewer than {FEWEST_WORDS} words"
BLANK = "the text is blank"

_ARTICLES = ("a", "an", "the")
_ENDINGS = frozenset(("'d", "'em", "'ll", "'m", "'re", "'s", "'ve", "n't"))


def _score_of(formal: FloatArray, contextual: FloatArray, words: FloatArray) -> FloatArray:
    """``(100 formal / words - 100 contextual / words + 100) / 2``, 50 where there is no word."""
    result: FloatArray = 50.0 * ((formal - contextual) / np.maximum(words, 1.0) + 1.0)
    return result


def _counts(tagged: TaggedTexts) -> tuple[IntArray, IntArray, IntArray]:
    """Words that make a text formal, words that make it depend on its situation, and all words [texts]."""
    tagged.require_parsed(FORMALITY)
    word = tagged.is_word
    article = tagged.pos_in("DET") & tagged.word_in(_ARTICLES)
    preposition = tagged.pos_in("ADP") & ~tagged.tag_in("RP")  # a particle ("give up") belongs to its verb
    formal = tagged.pos_in("NOUN", "PROPN", "ADJ") | preposition | article
    denial = tagged.pos_in("PART") & tagged.lemma_in(("not",))  # an adverb in school grammar
    contextual = tagged.pos_in("PRON", "VERB", "AUX", "ADV", "INTJ") | denial
    first, second, words = (
        tagged.per_text(word & which) for which in (formal, contextual, np.ones(len(word), dtype=bool))
    )
    return first, second, words


def formality(tagged: TaggedTexts) -> MessageMeasure:
    """How little a message relies on its situation to be understood: the F-score of Heylighen and Dewaele (2002).

    ``F = (noun + adjective + preposition + article - pronoun - verb - adverb - interjection + 100) / 2``, each as a
    percentage of all words. Nouns are with proper names, verbs with auxiliaries, adverbs with "not"; numbers, conjunctions,
    "to" and other determiners only count as words.

    A message is short: each word is worth ``50 / words`` points up or down, so at 50 words chance alone moves F by about 6
    points (one standard deviation). Compare groups of messages, not single ones.

    Returns
    -------
    ``formality-f-score`` from 0 to 100, hits are the words; missing below 10 words.

    >>> from metrics.text import tagged
    >>> texts = ["The annual report of the company describes the effects of the new policy.", "Well, I really think you know."]
    >>> formality(tagged(texts)).values.round(1).tolist()
    [92.3, None]
    """
    formal, contextual, words = _counts(tagged)
    values = _score_of(*(count.astype(np.float64) for count in (formal, contextual, words)))
    reasons = [
        reason or ("" if n >= FEWEST_WORDS else TOO_FEW_WORDS) for reason, n in zip(tagged.unread, words, strict=True)
    ]
    return MessageMeasure.of(FORMALITY, values, words, reasons)


def lengths(tagged: TaggedTexts) -> tuple[MessageMeasure, ...]:
    """Length of each message: ``tokens``, ``words``, ``sentences`` and ``words-per-sentence``.

    Tokens are words and signs as the tagger cuts them ("don't" is two, "well-being" three). Words hold a letter or a digit,
    and a contraction is one. Sentences hold a word. Counts of an empty message are 0; words per sentence are then missing.

    >>> from metrics.text import tagged
    >>> [measure.values.tolist() for measure in lengths(tagged(["Join us! You can win.", ""]))]
    [[7.0, 0.0], [5.0, 0.0], [2.0, 0.0], [2.5, None]]
    """
    tagged.require_parsed(WORDS_PER_SENTENCE)
    tokens = tagged.per_text(np.ones(len(tagged.text), dtype=bool))
    words = tagged.per_text(tagged.is_word & ~tagged.word_in(_ENDINGS))
    sentences = tagged.sentences_per_text(tagged.sentences_with(tagged.is_word))
    reasons = [reason or ("" if n else NO_SENTENCE) for reason, n in zip(tagged.unread, sentences, strict=True)]
    counts = ((TOKENS, tokens), (WORDS, words), (SENTENCES, sentences))
    return (
        *(MessageMeasure.of(name, count.astype(np.float64), count, tagged.unread) for name, count in counts),
        MessageMeasure.of(WORDS_PER_SENTENCE, words / np.maximum(sentences, 1), sentences, reasons),
    )


@functools.cache
def _vader() -> Any:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    class Counting(SentimentIntensityAnalyzer):  # type: ignore[misc]
        """VADER that also says how many words of a text have a valence."""

        def score_valence(self, sentiments: list[float], text: str) -> dict[str, float]:
            scores: dict[str, float] = super().score_valence(sentiments, text)
            return {**scores, "hits": sum(1 for one in sentiments if one), "words": len(sentiments)}

    return Counting()


def sentiment(texts: Sequence[str]) -> MessageMeasure:
    """How positive the words of a message are, by VADER: its ``compound`` score.

    VADER sums the valence of words and emoji of its lexicon, with rules for negation, degree and capitals, and normalizes
    the sum. A message without such a word scores 0, which is VADER's neutral, with 0 hits. Made for social media; it reads
    words, not what is meant.

    Parameters
    ----------
    texts : [messages]

    Returns
    -------
    ``vader-compound`` from -1 to 1, hits are the words with a valence; missing for a blank text. Source: Hutto and Gilbert
    (2014), package vaderSentiment.

    >>> found = sentiment(["VADER is smart, handsome, and funny.", "The table is here.", " "])
    >>> found.values.tolist(), found.hits.tolist()
    ([0.8316, 0.0, None], [3, 0, 0])
    """
    unread = unread_reasons(texts)
    score = _vader().polarity_scores
    found = [score("" if reason else text) for text, reason in zip(texts, unread, strict=True)]
    reasons = [reason or ("" if one.get("words") else BLANK) for one, reason in zip(found, unread, strict=True)]
    values = np.array([one["compound"] for one in found], dtype=np.float64)
    return MessageMeasure.of(
        SENTIMENT, values, np.array([one.get("hits", 0) for one in found], dtype=np.int32), reasons
    )


def style_measures(texts: Sequence[str], tagged: TaggedTexts) -> dict[str, MessageMeasure]:
    """All style measures of each message, by metric name: formality, four lengths, reading ease and sentiment.

    Parameters
    ----------
    texts : [messages]; tagged : the same, tagged

    >>> from metrics.text import tagged
    >>> sorted(style_measures(["Join us!"], tagged(["Join us!"])))
    ['flesch-reading-ease', 'formality-f-score', 'sentences', 'tokens', 'vader-compound', 'words', 'words-per-sentence']
    """
    found = (formality(tagged), *lengths(tagged), reading_ease(texts, tagged), sentiment(texts))
    return {measure.metric: measure for measure in found}
