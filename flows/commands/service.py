"""``demo``, ``init``, ``serve``, ``deploy``, ``ui``: getting started, and keeping going."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.shared import Exit, HomeOption, JsonOption, home_of, print_json, print_text, say, workspace_of
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from flows.duty_clock import SweepReport
    from registry.ledger.duties import DutyRun


def demo(
    personas: Annotated[
        int | None,
        typer.Option(min=1, help="Personas to ask each build for. Default: 240, about 5 minutes on 2 idle cores."),
    ] = None,
    home: HomeOption = None,
) -> None:
    """Audit two real builds of a small model on this machine: no key, no server, no account.

    The first is SmolLM2-135M-Instruct as it is published on the package index; the second is the same model
    quantised once more, a degraded build as users meet them. Both imagine people, are scored, compared and
    published to a local MLflow, and you get a model card. With few personas the honest verdict may be
    'inconclusive'; the card then says which size would decide.

    Example: spiritlevel demo --personas 1000
    """
    from flows.commands.conclusions import result_text
    from flows.commands.progress import shown
    from flows.demo import demonstrated
    from flows.tracking import compare_link

    with workspace_of(home) as workspace:
        say(f"Everything is kept in {workspace.home.path}")
        made = demonstrated(workspace, personas, tell=say, shown=shown, folder=workspace.home.path / "demo")
        print_text(result_text(made.second))
        print_text("\nThe model card:")
        for path in made.files:
            print_text(f"  {path}")
        print_text("\nOpen the MLflow UI on it with:")
        print_text(f"  {_own_command()} ui --home {shlex.quote(str(workspace.home.path))}")
        releases = workspace.releases.list(made.second.scored.audit.release.family)
        print_text(
            f"\nThe two releases side by side, once it runs:\n  {compare_link('http://127.0.0.1:5000', releases)}"
        )


def _own_command() -> str:
    """How the user called this program: through uv, or as an installed command."""
    import os

    return "uv run spiritlevel" if os.environ.get("UV_RUN_RECURSION_DEPTH") else "spiritlevel"


def init(home: HomeOption = None) -> None:
    """Make the home folder with two commented configuration files and an empty ledger.

    spiritlevel.toml says where things are and how releases are judged; spiritlevel.yaml what is audited again and again.

    Example: spiritlevel init --home ./audits
    """
    from flows.service_settings import SERVICE_TEXT
    from flows.settings import CONFIGURATION, CONFIGURATION_TEXT

    with workspace_of(home) as workspace:
        files = {workspace.home.path / CONFIGURATION: CONFIGURATION_TEXT, workspace.home.service_file: SERVICE_TEXT}
        for path, text in files.items():
            if path.exists():
                say(f"{path} is there already; it was left as it is")
            else:
                path.write_text(text, encoding="utf-8")
                say(f"wrote {path}")
        identity = workspace.ledger.identity
        print_text(f"home {workspace.home.path}, ledger {identity}")


def serve(
    release: Annotated[
        str | None,
        typer.Argument(
            help="One release, as models:/nova-chat/3 or models:/nova-chat@champion. Default: all of spiritlevel.yaml.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(help="How often the release is audited: a number with s, m, h, d or w, such as 7d."),
    ] = None,
    protocol: Annotated[str, typer.Option("--protocol", help="Which instrument the release is audited with.")] = (
        "persona-brainstorm"
    ),
    personas: Annotated[int | None, typer.Option(min=1, help="Personas to ask the release for each time.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="Calls under way at the same time.")] = 8,
    once: Annotated[
        bool, typer.Option("--once", help="Look once, do what is due and end: for a system that has its own cron.")
    ] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> int | None:
    """Run the whole service in this process until stopped: what spiritlevel.yaml declares, and an endpoint for webhooks.

    It audits what is due, catches up after downtime, audits newly registered releases, delivers alerts and publishes what
    waits. With PREFECT_API_URL set the audits are deployments on that Prefect server and this process is a worker of their
    pool; without one it makes them itself, one after another.

    With a release and --every only this release is audited on an interval, and no file is needed.

    With --once due audits are made one after the other, what was missed is recorded, dead workers' audits go on, and what
    waits goes out; two at once do no harm, and --json is of it. Its exit code is 3 when an audit failed or is not finished,
    or something else could not be done now.

    Example: spiritlevel serve
    """
    if release is not None:
        if every is None or once:
            raise BadInputError("'serve RELEASE' needs --every, such as --every 7d, and goes on until it is stopped")
        _serve_release(release, every, protocol, personas, concurrency, home)
        return None
    if json and not once:
        raise BadInputError("--json is of 'serve --once'; a service that goes on has no result")
    if every is not None or personas is not None:
        raise BadInputError("--every and --personas are of 'serve RELEASE'; spiritlevel.yaml says them for everything")
    _inherited(home)
    from flows.service import serve_all, serve_once  # after the environment, which Prefect reads when it is imported

    if not once:
        serve_all(home_of(home), say)
        return None
    report, made = serve_once(home_of(home), say)
    if json:
        print_json(dataclasses.asdict(report) | {"runs": [dataclasses.asdict(run) for run in made]})
    else:
        print_text(look_text(report, made))
    unfinished = report.trouble or any(run.state in ("failed", "open") for run in made)
    return int(Exit.INCONCLUSIVE if unfinished else Exit.OK)


def look_text(report: SweepReport, made: list[DutyRun]) -> str:
    """What a look did, for people."""
    lines = ["another process was looking just then"] if report.busy else []
    lines += [f"{name}: new version" for name in report.arrived]
    if report.missed:
        lines.append(f"{report.missed:,} missed times were recorded; one run stands for those of each audit")
    if report.refused:
        lines.append(f"{report.refused} not begun: the one before is still running")
    for run in made:
        said = f" ({run.why})" if run.why else ""
        lines.append(f"{run.duty}, {run.slot}: {run.state}{f', {run.verdict}' if run.verdict else ''}{said}")
    lines += [f"{name}: overdue" for name in report.overdue]
    lines += [f"not done now: {words}" for words in report.trouble]
    return "\n".join(lines or ["nothing is due"])


def _inherited(home: Path | None) -> None:
    """Let processes that are started from here, as flow runs are, find the same home folder."""
    import os

    place = home_of(home)
    place.refuse_file()  # before Prefect looks for its own folder in it
    os.environ["SPIRITLEVEL_HOME"] = str(place.path)
    place.prepare_environment()


def _serve_release(
    release: str, every: str, protocol: str, personas: int | None, concurrency: int, home: Path | None
) -> None:
    from flows.channels.file import DEFAULT_FILE
    from flows.service_settings import length_of_time
    from flows.serving import serve_release

    length = length_of_time(every)
    with workspace_of(home) as workspace:
        found = workspace.releases.find(release)
        workspace.protocol(protocol)
        place = workspace.home
        told = place.service.alerts_of(found.family).channels
    told = tuple(place.service.channels) if told is None else told
    where = ", ".join(told) if place.service.channels else str(place.path / DEFAULT_FILE)
    say(f"auditing {found.uri} every {every}; alerts go to {where or 'nobody'}; stop with Ctrl-C")
    serve_release(release, length, protocol=protocol, personas=personas, concurrency=concurrency, home=place, tell=say)


def deploy(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Make the deployments on the Prefect server of PREFECT_API_URL say what spiritlevel.yaml says.

    One deployment for each recurring audit and one for the duty clock, in the work pool that the file names. What did not
    change is not touched, its next run included; what is no longer declared is removed; other people's deployments are
    left alone. Then run 'prefect worker start --pool spiritlevel' on each machine that is to make audits.

    Example: spiritlevel deploy --dry-run
    """
    from dataclasses import asdict

    with workspace_of(home) as workspace:
        from flows.service import deployed, told_deployments  # after the environment, which Prefect reads on import

        result = deployed(workspace, dry_run=dry_run)
    if json:
        print_json(asdict(result) | {"dry_run": dry_run})
        return
    told_deployments(result, print_text, would=dry_run)


def ui(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 5000,
    print_command: Annotated[bool, typer.Option("--print", help="Print the command instead of running it.")] = False,
    home: HomeOption = None,
) -> None:
    """Open the MLflow UI on this home folder's store, on this machine only. Stop it with Ctrl-C.

    Example: spiritlevel ui --port 5001
    """
    import os

    from flows.tracking import ui_command, ui_environment

    with workspace_of(home) as workspace:
        tracking = workspace.tracking
        if tracking.is_server:
            print_text(f"MLflow runs already: open {tracking.uri}")
            return
        command, environment = ui_command(tracking, port), ui_environment(tracking)
    if print_command:
        print_text(shlex.join(command))
        return
    say(f"MLflow UI on http://127.0.0.1:{port} (stop with Ctrl-C)")
    # In place of this process, so that whatever stops it stops the server.
    os.execve(command[0], command, os.environ | environment)  # noqa: S606 - our own command
