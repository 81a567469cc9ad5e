"""Thinning of long histories: few enough, the newest of every period, nothing out of order."""

from __future__ import annotations

import dataclasses
import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from dashboards.thinning import thinned


@dataclasses.dataclass(frozen=True)
class Point:
    version: int
    day: str
    at: int


def points_of(days: list[tuple[int, int]]) -> list[Point]:
    """Points by release and then by day, as a history has them."""
    begin = dt.date(2026, 1, 1)
    ordered = sorted(days)
    return [Point(version, str(begin + dt.timedelta(days=day)), at) for at, (version, day) in enumerate(ordered)]


histories = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 800)), min_size=1, max_size=120).map(points_of)


@given(histories, st.integers(1, 40))
def test_no_more_than_asked_for_are_kept_in_their_order_with_the_newest_of_all(points: list[Point], most: int) -> None:
    kept, period = thinned(points, most)
    assert len(kept) <= most
    assert list(kept) == sorted(kept, key=lambda point: point.at)
    assert set(kept) <= set(points)
    assert kept[-1] == points[-1]
    assert (period == "") == (len(points) <= most)


@given(histories, st.integers(6, 40))
def test_every_release_keeps_its_newest_audit_when_there_is_room_for_all(points: list[Point], most: int) -> None:
    kept, _ = thinned(points, most)
    newest = {point.version: point for point in points}
    assert set(newest.values()) <= set(kept)


def test_a_year_of_weeks_is_thinned_to_months_and_a_date_that_is_none_stops_nothing() -> None:
    weekly = points_of([(1, 7 * week) for week in range(52)])
    kept, period = thinned(weekly, 20)
    assert (len(kept), period) == (12, "month")
    assert {point.day[:7] for point in kept} == {f"2026-{month:02}" for month in range(1, 13)}
    broken = [Point(1, "no date", at) for at in range(30)]
    assert thinned(broken, 5) == ((broken[-1],), "day")
