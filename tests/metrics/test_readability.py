"""Syllables and Flesch's reading ease. Oracles: dictionaries' syllables, and sums by the published formula."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.errors import BadInputError
from metrics.readability import NO_ENGLISH_WORD, reading_ease, syllables, words_of
from metrics.text import tagged

# Syllables as dictionaries divide them.
BY_SYLLABLES = {
    1: ["the", "hope", "large", "makes", "rules", "asked", "played", "we're", "can't", "strength", "eye", "through"],
    2: ["needed", "people", "table", "movement", "safely", "website", "doing", "beyond", "unique", "couldn't", "poet"],
    3: ["energy", "creative", "continue", "homemaker", "anyone", "opinion", "library's", "residents", "actual"],
    4: ["community", "material", "environment", "usually", "variety"],
    5: ["opportunity", "university"],
}


@pytest.mark.parametrize(("count", "word"), [(count, word) for count, words in BY_SYLLABLES.items() for word in words])
def test_a_word_has_the_syllables_of_the_dictionary(count: int, word: str) -> None:
    assert syllables(word) == syllables(word.upper()) == count


@given(st.text())
def test_any_text_has_words_of_at_least_one_syllable_each(text: str) -> None:
    assert all(syllables(word) >= 1 for word in words_of(text))


@pytest.mark.parametrize(
    ("text", "ease"),
    [
        # 6 words, 1 sentence, 6 syllables: 206.835 - 1.015 x 6 - 84.6 x 1
        ("The cat sat on the mat.", 116.145),
        # 13 words, 1 sentence, 24 syllables, as Wikipedia counts this example ("Flesch-Kincaid readability tests"): 37.5
        ("The Australian platypus is seemingly a hybrid of a mammal and reptilian creature.", 37.455),
        # 6 words, 2 sentences, 7 syllables; a line of signs is no sentence
        ("Join us today! We can't wait. --- \U0001f389", 206.835 - 1.015 * 6 / 2 - 84.6 * 7 / 6),
    ],
)
def test_reading_ease_is_the_published_formula(text: str, ease: float) -> None:
    assert reading_ease([text], tagged([text])).values.tolist() == pytest.approx([ease], abs=5e-4)


def test_a_text_without_latin_letters_has_no_reading_ease() -> None:
    texts = ["", "42 !", "\u65e5\u672c\u8a9e", "Yes."]
    found = reading_ease(texts, tagged(texts))
    assert found.excluded == {NO_ENGLISH_WORD: 3}
    assert found.hits.tolist() == [0, 0, 0, 1]


def test_texts_and_tags_of_different_number_are_refused() -> None:
    with pytest.raises(BadInputError, match="there are 0 texts but 1 tagged ones"):
        reading_ease([], tagged(["a"]))
