"""Texts as columns of tokens. Oracle: the tagger's own objects, token by token."""

from __future__ import annotations

import random
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import BadInputError
from metrics.text import (
    MAX_CHARACTERS,
    NO_SPACES,
    PARTS_OF_SPEECH,
    TAGGER_VERSION,
    TOO_LONG,
    TaggedTexts,
    pipeline,
    tagged,
)

MESSAGES = [
    "Join us today! You can make a difference, and we'll win. Don\u2019t wait.",
    "",
    "  The mayor\nwas asked to act; she has decided.\n\n- Save energy\n- Vote",
    "There is hope. It was built by neighbors, e.g. in the U.S., for $3.50.",
    "Parents, join us. Never give up: be bold! Will they?",
]

HOSTILE = {
    "nothing": "",
    "spaces": " \n\t\u2003 ",
    "NUL": "a\x00b \x00",
    "half a surrogate pair": "\ud800 lone \udfff\udc00",
    "emoji": "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308",
    "right to left": "\u202e\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "markup": "<script>alert('x')</script> {{ 7*7 }} **bold** [a](b) \x1b[31m",
    "combining marks": "Z\u0351\u036b\u0343a\u0332l\u0317go " * 20,
    "brackets": "(" * 500 + " " + "'" * 500,
    "no English": "\u65e5\u672c\u8a9e\u306e\u6587\u3067\u3059\u3002 Ein deutscher Satz.",
}


def rows(found: TaggedTexts) -> list[tuple[object, ...]]:
    """Every token with its names instead of places."""
    return [
        (
            int(found.text[i]),
            int(found.sentence[i]),
            found.words[found.word[i]],
            found.lemmas[found.lemma[i]],
            PARTS_OF_SPEECH[found.pos[i]],
            found.tags[found.tag[i]],
            *(bool(column[i]) for column in (found.is_root, found.has_subject, found.has_aux, found.is_word)),
        )
        for i in range(len(found.text))
    ]


def test_every_column_is_what_the_tagger_says_of_each_token() -> None:
    expected, sentence = [], -1
    for place, doc in enumerate(pipeline().pipe([text.replace("\u2019", "'") for text in MESSAGES])):
        for span in doc.sents:
            sentence += 1
            for token in span:
                if not token.is_space:
                    below = [(child.dep_, child.lower_) for child in token.children]
                    subject = any(dep in ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl") for dep, _ in below)
                    aux = any(dep in ("aux", "auxpass") and word != "do" for dep, word in below)
                    word = any(character.isalnum() for character in token.text)
                    names = (token.lower_, token.lemma_, token.pos_, token.tag_)
                    expected.append((place, sentence, *names, token.dep_ == "ROOT", subject, aux, word))
    assert rows(tagged(MESSAGES)) == expected


@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_the_size_of_a_batch_changes_nothing(batch_size: int) -> None:
    assert rows(tagged(MESSAGES * 5, batch_size=batch_size)) == rows(tagged(MESSAGES * 5))


def test_other_processes_give_the_same_in_the_same_order() -> None:
    assert rows(tagged(MESSAGES * 5, batch_size=1, processes=2)) == rows(tagged(MESSAGES * 5))


def test_threads_that_tag_at_once_do_not_disturb_each_other() -> None:
    texts = [f"You can make a difference, and we will win x{place}y." for place in range(100)]
    alone = rows(tagged(texts))
    found: list[list[tuple[object, ...]]] = []
    threads = [threading.Thread(target=lambda: found.append(rows(tagged(texts, batch_size=5)))) for _ in range(3)]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    assert found == [alone] * 3


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_breaks_the_tagger_or_its_neighbour(name: str) -> None:
    found = tagged([HOSTILE[name], "Join us today!"])
    assert found.unread == ("", "")
    assert [word for at, _, word, *_ in rows(found) if at == 1] == ["join", "us", "today", "!"]


def test_what_would_take_too_long_is_left_out_with_its_reason() -> None:
    found = tagged(["word " * 200_000, "(" * 501, "Join us!", "x " * (MAX_CHARACTERS // 2), "x" * 500])
    assert found.unread == (TOO_LONG, NO_SPACES, "", "", "")
    assert np.unique(found.text).tolist() == [2, 3, 4]
    assert found.n == 5


@settings(deadline=None, max_examples=60, database=None)
@given(st.lists(st.text(st.characters(), max_size=40), max_size=12))
def test_any_texts_give_columns_of_one_length_in_the_order_of_texts(texts: list[str]) -> None:
    found = tagged(texts, batch_size=1)
    columns = (
        found.sentence,
        found.word,
        found.lemma,
        found.pos,
        found.tag,
        found.is_root,
        found.has_aux,
        found.is_word,
    )
    assert {len(column) for column in columns} == {len(found.text)}
    assert (np.diff(found.text) >= 0).all()
    assert (found.sentence_text[found.sentence] == found.text).all()
    assert found.per_text(np.ones(len(found.text), dtype=bool)).sum() == len(found.text)
    assert found.n == len(texts)


def test_the_tagger_forgets_the_words_of_a_text() -> None:
    draw = random.Random(3)
    tagged(MESSAGES)
    known = len(pipeline().vocab.strings)
    found = tagged(["".join(draw.choices("abcdefgh", k=12)) for _ in range(200)])
    assert len(found.words) == 200
    assert len(pipeline().vocab.strings) == known


def test_cutting_into_words_gives_the_same_words_and_refuses_to_be_taken_for_more() -> None:
    found = tagged(MESSAGES, parse=False)
    parsed = tagged(MESSAGES)
    assert [found.words[i] for i in found.word] == [parsed.words[i] for i in parsed.word]
    with pytest.raises(BadInputError, match=r"imperative-mood needs parts of speech.*use parse=True"):
        found.require_parsed("imperative-mood")


def test_lookups_count_by_text_and_by_sentence() -> None:
    found = tagged(["You can win. We can. Act!", "No modal verb here."])
    can = found.tag_in("MD") & found.lemma_in({"can"})
    assert found.per_text(can).tolist() == [2, 0]
    assert found.sentences_with(can).tolist() == [True, True, False, False]
    assert found.sentences_per_text(found.sentences_with(can)).tolist() == [2, 0]
    assert found.per_text(found.word_in({"verb", "act", "absent"})).tolist() == [1, 1]
    assert found.per_text(found.pos_in("PUNCT")).tolist() == [3, 1]


def test_lemmas_are_counted_by_group_of_texts() -> None:
    found = tagged(["Cars and cities need energy.", "A city saves energy and energy.", "Energy is energy."])
    counts = found.lemma_counts(found.pos_in("NOUN"), [1, 0, -1], 3)
    by_row = [{found.lemmas[at]: int(row[at]) for at in np.flatnonzero(row)} for row in counts]
    assert by_row == [{"city": 1, "energy": 2}, {"car": 1, "city": 1, "energy": 1}, {}]
    for rows_of_texts in ([0, 1], [0, 1, 3], [0, 1, -2]):
        with pytest.raises(BadInputError, match="each of the 3 texts needs a row from -1 to 2"):
            found.lemma_counts(found.is_word, rows_of_texts, 3)


def test_progress_ends_with_all_texts_those_left_out_too() -> None:
    seen: list[tuple[int, int]] = []
    tagged(["a b", "(" * 501, *"cdefghijk"], batch_size=1, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(9, 11), (11, 11)]


def test_no_text_gives_no_token() -> None:
    assert (rows(tagged([])), tagged([]).n, tagged(["", "\n"]).unread) == ([], 0, ("", ""))


def test_the_version_names_tagger_and_model() -> None:
    assert pipeline().meta["version"] in TAGGER_VERSION
    assert TAGGER_VERSION.startswith("spacy-3.8.")


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["a", None], {}, "texts are strings, but the one at place 1 is NoneType; leave out answers without a text"),
        (["a"], {"batch_size": 0}, "batch size and processes are 1 or more, got 0 and 1"),
        (["a"], {"processes": 0}, "batch size and processes are 1 or more, got 64 and 0"),
    ],
)
def test_bad_input_says_what_to_do(texts: list[str], options: dict[str, int], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        tagged(texts, **options)  # type: ignore[arg-type]
