"""A model's text read as personas: every whole object is salvaged, everything else is a record with a reason.

The text is hostile input. `registry.audits.salvage` finds its objects; here it is judged which of them are personas, and
what became of an answer that holds none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from registry.audits.asked import Asked, asked_by_the_paper
from registry.audits.labelled import read_labelled
from registry.audits.plan import Outcome, Record, Request, Response
from registry.audits.refusals import declines
from registry.audits.salvage import Node, Scan, loaded, outside_brackets, salvaged
from registry.audits.shapes import FLAT, Read, flat, lacking, personas_of, rows_of, term_of

PARSER_VERSION = "2"
"""Part of the scoring version: raised whenever the same text would be read differently."""

Prose = Callable[[str, int | None, bool], list[Read]]
"""What reads a text without labels: the text, how many people were asked for, whether it was cut off."""

_JSON_KEY = re.compile(r"[{,]\s*[\"“'](\w[^\"“”'\n]{0,60})[\"”']\s*:")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n{\[]*", re.MULTILINE)


def _answer(text: str) -> str:
    """The text without a reasoning block before it: drafts inside ``<think>`` are not answers."""
    head, mark, tail = text.partition("</think>")
    return tail if mark and "<think" in head[:200] else text


def answer_format(text: str | None) -> str:
    r"""The form of an answer: ``json``, ``fenced``, ``prose`` or ``none``.

    ``json``: nothing but JSON, be it broken, cut off, or one object a line. ``fenced``: JSON in code fences and nothing
    else. ``prose``: JSON with other text around it. ``none``: no object in it.

    >>> answers = '[{"name": "Ada"}]', '```json\n{"name": "Ada"}\n```', 'Sure! {"name": "Ada"}', 'Ada'
    >>> [answer_format(text) for text in answers]
    ['json', 'fenced', 'prose', 'none']
    """
    text = _answer(text or "").strip()
    if "{" not in text:
        return "none"
    if text[0] in "{[" and loaded(text) is not None:
        return "json"
    unfenced = _FENCE.sub("", text)
    outside = outside_brackets(unfenced)
    if outside.strip(" \t\r\n,;"):
        return "prose"
    return "fenced" if len(unfenced) != len(text) else "json"


def _walk(nodes: Sequence[Node], asked: Asked) -> Iterator[Read]:
    """Personas (ok, with attributes) and almost-personas (unparsable, with the reason), in document order.

    A persona answers at least one identity axis and one social dimension; its inner objects are values or groups, not personas.
    """
    pending = [(node, node.quiet) for node in reversed(nodes)]
    while pending:
        node, quiet = pending.pop()
        found = personas_of(node.pairs, asked) if node.pairs is not None else None
        if found is not None:
            yield from (one for one in found if not quiet or one.outcome is Outcome.OK)
        elif node.children:
            pending.extend((child, quiet) for child in reversed(node.children))
        elif quiet:
            continue
        elif node.pairs is None:
            yield Read(Outcome.UNPARSABLE, "an object in the answer is not readable as JSON", None)
        elif reason := lacking(flat(node.pairs, asked), asked):
            yield Read(Outcome.UNPARSABLE, reason, None)


def _listed(text: str, scan: Scan, response: Response, asked: Asked) -> list[Read]:
    """The personas of an answer without a JSON object of one: rows of JSON lists, a table, tags, labels."""
    value = scan.value if scan.value is not None else loaded(text[text.find("[") : text.rfind("]") + 1])
    rows = list(rows_of(value, asked))
    if rows:
        return rows
    if any(asked.attribute(key) for key in _JSON_KEY.findall(text)):
        return []  # broken or cut JSON: its lines are no labels
    return read_labelled(text, asked, cut=response.finish_reason == "length")


def _no_persona(response: Response, text: str, scan: Scan) -> tuple[Outcome, str]:
    """Outcome and reason of an answer in which no object of a persona was found."""
    if response.refusal:
        return Outcome.REFUSED, f"the provider marked a refusal: {term_of(response.refusal)}"
    if response.finish_reason == "content_filter":
        return Outcome.REFUSED, "the provider's content filter ended the answer"
    if response.finish_reason == "length":
        what = "no text came" if not text.strip() else "no whole persona came"
        return Outcome.TRUNCATED, f"{what} before the token limit (finish reason length)"
    if not text.strip():
        return Outcome.EMPTY, "the answer has no text"
    if not scan.cut and declines(text):
        return Outcome.REFUSED, "the text declines to answer"
    if scan.cut or scan.unclosed:
        return Outcome.TRUNCATED, "the answer ends inside its first object"
    return Outcome.UNPARSABLE, "the answer has text but no persona object"


def read_personas(
    request: Request, response: Response, asked: Asked | None = None, prose: Prose | None = None
) -> list[Record]:
    """The records of one answer: each whole persona, then what else became of it. Never empty, never raises on text.

    Parameters
    ----------
    request, response :
        the question, which gives the records their index and repeat, and one answer or the failure to get one
    asked :
        the attributes that were asked for and the keys they may stand under; those of the paper unless given
    prose :
        reads a text in which nothing has a label; without it such a text is unparsable

    Returns
    -------
    In document order. ``ok``: an object with at least one identity axis and one social dimension, what it lacks is None.
    ``unparsable``: an object with too few attributes, or an unreadable one. An object that was cut off at the end is one
    ``truncated`` record. Without any object: one record that says refused, empty, truncated or unparsable, the finish
    reason being looked at before the text. Failures pass through with their detail.

    Notes
    -----
    Keys are matched without case, spaces, hyphens and underscores, and through the further keys of each attribute ("profession").
    A list is joined with ``", "``; numbers keep their spelling; an object as value, null and blank are missing. Of a
    repeated key the first value counts: in repetitive answers the later ones are drift. Control characters become
    spaces and lone surrogates U+FFFD, so that every term can be stored.

    >>> request = Request(index=0, messages=())
    >>> text = 'Sure: [{"Name": "Ada", "profession": "Nurse"}, {"Name": "Bo", "gen'
    >>> whole, cut = read_personas(request, Response(index=0, text=text, finish_reason="length"))
    >>> str(whole.outcome), whole.attributes["occupation"], str(cut.outcome)
    ('ok', 'Nurse', 'truncated')
    """
    if response.failure is not None:
        return [
            _record(request, 0, Read(response.failure, response.detail or f"the call failed: {response.failure}", None))
        ]
    asked = asked or asked_by_the_paper()
    text = _answer(response.text or "")
    scan = salvaged(text, asked.hint, lambda key: asked.attribute(key) is not None)
    reads = list(_walk(scan.nodes, asked)) or _listed(text, scan, response, asked)
    if prose is not None and not reads and not scan.cut:
        reads = prose(text, request.expected, response.finish_reason == "length")
    records = [_record(request, index, one) for index, one in enumerate(reads)]
    usable = any(record.outcome is Outcome.OK for record in records)
    marked = bool(response.refusal) or response.finish_reason == "content_filter"
    if not usable and (marked or not records):
        return [_record(request, 0, Read(*_no_persona(response, text, scan), None))]
    if scan.cut or (scan.unclosed and response.finish_reason == "length"):
        why = {"length": " at the token limit", "content_filter": " by the content filter"}
        reason = f"an object is cut off at the end of the answer{why.get(response.finish_reason or '', '')}"
        records.append(_record(request, len(records), Read(Outcome.TRUNCATED, reason, None)))
    return records


def _record(request: Request, index: int, read: Read) -> Record:
    """A record; of a persona that did not stand in an object of its own, ``reason`` says in which shape it stood."""
    place = {"request": request.index, "repeat": request.repeat, "index": index}
    reason = read.shape if read.outcome is Outcome.OK and read.shape != FLAT else read.reason
    return Record(**place, outcome=read.outcome, attributes=read.found, reason=reason)


def call_outcome(records: Sequence[Record]) -> Outcome:
    """What became of a call: ``ok`` with any usable record, else ``truncated`` with a cut one, else its first."""
    if not records:
        raise ValueError("call_outcome expects the records of one call, at least one; read_personas never returns none")
    outcomes = [record.outcome for record in records]
    return next((one for one in (Outcome.OK, Outcome.TRUNCATED) if one in outcomes), outcomes[0])
