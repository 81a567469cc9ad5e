"""The Prefect flow: with Prefect's own temporary server, and what it leaves behind."""

from __future__ import annotations

import json

import pytest

from tests.stub_server import StubServer


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


def _artifacts():
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return {artifact.key for artifact in client.read_artifacts()}


def _flow_runs():
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.read_flow_runs()
