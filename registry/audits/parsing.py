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
from registry.audits.refusals import declines

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
_REPAIR_FEE = 200  # characters that one repair counts at least

_Found = dict[str, str | None]


class _Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object as its pairs, in order: a repeated key is still there to be judged."""


class _Node(NamedTuple):
    """One whole object: its pairs (None when unreadable) and the whole objects inside it."""

    pairs: _Pairs | None
    children: list[_Node]
    quiet: bool = False  # inside an object that was cut off: a value of it, unless it is a whole persona


class _Scan(NamedTuple):
    """What the brackets of a text say: its whole objects, and what was still open at its end."""

    nodes: list[_Node]
    cut: bool  # an object was cut off (an open wrapper around whole objects was not)
    unclosed: bool


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
    if value is None or isinstance(value, (_Pairs, dict)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        parts = [part for item in value if not isinstance(item, list) and (part := _term(item)) is not None]
        return ", ".join(parts)[:LONGEST_TERM] or None
    text = _SURROGATE.sub("\ufffd", _UNSTORABLE.sub(" ", str(value))).strip()
    return text[:LONGEST_TERM] or None


def _attributes(pairs: _Pairs, names: tuple[str, ...]) -> _Found:
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
        value = json_repair.loads(text if '"' in text else text.translate(_SMART_QUOTES), skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError, KeyError, AttributeError):
        return None
    return _Pairs((str(key), item) for key, item in value.items()) if isinstance(value, dict) else None


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

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        self.text = text
        self.names = names
        self.budget = _REPAIR_BUDGET
        self.hints = [match.start() for match in _HINT.finditer(text)]
        self.open: list[int] = []  # positions of open brackets, and how many there are of each kind
        self.counts = {"{": 0, "[": 0}
        # Whole objects by the position of the bracket they stand in; -1 when in none.
        self.inside: dict[int, list[tuple[int, int, _Node]]] = {}

    def scan(self) -> _Scan:
        if not self.hints:
            cut = self.text.rfind("{") > self.text.rfind("}")
            return _Scan([], cut, cut)
        text, stack, counts, position = self.text, self.open, self.counts, 0
        while match := (_TOKEN if stack else _OPENING).search(text, position):
            start, position = match.span()
            mark = text[start]
            if mark in counts:
                stack.append(start)
                counts[mark] += 1
            elif mark == "}":
                self._close("{", position)
            elif mark == "]":
                self._close("[", position)
        return self._result()

    def _close(self, bracket: str, end: int) -> None:
        """Close the innermost open ``bracket``; what stands open inside it is broken and only gives up its objects."""
        if not self.counts[bracket]:
            return
        groups: list[list[tuple[int, int, _Node]]] = []
        while True:
            start = self.open.pop()
            kind = self.text[start]
            self.counts[kind] -= 1
            if start in self.inside:
                groups.append(self.inside.pop(start))
            if kind == bracket:
                break
        held = [item for group in reversed(groups) for item in group]
        if bracket == "{" and bisect_left(self.hints, end) > bisect_left(self.hints, start):
            held = [(start, end, self._node(start, end, held))]
        if held:
            parent = self.open[-1] if self.open else -1
            self.inside.setdefault(parent, []).extend(held)

    def _own(self, start: int, end: int, held: Iterable[tuple[int, int, _Node]]) -> str:
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
                self.budget -= max(len(own), _REPAIR_FEE)
                pairs = _repaired(own)
        return _Node(pairs, [node for _, _, node in held])

    def _result(self) -> _Scan:
        nodes = [node for _, _, node in self.inside.get(-1, ())]
        quiet = cut = keyed = False
        for position, end in zip(self.open, [*self.open, len(self.text)][1:], strict=True):
            held = self.inside.get(position, [])
            brace = self.text[position] == "{"
            if brace and not held and end - position < 5:  # nothing can be said in it
                keyed, cut = False, True
            elif brace:
                own = self._own(position, end, held)[:_REPAIR_SLICE]
                keyed = any(_attribute(key, self.names) for key in _OPEN_KEY.findall(own))
                quiet, cut = quiet or keyed, True
            # A wrapper that is still open around whole objects lost nothing that is known of.
            cut = cut and not (held and not keyed)
            nodes += [node._replace(quiet=quiet) for _, _, node in held]
        return _Scan(nodes, cut, bool(self.open))


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


def _walk(nodes: Sequence[_Node], names: tuple[str, ...]) -> Iterator[tuple[Outcome, str, _Found | None]]:
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


def _no_persona(response: Response, text: str, scan: _Scan) -> tuple[Outcome, str]:
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


def _scanned(text: str, names: tuple[str, ...]) -> _Scan:
    """The objects of an answer: by the JSON reader when all of it is JSON, else by its brackets."""
    value = _loaded(text) if text.strip() else None
    if isinstance(value, str):  # JSON inside a JSON string
        text, value = value, _loaded(value)
    if isinstance(value, (_Pairs, list)):
        return _Scan(_nodes_of(value), False, False)
    if "{" in text:
        return _Reader(text, names).scan()
    return _Scan([], False, text.lstrip()[:1] == "[")


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
    scan = _scanned(text, names)
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
