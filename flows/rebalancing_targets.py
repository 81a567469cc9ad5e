"""Attributes as somebody writes them, and files of the shares that a rebalanced set is to have."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metrics.errors import BadInputError

if TYPE_CHECKING:
    from metrics.rebalancing import Margin

PARITY = "parity"
SUFFIX = "_category"


def column_of(name: str, known: Sequence[str], what: str) -> str:
    """The frame column of an attribute as somebody writes it, by its name or by its title in the tables."""
    from registry.audits.taxonomy import load_taxonomy

    titles = {attribute.title: attribute.name for attribute in load_taxonomy().attributes}
    plain = name.strip().casefold().replace("-", " ").replace("_", " ")
    found = titles.get(plain, plain.replace(" ", "_"))
    if found in known:
        return found + SUFFIX
    near = difflib.get_close_matches(found, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise BadInputError(f"there is no {what} {name!r}; {hint}known: {', '.join(known)}")


def targets_of(given: Sequence[str]) -> list[Path]:
    """The files among what was given as targets; none for parity.

    >>> targets_of(["parity"]), len(targets_of(["gender.csv"]))
    ([], 1)
    """
    files = [Path(one) for one in given if one != PARITY]
    if files and len(files) < len(given):
        raise BadInputError("--target is parity or files of wanted shares, not both")
    return files


def read_target(path: Path, known: Sequence[str]) -> Margin:
    """Wanted shares from a CSV file: a column ``share``, and a column for each attribute, such as ``gender`` or ``gender`` and
    ``occupation`` for their joint shares. ``known`` : the attributes of the personas.

    Raises
    ------
    BadInputError : it is no such table; the line is named
    """
    from metrics.rebalancing import Margin

    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInputError(
            f"the target {path} cannot be read: {getattr(error, 'strerror', None) or error}; name a CSV file, or parity"
        ) from error
    head = [name.strip() for name in rows[0]] if rows else []
    if "share" not in head or len(head) < 2:
        raise BadInputError(
            f"{path.name} needs a column share and one for each attribute, as 'gender,share'; it has {', '.join(head) or 'none'}"
        )
    place = head.index("share")
    columns = tuple(column_of(name, known, "attribute") for name in head if name != "share")
    shares: dict[tuple[str, ...], float] = {}
    for number, row in enumerate(rows[1:], start=2):
        category = tuple(cell.strip() for other, cell in enumerate(row) if other != place)
        if len(row) != len(head) or category in shares:
            raise BadInputError(
                f"line {number} of {path.name} should have {len(head)} cells and categories that no other line has"
            )
        shares[category] = _share(row[place], f"line {number} of {path.name}")
    return Margin(columns, shares)


def _share(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInputError(f"{place}: a share is a number such as 0.25, not {text[:40]!r}") from None
