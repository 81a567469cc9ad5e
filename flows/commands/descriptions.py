"""``descriptions``: what a release writes of the people it makes up, by group."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.commands.audits import ReleaseArgument
from flows.commands.shared import HomeOption, JsonOption, print_json, print_text, say, workspace_of


def descriptions(
    release: ReleaseArgument,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Whose groups: gender (default), ethnicity or sexual-orientation; again for more."),
    ] = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Measure the descriptions of a release's newest persona-descriptions audit as messages are: sentiment, agency, formality, words. Asks no model.

    The result is an audit under described-personas: compare, card, gate and rank take it. Groups are those that the model gave its own
    personas, so a difference may go with their jobs or schooling: it is about the descriptions, not about a group alone.

    Example: spiritlevel descriptions models:/nova-chat/3 --by gender --by ethnicity
    """
    from flows.commands.conclusions import result_as_json, result_text
    from flows.descriptions import described

    with workspace_of(home) as workspace:
        conclusion, known = described(workspace, workspace.releases.find(release), by or ["gender"], tell=say)
        if known:
            say(f"these descriptions were measured before: this is audit {conclusion.scored.audit.id}")
        if json:
            print_json(result_as_json(conclusion))
        else:
            print_text(result_text(conclusion))
    raise typer.Exit(conclusion.exit_code)
