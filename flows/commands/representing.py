"""``represent``: a release beside a reference population that the user supplies; as text, JSON or a page."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import (
    BrainstormOption,
    HomeOption,
    JsonOption,
    print_json,
    print_text,
    pvalue,
    say,
    workspace_of,
)
from registry.audits.brainstorm import PAPER

if TYPE_CHECKING:
    from dashboards.representations import RepresentationReport


def represent(
    release: Annotated[str, typer.Argument(help="The release, as models:/nova-chat/3")],
    reference: Annotated[Path, typer.Argument(help="CSV file of a reference population, with its source.")],
    html: Annotated[Path | None, typer.Option("--html", help="File to write a page to.", show_default=False)] = None,
    protocol: BrainstormOption = PAPER,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Compare who a release makes up with a population, such as the women and men of each occupation in a country. Asks no model.

    Over- and under-representation of each cell as difference and ratio with interval, and the distance over all. A population's figures are shaped by inequality:
    they are a measure beside independence, not a goal.

    Example: spiritlevel represent models:/nova-chat/3 us-women-by-occupation-2019.csv --html beside.html
    """
    from flows.commands.results import refuse_unwritable, written
    from flows.reference import release_of
    from flows.representing import rendered, represented

    if html is not None:
        refuse_unwritable(html)
    with workspace_of(home) as workspace:
        report = represented(workspace, release_of(workspace, release), reference, protocol)
    if html is not None:
        written(html, rendered(report))
        say(f"wrote {html}")
    if json:
        print_json(representation_as_json(report))
    else:
        print_text(representation_text(report))


def representation_as_json(report: RepresentationReport) -> dict[str, Any]:
    """Everything that was measured, and what the file says of itself."""
    found = report.found
    return {
        "release": report.release,
        "audit": report.audit,
        "axis": report.axis,
        "social": report.social,
        "reference": {"title": report.title, **dict(report.header)},
        "within": report.within,
        "usable": report.usable,
        "n": found.n,
        "n_clusters": found.n_clusters,
        "outside": [{"what": name, "n": n} for name, n in found.outside],
        "method": found.method,
        "cells": [dataclasses.asdict(cell) for cell in found.cells],
        "distances": [dataclasses.asdict(score) for score in found.distances],
    }


def representation_text(report: RepresentationReport) -> str:
    """The comparison, for people."""
    from dashboards.phrases import visible
    from dashboards.representations import NOT_A_GOAL, READING, cell_words, headline, outside_text

    header = [f"  {name}: {text}" for name, text in report.header if text]
    names = [f"{visible(cell.part, 40)} in {visible(cell.unit, 40)}" for cell in report.found.cells]
    wide = max([4, *map(len, names)])
    head = f"{'cell':{wide}}  {'reference':>9}  {'share, % [95 %]':20}  {'difference, points':24}  {'ratio':20}  {'n':>6}  {'q':>5}  finding"
    lines = [f"{report.release}, audit {report.audit}, beside: {report.title}", *header, "", head, "-" * len(head)]
    for name, cell in zip(names, report.found.cells, strict=True):
        share, difference, ratio = cell_words(cell)
        lines.append(
            f"{name:{wide}}  {100 * cell.reference:>9.1f}  {share:20}  {difference:24}  {ratio:20}  {cell.n:>6,}  {pvalue(cell.qvalue) or '-':>5}  {cell.verdict}"
        )
    lines += ["", headline(report), *_distances(report), outside_text(report), "", READING, NOT_A_GOAL]
    return visible("\n".join(lines), limit=None, lines=True)


def _distances(report: RepresentationReport) -> list[str]:
    overall = report.found.distances[0]
    if overall.value is None:
        return [f"distance over all: not measurable: {overall.reason}"]
    return [f"distance over all, n {overall.n:,} in {overall.n_clusters:,} requests: {overall.method}"]
