"""Leases: what only one process may do at a time, over all machines, and that a dead one must not hold for ever."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from registry.ledger.connection import LedgerConnection, patient
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner
from registry.ledger.service_tables import leases

LEASE_S = 120.0
_LOOK_EVERY_S = 0.5  # while another holds what is waited for

_own: dict[tuple[str, str], threading.Lock] = {}  # a lease is its process's: between threads these stand in for it


def later(moment: str, seconds: float) -> str:
    """An ISO moment some seconds later, in the form in which the ledger keeps times.

    >>> later("2026-10-01T12:00:00.000Z", 90)
    '2026-10-01T12:01:30.000Z'
    """
    then = dt.datetime.fromisoformat(moment) + dt.timedelta(seconds=seconds)
    return then.isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
        """Hold a lease for a block: a call that renews it (False: it was lost), or None when another process holds it."""
        if not self.take_lease(name, owner, seconds=seconds):
            yield None
            return
        try:
            yield lambda: self.take_lease(name, owner, seconds=seconds)
        finally:
            self.give_lease_back(name, owner)

    @contextmanager
    def alone(
        self, name: str, owner: Owner, *, waiting: Callable[[], None] | None = None, seconds: float = LEASE_S
    ) -> Iterator[None]:
        """Be the only one over all processes and threads for a block, and wait for whoever is; as long as it takes.

        Parameters
        ----------
        waiting : called once when somebody else is at it
        """
        key = (self.engine.url.render_as_string(hide_password=False), name)
        lock = _own.setdefault(key, threading.Lock())
        told = waiting is None
        if not lock.acquire(blocking=False):
            if waiting is not None:
                waiting()
                told = True
            lock.acquire()
        try:
            while not self.take_lease(name, owner, seconds=seconds):
                if waiting is not None and not told:
                    waiting()
                    told = True
                time.sleep(_LOOK_EVERY_S)
            with self._renewed(name, owner, seconds):
                yield
        finally:
            lock.release()

    @contextmanager
    def _renewed(self, name: str, owner: Owner, seconds: float) -> Iterator[None]:
        """Renew a lease in the background for a block, and give it back."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(seconds / 3):
                with suppress(LedgerError):
                    self.take_lease(name, owner, seconds=seconds)

        renewing = threading.Thread(target=renew, name=f"lease {name}", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            done.set()
            renewing.join()
            self.give_lease_back(name, owner)
