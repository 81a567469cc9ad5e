"""Ranks with intervals: which order of estimates the evidence supports, and which it leaves open.

The plain order of noisy numbers claims more than they say: of ten equal models one is always first. Here a rank is
bounded by the pairs that can be told apart when all pairs are looked at together.

References
----------
M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm (2024), "Inference for Ranks with Applications to Mobility across
Neighbourhoods and Academic Achievement across Countries", Review of Economic Studies 91(1), 476-518.
J. P. Romano, M. Wolf (2005), "Exact and Approximate Stepdown Methods for Multiple Hypothesis Testing", JASA 100(469),
94-108, for the steps.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from metrics.errors import BadInputError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_NUMBERS_AT_ONCE = 2_000_000
_FEWEST_DRAWS = 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RankInterval:
    """Rank of one estimate, 1 for the smallest: ``rank`` in the plain order, ``low`` to ``high`` as supported.

    ``smaller_than`` : places of the estimates that this one is shown to be smaller than
    """

    rank: int
    low: int
    high: int
    smaller_than: tuple[int, ...] = ()


def rank_intervals(
    estimates: FloatArray,
    standard_errors: FloatArray,
    *,
    level: float = 0.95,
    comparable: BoolArray | None = None,
    draws: int = 9999,
    seed: int = 0,
) -> list[RankInterval]:
    """Ranks of independent estimates with simultaneous intervals.

    ``low = 1 + number shown to be smaller``, ``high = k - number shown to be larger``. Shown is what exceeds the
    critical value of the largest ``(x_j - x_i) / sqrt(se_i^2 + se_j^2)`` over all ordered pairs that are still open
    (max-T, stepped down), so with probability ``level`` *no* interval misses the true rank, for large samples.

    Parameters
    ----------
    estimates : one for each competitor [k]; smaller comes first
    standard_errors : of the estimates [k], above 0; estimates are independent and nearly normal
    level : of all intervals together
    comparable : which pairs may be told apart at all [k, k], symmetric; a pair that may not keeps its order open
    draws, seed : of the null law of the largest statistic

    Raises
    ------
    BadInputError : for shapes that do not match, a standard error that is not above 0, or a level outside 0.5 to 1

    >>> found = rank_intervals(np.array([0.30, 0.32, 0.60]), np.array([0.02, 0.02, 0.02]))
    >>> [(one.rank, one.low, one.high) for one in found]
    [(1, 1, 2), (2, 1, 2), (3, 3, 3)]
    """
    x = np.asarray(estimates, dtype=np.float64)
    errors = np.asarray(standard_errors, dtype=np.float64)
    _check(x, errors, level, draws)
    open_pairs = ~np.eye(x.size, dtype=np.bool_)
    if comparable is not None:
        if comparable.shape != open_pairs.shape or (comparable != comparable.T).any():
            raise BadInputError(f"comparable is a symmetric table of {x.size} x {x.size} yes or no")
        open_pairs &= comparable
    smaller = _shown_smaller(x, errors, open_pairs, level, np.random.default_rng(seed), draws)
    return [
        RankInterval(
            rank=1 + int((x < x[place]).sum()),
            low=1 + int(smaller[:, place].sum()),
            high=x.size - int(smaller[place].sum()),
            smaller_than=tuple(np.flatnonzero(smaller[place]).tolist()),
        )
        for place in range(x.size)
    ]


def _check(x: FloatArray, errors: FloatArray, level: float, draws: int) -> None:
    if x.ndim != 1 or not x.size or x.shape != errors.shape:
        raise BadInputError(
            f"ranks need one estimate and one standard error for each of at least one competitor, got shapes "
            f"{x.shape} and {errors.shape}"
        )
    if not (np.isfinite(x).all() and np.isfinite(errors).all() and (errors > 0).all()):
        raise BadInputError("estimates must be finite and their standard errors above 0; leave out what has none")
    if not 0.5 < level < 1:
        raise BadInputError(f"the level of rank intervals is a probability between 0.5 and 1, got {level}")
    if draws < _FEWEST_DRAWS:
        raise BadInputError(f"a critical value needs at least {_FEWEST_DRAWS} draws, got {draws}")


def _shown_smaller(
    x: FloatArray, errors: FloatArray, open_pairs: BoolArray, level: float, rng: np.random.Generator, draws: int
) -> BoolArray:
    """Which i is shown to be smaller than which j [k, k].

    After every round the pairs that were shown leave the family, and the others are looked at with the critical
    value of those that are left; the opposite claim of a shown pair stays in, for it is the one that could be false.
    """
    pair_errors = np.sqrt(np.square(errors)[:, None] + np.square(errors)[None, :])
    statistics = (x[None, :] - x[:, None]) / pair_errors
    noise = rng.standard_normal((draws, x.size)) * errors
    shown = np.zeros_like(open_pairs)
    left = open_pairs.copy()
    while left.any():
        critical = np.quantile(_largest(noise, pair_errors, left), level, method="higher")
        new = left & (statistics > critical)
        if not new.any():
            break
        shown |= new
        left &= ~new
    return shown


def _largest(noise: FloatArray, pair_errors: FloatArray, pairs: BoolArray) -> FloatArray:
    """Largest statistic over the given ordered pairs in each draw [draws]."""
    first, second = np.nonzero(pairs)
    scale = pair_errors[first, second]
    block = max(1, _NUMBERS_AT_ONCE // first.size)
    parts = [
        ((noise[start : start + block, second] - noise[start : start + block, first]) / scale).max(axis=1)
        for start in range(0, len(noise), block)
    ]
    result: FloatArray = np.concatenate(parts)
    return result
