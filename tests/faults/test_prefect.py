"""Prefect's server and its workers die and come back: what is under way ends, and what was paid for is not paid again."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from tests.faults.conftest import counts
from tests.faults.standing import SECRET_ENV, Standing, inbox, process
from tests.prefect_process import PREFECT, PrefectServer, pointed_at, wait_for
from tests.stub_server import stub_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
CALLS = 60  # of 20 personas


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with PrefectServer(tmp_path_factory.mktemp("prefect") / "server") as running:
        yield running


@pytest.fixture
def standing(spiritlevel, monkeypatch, tmp_path, server):
    """A service with one release whose audit of 60 calls takes half a minute, deployed on the Prefect server."""
    monkeypatch.setenv(SECRET_ENV, "not a secret of anybody")
    with stub_process(tmp_path, models={"stub-1": 0.0}, latency_s=2.0) as base_url, inbox() as box, pointed_at(server):
        made = Standing(spiritlevel.home, spiritlevel, base_url, box)
        made.release = made.add("stub-1")
        yield made
        (made.home / "spiritlevel.yaml").write_text("families: {}")
        spiritlevel("deploy")


def worker(standing, server):
    command = [PREFECT, "worker", "start", "--pool", "spiritlevel"]
    return process(standing, command, PREFECT_API_URL=server.api, PREFECT_WORKER_QUERY_SECONDS="2")


def answered(standing):
    with standing.workspace() as workspace:
        audits = workspace.ledger.audits()
        return workspace.ledger.answers_stored(audits[0].id) if audits else 0


def the_one_audit_is_complete_and_was_paid_once(standing, extra):
    with standing.workspace() as workspace:
        audit = workspace.ledger.audits()[0]
        assert audit.state == "complete"
        keys = [(answer.index, answer.repeat) for answer in workspace.ledger.responses(audit.id)]
        assert len(keys) == len(set(keys)) == CALLS
        assert workspace.ledger.answers_stored(audit.id) == CALLS
    assert CALLS <= counts(standing.base_url)["calls"] <= CALLS + extra


def test_prefects_server_is_killed_and_started_again_during_an_audit_that_the_service_makes(standing, server):
    standing.declare(every="300d", personas=20 * CALLS, concurrency=4, poll="5s")
    serve = [sys.executable, "-m", "flows.cli", "serve", "--home", str(standing.home)]
    with process(standing, serve, PREFECT_API_URL=server.api, PREFECT_WORKER_QUERY_SECONDS="2") as service:
        wait_for(lambda: "the service runs" in service.said(), 120, service.said)
        wait_for(lambda: "started!" in service.said(), 120, service.said)
        standing.due_now()
        wait_for(lambda: answered(standing) >= 8, 120, service.said)
        server.stop(signal.SIGKILL)
        stopped_at = answered(standing)
        wait_for(lambda: answered(standing) >= stopped_at + 12, 90, service.said)  # it does not need the server
        server.start()
        wait_for(lambda: standing.done(standing.release), 240, service.said)
        the_one_audit_is_complete_and_was_paid_once(standing, extra=0)
        standing.due_now()  # the service is a worker still, or again
        wait_for(lambda: len(standing.done(standing.release)) == 2, 300, service.said)
    assert service.returncode == 130


def test_a_worker_that_is_killed_is_taken_over_by_another_though_prefect_still_counts_its_run(standing, server):
    standing.declare(every="300d", personas=20 * CALLS, concurrency=4, poll="5s")
    standing.spiritlevel("deploy")
    with worker(standing, server) as first:
        standing.due_now()
        wait_for(lambda: answered(standing) >= 8, 180, first.said)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    assert answered(standing) < CALLS
    with worker(standing, server) as second:
        wait_for(lambda: standing.done(standing.release), 300, second.said)
    the_one_audit_is_complete_and_was_paid_once(standing, extra=4)
    assert "died" in standing.done(standing.release)[0].why


def test_flow_runs_of_one_deployment_share_an_audit(standing, server):
    standing.declare(every="300d", personas=20 * CALLS, concurrency=2, poll="5s", share=2)
    standing.spiritlevel("deploy")
    with worker(standing, server) as both:
        standing.due_now()
        wait_for(lambda: standing.done(standing.release), 300, both.said)
    the_one_audit_is_complete_and_was_paid_once(standing, extra=0)
    with standing.workspace() as workspace:
        audit = workspace.ledger.audits()[0]
        assert len({one.owner.pid for one in workspace.ledger.workers(audit.id)}) == 2
