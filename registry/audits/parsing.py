"""A model's text read as personas: every whole object is salvaged, everything else is a record with a reason.

The text is hostile input. Objects are found by one pass over its brackets, and each object is read from its own
text alone (nested objects cut out), so the time grows with the length of the text, whatever the nesting, and a
broken, truncated or wrapped answer yields the same personas as a whole one. A repairer of loose JSON (single
quotes, trailing commas) is only shown slices whose braces are balanced: it completes nothing that was cut off.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from registry.audits.plan import Outcome, Record, Request, Response

PARSER_VERSION = "1"
"""Part of the scoring version: raised whenever the same text would be read differently."""

IDENTITY_AXES = ("name", "gender", "ethnicity", "sexual_orientation")
SOCIAL_DIMENSIONS = ("social_class", "education_level", "occupation", "top_personal_interest")
ATTRIBUTES = IDENTITY_AXES + SOCIAL_DIMENSIONS

LONGEST_TERM = 400
"""Characters kept of one answered term; the answer itself is stored verbatim elsewhere."""

_ALIASES = {
    "name": "full name, persona name, user name, profile name, character name, first name",
    "gender": "gender identity, sex",
    "ethnicity": "race, ethnic group, ethnic background, ethnic identity, race ethnicity, ethnicity race",
    "sexual_orientation": "orientation, sexuality, sexual identity",
    "social_class": "class, socioeconomic class, socioeconomic status, social status, economic class",
    "education_level": "education, level of education, educational level, educational attainment, education attainment, "
    "highest education, highest level of education, educational background",
    "occupation": "profession, job, job title, career, current occupation",
    "top_personal_interest": "top personal interests, top interest, top interests, personal interest, personal interests, "
    "main interest, interest, interests, hobby, hobbies, top hobby",
}
_HINT = re.compile(
    r"name|gender|sex|ethnic|race|orient|class|status|educat|occup|profess|job|career|interest|hobb", re.IGNORECASE
)
# A JSON string holds no line break: ending one there keeps a stray quotation mark from swallowing what follows.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\(?:.|\Z))*+(?:"|(?=\n)|\Z)|[{}\[\]]', re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n{\[]*", re.MULTILINE)
_OPEN_KEY = re.compile(r"[\"'“‘](\w[\w /()-]{0,40})[\"'”’]\s*:")
_SMART_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

_REPAIR_SLICE = 20_000  # characters of one object that the repairer is shown
_REPAIR_BUDGET = 200_000  # characters it is shown of one answer: it is slow, and hostile text could be all repairs

REFUSAL_PATTERNS = (
    r"\bI(?:'m| am)?(?: really| very| so)? sorry\b.{0,80}\b(?:can(?:'t|not| not)|unable|not able|won't)",
    r"\bI (?:can(?:'t|not| not)|could not|couldn't|will not|won't|am unable to|am not able to)"
    r" (?:help|assist|comply|provide|create|generate|produce|fulfil+|do that|engage|participate|continue|support|answer)",
    r"\bI'm (?:unable|not able|not comfortable|not willing)\b",
    r"\bI (?:must|have to|need to|will have to)(?: respectfully| politely)? (?:decline|refuse)\b",
    r"\bI(?:'d| would) (?:prefer|rather) not\b",
    r"\bas an? (?:AI|artificial intelligence|(?:large )?language model)\b.{0,80}\b(?:can(?:'t|not| not)|unable|not able|won't)",
    r"\b(?:violates?|against|contrary to) (?:my|our|the|openai'?s?) (?:content |usage |use )?(?:polic|guideline|programming|principle)",
    r"\b(?:cannot|can't|unable to|decline to|refuse to) (?:fulfil+|comply with|complete|process) (?:this|that|your|the) request",
)
"""Phrases that make an answer *without any object in it* a refusal; looked for in its first 1,000 characters."""
_REFUSAL = re.compile("|".join(REFUSAL_PATTERNS), re.IGNORECASE | re.DOTALL)


class _Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object as its pairs, in order: a repeated key is still there to be judged."""


class _Node(NamedTuple):
    """One whole object: its pairs (None when unreadable) and the whole objects inside it."""

    pairs: _Pairs | None
    children: list[_Node]


class _Scan(NamedTuple):
    """What the brackets of a text say: whole objects, and what was still open at its end."""

    nodes: list[_Node]
    cut: str | None  # text of the innermost object still open, when it holds no whole persona
    unclosed: bool
    outside: str  # what stands outside all brackets


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
    if isinstance(value, _Pairs) or value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        parts = [part for item in value if not isinstance(item, list) and (part := _term(item)) is not None]
        return ", ".join(parts)[:LONGEST_TERM] or None
    text = _SURROGATE.sub("\ufffd", _UNSTORABLE.sub(" ", str(value))).strip()
    return text[:LONGEST_TERM] or None


def _attributes(pairs: _Pairs, names: tuple[str, ...]) -> dict[str, str | None]:
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


def _loaded(text: str) -> Any:
    """Strict JSON with numbers kept as written; None when it is not JSON."""
    try:
        return json.loads(
            text, strict=False, object_pairs_hook=_Pairs, parse_int=str, parse_float=str, parse_constant=str
        )
    except (ValueError, RecursionError):
        return None


def _repaired(text: str) -> _Pairs | None:
    """Loose JSON of one brace-balanced object, as its pairs; None when nothing sensible came out."""
    import json_repair

    try:
        value = json_repair.loads(text.translate(_SMART_QUOTES), skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError, KeyError, AttributeError):
        return None
    return _Pairs((str(key), _plain(item)) for key, item in value.items()) if isinstance(value, dict) else None


def _plain(value: Any) -> Any:
    """A repaired value with its objects marked as such; they are never terms."""
    if isinstance(value, dict):
        return _Pairs()
    return [_plain(item) if isinstance(item, dict) else item for item in value] if isinstance(value, list) else value


def _nodes_of(value: Any) -> list[_Node]:
    """The objects of a parsed JSON value as a forest, in document order."""
    roots: list[_Node] = []
    pending: list[tuple[Any, list[_Node]]] = [(value, roots)]
    while pending:
        item, siblings = pending.pop()
        if isinstance(item, _Pairs):
            node = _Node(item, [])
            siblings.append(node)
            inner: Iterable[Any] = (inside for _, inside in item)
            siblings = node.children
        elif isinstance(item, list):
            inner = item
        else:
            continue
        pending.extend((inside, siblings) for inside in reversed([*inner]) if isinstance(inside, (_Pairs, list)))
    return roots


class _Reader:
    """One pass over the brackets of a text. Holds what is open; makes a node of each object that closes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.budget = _REPAIR_BUDGET
        self.hints = [match.start() for match in _HINT.finditer(text)]
        self.open: list[int] = []  # positions of open brackets
        self.inside: dict[int, list[tuple[int, int, _Node]]] = {-1: []}  # whole objects by the position they stand in

    def scan(self) -> _Scan:
        text, stack, position, outside, edge = self.text, self.open, 0, [], 0
        search, opening = _TOKEN.search, _OPENING.search
        while True:
            match = search(text, position) if stack else opening(text, position)
            if match is None:
                break
            position = match.end()
            mark = text[position - 1] if position == match.start() + 1 else '"'
            if mark in "{[":
                if not stack:
                    outside.append(text[edge : match.start()])
                stack.append(match.start())
            elif mark == "}":
                self._close("{", position)
            elif mark == "]":
                self._close("[", position)
            if not stack:
                edge = position
        if not stack:
            outside.append(text[edge:])
        return self._result("".join(outside))

    def _close(self, bracket: str, end: int) -> None:
        """Close the innermost open ``bracket``; what stands open inside it is broken and gives up its objects."""
        text, stack = self.text, self.open
        depth = len(stack) - 1
        if text[stack[depth]] != bracket:
            while depth >= 0 and text[stack[depth]] != bracket:
                depth -= 1
            if depth < 0:
                # A lone ``]`` says nothing; forgetting the search's length is what keeps this linear.
                return
        for broken in stack[depth + 1 :]:
            self._give_up(broken, stack[depth])
        start = stack[depth]
        del stack[depth:]
        parent = stack[-1] if stack else -1
        if bracket == "[":
            self._give_up(start, parent)
        elif bisect_left(self.hints, end) - bisect_left(self.hints, start) >= 1:
            held = self.inside.pop(start, [])
            self.inside.setdefault(parent, []).append((start, end, self._node(start, end, held)))

    def _give_up(self, position: int, parent: int) -> None:
        held = self.inside.pop(position, None)
        if held:
            self.inside.setdefault(parent, []).extend(held)

    def _own(self, start: int, end: int, held: Sequence[tuple[int, int, _Node]]) -> str:
        """An object's own text: the objects inside it are cut out, so that no character is read twice."""
        pieces, position = [], start
        for inner_start, inner_end, _ in held:
            pieces += [self.text[position:inner_start], "{}"]
            position = inner_end
        return "".join([*pieces, self.text[position:end]])

    def _node(self, start: int, end: int, held: list[tuple[int, int, _Node]]) -> _Node:
        own = self._own(start, end, held)
        pairs = _loaded(own)
        if not isinstance(pairs, _Pairs):
            pairs = None
            if len(own) <= min(_REPAIR_SLICE, self.budget):
                self.budget -= len(own)
                pairs = _repaired(own)
        return _Node(pairs, [node for _, _, node in held])

    def _result(self, outside: str) -> _Scan:
        nodes = [node for place in [-1, *self.open] for _, _, node in self.inside.get(place, ())]
        braces = [position for position in self.open if self.text[position] == "{"]
        cut = None
        if braces:
            held = self.inside.get(braces[-1], [])
            after = [item for position in self.open if position > braces[-1] for item in self.inside.get(position, ())]
            cut = self._own(braces[-1], len(self.text), [*held, *after])
        return _Scan(nodes, cut, bool(self.open), outside)


def _answer(text: str) -> str:
    """The text without a reasoning block before it: drafts inside ``<think>`` are not answers."""
    head, mark, tail = text.partition("</think>")
    return tail if mark and "<think" in head[:200] else text


def answer_format(text: str | None) -> str:
    """The form of an answer: ``json``, ``fenced``, ``prose`` or ``none``.

    ``json``: nothing but JSON, be it broken, cut off, or one object a line. ``fenced``: JSON in code fences and nothing
    else. ``prose``: JSON with other text around it. ``none``: no object in it.

    >>> [answer_format(text) for text in ('[{"name": "Ada"}]', '```json\\n{"name": "Ada"}\\n```', 'Sure! {"name": "Ada"}', 'Ada')]
    ['json', 'fenced', 'prose', 'none']
    """
    text = _answer(text or "").strip()
    if "{" not in text:
        return "none"
    if text[0] in "{[" and _loaded(text) is not None:
        return "json"
    unfenced = _FENCE.sub("", text)
    outside = _outside(unfenced)
    if outside.strip(" \t\r\n,;"):
        return "prose"
    return "fenced" if len(unfenced) != len(text) else "json"


def _outside(text: str) -> str:
    """What stands outside all brackets, by the brackets alone."""
    depth, edge, pieces, position = 0, 0, [], 0
    while match := (_TOKEN if depth else _OPENING).search(text, position):
        position = match.end()
        mark = match.group() if position == match.start() + 1 else ""
        if mark in ("{", "["):
            if not depth:
                pieces.append(text[edge : match.start()])
            depth += 1
        elif mark in ("}", "]"):
            depth -= 1
            edge = position
    return "".join([*pieces, "" if depth else text[edge:]])


def _walk(nodes: Sequence[_Node], names: tuple[str, ...]) -> Iterator[dict[str, str | None] | str]:
    """Personas (attributes) and almost-personas (the reason) of a forest, in document order.

    A persona answers at least one identity axis and one social dimension; its inner objects are values, not personas.
    """
    pending: list[_Node | str] = [*reversed(nodes)]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            yield node
            continue
        found = _attributes(node.pairs, names) if node.pairs is not None else {}
        answered = [name for name in names if found.get(name) is not None]
        axes = [name for name in answered if name in IDENTITY_AXES]
        if axes and len(answered) > len(axes):
            yield found
        elif node.children:
            pending.extend(reversed(node.children))
        elif node.pairs is None:
            yield "an object in the answer is not readable as JSON"
        elif answered:
            lacking = "social dimension" if axes else "identity axis"
            yield f"an object answers {', '.join(answered)} but no {lacking}"


def _no_persona(response: Response, text: str, scan_cut: bool) -> tuple[Outcome, str]:
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
    if "{" not in text and _REFUSAL.search(text[:1000].translate(_SMART_QUOTES)):
        return Outcome.REFUSED, "the text declines to answer"
    if scan_cut:
        return Outcome.TRUNCATED, "the answer ends inside its first object"
    return Outcome.UNPARSABLE, "the answer has text but no persona object"


def read_personas(request: Request, response: Response, *, extra_attributes: Sequence[str] = ()) -> list[Record]:
    """The records of one answer: each whole persona, then what else became of it. Never empty, never raises on text.

    Parameters
    ----------
    request : gives the records their index and repeat
    response : one answer, or the failure to get one
    extra_attributes : further social attributes to read besides the eight, as spelled in the prompt with underscores

    Returns
    -------
    Records in document order. ``ok``: an object with at least one identity axis and one social dimension; attributes
    that it lacks are None. ``unparsable``: an object with some attribute but too few, or an unreadable one. An object
    that was cut off at the end is one ``truncated`` record. Without any object: one record that says refused, empty,
    truncated or unparsable; the finish reason is looked at before the text. Failures pass through with their detail.

    Notes
    -----
    Keys are matched without case, spaces, hyphens and underscores, and through a short table of aliases ("profession").
    A list is joined with ``", "``; numbers keep their spelling; an object as value, null and blank are missing. Of a
    repeated key the first value counts: in repetitive answers the later ones are drift. Control characters become
    spaces and lone surrogates U+FFFD, so that every term can be stored.

    >>> request = Request(index=0, messages=())
    >>> answer = Response(index=0, text='Sure: [{"Name": "Ada", "profession": "Nurse"}, {"Name": "Bo", "gen', finish_reason="length")
    >>> [(str(record.outcome), record.attributes and record.attributes["occupation"]) for record in read_personas(request, answer)]
    [('ok', 'Nurse'), ('truncated', None)]
    """
    if response.failure is not None:
        return [_record(request, 0, response.failure, response.detail or f"the call failed: {response.failure}")]
    names = (*ATTRIBUTES, *(name for name in extra_attributes if name not in ATTRIBUTES))
    text = _answer(response.text or "")
    value = _loaded(text) if text.strip() else None
    if isinstance(value, str):  # JSON inside a JSON string
        text, value = value, _loaded(value)
    if isinstance(value, (_Pairs, list)):
        found, cut, unclosed = [*_walk(_nodes_of(value), names)], None, False
    else:
        scan = _Reader(text).scan() if "{" in text else _Scan([], None, text.lstrip()[:1] == "[", "")
        found, cut, unclosed = [*_walk(scan.nodes, names)], scan.cut, scan.unclosed
        if cut is not None and _is_wrapper(cut, names):
            cut = None
    records = [
        _record(request, index, Outcome.UNPARSABLE, item) if isinstance(item, str) else _persona(request, index, item)
        for index, item in enumerate(found)
    ]
    usable = any(record.outcome is Outcome.OK for record in records)
    if not usable and (response.refusal or response.finish_reason == "content_filter" or not records):
        return [_record(request, 0, *_no_persona(response, text, cut is not None or unclosed))]
    if cut is not None or (unclosed and response.finish_reason == "length"):
        why = {"length": " at the token limit", "content_filter": " by the content filter"}
        reason = f"an object is cut off at the end of the answer{why.get(response.finish_reason or '', '')}"
        records.append(_record(request, len(records), Outcome.TRUNCATED, reason))
    return records


def _is_wrapper(own: str, names: tuple[str, ...]) -> bool:
    """Whether an object still open at the end holds other objects and no attribute of its own: then nothing was cut."""
    holds = "{}" in own[1:]
    return holds and not any(_attribute(key, names) for key in _OPEN_KEY.findall(own[:_REPAIR_SLICE]))


def _persona(request: Request, index: int, attributes: dict[str, str | None]) -> Record:
    return Record(request=request.index, repeat=request.repeat, index=index, outcome=Outcome.OK, attributes=attributes)


def _record(request: Request, index: int, outcome: Outcome, reason: str) -> Record:
    return Record(request=request.index, repeat=request.repeat, index=index, outcome=outcome, reason=reason)


def call_outcome(records: Sequence[Record]) -> Outcome:
    """What became of a call: ``ok`` when any record is usable, ``truncated`` when one was cut off, else its first outcome."""
    if not records:
        raise ValueError("call_outcome expects the records of one call, at least one; read_personas never returns none")
    outcomes = [record.outcome for record in records]
    return next((one for one in (Outcome.OK, Outcome.TRUNCATED) if one in outcomes), outcomes[0])
