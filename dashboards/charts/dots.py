"""Rows of marks with their intervals on one scale: what the charts of concentration and of odds are drawn with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dashboards.charts.parts import NARROW, WIDE, clipped, marks, strokes, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEFT, _RIGHT = {False: 252, True: 20}, {False: 100, True: 20}
_HEAD, _TICKS, _KEY, _NOTE = 24, 22, 22, 17
_FIRST = 6
_KEY_LETTERS = 22


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How one kind of mark is drawn, and what it is called in the key."""

    title: str
    marker: str
    colour: str
    hollow: bool = False
    line: Any = "-"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One number; without value or bounds its place is taken by ``instead``."""

    look: Look
    value: float | None
    low: float | None
    high: float | None
    filled: bool | None = None
    instead: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DotRow:
    """A row: its name, its marks from top to bottom, the size of what they rest on; ``heading`` stands above it."""

    name: str
    dots: tuple[Dot, ...]
    size: str
    heading: str = ""
    bold: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """From numbers to places: ``share`` of the way from the low to the high end, ticks, and a value that is marked."""

    share: Callable[[float], float]
    ticks: tuple[tuple[float, str], ...]
    reference: float | None = None


class DotPlot:
    """Rows on a scale, with a key and notes below; ``sizes`` is room for long sizes at the right of the wide picture, in pixels."""

    def __init__(
        self,
        rows: Sequence[DotRow],
        scale: Scale,
        looks: Sequence[Look],
        notes: Callable[[bool], list[str]],
        *,
        sizes: int = 0,
    ) -> None:
        self.rows, self.scale, self.looks, self.notes = rows, scale, looks, notes
        self.lanes = max(len(row.dots) for row in rows)
        self._right = {False: _RIGHT[False] + sizes, True: _RIGHT[True]}

    def height(self, row: DotRow, narrow: bool) -> int:
        return 12 * max(len(row.dots), 1) + 12 + (16 if narrow else 0) + (_HEAD if row.heading else 0)

    def size(self, narrow: bool) -> tuple[int, int]:
        inner = sum(self.height(row, narrow) for row in self.rows)
        places = self._key_places(narrow)
        key = _KEY * (places[-1][1] + 1) if places else 0
        return (NARROW if narrow else WIDE), _FIRST + inner + _TICKS + key + _NOTE * len(self.notes(narrow)) + 8

    def across(self, value: float, narrow: bool) -> float:
        left, right = _LEFT[narrow], (NARROW if narrow else WIDE) - self._right[narrow]
        return left + (right - left) * min(max(self.scale.share(value), 0.0), 1.0)

    def draw(self, axes: Axes, narrow: bool) -> None:
        inner = _FIRST + sum(self.height(row, narrow) for row in self.rows)
        for value, label in self.scale.ticks:
            x = self.across(value, narrow)
            strokes(axes, [[(x, _FIRST), (x, inner)]], alpha=0.25, linestyle=":")
            axes.text(x, inner + 10, label, **words(ha="center", size=9.5))
        if self.scale.reference is not None:
            x = self.across(self.scale.reference, narrow)
            strokes(axes, [[(x, _FIRST), (x, inner)]], linewidth=1.4)
        top = _FIRST
        for row in self.rows:
            self._row(axes, row, top, narrow)
            top += self.height(row, narrow)
        self._key(axes, inner + _TICKS, narrow)

    def _row(self, axes: Axes, row: DotRow, top: int, narrow: bool) -> None:
        width = self.size(narrow)[0]
        if row.heading:
            axes.text(6, top + 13, clipped(row.heading, 50 if narrow else 100), **words(weight="bold", size=11))
            top += _HEAD
        strokes(axes, [[(6, top), (width - 6, top)]], alpha=0.12)
        weight = "bold" if row.bold else "normal"
        first = top + 12 + (16 if narrow else 0)
        middle = top + 9 if narrow else first + 12 * (len(row.dots) - 1) / 2
        axes.text(6, middle, clipped(row.name, 36 if narrow else 38), **words(weight=weight))
        axes.text(width - 6, middle, row.size, **words(ha="right", size=9))
        for lane, dot in enumerate(row.dots):
            self._dot(axes, dot, first + 12 * lane, narrow)

    def _dot(self, axes: Axes, dot: Dot, y: float, narrow: bool) -> None:
        if dot.value is None or dot.low is None or dot.high is None:
            axes.text(_LEFT[narrow] + 4, y, f"{dot.look.title}: {dot.instead}", **words(size=9, style="italic"))
            return
        look = dot.look
        ends = [self.across(dot.low, narrow), self.across(dot.high, narrow)]
        strokes(axes, [[(ends[0], y), (ends[1], y)]], color=look.colour, linewidth=1.8, linestyle=look.line)
        for bound, end, arrow in ((dot.low, ends[0], "<"), (dot.high, ends[1], ">")):
            if not 0 <= self.scale.share(bound) <= 1:
                marks(axes, [(end, y)], arrow, color=look.colour, markersize=4.5)
        if not 0 <= self.scale.share(dot.value) <= 1:
            return  # at the edge it would stand for another number; the arrow says that it lies beyond
        hollow = look.hollow if dot.filled is None else not dot.filled
        face = "none" if hollow else look.colour
        x = self.across(dot.value, narrow)
        marks(axes, [(x, y)], look.marker, color=look.colour, markerfacecolor=face, markersize=5.5)

    def _key_places(self, narrow: bool) -> list[tuple[float, int]]:
        """Where each entry of the key begins, and in which line; none for a single look, which the title explains."""
        if len(self.looks) < 2:
            return []
        places, x, line = list[tuple[float, int]](), 6.0, 0
        for look in self.looks:
            wide = 25 + 6.4 * min(len(look.title), _KEY_LETTERS) + 18
            if x > 6 and x + wide - 18 > (NARROW if narrow else WIDE):
                x, line = 6.0, line + 1
            places.append((x, line))
            x += wide
        return places

    def _key(self, axes: Axes, top: int, narrow: bool) -> None:
        places = self._key_places(narrow)
        for look, (x, line) in zip(self.looks, places, strict=False):
            y = top + 8 + _KEY * line
            strokes(axes, [[(x, y), (x + 18, y)]], color=look.colour, linewidth=1.8, linestyle=look.line)
            face = "none" if look.hollow else look.colour
            marks(axes, [(x + 9, y)], look.marker, color=look.colour, markerfacecolor=face, markersize=5.5)
            axes.text(x + 25, y, clipped(look.title, _KEY_LETTERS), **words(size=9.5))
        top += _KEY * (places[-1][1] + 1) if places else 0
        for number, text in enumerate(self.notes(narrow)):
            axes.text(6, top + 8 + _NOTE * number, text, **words(size=9 if narrow else 9.5))
