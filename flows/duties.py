"""When audits are due: the pure clock of the service. Settings and moments in, slots out; no ledger and no wall clock.

A slot of a cron time is its local date and time without the mark that tells the two hours apart when clocks go back
("2026-10-25T02:30"), so that such a day has one run; a time that a change of the clock leaves out comes right after the
gap. A slot of an interval is its UTC time; intervals are counted from a fixed anchor, so that no restart moves them.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import itertools
import zoneinfo
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from flows.service_settings import NEWEST, AuditSettings, ServiceSettings, length_of_time

ANCHOR = "2024-01-01T00:00"  # a Monday; of intervals that name none
_LOOK_BACK = dt.timedelta(hours=26)  # more than any clock was ever set back or forth at once


class Clock(NamedTuple):
    """What the times of a duty are made from; fields of `AuditSettings`."""

    cron: str | None
    every: str | None
    zone: str
    anchor: str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """One recurring audit of one release of a family.

    Parameters
    ----------
    name : unique, and the same for as long as family, title of the audit and release are; written ``family/title``, with
        the release when it is not the newest one
    release : 'newest', '@alias' or a version number
    position : among the family's duties, as declared
    """

    name: str
    family: str
    release: str
    audit: AuditSettings
    position: int = 0

    @property
    def protocol(self) -> str:
        return self.audit.protocol

    @property
    def reference(self) -> str:
        """How the model registry is asked for the release."""
        if self.release.startswith("@"):
            return f"{self.family}{self.release}"
        return f"{self.family}/{'latest' if self.release == NEWEST else self.release}"

    @property
    def grace(self) -> dt.timedelta:
        return length_of_time(self.audit.grace)

    @property
    def clock(self) -> Clock:
        """What the times are made from; when it changes, the duty begins anew."""
        return Clock(self.audit.cron, self.audit.every, self.audit.zone, self.audit.anchor)

    def as_json(self) -> dict[str, Any]:
        return {
            "release": self.release,
            "audit": self.audit.model_dump(mode="json"),
            "clock": list(self.clock),
            "position": self.position,
        }

    @classmethod
    def from_json(cls, name: str, family: str, value: Mapping[str, Any]) -> Duty:
        audit = AuditSettings.model_validate(value["audit"])
        return cls(name=name, family=family, release=value["release"], audit=audit, position=value["position"])


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Slot:
    """One time at which a duty is due: the moment in UTC, and its name, of which there is one run."""

    at: dt.datetime
    name: str


def duties_of(settings: ServiceSettings) -> tuple[Duty, ...]:
    """All duties that are declared: one for each audit of each release that a family names.

    >>> from flows.service_settings import FamilySettings
    >>> audits = [{"protocol": "persona-brainstorm", "every": "7d"}]
    >>> nova = FamilySettings.model_validate({"audits": audits, "releases": ["newest", "@champion", "3"]})
    >>> [duty.name for duty in duties_of(ServiceSettings(families={"nova": nova}))]
    ['nova/persona-brainstorm', 'nova/persona-brainstorm @champion', 'nova/persona-brainstorm version 3']
    """
    return tuple(
        Duty(
            name=f"{family}/{audit.title}{_suffix(release)}",
            family=family,
            release=release,
            audit=audit,
            position=position,
        )
        for family, said in settings.families.items()
        for position, (audit, release) in enumerate(itertools.product(said.audits, said.releases))
    )


def _suffix(release: str) -> str:
    if release == NEWEST:
        return ""
    return f" {release}" if release.startswith("@") else f" version {release}"


def slots(duty: Duty, after: dt.datetime, until: dt.datetime | None = None) -> Iterator[Slot]:
    """Slots of a duty with ``after < at <= until``, oldest first; without ``until`` they never end.

    >>> audit = AuditSettings(protocol="p", cron="30 2 * * *", zone="Europe/Madrid")
    >>> duty = Duty(name="d", family="f", release="newest", audit=audit)
    >>> from datetime import UTC, datetime
    >>> clocks_go_forward = slots(duty, datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 31, tzinfo=UTC))
    >>> [slot.name for slot in clocks_go_forward]
    ['2026-03-28T02:30', '2026-03-29T03:00', '2026-03-30T02:30']
    """
    _refuse_naive(after, until)
    for slot in _times(duty.clock, after):
        if until is not None and slot.at > until:
            return
        yield slot


def next_slot(duty: Duty, after: dt.datetime) -> Slot | None:
    """The first slot after a moment; None when there is none in 50 years."""
    _refuse_naive(after)
    return _first(duty.clock, after)


def newest_slots(duty: Duty, after: dt.datetime, until: dt.datetime, most: int) -> tuple[list[Slot], int]:
    """The newest slots of a span, oldest first, and how many there are in it; quick for short intervals too."""
    _refuse_naive(after, until)
    newest, count = _newest(duty.clock, after, until, most)
    return list(newest), count


# Many releases of a fleet are audited at the same times: what was worked out for one is taken for all of them.


@functools.lru_cache(maxsize=4096)
def _first(clock: Clock, after: dt.datetime) -> Slot | None:
    return next(_times(clock, after), None)


@functools.lru_cache(maxsize=4096)
def _newest(clock: Clock, after: dt.datetime, until: dt.datetime, most: int) -> tuple[tuple[Slot, ...], int]:
    if clock.every is not None:
        anchor, step = anchor_of(clock), length_of_time(clock.every)
        first, last = (after - anchor) // step + 1, (until - anchor) // step
        newest = [_step(anchor + count * step) for count in range(max(first, last - most + 1), last + 1)]
        return tuple(newest), max(0, last - first + 1)
    found: deque[Slot] = deque(maxlen=most)
    count = 0
    for slot in itertools.takewhile(lambda slot: slot.at <= until, _times(clock, after)):
        found.append(slot)
        count += 1
    return tuple(found), count


def _times(clock: Clock, after: dt.datetime) -> Iterator[Slot]:
    return _steps(clock, after) if clock.every is not None else _cron_times(clock, after)


def anchor_of(clock: Clock) -> dt.datetime:
    """The moment in UTC from which the steps of an interval are counted."""
    anchor = dt.datetime.fromisoformat(clock.anchor or ANCHOR)
    if anchor.tzinfo is None:
        zone = zoneinfo.ZoneInfo(clock.zone) if clock.anchor is not None else dt.UTC
        anchor = anchor.replace(tzinfo=zone)
    return anchor.astimezone(dt.UTC)


def _step(at: dt.datetime) -> Slot:
    return Slot(at, f"{at:%Y-%m-%dT%H:%M:%S}Z")


def _steps(clock: Clock, after: dt.datetime) -> Iterator[Slot]:
    anchor, step = anchor_of(clock), length_of_time(clock.every or "")
    for count in itertools.count((after - anchor) // step + 1):
        yield _step(anchor + count * step)


def _cron_times(clock: Clock, after: dt.datetime) -> Iterator[Slot]:
    from cronsim import CronSim

    zone = zoneinfo.ZoneInfo(clock.zone)
    # From well before: cronsim goes by the wall clock, on which a moment of the repeated hour looks like the earlier one.
    times = CronSim(clock.cron or "", (after - _LOOK_BACK).astimezone(zone))
    last: dt.datetime | None = None
    for time in times:
        wall = time.replace(tzinfo=None, fold=0)
        if last is not None and wall <= last:
            continue  # the hour that clocks repeat: it had its run
        last = wall
        at = time.astimezone(dt.UTC)
        if at > after:
            yield Slot(at, f"{wall:%Y-%m-%dT%H:%M}")


def _refuse_naive(*moments: dt.datetime | None) -> None:
    for moment in moments:
        if moment is not None and moment.tzinfo is None:
            raise ValueError(f"a moment needs its time zone, got {moment.isoformat()}")
