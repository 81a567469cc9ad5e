"""Messages that somebody has already, read from a table: a text a row, whom it was written to, and what about."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.errors import BadInputError
from registry.audits.design import ATTRIBUTE, CONTEXT_RICH, MODES, TAKEN
from registry.audits.plan import Request, Response

if TYPE_CHECKING:
    import pandas as pd

MOST_GROUPS = 50
LONGEST_LABEL = 200
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MessageColumns:
    """Which columns of a table say what.

    Parameters
    ----------
    text : the message
    groups : audience attribute -> column with the group that a message was written to
    cell : column of what messages are about, whose values are the clusters; None: all are about one thing, and what is found
        is about these messages only
    mode : column that says ``standalone`` or ``context-rich``; None: all are context-rich
    only : column -> values; rows with another one are left out, such as those of other models
    renamed : audience attribute -> a group as the table has it -> as it is to be called, so that two tables say the same
    """

    text: str = "text"
    groups: Mapping[str, str]
    cell: str | None = None
    mode: str | None = None
    only: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    renamed: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values: part of what makes two imports of one file the same audit."""
        values = {name: value for name, value in dataclasses.asdict(self).items() if name != "renamed" or value}
        return values | {"only": {name: some[0] if len(some) == 1 else list(some) for name, some in self.only.items()}}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MessageFile:
    """What a table holds: requests with their labels, the answer of each, and the groups of each attribute."""

    requests: tuple[Request, ...]
    responses: tuple[Response, ...]
    groups: Mapping[str, tuple[str, ...]]
    modes: tuple[str, ...]


def messages_from(path: Path, columns: MessageColumns) -> MessageFile:
    """Read a table of messages: ``.csv``, ``.parquet``, or JSON Lines with one object a row (also ``.gz``).

    Raises
    ------
    BadInputError : a file that is not there or no table, a column that is missing, a row without group or mode
    """
    _refuse_names(columns)
    table = _table(path)
    if table.empty:
        raise BadInputError(f"{path.name} holds no messages; nothing was imported")
    wanted = {"text": columns.text, **columns.groups, "cell": columns.cell, "mode": columns.mode}
    needed = [name for name in [*wanted.values(), *columns.only] if name is not None]
    missing = [name for name in dict.fromkeys(needed) if name not in table.columns]
    if missing:
        raise BadInputError(
            f"{path.name} has no column {missing[0]!r}; it has {', '.join(map(str, list(table.columns)[:20]))}. Say which column is "
            f"which with --text, --group, --cell, --mode-column and --only"
        )
    for column, values in columns.only.items():
        kept = table[table[column].astype("str").isin(values)]
        missing = [value for value in values if not (kept[column].astype("str") == value).any()]
        if missing:
            raise BadInputError(f"{path.name} has no row with {column} = {missing[0]!r}")
        table = kept
    return _read(path.name, table.reset_index(drop=True), columns)


def _refuse_names(columns: MessageColumns) -> None:
    if not columns.groups:
        raise BadInputError(
            "messages are compared between groups: say which column has them, such as --group gender or --group gender=sex"
        )
    for name in columns.renamed:
        if name not in columns.groups:
            named = ", ".join(columns.groups)
            raise BadInputError(f"groups of {name!r} cannot be renamed: the messages are compared by {named}")
    for name in columns.groups:
        if not ATTRIBUTE.fullmatch(name) or name in TAKEN:
            raise BadInputError(
                f"an audience attribute is named with lower-case letters, digits and hyphens, such as age-group, and is none of "
                f"{', '.join(sorted(TAKEN))}; not {name!r}"
            )


def _table(path: Path) -> pd.DataFrame:
    import pandas as pd

    name = path.name.lower().removesuffix(".gz")
    try:
        if not path.is_file():
            raise BadInputError(
                f"there is no file {path}; give the path of a .csv, .parquet or .jsonl file of messages"
            )
        if name.endswith(".csv"):
            return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
        if name.endswith(".parquet"):
            return pd.read_parquet(path)
        if name.endswith((".jsonl", ".ndjson")):
            return pd.DataFrame(_objects(path))
    except BadInputError:
        raise
    except (ValueError, OSError, UnicodeDecodeError, EOFError) as error:
        raise BadInputError(f"{path.name} cannot be read as a table: {str(error).splitlines()[0]:.200}") from error
    raise BadInputError(
        f"{path.name} should be .csv, .parquet or .jsonl, also with .gz; not {path.suffix or 'without ending'!r}"
    )


def _objects(path: Path) -> list[dict[str, Any]]:
    opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
    rows = []
    with opened(path, "rt", encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise BadInputError(f"line {number} of {path.name} is no JSON: {error!s:.100}") from error
            if not isinstance(row, dict):
                raise BadInputError(f"line {number} of {path.name} should be an object, not {type(row).__name__}")
            rows.append({name: _whole(value) for name, value in row.items()})
    return rows


def _whole(value: Any) -> Any:
    """A text without halves of characters, which neither tables nor databases hold."""
    return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value


def _read(name: str, table: pd.DataFrame, columns: MessageColumns) -> MessageFile:
    labels = {
        attribute: _renamed(name, attribute, _labels(name, table, column), columns.renamed.get(attribute, {}))
        for attribute, column in columns.groups.items()
    }
    cells = _labels(name, table, columns.cell) if columns.cell is not None else None
    modes = _labels(name, table, columns.mode) if columns.mode is not None else [CONTEXT_RICH] * len(table)
    odd = next((mode for mode in modes if mode not in MODES), None)
    if odd is not None:
        raise BadInputError(f"{name}: a mode is {' or '.join(MODES)}, not {odd!r}")
    groups = {attribute: tuple(sorted(set(found))) for attribute, found in labels.items()}
    for attribute, found in groups.items():
        if not 2 <= len(found) <= MOST_GROUPS:
            raise BadInputError(
                f"{name}: {attribute} has {len(found)} group{'s' * (len(found) != 1)} ({', '.join(found[:5])}); 2 to {MOST_GROUPS} can be compared"
            )
    requests, responses = [], []
    for index, text in enumerate(table[columns.text]):
        cell = {attribute: found[index] for attribute, found in labels.items()} | {"mode": modes[index]}
        if cells is not None:
            cell["cell"] = cells[index]
        requests.append(Request(index=index, messages=(), cell=cell, expected=1))
        responses.append(Response(index=index, text=_text(name, index, columns.text, text)))
    return MessageFile(
        requests=tuple(requests),
        responses=tuple(responses),
        groups=groups,
        modes=tuple(mode for mode in MODES if mode in set(modes)),
    )


def _renamed(name: str, attribute: str, labels: list[str], called: Mapping[str, str]) -> list[str]:
    unknown = next((group for group in called if group not in labels), None)
    if unknown is not None:
        there = ", ".join(sorted(set(labels))[:20])
        raise BadInputError(f"{name}: {attribute} has no group {unknown!r} to rename; it has {there}")
    for group in called.values():
        _refuse_label(f"{name}: a group of {attribute} is called by", group)
    return [called.get(label, label) for label in labels]


def _refuse_label(what: str, label: str) -> None:
    if not label or len(label) > LONGEST_LABEL or not label.isprintable() or " x " in label:
        raise BadInputError(f"{what} a short printable text without ' x ' in it, not {label!r:.80}")


def _labels(name: str, table: pd.DataFrame, column: str) -> list[str]:
    import pandas as pd

    found = []
    for row, value in enumerate(table[column], start=1):
        if isinstance(value, list | dict | bytes) or pd.isna(value) or not str(value).strip():
            raise BadInputError(f"{name}: {column!r} should be a word in every row; in row {row} it is {value!r:.80}")
        label = str(value).strip()
        if len(label) > LONGEST_LABEL or not label.isprintable() or " x " in label:
            raise BadInputError(
                f"{name}: {column!r} should be a short printable text without ' x ' in it; in row {row} it is {label!r:.80}"
            )
        found.append(label)
    return found


def _text(name: str, index: int, column: str, value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""  # read as an empty answer, and counted
    if not isinstance(value, str):
        raise BadInputError(f"{name}: {column!r} should hold text; in row {index + 1} it is {type(value).__name__}")
    return value
