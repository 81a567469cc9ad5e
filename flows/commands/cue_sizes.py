"""What an audit of persona cues takes and shows, in sentences and small tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from flows.commands.progress import duration

if TYPE_CHECKING:
    from flows.cue_planning import CueSize
    from flows.cue_reach import CueReach, OtherSize, Reach
    from registry.audits.plan import AuditPlan

_MOST_CELLS = 3


def cue_size_text(size: CueSize) -> str:
    """Calls, what they are made of, tokens, cost and time, then what it shows, what cannot be asked and where figures are from."""
    cost = "unknown" if size.cost_usd is None else f"${size.cost_usd:,.2f}"
    time = "unknown" if size.duration_s is None else duration(size.duration_s)
    lines = [
        f"{size.release}, {size.protocol}: {size.calls:,} calls = {size.prompts:,} prompts x {size.samples} samples",
        f"tasks: {', '.join(size.tasks)}",
        f"axes: {', '.join(size.axes)}; cues: {', '.join(size.cues)}",
        f"about {size.prompt_tokens:,} tokens of prompts and {size.completion_tokens:,} of answers; cost {cost}; time {time}",
        *(["", *_reach_lines(size.reach), ""] if size.reach is not None and size.reach.rows else []),
    ]
    return "\n".join([*lines, *(f"not measurable: {one}" for one in size.missing), *size.notes])


def _reach_lines(reach: Reach) -> list[str]:
    """What the design shows in half of the tests and in all, then the same in other sizes."""
    tests = len({(row.task, row.axis, row.cue) for row in reach.rows})
    lines = [
        "shown with 80 % power: a difference of one persona from all others, in the two-way test of verdicts at .05; in brackets "
        f"where it is the only one among {tests} tests",
        f"variances: {reach.source}",
        f"  {'in':17} {'personas':>8}  {'questions x variants':>20}  {'if':24}  {'half from':>15}  {'all from':>15}",
    ]
    groups: dict[tuple[str, int, int, int, str], list[CueReach]] = {}
    for row in reach.rows:
        groups.setdefault((row.unit, row.personas, row.questions, row.variants, row.basis), []).append(row)
    for (unit, personas, questions, variants, basis), rows in groups.items():
        head = f"  {unit:17} {personas:>8}  {f'{questions} x {variants}':>20}  {basis:24}"
        if all(row.shows is None for row in rows):
            lines.append(f"{head}  {rows[0].reason}")
            continue
        shows = sorted((row.shows for row in rows), key=_size)
        alone = sorted((row.shows_alone for row in rows), key=_size)
        middle = (len(rows) - 1) // 2
        half, whole = (f"{_number(shows[at], unit)} ({_number(alone[at], unit)})" for at in (middle, -1))
        lines.append(f"{head}  {half:>15}  {whole:>15}")
    return lines + _other_lines(reach.others)


def _other_lines(others: tuple[OtherSize, ...]) -> list[str]:
    """One line for each number of questions, one column for each of variants."""
    lines = []
    for unit, basis in dict.fromkeys((one.unit, one.basis) for one in others):
        mine = {(one.questions, one.variants): one.shows for one in others if (one.unit, one.basis) == (unit, basis)}
        columns = sorted({variants for _, variants in mine})
        head = "".join(f"{f'{variants} variants':>14}" for variants in columns)
        lines += ["", f"in {unit}, {basis}:", f"  {'':14}{head}"]
        for questions in sorted({questions for questions, _ in mine}):
            cells = (_number(mine[questions, variants], unit) for variants in columns)
            lines.append(f"  {f'{questions} questions':14}" + "".join(f"{cell:>14}" for cell in cells))
    return lines


def _size(value: float | None) -> float:
    return math.inf if value is None else value


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return {"US dollars": f"{value:,.0f}", "percentage points": f"{value:.1f}"}.get(unit, f"{value:.2f}")


def who_was_asked(plan: AuditPlan) -> list[str]:
    """What a reader should know of the people of an audit, in lines: what cues say, and which cells of names are thin."""
    if "cues" not in plan.options:
        return []
    from flows.cue_planning import missing_of
    from registry.audits.cue_facts import cell_text, name_cells, notes_of

    thin = [cell for cell in name_cells(plan) if cell.thin]
    lines = [f"not measurable: {one}" for one in missing_of(plan)]
    lines += [f"note: {note}" for note in notes_of(plan)]
    lines += [f"thin cell of names ({cell.axis}): {cell_text(cell)}" for cell in thin[:_MOST_CELLS]]
    rest = len(thin) - _MOST_CELLS
    return lines + ([f"{rest} more thin cells of names are in --json and on the card"] if rest > 0 else [])


def who_as_json(plan: AuditPlan) -> dict[str, Any]:
    """The same for machines, all cells of names included; empty for an audit that asks no personas."""
    if "cues" not in plan.options:
        return {}
    missing = [
        dict(zip(("cue", "axis", "persona", "held", "reason"), row, strict=True)) for row in plan.options["missing"]
    ]
    notes = [dict(zip(("cue", "axis", "note"), row, strict=True)) for row in plan.facts.get("notes", ())]
    names = [
        {**cell, "used": [{"name": name, "known": known} for name, known in cell["used"]]}
        for cell in plan.facts.get("names", ())
    ]
    return {"not_asked": missing, "notes": notes, "names": names}
