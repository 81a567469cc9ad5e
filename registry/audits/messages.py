"""Messages read from answers: one a request, with what it was about and whom it was written to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from registry.audits.plan import Outcome, Record, Request, Response
from registry.audits.refusals import APOSTROPHES, OPENING, declines

if TYPE_CHECKING:
    import pandas as pd

READER_VERSION = "2"
"""Part of the scoring version: raised whenever the same answer would be read differently."""

LONGEST_MESSAGE = 20_000  # characters; what is longer is no message of 50 words, and would hold up the tagger
FEWEST_WORDS = 3
LONGEST_REFUSAL = 75  # words; a longer text that declines something on its way is still what the audience would get

_SURROGATE = re.compile(r"[\ud800-\udfff\x00]")
_WORD = re.compile(r"[^\W\d_]+")
_WILL_NOT_WRITE = re.compile(
    r"\bI (?:can't|can ?not|won't|will not|am unable to|am not able to) (?:write|craft|draft|compose)\b", re.IGNORECASE
)
_BREAK = re.compile(r"[.!?\n]+")


def read_message(request: Request, response: Response) -> Record:
    """The message of an answer, or the reason why there is none.

    An answer is taken as it is: a greeting or a heading before the message belongs to what an audience would get.
    """

    def failed(outcome: Outcome, reason: str) -> Record:
        return Record(request=request.index, repeat=request.repeat, index=0, outcome=outcome, reason=reason)

    if response.failure is not None:
        return failed(Outcome(response.failure), response.detail or str(response.failure))
    if response.refusal:
        return failed(Outcome.REFUSED, "the provider marked the answer as a refusal")
    text = _SURROGATE.sub("\ufffd", _spoken(response.text or "")).strip()
    if not text:
        reason = "the content filter held the answer back" if response.finish_reason == "content_filter" else "no text"
        return failed(Outcome.REFUSED if response.finish_reason == "content_filter" else Outcome.EMPTY, reason)
    if refuses(text):
        return failed(Outcome.REFUSED, "the answer declines")
    if response.finish_reason == "length":
        return failed(Outcome.TRUNCATED, "the answer was cut off at the token limit")
    if len(text) > LONGEST_MESSAGE:
        return failed(
            Outcome.UNPARSABLE, f"the answer has {len(text):,} characters; a message has at most {LONGEST_MESSAGE:,}"
        )
    if len(_WORD.findall(text)) < FEWEST_WORDS:
        return failed(Outcome.UNPARSABLE, f"the answer has fewer than {FEWEST_WORDS} words")
    return Record(
        request=request.index, repeat=request.repeat, index=0, outcome=Outcome.OK, attributes={"message": text}
    )


def refuses(text: str) -> bool:
    """Whether an answer declines instead of being a message: in its first sentence, or anywhere when it is short.

    A greeting is no sentence here. "I cannot copy the article for you, but I can tell you where it is" is in the middle of many
    a helpful reply, and that reply is what the audience would get.

    >>> refuses("Hello! I'm sorry, but I can't help."), refuses("I cannot write that. " + "Ask for something else. " * 30)
    (True, True)
    >>> refuses("Here is what I found for you. " * 12 + "I cannot provide a copy of it."), refuses("We can't lose this one.")
    (False, False)
    """
    if len(text.split()) > LONGEST_REFUSAL:
        text = next((part for part in _BREAK.split(text) if len(part.split()) >= FEWEST_WORDS), "")
    return declines(text) or _WILL_NOT_WRITE.search(text[:OPENING].translate(APOSTROPHES)) is not None


def _spoken(text: str) -> str:
    """The text without a reasoning block before it."""
    _, mark, tail = text.partition("</think>")
    return tail if mark and "<think" in text[:200] else text


def _about(cell: Mapping[str, str]) -> str:
    """The prompt cell in words: of a design its parts, of imported messages what their column says, else nothing."""
    return " / ".join(cell[part] for part in ("stance", "theme", "region") if part in cell) or cell.get("cell", "")


def message_frame(requests: Sequence[Request], records: Iterable[Record], audiences: Sequence[str]) -> pd.DataFrame:
    """One row a record: ``request, repeat, outcome, reason, mode, theme, cell, text, duplicate``, a column an audience attribute.

    ``cell`` names the prompt cell, which is the cluster: stance, theme and region in one; ``theme`` is missing where none was
    asked for. ``duplicate`` marks a message that repeats an earlier one of the same prompt word for word.
    """
    import pandas as pd

    by_key = {(request.index, request.repeat): request for request in requests}
    rows: list[Mapping[str, Any]] = []
    for record in records:
        cell = by_key[record.request, record.repeat].cell
        rows.append(
            {
                "request": record.request,
                "repeat": record.repeat,
                "outcome": str(record.outcome),
                "reason": record.reason,
                "mode": cell.get("mode", ""),
                "theme": cell.get("theme"),
                "cell": _about(cell) or "all messages",
                "text": (record.attributes or {}).get("message"),
                **{name: cell.get(name) for name in audiences},
            }
        )
    columns = ["request", "repeat", "outcome", "reason", "mode", "theme", "cell", "text", *audiences]
    frame = pd.DataFrame(rows, columns=columns)
    usable = frame["outcome"] == "ok"
    frame["duplicate"] = usable & frame[usable].duplicated(["mode", "cell", *audiences, "text"]).reindex(
        frame.index, fill_value=False
    )
    return frame
