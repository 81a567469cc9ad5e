"""The Prefect flow: with Prefect's own temporary server, and what it leaves behind."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from flows import duty_clock
from flows.settings import Home
from flows.workspace import opened
from registry.audits.plan import Outcome, Response
from registry.ledger.ownership import Owner
from tests.stub_server import StubServer

DAILY = """
families:
  nova: {audits: [{protocol: persona-brainstorm, personas: 40, cron: "0 3 * * *", grace: 1h}]}
"""
DUTY = "nova/persona-brainstorm"


@pytest.mark.usefixtures("prefect_server")
def test_the_flow_audits_in_batches_and_alerts_once_when_a_release_regressed(spiritlevel, monkeypatch):
    import flows.audit
    from flows.audit import audit_release

    monkeypatch.setattr(flows.audit, "BATCH", 40)
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.9}) as server:
        releases = [
            spiritlevel.json("release", "add", "nova", "--model", model, "--base-url", server.base_url)["release"]
            for model in ("stub-1", "stub-2")
        ]
        order = {"personas": 2000, "limits": {"concurrency": 16}, "home": str(spiritlevel.home)}
        first = audit_release(releases[0], **order)
        second = audit_release(releases[1], **order)
        calls = server.calls
        again = audit_release(releases[1], **order)
        assert server.calls == calls == 300  # each release once, and the second sample that the finding needed
    assert (first["state"], first["verdict"], first["exit_code"]) == ("complete", None, 0)
    assert (second["verdict"], second["exit_code"]) == ("regressed", 1)
    assert (again["audit"], again["verdict"]) == (3, "regressed")  # the newest occasion: the second sample
    alerts = [json.loads(line) for line in (spiritlevel.home / "alerts.jsonl").read_text().splitlines()]
    assert [(alert["release"], alert["previous"], alert["verdict"]) for alert in alerts] == [
        (releases[1], releases[0], "regressed")
    ]
    assert "gender x occupation" in alerts[0]["dimensions"]
    assert _artifacts() >= {f"audit-{first['audit']}", f"audit-{second['audit']}"}
    assert {run.name for run in _flow_runs()} >= {f"{release} persona-brainstorm" for release in releases}


@pytest.mark.usefixtures("prefect_server")
def test_an_audit_of_which_every_call_failed_is_asked_again_as_a_whole_in_all_its_batches(spiritlevel):
    from flows.audit import BATCH, audit_release
    from flows.ordering import Order, ordered

    calls = BATCH + 10
    with StubServer() as server:
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url)
        with opened(Home(spiritlevel.home)) as workspace:
            order = Order(protocol="persona-brainstorm", size=20 * calls)
            audit = ordered(workspace, workspace.releases.find("nova/1"), order)
            failures = [Response(index=i, text="", failure=Outcome.PROVIDER_ERROR, detail="502") for i in range(calls)]
            workspace.ledger.record_all(audit.id, failures)
        limits = {"concurrency": 8}
        made = audit_release("models:/nova/1", personas=20 * calls, limits=limits, home=str(spiritlevel.home))
        assert server.calls == calls
    assert (made["audit"], made["state"]) == (audit.id, "complete")


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server")
def test_a_flow_of_the_command_takes_a_second_sample_only_when_told_to_and_takes_up_one_that_was_interrupted(
    spiritlevel,
):
    from flows.audit import audit_release
    from flows.ordering import Order, ordered

    with StubServer(models={"stub-1": 0.0, "stub-2": 0.9}) as server:
        for model in ("stub-1", "stub-2"):
            spiritlevel("release", "add", "nova", "--model", model, "--base-url", server.base_url)
        order = ("--protocol", "persona-brainstorm", "--personas", 1600, "--concurrency", 16, "--flow")
        spiritlevel("audit", "models:/nova/1", *order)
        spiritlevel("audit", "models:/nova/2", *order, code=1)
        assert server.calls == 160
        assert "--replicate'" in spiritlevel.stderr
        with opened(Home(spiritlevel.home)) as workspace:  # somebody began the second sample
            again = Order(protocol="persona-brainstorm", size=1600, again=True)
            begun = ordered(workspace, workspace.releases.find("nova/2"), again)
        audit_release("models:/nova/2", personas=1600, limits={"concurrency": 16}, home=str(spiritlevel.home))
        with opened(Home(spiritlevel.home)) as workspace:
            (incident,) = workspace.ledger.incidents(kind="regression")
            assert (incident.state, incident.replicate_audit) == ("open", begun.id)
            assert [audit.id for audit in workspace.ledger.audits()] == [1, 2, begun.id]
        assert server.calls == 240


def _artifacts():
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return {artifact.key for artifact in client.read_artifacts()}


def _flow_runs():
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.read_flow_runs()


# ---------------------------------------------------------------- recurring audits, whatever Prefect does


@pytest.fixture
def nova(spiritlevel, prefect_server, monkeypatch):
    """A deployed daily audit that was declared three days ago and never made, and its provider."""
    monkeypatch.setenv("SPIRITLEVEL_HOME", str(spiritlevel.home))
    with StubServer() as server:
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url)
        (spiritlevel.home / "spiritlevel.yaml").write_text(DAILY)
        with opened(Home(spiritlevel.home)) as workspace:
            long_ago = dt.datetime.now(dt.UTC) - dt.timedelta(days=3)
            duty_clock.reconciled(workspace.home.service, workspace.ledger, long_ago)
            spiritlevel("deploy")
            server.ledger, server.workspace = workspace.ledger, workspace
            yield server
        (spiritlevel.home / "spiritlevel.yaml").write_text("families: {}")
        spiritlevel("deploy")


def late_runs():
    """The flow runs that Prefect's schedule made in the last three days, and that no worker has taken."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        deployment = client.read_deployment_by_name("audit-release/nova-persona-brainstorm")
        now = dt.datetime.now(dt.UTC)
        past = {"start_time": (now - dt.timedelta(days=3)).isoformat(), "end_time": now.isoformat(), "min_runs": 9}
        client.request("POST", f"/deployments/{deployment.id}/schedule", json=past)
        runs = [run for run in client.read_flow_runs() if run.deployment_id == deployment.id and run.auto_scheduled]
    return sorted((run for run in runs if run.expected_start_time <= now), key=lambda run: run.expected_start_time)


def handed_out(nova):
    """The run that is due now, and the flow run that it was handed to."""
    from prefect.client.orchestration import get_client

    from flows.clockwork import handed_to_prefect

    due = duty_clock.due_now(nova.workspace, DUTY, dt.datetime.now(dt.UTC))
    with get_client(sync_client=True) as client:
        return due, client.read_flow_run(handed_to_prefect(nova.workspace, due))


def ran(flow_run):
    """The final state of a flow run, run here as a worker runs it."""
    from prefect.flow_engine import run_flow

    from flows.audit import audit_release

    return run_flow(audit_release, flow_run=flow_run, return_type="state")


def test_after_downtime_a_schedule_that_fires_for_every_slot_makes_one_audit_and_says_how_late_it_is(nova):
    states = [ran(late) for late in late_runs()]
    assert [state.name for state in states] == ["Completed", "Skipped", "Skipped"]
    runs = nova.ledger.runs(DUTY)
    assert f"nothing is due for {DUTY}: its run for {runs[-1].slot} is done" in states[1].message
    assert [(run.state, run.kind) for run in runs] == [("skipped", "scheduled")] * 2 + [("done", "catch-up")]
    if runs[-1].late_s > 3600:
        assert "after it was due (grace 1h)" in states[0].message
    assert nova.calls == 2  # 40 personas, 20 a call


def test_a_run_that_is_handed_out_twice_is_made_once(nova):
    due, flow_run = handed_out(nova)
    _, other = handed_out(nova)
    assert other.id == flow_run.id  # handed out again before anything changed: Prefect makes no second one
    first, second = ran(flow_run), ran(late_runs()[-1])
    assert (first.name, second.name) == ("Completed", "Skipped")
    assert f"its run for {due.slot} is done" in second.message
    assert flow_run.parameters["run"] == due.id
    assert nova.calls == 2


def test_a_run_whose_release_is_being_audited_is_refused_and_that_is_recorded(nova, spiritlevel):
    from flows.ordering import Order, ordered

    due, flow_run = handed_out(nova)
    audit = ordered(
        nova.workspace, nova.workspace.releases.find("nova/1"), Order(protocol="persona-brainstorm", size=20)
    )
    other = Owner("another machine", 1, 1.0)
    worker = nova.ledger.begin_work(audit.id, other)
    assert ran(flow_run).name == "Refused"
    assert nova.calls == 0
    refused = nova.ledger.run(due.id)
    assert refused.state == "refused"
    assert f"audit {audit.id} of models:/nova/1 is still running" in refused.why
    nova.ledger.end_work(worker, "over")


def test_a_run_of_a_duty_that_ended_does_nothing(nova, spiritlevel):
    (spiritlevel.home / "spiritlevel.yaml").write_text("families: {}")
    duty_clock.reconciled(Home(spiritlevel.home).service, nova.ledger, dt.datetime.now(dt.UTC))
    state = ran(late_runs()[-1])
    assert state.name == "Skipped"
    assert "not declared any more" in state.message
    assert nova.calls == 0


def test_a_run_that_fails_is_a_failed_flow_run_with_the_reason_and_waits_to_be_tried_again(nova):
    nova.script.default = "401"
    state = ran(late_runs()[-1])
    run = nova.ledger.runs(DUTY, newest=1)[0]
    assert (state.name, run.state) == ("Failed", "failed")
    assert run.next_at is not None
    assert "refused the API key" in state.message
