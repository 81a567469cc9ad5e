"""A schedule that fires: audit, MLflow, comparison, card and alerts, each exactly as often as something happened."""

from __future__ import annotations

import re
import sys
import urllib.request

import pytest

from tests.faults.standing import SECRET_ENV, Standing, inbox, process
from tests.mlflow_server import MlflowServer
from tests.prefect_process import PREFECT, PrefectServer, pointed_at, wait_for
from tests.stub_server import StubServer

MODELS = {"stub-1": 0.0, "stub-2": 0.9, "stub-3-0": 0.0}  # the last one's first 2,000 personas are clearly better


@pytest.fixture
def standing(spiritlevel, monkeypatch):
    monkeypatch.setenv(SECRET_ENV, "not a secret of anybody")
    with StubServer(models=MODELS) as server, inbox() as box:
        made = Standing(spiritlevel.home, spiritlevel, server.base_url, box)
        made.server = server
        yield made


def story(standing, until_audited, after_another, **declared):
    """From a first release through one that regressed to one that is well again."""
    first = standing.add("stub-1")
    standing.declare(**declared)
    until_audited(first)
    assert standing.told() == []
    second = standing.add("stub-2")
    until_audited(second)
    assert standing.told() == ["opened"]
    standing.everything_is_published(second)
    after_another(second)
    assert standing.told() == ["opened"]
    third = standing.add("stub-3-0")
    until_audited(third)
    assert standing.told() == ["opened", "recovered"]
    standing.everything_is_published(third)
    message = standing.box.messages[0]
    assert (message["release"], message["previous"]) == (second, first)
    assert "gender x occupation" in message["dimensions"]
    assert message["evidence"]["replication"].startswith("Seen in two independent samples")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_due_audit_alerts_once_for_a_regression_and_once_for_the_recovery(standing):
    def until_audited(release):
        wait_for(lambda: standing.spiritlevel("serve", "--once") is not None and standing.done(release), 240, release)

    def after_another(release):
        before = len(standing.done(release))
        wait_for(
            lambda: standing.spiritlevel("serve", "--once") is not None and len(standing.done(release)) > before, 240
        )

    story(standing, until_audited, after_another)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_schedule_of_prefect_fires_on_a_worker_and_does_all_of_that(standing, tmp_path):
    with PrefectServer(tmp_path / "prefect") as server, pointed_at(server), process(
        standing, [PREFECT, "worker", "start", "--pool", "spiritlevel"], PREFECT_API_URL=server.api,
        PREFECT_WORKER_QUERY_SECONDS="2",
    ) as worker:  # fmt: skip

        def until_audited(release):
            standing.spiritlevel("deploy")
            wait_for(lambda: standing.done(release), 240, lambda: f"{release}\n{worker.said()[-6000:]}")

        def after_another(release):
            before = len(standing.done(release))
            wait_for(lambda: len(standing.done(release)) > before, 240, worker.said)

        story(standing, until_audited, after_another, every="45s", poll="60s")
        names = flow_run_names()
        assert any(name.endswith("nova/latest persona-brainstorm") for name in names), names
    assert "Traceback" not in worker.said()


def flow_run_names():
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return {run.name for run in client.read_flow_runs(limit=200)}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_webhook_of_a_real_mlflow_server_starts_an_audit_in_a_service_of_one_process(standing, tmp_path, monkeypatch):
    folder = tmp_path / "mlflow"
    folder.mkdir()
    settings = {
        "MLFLOW_WEBHOOK_ALLOWED_SCHEMES": "http,https",
        "MLFLOW_WEBHOOK_ALLOW_PRIVATE_IPS": "true",
        "MLFLOW_WEBHOOK_CACHE_TTL": "1",  # else it remembers for a minute that there was no webhook
    }
    secret = {"SPIRITLEVEL_WEBHOOK_SECRET": "a secret of this test alone"}
    with MlflowServer(folder, environment=settings) as mlflow:
        monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", mlflow.url)
        monkeypatch.setenv("SPIRITLEVEL_WEBHOOK_SECRET", secret["SPIRITLEVEL_WEBHOOK_SECRET"])
        first = standing.add("stub-1")
        standing.declare(every="300d", poll="1h", personas=400)  # neither time nor polling can be what started it
        serve = [sys.executable, "-m", "flows.cli", "serve", "--home", str(standing.home)]
        with process(standing, serve, SPIRITLEVEL_TRACKING_URI=mlflow.url, **secret) as service:
            wait_for(lambda: "the service runs" in service.said(), 90, service.said)
            address = re.search(r"listening on (http://\S+?):? ", service.said())[1].rstrip(":")
            with standing.workspace() as workspace:  # the first look has noted the version that is there
                wait_for(lambda: workspace.ledger.sighted("nova") == {1}, 60, service.said)
            standing.spiritlevel("webhook", "register", f"{address}/webhooks/mlflow")
            again = standing.spiritlevel.json("webhook", "register", f"{address}/webhooks/mlflow")
            assert not again["created"]
            second = standing.add("stub-2")
            wait_for(lambda: standing.done(second), 120, service.said)
            kinds = {(run.release, run.kind) for run in standing.runs()}
            assert kinds == {(first, "reference"), (second, "version")}
            with urllib.request.urlopen(f"{address}/health", timeout=10) as answer:
                assert answer.status == 200
            with urllib.request.urlopen(f"{address}/metrics", timeout=30) as answer:
                assert answer.read().endswith(b"# EOF\n")
        assert service.returncode == 130  # it was ended by Ctrl-C, in order
        assert "Traceback" not in service.said()
        assert secret["SPIRITLEVEL_WEBHOOK_SECRET"] not in service.said()


def test_the_service_outlives_a_provider_that_is_down_and_ends_in_order_when_it_is_told_to(standing):
    standing.server.script.default = "503"
    release = standing.add("stub-1")
    standing.declare(every="300d", poll="1s", personas=20)
    serve = [sys.executable, "-m", "flows.cli", "serve", "--home", str(standing.home)]
    with process(standing, serve) as service:
        wait_for(lambda: "the service runs" in service.said(), 90, service.said)
        standing.due_now()
        wait_for(lambda: standing.server.calls >= 1, 60, service.said)
        address = re.search(r"listening on (http://\S+?): ", service.said())[1]
        with urllib.request.urlopen(f"{address}/health", timeout=10) as answer:
            assert answer.status == 200  # while an audit is under way
        standing.server.script.default = "ok"
        wait_for(lambda: standing.done(release), 60, service.said)
        service.terminate()
        service.wait(30)
    assert service.returncode == 130
    assert "webhooks are refused" in service.said()  # no secret is configured
    assert "Traceback" not in service.said()


def test_what_serve_takes_is_said_when_it_does_not_fit(spiritlevel):
    spiritlevel("serve", code=2)
    assert "spiritlevel.yaml" in spiritlevel.stderr
    spiritlevel("serve", "models:/nova/1", code=2)
    assert "--every" in spiritlevel.stderr
    spiritlevel("serve", "--every", "7d", code=2)
    assert "serve RELEASE" in spiritlevel.stderr
