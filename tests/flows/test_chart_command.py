"""``spiritlevel chart``: which files it writes, that their numbers are the ledger's, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dashboards.charts.catalog import KINDS
from flows.cli import exit_code
from flows.scoring import scores_of
from flows.settings import Home
from flows.workspace import opened
from tests.planted import planted_family

JOB = "gender x occupation"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two audited releases of ``nova``, some answers of which are hostile."""
    folder = tmp_path_factory.mktemp("charts") / "home"
    planted_family(folder, releases=2, hostile=True)
    return folder


def chart(home: Path, *arguments: str) -> int:
    return exit_code(["chart", *arguments, "--home", str(home)])


def test_all_that_apply_are_written_as_picture_and_as_data(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chart(home, "nova", "--out", str(tmp_path / "new" / "charts"), "--dimension", JOB, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    stems = {Path(path).stem for path in answer["written"]}
    assert stems == {
        "scores", "evolution-gender-x-occupation", "radar", "significance", "severities", "coverage", "shares-gender-x-occupation",
        "concentration",
    }  # fmt: skip
    assert answer["not_drawn"] == []
    for path in map(Path, answer["written"]):
        text = path.read_text(encoding="utf-8")
        assert "<script" not in text or path.suffix != ".svg"
        assert json.loads(text)["rows"] if path.suffix == ".json" else text.startswith("<svg") or path.suffix == ".csv"


def test_the_numbers_of_a_chart_are_those_of_the_ledger(home: Path, tmp_path: Path) -> None:
    assert chart(home, "scores", "models:/nova/2", "--out", str(tmp_path)) == 0
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["dimension"]: row for row in csv.DictReader(file) if row["release"] == "models:/nova/2"}
    with opened(Home(home)) as workspace:
        occasion = workspace.ledger.occasions(family="nova", protocol="persona-brainstorm")[-1]
        scores = scores_of(workspace, workspace.ledger.audit(occasion.id))
    kept = {score.dimension: score for score in scores if score.metric == "normalized-cramers-v-debiased"}
    assert kept.keys() == rows.keys()
    for name, score in kept.items():
        assert rows[name]["value"] == ("" if score.value is None else repr(score.value))
        assert rows[name]["n"] == str(score.n)


def test_the_charts_are_listed_with_a_line_each(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert chart(home, "--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*KINDS]


def test_one_that_cannot_be_drawn_says_why_and_leaves_with_3(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chart(home, "odds", "nova", "--out", str(tmp_path)) == 3
    assert (
        "not drawn: Odds of words by category of nova, release 2: this audit has no odds ratios"
        in capsys.readouterr().out
    )
    assert chart(home, "prompts", "nova", "--out", str(tmp_path)) == 3
    assert "it was asked with no prompt variant that can be compared, and not twice" in capsys.readouterr().out
    assert chart(home, "agreement", "nova", "--out", str(tmp_path)) == 3
    assert "no release was asked with a prompt variant" in capsys.readouterr().out
    assert chart(home, "evolution", "models:/nova/1", "--out", str(tmp_path), "--dimension", "overall") == 3
    assert "a line needs at least 2 audits" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("arguments", "words"), [
    (["radar", "--out", "x"], "name a family or a release"),
    (["pie", "nova", "--out", "x"], "unknown chart 'pie'; known: scores, evolution"),
    (["radar", "nova"], "give one with --out FOLDER"),
    (["radar", "nova", "--out", "x", "--dimension", "tea"], "has no dimension 'tea' here; known: overall, name x social class"),
    (["radar", "vega", "--out", "x"], "vega"),
    (["radar", "nova", "--out", "file"], "cannot be made a folder"),
])  # fmt: skip
def test_bad_input_is_one_sentence_and_2(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("a file")
    assert chart(home, *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert words in error
    assert error.count("\n") == 1
