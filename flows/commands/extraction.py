"""``extraction``: how well what a release writes in prose is read, by attribute and by group; as text, JSON and a file of disagreements."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.audits import ReleaseArgument
from flows.commands.shared import HomeOption, JsonOption, print_json, print_text, pvalue, say, workspace_of
from flows.commands.tables import Grid, print_table

if TYPE_CHECKING:
    from flows.extraction import ExtractionReport
    from metrics.extraction import Part, ReadingErrors

READING = (
    "A description need not mention everything: what it leaves out counts as not read. 'p groups' asks whether all groups are read "
    "equally well (Rao-Scott, Holm over attributes); where they are not, a difference between groups may be one of reading."
)


def extraction(
    release: ReleaseArgument,
    errors: Annotated[
        Path | None,
        typer.Option(
            "--errors", help="File to write every text to that was read otherwise (JSON lines).", show_default=False
        ),
    ] = None,
    protocol: Annotated[
        str, typer.Option("--protocol", help="The brainstorm whose answers have labels and descriptions.")
    ] = "persona-descriptions",
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Measure how well a release's prose is read: its descriptions, beside the labels of the same answers. Asks no model.

    persona-prose reads people out of sentences by rules. This says, on the release's own writing, how often what was read is right, how much
    is missed, and whether some groups are read worse than others: then a difference between groups may be one of reading.

    Example: spiritlevel extraction models:/nova-chat/3 --errors read-otherwise.jsonl
    """
    from flows.commands.results import refuse_unwritable, written
    from flows.extraction import measured_extraction

    if errors is not None:
        refuse_unwritable(errors)
    with workspace_of(home) as workspace:
        report = measured_extraction(workspace, workspace.releases.find(release), protocol)
    if errors is not None:
        import json as format_json

        written(errors, "".join(format_json.dumps(one, ensure_ascii=False) + "\n" for one in report.disagreements))
        say(f"wrote {len(report.disagreements):,} texts that were read otherwise to {errors}")
    if json:
        print_json(extraction_as_json(report))
    else:
        described, made = f"{report.described:,}", f"{report.personas:,}"
        print_text(
            f"{report.audit.release.uri}, audit {report.audit.id}: {described} of {made} personas have a description\n"
        )
        print_table(extraction_grid(report), extraction_text(report))
        if groups := [line for one in report.errors for line in _groups(one)]:
            print_text("\n".join(groups))


def extraction_as_json(report: ExtractionReport) -> dict[str, Any]:
    """Everything that was measured."""
    return {
        "release": report.audit.release.uri,
        "audit": report.audit.id,
        "protocol": report.audit.protocol,
        "personas": report.personas,
        "described": report.described,
        "disagreements": len(report.disagreements),
        "attributes": [dataclasses.asdict(one) for one in report.errors],
    }


def extraction_grid(report: ExtractionReport) -> Grid:
    """One row an attribute."""
    columns = (
        "attribute",
        "known",
        "of what was read, right",
        "of all known, read rightly",
        "wrong",
        "no label",
        "p groups",
    )
    rows = tuple(
        (
            one.attribute.replace("_", " "),
            f"{one.recall.n:,}",
            _share(one.precision) + (f" of {one.precision.n:,}" if one.precision.n else ""),
            _share(one.recall),
            f"{one.wrong:,}",
            f"{one.unlabelled:,}",
            pvalue(one.pvalue) or "-",
        )
        for one in report.errors
    )
    return Grid(
        columns=columns, rows=rows, numbers=frozenset({"known", "wrong", "no label", "p groups"}), caption=READING
    )


def extraction_text(report: ExtractionReport) -> str:
    """The errors, for people."""
    grid = extraction_grid(report)
    wide = [max(len(row[at]) for row in (grid.columns, *grid.rows)) for at in range(len(grid.columns))]
    lines = [
        "  ".join(
            cell.rjust(width) if title in grid.numbers else cell.ljust(width)
            for cell, width, title in zip(row, wide, grid.columns, strict=True)
        ).rstrip()
        for row in (grid.columns, *grid.rows)
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], "", READING])


def _groups(one: ReadingErrors) -> list[str]:
    if one.pvalue is None or one.pvalue >= 0.05:
        return []
    listed = [f"  {group}: {_share(part)} of {part.n:,}" for group, part in one.groups.items()]
    few = ", ".join(f"{group} {n}" for group, n in one.few.items())
    return [
        "",
        f"{one.attribute.replace('_', ' ')}: groups are not read equally well",
        *listed,
        *([f"  too few to say: {few}"] if few else []),
    ]


def _share(part: Part) -> str:
    if part.share is None or part.low is None or part.high is None:
        return "none"
    return f"{100 * part.share:.1f} % ({100 * part.low:.1f} to {100 * part.high:.1f})"
