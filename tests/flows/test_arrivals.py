"""New versions of a real MLflow store: each is audited once, and its reference before it."""

from __future__ import annotations

import datetime as dt
import json

from flows.arrivals import arrived
from flows.duty_runs import performed
from registry.ledger import duties as states
from tests.flows.services import DAILY, NAME, SUNDAY, audited

MINUTE = dt.timedelta(minutes=1)


def told(service, version, source="webhook"):
    with service.open() as workspace:
        return arrived(workspace, "nova", version, source, now=SUNDAY + MINUTE)


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


def test_webhook_and_polling_together_make_one_audit_whoever_is_first(live):
    live.release()
    live.look(SUNDAY)
    live.release("stub-2")
    assert [run.slot for run in told(live, 2)] == ["version 2"]
    assert told(live, 2) == []
    assert live.look(SUNDAY + MINUTE).arrived == ()
    live.release("stub-3")
    assert live.look(SUNDAY + 2 * MINUTE).arrived == ("nova/3",)
    assert told(live, 3) == []
    assert [run.slot for run in live.runs() if run.kind == states.VERSION] == ["version 2", "version 3"]


def test_a_webhook_before_the_first_look_leaves_the_older_versions_to_be_noted(live):
    live.release()
    live.release("stub-2")
    with live.open() as workspace:
        from flows.duty_clock import reconciled

        reconciled(workspace.home.service, workspace.ledger, SUNDAY)
    assert [run.slot for run in told(live, 2)] == ["version 2"]
    assert live.look(SUNDAY + MINUTE).arrived == ()
    assert {run.slot for run in live.runs()} <= {"version 2", "reference 1"}


def test_a_webhook_about_a_family_that_is_not_declared_or_a_version_that_is_not_there_starts_no_audit(live):
    live.release()
    live.look(SUNDAY)
    with live.open() as workspace:
        assert arrived(workspace, "mira", 1) == []
    told(live, 99)
    with live.open() as workspace:
        (run,) = workspace.ledger.runs()
        ended = performed(workspace, run.id, now=SUNDAY, audited=audited)
        assert ended.state == states.FAILED
        assert "no version '99'" in ended.why
        assert workspace.ledger.audits() == []


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
    assert told(live, 2) == []
    live.configure(DAILY.replace("    audits:", "    audit_previous: false\n    audits:"))
    live.look(SUNDAY + 2 * MINUTE)
    live.release("stub-3")
    live.work(SUNDAY + 3 * MINUTE)
    assert [run.kind for run in live.runs() if run.slot == "version 3"] == [states.VERSION]
    assert not [run for run in live.runs() if run.kind == states.REFERENCE]


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
    live.release()
    live.work(SUNDAY)
    second = live.release("stub-2")
    with live.open() as workspace:
        from flows.collecting import Limits
        from flows.ordering import Order, ordered

        audit = ordered(workspace, second, Order(protocol="persona-brainstorm", size=60))
        audited(workspace, audit, Limits(), lambda _: None)
    live.work(SUNDAY + MINUTE)
    live.work(SUNDAY + 2 * MINUTE)
    run = next(run for run in live.runs() if run.kind == states.VERSION)
    assert (run.state, run.audit_id, run.why) == (states.DONE, 1, "audit 1 was made already")


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
            assert run.why.startswith("waited: audit 1 of models:/nova/2 is still running")
        workspace.ledger.end_work(worker, "stopped")
    live.work(SUNDAY + 3 * MINUTE)
    (run,) = live.runs()
    assert run.state == states.DONE
    assert run.duty == NAME
