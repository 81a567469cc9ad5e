"""Terms and categories: what maps where, and what stays unmapped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.audits.forms import FORMS
from registry.audits.taxonomy import (
    Taxonomy,
    load_taxonomy,
)
from tests.registry.audits.everyday_terms import INTERESTS, OCCUPATIONS

ROOT = Path(__file__).parents[3]


def test_the_cardinalities_are_those_of_the_persona_audit(taxonomy: Taxonomy) -> None:
    # arXiv 2602.00044, table 6, row "Post-processing".
    assert {attribute.name: len(attribute.categories) for attribute in taxonomy.attributes} == {
        "gender": 3,
        "ethnicity": 6,
        "sexual_orientation": 5,
        "social_class": 3,
        "education_level": 5,
        "occupation": 18,
        "top_personal_interest": 15,
    }
    assert [attribute.kind for attribute in taxonomy.attributes] == ["axis"] * 3 + ["dimension"] * 4
    assert all(attribute.source.strip() and attribute.version >= 1 for attribute in taxonomy.attributes)


@pytest.mark.parametrize(("attribute", "expected"), [("occupation", OCCUPATIONS), ("top_personal_interest", INTERESTS)])
def test_everyday_terms_fall_where_a_reader_expects(
    taxonomy: Taxonomy, attribute: str, expected: list[tuple[str, str]]
) -> None:
    assert len(expected) >= 150
    assert len(dict(expected)) == len(expected)
    assert {category for _, category in expected} == set(taxonomy.attribute(attribute).categories)
    found = [(term, category, taxonomy.category(attribute, term)) for term, category in expected]
    mapped = [row for row in found if row[2] is not None]
    assert len(mapped) >= 0.97 * len(found), [row for row in found if row[2] is None]
    right = [row for row in found if row[1] == row[2]]
    assert len(right) >= 0.95 * len(found), [row for row in found if row[1] != row[2]]


TELLING = [
    ("gender", "Trans woman", "female"),
    ("gender", "Transgender Male", "male"),
    ("gender", "they/them", "non-binary"),
    ("gender", "Genderfluid (they/she)", "non-binary"),
    ("gender", "Two-Spirit", "non-binary"),
    ("gender", "Prefer not to say", None),
    ("ethnicity", "Afro-Latina", "Hispanic or Latino"),
    ("ethnicity", "Korean American", "Asian"),
    ("ethnicity", "Nigerian-British", "Black"),
    ("ethnicity", "Indian", "Asian"),
    ("ethnicity", "American Indian", "Indigenous, Mixed or Other"),
    ("ethnicity", "Black/African American", "Black"),
    ("ethnicity", "White (Irish-American)", "White"),
    ("ethnicity", "Half Japanese, half white", "Indigenous, Mixed or Other"),
    ("ethnicity", "Middle Eastern or North African", "Middle Eastern or North African"),
    ("ethnicity", "American", None),
    ("ethnicity", "Trinidadian", None),
    ("sexual_orientation", "Demisexual", "other"),
    ("sexual_orientation", "Straight", "heterosexual"),
    ("social_class", "Upper-middle class", "middle"),
    ("social_class", "Lower-middle", "middle"),
    ("social_class", "Working-class", "lower"),
    ("social_class", "Affluent", "upper"),
    ("education_level", "PhD in Physics", "postgraduate"),
    ("education_level", "Bachelor's in Computer Science", "bachelor's"),
    ("education_level", "Some college", "some college or vocational"),
    ("education_level", "Dropped out of high school", "less than high school"),
    ("education_level", "Higher secondary", "high school"),
    ("education_level", "Self-taught", None),
    ("occupation", "Director of Nursing", "Healthcare"),
    ("occupation", "Marketing Manager at a luxury resort", "Marketing & HR"),
    ("occupation", "Aerospace Engineering Student", "Student, Retired or Not Working"),
    ("occupation", "Retired Teacher", "Education"),
    ("occupation", "Job", "Unspecified Work"),
    ("occupation", "Female", "Unspecified Work"),
    ("occupation", "Middle class", "Unspecified Work"),
    ("occupation", "Bachelor's degree", "Unspecified Work"),
    ("top_personal_interest", "Vintage synthesizer collecting", "Crafts, DIY & Collecting"),
    ("top_personal_interest", "West African drumming", "Music & Dance"),
    ("top_personal_interest", "Top personal interest is ...", "Unspecified"),
    ("top_personal_interest", "Lawyer", "Career, Business & Learning"),
    ("top_personal_interest", "Dungeons & Dragons", "Games"),
]


@pytest.mark.parametrize(("attribute", "term", "category"), TELLING)
def test_telling_terms(taxonomy: Taxonomy, attribute: str, term: str, category: str | None) -> None:
    assert taxonomy.category(attribute, term) == category


@pytest.mark.parametrize(("gender", "category"), [("Female", "lesbian"), ("trans man", "gay"), ("Agender", "other")])
def test_homosexual_is_told_apart_by_the_gender_of_the_persona(taxonomy: Taxonomy, gender: str, category: str) -> None:
    assert taxonomy.category("sexual_orientation", "Homosexual", {"gender": gender}) == category
    assert taxonomy.category("sexual_orientation", "Same-sex attracted", {"gender": gender}) == category
    assert taxonomy.category("sexual_orientation", "Gay", {"gender": gender}) == "gay"


@pytest.mark.parametrize("persona", [None, {}, {"gender": None}, {"gender": "Prefer not to say"}])
def test_homosexual_without_a_known_gender_is_unmapped(
    taxonomy: Taxonomy, persona: dict[str, str | None] | None
) -> None:
    assert taxonomy.category("sexual_orientation", "Homosexual", persona) is None


UNSPECIFIED = {"occupation": "Unspecified Work", "top_personal_interest": "Unspecified"}

FORMED = [
    ("1337155-1337156", "form: code"),
    ("hunger_vomitting_women_eating_man.", "form: code"),
    ("A4066", "form: code"),
    ("A.P.M.", "form: code"),
    ("Internet56666666666666666666666666666666666666666", "form: code"),
    ("Mirror-Lingua-Tribe-Luxotopia-Luxetopia", "form: code"),
    ("I like to be alone,", "form: clause"),
    ("I can make my choice to leave my home and start a", "form: clause"),
    ("Makes the best decision for me", "form: clause"),
    ("The name has to be unique, in an appropriate font", "form: clause"),
    ("Milo Van der Koop", "form: name"),
    ("Eduardo Gomez", "form: name"),
    ("Mr. Green", "form: name"),
    ("Zorblax", "form: no word"),
    ("Achiejud", "form: no word"),
    ("Manal alambek aliman al al palming al alud machan", "form: no word"),
    ("Giant raised palms reaching for the sky", "form: fragment"),
]


@pytest.mark.parametrize("attribute", UNSPECIFIED)
@pytest.mark.parametrize(("term", "basis"), FORMED)
def test_a_form_that_names_nothing_is_unspecified_and_says_which_form(
    taxonomy: Taxonomy, attribute: str, term: str, basis: str
) -> None:
    assert taxonomy.category(attribute, term) == UNSPECIFIED[attribute]
    assert taxonomy.basis(attribute, term) == basis


# Words that no list has today, as a new job or hobby will be: they are to be seen in the list of unmapped terms.
UNKNOWN = [
    "Banana", "Bluff", "Barcelona", "Hooping with ribbons", "Lantern parade", "Puddle jumping", "Ladder stacking", "MTS",
    "Craftmaster", "Bathrobe-hungry", "Soul Emcex", "Lemonade, Agiabacomber", "Bantam King", "Médica", "医生", "Mike Steele",
]  # fmt: skip


@pytest.mark.parametrize("term", UNKNOWN)
def test_an_unknown_term_of_real_words_stays_unmapped(taxonomy: Taxonomy, term: str) -> None:
    assert taxonomy.category("occupation", term) is None
    assert taxonomy.basis("occupation", term) is None


def test_an_unknown_interest_of_real_words_stays_unmapped(taxonomy: Taxonomy) -> None:
    kept = [
        "Puddle jumping",
        "Ladder stacking",
        "Hierarchy",
        "Nerves and Hustle",
        "MUMK",
        "Estateowner",
        "Soul-Cracker",
    ]
    assert [term for term in kept if taxonomy.category("top_personal_interest", term) is not None] == []


WORDS = ["banana", "bluff", "cohort", "premises", "ladder", "puddle", "lantern", "ribbon", "pebble", "velvet", "gravel"]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join))
def test_no_rule_of_form_catches_a_short_phrase_of_real_words(phrase: str) -> None:
    assert load_taxonomy().basis("occupation", phrase) is None


@given(st.text(alphabet="bcdfghjklmnpqrstvwxz", min_size=8, max_size=20))
def test_words_made_of_consonants_never_have_content(word: str) -> None:
    taxonomy = load_taxonomy()
    for attribute in taxonomy.attributes:
        expected = {None, UNSPECIFIED[attribute.name]} if attribute.name in UNSPECIFIED else {None}
        assert taxonomy.category(attribute.name, word) in expected


@given(st.text(max_size=80))
def test_a_category_and_its_basis_come_together(text: str) -> None:
    taxonomy = load_taxonomy()
    for attribute in taxonomy.attributes:
        basis = taxonomy.basis(attribute.name, text)
        assert (basis is None) == (taxonomy.category(attribute.name, text) is None)
        if basis is not None and basis.startswith("form: "):
            assert taxonomy.category(attribute.name, text) == UNSPECIFIED[attribute.name]
            assert basis.removeprefix("form: ") in FORMS


BASES = [
    ("occupation", "Nurse", "term"),
    ("occupation", "Night nurse", "phrase"),
    ("occupation", "Zorblax manager", "weak word"),
    ("occupation", "Cybernurse", "compound"),
    ("occupation", "I am a nurse", "statement"),
    ("occupation", "Female", "answer to gender"),
    ("top_personal_interest", "RockClimbing", "phrase"),
    ("top_personal_interest", "My favorite thing in this area", "question"),
    ("top_personal_interest", "I want to be a doctor", "answer to occupation"),
]


@pytest.mark.parametrize(("attribute", "term", "basis"), BASES)
def test_the_basis_of_a_category_is_told(taxonomy: Taxonomy, attribute: str, term: str, basis: str) -> None:
    assert taxonomy.basis(attribute, term) == basis
    assert taxonomy.basis("name", "Ada Byron") == "normal form"
    assert taxonomy.basis("sexual_orientation", "Homosexual", {}) is None
    assert taxonomy.basis("sexual_orientation", "Homosexual", {"gender": "Male"}) == "term"


CLAUSES = [
    ("I love hiking", "Nature & Outdoors"),
    ("I'd love to be a computer scientist,", "Technology & Science"),
    ("Education is my passion", "Career, Business & Learning"),
    ("I have a love for art and love it to death. I am ", "Arts, Fashion & Design"),
    ("As a software developer, I'm able to serve the ", "Technology & Science"),
    ("In this video, I'm a super nerd,", "Unspecified"),
    ("I don't want to do this job,", "Unspecified"),
    ("I like to do it.", "Unspecified"),
    ("The value Chris has on tour prop big show who wu,", "Unspecified"),
    ("World War I history", "Travel & Culture"),
]


@pytest.mark.parametrize(("term", "category"), CLAUSES)
def test_a_clause_counts_for_what_it_plainly_states(taxonomy: Taxonomy, term: str, category: str) -> None:
    assert taxonomy.category("top_personal_interest", term) == category


def test_content_drowned_in_letters_without_meaning_does_not_count(taxonomy: Taxonomy) -> None:
    assert taxonomy.category("occupation", "Artista peuktfallinst malungerunriffe hombrowsinl") == "Unspecified Work"
    assert taxonomy.category("occupation", "Permanishing Award Scientist at BlendBabySolace") == "Science & Research"


def test_the_dictionary_is_read_only_when_a_form_is_in_question() -> None:
    program = (
        "import sys; from registry.audits.taxonomy import load_taxonomy; taxonomy = load_taxonomy();"
        "taxonomy.category('occupation', 'Nurse'); before = 'spylls' in sys.modules;"
        "taxonomy.category('occupation', 'Zorblax'); print(before, 'spylls' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["False", "True"]


@given(st.text(max_size=80))
def test_any_text_has_a_category_of_its_attribute_or_none(text: str) -> None:
    taxonomy = load_taxonomy()
    for attribute in taxonomy.attributes:
        assert taxonomy.category(attribute.name, text) in {*attribute.categories, None}


@given(st.sampled_from([term for term, _ in OCCUPATIONS + INTERESTS]), st.sampled_from(["{}", " {} ", "{},", "“{}”"]))
def test_case_spaces_and_outer_punctuation_change_nothing(term: str, frame: str) -> None:
    taxonomy = load_taxonomy()
    for attribute in ("occupation", "top_personal_interest"):
        assert taxonomy.category(attribute, frame.format(term.upper())) == taxonomy.category(attribute, term)
