"""What nobody did is told once, and that it is over once."""

from __future__ import annotations

import datetime as dt
import json

from flows import duty_runs
from flows.alerts import alerted
from flows.collecting import Limits, collect_answers, place_of
from flows.concluding import closed, concluded
from registry.ledger import duties as states
from registry.ledger.ownership import Owner
from tests.flows.services import DAY, DUE, NAME, SUNDAY


def test_a_duty_that_nobody_does_is_overdue_once_and_recovers_when_an_audit_finishes(live):
    live.release()
    live.look(SUNDAY)
    live.look(DUE)
    assert live.look(DUE + dt.timedelta(hours=1)).overdue == ()
    for minutes in (61, 62, 180):
        assert live.look(DUE + dt.timedelta(minutes=minutes)).overdue == (NAME,)
    (incident,) = live.incidents("overdue")
    assert incident.state == "open"
    assert incident.why.endswith("none ever began")
    live.work(DUE + dt.timedelta(hours=9))
    assert live.look(DUE + dt.timedelta(hours=9)).overdue == ()
    assert [one.state for one in live.incidents("overdue")] == ["recovered"]
    lines = [json.loads(line) for line in (live.home / "alerts.jsonl").read_text().splitlines()]
    told = [line for line in lines if "overdue" in json.dumps(line)]
    assert len(told) == 2


def test_an_audit_that_runs_is_not_overdue_before_the_next_one_should_have_ended(live):
    live.release()
    live.look(SUNDAY)
    live.look(DUE)
    (run,) = live.runs()
    with live.open() as workspace, duty_runs.held(workspace.ledger, run.id, Owner.this_process()):
        workspace.ledger.claim_run(run.id, Owner.this_process())
        assert live.look(DUE + dt.timedelta(hours=20)).overdue == ()
        assert live.look(DUE + DAY + dt.timedelta(minutes=59)).overdue == ()
        assert live.look(DUE + DAY + dt.timedelta(minutes=61)).overdue == (NAME,)


def test_an_audit_without_a_verdict_is_told_until_one_has_one(live):
    live.release()
    live.server.script.by_seed = {"1": ["400"] * 9}
    live.look(SUNDAY)
    live.work(DUE)
    (run,) = live.runs()
    assert (run.state, run.verdict) == (states.DONE, duty_runs.NO_VERDICT)
    live.look(DUE)
    live.look(DUE + dt.timedelta(minutes=1))
    (incident,) = live.incidents("no-verdict")
    assert incident.why == "audit 1 is incomplete: some calls brought no answer"
    live.server.script.by_seed = {}
    live.work(DUE + DAY)
    live.look(DUE + DAY)
    assert [one.state for one in live.incidents("no-verdict")] == ["recovered"]


def test_a_retry_that_completes_the_audit_of_a_duty_ends_its_missing_verdict(live):
    live.release()
    live.server.script.by_seed = {"1": ["400"] * 9}
    live.look(SUNDAY)
    live.work(DUE)
    live.look(DUE)
    live.server.script.by_seed = {}
    with live.open() as workspace, place_of(workspace, workspace.ledger.audit(1).release, print) as place:
        audit = workspace.ledger.audit(1)
        collect_answers(workspace, audit, workspace.ledger.open_work(audit.id, failed=True), place, Limits())
        alerted(workspace, concluded(workspace, closed(workspace, audit), tell=print, publish=False))
    live.look(DUE + dt.timedelta(minutes=1))
    (incident,) = live.incidents("no-verdict")
    assert (incident.state, incident.evidence["ended"]) == (
        "recovered",
        "audit 1 of models:/nova/1 was asked again and has a verdict",
    )
