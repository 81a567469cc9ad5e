"""Answers read as personas: whole objects salvaged, everything else a record with a reason."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from registry.audits.asked import LONGEST_TERM, asked_by_the_paper
from registry.audits.brainstorm import PAPER, load_brainstorm
from registry.audits.parsing import answer_format, call_outcome, read_personas
from registry.audits.plan import Outcome, Record, Request, Response
from registry.audits.refusals import declines
from tests.shared import shared_data

ATTRIBUTES = load_brainstorm(PAPER).attributes
REQUEST = Request(index=7, messages=(), repeat=2, expected=20)
ADA = dict(
    zip(ATTRIBUTES, ["Ada Byron", "Female", "White", "Straight", "Upper class", "None", "Writer", "Math"], strict=True)
)
BO = {**ADA, "name": "Bo Li", "gender": "Male", "occupation": "Nurse"}


def read(text: str | None, **response: object) -> list[Record]:
    return read_personas(REQUEST, Response(index=7, text=text, **response))  # type: ignore[arg-type]


def personas(text: str | None, **response: object) -> list[dict[str, str | None]]:
    return [dict(one.attributes or {}) for one in read(text, **response) if one.outcome is Outcome.OK]


def outcomes(text: str | None, **response: object) -> list[str]:
    return [str(record.outcome) for record in read(text, **response)]


DUMPED = json.dumps([ADA, BO])
WRAPPED = {
    "array": DUMPED,
    "indented": json.dumps([ADA, BO], indent=2),
    "object with a list": json.dumps({"profiles": [ADA, BO]}),
    "list two deep": json.dumps({"data": {"users": [ADA, BO]}, "count": 2}),
    "keyed by id": json.dumps({"user_1": ADA, "user_2": BO}),
    "nested persona objects": json.dumps([{"id": 1, "user": ADA}, {"id": 2, "user": BO}]),
    "one object a line": f"{json.dumps(ADA)}\n{json.dumps(BO)}",
    "concatenated": json.dumps(ADA) + json.dumps(BO),
    "comma without brackets": f"{json.dumps(ADA)},\n{json.dumps(BO)}",
    "fenced": f"```json\n{DUMPED}\n```",
    "fence not closed": f"```json\n{DUMPED}",
    "prose around": f"Here are the profiles you [asked] for:\n\n{DUMPED}\n\nLet me know {{if}} you need more!",
    "one fence each": f"1.\n```json\n{json.dumps(ADA)}\n```\n2.\n```json\n{json.dumps(BO)}\n```",
    "trailing commas": DUMPED.replace("}", ",}").replace("]", ",]"),
    "python literals": str([ADA, BO]),
    "curly quotes": DUMPED.replace('"', "“"),
    "unquoted keys": DUMPED.replace('"gender"', "gender"),
    "missing closing bracket of the list": DUMPED[:-1],
    "extra closing brackets": DUMPED + "]}]",
    "JSON inside a JSON string": json.dumps(DUMPED),
    "after a reasoning block": f"<think>Maybe {json.dumps([BO])}? No.</think>\n{DUMPED}",
    "byte order mark": "\ufeff" + DUMPED,
    "camel case keys": json.dumps(
        [{"".join(part.title() for part in key.split("_")): value for key, value in one.items()} for one in (ADA, BO)]
    ),
    "spaced keys": json.dumps(
        [{key.replace("_", " ").title(): value for key, value in one.items()} for one in (ADA, BO)]
    ),
}


@pytest.mark.parametrize("text", WRAPPED.values(), ids=WRAPPED.keys())
def test_every_whole_persona_is_salvaged_from_any_wrapper(text: str) -> None:
    assert personas(text) == [ADA, BO]
    assert outcomes(text) == ["ok", "ok"]


def test_records_carry_request_repeat_and_their_place() -> None:
    records = read(DUMPED)
    assert [(record.request, record.repeat, record.index) for record in records] == [(7, 2, 0), (7, 2, 1)]
    assert records[0].attributes is not None
    assert tuple(records[0].attributes) == ATTRIBUTES


def test_aliases_of_keys_are_known_and_the_attributes_own_name_beats_them() -> None:
    aliased = {"Full Name": "Ada", "Sex": "F", "Race/Ethnicity": "White", "sexualOrientation": "Gay", "Class": "Middle",
               "Education": "BA", "Profession": "Nurse", "Top Personal Interest(s)": "Chess"}  # fmt: skip
    assert list(personas(json.dumps(aliased))[0].values()) == [
        "Ada",
        "F",
        "White",
        "Gay",
        "Middle",
        "BA",
        "Nurse",
        "Chess",
    ]
    both = {"job": "Cook", "occupation": "Nurse", "gender": "F"}
    assert personas(json.dumps(both))[0]["occupation"] == "Nurse"


def test_of_a_repeated_key_the_first_value_counts() -> None:
    text = '{"gender": "Male", "ethnicity": null, "ethnicity": "Black", "occupation": "Cook", "occupation": "Nurse"}'
    for form in (text, f"Sure: {text} and so on"):
        assert personas(form)[0]["occupation"] == "Cook"
        assert personas(form)[0]["ethnicity"] == "Black"


@pytest.mark.parametrize(
    ("value", "term"),
    [
        (["Chess", "Tea"], "Chess, Tea"),
        ([{"name": "Chess"}], None),
        ([], None),
        ({"main": "Chess"}, "Chess"),
        ({"main": "Chess", "since": "2019"}, "Chess"),
        ({"indoors": "Chess", "outdoors": "Tea"}, None),
        (None, None),
        ("  ", None),
        (7, "7"),
        (1e400, "Infinity"),
        (True, "true"),
        ("a\x00b\nc", "a b c"),
        ("\ud800x", "\ufffdx"),
        ("x" * 5000, "x" * LONGEST_TERM),
    ],
)
def test_values_become_terms_or_are_missing(value: object, term: str | None) -> None:
    text = json.dumps({"gender": "F", "occupation": "Nurse", "hobbies": value})
    assert personas(text)[0]["top_personal_interest"] == term
    assert personas(f"Here: {text}.")[0]["top_personal_interest"] == term


def test_a_number_keeps_its_spelling_however_long() -> None:
    text = f'{{"gender": {"9" * 6000}, "occupation": 1.50}}'
    assert personas(text)[0]["gender"] == "9" * LONGEST_TERM
    assert personas(text)[0]["occupation"] == "1.50"


def test_a_persona_needs_an_identity_axis_and_a_social_dimension() -> None:
    records = read(
        '[{"name": "Ada", "gender": "F"}, {"occupation": "Nurse"}, {"name": "Bo", "occupation": "Cook"}, {"id": 3}]'
    )
    assert [str(record.outcome) for record in records] == ["unparsable", "unparsable", "ok"]
    assert records[0].reason == "an object answers name, gender but no social dimension"
    assert records[1].reason == "an object answers occupation but no identity axis"
    assert records[2].attributes is not None
    assert records[2].attributes["gender"] is None


def test_a_truncated_object_is_a_record_not_a_persona() -> None:
    for cut in (DUMPED[: DUMPED.index("Nurse")], DUMPED[:-2], json.dumps([ADA])[:-1] + ', {"na'):
        records = read(cut, finish_reason="length")
        assert [str(record.outcome) for record in records] == ["ok", "truncated"]
        assert records[1].attributes is None
        assert records[1].reason == "an object is cut off at the end of the answer at the token limit"


def test_a_wrapper_left_open_lost_no_persona() -> None:
    whole = json.dumps({"profiles": [ADA, BO]})
    assert outcomes(whole[:-2]) == ["ok", "ok"]
    assert outcomes(whole[:-2], finish_reason="length") == ["ok", "ok", "truncated"]


def test_values_of_a_cut_off_persona_are_not_records() -> None:
    text = '[{"name": "Ada", "gender": "F", "hobbies": [{"name": "Chess"}, {"name": "Tea"}], "occu'
    assert outcomes(text) == ["truncated"]


def test_a_missing_brace_costs_one_persona_and_no_other() -> None:
    broken = json.dumps([ADA, BO, ADA]).replace("}", "", 1)
    assert personas(broken) == [BO, ADA]


def test_objects_inside_broken_ones_keep_their_order() -> None:
    assert personas(f'[{{"first": {json.dumps(ADA)}, {{"second": {json.dumps(BO)} ]') == [ADA, BO]


def test_a_stray_quotation_mark_costs_its_own_line_at_most() -> None:
    lines = [json.dumps(ADA), json.dumps(BO).replace("Bo Li", 'Bo 5" Li'), json.dumps(BO)]
    found = [each["name"] for each in personas("\n".join(lines))]
    assert (found[0], found[-1]) == ("Ada Byron", "Bo Li")


REFUSALS = [
    "I'm sorry, but I can’t assist with that request.",
    "I cannot create profiles that include sexual orientation.",
    "I must respectfully decline.",
    "As an AI language model, I am not able to make up people.",
    "This request violates our content policies.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusal_language_counts_only_without_any_object(text: str) -> None:
    assert declines(text)
    assert outcomes(text) == ["refused"]
    assert outcomes(f"{text}\n{DUMPED}") == ["ok", "ok"]


@pytest.mark.parametrize("text", ["Sorry for the wait! Here they are.", "I can help with that.", "Ada is a nurse."])
def test_politeness_is_not_a_refusal(text: str) -> None:
    assert not declines(text)
    assert outcomes(text) == ["unparsable"]


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        ({"text": None}, "empty"),
        ({"text": " \n"}, "empty"),
        ({"text": None, "refusal": "No."}, "refused"),
        ({"text": "", "finish_reason": "content_filter"}, "refused"),
        ({"text": '[{"name": "A', "finish_reason": "content_filter"}, "refused"),
        ({"text": None, "finish_reason": "length"}, "truncated"),
        ({"text": "<think>Let me see", "finish_reason": "length"}, "truncated"),
        ({"text": "I'm sorry, I cannot", "finish_reason": "length"}, "truncated"),
        ({"text": '{"profiles": ['}, "truncated"),
        ({"text": "["}, "truncated"),
        ({"text": "[]"}, "unparsable"),
        ({"text": "<html><body>502 Bad Gateway</body></html>"}, "unparsable"),
        ({"text": None, "failure": Outcome.TIMED_OUT, "detail": "no answer in 60 s"}, "timed out"),
        ({"text": None, "failure": Outcome.PROVIDER_ERROR}, "provider error"),
    ],
)
def test_an_answer_without_personas_is_one_record_that_says_why(response: dict[str, object], outcome: str) -> None:
    records = read(**response)  # type: ignore[arg-type]
    assert [str(record.outcome) for record in records] == [outcome]
    assert records[0].attributes is None
    assert records[0].reason == response.get("detail", records[0].reason) != ""
    assert call_outcome(records) == outcome


def test_a_refusal_field_beside_personas_does_not_undo_them() -> None:
    assert outcomes(DUMPED, refusal="No.") == ["ok", "ok"]


def test_the_outcome_of_a_call_is_ok_with_any_persona_then_truncated() -> None:
    assert call_outcome(read(json.dumps([{"name": "x"}, ADA]))) is Outcome.OK
    assert call_outcome(read('[{"name": "x"}, {"na')) is Outcome.TRUNCATED
    assert call_outcome(read('[{"name": "x"}]')) is Outcome.UNPARSABLE
    with pytest.raises(ValueError, match="at least one"):
        call_outcome([])


def test_a_further_attribute_is_read_when_asked_for() -> None:
    text = json.dumps({**ADA, "Religious Affiliation": "None", "religiousAffiliation": "x"})
    asked = asked_by_the_paper()
    further = dataclasses.replace(asked, dimensions=(*asked.dimensions, "religious_affiliation"))
    record = read_personas(REQUEST, Response(index=7, text=text), further)[0]
    assert record.attributes == {**ADA, "religious_affiliation": "None"}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("array", "json"),
        ("concatenated", "json"),
        ("missing closing bracket of the list", "json"),
        ("trailing commas", "json"),
        ("fenced", "fenced"),
        ("fence not closed", "fenced"),
        ("prose around", "prose"),
        ("one fence each", "prose"),
    ],
)
def test_the_form_of_an_answer(name: str, form: str) -> None:
    assert answer_format(WRAPPED[name]) == form


@pytest.mark.parametrize("text", [None, "", "I cannot.", "[1] Ada"])
def test_an_answer_without_an_object_has_no_form(text: str | None) -> None:
    assert answer_format(text) == "none"


# --- hostile text --------------------------------------------------------------------------------------------------

MIB = 1_000_000
HOSTILE = {
    "open brackets": "[" * 2 * MIB,
    "open braces": "{" * 2 * MIB,
    "braces and a key": '{"name":' + "{" * 2 * MIB,
    "empty objects": "{}" * MIB,
    "mixed open": "{[" * MIB,
    "braces closed by brackets": '{"name":' + "{" * MIB + "]" * MIB,
    "brackets closed by braces": '{"name":' + "[" * MIB + "}" * MIB,
    "deep whole object": '{"name":' + '{"a":' * 300_000 + "1" + "}" * 300_001,
    "deep list in a persona": '{"name":' + "[" * 500_000 + "]" * 500_000 + ',"occupation":"x"}',
    "quotation marks": '{"name' + '"' * 2 * MIB,
    "backslashes": '{"name' + "\\" * 2 * MIB,
    "escaped quotation marks": '{"name' + '\\"' * MIB,
    "unreadable objects": "{name gender}" * 100_000,
    "long number": '{"name":' + "1" * MIB + "}",
    "nul bytes": "\x00" * MIB + '{"name": "\x00"}',
    "lone surrogates": "\ud800" * MIB + '{"name": "\ud800"}',
    "html": "<div class='name'>{" * 100_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_read_in_linear_time_without_an_exception(text: str) -> None:
    started = time.process_time()
    records = read(text)
    answer_format(text)
    assert time.process_time() - started < 8  # 0.0 to 1.3 s measured; quadratic reading would take hours
    assert records
    assert all(record.outcome in (Outcome.UNPARSABLE, Outcome.TRUNCATED) for record in records)


def test_reading_time_grows_with_the_length_not_faster() -> None:
    def seconds(copies: int) -> float:
        text = "[" + '{ {"name":1} [ ' * copies + "]"
        started = time.process_time()
        read(text)
        return time.process_time() - started

    seconds(1000)
    assert seconds(40_000) < 12 * seconds(10_000) + 0.2  # linear: 4 times; quadratic: 16 times


def test_a_plan_of_ten_thousand_personas_is_read_in_seconds() -> None:
    text = json.dumps([ADA] * 20)
    started = time.process_time()
    total = sum(len(read(text)) for _ in range(500))
    assert total == 10_000
    assert time.process_time() - started < 2  # measured 0.3 s


@given(st.text(alphabet=st.sampled_from("{}[]\",:\\ \nnamegenderoccupation\x00\ud800“”'"), max_size=200))
@example('{"name":"a","gender":"f","occupation":"x"')
def test_any_text_gives_at_least_one_record_and_no_exception(text: str) -> None:
    records = read(text)
    assert records
    assert [record.index for record in records] == list(range(len(records)))
    assert all((record.attributes is None) == (record.outcome is not Outcome.OK) for record in records)
    assert all(record.reason for record in records if record.outcome is not Outcome.OK)
    assert answer_format(text) in ("json", "fenced", "prose", "none")


# --- round trip ----------------------------------------------------------------------------------------------------

TERM = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(
    lambda t: t == t.strip()
)
PERSONA = st.fixed_dictionaries(dict.fromkeys(ATTRIBUTES, TERM))
WRAPPERS = {
    "array": lambda many: json.dumps(many),
    "unicode": lambda many: json.dumps(many, ensure_ascii=False),
    "indented": lambda many: json.dumps(many, indent=2),
    "profiles": lambda many: json.dumps({"profiles": many}),
    "by id": lambda many: json.dumps({f"user_{i}": one for i, one in enumerate(many)}),
    "nested": lambda many: json.dumps([{"id": i, "user": one} for i, one in enumerate(many)]),
    "lines": lambda many: "\n".join(json.dumps(one) for one in many),
    "concatenated": lambda many: "".join(json.dumps(one) for one in many),
    "fenced": lambda many: f"```json\n{json.dumps(many)}\n```",
    "prose": lambda many: f"Here you go:\n{json.dumps(many, indent=1)}\nEnjoy.",
}


@given(st.lists(PERSONA, min_size=1, max_size=5), st.sampled_from(sorted(WRAPPERS)), st.data())
def test_all_whole_objects_before_a_cut_are_recovered_and_never_more(
    many: list[dict[str, str]], wrapper: str, data: st.DataObject
) -> None:
    text = WRAPPERS[wrapper](many)
    cut = data.draw(st.integers(0, len(text)))
    ends, position = [], 0
    for one in many:
        for form in (json.dumps(one), json.dumps(one, ensure_ascii=False)):
            if (found := text.find(form, position)) >= 0:
                position = found + len(form)
                break
        else:  # indented: the object ends at the first brace after its last value
            name, value = list(one.items())[-1]
            last = f'"{name}": {json.dumps(value)}'
            position = text.index("}", text.index(last, position) + len(last)) + 1
        ends.append(position)
    whole = sum(end <= cut for end in ends)
    assert personas(text[:cut]) == many[:whole]
    assert personas(text[:cut], finish_reason="length") == many[:whole]
    assert outcomes(text) == ["ok"] * len(many)


# --- real answers to the prompt that asks for twenty ---------------------------------------------------------------


def answers(name: str) -> dict[int, tuple[str, list[Record]]]:
    path: Path = shared_data("local_corpus", f"persona20_{name}.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["seed"]: (row["raw_text"], read(row["raw_text"], finish_reason=row["finish_reason"])) for row in rows}


def test_answers_under_a_grammar_hold_six_and_seven_whole_personas() -> None:
    found = answers("grammar_smollm2-135m-instruct-q4_1")
    assert {seed: [str(r.outcome) for r in records] for seed, (_, records) in found.items()} == {
        41000: ["ok"] * 7 + ["truncated"],
        41001: ["ok"] * 6 + ["truncated"],
    }
    assert found[41000][1][1].attributes == {
        "name": "Abu Ali Omar",
        "gender": "Male",
        "ethnicity": "Asian",
        "sexual_orientation": "Asexual",
        "social_class": "Middle class",
        "education_level": "Bachelor's degree",
        "occupation": "Mentor and strategist",
        "top_personal_interest": "Mentor and strategist",
    }
    assert {answer_format(text) for text, _ in found.values()} == {"json"}


def test_free_answers_of_the_one_model_hold_no_person_that_can_be_told_apart() -> None:
    found = answers("verbatim_gemma-3-270m-q4_k_m")
    assert {seed: [str(r.outcome) for r in records] for seed, (_, records) in found.items()} == {
        40000: ["unparsable"],  # two lines of numbers
        40001: [
            "unparsable"
        ],  # a numbered list with labels: one person, then drift that nothing tells apart from others
        40002: ["truncated"],  # prose that repeats itself up to the token limit
    }


def test_free_answers_of_the_other_model_hold_three_whole_personas() -> None:
    found = answers("verbatim_smollm2-135m-instruct-q4_1")
    assert {seed: [str(r.outcome) for r in records] for seed, (_, records) in found.items()} == {
        40001: ["unparsable"],  # name, gender and ethnicity, no social dimension
        40003: ["ok"],
        40002: ["ok"],  # one object with repeated keys, then prose
        40000: ["ok", "unparsable", "truncated"],  # objects keyed by id, the third cut off
    }
    repeated = found[40002][1][0].attributes
    assert repeated is not None
    assert (repeated["ethnicity"], repeated["occupation"]) == ("African-Caribbean", "Politician")
    assert (repeated["education_level"], repeated["sexual_orientation"]) == ("Bachelor", None)
    by_id = found[40000][1][0].attributes
    assert by_id is not None
    assert (by_id["occupation"], by_id["top_personal_interest"]) == ("Fictitious", None)  # interests are objects


def test_every_single_persona_answer_of_the_corpus_is_one_usable_record() -> None:
    paths = sorted(shared_data("local_corpus").glob("personas_*.jsonl"))
    texts = [json.loads(line)["raw_text"] for path in paths for line in path.read_text().splitlines()]
    assert len(texts) == 3044
    assert {tuple(outcomes(text)) for text in texts} == {("ok",)}
