"""Duties, their runs and sightings, on both databases; of several processes one gets a slot."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from registry.ledger import duties as states
from registry.ledger.duties import QueuedRun, StoredDuty
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner
from registry.ledger.store import Ledger

ME, OTHER = Owner("here", 1, 1.0), Owner("there", 2, 2.0)
DAY_1, DAY_2, DAY_3 = (f"2026-11-0{day}T03:00:00.000Z" for day in (1, 2, 3))
WEEKLY = StoredDuty(
    name="nova/persona-brainstorm",
    family="nova",
    protocol="persona-brainstorm",
    definition={"clock": ["0 3 * * 1", None, "UTC", None], "audit": {"personas": 100}},
)


def begin(
    ledger: Ledger,
    duty: str,
    slot: str,
    due_at: str,
    owner: Owner = ME,
    *,
    kind: str = states.SCHEDULED,
    **more: object,
) -> states.DutyRun | None:
    """What the clock and whoever performs a run do together; None when the slot's run is another's."""
    ledger.queue_runs([QueuedRun(duty=duty, slot=slot, due_at=due_at, kind=kind)])
    return ledger.claim_run(ledger.run_of(duty, slot).id, owner, **more)


def begun(ledger: Ledger, slot: str = "2026-11-01T03:00", owner: Owner = ME, **more: object) -> states.DutyRun:
    run = begin(ledger, WEEKLY.name, slot, DAY_1, owner, **more)
    assert run is not None
    return run


def skipped(duty: str, slot: str, due_at: str) -> QueuedRun:
    return QueuedRun(duty=duty, slot=slot, due_at=due_at, kind=states.SCHEDULED, state=states.SKIPPED, why="missed")


def test_unchanged_duties_stay_as_they_are_and_changed_times_begin_anew(ledger):
    other = dataclasses.replace(WEEKLY, name="nova/other")
    assert ledger.declare_duties([WEEKLY, other], DAY_1).added == (WEEKLY.name, other.name)
    assert ledger.declare_duties([other, WEEKLY], DAY_2) == states.Reconciled()
    assert {duty.since for duty in ledger.duties()} == {DAY_1}

    larger = dataclasses.replace(WEEKLY, definition={**WEEKLY.definition, "audit": {"personas": 200}})
    assert ledger.declare_duties([larger, other], DAY_2).changed == (WEEKLY.name,)
    assert ledger.duty(WEEKLY.name).since == DAY_1  # a larger sample moves no time
    later = dataclasses.replace(larger, definition={**larger.definition, "clock": ["0 4 * * 1", None, "UTC", None]})
    assert ledger.declare_duties([later], DAY_3) == states.Reconciled(changed=(WEEKLY.name,), ended=(other.name,))
    assert [(duty.name, duty.since) for duty in ledger.duties()] == [(WEEKLY.name, DAY_3)]
    assert ledger.declare_duties([later, other], DAY_3).changed == (other.name,)
    assert ledger.duty(other.name) == dataclasses.replace(other, since=DAY_3)


def test_of_many_that_begin_a_slot_at_once_one_gets_it(ledger_url):
    ledgers = [Ledger(ledger_url) for _ in range(4)]
    ledgers[0].identity  # noqa: B018  (makes the tables)
    at_once, found = threading.Barrier(4), []

    def race(ledger: Ledger, number: int) -> None:
        at_once.wait()
        owner = Owner("host", number, float(number))
        found.append(begin(ledger, WEEKLY.name, "2026-11-01T03:00", DAY_1, owner))

    threads = [threading.Thread(target=race, args=(ledger, n)) for n, ledger in enumerate(ledgers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [run for run in found if run is not None]
    assert len(found) == 4
    assert len(winners) == 1
    assert winners[0].attempts == 1
    assert [run.id for run in ledgers[0].runs()] == [winners[0].id]
    for ledger in ledgers:
        ledger.close()


def test_a_run_goes_from_due_to_done_and_a_slot_has_one(ledger):
    run = begun(ledger, late_s=7200.0, why="began 2 h after it was due")
    assert (run.state, run.holder, run.late_s) == (states.RUNNING, ME.id, 7200.0)
    assert begin(ledger, WEEKLY.name, run.slot, DAY_1, OTHER) is None
    assert ledger.queue_runs([skipped(WEEKLY.name, run.slot, DAY_1)]) == 0
    ended = ledger.end_run(run.id, states.DONE, "fine", verdict="unchanged", owner=ME)
    assert (ended.state, ended.verdict, ended.holder) == (states.DONE, "unchanged", None)
    assert ended.why == "began 2 h after it was due; fine"
    assert ledger.end_run(run.id, states.FAILED, "late news", owner=ME) is None
    assert ledger.requeue_run(run.id, "again") is None
    assert ledger.run(run.id) == ended


def test_who_was_given_up_cannot_end_a_run_that_another_took_over(ledger):
    run = begun(ledger)
    assert ledger.requeue_run(run.id, "its process died; begun again").state == states.DUE
    taken = ledger.claim_run(run.id, OTHER)
    assert (taken.attempts, taken.holder) == (2, OTHER.id)
    assert ledger.end_run(run.id, states.DONE, owner=ME) is None
    assert ledger.end_run(run.id, states.DONE, owner=OTHER).state == states.DONE


def test_one_release_and_protocol_is_audited_by_one_run_at_a_time(ledger):
    first, second = begun(ledger), begun(ledger, "2026-11-02T03:00")
    assert ledger.occupy(first.id, "models:/nova/1", "persona-brainstorm") is None
    assert ledger.occupy(first.id, "models:/nova/1", "persona-brainstorm") is None
    assert ledger.occupy(second.id, "models:/nova/1", "persona-brainstorm").id == first.id
    assert ledger.occupy(second.id, "models:/nova/2", "persona-brainstorm") is None
    ledger.end_run(first.id, states.DONE)
    assert ledger.occupy(second.id, "models:/nova/1", "persona-brainstorm") is None
    assert [run.id for run in ledger.runs(states=(states.RUNNING,))] == [second.id]
    assert ledger.run(second.id).release == "models:/nova/1"


def test_a_due_run_is_handed_out_once_until_its_time_is_over(ledger):
    queued = QueuedRun(duty=WEEKLY.name, slot="version 7", due_at=DAY_1, kind=states.VERSION, release="models:/nova/7")
    assert ledger.queue_runs([queued, queued]) == 1
    run = ledger.run_of(WEEKLY.name, "version 7")
    assert ledger.hand_out(run.id, DAY_2, now=DAY_1)
    assert not ledger.hand_out(run.id, DAY_2, now=DAY_1)
    assert ledger.hand_out(run.id, DAY_3, now=None, flow_run="flow 1")
    assert not ledger.hand_out(run.id, DAY_3, now=DAY_2)
    assert ledger.claim_run(run.id, ME).flow_run == "flow 1"
    assert not ledger.hand_out(run.id, DAY_3, now=DAY_3)


def test_the_history_of_a_duty_is_what_its_runs_say_one_by_one(ledger):
    states_in_order = (states.DONE, states.FAILED, states.DONE, states.OPEN)
    for day, state in enumerate(states_in_order, start=1):
        run = begin(ledger, "a", f"slot {day}", f"2026-11-0{day}")
        ledger.end_run(run.id, state)
    ledger.queue_runs([skipped("a", "slot 5", "2026-11-05")])
    begin(ledger, "b", "slot 1", "2026-11-01", kind=states.VERSION)
    ledger.queue_runs([QueuedRun(duty="c", slot="slot 1", due_at="2026-11-09", kind=states.SCHEDULED)])
    found = ledger.duty_histories()
    assert (found["a"].reached, found["a"].newest.slot, found["a"].done.slot) == ("2026-11-05", "slot 4", "slot 3")
    assert (found["b"].reached, found["b"].running.slot) == (None, "slot 1")
    assert (found["c"].reached, found["c"].newest) == ("2026-11-09", None)


def test_a_version_is_new_once_and_its_runs_come_with_it(ledger):
    queued = QueuedRun(duty=WEEKLY.name, slot="version 3", due_at=DAY_1, kind=states.VERSION)
    assert ledger.looked_at("nova") is None
    ledger.sight("nova", [1, 2])
    ledger.look_at("nova", DAY_1)
    assert (ledger.looked_at("nova"), ledger.sighted("nova")) == (DAY_1, {1, 2})
    assert ledger.sight("nova", [3], [queued]) == [3]
    assert ledger.sight("nova", [3], [dataclasses.replace(queued, slot="another")]) == []
    assert [run.slot for run in ledger.runs()] == ["version 3"]
    ledger.look_at("nova", DAY_2)
    assert (ledger.looked_at("nova"), ledger.sighted("nova")) == (DAY_2, {1, 2, 3})


def test_what_is_not_declared_any_more_has_no_run_that_is_due_or_would_be_tried_again(ledger):
    other = dataclasses.replace(WEEKLY, name="nova/other")
    ledger.declare_duties([WEEKLY, other], DAY_1)
    for duty in (WEEKLY.name, other.name):
        ledger.queue_runs([QueuedRun(duty=duty, slot="waits", due_at=DAY_1, kind=states.SCHEDULED)])
        for slot, state in (("failed", states.FAILED), ("open", states.OPEN)):
            ledger.end_run(begin(ledger, duty, slot, DAY_1).id, state, "trouble", next_at=DAY_2)
        begin(ledger, duty, "runs", DAY_1)
    ledger.declare_duties([WEEKLY], DAY_2)
    ended = {run.slot: (run.state, run.next_at, run.why) for run in ledger.runs(other.name)}
    assert ended == {
        "waits": (states.SKIPPED, None, "not declared any more"),
        "failed": (states.FAILED, None, "trouble; not declared any more"),
        "open": (states.OPEN, None, "trouble; not declared any more"),
        "runs": (states.RUNNING, None, ""),
    }
    kept = {run.slot: (run.state, run.next_at) for run in ledger.runs(WEEKLY.name)}
    assert kept["waits"] == (states.DUE, None)
    assert kept["failed"] == (states.FAILED, DAY_2)
    # Its run ended after that, to be tried again: the next look ends that too.
    run = ledger.run_of(other.name, "runs")
    ledger.end_run(run.id, states.OPEN, next_at=DAY_3)
    ledger.declare_duties([WEEKLY], DAY_2)
    assert ledger.run(run.id).next_at is None


def test_how_late_a_run_began_is_what_it_was_at_its_first_beginning(ledger):
    run = begun(ledger, late_s=5.0)
    ledger.requeue_run(run.id, "its process died")
    assert ledger.claim_run(run.id, OTHER, late_s=7200.0).late_s == 5.0
    waited = begun(ledger, "2026-11-02T03:00", late_s=5.0)
    ledger.requeue_run(waited.id, "waited", unbegun=True)
    assert ledger.claim_run(waited.id, ME, late_s=60.0).late_s == 60.0


def test_what_is_not_there_is_refused(ledger):
    with pytest.raises(LedgerError, match=r"no duty 'nova/x'; 'spiritlevel schedule'"):
        ledger.duty("nova/x")
    with pytest.raises(LedgerError, match="no run 7"):
        ledger.run(7)
