"""The duty clock with a real ledger, a real MLflow store and a real endpoint; only the time is the tests' own."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import flows.alerts
from flows import duty_runs
from flows.duty_clock import due, due_now, startable, swept
from flows.duty_runs import in_words, performed
from flows.settings import Home
from flows.workspace import opened
from registry.ledger import duties as states
from registry.ledger.checks import InstrumentCheck
from registry.ledger.duties import QueuedRun
from registry.ledger.ownership import Owner
from tests.flows.services import DAILY, DAY, DUE, NAME, PROTOCOL, SUNDAY, Service, audited, utc
from tests.stub_server import StubServer

# ---------------------------------------------------------------- what is due


def test_a_new_duty_is_due_at_its_next_time_and_not_before(service):
    assert service.look(SUNDAY).reconciled.added == (NAME,)
    assert service.look(DUE - dt.timedelta(seconds=1)).queued == 0
    assert service.look(DUE).queued == 1
    (run,) = service.runs()
    assert (run.slot, run.due_at, run.kind, run.state) == (
        "2026-11-02T03:00",
        "2026-11-02T02:00:00.000Z",
        states.SCHEDULED,
        states.DUE,
    )
    assert service.handed == ["scheduled 2026-11-02T03:00"]


def test_after_downtime_one_run_catches_up_and_every_missed_slot_is_recorded(service):
    service.look(SUNDAY)
    report = service.look(SUNDAY + 9 * DAY)
    assert (report.queued, report.missed) == (1, 8)
    *skipped, run = service.runs()
    assert [one.state for one in skipped] == [states.SKIPPED] * 8
    assert [one.slot for one in skipped] == [f"2026-11-0{day}T03:00" for day in range(2, 10)]
    assert {one.why for one in skipped} == {"missed while nothing ran; the run for 2026-11-10T03:00 stands for it"}
    assert (run.kind, run.slot) == (states.CATCH_UP, "2026-11-10T03:00")
    assert service.handed == ["catch-up 2026-11-10T03:00"]


def test_a_very_long_downtime_is_counted_and_not_written_down_slot_by_slot(service):
    service.configure(DAILY.replace('cron: "0 3 * * *", zone: Europe/Madrid', "every: 1m"))
    service.look(SUNDAY)
    report = service.look(SUNDAY + 2 * DAY)
    assert report.missed == 2 * 24 * 60 - 1
    first, *others = service.runs(states.SKIPPED)
    assert len(others) == 199
    assert first.why.endswith(f", and for {report.missed - 200:,} before it")


@pytest.mark.parametrize("cut", range(7))
def test_looks_are_repeatable_and_one_that_is_cut_short_anywhere_is_completed_by_the_next(service, monkeypatch, cut):
    """Wherever a process dies between two writes, the next look leaves the same rows as one that never died."""
    service.look(SUNDAY)
    steps = iter(range(1000))

    class Killed(BaseException):
        pass

    def dies_after(method):
        def method_that_dies(self, *args, **kwargs):
            if next(steps) == cut:
                raise Killed
            return method(self, *args, **kwargs)

        return method_that_dies

    from registry.ledger.store import Ledger

    with monkeypatch.context() as patch:
        for name in ("declare_duties", "queue_runs", "hand_out", "take_lease", "sight", "give_lease_back"):
            patch.setattr(Ledger, name, dies_after(getattr(Ledger, name)))
        for _ in range(2):
            try:
                service.look(SUNDAY + 3 * DAY)
            except Killed:
                break
    service.look(SUNDAY + 3 * DAY + dt.timedelta(minutes=6))
    assert [(run.slot, run.state) for run in service.runs()] == [
        ("2026-11-02T03:00", states.SKIPPED),
        ("2026-11-03T03:00", states.SKIPPED),
        ("2026-11-04T03:00", states.DUE),
    ]
    assert set(service.handed) == {"catch-up 2026-11-04T03:00"}


def test_the_same_look_again_changes_nothing(service):
    service.look(SUNDAY)
    service.look(SUNDAY + 3 * DAY)
    before = service.runs()
    report = service.look(SUNDAY + 3 * DAY)
    assert (report.queued, report.missed, report.started, report.reconciled.added) == (0, 0, (), ())
    assert service.runs() == before


def test_where_clocks_change_there_is_one_run_a_day(service):
    for family, change in (("nova", "2026-03-29"), ("mira", "2026-10-25")):  # a night without 02:30, and one with two
        service.configure(DAILY.replace("0 3", "30 2").replace("nova", family))
        midnight = utc(f"{change}T00:00")
        for hours in (-24, -20, -1, 0, 0.6, 1, 1.1, 1.6, 2, 3, 23, 26):
            service.look(midnight + dt.timedelta(hours=hours))
    assert [run.slot for run in service.runs()] == [
        "2026-03-28T02:30",
        "2026-03-29T03:00",
        "2026-03-30T02:30",
        "2026-10-24T02:30",
        "2026-10-25T02:30",
        "2026-10-26T02:30",
    ]


def test_what_was_due_while_a_duty_was_not_declared_is_nobodys_fault(service):
    service.look(SUNDAY)
    service.configure("families: {}")
    assert service.look(SUNDAY + DAY / 2).reconciled.ended == (NAME,)
    service.configure()
    service.look(SUNDAY + 9 * DAY)
    assert service.runs() == []
    service.configure(DAILY.replace("personas: 100", "personas: 200"))
    assert service.look(SUNDAY + 10 * DAY).reconciled.changed == (NAME,)
    assert [run.slot for run in service.runs()] == ["2026-11-11T03:00"]


def test_a_look_from_a_place_without_the_configuration_ends_no_duty(service):
    service.look(SUNDAY)
    (service.home / "spiritlevel.yaml").unlink()
    with service.open() as workspace:
        report = swept(workspace, DUE, start=None, publish=False)
        assert report.reconciled.ended == ()
        assert "spiritlevel.yaml is not there" in report.trouble[0]
        assert [duty.name for duty in workspace.ledger.duties()] == [NAME]


def test_due_says_what_a_look_would_queue_and_changes_nothing(service):
    service.look(SUNDAY)
    with service.open() as workspace:
        (found,) = due(workspace.home.service, workspace.ledger, SUNDAY + 3 * DAY)
        assert (found.slot.name, found.kind) == ("2026-11-04T03:00", states.CATCH_UP)
        assert [slot.name for slot in found.missed] == ["2026-11-02T03:00", "2026-11-03T03:00"]
        assert workspace.ledger.runs() == []


def test_a_scheduler_that_woke_by_itself_gets_the_same_run_as_the_clock(service):
    service.look(SUNDAY)
    with service.open() as workspace:
        run = due_now(workspace, NAME, DUE)
        assert run.slot == "2026-11-02T03:00"
        assert due_now(workspace, NAME, DUE).id == run.id
    service.look(DUE)
    with service.open() as workspace:
        workspace.ledger.claim_run(run.id, Owner.this_process())
        assert due_now(workspace, NAME, DUE) is None
        assert len(service.runs()) == 1
        version = QueuedRun(
            duty=NAME, slot="version 2", due_at=run.due_at, kind=states.VERSION, release="models:/nova/2"
        )
        workspace.ledger.queue_runs([version])
        assert due_now(workspace, NAME, DUE) is None  # it may have to wait for its reference, which the clock knows


def test_what_is_not_declared_any_more_is_not_begun_nor_tried_again(live):
    other = (
        "      - {protocol: persona-brainstorm, name: other, personas: 200, cron: '0 3 * * *', zone: Europe/Madrid}\n"
    )
    live.configure(DAILY + other)
    live.release()
    live.look(SUNDAY)
    live.look(DUE)
    live.configure()
    live.work(DUE + dt.timedelta(minutes=10))
    found = {run.duty: (run.state, run.why) for run in live.runs()}
    assert found["nova/other"] == (states.SKIPPED, "not declared any more")
    assert found[NAME][0] == states.DUE  # handed out to somebody
    with live.open() as workspace:
        late = QueuedRun(duty="nova/other", slot="x", due_at=DUE.isoformat(), kind=states.SCHEDULED)
        workspace.ledger.queue_runs([late])  # by a process that did not know yet
        assert [run.duty for run in startable(workspace, DUE + DAY, [])] == [NAME]


def test_what_a_library_says_of_an_error_is_kept_and_told_without_the_password_in_it(live):
    def broken(workspace, audit, limits, tell):
        raise ConnectionError("postgresql://audit:hunter2@db/ledger is away\nand more of it")

    live.release()
    live.look(SUNDAY)
    live.look(DUE)
    (run,) = live.runs()
    told = []
    with live.open() as workspace:
        ended = performed(workspace, run.id, now=DUE, audited=broken, tell=told.append)
    assert ended.why == "ConnectionError: postgresql://audit:[secret removed]@db/ledger is away"
    assert "hunter2" not in "".join(told)


def test_what_an_audit_found_is_looked_at_once(live, monkeypatch):
    looked_at, find = [], flows.alerts.findings_of

    def counted(workspace, conclusion):
        looked_at.append(conclusion.scored.audit.id)
        return find(workspace, conclusion)

    monkeypatch.setattr(flows.alerts, "findings_of", counted)
    live.release()
    live.look(SUNDAY)
    live.look(DUE, lambda workspace, run: performed(workspace, run.id, now=DUE) and None)
    assert looked_at == [1]


def test_while_the_instrument_is_not_steady_no_second_sample_is_ordered(live):
    def unsteady(workspace, audit, limits, tell):
        made = audited(workspace, audit, limits, tell)
        check = InstrumentCheck(audit=audit.id, kind="split", state="moved", why="its halves differ", made_at="")
        return dataclasses.replace(made, checks=(check,))

    live.configure(DAILY.replace("personas: 100", "personas: 1600"))
    live.release()
    live.work(SUNDAY)
    live.work(DUE)
    live.release("stub-2")
    live.look(DUE + dt.timedelta(minutes=1))
    version = next(run for run in live.runs() if run.kind == states.VERSION)
    with live.open() as workspace:
        assert performed(workspace, version.id, now=DUE, audited=unsteady).state == states.DONE
        (incident,) = workspace.ledger.incidents(kind="regression")
        assert incident.state == "unconfirmed"
        assert [audit.release.version for audit in workspace.ledger.audits()] == [1, 2]


# ---------------------------------------------------------------- performing


def test_a_run_that_is_due_makes_one_audit_and_says_when_it_is_late(live):
    live.release()
    live.work(SUNDAY)
    live.work(DUE)
    live.work(DUE + dt.timedelta(minutes=1))
    (run,) = live.runs()
    assert (run.state, run.release, run.attempts, run.late_s, run.why) == (states.DONE, "models:/nova/1", 1, 0.0, "")
    live.work(DUE + DAY + dt.timedelta(hours=2, minutes=5))
    late = live.runs()[-1]
    assert (late.kind, late.state, late.late_s) == (states.CATCH_UP, states.DONE, 7500.0)
    assert late.why == "began 2 h 5 min after it was due (grace 1h)"
    with live.open() as workspace:
        assert [audit.occasion for audit in workspace.ledger.audits()] == [1, 2]
    assert len(live.server.received) == 10


def test_what_a_run_made_is_published_by_the_same_look(live):
    live.release()
    live.look(SUNDAY)
    live.look(DUE, lambda workspace, run: performed(workspace, run.id, now=DUE) and None, publish=True)
    with live.open() as workspace:
        (audit,) = workspace.ledger.audits()
        assert workspace.tracking.client().get_run(audit.run_id).data.tags["spiritlevel.kind"] == "audit"


def test_two_threads_that_perform_one_run_make_one_audit(live):
    live.release()
    live.look(SUNDAY)
    live.look(DUE)
    (run,) = live.runs()
    found = []

    def perform():
        with live.open() as workspace:
            found.append(performed(workspace, run.id, now=DUE, audited=audited))

    threads = [threading.Thread(target=perform) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one is None for one in found) == [False, True]
    assert len(live.server.received) == 5


def _perform(home, run_id, reached):
    """In another process: perform a run, and tell when its audit is under way."""

    def watch(audit_id):
        with opened(Home(home)) as other:
            while other.ledger.progress(audit_id)[0] < 2:
                time.sleep(0.02)
        Path(reached).touch()

    def watched(workspace, audit, limits, tell):
        threading.Thread(target=watch, args=(audit.id,), daemon=True).start()
        return audited(workspace, audit, limits, tell)

    with opened(Home(home)) as workspace:
        performed(workspace, run_id, now=DUE, audited=watched)


def test_a_run_whose_process_was_killed_goes_on_with_the_same_audit_and_asks_nothing_twice(home):
    with StubServer(latency_s=0.15) as server:
        service = Service(home, server.base_url)
        service.configure(DAILY.replace("personas: 100", "personas: 400, concurrency: 1"))
        service.release()
        service.look(SUNDAY)
        service.look(DUE)
        (run,) = service.runs()
        reached = home / "reached"
        script = (
            f"from tests.flows.test_duty_clock import _perform; _perform({str(home)!r}, {run.id}, {str(reached)!r})"
        )
        with subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[2]) as process:
            deadline = time.monotonic() + 60
            while not reached.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            process.kill()
        assert reached.exists(), "it ended, or took too long, before its audit was under way"
        with service.open() as workspace:
            kept, total = workspace.ledger.progress(1)
        assert 2 <= kept < total == 20
        assert service.runs()[0].state == states.RUNNING

        report = service.work(DUE + dt.timedelta(minutes=1))
        assert report.revived == (run.id,)
        (ended,) = service.runs()
        assert (ended.state, ended.attempts, ended.audit_id) == (states.DONE, 2, 1)
        assert "died" in ended.why
        assert "begun again" in ended.why
        with service.open() as workspace:
            (audit,) = workspace.ledger.audits()
            answers = workspace.ledger.responses(audit.id)
            ends = [worker.why for worker in workspace.ledger.workers(audit.id)]
        assert (audit.state, len(answers), {answer.attempt for answer in answers}) == ("complete", 20, {1})
        assert len(server.received) <= 21  # one call was under way
        assert "gone" in ends[0]


def test_a_provider_that_is_down_is_tried_again_with_longer_pauses_and_the_same_audit_goes_on(live):
    live.release()
    live.configure(DAILY.replace("personas: 100", "personas: 100, concurrency: 1"))
    live.server.script.default = "401"
    live.look(SUNDAY)
    live.work(DUE)
    (run,) = live.runs()
    assert run.state in (states.OPEN, states.FAILED)
    assert run.next_at == "2026-11-02T02:05:00.000Z"
    live.work(DUE + dt.timedelta(minutes=4))
    assert live.runs()[0].attempts == 1
    live.work(DUE + dt.timedelta(minutes=5))
    again = live.runs()[0]
    assert (again.attempts, again.next_at) == (2, "2026-11-02T02:15:00.000Z")
    live.server.script.default = "ok"
    live.work(DUE + dt.timedelta(minutes=15))
    (ended,) = live.runs()
    assert (ended.state, ended.attempts) == (states.DONE, 3)
    with live.open() as workspace:
        assert [audit.state for audit in workspace.ledger.audits()] == ["complete"]


def test_the_next_slot_stands_for_a_run_that_never_got_through_and_continues_its_audit(live):
    live.release()
    live.configure(DAILY.replace("personas: 100", "personas: 100, budget: {tokens: 3000}, concurrency: 1"))
    live.look(SUNDAY)
    live.work(DUE)
    assert [(run.state, run.audit_id) for run in live.runs()] == [(states.OPEN, 1)]
    live.configure(DAILY.replace("personas: 100", "personas: 140"))  # the interrupted audit keeps its size
    live.work(DUE + DAY)
    first, second = live.runs()
    assert (first.state, first.next_at) == (states.OPEN, None)
    assert "2026-11-03T03:00" in first.why
    assert (second.state, second.audit_id) == (states.DONE, 1)
    live.work(DUE + 2 * DAY)
    with live.open() as workspace:
        assert [audit.plan.size for audit in workspace.ledger.audits()] == [100, 140]


def test_a_run_while_the_one_before_still_runs_is_refused_and_recorded(live):
    live.release()
    live.look(SUNDAY)
    live.look(DUE)
    (run,) = live.runs()
    with live.open() as workspace, duty_runs.held(workspace.ledger, run.id, Owner.this_process()):
        workspace.ledger.claim_run(run.id, Owner.this_process())
        assert live.look(DUE + DAY).refused == 1
        refused = live.runs()[-1]
        assert (refused.slot, refused.state) == ("2026-11-03T03:00", states.REFUSED)
        assert refused.why == "the run before of it is still running, for 2026-11-02T03:00"
        workspace.ledger.end_run(run.id, states.DONE)
    assert live.look(DUE + 2 * DAY).queued == 1


def test_another_duty_of_the_same_release_is_refused_while_its_audit_runs_and_one_by_hand_counts_too(live):
    live.release()
    monthly = "      - {protocol: persona-brainstorm, name: monthly, personas: 200, every: 30d}\n"
    live.configure(DAILY + monthly)
    live.look(SUNDAY)
    live.look(DUE + 30 * DAY)
    daily = next(run for run in live.runs(states.DUE) if run.duty == NAME)
    other = next(run for run in live.runs(states.DUE) if run.duty == "nova/monthly")

    def meanwhile(workspace, audit, limits, tell):
        refused = performed(workspace, other.id, now=DUE + 30 * DAY)
        assert refused.state == states.REFUSED
        expected = f"audit {audit.id} of models:/nova/1 is still running, for {NAME} due {daily.due_at}"
        assert refused.why.endswith(expected)
        return audited(workspace, audit, limits, tell)

    with live.open() as workspace:
        assert performed(workspace, daily.id, now=DUE + 30 * DAY, audited=meanwhile).state == states.DONE
        plan = workspace.protocol(PROTOCOL).plan(size=60, seed=900)
        release = workspace.releases.find("nova/1")
        audit = workspace.ledger.order(release, plan, workspace.protocol(PROTOCOL).requests(plan))
        worker = workspace.ledger.begin_work(audit.id, Owner.this_process())
    live.work(DUE + 31 * DAY)
    refused = live.runs()[-1]
    assert (refused.duty, refused.state) == (NAME, states.REFUSED)
    assert f"audit {audit.id} of models:/nova/1 is still running, in process {os.getpid()}" in refused.why
    with live.open() as workspace:
        workspace.ledger.end_work(worker, "finished")


def test_a_family_that_is_not_registered_fails_in_words_and_its_duty_is_overdue(service):
    service.look(SUNDAY)
    service.work(DUE)
    (run,) = service.runs()
    assert run.state == states.FAILED
    assert "no model family is named 'nova'" in run.why
    report = service.work(DUE + dt.timedelta(hours=1, seconds=1))
    assert report.overdue == (NAME,)
    (incident,) = service.incidents("overdue")
    assert "no audit finished for 2026-11-02T03:00 (Europe/Madrid)" in incident.why
    assert "no model family is named 'nova'" in incident.why


@pytest.mark.parametrize(("seconds", "words"), [(1, "1 s"), (61, "1 min"), (7500, "2 h 5 min"), (86400, "1 d")])
def test_lengths_of_time_are_said_in_words(seconds, words):
    assert in_words(dt.timedelta(seconds=seconds)) == words
