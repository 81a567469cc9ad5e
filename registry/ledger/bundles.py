"""Raw answers in and out of the ledger: JSON Lines (one answer a line), and persona rows as CSV or Parquet."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from metrics.errors import BadInputError
from registry.audits.brainstorm import PAPER, load_brainstorm
from registry.audits.plan import Outcome, Request, Response
from registry.ledger.rows import KEPT_EXACTLY

# The keys of a line that become columns of the ledger; every other key of a line is kept beside them.
_OWN = {
    "refusal": "refusal",
    "finish_reason": "finish_reason",
    "model": "served_model",
    "requested_model": "requested_model",
    "system_fingerprint": "system_fingerprint",
    "latency_s": "latency_s",
    "failure": "failure",
    "detail": "detail",
    "received_at": "received_at",
}
_TEXTS = (
    "refusal",
    "finish_reason",
    "model",
    "requested_model",
    "system_fingerprint",
    "failure",
    "detail",
    "received_at",
)
_LONGEST_MOMENT = 32


def content_digest(path: Path) -> str:
    """SHA-256 (first 16 hex digits) of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()[:16]


def answers_from(path: Path, attributes: Sequence[str] | None = None) -> list[Response]:
    """Read a file of raw answers.

    JSON Lines (``.jsonl``, ``.json``, ``.ndjson``): one answer a line, ``{"text": ..., "model": ..., "finish_reason":
    ..., "usage": {...}}``, of which only ``text`` is required. CSV or Parquet: one persona a row, a column ``call``
    that says which rows came from one call, and the attributes, those of the paper's brainstorm unless given.

    Raises
    ------
    BadInputError
        One sentence: what was expected, in which line or column, what came.
    """
    try:
        there = path.is_file()
    except (OSError, ValueError) as error:
        raise BadInputError(f"the file cannot be opened: {error}") from error
    if not there:
        raise BadInputError(f"there is no file {path}; give the path of a .jsonl, .csv or .parquet file of answers")
    suffix = path.suffix.lower()
    if suffix in {".jsonl", ".json", ".ndjson"}:
        responses = list(_from_lines(path))
    elif suffix in {".csv", ".parquet"}:
        responses = list(_from_rows(path, attributes or load_brainstorm(PAPER).attributes))
    else:
        raise BadInputError(
            f"{path.name} should be .jsonl, .csv or .parquet, not {suffix or 'a file without ending'!r}"
        )
    if not responses:
        raise BadInputError(f"{path.name} holds no answers; nothing was imported")
    return responses


def _from_lines(path: Path) -> Iterator[Response]:
    index = 0
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield answer_of_line(index, line, f"line {number} of {path.name}")
                    index += 1
    except OSError as error:
        raise BadInputError(f"{path.name} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path.name} is not UTF-8 text ({error.reason} at byte {error.start})") from error


def answer_of_line(index: int, line: str, place: str) -> Response:
    """The answer of one line; ``place`` says in an error which line it is."""
    try:
        answer = json.loads(line, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"{place} is not a JSON object: {error}") from error
    if not isinstance(answer, dict) or "text" not in answer:
        raise BadInputError(
            f'{place} needs the key "text" with the answer as the model gave it; it has {_keys(answer)}'
        )
    if KEPT_EXACTLY in answer:
        raise BadInputError(f"{place} has the key {KEPT_EXACTLY!r}, which is the ledger's own; leave it out")
    text = answer.pop("text")
    if text is not None and not isinstance(text, str):
        raise BadInputError(f'{place}: "text" should be a string or null, not {type(text).__name__}')
    values: dict[str, Any] = {}
    for name in _TEXTS:
        if answer.get(name) is not None and not isinstance(answer[name], str):
            raise BadInputError(f'{place}: "{name}" should be a string, not {type(answer[name]).__name__}')
    for name, field in _OWN.items():
        if answer.get(name) is not None:
            values[field] = answer.pop(name)
    if "failure" in values:
        if values["failure"] not in {Outcome.TIMED_OUT, Outcome.PROVIDER_ERROR}:
            raise BadInputError(
                f'{place}: "failure" should be "timed out" or "provider error", not {values["failure"]!r}'
            )
        values["failure"] = Outcome(values["failure"])
    if values.get("received_at") and not _is_moment(values["received_at"]):
        raise BadInputError(f'{place}: "received_at" should be a time such as 2026-10-01T12:00:00Z')
    latency = values.get("latency_s", 0.0)
    if not isinstance(latency, int | float) or isinstance(latency, bool) or not 0 <= latency < 1e9:
        raise BadInputError(f'{place}: "latency_s" should be a number of seconds, not {str(latency)[:40]}')
    usage = answer.get("usage")
    if usage is not None and not isinstance(usage, dict):
        raise BadInputError(f'{place}: "usage" should be an object, not {type(usage).__name__}')
    for name in ("prompt_tokens", "completion_tokens"):
        count = (usage or {}).get(name)
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**31:
            values[name] = count
    return Response(index=index, text=text, extra=answer, **values)


def _is_moment(text: str) -> bool:
    """Whether a text is a time that the ledger can keep as it came.

    >>> _is_moment("2026-10-01T12:00:00Z"), _is_moment("-----")
    (True, False)
    """
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) <= _LONGEST_MOMENT and text.isascii() and text.isprintable()


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large for a number")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _keys(answer: object) -> str:
    return ", ".join(map(repr, answer)) or "no keys" if isinstance(answer, dict) else f"a {type(answer).__name__}"


def _from_rows(path: Path, attributes: Sequence[str]) -> Iterator[Response]:
    import pandas as pd

    try:
        if path.suffix.lower() == ".csv":
            frame = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
        else:
            frame = pd.read_parquet(path)
    except pd.errors.EmptyDataError:
        return
    except (ValueError, OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path.name} cannot be read as a table: {str(error).splitlines()[0]}") from error
    missing = [column for column in ("call", *attributes) if column not in frame.columns]
    if missing:
        raise BadInputError(
            f"{path.name} needs the columns call, {', '.join(attributes)}; it has no {', '.join(missing)}"
        )
    odd = [c for c in ("call", *attributes) if frame[c].map(lambda value: isinstance(value, bytes | list | dict)).any()]
    odd += [c for c in ("call", *attributes) if c not in odd and frame[c].map(lambda v: hasattr(v, "__array__")).any()]
    if odd:
        raise BadInputError(f"{path.name}: the column {odd[0]} should hold text, and holds lists, bytes or structures")
    if frame["call"].isna().any():
        row = int(frame["call"].isna().to_numpy().argmax()) + 2
        raise BadInputError(f"{path.name} has no call in row {row}; every persona belongs to one call")
    for index, (call, rows) in enumerate(frame.groupby("call", sort=False)):
        personas = [
            {name: None if pd.isna(value) else str(value) for name, value in zip(attributes, row, strict=True)}
            for row in rows[list(attributes)].itertuples(index=False)
        ]
        text = json.dumps(personas, ensure_ascii=False)
        yield Response(index=index, text=text, extra={"call": str(call), "imported_as": "rows"})


def work_for(responses: Sequence[Response], per_call: int | None) -> list[Request]:
    """The requests that imported answers belong to; their prompts are not known."""
    return [Request(index=response.index, messages=(), expected=per_call) for response in responses]


def lines_of(responses: Iterable[Response]) -> Iterator[str]:
    """Answers as JSON Lines, losslessly: importing them again gives the same answers."""
    back = {field: name for name, field in _OWN.items()}
    for response in responses:
        line: dict[str, Any] = {"text": response.text}
        for field, name in back.items():
            value = getattr(response, field)
            if value not in (None, ""):
                line[name] = str(value) if field == "failure" else value
        line |= response.extra
        if "usage" not in line and (response.prompt_tokens is not None or response.completion_tokens is not None):
            usage = {"prompt_tokens": response.prompt_tokens, "completion_tokens": response.completion_tokens}
            line["usage"] = {name: count for name, count in usage.items() if count is not None}
        yield json.dumps(line)  # ASCII escapes keep NUL and lone surrogates as they came
