"""``alerts``: what is open, what it says, who looks after it, and whether channels work."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import Exit, HomeOption, JsonOption, print_json, print_text, say, workspace_of

if TYPE_CHECKING:
    from registry.ledger.incidents import Incident, Notice

app = typer.Typer(
    no_args_is_help=True,
    help="What was found and is open, who looks after it, and whether channels work.",
    rich_markup_mode=None,
)
IdArgument = Annotated[int, typer.Argument(metavar="ID", help="The incident's number, from 'alerts list'.")]


def incident_as_json(incident: Incident) -> dict[str, Any]:
    """An incident for machines."""
    return dataclasses.asdict(incident) | {"evidence": dict(incident.evidence), "release": incident.release}


def notice_as_json(notice: Notice) -> dict[str, Any]:
    """A notice for machines, without the message, which is the incident's evidence again."""
    values = dataclasses.asdict(notice)
    return {name: value for name, value in values.items() if name not in ("message", "holder")}


def incident_line(incident: Incident) -> str:
    """An incident in one line."""
    from dashboards.phrases import visible

    line = f"{incident.id:>4}  {incident.state:<12} {incident.severity:<9} {visible(incident.title, 200)}"
    if incident.state == "acknowledged":
        line += f" (by {visible(incident.acknowledged_by or '', 80)})"
    return f"{line}; since {incident.opened_at[:16]}"


def undelivered_lines(notices: list[Notice]) -> list[str]:
    """What was not delivered, a line a notice, what was given up first."""
    lines = []
    for notice in sorted(notices, key=lambda notice: notice.state != "dead"):
        what = f"incident {notice.incident} ({notice.event}) to channel {notice.channel}"
        tries = f"{notice.attempts} {'try' if notice.attempts == 1 else 'tries'}"
        if notice.state == "dead":
            lines.append(
                f"given up after {tries}: {what}: {notice.detail}. 'spiritlevel alerts send --given-up' tries again"
            )
        else:
            reason = f": {notice.detail}" if notice.detail else ""
            lines.append(f"waiting until {notice.next_at[:16]} after {tries}: {what}{reason}")
    return lines


@app.command("list")
def list_command(
    everything: Annotated[bool, typer.Option("--all", help="Also those that have ended.")] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show open incidents, and what could not be delivered yet.

    Example: spiritlevel alerts list
    """
    from flows.delivery import outbox
    from registry.ledger.incidents import LIVE

    with workspace_of(home) as workspace:
        found = workspace.ledger.incidents(states=None if everything else LIVE)
        waiting = outbox(workspace)
    if json:
        incidents = [incident_as_json(incident) for incident in found]
        print_json({"incidents": incidents, "undelivered": [notice_as_json(notice) for notice in waiting]})
        return
    lines = [incident_line(incident) for incident in found] or [
        "no incident was ever opened" if everything else "no incident is open"
    ]
    print_text("\n".join([*lines, *undelivered_lines(waiting)]))


@app.command()
def show(incident_id: IdArgument, json: JsonOption = False, home: HomeOption = None) -> None:
    """Show an incident: what moved, by how much, how sure, where to look, who was told.

    Example: spiritlevel alerts show 3
    """
    from flows.delivery import links_of

    with workspace_of(home) as workspace:
        incident = workspace.ledger.incident(incident_id)
        notices = workspace.ledger.notices(incident=incident_id)
        links = links_of(workspace, incident)
    if json:
        told = [notice_as_json(notice) for notice in notices]
        print_json(incident_as_json(incident) | {"links": links, "told": told})
        return
    print_text("\n".join(_page(incident, notices, links)))


def _page(incident: Incident, notices: list[Notice], links: dict[str, str]) -> list[str]:
    from dashboards.phrases import visible
    from flows.channels.message import OPENED, Message
    from flows.incidents import body_of

    stored = body_of(incident, incident.opened_at) | {"dimensions": ()}
    message = Message(**stored, id="", event=OPENED, incident=None, links=links)
    lines = [incident_line(incident), "", message.text(), ""]
    if incident.acknowledged_by:
        lines.append(_acknowledgement(incident))
    lines += [
        f"audit {item['audit']} at {item['at'][:16]}: {item['verdict']}; {visible(item['why'], 500)}"
        for item in incident.evidence.get("seen", ())
    ]
    lines += _what_ends(incident)
    if ended := incident.evidence.get("ended"):
        lines.append(f"{incident.state} at {incident.ended_at}: {visible(ended, 500)}")
    for notice in notices:
        when = notice.sent_at or f"next try {notice.next_at}" if notice.state in ("sent", "waiting") else ""
        said = f": {notice.detail}" if notice.detail else ""
        lines.append(f"{notice.event} to {notice.channel}: {notice.state} {when}".rstrip() + said)
    if not notices:
        lines.append("nobody was told")
    return lines


def _acknowledgement(incident: Incident) -> str:
    from dashboards.phrases import visible

    return (
        f"acknowledged by {visible(incident.acknowledged_by or '')} at {incident.acknowledged_at}: "
        f"{visible(incident.acknowledged_why or '', 500)}"
    )


def _what_ends(incident: Incident) -> list[str]:
    """What is missing for a live incident to be over, as far as an audit has said; else how one of its kind ends."""
    from dashboards.phrases import visible
    from flows.finding_kinds import ENDS
    from registry.ledger.incidents import UNCONFIRMED

    if not incident.live:
        return []
    if incident.state == UNCONFIRMED:
        return ["nobody is told before a second sample has shown it too; one that does not withdraws it"]
    seen = incident.evidence.get("seen", ())
    if seen and (missing := seen[-1].get("missing")):
        said = [f"- {visible(line, 500)}" for line in missing]
        return [f"it is not over, for in audit {seen[-1]['audit']}, against what it was first compared with:", *said]
    return [f"it is over when {ENDS[incident.kind]}"] if incident.kind in ENDS else []


@app.command()
def ack(
    incident_id: IdArgument,
    why: Annotated[str, typer.Option("--why", help="What is known of it, or who does what until when.")],
    who: Annotated[str | None, typer.Option("--who", help="Default: the system's user.", show_default=False)] = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Say that somebody looks after an incident: nobody is reminded of it any more. It still recovers by itself.

    Who had said so before is shown, and stays in the record.

    Example: spiritlevel alerts ack 3 --why "known; fixed in the next release"
    """
    from flows.blessing import user_name

    with workspace_of(home) as workspace:
        now = workspace.ledger.moment()
        before = workspace.ledger.incident(incident_id)
        said = workspace.ledger.acknowledge(incident_id, who=user_name() if who is None else who, why=why, now=now)
    if json:
        print_json(incident_as_json(said))
        return
    print_text(incident_line(said))
    if before.acknowledged_by not in (None, said.acknowledged_by):
        print_text(f"before, {_acknowledgement(before)}")


@app.command("test")
def trial(
    channel: Annotated[
        str | None, typer.Option("--channel", help="Only this one. Default: every channel.", show_default=False)
    ] = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Really send one message to each channel, and say what came back. Exit code 2 when one did not take it.

    Example: spiritlevel alerts test --channel pager
    """
    from flows.delivery import tried
    from flows.incidents import channels_of

    with workspace_of(home) as workspace:
        names = [channel] if channel is not None else list(channels_of(workspace))
        results = {name: tried(workspace, name) for name in names}
    if json:
        print_json({name: {"delivered": taken, "answer": said} for name, (taken, said) in results.items()})
    else:
        print_text(
            "\n".join(
                f"{name}: {'delivered' if taken else 'FAILED'}; {said}" for name, (taken, said) in results.items()
            )
        )
    if not all(taken for taken, _ in results.values()):
        raise typer.Exit(Exit.BAD_INPUT)


@app.command()
def send(
    given_up: Annotated[bool, typer.Option("--given-up", help="Also what was given up.")] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Send now whatever waits, also what is put off by quiet hours or after a failure. Exit code 2 when a channel failed.

    Example: spiritlevel alerts send
    """
    from flows.alerts import renotified
    from flows.delivery import deliver

    with workspace_of(home) as workspace:
        workspace.tell = lambda _: None  # the report says it
        renotified(workspace)
        if given_up:
            workspace.ledger.hasten_notices(now=workspace.ledger.moment(), dead=True)
        report = deliver(workspace, hasten=True)
    if json:
        print_json(dataclasses.asdict(report))
    else:
        print_text(report.in_words())
    if report.failed:
        say("what failed is kept; 'spiritlevel alerts list' shows when it is tried again")
        raise typer.Exit(Exit.BAD_INPUT)
