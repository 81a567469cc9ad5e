"""What MLflow takes, checked before it is asked: names, numbers, lengths, and how much goes into one request.

MLflow itself stores NaN, turns infinity into 1.797e308 and cuts long tags without a word; its server refuses names and
requests that its own client lets through. So everything is checked here, where the message can name the thing.
"""

from __future__ import annotations

import json
import math
import numbers
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from metrics.errors import BadInputError

T = TypeVar("T")

METRICS_PER_BATCH = 1000  # MLflow's server refuses more in one request
TEXTS_PER_BATCH = 100
BYTES_PER_BATCH = 500_000  # and a request of more than a million bytes
KEY_LENGTH = 250
PARAM_LENGTH = 500
FILE_NAME_BYTES = 200  # of one part of a path: file systems take 255

_KEY = re.compile(r"[/\w.\- :]*")
_FILE = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")


def checked_key(name: str) -> str:
    """The name of a metric, tag or param, when MLflow takes it.

    Raises
    ------
    BadInputError : it is empty, too long, has other characters than letters, digits and ``_-./ :``, or looks like a path
        that leads elsewhere
    """
    plain = bool(name) and _KEY.fullmatch(name) is not None
    if not plain or len(name) > KEY_LENGTH or posixpath.normpath(name) != name or name.startswith(("/", "..")):
        raise BadInputError(
            f"a name in MLflow has 1 to {KEY_LENGTH} letters, digits or _ - . / : and spaces, and is no path that leads "
            f"elsewhere; got {name[:80]!r} ({len(name)} characters)"
        )
    return name


def checked_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Metrics as plain finite floats, numpy's numbers included.

    >>> checked_numbers({"gender/score": 1})
    {'gender/score': 1.0}

    Raises
    ------
    BadInputError : a value that is no finite number, with the metric's name
    """
    found = {}
    for name, value in values.items():
        checked_key(name)
        # True would become 1.0: whoever sends it meant a tag.
        truth = isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")
        try:
            plain = float(value) if isinstance(value, numbers.Real) and not truth else None
        except OverflowError:
            plain = math.inf
        if plain is None or not math.isfinite(plain):
            raise BadInputError(f"{name} must be finite or missing to be published; got {str(value)[:40]}")
        found[name] = plain
    return found


def checked_file(name: str) -> str:
    """The relative name of a published file, such as ``tables/scores.json``.

    Raises
    ------
    BadInputError : a name that is not a plain relative path, or too long for a file system
    """
    if (
        not _FILE.fullmatch(name)
        or max(len(part.encode("utf-8", "replace")) for part in name.split("/")) > FILE_NAME_BYTES
    ):
        raise BadInputError(
            f"a published file has a plain relative name such as tables/scores.json, no part of it over "
            f"{FILE_NAME_BYTES} bytes; got {name[:80]!r}"
        )
    return name


def batched(items: Iterable[T], most: int, size: int = BYTES_PER_BATCH) -> Iterator[Sequence[T]]:
    """The items in requests of at most ``most`` items and ``size`` bytes, as JSON writes names and values."""
    batch: list[T] = []
    used = 0
    for item in items:
        weight = len(json.dumps([str(part) for part in vars(item).values()])) if hasattr(item, "__dict__") else 0
        if batch and (len(batch) >= most or used + weight > size):
            yield batch
            batch, used = [], 0
        batch.append(item)
        used += weight
    if batch:
        yield batch
