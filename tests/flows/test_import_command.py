"""``import`` and ``export``: answers in and out, losslessly, and one clear sentence for what cannot be read."""

from __future__ import annotations

import csv
import json

import pandas as pd
import pytest

from registry.audits.brainstorm import PAPER, load_brainstorm
from registry.ledger.bundles import answers_from, lines_of
from tests.stub_personas import answer_text

PROTOCOL = ("--protocol", PAPER)
ATTRIBUTES = load_brainstorm(PAPER).attributes


@pytest.fixture
def release(spiritlevel):
    return spiritlevel.json("release", "add", "nova", "--model", "nova-2026-10-01")["release"]


def write_lines(path, answers):
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
    return path


def answers(count=40):
    return [
        {
            "text": answer_text({}, seed=str(seed), bias=0.0, per_call=20),
            "model": "nova-2026-10-01",
            "finish_reason": "stop",
            "usage": {"prompt_tokens": 56, "completion_tokens": 1400, "total_tokens": 1456},
            "temperature": 1.0,
        }
        for seed in range(count)
    ]


def test_raw_answers_come_back_as_they_were_given(spiritlevel, release, tmp_path):
    odd = [
        {"text": "lone \ud83d surrogate and NUL \x00, <script>", "note": {"kept": [1, 2.5, None]}},
        {"text": None},
        {"text": ""},
        {"text": "I cannot help with that.", "refusal": "policy"},
    ]
    source = write_lines(tmp_path / "answers.jsonl", answers(3) + odd)
    result = spiritlevel.json("import", release, source, *PROTOCOL)
    spiritlevel("export", release, tmp_path / "back.jsonl")
    assert [json.loads(line) for line in (tmp_path / "back.jsonl").read_text().splitlines()] == answers(3) + odd
    assert result["source"] == "imported"
    assert list(lines_of(answers_from(source))) == list(lines_of(answers_from(tmp_path / "back.jsonl")))


def test_the_same_file_is_the_same_audit(spiritlevel, release, tmp_path):
    source = write_lines(tmp_path / "answers.jsonl", answers(5))
    first = spiritlevel.json("import", release, source, *PROTOCOL)
    second = spiritlevel.json("import", release, source, *PROTOCOL)
    assert first == second
    assert "imported before" in spiritlevel.stderr
    other = spiritlevel.json("import", release, write_lines(tmp_path / "b.jsonl", answers(6)), *PROTOCOL)
    assert other["occasion"] == 2


def test_persona_rows_are_grouped_by_their_call(spiritlevel, release, tmp_path):
    rows = [
        {
            "call": index // 4,
            **{name: f"{name} {index}" for name in ATTRIBUTES},
            "gender": "female" if index % 2 else "male",
        }
        for index in range(20)
    ]
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        result = spiritlevel.json("import", release, tmp_path / name, *PROTOCOL, code=3)
        assert result["channels"]["calls"] == 5
        assert result["channels"]["usable"] == 20


def test_records_are_exported_as_answered_and_as_categories(spiritlevel, release, tmp_path):
    lines = [*answers(2), {"text": "I'm sorry, but I can't help with that."}]
    spiritlevel("import", release, write_lines(tmp_path / "answers.jsonl", lines), *PROTOCOL)
    spiritlevel("export", release, "--records", tmp_path / "records.csv")
    with (tmp_path / "records.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    head = ["request", "index", "outcome", "reason", *ATTRIBUTES, *(f"{name}_category" for name in ATTRIBUTES)]
    assert list(rows[0]) == head
    assert len(rows) == 41
    assert rows[0]["gender_category"] in {"female", "male", "non-binary"}
    assert (rows[40]["outcome"], rows[40]["gender"]) == ("refused", "")
    assert rows[40]["reason"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.jsonl", "", "no answers"),
        ("blank.jsonl", "\n\n", "no answers"),
        ("broken.jsonl", '{"text": "a"}\n{"text": ', "line 2 of broken.jsonl"),
        ("keys.jsonl", '{"answer": "a"}\n', "'answer'"),
        ("number.jsonl", '{"text": 5}\n', "should be a string"),
        ("list.jsonl", "[1]\n", '"text"'),
        ("rows.csv", "call,name,gender\n1,A,F\n", "no ethnicity"),
        ("nothing.csv", "", "no answers"),
        ("binary.csv", "\x00\x01\x02", "columns"),
        ("bad.parquet", "PAR1 nothing", "cannot be read"),
        ("answers.xlsx", "x", "should be .jsonl, .csv or .parquet"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence_and_nothing_is_stored(
    spiritlevel, release, tmp_path, name, content, says
):
    (tmp_path / name).write_text(content, encoding="utf-8")
    spiritlevel("import", release, tmp_path / name, *PROTOCOL, code=2)
    assert says in spiritlevel.stderr
    assert len(spiritlevel.stderr.strip().splitlines()) == 1
    assert spiritlevel.json("status")["audits"] == []


def test_a_file_that_is_not_there_and_a_protocol_that_is_not_known_are_one_sentence(spiritlevel, release, tmp_path):
    spiritlevel("import", release, tmp_path / "nothing.jsonl", *PROTOCOL, code=2)
    assert "there is no file" in spiritlevel.stderr
    source = write_lines(tmp_path / "answers.jsonl", answers(1))
    spiritlevel("import", release, source, "--protocol", "persona-brainstrom", code=2)
    assert "did you mean 'persona-brainstorm'" in spiritlevel.stderr


def test_only_refusals_are_not_measurable_and_never_zero(spiritlevel, tmp_path, release):
    spiritlevel("import", release, write_lines(tmp_path / "a.jsonl", answers(30)), *PROTOCOL)
    second = spiritlevel.json("release", "add", "nova", "--model", "nova-2026-11-01")["release"]
    refusals = [{"text": "I'm sorry, but I can't assist with that request."}] * 30
    spiritlevel("import", second, write_lines(tmp_path / "b.jsonl", refusals), *PROTOCOL, code=3)
    result = spiritlevel.json("compare", release, second, code=3)
    assert result["verdict"] == "not measurable"
    assert result["channels"]["current"]["outcomes"] == {"refused": 1.0}
    assert {row["current"] for row in result["comparisons"]} == {None}


def test_the_same_answers_in_fences_are_a_format_change_and_no_bias_change(spiritlevel, tmp_path, release):
    spiritlevel("import", release, write_lines(tmp_path / "a.jsonl", answers(60)), *PROTOCOL)
    second = spiritlevel.json("release", "add", "nova", "--model", "nova-2026-11-01")["release"]
    wrapped = [answer | {"text": f"```json\n{answer['text']}\n```"} for answer in answers(60)]
    spiritlevel("import", second, write_lines(tmp_path / "b.jsonl", wrapped), *PROTOCOL)
    result = spiritlevel.json("compare", release, second, code=None)
    assert result["channels"]["previous"]["format"] == {"json": 60}
    assert result["channels"]["current"]["format"] == {"fenced": 60}
    deltas = [row["delta"] for row in result["comparisons"] if row["delta"] is not None]
    assert deltas == pytest.approx([0.0] * len(deltas), abs=1e-12)
    assert result["verdict"] not in {"regressed", "improved"}
