"""Leases: what only one process may do at a time, over all machines, and that a dead one must not hold for ever."""

from __future__ import annotations

import datetime as dt
import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from registry.ledger.connection import LedgerConnection, moment_text, patient
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner
from registry.ledger.service_tables import leases

LEASE_S = 120.0
_LOOK_EVERY_S = 0.5  # while another holds what is waited for

_here: set[tuple[str, str]] = set()  # held by threads of this process: a lease itself knows only processes
_given_back = threading.Condition()


def later(moment: str, seconds: float) -> str:
    """An ISO moment some seconds later, in the form in which the ledger keeps times.

    >>> later("2026-10-01T12:00:00.000Z", 90)
    '2026-10-01T12:01:30.000Z'
    """
    return moment_text(dt.datetime.fromisoformat(moment) + dt.timedelta(seconds=seconds))


class Leases(LedgerConnection):
    """Leases by name. A holder that died on this host loses its lease at once; one elsewhere when it ran out."""

    @patient
    def take_lease(self, name: str, owner: Owner, *, seconds: float = LEASE_S) -> bool:
        """Take or renew a lease; False while another live process holds it."""
        now = self.moment()
        values = {
            "holder": owner.id,
            "host": owner.host,
            "pid": owner.pid,
            "started": owner.started,
            "until": later(now, seconds),
        }
        held = self._all(sa.select(leases).where(leases.c.name == name))
        try:
            with self._writing() as connection:
                if not held:
                    connection.execute(leases.insert().values(name=name, **values))
                    return True
                row = held[0]
                other = Owner(row["host"], row["pid"], row["started"])
                dead = other.host == owner.host and not other.alive_here()
                if row["holder"] != owner.id and row["until"] > now and not dead:
                    return False
                same = (leases.c.name == name, leases.c.holder == row["holder"], leases.c.until == row["until"])
                return connection.execute(leases.update().where(*same).values(**values)).rowcount == 1
        except sa.exc.IntegrityError:  # another process was first
            return False

    @patient
    def give_lease_back(self, name: str, owner: Owner) -> None:
        """Give a lease back before it runs out; one that is not held any more is left alone."""
        with self._writing() as connection:
            connection.execute(leases.delete().where(leases.c.name == name, leases.c.holder == owner.id))

    @contextmanager
    def lease(self, name: str, owner: Owner, *, seconds: float = LEASE_S) -> Iterator[Callable[[], bool] | None]:
        """Hold a lease for a block that renews it itself.

        Gives a call that renews it (False: it was lost), or None when another process or thread holds it.
        """
        with self._of_one_thread(name, None) as free:
            if not free or not self.take_lease(name, owner, seconds=seconds):
                yield None
                return
            try:
                yield lambda: self.take_lease(name, owner, seconds=seconds)
            finally:
                self.give_lease_back(name, owner)

    @contextmanager
    def renewed(self, name: str, owner: Owner, *, seconds: float = LEASE_S) -> Iterator[bool]:
        """Hold a lease for a block and renew it beside the work; False when another process or thread holds it."""
        with self._of_one_thread(name, None) as free:
            if not free or not self.take_lease(name, owner, seconds=seconds):
                yield False
                return
            with self._renewing(name, owner, seconds):
                yield True

    @contextmanager
    def alone(
        self, name: str, owner: Owner, *, waiting: Callable[[], None] | None = None, seconds: float = LEASE_S
    ) -> Iterator[None]:
        """Be the only one over all processes and threads for a block, and wait for whoever is; as long as it takes.

        Parameters
        ----------
        waiting : called once when somebody else is at it
        """
        tell = functools.cache(waiting or (lambda: None))
        with self._of_one_thread(name, tell):
            while not self.take_lease(name, owner, seconds=seconds):
                tell()
                time.sleep(_LOOK_EVERY_S)
            with self._renewing(name, owner, seconds):
                yield

    @contextmanager
    def _of_one_thread(self, name: str, waiting: Callable[[], None] | None) -> Iterator[bool]:
        """Be the only thread of this process that holds a name; while another does, False, or wait when told to."""
        key = (self.engine.url.render_as_string(hide_password=False), name)
        with _given_back:
            if free := key not in _here:
                _here.add(key)
        if not free and waiting is not None:
            waiting()
            with _given_back:
                free = _given_back.wait_for(lambda: key not in _here)
                _here.add(key)
        try:
            yield free
        finally:
            if free:
                with _given_back:
                    _here.discard(key)
                    _given_back.notify_all()

    @contextmanager
    def _renewing(self, name: str, owner: Owner, seconds: float) -> Iterator[None]:
        """Renew a lease in the background for a block, and give it back."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(seconds / 3):
                with suppress(LedgerError):  # the next try may succeed, and the lease is not over yet
                    self.take_lease(name, owner, seconds=seconds)

        renewing = threading.Thread(target=renew, name=f"lease {name}", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            done.set()
            renewing.join()
            self.give_lease_back(name, owner)
