"""The pure clock, against a calendar that is walked day by day with zoneinfo alone."""

# ruff: noqa: DTZ001 - wall times are what is drawn
from __future__ import annotations

import datetime as dt
import zoneinfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flows.duties import ANCHOR, Duty, duties_of, newest_slots, next_slot, slots
from flows.service_settings import AuditSettings, ServiceSettings

ZONES = ("Europe/Madrid", "America/New_York", "Australia/Lord_Howe", "UTC")
DAY = dt.timedelta(days=1)


def duty(**audit: object) -> Duty:
    said = AuditSettings.model_validate({"protocol": "persona-brainstorm", **audit})
    return Duty(name="nova/persona-brainstorm", family="nova", release="newest", audit=said)


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def moment_of(day: dt.date, time: dt.time, zone: zoneinfo.ZoneInfo) -> tuple[dt.datetime, dt.datetime]:
    """When a wall time comes first on a day, or the end of the gap that leaves it out; and the wall time of that moment."""
    wall = dt.datetime.combine(day, time)
    there = wall.replace(tzinfo=zone, fold=0)
    while there.astimezone(dt.UTC).astimezone(zone).replace(tzinfo=None) != there.replace(tzinfo=None):
        there = (there.replace(tzinfo=None) + dt.timedelta(minutes=1)).replace(tzinfo=zone)
    return there.astimezone(dt.UTC), there.replace(tzinfo=None)


@given(
    zone=st.sampled_from(ZONES),
    time=st.times(max_value=dt.time(23, 59)).map(lambda time: time.replace(second=0, microsecond=0)),
    year=st.sampled_from([2025, 2026, 2031]),
)
@example(zone="Europe/Madrid", time=dt.time(2, 30), year=2026)
@example(zone="America/New_York", time=dt.time(1, 30), year=2026)
@example(zone="Australia/Lord_Howe", time=dt.time(1, 45), year=2026)
@example(zone="Australia/Lord_Howe", time=dt.time(2, 15), year=2026)
@settings(max_examples=30, deadline=None)
def test_a_daily_cron_runs_exactly_once_on_every_day_of_a_year_at_its_wall_time_or_right_after_the_gap(
    zone, time, year
):
    there = zoneinfo.ZoneInfo(zone)
    days = [dt.date(year, 1, 1) + n * DAY for n in range(365)]
    expected = [moment_of(day, time, there) for day in days]
    first = expected[0][0] - dt.timedelta(seconds=1)
    found = list(slots(duty(cron=f"{time.minute} {time.hour} * * *", zone=zone), first, expected[-1][0]))
    assert [slot.at for slot in found] == [at for at, _ in expected]
    assert [slot.name for slot in found] == [f"{wall:%Y-%m-%dT%H:%M}" for _, wall in expected]
    assert len({slot.name[:10] for slot in found}) == 365


@given(
    zone=st.sampled_from(ZONES),
    cron=st.sampled_from(["30 2 * * *", "0 * * * *", "*/20 1-3 * * *", "0 3 * * 1", "30 1 25 * *"]),
    start=st.datetimes(dt.datetime(2026, 1, 1), dt.datetime(2026, 12, 1)).map(lambda at: at.replace(tzinfo=dt.UTC)),
    cut=st.integers(0, 14 * 24 * 60),
)
@example(zone="Europe/Madrid", cron="0 * * * *", start=utc("2026-10-24T00:00"), cut=25 * 60 + 30)
@example(zone="Australia/Lord_Howe", cron="*/20 1-3 * * *", start=utc("2026-04-04T00:00"), cut=15 * 60 + 10)
@settings(max_examples=60, deadline=None)
def test_slots_of_a_span_are_those_of_its_two_parts(zone, cron, start, cut):
    """So a clock that looks every minute sees what one sees that looks once a fortnight: nothing twice, nothing lost."""
    one, end = duty(cron=cron, zone=zone), start + 14 * DAY
    middle = start + dt.timedelta(minutes=cut)
    whole = list(slots(one, start, end))
    assert [*slots(one, start, middle), *slots(one, middle, end)] == whole
    assert whole == sorted(set(whole))
    assert len({slot.name for slot in whole}) == len(whole)


def test_the_hour_that_clocks_repeat_has_one_run_of_each_wall_time():
    found = list(slots(duty(cron="0 * * * *", zone="Europe/Madrid"), utc("2026-10-24T23:30"), utc("2026-10-25T03:30")))
    assert [slot.name for slot in found] == ["2026-10-25T02:00", "2026-10-25T03:00", "2026-10-25T04:00"]
    assert [slot.at for slot in found] == [utc(f"2026-10-25T0{hour}:00") for hour in (0, 2, 3)]


@given(
    seconds=st.integers(1, 10**7),
    anchor=st.one_of(st.none(), st.datetimes(dt.datetime(2000, 1, 1), dt.datetime(2040, 1, 1))),
    after=st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2035, 1, 1)).map(lambda at: at.replace(tzinfo=dt.UTC)),
)
@settings(max_examples=100, deadline=None)
def test_an_interval_steps_from_its_anchor_whenever_somebody_looks(seconds, anchor, after):
    said = {"every": f"{min(seconds, 999_999)}s"} | ({"anchor": anchor.isoformat()} if anchor else {})
    step = dt.timedelta(seconds=min(seconds, 999_999))
    slot = next_slot(duty(**said), after)
    begin = (anchor or dt.datetime.fromisoformat(ANCHOR)).replace(tzinfo=dt.UTC)
    assert (slot.at - begin) % step == dt.timedelta(0)
    assert after < slot.at <= after + step
    assert next_slot(duty(**said), slot.at).at == slot.at + step


@pytest.mark.parametrize("said", [{"cron": "0 * * * *", "zone": "Europe/Madrid"}, {"every": "7m"}, {"every": "9d"}])
def test_the_newest_slots_are_the_last_of_all(said):
    start, end = utc("2026-10-24T00:00"), utc("2026-10-26T00:00")
    whole = list(slots(duty(**said), start, end))
    assert newest_slots(duty(**said), start, end, 10) == (whole[-10:], len(whole))
    assert newest_slots(duty(**said), start, start, 10) == ([], 0)


def test_an_anchor_without_a_zone_is_in_the_zone_of_its_audit():
    slot = next_slot(duty(every="7d", zone="Europe/Madrid", anchor="2026-01-05T03:00"), utc("2026-01-05T02:30"))
    assert (slot.at, slot.name) == (utc("2026-01-12T02:00"), "2026-01-12T02:00:00Z")


def test_weekly_means_the_same_weekday_and_hour_all_year():
    found = list(
        slots(duty(cron="0 3 * * 1", zone="America/New_York"), utc("2026-01-01T00:00"), utc("2027-01-01T00:00"))
    )
    zone = zoneinfo.ZoneInfo("America/New_York")
    assert len(found) == 52
    assert {slot.at.astimezone(zone).strftime("%a %H:%M") for slot in found} == {"Mon 03:00"}


def test_a_moment_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="needs its time zone"):
        next(slots(duty(cron="0 3 * * *"), dt.datetime(2026, 1, 1)))


def test_a_duty_comes_back_from_what_the_ledger_keeps_of_it():
    audits = [{"protocol": "p", "every": "7d", "options": {"temperature": 0.5}}, {"protocol": "p", "cron": "0 3 * * 1"}]
    audits[1]["name"] = "weekly"
    declared = ServiceSettings.model_validate(
        {"families": {"nova": {"audits": audits, "releases": ["newest", "@champion", 3]}}}
    )
    found = duties_of(declared)
    assert [one.name for one in found] == [
        f"nova/{title}{release}" for title in ("p", "weekly") for release in ("", " @champion", " version 3")
    ]
    assert [one.reference for one in found[:3]] == ["nova/latest", "nova@champion", "nova/3"]
    assert [Duty.from_json(one.name, one.family, one.as_json()) for one in found] == list(found)


def test_a_time_of_prefect_that_is_ahead_of_the_clock_is_an_ordinary_time():
    # When Prefect's clock is ahead, its time is the later one and is reckoned with; pendulum's own cannot be.
    pendulum = pytest.importorskip("pendulum")
    from flows.audit import _plain_moment

    theirs = pendulum.datetime(2026, 11, 30, 11, 45, 0, 250_000, tz="Europe/Madrid")
    plain = _plain_moment(theirs)
    assert type(plain) is dt.datetime
    assert plain == theirs
    newest, count = newest_slots(duty(every="1m"), plain - dt.timedelta(seconds=130), plain, 5)
    assert len(newest) == count
    assert count in (2, 3)
    assert _plain_moment(None) is None
