"""``brainstorm``: what persona audits ask for, and files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import HomeOption, JsonOption, home_of, print_json, print_text
from registry.audits.brainstorm import PAPER

if TYPE_CHECKING:
    from flows.brainstorms import Added
    from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm

app = typer.Typer(help="What persona audits ask for: axes, dimensions, language, prompt.", no_args_is_help=True)


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="The brainstorm, a TOML file.")],
    attribute: Annotated[
        list[Path] | None,
        typer.Option(
            help="TOML file of an axis or dimension that it asks for and that does not come along; again for more."
        ),
    ] = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Check a brainstorm of your own and keep a copy in the home folder; it is then a protocol by its name.

    An attribute file of your own goes before one of that name that comes along, in this brainstorm only. Workers on other machines
    need the same files.

    Example: spiritlevel brainstorm add travel.toml --attribute destination.toml
    """
    from flows.brainstorms import added

    place = home_of(home)
    place.make()
    made = added(place, file, attribute or ())
    if json:
        print_json(
            {"name": made.asks.name, "files": [str(path) for path in made.files], "replaces": made.before is not None}
        )
    else:
        print_text(_added_text(made))


@app.command(name="list")
def list_command(json: JsonOption = False, home: HomeOption = None) -> None:
    """The brainstorms that there are, with axes, dimensions and who reviewed them.

    Example: spiritlevel brainstorm list
    """
    from flows.brainstorms import every

    found = every(home_of(home))
    if json:
        print_json([_as_json(one) for one in found])
    else:
        print_text("\n".join(map(_line, found)))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="The brainstorm, as persona-brainstorm")],
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """What one asks for: its prompts, and every attribute with its categories, their source and who reviewed them.

    Example: spiritlevel brainstorm show persona-brainstorm
    """
    from flows.brainstorms import named

    found = named(home_of(home), name)
    if json:
        print_json(_as_json(found) | {"attributes": _attributes(found)})
    else:
        print_text(_shown(found))


def _added_text(made: Added) -> str:
    asks = made.asks
    lines = [f"{asks.name}: {len(asks.axes)} axes x {len(asks.dimensions)} dimensions, in {len(made.files)} files"]
    if made.before is not None:
        asked = (made.before.several, made.before.one, made.before.version, made.before.attributes)
        other = asked != (asks.several, asks.one, asks.version, asks.attributes)
        lines.append(
            "it replaces an earlier one that asked otherwise: audits with it are compared with none before"
            if other
            else "it replaces an earlier one that asked the same: stored answers are scored anew when they are next needed"
        )
    lines.append(f"next: spiritlevel audit RELEASE --protocol {asks.name}")
    return "\n".join(lines)


def _as_json(one: PersonaBrainstorm) -> dict[str, Any]:
    asks = one.asks
    names = (
        "name",
        "title",
        "version",
        "language",
        "axes",
        "dimensions",
        "several",
        "one",
        "source",
        "reviewed",
        "limits",
    )
    return {name: getattr(asks, name) for name in names} | {
        "embedded": asks.name == PAPER or bool(asks.terms),
        "scoring": one.scoring_parts(()),
    }


def _attributes(one: PersonaBrainstorm) -> list[dict[str, Any]]:
    names = ("name", "title", "kind", "version", "categories", "source", "reviewed", "place")
    return [{name: getattr(attribute, name) for name in names} for attribute in one.taxonomy.attributes]


def _line(one: PersonaBrainstorm) -> str:
    asks = one.asks
    return (
        f"{asks.name:28} {asks.language}  {', '.join(asks.axes)} x {', '.join(asks.dimensions)}"
        f"; {asks.reviewed or 'as published'}"
    )


def _shown(one: PersonaBrainstorm) -> str:
    asks = one.asks
    lines = [
        f"{asks.name} {asks.version}: {asks.title} ({asks.language})",
        "",
        f"asks for several: {asks.several}",
        f"asks for one: {asks.one}",
        "",
        asks.source,
        f"reviewed: {asks.reviewed or 'as published'}",
        *asks.limits,
    ]
    for attribute in one.taxonomy.attributes:
        lines += [
            "",
            f"{attribute.kind} {attribute.name} ({attribute.place}): {'; '.join(attribute.categories)}",
            f"  {' '.join(attribute.source.split())}",
        ]
        lines += [f"  reviewed: {attribute.reviewed}"] if attribute.reviewed else []
    return "\n".join(lines)
