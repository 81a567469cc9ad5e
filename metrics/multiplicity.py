"""Adjustment of p values over a family of tests by the largest statistic (max-T).

A family of 16 tests at 5 % each gives a false alarm in half of all audits. Max-T compares each statistic with the
largest one that the whole family shows by chance. Unlike Bonferroni or Holm it uses how the tests hang together.

References
----------
P. H. Westfall, S. S. Young (1993), Resampling-Based Multiple Testing, Wiley.
B. Phipson, G. K. Smyth (2010), "Permutation p-values should never be zero", SAGMB 9(1), for the +1 in the p value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def _largest(draws: FloatArray, two_sided: bool) -> FloatArray:
    largest: FloatArray = (np.abs(draws) if two_sided else draws).max(axis=1)
    return largest


def _check(draws: FloatArray) -> None:
    if draws.ndim != 2 or 0 in draws.shape:
        raise ValueError(f"draws must have the shape [draws, tests] with at least one of each, got {draws.shape}")


def max_t_qvalues(statistics: FloatArray, draws: FloatArray, *, two_sided: bool) -> FloatArray:
    """Adjusted p values: ``(1 + draws whose largest statistic reaches this one) / (draws + 1)``.

    Parameters
    ----------
    statistics : z value of each test [tests]
    draws : joint draws of the z values when nothing changed [draws, tests]
    two_sided : compare absolute values; else large positive values count only

    >>> draws = np.array([[0.1, 0.5], [1.5, -3.0], [0.2, 0.4]])
    >>> max_t_qvalues(np.array([1.0, 2.0]), draws, two_sided=False).tolist()
    [0.5, 0.25]
    >>> max_t_qvalues(np.array([1.0, 2.0]), draws, two_sided=True).tolist()
    [0.5, 0.5]
    """
    _check(draws)
    observed = np.abs(statistics) if two_sided else np.asarray(statistics, dtype=np.float64)
    if observed.shape != draws.shape[1:]:
        raise ValueError(f"{draws.shape[1]} tests were drawn but {observed.size} statistics given; they must match")
    reached = (_largest(draws, two_sided)[:, None] >= observed).sum(axis=0)
    result: FloatArray = (1.0 + reached) / (len(draws) + 1.0)
    return result


def max_t_critical(draws: FloatArray, alpha: float, *, two_sided: bool) -> float:
    """The value that the largest statistic of the family exceeds by chance with probability ``alpha``.

    >>> draws = np.random.default_rng(0).standard_normal((20_000, 16))
    >>> round(max_t_critical(draws, 0.05, two_sided=False), 1)
    2.7
    """
    _check(draws)
    return float(np.quantile(_largest(draws, two_sided), 1.0 - alpha))
