"""``compare``, ``export``, ``status``: what is in the ledger, for people and machines."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dashboards.instruments import NOISE_FLOOR, Instrument, instrument_of
from flows.commands.audit_options import AskedVariantOption
from flows.commands.moved_text import moved_text
from flows.commands.shared import (
    Exit,
    HomeOption,
    JsonOption,
    ProtocolOption,
    number,
    print_json,
    print_text,
    pvalue,
    say,
    workspace_of,
)
from flows.commands.tables import comparison_grid, print_table, status_grid, verdict_text
from metrics.errors import BadInputError
from registry.audits.variants import variant_of

if TYPE_CHECKING:
    from dashboards.moved import Moved
    from flows.workspace import Workspace
    from metrics.results import Comparison, Score
    from registry.audits.channels import Channels
    from registry.ledger.values import StoredComparison
    from registry.releases import ModelRelease

VERDICT_EXIT = {
    "regressed": Exit.REGRESSED,
    "improved": Exit.OK,
    "unchanged": Exit.OK,
    "inconclusive": Exit.INCONCLUSIVE,
    "not measurable": Exit.INCONCLUSIVE,
}
_CHANNEL_ALPHA = 0.05
_ROW = (
    "metric",
    "dimension",
    "previous",
    "current",
    "delta",
    "low",
    "high",
    "pvalue",
    "qvalue",
    "pvalue_up",
    "qvalue_up",
    "verdict",
    "why",
    "n_previous",
    "n_current",
    "clusters_previous",
    "clusters_current",
    "smallest_change",
    "merged",
)


def row_as_json(row: Comparison) -> dict[str, Any]:
    """One comparison for machines."""
    return {name: list(value) if isinstance(value := getattr(row, name), tuple) else value for name in _ROW}


def channels_as_json(channels: Channels) -> dict[str, Any]:
    """What came back besides the scores, for machines."""
    return {
        "outcomes": channels.rates(),
        "coverage": channels.coverage,
        "calls": channels.calls,
        "call_outcomes": dict(channels.call_outcomes),
        "expected": channels.expected,
        "usable": channels.usable,
        "shortfall": channels.shortfall,
        "format": dict(channels.formats),
        "duplicates": channels.duplicate_rate,
        "repeated_answers": channels.repeated,
        "served_models": dict(channels.served_models),
        "requested_model": channels.requested_model,
        "prompt_tokens": channels.prompt_tokens,
        "completion_tokens": channels.completion_tokens,
        "cost_usd": channels.cost_usd,
    }


def noise_floors(scores: Sequence[Score]) -> dict[str, float]:
    """What chance alone would score, by dimension: the number to read every score beside."""
    return {score.dimension: score.value for score in scores if score.metric == NOISE_FLOOR and score.value is not None}


def _wide(titles: Iterable[str]) -> int:
    """The width of a column of dimensions; a title from a design may be long, and is not cut."""
    return max((34, *(len(title) for title in titles)))


def comparison_table(comparison: StoredComparison, floors: Mapping[str, float]) -> str:
    """The rows of a comparison as fixed-width text; ``floors`` are the current release's noise floors."""
    told, wide = instrument_of(comparison.protocol), _wide(row.dimension for row in comparison.rows)
    head = f"{told.dimension:{wide}} {'previous':>9} {'current':>9} {'floor':>6} {'change':>8}  {'95 % interval':17} {'q':>6}  verdict"
    lines = [head, "-" * len(head)]
    if len({row.why for row in comparison.rows}) == 1 < len(comparison.rows):  # withheld as a whole: said once, below
        return f"all {len(comparison.rows)} {told.dimension}s: {comparison.rows[0].verdict}"
    for row in comparison.rows:
        if row.delta is None:
            lines.append(f"{row.dimension:{wide}} {row.verdict}: {row.why}")
            continue
        interval = "" if row.low is None or row.high is None else f"[{row.low:+.3f}, {row.high:+.3f}]"
        floor = f"{floors[row.dimension]:.2f}" if row.dimension in floors else ""
        lines.append(
            f"{row.dimension:{wide}} {number(row.previous):>9} {number(row.current):>9} {floor:>6} {row.delta:>+8.3f}  "
            f"{interval:17} {pvalue(row.qvalue):>6}  {row.verdict}"
        )
    lines.append(f"floor: {told.floor()}. q: two-sided, over all dimensions.")
    return "\n".join(lines)


def score_table(scores: Sequence[Score], told: Instrument) -> str:
    """An audit's headline scores as fixed-width text, each beside its noise floor and its size."""
    floors = noise_floors(scores)
    headline = [score for score in scores if score.metric == told.headline]
    wide, counted = _wide(score.dimension for score in headline), max(6, len(told.calls))
    head = (
        f"{told.dimension:{wide}} {'score':>7}  {'95 % interval':16} {'floor':>6}  {'severity':10} {told.unit:>8} "
        f"{told.calls:>{counted}}"
    )
    lines = [head, "-" * len(head)]
    for score in headline:
        if score.value is None:
            lines.append(f"{score.dimension:{wide}} not measurable: {score.reason}")
            continue
        interval = "" if score.low is None or score.high is None else f"[{score.low:.3f}, {score.high:.3f}]"
        floor = f"{floors[score.dimension]:.2f}" if score.dimension in floors else ""
        lines.append(
            f"{score.dimension:{wide}} {score.value:>7.3f}  {interval:16} {floor:>6}  {score.severity or '':10} "
            f"{score.n:>8,} {score.n_clusters:>{counted},}"
        )
    lines.append(f"floor: {told.floor()}.")
    return "\n".join(lines)


def channel_lines(previous: Channels, current: Channels) -> list[str]:
    """What changed beside the scores, one line each; empty when nothing did beyond chance."""
    from registry.audits.channel_changes import channel_changes

    changed = [change for change in channel_changes(previous, current) if change.qvalue <= _CHANNEL_ALPHA]
    return ["", "changed beside the scores:", *(f"  {change.in_words()}" for change in changed)] if changed else []


def comparison_as_json(
    comparison: StoredComparison,
    sides: Mapping[str, Channels],
    moved: Moved,
    floors: Mapping[str, Mapping[str, float]],
) -> dict[str, Any]:
    """A comparison for machines: verdicts, rows, what came back from both releases, and what moved."""
    from registry.audits.channel_changes import channel_changes

    changes = channel_changes(sides["previous"], sides["current"])
    return {
        "protocol": comparison.protocol,
        "verdict": comparison.verdict,
        "why": comparison.why,
        "channels": {side: channels_as_json(channels) for side, channels in sides.items()},
        "channel_changes": [dataclasses.asdict(change) for change in changes],
        "noise_floors": {side: dict(values) for side, values in floors.items()},
        "comparisons": [row_as_json(row) for row in comparison.rows],
        "cells": [cell.as_json() for cell in moved.cells],
        "events": [event.as_json() for event in moved.events],
        "policy": dict(comparison.policy),
    }


def compare(
    previous: Annotated[str, typer.Argument(help="The release to compare with, as models:/nova-chat/2")],
    current: Annotated[
        str | None, typer.Argument(help="The release to judge, as models:/nova-chat/3", show_default=False)
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Compare the one release given with its 'previous' one, or a blessed baseline.", show_default=False
        ),
    ] = None,
    protocol: ProtocolOption = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Compare two audited releases: one verdict per dimension, and one for the release.

    Exit code: 0 unchanged or improved, 1 regressed, 3 inconclusive or not measurable.

    Examples: spiritlevel compare models:/nova-chat/2 models:/nova-chat/3 --json
    spiritlevel compare models:/nova-chat/3 --against baseline
    """
    from flows.evidence import moved
    from flows.judging import chosen_protocol, compare_releases
    from flows.reference import release_of
    from flows.scoring import scores_of
    from flows.summaries import channels_of

    with workspace_of(home) as workspace:
        if (current is None) == (against is None):
            raise BadInputError(
                "name two releases, PREVIOUS and CURRENT, or one release and --against NAME of a blessed baseline"
            )
        if against is not None:
            other = release_of(workspace, previous)
            one = _reference(workspace, other, against)
        else:
            one, other = release_of(workspace, previous), release_of(workspace, current or "")
        if one.uri == other.uri:
            raise BadInputError(f"{one.uri} cannot be compared with itself; name two releases")
        name = chosen_protocol(workspace, protocol, [one, other])
        comparison = compare_releases(workspace, one, other, name, workspace.home.policy(other.family))
        audits = {
            side: workspace.ledger.audit(audit)
            for side, audit in (("previous", comparison.previous_audit), ("current", comparison.current_audit))
        }
        sides = {side: channels_of(workspace, audit) for side, audit in audits.items()}
        found = moved(workspace, comparison)
        floors = {side: noise_floors(scores_of(workspace, audit)) for side, audit in audits.items()}
        if json:
            print_json(
                {"family": comparison.family, "previous": one.uri, "current": other.uri}
                | comparison_as_json(comparison, sides, found, floors)
            )
        else:
            print_text(f"{one.uri} -> {other.uri}, {name}\n")
            table = comparison_table(comparison, floors["current"])
            print_table(comparison_grid(comparison, floors["current"]), table)
            for line in channel_lines(sides["previous"], sides["current"]):
                print_text(line)
            if section := moved_text(found, instrument_of(name).unit):
                print_text(section)
            print_text(f"\nverdict: {comparison.verdict}. {comparison.why}")
        if workspace.ledger.waiting_publications(comparison.family):  # else MLflow need not even be loaded
            from flows.publishing import publish_at_once

            sys.stdout.flush()  # MLflow may be waited for, and the verdict need not be
            publish_at_once(workspace, say, comparison.family)
        raise typer.Exit(VERDICT_EXIT[comparison.verdict])


def _reference(workspace: Workspace, release: ModelRelease, against: str) -> ModelRelease:
    """The release that ``--against`` names: the previous one, or a blessed baseline."""
    from flows.blessing import blessed_release
    from flows.reference import previous_release
    from registry.ledger.blessings import PREVIOUS

    if against != PREVIOUS:
        return blessed_release(workspace, release.family, against)
    previous = previous_release(workspace, release)
    if previous is None:
        raise BadInputError(f"{release.uri} has no previous release to compare with; name two releases")
    return previous


def refuse_unwritable(path: Path) -> None:
    """Refuse, before long work, a file that surely cannot be written."""
    import os

    target = path.absolute()
    if target.is_dir():
        raise BadInputError(f"{path} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise BadInputError(
            f"{path} cannot be written: there is no folder {path.parent}; make it, or name another file"
        )
    if not os.access(target.parent, os.W_OK):
        raise BadInputError(f"{path} cannot be written: its folder is read-only; name another file")


def written(path: Path, text: str) -> None:
    """Write a file whole or not at all, with one clear sentence when it cannot be."""
    try:
        target = path.resolve()
        if target.is_dir():
            raise BadInputError(f"{path} is a folder; name a file in it")
        if target.exists() and not target.is_file():  # a device or a pipe is written to, never replaced
            target.write_text(text, encoding="utf-8")
            return
        temporary = target.with_name(f".{target.name}.part")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise BadInputError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from error


def export(
    release: Annotated[str, typer.Argument(help="The release, as models:/nova-chat/3")],
    file: Annotated[
        Path | None, typer.Argument(help="JSON Lines file for the raw answers.", show_default=False)
    ] = None,
    records: Annotated[
        Path | None, typer.Option(help="CSV file with one row per record instead: terms as answered, and categories.")
    ] = None,
    protocol: ProtocolOption = None,
    variant: AskedVariantOption = None,
    home: HomeOption = None,
) -> None:
    """Write an audit's evidence: raw answers (lossless), or one row per record.

    Examples: spiritlevel export models:/nova-chat/3 answers.jsonl
    spiritlevel export models:/nova-chat/3 --records records.csv
    """
    from flows.judging import chosen_protocol
    from flows.scoring import read_answers
    from registry.ledger.bundles import lines_of

    if (file is None) == (records is None):
        raise BadInputError("give one of FILE (raw answers as JSON Lines) and --records FILE.csv (one row per record)")
    with workspace_of(home) as workspace:
        found = workspace.releases.find(release)
        name = chosen_protocol(workspace, protocol, [found])
        every = workspace.ledger.audits(family=found.family, version=found.version, protocol=name, variants=True)
        audits = [audit for audit in every if variant_of(audit.plan.options) == (variant or "")]
        if not audits:
            asked = f" with the prompt variant {variant!r}" if variant else ""
            raise BadInputError(f"{found.uri} has no {name} audit{asked} to export")
        audit = audits[-1]
        if records is not None:
            frame = workspace.protocol(name).record_table(read_answers(workspace, audit))
            written(records, frame.to_csv(index=False, lineterminator="\n"))
            say(f"wrote {len(frame):,} records of audit {audit.id} to {records}")
        elif file is not None:
            answers = workspace.ledger.responses(audit.id)
            written(file, "".join(line + "\n" for line in lines_of(answers)))
            say(f"wrote {len(answers):,} answers of audit {audit.id} to {file}")


def status(json: JsonOption = False, home: HomeOption = None) -> None:
    """Show every audit in the ledger: how far it is, and the newest verdict.

    Example: spiritlevel status --json
    """
    from flows.commands.watching import false_alert_line, false_alerts_as_json
    from flows.judging import verdicts_with_previous
    from flows.usage import source_text, usages
    from flows.watching import fleet_alerts

    with workspace_of(home) as workspace:
        expected = fleet_alerts(workspace)
        rows = []
        occasions = workspace.ledger.occasions(variants=True)
        progress, verdicts = workspace.ledger.progress_of_all(), verdicts_with_previous(workspace, occasions)
        origins, took = workspace.ledger.all_origins(), usages(workspace, occasions) if json else None
        for audit in occasions:
            done, total = progress.get(audit.id, (0, 0))
            rows.append(
                {
                    "audit": audit.id,
                    "release": audit.release,
                    "protocol": audit.protocol,
                    "occasion": audit.occasion,
                    "source": audit.source,
                    "state": audit.state,
                    "answered": done,
                    "requests": total,
                    "ordered_at": audit.ordered_at,
                    "finished_at": audit.finished_at,
                    "verdict": verdicts.get(audit.id),
                    "published": audit.published,
                    "variant": audit.variant,
                    **(took.of(audit.id) if took else {}),
                }
            )
        if json:
            fleet = false_alerts_as_json(expected) if expected else None
            print_json({"home": str(workspace.home.path), "audits": rows, "fleet": fleet})
            return
        print_text(f"home: {workspace.home.path}")
        sources = [source_text(row["source"], origins.get(row["audit"], [])) for row in rows]
        told = [verdict_text(row) for row in rows]
        lines = [
            f"audit {row['audit']}: {row['release']} {row['protocol']} occasion {row['occasion']} ({source}): "
            f"{row['state']}, {row['answered']} of {row['requests']} requests, {verdict}"
            for row, source, verdict in zip(rows, sources, told, strict=True)
        ]
        if lines:
            print_table(status_grid(rows, sources, told), "\n".join(lines))
        if expected:
            print_text(false_alert_line(expected))
        if not rows:
            say("no audits yet; 'spiritlevel demo' shows what one looks like")
