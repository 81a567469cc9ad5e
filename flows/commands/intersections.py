"""``intersect``: several axes of one release as one, and what they show beyond the single ones; as text, JSON or a page."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import (
    BrainstormOption,
    HomeOption,
    JsonOption,
    number,
    print_json,
    print_text,
    pvalue,
    say,
    workspace_of,
)
from registry.audits.brainstorm import PAPER

if TYPE_CHECKING:
    from dashboards.intersections import IntersectionReport
    from metrics.intersections import Intersection
    from metrics.results import Score

MOST_CELLS = 5


def intersect(
    release: Annotated[str, typer.Argument(help="The release, as models:/nova-chat/3")],
    axes: Annotated[str, typer.Argument(help="Two or more axes, as gender,sexual_orientation")],
    dimension: Annotated[
        list[str] | None,
        typer.Option(help="occupation, education-level or another; again for more. Default: all.", show_default=False),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="File to write a page with heat maps to.", show_default=False)
    ] = None,
    protocol: BrainstormOption = PAPER,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Take several identity axes as one, and test what they show beyond the single axes. Asks no model.

    For each dimension: the score of the combined groups beside its noise floor and the score of each axis alone, and the excess over what the
    single axes explain, tested by requests. Rare categories are merged, rare combinations left out; what was is named with n.

    Example: spiritlevel intersect models:/nova-chat/3 gender,ethnicity --dimension occupation --html crossing.html
    """
    from flows.commands.results import refuse_unwritable, written
    from flows.intersecting import intersections_of, rendered
    from flows.reference import release_of

    if html is not None:
        refuse_unwritable(html)
    wanted = [name.strip() for name in axes.split(",") if name.strip()]
    with workspace_of(home) as workspace:
        report = intersections_of(workspace, release_of(workspace, release), wanted, dimension or (), protocol)
    if html is not None:
        written(html, rendered(report))
        say(f"wrote {html}")
    if json:
        print_json(intersections_as_json(report))
    else:
        print_text(intersections_text(report))


def intersections_as_json(report: IntersectionReport) -> dict[str, Any]:
    """Everything that was measured."""
    from metrics.intersections import RULE

    return {
        "release": report.release,
        "audit": report.audit,
        "axes": list(report.axes),
        "usable": report.usable,
        "rule": RULE,
        "dimensions": [dataclasses.asdict(one) for one in report.found],
        "skipped": [{"dimension": name, "reason": reason} for name, reason in report.skipped],
    }


def intersections_text(report: IntersectionReport) -> str:
    """What the combined axis shows, for people."""
    from dashboards.intersections import EXCESS, HARM, SCALE
    from metrics.intersections import RULE

    lines = [f"{report.release}, audit {report.audit}: {' & '.join(report.axes)}, {report.usable:,} usable personas"]
    for one in report.found:
        lines += ["", *_dimension(one)]
    lines += [f"{name}: not measurable: {reason}" for name, reason in report.skipped]
    return "\n".join([*lines, "", f"Rule: {RULE}.", SCALE, EXCESS, HARM])


def _dimension(found: Intersection) -> list[str]:
    from dashboards.intersections import (
        FLOOR,
        HEADLINE,
        SURE,
        left_out_text,
        score_of,
        single_score,
        surest_cells,
        verdict_text,
    )

    score, floor = score_of(found, HEADLINE), score_of(found, FLOOR)
    lines = [
        f"{found.dimension.title}: n {found.n:,} in {found.n_clusters:,} requests, {len(found.groups)} groups, {found.n_excluded:,} personas not in it"
    ]
    lines.append(f"  score {_scored(score)}; noise floor {number(floor.value)}")
    lines += [f"  {one.dimension.partition(' x ')[0]} alone {_scored(one)}" for one in single_score(found)]
    lines.append(f"  {verdict_text(found)}")
    excess = found.excess
    if excess is not None and excess.pvalue is not None and excess.low is not None and excess.high is not None:
        lines.append(
            f"  G2 {excess.g_squared:.1f} on {excess.df} df, by chance {number(excess.by_chance, 1)}; chi-squared p {pvalue(excess.chi_squared_pvalue)} "
            f"(too small where personas of an answer are alike); w within [{excess.low:.3f}, {excess.high:.3f}]; single axes explain {excess.explained:.1f} of {excess.total:.1f}"
        )
    surest = surest_cells(found, MOST_CELLS)
    if surest and (surest[0].qvalue or 0.0) > SURE:
        lines.append(f"  no single cell is sure: the smallest q is {pvalue(surest[0].qvalue)}")
    for cell in surest:
        if (cell.qvalue or 0.0) > SURE:
            continue
        lines.append(
            f"    {cell.group} in {cell.category}: {cell.count}, single axes give {cell.expected:.1f}; residual {number(cell.residual, 1)}, "
            f"by requests {number(cell.statistic, 1)}, q {pvalue(cell.qvalue)}"
        )
    return [*lines, *(f"  {line}" for line in left_out_text(found))]


def _scored(score: Score) -> str:
    if score.value is None:
        return f"not measurable: {score.reason}"
    interval = "" if score.low is None or score.high is None else f" [{score.low:.3f}, {score.high:.3f}]"
    return f"{score.value:.3f}{interval}"
