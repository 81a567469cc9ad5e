"""Brainstorms: what comes along, a file of one's own, and what is refused."""

from __future__ import annotations

import dataclasses
import json

import pytest

from metrics.errors import BadInputError
from registry.audits.asked import Asked, asked_of
from registry.audits.brainstorm import (
    LARGEST_CALL,
    PAPER,
    Brainstorm,
    brainstorm_from,
    brainstorm_names,
    grammar_of,
    load_brainstorm,
)
from registry.audits.parsing import read_personas
from registry.audits.plan import Outcome, Request, Response
from registry.audits.protocols.brainstorms import protocol_of
from registry.audits.taxonomy import load_taxonomy

OWN = {
    "name": "jobs-by-gender",
    "title": "Jobs by gender",
    "version": "1",
    "language": "en",
    "axes": ["gender"],
    "dimensions": ["occupation"],
    "several": "Imagine {n} people: gender and occupation, as JSON.",
    "one": "Imagine a person: gender and occupation, as JSON.",
    "source": "Example of the tests.",
}


def own(**values: object) -> Brainstorm:
    return brainstorm_from({**OWN, **values}, "own.toml")


@pytest.mark.parametrize("name", brainstorm_names())
def test_every_brainstorm_has_its_attributes_and_prompts_and_is_a_protocol(name: str) -> None:
    asks = load_brainstorm(name)
    assert asks.name == name
    protocol = protocol_of(asks)()
    assert len(protocol.dimensions()) == len(asks.axes) * len(asks.dimensions)
    assert [one.name for one in protocol.taxonomy.attributes] == list(asks.categorised)
    for count in (1, 2, 20, LARGEST_CALL):
        assert protocol.plan(size=100, per_call=count).prompts["user"] == asks.prompt(count)
    assert "{" not in asks.prompt(7).replace("{}", "")


def test_the_papers_brainstorm_comes_first() -> None:
    assert brainstorm_names()[0] == PAPER


def test_only_the_number_differs_between_calls_of_several_personas() -> None:
    asks = load_brainstorm(PAPER)
    assert asks.prompt(20).replace("20", "7", 1) == asks.prompt(7)


def test_what_one_brainstorm_asks_for_is_in_no_version_of_another() -> None:
    less = load_taxonomy(attributes=("gender", "education_level"))
    assert [one.name for one in less.attributes] == ["gender", "education_level"]
    assert less.version != load_taxonomy().version
    assert protocol_of(own())().scoring_parts(()) != protocol_of(load_brainstorm(PAPER))().scoring_parts(())


def test_what_an_attribute_borrows_from_is_read_though_nobody_asked_for_it() -> None:
    taxonomy = load_taxonomy(attributes=("occupation",))
    assert [one.name for one in taxonomy.attributes] == ["occupation"]
    assert taxonomy.basis("occupation", "Middle class") == "answer to social_class"


def test_an_own_brainstorm_reads_only_what_it_asked_for() -> None:
    protocol = protocol_of(own())()
    text = json.dumps([{"Sex": "woman", "job": "nurse", "ethnicity": "White"}, {"occupation": "nurse"}])
    request = next(protocol.requests(protocol.plan(size=2, per_call=2)))
    reading = protocol.read([request], [Response(index=0, text=text)])
    assert reading.frame["outcome"].tolist() == ["ok", "unparsable"]
    assert reading.frame.loc[0, ["gender", "occupation", "gender_category", "occupation_category"]].tolist() == [
        "woman",
        "nurse",
        "female",
        "Healthcare",
    ]
    assert "ethnicity" not in reading.frame.columns
    assert [one.title for one in protocol.dimensions()] == ["gender x occupation"]


@pytest.mark.parametrize("key", ["व्यवसाय", "व्यव-साय", " व्यवसाय:"])
def test_marks_that_belong_to_letters_stay_in_keys(key: str) -> None:
    asked = Asked(("gender",), ("occupation",), (("occupation", ("व्यवसाय",)),))
    record = read_personas(
        Request(index=0, messages=()), Response(index=0, text=json.dumps({"gender": "x", key: "y"})), asked
    )[0]
    assert record.outcome is Outcome.OK
    assert record.attributes == {"gender": "x", "occupation": "y"}
    assert asked.attribute("व्यवसय") is None


def test_the_same_keys_in_another_order_are_the_same_version() -> None:
    asked = asked_of(load_brainstorm(PAPER))
    turned = dataclasses.replace(asked, keys=tuple((name, keys[::-1]) for name, keys in asked.keys[::-1]))
    assert turned.version == asked.version
    assert dataclasses.replace(asked, keys=asked.keys[:-1]).version != asked.version


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"axis": ["gender"]}, "'axis' is not known here"),
        ({"title": ""}, "'title' should be a text"),
        ({"name": "Jobs By Gender"}, "lower-case words joined by hyphens"),
        ({"several": "Imagine people."}, "should have {n}"),
        ({"axes": []}, "'axes' should list attributes"),
        ({"axes": ["gender", "gender"]}, "each once"),
        ({"axes": ["../gender"]}, "lower-case word with underscores"),
        ({"dimensions": ["gender"]}, "is an axis and a dimension"),
        ({"terms": {"gender": ["Male", "Female"]}}, "'terms' should list answers for each of gender, occupation"),
        ({"terms": {"gender": ["Male", "Female"], "occupation": ["Nurse"]}}, "'terms' should list"),
    ],
)
def test_a_file_that_is_no_brainstorm_is_refused_in_one_sentence(values: dict[str, object], words: str) -> None:
    with pytest.raises(BadInputError, match=r"^own\.toml: [^\n]*$") as error:
        own(**values)
    assert words in str(error.value)


@pytest.mark.parametrize("count", [0, -1, LARGEST_CALL + 1])
def test_a_call_for_no_or_too_many_personas_is_refused(count: int) -> None:
    with pytest.raises(BadInputError, match="1 to 50"):
        load_brainstorm(PAPER).prompt(count)


def test_without_a_list_of_terms_the_embedded_model_is_not_asked() -> None:
    with pytest.raises(BadInputError, match="no closed list of terms"):
        grammar_of(own())


def test_a_grammar_quotes_what_stands_in_terms() -> None:
    made = grammar_of(own(terms={"gender": ['He"r', "Male"], "occupation": ["Back\\slash", "Nurse"]}))
    assert r'"\"He\\\"r\""' in made
    assert r'"\"Back\\\\slash\""' in made
