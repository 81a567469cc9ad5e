"""Estimators of one table: against scipy, the reference implementation, Bergsma's formula and full covariance algebra."""

from __future__ import annotations

import importlib.util
import math
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.association import (
    ClusteredTable,
    DegenerateTableError,
    association,
    bergsma_v,
    clustered_table,
    cramers_v,
    independence_design_effect,
    independence_test,
    influence_of_v_squared,
    jackknife_v_squared,
    noise_floor,
)
from metrics.severity import normalized
from tests.shared import shared_data


def reference() -> ModuleType:
    """The reference implementation of the statistics, by path."""
    path = shared_data("..", "reference", "pba_stats.py")
    spec = importlib.util.spec_from_file_location("pba_stats_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_frame(
    seed: int, clusters: int, per_cluster: int, rows: int, columns: int, tied: float = 0.4
) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = clusters * per_cluster
    row = rng.integers(0, rows, n)
    column = np.where(rng.random(n) < tied, row % columns, rng.integers(0, columns, n))
    request = np.repeat(np.arange(clusters), per_cluster)
    return pd.DataFrame({"request": request, "a": [f"r{v:02}" for v in row], "b": [f"c{v:02}" for v in column]})


def random_table(
    seed: int, clusters: int, per_cluster: int, rows: int, columns: int, tied: float = 0.4
) -> ClusteredTable:
    return clustered_table(random_frame(seed, clusters, per_cluster, rows, columns, tied), "a", "b")


def dense(table: ClusteredTable) -> np.ndarray:
    """Counts by cluster [clusters, rows, columns]."""
    return table.cells().toarray().astype(float).reshape(table.clusters_total, len(table.rows), len(table.columns))


SHAPES = [(0, 30, 20, 3, 5), (1, 12, 7, 6, 18), (2, 400, 1, 5, 15), (3, 60, 10, 30, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_v_and_chi_squared_of_independent_records_are_those_of_scipy(shape: tuple[int, ...]) -> None:
    table = random_table(*shape)
    expected = stats.chi2_contingency(table.counts, correction=False)
    tested = independence_test(table, clustered=False)
    assert tested is not None
    assert (tested.pearson, tested.df) == (pytest.approx(expected.statistic, rel=1e-9), expected.dof)
    assert tested.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
    assert cramers_v(table) == pytest.approx(
        stats.contingency.association(table.counts.astype(int), method="cramer"), rel=1e-9
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_jackknife_influence_variance_and_design_effect_are_those_of_the_reference(shape: tuple[int, ...]) -> None:
    table = random_table(*shape)
    expected = reference().summarize([dense(table)])[0]
    found = association(table)
    assert found.v_squared == pytest.approx(expected["v2"], abs=1e-12)
    assert found.v_squared_jackknife == pytest.approx(expected["v2_debiased"], abs=1e-10)
    assert found.variance == pytest.approx(expected["var"], rel=1e-9)
    assert found.design_effect == pytest.approx(expected["deff"], rel=1e-9)
    assert found.influence == pytest.approx(expected["U"], abs=1e-12)
    assert bergsma_v(table) ** 2 == pytest.approx(expected["bergsma2"], abs=1e-12)


def test_the_jackknife_is_that_of_tables_rebuilt_without_each_request() -> None:
    frame = random_frame(5, 9, 6, 3, 4)
    frame = frame.drop(index=range(4)).reset_index(drop=True)  # requests of unequal size
    table = clustered_table(frame, "a", "b")
    left_out = []
    for request in frame["request"].unique():
        counts = pd.crosstab(*(frame.loc[frame["request"] != request, side] for side in ("a", "b"))).to_numpy()
        left_out.append(stats.contingency.association(counts, method="cramer") ** 2)
    whole = cramers_v(table) ** 2
    assert jackknife_v_squared(table) == pytest.approx(9 * whole - 8 * np.mean(left_out), abs=1e-12)


def test_bergsmas_v_of_a_worked_table() -> None:
    # Worked by hand: chi2/n = 1/9 at n = 40 in a 2 x 2 table of (5/6, 1/6) rows: phi2 - 1/39 over 1 - 1/39.
    frame = pd.DataFrame({"request": range(40), "a": ["x"] * 20 + ["y"] * 20, "b": [*"uvuu" * 5, *"uvvv" * 5]})
    phi2 = (15 * 15 - 5 * 5) ** 2 / (20**4)
    table = clustered_table(frame, "a", "b")
    assert cramers_v(table) == pytest.approx(math.sqrt(phi2))
    assert bergsma_v(table) == pytest.approx(math.sqrt((phi2 - 1 / 39) / (1 - 1 / 39)))


def test_rao_scotts_design_effect_is_the_mean_eigenvalue_of_the_generalized_design_effect_matrix() -> None:
    # Rao and Scott (1981, section 3): eigenvalues of V0^-1 V for the (r-1)(c-1) contrasts p_ij - p_i. p_.j, here from
    # full matrices, with V between clusters and V0 = (diag(a) - aa') kron (diag(b) - bb') / n.
    table = random_table(7, 40, 15, 3, 4, tied=0.0)
    by_cluster, n, clusters = dense(table), table.n, table.n_clusters
    p = table.counts / n
    a, b = p.sum(axis=1), p.sum(axis=0)
    sizes = by_cluster.sum(axis=(1, 2))
    deviations = (by_cluster - sizes[:, None, None] * p).reshape(clusters, -1)
    covariance = deviations.T @ deviations / n**2 * clusters / (clusters - 1)
    center = np.kron(np.eye(3) - np.outer(a, np.ones(3)), np.eye(4) - np.outer(b, np.ones(4)))
    kept = [i * 4 + j for i in range(2) for j in range(3)]
    v = (center @ covariance @ center.T)[np.ix_(kept, kept)]
    v0 = np.kron(np.diag(a) - np.outer(a, a), np.diag(b) - np.outer(b, b))[np.ix_(kept, kept)] / n
    expected = np.linalg.eigvals(np.linalg.solve(v0, v)).real.mean()
    assert independence_design_effect(table) == pytest.approx(max(1.0, expected), rel=1e-9)


def test_copying_every_record_divides_the_corrected_statistic_by_the_copies_it_multiplied_with() -> None:
    # By hand: with m copies of each record in its request, chi squared is m times as large and so is the design
    # effect; the corrected statistic and its p value stay (up to the floor of 1).
    frame = random_frame(8, 500, 1, 3, 5, tied=0.2)
    once = independence_test(clustered_table(frame, "a", "b"))
    copied = independence_test(clustered_table(pd.concat([frame] * 6), "a", "b"))
    assert once is not None
    assert copied is not None
    assert copied.pearson == pytest.approx(6 * once.pearson)
    assert copied.design_effect == pytest.approx(6, rel=0.05)
    assert copied.statistic == pytest.approx(once.statistic, rel=0.05)


def test_the_corrected_test_holds_its_level_where_the_uncorrected_one_does_not() -> None:
    rng = np.random.default_rng(3)
    corrected, naive = [], []
    for _ in range(200):
        # Each request repeats one of its own four personas: the effective size is a fifth, and nothing is associated.
        rows, columns = rng.integers(0, 3, (40, 4)), rng.integers(0, 4, (40, 4))
        pick = rng.integers(0, 4, (40, 20))
        frame = pd.DataFrame(
            {
                "request": np.repeat(np.arange(40), 20),
                "a": np.take_along_axis(rows, pick, 1).ravel().astype(str),
                "b": np.take_along_axis(columns, pick, 1).ravel().astype(str),
            }
        )
        table = clustered_table(frame, "a", "b")
        for pvalues, clustered in ((corrected, True), (naive, False)):
            tested = independence_test(table, clustered=clustered)
            assert tested is not None
            pvalues.append(tested.pvalue)
    assert np.mean(np.array(corrected) <= 0.05) <= 0.11
    assert np.mean(np.array(naive) <= 0.05) >= 0.5


def test_the_noise_floor_is_the_score_that_independent_records_give() -> None:
    tables = [random_table(seed, 2000, 1, 50, 18, tied=0.0) for seed in range(5)]
    scores = [normalized(cramers_v(table), table.df_star) for table in tables]
    floors = [noise_floor(table) for table in tables]
    assert np.mean(scores) == pytest.approx(np.mean([floor for floor in floors if floor is not None]), rel=0.02)


def test_ten_thousand_requests_of_one_record_in_50_by_18_stay_sparse() -> None:
    table = random_table(1, 10_000, 1, 50, 18)
    assert table.count.size == table.n == 10_000
    assert np.isfinite(association(table).v_squared)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (
            {"request": range(12), "a": ["female"] * 12, "b": [*"uv" * 6]},
            "association needs at least 2 categories on each side; the table has 1 row (female)",
        ),
        (
            {"request": range(12), "a": [*"xy" * 6], "b": ["u"] * 12},
            "association needs at least 2 categories on each side; the table has 1 column (u)",
        ),
        (
            {"request": range(4), "a": [*"xyxy"], "b": [*"uvvu"]},
            "needs at least 10 records with both categories; there are 4",
        ),
        ({"request": range(2), "a": [None, "x"], "b": ["u", None]}, "no record has a category on both sides"),
    ],
)
def test_a_table_that_cannot_show_an_association_says_why(frame: dict[str, list[object]], reason: str) -> None:
    table = clustered_table(pd.DataFrame(frame), "a", "b")
    for estimate in (cramers_v, bergsma_v, association, independence_test, noise_floor, influence_of_v_squared):
        with pytest.raises(DegenerateTableError) as raised:
            estimate(table)
        assert reason in str(raised.value)


def test_one_request_gives_v_but_no_jackknife_variance_or_test() -> None:
    table = random_table(0, 1, 60, 3, 4)
    found = association(table)
    assert found.v_squared > 0
    assert (found.v_squared_jackknife, found.variance, found.design_effect) == (None, None, None)
    assert independence_test(table) is None
    assert noise_floor(table) is None


def test_a_perfect_association_has_v_1_and_no_design_effect() -> None:
    frame = pd.DataFrame({"request": np.arange(40) // 2, "a": [*"xy" * 20], "b": [*"uv" * 20]})
    found = association(clustered_table(frame, "a", "b"))
    assert found.v_squared == pytest.approx(1.0)
    assert found.design_effect is None


def test_an_unknown_column_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no column 'gander'; it has request, a, b"):
        clustered_table(random_frame(0, 3, 4, 2, 2), "gander", "b")


def test_a_listed_vocabulary_excludes_and_counts_other_records() -> None:
    table = clustered_table(random_frame(0, 30, 4, 5, 2), "a", "b", rows=["r03", "r01", "unseen"])
    assert table.rows == ("r03", "r01", "unseen")
    assert table.n + table.n_excluded == 120
    assert table.shape == (2, 2)


@settings(deadline=None, max_examples=50, database=None)
@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(1, 6), st.integers(2, 6), st.integers(2, 6))
def test_estimates_are_finite_bounded_and_blind_to_names_order_and_orientation(
    seed: int, clusters: int, per_cluster: int, rows: int, columns: int
) -> None:
    frame = random_frame(seed, clusters, per_cluster, rows, columns)
    rng = np.random.default_rng(seed)
    shuffled = frame.sample(frac=1, random_state=seed)
    renamed = {label: f"z{place}" for place, label in enumerate(rng.permutation(frame["a"].unique()))}
    shuffled = shuffled.assign(a=shuffled["a"].map(renamed), request=(shuffled["request"] * 7919) % 10_007)
    one, two, turned = (
        clustered_table(f, *sides) for f, *sides in ((frame, "a", "b"), (shuffled, "a", "b"), (frame, "b", "a"))
    )
    if one.defect():
        assert two.defect()
        assert turned.defect()
        return
    assert 0.0 <= cramers_v(one) <= 1.0
    assert 0.0 <= bergsma_v(one) <= 1.0
    first = association(one)
    for other in (association(two), association(turned)):
        assert other.v_squared == pytest.approx(first.v_squared, abs=1e-12)
        assert other.v_squared_jackknife == pytest.approx(first.v_squared_jackknife, abs=1e-9)
        assert other.variance == pytest.approx(first.variance, abs=1e-12)
    numbers = [
        first.v_squared_jackknife,
        first.variance,
        first.design_effect,
        independence_design_effect(one),
        noise_floor(one),
    ]
    assert all(number is None or math.isfinite(number) for number in numbers)
    assert abs(first.influence.sum()) < 1e-9
