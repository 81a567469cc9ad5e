"""From findings to messages on real channels: a file, and a webhook receiver on loopback."""

from __future__ import annotations

import json

import pytest

from flows.alerts import alerted, cleared, deliver, raised, renotified
from flows.channels.message import inert
from flows.delivery import message_of
from flows.finding_kinds import budget_reached, overdue
from flows.settings import Home
from flows.workspace import opened
from registry.ledger.incidents import OPEN, RECOVERED
from tests.flows.alert_setup import NOW, SECRET, at, both_channels, configured, finding, lines_of
from tests.flows.audited import concluded_of, texts_of
from tests.hook_server import HookServer

HOSTILE = "Ada \x1b[31m\u202e<script>alert(1)</script> [x](javascript:1) @everyone <!channel> https://evil.example `x`"


@pytest.fixture
def workspace(home):
    with opened(Home(home)) as found:
        yield found


@pytest.fixture
def hook(monkeypatch):
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    with HookServer() as server:
        yield server


# From audits to messages ------------------------------------------------------------------------------------------


def test_a_planted_regression_is_told_once_on_each_channel_and_once_more_when_it_is_over(home, hook):
    configured(home, both_channels(hook, "alerts: {replicate: false}\nlinks: {mlflow: https://mlflow.example}"))
    with opened(Home(home)) as workspace:
        for version in (1, 2, 3, 4):
            workspace.releases.add("nova", f"nova-{version}")
        assert alerted(workspace, concluded_of(workspace, 1, texts_of(bias=0.0, seed="1"))) == []
        regressed = concluded_of(workspace, 2, texts_of(bias=0.9, seed="2"))
        (incident,) = alerted(workspace, regressed)
        (line,) = lines_of(home)
        assert (line["event"], line["severity"], line["verdict"]) == ("opened", "high", "regressed")
        assert (line["release"], line["previous"]) == ("models:/nova/2", "models:/nova/1")
        assert "gender x occupation" in line["dimensions"]
        moved = next(row for row in line["evidence"]["moved"] if row["dimension"] == "gender x occupation")
        assert moved["low"] < moved["delta"] < moved["high"] + 0.2
        assert moved["qvalue_up"] < 0.05
        assert (moved["n_current"], moved["clusters_current"]) == (2000, 100)
        assert "about 5 % are called regressed by chance" in line["evidence"]["sure"]
        assert line["evidence"]["cells"][0]["row"] == "female"
        assert line["links"]["Releases side by side"].startswith("https://mlflow.example/#/compare-model-versions?")
        assert line["links"]["Release in MLflow, with its card and moved cells"].endswith("/#/runs/runnova2")
        assert "Not replicated" in line["evidence"]["replication"]
        assert hook.messages == [line | {"id": hook.messages[0]["id"]}]

        assert [one.id for one in alerted(workspace, regressed)] == [incident.id]  # the same audit looked at again
        still = concluded_of(workspace, 3, texts_of(bias=0.9, seed="3"))  # the next release, as bad as this one
        (same,) = alerted(workspace, still)
        assert (same.id, same.state, same.notices) == (incident.id, OPEN, 1)
        assert same.evidence["seen"][-1]["verdict"] == "regressed"
        assert len(lines_of(home)) == len(hook.messages) == 1

        fixed = concluded_of(workspace, 4, texts_of(bias=0.0, seed="4 0.0 0"))
        over = [one for one in alerted(workspace, fixed) if one.id == incident.id]
        assert [one.state for one in over] == [RECOVERED]
        assert [line["event"] for line in lines_of(home)] == ["opened", "recovered"]
        assert "is no longer worse in gender x occupation" in lines_of(home)[1]["why"]
        alerted(workspace, fixed)
        alerted(workspace, regressed)  # old news opens nothing
        alerted(workspace, still)
    assert len(lines_of(home)) == 2
    assert [message["event"] for message in hook.messages] == ["opened", "recovered"]
    assert hook.signed_with(SECRET) == [True, True]
    assert [headers["idempotency-key"] for headers in hook.headers] == [message["id"] for message in hook.messages]
    assert len({message["id"] for message in [*hook.messages, *lines_of(home)]}) == 4


@pytest.mark.slow
def test_an_inconclusive_audit_leaves_a_regression_open(home, workspace):
    for version in (1, 2, 3):
        workspace.releases.add("nova", f"nova-{version}")
    concluded_of(workspace, 1, texts_of(bias=0.0, seed="1"), live=False)
    (incident,) = alerted(workspace, concluded_of(workspace, 2, texts_of(bias=0.9, seed="2"), live=False))
    assert "imported" in incident.evidence["replication"]
    small = concluded_of(workspace, 3, texts_of(bias=0.3, seed="3", calls=25), live=False)
    assert small.comparison.verdict == "inconclusive"
    found = {one.id: one for one in alerted(workspace, small)}
    assert found[incident.id].state == OPEN
    assert [line["event"] for line in lines_of(home) if line["kind"] == "regression"] == ["opened"]


@pytest.mark.slow
def test_show_says_what_is_missing_for_a_recovery_and_before_that_how_it_ends(spiritlevel):
    (spiritlevel.home / "spiritlevel.toml").write_text("[gate]\nthreshold = 0.6\nagainst = []\n")
    configured(spiritlevel.home, "alerts: {replicate: false}")
    with opened(Home(spiritlevel.home)) as workspace:
        for version in (1, 2, 3, 4):
            workspace.releases.add("nova", f"nova-{version}")
        concluded_of(workspace, 1, texts_of(bias=0.0, seed="1"))
        found = alerted(workspace, concluded_of(workspace, 2, texts_of(bias=0.9, seed="2")))
        ids = {one.kind: one.id for one in found}
        ends = "it is over when a later audit of the family is no longer worse than the same reference"
        assert ends in spiritlevel("alerts", "show", ids["regression"])
        assert "it is over when a later audit passes the gate" in spiritlevel("alerts", "show", ids["gate-failure"])
        alerted(workspace, concluded_of(workspace, 3, texts_of(bias=0.9, seed="3")))
        shown = spiritlevel("alerts", "show", ids["regression"])
        assert ends not in shown
        assert "it is not over, for in audit 3, against what it was first compared with:" in shown
        (line,) = [
            line for line in shown.splitlines() if line.startswith("- gender x occupation") and "would do" in line
        ]
        assert line.endswith(": regressed; an estimate below +0.05 would do")
        gate = spiritlevel("alerts", "show", ids["gate-failure"])
        assert "- threshold: gender x occupation is failed; " in gate
        missing = spiritlevel.json("alerts", "show", ids["regression"])["evidence"]["seen"][-1]["missing"]
        assert line.removeprefix("- ") in missing
        alerted(workspace, concluded_of(workspace, 4, texts_of(bias=0.0, seed="4 0.0 0")))
    assert "it is not over" not in spiritlevel("alerts", "show", ids["regression"])


def test_what_others_find_is_told_once_brought_up_to_date_and_cleared(home, workspace):
    first = raised(workspace, overdue("nova/weekly", family="nova", protocol="p", why="2 h late"), NOW)
    again = raised(workspace, overdue("nova/weekly", family="nova", protocol="p", why="3 h late"), at(1))
    assert (again.id, again.why, again.notices) == (first.id, "3 h late", 1)
    assert raised(workspace, budget_reached("2026-11", why="200 of 200 US dollars"), NOW).severity == "medium"
    assert cleared(workspace, first.key, "an audit finished", at(2)).state == RECOVERED
    assert cleared(workspace, first.key, "an audit finished", at(2)) is None
    deliver(workspace, at(2))
    # it was never told that it is overdue: that it was, and no longer is, is one message
    assert [(line["kind"], line["event"]) for line in lines_of(home)] == [
        ("budget", "opened"),
        ("overdue", "recovered"),
    ]
    assert raised(workspace, overdue("nova/weekly", family="nova", protocol="p", why="late"), at(3)).id != first.id


# Routing ----------------------------------------------------------------------------------------------------------


def test_each_family_has_its_own_channels_severities_and_bound(home, workspace):
    configured(
        home,
        """
channels:
  all: {kind: file, path: all.jsonl}
  pager: {kind: file, path: pager.jsonl}
alerts: {channels: [all], severities: {overdue: low}}
families:
  nova: {alerts: {channels: [all, pager], at_least: medium, severities: {overdue: high}}}
  quiet: {alerts: {at_least: medium}}
""",
    )
    raised(workspace, finding(family="nova"), NOW)
    raised(workspace, finding(family="other"), NOW)
    raised(workspace, overdue("nova/x", family="nova", protocol="p", why="late"), NOW)
    raised(workspace, overdue("other/x", family="other", protocol="p", why="late"), NOW)
    raised(workspace, overdue("quiet/x", family="quiet", protocol="p", why="late"), NOW)  # of low severity: nobody
    assert deliver(workspace, NOW).sent == 6
    told = {
        name: [(line["family"], line["kind"]) for line in lines_of(home, f"{name}.jsonl")] for name in ("all", "pager")
    }
    assert told == {
        "all": [("nova", "regression"), ("other", "regression"), ("nova", "overdue"), ("other", "overdue")],
        "pager": [("nova", "regression"), ("nova", "overdue")],
    }


def test_without_channels_alerts_go_to_the_file_of_the_home_and_one_that_died_midway_swallows_no_other(home, workspace):
    (home / "alerts.jsonl").write_text('{"id": "cut of')
    raised(workspace, finding(), NOW)
    assert deliver(workspace, NOW).sent == 1
    first, line = (home / "alerts.jsonl").read_text().splitlines()
    assert first == '{"id": "cut of'
    assert json.loads(line)["title"] == "models:/nova/2 regressed"


def test_an_open_incident_is_told_again_until_somebody_acknowledges_it(spiritlevel, workspace):
    home = spiritlevel.home
    configured(home, "alerts: {renotify: 7d}\n")
    incident = raised(workspace, finding(), NOW)
    raised(workspace, finding("minor", kind="instrument-moved"), NOW)
    deliver(workspace, NOW)
    assert renotified(workspace, at(24 * 7 - 1)) == []
    assert [one.id for one in renotified(workspace, at(24 * 7))] == [
        incident.id
    ]  # what is of low severity is not repeated
    assert renotified(workspace, at(24 * 7)) == []
    assert renotified(workspace, at(24 * 14)) == []  # the first reminder was not delivered yet: they do not pile up
    deliver(workspace, at(24 * 14))
    line = lines_of(home)[-1]
    assert (line["event"], line["incident"]) == ("again", incident.id)
    assert "nobody acknowledged it" in line["why"]
    spiritlevel("alerts", "ack", incident.id, "--why", "known; fixed in the next release", "--who", "ada")
    assert renotified(workspace, at(24 * 60)) == []
    shown = spiritlevel("alerts", "show", incident.id)
    assert "acknowledged by ada" in shown
    cleared(workspace, incident.key, "it is over", at(24 * 60))
    deliver(workspace, at(24 * 60))
    assert lines_of(home)[-1]["evidence"]["details"][-1] == "acknowledged by ada: known; fixed in the next release"


# What is hostile or secret ----------------------------------------------------------------------------------------


def test_hostile_text_stays_text_in_every_form(home, hook, spiritlevel):
    configured(home, both_channels(hook))
    cells = [{"text": f"gender x occupation, {HOSTILE} in care: 3.1 % to 9.8 %; q below .001"}]
    with opened(Home(home)) as workspace:
        raised(workspace, finding(title=HOSTILE, evidence={"cells": cells, "sure": HOSTILE}), NOW)
        deliver(workspace, NOW)
        message = message_of(workspace, workspace.ledger.notices()[0])
    raw = (home / "alerts.jsonl").read_bytes() + hook.bodies[0]
    assert b"\x1b" not in raw
    assert all(byte < 128 for byte in raw)
    assert hook.messages[0]["title"] == HOSTILE  # for machines it is kept as it came
    import markdown

    for text in (message.subject, message.text(), message.markdown()):
        assert not set("\x1b\u202e<>@[]`|") & set(text)
        assert "://" not in text
    html = markdown.markdown(message.markdown())
    assert "<script" not in html
    assert "<a " not in html
    shown = spiritlevel("alerts", "show", 1) + spiritlevel("alerts", "list")
    assert not set("\x1b\u202e") & set(shown)


def test_what_services_make_something_of_is_made_inert():
    assert inert("a" * 5000).endswith("… (5,000 characters)")
    assert inert("x\ny") == "x y"


def test_no_secret_is_in_any_file_of_the_home_or_in_what_is_said(spiritlevel, monkeypatch):
    secrets = {
        "HOOK_SECRET": "hmac-secret-value-1",
        "HOOK_URL": "http://127.0.0.1:9/services/token-in-the-path-2?key=token-in-the-query-3",
        "PAGER_URL": "json://user-name-4:password-5@127.0.0.1:9/token-6",
        "BROKEN_URL": "nonsense://token-7/",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    configured(
        spiritlevel.home,
        """
channels:
  hook: {kind: webhook, url_env: HOOK_URL, secret_env: HOOK_SECRET}
  pager: {kind: apprise, url_env: PAGER_URL}
  broken: {kind: apprise, url_env: BROKEN_URL}
  missing: {kind: apprise, url_env: NOT_SET}
""",
    )
    with opened(Home(spiritlevel.home)) as workspace:
        raised(workspace, finding(), NOW)
        report = deliver(workspace, NOW)
    assert set(report.failed) == {"hook", "pager", "broken", "missing"}
    assert "NOT_SET" in report.failed["missing"]
    said = str(report)
    for command in (("test",), ("send",)):
        said += spiritlevel("alerts", *command, code=2) + spiritlevel.stderr
    said += spiritlevel("alerts", "list", "--json") + spiritlevel("alerts", "show", 1)
    written = b"".join(path.read_bytes() for path in spiritlevel.home.rglob("*") if path.is_file())
    for part in ("hmac-secret", "token-in-the", "user-name-4", "password-5", "token-6", "token-7"):
        assert part not in said
        assert part.encode() not in written


# Commands ---------------------------------------------------------------------------------------------------------


def test_the_commands_show_acknowledge_and_test(spiritlevel, hook):
    configured(spiritlevel.home, both_channels(hook))
    assert spiritlevel("alerts", "list") == "no incident is open\n"
    with opened(Home(spiritlevel.home)) as workspace:
        incident = raised(workspace, finding(), NOW)
    listed = spiritlevel.json("alerts", "list")
    assert [one["id"] for one in listed["incidents"]] == [incident.id]
    assert {(n["channel"], n["state"]) for n in listed["undelivered"]} == {("log", "waiting"), ("hook", "waiting")}
    assert spiritlevel.json("alerts", "send") == {"sent": 2, "failed": {}, "deferred": 0, "given_up": 0, "waiting": 0}
    assert spiritlevel.json("alerts", "list")["undelivered"] == []
    shown = spiritlevel("alerts", "show", incident.id)
    assert "opened to hook: sent" in shown
    assert "HTTP 204" in shown
    assert spiritlevel.json("alerts", "show", incident.id)["told"][0]["state"] == "sent"
    assert spiritlevel.json("alerts", "ack", incident.id, "--why", "known", "--who", "ada")["state"] == "acknowledged"
    said = spiritlevel("alerts", "ack", incident.id, "--why", "mine now", "--who", "eve")
    assert "(by eve)" in said
    assert "before, acknowledged by ada at " in said
    assert "(before: ada at " in spiritlevel("alerts", "show", incident.id)
    spiritlevel("alerts", "ack", incident.id, "--why", " ", code=2)
    assert "readable words" in spiritlevel.stderr
    spiritlevel("alerts", "show", 99, code=2)
    assert "there is no incident 99" in spiritlevel.stderr
    tested = spiritlevel("alerts", "test")
    assert "hook: delivered; HTTP 204" in tested
    assert hook.messages[-1]["event"] == "test"
    hook.answers = [401]
    result = spiritlevel.json("alerts", "test", "--channel", "hook", code=2)
    assert result == {"hook": {"delivered": False, "answer": "HTTP 401"}}
    spiritlevel("alerts", "test", "--channel", "hok", code=2)
    with opened(Home(spiritlevel.home)) as workspace:
        cleared(workspace, incident.key, "over")
    assert spiritlevel("alerts", "list").startswith("no incident is open")
    assert "recovered" in spiritlevel("alerts", "list", "--all")


@pytest.mark.parametrize("number", ["0", "7", str(2**31), str(2**63), "9" * 40])
def test_an_incident_that_is_not_there_is_said_however_large_its_number(spiritlevel, number):
    for command in (("show",), ("ack", "--why", "known")):
        spiritlevel("alerts", *command, number, code=2)
        assert f"there is no incident {number};" in spiritlevel.stderr
