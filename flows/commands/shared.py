"""What all commands share: the home option, exit codes, and how things are printed."""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.settings import Home
from registry.stores import harmless

if TYPE_CHECKING:
    from rich.console import Console

    from flows.workspace import Workspace


class Exit(enum.IntEnum):
    """What a command's exit code means."""

    OK = 0
    REGRESSED = 1
    BAD_INPUT = 2
    INCONCLUSIVE = 3
    INTERNAL = 70


HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Folder that holds all state. Default: $SPIRITLEVEL_HOME, else the user's data folder.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines instead of text.")]
ProtocolOption = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help="Which instrument, such as persona-brainstorm. Needed when more than one was run.",
        show_default=False,
    ),
]

BrainstormOption = Annotated[
    str, typer.Option("--protocol", help="Which brainstorm, when others than the paper's were run as well.")
]

_chosen_home: list[Path] = []  # given before the command: spiritlevel --home DIR audit ...


def choose_home(path: Path | None) -> None:
    """Remember a home folder that was given before the command's name."""
    _chosen_home[:] = [path] if path else []


def home_of(path: Path | None) -> Home:
    """The home folder of this call: the command's own option, the global one, the environment, the default."""
    if path:
        choose_home(path)  # an error on the way out is written there too, and nowhere else
    return Home(_chosen_home[0] if _chosen_home else None)


@contextmanager
def workspace_of(path: Path | None) -> Iterator[Workspace]:
    """The opened workspace of this call."""
    from flows.workspace import opened

    with opened(home_of(path), say) as workspace:
        workspace.measuring = _measuring
        yield workspace


def _measuring(label: str, what: str) -> AbstractContextManager[Callable[[int, int], None]]:
    from flows.commands.progress import counted

    return counted(label, what)


def notes() -> Console:
    """Where progress and remarks go: standard error, so that results can be piped."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """Print a remark; what a model said is text in it, never markup."""
    notes().print(harmless(text), markup=False)


def print_text(text: str) -> None:
    """Print a result to standard output."""
    sys.stdout.write(harmless(text if text.endswith("\n") else text + "\n"))


def print_json(value: Any) -> None:
    """Print one JSON value; NaN can not be in it."""
    print_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str))


def number(value: float | None, digits: int = 3) -> str:
    """A number for a table, or words when there is none.

    >>> number(0.12345), number(None)
    ('0.123', 'not measured')
    """
    return "not measured" if value is None else f"{value:.{digits}f}"


def pvalue(value: float | None) -> str:
    """A p or q value for a table.

    >>> pvalue(0.0004), pvalue(0.03), pvalue(None)
    ('<.001', '.030', '')
    """
    if value is None:
        return ""
    return "<.001" if value < 0.001 else f"{value:.3f}".replace("0.", ".", 1)
