"""``zoom``: from a dimension to categories, terms and answers, by group and over releases; as text, JSON or a page."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import BrainstormOption, HomeOption, JsonOption, print_json, print_text, say, workspace_of
from registry.audits.brainstorm import PAPER

if TYPE_CHECKING:
    from dashboards.zooms import Moment, ZoomReport
    from metrics.zoom import Zoom, ZoomRow

MOST_ROWS = 20


def zoom(
    release: Annotated[str, typer.Argument(help="The release, as models:/nova-chat/3")],
    dimension: Annotated[str, typer.Argument(help="occupation, education-level or another social dimension")],
    axis: Annotated[str, typer.Option(help="Whose groups: gender, ethnicity or sexual-orientation.")] = "gender",
    category: Annotated[str, typer.Option(help="Down to the terms of a category, as Healthcare.")] = "",
    term: Annotated[str, typer.Option(help="Down to one term, as nurse; capitals and hyphens do not matter.")] = "",
    over_time: Annotated[
        bool, typer.Option("--over-time", help="The category or term in every comparable release of the family.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="File to write a page with all tables to.", show_default=False)
    ] = None,
    protocol: BrainstormOption = PAPER,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Look at one dimension from near: categories, the terms of one, or a term, by group. Asks no model.

    Every number has its interval and n, and the places of the answers that it counts. L1 gaps say how far two groups are apart, top tens what each
    group gets most.

    Example: spiritlevel zoom models:/nova-chat/3 occupation --term nurse --over-time
    """
    from flows.commands.results import refuse_unwritable, written
    from flows.reference import release_of
    from flows.zooming import rendered, zoomed

    if html is not None:
        refuse_unwritable(html)
    with workspace_of(home) as workspace:
        report = zoomed(
            workspace,
            release_of(workspace, release),
            dimension,
            axis=axis,
            category=category,
            term=term,
            over_time=over_time,
            protocol=protocol,
        )
    if html is not None:
        written(html, rendered(report))
        say(f"wrote {html}")
    if json:
        print_json(zoom_as_json(report))
    else:
        print_text(zoom_text(report))


def zoom_as_json(report: ZoomReport) -> dict[str, Any]:
    """Everything, each place with its audit."""
    values = {
        key: getattr(report, key)
        for key in ("release", "model", "audit", "axis", "social", "category", "term", "basis", "up", "down")
    }
    return {
        **values,
        "spellings": [{"text": text, "n": n} for text, n in report.spellings],
        "categories": None if report.categories is None else _level_as_json(report.categories, report.audit),
        "terms": _level_as_json(report.terms, report.audit),
        "gaps": [dataclasses.asdict(gap) for gap in report.gaps],
        "over_time": [_moment_as_json(one) for one in report.over_time],
        "left_out": [{"release": uri, "reason": reason} for uri, reason in report.left_out],
    }


def _level_as_json(level: Zoom, audit: int) -> dict[str, Any]:
    found = dataclasses.asdict(level)
    for row in found["rows"]:
        for cell in row["cells"]:
            cell["places"] = _placed(cell["places"], audit)
    top = {group: [row.label for row in level.top(group)] for group, _, _ in level.groups}
    return {**found, "top": top}


def _placed(places: Any, audit: int) -> list[dict[str, int]]:
    return [{"audit": audit, "request": one, "repeat": again, "record": at} for one, again, at in places]


def _moment_as_json(one: Moment) -> dict[str, Any]:
    cells = [dataclasses.asdict(cell) for cell in one.cells.values()]
    for cell in cells:
        cell["places"] = _placed(cell["places"], one.audit)
    return {"release": one.release, "audit": one.audit, "n": one.n, "of": one.of, "cells": cells}


def zoom_text(report: ZoomReport) -> str:
    """What is near, for people."""
    from dashboards.phrases import visible
    from dashboards.zooms import HARM, READING

    level = report.categories or report.terms
    lines = [
        f"{report.release}, audit {report.audit}: {report.subject} by {report.axis}; {level.n:,} personas in {level.n_clusters:,} requests, "
        f"{level.n_excluded:,} without group or category"
    ]
    if report.term:
        lines += _term_lines(report)
    else:
        if report.categories is not None:
            lines += ["", *_level(report.categories)]
        lines += ["", "terms", *_level(report.terms)]
        lines += [line for group, _, _ in report.terms.groups for line in _top(report, group)]
    lines += ["", *_gaps(report)]
    lines += _time(report)
    lines += ["", READING, HARM, "answers: request.repeat.record; 'spiritlevel export' writes them"]
    lines += [f"up: {report.up}"] if report.up else []
    lines += [f"down: {command}" for command in report.down]
    return visible("\n".join(lines), limit=None, lines=True)


def _shown(text: str, wide: int) -> str:
    from dashboards.phrases import visible

    shown = visible(text, limit=200)
    return shown if len(shown) <= wide else f"{shown[: wide - 1]}…"


def _level(level: Zoom) -> list[str]:
    from dashboards.zooms import cell_text

    heads = [f"{group} (n {n:,})" for group, n, _ in level.groups]
    wide = max([4, *(len(_shown(row.label, 34)) for row in level.rows[:MOST_ROWS])])
    lines = [f"  {'':{wide}}  {'n':>6}  " + "  ".join(f"{_shown(head, 30):30}" for head in heads)]
    for row in level.rows[:MOST_ROWS]:
        cells = "  ".join(f"{cell_text(cell):30}" for cell in row.cells)
        lines.append(f"  {_shown(row.label, 34):{wide}}  {row.n:>6,}  {cells}".rstrip())
    more = len(level.rows) - MOST_ROWS
    if more > 0:
        lines.append(f"  {more:,} more rows: --json and --html have them")
    return lines


def _top(report: ZoomReport, group: str) -> list[str]:
    from dashboards.zooms import cell_text, place_text

    lines = ["", f"top 10 of {_shown(group, 60)}"]
    for row in report.terms.top(group):
        cell = row.cell(group)
        lines.append(f"  {_shown(row.label, 34):34}  {cell_text(cell):30}  answers {place_text(cell, 3)}")
    return lines


def _term_lines(report: ZoomReport) -> list[str]:
    from dashboards.zooms import cell_text, part_text, place_text

    row: ZoomRow = report.terms.rows[0]
    spelled = ", ".join(f"{_shown(text, 60)} ({n:,})" for text, n in report.spellings[:10])
    lines = [f"written as {spelled}; in {report.category or 'no category'}: {report.basis}", ""]
    lines.append(f"  {'group':24}  {'% of the term [95 %] n':28}  {'% of the group [95 %] n, residual':36}  answers")
    return lines + [
        f"  {_shown(cell.group, 24):24}  {part_text(cell):28}  {cell_text(cell):36}  {place_text(cell, 4)}".rstrip()
        for cell in row.cells
    ]


def _gaps(report: ZoomReport) -> list[str]:
    over = f"terms of {report.category}" if report.category else f"categories of {report.social}"
    lines = [f"L1 gap of two groups over {over}, 0 to 200 points"]
    for gap in report.gaps:
        if gap.value is None:
            lines.append(f"  {gap.group}: not measurable: {gap.reason}; n {gap.n:,}")
            continue
        interval = f" [{gap.low:.1f}, {gap.high:.1f}]" if gap.low is not None and gap.high is not None else ""
        lines.append(f"  {gap.group}: {gap.value:.1f}{interval}, n {gap.n:,} ({gap.n_clusters:,}); {gap.method}")
    return lines if report.gaps else [*lines, "  there are no two groups with records"]


def _time(report: ZoomReport) -> list[str]:
    from dashboards.zooms import cell_text, part_text

    if not report.over_time and not report.left_out:
        return []
    lines = ["", "over the releases: % of its personas, and % of the group [95 % interval] number"]
    for one in report.over_time:
        lines.append(f"  {one.release}, audit {one.audit}: {one.n:,} of {one.of:,} personas")
        lines += [
            f"    {_shown(cell.group, 24):24}  {part_text(cell):28}  {cell_text(cell)}" for cell in one.cells.values()
        ]
    return lines + [f"  left out: {uri}: {reason}" for uri, reason in report.left_out]
