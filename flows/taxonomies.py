"""The mappings that the people of this home accepted: one file of versions, read when something is scored."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from metrics.errors import BadInputError
from registry.audits.accepted import LARGEST_FILE, Accepted, Decision, plain, read_accepted

if TYPE_CHECKING:
    from flows.settings import Home


_PATIENCE_S = 2


def file_of(home: Home) -> Path:
    """Where this home keeps what was accepted; the file can be handed to another team as it is."""
    return home.path / "taxonomy" / "accepted.toml"


def accepted_of(home: Home) -> Accepted:
    """What the people of this home decided about terms so far."""
    path = file_of(home)
    try:
        state = path.stat()
    except FileNotFoundError:
        return Accepted()
    return _read(path, state.st_mtime_ns, state.st_size)


@functools.lru_cache(maxsize=8)
def _read(path: Path, _changed: int, _size: int) -> Accepted:
    return read_accepted(text_of(path), path.name)


def text_of(path: Path) -> str:
    """A file's text, within bounds and in UTF-8."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadInputError(f"{path.name} has over {LARGEST_FILE:,} bytes; give a file of decisions about terms")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not in UTF-8"
        raise BadInputError(f"{path.name} cannot be read: {why}; give a file of decisions about terms") from error


def added(home: Home, decisions: Iterable[Decision], *, by: str) -> tuple[Accepted, Accepted]:
    """Add decisions as the next version, and return what was there before and what is there now.

    The file is replaced in one step; two that add at once are kept apart, for the later one would undo the other.
    """
    plain("who", by, "--by")
    if not by.strip():
        raise BadInputError("--by is empty; give the name of the person who takes these decisions in")
    from filelock import FileLock, Timeout

    path = file_of(home)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(f"{path}.lock", timeout=_PATIENCE_S):  # the system frees it when a process dies
            before = accepted_of(home)
            at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
            now = before.with_version(decisions, by=by.strip(), at=at)
            if now is not before:
                part = path.with_suffix(".part")
                part.write_text(now.text(), encoding="utf-8")  # over what a killed process left
                part.replace(path)
    except Timeout:
        raise BadInputError(
            f"somebody else has been adding decisions to {path.name} for {_PATIENCE_S} seconds; try again"
        ) from None
    return before, now
