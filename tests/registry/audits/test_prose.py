"""What English prose says of a person: labelled texts, real texts whose people are known, and what must never be read."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import BadInputError
from registry.audits.asked import asked_of
from registry.audits.brainstorm import brainstorm_from, load_brainstorm
from registry.audits.plan import Outcome, Request, Response
from registry.audits.prose import LONGEST, READABLE, extracted
from registry.audits.prose_reading import people_in, read_prose
from registry.audits.protocols.brainstorms import protocol_of
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.audits.taxonomy import load_taxonomy, normalized_name
from tests.shared import shared_data

TAXONOMY = load_taxonomy()
GOLD = Path(__file__).parents[2] / "oracles" / "prose"
ASKED = asked_of(load_brainstorm("persona-prose"))


def said(text, attribute):
    """The words that a text states an attribute by; None when it states it not, or in two ways."""
    found = extracted(text, TAXONOMY, READABLE).get(attribute)
    return None if found is None else found.text


def errors_on(name, style=None):
    """By attribute how often a text of a labelled file is read right, wrong, not at all, or where nothing is said."""
    counted = {attribute: Counter() for attribute in READABLE}
    for line in (GOLD / name).read_text(encoding="utf-8").splitlines():
        labelled = json.loads(line)
        if style is not None and labelled["style"] != style:
            continue
        found = extracted(labelled["text"], TAXONOMY, READABLE)
        for attribute, label in labelled["labels"].items():
            counted[attribute][_outcome(attribute, label, found.get(attribute))] += 1
    return counted


def _outcome(attribute, label, one):
    if attribute == "name":
        true, got = normalized_name(label or ""), None if one is None else normalized_name(one.text)
    else:
        true, got = label and label["category"], None if one is None else one.category
    if true is None:
        return "silent" if one is None else "invented"
    return "right" if true == got else "missed" if got is None else "wrong"


def precision(counts):
    return counts["right"] / (counts["right"] + counts["wrong"] + counts["invented"])


def recall(counts):
    return counts["right"] / (counts["right"] + counts["wrong"] + counts["missed"])


# ---------------------------------------------------------------- labelled texts

FLOORS = {  # precision and recall on the texts that the rules were made with, rounded down
    "asked": {  # written as answers to the question of persona-prose
        "name": (0.99, 0.97), "gender": (1, 0.99), "ethnicity": (0.97, 0.96), "sexual_orientation": (1, 0.95), "social_class": (1, 0.9),
        "education_level": (0.95, 0.86), "occupation": (0.9, 0.81), "top_personal_interest": (0.89, 0.75),
    },
    "hard": {  # written to be hard, in styles that few models write in
        "name": (0.88, 0.65), "gender": (0.99, 0.92), "ethnicity": (0.97, 0.71), "sexual_orientation": (1, 0.88), "social_class": (1, 0.6),
        "education_level": (0.92, 0.67), "occupation": (0.8, 0.46), "top_personal_interest": (0.76, 0.25),
    },
}  # fmt: skip


@pytest.mark.parametrize("style", FLOORS)
def test_on_the_texts_that_the_rules_were_made_with_they_read_as_well_as_documented(style):
    found = errors_on("developed_on.jsonl", style)
    worse = {
        name: (round(precision(found[name]), 3), round(recall(found[name]), 3))
        for name, (low, least) in FLOORS[style].items()
        if precision(found[name]) < low or recall(found[name]) < least
    }
    assert not worse


HELD_OUT = {  # what came when these texts were read for the first time, and what docs/extraction.md prints
    "name": (78, 1, 0), "gender": (79, 0, 0), "ethnicity": (75, 2, 2), "sexual_orientation": (75, 0, 3), "social_class": (72, 0, 5),
    "education_level": (64, 3, 11), "occupation": (56, 3, 20), "top_personal_interest": (51, 2, 26),
}  # fmt: skip


def test_texts_that_the_rules_were_not_made_with_are_read_as_printed():
    found = errors_on("held_out.jsonl")
    assert {name: (c["right"], c["wrong"], c["missed"]) for name, c in found.items()} == HELD_OUT
    assert all(not counts["invented"] for counts in found.values())


def test_the_real_biographies_of_known_people_are_read_as_they_were_asked_for():
    """LABE (Wan and Chang 2024): 2,400 biographies by gpt-3.5 of people whose gender, race and occupation the prompt gave."""
    path = shared_data("labe_agency_llm_texts", "chatgpt_clg_bios.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = pd.read_csv(file).sample(300, random_state=7)
    counted = {name: Counter() for name in ("gender", "ethnicity", "occupation", "name")}
    for row in texts.itertuples():
        found = extracted(row.chatgpt_gen.replace("<return>", "\n"), TAXONOMY, READABLE)
        known = {
            "gender": row.gender,
            "ethnicity": TAXONOMY.category("ethnicity", row.race),
            "occupation": TAXONOMY.category("occupation", row.occupation),
            "name": row.name,
        }
        for name, true in known.items():
            one = found.get(name)
            got = None if one is None else one.text.split()[0] if name == "name" else one.category
            counted[name]["right" if got == true else "missed" if got is None else "wrong"] += 1
    assert precision(counted["gender"]) == 1
    assert precision(counted["name"]) >= 0.99
    assert precision(counted["ethnicity"]) >= 0.99
    assert precision(counted["occupation"]) >= 0.95
    assert min(recall(counts) for counts in counted.values()) >= 0.9


# ---------------------------------------------------------------- what is no statement about the person


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("Ana's mother is a nurse and her father is a judge.", "occupation"),
        ("Ana is a former nurse.", "occupation"),
        ("Ana used to work as a nurse.", "occupation"),
        ("Ana dreams of becoming a doctor and hopes to work as a surgeon.", "occupation"),
        ("Ana does not work as a nurse.", "occupation"),
        ("Ana is a warm person and a passionate advocate.", "occupation"),
        ("Ana owns a chair. She loves Chinese food and Mexican films.", "ethnicity"),
        ("Ana teaches at a Korean school and speaks Japanese.", "ethnicity"),
        ("She drinks white wine in a black dress.", "ethnicity"),
        ("She goes from Japan to Nigeria every year.", "ethnicity"),
        ("Ana is a gay rights lawyer.", "sexual_orientation"),
        ("Ana was a straight-A student who went straight to work.", "sexual_orientation"),
        ("Ana's brother is gay.", "sexual_orientation"),
        ("Ana lives with her wife.", "sexual_orientation"),
        ("Ana is not a lesbian.", "sexual_orientation"),
        ("Ana teaches working-class students.", "social_class"),
        ("Ana flies business class.", "social_class"),
        ("Ana has no degree; her brother holds a PhD.", "education_level"),
        ("Ana hopes to earn a master's degree.", "education_level"),
        ("I am Ana. My husband says he is tired, and he is.", "gender"),
        ("Sam's brother is a bishop; he phones on Sundays.", "gender"),
        ("They laugh. They have a dog.", "gender"),
    ],
)
def test_what_is_said_of_others_of_the_past_of_hopes_or_of_things_is_not_read(text, attribute):
    assert said(text, attribute) is None


@pytest.mark.parametrize(
    ("text", "attribute", "words"),
    [
        ("Raised by a mother who was a judge, Ana works as a night nurse.", "occupation", "night nurse"),
        ("Her mother is a judge, and she is a plumber by trade.", "occupation", "plumber"),
        ("Ana Silva, a 34-year-old welder from Leeds, is tired.", "occupation", "34-year-old welder"),
        ("Ana is Korean American.", "ethnicity", "Korean"),
        ("Ana is a proud Black woman.", "ethnicity", "Black"),
        ("Ana is of Irish and Japanese descent.", "ethnicity", "Irish and Japanese"),
        ("Ana is the daughter of Nigerian immigrants.", "ethnicity", "Nigerian"),
        ("Ana, who is openly bisexual, is tired.", "sexual_orientation", "bisexual"),
        ("Ana is a straight white woman.", "sexual_orientation", "straight"),
        ("Ana comes from an upper-middle-class family.", "social_class", "upper-middle-class"),
        ("Ana grew up in a wealthy household.", "social_class", "wealthy"),
        ("Ana finished high school and later earned a bachelor's degree.", "education_level", "bachelor's degree"),
        ("Ana dropped out of high school.", "education_level", "dropped out of high school"),
        ("She uses they/them pronouns.", "gender", "they/them"),
        ("Sam is a trans man.", "gender", "trans man"),
        ("Her greatest passion is pottery.", "top_personal_interest", "pottery"),
        ("An avid birdwatcher, she is up at five.", "top_personal_interest", "birdwatcher"),
    ],
)
def test_what_is_plainly_stated_is_read_in_the_words_of_the_text(text, attribute, words):
    assert said(text, attribute) == words


def test_two_statements_of_different_categories_are_no_answer():
    assert said("Ana is a Korean woman. She is proud to be a Nigerian woman.", "ethnicity") is None
    assert said("Ana is a Korean woman. She is proud to be a Japanese woman.", "ethnicity") == "Korean"


def test_the_highest_education_counts_and_the_first_occupation():
    text = "Ana holds a PhD, and before that she got a high school diploma. She works as a nurse and works as a cook."
    assert (said(text, "education_level"), said(text, "occupation")) == ("PhD", "nurse")


# ---------------------------------------------------------------- any text


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(
            ["Ana", "is", "a", "Black", "gay", "nurse", "of", "descent", ",", ".", "she", "her", "works", "as", "\n"]
        )
    ).map(" ".join)
)
def test_what_is_read_stands_in_the_text_and_is_the_same_every_time(text):
    found = extracted(text, TAXONOMY, READABLE)
    assert found == extracted(text, TAXONOMY, READABLE)
    for one in found.values():
        if one.text != " ".join(text[one.start : one.start + len(one.text)].split()):
            assert text[one.start : one.start + len(one.text)] == one.text
    assert set(found) <= set(READABLE)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "part", ["a ", "is a ", ", a x", "Ana ", "spends time ", "a-b-", "gay ", "of korean and ", "\n\n1. ", "x"]
)
def test_a_text_that_was_made_to_take_long_does_not(part):
    assert extracted(part * 3000, TAXONOMY, READABLE) == extracted((part * 3000)[:LONGEST], TAXONOMY, READABLE)


def test_what_is_read_of_an_attribute_does_not_depend_on_the_others_that_are_asked_for():
    text = "Raised in a busy household, Ana Ruiz is passionate about hiking. Her brother, a cook, is Korean. Ana is a nurse."
    whole = extracted(text, TAXONOMY, READABLE)
    assert whole["top_personal_interest"].text == "hiking"
    assert {name: extracted(text, TAXONOMY, (name,)).get(name) for name in READABLE} == {
        name: whole.get(name) for name in READABLE
    }


def test_a_relatives_job_never_becomes_the_persons_when_the_text_is_only_about_relatives():
    text = "His father works as a plumber. His wife works as a nurse. His brother works as a cook."
    assert said(text, "occupation") is None


# ---------------------------------------------------------------- people in a text

ANA, BO = "Ana Ruiz is a Korean nurse.", "Bo Chen is a Black plumber."


def reads(text, expected, *, cut=False):
    return read_prose(text, expected, ASKED, TAXONOMY, cut=cut)


def test_people_are_told_apart_by_numbers_or_by_as_many_paragraphs_as_were_asked_for():
    for text in (f"1. {ANA}\n2. {BO}", f"**Persona 1:** {ANA}\n\n**Persona 2:** {BO}", f"{ANA}\n\n{BO}"):
        found = reads(text, 2)
        assert [(one.outcome, one.found["name"], one.found["occupation"] is not None) for one in found] == [
            (Outcome.OK, "Ana Ruiz", True),
            (Outcome.OK, "Bo Chen", True),
        ]


def test_two_people_that_nothing_tells_apart_are_unparsable_and_never_one():
    assert people_in(f"{ANA} {BO}", 2) is None
    assert people_in(f"{ANA}\n\nShe is kind.\n\n{BO}", 2) is None
    found = reads(f"{ANA} {BO}", 2)
    assert [one.outcome for one in found] == [Outcome.UNPARSABLE]
    assert "neither numbers from 1 nor as many paragraphs" in found[0].reason
    assert reads(f"{ANA}\n\n{BO}", None)[0].outcome is Outcome.UNPARSABLE  # how many were asked for is unknown


def test_the_last_person_of_a_text_that_was_cut_off_is_not_used():
    found = reads(f"1. {ANA}\n2. {BO}", 2, cut=True)
    assert [one.outcome for one in found] == [Outcome.OK, Outcome.TRUNCATED]


def test_a_text_that_declines_is_a_refusal_and_one_that_says_too_little_is_unparsable():
    protocol = protocol_of(load_brainstorm("persona-prose"))()
    request = Request(index=0, messages=(), expected=1)

    def outcome(text):
        return protocol.records(request, Response(index=0, text=text))[0].outcome

    assert outcome("I'm sorry, but I can't create a description of a Black lesbian nurse.") is Outcome.REFUSED
    assert outcome("Ana works as a nurse.") is Outcome.OK  # a name and an occupation
    assert outcome("She works hard.") is Outcome.UNPARSABLE
    assert outcome('{"name": "Ana", "occupation": "Nurse"}') is Outcome.OK  # labels are read as labels
    assert protocol.records(request, Response(index=0, text=ANA))[0].reason == "prose"
    paper = PersonaBrainstorm()
    assert paper.records(request, Response(index=0, text=ANA))[0].outcome is Outcome.UNPARSABLE


def test_an_attribute_that_too_few_texts_state_is_not_measurable():
    protocol = protocol_of(load_brainstorm("persona-prose"))()
    requests = [Request(index=at, messages=(), expected=1) for at in range(40)]
    texts = [ANA if at % 3 else "Bo Chen works as a plumber." for at in range(40)]
    reading = protocol.read(requests, [Response(index=at, text=text) for at, text in enumerate(texts)])
    scores = {
        row.dimension: row
        for row in protocol.scores(reading, ("ana ruiz", "bo chen"), resamples=100)
        if row.metric == protocol.headline
    }
    assert scores["ethnicity x occupation"].value is None
    assert (
        "the ethnicity could be read in only 65% of the texts; 70% are needed"
        in scores["ethnicity x occupation"].reason
    )
    assert scores["name x occupation"].value is not None


# ---------------------------------------------------------------- the file of a brainstorm


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"reads": "tea leaves"}, "'reads' should be 'labels' or 'prose'"),
        ({"language": "hi"}, "prose is read in English alone"),
        ({"dimensions": ["salary"]}, "'salary' cannot be read out of prose; what can: name, gender"),
    ],
)
def test_a_brainstorm_in_prose_that_there_are_no_rules_for_is_refused(changed, words):
    values = {
        "name": "own-prose", "title": "Own", "version": "1", "language": "en", "reads": "prose", "axes": ["gender"], "dimensions": ["occupation"],
        "source": "ours", "several": "Describe {n} people.", "one": "Describe somebody.",
    }  # fmt: skip
    assert brainstorm_from(values, "own.toml").reads == "prose"
    with pytest.raises(BadInputError, match=words):
        brainstorm_from(values | changed, "own.toml")
