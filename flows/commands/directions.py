"""``directions``: whether gaps between audiences point the same way in several releases."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import HomeOption, JsonOption, print_json, print_text, workspace_of

if TYPE_CHECKING:
    from flows.directions import GapDirections

MOST_ROWS = 20
ALPHA = 0.05
_LEGEND = (
    "signs in the order of the releases; *: its 95 % interval excludes 0; .: not measured; n: messages of a release\n"
    "sign test: exact, two-sided, that either sign is as likely; equal sizes: Cochran's Q; each p is of one gap alone"
)


def directions(
    releases: Annotated[list[str], typer.Argument(help="Two releases or more, best of different families.")],
    paper: Annotated[bool, typer.Option("--paper", help="The measures as the paper computes them.")] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Every gap, with value, interval and size in each release.")
    ] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show whether gaps between audiences have the same sign in several releases, and test it.

    Of audits of targeted messages, from stored scores. With three releases even three equal signs have p = .25. The table has
    the gaps first whose signs agree most surely; --details and --json have all.

    Example: spiritlevel directions models:/nova-chat/3 models:/vega/1 models:/lyra/2
    """
    from flows.directions import directions as directions_of

    with workspace_of(home) as workspace:
        found = directions_of(workspace, [workspace.releases.find(one) for one in releases], paper=paper)
    if json:
        print_json([_as_json(one) for one in found])
    else:
        print_text(directions_details(found) if details else directions_text(found))


def _as_json(one: GapDirections) -> dict[str, Any]:
    table = dataclasses.asdict(one.table)
    return {"dimension": one.dimension, "metric": one.metric, "groups": one.groups, **table}


def directions_text(found: tuple[GapDirections, ...]) -> str:
    """What the gaps come to, and those first whose signs agree most surely."""
    names = list(found[0].releases)
    order = sorted(found, key=_surest)[:MOST_ROWS]
    rest = len(found) - len(order)
    more = [f"{rest:,} more gaps: --details prints all, with values and intervals"] if rest > 0 else []
    return "\n".join([*_numbered(names), "", *_summary(found, len(names)), "", *_table(order, names), *more, _LEGEND])


def directions_details(found: tuple[GapDirections, ...]) -> str:
    """Every gap with its value in each release, and what it comes to in words."""
    names = list(found[0].releases)
    lines = [*_numbered(names), "", *_summary(found, len(names))]
    for one in found:
        lines += ["", f"{one.dimension}, {one.groups}: {one.table.why}"]
        for row in one.table.rows:
            bounds = "no interval" if row.low is None or row.high is None else f"{row.low:+.3f} to {row.high:+.3f}"
            size = f"n {row.n:,} in {row.clusters:,} prompt cells"
            lines.append(f"  {names.index(row.name) + 1}: {row.value:+.3f} ({bounds}), {size}")
        lines += [f"  {names.index(name) + 1}: not measured: {why}" for name, why in one.table.left_out]
        if one.table.pooled is not None and one.table.low is not None and one.table.high is not None:
            lines.append(f"  together: {one.table.pooled:+.3f} ({one.table.low:+.3f} to {one.table.high:+.3f})")
    return "\n".join(lines)


def _numbered(names: list[str]) -> list[str]:
    return [f"{number}: {name}" for number, name in enumerate(names, 1)]


def _surest(one: GapDirections) -> tuple[float, int, str, str]:
    """Smallest p of the sign test first; of equal ones, most gaps that are shown by themselves in one direction."""
    shown = [row.sign for row in one.table.rows if row.shown]
    one_way = max(shown.count("+"), shown.count("-")) - min(shown.count("+"), shown.count("-"))
    return (2.0 if one.table.pvalue is None else one.table.pvalue), -one_way, one.dimension, one.groups


def _summary(found: tuple[GapDirections, ...], releases: int) -> list[str]:
    """How many gaps agree in sign over all releases, how many are shown both ways, and what so few releases can show."""
    agree = [one for one in found if len(one.table.rows) > 1 and len({row.sign for row in one.table.rows}) == 1]
    sure = sum(all(row.shown for row in one.table.rows) for one in agree)
    turned = sum({"+", "-"} <= {row.sign for row in one.table.rows if row.shown} for one in found)
    lines = [
        f"{len(found):,} gaps in {releases} releases: in {len(agree):,} all signs agree, in {sure:,} of these every gap is shown by itself",
        f"{turned:,} are shown in both directions, by one release or more each way",
    ]
    best = min((one.table.smallest_pvalue for one in found if one.table.smallest_pvalue is not None), default=None)
    if best is not None and best > ALPHA:
        lines.append(
            f"so few releases cannot show a common direction: with {releases} equal signs the sign test has p = {best:.2g}"
        )
    else:
        low = sum(one.table.pvalue is not None and one.table.pvalue <= ALPHA for one in found)
        lines.append(
            f"the sign test is at {ALPHA:g} or below in {low:,}; by chance in at most about {ALPHA * len(found):.0f}"
        )
    return lines


def _table(found: list[GapDirections], names: list[str]) -> list[str]:
    wide, pairs = (
        max(len(text) for text in texts) for texts in zip(*((o.dimension, o.groups) for o in found), strict=True)
    )
    signs, sizes = [_signs(one, names) for one in found], [_sizes(one) for one in found]
    across, counted = max(5, *map(len, signs)), max(1, *map(len, sizes))
    head = f"{'gap':{wide}}  {'groups':{pairs}}  {'signs':{across}}  {'n':>{counted}}  {'sign test':>9}  {'equal sizes':>11}"
    lines = [head, "-" * len(head)]
    for one, of, size in zip(found, signs, sizes, strict=True):
        lines.append(
            f"{one.dimension:{wide}}  {one.groups:{pairs}}  {of:{across}}  {size:>{counted}}  {_p(one.table.pvalue):>9}  "
            f"{_p(one.table.heterogeneity_pvalue):>11}"
        )
    return lines


def _signs(one: GapDirections, names: list[str]) -> str:
    """Signs in the order of the releases, two places each."""
    rows = {row.name: row for row in one.table.rows}
    return " ".join(
        rows[name].sign + ("*" if rows[name].shown else " ") if name in rows else ". " for name in names
    ).rstrip()


def _sizes(one: GapDirections) -> str:
    """Messages of the releases: one number where all have the same, else the smallest and the largest."""
    sizes = [row.n for row in one.table.rows]
    if not sizes:
        return "-"
    return f"{min(sizes):,}" if len(set(sizes)) == 1 else f"{min(sizes):,} to {max(sizes):,}"


def _p(value: float | None) -> str:
    return "unknown" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
