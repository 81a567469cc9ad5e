"""The file in which a person decides about terms: one row a term, with what is proposed and why, as CSV."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from metrics.errors import BadInputError
from registry.audits.accepted import Decision, checked, plain, refuse_unknown

COLUMNS = (
    "attribute", "term", "as_answered", "count", "releases", "place", "proposed", "rule", "score", "model_proposed", "model", "decision",
    "who", "why",
)  # fmt: skip
_NEEDED = ("attribute", "term", "proposed", "decision", "who", "why")
MOST_ROWS = 100_000
HOW = "accept, accept model, change to CATEGORY, or reject; empty leaves the term in the queue"
REJECTED = "rejected"
_CHANGE = re.compile(r"change\s+to\s+(.+)", re.IGNORECASE | re.DOTALL)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclasses.dataclass(frozen=True, slots=True)
class QueueRow:
    """A term that waits for a person: where it was seen, how often, and what is proposed."""

    attribute: str
    term: str
    as_answered: str
    count: int
    releases: tuple[str, ...]
    place: str
    proposed: str | None
    rule: str
    score: float | None
    model_proposed: str | None = None
    model_reason: str = ""
    model: str = ""


def review_csv(rows: Iterable[QueueRow]) -> str:
    """The file to fill in. No field begins as a formula of a spreadsheet does."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        score = "" if row.score is None else f"{row.score:.2f}"
        values = (row.attribute, row.term, row.as_answered, str(row.count), " ".join(row.releases), row.place)
        proposed = (row.proposed or "", row.rule, score, row.model_proposed or "", row.model)
        writer.writerow([_field(value) for value in (*values, *proposed, "", "", "")])
    return out.getvalue()


def _field(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _unguarded(text: str) -> str:
    return text[1:] if text[:1] == "'" and text[1:].startswith(_FORMULA) else text


def read_decisions(text: str, place: str, categories: Mapping[str, Sequence[str]]) -> list[Decision]:
    """The decisions of a filled-in file; rows without one are left out.

    Parameters
    ----------
    categories : of each attribute, that a term can be put into

    Raises
    ------
    BadInputError : one sentence with the line: no such file, a decision or category that there is not, a term with two
        different decisions, nobody's name, or text that no person types
    """
    found: dict[tuple[str, str], tuple[Decision, int]] = {}
    for line, row in _rows(text, place):
        where = f"{place}, line {line}"
        decision = _decided(row, where, categories)
        if decision is None:
            continue
        before = found.setdefault(decision.key, (decision, line))
        if before[0].category != decision.category:
            raise BadInputError(
                f"{where}: {decision.attribute} term {decision.term!r:.80} is under {decision.category or REJECTED}, and in line "
                f"{before[1]} under {before[0].category or REJECTED}; leave one of them"
            )
    return [decision for decision, _ in found.values()]


def _rows(text: str, place: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        if missing := [name for name in _NEEDED if name not in (reader.fieldnames or ())]:
            raise BadInputError(
                f"{place} should have the columns {', '.join(_NEEDED)}, and lacks {', '.join(missing)}; make one with "
                "'spiritlevel taxonomy review --out FILE.csv'"
            )
        for number, row in enumerate(reader, 1):
            if number > MOST_ROWS:
                raise BadInputError(f"{place} has more than {MOST_ROWS:,} rows; split it")
            if None in row:
                raise BadInputError(
                    f"{place}, line {reader.line_num}: has more fields than columns; put text with a comma in quotes"
                )
            known = (*_NEEDED, "model_proposed")  # files of a time before models were asked lack the last
            yield reader.line_num, {name: _unguarded((row.get(name) or "").strip()) for name in known}
    except csv.Error as error:
        raise BadInputError(f"{place} should be a CSV file: {error}; save it as CSV") from error


def _decided(row: Mapping[str, str], where: str, categories: Mapping[str, Sequence[str]]) -> Decision | None:
    said = row["decision"]
    if not said:
        return None
    for name, value in row.items():
        plain("category" if name.endswith("proposed") else name, value, where)
    category = _category(row, where)
    if category is not None:
        by_fold = {known.casefold(): known for known in categories.get(row["attribute"], ())}
        category = by_fold.get(category.casefold(), category)
        refuse_unknown(categories, row["attribute"], row["term"], category, where)
    elif row["attribute"] not in categories:
        refuse_unknown(categories, row["attribute"], row["term"], REJECTED, where)
    return checked(Decision(row["attribute"], row["term"], category, row["who"], row["why"]), where)


def _category(row: Mapping[str, str], where: str) -> str | None:
    said = row["decision"]
    if said.casefold() == "reject":
        return None
    if change := _CHANGE.fullmatch(said):
        return change[1].strip()
    of_model = " ".join(said.casefold().split()) == "accept model"
    if not of_model and said.casefold() != "accept":
        raise BadInputError(f"{where}: 'decision' should be {HOW}; it is {said!r:.80}")
    proposed = row["model_proposed"] if of_model else row["proposed"] or row["model_proposed"]
    if not proposed:
        raise BadInputError(
            f"{where}: nothing is proposed for {row['term']!r:.80} that could be accepted; write 'change to CATEGORY' or 'reject'"
        )
    return proposed
