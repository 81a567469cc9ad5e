"""A second sample before anybody is paged: confirmed, withdrawn, not to be had."""

from __future__ import annotations

import json
import re
import shlex
import shutil

import pytest

from flows.alerts import alerted, deliver, renotified
from flows.concluding import concluded
from flows.replication import is_second_sample, wanted
from flows.settings import Home
from flows.workspace import opened
from registry.ledger.incidents import OPEN, UNCONFIRMED, WITHDRAWN
from registry.ledger.leases import later
from tests.conftest import _OWN
from tests.flows.audited import concluded_of, texts_of
from tests.stub_server import StubServer

REFUSAL = "I'm sorry, but I can't help with that."


@pytest.fixture
def told():
    return []


@pytest.fixture(scope="module")
def sampled(migrated_home, tmp_path_factory):
    """A home with two releases of which the first is audited, and one in which the second is too; made once."""
    folder = tmp_path_factory.mktemp("sampled")
    shutil.copytree(migrated_home, folder / "first")
    with pytest.MonkeyPatch.context() as patch:
        for name in _OWN:
            patch.delenv(name, raising=False)
        with opened(Home(folder / "first")) as found:
            for version in (1, 2):
                found.releases.add("nova", f"nova-{version}")
            concluded_of(found, 1, texts_of(bias=0.0, seed="a"))
        shutil.copytree(folder / "first", folder / "both")
        with opened(Home(folder / "both")) as found:
            concluded_of(found, 2, texts_of(bias=0.9, seed="b"))
    return folder


@pytest.fixture
def workspace(request, home, told, sampled):
    """Two releases; with an incident the second is audited, and its first sample has regressed."""
    shutil.rmtree(home)
    shutil.copytree(sampled / ("both" if "incident" in request.fixturenames else "first"), home)
    with opened(Home(home), told.append) as found:
        yield found


@pytest.fixture
def incident(workspace):
    """The regression that its first sample shows."""
    (audit,) = workspace.ledger.audits(version=2)
    (found,) = alerted(workspace, concluded(workspace, audit, tell=lambda _: None, publish=False))
    return found


def lines_of(home):
    path = home / "alerts.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_one_sample_tells_nobody(home, workspace, incident, told):
    assert (incident.state, incident.notices, incident.severity) == (UNCONFIRMED, 0, "high")
    assert lines_of(home) == []
    assert told == []  # whoever audits takes the second sample, or says how
    assert wanted(workspace, workspace.ledger.audit(incident.audit)) == incident


def test_a_second_sample_that_shows_it_again_opens_it_and_tells(home, workspace, incident):
    second = concluded_of(workspace, 2, texts_of(bias=0.9, seed="c"), seed=1)
    (found,) = alerted(workspace, second)
    assert (found.id, found.state) == (incident.id, OPEN)
    assert found.replicate_audit == second.scored.audit.id
    (line,) = lines_of(home)
    assert "Seen in two independent samples" in line["evidence"]["replication"]
    assert "at most about 1.2 %" in line["evidence"]["replication"]
    assert [row["dimension"] for row in line["evidence"]["again"]] == line["dimensions"]
    assert wanted(workspace, second.scored.audit) is None
    alerted(workspace, second)
    assert len(lines_of(home)) == 1


def test_a_second_sample_that_does_not_show_it_withdraws_it_and_tells_nobody(home, workspace, incident):
    first = workspace.ledger.audit(incident.audit)
    second = concluded_of(workspace, 2, texts_of(bias=0.0, seed="c"), seed=1)
    (found,) = alerted(workspace, second)
    assert (found.state, found.severity) == (WITHDRAWN, "low")
    assert "did not show it again in gender x occupation" in found.evidence["replication"]
    assert lines_of(home) == []
    assert wanted(workspace, second.scored.audit) is None
    # the first audit looked at again is old news
    again = concluded(workspace, first, tell=lambda _: None, publish=False)
    assert [one.state for one in alerted(workspace, again)] == [WITHDRAWN]
    assert [one.id for one in workspace.ledger.incidents()] == [incident.id]


def test_a_second_sample_that_says_nothing_leaves_it_open_and_after_two_it_is_told_as_not_replicated(
    home, workspace, incident
):
    for seed in (1, 2):
        useless = concluded_of(workspace, 2, [REFUSAL] * 100, seed=seed)
        states = {one.kind: one.state for one in alerted(workspace, useless)}
        assert states["regression"] == UNCONFIRMED
    assert wanted(workspace, useless.scored.audit) is None  # it does not ask for ever
    assert [one.id for one in renotified(workspace)] == [incident.id]
    deliver(workspace)
    (line,) = [line for line in lines_of(home) if line["kind"] == "regression"]
    assert "Not replicated: no second sample that could be used came" in line["evidence"]["replication"]


def test_a_second_sample_that_never_comes_keeps_nothing_secret_for_more_than_a_day(home, workspace, incident):
    assert renotified(workspace, later(incident.opened_at, 23 * 3600)) == []
    assert [one.state for one in renotified(workspace, later(incident.opened_at, 24 * 3600))] == [OPEN]
    assert renotified(workspace, later(incident.opened_at, 24 * 3600)) == []
    deliver(workspace, later(incident.opened_at, 24 * 3600))
    assert len(lines_of(home)) == 1


@pytest.mark.parametrize(
    "options", [{"seed": 0}, {"seed": 1, "calls": 60}, {"seed": 1, "live": False}], ids=["seeds", "size", "imported"]
)
def test_the_same_seeds_a_smaller_sample_and_imported_answers_settle_nothing(workspace, incident, options):
    texts = texts_of(bias=0.0, seed="c", calls=options.pop("calls", 100))
    second = concluded_of(workspace, 2, texts, **options)
    assert not is_second_sample(workspace, incident, second.scored.audit)
    alerted(workspace, second)
    assert workspace.ledger.incident(incident.id).state == UNCONFIRMED


def test_imported_answers_cannot_be_asked_again_and_are_told_at_once(home, workspace):
    concluded_of(workspace, 1, texts_of(bias=0.0, seed="i"), live=False)
    (found,) = alerted(workspace, concluded_of(workspace, 2, texts_of(bias=0.9, seed="j"), live=False))
    assert found.state == OPEN
    assert "no second sample could be asked for" in lines_of(home)[0]["evidence"]["replication"]


def test_where_replication_is_off_or_the_severity_is_lowered_one_sample_is_told(home, workspace):
    (home / "spiritlevel.yaml").write_text("alerts: {severities: {regression: medium}}\n")
    with opened(Home(home)) as fresh:
        (found,) = alerted(fresh, concluded_of(fresh, 2, texts_of(bias=0.9, seed="b")))
    assert (found.state, found.severity) == (OPEN, "medium")
    assert len(lines_of(home)) == 1


def test_a_failed_gate_is_replicated_by_the_gate_itself(home, workspace):
    (home / "spiritlevel.toml").write_text("[gate]\nthreshold = 0.6\nagainst = []\n")
    with opened(Home(home)) as fresh:
        found = {one.kind: one for one in alerted(fresh, concluded_of(fresh, 2, texts_of(bias=0.9, seed="b")))}
        assert found["gate-failure"].state == UNCONFIRMED
        second = {one.kind: one for one in alerted(fresh, concluded_of(fresh, 2, texts_of(bias=0.9, seed="c"), seed=1))}
        assert second["gate-failure"].state == OPEN
        assert "threshold: gender x occupation" in second["gate-failure"].evidence["checks"]
        # The rate of two in a row is of regressions; nobody knows that of a gate.
        said = {kind: one.evidence["replication"] for kind, one in second.items()}
        assert "1.2 %" in said["regression"]
        assert said["gate-failure"].startswith("Seen in two independent samples")
        assert "%" not in said["gate-failure"]
        assert sorted(line["kind"] for line in lines_of(home)) == ["gate-failure", "regression"]


def test_the_first_sample_looked_at_again_does_not_undo_what_the_second_left_of_a_failed_gate(home, workspace):
    (home / "spiritlevel.toml").write_text("[gate]\nthreshold = 0.6\nagainst = []\n")
    with opened(Home(home)) as fresh:
        first = concluded_of(fresh, 2, texts_of(bias=0.9, seed="b"))
        incident = next(one for one in alerted(fresh, first) if one.kind == "gate-failure")
        narrowed = dict(incident.evidence) | {"checks": ["threshold: gender x occupation"]}
        fresh.ledger.move_incident(incident.id, OPEN, among=[UNCONFIRMED], now=incident.opened_at, evidence=narrowed)
        alerted(fresh, first)
        assert fresh.ledger.incident(incident.id).evidence["checks"] == narrowed["checks"]
        assert len(incident.evidence["checks"]) > 1


@pytest.mark.slow
def test_the_command_takes_the_second_sample_itself_and_tells_once(spiritlevel):
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.9}) as server:
        for model in ("stub-1", "stub-2"):
            spiritlevel("release", "add", "nova", "--model", model, "--base-url", server.base_url)
        order = ("--protocol", "persona-brainstorm", "--personas", 1600, "--concurrency", 16)
        spiritlevel("audit", "models:/nova/1", *order)
        assert server.calls == 80
        spiritlevel("audit", "models:/nova/2", *order, code=1)
        assert server.calls == 160
        assert spiritlevel.stderr.count("is not confirmed and nobody was told") == 1
        command = re.search(r"'spiritlevel (audit models:/nova/2 .*--replicate)'", spiritlevel.stderr)[1]
        assert lines_of(spiritlevel.home) == []
        spiritlevel("retry", "models:/nova/2", "--failed", code=1)
        assert f"'spiritlevel {command}', with the options that say how it asks" in spiritlevel.stderr
        assert server.calls == 160
        spiritlevel(*shlex.split(command), code=1)  # the first sample is not asked again
        assert server.calls == 240
        assert "a second sample is taken before anybody is told" in spiritlevel.stderr
        assert "is not confirmed" not in spiritlevel.stderr
        (line,) = lines_of(spiritlevel.home)
        assert "Seen in two independent samples (audits 2 and 3)" in line["evidence"]["replication"]
        spiritlevel("audit", "models:/nova/2", "--protocol", "persona-brainstorm", "--replicate", code=None)
        assert server.calls == 240
    assert len(lines_of(spiritlevel.home)) == 1
    assert spiritlevel.json("alerts", "list")["incidents"][0]["replicate_audit"] == 3
