"""A home whose results all wait to be published, made once and copied: each copy has a family and a ledger of its own."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

import pytest
import sqlalchemy as sa

from flows.cli import exit_code
from flows.settings import Home
from flows.workspace import Workspace, opened
from registry.ledger.publications import Publication
from registry.ledger.tables import metadata
from tests.conftest import _OWN
from tests.mlflow_stores import migrated
from tests.stub_personas import answer_text

PROTOCOL = "persona-brainstorm"
KEPT = ("normalized-cramers-v-debiased", "mean-normalized-cramers-v-debiased", "noise-floor", "design-effect")
BESIDE = ("coverage", "duplicate-rate", "personas", "dimensions-regressed", "dimensions-improved")
"""Numbers of a release run that are no scores."""

EXPERIMENTS = ("spiritlevel/releases", "spiritlevel/comparisons", "spiritlevel/timeline")


def made(migrated_home: Path, folder: Path, answers: int = 30) -> Path:
    """A home with two compared releases of a family, beside an empty store."""
    home = folder / "template"
    shutil.copytree(migrated_home, home)
    with pytest.MonkeyPatch.context() as patch:
        for name in _OWN:
            patch.delenv(name, raising=False)
        for version, bias in enumerate((0.0, 0.9)):
            assert _called(home, "release", "add", "nova", "--model", f"nova-2026-1{version}-01") == 0
            source = folder / f"{version}.jsonl"
            seeds = range(1000 * version, 1000 * version + answers)
            lines = [
                json.dumps({"text": answer_text({}, seed=str(s), bias=bias, per_call=20), "model": "m"}) for s in seeds
            ]
            source.write_text("\n".join(lines), encoding="utf-8")
            assert _called(home, "import", f"models:/nova/{version + 1}", source, "--protocol", PROTOCOL) == 0
        _called(home, "compare", "models:/nova/1", "models:/nova/2")
    for file in home.glob("mlflow.db*"):
        file.unlink()
    migrated(home / "mlflow.db")
    shutil.rmtree(home / "mlflow-artifacts", ignore_errors=True)
    with opened(Home(home)) as workspace:
        # What a card needs is enough to see what arrives, and MLflow takes it in a tenth of the time of all scores.
        table = metadata.tables["scores"]
        with workspace.ledger.engine.begin() as connection:
            connection.execute(table.delete().where(table.c.metric.not_in(KEPT)))
        workspace.ledger.publish_again()
        workspace.ledger.set_fact("published_to", "")
    return home


def _called(home: Path, *arguments: object) -> int:
    return exit_code([*map(str, arguments), "--home", str(home)])


def copied(template: Path, home: Path, family: str) -> Path:
    """A copy of the home in which the family has another name and the ledger another identity."""
    shutil.copytree(template, home)
    with opened(Home(home)) as workspace, workspace.ledger.engine.begin() as connection:
        for table in metadata.sorted_tables:
            if "family" in table.columns:
                connection.execute(table.update().where(table.c.family == "nova").values(family=family))
        audits, facts = metadata.tables["audits"], metadata.tables["facts"]
        for row in connection.execute(sa.select(audits.c.id, audits.c.release)).all():
            release = row.release | {"family": family, "run_id": None}
            connection.execute(audits.update().where(audits.c.id == row.id).values(release=release))
        identity = uuid.uuid4().hex[:12]
        connection.execute(facts.update().where(facts.c.name == "identity").values(value=identity))
    return home


def runs_of(workspace: Workspace, family: str) -> dict[str, list[str]]:
    """Ids of the runs of a family in MLflow, by what they are: their key, or the release or family that they show."""
    client = workspace.tracking.client()
    found: dict[str, list[str]] = {}
    for name in EXPERIMENTS:
        for run in client.search_runs([workspace.tracking.experiment(name)], max_results=1000):
            tags = run.data.tags
            if tags.get("spiritlevel.family") != family and family not in run.info.run_name:
                continue
            keys = ("spiritlevel.audit_key", "spiritlevel.comparison_key", "spiritlevel.release")
            key = next((tags[key] for key in keys if key in tags), f"timeline {tags.get('spiritlevel.family')}")
            found.setdefault(key, []).append(run.info.run_id)
    return found


def points_of(database: str, runs: Iterable[str]) -> dict[str, list[tuple[str, int, int, float]]]:
    """Every point in MLflow's own table by run, as metric, step, time and value."""
    engine = sa.create_engine(database)
    query = sa.text("SELECT run_uuid, key, step, timestamp, value FROM metrics WHERE run_uuid IN :runs")
    with engine.connect() as connection:
        rows = connection.execute(query.bindparams(sa.bindparam("runs", list(runs), expanding=True))).all()
    engine.dispose()
    found: dict[str, list[tuple[str, int, int, float]]] = {run: [] for run in runs}
    for run, *point in rows:
        found[run].append(tuple(point))
    return found


def everything_is_there_once(workspace: Workspace, family: str, database: str | None = None) -> None:
    """Check that each thing of the family is in MLflow, complete, and only once.

    ``database`` is MLflow's own, when the workspace publishes to a server.
    """
    from flows.metric_keys import comparison_metrics, headline_metrics, score_metrics

    assert workspace.ledger.waiting_publications() == []
    runs = runs_of(workspace, family)
    doubled = {key: ids for key, ids in runs.items() if len(ids) != 1}
    assert not doubled, doubled
    identity = workspace.ledger.identity
    audits = workspace.ledger.audits(family=family)
    comparisons = workspace.ledger.comparisons(family=family)
    expected = {f"{identity}/{audit.id}/{audit.scoring_version}": audit.run_id for audit in audits}
    expected |= {f"{identity}/{comparison.id}": comparison.run_id for comparison in comparisons}
    assert {key: runs[key][0] for key in expected} == expected
    assert set(runs) == {*expected, f"timeline {family}", *(f"models:/{family}/{a.release.version}" for a in audits)}
    points = points_of(database or workspace.home.tracking_uri, [ids[0] for ids in runs.values()])
    wanted = {str(a.run_id): score_metrics(PROTOCOL, workspace.ledger.scores(a.id)) for a in audits}
    wanted |= {str(one.run_id): comparison_metrics(PROTOCOL, one.rows) for one in comparisons}
    for run, values in wanted.items():
        assert len({point[0] for point in points[run]}) == len(points[run])  # one point a metric
        assert {name: value for name, _, _, value in points[run] if "/channels/" not in name} == values
    for release in {audit.release.uri: audit.release for audit in audits}.values():
        own = [audit for audit in audits if audit.release.uri == release.uri]
        expected_points = sorted(
            (name, value)
            for audit in own
            for name, value in headline_metrics(PROTOCOL, workspace.ledger.scores(audit.id)).items()
        )
        shown = points[runs[release.uri][0]]
        beside = {f"{PROTOCOL}/{name}" for name in BESIDE}
        assert sorted((name, value) for name, _, _, value in shown if name not in beside) == expected_points
    line = points[runs[f"timeline {family}"][0]]
    versions = [value for name, _, _, value in line if name == f"{PROTOCOL}/release"]
    assert sorted(versions) == sorted(float(audit.release.version) for audit in audits)
    assert len({(name, at) for name, _, at, _ in line}) == len(line)
    registered = workspace.tracking.client().search_model_versions(f"name='{family}'")
    assert {int(version.version) for version in registered} == {audit.release.version for audit in audits}


def waiting(workspace: Workspace) -> list[Publication]:
    """What waits to be published."""
    return workspace.ledger.waiting_publications()
