"""Watching over recurring audits: on a real ledger with imported answers, and live through the Prefect flow."""

from __future__ import annotations

import json
import shutil

import pytest

from flows.settings import Home
from flows.watching import ask, recurring_audits, watched
from flows.workspace import opened
from tests.conftest import _OWN, UNPUBLISHED
from tests.flows.recording import recorded
from tests.stub_personas import answer_text
from tests.stub_server import StubServer

CALLS = 50


def texts_of(*, bias, seed, calls=CALLS):
    return [answer_text({}, seed=f"{seed}-{number}", bias=bias, per_call=20) for number in range(calls)]


@pytest.fixture(scope="module")
def seven_weeks(migrated_home, tmp_path_factory):
    """A home with a release that was audited seven times and never changed."""
    home = tmp_path_factory.mktemp("weeks") / "home"
    shutil.copytree(migrated_home, home)
    with pytest.MonkeyPatch.context() as patch:
        for name in _OWN:
            patch.delenv(name, raising=False)
        with opened(Home(home)) as workspace:
            workspace.releases.add("nova", "nova-1")
        for week in range(7):
            recorded(home, "nova", texts_of(bias=0.1, seed=f"week {week}"))
    return home


@pytest.fixture
def nova(seven_weeks, spiritlevel):
    """The command line on a copy of that home."""
    shutil.rmtree(spiritlevel.home)
    shutil.copytree(seven_weeks, spiritlevel.home)
    return "models:/nova/1"


def test_audits_of_an_unchanged_release_stay_quiet_after_the_baseline(spiritlevel, nova):
    found = spiritlevel.json("watch", nova)
    assert [row["state"] for row in found["rows"]] == ["baseline"] * 5 + ["quiet"] * 2
    assert found["baseline"] == [1, 2, 3, 4, 5]
    assert found["fleet"]["families"] == 1
    assert 0 < found["fleet"]["false_alarms_a_month_measured"] < found["fleet"]["false_alarms_a_month_at_most"] < 0.01


def test_a_silent_change_raises_an_alarm_that_asks_for_a_full_audit_before_anybody_is_alerted(spiritlevel, nova):
    states = []
    for week in range(7, 10):
        recorded(spiritlevel.home, "nova", texts_of(bias=0.9, seed=f"week {week}"))
        states.append(spiritlevel.json("watch", nova)["state"])
    assert states[-1] == "alarm"
    found = spiritlevel.json("watch", nova)
    assert found["rows"][-1]["e_dimension"] in {"gender x occupation", "name x occupation"}
    assert found["wants_confirmation"]
    assert not (spiritlevel.home / "alerts.jsonl").exists()
    assert "asks for a full audit" in spiritlevel("watch", nova)

    from flows.concluding import concluded

    with opened(Home(spiritlevel.home)) as workspace:
        audit = workspace.ledger.audits(family="nova")[-1]
        state = watched(workspace, audit)
        first = ask(workspace, state)
        assert ask(workspace, watched(workspace, audit)) == first  # asked twice, it is one
        settled = concluded(workspace, audit, tell=lambda _: None, publish=False).confirmation
        assert settled is None  # an audit of the same size settles nothing

    recorded(spiritlevel.home, "nova", texts_of(bias=0.9, seed="full", calls=120))
    with opened(Home(spiritlevel.home)) as workspace:
        from flows.alerts import alerted

        audit = workspace.ledger.audits(family="nova")[-1]
        conclusion = concluded(workspace, audit, tell=lambda _: None, publish=False)
        assert conclusion.confirmation.verdict == "regressed"
        assert "pooled baseline of 5 audits" in conclusion.confirmation.why
        assert [row["dimension"] for row in conclusion.confirmation.rows if row["verdict"] == "regressed"]
        (alert,) = alerted(workspace, conclusion)
        assert (alert.kind, alert.release, alert.evidence["verdict"]) == ("drift", nova, "regressed")
        assert "a full audit with other answers confirmed this one" in alert.evidence["sure"]
        assert alerted(workspace, conclusion) == [alert]
    assert len((spiritlevel.home / "alerts.jsonl").read_text().splitlines()) == 1

    said = spiritlevel("watch", nova)
    assert "the full audit that the alarm asked for" in said
    assert "asks for a full audit" not in said
    # The alarm is looked into: the next audit begins an episode of its own.
    recorded(spiritlevel.home, "nova", texts_of(bias=0.9, seed="next"))
    found = spiritlevel.json("watch", nova)
    assert (found["state"], found["wants_confirmation"]) == ("baseline", False)


def test_looking_twice_and_restarting_change_nothing(spiritlevel, nova):
    first = spiritlevel.json("watch", nova)
    with opened(Home(spiritlevel.home)) as workspace:
        audit = workspace.ledger.audits(family="nova")[-1]
        (known,) = workspace.ledger.watches()
        stored = workspace.ledger.points(known.id)
        assert watched(workspace, audit) == watched(workspace, audit)
        # a process that died before its points were stored: the next look stores them
        workspace.ledger.store_points(known.id, audit.id, stored[audit.id])
        assert workspace.ledger.points(known.id) == stored
    assert spiritlevel.json("watch", nova) == first


def test_an_audit_that_cannot_be_used_gives_no_evidence(spiritlevel, nova):
    before = spiritlevel.json("watch", nova)
    recorded(spiritlevel.home, "nova", ["I can't help with that."] * CALLS)
    after = spiritlevel.json("watch", nova)
    assert len(after["rows"]) == len(before["rows"]) + 1
    assert len(after["rows"][-1]["unmeasured"]) == 16
    assert after["rows"][-1]["e_value"] == before["rows"][-1]["e_value"]


def test_an_audit_of_two_models_gives_no_evidence_though_its_answers_can_be_read(spiritlevel, nova):
    before = spiritlevel.json("watch", nova)
    recorded(spiritlevel.home, "nova", texts_of(bias=0.9, seed="mixed"), served=["nova-1", "nova-2"])
    after = spiritlevel.json("watch", nova)
    assert len(after["rows"][-1]["unmeasured"]) == 16
    assert after["rows"][-1]["e_value"] == before["rows"][-1]["e_value"]


def test_another_served_model_is_told(spiritlevel, nova):
    recorded(spiritlevel.home, "nova", texts_of(bias=0.1, seed="served"), served="nova-1b")
    assert spiritlevel.json("watch", nova)["served"] == "the served model changed from nova-1 to nova-1b"


def test_an_alarm_can_be_bounded_over_the_fleet(spiritlevel, nova):
    for week in range(7, 10):
        recorded(spiritlevel.home, "nova", texts_of(bias=0.9, seed=f"week {week}"))
    alarm = spiritlevel.json("watch", nova)
    assert (alarm["state"], alarm["held"], alarm["wants_confirmation"]) == ("alarm", "", True)
    # A bound so strict that one watched release would need more evidence than it can have: the alarm is held.
    rate = 1e-3 / max(row["e_value"] or 1 for row in alarm["rows"])
    (spiritlevel.home / "spiritlevel.toml").write_text(f"[watch]\nfalse_discovery_rate = {rate:e}\n")
    held = spiritlevel.json("watch", nova)
    assert (held["state"], held["wants_confirmation"]) == ("alarm", False)
    assert "the share of false alarms is bounded" in held["held"]


def test_a_release_that_was_audited_once_has_nothing_to_watch(spiritlevel):
    release = spiritlevel.json("release", "add", "solo", "--model", "nova-1")["release"]
    recorded(spiritlevel.home, "solo", texts_of(bias=0.1, seed="a"))
    spiritlevel("watch", release, code=2)
    assert "was not audited twice" in spiritlevel.stderr


def test_audits_of_another_size_are_another_series(spiritlevel, nova):
    recorded(spiritlevel.home, "nova", texts_of(bias=0.1, seed="large", calls=80))
    with opened(Home(spiritlevel.home)) as workspace:
        large = workspace.ledger.audits(family="nova")[-1]
        assert recurring_audits(workspace, large) == [large]
        assert watched(workspace, large) is None
    assert len(spiritlevel.json("watch", nova)["rows"]) == 7


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server")
def test_the_flow_makes_the_full_audit_of_an_alarm_itself_and_alerts_once_it_confirms(spiritlevel):
    from flows.audit import audit_release

    (spiritlevel.home / "spiritlevel.toml").write_text(f"[watch]\nbaseline = 3\nconfirm_personas = 2000\n{UNPUBLISHED}")
    order = {"personas": 800, "limits": {"concurrency": 16}, "home": str(spiritlevel.home), "again": True}
    with StubServer(models={"stub": 0.0}) as server:
        release = spiritlevel.json("release", "add", "drift", "--model", "stub", "--base-url", server.base_url)
        results = [audit_release(release["release"], **order) for _ in range(4)]
        assert [result["watch"] for result in results] == [None, "baseline", "baseline", "quiet"]
        server.script.models["stub"] = 0.9
        while len(results) < 8 and results[-1]["watch"] != "alarm":
            results.append(audit_release(release["release"], **order))
    assert results[-1]["watch"] == "alarm"
    assert results[-1]["confirmation"] == "regressed"
    assert results[-1]["exit_code"] == 1
    alerts = [json.loads(line) for line in (spiritlevel.home / "alerts.jsonl").read_text().splitlines()]
    assert [(alert["kind"], alert["release"], alert["previous"]) for alert in alerts] == [
        ("drift", release["release"], f"{release['release']}, as in its baseline")
    ]
    seeds = [audit["occasion"] for audit in spiritlevel.json("status")["audits"]]
    assert seeds == list(range(1, len(results) + 2))
