"""``taxonomy``: terms that no rule knows wait for a person, and what people accept is a file of versions."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.audits import ConcurrencyOption, DeadlineOption, TimeoutOption
from flows.commands.shared import (
    BrainstormOption,
    Exit,
    HomeOption,
    JsonOption,
    home_of,
    print_json,
    print_text,
    say,
    workspace_of,
)
from registry.audits.brainstorm import PAPER

if TYPE_CHECKING:
    from flows.reviewing import Compared, Queue
    from flows.unmapped import Unmapped
    from registry.audits.accepted import Accepted

MOST_ROWS = 20
_WHO = "Which release proposes or proposed, as models:/judges/1. Default: the configured judge."
_BOUNDS = (
    "bounds: the lowest and highest plain score were personas with an unmapped term placed at worst, in the categories that were "
    "seen; no interval, and no verdict uses them"
)

app = typer.Typer(
    help="The categories of free terms: review what no rule knows, accept, compare, show.", no_args_is_help=True
)


@app.command()
def review(
    family: Annotated[str, typer.Argument(help="Only terms of this family's audits.")] = "",
    attribute: Annotated[str, typer.Option(help="Only this attribute, as occupation.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", help="CSV file to write, for a person to fill in.", show_default=False)
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="File to write the queue to as a page, to read.", show_default=False)
    ] = None,
    release: Annotated[str, typer.Option(help=_WHO)] = "",
    protocol: BrainstormOption = PAPER,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List the terms that no rule knows and nobody decided about, with proposed categories. Asks no model.

    A proposal by rule says its rule and how near the term is, from 0 to 1; beside it stands what a model proposed that was asked with
    'taxonomy propose'. In the file, fill in decision (accept, accept model, change to CATEGORY, or reject), who, and why; then 'taxonomy
    accept' takes it in.

    Example: spiritlevel taxonomy review nova-chat --attribute occupation --out terms.csv
    """
    from flows.commands.results import refuse_unwritable, written
    from flows.term_proposals import reviewed
    from registry.audits.review_files import review_csv

    for file in (out, html):
        if file is not None:
            refuse_unwritable(file)
    with workspace_of(home) as workspace:
        queue, checks = reviewed(workspace, family, attribute, protocol, release)
    if html is not None:
        from dashboards.review_page import review_page
        from flows.redaction import without_secrets

        written(
            html,
            without_secrets(
                review_page(queue.rows, [line for one in checks for line in one.in_words], audits=queue.audits)
            ),
        )
        say(f"wrote {html}")
    if out is not None:
        written(out, review_csv(queue.rows))
        say(f"wrote {out}: fill in decision, who and why, then run 'spiritlevel taxonomy accept {out} --by NAME'")
    if json:
        print_json(dataclasses.asdict(queue) | {"models": [dataclasses.asdict(one) for one in checks]})
    else:
        print_text("\n".join([_queue_text(queue), *(line for one in checks for line in one.in_words)]))


@app.command()
def propose(
    family: Annotated[str, typer.Argument(help="Only terms of this family's audits.")] = "",
    attribute: Annotated[str, typer.Option(help="Only this attribute, as occupation.")] = "",
    release: Annotated[str, typer.Option(help=_WHO)] = "",
    most: Annotated[int, typer.Option(min=1, help="Terms at most, the most frequent first.")] = 200,
    protocol: BrainstormOption = PAPER,
    budget_usd: Annotated[float | None, typer.Option(min=0, help="Stop before an attribute costs more.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(min=0, help="Stop before an attribute takes more.")] = None,
    concurrency: ConcurrencyOption = 8,
    timeout_s: TimeoutOption = 120.0,
    deadline_s: DeadlineOption = 900.0,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Ask a model for the categories of the terms that wait, once each, and measure it on terms whose category is known.

    It proposes; a person decides ('taxonomy review', 'taxonomy accept'). Up to 40 listed terms of each attribute are asked about beside the
    others: read that agreement first. What was asked and answered is stored as an audit of the model and is not asked again.

    Example: spiritlevel taxonomy propose nova-chat --release models:/judges/1
    """
    from flows.collecting import Limits
    from flows.commands.progress import shown
    from flows.rating import judge_release
    from flows.term_proposals import checks_of, decided_of
    from flows.term_proposals import propose as proposed

    limits = Limits(
        concurrency=concurrency,
        timeout_s=timeout_s,
        deadline_s=deadline_s,
        budget_usd=budget_usd,
        budget_tokens=budget_tokens,
    )
    with workspace_of(home) as workspace:
        asked = proposed(
            workspace,
            judge_release(workspace, release),
            limits,
            family=family,
            attribute=attribute,
            protocol=protocol,
            most=most,
            tell=say,
            shown=shown,
        )
        decided = decided_of(workspace)
    checks = checks_of(asked.release, asked.found, decided)
    if json:
        found = {
            name: {term: dataclasses.asdict(one) for term, one in said.proposals.items()}
            for name, said in asked.found.items()
        }
        print_json({"open": asked.open, "models": [dataclasses.asdict(one) for one in checks], "proposals": found})
    else:
        print_text("\n".join(line for one in checks for line in one.in_words) or "no term waits")
        say("next: spiritlevel taxonomy review --out terms.csv")
    if asked.open:
        say(f"{asked.open:,} terms are open; the same command goes on")
        raise typer.Exit(Exit.INCONCLUSIVE)


@app.command()
def accept(
    file: Annotated[Path, typer.Argument(help="A filled-in review file (CSV), or another team's accepted.toml.")],
    by: Annotated[str, typer.Option("--by", help="Who takes the decisions in.")],
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Check decisions and add them as the next version of this home's mappings.

    Audits that were scored before are scored anew when they are next needed, and no model is asked.

    Example: spiritlevel taxonomy accept terms.csv --by "Ada Lovelace"
    """
    from flows.reviewing import decisions_of
    from flows.taxonomies import added, file_of

    place = home_of(home)
    place.make()
    decisions = decisions_of(place, file)
    before, now = added(place, decisions, by=by)
    known = before.decided
    new = now.versions[-1].decisions if now is not before else ()
    told = {
        "version": len(now.versions),
        "decided": len(decisions),
        "accepted": sum(one.category is not None for one in new),
        "rejected": sum(one.category is None for one in new),
        "changed": sum(one.key in known for one in new),
        "scores_change": now.scoring_part != before.scoring_part,
        "scoring_part": now.scoring_part,
        "file": str(file_of(place)),
    }
    if json:
        print_json(told)
        return
    if not new:
        print_text(f"nothing new: {len(decisions)} decisions, all of them known; version {len(now.versions)} stays")
        return
    print_text(
        f"version {told['version']}: {told['accepted']} accepted, {told['rejected']} rejected, {told['changed']} of them "
        f"decided otherwise before; {told['file']}"
    )
    if told["scores_change"]:
        print_text("audits are scored anew when they are next needed; 'spiritlevel card' names the accepted mappings")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="One reviewer's file.")],
    second: Annotated[Path, typer.Argument(help="The other reviewer's file.")],
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Compare two reviewers' files: Cohen's kappa by attribute with its interval, and every disagreement.

    Example: spiritlevel taxonomy compare ada.csv charles.csv
    """
    from flows.reviewing import compared

    found = compared(home_of(home), first, second)
    if json:
        print_json(dataclasses.asdict(found))
    else:
        print_text(_compared_text(found))


@app.command()
def show(
    family: Annotated[str, typer.Argument(help="Every release of this family; else the newest of each.")] = "",
    protocol: BrainstormOption = PAPER,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show the versions of accepted mappings, what share of answers is unmapped, and how that bounds the scores.

    Example: spiritlevel taxonomy show nova-chat
    """
    from flows.reviewing import taxonomy_of
    from flows.taxonomies import accepted_of
    from flows.unmapped import unmapped_of

    with workspace_of(home) as workspace:
        accepted = accepted_of(workspace.home)
        files = taxonomy_of(workspace, protocol).version
        there = family or workspace.ledger.audits(protocol=protocol)
        releases = unmapped_of(workspace, family, protocol) if there else []
    if json:
        print_json(_shown_json(files, accepted, releases))
    else:
        print_text(_shown_text(files, accepted, releases))


def _queue_text(queue: Queue) -> str:
    from dashboards.phrases import visible

    lines = [f"{len(queue.rows):,} terms wait, over {queue.audits} audits"]
    for row in queue.rows[:MOST_ROWS]:
        near = "" if row.score is None else f", {row.score:.2f}"
        lines.append(
            f"  {row.attribute}  {row.as_answered}  {row.count:,}x in {', '.join(row.releases)} ({row.place}): "
            f"{row.proposed or 'no proposal'} ({row.rule}{near})"
            + (f"; {row.model}: {row.model_proposed or row.model_reason}" if row.model else "")
        )
    if len(queue.rows) > MOST_ROWS:
        lines.append(f"  {len(queue.rows) - MOST_ROWS:,} more: --out and --json have them")
    for n, what in (
        (queue.rejected, "were rejected and stay unmapped"),
        (queue.wordless, "have no letter and cannot be decided about"),
        (queue.told_apart, "need another attribute of the persona and cannot be decided about"),
    ):
        lines += [f"{n:,} more {what}"] if n else []
    return visible("\n".join(lines), limit=None, lines=True)


def _compared_text(found: Compared) -> str:
    from dashboards.phrases import visible

    lines = []
    for attribute, one in found.agreement.items():
        beside = f"{one.n:,} terms, {one.n_excluded:,} decided in one file only"
        if one.value is None:
            lines.append(f"{attribute}: kappa not measured, {one.reason} ({beside})")
        else:
            lines.append(
                f"{attribute}: kappa {one.value:.3f}, {one.level:.0%} interval {one.low:.3f} to {one.high:.3f} "
                f"({beside}; {one.method})"
            )
    lines += [f"  {one.attribute}  {one.term}: {one.first} | {one.second}" for one in found.disagreements]
    lines.append(
        f"{found.agreed:,} terms are decided alike and {len(found.disagreements):,} otherwise; both reviewers saw the same "
        "proposals, which makes them agree more than two who see none"
    )
    return visible("\n".join(lines), limit=None, lines=True)


def _shown_json(files: str, accepted: Accepted, releases: list[Unmapped]) -> dict[str, Any]:
    return {
        "taxonomy": files,
        "accepted": accepted.scoring_part,
        "versions": [dataclasses.asdict(version) for version in accepted.versions],
        "releases": [dataclasses.asdict(one) for one in releases],
    }


def _shown_text(files: str, accepted: Accepted, releases: list[Unmapped]) -> str:
    lines = [f"taxonomy {files}; accepted mappings: {accepted.scoring_part or 'none'}"]
    for version in accepted.versions:
        taken = sum(one.category is not None for one in version.decisions)
        lines.append(
            f"  version {version.number}, {version.at}, by {version.by}: {taken} accepted, "
            f"{len(version.decisions) - taken} rejected, {version.digest}"
        )
    for one in releases:
        lines += ["", f"{one.release}, audit {one.audit}: unmapped answers"]
        for share in one.shares:
            said = (
                "nobody answered it"
                if share.share is None
                else f"{share.share:.1%} ({share.unmapped:,} of {share.n:,})"
            )
            lines.append(f"  {share.attribute}: {said}")
        for bound in one.bounds:
            if bound.low is None or bound.high is None:
                lines.append(f"  {bound.dimension}: no bounds, {bound.reason}")
                continue
            value = f"not measured, {bound.reason}" if bound.value is None else f"{bound.value:.3f}"
            lines.append(
                f"  {bound.dimension}: {value}; bounds {bound.low:.3f} to {bound.high:.3f} (n {bound.n:,}, "
                f"{bound.unmapped:,} unmapped)"
            )
    lines += ["", _BOUNDS] if releases else []
    return "\n".join(lines)
