"""A long history made readable: of each release the newest audit of a day, week, month, quarter or year."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar


class Dated(Protocol):
    """An audit in a history."""

    @property
    def version(self) -> int: ...

    @property
    def day(self) -> str: ...


T = TypeVar("T", bound=Dated)

_PERIODS: dict[str, Callable[[dt.date], tuple[int, ...]]] = {
    "day": lambda day: (day.toordinal(),),
    "week": lambda day: day.isocalendar()[:2],
    "month": lambda day: (day.year, day.month),
    "quarter": lambda day: (day.year, (day.month - 1) // 3),
    "year": lambda day: (day.year,),
}


def thinned(points: Sequence[T], most: int) -> tuple[tuple[T, ...], str]:
    """At most ``most`` audits, and of which period one is shown for each release; empty when all of them are.

    ``points`` are in the order in which they are shown, the newest of a release last. The shortest period is taken by which
    there are few enough; when there are more releases than ``most``, the newest audits of the newest releases are left.

    >>> class Point:
    ...     def __init__(self, version, day):
    ...         self.version, self.day = version, day
    >>> weekly = [Point(1, f"2026-01-{day:02}") for day in (5, 12, 19, 26)] + [Point(1, "2026-02-02")]
    >>> [[point.day for point in found] + [period] for found, period in (thinned(weekly, 5), thinned(weekly, 3))]
    [['2026-01-05', '2026-01-12', '2026-01-19', '2026-01-26', '2026-02-02', ''], ['2026-01-26', '2026-02-02', 'month']]
    """
    if len(points) <= most:
        return tuple(points), ""
    days = [_date(point.day) for point in points]
    for name, period in _PERIODS.items():
        newest = {(point.version, *period(day)): at for at, (point, day) in enumerate(zip(points, days, strict=True))}
        if len(newest) <= most:
            return tuple(points[at] for at in sorted(newest.values())), name
    last = {point.version: at for at, point in enumerate(points)}
    return tuple(points[at] for at in sorted(last.values())[-most:]), "release"


def _date(text: str) -> dt.date:
    """The date at the beginning of a text; of one that another tool wrote and that is none, the first there is."""
    try:
        return dt.date.fromisoformat(text[:10])
    except ValueError:
        return dt.date.min
