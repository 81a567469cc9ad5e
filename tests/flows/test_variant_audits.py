"""An audit with a prompt variant: it is kept aside from everything that judges the release."""

from __future__ import annotations

import json

import pytest

from tests.stub_server import StubServer

RELEASE, ORDER = "models:/nova/2", ("--protocol", "persona-brainstorm", "--personas", 400)


@pytest.fixture
def audited(spiritlevel):
    """Two releases audited with the plain prompt, and the second with two variants, of which one is biased."""
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.0}) as server:
        for number in (1, 2):
            spiritlevel("release", "add", "nova", "--model", f"stub-{number}", "--base-url", server.base_url)
            spiritlevel("audit", f"models:/nova/{number}", *ORDER, code=None)
        server.script.models["stub-2"] = 0.95
        spiritlevel("audit", RELEASE, *ORDER, "--variant", "role-play", code=None)
        spiritlevel.server = server
        yield spiritlevel


def test_a_variant_audit_is_scored_and_says_that_it_is_no_verdict(audited, tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("Brainstorm 20 user profiles as a JSON list.\n")
    text = audited("audit", RELEASE, *ORDER, "--prompt", file, code=None)
    assert "asked with the prompt variant 'mine', so it is no verdict on the release" in text
    last = audited.server.received[-1]
    assert last["messages"][-1]["content"] == "Brainstorm 20 user profiles as a JSON list."


def test_card_comparison_and_alerts_are_of_the_plain_prompt(audited):
    card = json.loads(audited("card", "nova", "--format", "json"))
    assert [point["audit"] for point in card["history"]] == [1, 2]
    assert card["audit"]["id"] == 2
    found = audited.json("compare", "models:/nova/1", RELEASE, code=None)
    assert found["verdict"] != "regressed"
    assert audited.json("alerts", "list")["incidents"] == []


def test_the_list_of_audits_names_the_variant_and_its_answers_are_exported_by_name(audited, tmp_path):
    rows = audited.json("status")["audits"]
    assert [row["variant"] for row in rows] == [None, None, "role-play"]
    assert rows[-1]["verdict"] is None
    audited("export", RELEASE, tmp_path / "plain.jsonl")
    audited("export", RELEASE, tmp_path / "role.jsonl", "--variant", "role-play")
    assert (tmp_path / "plain.jsonl").read_text() != (tmp_path / "role.jsonl").read_text()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--variant", "debais"), "role-play or debias"),
        (("--variant", "debias", "--prompt", "x.txt"), "give one of them"),
        (("--prompt", "nowhere.txt"), "cannot be read"),
    ],
)
def test_a_variant_that_cannot_be_is_refused_before_anything_is_asked(spiritlevel, given, words):
    spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", "http://127.0.0.1:9/v1")
    spiritlevel("audit", "models:/nova/1", *ORDER, *given, code=2)
    assert words in spiritlevel.stderr
