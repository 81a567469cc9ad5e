"""``demo``, ``init``, ``serve``, ``deploy``, ``ui``: getting started, and keeping going."""

from __future__ import annotations

import re
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from flows.commands.shared import Exit, HomeOption, JsonOption, home_of, print_json, print_text, say, workspace_of
from metrics.errors import BadInputError


def demo(
    personas: Annotated[
        int | None, typer.Option(min=1, help="Personas to ask each build for. Default: 240, about 5 minutes in all.")
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
    from flows.commands.audits import result_text
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


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def interval(text: str) -> timedelta:
    """A length of time such as 7d, 12h, 30m or 90s.

    >>> interval("7d")
    datetime.timedelta(days=7)
    """
    found = re.fullmatch(r"\s*(\d{1,6})\s*([smhdw])\s*", text)
    if not found or int(found[1]) == 0:
        raise BadInputError(f"an interval is a number with s, m, h, d or w, such as 7d or 12h; not {text!r}")
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]])


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
    home: HomeOption = None,
) -> int | None:
    """Run the whole service in this process until stopped: what spiritlevel.yaml declares, and an endpoint for webhooks.

    It audits what is due, catches up after downtime, audits newly registered releases, delivers alerts and publishes what
    waits. With PREFECT_API_URL set the audits are deployments on that Prefect server and this process is a worker of their
    pool; without one it makes them itself, one after another.

    With a release and --every only this release is audited on an interval, and no file is needed.

    Exit code with --once: 0, or 3 when an audit failed or is not finished.

    Example: spiritlevel serve
    """
    if release is not None:
        if every is None or once:
            raise BadInputError("'serve RELEASE' needs --every, such as --every 7d, and goes on until it is stopped")
        _serve_release(release, every, protocol, personas, concurrency, home)
        return None
    if every is not None or personas is not None:
        raise BadInputError("--every and --personas are of 'serve RELEASE'; spiritlevel.yaml says them for everything")
    _inherited(home)
    from flows.service import serve_all, serve_once  # after the environment, which Prefect reads when it is imported

    if not once:
        serve_all(home_of(home), say)
        return None
    made = serve_once(home_of(home), say)
    return int(Exit.INCONCLUSIVE if any(run.state in ("failed", "open") for run in made) else Exit.OK)


def _inherited(home: Path | None) -> None:
    """Let processes that are started from here, as flow runs are, find the same home folder."""
    import os

    place = home_of(home)
    os.environ["SPIRITLEVEL_HOME"] = str(place.path)
    place.prepare_environment()


def _serve_release(
    release: str, every: str, protocol: str, personas: int | None, concurrency: int, home: Path | None
) -> None:
    from flows.serving import serve_release

    length = interval(every)
    with workspace_of(home) as workspace:
        found = workspace.releases.find(release)
        workspace.protocol(protocol)
        place = workspace.home
    say(f"auditing {found.uri} every {every}; alerts go to {place.alerts}; stop with Ctrl-C")
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
