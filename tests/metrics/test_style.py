"""Formality, length and sentiment of messages. Oracles: the published formula by hand, and VADER's own examples."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.style import BLANK, TOO_FEW_WORDS, formality, lengths, sentiment, style_measures
from metrics.text import NO_SPACES, tagged

FORMAL = "The annual report of the company describes the effects of the new policy."
CASUAL = "Well, I really think you know that we never gave up and they will not stop."

# From the package's own page of examples (vaderSentiment README, "Code Examples", output of version 3.3.2).
VADER_EXAMPLES = {
    "VADER is smart, handsome, and funny.": 0.8316,
    "VADER is smart, handsome, and funny!": 0.8439,
    "VADER is very smart, handsome, and funny.": 0.8545,
    "VADER is VERY SMART, handsome, and FUNNY.": 0.9227,
    "VADER is not smart, handsome, nor funny.": -0.7424,
    "The book was good.": 0.4404,
    "At least it isn't a horrible book.": 0.431,
    "Today SUX!": -0.5461,
    "Not bad at all": 0.431,
}


def test_formality_is_the_published_formula_over_parts_of_speech() -> None:
    # FORMAL, 13 words: 4 nouns, 2 adjectives, 2 prepositions, 4 articles, 1 verb: (12/13 - 1/13) x 50 + 50.
    # CASUAL, 16 words: Well (interjection), I you we they, think know gave will stop, really never not; up is a particle.
    #   That makes 13 against none: (0 - 13/16) x 50 + 50.
    found = formality(tagged([FORMAL, CASUAL]))
    assert found.values.tolist() == pytest.approx([50 * (11 / 13 + 1), 50 * (1 - 13 / 16)])
    assert found.hits.tolist() == [13, 16]


def test_a_few_words_have_no_formality() -> None:
    assert formality(tagged(["The report of the company."] * 4 + ["You know it."])).excluded == {TOO_FEW_WORDS: 5}


def test_lengths_count_words_sentences_and_signs() -> None:
    texts = ["Join us! Don't wait.\n\n*** \U0001f389", "", "!!!"]
    tokens, words, sentences, per_sentence = lengths(tagged(texts))
    assert words.values.tolist() == [4, 0, 0]  # Join us Don't wait
    assert sentences.values.tolist() == [2, 0, 0]
    assert tokens.values.tolist() == [11, 0, 3]  # do and n't, and each sign
    assert per_sentence.values.tolist() == [2.0, None, None]


@pytest.mark.parametrize(("text", "compound"), VADER_EXAMPLES.items())
def test_sentiment_is_that_of_vaders_own_examples(text: str, compound: float) -> None:
    assert sentiment([text]).values.tolist() == [compound]


def test_neutral_by_lack_of_words_shows_in_its_hits_and_a_blank_text_is_missing() -> None:
    found = sentiment(["The table is here.", "", "\n\t", "\U0001f600", "good " * 3])
    assert found.values.tolist()[:3] == [0.0, None, None]
    assert found.hits.tolist() == [0, 0, 0, 1, 3]
    assert found.excluded == {BLANK: 2}


@settings(deadline=None, max_examples=60, database=None)
@given(st.lists(st.text(st.characters(), max_size=60), max_size=4))
def test_on_any_text_all_measures_are_finite_and_missing_ones_have_a_reason(texts: list[str]) -> None:
    for measure in style_measures(texts, tagged(texts)).values():
        assert len(measure.values) == len(texts)
        assert [bool(reason) for reason in measure.reasons] == (~measure.measured).tolist()


def test_a_text_that_was_left_out_is_missing_in_every_measure() -> None:
    texts = ["(" * 501, FORMAL]
    for measure in style_measures(texts, tagged(texts)).values():
        assert measure.reasons == (NO_SPACES, "")
