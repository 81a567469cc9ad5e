"""Writing an evidence pack: into a folder beside its place, moved there when all of it is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from flows.packs.manifest import NAME, Manifest, PackFile
from flows.staging import file_name, refuse_place, stage_beside


class PackWriter:
    """Writes files below a folder and keeps the size and the SHA-256 of each."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[str, PackFile] = {}

    @contextmanager
    def lines(self, path: str) -> Iterator[_Hashed]:
        """A file to write line by line; it is one of the pack when it is closed."""
        parts = path.split("/")
        if path in self._files or any(part in {"", ".", ".."} or part != file_name(part) for part in parts):
            raise ValueError(f"{path!r} is no new path of a pack")
        place = self._root.joinpath(*parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as file:
            hashed = _Hashed(file)
            yield hashed
        self._files[path] = PackFile(path=path, bytes=hashed.size, sha256=hashed.digest.hexdigest())

    def text(self, path: str, text: str) -> None:
        """Write a text as UTF-8; what UTF-8 cannot hold is escaped."""
        self.content(path, text.encode("utf-8", "backslashreplace"))

    def content(self, path: str, content: bytes) -> None:
        """Write bytes."""
        with self.lines(path) as file:
            file.write(content)

    def json(self, path: str, value: Any) -> None:
        """Write a value as JSON, in ASCII."""
        self.text(path, json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False) + "\n")

    def files(self) -> tuple[PackFile, ...]:
        """What was written, in the order of paths."""
        return tuple(sorted(self._files.values()))


class _Hashed:
    """A file that knows the hash of what was written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, content: bytes) -> None:
        self._file.write(content)
        self.digest.update(content)
        self.size += len(content)


@contextmanager
def staged(folder: Path) -> Iterator[PackWriter]:
    """A pack to write, which is at its place when the block ends, with its manifest, or not at all.

    The block calls `finish` last.
    """
    refuse_place(folder, "folder")
    with stage_beside(folder) as stage:
        yield PackWriter(stage)
        if not (stage / NAME).is_file():
            raise ValueError("a pack without a manifest was to be moved to its place")
        stage.rename(folder.absolute())


def finish(writer: PackWriter, *, release: str, made_at: str, product: str, raw: bool) -> Manifest:
    """Write the manifest of everything that was written."""
    manifest = Manifest(release=release, made_at=made_at, product=product, raw=raw, files=writer.files())
    writer.text(NAME, manifest.text())
    return manifest
