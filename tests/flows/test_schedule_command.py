"""``spiritlevel schedule`` and ``spiritlevel serve --once``, and that the first loads no heavy library."""

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


def begun(spiritlevel):
    """The duty as if it had been declared a minute ago."""
    with opened(Home(spiritlevel.home)) as workspace:
        early = (dt.datetime.now(dt.UTC) - dt.timedelta(minutes=1)).isoformat(timespec="milliseconds")
        duty = workspace.ledger.duty("nova/persona-brainstorm")
        workspace.ledger.declare_duties([], early.replace("+00:00", "Z"))
        workspace.ledger.declare_duties([duty], early.replace("+00:00", "Z"))


def test_without_a_file_nothing_is_scheduled_and_it_says_where_to_write(spiritlevel):
    assert "spiritlevel.yaml declares no family with audits" in spiritlevel("schedule")
    assert spiritlevel.json("schedule")["audits"] == []
    spiritlevel("serve", "--once", code=2)  # else it would end every duty
    assert "spiritlevel.yaml, which is not there" in spiritlevel.stderr


def test_a_wrong_file_is_bad_input(spiritlevel):
    configure(spiritlevel, "familes: {}")
    spiritlevel("schedule", code=2)
    assert "did you mean 'families'?" in spiritlevel.stderr


def test_a_new_audit_is_shown_before_the_service_has_looked(spiritlevel):
    configure(spiritlevel, WEEKLY)
    text = spiritlevel("schedule", "--days", 14)
    assert "03:00 Europe/Madrid" in text
    assert "1 of them is new in the file and begins when the service looks: nova/persona-brainstorm" in text
    assert "2 runs in the next 14 days (UTC):" in text
    (line,) = spiritlevel.json("schedule")["audits"]
    assert (line["state"], line["declared"], line["last"], line["usd_a_month"]) == ("never", False, None, None)
    assert dt.datetime.fromisoformat(line["next"]) > dt.datetime.now(dt.UTC)
    assert line["next_local"].startswith("Mon ")


def test_one_look_makes_what_is_due_and_publishes_it_and_the_schedule_shows_it_with_its_cost(spiritlevel, nova):
    (spiritlevel.home / "spiritlevel.toml").write_text("[publish]\nat_once = false\n")
    configure(spiritlevel, EVERY_SECOND)
    assert "nothing is due" in spiritlevel("serve", "--once")
    begun(spiritlevel)
    report = spiritlevel.json("serve", "--once")
    assert report["trouble"] == []
    assert (len(report["runs"]), report["runs"][0]["state"], report["missed"] >= 59) == (1, "done", True)
    assert len(nova.received) == 3
    with opened(Home(spiritlevel.home)) as workspace:
        assert workspace.ledger.waiting_publications() == []
        (audit,) = workspace.ledger.audits()
        assert audit.run_id
    configure(spiritlevel, EVERY_SECOND.replace("every: 1s", "every: 30d"))
    spiritlevel("serve", "--once")
    shown = spiritlevel.json("schedule")
    (line,) = shown["audits"]
    assert (line["state"], line["last"]["kind"], line["runs_a_month"]) == ("on time", "catch-up", 1)
    assert shown["usd_a_month"] == line["usd_a_month"] > 0
    assert shown["false_alerts_a_month"]["families"] == 1
    assert line["tokens_a_month"] == shown["tokens_a_month"] > 0
    said = f"a month takes about {shown['tokens_a_month']:,} tokens and {shown['usd_a_month']:,.2f} US dollars\n"
    assert said in spiritlevel("schedule")


def test_one_look_that_could_not_finish_says_so_with_its_exit_code(spiritlevel):
    configure(spiritlevel, EVERY_SECOND)
    spiritlevel("serve", "--once")
    import time

    time.sleep(1.1)
    text = spiritlevel("serve", "--once", code=3)
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


def test_false_alarms_of_intervals_below_one_day_are_not_computed(spiritlevel):
    configure(spiritlevel, EVERY_SECOND.replace("every: 1s", "every: 2m"))
    shown = spiritlevel.json("schedule")
    assert (shown["false_alerts_a_month"], shown["more_than_daily"]) == (None, 1)
    text = spiritlevel("schedule")
    assert "false alarms are not computed for intervals below one day: 1 release is audited that often" in text
    found = {}
    for every in ("1d", "2d", "7d"):
        configure(spiritlevel, EVERY_SECOND.replace("every: 1s", f"every: {every}"))
        found[every] = spiritlevel.json("schedule")["false_alerts_a_month"]["measured_alarms"]
    assert found["1d"] > found["2d"] > found["7d"] > 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("alerts: {severities: {overdu: high}}", "did you mean 'overdue'"),
        ("families: {nova: {alerts: {severities: {overdu: high}}}}", "did you mean 'overdue'"),
        ("channels: {x: {kind: pigeon}}", "pigeon"),
        ("families: {nova: {audits: [{protocol: persona-brainstrom, every: 7d}]}}", "persona-brainstorm"),
    ],
)
@pytest.mark.parametrize("command", [("schedule",), ("serve", "--once")])
def test_what_nobody_knows_is_refused_before_anything_is_looked_at(spiritlevel, command, text, words):
    configure(spiritlevel, text)
    spiritlevel(*command, code=2)
    assert words in spiritlevel.stderr


def test_a_budget_that_cannot_be_kept_is_refused_before_anything_is_looked_at(spiritlevel):
    with StubServer() as server:
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url)
        configure(spiritlevel, EVERY_SECOND + "budget: {usd_per_month: 5}\n")
        spiritlevel("serve", "--once", code=2)
    assert "has no prices" in spiritlevel.stderr


def test_a_month_of_unknown_cost_names_the_cause(spiritlevel):
    (spiritlevel.home / "spiritlevel.toml").write_text("[publish]\nat_once = false\n")
    configure(spiritlevel, EVERY_SECOND)
    assert "what a month takes is unknown: no finished audit has token counts yet\n" in spiritlevel("schedule")
    with StubServer() as server:
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url)
        spiritlevel("serve", "--once")
        begun(spiritlevel)
        spiritlevel("serve", "--once")
    configure(spiritlevel, EVERY_SECOND.replace("every: 1s", "every: 30d"))
    shown = spiritlevel.json("schedule")
    assert (shown["usd_a_month"], shown["unpriced"], shown["uncounted"]) == (None, 1, 0)
    said = f"about {shown['tokens_a_month']:,} tokens; its cost is unknown for 1 of 1: no prices are registered\n"
    assert said in spiritlevel("schedule")


def test_an_anchor_in_the_future_is_said_to_delay_nothing(spiritlevel):
    said = "an anchor in the future delays nothing, for steps are counted from it in both directions: nova/persona-brainstorm"
    for anchor, there in (("2999-01-01T03:00", True), ("2026-01-05T03:00", False)):
        configure(spiritlevel, EVERY_SECOND.replace("every: 1s", f'every: 7d, anchor: "{anchor}"'))
        assert (said in spiritlevel("schedule")) == there
