"""The instrument check of a whole audit: its halves, and a frozen reference model that is asked again in the same run."""

from __future__ import annotations

import pytest

from flows.alerts import alerted
from flows.concluding import concluded
from flows.settings import Home
from flows.workspace import opened
from tests.conftest import UNPUBLISHED
from tests.stub_server import StubServer

ORDER = ("--protocol", "persona-brainstorm", "--personas", 1600, "--concurrency", 16)


@pytest.fixture
def server():
    with StubServer(models={"frozen": 0.2, "nova-1": 0.0, "nova-2": 0.9}) as running:
        yield running


@pytest.fixture
def audit(spiritlevel, server):
    """Audit one of two releases beside a frozen reference model, and return what was said."""
    spiritlevel.home.joinpath("spiritlevel.toml").write_text(
        '[instrument]\nreference = "models:/frozen/1"\nreference_personas = 800\n' + UNPUBLISHED
    )
    for family, model in (("frozen", "frozen"), ("nova", "nova-1"), ("nova", "nova-2")):
        spiritlevel("release", "add", family, "--model", model, "--base-url", server.base_url)

    def run(version, code):
        return spiritlevel.json("audit", f"models:/nova/{version}", *ORDER, code=code)

    return run


def alerts(home):
    """What concluding the newest audit alerts about."""
    with opened(Home(home)) as workspace:
        newest = [a for a in workspace.ledger.audits(family="nova") if a.state == "complete"][-1]
        return alerted(workspace, concluded(workspace, newest, tell=lambda _: None, publish=False))


def test_a_reference_that_answers_as_before_lets_alerts_pass(spiritlevel, server, audit):
    first = {check["kind"]: check for check in audit(1, 0)["instrument"]}
    assert (first["split"]["state"], first["reference"]["state"]) == ("steady", "steady")
    assert "was asked for the first time: its baseline" in first["reference"]["why"]
    second = audit(2, 1)
    checks = {check["kind"]: check for check in second["instrument"]}
    assert checks["reference"]["why"].endswith("gave the same 40 answers, letter for letter")
    assert (second["verdict"], second["alerts_held"]) == ("regressed", "")
    calls = server.calls
    assert audit(2, 1)["instrument"] == second["instrument"]  # a repeated command asks neither again
    assert server.calls == calls
    (alert,) = alerts(spiritlevel.home)
    assert (alert.kind, alert.release, alert.evidence["previous"]) == ("regression", "models:/nova/2", "models:/nova/1")


def test_when_the_reference_moved_alerts_are_held_and_the_run_says_so(spiritlevel, server, audit):
    audit(1, 0)
    server.script.models["frozen"] = 0.9  # the same id now answers like another model
    second = audit(2, 1)
    assert "differ in gender x occupation" in second["alerts_held"]
    (alert,) = alerts(spiritlevel.home)
    assert (alert.kind, alert.severity) == ("instrument-moved", "low")
    assert len((spiritlevel.home / "alerts.jsonl").read_text().splitlines()) == 1
    text = spiritlevel("audit", "models:/nova/2", *ORDER, code=1)
    assert "the instrument moved, alerts are held" in text


def test_a_reference_that_does_not_answer_is_said_and_costs_nothing_that_was_paid(spiritlevel, server, audit):
    server.script.models.pop("frozen")
    spiritlevel("audit", "models:/nova/1", *ORDER, code=2)
    assert "frozen" in spiritlevel.stderr
    server.script.models["frozen"] = 0.2
    paid = server.calls
    assert audit(1, 0)["state"] == "complete"
    assert server.calls <= paid + 40 + 2  # the reference's calls only, and its probe
