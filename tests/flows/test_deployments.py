"""Deployments on a real Prefect server: made once, left alone while nothing changes, and only ours."""

from __future__ import annotations

import json
import socketserver
import threading
import types

import pytest

from flows.collecting import Limits
from flows.deployments import deployment_name, wanted_deployments
from flows.duties import duties_of, next_slot
from flows.service_settings import service_settings
from flows.settings import Home
from flows.workspace import opened
from metrics.errors import BadInputError
from tests.prefect_process import PrefectServer, free_port, pointed_at, wait_for

TWO = """
families:
  nova:
    releases: [newest, "@champion"]
    audits:
      - {protocol: persona-brainstorm, personas: 400, cron: "30 2 * * *", zone: Europe/Madrid}
  luna (EU):
    audits:
      - {protocol: persona-brainstorm, every: 7d, anchor: "2026-01-05T03:00", zone: Europe/Madrid, share: 2}
"""
NOVA, CHAMPION = "audit-release/nova-persona-brainstorm", "audit-release/nova-persona-brainstorm@champion"
LUNA, CLOCK = "audit-release/luna (EU)-persona-brainstorm", "duty-clock/spiritlevel"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with PrefectServer(tmp_path_factory.mktemp("prefect") / "server") as running:
        yield running


@pytest.fixture
def deploy(spiritlevel, server):
    """``spiritlevel deploy`` with a configuration; what it leaves on the server is removed after the test."""

    def run(text, *options):
        (spiritlevel.home / "spiritlevel.yaml").write_text(text)
        found = spiritlevel.json("deploy", *options)
        return {name: found[name] for name in ("created", "updated", "unchanged", "removed")}

    with pointed_at(server):
        yield run
        for one in deployments().values():
            with client() as prefect:
                prefect.delete_deployment(one.id)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrue",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", marks=pytest.mark.slow),  # Prefect's client tries for a minute
    ],
    ids=["html", "json", "true", "404", "ssh"],
)
def test_what_answers_and_is_no_prefect_server_is_said(spiritlevel, answer):
    class Other(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65536)
            self.request.sendall(answer)

    (spiritlevel.home / "spiritlevel.yaml").write_text(TWO)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{other.server_address[1]}/api"
        with pointed_at(types.SimpleNamespace(api=address)):
            spiritlevel("deploy", code=2)
        other.shutdown()
    assert f"what answers at {address} is no Prefect server; correct PREFECT_API_URL" in spiritlevel.stderr


def client():
    from prefect.client.orchestration import get_client

    return get_client(sync_client=True)


def deployments():
    with client() as prefect:
        flows = {flow.id: flow.name for flow in prefect.read_flows()}
        return {f"{flows[one.flow_id]}/{one.name}": one for one in prefect.read_deployments()}


def scheduled(name):
    """Ids and times of the runs that Prefect has scheduled for a deployment."""
    with client() as prefect:
        runs = prefect.request(
            "POST",
            "/flow_runs/filter",
            json={"deployments": {"id": {"any_": [str(deployments()[name].id)]}}, "sort": "EXPECTED_START_TIME_ASC"},
        ).json()
    return [(run["id"], run["expected_start_time"]) for run in runs if run["state_type"] == "SCHEDULED"]


def test_deploying_again_changes_nothing_and_what_changed_or_is_gone_is_updated_or_removed(deploy):
    all_of_it = [LUNA, NOVA, CHAMPION, CLOCK]
    assert deploy(TWO, "--dry-run")["created"] == all_of_it
    assert deployments() == {}
    assert deploy(TWO) == {"created": all_of_it, "updated": [], "unchanged": [], "removed": []}
    wait_for(lambda: scheduled(NOVA) and scheduled(LUNA), 60, "runs that Prefect schedules")
    before = {name: one.model_dump() for name, one in deployments().items()}
    planned = {name: scheduled(name) for name in (NOVA, LUNA)}

    assert deploy(TWO) == {"created": [], "updated": [], "unchanged": all_of_it, "removed": []}
    for name, one in deployments().items():
        for volatile in ("status", "last_polled"):
            before[name].pop(volatile, None)
        assert {key: value for key, value in one.model_dump().items() if key in before[name]} == before[name]
    for name, runs in planned.items():
        assert scheduled(name)[: len(runs)] == runs

    larger = TWO.replace("personas: 400", "personas: 800")
    assert deploy(larger, "--dry-run")["updated"] == [NOVA, CHAMPION]
    assert deploy(larger) == {"created": [], "updated": [NOVA, CHAMPION], "unchanged": [LUNA, CLOCK], "removed": []}
    now = deployments()
    assert now[NOVA].parameters["personas"] == 800
    assert now[NOVA].id == before[NOVA]["id"]
    assert now[NOVA].schedules[0].id == before[NOVA]["schedules"][0]["id"]  # only the size changed
    wait_for(lambda: scheduled(NOVA), 60, "runs that Prefect schedules again")
    assert [at for _, at in scheduled(NOVA)][:3] == [at for _, at in planned[NOVA]][:3]

    later = larger.replace('"30 2 * * *"', '"0 4 * * *"')
    assert deploy(later)["updated"] == [NOVA, CHAMPION]
    assert deployments()[NOVA].schedules[0].schedule.cron == "0 4 * * *"
    assert len(deployments()[NOVA].schedules) == 1

    assert deploy(later.replace(', "@champion"', ""))["removed"] == [CHAMPION]
    assert sorted(deployments()) == [LUNA, NOVA, CLOCK]


def test_prefect_schedules_the_very_moments_of_the_duty_clock(deploy, spiritlevel):
    import datetime as dt

    deploy(TWO)
    duties = {duty.family: duty for duty in duties_of(Home(spiritlevel.home).service) if duty.release == "newest"}
    for name, family in ((NOVA, "nova"), (LUNA, "luna (EU)")):
        wait_for(lambda name=name: len(scheduled(name)) >= 3, 60, "runs that Prefect schedules")
        moment = dt.datetime.now(dt.UTC)
        for _, at in scheduled(name)[:3]:
            slot = next_slot(duties[family], moment)
            assert dt.datetime.fromisoformat(at) == slot.at
            moment = slot.at


def test_a_paused_deployment_stays_paused_and_other_peoples_are_never_touched(deploy, spiritlevel):
    deploy(TWO)
    with client() as prefect:
        prefect.pause_deployment(deployments()[NOVA].id)
        flow = prefect.create_flow_from_name("audit-release")
        prefect.create_deployment(flow, "somebody-else", tags=["spiritlevel"])
    deploy(TWO.replace("personas: 400", "personas: 800"))
    assert deployments()[NOVA].paused
    assert "audit-release/somebody-else" not in deploy("families: {}")["removed"]
    assert sorted(deployments()) == ["audit-release/somebody-else", CLOCK]


def test_a_deployment_of_a_wanted_name_that_is_somebody_elses_is_refused(deploy, spiritlevel):
    with client() as prefect:
        prefect.create_deployment(prefect.create_flow_from_name("audit-release"), NOVA.partition("/")[2])
    (spiritlevel.home / "spiritlevel.yaml").write_text(TWO)
    spiritlevel("deploy", code=2)
    assert "was not made for this ledger" in spiritlevel.stderr
    assert list(deployments()) == [NOVA]
    assert deploy(f"{TWO}\nwork_pool: staging")["created"][0] == f"{LUNA} (staging)"


def test_the_work_pool_is_made_when_it_is_missing_and_deployments_name_a_module(deploy, spiritlevel):
    deploy(f"{TWO}\nwork_pool: brand-new")
    with client() as prefect:
        assert prefect.read_work_pool("brand-new").type == "process"
    found = deployments()[f"{NOVA} (brand-new)"]
    assert (found.entrypoint, found.work_pool_name) == ("flows.audit.audit_release", "brand-new")
    assert found.global_concurrency_limit is None  # see decision 0014
    assert not json.loads(spiritlevel("deploy", "--json"))["pool_made"]


def test_a_deployed_duty_is_known_to_the_ledger_before_the_clock_looked(deploy, spiritlevel):
    deploy(TWO)
    with opened(Home(spiritlevel.home)) as workspace:
        assert "nova/persona-brainstorm @champion" in [duty.name for duty in workspace.ledger.duties()]


def test_without_a_prefect_server_there_is_one_clear_error(spiritlevel):
    from prefect.settings import PREFECT_API_URL, temporary_settings

    (spiritlevel.home / "spiritlevel.yaml").write_text(TWO)
    with temporary_settings({PREFECT_API_URL: f"http://user:password@127.0.0.1:{free_port()}/api"}):
        spiritlevel("deploy", code=2)
    assert "does not answer" in spiritlevel.stderr
    assert "password" not in spiritlevel.stderr
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        spiritlevel("deploy", code=2)
    assert "set PREFECT_API_URL" in spiritlevel.stderr


def test_without_a_configuration_nothing_is_deployed_or_removed(spiritlevel):
    spiritlevel("deploy", code=2)
    assert "spiritlevel.yaml" in spiritlevel.stderr


def test_two_audits_that_would_share_a_deployment_are_refused(tmp_path):
    path = tmp_path / "spiritlevel.yaml"
    audit = "{protocol: persona-brainstorm, name: %s, every: 7d}"
    path.write_text(f"families:\n  a-b: {{audits: [{audit % 'c'}]}}\n  a: {{audits: [{audit % 'b-c'}]}}\n")
    settings = service_settings(path)
    names = [deployment_name(duty, settings.work_pool) for duty in duties_of(settings)]
    assert names == ["a-b-c", "a-b-c"]
    with pytest.raises(BadInputError, match="'a-b-c'"):
        wanted_deployments(settings, "0")


def test_what_one_audit_may_spend_holds_for_helpers_and_runs_by_hand_too(tmp_path):
    path = tmp_path / "spiritlevel.yaml"
    path.write_text(TWO.replace("share: 2", "share: 2, budget: {tokens: 3000, usd: 2.5}, concurrency: 4"))
    luna = next(one for one in wanted_deployments(service_settings(path), "0") if one.name.startswith("luna"))
    limits = Limits(**luna.parameters["limits"])
    assert (limits.budget_tokens, limits.budget_usd, limits.concurrency) == (3000, 2.5, 4)


def test_a_machine_with_another_configuration_or_none_refuses_to_be_the_clock(deploy, spiritlevel):
    from flows.clockwork import refuse_other_configuration

    deploy(TWO)
    path = spiritlevel.home / "spiritlevel.yaml"
    for text, refused in ((TWO, False), (TWO.replace("400", "800"), True), (None, True)):
        path.unlink() if text is None else path.write_text(text)
        with opened(Home(spiritlevel.home)) as workspace:
            if not refused:
                refuse_other_configuration(workspace)
                continue
            with pytest.raises(BadInputError, match="spiritlevel"):
                refuse_other_configuration(workspace)
            assert len(workspace.ledger.duties()) == 3
