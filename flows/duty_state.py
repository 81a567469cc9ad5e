"""How a duty stands, from what the ledger knows of its runs. Light: `spiritlevel schedule` shows hundreds of them at once."""

from __future__ import annotations

import datetime as dt

from flows.duties import Duty, Slot, next_slot
from registry.ledger.duties import DutyHistory, StoredDuty

NO_VERDICT = "no verdict"


def in_words(length: dt.timedelta) -> str:
    """A length of time for people.

    >>> [in_words(dt.timedelta(seconds=s)) for s in (45, 90, 5400, 400_000)]
    ['45 s', '1 min', '1 h 30 min', '4 d 15 h']
    """
    seconds = int(length.total_seconds())
    for unit, size, below, smaller in (("d", 86400, "h", 3600), ("h", 3600, "min", 60)):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"


def overdue_since(duty: Duty, stored: StoredDuty, history: DutyHistory, now: dt.datetime) -> Slot | None:
    """The slot that should have had a finished audit by now; None when none should.

    A slot is overdue when its grace is over and no audit finished for it or a later one. One that is running has until the
    next slot and its grace are over: an audit may take hours.
    """
    covered = max(stored.since, history.done.due_at if history.done else "")
    slot = next_slot(duty, dt.datetime.fromisoformat(covered))
    if slot is not None and history.running is not None:
        after = next_slot(duty, slot.at)
        return slot if after is not None and after.at + duty.grace < now else None
    return slot if slot is not None and slot.at + duty.grace < now else None


def why_overdue(duty: Duty, slot: Slot, history: DutyHistory, now: dt.datetime) -> str:
    """What is known of an overdue duty, in words."""
    said = f"no audit finished for {slot.name} ({duty.audit.zone}), {in_words(now - slot.at)} after it was due"
    newest = history.newest
    if newest is None:
        return f"{said}; none ever began"
    reason = f": {newest.why}" if newest.why else ""
    return f"{said}; the newest run, for {newest.slot}, is {newest.state}{' again' if newest.state == 'due' else ''}{reason}"
