"""The sound form of the persuasion measures. Oracle: values worked out by hand on texts whose tags are plain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import BadInputError
from metrics.lexicon import Lexicon, load_lexicon
from metrics.measures import MessageMeasure
from metrics.persuasion import (
    Weights,
    agency_framing,
    imperative_mood,
    modal_certainty,
    persuasion_bias_index,
    persuasion_measures,
)
from metrics.text import NO_SPACES, tagged

AGENCY, MODALITY = load_lexicon("agency"), load_lexicon("modality")


def lexicon(unit: str, high: set[str], low: set[str]) -> Lexicon:
    classes = {"high": frozenset(high), "low": frozenset(low)}
    return Lexicon(name="tiny", title="t", source="s", licence="CC0-1.0", version="1", unit=unit, classes=classes)


VERBS = lexicon("lemma", {"lead", "build", "change"}, {"wait", "need"})
EDGES = {
    "empty": "",
    "only signs": "*** -- !!! <>",
    "only markup": "<br/><hr/>",
    "one word": "Hello",
    "only emoji": "\U0001f600\U0001f389",
    "no English": "\u65e5\u672c\u8a9e\u306e\u6587\u3067\u3059\u3002 \u041c\u044b \u0432\u043c\u0435\u0441\u0442\u0435.",
}


def modality_of(text: str) -> tuple[float | None, int]:
    found = modal_certainty(tagged([text]), MODALITY)
    return found.values.tolist()[0], int(found.hits[0])


# ---------------------------------------------------------------- agency


def test_agency_counts_verbs_in_any_form_and_no_nouns() -> None:
    texts = [
        "They led us, they are building it, but she waited.",
        "The changes and the needs of the building.",
        "He waits.",
    ]
    # (2-1)/3; nouns only; (0-1)/1
    found = agency_framing(tagged(texts), VERBS)
    assert found.values.tolist() == pytest.approx([1 / 3, None, -1.0])
    assert found.hits.tolist() == [3, 0, 1]
    assert found.excluded == {"no verb of the agency lexicon": 1}


def test_agency_by_lemma_refuses_a_list_of_third_person_forms() -> None:
    forms = lexicon("third-person", {"leads"}, {"waits"})
    with pytest.raises(BadInputError, match="takes a lexicon of unit lemma, but 'tiny' is of unit 'third-person'"):
        agency_framing(tagged(["text"]), forms)


# ---------------------------------------------------------------- modality


@pytest.mark.parametrize(
    ("text", "value", "hits"),
    [
        ("We will win and you must act, but it may rain.", 1 / 3, 3),
        ("We\u2019ll win.", 1.0, 1),
        ("We won't lose and you mustn't wait.", 1.0, 2),  # denied, and still certain
        ("It might not help.", -1.0, 1),  # denied, and still open
        ("You cannot lose. We can't wait. It could not fail.", 1.0, 3),  # ruled out: certain
        ("We can never go back.", 1.0, 1),
        ("We can not only win, we could also lead.", -1.0, 2),  # "not only" denies nothing
        ("You can choose not to vote.", -1.0, 1),
        ("It will definitely help, perhaps.", 1 / 3, 3),
        ("Where there is a will, there is a way.", None, 0),  # a noun
        ("In May, Will Smith opened a can of beans.", None, 0),  # names and a noun
        ("Certainly! Here is a message.", None, 0),  # an answer to whoever asked
        ("They would help and should act.", None, 0),  # not in the lexicon
    ],
)
def test_modal_words_count_where_they_are_modal(text: str, value: float | None, hits: int) -> None:
    assert modality_of(text) == (pytest.approx(value) if value is not None else None, hits)


def test_a_denial_that_begins_the_next_message_denies_nothing() -> None:
    found = modal_certainty(tagged(["Yes we can", "Not that it may matter."]), MODALITY)
    assert found.values.tolist() == [-1.0, -1.0]


# ---------------------------------------------------------------- imperatives


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Join us today! Save energy now.", 1.0),
        ("Do not wait. Don\u2019t waste water. Do join us!", 1.0),
        ("Be bold!", 1.0),
        ("Please vote for change.", 1.0),
        ("We will win. You can make a difference.", 0.0),
        ("To save the planet.", 0.0),
        ("God save the king.", 0.0),
        ("Will you join us?", 0.0),
        ("Join us today! We will win. --- \U0001f389", 0.5),  # a sentence of signs is none
    ],
)
def test_a_sentence_is_imperative_when_its_root_stands_alone_in_base_form(text: str, value: float) -> None:
    assert imperative_mood(tagged([text])).values.tolist() == [value]


# ---------------------------------------------------------------- the index


def component(values: list[float | None]) -> MessageMeasure:
    plain = np.array([0.0 if value is None else value for value in values])
    reasons = [f"missing at {place}" if value is None else "" for place, value in enumerate(values)]
    return MessageMeasure.of("m", plain, np.ones(len(values), dtype=int), reasons)


PARTS = (component([0.6, 1.0, None, -1.0]), component([-0.3, None, 1.0, -1.0]), component([0.5, 1.0, 1.0, 0.0]))


def test_the_index_is_the_weighted_mean_on_one_scale_with_a_missing_component_in_the_middle() -> None:
    # (.6 - .3 + 2 x .5 - 1) / 3; (1 + 0 + 1) / 3; (0 + 1 + 1) / 3; (-1 - 1 - 1) / 3
    found = persuasion_bias_index(*PARTS)
    assert found.values.tolist() == pytest.approx([0.1, 2 / 3, 2 / 3, -1.0])
    assert found.hits.tolist() == [3, 3, 3, 3]


def test_messages_with_a_missing_component_can_be_left_out_and_are_counted() -> None:
    found = persuasion_bias_index(*PARTS, missing="exclude")
    assert found.values.tolist() == pytest.approx([0.1, None, None, -1.0])
    assert found.excluded == {"missing at 1": 1, "missing at 2": 1}


def test_a_message_without_a_sentence_has_no_index() -> None:
    found = persuasion_bias_index(component([1.0, 1.0]), component([1.0, 1.0]), component([0.5, None]))
    assert found.values.tolist() == pytest.approx([2 / 3, None])


def test_weights_of_the_index_are_a_choice() -> None:
    # (.6 + 0) / 2; (1 + 1) / 2; (0 + 1) / 2; (-1 - 1) / 2
    found = persuasion_bias_index(*PARTS, Weights(agency=0.5, modality=0.0, imperative=0.5))
    assert found.values.tolist() == pytest.approx([0.3, 1.0, 0.5, -1.0])


@pytest.mark.parametrize(
    "weights", [(0.5, 0.5, 0.5), (-0.5, 1.0, 0.5), (float("nan"), 0.5, 0.5), (float("inf"), 0.0, 0.0)]
)
def test_weights_that_are_no_weights_are_refused(weights: tuple[float, float, float]) -> None:
    with pytest.raises(
        BadInputError, match="weights of agency, modality and imperative are 0 or more and sum to 1, got"
    ):
        Weights(agency=weights[0], modality=weights[1], imperative=weights[2])


def test_components_of_different_messages_are_refused() -> None:
    with pytest.raises(BadInputError, match="must be of the same messages"):
        persuasion_bias_index(component([1.0]), component([1.0, 0.0]), component([1.0]))
    with pytest.raises(BadInputError, match="a missing component is taken as neutral or exclude, got 'zero'"):
        persuasion_bias_index(*PARTS, missing="zero")


# ---------------------------------------------------------------- all together, and the edges


@pytest.mark.parametrize("name", EDGES)
def test_a_text_with_nothing_to_measure_has_reasons_and_no_number(name: str) -> None:
    texts = [EDGES[name]]
    found = persuasion_measures(texts, tagged(texts), agency=AGENCY, modality=MODALITY)
    assert found["agency-framing"].excluded == {"no verb of the agency lexicon": 1}
    assert found["modal-certainty"].excluded == {"no modal word": 1}
    assert found["persuasion-bias-index"].reasons == found["imperative-mood"].reasons
    assert found["agency-framing-paper"].values.tolist() == [None]
    assert found["persuasion-bias-index-paper"].values.tolist() == [0.0]  # as the paper counts it
    assert found["imperative-mood"].values.tolist()[0] in (None, 0.0)


def test_eight_measures_have_their_names_and_one_reason_for_each_missing_value() -> None:
    texts = ["Join us! We will lead and build.", "((" * 300, ""]
    found = persuasion_measures(texts, tagged(texts), agency=AGENCY, modality=MODALITY)
    names = ("agency-framing", "modal-certainty", "imperative-mood", "persuasion-bias-index")
    assert tuple(found) == tuple(name + suffix for suffix, name in itertools.product(("", "-paper"), names))
    for name, measure in found.items():
        assert measure.metric == name
        assert measure.reasons[1] == NO_SPACES
        assert [bool(reason) for reason in measure.reasons] == (~measure.measured).tolist()


def test_texts_and_tags_of_different_number_are_refused() -> None:
    with pytest.raises(BadInputError, match="there are 2 texts but 1 tagged ones; tag the same texts"):
        persuasion_measures(["a", "b"], tagged(["a"]), agency=AGENCY, modality=MODALITY)


@settings(deadline=None, max_examples=40, database=None)
@given(st.lists(st.text(st.characters(), max_size=60), min_size=1, max_size=4))
def test_on_any_text_all_measures_keep_their_range(texts: list[str]) -> None:
    found = persuasion_measures(texts, tagged(texts), agency=AGENCY, modality=MODALITY)
    for name, low in (
        ("agency-framing", -1),
        ("modal-certainty", -1),
        ("imperative-mood", 0),
        ("persuasion-bias-index", -1),
    ):
        values = found[name].values.compressed()
        assert ((values >= low - 1e-12) & (values <= 1 + 1e-12)).all()
        assert (found[name].hits[found[name].measured] > 0).all()
