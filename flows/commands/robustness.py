"""``robustness``: whether scores hold under other prompts, asked again, or at another size; as text, JSON or a page."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import BrainstormOption, HomeOption, JsonOption, print_json, print_text, say, workspace_of
from metrics.errors import BadInputError
from registry.audits.brainstorm import PAPER

if TYPE_CHECKING:
    from dashboards.robustness import Robustness, VariantVerdict
    from metrics.agreement import Agreement, PairedTest
    from metrics.robustness import ConditionRow
    from metrics.stability import SizeRow

_SHORT = ("ICC(C,1)", "ICC(A,1)", "Spearman", "tau-b", "levels apart", "other level")
_NAMED = 4  # of what could not be measured; --json has all
_LEGEND = (
    "by dimension the targets are releases, by release its dimensions; brackets: 95 % interval, of ICC F-based, else requests drawn anew with targets kept\n"
    "ICC if asked again: what the plain prompt twice is expected to give; where it is near 0 the targets do not differ, and low agreement says nothing\n"
    "p: paired t over targets, two-sided, not adjusted; p lower: one-sided for scores that fell, as the paper prints it; n: targets"
)


def robustness(
    releases: Annotated[
        list[str] | None,
        typer.Argument(
            help="Families with all their releases, or releases as models:/nova-chat/3. Default: all audited families.",
            show_default=False,
        ),
    ] = None,
    variants: Annotated[
        str | None,
        typer.Option(
            help="Prompt variants, as role-play,debias. Default: all that a release was asked with.", show_default=False
        ),
    ] = None,
    sizes: Annotated[str, typer.Option(help="Parts of the requests in per cent, or none.")] = "10,20,50",
    score: Annotated[
        str,
        typer.Option(help="headline: the score of verdicts. paper: the plain one, which grows as audits get smaller."),
    ] = "headline",
    details: Annotated[bool, typer.Option("--details", help="Every part of the requests, and every verdict.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="File to write a page to.", show_default=False)] = None,
    protocol: BrainstormOption = PAPER,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show whether the scores of releases hold under other prompts, asked again, or with fewer requests. Asks no model.

    Takes audits by a brainstorm that are there and names the command for each that is not. Whether a debiasing prompt helps is said by
    the verdict engine, by release and dimension; these verdicts are about a wording, are stored nowhere and alert nobody.

    Example: spiritlevel robustness nova-chat --variants role-play,debias --html robustness.html
    """
    from flows.commands.results import refuse_unwritable, written
    from flows.ranking import releases_named
    from flows.robustness import rendered, robustness_of

    if html is not None:
        refuse_unwritable(html)
    shares, named = shares_of(sizes), _names(variants)
    with workspace_of(home) as workspace:
        found = robustness_of(
            workspace,
            releases_named(workspace, releases or []),
            variants=named,
            shares=shares,
            score=score,
            protocol=protocol,
        )
        if html is not None:
            written(html, rendered(found))
            say(f"wrote {html}")
    if json:
        print_json(robustness_as_json(found))
    else:
        print_text(robustness_text(found, details=details))


def _names(given: str | None) -> list[str] | None:
    if given is None:
        return None
    names = [name.strip() for name in given.split(",")]
    if not all(names) or "plain" in names:
        raise BadInputError(
            f"--variants are names of prompt variants with commas between, as role-play,debias; got {given!r}"
        )
    return names


def shares_of(sizes: str) -> tuple[float, ...]:
    """Shares of per cents with commas between.

    >>> shares_of("10, 50"), shares_of("none")
    ((0.1, 0.5), ())
    """
    if sizes.strip() == "none":
        return ()
    try:
        percents = [float(size) for size in sizes.split(",")]
    except ValueError:
        percents = []
    if not percents or any(not 0 < percent < 100 for percent in percents):
        raise BadInputError(
            f"--sizes are per cents of the requests above 0 and below 100, as 10,20,50, or none; got {sizes!r}"
        )
    return tuple(percent / 100 for percent in percents)


def robustness_as_json(found: Robustness) -> dict[str, Any]:
    """Everything that was measured, row by row."""
    return {
        "protocol": found.instrument.name,
        "metric": found.metric,
        "dimensions": list(found.dimensions),
        "releases": [
            {
                "release": one.plain.release.uri,
                "model": one.plain.release.model,
                "audit": one.plain.id,
                "variants": {name: audit.id for name, audit in one.variants.items()},
                "asked_before": one.again.id if one.again else None,
            }
            for one in found.members
        ],
        "lacking": [dataclasses.asdict(one) for one in found.lacking],
        "conditions": list(found.conditions),
        "scores": [
            {"release": one.release, "condition": one.condition, "audit": one.audit, **dataclasses.asdict(one.score)}
            for one in found.scores
        ],
        "agreement": [_row_as_json(row) for row in found.rows],
        "sizes": [_row_as_json(row) for row in found.sizes],
        "verdicts": [dataclasses.asdict(one) for one in found.verdicts],
        "orders": found.orders,
        "draws": found.draws,
        "made_at": found.made_at,
    }


def _row_as_json(row: ConditionRow | SizeRow) -> dict[str, Any]:
    values = dataclasses.asdict(row)
    return values | {"measures": {one["metric"]: one for one in values["measures"]}}


def robustness_text(found: Robustness, *, details: bool = False) -> str:
    """What was compared, for people."""
    from dashboards.robustness_page import headline

    lines = [
        f"{one.name}: audit {one.plain.id}{''.join(f', {name} {audit.id}' for name, audit in one.variants.items())}"
        f"{f', asked before {one.again.id}' if one.again else ''}"
        for one in found.members
    ]
    lines += [
        f"not here: {one.release} {one.condition}: {one.reason}{f'; {one.command}' if one.command else ''}"
        for one in found.lacking
    ]
    lines += ["", f"{found.metric}. {headline(found)}"]
    for one in found.verdicts:
        lines += _verdict_lines(one, details)
    for condition in found.conditions:
        lines += ["", *_condition_lines(found, condition)]
    if found.sizes:
        lines += ["", *_size_lines(found.sizes, details, found.orders)]
    return "\n".join([*lines, *([_LEGEND] if found.conditions or found.sizes else [])])


def _verdict_lines(one: VariantVerdict, details: bool) -> list[str]:
    lines = ["", f"{one.release}, plain prompt against {one.variant}: {one.verdict}: {one.why}"]
    shown = [row for row in one.rows if details or row.verdict in ("regressed", "improved")]
    return lines + [
        f"  {row.dimension:36} {row.verdict:14} {_change(row.delta, row.low, row.high)}  q {_p(row.qvalue)}  n {row.n_previous:,} and {row.n_current:,}"
        for row in shown
    ]


def _condition_lines(found: Robustness, condition: str) -> list[str]:
    from dashboards.robustness import condition_text

    every = [row for row in found.rows if row.condition == condition]
    rows = [row for row in every if any(one.value is not None for one in row.measures)]
    titles = (*_SHORT[:2], "ICC if asked again", *_SHORT[2:])
    head = f"  {'':34} {''.join(f'{title:21}' for title in titles)}{'mean change':28}{'p':>6} {'p lower':>8}  n"
    lines = [f"{condition_text(condition)} against the plain prompt", head]
    for row in rows:
        name = row.group or "mean of all dimensions"
        cells = "".join(f"{_cell(one):21}" for one in (*row.measures[:2], row.ceiling, *row.measures[2:]))
        test = row.test
        lines.append(
            f"  {name[:34]:34} {cells}{_tested(test):28}{_p(test.pvalue):>6} {_p(test.pvalue_down):>8}  {row.measures[0].n}"
        )
    if lost := [row.group or "mean of all dimensions" for row in every if row not in rows]:
        rest = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        lines.append(f"  not measurable: {', '.join(lost[:_NAMED])}{rest}")
    return lines + _reasons([one for row in every for one in row.measures])


def _size_lines(rows: tuple[SizeRow, ...], details: bool, orders: int) -> list[str]:
    chosen = [row for row in rows if details or row.grouping != "dimension"]
    chosen = [row for row in chosen if any(one.value is not None for one in row.measures)]
    head = f"  {'':34} {'part':>5} {'requests':>9}  {''.join(f'{title:21}' for title in _SHORT)}{'mean change':24}n"
    lines = [f"parts of the requests against all of them: median over {orders} orders, brackets: middle 95 %", head]
    for row in chosen:
        low, high = row.requests
        size = f"{low:,}" if low == high else f"{low:,}-{high:,}"
        cells = "".join(f"{_cell(one):21}" for one in row.measures)
        name = (row.group or "mean of all dimensions")[:34]
        lines.append(f"  {name:34} {row.share:>5.0%} {size:>9}  {cells}{_cell(row.change):24}{row.measures[0].n}")
    return lines + _reasons([one for row in chosen for one in row.measures])


def _cell(one: Agreement) -> str:
    if one.value is None:
        return "-"
    if one.low is None or one.high is None:
        return f"{one.value:.2f}"
    return f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]"


def _reasons(found: list[Agreement]) -> list[str]:
    """Why some numbers are missing, each reason once."""
    return [f"  -: {reason}" for reason in dict.fromkeys(one.reason for one in found if one.value is None)]


def _tested(test: PairedTest) -> str:
    return _change(test.value, test.low, test.high)


def _change(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:+.3f}" + (
        f" [{low:+.3f}, {high:+.3f}]" if low is not None and high is not None else " (no interval)"
    )


def _p(value: float | None) -> str:
    from flows.commands.shared import pvalue

    return pvalue(value) or "-"
