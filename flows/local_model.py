"""The embedded model: a small language model served by the product itself as one more OpenAI-compatible endpoint.

Inference runs in a child process (`flows.local_server`), so that a crash of native code is an error of one audit and
not the end of the program. The endpoint listens on loopback only, on a free port, with a random key; what it reports as
the served model is the build's name. The weights are in `flows.weights`.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import importlib.util
import json
import os
import queue
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from flows.weights import DemoExtraMissingError, Progress, weights_file
from metrics.errors import BadInputError

READY_TIMEOUT_S = 120.0
"""How long a child may take to load the weights; 1 to 2 seconds on an idle machine, far more on a crowded one."""

_STOP_TIMEOUT_S = 5.0
_LOG_LIMIT_BYTES = 512 * 1024
_TAIL_LINES = 6
_SERVER_FILE = Path(__file__).with_name("local_server.py")


class EmbeddedModelError(RuntimeError):
    """The child process did not come to serve; the message ends with what it printed last."""


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an embedded model answers while its context manager is open.

    Parameters
    ----------
    base_url : of the OpenAI-compatible API, with ``/v1``
    api_key : random, for this serving only; not shown in ``repr``
    model : id to request, and the id the endpoint reports as served
    """

    base_url: str
    api_key: str = dataclasses.field(repr=False)
    model: str


@contextlib.contextmanager
def embedded_endpoint(
    name: str,
    home: Path,
    *,
    slots: int = 8,
    context: int = 512,
    threads: int | None = None,
    progress: Progress | None = None,
    ready_timeout_s: float = READY_TIMEOUT_S,
) -> Iterator[Endpoint]:
    """Serve an embedded build until the block ends; several may be open side by side.

    Parameters
    ----------
    name : one of `flows.weights.EMBEDDED`
    home : folder of the product's own data (``home/models``, ``home/logs/embedded.log``)
    slots : requests answered at the same time; more wait their turn
    context : tokens of prompt and answer together, for each slot
    threads : of inference; None takes the processors this process may use, at most 4 (a model this small gains nothing
        from more)
    progress : told in one sentence before a step that takes seconds
    ready_timeout_s : how long loading may take

    Raises
    ------
    BadInputError : slots, context or threads below 1
    metrics.catalog.UnknownEntryError, WeightsNotFoundError, WeightsCorruptedError : from `flows.weights.weights_file`
    DemoExtraMissingError : ``xllamacpp`` is not installed
    EmbeddedModelError : the child ended or stayed silent while loading
    """
    threads = _usable_processors() if threads is None else threads
    for label, value in (("slots", slots), ("context", context), ("threads", threads)):
        if value < 1:
            raise BadInputError(f"{label} of an embedded model must be at least 1, not {value}")
    path = weights_file(name, home, progress=progress)
    if importlib.util.find_spec("xllamacpp") is None:
        raise DemoExtraMissingError("the embedded model needs the package xllamacpp: install the extra `demo`")
    order = {
        "path": str(path),
        "model": name,
        "api_key": secrets.token_urlsafe(32),
        "slots": slots,
        "context": context,
        "threads": threads,
    }
    child = _Child(name, Path(home) / "logs" / "embedded.log")
    try:
        address = child.address(order, ready_timeout_s)
        yield Endpoint(base_url=f"{address}/v1", api_key=str(order["api_key"]), model=name)
    finally:
        child.stop()


class _Child:
    """One child process with the threads that empty its output, so that it never blocks on a full pipe."""

    def __init__(self, name: str, log: Path) -> None:
        self.name = name
        self.log = log
        # PASSIVE: waiting threads sleep. By default they spin and, beside any other load, take the processor from
        # the thread they wait for: 12 against 29 tokens per second in one measurement.
        environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONUNBUFFERED": "1"}
        self._log = _bounded_log(log)
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter and a file of our own, no shell
            # -P: the folder of this file must not go on the child's import path.
            [sys.executable, "-P", str(_SERVER_FILE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self._tail: collections.deque[str] = collections.deque(maxlen=_TAIL_LINES)
        self._first_line: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._log_pump = threading.Thread(target=self._pump_log, daemon=True)
        self._log_pump.start()
        threading.Thread(target=self._pump_protocol, daemon=True).start()

    def address(self, order: dict[str, object], timeout_s: float) -> str:
        """Send the order and wait for the line that says where the server listens."""
        stdin = _pipe(self.process.stdin)
        try:
            stdin.write(json.dumps(order).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._failure("ended before it took its order") from None
        try:
            line = self._first_line.get(timeout=timeout_s)
        except queue.Empty:
            raise self._failure(f"was not ready after {timeout_s:g} s") from None
        if not line:
            raise self._failure(f"ended while loading ({_ending(self.process.wait())})")
        return str(json.loads(line)["address"])

    def stop(self) -> None:
        """End the child: by closing its input, then by terminating, then by killing it."""
        with contextlib.suppress(BrokenPipeError):  # It went first.
            _pipe(self.process.stdin).close()
        for insist in (self.process.terminate, self.process.kill):
            try:
                self.process.wait(_STOP_TIMEOUT_S)
                break
            except subprocess.TimeoutExpired:
                insist()
        self.process.wait()
        self._log_pump.join(_STOP_TIMEOUT_S)
        for pipe in (self.process.stdout, self.process.stderr):
            _pipe(pipe).close()

    def _failure(self, what: str) -> EmbeddedModelError:
        if self.process.poll() is not None:
            self._log_pump.join(_STOP_TIMEOUT_S)
        said = " | ".join(self._tail) or "nothing"
        return EmbeddedModelError(f"the server of {self.name} {what}; it printed last: {said} (more in {self.log})")

    def _pump_protocol(self) -> None:
        # An empty line is the end of the stream: the child closed it or ended.
        self._first_line.put(_pipe(self.process.stdout).readline())

    def _pump_log(self) -> None:
        """Copy what the child prints to the log, up to a limit per serving; keep the last lines for an error."""
        room = _LOG_LIMIT_BYTES
        with self._log as log:
            for line in _pipe(self.process.stderr):
                self._tail.append(line.decode(errors="replace").strip())
                if len(line) <= room:
                    room -= len(line)
                    log.write(f"{self.name}: ".encode() + line)
                    log.flush()


def _bounded_log(path: Path) -> IO[bytes]:
    """The log, open for appending; begun anew, with the old one beside it, when it is over its limit."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > _LOG_LIMIT_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise EmbeddedModelError("the child process has no pipe: it was started without one")
    return stream


def _ending(returncode: int) -> str:
    """A return code in words; an illegal instruction is named with its usual cause.

    >>> _ending(3)
    'return code 3'
    >>> _ending(-4)
    'signal 4: the processor lacks an instruction set (AVX2) that the runtime was compiled for'
    """
    if returncode == -4:
        return "signal 4: the processor lacks an instruction set (AVX2) that the runtime was compiled for"
    return f"signal {-returncode}" if returncode < 0 else f"return code {returncode}"


def _usable_processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(4, count))
