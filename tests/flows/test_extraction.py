"""``extraction``: descriptions whose labels are known, read as prose; some of them lie."""

from __future__ import annotations

import json

import pytest

PEOPLE = [
    ("Ana Ruiz", "Female", "Latina", "Lesbian", "Nurse", "Hiking", "She is a Latina lesbian who works as a nurse."),
    ("Bo Chen", "Male", "Chinese", "Gay", "Plumber", "Chess", "He is a Chinese man who works as a plumber."),
    ("Sam Lee", "Non-binary", "Korean", "Bisexual", "Teacher", "Pottery", "Sam Lee is a Korean non-binary teacher."),
]


@pytest.fixture
def described(spiritlevel, tmp_path):
    """A release whose descriptions say what the labels say, but for every tenth, whose job is another one."""
    spiritlevel("release", "add", "nova", "--model", "nova-2026-10-01")
    lines = []
    for at in range(90):
        name, gender, ethnicity, orientation, job, interest, text = PEOPLE[at % 3]
        if at % 10 == 0:
            text = text.replace("nurse", "lawyer").replace("plumber", "lawyer").replace("teacher", "lawyer")
        person = {
            "name": name, "gender": gender, "ethnicity": ethnicity, "sexual orientation": orientation, "social class": "Middle class",
            "education level": "Bachelor's degree", "occupation": job, "top personal interest": interest, "description": f"{text} =1+1",
        }  # fmt: skip
        lines.append(json.dumps({"text": json.dumps(person), "model": "nova-2026-10-01"}))
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    spiritlevel("import", "models:/nova/1", path, "--protocol", "persona-descriptions", "--per-call", 1, code=None)
    return path


def test_the_errors_are_those_that_were_planted(spiritlevel, described, tmp_path):
    told = spiritlevel.json("extraction", "models:/nova/1", "--errors", tmp_path / "otherwise.jsonl")
    by_name = {one["attribute"]: one for one in told["attributes"]}
    job = by_name["occupation"]
    assert (told["personas"], told["described"]) == (90, 90)
    assert (job["precision"]["hits"], job["precision"]["n"], job["wrong"], job["missed"]) == (81, 90, 9, 0)
    assert job["precision"]["low"] < 0.9 < job["precision"]["high"]
    assert by_name["gender"]["precision"]["share"] == 1
    assert by_name["sexual_orientation"]["recall"]["hits"] == 30  # of ninety, only one of three descriptions says it
    assert by_name["social_class"]["precision"]["share"] is None  # no description says it: that is not nought
    assert by_name["sexual_orientation"]["pvalue"] < 1e-6  # and which one is no matter of chance
    wrong = [json.loads(line) for line in (tmp_path / "otherwise.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(one["attribute"], one["read"], one["read_category"]) for one in wrong} == {
        ("occupation", "lawyer", "Law & Public Service")
    } | {("occupation", "Korean non-binary lawyer", "Law & Public Service")}
    assert len(wrong) == told["disagreements"] == 9
    printed = spiritlevel("extraction", "models:/nova/1")
    assert "90.0 %" in printed
    assert "of 90 " in printed
    assert "no label" in printed
    assert "sexual orientation: groups are not read equally well" in printed
    assert "lesbian: 100.0 %" in printed


def test_what_cannot_be_measured_is_one_sentence(spiritlevel, tmp_path):
    spiritlevel("release", "add", "nova", "--model", "nova-2026-10-01")
    spiritlevel("extraction", "models:/nova/1", code=2)
    assert "has no finished persona-descriptions audit" in spiritlevel.stderr
    spiritlevel("extraction", "models:/nova/1", "--protocol", "persona-brainstorm", code=2)
    assert "asks for no description beside the labels" in spiritlevel.stderr
    spiritlevel("extraction", "models:/nova/1", "--errors", tmp_path / "no" / "such" / "folder.jsonl", code=2)
