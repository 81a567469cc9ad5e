"""``publish``: empty the outbox to MLflow by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.commands.shared import Exit, HomeOption, JsonOption, print_json, print_text, say, workspace_of


def publish(
    family: Annotated[str | None, typer.Argument(help="Only this family. Default: all.", show_default=False)] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Publish everything again, as to an MLflow that was emptied or put back.")
    ] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Publish to MLflow what waits in the ledger, such as what was made while MLflow was down. Asks no model.

    Everything is published once: what is in MLflow already is found there.

    Exit code: 0 nothing waits any more, 3 something still waits.

    Example: spiritlevel publish nova-chat --json
    """
    from flows.publishing import publish_waiting

    with workspace_of(home) as workspace:
        workspace.ledger.adopt_publications()
        if family is not None and not workspace.ledger.has_publications(family):
            workspace.releases.list(family)  # refuses an unknown one and names the nearest
        if rebuild:
            workspace.ledger.publish_again(family)
        report = publish_waiting(workspace, say, family=family, everything=True, patience_s=None)
        for sentence in report.trouble:
            say(sentence)
        if report.busy:
            say("another process is publishing just now; it publishes what waits")
        if json:
            rows = [
                {"kind": row.kind, "family": row.family, "protocol": row.protocol, "subject": row.subject}
                for row in report.published
            ]
            waiting = [
                {"kind": row.kind, "family": row.family, "protocol": row.protocol, "subject": row.subject}
                | {"attempts": row.attempts, "since": row.made_at, "detail": row.detail}
                for row in workspace.ledger.waiting_publications(family)
            ]
            trouble = "; ".join(report.trouble)
            print_json({"published": rows, "waiting": waiting, "busy": report.busy, "trouble": trouble})
        else:
            print_text(f"published {len(report.published)} to MLflow, {report.waiting} still waiting")
        raise typer.Exit(Exit.INCONCLUSIVE if report.waiting else Exit.OK)
