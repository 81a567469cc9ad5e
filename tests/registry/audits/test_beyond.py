"""Attributes beyond the paper: everyday answers, numbers in bands, and what is not guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.catalog import DuplicateEntryError
from registry.audits.bands import OLDEST, age_of, bands_of
from registry.audits.brainstorm import grammar_of, load_brainstorm
from registry.audits.matching import TaxonomyError
from registry.audits.protocols.brainstorms import protocol_of
from registry.audits.taxonomy import Taxonomy, load_taxonomy
from tests.registry.audits.beyond_terms import TERMS

ASKS = load_brainstorm("persona-brainstorm-beyond")


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    return protocol_of(ASKS)().taxonomy


@pytest.mark.parametrize("attribute", TERMS)
def test_everyday_answers_fall_where_a_person_put_them(taxonomy: Taxonomy, attribute: str) -> None:
    said = {term: category or None for category, terms in TERMS[attribute].items() for term in terms.split("|")}
    assert {name for name in said.values() if name} == set(taxonomy.attribute(attribute).categories)
    found = {term: taxonomy.category(attribute, term) for term in said}
    assert {term: (found[term], said[term]) for term in said if found[term] != said[term]} == {}


@given(st.integers(0, OLDEST))
def test_every_age_is_in_one_band(age: int) -> None:
    taxonomy = load_taxonomy(attributes=("age",))
    bands = {
        "under 18": (0, 18),
        "18 to 29": (18, 30),
        "30 to 44": (30, 45),
        "45 to 59": (45, 60),
        "60 and over": (60, 121),
    }
    category = taxonomy.category("age", f"{age} years old")
    assert category is not None
    assert bands[category][0] <= age < bands[category][1]
    assert taxonomy.basis("age", str(age)) == "number"


@given(st.integers(0, 5_000_000), st.sampled_from(["${:,}", "${}", "{} USD", "{:,} dollars a year"]))
def test_every_amount_in_dollars_is_in_one_band(amount: int, form: str) -> None:
    category = load_taxonomy(attributes=("salary",)).category("salary", form.format(amount))
    edges = [0, 30_000, 60_000, 100_000, 200_000, 10**9]
    names = load_taxonomy(attributes=("salary",)).attribute("salary").categories
    assert category == next(
        name for name, begin, end in zip(names, edges, edges[1:], strict=False) if begin <= amount < end
    )


@given(st.text(max_size=40))
def test_any_text_names_an_age_in_bounds_or_none(text: str) -> None:
    span = age_of(text)
    assert span is None or 0 <= span[0] <= span[1] <= OLDEST


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"number": "shoe"}, "'age' or 'amount'"),
        ({"number": "age", "category": [{"name": "a", "from": 1}]}, "two or more bands"),
        (
            {"number": "age", "category": [{"name": "a", "from": 1, "below": 9}, {"name": "b", "from": 5}]},
            "do not overlap",
        ),
        (
            {"number": "age", "category": [{"name": "a", "from": 9, "below": 1}, {"name": "b", "from": 10}]},
            "begin below its end",
        ),
        ({"number": "amount"}, "'currency', 'lowest' and 'highest'"),
    ],
)
def test_bands_that_are_none_are_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        bands_of({"category": [{"name": "a", "below": 5}, {"name": "b", "from": 5}], **values})


def test_a_file_with_faulty_bands_is_named(tmp_path) -> None:  # type: ignore[no-untyped-def]
    text = """
name = "shoe"
title = "shoe"
kind = "dimension"
version = 1
number = "size"
source = "Example."
[[category]]
name = "small"
below = 40
[[category]]
name = "large"
from = 40
"""
    (tmp_path / "shoe.toml").write_text(text)
    with pytest.raises(TaxonomyError, match=r"shoe\.toml: 'number' should be"):
        load_taxonomy(tmp_path)


def test_no_two_attributes_of_a_brainstorm_share_a_key() -> None:
    asked = protocol_of(ASKS)()._asked
    for name, keys in asked.keys:
        for key in keys:
            assert asked.attribute(key) is not None
            assert asked.attribute(key)[0] == name, (key, name)  # type: ignore[index]


def test_every_term_of_the_closed_lists_has_a_category(taxonomy: Taxonomy) -> None:
    unknown = {
        (name, term) for name, terms in ASKS.terms.items() for term in terms if taxonomy.category(name, term) is None
    }
    assert unknown == set()
    assert grammar_of(ASKS).count("\n") == len(ASKS.attributes) + 1


@pytest.mark.parametrize("attribute", [*ASKS.axes, *ASKS.dimensions])
def test_every_file_says_where_its_categories_are_from_and_who_reviewed_them(
    taxonomy: Taxonomy, attribute: str
) -> None:
    found = taxonomy.attribute(attribute)
    assert len(found.source) > 200
    assert found.reviewed or attribute in ("gender", "ethnicity", "occupation")


def test_the_same_word_in_two_categories_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "faith.toml").write_text(
        'name = "faith"\ntitle = "f"\nkind = "axis"\nversion = 1\nsource = "x"\n'
        '[[category]]\nname = "a"\nrules = ["sunni"]\n[[category]]\nname = "b"\nrules = ["Sunni"]\n'
    )
    with pytest.raises(DuplicateEntryError, match="two categories"):
        load_taxonomy(tmp_path)
