"""Ending in order: SIGTERM does what Ctrl-C does, and a command that asks a model says how to go on."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator

BY_CTRL_C, BY_SIGTERM = 128 + signal.SIGINT, 128 + signal.SIGTERM  # exit codes, as shells have them

_POOLS = "sqlalchemy.pool.impl."  # loggers of connection pools are named after their classes


def _is_no_ending(record: logging.LogRecord) -> bool:
    """Whether a record is about something else than the process being ended."""
    return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))


@contextlib.contextmanager
def ended_by_signal() -> Iterator[list[int]]:
    """Let SIGTERM end the block as Ctrl-C does: what is under way is put down, and locks are given back.

    A shell starts a script's background processes with SIGINT ignored; SIGTERM must end those too. Yields a list that
    holds SIGTERM once that came. A signal that finds a database connection being closed is raised again by the pool,
    which also logs it as an error, with a traceback; that one record is left out.
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
    pools = [
        logging.getLogger(_POOLS + name) for name in ("QueuePool", "NullPool", "SingletonThreadPool", "StaticPool")
    ]
    for logger in pools:
        logger.addFilter(_is_no_ending)
    try:
        yield came
    finally:
        for logger in pools:
            logger.removeFilter(_is_no_ending)
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, before)
