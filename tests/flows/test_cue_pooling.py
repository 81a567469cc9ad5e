"""``spiritlevel cues``: releases that were really audited, against a stub, put together as text, JSON and a page."""

from __future__ import annotations

import math
import shutil

import pytest

from flows.cli import exit_code
from flows.settings import Home
from flows.workspace import opened
from tests.conftest import UNPUBLISHED, CommandLine
from tests.dashboards.pages import page
from tests.stub_server import StubServer

ORDER = ("--protocol", "persona-cues", "--axis", "gender", "--samples", 1, "--variants", 3)
CUES = ("--cue", "explicit-mention-user", "--cue", "name-user")
ALL, UNASKED, OTHER = ("models:/nova/1", "models:/nova/2", "models:/vega/1"), "models:/nova/3", "models:/lyra/1"


@pytest.fixture(scope="module")
def stub():
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.95}) as server:
        yield server


@pytest.fixture(scope="module")
def audited(migrated_home, tmp_path_factory, stub):
    """A home with three releases that were asked the same; one more was asked something else, and one nothing.

    Women who say that they are women are told no by the second and third of them.
    """
    home = tmp_path_factory.mktemp("pooled") / "home"
    shutil.copytree(migrated_home, home)

    def run(*arguments):
        assert exit_code([*map(str, arguments), "--home", str(home)]) in {0, 1, 3}

    for family, model in (("nova", 1), ("nova", 2), ("nova", 3), ("vega", 2), ("lyra", 1)):
        run("release", "add", family, "--model", f"stub-{model}", "--base-url", stub.base_url)
    for name, questions in zip(ALL, (7, 7, 9), strict=True):
        run("audit", name, *ORDER, "--task", "benefits-advice", "--questions", questions, *CUES)
    run("audit", OTHER, *ORDER, "--task", "legal-advice", "--questions", 4, "--cue", "name-user")
    return home


@pytest.fixture
def command(audited, capsys):
    return CommandLine(audited, capsys)


def test_releases_are_put_together_with_counts_of_both_analyses_and_every_correlation(command, stub):
    asked = stub.calls
    found = command.json("cues", *ALL)
    assert stub.calls == asked
    assert [(row["release"], row["questions"]) for row in found["releases"]] == [(name, 7) for name in ALL]
    assert found["prompts_left_out"] == 2 * (1 + 2 * 3 * 3)
    counts = {row["cue"]: (row["found"], row["tested"]) for row in found["counts"]}
    assert counts["explicit-mention-user"] == (1, 1)
    assert counts["name-user"] == (0, 1)
    assert found["replication"][0]["label"] == "cue-specific"
    between = [row for row in found["correlations"]["releases"] if row["grouping"] == "overall"]
    assert [(row["first"], row["second"]) for row in between] == [
        ("nova/1", "nova/2"), ("nova/1", "vega/1"), ("nova/2", "vega/1")]  # fmt: skip
    assert {row["grouping"] for row in found["correlations"]["cues"]} == {"overall", "task", "persona", "release"}
    assert all((row["n"] and row["value"] is not None) or row["reason"] for row in found["correlations"]["cues"])
    assert all(score["n"] is not None and (score["value"] is not None or score["reason"]) for score in found["scores"])


def test_the_pooled_gap_is_the_mean_of_the_releases_gaps(command, audited):
    def gap(*arguments):
        rows = command.json("cues", *arguments)["scores"]
        title = "benefits-advice x gender, explicit-mention-user"
        return next(
            r["value"] for r in rows if (r["metric"], r["dimension"], r["group"]) == ("gap", title, "female - male")
        )

    with opened(Home(audited)) as workspace:
        own = [s.value for one in workspace.ledger.audits() if one.release.family == "nova" for s in workspace.ledger.scores(one.id)
               if (s.metric, s.group) == ("gap", "female - male") and s.dimension.endswith("gender, explicit-mention-user")]  # fmt: skip
    assert len(own) == 2
    assert gap(*ALL[:2]) == pytest.approx(math.fsum(own) / 2)
    assert gap(*ALL[:2], "--pool", "answers") == pytest.approx(math.fsum(own) / 2)  # as many answers of each


def test_families_are_correlated_and_named_families_stand_for_all_their_releases(command):
    found = command.json("cues", "nova", "vega", "--by", "family")
    assert [row["release"] for row in found["releases"]] == list(ALL)
    assert {(row["first"], row["second"]) for row in found["correlations"]["families"]} == {("nova", "vega")}
    assert {row["group"] for row in found["correlations"]["cues"] if row["grouping"] == "family"} == {"nova", "vega"}


def test_the_text_says_counts_correlations_and_sizes_and_the_details_say_all(command):
    text, details = command("cues", *ALL), command("cues", *ALL, "--details")
    assert "1: models:/nova/1, audit 1, " in text
    assert (
        "put together by release: each release counts the same; 38 prompts that not all were asked are left out" in text
    )
    assert "pairs of task and axis over all cues: 1, " in text
    assert "above female under explicit-mention-user" in text
    assert "Spearman between releases, over all tasks and personas" in text
    assert "more: --details prints all" in text
    assert "more: --details prints all" not in details
    assert max(len(line) for line in text.splitlines()) < 260


def test_the_page_stands_alone_with_the_figure_and_a_heat_map_of_everything_that_is_correlated(command, tmp_path):
    command("cues", *ALL, "--html", tmp_path / "cues.html")
    text = (tmp_path / "cues.html").read_text()
    document = page(text)
    assert not [e.tag for e in document.all() if e.tag in {"script", "link", "img", "iframe"}]
    assert "default-src 'none'" in text
    ids = [e.attributes["id"] for e in document.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    drawn = {e.attributes["aria-labelledby"].removesuffix("-title") for e in document.all("svg")}
    parts = ("between", "between-personas", "between-cues", "cues", "cues-personas", "cues-units")
    assert {"cue-answers", *(f"cue-pool-{part}" for part in parts)} <= drawn
    words = document.text
    assert "Persona cues over 3 releases" in words
    assert "nan" not in words.lower().split()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(ALL[:1], "at least two releases"), ((*ALL[:2], "--by", "family"), "at least two families"),
     ((*ALL, "--by", "house"), "--by should be release or family, not 'house'"),
     ((*ALL, "--pool", "tokens"), "--pool should be equal or answers, not 'tokens'"),
     ((*ALL, "--html", "nowhere/x.html"), "there is no folder nowhere"), ((*ALL, "--html", "/"), "is a folder")],
)  # fmt: skip
def test_what_cannot_be_put_together_or_written_is_one_clear_error(command, arguments, words):
    command("cues", *arguments, code=2)
    assert words in command.stderr
    assert command.stderr.count("\n") == 1


def test_a_release_without_an_audit_or_with_other_questions_is_left_out_with_the_reason(command):
    found = command.json("cues")  # all audited families
    assert [row["release"] for row in found["releases"]] == list(ALL)
    reasons = {row["release"]: row["reason"] for row in found["left_out"]}
    assert reasons[UNASKED].startswith("no finished persona-cues audit; run 'spiritlevel audit models:/nova/3")
    assert reasons[OTHER] == (
        "audits 1 and 4 asked different things: prompts, cues (explicit-mention-user, name-user and name-user), "
        "tasks (benefits-advice and legal-advice)"
    )
    command("cues", ALL[0], UNASKED, OTHER, code=2)
    assert "of 3 releases named there is " in command.stderr
    assert reasons[UNASKED] in command.stderr


def test_an_audit_whose_answers_allow_no_judgement_is_left_out(command, audited):
    settings = audited / "spiritlevel.toml"
    settings.write_text(UNPUBLISHED + "[policy]\nfewest_clusters = 150\n")
    command("cues", *ALL, code=2)
    settings.write_text(UNPUBLISHED)
    assert "of 3 releases named there is models:/vega/1" in command.stderr
    assert command.stderr.count("only 133 requests gave usable records; 150 are needed") == 2
