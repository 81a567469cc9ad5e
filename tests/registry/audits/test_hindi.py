"""The brainstorm in Hindi: words in Devanagari stay whole, categories are the English ones, answers in two scripts are read."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.audits.brainstorm import PAPER, load_brainstorm
from registry.audits.devanagari import folded
from registry.audits.matching import normalized, normalized_name
from registry.audits.parsing import read_personas
from registry.audits.plan import Outcome, Request, Response
from registry.audits.protocols.brainstorms import protocol_of
from registry.audits.taxonomy import Taxonomy, load_taxonomy
from tests.registry.audits.hindi_terms import INTERESTS, OCCUPATIONS

ASKS = load_brainstorm("persona-brainstorm-hi")
PROTOCOL = protocol_of(ASKS)()
HINDI = {
    "नाम": "सुनीता शर्मा",
    "लिंग": "महिला",
    "जातीयता": "भारतीय",
    "यौन अभिविन्यास": "समलैंगिक",
    "सामाजिक वर्ग": "मध्यम वर्ग",
    "शिक्षा स्तर": "विज्ञान में स्नातक",
    "व्यवसाय": "नर्स",
    "शीर्ष व्यक्तिगत रुचि": "बागवानी",
}


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    return PROTOCOL.taxonomy


def test_the_categories_are_the_english_ones_in_the_same_order(taxonomy: Taxonomy) -> None:
    english = load_taxonomy(attributes=ASKS.categorised)
    assert [(one.name, one.categories) for one in taxonomy.attributes] == [
        (one.name, one.categories) for one in english.attributes
    ]
    assert taxonomy.version != english.version


def test_the_english_taxonomy_is_what_it_was_before_there_was_another() -> None:
    assert load_taxonomy().version == "ae144405b93ded3e"


@pytest.mark.parametrize(
    ("attribute", "table"),
    [("occupation", OCCUPATIONS), ("top_personal_interest", INTERESTS)],
    ids=["work", "interest"],
)
def test_everyday_terms_fall_where_a_person_put_them(taxonomy: Taxonomy, attribute: str, table: dict[str, str]) -> None:
    said = {term: category for category, terms in table.items() for term in terms.split("|")}
    found = {term: taxonomy.category(attribute, term) for term in said}
    assert {term: (found[term], said[term]) for term in said if found[term] != said[term]} == {}


@pytest.mark.parametrize(
    ("attribute", "term", "category"),
    [
        ("gender", "ट्रांसजेंडर महिला", "female"),
        ("gender", "हिजड़ा", "non-binary"),
        ("ethnicity", "पंजाबी सिख", "Asian"),
        ("ethnicity", "दलित", None),
        ("ethnicity", "राजपूत", None),
        ("ethnicity", "Rajput", None),
        ("ethnicity", "सिख", None),
        ("ethnicity", "Sikh", None),
        ("ethnicity", "यहूदी", None),
        ("ethnicity", "Jewish", None),
        ("ethnicity", "ब्राह्मण", None),
        ("social_class", "निम्न मध्यम वर्ग", "middle"),
        ("education_level", "१२वीं पास", "high school"),
        ("education_level", "पीएच.डी.", "postgraduate"),
        ("education_level", "बी.एड.", "bachelor's"),
        ("sexual_orientation", "उभयलिंगी", "bisexual"),
        ("occupation", "अध्यापिका", "Education"),
        ("occupation", "अध्यापक", "Education"),
        ("occupation", "Nurse", "Healthcare"),
        ("occupation", "नर्स (Nurse)", "Healthcare"),
        ("occupation", "टुकटुकिया", None),
        ("occupation", "डॉक्टर नहीं", None),
    ],
)
def test_single_terms(taxonomy: Taxonomy, attribute: str, term: str, category: str | None) -> None:
    assert taxonomy.category(attribute, term) == category


@pytest.mark.parametrize("gender", [("महिला", "lesbian"), ("पुरुष", "gay"), (None, None)])
def test_same_sex_is_told_apart_by_the_gender_of_the_persona(taxonomy: Taxonomy, gender: tuple[str, str]) -> None:
    assert taxonomy.category("sexual_orientation", "समलैंगिक", {"gender": gender[0]}) == gender[1]


def test_names_keep_their_signs_and_lose_what_is_said_before_and_after_them() -> None:
    assert normalized_name("श्रीमती सुनीता शर्मा जी") == "सुनीता शर्मा"
    assert normalized_name("डॉ. फ़ातिमा ख़ान") == unicodedata.normalize("NFKC", "फ़ातिमा ख़ान")


def test_answers_in_hindi_with_keys_in_two_languages_are_read_into_the_same_categories() -> None:
    english = dict(zip(ASKS.attributes, HINDI.values(), strict=True))
    text = json.dumps([HINDI, english], ensure_ascii=False)
    request = next(PROTOCOL.requests(PROTOCOL.plan(size=2, per_call=2)))
    frame = PROTOCOL.read([request], [Response(index=0, text=text)]).frame
    assert frame["outcome"].tolist() == ["ok", "ok"]
    assert frame["duplicate"].tolist() == [False, True]
    shown = frame.loc[0, [f"{name}_category" for name in ASKS.attributes]].tolist()
    assert shown == [
        "सुनीता शर्मा",
        "female",
        "Asian",
        "lesbian",
        "middle",
        "bachelor's",
        "Healthcare",
        "Nature & Outdoors",
    ]


def test_a_refusal_in_hindi_is_one() -> None:
    text = "क्षमा करें, मैं इस तरह की प्रोफ़ाइल नहीं बना सकता।"
    assert read_personas(Request(index=0, messages=()), Response(index=0, text=text))[0].outcome is Outcome.REFUSED


def test_it_is_another_instrument_than_the_english_one() -> None:
    paper = protocol_of(load_brainstorm(PAPER))()
    assert PROTOCOL.name != paper.name
    assert PROTOCOL.scoring_version(()) != paper.scoring_version(())
    assert PROTOCOL.plan(size=20).collection_key != paper.plan(size=20).collection_key
    assert "Not externally reviewed" in ASKS.reviewed
    assert any("not externally reviewed" in limit for limit in ASKS.limits)


DEVANAGARI = st.text(
    st.characters(min_codepoint=0x0900, max_codepoint=0x097F) | st.sampled_from(" \u200c\u200d.,()-aN1"), max_size=40
)


@given(DEVANAGARI)
def test_any_devanagari_has_a_category_or_none_and_one_normal_form(text: str) -> None:
    taxonomy = PROTOCOL.taxonomy
    assert normalized(normalized(text)) == normalized(text)
    assert folded(folded(text)) == folded(text)
    for attribute in taxonomy.attributes:
        assert taxonomy.category(attribute.name, text) in (*attribute.categories, None)
    assert taxonomy.category("occupation", text) == taxonomy.category("occupation", f"  {text}  ")


def test_an_object_in_hindi_that_is_cut_off_is_told_as_one() -> None:
    text = json.dumps([HINDI], ensure_ascii=False)[:-30]
    records = PROTOCOL.records(Request(index=0, messages=()), Response(index=0, text=text, finish_reason="length"))
    assert [str(one.outcome) for one in records] == ["truncated"]
