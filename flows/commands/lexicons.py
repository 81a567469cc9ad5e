"""``lexicon``: the word lists that messages are measured with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import HomeOption, JsonOption, home_of, print_json, print_text

if TYPE_CHECKING:
    from metrics.lexicon import Lexicon

app = typer.Typer(help="The word lists that messages are measured with.", no_args_is_help=True)


@app.command()
def add(
    kind: Annotated[
        str,
        typer.Argument(help="connotation-frames (the CSV of Sap et al. 2017), or file (a lexicon of your own, TOML)."),
    ],
    file: Annotated[Path, typer.Argument(help="The file.")],
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Check a lexicon and keep a copy in the home folder.

    The agency verbs of Sap et al. are under GPL-3.0 and do not come along; with them paper mode is the published
    computation. Messages that were scored before are scored anew, and no model is asked.

    Example: spiritlevel lexicon add connotation-frames agency_power.csv
    """
    from flows.lexicons import added

    place = home_of(home)
    place.make()
    lexicon, path = added(place, kind, file)
    if json:
        print_json(_as_json(lexicon) | {"file": str(path)})
        return
    print_text(_line(lexicon))
    if not lexicon.recognised:
        print_text("its content is not the one that was published in 2017: check where it is from")


@app.command(name="list")
def list_command(json: JsonOption = False, home: HomeOption = None) -> None:
    """The lexicons that there are, with source, licence and size.

    Example: spiritlevel lexicon list
    """
    from flows.lexicons import stored_lexicons
    from metrics.lexicon import lexicon_names, load_lexicon

    found = [load_lexicon(name) for name in lexicon_names()] + list(stored_lexicons(home_of(home)).values())
    if json:
        print_json([_as_json(lexicon) for lexicon in found])
    else:
        print_text("\n".join(map(_line, found)))


def _as_json(lexicon: Lexicon) -> dict[str, Any]:
    sizes = {name: len(entries) for name, entries in lexicon.classes.items()}
    names = ("name", "title", "source", "licence", "version", "unit", "recognised", "digest")
    return {name: getattr(lexicon, name) for name in names} | {"classes": sizes}


def _line(lexicon: Lexicon) -> str:
    sizes = ", ".join(f"{len(entries)} {name}" for name, entries in lexicon.classes.items())
    return f"{lexicon.name:24} {sizes} ({lexicon.unit}); {lexicon.licence}, version {lexicon.version}"
