"""Whole JSON objects salvaged from any text, in time that grows with its length.

One pass over the brackets finds the objects; each is read from its own text alone, the objects inside it cut out, so that
no character is read twice, whatever the nesting. A repairer of loose JSON (single quotes, trailing commas) is only shown
slices whose braces are balanced: it completes nothing that was cut off.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

# A JSON string holds no line break: ending one there keeps a stray quotation mark from swallowing what follows.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\(?:.|\Z))*+(?:"|(?=\n)|\Z)|[{\[]+|[}\]]', re.DOTALL)
_OPENING = re.compile(r"[{\[]+")
_OPEN_KEY = re.compile(r"[\"'“‘](\w[^\"'“”‘’\n:{}\[\],]{0,40})[\"'”’]\s*:")
_SMART_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
_REPAIR_SLICE = 20_000  # characters of one object that the repairer is shown
_REPAIR_BUDGET = 200_000  # characters it is shown of one answer: it is slow, and hostile text could be all repairs
_REPAIR_FEE = 200  # characters that one repair counts at least
_DEEPEST_RUN = 500  # brackets that are opened without anything between them and still mean something


class Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object as its pairs, in order: a repeated key is still there to be judged."""


class Node(NamedTuple):
    """One whole object: its pairs (None when unreadable) and the whole objects inside it."""

    pairs: Pairs | None
    children: list[Node]
    quiet: bool = False  # inside an object that was cut off: a value of it, unless it is a whole persona


class Scan(NamedTuple):
    """What the brackets of a text say: its whole objects, and what was still open at its end; ``value`` when all of it is JSON."""

    nodes: list[Node]
    cut: bool  # an object was cut off (an open wrapper around whole objects was not)
    unclosed: bool
    value: Any = None


def loaded(text: str) -> Any:
    """Strict JSON with numbers kept as written; None when it is not JSON."""
    try:
        return json.loads(
            text, strict=False, object_pairs_hook=Pairs, parse_int=str, parse_float=str, parse_constant=str
        )
    except (ValueError, RecursionError):
        return None


def _repaired(text: str) -> Pairs | None:
    """Loose JSON of one brace-balanced object, as its pairs; None when nothing sensible came out."""
    import json_repair

    try:
        value = json_repair.loads(text if '"' in text else text.translate(_SMART_QUOTES), skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError, KeyError, AttributeError):
        return None
    return Pairs((str(key), item) for key, item in value.items()) if isinstance(value, dict) else None


def _nodes_of(value: Any) -> list[Node]:
    """The objects of a parsed JSON value as a forest, in document order."""
    roots: list[Node] = []
    pending: list[tuple[Any, list[Node]]] = [(value, roots)]
    while pending:
        item, siblings = pending.pop()
        if isinstance(item, Pairs):
            node = Node(item, [])
            siblings.append(node)
            inner: Iterable[Any] = (inside for _, inside in item)
            siblings = node.children
        elif isinstance(item, list):
            inner = item
        else:
            continue
        pending.extend((inside, siblings) for inside in reversed([*inner]) if isinstance(inside, (Pairs, list)))
    return roots


def _filled(pairs: Pairs, inside: Sequence[Node]) -> Pairs:
    """The pairs with the objects that were cut out of their text put back; as they are when it is not plain which is which."""
    if _empty_objects(pairs) != len(inside):
        return pairs
    rest = iter(inside)
    filled: Pairs = _put_back(pairs, rest)
    return filled


def _empty_objects(value: Any) -> int:
    if isinstance(value, (Pairs, dict)) and not value:
        return 1
    if isinstance(value, Pairs):
        return sum(_empty_objects(item) for _, item in value)
    return sum(map(_empty_objects, value)) if isinstance(value, list) else 0


def _put_back(value: Any, rest: Iterator[Node]) -> Any:
    if isinstance(value, (Pairs, dict)) and not value:
        pairs = next(rest).pairs
        return Pairs() if pairs is None else pairs
    if isinstance(value, Pairs):
        return Pairs((key, _put_back(item, rest)) for key, item in value)
    return [_put_back(item, rest) for item in value] if isinstance(value, list) else value


class _Reader:
    """One pass over the brackets of a text. Holds what is open; makes a node of each object that closes."""

    def __init__(self, text: str, hint: re.Pattern[str], known: Callable[[str], bool]) -> None:
        self.text = text
        self.known = known
        self.budget = _REPAIR_BUDGET
        self.hints = [match.start() for match in hint.finditer(text)]
        self.open: list[int] = []  # positions of open brackets, and how many there are of each kind
        self.counts = {"{": 0, "[": 0}
        # Whole objects by the position of the bracket they stand in; -1 when in none.
        self.inside: dict[int, list[tuple[int, int, Node]]] = {}

    def scan(self) -> Scan:
        if not self.hints:
            cut = self.text.rfind("{") > self.text.rfind("}")
            return Scan([], cut, cut)
        text, stack, counts, position = self.text, self.open, self.counts, 0
        while match := (_TOKEN if stack else _OPENING).search(text, position):
            start, position = match.span()
            mark = text[start]
            if mark in counts:
                for opened in range(max(start, position - _DEEPEST_RUN), position):
                    stack.append(opened)
                    counts[text[opened]] += 1
            elif mark == "}":
                self._close("{", position)
            elif mark == "]":
                self._close("[", position)
        return self._result()

    def _close(self, bracket: str, end: int) -> None:
        """Close the innermost open ``bracket``; what stands open inside it is broken and only gives up its objects."""
        if not self.counts[bracket]:
            return
        groups: list[list[tuple[int, int, Node]]] = []
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

    def _own(self, start: int, end: int, held: Iterable[tuple[int, int, Node]]) -> str:
        """An object's own text: the objects inside it are cut out, so that no character is read twice."""
        pieces, position = [], start
        for inner_start, inner_end, _ in held:
            pieces += [self.text[position:inner_start], "{}"]
            position = inner_end
        return "".join([*pieces, self.text[position:end]])

    def _node(self, start: int, end: int, held: list[tuple[int, int, Node]]) -> Node:
        own = self._own(start, end, held)
        pairs = loaded(own)
        if not isinstance(pairs, Pairs):
            pairs = None
            if len(own) <= min(_REPAIR_SLICE, self.budget):
                self.budget -= max(len(own), _REPAIR_FEE)
                pairs = _repaired(own)
        inside = [node for _, _, node in held]
        return Node(_filled(pairs, inside) if pairs is not None and inside else pairs, inside)

    def _result(self) -> Scan:
        nodes = [node for _, _, node in self.inside.get(-1, ())]
        quiet = cut = keyed = False
        for position, end in zip(self.open, [*self.open, len(self.text)][1:], strict=True):
            held = self.inside.get(position, [])
            brace = self.text[position] == "{"
            if brace and not held and end - position < 5:  # nothing can be said in it
                keyed, cut = False, True
            elif brace:
                own = self._own(position, end, held)[:_REPAIR_SLICE]
                keyed = any(map(self.known, _OPEN_KEY.findall(own)))
                quiet, cut = quiet or keyed, True
            # A wrapper that is still open around whole objects lost nothing that is known of.
            cut = cut and not (held and not keyed)
            nodes += [node._replace(quiet=quiet) for _, _, node in held]
        return Scan(nodes, cut, bool(self.open))


def outside_brackets(text: str) -> str:
    """What stands outside all brackets, by the brackets alone.

    >>> outside_brackets('Here: [{"a": "]"}] done')
    'Here:  done'
    """
    depth, edge, pieces, position = 0, 0, [], 0
    while match := (_TOKEN if depth else _OPENING).search(text, position):
        start, position = match.span()
        if text[start] in "{[":
            if not depth:
                pieces.append(text[edge:start])
            depth += position - start
        elif text[start] in "}]":
            depth -= 1
            edge = position
    return "".join([*pieces, "" if depth else text[edge:]])


def salvaged(text: str, hint: re.Pattern[str], known: Callable[[str], bool]) -> Scan:
    """The objects of a text: by the JSON reader when all of it is JSON, else by its brackets.

    ``hint`` finds what any object of interest must contain; objects without it are passed over. ``known`` tells whether
    a key belongs to such an object: one that is still open at the end and has such a key was cut off.

    >>> scan = salvaged('Sure: [{"a": 1}, {"a": 2', re.compile("a"), "a".__eq__)
    >>> [node.pairs for node in scan.nodes], scan.cut
    ([(('a', '1'),)], True)
    """
    value = loaded(text) if text.strip() else None
    if isinstance(value, str):  # JSON inside a JSON string
        text, value = value, loaded(value)
    if isinstance(value, (Pairs, list)):
        return Scan(_nodes_of(value), False, False, value)
    if "{" in text:
        return _Reader(text, hint, known).scan()
    return Scan([], False, text.lstrip()[:1] == "[")
