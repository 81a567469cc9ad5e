"""The command ``spiritlevel``: what goes in, what comes out, and what an error looks like."""

from __future__ import annotations

import gc
import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.commands import (
    alerting,
    audits,
    brainstorms,
    bundles,
    cards,
    charts,
    cues,
    decisions,
    descriptions,
    directions,
    doctor,
    drift,
    evidence,
    extraction,
    human,
    importing,
    intersections,
    lexicons,
    planning,
    publishing,
    rating,
    rebalancing,
    releases,
    representing,
    results,
    robustness,
    scheduling,
    service,
    sites,
    taxonomy,
    watching,
    webhooks,
    zooming,
)
from flows.commands.shared import Exit, choose_home, home_of, print_text, say
from flows.redaction import without_secrets
from metrics.errors import BadInputError

app = typer.Typer(
    name="spiritlevel",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help=(
        "Continuous bias audits for LLM releases.\n\nStart with 'spiritlevel demo': it audits two real builds of a small "
        "model on this machine, with no key. Then 'spiritlevel release add' and 'spiritlevel audit'."
    ),
)
app.add_typer(releases.app, name="release")
app.add_typer(alerting.app, name="alerts")
app.add_typer(webhooks.app, name="webhook")
app.add_typer(cards.app, name="card")
app.add_typer(brainstorms.app, name="brainstorm")
app.add_typer(lexicons.app, name="lexicon")
app.add_typer(taxonomy.app, name="taxonomy")
app.add_typer(sites.app, name="site")
app.add_typer(bundles.app, name="bundle")
app.add_typer(human.app, name="human")
app.command()(service.demo)
app.command()(service.init)
app.command()(planning.plan)
app.command()(audits.audit)
app.command()(results.compare)
app.command()(charts.chart)
app.command()(decisions.gate)
app.command()(decisions.bless)
app.command()(decisions.rank)
app.command()(descriptions.descriptions)
app.command()(extraction.extraction)
app.command()(directions.directions)
app.command()(cues.cues)
app.command()(robustness.robustness)
app.command()(intersections.intersect)
app.command()(zooming.zoom)
app.command()(representing.represent)
app.command(name="import")(importing.import_command)
app.command()(results.export)
app.command()(evidence.evidence)
app.command()(rebalancing.rebalance)
app.command()(audits.retry)
app.command()(rating.rate)
app.command()(service.serve)
app.command()(service.deploy)
app.command()(scheduling.schedule)
app.command()(watching.watch)
app.command()(results.status)
app.command()(service.ui)
app.command()(doctor.doctor)
app.command()(publishing.publish)
app.command()(drift.evidently)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print_text(f"spiritlevel {version('spiritlevel')}")
        raise typer.Exit


@app.callback()
def _options(
    home: Annotated[
        Path | None, typer.Option("--home", help="Folder that holds all state.", show_default=False)
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    choose_home(home)


def _remembered(error: BaseException) -> str:
    """Write the traceback to the log file of the home folder, and say where; never to the terminal."""
    from flows.logs import remembered

    try:
        home = home_of(None)
        return f" (details: {home.log_file})" if remembered(home, error) else ""
    except (OSError, BadInputError):
        return ""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; leaves with the exit code of the command.

    Exit codes: 0 ok; 1 regressed; 2 bad input or a provider that never answered; 3 inconclusive, not measurable or
    incomplete; 70 internal error; 130 interrupted; 143 ended by SIGTERM.
    """
    # A command loads hundreds of modules, which are no garbage: looking for some among them that often costs a tenth of it.
    gc.set_threshold(50_000, 20, 20)
    sys.exit(exit_code(arguments))


def exit_code(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    from flows.commands.errors import USER_ERRORS, store_trouble

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode still gets every line

    try:
        result = app(arguments, prog_name="spiritlevel", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        say("interrupted; everything that arrived is stored, and the same command continues")
        return 130
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        return int(Exit.OK)
    except USER_ERRORS as error:
        say(f"error: {without_secrets(str(error))}")
        return int(Exit.BAD_INPUT)
    except Exception as error:
        shown = getattr(error, "show", None)  # usage errors of the command-line library print themselves
        if callable(shown) and hasattr(error, "exit_code"):
            shown()
            return int(error.exit_code)
        if trouble := store_trouble(error):
            say(f"error: {without_secrets(trouble)}{_remembered(error)}")
            return int(Exit.BAD_INPUT)
        first = without_secrets(str(error).splitlines()[0]) if str(error) else ""
        say(f"internal error: {type(error).__name__}: {first}{_remembered(error)}")
        return int(Exit.INTERNAL)
    return int(result) if isinstance(result, int) else int(Exit.OK)


if __name__ == "__main__":
    main()
