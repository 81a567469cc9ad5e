"""``spiritlevel schedule`` and ``spiritlevel sweep``, and that they stay fast when there is much to show."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import pytest

from flows.settings import Home
from flows.workspace import opened
from tests.stub_server import StubServer

EVERY_SECOND = """\
families:
  nova:
    audits:
      - {protocol: persona-brainstorm, personas: 60, every: 1s, grace: 1h}
"""
WEEKLY = EVERY_SECOND.replace("every: 1s, grace: 1h", "cron: '0 3 * * 1', zone: Europe/Madrid")


@pytest.fixture
def nova(spiritlevel):
    with StubServer() as server:
        prices = ("--price-input", 1, "--price-output", 2)
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url, *prices)
        yield server


def configure(spiritlevel, text):
    (spiritlevel.home / "spiritlevel.yaml").write_text(text, encoding="utf-8")


def test_without_a_file_nothing_is_scheduled_and_it_says_where_to_write(spiritlevel):
    assert "spiritlevel.yaml declares no family with audits" in spiritlevel("schedule")
    assert spiritlevel.json("schedule")["audits"] == []
    spiritlevel("sweep", code=2)  # else it would end every duty
    assert "spiritlevel.yaml, which is not there" in spiritlevel.stderr


def test_a_wrong_file_is_bad_input(spiritlevel):
    configure(spiritlevel, "familes: {}")
    spiritlevel("schedule", code=2)
    assert "did you mean 'families'?" in spiritlevel.stderr


def test_a_new_audit_is_shown_before_the_service_has_looked(spiritlevel):
    configure(spiritlevel, WEEKLY)
    text = spiritlevel("schedule", "--days", 14)
    assert "03:00 Europe/Madrid" in text
    assert "1 of them are new in the file and begin when the service looks: nova/persona-brainstorm" in text
    assert "2 runs in the next 14 days (UTC):" in text
    (line,) = spiritlevel.json("schedule")["audits"]
    assert (line["state"], line["declared"], line["last"], line["usd_a_month"]) == ("never", False, None, None)
    assert dt.datetime.fromisoformat(line["next"]) > dt.datetime.now(dt.UTC)
    assert line["next_local"].startswith("Mon ")


def test_a_sweep_makes_what_is_due_and_the_schedule_shows_it_with_its_cost(spiritlevel, nova):
    configure(spiritlevel, EVERY_SECOND)
    spiritlevel("sweep")
    with opened(Home(spiritlevel.home)) as workspace:  # as if it had been declared an hour ago
        early = (dt.datetime.now(dt.UTC) - dt.timedelta(minutes=1)).isoformat(timespec="milliseconds")
        duty = workspace.ledger.duty("nova/persona-brainstorm")
        workspace.ledger.declare_duties([], early.replace("+00:00", "Z"))
        workspace.ledger.declare_duties([duty], early.replace("+00:00", "Z"))
    report = spiritlevel.json("sweep")
    assert (len(report["runs"]), report["runs"][0]["state"], report["missed"] >= 59) == (1, "done", True)
    assert len(nova.received) == 3
    configure(spiritlevel, EVERY_SECOND.replace("every: 1s", "every: 30d"))
    spiritlevel("sweep")
    shown = spiritlevel.json("schedule")
    (line,) = shown["audits"]
    assert (line["state"], line["last"]["kind"], line["runs_a_month"]) == ("on time", "catch-up", 1)
    assert shown["usd_a_month"] == line["usd_a_month"] > 0
    assert shown["false_alerts_a_month"]["families"] == 1
    assert "US dollars" in spiritlevel("schedule")


def test_a_sweep_that_could_not_finish_says_so_with_its_exit_code(spiritlevel):
    configure(spiritlevel, EVERY_SECOND)
    spiritlevel("sweep")
    import time

    time.sleep(1.1)
    text = spiritlevel("sweep", code=3)
    assert "failed (no model family is named 'nova'" in text
    assert "failed" in spiritlevel("schedule")


def test_the_schedule_loads_no_heavy_library(spiritlevel):
    configure(spiritlevel, WEEKLY)
    code = (
        "import sys; from flows.cli import exit_code; exit_code(['schedule', '--home', sys.argv[1]]); "
        "print([name for name in ('mlflow', 'prefect', 'pandas', 'scipy', 'evidently') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(spiritlevel.home)], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
