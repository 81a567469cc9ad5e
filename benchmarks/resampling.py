"""How much does the response bootstrap of all 16 dimensions cost, beside the usual ways to make one?

Question: CPU seconds of one thread for B = 2,000 resamples of 10,000 personas in 500 requests, 16 tables; whole requests
are drawn in all of them. Contestants:

- pandas: take the rows of the drawn requests, ``pandas.crosstab``, ``scipy.stats.chi2_contingency``; a few resamples,
  scaled to 2,000;
- scipy: ``scipy.stats.bootstrap``, dimension by dimension, on the rows of the drawn requests and ``numpy.bincount``;
- scipy, weighted: the same, but each persona gets the weight of its request and no row is taken: the fastest form found for
  answers of any size (where all have equally many personas, one two-dimensional index is a sixth faster still);
- ours: `metrics.resampling.resampled_v_squared`, all dimensions at once;
- comparison: two audits from their tables to q values by influence functions and multipliers (max-T), no bootstrap.

Limits: ours at least 1,000 times as fast as pandas and 60 times as fast as scipy; the comparison below 50 ms. The first four
must give the same V squared for the same draws, which is checked first. Run: ``python -m benchmarks.resampling``.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import time
from collections.abc import Callable

if __name__ == "__main__":  # read once, when numpy loads
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, stats

from metrics.contingency import association, influence_of_v_squared, variance_of
from metrics.multiplicity import max_t_critical, max_t_qvalues
from metrics.resampling import cluster_weights, multiplier_draws, resampled_v_squared
from metrics.tables import ClusteredTable, clustered_table
from metrics.verdicts import Policy

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

AXES = {"name": 50, "gender": 3, "ethnicity": 6, "sexual_orientation": 5}
SOCIAL = {"social_class": 3, "education": 5, "occupation": 18, "interest": 15}
REQUESTS, PER_REQUEST, RESAMPLES = 500, 20, 2000
PANDAS_RESAMPLES = 4
BLOCK = 1024  # resamples that ours multiplies at once
REPEATS, RUNS = 7, 5  # ratios are taken within a repeat; what is short is run several times in it
LIMITS = {"pandas / ours": 1000, "scipy / ours": 60, "comparison_s": 0.05}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audit:
    """One audit in the form that each contestant starts from.

    ``frame`` has a row per persona; ``rows_of`` the rows of each request; ``cells`` the cell of each persona in each
    dimension [dimensions, personas]; ``tables`` the clustered tables, ``df_stars`` their df*, which no resample changes.
    """

    frame: pd.DataFrame
    rows_of: list[IntArray]
    cells: IntArray
    tables: list[ClusteredTable]
    df_stars: list[int]

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.rows_of)


def audit(seed: int, requests: int = REQUESTS, per_request: int = PER_REQUEST) -> Audit:
    """Personas whose attributes hang together, more so in some answers than in others."""
    rng = np.random.default_rng(seed)
    n = requests * per_request
    request = np.repeat(np.arange(requests), per_request)
    law = np.random.default_rng(7)  # one population for all seeds
    kind, pull = rng.integers(0, 50, n), rng.uniform(0.2, 0.8, requests)[request]
    columns: dict[str, NDArray[np.str_] | IntArray] = {"request": request}
    for attribute, size in (AXES | SOCIAL).items():
        chances = 1 / np.arange(1, size + 1)
        usual = law.integers(0, size, 50)[kind] if size < 50 else kind
        code = np.where(rng.random(n) < pull, usual, rng.choice(size, n, p=chances / chances.sum()))
        columns[attribute] = np.array([f"{attribute} {number:02}" for number in range(size)])[code]
    frame = pd.DataFrame(columns)
    tables = [clustered_table(frame, axis, social) for axis in AXES for social in SOCIAL]
    codes = {name: pd.factorize(frame[name], sort=True)[0].astype(np.int64) for name in AXES | SOCIAL}
    return Audit(
        frame=frame,
        rows_of=[np.flatnonzero(request == number) for number in range(requests)],
        cells=np.stack([codes[axis] * frame[social].nunique() + codes[social] for axis in AXES for social in SOCIAL]),
        tables=tables,
        df_stars=[table.df_star for table in tables],
    )


def by_pandas(of: Audit, drawn: IntArray) -> list[float]:
    """V squared of each dimension in one resample of requests."""
    resample = of.frame.take(np.concatenate([of.rows_of[request] for request in drawn])).reset_index(drop=True)
    pairs = [(axis, social) for axis in AXES for social in SOCIAL]
    return [
        stats.chi2_contingency(pd.crosstab(resample[axis], resample[social]), correction=False).statistic
        / len(resample)
        / df_star
        for (axis, social), df_star in zip(pairs, of.df_stars, strict=True)
    ]


def bincount_statistic(of: Audit, dimension: int, *, weighted: bool) -> Callable[[IntArray], float]:
    """V squared of one dimension as a function of the drawn requests, for `scipy.stats.bootstrap`."""
    cells, table, requests = of.cells[dimension], of.tables[dimension], of.requests
    shape, df_star = (len(table.rows), len(table.columns)), of.df_stars[dimension]
    request, cells_of = of.frame["request"].to_numpy(), [cells[rows] for rows in of.rows_of]

    def v_squared(drawn: IntArray) -> float:
        if weighted:
            weights = np.bincount(drawn, minlength=requests)[request]
            counts = np.bincount(cells, weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
        else:
            taken = np.concatenate([cells_of[number] for number in drawn])
            counts = np.bincount(taken, minlength=shape[0] * shape[1]).reshape(shape)
        by_row, by_column = counts.sum(axis=1), counts.sum(axis=0)
        shares = np.square(counts) / np.maximum(by_row, 1)[:, None] / np.maximum(by_column, 1)
        return float(shares.sum() - 1) / df_star

    return v_squared


def by_scipy(of: Audit, resamples: int, seed: int, *, weighted: bool) -> FloatArray:
    """Standard error of V squared of each dimension."""
    return np.array(
        [
            stats.bootstrap(
                (np.arange(of.requests),),
                bincount_statistic(of, dimension, weighted=weighted),
                n_resamples=resamples,
                vectorized=False,
                method="percentile",
                rng=np.random.default_rng([seed, dimension]),
            ).standard_error
            for dimension in range(len(of.tables))
        ]
    )


def ours(of: Audit, resamples: int, seed: int) -> FloatArray:
    """V squared of each dimension in each resample [dimensions, resamples]."""
    return resampled_v_squared(of.tables, of.df_stars, np.random.default_rng(seed), resamples)


def comparison(previous: Audit, current: Audit, policy: Policy) -> tuple[FloatArray, float]:
    """The q values of the change in each dimension and the critical value, as `metrics.comparison` makes them from tables."""
    change, errors, influences = [], [], []
    for tables in zip(previous.tables, current.tables, strict=True):
        pooled = tables[0].counts + tables[1].counts
        found = [association(table, min(pooled.shape) - 1) for table in tables]
        own = [one.influence for one in found]
        both = [influence_of_v_squared(table, one.df_star, pooled) for table, one in zip(tables, found, strict=True)]
        clusters = [table.n_clusters for table in tables]
        variances = [sum(map(variance_of, choice, clusters)) for choice in (own, both)]
        influences.append((own, both)[int(np.argmax(variances))])
        errors.append(max(variances) ** 0.5)
        change.append((found[1].v_squared_jackknife or 0.0) - (found[0].v_squared_jackknife or 0.0))
    sides = [np.stack([pair[side] for pair in influences], axis=1) for side in (0, 1)]
    draws = multiplier_draws(np.random.default_rng(policy.seed), sides, policy.multipliers) / np.array(errors)
    z = np.array(change) / np.array(errors)
    max_t_qvalues(z, draws, two_sided=True)
    return max_t_qvalues(z, draws, two_sided=False), max_t_critical(draws, policy.alpha, two_sided=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Largest differences from ours over dimensions.

    ``value_*`` of V squared in any one resample of the same draws, ``error_*`` of its standard error over those draws as
    a share of ours. ``own_draws_scipy`` (scipy drawing for itself) and ``influence`` are shares too, and carry the chance of
    the draws and what a first-order formula leaves out.
    """

    value_pandas: float
    value_scipy: float
    value_weighted: float
    error_pandas: float
    error_scipy: float
    error_weighted: float
    own_draws_scipy: float
    influence: float

    @property
    def same_statistic(self) -> bool:
        """Whether all gave the same V squared; ours counts in 32 bits, which are good to about 1e-6."""
        return max(self.value_pandas, self.value_scipy, self.value_weighted) < 1e-5


def differences(of: Audit, *, resamples: int, resamples_of_pandas: int, seed: int = 0) -> Differences:
    """How far the contestants are from `ours`, which is given the same draws wherever the other can be."""
    found = ours(of, resamples, seed)
    weights = np.concatenate(list(cluster_weights(np.random.default_rng(seed), of.requests, resamples)), axis=1)
    drawn = [np.repeat(np.arange(of.requests), column.astype(np.int64)) for column in weights.T]
    few = resamples_of_pandas
    pandas = np.array([by_pandas(of, requests) for requests in drawn[:few]]).T
    scipy, with_weights = (
        np.array(
            [
                [bincount_statistic(of, place, weighted=weighted)(requests) for requests in drawn]
                for place in range(len(of.tables))
            ]
        )
        for weighted in (False, True)
    )
    errors = found.std(axis=1, ddof=1)
    first_order = [
        variance_of(influence_of_v_squared(table, df_star), table.n_clusters) ** 0.5
        for table, df_star in zip(of.tables, of.df_stars, strict=True)
    ]

    def share(others: FloatArray, own: FloatArray) -> float:
        return float(np.abs(others / own - 1).max())

    return Differences(
        value_pandas=float(np.abs(pandas - found[:, :few]).max()),
        value_scipy=float(np.abs(scipy - found).max()),
        value_weighted=float(np.abs(with_weights - found).max()),
        error_pandas=share(pandas.std(axis=1, ddof=1), found[:, :few].std(axis=1, ddof=1)),
        error_scipy=share(scipy.std(axis=1, ddof=1), errors),
        error_weighted=share(with_weights.std(axis=1, ddof=1), errors),
        own_draws_scipy=share(by_scipy(of, resamples, seed, weighted=True), errors),
        influence=share(np.array(first_order), errors),
    )


def cpu_seconds(task: Callable[[], object], runs: int = 1) -> float:
    """CPU seconds of one run, the mean of several."""
    began = time.process_time()
    for _ in range(runs):
        task()
    return (time.process_time() - began) / runs


def spread(values: list[float]) -> dict[str, float]:
    """Smallest, median and largest, to four significant digits."""
    found = {"min": min(values), "median": statistics.median(values), "max": max(values)}
    return {name: float(f"{value:.4g}") for name, value in found.items()}


def timed(of: Audit, other: Audit) -> dict[str, list[float]]:
    """CPU seconds of each contestant in each repeat, after one unmeasured run."""
    policy = Policy()
    drawn = [np.random.default_rng(place).integers(0, of.requests, of.requests) for place in range(PANDAS_RESAMPLES)]
    contestants: dict[str, tuple[Callable[[], object], int, float]] = {
        "pandas": (lambda: [by_pandas(of, requests) for requests in drawn], 1, RESAMPLES / PANDAS_RESAMPLES),
        "scipy": (lambda: by_scipy(of, RESAMPLES, 0, weighted=False), 1, 1.0),
        "scipy, weighted": (lambda: by_scipy(of, RESAMPLES, 0, weighted=True), 1, 1.0),
        "ours": (lambda: ours(of, RESAMPLES, 0), RUNS, 1.0),
        "comparison": (lambda: comparison(of, other, policy), RUNS, 1.0),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for repeat in range(REPEATS + 1):
        for name, (task, runs, scale) in contestants.items():
            found = cpu_seconds(task, runs) * scale
            if repeat:
                seconds[name].append(found)
    return seconds


def product(of: Audit) -> dict[str, object]:
    """The product of cells by weights alone: as ours makes it, sparse in 16 bits, and as a plain dense one.

    A sparse product does few operations on many numbers that it reads, so two bounds stand beside its rate: sgemm of the
    same size, all zeros included, and a plain copy of the block of weights that it reads from.
    """
    cells = sparse.csr_array(sparse.hstack([table.cells() for table in of.tables]).T)
    weights = np.concatenate(list(cluster_weights(np.random.default_rng(0), of.requests, RESAMPLES)), axis=1)
    narrow, dense = cells.astype(np.uint16), cells.toarray()
    blocks = [np.ascontiguousarray(weights[:, at : at + BLOCK], dtype=np.uint16) for at in range(0, RESAMPLES, BLOCK)]
    copy = np.empty_like(blocks[0])

    def sparse_product() -> None:
        for block in blocks:
            narrow @ block

    def copies() -> None:
        for _ in range(100):
            np.copyto(copy, blocks[0])

    tasks: dict[str, Callable[[], object]] = {
        "sparse": sparse_product,
        "dense": lambda: dense @ weights,
        "copies": copies,
    }
    best = {name: min(cpu_seconds(task) for _ in range(15)) for name, task in tasks.items()}
    operations = {"sparse": 2e-9 * cells.nnz * RESAMPLES, "dense": 2e-9 * dense.size * RESAMPLES}
    rate = {name: done / best[name] for name, done in operations.items()}
    read, copied = cells.nnz * RESAMPLES * 2e-9 / best["sparse"], 100e-9 * copy.nbytes / best["copies"]
    return {
        "share of cells that are not zero": round(cells.nnz / dense.size, 4),
        "operations_1e9": {name: round(value, 3) for name, value in operations.items()},
        "cpu_s": {name: round(best[name], 4) for name in operations},
        "operations_1e9_per_s": {name: round(value, 1) for name, value in rate.items()},
        "sparse takes this share of the time of dense": round(best["sparse"] / best["dense"], 3),
        "sparse reaches this share of the rate of dense": round(rate["sparse"] / rate["dense"], 3),
        "weights read by sparse, GB/s": round(read, 1),
        "weights copied, GB/s": round(copied, 1),
    }


def main() -> None:
    """Check that all contestants agree, then time them and print the ratios."""
    of, other = audit(0), audit(1)
    agreed = differences(of, resamples=RESAMPLES, resamples_of_pandas=12)
    if not agreed.same_statistic:
        raise SystemExit(f"the contestants do not give the same V squared: {agreed}")
    seconds = timed(of, other)
    ratios = {
        f"{name} / ours": [one / two for one, two in zip(seconds[name], seconds["ours"], strict=True)]
        for name in ("pandas", "scipy", "scipy, weighted")
    }
    figures = {
        "largest differences from ours": {k: float(f"{v:.2g}") for k, v in dataclasses.asdict(agreed).items()},
        "cells": int(sum(table.counts.size for table in of.tables)),
        "cpu_s": {name: spread(values) for name, values in seconds.items()},
        "pandas is scaled from": f"{PANDAS_RESAMPLES} resamples a repeat to {RESAMPLES}",
        "ratios": {name: spread(values) for name, values in ratios.items()},
        "product": product(of),
        "limits": {
            "pandas / ours >= 1000": statistics.median(ratios["pandas / ours"]) >= LIMITS["pandas / ours"],
            "scipy / ours >= 60": statistics.median(ratios["scipy / ours"]) >= LIMITS["scipy / ours"],
            "comparison below 50 ms": statistics.median(seconds["comparison"]) < LIMITS["comparison_s"],
        },
        "machine": {"cores": os.cpu_count() or 0, "threads": 1, "numpy": np.__version__, "pandas": pd.__version__},
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
