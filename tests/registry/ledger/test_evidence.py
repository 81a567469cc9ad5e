"""What moved in a comparison comes back from the ledger as it was stored, and is replaced when it is judged again."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.cells import CellChange
from metrics.events import CategoryEvent
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.ledger.evidence import Examples, StoredCell, StoredEvent
from registry.ledger.rows import storable_label
from registry.ledger.store import Ledger
from registry.releases import ModelRelease

RELEASE = ModelRelease(family="nova", version=1, model="nova-2026-10")
PROTOCOL = PersonaBrainstorm()
CELL = StoredCell(
    CellChange(
        dimension="gender x occupation",
        row="female",
        column="Healthcare",
        n_previous=20,
        n_current=45,
        share_previous=0.1234567890123,
        share_current=None,
        contribution=0.0123,
        statistic=4.5,
        pvalue=0.000007,
        qvalue=0.0002,
    ),
    Examples(previous=((0, 0, 3), (7, 1, 12)), current=()),
)
UNTESTED = StoredCell(
    dataclasses.replace(CELL.change, column="Education", contribution=-0.001, statistic=None, pvalue=None, qvalue=None)
)
EVENT = StoredEvent(
    CategoryEvent(
        attribute="gender",
        category="agender",
        kind="new",
        n_previous=0,
        n_current=14,
        of_previous=2000,
        of_current=1990,
        pvalue=0.00012,
        qvalue=0.003,
    ),
    Examples(current=((5, 0, 1),)),
)


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}", clock=lambda: "2026-11-01T00:00:00.000Z")
    yield opened
    opened.close()


@pytest.fixture
def comparison(ledger):
    plan = PROTOCOL.plan(size=20)
    one, other = (ledger.order(RELEASE, plan, PROTOCOL.requests(plan)) for _ in range(2))
    values = {"scoring_version": "v1", "policy": {"alpha": 0.05}, "verdict": "regressed", "why": "w", "results": []}
    return ledger.store_comparison(one, other, **values).id


def test_cells_and_events_come_back_equal_and_in_order(ledger, comparison):
    ledger.store_evidence(comparison, [UNTESTED, CELL], [EVENT])
    assert ledger.moved_cells(comparison) == [UNTESTED, CELL]
    assert ledger.category_events(comparison) == [EVENT]


def test_what_is_stored_again_replaces_what_was_there(ledger, comparison):
    ledger.store_evidence(comparison, [UNTESTED, CELL], [EVENT])
    ledger.store_evidence(comparison, [CELL], [])
    assert ledger.moved_cells(comparison) == [CELL]
    assert ledger.category_events(comparison) == []


def test_a_comparison_without_evidence_has_none(ledger, comparison):
    ledger.store_evidence(comparison, [CELL], [EVENT])
    assert ledger.moved_cells(comparison + 1) == []
    assert ledger.category_events(comparison + 1) == []


def test_evidence_of_a_comparison_that_is_not_there_is_refused(ledger, comparison):
    with pytest.raises(Exception, match="FOREIGN KEY"):
        ledger.store_evidence(comparison + 1, [CELL], [])


def test_one_cell_is_stored_once(ledger, comparison):
    with pytest.raises(Exception, match="UNIQUE"):
        ledger.store_evidence(comparison, [CELL, CELL], [])
    assert ledger.moved_cells(comparison) == []


def test_two_long_labels_that_begin_alike_stay_apart(ledger, comparison):
    long = ["x" * 300 + end for end in "ab"]
    ledger.store_evidence(comparison, [StoredCell(dataclasses.replace(CELL.change, row=row)) for row in long], [])
    rows = [cell.change.row for cell in ledger.moved_cells(comparison)]
    assert rows == [storable_label(row) for row in long]
    assert len(set(rows)) == 2
    assert max(map(len, rows)) <= 250


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    row=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=250),
    places=st.lists(st.tuples(*[st.integers(0, 10**6)] * 3), max_size=3),
)
def test_any_category_and_any_place_is_kept(ledger, comparison, row, places):
    cell = StoredCell(dataclasses.replace(CELL.change, row=row), Examples(previous=tuple(places)))
    ledger.store_evidence(comparison, [cell], [])
    assert ledger.moved_cells(comparison) == [cell]
