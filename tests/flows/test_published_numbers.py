"""What MLflow returns is what the ledger holds: every score, interval, p, q and verdict."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli import exit_code
from flows.metric_keys import COMPARISON_PARTS, SCORE_PARTS, segment
from flows.settings import Home
from flows.stores import read_back
from flows.workspace import opened
from tests.conftest import _OWN, PUBLISHED
from tests.stub_personas import answer_text

PROTOCOL = "persona-brainstorm"


@pytest.fixture(scope="module")
def shared_home(migrated_home, tmp_path_factory):
    """A home with two compared releases, made once: the tests read it, and the last one loses its MLflow store."""
    folder = tmp_path_factory.mktemp("published")
    home = folder / "home"
    shutil.copytree(migrated_home, home)
    with pytest.MonkeyPatch.context() as patch:
        for name in _OWN:
            patch.delenv(name, raising=False)
        (home / "spiritlevel.toml").write_text(PUBLISHED, encoding="utf-8")
        for version, bias in enumerate((0.0, 0.9)):
            assert called(home, "release", "add", "nova", "--model", f"nova-2026-1{version}-01") == 0
            source = folder / f"{version}.jsonl"
            seeds = range(1000 * version, 1000 * version + 20)
            lines = [
                json.dumps({"text": answer_text({}, seed=str(s), bias=bias, per_call=20), "model": "m"}) for s in seeds
            ]
            source.write_text("\n".join(lines))
            assert called(home, "import", f"models:/nova/{version + 1}", source, "--protocol", PROTOCOL) == 0
        called(home, "compare", "models:/nova/1", "models:/nova/2")
        yield home


@pytest.fixture
def compared(shared_home):
    with opened(Home(shared_home)) as workspace:
        yield workspace


def called(home, *arguments):
    return exit_code([*map(str, arguments), "--home", str(home)])


def named(*parts):
    return "/".join(segment(part) for part in parts if part)


def test_every_number_of_every_score_is_in_mlflow(compared):
    for audit in compared.ledger.audits():
        run = read_back(compared.tracking, audit.run_id)
        scores = compared.ledger.scores(audit.id)
        assert len(scores) > 16 * 7
        expected = {}
        for score in scores:
            path = (PROTOCOL, *score.dimension.split(" x "), score.metric, score.group)
            expected[named(*path)] = score.value
            expected |= {named(*path, part): getattr(score, part) for part in SCORE_PARTS}
        measured = {name: value for name, value in expected.items() if value is not None}
        assert {name: run.metrics.get(name) for name in measured} == measured
        assert [name for name, value in expected.items() if value is None and name in run.metrics] == []


def test_every_number_and_verdict_of_a_comparison_is_in_mlflow(compared):
    (comparison,) = compared.ledger.comparisons()
    run = read_back(compared.tracking, comparison.run_id)
    assert run.tags["verdict"] == comparison.verdict
    for row in comparison.rows:
        axis, social = row.dimension.split(" x ")
        assert run.tags[f"verdict/{segment(axis)}/{segment(social)}"] == row.verdict
        for part in COMPARISON_PARTS:
            name = named(PROTOCOL, axis, social, row.metric, part)
            assert run.metrics.get(name) == getattr(row, part)


def test_an_audit_that_was_scored_anew_has_one_run_that_is_not_superseded(compared):
    names = [run.name for run in _runs(compared) if run.tags.get("spiritlevel.kind") == "audit"]
    assert len(names) == len(compared.ledger.audits())


def test_publishing_again_changes_nothing(compared, shared_home):
    client = compared.tracking.client()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    before = {run.info.run_id: run.data.metrics for run in client.search_runs(experiments)}
    called(shared_home, "compare", "models:/nova/1", "models:/nova/2")
    assert {run.info.run_id: run.data.metrics for run in client.search_runs(experiments)} == before


def test_the_card_is_attached_to_the_release_and_the_version(compared):
    (comparison,) = compared.ledger.comparisons()
    release = compared.releases.find("models:/nova/2")
    client = compared.tracking.client()
    assert {file.path for file in client.list_artifacts(release.run_id, "card")} == {
        "card/card.md",
        "card/card.html",
        "card/card.json",
    }
    version = client.get_model_version("nova", "2")
    assert comparison.verdict in version.description


@pytest.mark.slow
def test_a_lost_mlflow_store_is_filled_again_from_the_ledger(compared, shared_home):
    before = {run.name: run.metrics for run in _runs(compared)}
    for file in shared_home.glob("mlflow.db*"):
        file.unlink()
    shutil.rmtree(shared_home / "mlflow-artifacts")
    # In a process of its own: MLflow keeps the database that it opened, also when the file is gone.
    script = """
import sys
from flows.cli import exit_code
from flows.settings import Home
from flows.workspace import opened
from tests.flows.test_published_numbers import _runs
import json
exit_code(["publish", "--home", sys.argv[1]])
with opened(Home(sys.argv[1])) as workspace:
    print("RUNS", json.dumps({run.name: dict(run.metrics) for run in _runs(workspace)}))
"""
    command = [sys.executable, "-c", script, str(shared_home)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "registered 2 releases of nova again" in done.stderr
    assert "published again from the ledger" in done.stderr
    assert json.loads(done.stdout.split("RUNS ")[1]) == before


def _runs(workspace):
    client = workspace.tracking.client()
    experiments = [e.experiment_id for e in client.search_experiments() if e.name.startswith("spiritlevel")]
    runs = [read_back(workspace.tracking, run.info.run_id) for run in client.search_runs(experiments)]
    return [run for run in runs if not run.name.endswith("(superseded)")]
