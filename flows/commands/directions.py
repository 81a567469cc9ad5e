"""``directions``: whether gaps between audiences point the same way in several releases."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import HomeOption, JsonOption, print_json, print_text, workspace_of

if TYPE_CHECKING:
    from flows.directions import GapDirections


def directions(
    releases: Annotated[list[str], typer.Argument(help="Two releases or more, best of different families.")],
    paper: Annotated[bool, typer.Option("--paper", help="The measures as the paper computes them.")] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show whether gaps between audiences have the same sign in several releases, and test it.

    Of audits of targeted messages, from stored scores. With three releases even three equal signs have p = .25.

    Example: spiritlevel directions models:/nova-chat/3 models:/vega/1 models:/lyra/2
    """
    from flows.directions import directions as directions_of

    with workspace_of(home) as workspace:
        found = directions_of(workspace, [workspace.releases.find(one) for one in releases], paper=paper)
    if json:
        print_json([_as_json(one) for one in found])
    else:
        print_text(_text(found))


def _as_json(one: GapDirections) -> dict[str, Any]:
    table = dataclasses.asdict(one.table)
    return {"dimension": one.dimension, "metric": one.metric, "groups": one.groups, **table}


def _text(found: tuple[GapDirections, ...]) -> str:
    """A line for each gap: its signs in the order of the releases, a star where an interval excludes 0."""
    names = list(dict.fromkeys(row.name for one in found for row in one.table.rows))
    wide = max(len(one.dimension) for one in found)
    pairs = max(len(one.groups) for one in found)
    head = f"{'gap':{wide}}  {'groups':{pairs}}  signs  {'sign test':>9}  {'equal sizes':>11}  what it comes to"
    lines = [f"{number}: {name}" for number, name in enumerate(names, 1)] + ["", head, "-" * len(head)]
    for one in found:
        rows = {row.name: row for row in one.table.rows}
        signs = " ".join(rows[name].sign + ("*" if rows[name].shown else "") if name in rows else "." for name in names)
        lines.append(
            f"{one.dimension:{wide}}  {one.groups:{pairs}}  {signs:5}  {_p(one.table.pvalue):>9}  "
            f"{_p(one.table.heterogeneity_pvalue):>11}  {one.table.why}"
        )
    return "\n".join(
        [*lines, "", "signs in the order of the releases; *: its 95 % interval excludes 0; .: not measured"]
    )


def _p(value: float | None) -> str:
    return "unknown" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
