"""Parts of the tests of faults: the command line as a process of its own, that can be killed, and a stub that counts."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import PostgresServer

ROOT = Path(__file__).parents[2]


class Spawn:
    """Starts ``spiritlevel`` as a process; what still runs at the end of the test is killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []

    def __call__(self, *arguments: object, home: Path, **environment: str) -> subprocess.Popen[str]:
        number = len(self.started)
        with (self.folder / f"{number}.out").open("w") as out, (self.folder / f"{number}.err").open("w") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "flows.cli", *map(str, arguments), "--home", str(home)],
                cwd=ROOT, env=os.environ | environment, stdout=out, stderr=err, text=True,
            )  # fmt: skip
        self.started.append(process)
        return process

    def said(self, process: subprocess.Popen[str]) -> tuple[str, str]:
        """What a process wrote to its standard output and error."""
        number = self.started.index(process)
        return (self.folder / f"{number}.out").read_text(), (self.folder / f"{number}.err").read_text()

    def ended(self, process: subprocess.Popen[str], *codes: int, within_s: float = 150) -> str:
        """Wait for a process, check its exit code, and give what it printed."""
        process.wait(timeout=within_s)
        out, err = self.said(process)
        assert process.returncode in codes, f"exit code {process.returncode}\n{out}\n{err}"
        assert "Traceback" not in err, err
        return out

    def kill_all(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    """Starts ``spiritlevel`` as processes."""
    folder = tmp_path / "said"
    folder.mkdir()
    spawned = Spawn(folder)
    yield spawned
    spawned.kill_all()


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL that the tests of a module may stop and start."""
    with PostgresServer() as server:
        yield server


def counts(base_url: str) -> dict[str, Any]:
    """What a stub in a process of its own was asked so far."""
    with contextlib.closing(urllib.request.urlopen(base_url.removesuffix("/v1") + "/calls", timeout=30)) as answer:
        return dict(json.load(answer))


def until(true: Callable[[], bool], *, within_s: float = 90, every_s: float = 0.05) -> None:
    """Wait for something to become true, not longer than is said."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(every_s)
