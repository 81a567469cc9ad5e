"""``schedule``: what is due and how it stands."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.shared import HomeOption, JsonOption, print_json, print_text, workspace_of

if TYPE_CHECKING:
    import datetime as dt

    from flows.schedule import DutyLine, ServiceSchedule

_WIDEST = 48


def schedule(
    days: Annotated[float | None, typer.Option(min=0, max=400, help="Also list every run of so many days.")] = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what is due and when, how the last run of each audit went, and what a month takes. Changes nothing.

    States: on time, late (the last run began after its grace), overdue (no audit finished though one was due), running,
    due, never; else how the last run ended: failed, open (it will be continued), refused or skipped.

    Example: spiritlevel schedule --days 7 --json
    """
    import datetime as dt

    from flows.schedule import service_schedule
    from flows.service_checks import refuse_unknown

    now = dt.datetime.now(dt.UTC)
    with workspace_of(home) as workspace:
        refuse_unknown(workspace)
        found = service_schedule(workspace, now)
        if json:
            print_json(schedule_as_json(found, now, days))
        elif not found.lines:
            print_text(
                f"nothing is scheduled: {workspace.home.service_file} declares no family with audits. 'spiritlevel init' "
                f"writes a commented one"
            )
        else:
            print_text(schedule_text(found, now, days))


def schedule_as_json(found: ServiceSchedule, now: dt.datetime, days: float | None = None) -> dict[str, Any]:
    """The schedule for machines."""
    from flows.schedule import upcoming

    alerts = dataclasses.asdict(found.false_alerts) if found.false_alerts else None
    shown = {
        "now": now.isoformat(),
        "audits": [_line_as_json(line) for line in found.lines],
        "usd_a_month": round(found.usd_a_month, 4) if found.unpriced < len(found.lines) else None,
        "tokens_a_month": found.tokens_a_month if found.uncounted < len(found.lines) else None,
        "unpriced": found.unpriced,
        "uncounted": found.uncounted,
        "false_alerts_a_month": alerts,
        "more_than_daily": found.more_than_daily,
        "ended": list(found.ended),
    }
    if days is not None:
        shown["upcoming"] = [
            {"at": slot.at.isoformat(), "slot": slot.name, "audit": duty.name}
            for slot, duty in upcoming(found.lines, now, days)
        ]
    return shown


def _line_as_json(line: DutyLine) -> dict[str, Any]:
    duty, last = line.duty, line.last
    return {
        "audit": duty.name,
        "family": duty.family,
        "protocol": duty.protocol,
        "release": duty.release,
        "personas": duty.audit.personas,
        "cron": duty.audit.cron,
        "every": duty.audit.every,
        "zone": duty.audit.zone,
        "state": line.state,
        "why": line.why,
        "declared": line.declared,
        "next": line.next.at.isoformat() if line.next else None,
        "next_local": line.local if line.next else None,
        "last": dataclasses.asdict(last) if last else None,
        "last_finished": line.finished.ended_at if line.finished else None,
        "runs_a_month": line.runs_a_month,
        "usd_a_month": None if line.usd_a_month is None else round(line.usd_a_month, 4),
        "tokens_a_month": line.tokens_a_month,
    }


def schedule_text(found: ServiceSchedule, now: dt.datetime, days: float | None = None) -> str:
    """The schedule for people: a line for each audit, then the sums."""
    from flows.schedule import upcoming

    width = min(_WIDEST, max(len("audit"), *(len(line.duty.name) for line in found.lines)))
    head = (
        f"{'audit':{width}}  {'next, local time':38} {'next, UTC':16}  {'state':8}  {'last finished':16}  {'verdict'}"
    )
    lines = [head, "-" * len(head)]
    for line in found.lines:
        local = f"{line.local} {line.duty.audit.zone}" if line.next else "never"
        utc = f"{line.next.at:%Y-%m-%d %H:%M}" if line.next else ""
        done = line.finished
        ended = (done.ended_at or "")[:16].replace("T", " ") if done else "never"
        lines.append(
            f"{line.duty.name:{width}}  {local:38} {utc:16}  {line.state:8}  {ended:16}  "
            f"{done.verdict or 'none yet' if done else ''}".rstrip()
        )
        if line.why and line.state != "on time":
            lines.append(f"{'':{width}}  {line.why}")
    lines += ["", *_sums(found), *_anchors(found, now)]
    if days is not None:
        coming = upcoming(found.lines, now, days)
        lines += ["", f"{len(coming)} {'run' if len(coming) == 1 else 'runs'} in the next {days:g} days (UTC):"]
        lines += [f"  {slot.at:%Y-%m-%d %H:%M}  {duty.name}" for slot, duty in coming]
    return "\n".join(lines)


def _sums(found: ServiceSchedule) -> list[str]:
    runs = sum(line.runs_a_month for line in found.lines)
    lines = [f"{runs:,} {'run' if runs == 1 else 'runs'} in the next 30 days; {_month(found)}"]
    if found.false_alerts is not None:
        lines.append(
            f"when no release changes, expect {found.false_alerts.measured_alarms:.2g} false alarms a month over "
            f"{'the others' if found.more_than_daily else 'all of them'} (at most "
            f"{found.false_alerts.guaranteed_alarms:.2g}); each is checked by a full audit first"
        )
    if found.more_than_daily:
        lines.append(
            f"false alarms are not computed for intervals below one day: {found.more_than_daily} "
            f"{'release is' if found.more_than_daily == 1 else 'releases are'} audited that often"
        )
    waiting = [line.duty.name for line in found.lines if not line.declared]
    if waiting:
        are = (
            "1 of them is new in the file and begins"
            if len(waiting) == 1
            else (f"{len(waiting)} of them are new in the file and begin")
        )
        lines.append(f"{are} when the service looks: {_some(waiting)}")
    if found.ended:
        lines.append(f"no longer declared, ends when the service looks: {_some(found.ended)}")
    return lines


def _anchors(found: ServiceSchedule, now: dt.datetime) -> list[str]:
    from flows.duties import anchor_of

    later = [line.duty for line in found.lines if line.duty.audit.anchor and anchor_of(line.duty.clock) > now]
    if not later:
        return []
    return [
        f"an anchor in the future delays nothing, for steps are counted from it in both directions: "
        f"{_some([duty.name for duty in later])}"
    ]


def _month(found: ServiceSchedule) -> str:
    """What a month takes, as far as it is known, and why the rest is not."""
    every = len(found.lines)
    known = []
    if found.uncounted < every:
        known.append(f"{found.tokens_a_month:,} tokens")
    if found.unpriced < every:
        known.append(f"{found.usd_a_month:,.2f} US dollars")
    none = "no finished audit has token counts yet"
    if not known:
        return f"what a month takes is unknown: {none}"
    said = f"a month takes about {' and '.join(known)}"
    if priceless := found.unpriced - found.uncounted:
        said += f"; its cost is unknown for {priceless} of {every}: no prices are registered"
    if found.uncounted:
        said += f"; unknown for {found.uncounted} of {every}: {none}"
    return said


def _some(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
