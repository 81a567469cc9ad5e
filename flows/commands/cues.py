"""``cues``: persona cues over several releases or families, put together and correlated; as text, JSON or a page."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import HomeOption, JsonOption, number, print_json, print_text, pvalue, say, workspace_of

if TYPE_CHECKING:
    from dashboards.cue_pool import CuePool
    from metrics.cue_correlation import CueCorrelation

MOST_ROWS = 10
_LEGEND = (
    "ceiling: what both would correlate if they were one, at this size; p: swaps of variants that correlate no better, each row alone\n"
    "free: disattenuated, may exceed 1; paper: its test against 1 at .01, which calls equal ones different too; n: means (questions)"
)


def cues(
    releases: Annotated[
        list[str] | None,
        typer.Argument(
            help="Releases as models:/nova-chat/3, or families with all their releases. Default: all audited families.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[str, typer.Option(help="What is correlated, and counts the same: release or family.")] = "release",
    pool: Annotated[
        str,
        typer.Option(help="equal: each release counts the same. answers: all answers are added up, as in the paper."),
    ] = "equal",
    details: Annotated[bool, typer.Option("--details", help="Every task and axis, and every correlation.")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="File to write a page with heat maps and figures to.", show_default=False),
    ] = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what persona cues find in several releases together, and how far releases and cues agree. Asks no model.

    Takes the newest finished audit of each release that asked what most of them were asked, and says which are left out, and why.
    First on how many combinations of task and axis each cue finds a difference between personas; then rank correlations, beside
    what noise alone leaves of them. --details prints all of them, --json every number.

    Example: spiritlevel cues models:/nova-chat/2 models:/nova-chat/3 models:/vega/1 --html cues.html
    """
    from flows.commands.results import refuse_unwritable, written
    from flows.cue_pooling import pooled_cues, rendered
    from flows.ranking import releases_named

    if html is not None:
        refuse_unwritable(html)
    with workspace_of(home) as workspace:
        found = pooled_cues(workspace, releases_named(workspace, releases or []), by=by, weights=pool)
        if html is not None:
            written(html, rendered(found))
            say(f"wrote {html}")
    if json:
        print_json(cues_as_json(found))
    else:
        print_text(cues_text(found, details=details))


def cues_as_json(pool: CuePool) -> dict[str, Any]:
    """Everything that was measured, row by row."""
    return {
        "protocol": pool.instrument.name,
        "by": pool.by,
        "pool": pool.weights,
        "releases": [
            {
                "release": one.audit.release.uri,
                "model": one.audit.release.model,
                "audit": one.audit.id,
                "answers": one.answers,
                "excluded": one.excluded,
                "questions": one.questions,
            }
            for one in pool.members
        ],
        "left_out": [dataclasses.asdict(one) for one in pool.left_out],
        "prompts_left_out": pool.lost,
        "counts": [dataclasses.asdict(row) for row in pool.counts],
        "agreement": {"verdicts": _agreement(pool.shown), "paper": _agreement(pool.paper)},
        "replication": [dataclasses.asdict(row) for row in pool.replication],
        "correlations": {
            pool.several: [dataclasses.asdict(row) for row in pool.between],
            "cues": [dataclasses.asdict(row) for row in pool.cues],
        },
        "scores": [dataclasses.asdict(score) for score in pool.scores],
    }


def _agreement(summary: Any) -> dict[str, Any]:
    """What the reference cue finds and agrees with; keys of pairs as text."""
    return {
        "reference": summary.reference,
        "found": summary.reference_found,
        "silent": summary.reference_silent,
        "agreeing": [
            {"task": task, "axis": axis, "cues": list(named)} for (task, axis), named in summary.agreeing.items()
        ],
        "elsewhere": summary.elsewhere,
        "untested": [{"combination": title, "reason": reason} for title, reason in summary.untested],
    }


def cues_text(pool: CuePool, *, details: bool = False) -> str:
    """What the releases come to, for people."""
    lines = [*_members(pool), "", *_counts(pool), "", *_replication(pool, details)]
    for what, found in ((pool.several, pool.between), ("cues", pool.cues)):
        lines += ["", *_correlations(found, what, details)]
    return "\n".join([*lines, _LEGEND])


def _members(pool: CuePool) -> list[str]:
    lines = [
        f"{place}: {one.audit.release.uri}, audit {one.audit.id}, {one.answers:,} answers with a number, {one.excluded:,} without, "
        f"{one.questions:,} questions"
        for place, one in enumerate(pool.members, 1)
    ]
    lines += [f"left out: {one.release}: {one.reason}" for one in pool.left_out]
    lost = f"; {pool.lost:,} prompts that not all were asked are left out" if pool.lost else ""
    return [*lines, f"put together by {pool.by}: {pool.how}{lost}"]


def _counts(pool: CuePool) -> list[str]:
    from dashboards.cue_pool_page import agreement_text
    from dashboards.cue_rows import explicitness_of

    wide = max([len("cue"), *(len(row.cue) for row in pool.counts)])
    head = f"{'cue':{wide}}  {'explicitness':>12}  {'verdicts, q <= .05':>18}  {'paper, p < .01':>14}"
    lines = ["task x axis combinations in which a cue finds a difference, of those tested", head, "-" * len(head)]
    for row in sorted(pool.counts, key=lambda row: (-explicitness_of(row.cue), row.cue)):
        shown, paper = f"{row.found} of {row.tested}", f"{row.paper_found} of {row.paper_tested}"
        lines.append(f"{row.cue:{wide}}  {explicitness_of(row.cue):>12}  {shown:>18}  {paper:>14}")
    if not pool.counts:
        lines.append("no combination could be tested")
    lines += [f"verdicts: {agreement_text(pool.shown)}", f"paper: {agreement_text(pool.paper)}"]
    untested = pool.shown.untested
    return (
        lines
        + [f"not tested: {title}: {reason}" for title, reason in untested[:MOST_ROWS]]
        + _more(len(untested), "not tested")
    )


def _more(count: int, what: str) -> list[str]:
    rest = count - MOST_ROWS
    return [f"{rest:,} more {what}: --json has them"] if rest > 0 else []


def _replication(pool: CuePool, details: bool) -> list[str]:
    labels = Counter(row.label for row in pool.replication)
    told = ", ".join(f"{label} {count}" for label, count in labels.most_common())
    lines = [f"pairs of task and axis over all cues: {len(pool.replication)}, of these {told or 'none'}"]
    chosen = [row for row in pool.replication if details or row.findings]
    return lines + [f"  {row.title}: {row.label}: {row.why}" for row in (chosen if details else chosen[:MOST_ROWS])]


def _correlations(found: tuple[CueCorrelation, ...], what: str, details: bool) -> list[str]:
    if not found:
        return [f"Spearman between {what}: there are no two to compare"]
    whole = [row for row in found if row.grouping == "overall"]
    parts = [row for row in found if row.grouping != "overall"]
    title = f"Spearman between {what}, over all tasks and personas"
    lines = [title, *_rows(whole if details else _lowest(whole)[:MOST_ROWS])]
    if not details and len(whole) > MOST_ROWS:
        lines.append(f"{len(whole) - MOST_ROWS:,} more pairs: --details prints all")
    groups = dict.fromkeys(row.grouping for row in parts)
    lines.append(f"by {', '.join(groups)}{'' if details else ': farthest below their ceiling'}")
    lines += _rows(parts if details else _lowest(parts)[:MOST_ROWS])
    if not details and len(parts) > MOST_ROWS:
        lines.append(f"{len(parts) - MOST_ROWS:,} more: --details prints all")
    return lines


def _lowest(rows: list[CueCorrelation]) -> list[CueCorrelation]:
    """Those that agree least for their ceiling first; those without a value last."""

    def key(row: CueCorrelation) -> tuple[bool, float, float]:
        return row.value is None, 1.0 if row.pvalue is None else row.pvalue, (row.value or 0.0) - (row.ceiling or 1.0)

    return sorted(rows, key=key)


def _rows(rows: list[CueCorrelation]) -> list[str]:
    named = [f"{row.first} - {row.second}{f', {row.group}' if row.group else ''}" for row in rows]
    wide = max([4, *map(len, named)])
    head = f"  {'pair':{wide}}  {'rho':>6}  {'95 % interval':16}  {'ceiling':>7}  {'p':>5}  {'free':>6}  {'paper':9}  {'n':>14}"
    lines = [head]
    for name, row in zip(named, rows, strict=True):
        size = f"{row.n:,} ({row.questions:,})"
        if row.value is None:
            lines.append(f"  {name:{wide}}  not measurable: {row.reason}; n {size}")
            continue
        bounds = "no interval" if row.low is None or row.high is None else f"[{row.low:.3f}, {row.high:.3f}]"
        ceiling, free = ("unknown" if value is None else number(value) for value in (row.ceiling, row.disattenuated))
        paper = "no test" if row.paper_differs is None else "differs" if row.paper_differs else "not shown"
        p = pvalue(row.pvalue) or "-"
        lines.append(
            f"  {name:{wide}}  {row.value:>6.3f}  {bounds:16}  {ceiling:>7}  {p:>5}  {free:>6}  {paper:9}  {size:>14}"
        )
    return lines
