"""`spiritlevel doctor`: says what is wrong and what to do, with everything up, with everything down, and without a secret."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import time
from contextlib import closing
from importlib.metadata import version

import pytest

from flows.doctor import checks, examined
from flows.settings import Home
from tests.mlflow_server import Line, free_port
from tests.stub_server import StubServer

KEY = "sk" + "-proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0"


def of(examination, check):
    return [(one.state, one.said) for one in examination.findings if one.check == check]


@pytest.fixture
def silent():
    """An address that takes connections and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=50)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_new_home_is_well_and_every_check_says_something(spiritlevel):
    said = spiritlevel.json("doctor")
    assert said["state"] == "ok", said
    assert {one["check"] for one in said["findings"]} == set(checks())
    text = spiritlevel("doctor")
    assert "schema 0003" in text or "(the newest)" in text
    assert "->" not in text


def test_looking_changes_nothing(tmp_path):
    home = tmp_path / "home"
    examination = examined(Home(home))
    assert not home.exists()
    assert examination.state == "warning"
    assert ("warning", "there is none yet") in of(examination, "ledger")


def test_an_older_ledger_is_not_migrated_by_a_look(spiritlevel, home):
    import sqlite3

    with closing(sqlite3.connect(home / "ledger.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0002'")
        connection.commit()
    said = spiritlevel.json("doctor", code=3)
    [ledger] = [one for one in said["findings"] if one["check"] == "ledger"]
    assert ledger["state"] == "warning"
    assert "back it up" in ledger["todo"]
    with closing(sqlite3.connect(home / "ledger.db")) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0002",)]


def test_it_works_when_everything_is_down(spiritlevel, home, monkeypatch):
    (home / "spiritlevel.yaml").write_text(f"families: {{nova: {{audits: []}}}}\nservice: {{port: {free_port()}}}\n")
    monkeypatch.setenv("SPIRITLEVEL_LEDGER_URL", f"postgresql://me:hunter2@127.0.0.1:{free_port()}/ledger")
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{free_port()}/api")
    text = spiritlevel("doctor", code=2)
    assert "hunter2" not in text + spiritlevel.stderr
    failed = {line.split()[1].rstrip(":") for line in text.splitlines() if line.startswith("FAILED")}
    assert failed == {"ledger", "mlflow", "prefect"}


def test_what_never_answers_ends_with_the_patience(home, monkeypatch, silent):
    monkeypatch.setenv("SPIRITLEVEL_LEDGER_URL", f"postgresql://me@{silent}/ledger")
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", f"http://{silent}")
    monkeypatch.setenv("PREFECT_API_URL", f"http://{silent}/api")
    began = time.monotonic()
    examination = examined(Home(home), patience_s=1.5, only=("ledger", "mlflow", "prefect", "disk"))
    assert time.monotonic() - began < 3
    assert [one.state for one in examination.findings] == ["ok", "failed", "failed", "failed"]
    assert ("failed", "no answer within 2 s") in of(examination, "mlflow")


def test_a_missing_key_is_named_and_a_present_one_is_not_shown(spiritlevel, home, monkeypatch):
    with StubServer(key=KEY) as server:
        spiritlevel(
            "release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url, "--api-key-env", "STUB_KEY"
        )
        monkeypatch.delenv("STUB_KEY", raising=False)
        said = spiritlevel.json("doctor", code=2)
        [keys] = [one for one in said["findings"] if one["check"] == "keys"]
        assert "STUB_KEY is not set, which the family nova needs" in keys["said"]
        monkeypatch.setenv("STUB_KEY", KEY)
        text = spiritlevel("doctor")
        assert "keys: set: STUB_KEY" in text
        assert KEY not in text + spiritlevel.stderr
        assert "answers" in next(line for line in text.splitlines() if "endpoints" in line)
        assert server.counts()["calls"] == 0  # no token was spent
    text = spiritlevel("doctor", code=2)  # the stub is gone
    assert "FAILED   endpoints: 127.0.0.1" in text


def test_a_channel_that_needs_a_secret_is_looked_at_too(home):
    (home / "spiritlevel.yaml").write_text("channels: {pager: {kind: apprise, url_env: PAGER_URL}}\n")
    examination = examined(Home(home), only=("keys",))
    assert of(examination, "keys")[0] == ("failed", "PAGER_URL is not set, which the channel pager needs")


def test_a_wrong_configuration_is_said_and_the_other_checks_go_on(spiritlevel, home):
    (home / "spiritlevel.yaml").write_text("familys: {}\n")
    said = spiritlevel.json("doctor", code=2)
    [wrong] = [one for one in said["findings"] if one["check"] == "configuration"]
    assert wrong["state"] == "failed"
    assert "familys" in wrong["said"]
    assert any(one["check"] == "ledger" and one["state"] == "ok" for one in said["findings"])


def test_a_service_that_everybody_reaches_is_warned_of(home):
    (home / "spiritlevel.yaml").write_text("service: {host: 0.0.0.0}\n")
    assert of(examined(Home(home), only=("configuration",)), "configuration")[1][0] == "warning"


def test_telemetry_that_is_only_thought_to_be_off_is_warned_of(home, monkeypatch):
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "false")
    monkeypatch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "true")
    [(state, said)] = of(examined(Home(home), only=("telemetry",)), "telemetry")
    assert state == "warning"
    assert "MLflow" in said
    assert "Prefect's server" in said
    assert "clients" not in said  # theirs does heed DO_NOT_TRACK=1


def test_a_home_that_others_can_write_is_warned_of(home):
    home.chmod(0o777)
    assert of(examined(Home(home), only=("home",)), "home")[0][0] == "warning"


def test_a_full_disk_fails_before_an_audit_does(home, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12 - 10**8, 10**8))
    assert of(examined(Home(home), only=("disk",)), "disk")[0][0] == "failed"


def test_publications_and_notices_that_wait_are_said(home):
    from flows.workspace import opened
    from registry.ledger.service_tables import publications
    from tests.registry.ledger.orders import ordered

    with opened(Home(home)) as workspace:
        ordered(workspace.ledger)
        row = {"kind": "audit", "family": "nova", "protocol": "persona-brainstorm", "subject": 1, "content": "x"}
        row |= {"state": "waiting", "attempts": 3, "next_at": "2026-11-01", "detail": "MLflow is away", "made_at": ""}
        with workspace.ledger.engine.begin() as connection:
            connection.execute(publications.insert(), [row])
    found = of(examined(Home(home), only=("outbox",)), "outbox")
    assert found == [("warning", "1 results wait for MLflow; MLflow is away"), ("ok", "no notice waits")]


def test_a_database_server_tells_its_clock_and_whether_it_is_encrypted(postgres_url, home, monkeypatch):
    monkeypatch.setenv("SPIRITLEVEL_LEDGER_URL", postgres_url)
    examination = examined(Home(home), only=("ledger",))
    [(_, ledger), *_], [(state, clock)] = of(examination, "ledger"), of(examination, "clock")
    assert ledger.startswith("postgresql 1")
    assert "(the newest)" in ledger
    assert (state, clock.startswith("the clock of the database agrees")) == ("ok", True)


def test_the_version_is_told(spiritlevel, capsys):
    from flows.cli import exit_code

    assert exit_code(["--version"]) == 0
    assert capsys.readouterr().out == f"spiritlevel {version('spiritlevel')}\n"


def test_the_answer_for_machines_is_one_object(spiritlevel):
    assert set(json.loads(spiritlevel("doctor", "--json"))) == {"state", "home", "findings"}


def test_a_real_mlflow_server_tells_its_version_and_clock_and_takes_a_file_that_is_removed_again(
    mlflow_server, home, monkeypatch
):
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "hunter2")
    with Line(mlflow_server.url) as line:
        monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", line.url)
        examination = examined(Home(home), only=("mlflow",), patience_s=60)
    assert [state for state, _ in of(examination, "mlflow")] == ["ok", "ok"], examination
    assert f"version {version('mlflow')}" in of(examination, "mlflow")[0][1]
    assert of(examination, "mlflow")[1][1] == "it takes files"
    assert [asked.split()[0] for asked in line.asked] == ["GET", "PUT", "DELETE"]
    login = base64.b64encode(b"me:hunter2").decode()
    assert {headers["Authorization"] for headers in line.headers} == {f"Basic {login}"}
    assert list(mlflow_server.folder.rglob("*doctor*/*")) == []
    assert "hunter2" not in str(examination)
