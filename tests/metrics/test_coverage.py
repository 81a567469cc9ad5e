"""Coverage: what withholds a comparison, and what missing records could have made of a score."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.contingency import phi_squared
from metrics.coverage import (
    WORST_CASE_HIGH,
    WORST_CASE_LOW,
    AnswerCoverage,
    coverage_withheld,
    worst_case_in_words,
    worst_case_scores,
    worst_case_v_squared,
)
from metrics.tables import ClusteredTable, clustered_table
from metrics.verdicts import Policy

POLICY = Policy()


def table_of(counts: list[list[int]]) -> ClusteredTable:
    """A clustered table with these counts, one record a request."""
    cells = [(f"r{i}", f"c{j}") for i, row in enumerate(counts) for j, count in enumerate(row) for _ in range(count)]
    frame = pd.DataFrame(cells, columns=["a", "b"])
    frame["request"] = range(len(frame))
    return clustered_table(frame, "a", "b")


@pytest.mark.parametrize(
    ("previous", "current", "words"),
    [
        (AnswerCoverage(0.95), AnswerCoverage(0.86), None),
        (AnswerCoverage(0.95), AnswerCoverage(0.85), None),
        (AnswerCoverage(0.95), AnswerCoverage(0.84), "more than 10 points apart"),
        (AnswerCoverage(0.49), AnswerCoverage(0.51), "the previous release gave usable records for 49 %"),
        (AnswerCoverage(0.95), AnswerCoverage(None), "the audit of the current release has no record"),
        (AnswerCoverage(0.95, mixed_release=True), AnswerCoverage(0.95), "more than one served model"),
        # In all 5 points apart, for one group 40: who is missing is one group, so nothing is said of either.
        (
            AnswerCoverage(0.95, group_coverage={"audience = men": 0.95, "audience = women": 0.95}),
            AnswerCoverage(0.90, group_coverage={"audience = men": 1.0, "audience = women": 0.55}),
            "for audience = women usable records are 95 %",
        ),
        (
            AnswerCoverage(0.95, group_coverage={"audience = women": 0.45}),
            AnswerCoverage(0.95, group_coverage={"audience = women": 0.45}),
            "for audience = women the previous release gave usable records for 45 %",
        ),
    ],
)
def test_answers_that_allow_no_verdict_are_said(
    previous: AnswerCoverage, current: AnswerCoverage, words: str | None
) -> None:
    reason = coverage_withheld(previous, current, POLICY)
    assert reason is None if words is None else reason is not None and words in reason


@given(st.floats(0, 1), st.floats(0, 1))
def test_refusing_more_can_never_make_a_comparison_of_it(before: float, after: float) -> None:
    """Whatever is refused, a verdict is given only when both shares are high and near each other."""
    if coverage_withheld(AnswerCoverage(before), AnswerCoverage(after), POLICY) is None:
        assert min(before, after) >= POLICY.coverage_floor
        assert abs(before - after) <= POLICY.coverage_gap + 1e-9


def test_worst_case_bounds_are_those_of_trying_every_placement() -> None:
    # Oracle: all ways to put 8 records into the four cells.
    counts = [[12, 8], [6, 14]]
    placements = [p for p in itertools.product(range(9), repeat=4) if sum(p) == 8]
    tried = [phi_squared(np.array(counts, dtype=float) + np.array(p, dtype=float).reshape(2, 2)) for p in placements]
    low, high = worst_case_v_squared(table_of(counts), 8)
    assert low == pytest.approx(min(tried), abs=0.002)
    assert high == pytest.approx(max(tried), abs=0.002)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=4),
    st.integers(0, 60),
)
def test_the_bounds_hold_the_score_and_widen_with_what_is_missing(counts: list[list[int]], missing: int) -> None:
    table = table_of(counts)
    if table.defect():
        return
    plain = phi_squared(table.counts) / table.df_star
    low, high = worst_case_v_squared(table, missing)
    assert 0 <= low <= plain + 1e-12
    assert plain - 1e-12 <= high <= 1
    if missing == 0:
        assert low == pytest.approx(high)


def test_one_more_record_in_each_cell_is_the_table_with_that_record() -> None:
    from metrics.coverage import _with_more

    counts = np.random.default_rng(4).integers(0, 9, size=(3, 5)).astype(float)
    for i, j in itertools.product(range(3), range(5)):
        more = counts.copy()
        more[i, j] += 2.5
        assert _with_more(counts, 2.5)[i, j] - 1 == pytest.approx(phi_squared(more))


def test_without_the_number_asked_for_there_are_no_bounds_but_a_reason() -> None:
    for score in worst_case_scores({"a x b": table_of([[9, 1], [1, 9]])}, None, 20):
        assert score.value is None
        assert "is not known" in score.reason


def test_bounds_are_rows_with_their_size_and_are_said_in_words() -> None:
    rows = worst_case_scores({"a x b": table_of([[9, 1], [1, 9]])}, 40, 20)
    assert [row.metric for row in rows] == [WORST_CASE_LOW, WORST_CASE_HIGH]
    assert rows[0].method == "20 missing records placed at worst; no interval"
    assert rows[0].value is not None
    assert rows[1].value is not None
    assert rows[0].value < 0.1 < 1.0 < rows[1].value
    assert worst_case_in_words([("previous", rows), ("current", [])]).startswith("had the missing records come")
    assert worst_case_in_words([("previous", []), ("current", [])]) == ""
