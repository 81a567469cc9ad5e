"""Answers as frames: real ones of two very small models, duplicates, names, normal forms."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.catalog import UnknownEntryError
from registry.audits.brainstorm import PAPER, load_brainstorm
from registry.audits.plan import Outcome, Record
from registry.audits.taxonomy import (
    Taxonomy,
    normalized,
    normalized_name,
    persona_frame,
)
from registry.audits.term_tables import cardinality, unmapped_terms, unspecified_terms
from tests.registry.audits.everyday_terms import INTERESTS, OCCUPATIONS
from tests.shared import shared_data

ATTRIBUTES = load_brainstorm(PAPER).attributes


def persona_records(personas: Sequence[Mapping[str, str | None]]) -> list[Record]:
    return [Record(request=0, index=i, outcome=Outcome.OK, attributes=each) for i, each in enumerate(personas)]


def corpus_personas(pattern: str = "personas_*.jsonl") -> list[dict[str, str | None]]:
    files = sorted(shared_data("local_corpus").glob(pattern))
    return [json.loads(json.loads(line)["raw_text"]) for path in files for line in path.read_text().splitlines()]


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


def test_every_category_of_the_corpus_frame_is_a_known_one(taxonomy: Taxonomy) -> None:
    frame: pd.DataFrame = persona_frame(persona_records(corpus_personas()), taxonomy)
    for attribute in taxonomy.attributes:
        assert set(Counter(frame[f"{attribute.name}_category"].dropna())) <= set(attribute.categories)
