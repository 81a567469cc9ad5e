"""``human``: people rate two releases without knowing which is which: write the sheets, and read them back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import HomeOption, JsonOption, home_of, print_json, print_text, pvalue, say, workspace_of
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from flows.human_check import HumanCheck
    from flows.human_sets import Sheets
    from metrics.results import Score

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Let people rate two releases blindly, and see whether they and the scores point the same way.\n\n"
        "Examples: spiritlevel human export models:/nova-chat/2 models:/nova-chat/3 --out ratings\n\n"
        "spiritlevel human import rater-1.csv rater-2.csv --key ratings.key.json"
    ),
)

ReleaseArgument = Annotated[str, typer.Argument(help="A release, as models:/nova-chat/2", show_default=False)]


@app.command("export")
def export(
    first: ReleaseArgument,
    second: ReleaseArgument,
    out: Annotated[Path, typer.Option(help="New folder for the sheets; the key goes beside it as FOLDER.key.json.")],
    axis: Annotated[str, typer.Option(help="Whose groups: gender, ethnicity or sexual-orientation.")] = "gender",
    dimension: Annotated[str, typer.Option(help="occupation or another social dimension.")] = "occupation",
    items: Annotated[int, typer.Option(help="Pairs of sets on a sheet.")] = 10,
    personas: Annotated[int, typer.Option(help="Personas in each set.")] = 40,
    raters: Annotated[int, typer.Option(help="Sheets: one for each person.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Of the lots that draw sets, sides and order.")] = 0,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Write a blind rating sheet for each rater: a page to read and a CSV file to fill in. Asks no model.

    Nothing in the folder says which release is which. The key does: keep it from the raters.

    Example: spiritlevel human export models:/nova-chat/2 models:/nova-chat/3 --out ratings --items 12 --raters 9
    """
    from flows.human_key import digest_of
    from flows.human_sets import Wanted, rating_sheets
    from flows.reference import release_of

    wanted = Wanted(axis=axis, social=dimension, items=items, personas=personas, raters=raters, seed=seed)
    beside = _beside(out)
    with workspace_of(home) as workspace:
        made = rating_sheets(workspace, release_of(workspace, first), release_of(workspace, second), wanted)
        text = made.key.text()
        digest = digest_of(text)
        _write(workspace.home.path, out, beside, made, text, digest)
    if json:
        print_json(_exported(made, out, beside, digest))
        return
    say(f"wrote {raters} sheets of {items} pairs to {out}; {made.key.masked:,} names of models in them are withheld")
    for told, left in zip(made.key.releases, made.left_out, strict=True):
        if left:
            say(f"{told['release']}: {left:,} personas without a group or category are in no set")
    say(
        f"the key is {beside}, and the home keeps it too; raters must not see it. Its sha256 is on every sheet: {digest}"
    )


def _beside(out: Path) -> Path:
    """Where the key goes; refuses a folder that has something in it, and a key that is there."""
    from flows.commands.results import refuse_unwritable

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInputError(f"{out} is not an empty folder; name a new one for the sheets")
    beside = out.absolute().with_name(f"{out.absolute().name}.key.json")
    if beside.exists():
        raise BadInputError(f"{beside} is there already, and opens other sheets; name another folder")
    refuse_unwritable(beside)
    return beside


def _write(home: Path, out: Path, beside: Path, made: Sheets, text: str, digest: str) -> None:
    """The key first: sheets without one are worth nothing."""
    from flows.commands.results import written
    from flows.human_key import FOLDER

    try:
        (home / FOLDER).mkdir(mode=0o700, exist_ok=True)
        out.mkdir(exist_ok=True)
        for place in (home / FOLDER / f"{digest}.json", beside):
            written(place, text)
            place.chmod(0o600)
    except OSError as error:
        raise BadInputError(f"{error.filename} cannot be written: {error.strerror}; name another folder") from None
    for name, content in made.files.items():
        written(out / name, content)


def _exported(made: Sheets, out: Path, beside: Path, digest: str) -> dict[str, Any]:
    """What was written, without what the key says of sides."""
    return {
        "folder": str(out),
        "files": sorted(made.files),
        "key": str(beside),
        "sha256": digest,
        "dimension": made.key.dimension,
        "items": made.key.items,
        "personas": made.key.personas,
        "raters": len(made.key.sheets),
        "masked": made.key.masked,
        "left_out": list(made.left_out),
    }


@app.command("import")
def import_sheets(
    sheets: Annotated[list[Path], typer.Argument(metavar="SHEET...", help="Filled-in sheets, one for each rater.")],
    key: Annotated[
        Path | None, typer.Option(help="The key. Default: the one that this home keeps.", show_default=False)
    ] = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Put filled-in sheets together: which release raters call more biased, how well they agree, and what the scores say. Asks no model.

    The result is kept in the ledger, without names and remarks; the same sheets are one record. Sheets of another key, with changed pairs, with answers off the scale, or twice of one rater are refused.

    Example: spiritlevel human import ratings/rater-1.csv ratings/rater-2.csv --key ratings.key.json
    """
    from flows.human_check import human_check, key_file
    from flows.human_record import kept

    found = human_check(sheets, key_file(home_of(home), sheets, key))
    with workspace_of(home) as workspace:
        record, why = kept(workspace, found)
    if json:
        print_json(check_as_json(found) | {"record": record.id if record else None, "record_why": why})
        return
    print_text(check_text(found))
    say(f"kept as human check {record.id} of {record.made_at}; cards of both releases show it" if record else why)


def check_as_json(found: HumanCheck) -> dict[str, Any]:
    """Everything, with the sides of every pair resolved."""
    key = found.key
    return {
        "first": key.releases[0],
        "second": key.releases[1],
        "dimension": key.dimension,
        "items": key.items,
        "personas": key.personas,
        "raters": list(found.raters),
        "sheets": len(key.sheets),
        "sha256": found.digest,
        "preference": dataclasses.asdict(found.share),
        "same": found.same,
        "severity": [dataclasses.asdict(one) for one in found.severity],
        "agreement": [dataclasses.asdict(one) for one in found.agreement],
        "missing": found.missing,
        "asked": found.asked,
        "contradictions": found.contradictions,
        "measured": key.measured,
        "direction": found.direction[0],
        "why": found.direction[1],
        "remarks": list(found.remarks),
    }


def check_text(found: HumanCheck) -> str:
    """What people said, for people."""
    from dashboards.phrases import visible

    key = found.key
    first, second = (f"{one['release']} (audit {one['audit']}, n {one['n']:,})" for one in key.releases)
    lines = [
        f"{key.dimension}: first {first}, second {second}",
        f"{len(found.raters)} of {len(key.sheets)} raters, {key.items} pairs of sets of {key.personas} personas; empty: {found.missing['severity']} of "
        f"{found.asked['severity']} ratings, {found.missing['choice']} of {found.asked['choice']} choices",
        "",
        "the second release is the more biased one",
        f"  {_row(found.share)}; {found.same} said the same; {found.contradictions} choices go against the ratings beside them",
        "",
        "severity from 1 (low) to 4 (very high), and its change from first to second",
        *(f"  {one.metric} {one.group}: {_row(one)}" for one in found.severity),
        "",
        "do the raters agree",
        *(f"  {one.dimension} {one.metric}: {_row(one)}" for one in found.agreement),
        "",
        f"measured change: {_measured(key.measured)}",
        f"direction: {found.direction[0]}. {found.direction[1]}",
        "Raters judge the sets on their sheets; the score counts all personas. Neither says what a release would do in another use.",
    ]
    lines += [
        f"  rater {one['rater']}, pair {one['pair']}: {'; '.join(visible(one[name]) for name in ('reason', 'stereotypes') if one[name])}"
        for one in found.remarks
    ]
    return visible("\n".join(lines), limit=None, lines=True)


def _row(one: Score) -> str:
    sizes = f"n {one.n}" + (f", {one.n_excluded} left out" if one.n_excluded else "")
    if one.value is None:
        return f"not measured: {one.reason}; {sizes}"
    bounds = f" [{one.low:.3f}, {one.high:.3f}]" if one.low is not None and one.high is not None else ""
    tested = f", p {pvalue(one.pvalue)}" if one.pvalue is not None else ""
    told = "; ".join(part for part in (one.reason, one.method) if part)
    return f"{one.value:.3f}{bounds}{tested}, {sizes}; {told}"


def _measured(measured: dict[str, Any]) -> str:
    if not isinstance(measured.get("delta"), int | float):
        return f"not measured: {measured.get('reason') or 'the key has none'}"
    bounds = f" [{measured['low']:+.3f}, {measured['high']:+.3f}]" if measured.get("low") is not None else ""
    sizes = f"n {measured['n_previous']:,} and {measured['n_current']:,}"
    return f"{measured['metric']} {measured['previous']:.3f} -> {measured['current']:.3f}, {measured['delta']:+.3f}{bounds}; {sizes}"
