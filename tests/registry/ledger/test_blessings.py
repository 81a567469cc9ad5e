"""Blessings: only added, the newest counts, and each says who and why."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.errors import BadInputError
from registry.ledger.store import Ledger
from registry.releases import ModelRelease


def release(version, family="nova"):
    return ModelRelease(family=family, version=version, model=f"{family}-{version}")


@pytest.fixture
def ledger(tmp_path):
    days = itertools.count(1)
    opened = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}", clock=lambda: f"2026-11-{next(days):02}T00:00:00.000Z")
    yield opened
    opened.close()


def test_the_newest_blessing_counts_and_earlier_ones_stay(ledger):
    assert ledger.blessed("nova") is None
    first = ledger.bless(release(1), who="ada", why="first release in use")
    second = ledger.bless(release(3), who="grace", why="approved by the board")
    assert ledger.blessed("nova") == second
    assert ledger.blessings("nova") == [first, second]
    assert (first.uri, first.name, first.who, first.why) == (
        "models:/nova/1",
        "baseline",
        "ada",
        "first release in use",
    )
    assert first.made_at < second.made_at


def test_each_family_and_each_name_has_a_baseline_of_its_own(ledger):
    one = ledger.bless(release(1), who="ada", why="a")
    other = ledger.bless(release(2), name="high-risk", who="ada", why="b")
    ledger.bless(release(9, "comet"), who="ada", why="c")
    assert ledger.baselines("nova") == {"baseline": one, "high-risk": other}
    assert ledger.blessed("comet").version == 9
    assert ledger.blessed("comet", "high-risk") is None


@given(versions=st.lists(st.integers(1, 5), min_size=1, max_size=6))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_going_back_to_an_earlier_release_is_one_more_decision(ledger, versions):
    before = len(ledger.blessings("nova"))
    for version in versions:
        ledger.bless(release(version), who="ada", why="again")
    assert ledger.blessed("nova").version == versions[-1]
    assert len(ledger.blessings("nova")) == before + len(versions)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"why": "  "}, "says why"),
        ({"who": ""}, "says who"),
        ({"why": "nul \x00"}, "readable"),
        ({"who": "half \ud800"}, "readable"),
        ({"name": "previous"}, "previous"),
        ({"name": ""}, "name"),
        ({"name": "two words"}, "name"),
        ({"name": "a" * 81}, "name"),
    ],
)
def test_a_blessing_without_who_why_or_a_plain_name_is_refused(ledger, said, message):
    with pytest.raises(BadInputError, match=message):
        ledger.bless(release(1), **{"who": "ada", "why": "b"} | said)
    assert ledger.blessings("nova") == []
