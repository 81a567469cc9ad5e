"""``chart``: the charts of a release as files, each as a picture and as data."""

from __future__ import annotations

import json as jsons
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.shared import Exit, HomeOption, JsonOption, ProtocolOption, print_json, print_text, workspace_of
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from dashboards.charts.catalog import Correlated, Subject
    from dashboards.charts.chart import Chart, NoChart
    from dashboards.robustness import Robustness
    from dashboards.shares import ShareTable
    from flows.workspace import Workspace
    from registry.ledger.values import Audit

_PERSONA_CUES = "persona-cues"


def chart(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Which chart; see --list. Left out: all that apply, but for those of prompt variants.",
            show_default=False,
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Argument(help="A family, or one release as models:/nova-chat/3", show_default=False),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write to.", show_default=False)] = None,
    dimension: Annotated[
        str | None,
        typer.Option(help="Only this one, of charts that there is one of for each dimension.", show_default=False),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Name the charts, a line each, and leave.")] = False,
    protocol: ProtocolOption = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Write charts of a family's newest release, or of the one named: each as SVG, as CSV and as JSON.

    Charts of prompt variants, whose audits are kept aside, are drawn when they are named: prompts and agreement. A chart that cannot be drawn is named with the reason, and the exit code is 3 when none could be.

    Examples: spiritlevel chart radar nova-chat --out charts
    spiritlevel chart models:/nova-chat/3 --out charts
    """
    from dashboards.charts.catalog import KINDS

    if listed:
        wide = max(map(len, KINDS))
        print_text("\n".join(f"{kind:{wide}}  {KINDS[kind].says}" for kind in KINDS))
        return
    kinds, target = _asked(name, family)
    if out is None:
        raise BadInputError("charts need a folder to go to; give one with --out FOLDER")
    with workspace_of(home) as workspace:
        made = list(_made(workspace, target, protocol, dimension, kinds, _folder(out)))
    written = [str(path) for paths, _ in made for path in paths]
    missing = [one for _, one in made if one is not None]
    if json:
        told = [{"chart": one.name, "title": one.title, "why": one.why} for one in missing]
        print_json({"written": written, "not_drawn": told})
    else:
        print_text(
            "\n".join([f"wrote {path}" for path in written] + [f"not drawn: {one.title}: {one.why}" for one in missing])
        )
    if not written:
        raise typer.Exit(Exit.INCONCLUSIVE)


def _asked(name: str | None, family: str | None) -> tuple[list[str], str]:
    """The kinds of charts, and whose: with one argument it is whose, unless it is the name of a chart."""
    from dashboards.charts.catalog import KINDS

    if name is None or (family is None and name in KINDS):
        raise BadInputError(
            "name a family or a release, as in 'spiritlevel chart radar nova-chat --out charts'; --list names the charts"
        )
    if family is None:
        return [*KINDS], name
    if name not in KINDS:
        raise BadInputError(f"unknown chart {name!r}; known: {', '.join(KINDS)}")
    return [name], family


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(f"{path} cannot be made a folder: {error.strerror or error}; name another") from error
    return path


def _made(
    workspace: Workspace, target: str, protocol: str | None, dimension: str | None, kinds: Sequence[str], out: Path
) -> Iterator[tuple[list[Path], NoChart | None]]:
    """The files of each chart, or why there are none; of several protocols each in a folder of its own."""
    from dashboards.charts.catalog import KINDS
    from dashboards.charts.chart import Chart
    from flows.commands.cards import named

    family, version = named(workspace, target)
    chosen = _protocols(workspace, protocol, family, version)
    for one in chosen:
        subject = _subject(workspace, family, one, version, dimension)
        folder = _folder(out / one) if len(chosen) > 1 else out
        for kind in kinds:
            if len(kinds) > 1 and (KINDS[kind].aside or not KINDS[kind].applies(subject.card)):
                continue
            for part, made in KINDS[kind].make(subject):
                if isinstance(made, Chart):
                    yield _written(folder, f"{kind}-{part}" if part else kind, made), None
                else:
                    yield [], made


def _protocols(workspace: Workspace, protocol: str | None, family: str, version: int | None) -> list[str]:
    """The protocol asked for, else all that the family, or the release, was audited with."""
    from flows.judging import chosen_protocol

    ran = workspace.ledger.protocols(family, None if version is None else {version})
    if ran and protocol is None:
        return [*ran]
    releases = workspace.releases.list(family)  # an unknown family is told by the registry
    return [chosen_protocol(workspace, protocol, [one for one in releases if version in (None, one.version)])]


def _subject(workspace: Workspace, family: str, protocol: str, version: int | None, dimension: str | None) -> Subject:
    from dashboards.card import OVERALL
    from dashboards.charts.catalog import Subject
    from flows.carding import card_of

    card = card_of(workspace, family, protocol, version)
    if dimension is not None and dimension not in (OVERALL, *card.dimensions):
        raise BadInputError(
            f"{protocol} has no dimension {dimension!r} here; known: {OVERALL}, {', '.join(card.dimensions)}"
        )
    return Subject(
        card=card,
        shares=lambda: _tables(workspace, card.audit),
        releases=lambda: _correlated(workspace, family, protocol, card.release.version),
        robustness=lambda: _under_prompts(workspace, family, protocol, card.release.version),
        dimension=dimension,
    )


def _tables(workspace: Workspace, audit: Audit) -> list[ShareTable]:
    from dashboards.shares import ShareTable
    from flows.summaries import summary_of

    details = summary_of(workspace, audit).details
    return [ShareTable.from_json(table, audit.release.uri) for table in details.get("drill", ())]


def _correlated(workspace: Workspace, family: str, protocol: str, version: int) -> Correlated | str:
    """Correlations between the releases of a family up to one, or why there are none."""
    if protocol != _PERSONA_CUES:
        return "answers of this protocol are not correlated between releases"
    from dashboards.cue_pool import matrices
    from flows.cue_pooling import pooled_cues

    releases = [one for one in workspace.releases.list(family) if one.version <= version]
    try:
        pool = pooled_cues(workspace, releases)
    except BadInputError as error:
        return str(error)
    return pool, matrices(pool.between, "overall", "task")


def _under_prompts(workspace: Workspace, family: str, protocol: str, version: int) -> Robustness | str:
    """The releases of a family up to one under every prompt, or why there are none."""
    from flows.robustness import robustness_of

    releases = [one for one in workspace.releases.list(family) if one.version <= version]
    try:
        return robustness_of(workspace, releases, shares=(), protocol=protocol)
    except BadInputError as error:
        return str(error)


def _written(folder: Path, stem: str, made: Chart) -> list[Path]:
    from flows.commands.results import written
    from flows.redaction import without_secrets

    forms = {"svg": made.svg, "csv": made.csv(), "json": jsons.dumps(made.as_json(), indent=2, allow_nan=False)}
    paths = []
    for form, text in forms.items():
        path = folder / f"{stem}.{form}"
        plain = text.encode("utf-8", "backslashreplace").decode()  # half a character of a name is no reason to fail
        written(path, without_secrets(plain if plain.endswith("\n") else f"{plain}\n"))
        paths.append(path)
    return paths
