"""Leases: one holder at a time over processes, machines and threads, and none for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner
from registry.ledger.store import Ledger

ME = Owner.this_process()
FAR, FARTHER = Owner("elsewhere#1", 1, 1.0), Owner("beyond#2", 1, 1.0)


def test_a_lease_is_refused_while_another_holds_it_and_free_when_it_is_given_back(ledger):
    assert ledger.take_lease("publish", FAR)
    assert ledger.take_lease("publish", FAR), "renewed"
    assert not ledger.take_lease("publish", ME)
    ledger.give_lease_back("publish", ME)
    assert not ledger.take_lease("publish", ME), "only its holder gives it back"
    ledger.give_lease_back("publish", FAR)
    with ledger.lease("publish", ME) as renew:
        assert renew is not None
        assert renew()
        with ledger.lease("publish", FAR) as other:
            assert other is None
    assert ledger.take_lease("publish", FAR)


def test_a_lease_of_a_dead_process_is_free_at_once_and_one_elsewhere_when_it_ran_out(ledger):
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    assert ledger.take_lease("a", Owner.of(child.pid))
    assert not ledger.take_lease("a", ME)
    child.communicate()
    assert ledger.take_lease("a", ME)
    assert ledger.take_lease("b", FAR, seconds=-1)
    assert ledger.take_lease("b", ME)


def test_whoever_must_be_alone_waits_for_other_threads_and_processes(ledger_url):
    ledger = Ledger(ledger_url)
    inside, most, waited = [], [], []

    def work(owner):
        with ledger.alone("conclude/1", owner, waiting=lambda: waited.append(owner), seconds=30):
            inside.append(owner)
            most.append(len(inside))
            time.sleep(0.05)
            inside.remove(owner)

    threads = [threading.Thread(target=work, args=(owner,)) for owner in (ME, ME, FAR, FARTHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]
    assert 0 < len(waited) <= 3
    assert ledger.take_lease("conclude/1", Owner("anybody#3", 1, 1.0)), "it was given back"
    ledger.close()


def test_of_the_threads_of_a_process_one_holds_a_lease(ledger_url):
    ledger, found = Ledger(ledger_url), []

    def look():
        with ledger.renewed("run 1", ME) as mine, ledger.lease("run 1", ME) as renew:
            found.append((mine, renew))

    def seen_by_another_thread():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return found.pop()

    with ledger.renewed("run 1", ME) as mine:
        assert mine
        assert seen_by_another_thread() == (False, None)
    with ledger.lease("run 1", ME) as renew:
        assert renew is not None
        assert seen_by_another_thread() == (False, None)
    assert seen_by_another_thread() == (True, None), "it holds it already"
    assert ledger.take_lease("run 1", FAR), "it was given back"
    ledger.close()


class Stumbling(Ledger):
    """A ledger whose second write of a lease fails for good."""

    taken = 0

    def take_lease(self, name, owner, **more):
        self.taken += 1
        if self.taken == 2:
            raise LedgerError("the database is full")
        return super().take_lease(name, owner, **more)


def test_a_lease_is_renewed_for_as_long_as_the_work_takes_also_after_a_renewal_that_failed(ledger_url):
    ledger, other = Stumbling(ledger_url), Ledger(ledger_url)
    with ledger.renewed("conclude/1", FAR, seconds=0.6) as mine:
        assert mine
        time.sleep(1.6)
        assert ledger.taken > 4
        assert not other.take_lease("conclude/1", ME)
    assert other.take_lease("conclude/1", ME)
    for each in (ledger, other):
        each.close()
