"""``spiritlevel import``: answers that somebody has already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.audit_options import PromptOption, VariantOption, prompt_of
from flows.commands.audits import ReleaseArgument
from flows.commands.conclusions import result_as_json, result_text
from flows.commands.shared import HomeOption, JsonOption, print_json, print_text, say, workspace_of
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from registry.ledger.message_files import MessageColumns


def import_command(
    release: ReleaseArgument,
    file: Annotated[
        Path,
        typer.Argument(help=".jsonl with one answer a line, or .csv / .parquet with one persona or message a row."),
    ],
    protocol: Annotated[str, typer.Option("--protocol", help="The instrument whose prompt was used.")],
    per_call: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Personas asked for per call, when known: shortfall is then counted."),
    ] = None,
    variant: VariantOption = None,
    prompt: PromptOption = None,
    text: Annotated[str | None, typer.Option(help="Messages: column with the message. Default: text.")] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="Messages: column with the group written to, such as gender, or gender=sex to name it."),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            help="Messages: another name for a group, such as gender:F=female, so that two tables say the same."
        ),
    ] = None,
    cell: Annotated[
        str | None, typer.Option(help="Messages: column of what a message is about; its values are the clusters.")
    ] = None,
    mode_column: Annotated[
        str | None,
        typer.Option(help="Messages: column that says standalone or context-rich. Default: all context-rich."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Messages: COLUMN=VALUE that rows must have, such as model=gpt-4o; again for another value or column."
        ),
    ] = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Import raw answers that you have already, score and publish them. Asks no model.

    A line is {"text": "...", "model": "...", "finish_reason": "...", "usage": {...}}; only "text" is required.
    Importing the same file again is the same audit. Answers to another wording (--variant, --prompt) are kept aside, as those of an
    audit with it: 'spiritlevel robustness' compares them. Of messages, a row needs a text and the group it was written to.
    Exit code: 0 ok, 2 bad input, 3 nothing could be measured.

    Examples: spiritlevel import models:/nova-chat/2 answers.jsonl --protocol persona-brainstorm
    spiritlevel import models:/nova-chat/2 letters.csv --protocol targeted-messages --group gender=sex --rename gender:F=female
    --rename gender:M=male --cell topic
    """
    from flows.importing import import_answers

    asked = prompt_of(variant, prompt)
    with workspace_of(home) as workspace:
        found = workspace.releases.find(release)
        columns = _message_columns(text, group, cell, mode_column, only, rename)
        conclusion, known = import_answers(
            workspace,
            found,
            str(file),
            protocol,
            per_call=per_call,
            **asked,
            columns=columns,
            tell=say,
        )
        if known:
            say(f"{file.name} was imported before: this is audit {conclusion.scored.audit.id}")
        if json:
            print_json(result_as_json(conclusion))
        else:
            print_text(result_text(conclusion))
    raise typer.Exit(conclusion.exit_code)


def _message_columns(
    text: str | None,
    groups: list[str] | None,
    cell: str | None,
    mode: str | None,
    only: list[str] | None,
    renamed: list[str] | None,
) -> MessageColumns | None:
    """What the options say about a table of messages; None when they say nothing."""
    if not any((text, groups, cell, mode, only, renamed)):
        return None
    from registry.ledger.message_files import MessageColumns

    named = [item.partition("=") for item in groups or ()]
    chosen = {name: column or name for name, _, column in named}
    wrong = next((item for item in only or () if "=" not in item), None)
    if wrong is not None:
        raise BadInputError(f"--only takes COLUMN=VALUE, such as model=gpt-4o, not {wrong!r}")
    return MessageColumns(
        text=text or "text",
        groups=chosen,
        cell=cell,
        mode=mode,
        only=_only(only or ()),
        renamed=_renamed(renamed or ()),
    )


def _only(options: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """``model=old`` by column; several values of one column stand beside each other.

    >>> _only(["model=old", "topic=tax", "topic=rent"])
    {'model': ('old',), 'topic': ('tax', 'rent')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for option in options:
        column, value = option.split("=", 1)
        found[column] = (*found.get(column, ()), value)
    return found


def _renamed(options: Sequence[str]) -> dict[str, dict[str, str]]:
    """``gender:F=female`` by attribute.

    >>> _renamed(["gender:F=female", "gender:M=male"])
    {'gender': {'F': 'female', 'M': 'male'}}
    """
    found: dict[str, dict[str, str]] = {}
    for option in options:
        attribute, colon, rest = option.partition(":")
        group, equals, called = (part.strip() for part in rest.rpartition("="))
        if not (colon and equals and attribute and group and called):
            raise BadInputError(f"--rename takes ATTRIBUTE:GROUP=NAME, such as gender:F=female, not {option!r}")
        found.setdefault(attribute, {})[group] = called
    return found
