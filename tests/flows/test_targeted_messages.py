"""The audit of targeted messages from the command line: asked, scored, compared, imported; against a stub that writes them."""

from __future__ import annotations

import csv
import json
import random

import pytest

from tests.conftest import UNPUBLISHED
from tests.stub_server import StubServer

ORDER = ("--protocol", "targeted-messages", "--cells", 184, "--repeats", 1)
SMALL = ("--protocol", "targeted-messages", "--audience", "gender", "--cells", 24, "--repeats", 2)
CERTAINTY = "gender x modal certainty, context-rich"


@pytest.fixture(scope="module")
def stub():
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.95}) as server:
        yield server


def releases(spiritlevel, stub):
    for model in ("stub-1", "stub-2"):
        spiritlevel("release", "add", "nova", "--model", model, "--base-url", stub.base_url)


def test_a_release_that_writes_to_women_in_other_words_regresses_and_the_same_command_asks_nothing_more(
    spiritlevel, stub
):
    releases(spiritlevel, stub)
    spiritlevel("audit", "models:/nova/1", *ORDER, code=None)
    asked = stub.calls
    made = spiritlevel.json("audit", "models:/nova/2", *ORDER, code=1)
    assert stub.calls - asked == made["channels"]["expected"] == 16 * 10 + 21 * 8
    verdicts = {row["dimension"]: row["verdict"] for row in made["comparisons"]}
    assert len(verdicts) == 24
    assert verdicts[CERTAINTY] == "regressed"
    assert not [name for name, verdict in verdicts.items() if verdict == "regressed" and name.startswith("age group")]
    metrics = {row["metric"] for row in made["scores"]}
    assert {row["dimension"] for row in made["scores"] if row["metric"] == "sentiment-by-theme"}
    for name in ("agency-framing", "modal-certainty", "imperative-mood", "persuasion-bias-index"):
        assert {name, f"{name}-paper"} <= metrics
    again = spiritlevel.json("audit", "models:/nova/2", *ORDER, code=1)
    assert again["audit"] == made["audit"]
    assert stub.calls - asked == made["channels"]["expected"]
    compared = spiritlevel.json("compare", "models:/nova/2", "--against", "previous", code=1)
    assert compared["verdict"] == "regressed"
    card = spiritlevel("card", "nova", "--protocol", "targeted-messages")
    assert "messages" in card
    assert "personas" not in card
    spiritlevel("gate", "models:/nova/2", "--protocol", "targeted-messages", code=1)


def test_what_was_measured_of_each_message_is_kept_and_nothing_is_tagged_again(spiritlevel, stub, monkeypatch):
    monkeypatch.setattr("flows.commands.progress._SILENT_S", 0.0)
    releases(spiritlevel, stub)
    for version in (1, 2):
        spiritlevel("audit", f"models:/nova/{version}", *SMALL, code=None)
        assert " messages measured, " in spiritlevel.stderr
    (spiritlevel.home / "spiritlevel.toml").write_text(UNPUBLISHED + "[policy]\nalpha = 0.01\n")

    def refuse(*_, **__):
        raise AssertionError("a message was tagged again")

    monkeypatch.setattr("metrics.message_measures.tagged", refuse)
    assert spiritlevel.json("compare", "models:/nova/2", "--against", "previous", code=None)["policy"]["alpha"] == 0.01


@pytest.mark.usefixtures("publishing")
def test_scores_reach_mlflow_under_names_of_audience_measure_and_mode(spiritlevel, stub):
    from mlflow import MlflowClient

    from flows.settings import Home
    from flows.workspace import opened

    releases(spiritlevel, stub)
    made = spiritlevel.json("audit", "models:/nova/1", *SMALL, code=None)
    with opened(Home(spiritlevel.home)) as workspace:
        run_id = workspace.ledger.audit(made["audit"]).run_id
        client = MlflowClient(workspace.home.tracking_uri)
    run = client.get_run(run_id)
    wanted = "targeted-messages/gender/modal-certainty-context-rich/normalized-gap-debiased"
    assert wanted in run.data.metrics
    names = {file.path for place in ("", "tables") for file in client.list_artifacts(run_id, place)}
    assert any("words-gender-context-rich" in name for name in names), names


COLUMNS = ("--protocol", "targeted-messages", "--group", "gender", "--cell", "topic")


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.csv"
    draw = random.Random(5)
    strong, soft = "We must lead and act now to win.", "Perhaps you could wait, and hope for help."
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["body", "sex", "topic", "model"])
        for model, bias in (("old", 0.0), ("new", 0.3)):
            for topic in range(30):
                for sex in ("F", "M") * 4:
                    share = 0.5 + (bias if sex == "M" else -bias)
                    rows.writerow(
                        [" ".join(strong if draw.random() < share else soft for _ in range(3)), sex, topic, model]
                    )
    return path


def test_a_corpus_of_ones_own_is_audited_without_a_call(spiritlevel, corpus):
    columns = ("--protocol", "targeted-messages", "--text", "body", "--group", "gender=sex", "--cell", "topic")
    for model in ("old", "new"):
        spiritlevel("release", "add", "nova", "--model", model, "--base-url", "http://127.0.0.1:9/v1")
    for version, model in ((1, "old"), (2, "new")):
        made = spiritlevel.json(
            "import", f"models:/nova/{version}", corpus, *columns, "--only", f"model={model}", code=None
        )
        assert made["channels"]["usable"] == 240
    compared = spiritlevel.json("compare", "models:/nova/2", "--against", "previous", code=1)
    found = {row["dimension"]: row for row in compared["comparisons"]}
    assert found[CERTAINTY]["verdict"] == "regressed"
    assert found[CERTAINTY]["clusters_current"] == 30
    spiritlevel("import", "models:/nova/2", corpus, *columns, "--only", "model=new", code=None)
    assert "was imported before" in spiritlevel.stderr
    signs = {
        (one["dimension"], one["groups"]): one
        for one in spiritlevel.json("directions", "models:/nova/1", "models:/nova/2")
    }
    found = signs[CERTAINTY, "M - F"]
    assert [row["sign"] for row in found["rows"]][1] == "+"
    assert found["smallest_pvalue"] == 0.5
    assert "models:/nova/2" in spiritlevel("directions", "models:/nova/1", "models:/nova/2", "--paper")
    spiritlevel("directions", "models:/nova/1", code=2)
    assert "at least two releases" in spiritlevel.stderr


def test_tables_that_call_their_groups_otherwise_are_compared_when_they_are_renamed(spiritlevel, tmp_path):
    tables = []
    for version, (women, men) in enumerate((("female", "male"), ("F", "M")), 1):
        spiritlevel("release", "add", "nova", "--model", f"m-{version}", "--base-url", "http://127.0.0.1:9/v1")
        rows = [{"text": "You must lead and win.", "gender": (women, men)[i % 2], "topic": i // 2} for i in range(40)]
        tables.append(tmp_path / f"{version}.jsonl")
        tables[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
        spiritlevel("import", f"models:/nova/{version}", tables[-1], *COLUMNS, code=None)
    told = spiritlevel.json("compare", "models:/nova/2", "--against", "previous", code=3)["why"]
    assert told.startswith(
        "audits 1 and 2 asked different things: groups of gender (female, male and F, M); import both"
    )
    called = ("--rename", "gender:F=female", "--rename", "gender:M=male")
    assert spiritlevel.json("import", "models:/nova/2", tables[1], *COLUMNS, *called, code=None)["audit"] == 3
    compared = spiritlevel.json("compare", "models:/nova/2", "--against", "previous", code=None)
    assert {row["dimension"]: row for row in compared["comparisons"]}["gender x imperative mood, context-rich"]


def imported(spiritlevel, tmp_path, rows, version=1, code=None):
    path = tmp_path / f"rows-{version}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    spiritlevel("release", "add", "odd", "--model", f"m-{version}", "--base-url", "http://127.0.0.1:9/v1")
    columns = ("--protocol", "targeted-messages", "--group", "group", "--cell", "cell")
    return spiritlevel.json("import", f"models:/odd/{version}", path, *columns, code=code)


def test_which_group_is_subtracted_does_not_hang_on_the_order_of_rows(spiritlevel, tmp_path):
    spiritlevel("release", "add", "nova", "--model", "nova-1")
    spiritlevel("release", "add", "nova", "--model", "nova-2")
    texts = {"F": "Perhaps you could wait.", "M": "You must act now."}
    found = []
    for version, order in enumerate(("FM", "MF"), 1):
        path = tmp_path / f"{order}.jsonl"
        rows = [{"text": texts[sex], "sex": sex, "topic": topic} for topic in range(6) for sex in order]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        columns = ("--protocol", "targeted-messages", "--group", "sex", "--cell", "topic")
        made = spiritlevel.json("import", f"models:/nova/{version}", path, *columns, code=None)
        found.append({row["group"]: row["value"] for row in made["scores"] if row["metric"] == "modal-certainty"})
    assert found[0] == found[1]
    assert found[0]["M - F"] == 2


def test_a_release_that_refuses_one_group_is_not_measurable_and_says_for_whom(spiritlevel, tmp_path):
    refused, text = (
        "I'm sorry, but I can't help with that request.",
        "Act now, and lead the change with us. You may help.",
    )
    rows = [
        {"text": refused if group == "F" else text, "group": group, "cell": f"c{n % 8}"}
        for n in range(40)
        for group in "FM"
    ]
    made = imported(spiritlevel, tmp_path, rows, code=3)
    scores = {row["dimension"]: row for row in made["scores"] if row["metric"] == "normalized-gap-debiased"}
    assert len(scores) == 6
    assert {row["reason"] for row in scores.values()} == {"there is no usable message to F"}
    assert (made["channels"]["usable"], made["channels"]["expected"]) == (40, 80)
    spiritlevel("card", "odd", "--protocol", "targeted-messages")
    spiritlevel("export", "models:/odd/1", "--records", tmp_path / "records.csv")
    with (tmp_path / "records.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert len(written) == 80
    assert {row["reason"] for row in written if row["group"] == "F"} == {"the answer declines"}
    assert all(row["modal-certainty"] for row in written if row["group"] == "M")


def test_messages_without_any_text_are_counted_and_block_nothing(spiritlevel, tmp_path):
    nothing = [{"text": "", "group": group, "cell": "c"} for group in "FM" * 20]
    made = imported(spiritlevel, tmp_path, nothing, code=3)
    assert made["channels"]["outcomes"] == {"empty": 1.0}
    spiritlevel("card", "odd", "--protocol", "targeted-messages")


def test_hostile_texts_and_group_names_are_data(spiritlevel, tmp_path):
    script = "<script>alert(1)</script>"
    odd = [
        "\u0000",
        "\ud800",
        "\U0001f600" * 30,
        "x" * 600,
        f"{script} You must act now.",
        "\u202eact now, you will win",
        "# a [b](c) d e",
    ]
    rows = [
        {
            "text": f"{odd[n % len(odd)]} Please act, and you may win number {n % 5}.",
            "group": group,
            "cell": f"c{n % 6}",
        }
        for n in range(42)
        for group in (script, "a - b", "c")
    ]
    made = imported(spiritlevel, tmp_path, rows, code=0)
    assert made["channels"]["expected"] == 126
    page = spiritlevel("card", "odd", "--protocol", "targeted-messages", "--format", "html")
    assert script not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "say which column has them, such as --group gender"),
        (("--group", "sex"), "has no column 'text'"),
        (("--text", "body", "--group", "sex", "--only", "model=newest"), "no row with model = 'newest'"),
        (("--text", "body", "--group", "sex", "--only", "model"), "--only takes COLUMN=VALUE"),
        (("--text", "body", "--group", "mode=sex"), "is none of"),
        (("--text", "body", "--group", "model", "--only", "model=old"), "model has 1 group (old)"),
        (
            ("--text", "body", "--group", "sex", "--mode-column", "topic"),
            "a mode is standalone or context-rich, not '0'",
        ),
        (("--text", "body", "--group", "sex", "--per-call", 20), "--per-call is for personas"),
        (
            ("--text", "body", "--group", "sex", "--rename", "sex:f=female"),
            "sex has no group 'f' to rename; it has F, M",
        ),
        (("--text", "body", "--group", "sex", "--rename", "F=female"), "--rename takes ATTRIBUTE:GROUP=NAME"),
        (("--text", "body", "--group", "sex", "--rename", "age:F=female"), "groups of 'age' cannot be renamed"),
    ],
)
def test_a_table_that_cannot_be_read_is_one_sentence(spiritlevel, corpus, options, told):
    spiritlevel("release", "add", "nova", "--model", "old", "--base-url", "http://127.0.0.1:9/v1")
    spiritlevel("import", "models:/nova/1", corpus, "--protocol", "targeted-messages", *options, code=2)
    assert told in spiritlevel.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--protocol", "targeted-messages", "--domain", "climat"), "did you mean 'climate'"),
        (("--protocol", "targeted-messages", "--audience", "sex"), "no audience is named 'sex'"),
        (("--protocol", "targeted-messages", "--mode", "rich"), "unknown mode 'rich'"),
        (("--protocol", "targeted-messages", "--cells", 3), "at least 24 "),
        (("--protocol", "targeted-messages", "--per-call", 20), "targeted-messages has no option per-call"),
        (
            ("--protocol", "persona-brainstorm", "--cells", 30),
            "persona-brainstorm has no option cells; it has per-call",
        ),
    ],
)
def test_an_impossible_order_is_one_sentence(spiritlevel, options, told):
    spiritlevel("release", "add", "nova", "--model", "old", "--base-url", "http://127.0.0.1:9/v1")
    spiritlevel("audit", "models:/nova/1", *options, code=2)
    assert told in spiritlevel.stderr


def test_lexicons_are_listed_and_added_and_change_what_is_scored(spiritlevel, tmp_path, corpus):
    listed = {one["name"]: one for one in spiritlevel.json("lexicon", "list")}
    assert listed["agency"]["classes"]["high"] > 600
    own = tmp_path / "own.toml"
    words = 'classes = { high = ["lead", "act", "win"], low = ["wait", "hope"] }\n'
    head = 'name = "own"\ntitle = "own"\nsource = "a test"\nlicence = "CC0-1.0"\nversion = "1"\nunit = "lemma"\n'
    own.write_text(head + words)
    added = spiritlevel.json("lexicon", "add", "file", own)
    assert added["classes"] == {"high": 3, "low": 2}
    columns = ("--text", "body", "--group", "gender=sex", "--cell", "topic", "--only", "model=new")
    spiritlevel("release", "add", "nova", "--model", "new", "--base-url", "http://127.0.0.1:9/v1")
    order = ("import", "models:/nova/1", corpus, "--protocol", "targeted-messages", *columns)
    before = spiritlevel.json(*order, code=None)["scoring_version"]
    (spiritlevel.home / "spiritlevel.toml").write_text(UNPUBLISHED + '[messages]\nagency = "own"\n')
    assert spiritlevel.json(*order, code=None)["scoring_version"] != before
    own.write_text(head + words.replace('"hope"', '"lead"'))
    spiritlevel("lexicon", "add", "file", own, code=2)
    assert "lead" in spiritlevel.stderr
    spiritlevel("lexicon", "add", "connotation-frames", corpus, code=2)
    spiritlevel("lexicon", "add", "nrc", own, code=2)
    assert "connotation-frames or as file, not as 'nrc'" in spiritlevel.stderr


def test_a_schedule_may_say_what_is_written_about_and_to_whom(spiritlevel):
    text = {
        "families": {
            "nova": {
                "audits": [
                    {
                        "protocol": "targeted-messages",
                        "every": "7d",
                        "options": {"domain": "public-health", "audiences": ["income"], "cells": 60, "repeats": 2},
                    }
                ]
            }
        }
    }
    (spiritlevel.home / "spiritlevel.yaml").write_text(json.dumps(text))
    assert [line["protocol"] for line in spiritlevel.json("schedule")["audits"]] == ["targeted-messages"]
