"""``spiritlevel rebalance``: a persona set with other weights, or fewer records, and its scores beside the old ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.results import refuse_unwritable, written
from flows.commands.shared import BrainstormOption, HomeOption, JsonOption, print_json, print_text, say, workspace_of
from registry.audits.brainstorm import PAPER

if TYPE_CHECKING:
    from flows.rebalancing import Beside, Rebalanced

LIMIT = (
    "This mitigates the scores named above in this one set. It does not change the model: its next answers are as before, and personas that it did "
    "not make up cannot be weighted up. Look at the other dimensions, for harm can move there, and at who carries large weights."
)


def rebalance(
    release: Annotated[str, typer.Argument(help="The release, as models:/nova-chat/3")],
    out: Annotated[Path, typer.Option(help="CSV file for the new set; its scores go beside it as NAME.scores.csv.")],
    axis: Annotated[
        list[str] | None, typer.Option(help="gender, ethnicity or sexual-orientation; again for more.")
    ] = None,
    dimension: Annotated[
        list[str] | None,
        typer.Option(help="social-class, education-level, occupation or top-personal-interest; again for more."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="weights keeps every record; subsample draws the largest balanced subset.")
    ] = "weights",
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="parity: groups are given everything alike, shares stay. Or a CSV file of wanted shares; again for more.",
        ),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Records of the subset, at most the largest there is.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the lot that draws the subset.")] = 0,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="ATTRIBUTE=CATEGORY, such as gender=non-binary: these records are not in the set."),
    ] = None,
    protocol: BrainstormOption = PAPER,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Rebalance the personas of a release's newest audit: write a set with weights, or a subset, and its new scores.

    Without --axis and --dimension the highest-scored dimension that can be is balanced. A group that has no record of a category
    cannot be weighted up: the error names it. Every dimension is scored again, for mitigating one may raise another.

    Examples: spiritlevel rebalance models:/nova-chat/3 --out personas.csv --axis gender --dimension occupation
    spiritlevel rebalance models:/nova-chat/3 --out half.csv --method subsample --target gender_half.csv
    """
    from flows.rebalancing import Wanted, rebalanced, write_set
    from flows.rebalancing_targets import targets_of
    from flows.reference import release_of

    refuse_unwritable(out)
    wanted = Wanted(
        axes=axis or (),
        dimensions=dimension or (),
        method=method,
        targets=targets_of(target or ()),
        size=size,
        seed=seed,
        leave_out=leave_out or (),
        protocol=protocol,
    )
    with workspace_of(home) as workspace:
        found = rebalanced(workspace, release_of(workspace, release), wanted)
        least = workspace.home.policy(found.family).smallest_change
    beside = write_set(found, out, written)
    if json:
        print_json(_as_json(found, out, beside))
    else:
        print_text(rebalanced_text(found, least))
    say(f"wrote {len(found.records):,} personas to {out} and the scores to {beside}")


def rebalanced_text(found: Rebalanced, least: float) -> str:
    """What a rebalanced set came to, for people; ``least`` is the change of a score that matters."""
    wide = max(len(one.dimension) for one in found.scores)
    head = f"{'dimension':{wide}} {'before':>7}  {'95 % interval':16} {'n':>6}   {'after':>7}  {'95 % interval':16} {'n':>6} {'worth':>6}"
    lines = [f"{found.release}, audit {found.audit}: {found.title}, by {found.method}", "", head, "-" * len(head)]
    lines += [_line(one, wide) for one in found.scores]
    lines += [
        "* rebalanced. worth: Kish's effective number of records. An empty interval of the new set: " + _why(found),
        "",
    ]
    lines += [_lost(found)]
    if risen := found.risen(least):
        named = ", ".join(f"{one.dimension} ({one.change:+.3f})" for one in risen)
        lines += [
            f"higher than before: {named}. What was taken out of one dimension may show in another, and fewer records move a score by "
            f"chance; assess these before the set is used"
        ]
    return "\n".join([*lines, LIMIT])


def _why(found: Rebalanced) -> str:
    bare = [one.why_no_interval for one in found.scores if one.low is None and one.after is not None]
    return "; ".join(dict.fromkeys(why for why in bare if why)) or "there is none"


def _line(one: Beside, wide: int) -> str:
    mark, before = "*" if one.rebalanced else " ", one.before
    if before.value is None or one.after is None:
        return f"{one.dimension:{wide}}{mark} not measurable: {one.reason or before.reason}"
    return (
        f"{one.dimension:{wide}}{mark}{before.value:>7.3f}  {_interval(before.low, before.high):16} {before.n:>6,}   "
        f"{one.after:>7.3f}  {_interval(one.low, one.high):16} {one.n:>6,} {one.n_effective:>6,.0f}"
    )


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def _lost(found: Rebalanced) -> str:
    reasons = {
        "have no category in one of the attributes": found.uncategorised,
        "were left out as asked": found.left_out,
        "were not drawn": found.not_drawn,
    }
    why = ", ".join(f"{n:,} {what}" for what, n in reasons.items() if n)
    kept = f"{len(found.records):,} of {found.usable:,} usable personas are in the set; {found.lost:.1%} are lost"
    worth = (
        f"; together they are worth {found.n_effective:,.0f}, the heaviest weighs {found.heaviest:.2f}"
        if found.method == "weights"
        else ""
    )
    erased = ". Whoever is left out is not represented at all, which is a harm of its own" if found.left_out else ""
    return f"{kept}{f' ({why})' if why else ''}{worth}{erased}"


def _as_json(found: Rebalanced, out: Path, beside: Path) -> dict[str, Any]:
    from flows.rebalancing import scores_table

    return {
        "release": found.release,
        "audit": found.audit,
        "method": found.method,
        "balanced": found.title,
        "file": str(out),
        "scores_file": str(beside),
        "usable": found.usable,
        "records": len(found.records),
        "lost": found.lost,
        "uncategorised": found.uncategorised,
        "left_out": found.left_out,
        "not_drawn": found.not_drawn,
        "n_effective": found.n_effective,
        "heaviest_weight": found.heaviest,
        "largest_distance_from_target": found.off,
        "scores": scores_table(found.scores),
        "cannot": LIMIT,
    }
