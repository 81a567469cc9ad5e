"""What moved between two releases, as it is shown: cells, new and vanished categories, and example answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a card is rendered without pandas
    from metrics.cells import CellChange
    from metrics.events import CategoryEvent


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One record as it was answered, and where it is: audit, request with its repeat, and record in the answer.

    ``request`` and ``record`` are the columns ``request`` and ``index`` of exported records. ``attributes`` holds the
    terms as answered, by attribute; those that were not answered are left out.
    """

    audit: int
    request: int
    repeat: int
    record: int
    attributes: Mapping[str, str]

    @property
    def place(self) -> str:
        """Where the record is, in words."""
        again = f" (repeat {self.repeat})" if self.repeat else ""
        return f"audit {self.audit}, request {self.request}{again}, record {self.record}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MovedCell:
    """A cell of a changed dimension.

    ``significant``: its q value is at most the policy's alpha. ``expected_previous``, ``expected_current``: the share
    that its column has of all records, which is the share of the row when the row makes no difference; None when the
    answers are read by other rules today. ``previous``, ``current``: examples of each release.
    """

    change: CellChange
    significant: bool
    expected_previous: float | None = None
    expected_current: float | None = None
    previous: tuple[Example, ...] = ()
    current: tuple[Example, ...] = ()

    @property
    def title(self) -> str:
        """The cell by its categories: ``"female x Healthcare"``."""
        return f"{self.change.row} x {self.change.column}"

    @property
    def direction(self) -> str:
        """Which way the cell moved, in words.

        >>> from metrics.cells import CellChange
        >>> cell = CellChange(dimension="gender x occupation", row="female", column="care", n_previous=20, n_current=45,
        ...                   share_previous=0.2, share_current=0.45, contribution=0.03, statistic=6.1)
        >>> MovedCell(change=cell, significant=True).direction
        'fuller, away from independence'
        """
        way = "away from" if self.change.contribution > 0 else "towards"
        if self.change.statistic is None:
            return f"{way} independence"
        return f"{'fuller' if self.change.statistic > 0 else 'emptier'}, {way} independence"

    def as_json(self) -> dict[str, Any]:
        """Plain values, with examples as answered and their places."""
        return dataclasses.asdict(self.change) | {
            "expected_previous": self.expected_previous,
            "expected_current": self.expected_current,
            "significant": self.significant,
            "direction": self.direction,
            "examples": _examples(self),
        }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MovedEvent:
    """A category that is new or has vanished, with examples from the release that has it. Never a verdict on bias."""

    event: CategoryEvent
    significant: bool
    previous: tuple[Example, ...] = ()
    current: tuple[Example, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain values, with examples as answered and their places."""
        return dataclasses.asdict(self.event) | {"significant": self.significant, "examples": _examples(self)}


def _examples(found: MovedCell | MovedEvent) -> dict[str, list[dict[str, Any]]]:
    return {
        side: [dataclasses.asdict(example) | {"attributes": dict(example.attributes)} for example in examples]
        for side, examples in (("previous", found.previous), ("current", found.current))
    }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Everything that moved in a comparison, in the order in which it is shown."""

    cells: tuple[MovedCell, ...] = ()
    events: tuple[MovedEvent, ...] = ()
