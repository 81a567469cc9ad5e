"""Who is collecting answers for an audit, and when somebody else may take over."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import socket

STALE_AFTER_S = 120.0  # a silent owner on another host is given up after this long


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """A process: host, process id, and the time it started (ids are used again, start times are not)."""

    host: str
    pid: int
    started: float

    @classmethod
    def this_process(cls) -> Owner:
        import psutil

        return cls(socket.gethostname(), os.getpid(), round(psutil.Process().create_time(), 2))

    def alive_here(self) -> bool:
        """Whether this very process still runs on this host."""
        import psutil

        try:
            process = psutil.Process(self.pid)
            # The start time is derived from the clock at boot; a small correction of it must not look like death.
            return abs(process.create_time() - self.started) < 2 and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


def may_take_over(other: Owner, me: Owner, heartbeat_at: str | None, now: str) -> bool:
    """Whether ``me`` may continue what ``other`` held: at once when it is dead here, else after silence."""
    if other.host == me.host:
        return not other.alive_here()
    if heartbeat_at is None:
        return True
    silence = dt.datetime.fromisoformat(now) - dt.datetime.fromisoformat(heartbeat_at)
    return silence.total_seconds() > STALE_AFTER_S
