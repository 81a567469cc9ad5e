"""The service's own desk: what a health check says, and what a webhook sets going."""

from __future__ import annotations

import http.server
import os
import signal
import threading
import time

import pytest

from flows.service import SILENT_FOR_S, Clock, desk_of, serve_all
from flows.settings import Home
from flows.workspace import opened
from registry.ledger.opening import LedgerError
from tests.flows.services import DAILY


@pytest.fixture
def workspace(home):
    (home / "spiritlevel.yaml").write_text(DAILY)
    with opened(Home(home)) as found:
        yield found


@pytest.fixture
def clock(workspace):
    return Clock(workspace.home, None, lambda _: None)


@pytest.fixture
def desk(workspace, clock):
    return desk_of(workspace, workspace.home.service, clock, lambda _: None)


def test_how_long_ago_the_clock_looked_is_not_known_before_it_did(desk, clock):
    assert desk.health() == {"looked_s_ago": None}
    clock.looked_at = time.monotonic() - 5
    assert desk.health()["looked_s_ago"] == pytest.approx(5, abs=1)


@pytest.mark.parametrize("looked", [False, True])
def test_a_clock_that_did_not_look_for_long_is_not_well_but_a_long_poll_is_no_silence(desk, clock, looked):
    long_ago = time.monotonic() - SILENT_FOR_S - 60
    clock.begun_at = long_ago
    clock.looked_at = long_ago if looked else None
    with pytest.raises(TimeoutError, match="did not look for 960 s"):
        desk.health()
    clock.poll_s = 3600.0
    desk.health()
    clock.begun_at -= 3 * 3600
    clock.looked_at = clock.begun_at if looked else None
    with pytest.raises(TimeoutError):
        desk.health()


def test_a_service_whose_ledger_is_lost_is_not_well(workspace, desk):
    desk.health()
    for path in workspace.home.path.glob("ledger.db*"):
        path.unlink()
    with pytest.raises(LedgerError, match="is not there any more"):
        desk.health()


def test_a_ledger_that_is_damaged_does_not_answer(workspace):
    workspace.ledger.answers()
    workspace.ledger.close()
    for path in workspace.home.path.glob("ledger.db*"):
        path.write_bytes(b"not a database" * 1000)
    with pytest.raises(LedgerError, match="damaged or not a database"):
        workspace.ledger.answers()


def test_a_webhook_rings_the_clock_and_writes_nothing_down_itself(workspace, desk, clock):
    desk.ring()
    assert clock.bell.is_set()
    assert workspace.ledger.runs() == []


@pytest.fixture
def mlflow_behind_a_password(monkeypatch, tmp_path):
    """An MLflow server that refuses everybody; what it was told is kept."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def refuse(self):
            asked.append((self.path.partition("?")[0], self.headers.get("Authorization")))
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = refuse  # noqa: N815 - the names http.server calls

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    (tmp_path / "password").write_text("from a file\n")
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "audits")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD_FILE", str(tmp_path / "password"))
    # Set and unset by monkeypatch, so that what the command puts there is gone after the test.
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "")
    monkeypatch.delenv("MLFLOW_TRACKING_PASSWORD")
    monkeypatch.setenv("SPIRITLEVEL_WEBHOOK_SECRET", "a secret of this test alone")
    yield asked
    server.shutdown()
    server.server_close()


def test_the_webhook_command_knows_the_password_that_a_file_holds(spiritlevel, mlflow_behind_a_password):
    import base64

    spiritlevel("webhook", "register", "https://audits.example.org/webhooks/mlflow", code=None)
    wanted = "Basic " + base64.b64encode(b"audits:from a file").decode()
    assert {said for path, said in mlflow_behind_a_password if path.endswith("/webhooks")} == {wanted}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "{home}/alerts.jsonl"),
        ("channels: {log: {kind: file}}\nalerts: {channels: []}", "nobody"),
        ("channels: {log: {kind: file}, pager: {kind: apprise, url_env: PAGER}}", "log, pager"),
        ("channels: {log: {kind: file}, x: {kind: file}}\nfamilies: {nova: {alerts: {channels: [x]}}}", "x"),
    ],
)
def test_who_serves_one_release_is_told_where_alerts_really_go(spiritlevel, monkeypatch, text, where):
    import flows.serving

    monkeypatch.setattr(flows.serving, "serve_release", lambda *_, **__: None)  # it would never come back
    (spiritlevel.home / "spiritlevel.yaml").write_text(text)
    spiritlevel("release", "add", "nova", "--model", "m-1", "--base-url", "http://127.0.0.1:9/v1")
    spiritlevel("serve", "models:/nova/1", "--every", "7d")
    assert f"alerts go to {where.format(home=spiritlevel.home)}; stop with Ctrl-C" in spiritlevel.stderr
    spiritlevel("serve", "models:/nova/1", "--every", "7 days", code=2)
    assert "such as 7d or 12h" in spiritlevel.stderr
    spiritlevel("serve", "--json", code=2)
    assert "serve --once" in spiritlevel.stderr


def test_a_service_that_is_ended_says_so_last(home):
    (home / "spiritlevel.yaml").write_text(f"{DAILY}service: {{port: 0}}\n")
    told = []

    def tell(text):
        told.append(text)
        if text.startswith("the service runs"):
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        serve_all(Home(home), tell)
    assert told[-1] == "the service ended"
