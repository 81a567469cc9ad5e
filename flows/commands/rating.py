"""``rate``: a judge model says what stored texts are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.audits import ConcurrencyOption, DeadlineOption, ReleaseArgument, TimeoutOption, finish
from flows.commands.shared import Exit, HomeOption, JsonOption, ProtocolOption, say, workspace_of
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from flows.rating import Rating
    from flows.workspace import Workspace
    from registry.ledger.values import Audit


def rate(
    release: ReleaseArgument,
    protocol: ProtocolOption = None,
    budget_usd: Annotated[
        float | None, typer.Option(min=0, help="Stop each rubric before it costs more than this.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=0, help="Stop each rubric before it takes more tokens than this.")
    ] = None,
    concurrency: ConcurrencyOption = 8,
    timeout_s: TimeoutOption = 120.0,
    deadline_s: DeadlineOption = 900.0,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Let the configured judge rate the texts of a release's newest audit, and score the audit anew.

    The judge is named in spiritlevel.toml ([judge] release); the release itself is not asked again. Live audits are rated
    by themselves; this is for imported texts, for audits that were made before there was a judge, and to go on after a stop.
    Each different text is asked about once under each rubric, beside the rubric's gold set.

    Example: spiritlevel rate models:/nova-chat/3 --protocol targeted-messages
    """
    from flows.auditing import concluding
    from flows.collecting import Limits
    from flows.commands.progress import shown
    from flows.concluding import concluded
    from flows.judging import chosen_protocol
    from flows.rating import judge_release
    from flows.rating import rate as rated

    with workspace_of(home) as workspace:
        found = workspace.releases.find(release)
        judge = judge_release(workspace)
        name = chosen_protocol(workspace, protocol, [found])
        audits = workspace.ledger.audits(family=found.family, version=found.version, protocol=name)
        if not audits:
            raise BadInputError(f"{found.uri} has no {name} audit whose texts could be rated")
        limits = Limits(
            concurrency=concurrency,
            timeout_s=timeout_s,
            deadline_s=deadline_s,
            budget_usd=budget_usd,
            budget_tokens=budget_tokens,
        )
        audit = audits[-1]
        said = f"{judge.uri} is asked %s times about the texts of audit {audit.id} of {found.uri}"
        with concluding(workspace, audit, say):
            made = rated(workspace, audit, limits, tell=say, shown=shown, worth=lambda calls: say(said % f"{calls:,}"))
            result = concluded(workspace, made.audit, tell=say, compare=audit.source == "live")
        _say(workspace, audit, made)
        if not made.complete:
            raise typer.Exit(Exit.INCONCLUSIVE)
        for score in result.scored.scores:
            if score.dimension in made.asked and score.value is None:
                say(f"{score.dimension}: nothing is concluded: {score.reason}")
        finish(result, found.uri, name, json)


def _say(workspace: Workspace, audit: Audit, made: Rating) -> None:
    from flows.rating import rate_command

    for name, texts in made.asked.items():
        open_calls = made.open[name]
        say(
            f"{name}: {texts:,} of {made.texts:,} different texts have an answer that can be read"
            + (f", {open_calls:,} calls are open" * bool(open_calls))
        )
        if made.texts and not texts and not open_calls:
            say(
                f"warning: {made.judge.uri} answers in another form than it is asked for; as a judge it measures nothing"
            )
    if not made.complete:
        say(f"everything that arrived is stored; '{rate_command(audit)}' goes on")
