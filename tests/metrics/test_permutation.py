"""Exchanged labels: against scipy's permutation test and binomial, exactness with two cells, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.permutation import sign_flip_pvalue, within_cell_permutation
from metrics.samples import samples
from tests.metrics.messages import message_frame


def test_sign_flips_are_those_of_scipys_exact_permutation_test() -> None:
    differences = np.array([0.4, -0.1, 0.9, 0.3, -0.6, 0.8, 1.1])
    expected = stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip_pvalue(differences) == pytest.approx(expected.pvalue)


def test_two_cells_cannot_be_below_one_half_and_many_are_left_to_t() -> None:
    assert sign_flip_pvalue(np.array([5.0, 6.0])) == 0.5
    assert sign_flip_pvalue(np.ones(15)) is None
    assert sign_flip_pvalue(np.array([])) is None


@settings(deadline=None, max_examples=50, database=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9))
def test_a_sign_flip_p_is_a_share_of_all_sign_changes_and_does_not_turn(values: list[int]) -> None:
    p = sign_flip_pvalue(np.array(values, dtype=np.float64))
    assert p is not None
    assert (p * 2 ** len(values)) == pytest.approx(round(p * 2 ** len(values)))
    assert sign_flip_pvalue(-np.array(values, dtype=np.float64)) == p


def test_one_cell_is_scipys_permutation_test_of_independent_samples() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.normal(0.7, 1, 9), rng.normal(0, 1, 7)
    frame = pd.DataFrame({"a": [*one, *two], "sex": ["f"] * 9 + ["m"] * 7, "cell": "x"})
    row = within_cell_permutation(samples(frame, "a", group="sex"), "f", "m", seed=1)
    expected = stats.permutation_test(
        (one, two), lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis), n_resamples=np.inf, vectorized=True
    )
    # Four standard errors of a probability from 4,999 exchanges.
    assert row.pvalue == pytest.approx(expected.pvalue, abs=4 * np.sqrt(expected.pvalue / 4999))


def test_labels_are_exchanged_within_cells_so_that_cells_may_differ_as_they_like() -> None:
    # Cell y lies 100 above cell x. A test that mixed cells would not see the difference of 1 within them.
    base = [0.0, 0.2, 0.4, 0.1, 0.3, 0.25]
    rows = [
        (level + value + (sex == "f"), sex, cell)
        for cell, level in (("x", 0), ("y", 100))
        for sex in "fm"
        for value in base
    ]
    frame = pd.DataFrame(rows, columns=["a", "sex", "cell"])
    row = within_cell_permutation(samples(frame, "a", group="sex"), "f", "m", seed=1)
    assert row.value == pytest.approx(1.0)
    assert row.pvalue == 1 / 5000
    assert "about these 2 prompts only" in row.method


def test_with_two_cells_and_no_difference_it_rejects_5_in_100() -> None:
    # The groups do not differ within these cells (no shift of their own).
    pvalues = [
        within_cell_permutation(
            samples(message_frame(cells=2, repeats=5, seed=seed, uneven=0.0), "a", group="group"),
            "female",
            "male",
            seed=seed,
            permutations=399,
        ).pvalue
        for seed in range(300)
    ]
    # Binomial: 5 +- 3.8 % at three standard errors.
    assert 0.012 <= np.mean([p is not None and p <= 0.05 for p in pvalues]) <= 0.088


def test_groups_that_share_no_cell_are_not_measured() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "sex": [*"fm"], "cell": [*"xy"]})
    row = within_cell_permutation(samples(frame, "a", group="sex"), "f", "m", seed=1)
    assert row.value is None
    assert "no prompt cell" in row.reason
