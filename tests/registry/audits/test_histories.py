"""Conversations as a cue: the own format, the stand-ins, and the two published sets, in small files of the published form."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.errors import BadInputError
from registry.audits.histories import (
    LONGEST_TURN,
    MOST_TURNS,
    OWN,
    History,
    HistorySet,
    checked_turns,
    own_histories,
    read_histories,
)
from registry.audits.history_sources import histories_from, persona_mem_histories, prism_histories
from registry.audits.personas import load_attribute, load_axis

TURNS = [{"role": "user", "content": "Which bread keeps longest?"}, {"role": "assistant", "content": "Rye."}]
LINE = {"id": "a", "persona": {"gender": "female", "age": "18-34", "race-ethnicity": "asian"}, "turns": TURNS}
ATTRIBUTES = {name: load_attribute(name) for name in ("gender", "age", "race-ethnicity")}


def written(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def said(*texts):
    turns = [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]
    return History(id="a", persona={}, turns=tuple(turns))


# ---------------------------------------------------------------- the own format


def test_a_file_in_the_own_format_is_read_with_where_it_comes_from(tmp_path):
    about = {"about": {"title": "a pilot", "source": "a test", "licence": "CC0"}}
    found = read_histories(written(tmp_path / "own.jsonl", about, LINE, LINE | {"id": "b"}))
    assert (found.title, found.source, len(found.histories)) == ("a pilot", "a test", 2)
    assert found.histories[0].turns == tuple(TURNS)
    assert found.attributes == {"gender", "age", "race-ethnicity"}
    assert histories_from(tmp_path / "own.jsonl").version == found.version


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"turns": TURNS[:1]}, "line 1: turns is a list of 2 to"),
        ({"turns": TURNS + TURNS[:1]}, "line 1: the last turn should be the assistant's"),
        ({"turns": TURNS[::-1]}, "line 1, turn 1: expected the role 'user', found 'assistant'"),
        ({"turns": [*TURNS, {"role": "system", "content": "x"}, TURNS[1]]}, "turn 3: expected the role 'user', found 'system'"),
        ({"turns": [TURNS[0], {"role": "assistant", "content": ""}]}, "line 1, turn 2 should be a text"),
        ({"turns": [TURNS[0], {"role": "assistant", "content": "x" * (LONGEST_TURN + 1)}]}, "line 1, turn 2 should be a text"),
        ({"turns": [TURNS[0], {"role": "assistant", "content": "a\u202eb"}]}, "turn 2 has the control character"),
        ({"turns": [{"role": "user", "content": "x" * 9000}, TURNS[1]] * 7}, "at most 60,000 characters"),
        ({"turns": TURNS * (MOST_TURNS // 2 + 1)}, "a list of 2 to"),
        ({"turns": ["hello", "hi"]}, "expected the role 'user', found None"),
        ({"persona": {"gender": "woman"}}, "gender is one of female, male, non-binary, not 'woman'"),
        ({"persona": {}}, "persona names attributes"),
        ({"persona": {"gender": 1}}, "should be a text"),
        ({"id": ""}, "line 1: id should be a text"),
        ({"mood": "good"}, "unknown field 'mood'"),
        ({"axis": ""}, "axis should be a text"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_conversation_is_refused_with_its_number(tmp_path, change, expected):
    with pytest.raises(BadInputError, match=expected):
        read_histories(written(tmp_path / "own.jsonl", LINE | change))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no conversation that can be used"),
        ("[1]\n", "line 1: expected a JSON object"),
        ("{\n", "a line is no JSON object"),
        ("[" * 100_000, "no JSON object"),
        (json.dumps(LINE) + "\n" + json.dumps(LINE), "the id 'a' is there twice"),
        (json.dumps({"about": {"mood": "x"}}), "about has title, source and licence"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, text, expected):
    path = tmp_path / "own.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=expected):
        read_histories(path)
    with pytest.raises(BadInputError, match="cannot be read"):
        read_histories(tmp_path / "none.jsonl")


# ---------------------------------------------------------------- what it says outright


@pytest.mark.parametrize(
    ("text", "attribute", "found"),
    [
        ("As a woman, can I", "gender", ["woman"]),
        ("What do women and men earn?", "gender", ["men", "women"]),
        ("I manage the mental arithmetic in Manchester", "gender", []),
        ("I am Non-Binary!", "gender", ["non binary"]),
        ("I\u2019m 41 and tired", "age", ["i'm #"]),
        ("my 9-year-old daughter", "age", ["# year old"]),
        ("I am 5 minutes late", "age", ["i am #"]),
        ("version 34 of the page", "age", []),
        ("black coffee, please", "race-ethnicity", ["black"]),
        ("a blackberry from the Asia shop", "race-ethnicity", []),
        ("I am\nAfrican American.", "race-ethnicity", ["african american"]),
    ],
)
def test_what_varies_is_found_in_whole_words(text, attribute, found):
    assert said(text, "Hm.").mentions([ATTRIBUTES[attribute]]) == found
    assert said("Hi.", text).mentions([ATTRIBUTES[attribute]]) == found


def test_a_phrase_does_not_reach_from_one_turn_into_the_next():
    assert said("That is all I am", "41 of them").mentions([ATTRIBUTES["age"]]) == []


@given(st.lists(st.text(max_size=40), min_size=2, max_size=2), st.sampled_from(sorted(ATTRIBUTES)))
def test_adding_a_turn_never_hides_what_was_said(texts, name):
    less = said(*texts).mentions([ATTRIBUTES[name]])
    assert set(less) <= set(said(*texts, "And then?", "Nothing.").mentions([ATTRIBUTES[name]]))


def test_a_conversation_that_says_outright_what_varies_is_not_taken_for_that_axis():
    values = {"gender": "female", "age": "18-34"}
    plain, outright = said("Hello", "Hi."), said("I am a woman", "Hi.")
    both = HistorySet(
        tuple(History(id=name, persona=values, turns=one.turns) for name, one in (("p", plain), ("o", outright))),
        "t",
        "s",
    )
    assert [one.id for one in both.chosen(values, [ATTRIBUTES["gender"]], 0)] == ["p"]
    assert {one.id for one in both.chosen(values, [ATTRIBUTES["age"]], 0)} == {"p", "o"}


@given(st.integers(0, 500))
def test_conversations_of_different_people_come_before_a_second_one_of_the_same(seed):
    writers = ["ada", "ada", "ada", "bob", "bob", "eve", "", ""]
    turns = tuple(TURNS)
    mixed = [History(id=str(n), persona={}, turns=turns, writer=writer) for n, writer in enumerate(writers)]
    taken = [one.writer or one.id for one in HistorySet(tuple(mixed), "t", "s").chosen({}, [], seed)]
    assert set(taken[:5]) == {"ada", "bob", "eve", "6", "7"}
    assert set(taken[5:7]) == {"ada", "bob"}


def test_a_conversation_written_for_one_axis_serves_it_and_its_combinations_alone(tmp_path):
    found = read_histories(written(tmp_path / "own.jsonl", LINE | {"axis": "gender"}, LINE | {"id": "b"}))

    def served(*names):
        return {one.id for one in found.chosen({"gender": "female"}, [ATTRIBUTES[name] for name in names], 0)}

    assert served("gender") == served("gender", "age") == {"a", "b"}
    assert served("age") == {"b"}


# ---------------------------------------------------------------- the stand-ins


@pytest.mark.parametrize("cue", OWN)
def test_there_are_five_stand_ins_for_each_persona_at_the_papers_held_values_and_none_says_outright_who_asks(cue):
    found = own_histories(cue)
    cells = Counter(tuple(sorted(one.persona.items())) for one in found.histories)
    expected = Counter(
        tuple(sorted({**persona.values, **held}.items()))
        for name in ATTRIBUTES
        for persona in load_axis(name).personas
        for held in load_axis(name).held
    )
    assert cells == expected
    assert len(found.histories) == 50
    assert [one.id for one in found.histories if one.mentions(ATTRIBUTES.values())] == []
    assert {len(one.turns) for one in found.histories} == {4, 6}
    assert max(one.characters for one in found.histories) < 1200


@pytest.mark.parametrize("cue", OWN)
def test_the_stand_ins_are_labelled_as_written_and_not_collected(cue):
    assert own_histories(cue).source.startswith("written for spiritlevel; stand-ins, not collected from people")
    assert all(one.id.startswith(OWN[cue].split(".")[0]) for one in own_histories(cue).histories)


def test_the_two_kinds_of_stand_ins_differ_in_register():
    # People type without capitals at the beginning and in fewer words; models write out.
    human, llm = (own_histories(cue).histories for cue in OWN)
    first = [sum(one.turns[0]["content"][0].isupper() for one in kind) / len(kind) for kind in (human, llm)]
    words = [sum(len(t["content"].split()) for one in kind for t in one.turns[::2]) for kind in (human, llm)]
    assert first[0] < 0.2 < first[1] == 1
    assert words[0] < words[1]
    assert not {one.turns[0]["content"] for one in human} & {one.turns[0]["content"] for one in llm}


# ---------------------------------------------------------------- published folders


def test_a_published_set_is_found_in_its_folder_and_in_the_whole_repository(tmp_path):
    for place, written_by, loader in (
        ("data", prism_folder, prism_histories),
        ("data/raw_data", persona_file, persona_mem_histories),
    ):
        repository = tmp_path / place.replace("/", "-")
        inner = repository / place
        inner.mkdir(parents=True)
        found = loader(written_by(inner))
        assert histories_from(repository).version == histories_from(inner).version == found.version


# ---------------------------------------------------------------- PRISM


def prism_folder(path, conversations=None, **answers):
    person = {"user_id": "user0", "gender": "Female", "age": "25-34 years old", "ethnicity": {"simplified": "Asian"}}
    written(path / "survey.jsonl", person | answers)
    history = [
        {"turn": 0, "role": "user", "content": "Is rye healthy?", "if_chosen": None},
        {"turn": 0, "role": "model", "content": "No idea.", "model_name": "a", "score": 2, "if_chosen": False},
        {"turn": 0, "role": "model", "content": "Fairly.", "model_name": "b", "score": 90, "if_chosen": True},
        {"turn": 1, "role": "user", "content": "And oats?", "if_chosen": None},
        {"turn": 1, "role": "model", "content": "Also.", "model_name": "b", "score": 80, "if_chosen": True},
        {"turn": 1, "role": "model", "content": "Also.", "model_name": "b", "score": 80, "if_chosen": False},
    ]
    row = {
        "conversation_id": "c0",
        "user_id": "user0",
        "conversation_type": "unguided",
        "conversation_history": history,
    }
    written(path / "conversations.jsonl", *([row] if conversations is None else [row, *conversations(row)]))
    return path


def test_of_several_answers_in_prism_the_preferred_one_is_kept(tmp_path):
    found = prism_histories(prism_folder(tmp_path))
    assert [turn["content"] for turn in found.histories[0].turns] == [
        "Is rye healthy?",
        "Fairly.",
        "And oats?",
        "Also.",
    ]
    assert found.histories[0].persona == {"gender": "female", "age": "18-34", "race-ethnicity": "asian"}
    assert found.histories[0].writer == "user0"
    assert histories_from(tmp_path).histories == found.histories


def test_what_cannot_be_used_of_prism_is_counted_by_its_reason(tmp_path):
    def more(row):
        history = row["conversation_history"]
        yield row | {"conversation_id": "c1", "user_id": "nobody"}
        yield row | {"conversation_id": "c2", "conversation_history": [history[0], history[1], history[3], history[4]]}
        yield row | {
            "conversation_id": "c3",
            "conversation_history": [history[0] | {"content": "a\x00b"}, *history[1:]],
        }
        yield row | {"conversation_id": "c4", "conversation_history": [*history, history[3]]}
        yield row | {"conversation_id": "c5", "conversation_history": [history[0]]}

    found = prism_histories(prism_folder(tmp_path, more))
    assert [one.id for one in found.histories] == ["prism-c0", "prism-c4"]
    assert len(found.histories[1].turns) == 4  # the last question had no answer
    assert found.left_out == {
        "the survey has no answers of this person": 1,
        "a turn without a preferred answer": 1,
        "control characters": 1,
        "roles, number or length of turns": 1,
    }


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"gender": "Prefer not to say"}, "gender not told, or of no group of the axis: 1"),
        ({"ethnicity": {"simplified": "Mixed"}}, "race-ethnicity not told"),
        ({"age": "Prefer not to say", "gender": None}, "gender and age not told"),
    ],
)
def test_people_who_tell_too_little_are_left_out_and_an_empty_rest_is_refused(tmp_path, answers, expected):
    with pytest.raises(BadInputError, match=expected):
        prism_histories(prism_folder(tmp_path, **answers))


def test_a_field_that_prism_should_have_is_named(tmp_path):
    prism_folder(tmp_path)
    written(tmp_path / "survey.jsonl", {"user_id": "user0", "sex": "Female"})
    with pytest.raises(BadInputError, match=r"survey.jsonl, line 1: expected the field 'gender', found user_id, sex"):
        prism_histories(tmp_path)
    with pytest.raises(BadInputError, match=r"survey.jsonl cannot be read"):
        prism_histories(tmp_path / "nowhere")


# ---------------------------------------------------------------- PersonaMem-v2


def persona_file(path, name="raw_data_persona0.json", **fields):
    talk = [{"preference": "rye", "conversations": [*TURNS, {"role": "user", "content": "Thanks!"}], "who": "self"}]
    persona = {
        "name": "Ada Test", "age": 42, "gender": "Man", "race": "White (Western European descent)",
        "sensitive_information": {"ssn": "000-00-0000"}, "conversations": {"trouble_consult": talk, "translation": talk},
    }  # fmt: skip
    (path / name).write_text(json.dumps({"100": persona | fields}), encoding="utf-8")
    return path


def test_a_persona_of_personamem_is_read_with_the_answered_turns_and_nothing_else(tmp_path):
    found = persona_mem_histories(persona_file(tmp_path))
    one = found.histories[0]
    assert (one.id, one.turns) == ("raw_data_persona0-1", tuple(TURNS))
    assert one.persona == {"gender": "male", "age": "35-54", "race-ethnicity": "white"}
    assert "000-00-0000" not in repr(found)
    assert histories_from(tmp_path).histories == found.histories


@pytest.mark.parametrize(
    ("fields", "persona"),
    [
        ({"gender": "Human resources officer", "age": 42}, None),
        ({"gender": "Transgender woman", "age": 34}, ("female", "18-34")),
        ({"gender": "Genderfluid", "age": 80}, ("non-binary", "55+")),
        ({"age": 17}, None),
        ({"age": "42"}, None),
        ({"race": "Mixed: Black and White"}, None),
        ({"race": None, "racial_ethnic_identity": "Afro-Latina"}, ("male", "35-54")),
    ],
)
def test_groups_are_read_by_the_taxonomy_and_what_has_none_is_left_out(tmp_path, fields, persona):
    persona_file(persona_file(tmp_path), "second.json", **fields)
    found = persona_mem_histories(tmp_path)
    second = [(h.persona["gender"], h.persona["age"]) for h in found.histories if h.id.startswith("second")]
    assert second == ([] if persona is None else [persona])
    assert sum(found.left_out.values()) == (persona is None)


def test_a_persona_inside_another_key_is_found_as_in_some_of_the_files(tmp_path):
    persona_file(tmp_path)
    inner = json.loads((tmp_path / "raw_data_persona0.json").read_text(encoding="utf-8"))["100"]
    (tmp_path / "raw_data_persona0.json").write_text(json.dumps({"7": {"detailed_persona": inner}}), encoding="utf-8")
    assert len(persona_mem_histories(tmp_path).histories) == 1


def test_what_cannot_be_used_of_personamem_is_counted_by_its_reason(tmp_path):
    persona_file(tmp_path)
    pictures = [
        {"conversations": [{"role": "user", "content": [{"type": "image"}]}, TURNS[1]]},
        {"conversations": None},
    ]
    persona_file(tmp_path, "second.json", conversations={"trouble_consult": pictures})
    persona_file(tmp_path, "third.json", conversations={"translation": []})
    assert persona_mem_histories(tmp_path).left_out == {
        "a turn that is not text alone": 1,
        "no list of turns": 1,
        "no conversation of the kind trouble_consult": 1,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{", "cannot be read as JSON"), ("[]", "one persona under one key"), ('{"a": {}, "b": {}}', "one persona")],
)
def test_a_file_that_is_no_persona_is_refused(tmp_path, text, expected):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=expected):
        persona_mem_histories(tmp_path)
    with pytest.raises(BadInputError, match="expected a folder"):
        persona_mem_histories(tmp_path / "nowhere")


@given(st.lists(st.sampled_from(["user", "assistant", "system", "tool", None]), max_size=8))
def test_turns_are_taken_exactly_when_user_and_assistant_alternate_to_the_end(roles):
    turns = [{"role": role, "content": "x"} for role in roles]
    fine = bool(roles) and roles == ["user", "assistant"] * (len(roles) // 2)
    if fine:
        assert len(checked_turns(turns, "here")) == len(roles)
    else:
        with pytest.raises(BadInputError, match="here"):
            checked_turns(turns, "here")
