"""What the service will do and how it stands: every duty with its next run, its last one, and what a month takes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import zoneinfo
from collections.abc import Iterable, Sequence

from flows.duties import Duty, Slot, duties_of, newest_slots, next_slot, slots
from flows.duty_state import in_words, overdue_since, why_overdue
from flows.workspace import Workspace
from metrics.fleet import FalseAlerts, Schedule, expected_false_alerts
from registry.ledger.connection import moment_text
from registry.ledger.duties import NOTHING_YET, AuditUsage, DutyHistory, DutyRun, StoredDuty

MONTH = dt.timedelta(days=30)
YEAR = dt.timedelta(days=365.25)
MOST_A_YEAR = 31 * YEAR / MONTH  # daily is 30 runs, or 31, in the 30 days that are counted


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DutyLine:
    """A duty as it stands.

    Parameters
    ----------
    state : ``on time``, ``late``, ``overdue``, ``running``, ``due``, ``never``, or how the last run ended (``failed``,
        ``open``, ``refused``, ``skipped``); why : in words
    declared : whether the service has seen it; one that was just written into the file begins with its first look
    usd_a_month, tokens_a_month : None is unknown; runs_a_month : in the next 30 days
    """

    duty: Duty
    state: str
    why: str
    declared: bool
    next: Slot | None
    last: DutyRun | None
    finished: DutyRun | None
    runs_a_month: int
    usd_a_month: float | None
    tokens_a_month: int | None

    @property
    def local(self) -> str:
        """When it is due next, on the wall clock of its zone."""
        if self.next is None:
            return "never"
        there = self.next.at.astimezone(zoneinfo.ZoneInfo(self.duty.audit.zone))
        return f"{there:%a %Y-%m-%d %H:%M}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSchedule:
    """All duties, those that are due first at the top.

    Parameters
    ----------
    usd_a_month, tokens_a_month : of those that are known; unpriced, uncounted : of how many they are not
    false_alerts : to be expected a month when no release changes, of what is audited daily or less often; None without
    more_than_daily : how many watched releases are audited more often: what that comes to was never simulated
    ended : duties that the ledger still has and the configuration no longer
    """

    lines: tuple[DutyLine, ...]
    usd_a_month: float
    tokens_a_month: int
    unpriced: int
    uncounted: int
    false_alerts: FalseAlerts | None
    more_than_daily: int
    ended: tuple[str, ...]


def service_schedule(workspace: Workspace, now: dt.datetime) -> ServiceSchedule:
    """How everything stands. Reads the configuration and the ledger, in a few looks for all duties together."""
    ledger = workspace.ledger
    declared = duties_of(workspace.home.service)
    stored = {one.name: one for one in ledger.duties()}
    histories = ledger.duty_histories()
    made = {name: found.done.audit_id for name, found in histories.items() if found.done and found.done.audit_id}
    usages = ledger.audit_usages(sorted(made.values()))
    lines = [
        _line(
            duty, stored.get(duty.name), histories.get(duty.name, NOTHING_YET), usages.get(made.get(duty.name, 0)), now
        )
        for duty in declared
    ]
    lines.sort(key=lambda line: (line.next is None, line.next.at if line.next else now, line.duty.name))
    costs, tokens = [line.usd_a_month for line in lines], [line.tokens_a_month for line in lines]
    false_alerts, more_than_daily = _false_alerts(workspace, lines)
    return ServiceSchedule(
        lines=tuple(lines),
        usd_a_month=sum(cost for cost in costs if cost is not None),
        tokens_a_month=sum(count for count in tokens if count is not None),
        unpriced=sum(cost is None for cost in costs),
        uncounted=sum(count is None for count in tokens),
        false_alerts=false_alerts,
        more_than_daily=more_than_daily,
        ended=tuple(sorted(set(stored) - {duty.name for duty in declared})),
    )


def upcoming(lines: Iterable[DutyLine], now: dt.datetime, days: float) -> list[tuple[Slot, Duty]]:
    """Every run of the coming days, in order."""
    until = now + dt.timedelta(days=days)
    found = [(slot, line.duty) for line in lines for slot in slots(line.duty, now, until)]
    return sorted(found, key=lambda one: (one[0].at, one[1].name))


def _line(
    duty: Duty, stored: StoredDuty | None, history: DutyHistory, usage: AuditUsage | None, now: dt.datetime
) -> DutyLine:
    known = stored or StoredDuty(
        name=duty.name, family=duty.family, protocol=duty.protocol, definition={}, since=moment_text(now)
    )
    state, why = _state(duty, known, history, now)
    _, runs = newest_slots(duty, now, now + MONTH, 1)
    usd, tokens = _taken(duty, usage, runs)
    return DutyLine(
        duty=duty,
        state=state,
        why=why,
        declared=stored is not None,
        next=next_slot(duty, now),
        last=history.newest,
        finished=history.done,
        runs_a_month=runs,
        usd_a_month=usd,
        tokens_a_month=tokens,
    )


def _state(duty: Duty, stored: StoredDuty, history: DutyHistory, now: dt.datetime) -> tuple[str, str]:
    slot = overdue_since(duty, stored, history, now)
    if slot is not None:
        return "overdue", why_overdue(duty, slot, history, now)
    if (running := history.running) is not None:
        audit = f", audit {running.audit_id} of {running.release}" if running.audit_id is not None else ""
        return "running", f"since {running.began_at}{audit}"
    newest = history.newest
    waits = next_slot(duty, dt.datetime.fromisoformat(max(stored.since, history.reached or "")))
    if waits is not None and waits.at <= now:
        before = f"; the run before is {newest.state}: {newest.why}" if newest and newest.state != "done" else ""
        return "due", f"for {in_words(now - waits.at)}: {waits.name}{before}"
    if newest is None:
        return "never", "no run was due yet"
    if newest.state != "done":
        return newest.state, newest.why
    late = newest.late_s > duty.grace.total_seconds() and newest.kind != "version"
    return ("late" if late else "on time"), newest.why


def _taken(duty: Duty, usage: AuditUsage | None, runs: int) -> tuple[float | None, int | None]:
    """US dollars and tokens of a month: what the last finished audit took, for the size and the number of runs declared now."""
    from registry.audits.channels import cost_usd

    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None, None
    once = cost_usd(usage.prompt_tokens, usage.completion_tokens, usage.price_input, usage.price_output)
    times = (duty.audit.personas or usage.size) / usage.size * runs
    tokens = round((usage.prompt_tokens + usage.completion_tokens) * times)
    return (None if once is None else once * times), tokens


def _false_alerts(workspace: Workspace, lines: Sequence[DutyLine]) -> tuple[FalseAlerts | None, int]:
    """Of one watch for each release, protocol and size; one a year at least. And how many are audited too often for it.

    A watch halves its alpha with each window of audits, so that beyond one a day every pace gives the same number; and
    answers that are hours apart were never simulated.
    """
    settings = workspace.home.configuration.watch
    pace: dict[tuple[str | int | None, ...], float] = {}
    for line in lines:
        duty = line.duty
        watched = (duty.family, duty.release, duty.protocol, duty.audit.personas)
        pace[watched] = pace.get(watched, 0.0) + max(1.0, line.runs_a_month * YEAR / MONTH)
    fleet = [
        Schedule(audits_per_year=each, alpha=settings.alpha, horizon=settings.horizon)
        for each in pace.values()
        if each <= MOST_A_YEAR
    ]
    return expected_false_alerts(fleet) if fleet else None, len(pace) - len(fleet)
