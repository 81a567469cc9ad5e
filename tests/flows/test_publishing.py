"""The outbox to MLflow: everything arrives, once, whatever MLflow and the processes around it do."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

from flows import publishing
from flows.publishing import PATIENCE_S, Patience, StoreSlowError, publish_waiting
from flows.settings import Home
from flows.workspace import opened
from registry.ledger.ownership import Owner
from registry.ledger.tables import metadata
from registry.stores import HandedOverError
from tests.conftest import _OWN, PUBLISHED, CommandLine
from tests.mlflow_server import Line, free_port
from tests.waiting_ledger import copied, everything_is_there_once, runs_of, waiting

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def clean(monkeypatch):
    for name in _OWN:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def family():
    return f"nova-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def filled(waiting_template, tmp_path, family, clean):
    """A home of the test's own in which everything waits, and an empty store."""
    return copied(waiting_template, tmp_path / "filled", family)


@pytest.fixture
def workspace(filled):
    with opened(Home(filled)) as workspace:
        yield workspace


@pytest.fixture
def called(filled, capsys):
    return CommandLine(filled, capsys)


def kinds(rows):
    return [row.kind for row in rows]


# ---------------------------------------------------------------- once


def test_what_waits_is_published_in_order_and_once(workspace, family):
    told: list[str] = []
    report = publish_waiting(workspace, told.append)
    assert kinds(report.published) == ["audit", "audit", "comparison", "timeline", "card"]
    assert (report.waiting, report.busy, report.trouble) == (0, False, ())
    everything_is_there_once(workspace, family)
    before = runs_of(workspace, family)
    again = publish_waiting(workspace, told.append, everything=True)
    assert (again.published, again.waiting) == ((), 0)
    workspace.ledger.publish_again()
    assert len(publish_waiting(workspace, told.append).published) == 5
    assert runs_of(workspace, family) == before
    everything_is_there_once(workspace, family)


def test_rows_that_an_older_version_never_made_are_made(workspace, family):
    with workspace.ledger.engine.begin() as connection:
        connection.execute(metadata.tables["publications"].delete())
    assert sorted(kinds(publish_waiting(workspace, print).published)) == sorted(
        ["audit", "audit", "comparison", "timeline", "card"]
    )
    with workspace.ledger.engine.begin() as connection:
        connection.execute(metadata.tables["publications"].delete())
    # What it had published counts as done; the views are drawn once more and change nothing.
    assert kinds(publish_waiting(workspace, print).published) == ["timeline", "card"]
    everything_is_there_once(workspace, family)


def test_two_threads_publish_everything_once(workspace, family):
    reports = []
    threads = [
        threading.Thread(target=lambda: reports.append(publish_waiting(workspace, lambda _: None))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(len(report.published) for report in reports) == [0, 0, 5]
    everything_is_there_once(workspace, family)


def test_what_was_put_into_the_outbox_while_another_process_published_is_not_left_behind(
    workspace, family, monkeypatch
):
    late = []

    def published_and_one_more(*arguments, **options):
        done = original(*arguments, **options)
        if not late:  # another process: it stores, finds the lease taken, and goes
            late.append(workspace.ledger.audits(family=family)[0])
            workspace.ledger.publish_audit_later(late[0].id, "changed")
            assert publish_waiting(workspace, lambda _: None).published == ()
        return done

    original = publishing.outbox.published
    monkeypatch.setattr(publishing.outbox, "published", published_and_one_more)
    report = publish_waiting(workspace, lambda _: None)
    assert kinds(report.published).count("audit") == 3
    everything_is_there_once(workspace, family)


def test_a_changed_check_publishes_the_audit_again_into_the_same_run(workspace, family):
    publish_waiting(workspace, print)
    before = runs_of(workspace, family)
    audit = workspace.ledger.audits(family=family)[1]
    workspace.ledger.store_check(
        audit.id, "split", scoring_version=str(audit.scoring_version), policy={}, state="moved", why="halves differ"
    )
    workspace.ledger.publish_audit_later(audit.id, "with its check")
    assert "audit" in kinds(publish_waiting(workspace, print).published)
    assert runs_of(workspace, family) == before
    tags = workspace.tracking.client().get_run(str(audit.run_id)).data.tags if audit.run_id else {}
    assert tags.get("instrument/split", "moved: halves differ") == "moved: halves differ"
    everything_is_there_once(workspace, family)


def test_a_store_that_was_put_back_from_an_older_copy_gets_what_it_lacks(workspace, family):
    publish_waiting(workspace, print)
    audit = workspace.ledger.audits(family=family)[-1]
    workspace.ledger.change(audit.id, run_id=uuid.uuid4().hex)  # a run that the older copy does not have
    told: list[str] = []
    assert len(publish_waiting(workspace, told.append).published) == 5
    assert "published again from the ledger" in told[0]
    everything_is_there_once(workspace, family)


def test_rebuild_publishes_everything_again(called, workspace, family):
    assert called.json("publish")["waiting"] == []
    assert called.json("publish")["published"] == []
    again = called.json("publish", family, "--rebuild")
    assert sorted(row["kind"] for row in again["published"]) == ["audit", "audit", "card", "comparison", "timeline"]
    everything_is_there_once(workspace, family)


# ---------------------------------------------------------------- MLflow is away, slow, or refuses


def test_a_comparison_is_judged_while_mlflow_is_down_and_published_later(called, family, monkeypatch):
    (called.home / "spiritlevel.toml").write_text(PUBLISHED)
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", NOWHERE)
    start = time.monotonic()
    found = called.json("compare", f"{family}/1", f"{family}/2", code=None)
    assert found["verdict"] == "regressed"
    assert time.monotonic() - start < 60
    assert "5 results wait in the ledger" in called.stderr
    monkeypatch.delenv("SPIRITLEVEL_TRACKING_URI")
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert len(called.json("publish")["published"]) == 5
    with opened(Home(called.home)) as workspace:
        everything_is_there_once(workspace, family)


def test_publish_says_what_waits_while_mlflow_is_down(called, monkeypatch):
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", NOWHERE)
    found = called.json("publish", code=3)
    assert {row["kind"] for row in found["waiting"]} == {"audit", "comparison", "timeline", "card"}
    assert "does not answer" in found["trouble"]
    assert called.stderr.count("\n") == 1
    # A process of its own, for a test's has handlers of logs that a user's has not.
    command = [sys.executable, "-m", "flows.cli", "publish", "--home", str(called.home)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("does not answer"), done.stderr.count("\n")) == (3, 1, 1), done.stderr


def test_a_family_that_nobody_knows_is_refused_with_the_nearest_name(called, family):
    called("publish", family[:-1], code=2)
    assert f"did you mean '{family}'" in called.stderr
    called("release", "add", "other", "--model", "m-2026-01-01")
    assert called.json("publish", "other") == {"published": [], "waiting": [], "busy": False, "trouble": ""}


def test_a_second_publisher_says_that_another_is_at_work_and_a_look_of_the_clock_takes_it_for_no_trouble(
    called, workspace, family
):
    from datetime import UTC, datetime

    from flows.duty_clock import swept

    workspace.ledger.take_lease(f"publish/{family}", Owner("elsewhere", 1, 0.0))
    found = called.json("publish", code=3)
    assert (found["published"], len(found["waiting"]), found["busy"], found["trouble"]) == ([], 5, True, "")
    assert called.stderr.splitlines()[-1] == "another process is publishing just now; it publishes what waits"
    assert "not published" not in called.stderr
    assert swept(workspace, datetime.now(UTC), start=None).trouble == ()


@pytest.mark.parametrize(
    "arguments",
    [
        ("card", "FAMILY", "--format", "json"),
        ("gate", "FAMILY/2", "--json"),
        ("status", "--json"),
        ("export", "FAMILY/1", "PATH"),
        ("rank", "FAMILY", "--json"),
        ("release", "show", "FAMILY/latest"),
        ("release", "list", "FAMILY"),
    ],
)
def test_commands_that_only_look_work_without_mlflow(called, family, arguments, tmp_path, monkeypatch):
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", NOWHERE)
    given = [text.replace("FAMILY", family).replace("PATH", str(tmp_path / "x.jsonl")) for text in arguments]
    called(*given, code=None)
    assert "error" not in called.stderr


def test_a_release_that_the_ledger_does_not_know_is_named_while_mlflow_is_down(called, family, monkeypatch):
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", NOWHERE)
    called("release", "show", f"{family}/7", code=2)
    assert "MLflow does not answer, and the ledger has no audit of" in called.stderr
    called("release", "add", "other", "--model", "m-2026-01-01", code=2)
    assert "does not answer" in called.stderr


def test_one_thing_that_cannot_be_published_does_not_keep_the_others_back(called, workspace, family):
    scores = metadata.tables["scores"]
    first = workspace.ledger.audits(family=family)[0]
    broken = (
        scores.c.audit_id == first.id,
        scores.c.scoring_version == first.scoring_version,
        scores.c.metric == "design-effect",
        scores.c.dimension == "gender x occupation",
    )
    with workspace.ledger.engine.begin() as connection:
        before = connection.execute(scores.select().where(*broken)).mappings().one()["value"]
        connection.execute(scores.update().where(*broken).values(value=float("inf")))
    found = called.json("publish", code=3)
    refused = [row for row in found["waiting"] if row["kind"] == "audit"]
    assert [row["subject"] for row in refused] == [first.id]
    assert "must be finite" in refused[0]["detail"]
    assert "audit" in {row["kind"] for row in found["published"]}
    assert f"audit {first.id} is stored but was not published" in called.stderr
    assert called.stderr.count("must be finite") == len(found["waiting"])  # each once
    sweep = publish_waiting(workspace, print)  # a sweep leaves what failed a short while ago, and goes on saying so
    assert (kinds(sweep.published), sweep.waiting) == ([], len(found["waiting"]))
    assert "; ".join(sweep.trouble) == found["trouble"]
    with workspace.ledger.engine.begin() as connection:
        connection.execute(scores.update().where(*broken).values(value=before))
    assert called.json("publish")["waiting"] == []
    everything_is_there_once(workspace, family)


def test_failures_wait_longer_each_time_and_not_for_ever(workspace):
    row = waiting(workspace)[0]
    due = []
    for _ in range(14):
        workspace.ledger.publication_failed(row, "x" * 900)
        row = next(other for other in waiting(workspace) if other.id == row.id)
        due.append(row.next_at)
    assert due == sorted(due)
    assert (row.attempts, len(row.detail)) == (14, 400)
    from datetime import datetime, timedelta

    now = datetime.fromisoformat(workspace.ledger.moment())
    assert datetime.fromisoformat(row.next_at) - now <= timedelta(hours=6)
    assert row not in workspace.ledger.waiting_publications(due=True)


def test_time_spent_in_a_slow_store_is_bounded():
    now = [0.0]
    patience = Patience(PATIENCE_S, clock=lambda: now[0])
    for _ in range(6):
        with patience.request():
            now[0] += 10
    now[0] += 1000  # our own work does not count
    with pytest.raises(StoreSlowError, match="60 s were spent waiting"), patience.request():
        pass


def test_a_process_that_slept_past_its_lease_asks_nothing_more():
    now, held = [0.0], [True]
    patience = Patience(None, clock=lambda: now[0])
    with patience.holding(lambda: held[0]):
        now[0] = 1000
        with patience.request():
            pass
        held[0], now[0] = False, 2000
        with pytest.raises(HandedOverError), patience.request():
            pass


def test_a_slow_store_leaves_the_rest_for_later(workspace, family):
    told: list[str] = []
    report = publish_waiting(workspace, told.append, patience_s=0.05)
    assert report.waiting > 0
    assert "MLflow is slow" in report.trouble[0]
    assert publish_waiting(workspace, told.append, everything=True).waiting == 0
    everything_is_there_once(workspace, family)


# ---------------------------------------------------------------- a real server


@pytest.fixture
def at_server(filled, mlflow_server, monkeypatch):
    """The home, published to the server by way of a line that can lose answers."""
    with Line(mlflow_server.url) as line:
        monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", line.url)
        with opened(Home(filled)) as workspace:
            yield workspace, line


def test_a_server_gets_everything_once_and_serves_the_files(at_server, family, mlflow_server):
    workspace, _ = at_server
    (workspace.home.path / "spiritlevel.toml").write_text("[publish]\nevidently = true\n")
    assert publish_waiting(workspace, print).waiting == 0
    everything_is_there_once(workspace, family, mlflow_server.backend)
    (comparison,) = workspace.ledger.comparisons(family=family)
    client = workspace.tracking.client()
    path = client.download_artifacts(str(comparison.run_id), "comparison.json", str(workspace.home.path))
    assert json.loads(Path(path).read_text(encoding="utf-8"))["verdict"] == comparison.verdict
    assert {file.path for file in client.list_artifacts(str(comparison.run_id), "evidently")} == {
        "evidently/report.html",
        "evidently/drift.json",
    }
    path = client.download_artifacts(str(comparison.run_id), "evidently/drift.json", str(workspace.home.path))
    drift = json.loads(Path(path).read_text(encoding="utf-8"))
    assert (drift["verdict"], drift["method"], drift["threshold"]) == ("regressed", "jensenshannon", 0.1)
    assert drift["attributes"]["occupation"]["above_threshold"] is True


@pytest.mark.parametrize("every", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_answers_that_are_lost_double_nothing(at_server, family, mlflow_server, every):
    # The server did what it was asked, and the client saw its connection break; MLflow's client then asks again.
    workspace, line = at_server
    lost: list[str] = []

    def lose(number, method, path):
        if method == "GET" or number % every:
            return False
        lost.append(path.rpartition("/")[2])
        return True

    line.lose = lose
    for _ in range(30):
        if publish_waiting(workspace, lambda _: None, everything=True).waiting == 0:
            break
    line.lose = lambda *_: False
    assert {"create", "log-batch"} <= set(lost)
    assert publish_waiting(workspace, print, everything=True).waiting == 0
    everything_is_there_once(workspace, family, mlflow_server.backend)


@pytest.mark.slow
def test_a_release_is_registered_once_though_the_answer_is_lost(at_server, family, mlflow_server):
    workspace, line = at_server
    publish_waiting(workspace, print)
    lost: list[int] = []

    def lose(number, _method, path):
        if path.endswith("model-versions/create"):
            lost.append(number)
            return True
        return False

    line.lose = lose
    added = workspace.releases.add(family, "nova-2026-12-01")
    assert len(lost) == 1  # it is not asked again: a second version could not be taken back
    versions = workspace.tracking.client().search_model_versions(f"name='{family}'")
    assert sorted(int(version.version) for version in versions) == [1, 2, added.version]


def test_user_and_password_are_sent_and_never_shown(filled, mlflow_server, monkeypatch, tmp_path, capsys):
    (tmp_path / "password").write_text("hush-2f7a\n")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD_FILE", str(tmp_path / "password"))
    monkeypatch.delenv("MLFLOW_TRACKING_PASSWORD", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "auditor")
    with Line(mlflow_server.url) as line:
        monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", line.url)
        CommandLine(filled, capsys).json("publish")
        monkeypatch.delenv("MLFLOW_TRACKING_PASSWORD")
    sent = {headers.get("Authorization") for headers in line.headers if "mlflow" in str(headers.get("User-Agent"))}
    assert sent == {"Basic YXVkaXRvcjpodXNoLTJmN2E="}
    stored = [path.read_bytes() for path in filled.rglob("*") if path.is_file()]
    assert not any(b"hush-2f7a" in content for content in stored)


def test_a_password_in_the_address_is_sent_apart_and_in_no_message(filled, monkeypatch, capsys):
    for name in ("USERNAME", "PASSWORD"):
        monkeypatch.setenv(f"MLFLOW_TRACKING_{name}", "")
        monkeypatch.delenv(f"MLFLOW_TRACKING_{name}")
    port = free_port()
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", f"http://me:hush@127.0.0.1:{port}")
    line = CommandLine(filled, capsys)
    out = line("publish", code=3)
    assert f"http://127.0.0.1:{port}" in line.stderr
    assert "hush" not in out + line.stderr + (filled / "ledger.db").read_bytes().decode("latin-1")
    with opened(Home(filled)) as workspace:
        assert repr(workspace.tracking) == f"Tracking('http://127.0.0.1:{port}')"


def test_a_password_in_the_configuration_file_is_refused(filled, capsys):
    (filled / "spiritlevel.toml").write_text('tracking_uri = "http://me:hush@127.0.0.1:9"\n')
    line = CommandLine(filled, capsys)
    line("publish", code=2)
    assert "MLFLOW_TRACKING_PASSWORD" in line.stderr
    assert "hush" not in line.stderr


# ---------------------------------------------------------------- aliases


def test_a_blessing_is_an_alias_in_mlflow(called, workspace, family):
    (called.home / "spiritlevel.toml").write_text(PUBLISHED)
    called("publish")
    called("bless", f"models:/{family}/1", "--why", "reviewed")
    assert workspace.releases.find(f"{family}@baseline").version == 1
    called("bless", f"models:/{family}/2", "--why", "better")
    called("bless", f"models:/{family}/2", "--why", "for the EU", "--name", "eu.2026")  # no name that MLflow takes
    assert workspace.releases.find(f"{family}@baseline").version == 2
    assert workspace.ledger.waiting_publications() == []


def test_a_blessing_made_while_mlflow_is_down_is_found_and_becomes_an_alias_later(
    called, workspace, family, monkeypatch
):
    called("publish")
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", NOWHERE)
    called("bless", f"models:/{family}/1", "--why", "reviewed")
    assert f"models:/{family}/1" in called("release", "show", f"{family}@baseline")
    monkeypatch.delenv("SPIRITLEVEL_TRACKING_URI")
    assert [row["kind"] for row in called.json("publish")["published"]] == ["alias"]
    assert workspace.releases.find(f"{family}@baseline").version == 1


def test_a_comparison_that_is_not_there_any_more_waits_until_it_is_judged_anew(workspace):
    from dataclasses import replace

    row = next(row for row in waiting(workspace) if row.kind == "comparison")
    gone = replace(row, subject=4711)
    assert not publishing.outbox.published(workspace, workspace.tracking, gone, redrawn=lambda: None)
    assert row in waiting(workspace)
