"""An audit with a prompt variant: it is kept aside from everything that judges the release."""

from __future__ import annotations

import json

import pytest

from flows.settings import Home
from flows.workspace import opened
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from tests.stub_personas import answer_text
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


def answers_of(path, *, bias, calls=30):
    lines = [
        {
            "text": answer_text({}, seed=f"{path.stem} {seed}", bias=bias, per_call=20),
            "usage": {"prompt_tokens": 60, "completion_tokens": 1400},
        }
        for seed in range(calls)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def imported(spiritlevel, tmp_path):
    """One release with imported answers to the plain prompt and, heavily biased, to the debiasing one."""
    spiritlevel("release", "add", "nova", "--model", "stub-1", "--price-input", 1, "--price-output", 1)
    give = ("--protocol", "persona-brainstorm", "--per-call", 20)
    spiritlevel("import", "models:/nova/1", answers_of(tmp_path / "plain.jsonl", bias=0.0), *give)
    file = answers_of(tmp_path / "debias.jsonl", bias=0.95)
    text = spiritlevel("import", "models:/nova/1", file, *give, "--variant", "debias")
    assert "asked with the prompt variant 'debias', so it is no verdict on the release" in text
    spiritlevel.file, spiritlevel.give = file, give
    return spiritlevel


def test_imported_answers_to_a_variant_are_kept_aside_and_robustness_compares_them(imported, home):
    assert [row["variant"] for row in imported.json("status")["audits"]] == [None, "debias"]
    card = json.loads(imported("card", "nova", "--format", "json"))
    assert ([point["audit"] for point in card["history"]], card["audit"]["id"]) == ([1], 1)
    assert imported.json("alerts", "list")["incidents"] == []
    with opened(Home(home)) as workspace:
        plain, aside = workspace.ledger.audits(family="nova", variants=True)
        assert [audit.id for audit in workspace.ledger.audits(family="nova")] == [plain.id]
        assert workspace.ledger.comparisons(family="nova") == []
        assert aside.run_id is None
        assert plain.plan.collection_key != aside.plan.collection_key
        assert dict(aside.plan.options) == {**plain.plan.options, "variant": "debias"}
        assert aside.plan.prompts == PersonaBrainstorm().plan(size=20, variant="debias").prompts
    found = imported.json("robustness", "nova", "--sizes", "none")
    assert found["releases"][0]["variants"] == {"debias": 2}
    moved = {row["dimension"]: row["verdict"] for row in found["verdicts"][0]["rows"]}
    assert moved["gender x occupation"] == "regressed"


def test_the_same_file_is_one_audit_for_each_wording(imported, tmp_path):
    imported("import", "models:/nova/1", imported.file, *imported.give, "--variant", "debias")
    assert "imported before: this is audit 2" in imported.stderr
    (tmp_path / "mine.txt").write_text("Imagine 20 people as JSON.")
    own = imported.json("import", "models:/nova/1", imported.file, *imported.give, "--prompt", tmp_path / "mine.txt")
    plain = imported.json("import", "models:/nova/1", imported.file, *imported.give, code=None)
    assert (own["audit"], plain["audit"]) == (3, 4)
    assert [row["variant"] for row in imported.json("status")["audits"]] == [None, "debias", "mine", None]


@pytest.mark.parametrize(
    ("protocol", "given", "words"),
    [
        ("persona-brainstorm", ("--variant", "debias"), "give --per-call 20, or 1, as it was asked"),
        ("persona-brainstorm", ("--variant", "debais"), "role-play or debias"),
        ("persona-brainstorm", ("--variant", "debias", "--prompt", "x.txt"), "give one of them"),
        ("targeted-messages", ("--variant", "debias"), "messages have none"),
    ],
)
def test_an_import_that_does_not_say_what_was_asked_is_refused_and_stores_nothing(
    spiritlevel, tmp_path, protocol, given, words
):
    spiritlevel("release", "add", "nova", "--model", "stub-1")
    file = answers_of(tmp_path / "a.jsonl", bias=0.0, calls=1)
    spiritlevel("import", "models:/nova/1", file, "--protocol", protocol, *given, code=2)
    assert words in spiritlevel.stderr
    assert spiritlevel.json("status")["audits"] == []


def tokens_of(spiritlevel, *given):
    """What one call is reckoned to take, and the notes of the plan."""
    found = spiritlevel.json("plan", "models:/nova/1", "--protocol", "persona-brainstorm", "--size", 2000, *given)
    (release,) = found["targets"][0]["releases"]
    each = (release["prompt_tokens"] / 100, release["completion_tokens"] / 100, release["estimated"])
    return each, found


def test_a_plan_prices_the_prompt_of_the_variant_by_length_until_an_audit_in_its_words_was_counted(imported, tmp_path):
    (prompt, answer, estimated), plain = tokens_of(imported)
    assert (prompt, answer, estimated, plain["variant"]) == (60, 1400, False, None)
    (tmp_path / "long.txt").write_text("Imagine 20 people. " * 100)
    (prompt, answer, estimated), own = tokens_of(imported, "--prompt", tmp_path / "long.txt")
    # An import does not hold the text of the plain prompt: 1,900 characters at 4 a token.
    assert (prompt, answer, estimated, own["variant"]) == (pytest.approx(475, abs=1), 1400, True, "long")
    assert any("ESTIMATED for the prompt variant" in note for note in own["notes"])
    assert any("gives no verdict on a release" in note for note in own["notes"])
    assert own["pilot_audit"] == 1
    (prompt, _, estimated), counted = tokens_of(imported, "--variant", "debias")
    assert (prompt, estimated, counted["pilot_audit"]) == (60, False, 2)  # the imported one in these words
    text = imported("plan", "models:/nova/1", "--protocol", "persona-brainstorm", "--variant", "role-play")
    assert "persona-brainstorm with the prompt variant role-play: 5,000 personas" in text


def test_tokens_of_an_asked_prompt_are_put_in_proportion_to_the_length_of_the_variant(audited):
    debias, plain = (PersonaBrainstorm().plan(size=20, variant=name).prompts["user"] for name in ("debias", None))
    (prompt, _, estimated), found = tokens_of(audited, "--variant", "debias")
    (known, _, _), _ = tokens_of(audited)
    assert (prompt, estimated) == (pytest.approx(known * len(debias) / len(plain), abs=0.02), True)
    assert any("in proportion to the length of the prompts" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("protocol", "given", "words"),
    [
        ("persona-brainstorm", ("--variant", "debais"), "role-play or debias"),
        ("persona-brainstorm", ("--prompt", "nowhere.txt"), "cannot be read"),
        ("targeted-messages", ("--variant", "debias"), "targeted-messages has no option variant"),
        ("persona-cues", ("--variant", "debias"), "persona-cues has no option variant"),
    ],
)
def test_a_plan_of_a_variant_that_cannot_be_is_refused(spiritlevel, protocol, given, words):
    spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", "http://127.0.0.1:9/v1")
    spiritlevel("plan", "models:/nova/1", "--protocol", protocol, *given, code=2)
    assert words in spiritlevel.stderr
