"""New versions of a real MLflow store: each is audited once, and its reference before it."""

from __future__ import annotations

import datetime as dt
import json
import threading

import mlflow
import pytest

from flows.arrivals import arrivals
from flows.duty_clock import startable
from flows.known_releases import KnownReleases
from registry.ledger import duties as states
from tests.flows.services import DAILY, NAME, SUNDAY, audited

MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)


def made(service):
    return [(run.slot, run.kind, run.state, run.audit_id) for run in service.runs()]


def test_versions_that_are_there_at_the_first_look_are_only_noted(live):
    live.release()
    live.release("stub-2")
    assert live.look(SUNDAY).arrived == ()
    assert live.look(SUNDAY + MINUTE).arrived == ()
    assert live.runs() == []


def test_a_new_version_is_audited_once_and_the_previous_one_before_it_as_its_reference(live):
    live.release()
    live.work(SUNDAY)
    live.release("stub-2")
    assert live.work(SUNDAY + MINUTE).arrived == ("nova/2",)
    for minutes in (2, 3, 4):
        live.work(SUNDAY + minutes * MINUTE)
    assert made(live) == [
        ("version 2", states.VERSION, states.DONE, 2),
        ("reference 1", states.REFERENCE, states.DONE, 1),
    ]
    with live.open() as workspace:
        assert [audit.release.version for audit in workspace.ledger.audits()] == [1, 2]
        (comparison,) = workspace.ledger.comparisons(family="nova", protocol="persona-brainstorm")
        assert (comparison.previous_audit, comparison.current_audit) == (1, 2)
    assert len(live.server.received) == 10


def test_a_reference_that_was_audited_is_not_audited_again(live):
    live.release()
    live.work(SUNDAY)
    live.work(SUNDAY + dt.timedelta(hours=15))
    live.release("stub-2")
    live.work(SUNDAY + dt.timedelta(hours=15, minutes=1))
    assert [run.kind for run in live.runs()] == [states.SCHEDULED, states.VERSION]


def test_looks_from_two_places_at_once_make_one_audit_of_a_new_version(live):
    live.release()
    live.look(SUNDAY)
    live.release("stub-2")
    at_once, found = threading.Barrier(2), []

    def look():
        with live.open() as workspace:
            at_once.wait()
            found.append(arrivals(workspace, SUNDAY + MINUTE))

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [[], ["nova/2"]]
    assert [run.slot for run in live.runs() if run.kind == states.VERSION] == ["version 2"]


def test_a_version_that_was_deleted_before_its_audit_began_ends_its_run_with_the_reason(live, monkeypatch):
    live.configure(DAILY.replace("    audits:", "    audit_previous: false\n    audits:"))
    live.release()
    live.look(SUNDAY)
    live.release("stub-2")
    live.look(SUNDAY + MINUTE, publish=False)
    with live.open() as workspace:
        client = mlflow.MlflowClient(workspace.home.tracking_uri, workspace.home.tracking_uri)
        client.delete_model_version("nova", "2")
        trouble = []
        with monkeypatch.context() as away:
            away.setattr(KnownReleases, "away", property(lambda _: True))
            assert startable(workspace, SUNDAY + 2 * HOUR, trouble) == []
        assert "MLflow does not answer" in trouble[0]
    assert [run.state for run in live.runs() if run.slot == "version 2"] == [states.DUE]
    live.look(SUNDAY + 2 * HOUR)
    (run,) = [run for run in live.runs() if run.slot == "version 2"]
    assert (run.state, run.next_at) == (states.SKIPPED, None)
    assert "'nova' has no version '2'. Known: 1" in run.why
    assert live.look(SUNDAY + 4 * HOUR).started == ()


def test_versions_that_came_while_a_family_was_not_declared_are_only_noted(live):
    live.release()
    live.look(SUNDAY)
    live.configure("families: {}")
    live.look(SUNDAY + MINUTE)
    live.release("stub-2")
    live.configure()
    assert live.look(SUNDAY + 2 * MINUTE).arrived == ()
    live.release("stub-3")
    assert live.look(SUNDAY + 3 * MINUTE).arrived == ("nova/3",)


def test_a_family_may_leave_new_versions_or_their_references_alone(live):
    live.configure(DAILY.replace("    audits:", "    on_new_version: false\n    audits:"))
    live.release()
    live.look(SUNDAY)
    live.release("stub-2")
    assert live.look(SUNDAY + MINUTE).arrived == ()
    live.configure(DAILY.replace("    audits:", "    audit_previous: false\n    audits:"))
    live.look(SUNDAY + 2 * MINUTE)
    live.release("stub-3")
    live.work(SUNDAY + 3 * MINUTE)
    assert [run.kind for run in live.runs() if run.slot == "version 3"] == [states.VERSION]
    assert not [run for run in live.runs() if run.kind == states.REFERENCE]


@pytest.mark.slow
def test_a_previous_release_that_no_longer_answers_does_not_keep_the_new_one_waiting_for_ever(live):
    live.release("retired")
    live.work(SUNDAY)
    live.release("stub-2")
    moment = SUNDAY
    for _ in range(40):
        moment += 5 * MINUTE
        live.work(moment)
    version = next(run for run in live.runs() if run.kind == states.VERSION)
    reference = next(run for run in live.runs() if run.kind == states.REFERENCE)
    assert version.state == states.DONE
    assert reference.state in (states.FAILED, states.OPEN)
    assert reference.attempts >= 3


def test_a_version_that_was_audited_by_hand_before_anybody_looked_is_not_audited_again(live):
    from flows.collecting import Limits
    from flows.ordering import Order, ordered

    live.release()
    live.work(SUNDAY)
    for model, size, made in (("stub-2", 100, True), ("stub-1", 60, False)):
        by_hand = live.release(model, released="2026-10-01")
        with live.open() as workspace:
            audit = ordered(workspace, by_hand, Order(protocol="persona-brainstorm", size=size))
            audited(workspace, audit, Limits(), lambda _: None)
        live.work(SUNDAY + 2 * by_hand.version * MINUTE)
        live.work(SUNDAY + (2 * by_hand.version + 1) * MINUTE)
        run = next(run for run in live.runs() if run.slot == f"version {by_hand.version}")
        assert run.state == states.DONE
        assert (run.audit_id == audit.id) == made  # a smaller one is not what is declared
        assert (run.why == f"audit {audit.id} was made already") == made


def test_a_regression_of_a_new_version_is_told_once_and_only_after_a_second_sample_showed_it(live):
    live.configure(DAILY.replace("personas: 100", "personas: 1600"))
    live.release()
    live.work(SUNDAY)
    live.release("stub-2")
    for minutes in (1, 2, 3):
        live.work(SUNDAY + minutes * MINUTE)
    with live.open() as workspace:
        assert [audit.release.version for audit in workspace.ledger.audits()] == [1, 2, 2]
        (incident,) = workspace.ledger.incidents(kind="regression")
        assert (incident.state, incident.audit, incident.replicate_audit) == ("open", 2, 3)
    version = next(run for run in live.runs() if run.kind == states.VERSION)
    assert (version.state, version.verdict, version.audit_id) == (states.DONE, "regressed", 2)
    events = [json.loads(line)["event"] for line in (live.home / "alerts.jsonl").read_text().splitlines()]
    assert events.count("opened") == 1


def test_a_new_version_while_its_release_is_being_audited_waits_and_is_not_refused(live):
    live.release()
    live.work(SUNDAY)
    second = live.release("stub-2")
    live.configure(DAILY.replace("    audits:", "    audit_previous: false\n    audits:"))
    from registry.ledger.ownership import Owner

    with live.open() as workspace:
        protocol = workspace.protocol("persona-brainstorm")
        plan = protocol.plan(size=60, seed=900)
        audit = workspace.ledger.order(second, plan, protocol.requests(plan))
        worker = workspace.ledger.begin_work(audit.id, Owner.this_process())
        for minutes in (1, 2):
            live.work(SUNDAY + minutes * MINUTE)
            (run,) = live.runs()
            assert (run.state, run.attempts) == (states.DUE, 0)
            now = SUNDAY + minutes * MINUTE
            assert dt.datetime.fromisoformat(run.next_at) == now + MINUTE
            assert startable(workspace, now, []) == []  # else whoever looks for what is due would never rest
            assert run.why.startswith("waited: audit 1 of models:/nova/2 is still running")
        workspace.ledger.end_work(worker, "stopped")
    live.work(SUNDAY + 3 * MINUTE)
    (run,) = live.runs()
    assert run.state == states.DONE
    assert run.duty == NAME
