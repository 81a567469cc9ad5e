"""``plan``: what an audit would show and what it would take, before anything is spent."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.audit_options import (
    AxisOption,
    CueOption,
    FileOption,
    PaperOption,
    PromptOption,
    QuestionsOption,
    SamplesOption,
    TaskOption,
    VariantOption,
    VariantsOption,
    named_files,
    prompt_of,
)
from flows.commands.plan_json import plan_as_json
from flows.commands.reusing import (
    ReuseEarlierOption,
    ReuseOption,
    looked_up,
    refuse_reuse,
    reuse_texts,
    with_reuse,
)
from flows.commands.shared import HomeOption, JsonOption, print_json, print_text, workspace_of

if TYPE_CHECKING:
    from flows.expenses import ReleaseCost
    from flows.gap_planning import ModeReach, Reach
    from flows.planning import PlannedAudit, Target
    from metrics.power import DimensionPlan

UNKNOWN = "unknown"


def plan(
    previous: Annotated[str, typer.Argument(help="The release to compare with, as models:/nova-chat/2")],
    protocol: Annotated[str, typer.Option("--protocol", help="Which instrument, such as persona-brainstorm.")],
    current: Annotated[
        str | None,
        typer.Argument(
            help="The release to judge. Left out: the first release is planned by itself.", show_default=False
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            "--size",
            "--personas",
            min=1,
            help="Personas a release, as of an audit. Default: 5,000 (240 embedded).",
            show_default=False,
        ),
    ] = None,
    change: Annotated[
        float | None,
        typer.Option(
            help="Wanted change of the normalized score. Default: the policy's smallest change that matters (0.05); of messages "
            "a gap that is called small, where there was none (0.33).",
            show_default=False,
        ),
    ] = None,
    per_call: Annotated[
        int | None, typer.Option(help="Personas per call: 20 (default) or 1.", show_default=False)
    ] = None,
    variant: VariantOption = None,
    prompt: PromptOption = None,
    cells: Annotated[int | None, typer.Option(min=1, help="Messages: cells of the design.", show_default=False)] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Messages: how often each cell is asked.", show_default=False)
    ] = None,
    domain: Annotated[str | None, typer.Option(help="Messages: the topic, as of an audit.", show_default=False)] = None,
    audience: Annotated[
        list[str] | None,
        typer.Option(help="Messages: an attribute of who is written to, as of an audit.", show_default=False),
    ] = None,
    mode: Annotated[
        list[str] | None, typer.Option(help="Messages: standalone or context-rich. Default: both.", show_default=False)
    ] = None,
    task: TaskOption = None,
    axis: AxisOption = None,
    cue: CueOption = None,
    questions: QuestionsOption = None,
    variants: VariantsOption = None,
    samples: SamplesOption = None,
    file: FileOption = None,
    paper: PaperOption = False,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="Calls under way at the same time.")] = 8,
    wh_per_1k_tokens: Annotated[
        float | None,
        typer.Option(help="Watt-hours per 1,000 tokens, as measured for this model; without it energy is unknown."),
    ] = None,
    reuse: ReuseOption = None,
    reuse_earlier: ReuseEarlierOption = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what an audit of a size would show and take: detectable change, calls, tokens, cost, time. Asks no model.

    The figures are those of the newest finished audit of either release; without one they are assumptions, marked so. Of
    messages it says what the design shows in each attribute and mode, and which cells and repeats the wanted change takes;
    of persona cues which difference between personas it shows, by questions and variants.

    Examples: spiritlevel plan models:/nova-chat/2 models:/nova-chat/3 --protocol persona-brainstorm --size 10000
    spiritlevel plan models:/nova-chat/1 --protocol persona-brainstorm --change 0.1
    spiritlevel plan models:/nova-chat/1 --protocol targeted-messages --cells 240 --repeats 2
    """
    from flows.commands.cue_sizes import cue_size_text
    from flows.cue_planning import planned_cues
    from flows.ordering import Order
    from flows.planning import planned

    refuse_reuse(reuse, reuse_earlier)
    wording = prompt_of(variant, prompt)
    with workspace_of(home) as workspace:
        first = workspace.releases.find(previous)
        second = workspace.releases.find(current) if current else None
        named = list(filter(None, (first, second)))
        order = Order(
            protocol=protocol,
            size=size,
            per_call=per_call,
            cells=cells,
            repeats=repeats,
            domain=domain,
            audiences=tuple(audience) if audience else None,
            modes=tuple(mode) if mode else None,
            tasks=tuple(task) if task else None,
            axes=tuple(axis) if axis else None,
            cues=tuple(cue) if cue else None,
            questions=questions,
            variants=variants,
            samples=samples,
            files=named_files(file) if file else None,
            paper=paper or None,
            **wording,
        )
        if workspace.protocol(protocol).unit == "answers":
            sizes = [planned_cues(workspace, one, order, concurrency=concurrency, reach=True) for one in named]
            there = looked_up(workspace, named, order, reuse, earlier=reuse_earlier)
            if json:
                print_json(with_reuse([one.as_json() for one in sizes], there))
            else:
                print_text("\n\n".join([*map(cue_size_text, sizes), *reuse_texts(there)]))
            return
        result = planned(
            workspace,
            first if second else None,
            second or first,
            order,
            change=change,
            concurrency=concurrency,
            wh_per_1k_tokens=wh_per_1k_tokens,
        )
        there = looked_up(workspace, named, order, reuse, earlier=reuse_earlier)
        if json:
            print_json(with_reuse([plan_as_json(result)], there)[0])
        else:
            print_text("\n\n".join([plan_text(result), *reuse_texts(there)]))


# ---------------------------------------------------------------- for people


def plan_text(result: PlannedAudit) -> str:
    """A plan for people: what it rests on, a table of dimensions, what it takes, and what to know beside it."""
    pair = f"{result.previous} -> {result.current}" if result.previous else f"{result.current} by itself"
    calls = -(-result.size // result.per_call)
    asked = f" with the prompt variant {result.variant}" if result.variant else ""
    lines = [
        f"{pair}, {result.protocol}{asked}: {result.size:,} {result.unit} a release in {calls:,} calls of {result.per_call}",
        f"pilot: {result.source}",
        "",
        *([_reach_table(result), ""] if result.reach else []),
        # Under assumptions all dimensions of an attribute and mode are the same: the table above has them.
        *([] if result.reach and result.assumed else [_dimension_table(result)]),
        _legend(result),
        "",
        _cost_table(result),
        "",
    ]
    return "\n".join([*lines, *(f"- {note}" for note in result.notes)])


def _reach_table(result: PlannedAudit) -> str:
    """What each attribute shows in each mode, and which design shows the wanted change: of messages."""
    names = [f"{one.axis}, {one.mode}" for one in result.reach]
    wide, says = max(18, *map(len, names)), max(len(one.assumption) for one in result.reach)
    takes = f"+{result.change:g} takes in half, prompt cells x messages"
    head = f"{'attribute and mode':{wide}}  {'if':{says}}  {'half from':>9}  {'all from':>9}  {takes:<44}  in all"
    lines = ["what this design shows with 80 % power in half of the measures and in all of them", head, "-" * len(head)]
    last = ""
    for name, one in zip(names, _once(result.reach), strict=True):
        if one is None:
            continue
        if not one.measures:
            lines.append(f"{name:{wide}}  not planned: {one.reason}")
            continue
        half, whole = (_change(of.shows, 2) for of in (one.half, one.whole))
        lines.append(
            f"{'' if name == last else name:{wide}}  {one.assumption:{says}}  {half:>9}  {whole:>9}  "
            f"{_design(one.half):<44}  {_design(one.whole)}"
        )
        last = name
    reasons = dict.fromkeys(one.reason for one in result.reach if one.measures and one.reason)
    if any(of.messages is None for one in result.reach if one.measures for of in (one.half, one.whole)):
        lines.append("no design: all prompt cells of the mode, each asked 1,000 times, do not show it")
    return "\n".join([*lines, *(f"-: {reason}" for reason in reasons)])


def _once(reach: Sequence[ModeReach]) -> list[ModeReach | None]:
    """The same rows, with one for all assumptions of an attribute and mode where they agree."""
    found: list[ModeReach | None] = []
    for _, alike in itertools.groupby(reach, key=lambda one: (one.axis, one.mode)):
        rows = list(alike)
        if len({(one.half, one.whole, one.reason) for one in rows}) == 1:
            found += [dataclasses.replace(rows[0], assumption="either way"), *[None] * (len(rows) - 1)]
        else:
            found += rows
    return found


def _design(reach: Reach) -> str:
    """A design of a mode: how many prompt cells, and messages to each of them and audience."""
    if reach.messages is None:
        most = "" if reach.at_most is None else f", the largest shows {_change(reach.at_most, 2)}"
        return f"no design{most}"
    return f"{reach.prompts:,} x {reach.repeats:,} ({reach.messages:,} messages)"


def _dimension_table(result: PlannedAudit) -> str:
    wanted, unit = f"for +{result.change:g}", _effect(result)
    wide = max(34, *(len(row.dimension) for row in result.rows[0]))
    head = f"{'bias dimension':{wide}} {'score':>6} {unit:>6} {'deff':>7}  {'shows from':>15} {'in ' + unit:>15}  {wanted:>17}  {'unchanged':>11}"
    lines, reasons = [head, "-" * len(head)], Counter[str]()
    for alike in zip(*result.rows, strict=True):
        row: DimensionPlan = alike[0]
        if row.score is None or row.v is None:
            lines.append(f"{row.dimension:{wide}} not planned: {row.reason}")
            continue
        lines.append(
            f"{row.dimension:{wide}} {row.score:>6.2f} {row.v:>6.3f} {_beside([_deff(one.design_effect) for one in alike]):>7}  "
            f"{_beside([_change(one.detectable, 2) for one in alike]):>15} "
            f"{_beside([_change(one.detectable_v, 3) for one in alike]):>15}  "
            f"{_beside([_size(one.size_for_change) for one in alike]):>17}  "
            f"{_beside([_percent(one.chance_unchanged) for one in alike]):>11}"
        )
        reasons.update({one.reason for one in alike if one.reason})
    return "\n".join([*lines, *(f"-: {reason} ({count} dimensions)" for reason, count in reasons.items())])


def _effect(result: PlannedAudit) -> str:
    """What the score is made from: V of an association, or a gap in standard deviations."""
    return "SD" if result.unit == "messages" else "V"


def _legend(result: PlannedAudit) -> str:
    policy = result.policy
    if result.reach and result.assumed:
        return (
            f"from: smallest rise of the score that is shown with 80 % power, one-sided, alpha {policy.alpha:g} over "
            f"{len(result.rows[0])} dimensions (z {result.critical[0]:.2f})"
        )
    if result.assumptions:
        assumed = f"; two figures: if {' / '.join(result.assumptions)}"
    else:
        assumed = "; two figures: the two assumed design effects" if result.assumed else ""
    of_mode = " of the mode, in the smallest design" if result.reach else " a release"
    return (
        f"shows from: smallest rise of the score that is shown with 80 % power, one-sided, alpha {policy.alpha:g} over "
        f"{len(result.rows[0])} dimensions (z {result.critical[0]:.2f}); in {_effect(result)}: the same rise of "
        f"{'V' if _effect(result) == 'V' else 'the gap in standard deviations'}\n"
        f"for +{result.change:g}: {result.unit}{of_mode} that show this rise with 80 % power\n"
        f"unchanged: chance that a release without any change is shown to be within +-{policy.margin:g}\n"
        f"deff: design effect, the variance as a multiple of that of independent {result.unit}{assumed}"
    )


def _cost_table(result: PlannedAudit) -> str:
    head = f"{'what it takes for':50} {result.unit:>9} {'calls':>8} {'tokens':>14} {'US dollars':>12} {'time':>9} {'energy':>10}"
    lines = [head, "-" * len(head)]
    for target in result.targets:
        effect = "" if target.design_effect is None else f", deff {target.design_effect:g}"
        lines.append(f"{target.purpose}{effect}")
        lines += [_cost_line(cost) for cost in target.costs]
        if len(target.costs) > 1:
            lines.append(_total_line(target))
    return "\n".join(lines)


def _cost_line(cost: ReleaseCost) -> str:
    tokens = cost.prompt_tokens + cost.completion_tokens
    return _line(
        cost.release, (cost.size, cost.calls, tokens), (cost.cost_usd, cost.duration_s, cost.energy_wh), cost.estimated
    )


def _total_line(target: Target) -> str:
    """Both releases, audited one after the other; unknown where one of them is."""
    costs = target.costs
    sizes = (
        sum(cost.size for cost in costs),
        sum(cost.calls for cost in costs),
        sum(cost.prompt_tokens + cost.completion_tokens for cost in costs),
    )
    known = (
        _sum([cost.cost_usd for cost in costs]),
        _sum([cost.duration_s for cost in costs]),
        _sum([cost.energy_wh for cost in costs]),
    )
    return _line("both", sizes, known, any(cost.estimated for cost in costs))


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _line(
    name: str, sizes: tuple[int, int, int], known: tuple[float | None, float | None, float | None], estimated: bool
) -> str:
    about = "~" if estimated else ""
    personas, calls, counted = sizes
    tokens = round(counted, 3 - len(str(counted))) if estimated else counted
    dollars, seconds, watt_hours = known
    cost = UNKNOWN if dollars is None else f"{about}{dollars:,.2f}"
    energy = UNKNOWN if watt_hours is None else f"{about}{watt_hours:,.0f} Wh"
    return (
        f"  {name:48} {personas:>9,} {calls:>8,} {about + format(tokens, ','):>14} {cost:>12} {duration(seconds):>9} "
        f"{energy:>10}"
    )


def duration(seconds: float | None) -> str:
    """A time for people.

    >>> [duration(value) for value in (None, 40, 200, 9000, 200_000)]
    ['unknown', '40 s', '3 min', '2.5 h', '2.3 d']
    """
    if seconds is None:
        return UNKNOWN
    for unit, length, digits in (("d", 86_400, 1), ("h", 3600, 1), ("min", 60, 0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.{digits}f} {unit}"
    return f"{seconds:.0f} s"


def _beside(texts: list[str]) -> str:
    """One text for each assumption, or one for all when they agree."""
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def _deff(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}".removesuffix(".0")


def _change(value: float | None, digits: int) -> str:
    return "-" if value is None else f"+{value:.{digits}f}"


def _size(value: int | None) -> str:
    from metrics.power import round_up

    return "-" if value is None else f"{round_up(value):,}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"
