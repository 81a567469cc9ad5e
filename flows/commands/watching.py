"""``watch``: how recurring audits of a release stand, and how often a fleet of them is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dashboards.instruments import instrument_of
from flows.commands.shared import HomeOption, JsonOption, ProtocolOption, print_json, print_text, workspace_of
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from flows.watching import WatchState
    from metrics.fleet import FalseAlerts
    from registry.ledger.watching import Confirmation


def confirmation_as_json(confirmation: Confirmation) -> dict[str, Any]:
    """What an alarm asked for and what came of it, for machines."""
    return {
        "alarm_audit": confirmation.alarm_audit,
        "audit": confirmation.audit,
        "verdict": confirmation.verdict,
        "why": confirmation.why,
        "asked_at": confirmation.asked_at,
        "made_at": confirmation.made_at,
        "comparisons": [dict(row) for row in confirmation.rows],
    }


def watch_as_json(state: WatchState) -> dict[str, Any]:
    """A watch for machines."""
    return {
        "state": state.state,
        "why": state.why,
        "episode": state.watch.episode if state.watch else 0,
        "baseline": list(state.watch.baseline) if state.watch else [],
        "audits": list(state.audits),
        "held": state.held,
        "served": state.served,
        "wants_confirmation": state.wants_confirmation,
        "confirmation": confirmation_as_json(state.confirmation) if state.confirmation else None,
        "rows": [
            {
                "audit": row.audit,
                "state": row.state,
                "e_value": row.e_value,
                "e_dimension": row.e_dimension,
                "e_threshold": row.e_threshold,
                "cusum": row.cusum,
                "cusum_dimension": row.cusum_dimension,
                "cusum_threshold": row.cusum_threshold,
                "change_start": row.change_start,
                "unmeasured": list(row.unmeasured),
            }
            for row in state.rows
        ],
    }


def false_alerts_as_json(expected: FalseAlerts) -> dict[str, Any]:
    """Expected false alerts of a fleet, for machines."""
    return {
        "families": expected.families,
        "false_alarms_a_month_at_most": expected.guaranteed_alarms,
        "false_alarms_a_month_measured": expected.measured_alarms,
        "false_warnings_a_month_measured": expected.measured_warnings,
    }


def size_option(protocol: str) -> str:
    """The option that says how many an audit asks for, by what the protocol counts.

    >>> size_option("persona-brainstorm"), size_option("targeted-messages")
    ('--personas', '--messages')
    """
    return "--messages" if instrument_of(protocol).unit == "messages" else "--personas"


def watch_lines(state: WatchState, release: str, protocol: str, *, unsteady: bool = False) -> list[str]:
    """A watch for people: its state, and what to do about an alarm; ``unsteady`` : the instrument moved."""
    lines = [f"watch over {len(state.audits)} audits of this release: {state.state}; {state.why}"]
    if state.served:
        lines.append(state.served)
    asked = state.confirmation
    if asked is not None and asked.verdict is not None:
        lines.append(f"the full audit that the alarm asked for, audit {asked.audit}: {asked.verdict}; {asked.why}")
    if state.held:
        lines.append(f"the alarm is held: {state.held}")
    elif state.wants_confirmation and not unsteady:
        lines.append(
            f"an alarm asks for a full audit before anybody is alerted: 'spiritlevel audit {release} --protocol "
            f"{protocol} --new {size_option(protocol)} {state.full_size}'"
        )
    return lines


def false_alert_line(expected: FalseAlerts) -> str:
    """Expected false alerts of a fleet, for people."""
    plural = "releases" if expected.families != 1 else "release"
    return (
        f"{expected.families} watched {plural}: at most {expected.guaranteed_alarms:.3f} false alarms a month are "
        f"expected (simulated: {expected.measured_alarms:.3f}), and {expected.measured_warnings:.3f} false warnings; "
        f"an alarm alerts only when a full audit confirms it"
    )


def watch(
    release: Annotated[str, typer.Argument(help="The release, as models:/nova-chat/3")],
    protocol: ProtocolOption = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show whether recurring audits of a release see it change: baseline, quiet, warning or alarm after each.

    The first five audits of one size form the baseline. Asks no model.

    Example: spiritlevel watch models:/nova-chat/3
    """
    from flows.judging import chosen_protocol
    from flows.reference import release_of
    from flows.scoring import finished
    from flows.watching import fleet_alerts, watched

    with workspace_of(home) as workspace:
        found = release_of(workspace, release)
        name = chosen_protocol(workspace, protocol, [found])
        audits = finished(workspace, family=found.family, version=found.version, protocol=name)
        state = next((s for audit in reversed(audits) if (s := watched(workspace, audit)) is not None), None)
        if state is None:
            raise BadInputError(
                f"{found.uri} was not audited twice in the same way at the same size, so there is nothing to watch; "
                f"'spiritlevel serve {found.uri} --every 7d' audits it each week"
            )
        expected = fleet_alerts(workspace)
        if json:
            fleet = false_alerts_as_json(expected) if expected else None
            print_json({"release": found.uri, "protocol": name} | watch_as_json(state) | {"fleet": fleet})
            return
        for row in state.rows:
            evidence = "" if row.e_value is None else f"evidence {row.e_value:.2g} of {row.e_threshold:.0f}"
            where = f" in {row.e_dimension}" if row.e_dimension else ""
            print_text(f"{row.audit:12} {row.state:9} {evidence}{where}")
        for line in watch_lines(state, found.uri, name):
            print_text(line)
        if expected:
            print_text(false_alert_line(expected))
