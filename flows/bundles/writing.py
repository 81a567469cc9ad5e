"""Writing a bundle: put together beside its place and moved there whole, as a folder or as one sealed ZIP file."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.bundles.manifest import FILES, MOST_TIMES, NAME, ROOMY
from flows.packs.writing import PackWriter
from flows.staging import refuse_place, stage_beside

SUFFIX = ".zip"
SEAL = b"spiritlevel bundle; SHA-256 of everything before this line: "
SEAL_BYTES = len(SEAL) + 64
_PIECE = 1 << 20
_WHEN = (1980, 1, 1, 0, 0, 0)  # the same bundle is the same file, whenever it is written


def refuse_taken(place: Path) -> None:
    """Refuse, before long work, a place where no bundle can be put; see `flows.staging.refuse_place`."""
    refuse_place(place, "file" if place.suffix.lower() == SUFFIX else "folder")


@contextmanager
def placed(place: Path) -> Iterator[PackWriter]:
    """A bundle to write, which is at its place when the block ends, or not at all; the block writes the manifest last."""
    refuse_taken(place)
    with stage_beside(place) as stage:
        made = stage / "bundle"
        made.mkdir()
        yield PackWriter(made)
        if place.suffix.lower() == SUFFIX:
            packed = stage / "bundle.zip"
            _zip(made, packed, zipfile.ZIP_DEFLATED)
            if sum((made / name).stat().st_size for name in FILES) > max(ROOMY, MOST_TIMES * packed.stat().st_size):
                packed.unlink()  # answers that are nearly all the same: a reader would take it for a bomb
                _zip(made, packed, zipfile.ZIP_STORED)
            packed.rename(place.absolute())
        else:
            made.rename(place.absolute())


def _zip(folder: Path, path: Path, how: int) -> None:
    with zipfile.ZipFile(path, "x", how) as archive:
        for name in (NAME, *FILES):
            entry = zipfile.ZipInfo(name, _WHEN)
            entry.compress_type, entry.create_system, entry.external_attr = how, 3, 0o100644 << 16
            large = (folder / name).stat().st_size >= 2**31
            with (folder / name).open("rb") as source, archive.open(entry, "w", force_zip64=large) as target:
                shutil.copyfileobj(source, target, _PIECE)
    seal(path)


def seal(path: Path) -> None:
    """Put the SHA-256 of a whole ZIP file into its comment, so that no byte of it can change unseen."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = SEAL + b"0" * 64
    with path.open("r+b") as file:
        file.seek(-64, os.SEEK_END)
        end = file.tell()
        digest = digest_of(path, end)
        file.write(digest.encode("ascii"))


def digest_of(path: Path, size: int) -> str:
    """SHA-256 of the first bytes of a file."""
    digest, left = hashlib.sha256(), size
    with path.open("rb") as file:
        while left and (piece := file.read(min(_PIECE, left))):
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()
