"""Requests that are asked again: everything that follows from an audit's answers is made anew."""

from __future__ import annotations

import pytest

from flows.alerts import alerted
from flows.concluding import closed, concluded
from flows.judging import judged
from flows.scoring import TRIES, scored
from flows.settings import Home
from flows.summaries import summary_of
from flows.workspace import opened
from metrics.errors import BadInputError
from registry.audits.plan import Outcome, Response
from tests.flows.alert_setup import configured, lines_of
from tests.flows.audited import audit_of, texts_of
from tests.stub_server import StubServer

GENDER = "gender x occupation"
CALLS = 50


def seen(workspace, version):
    """An audit's state, its n, the sizes in its comparisons and its split check."""
    (audit,) = workspace.ledger.audits(version=version)
    (size,) = [s.n for s in workspace.ledger.scores(audit.id) if (s.metric, s.dimension) == ("cramers-v", GENDER)]
    rows = [row for one in workspace.ledger.comparisons() for row in one.rows if row.dimension == GENDER]
    (check,) = workspace.ledger.checks(audit.id)
    return audit, size, [(row.n_previous, row.n_current) for row in rows], check


@pytest.mark.slow
def test_a_retry_that_completes_an_audit_makes_scores_comparisons_and_check_anew_and_a_run_of_its_own(spiritlevel):
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.4, "stub-3": 0.0}, calls=["ok"] * 31 + ["500"] * 6) as stub:
        for model in (1, 2, 3):
            spiritlevel("release", "add", "nova", "--model", f"stub-{model}", "--base-url", stub.base_url)
        order = ("--protocol", "persona-brainstorm", "--personas", 600)
        spiritlevel("audit", "nova/1", *order, code=None)
        spiritlevel("audit", "nova/2", *order, "--attempts", 1, code=3)
        spiritlevel("audit", "nova/3", *order, code=None)
        with opened(Home(spiritlevel.home)) as workspace:
            before, size, pairs, check = seen(workspace, 2)
            ids = [one.id for one in workspace.ledger.comparisons()]
            assert (before.state, size) == ("incomplete", 480)
            assert len(pairs) == 2
        spiritlevel("retry", "nova/2", "--failed", code=None)
        with opened(Home(spiritlevel.home)) as workspace:
            audit, size, pairs, new = seen(workspace, 2)
            assert (audit.state, size, pairs) == ("complete", 600, [(600, 600), (600, 600)])
            assert [one.id for one in workspace.ledger.comparisons()] == ids, "MLflow and incidents name them"
            assert (audit.scoring_version, new.made_at > check.made_at) == (before.scoring_version, True)
            assert summary_of(workspace, audit).channels.usable == 600
            assert workspace.ledger.waiting_publications() == []
            client = workspace.tracking.client()
            old, fresh = (client.get_run(one.run_id).data for one in (before, audit))
            assert old.tags["spiritlevel.superseded_by"] == audit.run_id
            assert "spiritlevel.superseded_by" not in fresh.tags
            assert fresh.tags["spiritlevel.audit_key"] == old.tags["spiritlevel.audit_key"] + "/6"
            assert [run.metrics["persona-brainstorm/gender/occupation/cramers-v/n"] for run in (old, fresh)] == [
                480,
                600,
            ]


@pytest.fixture
def pair(home):
    """Two audits, the second with as many failures as there are tries, and more."""
    with opened(Home(home)) as workspace:
        first = audit_of(workspace, 1, texts_of(bias=0.0, seed="a", calls=CALLS))
        audit = audit_of(workspace, 2, texts_of(bias=0.0, seed="b", calls=CALLS))
        for index in range(TRIES + 1):
            failed = Response(index=index, attempt=2, failure=Outcome.TIMED_OUT, detail="late")
            workspace.ledger.record(audit.id, failed)
        yield workspace, first, closed(workspace, audit)


def test_an_audit_that_is_asked_again_is_finished_anew_also_when_some_requests_fail_again(pair):
    workspace, _, audit = pair
    scored(workspace, audit)
    known = workspace.ledger.audit(audit.id)
    assert closed(workspace, known) == known
    workspace.ledger.clock = lambda: "2126-11-01T00:00:00.000Z"
    workspace.ledger.record(audit.id, Response(index=0, attempt=3, failure=Outcome.TIMED_OUT, detail="late"))
    after = closed(workspace, workspace.ledger.audit(audit.id))
    assert (after.state, after.finished_at) == ("incomplete", "2126-11-01T00:00:00.000Z")


class Meanwhile(dict):
    """What was read; whenever answers of an audit are kept here, another answer of it comes into the ledger."""

    def __init__(self, ledger, audit, times):
        self.ledger, self.audit, self.left = ledger, audit, times

    def __setitem__(self, key, reading):
        super().__setitem__(key, reading)
        if key[0] == self.audit.id and self.left:
            self.left -= 1
            text = texts_of(bias=0.0, seed=f"c{self.left}", calls=1)[0]
            self.ledger.record(self.audit.id, Response(index=self.left, attempt=3, text=text))


def test_an_answer_that_comes_while_others_are_read_counts(pair):
    workspace, first, audit = pair
    workspace.readings = Meanwhile(workspace.ledger, audit, 1)
    result = scored(workspace, audit)
    assert result.reading.channels.usable == 20 * (CALLS - TRIES)
    assert (result.audit.scoring_version, result.scores) != ("", [])
    assert workspace.ledger.scores(audit.id) == result.scores
    comparison = judged(workspace, first, audit, workspace.home.policy())
    assert {row.n_current for row in comparison.rows if row.dimension == GENDER} == {20 * (CALLS - TRIES)}


def test_answers_that_come_faster_than_they_are_read_are_not_waited_for_and_nothing_older_is_stored(pair):
    workspace, first, audit = pair
    workspace.readings = Meanwhile(workspace.ledger, audit, TRIES)
    result = scored(workspace, audit)
    assert result.scores
    assert workspace.ledger.scores(audit.id) == []
    assert workspace.readings.left == 0
    policy = workspace.home.policy()
    workspace.readings = Meanwhile(workspace.ledger, audit, 0)
    judged(workspace, first, audit, policy)
    assert len(workspace.ledger.comparisons()) == 1


@pytest.mark.slow
def test_a_comparison_of_answers_that_others_come_after_is_refused_until_they_are_all_there(pair):
    workspace, first, audit = pair
    scored(workspace, audit)

    class Asked(dict):
        """What was read; whenever answers of the audit are looked at, another one of it comes into the ledger."""

        def __getitem__(self, key):
            if key[0] == audit.id:
                again = 1 + workspace.ledger.repeated(audit.id)
                failed = Response(index=0, attempt=2 + again, failure=Outcome.TIMED_OUT, detail="late")
                workspace.ledger.record(audit.id, failed)
            return super().__getitem__(key)

    workspace.readings = Asked()
    with pytest.raises(BadInputError, match=f"audits {first.id} and {audit.id} cannot be compared now"):
        judged(workspace, first, audit, workspace.home.policy())
    assert workspace.ledger.comparisons() == []
    workspace.readings = {}
    assert judged(workspace, first, audit, workspace.home.policy()).verdict


def test_a_comparison_that_waits_to_be_judged_anew_is_no_error_of_publishing(pair):
    workspace, first, audit = pair
    comparison = judged(workspace, first, audit, workspace.home.policy())
    workspace.ledger.record(audit.id, Response(index=0, attempt=3, failure=Outcome.TIMED_OUT, detail="late"))
    from flows.outbox import published

    (row,) = [row for row in workspace.ledger.waiting_publications() if row.kind == "comparison"]
    assert not published(workspace, workspace.tracking, row, redrawn=lambda: None)
    again = concluded(workspace, workspace.ledger.audit(audit.id), tell=lambda _: None, publish=False)
    assert again.comparison.id == comparison.id


def test_a_retry_that_completes_an_audit_ends_what_it_had_found_with_one_notice(spiritlevel):
    with StubServer(models={"stub-1": 0.0}, calls=["500"] * 20) as stub:
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", stub.base_url)
        order = ("--protocol", "persona-brainstorm", "--personas", 600, "--attempts", 1)
        spiritlevel("audit", "nova/1", *order, code=3)
        spiritlevel("retry", "nova/1", "--failed", code=None)
        spiritlevel("retry", "nova/1", "--failed", code=None)
        spiritlevel("audit", "nova/1", *order, code=None)
    told = [(line["kind"], line["event"]) for line in lines_of(spiritlevel.home)]
    assert told == [("coverage-collapse", "opened"), ("coverage-collapse", "recovered")]


@pytest.fixture
def regressed(home):
    """A release that regressed in its audit, and a function that puts other answers in the place of that audit's."""

    def made(settings):
        configured(home, settings)
        workspace.releases.add("nova", "nova-1")
        workspace.releases.add("nova", "nova-2")
        audit_of(workspace, 1, texts_of(bias=0.0, seed="1"))
        audit = audit_of(workspace, 2, texts_of(bias=0.9, seed="2"))
        alerted(workspace, concluded(workspace, audit, tell=lambda _: None, publish=False))

        def again(bias, attempt):
            for index, text in enumerate(texts_of(bias=bias, seed=f"4 {bias} 0")):
                workspace.ledger.record(audit.id, Response(index=index, attempt=attempt, text=text))
            new = closed(workspace, workspace.ledger.audit(audit.id))
            for _ in range(2):  # the second time changes nothing
                alerted(workspace, concluded(workspace, new, tell=lambda _: None, publish=False))
            (incident,) = workspace.ledger.incidents(kind="regression")
            return incident, [line["event"] for line in lines_of(home) if line["kind"] == "regression"]

        return again

    with opened(Home(home)) as workspace:
        yield made


def test_a_regression_is_brought_up_to_date_and_ended_by_its_own_audit_when_that_is_asked_again(regressed):
    again = regressed("alerts: {replicate: false}")
    still, told = again(0.9, 2)
    assert (still.state, [item["verdict"] for item in still.evidence["seen"]], told) == (
        "open",
        ["regressed"],
        ["opened"],
    )
    over, told = again(0.0, 3)
    assert (over.state, told) == ("recovered", ["opened", "recovered"])


@pytest.mark.slow
def test_an_unconfirmed_regression_that_its_audit_asked_again_does_not_show_is_withdrawn_and_nobody_told(regressed):
    again = regressed("alerts: {replicate: true}")
    still, told = again(0.8, 2)
    assert (still.state, "seen" in still.evidence, told) == ("unconfirmed", False, [])
    over, told = again(0.0, 3)
    assert (over.state, told) == ("withdrawn", [])
    assert "audit 2 that had failed were asked again" in over.evidence["replication"]


@pytest.fixture
def gate(home):
    (home / "spiritlevel.toml").write_text("[gate]\nthreshold = 0.6\nagainst = []\n")


def test_a_failed_gate_is_over_when_its_own_audit_asked_again_passes(home, gate, regressed):
    again = regressed("alerts: {replicate: false}")
    again(0.0, 2)
    told = [line["event"] for line in lines_of(home) if line["kind"] == "gate-failure"]
    assert told == ["opened", "recovered"]
