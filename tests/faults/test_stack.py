"""The whole service as real processes, started by the commands that docs/operations.md shows: page and test cannot differ."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.mlflow_server import free_port
from tests.postgres import PostgresServer
from tests.stub_server import StubServer

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- stack: (\w+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
KEY = "stub-key-" + "3fz9q7w1"

SERVICE = """
families:
  nova:
    audits: [{{protocol: persona-brainstorm, personas: 1600, cron: "0 3 1 1 *", concurrency: 8, share: 2}}]
channels:
  log: {{kind: file, path: alerts.jsonl}}
alerts: {{replicate: false}}
service: {{port: {port}, poll: 60s}}
"""


def test_the_page_has_the_whole_stack():
    assert list(BLOCKS) == [
        "environment",
        "secrets",
        "databases",
        "mlflow",
        "prefect",
        "deploy",
        "service",
        "worker",
        "webhook",
    ]


class Stack:
    """The commands of the page, with ports and folders of a test."""

    def __init__(self, folder: Path, postgres: PostgresServer) -> None:
        self.folder, self.postgres = folder, postgres
        self.ports = {name: free_port() for name in ("5000", "4200", "8321")} | {"5432": postgres.url.port or 0}
        self.home, self.secrets = folder / "state", folder / "etc" / "secrets"
        self.home.mkdir(mode=0o700)
        self.started: list[subprocess.Popen[bytes]] = []
        pairs = (line.split("=", 1) for line in self.placed("environment").splitlines())
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "SPIRITLEVEL_"))}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = clean | {"PATH": path, "STUB_KEY_FILE": str(self.secrets / "stub_key")} | dict(pairs)

    def placed(self, name: str) -> str:
        """A block of the page, in the test's place."""
        text = BLOCKS[name].replace("/var/lib/spiritlevel", str(self.home))
        text = text.replace("/etc/spiritlevel", str(self.folder / "etc"))
        return re.sub(r"\b(5432|5000|4200|8321)\b", lambda found: str(self.ports[found[1]]), text)

    def url(self, port: str, path: str = "") -> str:
        return f"http://127.0.0.1:{self.ports[port]}{path}"

    def run(self, script: str, **environment: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, env=self.environment | environment,
            capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def spiritlevel(self, arguments: str, *, codes: tuple[int, ...] = (0,)) -> Any:
        script = f"docker/with-secrets spiritlevel {arguments} --json || code=$?; echo ${{code:-0}}"
        said, _, code = (
            self.run(script, PGPASSWORD_FILE=str(self.secrets / "ledger_password")).rstrip().rpartition("\n")
        )
        assert int(code) in codes, f"{arguments}: exit code {code}\n{said}"
        return json.loads(said)

    def start(self, name: str) -> None:
        with (self.folder / f"{len(self.started)}-{name}.log").open("wb") as log:
            process = subprocess.Popen(
                ["bash", "-euc", self.placed(name)], cwd=ROOT, env=self.environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        self.started.append(process)

    def said(self) -> str:
        return "\n".join(f"== {path.name}\n{path.read_text()[-3000:]}" for path in sorted(self.folder.glob("*.log")))

    def until(self, what: str, look: Callable[[], Any], within_s: float = 240) -> Any:
        """Ask other processes again and again, for a bounded time."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if found := look():
                return found
            dead = [process.args for process in self.started if process.poll() is not None]
            assert not dead, f"{dead} ended\n{self.said()}"
            time.sleep(0.5)
        raise AssertionError(f"{what}: not within {within_s:.0f} s\n{self.said()}")

    def stop(self) -> None:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for process in self.started:
                if process.poll() is None or sign == signal.SIGKILL:
                    try:
                        os.killpg(process.pid, sign)
                    except ProcessLookupError:
                        continue
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline and any(process.poll() is None for process in self.started):
                time.sleep(0.1)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture
def stack(tmp_path):
    with PostgresServer() as postgres:
        made = Stack(tmp_path, postgres)
        try:
            yield made
        finally:
            made.stop()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_stack_of_the_page_audits_a_new_version_that_mlflow_tells_it_of(stack):
    with StubServer(key=KEY) as provider:
        _set_up(stack)
        add = f"release add nova --base-url {provider.base_url} --api-key-env STUB_KEY --model"
        stack.spiritlevel(f"{add} stub-1")
        _start_the_rest(stack)
        stack.spiritlevel(f"{add} stub-2")
        audits = stack.until("two finished audits", lambda: _finished(stack))
        assert {audit["release"] for audit in audits} == {"models:/nova/1", "models:/nova/2"}
        alerts = stack.home / "alerts.jsonl"
        stack.until("an alert", lambda: alerts.exists() and '"regression"' in alerts.read_text(), 60)
        stack.until(
            "everything published", lambda: not _sql(stack, "SELECT 1 FROM publications WHERE state = 'waiting'"), 120
        )
        assert provider.calls == 2 * 1600 // 20  # each request once, whoever asked it
    _prefect_lets_nobody_in(stack)
    _all_is_well(stack)
    _figures_are_those_of_all_processes(stack)
    _no_secret_went_anywhere(stack)


def _set_up(stack: Stack) -> None:
    stack.run(stack.placed("secrets"))
    (stack.secrets / "stub_key").write_text(f"{KEY}\n")
    (stack.home / "spiritlevel.yaml").write_text(SERVICE.format(port=stack.ports["8321"]))
    login = stack.postgres.url
    superuser = {"PGHOST": "127.0.0.1", "PGUSER": str(login.username), "PGPASSWORD": str(login.password)}
    stack.run(stack.placed("databases"), PGPORT=str(login.port), **superuser)
    stack.start("mlflow")
    stack.start("prefect")
    stack.until("MLflow", lambda: answers(stack.url("5000", "/health")))
    stack.until("Prefect", lambda: answers(stack.url("4200", "/api/health")))


def _start_the_rest(stack: Stack) -> None:
    stack.run(stack.placed("deploy"))
    for name in ("service", "worker", "worker"):
        stack.start(name)
    stack.until("the service", lambda: answers(stack.url("8321", "/health")))
    stack.run(stack.placed("webhook"))
    # The clock has looked once: what is registered now is known, and what comes later is new.
    stack.until("a first look", lambda: _sql(stack, "SELECT 1 FROM sightings"))


def _sql(stack: Stack, query: str) -> list[tuple[Any, ...]]:
    return stack.postgres.sql(query, "ledger")


def _finished(stack: Stack) -> list[dict[str, Any]]:
    query = "SELECT family, version, state FROM audits WHERE state <> 'open' AND scoring_version IS NOT NULL"
    found = [{"release": f"models:/{family}/{version}"} for family, version, _ in _sql(stack, query)]
    return found if len(found) == 2 else []


def _prefect_lets_nobody_in(stack: Stack) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(stack.url("4200", "/api/admin/version"), timeout=5)
    assert refused.value.code == 401
    refused.value.close()


def _all_is_well(stack: Stack) -> None:
    """The doctor finds nothing that failed but the provider, which is gone by now."""
    said = stack.spiritlevel("doctor --within 60", codes=(2,))
    failed = [one for one in said["findings"] if one["state"] == "failed"]
    assert [one["check"] for one in failed] == ["endpoints"], failed
    lines = [one["said"] for one in said["findings"] if one["state"] == "ok"]
    assert any("workers online" in line for line in lines), said
    assert any(line.startswith("the duty clock ran") for line in lines), said
    assert "it takes files" in lines
    assert any(line.startswith("postgresql") for line in lines)


def _figures_are_those_of_all_processes(stack: Stack) -> None:
    with urllib.request.urlopen(stack.url("8321", "/metrics"), timeout=30) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    found = {(sample.name, *sorted(sample.labels.values())): sample.value for one in families for sample in one.samples}
    assert sum(value for key, value in found.items() if key[0] == "spiritlevel_calls_total") == 2 * 1600 // 20
    assert [key for key, value in found.items() if key[0] == "spiritlevel_figures_failed" and value] == []


def _no_secret_went_anywhere(stack: Stack) -> None:
    """In no database, no log and no file but its own; nor does any log hold a prompt or an answer."""
    values = {path.name: path.read_text().strip() for path in stack.secrets.iterdir()}
    values["prefect_auth, encoded"] = values["prefect_auth"].partition(":")[2]
    login = stack.postgres.url
    dumped = "".join(
        stack.run(
            f"pg_dump -d {name}", PGHOST="127.0.0.1", PGPORT=str(login.port), PGUSER=str(login.username),
            PGPASSWORD=str(login.password),
        )
        for name in ("ledger", "mlflow", "prefect")
    )  # fmt: skip
    logs = [*stack.folder.glob("*.log"), *(stack.home / "logs").iterdir()]
    texts = {path.name: path.read_text(errors="replace") for path in logs} | {"the databases": dumped}
    files = [path for path in stack.home.rglob("*") if path.is_file() and path.stat().st_size < 5_000_000]
    texts |= {str(path): path.read_text(errors="replace") for path in files}
    leaks = [(name, place) for place, text in texts.items() for name, value in values.items() if value in text]
    assert leaks == []
    [(prompt, answer)] = _sql(
        stack,
        "SELECT m.content -> -1 ->> 'content', r.text FROM messages m, responses r WHERE r.text IS NOT NULL LIMIT 1",
    )
    spoken = {path.name for path in logs for said in (prompt, answer) if said[:60] in path.read_text(errors="replace")}
    assert spoken == set()
