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
    """A process: host, process id, and the time it started (ids are used again, start times are not)."""

    host: str
    pid: int
    started: float

    @classmethod
    def this_process(cls) -> Owner:
        import psutil

        return cls(this_host(), os.getpid(), round(psutil.Process().create_time(), 2))

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
            process = psutil.Process(self.pid)
            # The start time is derived from the clock at boot; a small correction of it must not look like death.
            return abs(process.create_time() - self.started) < 2 and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


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
