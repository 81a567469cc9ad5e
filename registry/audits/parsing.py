"""A model's text read as personas: every whole object is salvaged, everything else is a record with a reason.

The text is hostile input. `registry.audits.salvage` finds its objects; here it is judged which of them are personas, and
what became of an answer that holds none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from registry.audits.plan import Outcome, Record, Request, Response
from registry.audits.refusals import declines
from registry.audits.salvage import Node, Pairs, Scan, loaded, outside_brackets, salvaged

PARSER_VERSION = "1"
"""Part of the scoring version: raised whenever the same text would be read differently."""

IDENTITY_AXES = ("name", "gender", "ethnicity", "sexual_orientation")
SOCIAL_DIMENSIONS = ("social_class", "education_level", "occupation", "top_personal_interest")
ATTRIBUTES = IDENTITY_AXES + SOCIAL_DIMENSIONS

LONGEST_TERM = 400  # characters kept of one answered term; the answer itself is stored verbatim elsewhere

_ALIASES = {
    "name": "full name, persona name, user name, profile name, character name, first name",
    "gender": "gender identity, sex",
    "ethnicity": "race, ethnic group, ethnic background, ethnic identity, race ethnicity, ethnicity race",
    "sexual_orientation": "orientation, sexuality, sexual identity",
    "social_class": "class, socioeconomic class, socioeconomic status, social status, economic class",
    "education_level": "education, level of education, educational level, highest education, educational background",
    "occupation": "profession, job, job title, career, current occupation",
    "top_personal_interest": "top personal interests, top interest, top interests, personal interest, "
    "personal interests, main interest, interest, interests, hobby, hobbies, top hobby",
}
_HINT = re.compile(r"(?i)name|gender|sex|ethnic|race|orient|class|status|educat|occup|profess|job|career|interest|hobb")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n{\[]*", re.MULTILINE)
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

_Found = dict[str, str | None]


def _squeezed(key: str) -> str:
    return re.sub(r"[\W_]+", "", key.casefold())


@lru_cache(maxsize=32)
def _keys(attributes: tuple[str, ...]) -> dict[str, tuple[str, int]]:
    """Squeezed key -> (attribute, rank): 0 for the attribute's own name, 1 for an alias."""
    table = {_squeezed(alias): (name, 1) for name in attributes for alias in _ALIASES.get(name, "").split(",") if alias}
    return table | {_squeezed(name): (name, 0) for name in attributes}


@lru_cache(maxsize=4096)
def _attribute(key: str, attributes: tuple[str, ...]) -> tuple[str, int] | None:
    return _keys(attributes).get(_squeezed(key))


def _term(value: Any) -> str | None:
    """One answered value as text, or None when it says nothing (null, blank, an object)."""
    if value is None or isinstance(value, (Pairs, dict)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        parts = [part for item in value if not isinstance(item, list) and (part := _term(item)) is not None]
        return ", ".join(parts)[:LONGEST_TERM] or None
    text = _SURROGATE.sub("\ufffd", _UNSTORABLE.sub(" ", str(value))).strip()
    return text[:LONGEST_TERM] or None


def _attributes(pairs: Pairs, names: tuple[str, ...]) -> _Found:
    """The attributes an object answers. An attribute's own name beats an alias; of equals the first one wins."""
    found: dict[str, tuple[int, str]] = {}
    for key, value in pairs:
        known = _attribute(key, names) if len(key) <= 60 else None
        if known is None or (known[0] in found and found[known[0]][0] <= known[1]):
            continue
        term = _term(value)
        if term is not None:
            found[known[0]] = (known[1], term)
    return {name: found[name][1] if name in found else None for name in names}


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


def _walk(nodes: Sequence[Node], names: tuple[str, ...]) -> Iterator[tuple[Outcome, str, _Found | None]]:
    """Personas (ok, with attributes) and almost-personas (unparsable, with the reason), in document order.

    A persona answers at least one identity axis and one social dimension; its inner objects are values, not personas.
    """
    pending = [(node, node.quiet) for node in reversed(nodes)]
    while pending:
        node, quiet = pending.pop()
        found = _attributes(node.pairs, names) if node.pairs is not None else {}
        answered = [name for name in names if found.get(name) is not None]
        axes = [name for name in answered if name in IDENTITY_AXES]
        if axes and len(answered) > len(axes):
            yield Outcome.OK, "", found
        elif node.children:
            pending.extend((child, quiet) for child in reversed(node.children))
        elif quiet:
            continue
        elif node.pairs is None:
            yield Outcome.UNPARSABLE, "an object in the answer is not readable as JSON", None
        elif answered:
            lacks = "social dimension" if axes else "identity axis"
            yield Outcome.UNPARSABLE, f"an object answers {', '.join(answered)} but no {lacks}", None


def _no_persona(response: Response, text: str, scan: Scan) -> tuple[Outcome, str]:
    """Outcome and reason of an answer in which no object of a persona was found."""
    if response.refusal:
        return Outcome.REFUSED, f"the provider marked a refusal: {_term(response.refusal)}"
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


def read_personas(request: Request, response: Response, *, extra_attributes: Sequence[str] = ()) -> list[Record]:
    """The records of one answer: each whole persona, then what else became of it. Never empty, never raises on text.

    Parameters
    ----------
    request, response :
        the question, which gives the records their index and repeat, and one answer or the failure to get one
    extra_attributes :
        further attributes to read, spelled with underscores; they count as social dimensions of a persona

    Returns
    -------
    In document order. ``ok``: an object with at least one identity axis and one social dimension, what it lacks is None.
    ``unparsable``: an object with too few attributes, or an unreadable one. An object that was cut off at the end is one
    ``truncated`` record. Without any object: one record that says refused, empty, truncated or unparsable, the finish
    reason being looked at before the text. Failures pass through with their detail.

    Notes
    -----
    Keys are matched without case, spaces, hyphens and underscores, and through a short table of aliases ("profession").
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
        return [_record(request, 0, response.failure, response.detail or f"the call failed: {response.failure}")]
    names = (*ATTRIBUTES, *(name for name in extra_attributes if name not in ATTRIBUTES))
    text = _answer(response.text or "")
    scan = salvaged(text, _HINT, lambda key: _attribute(key, names) is not None)
    records = [_record(request, index, *item) for index, item in enumerate(_walk(scan.nodes, names))]
    usable = any(record.outcome is Outcome.OK for record in records)
    marked = bool(response.refusal) or response.finish_reason == "content_filter"
    if not usable and (marked or not records):
        return [_record(request, 0, *_no_persona(response, text, scan))]
    if scan.cut or (scan.unclosed and response.finish_reason == "length"):
        why = {"length": " at the token limit", "content_filter": " by the content filter"}
        reason = f"an object is cut off at the end of the answer{why.get(response.finish_reason or '', '')}"
        records.append(_record(request, len(records), Outcome.TRUNCATED, reason))
    return records


def _record(request: Request, index: int, outcome: Outcome, reason: str, found: _Found | None = None) -> Record:
    place = {"request": request.index, "repeat": request.repeat, "index": index}
    return Record(**place, outcome=outcome, attributes=found, reason=reason)


def call_outcome(records: Sequence[Record]) -> Outcome:
    """What became of a call: ``ok`` with any usable record, else ``truncated`` with a cut one, else its first."""
    if not records:
        raise ValueError("call_outcome expects the records of one call, at least one; read_personas never returns none")
    outcomes = [record.outcome for record in records]
    return next((one for one in (Outcome.OK, Outcome.TRUNCATED) if one in outcomes), outcomes[0])
