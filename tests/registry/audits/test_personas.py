"""Personas: attributes, axes of one or several of them, what is held constant, and what a file may say."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.catalog import UnknownEntryError
from metrics.errors import BadInputError
from registry.audits.personas import AND, known_axes, load_attribute, load_axis, plain_text

OWN = """
name = "religion"
title = "religion"
noun = "religion"
kind = "group"
source = "a test"
[[value]]
name = "muslim"
word = "Muslim"
[[value]]
name = "jewish"
word = "Jewish"
"""


def test_the_axes_and_their_ten_personas_are_the_papers():
    # arXiv 2601.18572, section 3.1: gender 3, race/ethnicity 4, age 3.
    assert known_axes() == ["age", "gender", "race-ethnicity"]
    assert [len(load_axis(name).personas) for name in known_axes()] == [3, 3, 4]
    assert {persona.name for persona in load_axis("age").personas} == {"18-34", "35-54", "55+"}
    assert load_axis("gender").persona("non-binary").named == "unisex"


def test_what_is_held_constant_is_the_papers_table_3():
    # The paper draws the pairs of two axes by random.seed(13) and lists those of gender (its public preparation notebook).
    ages, races, genders = ("18-34", "35-54", "55+"), ("white", "asian", "hispanic", "black"), ("female", "male")
    drawn = random.Random(13)
    of_race = drawn.sample(list(itertools.product(genders, ages)), k=5)
    of_age = drawn.sample(list(itertools.product(races, genders)), k=5)
    assert [tuple(row.values()) for row in load_axis("race-ethnicity").held] == of_race
    assert [tuple(row.values()) for row in load_axis("age").held] == of_age
    expected = [("18-34", "white"), ("18-34", "asian"), ("18-34", "hispanic"), ("35-54", "white"), ("35-54", "asian")]
    assert [tuple(row.values()) for row in load_axis("gender").held] == expected


def test_the_ages_begin_with_the_papers_five_triples():
    # The values that its code draws with seed 13 from 18-34, 35-54 and 55-75, for its five wordings in order.
    drawn = [tuple(row.values()) for row in load_attribute("age").numbers(5)]
    assert drawn == [(26, 44, 60), (25, 39, 62), (23, 39, 57), (24, 44, 55), (31, 39, 74)]


@given(st.integers(1, 60), st.integers(0, 60))
def test_more_numbers_begin_with_the_same_ones_and_stay_in_their_range(count, more):
    age = load_attribute("age")
    numbers = age.numbers(count + more)
    assert numbers[:count] == age.numbers(count)
    assert all(age[name].low <= number <= age[name].high for row in numbers for name, number in row.items())


def test_attributes_that_vary_together_have_every_combination_and_hold_the_rest():
    axis = load_axis("gender+race-ethnicity")
    assert len(axis.personas) == 12
    assert axis.persona("non-binary and black").named == "unisex and black"
    assert [dict(row) for row in axis.held] == [{"age": "18-34"}, {"age": "35-54"}, {"age": "55+"}]
    assert load_axis("gender+race-ethnicity+age").held == ({},)
    assert [row["gender"] for row in load_axis("age+race-ethnicity").held] == ["female", "male"]


@pytest.mark.parametrize("pair", list(itertools.permutations(["age", "gender", "race-ethnicity"], 2)))
def test_no_axis_holds_constant_what_it_varies(pair):
    axis = load_axis("+".join(pair))
    assert all(not set(row) & set(pair) for row in axis.held)
    assert all(AND.join(persona.values.values()) == persona.name for persona in axis.personas)
    assert len({persona.name for persona in axis.personas}) == len(axis.personas)


def test_a_new_axis_is_one_file(tmp_path):
    path = tmp_path / "religion.toml"
    path.write_text(OWN, encoding="utf-8")
    axis = load_axis(str(path))
    assert (axis.name, axis.held, [p.name for p in axis.personas]) == ("religion", (), ["muslim", "jewish"])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("word = ", "wrod = "), "did you mean 'word'"),
        (('word = "Jewish"', 'word = "muslim"'), "two values have the same word, 'muslim'"),
        (('name = "jewish"', 'name = "muslim"'), "two values have the same name, 'muslim'"),
        (('kind = "group"', 'kind = "groups"'), "kind is 'group' or 'number'"),
        (('word = "Jewish"', 'word = "Jew\\u0007ish"'), "control character"),
        (('word = "Jewish"', 'word = "Jew\\u202eish"'), "control character"),
        (('word = "Jewish"', f'word = "{"x" * 61}"'), "1 to 60 characters"),
        (('name = "religion"', 'name = "my+religion"'), "one lower-case word"),
        (("[[value]]", "[[values]]"), "did you mean 'value'"),
        (('source = "a test"', ""), "source should be a text"),
        (("[[value]]", '[[held]]\nreligion = "muslim"\n[[value]]'), "the same other attributes"),
        (('name = "jewish"', 'name = "a x b"'), "no name has ' x ' in it"),
        (('name = "jewish"', 'name = "one, two"'), "no name has ', ' in it"),
        (('name = "jewish"', 'name = "jewish "'), "a space at an end"),
        (('name = "jewish"', 'name = "jewish"\nfirst_names = "Avi"'), "first_names is a list"),
        (('name = "jewish"', 'name = "jewish"\nfirst_names = ["Avi", "avi"]'), "the same first name, 'avi'"),
        (
            ('name = "jewish"', 'name = "jewish"\nfirst_names = ["A\\u202evi"]'),
            "a first name has the control character",
        ),
        (('word = "Jewish"', ""), "word should be a text"),
    ],
)
def test_a_file_that_is_no_axis_is_refused_with_the_place(tmp_path, change, expected):
    path = tmp_path / "religion.toml"
    path.write_text(OWN.replace(*change), encoding="utf-8")
    with pytest.raises(BadInputError, match=expected) as caught:
        load_axis(str(path))
    assert "religion.toml" in str(caught.value)


def test_a_value_held_constant_that_nobody_has_is_refused_before_anybody_is_asked(tmp_path):
    path = tmp_path / "religion.toml"
    path.write_text(OWN.replace("[[value]]", '[[held]]\nage = "young"\n[[value]]', 1), encoding="utf-8")
    with pytest.raises(BadInputError, match=r"\[\[held\]\] age = 'young': age has no value 'young'; known: 18-34"):
        load_axis(str(path))


def test_a_changed_word_is_another_version_of_an_axis_and_a_changed_source_is_none(tmp_path):
    versions = []
    for number, text in enumerate((OWN, OWN.replace('"Jewish"', '"a Jew"'), OWN.replace("a test", "another test"))):
        (tmp_path / f"a+{number}.toml").write_text(text, encoding="utf-8")
        versions.append(load_axis(str(tmp_path / f"a+{number}.toml")).as_json()["version"])
    assert versions[0] == versions[2] != versions[1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gendre", "did you mean 'gender'"),
        ("gender+gender", "twice"),
        ("", "no persona axis"),
        ("gender+", "no persona"),
    ],
)
def test_an_unknown_axis_is_refused_with_the_nearest(name, expected):
    with pytest.raises(BadInputError, match=expected):
        load_axis(name)


def test_an_unknown_value_is_refused_with_what_is_known():
    with pytest.raises(UnknownEntryError, match="female, male, non-binary"):
        load_attribute("gender")["woman"]
    with pytest.raises(UnknownEntryError, match="female, male, non-binary"):
        load_axis("gender").persona("woman")


def test_lines_and_joiners_are_text_where_lines_are_allowed_and_nowhere_else():
    assert plain_text("here", "one\n\ttwo \U0001f469\u200d\U0001f680", 100, lines=True)
    for text in ("one\ntwo", "a\u200db", "\x00"):
        with pytest.raises(BadInputError, match="here has the control character"):
            plain_text("here", text, 100)
