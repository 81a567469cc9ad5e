"""The benchmark of resampling compares like with like: its step that checks so, on a small audit; nothing is timed here."""

from __future__ import annotations

import dataclasses

import numpy as np

from benchmarks.resampling import Audit, audit, by_pandas, differences


def small() -> Audit:
    return audit(3, requests=60, per_request=10)


def test_all_contestants_give_the_same_v_squared_for_the_same_draws() -> None:
    found = differences(small(), resamples=30, resamples_of_pandas=2)
    assert found.same_statistic
    assert max(found.value_pandas, found.value_scipy, found.value_weighted) < 2e-6
    assert max(found.error_scipy, found.error_weighted) < 1e-4


def test_a_contestant_with_another_statistic_is_noticed() -> None:
    of = small()
    # Other categories for the one that works on cells: another table, so another V.
    moved = dataclasses.replace(of, cells=np.roll(of.cells, 1, axis=1))
    assert not differences(moved, resamples=5, resamples_of_pandas=2).same_statistic


def test_drawing_every_request_once_gives_v_squared_of_the_audit() -> None:
    of = small()
    whole = by_pandas(of, np.arange(of.requests))
    for found, table, df_star in zip(whole, of.tables, of.df_stars, strict=True):
        counts = table.counts
        expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0) / counts.sum()
        assert np.isclose(found, (np.square(counts - expected) / expected).sum() / counts.sum() / df_star)
