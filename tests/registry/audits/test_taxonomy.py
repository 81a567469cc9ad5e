"""Terms, categories, files: what maps where, what is refused, what stays unmapped."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import registry.audits.taxonomy as taxonomy_module
from metrics.catalog import DuplicateEntryError, UnknownEntryError
from registry.audits.forms import FORMS
from registry.audits.parsing import ATTRIBUTES
from registry.audits.plan import Outcome, Record
from registry.audits.taxonomy import (
    Taxonomy,
    TaxonomyError,
    cardinality,
    load_taxonomy,
    normalized,
    normalized_name,
    persona_frame,
    unmapped_terms,
    unspecified_terms,
)
from tests.registry.audits.everyday_terms import INTERESTS, OCCUPATIONS
from tests.shared import shared_data

ROOT = Path(__file__).parents[3]
PACKAGED = sorted(Path(taxonomy_module.__file__).parent.glob("*/*.toml"))


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    return load_taxonomy()


def persona_records(personas: Sequence[Mapping[str, str | None]]) -> list[Record]:
    return [Record(request=0, index=i, outcome=Outcome.OK, attributes=each) for i, each in enumerate(personas)]


def corpus_personas(pattern: str = "personas_*.jsonl") -> list[dict[str, str | None]]:
    files = sorted(shared_data("local_corpus").glob(pattern))
    return [json.loads(json.loads(line)["raw_text"]) for path in files for line in path.read_text().splitlines()]


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


@pytest.mark.parametrize("path", PACKAGED, ids=lambda path: path.stem)
def test_every_whole_answer_of_a_file_falls_into_its_own_category(taxonomy: Taxonomy, path: Path) -> None:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    hidden = {entry["category"] for entry in values.get("conditional", [])}
    wrong = [
        (term, category["name"], taxonomy.category(values["name"], term))
        for category in values["category"]
        if category["name"] not in hidden
        for kind in ("synonyms", "rules", "weak")
        for term in category.get(kind, [])
        if taxonomy.category(values["name"], term) != category["name"]
    ]
    assert wrong == []


# --- the corpus of real answers of two very small models -----------------------------------------------------------


def test_closed_attributes_of_the_corpus_are_mapped_whole(taxonomy: Taxonomy) -> None:
    table = cardinality(persona_frame(persona_records(corpus_personas()), taxonomy)).set_index("attribute")
    closed = ["gender", "ethnicity", "sexual_orientation", "social_class", "education_level"]
    assert table.loc[closed, "mapped"].tolist() == [1.0] * 5
    assert table.loc["occupation", "terms"] == 1243
    assert table["n"].unique().tolist() == [3044]


# Shares with a category by file (floors); the pooled one is the product's acceptance line. Answers of the files drawn
# without truncated sampling are mostly letters without meaning.
SHARES = [
    ("personas_*.jsonl", "occupation", 0.97),
    ("personas_*.jsonl", "top_personal_interest", 0.97),
    ("personas_gemma-3-270m-q4_k_m.jsonl", "occupation", 0.99),
    ("personas_gemma-3-270m-q4_k_m.jsonl", "top_personal_interest", 0.99),
    ("personas_gemma-3-270m-q2_k.jsonl", "occupation", 0.99),
    ("personas_gemma-3-270m-q2_k.jsonl", "top_personal_interest", 0.98),
    ("personas_puresample_*.jsonl", "occupation", 0.92),
    ("personas_puresample_*.jsonl", "top_personal_interest", 0.93),
]


@pytest.mark.parametrize(("pattern", "attribute", "floor"), SHARES)
def test_mapped_share_of_free_answers(taxonomy: Taxonomy, pattern: str, attribute: str, floor: float) -> None:
    frame = persona_frame(persona_records(corpus_personas(pattern)), taxonomy)
    table = cardinality(frame)
    share = float(table.loc[table["attribute"] == attribute, "mapped"].tolist()[0])
    assert share >= floor
    assert sum(unmapped_terms(frame, attribute)["count"].tolist()) == round((1 - share) * len(frame))


def test_no_frequent_term_of_the_corpus_is_unmapped(taxonomy: Taxonomy) -> None:
    frame = persona_frame(persona_records(corpus_personas()), taxonomy)
    for attribute in ("occupation", "top_personal_interest"):
        assert unmapped_terms(frame, attribute)["count"].max() <= 3  # of 3,044


def test_rules_of_form_take_a_small_share_of_the_corpus_and_no_content(taxonomy: Taxonomy) -> None:
    frame = persona_frame(persona_records(corpus_personas()), taxonomy)
    table = cardinality(frame).set_index("attribute")
    for attribute, most in {"occupation": 0.05, "top_personal_interest": 0.11}.items():
        terms = unspecified_terms(frame, attribute)
        assert terms["count"].sum() == table.loc[attribute, "unspecified"]
        formed = terms[terms["basis"].str.startswith("form: ")]
        assert 0 < formed["count"].sum() / len(frame) < most
        expected = {term for term, _ in (OCCUPATIONS if attribute == "occupation" else INTERESTS)}
        assert expected.isdisjoint(formed["term"])


# --- frames --------------------------------------------------------------------------------------------------------


def test_the_persona_frame_keeps_terms_outcomes_and_marks_duplicates(taxonomy: Taxonomy) -> None:
    ada = {"name": "Dr. Ada  Byron", "gender": "Woman", "occupation": "Nurse"}
    same = {"name": "Dr. Ada Byron", "gender": "woman", "occupation": "nurse,"}
    records = [
        Record(request=3, index=0, outcome=Outcome.OK, attributes=ada),
        Record(request=3, index=1, outcome=Outcome.TRUNCATED, reason="cut off"),
        Record(request=4, index=0, outcome=Outcome.OK, attributes=same),
        Record(request=4, index=1, outcome=Outcome.OK, attributes={**ada, "occupation": "Banana"}),
        Record(request=4, index=2, outcome=Outcome.OK, attributes={**ada, "occupation": "Zorblax"}),
        Record(request=5, index=0, outcome=Outcome.TRUNCATED, reason="cut off"),
    ]
    frame = persona_frame(records, taxonomy)
    assert list(frame.columns) == [
        *("request", "index", "outcome", "reason"),
        *ATTRIBUTES,
        *(f"{name}_category" for name in ATTRIBUTES),
        "duplicate",
    ]
    assert frame["request"].tolist() == [3, 3, 4, 4, 4, 5]
    assert frame["outcome"].tolist() == ["ok", "truncated", "ok", "ok", "ok", "truncated"]
    assert frame["duplicate"].tolist() == [False, False, True, False, False, False]
    assert frame["name"].tolist()[0] == "Dr. Ada  Byron"
    assert frame["name_category"].tolist()[0] == "ada byron"
    assert frame["occupation_category"].isna().tolist() == [False, True, False, True, False, True]
    assert frame["ethnicity"].isna().all()
    assert unmapped_terms(frame, "occupation").to_dict("records") == [{"term": "Banana", "count": 1}]
    assert unspecified_terms(frame, "occupation").to_dict("records") == [
        {"term": "Zorblax", "count": 1, "basis": "form: no word"}
    ]
    assert unspecified_terms(frame, "gender").empty
    row = cardinality(frame).set_index("attribute").loc["occupation"]
    assert (row["n"], row["terms"], row["normalized"], row["categories"]) == (4, 4, 3, 2)
    assert row["mapped"] == pytest.approx(3 / 4)
    assert row["unspecified"] == 1
    assert cardinality(frame).set_index("attribute")["unspecified"].isna().loc["gender"]


def test_a_record_that_is_not_usable_makes_no_duplicate(taxonomy: Taxonomy) -> None:
    unusable = Record(request=0, index=0, outcome=Outcome.TRUNCATED, attributes={"name": "Ada"}, reason="cut off")
    usable = Record(request=0, index=1, outcome=Outcome.OK, attributes={"name": "Ada"})
    assert persona_frame([unusable, usable, unusable], taxonomy)["duplicate"].tolist() == [False, False, False]


def test_an_empty_frame_has_its_columns_and_no_share(taxonomy: Taxonomy) -> None:
    frame = persona_frame([], taxonomy)
    assert len(frame.columns) == 21
    table = cardinality(frame)
    assert table["n"].tolist() == [0] * 8
    assert table["mapped"].isna().all()
    assert unmapped_terms(frame, "gender").empty
    assert unspecified_terms(frame, "occupation").empty


def test_unmapped_terms_of_an_unknown_attribute_name_the_known_ones(taxonomy: Taxonomy) -> None:
    with pytest.raises(UnknownEntryError, match=r"no attribute 'job'.*occupation"):
        unmapped_terms(persona_frame([], taxonomy), "job")


def test_ten_thousand_personas_are_categorised_within_two_seconds(taxonomy: Taxonomy) -> None:
    terms = [term for term, _ in OCCUPATIONS]
    personas = [
        {"name": f"Person {i % 997}", "gender": "Female", "ethnicity": "Korean American", "social_class": "Middle class",
         "sexual_orientation": "Homosexual", "education_level": f"Bachelor's in field {i % 500}",
         "occupation": f"{terms[i % len(terms)]} {i % 7}", "top_personal_interest": INTERESTS[i % 150][0]}
        for i in range(10_000)
    ]  # fmt: skip
    records = persona_records(personas)
    persona_frame(records[:1], taxonomy)
    started = time.process_time()
    frame = persona_frame(records, taxonomy)
    assert (
        time.process_time() - started < 2
    )  # measured 0.4 s of processor time; the bound leaves room for slow machines
    assert len(frame) == 10_000


# --- names and normal forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answered", "name"),
    [
        ("  Maria   LOPEZ ", "maria lopez"),
        ('"Maria Lopez"', "maria lopez"),
        ("Dr. Maria Lopez", "maria lopez"),
        ("Maria Lopez (she/her)", "maria lopez"),
        ("María O’Brien-López", "maría o'brien-lópez"),
        ("J. R. Smith Jr.", "j r smith jr"),
        ("李明", "李明"),
        ("Mrs.", None),
        ("0042", None),
        ("", None),
    ],
)
def test_normalized_names(answered: str, name: str | None) -> None:
    assert normalized_name(answered) == name


@given(st.text(max_size=60))
def test_normal_forms_are_stable(text: str) -> None:
    assert normalized(normalized(text)) == normalized(text)
    name = normalized_name(text)
    assert name is None or normalized_name(name) == name


# --- files ---------------------------------------------------------------------------------------------------------

RELIGION = """
name = "religion"
title = "religion"
kind = "axis"
version = 1
source = "test"
[[category]]
name = "Christian"
rules = ["christian", "catholic"]
[[category]]
name = "Muslim"
rules = ["muslim", "islam"]
"""


def test_a_further_axis_is_one_file(tmp_path: Path, taxonomy: Taxonomy) -> None:
    (tmp_path / "religion.toml").write_text(RELIGION)
    extended = load_taxonomy(tmp_path)
    assert extended.category("religion", "Roman Catholic") == "Christian"
    assert [attribute.name for attribute in extended.attributes if attribute.kind == "axis"][-1] == "religion"
    assert extended.version != taxonomy.version
    record = Record(request=0, index=0, outcome=Outcome.OK, attributes={"religion": "Islam"})
    frame = persona_frame([record], extended)
    assert frame.loc[0, "religion_category"] == "Muslim"
    assert "religion" in cardinality(frame)["attribute"].tolist()


def test_a_changed_word_changes_the_version(tmp_path: Path) -> None:
    for name, text in {"a": RELIGION, "b": RELIGION.replace("catholic", "protestant")}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "religion.toml").write_text(text)
    assert load_taxonomy(tmp_path / "a").version != load_taxonomy(tmp_path / "b").version
    assert load_taxonomy().version == load_taxonomy().version


BROKEN = [
    (
        RELIGION.replace('"islam"', '"Catholic "'),
        DuplicateEntryError,
        "'Catholic '.*'Christian', rules.*'Muslim', rules",
    ),
    (RELIGION.replace('"religion"', '"gender"', 1), DuplicateEntryError, "'gender' is defined twice.*axes/gender.toml"),
    (RELIGION.replace('kind = "axis"', 'kind = "axle"'), TaxonomyError, "religion.toml: 'kind' must be"),
    (RELIGION.replace('source = "test"', ""), TaxonomyError, "expected 'source'"),
    (RELIGION.replace('"religion"', '"name"', 1), TaxonomyError, "'name' must be"),
    (RELIGION.replace('"Muslim"', '"Christian"'), TaxonomyError, "different names"),
    (RELIGION.replace('["muslim", "islam"]', '"muslim"'), TaxonomyError, "'rules' must be a list"),
    ('several = "Jedi"\n' + RELIGION, TaxonomyError, "'Jedi' is not one of its categories"),
    ('borrowed = [{attribute = "x", category = "Muslim"}]\n' + RELIGION, TaxonomyError, "'x' is not another attribute"),
    ('decides = "middle"\n' + RELIGION, TaxonomyError, "'decides' must be"),
    ("name = ", TaxonomyError, "not readable as TOML"),
]


@pytest.mark.parametrize(("text", "error", "message"), BROKEN)
def test_a_faulty_file_is_refused_in_one_sentence(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    (tmp_path / "religion.toml").write_text(text)
    with pytest.raises(error, match=message):
        load_taxonomy(tmp_path)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match="is not a folder"):
        load_taxonomy(tmp_path / "absent")


def test_an_unknown_attribute_is_answered_with_the_nearest(taxonomy: Taxonomy) -> None:
    with pytest.raises(UnknownEntryError, match="'ocupation'; did you mean 'occupation'"):
        taxonomy.category("ocupation", "Nurse")
    assert taxonomy.category("occupation", None) is None


def test_a_stem_shared_by_two_categories_decides_nothing(tmp_path: Path) -> None:
    # "animation" and "animals" have one Snowball stem, "anim".
    text = RELIGION.replace('"catholic"', '"animation"').replace('"islam"', '"animals"')
    (tmp_path / "religion.toml").write_text(text)
    extended = load_taxonomy(tmp_path)
    assert extended.category("religion", "animation") == "Christian"
    assert extended.category("religion", "animals") == "Muslim"
    assert extended.category("religion", "animated") is None


def test_every_category_of_the_corpus_frame_is_a_known_one(taxonomy: Taxonomy) -> None:
    frame: pd.DataFrame = persona_frame(persona_records(corpus_personas()), taxonomy)
    for attribute in taxonomy.attributes:
        assert set(Counter(frame[f"{attribute.name}_category"].dropna())) <= set(attribute.categories)
