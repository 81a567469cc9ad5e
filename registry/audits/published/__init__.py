"""Loaders of published question sets, which a user gets from their authors and names by a path. None of them comes along.

Each checks what it is given (columns, counts, repetitions), says what is missing, and counts what it leaves out by reason.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from metrics.errors import BadInputError
from registry.audits.question import LONGEST_TEXT, Question

REPEATED, TOO_LONG, EMPTY = "the text of another one", f"longer than {LONGEST_TEXT:,} characters", "no text"

_LARGEST_FIELD = 10_000_000  # characters of a field of a CSV file


def table(path: Path, columns: Sequence[str], what: str) -> list[Mapping[str, str]]:
    """The rows of a CSV file that has these columns.

    Raises
    ------
    BadInputError : when it cannot be read, a column is missing, or it has no rows
    """
    usual = csv.field_size_limit(_LARGEST_FIELD)  # of the whole process, so it is put back
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows: list[Mapping[str, str]] = [
                {name: value or "" for name, value in row.items() if isinstance(name, str)} for row in reader
            ]
            found = list(reader.fieldnames or [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInputError(f"{what}: {path} cannot be read as a CSV file: {error}") from error
    finally:
        csv.field_size_limit(usual)
    missing = [name for name in columns if name not in found]
    if missing:
        raise BadInputError(
            f"{what}: {path.name} has no column {', '.join(map(repr, missing))}; it has {', '.join(found[:12]) or 'none'}. "
            f"Give the published file, with {', '.join(columns)}"
        )
    if not rows:
        raise BadInputError(f"{what}: {path.name} has the columns and no row")
    return rows


def inside(path: Path, names: Sequence[str], what: str) -> Path:
    """The first of these files that a folder has; a path that is a file is itself."""
    if path.is_file():
        return path
    for name in names:
        if (path / name).is_file():
            return path / name
    raise BadInputError(
        f"{what}: the folder {path} has none of {', '.join(names)}; name the file itself, or the folder that holds it"
    )


def asked(candidates: Iterable[Question], left_out: Counter[str], what: str) -> tuple[Question, ...]:
    """The questions that can be asked: with a text, not too long, each text once. What is not is counted in ``left_out``.

    Raises
    ------
    BadInputError : when an id is there twice, or nothing is left
    """
    kept: dict[str, Question] = {}
    ids: set[str] = set()
    for question in candidates:
        key = " ".join(question.text.casefold().split())
        if question.id in ids:
            raise BadInputError(f"{what}: the id {question.id!r} is there twice; give the file as it was published")
        ids.add(question.id)
        if not key or len(question.text) > LONGEST_TEXT:
            left_out[TOO_LONG if key else EMPTY] += 1
        elif key in kept:
            left_out[REPEATED] += 1
        else:
            kept[key] = question
    if not kept:
        reasons = ", ".join(f"{reason}: {n}" for reason, n in left_out.items()) or "it is empty"
        raise BadInputError(f"{what}: no question is left of the file ({reasons})")
    return tuple(kept.values())
