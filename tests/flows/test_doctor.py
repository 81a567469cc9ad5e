"""`spiritlevel doctor`: says what is wrong and what to do, with everything up, with everything down, and without a secret."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

import pytest

from flows.doctor import checks, examined
from flows.settings import Home
from flows.workspace import opened
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


def test_a_key_that_no_header_can_carry_is_the_finding_of_its_endpoint_and_the_others_are_asked(
    spiritlevel, home, monkeypatch
):
    monkeypatch.setenv("GOOD_KEY", KEY)
    monkeypatch.setenv("BAD_KEY", "clé-secrète-42")
    with StubServer(key=KEY) as server:
        add = ("--model", "stub-1", "--base-url", server.base_url, "--api-key-env")
        spiritlevel("release", "add", "good", *add, "GOOD_KEY")
        spiritlevel("release", "add", "worse", *add, "BAD_KEY")
        found = of(examined(Home(home), only=("endpoints",)), "endpoints")
    assert [state for state, _ in found] == ["ok", "failed"]
    assert "models:/worse/1: the API key in BAD_KEY holds characters no header can carry" in found[1][1]
    assert "secr" not in str(found)


def test_releases_that_a_family_names_are_looked_at_as_the_newest_is(spiritlevel, home, monkeypatch):
    for number in (1, 2, 3, 4):
        model = ("--model", f"m-2026-01-0{number}", "--base-url", f"http://127.0.0.1:{free_port()}/v1")
        spiritlevel("release", "add", "nova", *model, "--api-key-env", f"KEY_{number}")
    with opened(Home(home)) as workspace:
        workspace.releases.registry.point("nova", "champion", 3)
    (home / "spiritlevel.yaml").write_text("families: {nova: {releases: [newest, '@champion', '1', '@nobody']}}\n")
    examination = examined(Home(home), only=("keys", "endpoints"))
    missing = {said.split()[0] for state, said in of(examination, "keys") if state == "failed"}
    assert missing == {"KEY_1", "KEY_3", "KEY_4"}
    assert len(of(examination, "endpoints")) == 3


def test_a_budget_in_money_without_prices_fails_here_before_the_service_refuses_it(spiritlevel, home):
    spiritlevel("release", "add", "nova", "--model", "m-2026-01-01", "--base-url", "http://127.0.0.1:9/v1")
    audits = "[{protocol: persona-brainstorm, every: 7d, budget: {usd: 5}}]"
    (home / "spiritlevel.yaml").write_text(f"families: {{nova: {{audits: {audits}}}}}\n")
    [(state, said)] = of(examined(Home(home), only=("budgets",)), "budgets")
    assert state == "failed"
    assert "budget.usd is a budget in money, but models:/nova/1 has no prices" in said
    prices = ("--price-input", "1", "--price-output", "2")
    spiritlevel("release", "add", "nova", "--model", "m-2026-02-01", "--base-url", "http://127.0.0.1:9/v1", *prices)
    assert [state for state, _ in of(examined(Home(home), only=("budgets",)), "budgets")] == ["ok"]


def test_a_store_without_a_server_is_looked_at_and_left_as_it_is(spiritlevel, home):
    assert of(examined(Home(home), only=("mlflow",)), "mlflow")[0][0] == "ok"
    (home / "mlflow.db").write_bytes(b"not a database" * 100)
    [(state, said)] = of(examined(Home(home), only=("mlflow",)), "mlflow")
    assert state == "failed"
    assert "is damaged or not a database" in said
    assert (home / "mlflow.db").read_bytes() == b"not a database" * 100
    (home / "mlflow.db").unlink()
    assert "no store yet" in of(examined(Home(home), only=("mlflow",)), "mlflow")[0][1]
    assert not (home / "mlflow.db").exists()


class PrefectWithoutAClock(BaseHTTPRequestHandler):
    """What Prefect's server answers where a worker is online and no duty clock ever ran."""

    def do_GET(self) -> None:
        self._answer({"/api/admin/version": version("prefect"), "/api/work_pools/spiritlevel": {}, "/health": HEALTH})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        online = "/api/work_pools/spiritlevel/workers/filter"
        self._answer({online: [{"status": "ONLINE"}], "/api/flow_runs/filter": []})

    def _answer(self, known) -> None:
        body = json.dumps(known.get(self.path, "?")).encode()
        self.send_response(200 if self.path in known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        """Quiet."""


HEALTH = {"status": "ok", "looked_s_ago": 1.5}


def test_no_clock_on_prefect_is_fine_where_the_service_is_the_clock(home, monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), PrefectWithoutAClock) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server.server_address[1]}/api")
        found = {}
        for name, port in (("serve", server.server_address[1]), ("nobody", free_port())):
            (home / "spiritlevel.yaml").write_text(f"families: {{nova: {{}}}}\nservice: {{port: {port}}}\n")
            found[name] = of(examined(Home(home), only=("prefect",)), "prefect")[-1]
        server.shutdown()
    assert found["serve"] == ("ok", "the service runs; its clock looked 1.5 s ago, here and not on Prefect")
    assert found["nobody"] == ("warning", "the duty clock never ran there, and no service answers here")


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
    mlflow_server, home, monkeypatch, tmp_path
):
    (tmp_path / "password").write_text("hunter2\n")  # as containers give it
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD_FILE", str(tmp_path / "password"))
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
