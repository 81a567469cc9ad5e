"""Who is collecting answers for an audit, and when somebody else may take over."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import os
import socket
from pathlib import Path

from registry.audits.plan import content_hash

STALE_AFTER_S = 120.0  # whoever was silent for longer is given up
BEAT_EVERY_S = 10.0


@functools.cache
def this_host() -> str:
    """The host's name, and what tells apart hosts of one name: containers cannot see each other's processes.

    Two containers may have the same host name; a process id of one says nothing about the other. So the boot and the
    process namespace are part of the name where the system has them.
    """
    name = socket.gethostname()
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{name}#{content_hash([boot, Path('/proc/self/ns/pid').stat().st_ino])[:8]}"
    except OSError:
        return name


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """A process: host, process id, and when it started (ids are used again, start times are not).

    Parameters
    ----------
    started : seconds from the start of the system to that of the process: setting the clock does not change them
    """

    host: str
    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> Owner:
        """A process of this host.

        Raises
        ------
        psutil.NoSuchProcess
            When there is none of this id.
        """
        import psutil

        while True:
            # Both times are by the clock, which may be set between two looks at it.
            booted = psutil.boot_time()
            started = psutil.Process(pid).create_time() - booted
            if psutil.boot_time() == booted:
                return cls(this_host(), pid, round(started, 2))

    @classmethod
    def this_process(cls) -> Owner:
        return _known(os.getpid())

    @property
    def id(self) -> str:
        """A short name for this process that no other has, on any host."""
        return content_hash([self.host, self.pid, self.started])

    @property
    def name(self) -> str:
        """The host as people know it."""
        return self.host.partition("#")[0]

    def alive_here(self) -> bool:
        """Whether this very process still runs on this host."""
        import psutil

        try:
            same = abs(Owner.of(self.pid).started - self.started) < 2  # no id comes again so soon
            return same and psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


@functools.cache
def _known(pid: int) -> Owner:
    """Remembered by the id of this process: a fork is another one."""
    return Owner.of(pid)


def why_gone(other: Owner, me: Owner, heartbeat_at: str, now: str) -> str:
    """Why ``me`` may take over from ``other``, in words; empty when it may not.

    A process of this host is seen to be gone at once; one elsewhere, or one that hangs, when it was silent for too long.

    >>> here, there = Owner("a", 1, 1.0), Owner("b", 1, 1.0)
    >>> why_gone(there, here, "2026-11-01T00:00:00.000Z", "2026-11-01T00:01:00.000Z")
    ''
    >>> why_gone(there, here, "2026-11-01T00:00:00.000Z", "2026-11-01T00:03:00.000Z")
    'no sign of life for 180 s'
    """
    if other.host == me.host and not other.alive_here():
        return f"its process {other.pid} is gone"
    silence = (dt.datetime.fromisoformat(now) - dt.datetime.fromisoformat(heartbeat_at)).total_seconds()
    return f"no sign of life for {silence:.0f} s" if silence > STALE_AFTER_S else ""
