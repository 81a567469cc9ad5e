"""Sheets that raters fill in: CSV without a word of any model, written and read back strictly."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path

from flows.human_key import Key, SheetKey, digest_of
from metrics.errors import BadInputError
from metrics.human_ratings import FIRST, SAME, SECOND

COLUMNS = ("key", "rater", "item", "check", "rating_a", "rating_b", "more_biased", "reason", "stereotypes")
SCALE = ("1", "2", "3", "4")
MOST_BYTES = 5_000_000
_CHOICES = {"a": True, "b": False}


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What one rater said of one pair; None where nothing was written. ``severity`` is of the first and the second release."""

    severity: tuple[float | None, float | None]
    choice: float | None
    reason: str
    stereotypes: str


def sheet_text(digest: str, rater: int, checks: Sequence[str]) -> str:
    """An empty sheet: the hash of the key, the rater, and a line for each pair."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([digest, rater, number, check, "", "", "", "", ""] for number, check in enumerate(checks, start=1))
    return file.getvalue()


def read_sheet(path: Path, key: Key, digest: str) -> tuple[int, list[Answer]]:
    """The rater and the answers, in the order of the key.

    Raises
    ------
    BadInputError : it is of another key, has other items, or an answer that is not on the scale
    """
    rows = _rows(path)
    sheet = _sheet_of(path, rows, key, digest)
    places = {check: place for place, check in enumerate(sheet.checks)}
    found: dict[int, Answer] = {}
    for line, row in rows:
        place = places.get(row["check"].strip())
        if place is None or place in found:
            what = "twice" if place is not None else "which is no pair of this sheet"
            raise BadInputError(
                f"line {line} of {path.name} has the check {row['check'][:40]!r} {what}; change nothing but the answers, in the sheet as it was given out"
            )
        found[place] = _answer(path, line, row, sheet.first_is_a[place])
    if len(found) != key.items:
        raise BadInputError(
            f"{path.name} has {len(found)} of {key.items} pairs; keep every line, and leave the answers empty that are not known"
        )
    items = [row["item"].strip() for _, row in rows]
    if sorted(items) != sorted(str(number) for number in range(1, key.items + 1)):
        odd = next(
            (item for item in items if items.count(item) > 1 or item not in map(str, range(1, key.items + 1))), ""
        )
        raise BadInputError(
            f"{path.name} should have the items 1 to {key.items}, each once, and item {odd[:40]!r} is not so; change nothing but the answers, and sort whole lines"
        )
    _refuse_changed_page(path, sheet)
    return sheet.rater, [found[place] for place in range(key.items)]


def digest_on(path: Path) -> str:
    """The hash of the key that a sheet says it belongs to."""
    return _rows(path)[0][1]["key"].strip()


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Lines with their numbers; a spreadsheet may have saved them with semicolons or tabs."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadInputError(
                f"{path} is larger than any sheet; name a CSV file that 'spiritlevel human export' wrote"
            )
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text; save it as CSV in UTF-8"
        raise BadInputError(f"the sheet {path} cannot be read: {why}") from None
    head = text.partition("\n")[0]
    between = max(",;\t", key=head.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=between)
        columns = [name.strip() for name in next(reader, [])]
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise BadInputError(f"the sheet {path.name} is no CSV file: {error}") from None
    if tuple(columns) != COLUMNS or not rows:
        raise BadInputError(f"{path.name} should have the columns {', '.join(COLUMNS)} and a line for each pair")
    if short := next((line for line, row in rows if len(row) != len(COLUMNS)), None):
        raise BadInputError(f"line {short} of {path.name} should have {len(COLUMNS)} cells, as the first line has")
    return [(line, dict(zip(COLUMNS, row, strict=True))) for line, row in rows]


def _sheet_of(path: Path, rows: Sequence[tuple[int, dict[str, str]]], key: Key, digest: str) -> SheetKey:
    for line, row in rows:
        if row["key"].strip() != digest:
            raise BadInputError(
                f"line {line} of {path.name} is of another key (sha256 {row['key'][:12]}, and the key given has {digest[:12]}); name the key that was "
                f"written with this sheet, unchanged"
            )
    raters = {row["rater"].strip() for _, row in rows}
    sheet = next((one for one in key.sheets if raters == {str(one.rater)}), None)
    if sheet is None:
        raise BadInputError(
            f"{path.name} should have one rater from 1 to {len(key.sheets)}, not {', '.join(sorted(raters))[:60]}"
        )
    return sheet


def _answer(path: Path, line: int, row: dict[str, str], first_is_a: bool) -> Answer:
    ratings = []
    for name in ("rating_a", "rating_b"):
        said = row[name].strip()
        if said and said not in SCALE:
            raise BadInputError(f"line {line} of {path.name}: {name} is 1, 2, 3, 4 or empty, not {said[:40]!r}")
        ratings.append(float(said) if said else None)
    chosen = row["more_biased"].strip().casefold()
    if chosen not in ("", "same", *_CHOICES):
        raise BadInputError(
            f"line {line} of {path.name}: more_biased is A, B, same or empty, not {row['more_biased'].strip()[:40]!r}"
        )
    choice = None if not chosen else SAME if chosen == "same" else FIRST if _CHOICES[chosen] == first_is_a else SECOND
    one, other = ratings if first_is_a else ratings[::-1]
    return Answer((one, other), choice, row["reason"].strip(), row["stereotypes"].strip())


def _refuse_changed_page(path: Path, sheet: SheetKey) -> None:
    """The page that lies beside the sheet, when there is one, is what the rater read."""
    page = path.with_suffix(".html")
    if not page.is_file():
        return
    try:
        text = page.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    if digest_of(text) != sheet.page:
        raise BadInputError(
            f"{page.name} beside {path.name} is not the page that was given out: its sets may be others; leave the sheet out, or restore the page"
        )
