"""Workers, claims and answers of several processes on one ledger."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

from registry.audits.plan import Outcome, Request, Response
from registry.ledger.claims import AuditInProgressError, TakenOverError
from registry.ledger.opening import LedgerAwayError, LedgerError
from registry.ledger.ownership import Owner, this_host
from registry.ledger.service_tables import workers
from registry.ledger.store import Ledger
from registry.ledger.tables import requests, responses
from tests.registry.ledger.orders import RELEASE, ordered

ME = Owner.this_process()
FAR, FARTHER = Owner("elsewhere#1", 1, 1.0), Owner("beyond#2", 1, 1.0)


def silent_for(ledger, worker, seconds):
    """Set a worker's heartbeat back."""
    from registry.ledger.leases import later

    with ledger.engine.begin() as connection:
        beat = later(ledger.moment(), -seconds)
        connection.execute(workers.update().where(workers.c.id == worker.id).values(heartbeat_at=beat))


def state_of(ledger, worker):
    return next(other for other in ledger.workers(worker.audit_id) if other.id == worker.id)


def indexes(block):
    return [(request.index, attempt) for request, attempt in block]


def test_a_live_worker_is_respected_and_a_dead_process_is_taken_over_at_once(ledger):
    audit = ordered(ledger)
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    theirs = ledger.begin_work(audit.id, Owner.of(child.pid))
    assert indexes(ledger.claim(theirs, 2)) == [(0, 1), (1, 1)]
    with pytest.raises(AuditInProgressError, match=rf"process {child.pid} on {ME.name} .*--join"):
        ledger.begin_work(audit.id, ME)
    child.communicate()
    mine = ledger.begin_work(audit.id, ME)
    assert indexes(ledger.claim(mine, 10)) == [(0, 1), (1, 1), (2, 1)]
    assert state_of(ledger, mine).ended_at is None
    assert state_of(ledger, theirs).ended_at is not None
    assert state_of(ledger, theirs).why == f"its process {child.pid} is gone"


def test_a_silent_worker_on_another_host_is_given_up_after_two_minutes(ledger):
    audit = ordered(ledger)
    theirs = ledger.begin_work(audit.id, FAR)
    ledger.claim(theirs, 3)
    silent_for(ledger, theirs, 100)
    assert ledger.dead_work(ME) == []
    with pytest.raises(AuditInProgressError, match="on elsewhere "):
        ledger.begin_work(audit.id, ME)
    silent_for(ledger, theirs, 130)
    assert [worker.id for worker in ledger.dead_work(ME)] == [theirs.id]
    mine = ledger.begin_work(audit.id, ME)
    assert len(ledger.claim(mine, 10)) == 3
    assert ledger.dead_work(ME) == []


def test_a_worker_that_wakes_up_after_it_was_taken_over_claims_nothing_more(ledger):
    audit = ordered(ledger)
    theirs = ledger.begin_work(audit.id, FAR)
    ledger.claim(theirs, 1)
    silent_for(ledger, theirs, 130)
    ledger.begin_work(audit.id, ME)
    assert not ledger.beat(theirs)
    with pytest.raises(TakenOverError, match="no sign of life"):
        ledger.claim(theirs, 1)
    assert not ledger.end_work(theirs, "finished")
    assert "no sign of life" in state_of(ledger, theirs).why


def test_the_first_stored_answer_counts_and_the_late_one_is_told(ledger):
    audit = ordered(ledger)
    first = Response(index=0, text="of the one who took over", received_at="2026-11-01T00:00:01.000Z")
    assert ledger.record(audit.id, first)
    assert not ledger.record(audit.id, Response(index=0, text="late"))
    assert not ledger.record(audit.id, Response(index=0, failure=Outcome.TIMED_OUT, detail="late too"))
    assert ledger.record(audit.id, first), "the same answer again is one whose storing was not confirmed"
    assert ledger.responses(audit.id) == [first]


def test_a_late_answer_to_a_request_that_failed_meanwhile_is_kept(ledger):
    audit = ordered(ledger)
    ledger.record(audit.id, Response(index=0, failure=Outcome.TIMED_OUT, detail="no answer in 60 s"))
    assert ledger.record(audit.id, Response(index=0, text="late and paid for"))
    assert [(answer.attempt, answer.text) for answer in ledger.responses(audit.id)] == [(2, "late and paid for")]


def test_an_answer_of_no_audit_is_refused(ledger):
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        ledger.record(77, Response(index=0, text="x"))


def test_a_request_answered_late_is_not_asked_again(ledger):
    audit = ordered(ledger)
    theirs = ledger.begin_work(audit.id, FAR)
    ledger.claim(theirs, 2)
    silent_for(ledger, theirs, 130)
    mine = ledger.begin_work(audit.id, ME)
    ledger.record(audit.id, Response(index=0, text="it woke up just now"))
    assert indexes(ledger.claim(mine, 10)) == [(1, 1), (2, 1)]


def test_joined_workers_share_and_what_one_leaves_the_other_takes(ledger):
    audit = ordered(ledger, 200)
    mine, theirs = ledger.begin_work(audit.id, ME), ledger.begin_work(audit.id, FAR, join=True)
    assert indexes(ledger.claim(mine, 4)) == [(i, 1) for i in range(4)]
    assert indexes(ledger.claim(theirs, 4)) == [(i, 1) for i in range(4, 8)]
    ledger.record(audit.id, Response(index=5, text="x"))
    ledger.claim(mine, 4)
    assert ledger.claim(mine, 4) == []
    assert [worker.id for worker in ledger.left(mine, (4, 7)).held_by] == [theirs.id]
    ledger.end_work(theirs, "its budget was used up")
    assert ledger.left(mine, (0, 9)).free
    assert indexes(ledger.claim(mine, 10)) == [(i, 1) for i in (0, 1, 2, 3, 4, 6, 7, 8, 9)], "its own are free too"


def test_a_dead_worker_is_found_when_nothing_else_is_free(ledger):
    audit = ordered(ledger)
    mine, theirs = ledger.begin_work(audit.id, ME), ledger.begin_work(audit.id, FAR, join=True)
    ledger.claim(theirs, 3)
    assert ledger.claim(mine, 3) == []
    silent_for(ledger, theirs, 130)
    assert len(ledger.claim(mine, 3)) == 3


def test_failures_are_asked_again_only_when_that_is_meant(ledger):
    audit = ordered(ledger)
    first = ledger.begin_work(audit.id, ME)
    ledger.claim(first, 3)
    ledger.record(audit.id, Response(index=0, text="x"))
    for index in (1, 2):
        ledger.record(audit.id, Response(index=index, failure=Outcome.PROVIDER_ERROR, detail="500"))
    ledger.end_work(first, "finished")
    plain = ledger.begin_work(audit.id, ME)
    assert ledger.claim(plain, 3) == []
    assert not ledger.left(plain, (0, 2)).free
    ledger.end_work(plain, "finished")
    again = ledger.begin_work(audit.id, ME, failed=True)
    joined = ledger.begin_work(audit.id, FAR, join=True, failed=True)
    assert indexes(ledger.claim(again, 1)) == [(1, 2)]
    assert indexes(ledger.claim(joined, 3)) == [(2, 2)]
    # A third that joins leaves alone what the others are asking just now.
    assert ledger.claim(ledger.begin_work(audit.id, FARTHER, join=True, failed=True), 3) == []
    ledger.record(audit.id, Response(index=1, attempt=2, failure=Outcome.PROVIDER_ERROR, detail="500"))
    assert not ledger.left(again, (0, 2)).free


def test_a_killed_retry_leaves_failures_as_they_were(ledger):
    audit = ordered(ledger)
    ledger.record(audit.id, Response(index=1, failure=Outcome.TIMED_OUT, detail="60 s"))
    theirs = ledger.begin_work(audit.id, FAR, failed=True)
    silent_for(ledger, theirs, 130)
    plain = ledger.begin_work(audit.id, ME)
    assert indexes(ledger.claim(plain, 3)) == [(0, 1), (2, 1)]


def test_claims_stay_inside_the_range_that_is_asked_for(ledger):
    audit = ordered(ledger, 200)
    mine = ledger.begin_work(audit.id, ME)
    assert indexes(ledger.claim(mine, 10, between=(3, 5))) == [(3, 1), (4, 1), (5, 1)]
    assert ledger.claim(mine, 10, between=(3, 5)) == []


def test_claimed_requests_are_the_sealed_ones(ledger):
    audit = ordered(ledger)
    sealed = ledger.requests(audit.id)
    assert [request for request, _ in ledger.claim(ledger.begin_work(audit.id, ME), 3)] == sealed


def test_work_on_no_audit_is_refused(ledger):
    with pytest.raises(LedgerError, match="no audit 77"):
        ledger.begin_work(77, ME)


def test_an_order_that_somebody_works_on_is_not_withdrawn(ledger):
    audit = ordered(ledger)
    mine = ledger.begin_work(audit.id, ME)
    assert not ledger.withdraw(audit.id)
    ledger.end_work(mine, "stopped")
    assert ledger.withdraw(audit.id)
    with pytest.raises(LedgerError, match="no audit"):
        ledger.audit(audit.id)


def test_of_two_processes_that_begin_at_once_one_is_refused(ledger, ledger_url):
    audit = ordered(ledger)
    outcomes: list[str] = []
    barrier = threading.Barrier(2)

    def begin(owner):
        own = Ledger(ledger_url)
        barrier.wait()
        try:
            own.begin_work(audit.id, owner)
            outcomes.append("began")
        except AuditInProgressError:
            outcomes.append("refused")
        own.close()

    for _ in range(5):
        outcomes.clear()
        threads = [threading.Thread(target=begin, args=(owner,)) for owner in (FAR, FARTHER)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["began", "refused"]
        for worker in ledger.at_work(audit.id):
            ledger.end_work(worker, "next round")


CLAIMER = """
import sys
from registry.audits.plan import Response
from registry.ledger.ownership import Owner
from registry.ledger.store import Ledger
ledger = Ledger(sys.argv[1])
worker = ledger.begin_work(int(sys.argv[2]), Owner.this_process(), join=True)
asked = 0
while block := ledger.claim(worker, 7):
    for request, attempt in block:
        assert ledger.record(worker.audit_id, Response(index=request.index, attempt=attempt, text="x"))
        asked += 1
ledger.end_work(worker, "finished")
print(asked)
"""


def test_three_processes_claim_each_request_once(ledger, ledger_url):
    audit = ordered(ledger, 20 * 600)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", CLAIMER, ledger_url, str(audit.id)]
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    asked = [int(process.communicate(timeout=120)[0]) for process in started]
    assert sum(asked) == 600
    assert len(ledger.responses(audit.id)) == 600
    assert [worker.why for worker in ledger.workers(audit.id)] == ["finished"] * 3


def test_a_claim_among_ten_thousand_requests_takes_milliseconds(ledger):
    plan_of_one = [Request(index=i, messages=({"role": "user", "content": "name a persona"},)) for i in range(10_000)]
    from tests.registry.ledger.orders import PROTOCOL

    audit = ledger.order(RELEASE, PROTOCOL.plan(size=20), plan_of_one)
    mine = ledger.begin_work(audit.id, ME)
    # Nearly all is claimed and answered: the open ones are the last of the list.
    with ledger.engine.begin() as connection:
        connection.execute(requests.update().where(requests.c.index < 9_000).values(worker_id=mine.id))
        row = {"audit_id": audit.id, "repeat": 0, "attempt": 1, "text": "x", "detail": "", "extra": {}}
        connection.execute(responses.insert(), [row | {"index": i} for i in range(9_000)])
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("ANALYZE"))
    took = []
    for _ in range(30):
        began = time.perf_counter()
        assert len(ledger.claim(mine, 16)) == 16
        took.append(time.perf_counter() - began)
    assert min(took) < 0.05, f"{min(took) * 1000:.1f} ms at best"  # seen: 3 and 6 ms; other processes may be at work


def test_setting_the_clock_makes_no_living_process_dead_and_changes_no_id(ledger, monkeypatch):
    audit = ordered(ledger)
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as child:
        theirs = ledger.begin_work(audit.id, Owner.of(child.pid))
        booted = psutil.boot_time()
        looks = itertools.chain([booted, booted + 3600], itertools.repeat(booted + 7200))  # set again while it is asked
        monkeypatch.setattr(psutil._psplatform, "boot_time", lambda: next(looks))
        assert Owner.of(child.pid).id == theirs.owner.id
        assert theirs.owner.alive_here()
        with pytest.raises(AuditInProgressError):
            ledger.begin_work(audit.id, ME)
        child.communicate()
        assert not theirs.owner.alive_here()


class LosesAConfirmation(Ledger):
    """A ledger whose database goes away once, just after it has stored something."""

    lost = False

    @contextmanager
    def _writing(self):
        with super()._writing() as connection:
            yield connection
        if not self.lost:
            self.lost = True
            raise LedgerAwayError("the connection broke after COMMIT")


def test_a_beginning_whose_confirmation_was_lost_is_not_in_its_own_way(ledger, ledger_url):
    audit = ordered(ledger)
    shaky = LosesAConfirmation(ledger_url)
    worker = shaky.begin_work(audit.id, ME)
    shaky.close()
    first, second = sorted(ledger.workers(audit.id), key=lambda each: each.ended_at is None)
    assert (second.id, ledger.at_work(audit.id)) == (worker.id, [worker])
    assert first.why == "its process could not end it while the database was away"
    assert len(ledger.claim(worker, 3)) == 3


def test_many_answers_whose_confirmation_was_lost_are_stored_once_and_others_are_refused(ledger, ledger_url):
    audit = ordered(ledger)
    answers = [Response(index=index, text=str(index)) for index in range(3)]
    shaky = LosesAConfirmation(ledger_url)
    shaky.record_all(audit.id, answers)
    shaky.close()
    assert ledger.responses(audit.id) == answers
    assert ledger.answers_stored(audit.id) == 3
    with pytest.raises(sa.exc.IntegrityError):
        ledger.record_all(audit.id, [Response(index=1, text="another")])


PRINT_HOST = "from registry.ledger.ownership import this_host; print(this_host())"


def test_processes_of_one_host_agree_on_its_name_and_containers_of_one_name_are_told_apart():
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}

    def host(*before: str) -> str:
        command = [*before, sys.executable, "-c", PRINT_HOST]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert ME.name == socket.gethostname()
    assert host() == ME.host == this_host()
    apart = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system makes no process namespace for a user")
    assert host(*apart).partition("#")[0] == ME.name
    assert host(*apart) != ME.host
