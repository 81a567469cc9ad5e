"""Folders to put things together in: beside their place or among the temporary ones, gone when the block or the process ends.

A process that is killed cannot tidy up, so each folder is held with a lock that dies with the process, and the next process
takes away every folder of the same kind that nobody holds.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from metrics.errors import BadInputError
from registry.audits.plan import content_hash

_SUFFIX = ".part"
_LONGEST = 80
_TRIES = 100


def file_name(text: str) -> str:
    """A name as part of a path: nothing in it leads anywhere, and different names stay different.

    >>> file_name("nova-chat"), file_name("../etc"), file_name("a b") != file_name("a+b")
    ('nova-chat', 'etc-7881f391', True)
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:_LONGEST]
    return plain if plain and plain == text else f"{plain}-{content_hash(text)[:8]}".lstrip("-")


def refuse_place(place: Path, kind: Literal["file", "folder"]) -> None:
    """Refuse, before long work, a place where no new file or folder can be put; an empty folder can be one.

    Raises
    ------
    BadInputError : a link is there, something else, or something in it; or it cannot be made
    """
    try:
        if kind == "file" and (place.is_symlink() or place.exists()):
            raise BadInputError(f"{place} is there already, and is never written over; name a new file")
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise BadInputError(f"{place} should be a new folder and is a file or a link; name another folder")
        if place.exists() and any(place.iterdir()):
            raise BadInputError(
                f"{place} is not empty, and what is written is never mixed with other files; name another folder"
            )
        parent = place.absolute().parent
        if not parent.is_dir():
            raise BadInputError(f"{place} cannot be made: there is no folder {parent}; make it, or name another {kind}")
        if not os.access(parent, os.W_OK):
            raise BadInputError(f"{place} cannot be made: {parent} is read-only; name another {kind}")
    except (OSError, ValueError) as error:
        if isinstance(error, BadInputError):
            raise
        raise BadInputError(f"{place} cannot be made: {error}") from error


@contextmanager
def stage_beside(place: Path) -> Iterator[Path]:
    """A folder beside a place to put things together in, which goes away when the block ends, with what is left in it.

    What a killed process left there is taken away by the next one.
    """
    target = place.absolute()
    try:
        stage, held = _made(target.parent, f".{file_name(target.name)}.")
    except OSError as error:
        raise BadInputError(f"{place} cannot be written: {error.strerror or error}") from error
    try:
        yield stage
    except OSError as error:
        if error.filename is None and error.strerror is None:
            raise
        raise BadInputError(f"{place} cannot be written: {error.strerror or error}; nothing is left of it") from error
    finally:
        _removed(stage, held)


@contextmanager
def temporary_folder(what: str) -> Iterator[Path]:
    """A folder among the temporary ones, which goes away when the block ends; the next of its kind sweeps up after the killed.

    Raises
    ------
    BadInputError : the machine has no place for it
    """
    try:
        folder, held = _made(Path(tempfile.gettempdir()), f"spiritlevel-{what}-")
    except OSError as error:
        raise BadInputError(
            f"no temporary folder can be made: {error.strerror or error}; make room, or name another place in TMPDIR"
        ) from error
    try:
        yield folder
    finally:
        _removed(folder, held)


def _made(parent: Path, begin: str) -> tuple[Path, int | None]:
    """A new folder that this process holds; without a lock where the file system knows none, and then nobody sweeps either."""
    _sweep(parent, begin)
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=begin, suffix=_SUFFIX, dir=parent))
        try:
            held = _held(folder)
        except (BlockingIOError, FileNotFoundError):
            continue  # between making and holding it, somebody who sweeps took it for a dead one's
        except OSError:
            return folder, None
        if folder.exists():
            return folder, held
        os.close(held)
    raise OSError(errno.EBUSY, "other processes keep taking the folder away")


def _removed(folder: Path, held: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if held is not None:
        os.close(held)


def _held(folder: Path) -> int:
    """Hold a folder for as long as this process lives, so that nobody takes it for a dead one's."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _sweep(parent: Path, begin: str) -> None:
    """Take away what killed processes of this user left."""
    with os.scandir(parent) as found:
        left = [Path(one.path) for one in found if one.name.startswith(begin) and one.name.endswith(_SUFFIX)]
    for one in left:
        with contextlib.suppress(OSError):
            if one.lstat().st_uid == os.getuid():
                _removed(one, _held(one))
