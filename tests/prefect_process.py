"""A real Prefect server as a process of its own, that can be stopped and started again on the same port and database."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

PREFECT = str(Path(sys.executable).with_name("prefect"))
STARTS_WITHIN_S = 180.0  # on a machine whose cores are all busy


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a process that is to know nothing of this test session's own Prefect."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "SPIRITLEVEL_"))}
    return kept | {
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "OMP_NUM_THREADS": "1",
        **more,
    }


class PrefectServer:
    """``prefect server start`` on a free port with a home of its own; use it as a context manager."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.port = folder, free_port()
        self.api = f"http://127.0.0.1:{self.port}/api"
        self.settings = {
            "PREFECT_API_SERVICES_SCHEDULER_LOOP_SECONDS": "3",
            "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
            **settings,
        }
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(self.port), "--no-ui"],
                env=environment(self.folder, **self.settings),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(self._answers, STARTS_WITHIN_S, lambda: f"Prefect server\n{self.log()[-3000:]}")

    def _answers(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError(f"the Prefect server ended: {self.log()[-3000:]}")
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.api}/health", timeout=2) as answer:
            return bool(answer.status == 200)
        return False

    def log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")

    def stop(self, how: int = signal.SIGTERM) -> None:
        """Stop it and everything that it started."""
        ended(self.process, how)
        self.process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextlib.contextmanager
def pointed_at(server: PrefectServer) -> Iterator[None]:
    """Let Prefect's client in this process talk to a server."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: server.api}):
        yield


def ended(process: subprocess.Popen[Any] | None, how: int = signal.SIGTERM, within_s: float = 40.0) -> None:
    """End a process that leads a session of its own, and what is left of that session."""
    if process is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, how)
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def wait_for(condition: Any, within_s: float, what: Any = "it") -> Any:
    """Wait until a condition gives something true, for a bounded time; returns that."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.25)
    raise TimeoutError(f"not within {within_s:.0f} s: {what() if callable(what) else what}")
