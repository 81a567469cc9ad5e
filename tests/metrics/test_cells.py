"""Which cells moved: sums against SciPy, derivatives, symmetry, calibration, a planted move, refusals."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.cells import (
    CellChange,
    cell_contributions,
    cell_residuals,
    common_tables,
    effects_on_residuals,
    jackknife_contributions,
    moved_cells,
)
from metrics.comparison import compare_associations
from metrics.contingency import jackknife_v_squared
from metrics.tables import BiasDimension, ClusteredTable, clustered_table
from metrics.verdicts import Policy
from tests.metrics.frames import DIMENSIONS, WITHOUT_NAMES, persona_frame

QUICK = Policy(multipliers=999)
PLAIN = BiasDimension(title="gender x job", axis="gender", social="job", row="gender", column="job")
JOBS = ["care", "craft", "office", "science"]
GENDER_JOB = next(dimension for dimension in WITHOUT_NAMES if dimension.title == "gender x occupation")


def audit(seed: int, requests: int = 100, per_request: int = 10, pull: float = 0.0) -> pd.DataFrame:
    """Independent draws of gender and job; a share ``pull`` of the women is moved into care."""
    rng = np.random.default_rng(seed)
    n = requests * per_request
    gender = rng.choice(["female", "male", "non-binary"], size=n, p=[0.45, 0.45, 0.1])
    job = rng.choice(JOBS, size=n)
    job = np.where((gender == "female") & (rng.random(n) < pull), "care", job)
    return pd.DataFrame({"request": np.arange(n) // per_request, "gender": gender, "job": job})


def tables(draw: np.random.Generator, requests: int, rows: int, columns: int) -> ClusteredTable:
    """A random clustered table of five records a request."""
    frame = pd.DataFrame(
        {
            "request": np.repeat(np.arange(requests), 5),
            "a": draw.integers(rows, size=requests * 5).astype(str),
            "b": draw.integers(columns, size=requests * 5).astype(str),
        }
    )
    return clustered_table(frame, "a", "b")


def found(cells: tuple[CellChange, ...], row: str, column: str) -> CellChange:
    (cell,) = [cell for cell in cells if (cell.row, cell.column) == (row, column)]
    return cell


@settings(deadline=None, max_examples=40, database=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(2, 6))
def test_contributions_sum_to_v_squared_of_scipy(seed: int, rows: int, columns: int) -> None:
    counts = np.random.default_rng(seed).integers(1, 40, size=(rows, columns)).astype(np.float64)
    v = stats.contingency.association(counts.astype(int), method="cramer", correction=False)
    contributions = cell_contributions(counts, min(rows, columns) - 1)
    assert contributions.sum() == pytest.approx(v**2, abs=1e-12)
    assert (np.square(cell_residuals(counts)) / (min(rows, columns) - 1)) == pytest.approx(contributions, abs=1e-15)


@settings(deadline=None, max_examples=30, database=None)
@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(2, 5), st.integers(2, 5))
def test_jackknifed_contributions_are_those_of_leaving_out_one_request_and_sum_to_jackknifed_v_squared(
    seed: int, requests: int, rows: int, columns: int
) -> None:
    table = tables(np.random.default_rng(seed), requests, rows, columns)
    if table.defect():
        return
    df = table.df_star
    ids = np.unique(table.cluster)
    shape = table.counts.shape
    without = []
    for cluster in ids:
        kept = table.cluster != cluster
        counts = np.zeros(shape)
        np.add.at(counts, (table.row[kept], table.column[kept]), table.count[kept])
        without.append(cell_contributions(counts, df))
    r = len(ids)
    expected = r * cell_contributions(table.counts, df) - (r - 1) * np.mean(without, axis=0)
    jackknifed = jackknife_contributions(table, df)
    assert jackknifed == pytest.approx(expected, abs=1e-10)
    assert jackknifed.sum() == pytest.approx(jackknife_v_squared(table, df), abs=1e-10)


def test_the_effect_of_a_record_is_the_derivative_of_the_residual() -> None:
    table = tables(np.random.default_rng(3), 30, 3, 4)
    effects = effects_on_residuals(table)
    step = 1e-5
    for k, one in enumerate(np.eye(12)):
        mixed = (1 - step) * table.counts / table.n + step * one.reshape(3, 4)
        slope = (cell_residuals(mixed) - cell_residuals(table.counts)) / step
        assert effects[k] == pytest.approx(slope.ravel(), abs=1e-3)
    assert (table.counts.ravel() / table.n) @ effects == pytest.approx(np.zeros(12), abs=1e-12)


def test_the_standard_error_is_how_much_a_residual_varies_over_repeated_audits() -> None:
    # Half of the answers stereotype strongly: personas of one answer depend on each other.
    pairs = [[persona_frame(60, 10, seed=2 * seed + side, modes=True) for side in (0, 1)] for seed in range(60)]
    dimension = next(item for item in WITHOUT_NAMES if item.title == "gender x social class")
    z = [[cell.statistic for cell in moved_cells(*pair, [dimension], policy=QUICK)] for pair in pairs]
    known = np.array([value for row in z for value in row if value is not None])
    assert np.sqrt(np.mean(np.square(known))) == pytest.approx(1.0, abs=0.12)


def test_the_contributions_of_a_dimension_sum_to_the_change_of_the_comparison() -> None:
    before, now = audit(1), audit(2, pull=0.3)
    pair = common_tables(before, now, PLAIN)
    assert pair is not None
    change = sum(
        sign * jackknife_v_squared(table, pair.df_star) for sign, table in zip((-1, 1), pair.sides, strict=True)
    )
    cells = moved_cells(before, now, [PLAIN], policy=QUICK)
    assert len(cells) == 12
    assert sum(cell.contribution for cell in cells) == pytest.approx(change, abs=1e-12)


@settings(deadline=None, max_examples=15, database=None)
@given(st.integers(0, 1000), st.integers(20, 60), st.floats(0, 0.5))
def test_swapping_the_releases_turns_signs_and_changes_no_p_value(seed: int, requests: int, pull: float) -> None:
    before, now = audit(seed, requests), audit(seed + 1, requests + 7, pull=pull)
    forward, backward = (moved_cells(*pair, [PLAIN], policy=QUICK) for pair in ((before, now), (now, before)))
    assert {(cell.row, cell.column) for cell in forward} == {(cell.row, cell.column) for cell in backward}
    for cell in forward:
        other = found(backward, cell.row, cell.column)
        assert other.contribution == pytest.approx(-cell.contribution, abs=1e-12)
        assert (other.n_previous, other.share_current) == (cell.n_current, cell.share_previous)
        if cell.pvalue is None or other.pvalue is None:
            assert (cell.pvalue, other.pvalue) == (None, None)
            continue
        assert other.statistic == pytest.approx(-(cell.statistic or 0.0), abs=1e-9)
        assert other.pvalue == pytest.approx(cell.pvalue, abs=1e-9)
        assert other.qvalue == pytest.approx(cell.qvalue, abs=0.002)
        assert 0 < other.qvalue <= 1


@pytest.mark.parametrize(
    ("sizes", "modes"), [((60, 60), False), ((60, 60), True), ((120, 30), True)], ids=["equal", "modes", "unequal"]
)
def test_about_1_in_20_unchanged_releases_has_a_cell_that_is_called_moved(sizes: tuple[int, int], modes: bool) -> None:
    alarms, pairs = 0, 120
    for seed in range(pairs):
        frames = [persona_frame(size, 10, seed=7000 + 2 * seed + side, modes=modes) for side, size in enumerate(sizes)]
        cells = moved_cells(*frames, [GENDER_JOB], policy=QUICK)
        alarms += any(cell.qvalue is not None and cell.qvalue <= 0.05 for cell in cells)
    assert stats.binomtest(alarms, pairs, 0.05).pvalue > 0.01, f"{alarms} of {pairs}"


def test_a_planted_move_is_named_with_its_direction() -> None:
    cells = moved_cells(audit(1, 200), audit(2, 200, pull=0.25), [PLAIN], policy=QUICK)
    significant = {(cell.row, cell.column) for cell in cells if cell.qvalue is not None and cell.qvalue <= 0.05}
    assert {("female", "care"), ("male", "care")} <= significant
    assert {(cell.row, cell.column) for cell in cells[:2]} == {("female", "care"), ("male", "care")}
    women, men = found(cells, "female", "care"), found(cells, "male", "care")
    assert women.share_previous == pytest.approx(0.25, abs=0.05)
    assert women.share_current == pytest.approx(0.44, abs=0.05)
    assert women.contribution > 0
    assert (women.statistic or 0.0) > 4
    assert (men.statistic or 0.0) < -4
    assert (found(cells, "non-binary", "science").qvalue or 0.0) > 0.05


def test_a_change_that_is_undone_has_the_same_cells_with_the_other_sign() -> None:
    cells = moved_cells(audit(2, 200, pull=0.25), audit(1, 200), [PLAIN], policy=QUICK)
    assert found(cells, "female", "care").contribution < 0
    assert (found(cells, "female", "care").statistic or 0.0) < -4


def test_the_family_of_tests_is_the_cells_of_all_dimensions_given() -> None:
    frames = [persona_frame(100, 10, seed=seed, extra=extra) for seed, extra in ((1, 0.0), (2, 0.5))]
    alone = moved_cells(*frames, [GENDER_JOB], policy=Policy())
    together = moved_cells(*frames, WITHOUT_NAMES, policy=Policy())
    assert [cell.dimension for cell in together] == sorted(
        (cell.dimension for cell in together), key=[dimension.title for dimension in WITHOUT_NAMES].index
    )
    own = [cell for cell in together if cell.dimension == GENDER_JOB.title]
    assert [dataclasses.replace(cell, qvalue=None) for cell in own] == [
        dataclasses.replace(cell, qvalue=None) for cell in alone
    ]
    raised = [(b.qvalue or 0.0) - (a.qvalue or 0.0) for a, b in zip(alone, own, strict=True) if a.qvalue is not None]
    assert min(raised) > -0.02
    assert max(raised) > 0.05


def test_the_cells_are_those_of_the_vocabulary_that_the_comparison_uses() -> None:
    before, now = audit(1), audit(2)
    before.loc[:5, "job"] = "rare one"
    now.loc[:5, "job"] = "rare two"
    (row,) = compare_associations(before, now, [PLAIN], policy=Policy(resamples=100))
    assert row.merged == ("rare one", "rare two")
    cells = moved_cells(before, now, [PLAIN], policy=QUICK)
    assert {cell.column for cell in cells} == {*JOBS, "other"}
    pair = common_tables(before, now, PLAIN)
    assert pair is not None
    for cell in cells:
        chosen = before[pair.records(before, cell.row, cell.column)]
        assert len(chosen) == cell.n_previous
        assert {*chosen["job"]} <= ({"rare one"} if cell.column == "other" else {cell.column})
    assert pair.column_shares("other") == (6 / 1000, 6 / 1000)


def test_a_cell_that_is_nearly_empty_in_both_is_counted_and_not_tested() -> None:
    before, now = audit(1, pull=0.3), audit(2)
    for frame, jobs in ((before, ["craft", "office"]), (now, ["craft", "science"])):
        rare = frame["gender"] == "non-binary"
        frame.loc[rare, "job"] = np.resize(jobs, rare.sum())
    cells = moved_cells(before, now, [PLAIN], policy=QUICK)
    empty = found(cells, "non-binary", "care")
    assert (empty.n_previous, empty.n_current, empty.share_previous) == (0, 0, 0.0)
    assert (empty.statistic, empty.pvalue, empty.qvalue) == (None, None, None)
    assert math.isfinite(empty.contribution)
    assert found(cells, "non-binary", "office").qvalue is not None


def test_a_row_that_one_release_does_not_have_has_no_share_there() -> None:
    before, now = audit(1), audit(2)
    before = before[before["gender"] != "non-binary"]
    cell = found(moved_cells(before, now, [PLAIN], policy=QUICK), "non-binary", "care")
    assert cell.share_previous is None
    assert cell.share_current is not None


def test_a_release_compared_with_itself_has_no_moved_cell() -> None:
    for cell in moved_cells(audit(1), audit(1), [PLAIN], policy=QUICK):
        assert (cell.contribution, cell.statistic, cell.pvalue, cell.qvalue) == (0.0, 0.0, 1.0, 1.0)


def test_names_are_counted_from_a_list_only() -> None:
    frames = [persona_frame(60, 20, seed=seed) for seed in (1, 2)]
    assert moved_cells(*frames, DIMENSIONS[:1], policy=QUICK) == ()
    cells = moved_cells(*frames, DIMENSIONS[:1], names=["name 00", "name 01", "name 02"], policy=QUICK)
    assert {cell.row.removeprefix("name ") for cell in cells}


def test_a_dimension_that_cannot_be_measured_has_no_cells() -> None:
    now = audit(2).assign(gender="female")
    assert moved_cells(audit(1), now, [PLAIN], policy=QUICK) == ()
    assert moved_cells(audit(1), audit(2).assign(request=1), [PLAIN], policy=QUICK) == ()
    assert moved_cells(audit(1), audit(2), [], policy=QUICK) == ()


def test_a_dimension_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="each bias dimension can be given once"):
        moved_cells(audit(1), audit(2), [PLAIN, PLAIN])
