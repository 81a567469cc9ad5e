"""Ending in order: SIGTERM does what Ctrl-C does, and a command that asks a model says how to go on."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

BY_CTRL_C, BY_SIGTERM = 128 + signal.SIGINT, 128 + signal.SIGTERM  # exit codes, as shells have them


@contextlib.contextmanager
def ended_by_signal() -> Iterator[list[int]]:
    """Let SIGTERM end the block as Ctrl-C does: what is under way is put down, and locks are given back.

    A shell starts a script's background processes with SIGINT ignored; SIGTERM must end those too. Yields a list that
    holds SIGTERM once that came.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def interrupt(number: int, _: object) -> None:
        came.append(number)
        signal.raise_signal(signal.SIGINT)

    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield came
    finally:
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, before)
