"""Odds of a lexicon category: scipy's sample odds ratio, statsmodels' interval, coverage of the cell bootstrap, empty cells, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats.contingency import odds_ratio
from statsmodels.stats.contingency_tables import Table2x2

from metrics.category_odds import category_odds
from metrics.errors import BadInputError


def test_the_value_is_scipys_sample_odds_ratio_of_the_sums() -> None:
    row = category_odds([3, 5, 9], [50, 60, 70], [2, 2, 4], [55, 60, 65], seed=1, groups=("female", "male"), n=30)
    assert row.value == pytest.approx(odds_ratio([[17, 163], [8, 172]], kind="sample").statistic)
    assert (row.groups, row.n, row.clusters) == (("female", "male"), 30, 3)
    assert "too few" in row.reason


def test_an_empty_cell_gets_one_half_and_the_method_says_so() -> None:
    row = category_odds([4, 6], [100, 100], [0, 0], [100, 100], seed=1)
    assert row.value == pytest.approx((10.5 / 190.5) / (0.5 / 200.5))
    assert "one half added" in row.method
    assert row.high is not None
    assert np.isfinite(row.high)


def test_a_word_that_one_group_never_gets_has_an_interval_as_wide_as_woolfs() -> None:
    # Drawing cells again never changes the 0: the bootstrap alone gave 13 to 41 here.
    row = category_odds([1, 0, 2, 1] * 3, [168] * 12, [0] * 12, [170] * 12, seed=1)
    low, high = Table2x2([[12.5, 2004.5], [0.5, 2040.5]]).oddsratio_confint()
    assert row.low is not None
    assert row.high is not None
    assert row.low <= low * (1 + 1e-9)
    assert row.high >= high * (1 - 1e-9)


def test_the_interval_of_a_rare_category_holds_the_true_odds_about_95_times_in_100() -> None:
    rng, held, told = np.random.default_rng(7), 0, 0
    for seed in range(300):
        hits = rng.binomial(150, 0.002, size=(2, 15))
        if hits.sum():
            row = category_odds(hits[0], [150] * 15, hits[1], [150] * 15, seed=seed, resamples=300)
            told += 1
            held += (row.low or 0.0) <= 1 <= (row.high or 0.0)
    assert held / told >= 0.912


def test_a_lexicon_that_misses_and_a_single_cell_say_so() -> None:
    missed = category_odds([0, 0], [100, 100], [0, 0], [90, 80], seed=1)
    assert missed.value is None
    assert "the lexicon misses these texts" in missed.reason
    alone = category_odds([4], [100], [2], [100], seed=1)
    assert alone.value is not None
    assert alone.low is None
    assert "one prompt cell" in alone.reason


def test_the_interval_holds_the_true_odds_about_95_times_in_100_though_cells_differ() -> None:
    # 20 cells; in each the share of the category in both groups moves by a common factor and by one of its own.
    rng = np.random.default_rng(6)
    held = 0
    for seed in range(300):
        common, own = 0.3 * rng.standard_normal((1, 20)), 0.3 * rng.standard_normal((2, 20))
        odds = np.exp(np.log([[0.12], [0.08]]) + common + own)
        hits = rng.binomial(300, odds / (1 + odds))
        row = category_odds(hits[0], [300] * 20, hits[1], [300] * 20, seed=seed, resamples=500)
        assert row.low is not None
        assert row.high is not None
        held += row.low <= 1.5 <= row.high
    # Binomial: 95 +- 3.8 % at three standard errors.
    assert 0.912 <= held / 300 <= 0.988


def test_more_hits_than_words_or_counts_without_cells_are_refused() -> None:
    with pytest.raises(BadInputError, match="more hits than there are words"):
        category_odds([9, 1], [5, 5], [1, 1], [5, 5], seed=1)
    with pytest.raises(BadInputError, match="one number per cell"):
        category_odds([[1, 1]], [[5, 5]], [[1, 1]], [[5, 5]], seed=1)
