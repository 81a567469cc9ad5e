"""A family that is audited by the service, with a provider, a webhook that takes alerts, and what came of all of it."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from flows.settings import Home
from flows.workspace import Workspace, opened
from registry.ledger.connection import moment_text
from registry.ledger.duties import SCHEDULED, QueuedRun
from tests.prefect_process import ended, environment, wait_for

PROTOCOL = "persona-brainstorm"
SECRET_ENV = "TEST_ALERT_SECRET"

SERVICE = """
families:
  nova:
    audits:
      - {{protocol: persona-brainstorm, personas: {personas}, every: {every}, concurrency: {concurrency}, share: {share}}}
    releases: [newest]
channels:
  log: {{kind: file, path: alerts.jsonl}}
  pager: {{kind: webhook, url: "{inbox}", secret_env: TEST_ALERT_SECRET}}
alerts: {{at_least: medium}}
service: {{poll: {poll}, port: 0}}
"""


class Inbox:
    """A web server on loopback that keeps what is posted to it."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                """Quiet."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                inbox.messages.append(json.loads(body))
                self.send_response(204)
                self.end_headers()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/alerts"


@contextmanager
def inbox() -> Iterator[Inbox]:
    """An inbox for as long as the block lasts."""
    made = Inbox()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()
        thread.join()


class Standing:
    """A home folder with the service's configuration, looked at from outside."""

    def __init__(self, home: Path, spiritlevel: Any, base_url: str, box: Inbox) -> None:
        self.home, self.spiritlevel, self.base_url, self.box = home, spiritlevel, base_url, box

    def declare(self, **said: Any) -> None:
        """Write the configuration; ``said`` differs from what is here."""
        usual = {"every": "1s", "poll": "2s", "personas": 2000, "share": 1, "concurrency": 16}
        text = SERVICE.format(**usual | said, inbox=self.box.url)
        (self.home / "spiritlevel.yaml").write_text(text)

    def add(self, model: str) -> str:
        """Register a release of the family."""
        options = ("--model", model, "--base-url", self.base_url)
        return str(self.spiritlevel.json("release", "add", "nova", *options)["release"])

    @contextmanager
    def workspace(self) -> Iterator[Workspace]:
        with opened(Home(self.home)) as workspace:
            yield workspace

    def runs(self) -> list[Any]:
        with self.workspace() as workspace:
            return workspace.ledger.runs()

    def due_now(self) -> None:
        """Make an audit due, as the clock does when its time comes."""
        now = moment_text(dt.datetime.now(dt.UTC))
        with self.workspace() as workspace:
            duty = workspace.ledger.duties()[0].name
            workspace.ledger.queue_runs([QueuedRun(duty=duty, slot=now, due_at=now, kind=SCHEDULED)])

    def done(self, release: str) -> list[Any]:
        return [run for run in self.runs() if run.release == release and run.state == "done"]

    def told(self, kind: str = "regression") -> list[str]:
        """Events about a kind of finding, in order; both channels were told the same."""
        path = self.home / "alerts.jsonl"
        written = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        wanted = [line["event"] for line in written if line["kind"] == kind]
        posted = [message["event"] for message in self.box.messages if message["kind"] == kind]
        assert posted == wanted
        return wanted

    def everything_is_published(self, release: str) -> None:
        """The newest audit of a release has a run in MLflow beside its version's, and comparison and card are there."""
        with self.workspace() as workspace:
            ledger, client = workspace.ledger, workspace.tracking.client()
            wait_for(lambda: ledger.waiting_publications() == [], 120, "publication")  # it follows the audit
            found = workspace.releases.find(release)
            experiment = [workspace.tracking.experiment("spiritlevel/releases")]
            nested = client.search_runs(experiment, f"tags.`mlflow.parentRunId` = '{found.run_id}'")
            audits = {run.data.tags["spiritlevel.audit_key"].split("/")[1] for run in nested}
            newest = ledger.newest_audit(found.family, found.version)
            assert newest is not None
            assert str(newest.id) in audits, f"no run of audit {newest.id} under the run of {release}"
            mine = f"params.current = '{found.uri}'"
            assert client.search_runs([workspace.tracking.experiment("spiritlevel/comparisons")], mine)
            # The card is of the family's newest release, and so under its run.
            files = {file.path for file in client.list_artifacts(found.run_id, "card")}
            assert files == {"card/card.html", "card/card.json", "card/card.md"}


@contextmanager
def process(standing: Standing, command: list[str], **more: str) -> Iterator[Any]:
    """A process that knows the home folder, with its output in a file; ended afterwards."""
    path = standing.home / f"{len(list(standing.home.glob('*.out')))}.out"
    kept = {SECRET_ENV: os.environ[SECRET_ENV], "SPIRITLEVEL_HOME": str(standing.home)}
    with path.open("wb") as out:
        started: Any = subprocess.Popen(
            command, cwd=Path(__file__).parents[2], env=environment(standing.home / "prefect", **kept, **more), stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
    started.said = lambda: path.read_text(errors="replace")
    try:
        yield started
    finally:
        ended(started, signal.SIGINT)
