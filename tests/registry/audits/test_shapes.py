"""The same known personas written in every shape that models use: they come back as they were, or as a reason, never as others."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from registry.audits.asked import asked_by_the_paper
from registry.audits.brainstorm import PAPER, load_brainstorm
from registry.audits.parsing import read_personas
from registry.audits.plan import Outcome, Record, Request, Response
from registry.audits.shapes import name_like

ATTRIBUTES = load_brainstorm(PAPER).attributes
AXES, DIMENSIONS = ATTRIBUTES[:4], ATTRIBUTES[4:]
Persona = dict[str, str]

ADA = dict(
    zip(
        ATTRIBUTES,
        [
            "Ada Byron",
            "Female",
            "White",
            "Straight",
            "Upper class",
            "Master's degree",
            "Writer, part-time",
            "Math & tea",
        ],
        strict=True,
    )
)
BO = {**ADA, "name": "Bo Li", "gender": "Male", "ethnicity": "Asian (Chinese)", "occupation": "Nurse"}


def read(text: str, finish: str = "stop") -> list[Record]:
    return read_personas(Request(index=0, messages=()), Response(index=0, text=text, finish_reason=finish))


def personas(text: str, finish: str = "stop") -> list[Any]:
    return [record.attributes for record in read(text, finish) if record.outcome is Outcome.OK]


def _titled(name: str) -> str:
    return name.replace("_", " ").title()


def _csv(many: list[Persona], mark: str) -> str:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=mark, lineterminator="\n")
    writer.writerow(ATTRIBUTES)
    writer.writerows([one[name] for name in ATTRIBUTES] for one in many)
    return file.getvalue()


def _without(one: Persona, *names: str) -> Persona:
    return {name: text for name, text in one.items() if name not in names}


def _part(one: Persona, names: tuple[str, ...]) -> Persona:
    return {name: one[name] for name in names}


JSON_SHAPES: dict[str, Callable[[list[Persona]], Any]] = {
    "flat": lambda many: many,
    "groups": lambda many: [{"identity": _part(one, AXES), "social": _part(one, DIMENSIONS)} for one in many],
    "groups in a group": lambda many: [
        {
            "profile": {
                "who": _part(one, AXES[:2]),
                "more": {"deep": _part(one, AXES[2:])},
                "social": _part(one, DIMENSIONS),
            }
        }
        for one in many
    ],
    "a group beside": lambda many: [{**_part(one, AXES), "life": _part(one, DIMENSIONS)} for one in many],
    "numbered": lambda many: {f"persona_{at}": one for at, one in enumerate(many, 1)},
    "wrapped": lambda many: {"status": "ok", "result": {"personas": many}},
    "values in objects": lambda many: [{name: {"value": text} for name, text in one.items()} for one in many],
    "columns": lambda many: {name: [one[name] for one in many] for name in ATTRIBUTES},
    "rows": lambda many: [list(ATTRIBUTES), *([one[name] for name in ATTRIBUTES] for one in many)],
    "attribute by attribute": lambda many: [
        {"id": at, "attributes": [{"field": name, "value": text} for name, text in one.items()]}
        for at, one in enumerate(many)
    ],
    "other case": lambda many: [{_titled(name): text for name, text in one.items()} for one in many],
    "by name": lambda many: {one["name"]: _without(one, "name") for one in many},
}
TEXT_SHAPES: dict[str, Callable[[list[Persona]], str]] = {
    "lines": lambda many: "\n\n".join("\n".join(f"{_titled(n)}: {t}" for n, t in one.items()) for one in many),
    "bullets": lambda many: (
        "Here they are:\n\n"
        + "\n\n".join(
            f"### Persona {at}\n" + "\n".join(f"- **{_titled(n)}:** {t}" for n, t in one.items())
            for at, one in enumerate(many, 1)
        )
    ),
    "bold outside the colon": lambda many: "\n".join(
        "\n".join(f"* **{_titled(n)}**: {t}" for n, t in one.items()) for one in many
    ),
    "yaml": lambda many: "\n".join(
        "- " + "\n  ".join(f"{n}: {json.dumps(t, ensure_ascii=False)}" for n, t in one.items()) for one in many
    ),
    "markdown table": lambda many: "\n".join(
        [
            "| " + " | ".join(map(_titled, ATTRIBUTES)) + " |",
            "|" + "---|" * len(ATTRIBUTES),
            *("| " + " | ".join(one[name] for name in ATTRIBUTES) + " |" for one in many),
        ]
    ),
    "csv": lambda many: _csv(many, ","),
    "tabs": lambda many: _csv(many, "\t"),
    "tags": lambda many: (
        "<personas>\n"
        + "\n".join("<persona>" + "".join(f"<{n}>{t}</{n}>" for n, t in one.items()) + "</persona>" for one in many)
        + "\n</personas>"
    ),
}
SEVERAL_ONLY = {"columns"}  # one persona in lists of one is read as a flat one


@pytest.mark.parametrize("shape", JSON_SHAPES)
@pytest.mark.parametrize("around", ["{}", "Sure! Here you go:\n```json\n{}\n```\nAnything else?"])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_personas_in_any_json_shape_come_back_as_they_were(shape: str, around: str, count: int) -> None:
    many = [
        {**(ADA if at % 2 else BO), "name": f"Ada Byron {chr(65 + at % 26)}{'z' * (at // 26)}"} for at in range(count)
    ]
    text = around.replace("{}", json.dumps(JSON_SHAPES[shape](many), indent=1, ensure_ascii=False))
    assert personas(text) == many
    assert len(read(text)) == count


@pytest.mark.parametrize("shape", TEXT_SHAPES)
@pytest.mark.parametrize("count", [1, 2, 50])
def test_personas_in_any_labelled_text_come_back_as_they_were(shape: str, count: int) -> None:
    many = [{**(ADA if at % 2 else BO), "name": f"Ada {at}"} for at in range(count)]
    assert personas(TEXT_SHAPES[shape](many)) == many
    assert len(read(TEXT_SHAPES[shape](many))) == count


AWKWARD = st.text(
    st.one_of(
        st.sampled_from("\"',:;|-–—()[]{}<>*_`#.&=\\/ aé中ह्ा"),
        st.characters(codec="utf-8", exclude_categories=["C", "Z"]),
    ),
    min_size=1,
    max_size=25,
).filter(lambda text: text.strip() == text)
JSON_PERSONA = st.fixed_dictionaries(dict.fromkeys(ATTRIBUTES, AWKWARD))


@given(st.lists(JSON_PERSONA, min_size=1, max_size=4), st.sampled_from(sorted(set(JSON_SHAPES) - {"by name"})))
def test_awkward_values_survive_every_json_shape(many: list[Persona], shape: str) -> None:
    assert personas(json.dumps(JSON_SHAPES[shape](many), ensure_ascii=False)) == many


PLAIN = st.text(st.sampled_from("abcXYZ éñ中ह्ा'-()&./"), min_size=1, max_size=20).filter(
    lambda text: text.strip(" '-./") == text and text != ""
)
TEXT_PERSONA = st.fixed_dictionaries(dict.fromkeys(ATTRIBUTES, PLAIN))


@given(st.lists(TEXT_PERSONA, min_size=1, max_size=4), st.sampled_from(sorted(TEXT_SHAPES)))
@example([{**ADA, "occupation": "a"}], "lines")
def test_values_of_words_survive_every_labelled_text(many: list[Persona], shape: str) -> None:
    assert personas(TEXT_SHAPES[shape](many)) == many


ODD = st.lists(
    st.one_of(st.sampled_from([*"\"',:;|-*_`#<>{}[]\n=\t ", *ATTRIBUTES, "Name: ", "\n- Job: "]), st.text(max_size=3)),
    max_size=12,
).map("".join)
ODD_PERSONA = st.fixed_dictionaries(dict.fromkeys(ATTRIBUTES, ODD))


@given(st.lists(ODD_PERSONA, max_size=4), st.sampled_from(sorted(TEXT_SHAPES)))
def test_no_text_however_odd_raises_or_gives_a_persona_of_nothing(many: list[Persona], shape: str) -> None:
    for record in read(TEXT_SHAPES[shape](many)):
        if record.outcome is Outcome.OK:
            assert record.attributes is not None
            assert any(record.attributes[name] for name in AXES)
            assert any(record.attributes[name] for name in DIMENSIONS)
        else:
            assert record.reason


def test_several_labels_on_one_line_are_read_and_a_line_without_labels_is_not() -> None:
    line = "1. Ada Byron - Gender: Female; Ethnicity: White; Occupation: Writer\n2. Name: Bo, Sex: Male, Job: Nurse."
    assert [{k: v for k, v in one.items() if v} for one in personas(line)] == [
        {"name": "Ada Byron", "gender": "Female", "ethnicity": "White", "occupation": "Writer"},
        {"name": "Bo", "gender": "Male", "occupation": "Nurse."},
    ]
    bare = "1. Ada Byron, Female, White, Straight, Upper class, Writer\n2. Bo Li, Male, Asian, Gay, Middle class, Nurse"
    assert [(str(one.outcome), one.attributes) for one in read(bare)] == [("unparsable", None)]


def test_a_heading_is_a_name_only_where_it_can_be_one() -> None:
    assert [
        one["name"]
        for one in personas("## Ada Byron\nGender: Female\nJob: Writer\n\n## Persona 2\nGender: Male\nJob: Nurse")
    ] == [
        "Ada Byron",
        None,
    ]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"name": ["Ada", "Bo"], "gender": ["F"], "occupation": ["Nurse", "Cook"]}, "lists of different lengths"),
        ([["name", "gender", "occupation"], ["Ada", "F"]], "a row of a table has 2 cells and its head has 3"),
        ({"one": {"name": "Ada"}, "two": {"name": "Bo"}, "three": {"occupation": "Cook"}}, "no social dimension"),
    ],
)
def test_what_could_be_read_in_two_ways_is_not_read(value: Any, reason: str) -> None:
    records = read(json.dumps(value))
    assert [record.attributes for record in records if record.outcome is Outcome.OK] == []
    assert any(reason in record.reason for record in records)


def test_two_people_in_groups_are_never_made_into_one() -> None:
    two = {"first": {"name": "Ada", "gender": "F", "job": "Nurse"}, "second": {"ethnicity": "Black", "class": "upper"}}
    assert [(one["name"], one["ethnicity"]) for one in personas(json.dumps(two))] == [("Ada", None), (None, "Black")]


def test_a_key_beside_people_is_no_name() -> None:
    group = {"Social Background": {"gender": "F", "occupation": "Nurse"}}
    assert [one["name"] for one in personas(json.dumps(group))] == [None]
    assert not name_like("Personal Details")


@pytest.mark.parametrize("shape", sorted(set(TEXT_SHAPES) - {"tags"}))
def test_the_last_persona_of_a_text_that_was_cut_off_is_not_used(shape: str) -> None:
    text = TEXT_SHAPES[shape]([ADA, BO])
    for end in (len(text), len(text) - 3, len(text) - 9):
        found = read(text[:end], finish="length")
        assert [one.attributes for one in found if one.outcome is Outcome.OK] == [ADA]
        assert found[-1].outcome in (Outcome.TRUNCATED, Outcome.UNPARSABLE)


@pytest.mark.parametrize(
    "language",
    [
        "Geschlecht|Beruf",
        "género|ocupación",
        "sexe|profession",
        "пол|профессия",
        "性別|職業",
        "लिंग|व्यवसाय",
        "الجنس|المهنة",
    ],
)
def test_keys_in_other_languages_are_known_and_their_values_are_not_translated(language: str) -> None:
    gender, occupation = language.split("|")
    for text in (json.dumps({gender: "x", occupation: "y"}, ensure_ascii=False), f"{gender}: x\n{occupation}: y"):
        assert [(one["gender"], one["occupation"]) for one in personas(text)] == [("x", "y")]


def test_every_key_means_one_attribute() -> None:
    asked = asked_by_the_paper()
    for name, keys in asked.keys:
        for key in keys:
            assert asked.attribute(key) is not None, key
            assert asked.attribute(key)[0] == name, key  # type: ignore[index]


@pytest.mark.parametrize(
    "piece",
    [
        "Name: a; ",
        "| name | gender | occupation |\n",
        "<name>a</name>",
        '{"a": {"name": "b"}, ',
        "- **Gender:** x\n",
        "1. ",
        "* _",
        '["',
    ],
)
def test_time_grows_with_the_length_of_a_hostile_text(piece: str) -> None:
    def seconds(times: int) -> float:
        text = piece * times
        begun = time.process_time()
        read(text)
        return time.process_time() - begun

    few, many = min(seconds(2_000) for _ in range(3)), seconds(20_000)
    assert many < 40 * max(few, 0.005)


LACKING = st.lists(
    st.fixed_dictionaries({}, optional={name: st.sampled_from(["abc", "Xyz", "de fg"]) for name in ATTRIBUTES}),
    min_size=2,
    max_size=5,
)


def _written(many: list[Persona], shape: str) -> str:
    said = {
        "under headings": ("### Persona {at}\n", "- **{name}:** {text}\n", "\n"),
        "under numbered lines": ("Persona {at}:\n", "{name}: {text}\n", ""),
        "without a gap": ("", "{name}: {text}\n", ""),
        "empty lines between": ("", "{name}: {text}\n", "\n"),
        "tags": ("<persona>", "<{key}>{text}</{key}>", "</persona>"),
    }[shape]
    return "".join(
        said[0].format(at=at)
        + "".join(said[1].format(name=_titled(name), key=name, text=f"{text} {at}") for name, text in one.items())
        + said[2]
        for at, one in enumerate(many, 1)
    )


@pytest.mark.parametrize(
    "shape", ["under headings", "under numbered lines", "without a gap", "empty lines between", "tags"]
)
@given(many=LACKING)
def test_people_who_lack_attributes_are_never_made_into_one(shape: str, many: list[Persona]) -> None:
    """Every value says whose it is: in a persona that is read, all are of one person, unless nothing stands between two that share none."""
    for one in personas(_written(many, shape)):
        whose = {text.rsplit(" ", 1)[1] for text in one.values() if text}
        assert len(whose) == 1 or shape in ("without a gap", "empty lines between")


def test_people_who_lack_attributes_and_have_nothing_between_them_are_unparsable() -> None:
    text = "Gender: F\nOccupation: Nurse\nName: Bo\nGender: M\nOccupation: Cook\nEthnicity: White"
    assert [str(one.outcome) for one in read(text)] == ["unparsable"]
    tags = "<p><gender>F</gender><occupation>Nurse</occupation></p><p><name>Bo</name><gender>M</gender><occupation>Cook</occupation></p>"
    assert [(one["name"], one["gender"]) for one in personas(tags)] == [(None, "F"), ("Bo", "M")]
    numbered = {
        "persona_1": {"name": "Ada", "gender": "F"},
        "persona_2": {"occupation": "Cook", "social_class": "upper"},
    }
    assert personas(json.dumps(numbered)) == []
    assert [one["occupation"] for one in personas("Gender: Female, Job: none\nOccupation: Nurse")] == ["Nurse"]
