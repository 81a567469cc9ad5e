"""Progress on standard error: count, rate and time left, and of a collection its cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flows.commands.shared import notes, say

if TYPE_CHECKING:
    from flows.collection import Progress

_LINE_EVERY_S = 10.0  # between lines when standard error is not a terminal
_SILENT_S = 2.0  # what takes less needs no line there


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> duration(42), duration(754), duration(7300)
    ('42 s', '12 min 34 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def told(label: str, before: int, progress: Progress) -> str:
    """One line on how far a collection is; ``before`` requests were answered by an earlier run.

    Calls, rate and time left are those of all workers, everything else is this process's; it says so when there are others.
    """
    total = f" of {before + progress.total}" if progress.total is not None else ""
    others = f" ({progress.of_others} by other workers)" if progress.of_others else ""
    parts = [f"{label}: {before + progress.done}{total} calls{others}", f"{progress.rate_per_s:.1f} a second"]
    if progress.eta_s is not None:
        parts.append(f"{duration(progress.eta_s)} left")
    own = []
    if progress.limit is not None and progress.mean_in_flight is not None:
        own.append(f"{progress.mean_in_flight:.1f} of {progress.limit} under way")
    if progress.waits_for:
        own.append(progress.waits_for)
    if progress.failed:
        own.append(f"{progress.failed} failed")
    own.append(f"{progress.tokens:,} tokens")
    own.append("cost unknown" if progress.cost_usd is None else f"${progress.cost_usd:.4f}")
    return ", ".join(parts) + ("; this process: " if others else ", ") + ", ".join(own)


@contextmanager
def shown(label: str, before: int = 0) -> Iterator[Callable[[Progress], None]]:
    """A callback that shows progress: one live line at a terminal, else a line every ten seconds."""
    console = notes()
    if console.is_terminal:
        with console.status(f"{label}: starting") as status:
            yield lambda progress: status.update(told(label, before, progress))
        return
    last = time.monotonic()

    def line(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_EVERY_S or progress.done == progress.total:
            last = time.monotonic()
            say(told(label, before, progress))

    yield line


def counted_line(label: str, what: str, done: int, total: int, seconds: float) -> str:
    """One line on how far something is that is counted.

    >>> counted_line("models:/nova/1", "messages measured", 512, 2500, 6.4)
    'models:/nova/1: 512 of 2,500 messages measured, 80.0 a second, 25 s left'
    """
    line = f"{label}: {done:,} of {total:,} {what}"
    if not done or seconds <= 0:
        return line
    left = f", {duration((total - done) * seconds / done)} left" if done < total else f" in {duration(seconds)}"
    return f"{line}, {done / seconds:.1f} a second{left}"


@contextmanager
def counted(label: str, what: str) -> Iterator[Callable[[int, int], None]]:
    """A callback for what is done and what there is in all, 0 first: one live line at a terminal until all is done.

    Elsewhere a line every ten seconds, and none of what takes less than two.
    """
    console = notes()
    status = console.status(label) if console.is_terminal else None
    began = said = time.monotonic()

    def took_note(done: int, total: int) -> None:
        nonlocal began, said
        now = time.monotonic()
        if not done:
            began = now
            said = now - _LINE_EVERY_S
        line = counted_line(label, what, done, total, now - began)
        if status is not None:
            status.update(line)
            status.start()
            if done >= total:
                status.stop()
        elif done and now - began >= _SILENT_S and (now - said >= _LINE_EVERY_S or done >= total):
            said = now
            say(line)

    try:
        yield took_note
    finally:
        if status is not None:
            status.stop()
