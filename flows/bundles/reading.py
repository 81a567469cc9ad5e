"""Opening a bundle that somebody sent: every byte is checked before anything is read, and nothing is trusted before that."""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from flows.bundles.manifest import (
    FILES,
    FOLDER,
    LARGEST,
    LARGEST_MANIFEST,
    MOST_TIMES,
    NAME,
    ROOMY,
    Manifest,
    Member,
    manifest_of,
)
from flows.bundles.writing import SEAL, SEAL_BYTES, digest_of
from flows.packs.checking import walked
from flows.staging import temporary_folder
from metrics.errors import BadInputError

LONGEST_LINE = 64_000_000
_PIECE = 1 << 20
_ENCRYPTED = 0x1
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    LookupError,
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A checked bundle: its manifest, and the folder that its requests, messages and answers lie in."""

    manifest: Manifest
    folder: Path


@contextmanager
def opened_bundle(path: Path) -> Iterator[Bundle]:
    """A bundle whose every byte is as it was made; a ZIP file is unpacked into a folder that goes away again.

    Raises
    ------
    BadInputError : it is no bundle, was changed, or could harm who unpacks it; in one sentence
    """
    try:
        there, folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:
        raise BadInputError(f"the bundle cannot be opened: {error}") from error
    if not there:
        raise BadInputError(f"there is no bundle {path}; give the path of a .zip file or of a folder")
    if folder:
        yield Bundle(_checked_folder(path), path / FOLDER)
        return
    with temporary_folder("bundle") as place:
        manifest = _unpacked(path, place)
        yield Bundle(manifest, place / FOLDER)


# ---------------------------------------------------------------- folders


def _checked_folder(path: Path) -> Manifest:
    wanted = {NAME, *FILES}
    try:
        found = {name: (place, mode) for name, place, mode in walked(path)}
        if NAME not in found:
            raise BadInputError(f"{path} is no bundle: it has no file {NAME}; name the folder that holds one")
        for name, (_, mode) in found.items():
            if not stat.S_ISREG(mode):
                raise BadInputError(f"{path}: {name[:200]} is a link or a device, and a bundle holds files only")
            if name not in wanted:
                raise BadInputError(f"{path}: {name[:200]} is no file of a bundle; it was added")
        _refuse_missing(path, found.keys() & wanted)
        with found[NAME][0].open("rb") as file:
            manifest = manifest_of(_short(file, path))
        _refuse_large(path, manifest)
        for member in manifest.files:
            with found[member.path][0].open("rb") as file:
                _checked(path, file, member, None)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror or error}") from error
    return manifest


def _refuse_missing(path: Path, found: set[str]) -> None:
    if missing := sorted({NAME, *FILES} - found):
        raise BadInputError(
            f"{path} is no whole bundle: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        )


# ---------------------------------------------------------------- ZIP files


def _unpacked(path: Path, place: Path) -> Manifest:
    _refuse_unsealed(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _entries(path, archive)
            with archive.open(entries[NAME]) as file:
                manifest = manifest_of(_short(file, path))
            _refuse_large(path, manifest)
            (place / FOLDER).mkdir()
            for member in manifest.files:
                if entries[member.path].file_size != member.bytes:
                    raise BadInputError(
                        f"{path}: {member.path} has another size than the manifest says: it was changed"
                    )
                with archive.open(entries[member.path]) as file, (place / member.path).open("xb") as target:
                    _checked(path, file, member, target)
    except BadInputError:
        raise
    except _UNREADABLE as error:
        raise BadInputError(
            f"{path} cannot be unpacked ({type(error).__name__}: {error}); get the bundle again"
        ) from error
    return manifest


def _refuse_unsealed(path: Path) -> None:
    """Every byte of the file is under the hash at its end, those that a reader of ZIP files skips as well."""
    try:
        if not path.is_file():
            raise BadInputError(f"{path} should be a .zip file or a folder, and is a device or a pipe")
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - SEAL_BYTES))
            end = file.read(SEAL_BYTES)
        if len(end) < SEAL_BYTES or not end.startswith(SEAL):
            raise BadInputError(
                f"{path} is no bundle, or its end was changed; one that was packed again by another program is to be unpacked "
                f"and given as a folder"
            )
        if digest_of(path, size - 64) != end[-64:].decode("ascii", "replace"):
            raise BadInputError(f"{path} was changed since it was made: its SHA-256 is another; get the bundle again")
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror or error}") from error


def _entries(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """What a ZIP file lists, refused as a whole when one entry is not what a bundle has."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        if why := _why_refused(entry, found):
            raise BadInputError(f"{path}: {entry.filename[:200]!r} {why}; nothing was unpacked")
        found[entry.filename] = entry
    _refuse_missing(path, set(found))
    size = path.stat().st_size
    if sum(entry.compress_size for entry in found.values()) > size:
        raise BadInputError(
            f"{path} lists the same bytes more than once, as archives do that are made to harm; nothing was unpacked"
        )
    larger = sum(entry.file_size for entry in found.values())
    if larger > LARGEST or (larger > ROOMY and larger > MOST_TIMES * size):
        raise BadInputError(
            f"{path} would unpack {larger:,} bytes from {size:,}, and at most {LARGEST:,} and {MOST_TIMES} times are taken; nothing "
            f"was unpacked"
        )
    return found


def _why_refused(entry: zipfile.ZipInfo, found: dict[str, zipfile.ZipInfo]) -> str:
    """Why an entry is not taken, in words; empty when it is."""
    name, mode = entry.orig_filename, entry.external_attr >> 16
    if name in found or entry.filename in found:
        return "is there twice"
    if name.startswith(("/", "\\")) or ":" in name or ".." in name.replace("\\", "/").split("/"):
        return "is a path that leads out of the bundle"
    if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
        return "is a link, a folder or a device, and a bundle holds files only"
    if name not in {NAME, *FILES}:
        return "is no file of a bundle"
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed in another way than bundles are"
    if entry.file_size > (LARGEST_MANIFEST if name == NAME else LARGEST):
        return f"is too large ({entry.file_size:,} bytes)"
    return ""


# ---------------------------------------------------------------- both


def _short(file: IO[bytes], path: Path) -> bytes:
    content = file.read(LARGEST_MANIFEST + 1)
    if len(content) > LARGEST_MANIFEST:
        raise BadInputError(f"{path}: {NAME} is larger than a manifest can be ({LARGEST_MANIFEST:,} bytes)")
    return content


def _refuse_large(path: Path, manifest: Manifest) -> None:
    total = sum(member.bytes for member in manifest.files)
    if total > LARGEST:
        raise BadInputError(f"{path} holds {total:,} bytes, and at most {LARGEST:,} are taken")


def _checked(path: Path, file: IO[bytes], member: Member, target: IO[bytes] | None) -> None:
    """Read a file to its end, never further than it may be long, and copy it where it is wanted."""
    digest, size, line = hashlib.sha256(), 0, 0
    while piece := file.read(min(_PIECE, member.bytes - size + 1)):
        size += len(piece)
        if size > member.bytes:
            break
        digest.update(piece)
        for place, part in enumerate(piece.split(b"\n")):
            line = len(part) + (0 if place else line)
            if line > LONGEST_LINE:
                raise BadInputError(f"{path}: {member.path} has a line of more than {LONGEST_LINE:,} bytes")
        if target is not None:
            target.write(piece)
    if size != member.bytes:
        raise BadInputError(
            f"{path}: {member.path} has not the {member.bytes:,} bytes that the manifest says: it was changed"
        )
    if digest.hexdigest() != member.sha256:
        raise BadInputError(f"{path}: {member.path} was changed: its SHA-256 is not the one in the manifest")


def closest(path: Path) -> list[Path]:
    """The bundles at a path: itself, or those in a folder of bundles, in the order of their names."""
    with suppress(OSError):
        if path.is_dir() and not (path / NAME).exists():
            inside = sorted(os.scandir(path), key=lambda one: one.name)
            return [
                Path(one.path)
                for one in inside
                if (one.is_dir() and Path(one.path, NAME).is_file())
                or (one.is_file() and one.name.lower().endswith(".zip"))
            ]
    return [path]
