"""The audit of persona cues from the command line: asked, read in batches, scored, compared; against a stub that answers yes or no."""

from __future__ import annotations

import shutil

import pytest

from flows.cli import exit_code
from flows.settings import Home
from flows.workspace import opened
from tests.conftest import _OWN, PUBLISHED, UNPUBLISHED
from tests.stub_server import StubServer

MENTIONS = ("--cue", "explicit-mention-user", "--cue", "explicit-mention-system")
ORDER = ("--protocol", "persona-cues", "--task", "benefits-advice", "--axis", "gender", "--samples", 1)
SIZE = ("--questions", 20, "--variants", 3)


@pytest.fixture(scope="module")
def registered(migrated_home, tmp_path_factory, stub):
    """A home with two releases, registered once: MLflow takes a second for both."""
    made = tmp_path_factory.mktemp("registered") / "home"
    shutil.copytree(migrated_home, made)
    with pytest.MonkeyPatch.context() as patch:
        for name in _OWN:
            patch.delenv(name, raising=False)
        for model in ("stub-1", "stub-2"):
            added = ("release", "add", "nova", "--model", model, "--base-url", stub.base_url, "--home", str(made))
            assert exit_code(list(added)) == 0
    return made


@pytest.fixture
def releases(home, registered):
    """Two releases in the home of the test."""
    shutil.rmtree(home)
    shutil.copytree(registered, home)


@pytest.fixture(scope="module")
def stub():
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.95}) as server:
        yield server


def audited(spiritlevel, version, *options, code=None):
    return spiritlevel.json("audit", f"models:/nova/{version}", *ORDER, *options, code=code)


def test_a_release_that_says_no_to_women_regresses_when_two_cues_show_it(spiritlevel, stub, releases):
    audited(spiritlevel, 1, *MENTIONS, *SIZE)
    asked = stub.calls
    made = audited(spiritlevel, 2, *MENTIONS, *SIZE, code=1)
    assert stub.calls - asked == made["channels"]["expected"] == 20 * (1 + 2 * 3 * 3)
    verdicts = {row["dimension"]: row["verdict"] for row in made["comparisons"]}
    assert verdicts == {
        f"benefits-advice x gender, explicit-mention-{place}": "regressed" for place in ("system", "user")
    }
    rows = {(row["metric"], row["dimension"], row["group"]): row for row in made["scores"]}
    gap = rows["gap", "benefits-advice x gender, explicit-mention-user", "female - male"]
    assert gap["high"] < 0
    parts = {"task": "benefits-advice", "axis": "gender", "cue": "explicit-mention-user", "persona": "female - male"}
    assert parts.items() <= gap.items()
    assert gap["qvalue"] < 0.05
    assert gap["method"].startswith("difference of means")
    assert (gap["n"], gap["n_clusters"]) == (2 * 20 * 3, 20)
    assert rows["cues-showing-a-difference", "benefits-advice x gender", ""]["value"] == 2
    again = audited(spiritlevel, 2, *MENTIONS, *SIZE, code=1)
    assert again["audit"] == made["audit"]
    assert stub.calls - asked == made["channels"]["expected"]
    assert "persona" in spiritlevel("card", "nova", "--protocol", "persona-cues")
    spiritlevel("gate", "models:/nova/2", "--protocol", "persona-cues", code=1)


def test_a_gap_that_one_cue_alone_shows_is_cue_specific_and_alerts_nobody(spiritlevel, stub, releases):
    cues = ("--cue", "explicit-mention-user", "--cue", "name-user")
    audited(spiritlevel, 1, *cues, *SIZE)
    made = audited(spiritlevel, 2, *cues, *SIZE, code=3)
    rows = {row["dimension"]: row for row in made["comparisons"]}
    row = rows["benefits-advice x gender, explicit-mention-user"]
    assert row["verdict"] == "inconclusive"
    assert row["why"].startswith("cue-specific: the gap grew under explicit-mention-user")
    assert row["delta"] > 0.3


def test_a_plan_says_what_is_there_less_often_than_wanted_and_how_often_a_judge_is_called(spiritlevel, stub, releases):
    (spiritlevel.home / "spiritlevel.toml").write_text(UNPUBLISHED + '[judge]\nrelease = "models:/nova/1"\n')
    wanted = ("--protocol", "persona-cues", "--task", "issue-writing", "--axis", "gender", "--cue", "history-human")
    (size,) = spiritlevel.json("plan", "models:/nova/1", *wanted, "--questions", 100, "--variants", 60, "--samples", 1)
    told = "\n".join(size["notes"])
    assert "fewer questions are there than the 100 wanted, and all of them are asked: issue-writing 40" in told
    assert "fewer variants are there than the 60 wanted, and all of them are asked: history-human" in told
    assert f"besides, models:/nova/1 rates each different text: up to {size['calls']:,} calls" in told


def test_a_budget_that_ends_an_audit_names_the_whole_command_that_goes_on(spiritlevel, stub, releases):
    options = (*MENTIONS, "--questions", 20, "--variants", 2, "--budget-tokens", 2000)
    spiritlevel("audit", "models:/nova/1", *ORDER, *options, code=3)
    begun = (
        "Continue with 'spiritlevel audit models:/nova/1 --protocol persona-cues --task benefits-advice --axis gender"
    )
    assert (
        f"{begun} --cue explicit-mention-user --cue explicit-mention-system', and a larger budget" in spiritlevel.stderr
    )
    made = spiritlevel.json("audit", "models:/nova/1", *ORDER[:-2], *MENTIONS, code=None)
    assert (made["audit"], made["channels"]["expected"]) == (1, 20 * (1 + 2 * 3 * 2))


def test_a_release_that_refuses_one_persona_more_often_does_not_pass_the_gate(spiritlevel):
    with StubServer(models={"stub-1": 0.0}, refuses=" female") as server:
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url)
        audited(spiritlevel, 1, "--cue", "explicit-mention-user", *SIZE)
    gate = spiritlevel.json("gate", "models:/nova/1", "--protocol", "persona-cues", "--threshold", 50, code=3)
    (check,) = [one for one in gate["checks"] if one["kind"] == "threshold"]
    assert check["outcome"] == "undecided"
    assert "% of those asked for female and 100 % for " in check["why"]


def test_answers_of_personas_cannot_be_imported_and_that_is_one_sentence(spiritlevel, stub, releases, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "Yes"}\n')
    spiritlevel("import", "models:/nova/1", tmp_path / "a.jsonl", "--protocol", "persona-cues", code=2)
    assert "answers of persona-cues cannot be imported" in spiritlevel.stderr


def test_answers_are_read_once_and_their_values_kept(spiritlevel, stub, releases, monkeypatch):
    audited(spiritlevel, 1, "--cue", "name-user", "--questions", 4, "--variants", 2)
    (spiritlevel.home / "spiritlevel.toml").write_text(UNPUBLISHED + "[policy]\nalpha = 0.01\n")

    def refuse(*_, **__):
        raise AssertionError("an answer was read again")

    monkeypatch.setattr("registry.audits.protocols.persona_cues.PersonaCues.values", refuse)
    spiritlevel("card", "nova", "--protocol", "persona-cues")


def test_scores_reach_mlflow_under_names_of_task_axis_and_cue(spiritlevel, stub, releases):
    from mlflow import MlflowClient

    (spiritlevel.home / "spiritlevel.toml").write_text(PUBLISHED)
    made = audited(spiritlevel, 1, "--cue", "name-user", "--questions", 6, "--variants", 3)
    with opened(Home(spiritlevel.home)) as workspace:
        run_id, uri = workspace.ledger.audit(made["audit"]).run_id, workspace.home.tracking_uri
    client = MlflowClient(uri)
    metrics = client.get_run(run_id).data.metrics
    assert any(name.startswith("persona-cues/benefits-advice/gender-name-user/") for name in metrics), sorted(metrics)[
        :9
    ]
    files = {file.path for place in ("", "tables") for file in client.list_artifacts(run_id, place)}
    assert {"tables/fillers.json", "tables/outcomes.json", "tables/replication.json"} <= files


def test_a_plan_says_which_difference_it_shows_by_assumption_and_later_by_an_audit_of_the_family(
    spiritlevel, stub, releases
):
    cues = ("--cue", "name-user", "--questions", 6, "--variants", 3)
    (first,) = spiritlevel.json("plan", "models:/nova/1", *ORDER, *cues)
    assert first["reach"]["pilot"] is None
    assert "ASSUMED" in first["reach"]["source"]
    assert [row["basis"] for row in first["reach"]["rows"]] == ["variants differ little", "variants differ much"]
    sizes = {(one["questions"], one["variants"]): one["shows"] for one in first["reach"]["others"]}
    assert sizes[20, 5] > sizes[20, 20] > sizes[100, 20]
    made = audited(spiritlevel, 1, *cues)
    (later,) = spiritlevel.json("plan", "models:/nova/2", *ORDER, "--cue", "name-user", "--variants", 10)
    assert later["reach"]["pilot"] == made["audit"]
    (row,) = later["reach"]["rows"]
    assert (row["unit"], row["personas"], row["questions"], row["variants"]) == ("percentage points", 3, 40, 10)
    assert 0 < row["shows"] == row["shows_alone"]
    tiny = spiritlevel("plan", "models:/nova/1", *ORDER, "--cue", "name-user", "--questions", 2, "--variants", 2)
    assert "shown with 80 % power" in tiny
    assert "nothing: answers cannot differ so much" in tiny
    assert "a verdict on a change needs 20 questions of a task, and this design asks fewer: benefits-advice 2" in tiny


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--cue", "name-usr"), "did you mean 'name-user'"), (("--axis", "height"), "no persona axis is named 'height'"),
     (("--file", "benefits-advice"), "--file is NAME=PATH"), (("--file", "benefits-advice=nowhere.toml"), "nowhere.toml"),
     (("--task", "issue-writing"), "rated by a judge, and none is configured"), (("--cells", 4), "has no option cells")],
)  # fmt: skip
def test_what_cannot_be_asked_is_one_clear_error_before_any_call(spiritlevel, stub, releases, options, words):
    before = stub.calls
    spiritlevel("audit", "models:/nova/1", *ORDER, *options, code=2)
    assert words in spiritlevel.stderr
    assert stub.calls == before


def test_a_question_file_with_an_id_twice_or_without_polarity_is_refused(spiritlevel, stub, releases, tmp_path):
    head = 'title = "Mine"\ntask = "benefits-advice"\nversion = "1"\n'
    one = '[[question]]\nid = "a"\ntopic = "x"\nreverse = false\ntext = "May I apply?"\n'
    for body, words in (
        (one + one.replace("apply", "ask"), "is there twice"),
        (one.replace("reverse = false\n", ""), "polarity is missing"),
    ):
        path = tmp_path / "mine.toml"
        path.write_text(head + body)
        spiritlevel("audit", "models:/nova/1", *ORDER, "--file", f"benefits-advice={path}", code=2)
        assert words in spiritlevel.stderr
