"""One catalog class for everything that can be added: protocols, metrics, cues, tasks, channels."""

from __future__ import annotations

import difflib
import importlib.metadata
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from metrics.errors import BadInputError

T = TypeVar("T")
USERS = "a file of the user's home"  # the place of entries that came by `Catalog.keep_files`


class UnknownEntryError(BadInputError, LookupError):
    """No entry of that name; the message names the nearest and lists what is known."""


class DuplicateEntryError(BadInputError):
    """Two definitions of one name; the message names both places."""


class PluginError(BadInputError, ImportError):
    """A plug-in of another distribution does not import; the message names it and the cause."""


class Catalog(Generic[T]):
    """Named entries, registered by decorator or through entry points of other distributions.

    Parameters
    ----------
    kind : what the entries are, for messages (``"audit protocol"``)
    group : entry-point group that other distributions may use (``"spiritlevel.protocols"``)

    Examples
    --------
    >>> shapes = Catalog("shape")
    >>> @shapes.register("square")
    ... class Square: ...
    >>> shapes["square"].__name__
    'Square'
    >>> shapes["sqare"]
    Traceback (most recent call last):
    ...
    metrics.catalog.UnknownEntryError: no shape is named 'sqare'; did you mean 'square'? Known: square
    """

    def __init__(self, kind: str, group: str | None = None) -> None:
        self.kind = kind
        self.group = group
        self._entries: dict[str, T] = {}
        self._places: dict[str, str] = {}
        self._entry_points_loaded = group is None

    def register(self, name: str) -> Callable[[T], T]:
        """Register the decorated object under ``name``; a second definition of a name is refused."""

        def add(entry: T) -> T:
            place = f"{getattr(entry, '__module__', '?')}.{getattr(entry, '__qualname__', type(entry).__qualname__)}"
            if name in self._entries and self._entries[name] is not entry:
                raise DuplicateEntryError(
                    f"{self.kind} {name!r} is defined twice: in {self._places[name]} and in {place}"
                )
            self._entries[name] = entry
            self._places[name] = place
            return entry

        return add

    def is_of_a_file(self, name: str) -> bool:
        """Whether the entry came by `keep_files`."""
        return self._places.get(name) == USERS

    def keep_files(self, entries: Mapping[str, T]) -> None:
        """Register what a user's files say, which may change, in place of what they said before.

        Raises
        ------
        DuplicateEntryError : a name is that of an entry that comes along

        >>> shapes = Catalog("shape")
        >>> shapes.keep_files({"hexagon": 6})
        >>> shapes.keep_files({"pentagon": 5})
        >>> list(shapes)
        ['pentagon']
        """
        for name in entries:
            if name in self._entries and not self.is_of_a_file(name):
                raise DuplicateEntryError(
                    f"{self.kind} {name!r} is defined twice: in {self._places[name]} and in {USERS}"
                )
        for name in [name for name in self._entries if self.is_of_a_file(name)]:
            del self._entries[name], self._places[name]
        self._entries |= entries
        self._places |= dict.fromkeys(entries, USERS)

    def _load_entry_points(self) -> None:
        if self._entry_points_loaded:
            return
        self._entry_points_loaded = True
        for point in importlib.metadata.entry_points(group=self.group or ""):
            try:
                entry = point.load()
            except Exception as error:
                raise PluginError(
                    f"plug-in {point.value!r} for {self.kind} {point.name!r} does not import: {error}"
                ) from error
            self.register(point.name)(entry)

    def __getitem__(self, name: str) -> T:
        self._load_entry_points()
        try:
            return self._entries[name]
        except KeyError:
            near = difflib.get_close_matches(name, self._entries, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise UnknownEntryError(
                f"no {self.kind} is named {name!r}{hint} Known: {', '.join(sorted(self._entries))}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        self._load_entry_points()
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        self._load_entry_points()
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        self._load_entry_points()
        return name in self._entries
