"""Coverage: what withholds a comparison, and what missing records could have made of a score."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.comparison import compare_associations
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
from metrics.verdicts import Policy, release_verdict
from tests.metrics.frames import WITHOUT_NAMES, persona_frame

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
        (AnswerCoverage(0.84), AnswerCoverage(0.95), "more than 10 points apart"),
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
            AnswerCoverage(0.90, group_coverage={"audience = women": 0.55}),
            AnswerCoverage(0.95, group_coverage={"audience = women": 0.95}),
            "for audience = women usable records are 55 %",
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


def test_small_groups_of_an_unchanged_release_are_rarely_called_apart() -> None:
    """Six audiences of a message audit of 248, of which 9 in 10 messages come: 124 to each gender, 62 to each age group."""
    rng, sizes = (
        np.random.default_rng(11),
        {"gender = a": 124, "gender = b": 124} | {f"age = {n}": 62 for n in range(4)},
    )
    withheld = {True: 0, False: 0}
    for _ in range(400):
        shares = [{name: rng.binomial(n, 0.9) / n for name, n in sizes.items()} for _ in range(2)]
        for known in withheld:
            sides = [AnswerCoverage(0.9, group_coverage=share, group_sizes=sizes if known else {}) for share in shares]
            withheld[known] += coverage_withheld(*sides, POLICY) is not None
    assert withheld[True] / 400 <= 0.06  # alpha, and what 400 draws allow
    assert withheld[False] / 400 > 0.15  # which is what the limit of 10 points by itself would do


@pytest.mark.parametrize(("asked", "withheld"), [(40, False), (400, True)])
def test_a_group_that_is_refused_more_withholds_a_comparison_where_that_is_no_chance(
    asked: int, withheld: bool
) -> None:
    sides = [
        AnswerCoverage(0.9, group_coverage={"gender = female": share}, group_sizes={"gender = female": asked})
        for share in (0.95, 0.83)
    ]
    assert (coverage_withheld(*sides, POLICY) is not None) == withheld


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
    assert worst_case_in_words([("previous", rows, 20), ("current", [], 7)]).endswith(
        "in the previous release (20 missing) and anything in the current release (7 missing)"
    )
    assert worst_case_in_words([("previous", rows, 0), ("current", [], 0)]) == ""


def dropping(frame: pd.DataFrame, share: float, *, blank: bool) -> pd.DataFrame:
    """The frame without a share of the personas that carry the association: their record, or their occupation only."""
    women = np.flatnonzero(
        (frame["gender_category"] == "gender 00") & (frame["occupation_category"] == frame["carried"])
    )
    chosen = np.random.default_rng(1).permutation(women)[: round(share * len(frame))]
    if blank:
        changed = frame.copy()
        changed.iloc[chosen, changed.columns.get_loc("occupation_category")] = None
        return changed
    return frame.drop(frame.index[chosen])


def carrying(seed: int) -> pd.DataFrame:
    """Personas of whom a third of one gender are moved into one occupation."""
    frame = persona_frame(300, 20, seed=seed, strength=0.2)
    rng = np.random.default_rng(seed)
    moved = (frame["gender_category"] == "gender 00") & (rng.random(len(frame)) < 0.35)
    frame.loc[moved, "occupation_category"] = "occupation 00"
    return frame.assign(carried="occupation 00")


GENDER_X_OCCUPATION = [d for d in WITHOUT_NAMES if d.title == "gender x occupation"]


@pytest.mark.parametrize("blank", [True, False])
@pytest.mark.parametrize(("share", "verdict"), [(0.0, "unchanged"), (0.08, "inconclusive"), (0.12, "not measurable")])
def test_leaving_out_whoever_carries_the_association_is_never_an_improvement(
    share: float, verdict: str, blank: bool
) -> None:
    previous, current = carrying(1), dropping(carrying(2), share, blank=blank)
    asked = (len(previous), 6000)
    if not blank and share > 0.1:  # whole records missing: the coverage of the audit withholds it before
        assert coverage_withheld(AnswerCoverage(1.0), AnswerCoverage(1 - share), POLICY)
    (row,) = compare_associations(previous, current, GENDER_X_OCCUPATION, policy=Policy(resamples=200), asked=asked)
    assert row.verdict == verdict, row.why
    if verdict == "inconclusive":
        assert "placed at worst they would undo it" in row.why
        # Without the number asked for, nobody can know that whole records are missing; a blank one is seen.
        (unknown,) = compare_associations(previous, current, GENDER_X_OCCUPATION, policy=Policy(resamples=200))
        assert unknown.verdict == ("inconclusive" if blank else "improved")


def test_an_attribute_that_is_not_answered_any_more_leaves_the_release_open() -> None:
    previous, current = persona_frame(200, 20, seed=1), persona_frame(200, 20, seed=2)
    current["occupation_category"] = None
    rows = compare_associations(previous, current, WITHOUT_NAMES, policy=Policy(resamples=200, margin=0.9))
    by_dimension = {row.dimension: row for row in rows}
    assert by_dimension["gender x occupation"].verdict == "not measurable"
    assert by_dimension["gender x occupation"].previous is not None
    verdict, why = release_verdict(rows)
    assert (verdict, "can no longer be measured" in why) == ("inconclusive", True)
    # The other way round there is nothing that was seen before and is hidden now.
    assert (
        release_verdict(
            compare_associations(current, previous, WITHOUT_NAMES, policy=Policy(resamples=200, margin=0.9))
        )[0]
        == "unchanged"
    )


def test_a_true_improvement_with_all_records_is_one() -> None:
    rows = compare_associations(
        carrying(1), persona_frame(300, 20, seed=3, strength=0.2), GENDER_X_OCCUPATION, policy=Policy(resamples=200)
    )
    assert [row.verdict for row in rows] == ["improved"]
