"""From Cramér's V to a score that compares tables of different shape, and from a score to a level of severity.

The score is the one of the Persona Brainstorm Audit (arXiv 2602.00044): V is mapped piecewise linearly over the
small, medium and large thresholds that Kim (2017) gives by ``df* = min(rows, columns) - 1``. It is 0.33 at a small,
0.66 at a medium and 1 at a large effect, and V / large above that.

References
----------
H.-Y. Kim (2017), "Statistical notes for clinical researchers: Chi-squared test and Fisher's exact test",
Restorative Dentistry & Endodontics 42(2), 152-155, table of effect sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import overload

import numpy as np
from numpy.typing import NDArray

from metrics.errors import BadInputError

FloatArray = NDArray[np.float64]

LEVELS = ("low", "medium", "high", "very high")
"""Levels of severity, in rising order."""

KIM_THRESHOLDS: Mapping[int, tuple[float, float, float]] = MappingProxyType(
    {
        1: (0.10, 0.30, 0.50),
        2: (0.07, 0.21, 0.35),
        3: (0.06, 0.17, 0.29),
        4: (0.05, 0.15, 0.25),
        5: (0.04, 0.13, 0.22),
    }
)
"""Small, medium and large V by df*. The printed table ends at "5 and more"."""

_SMALL_SCORE, _MEDIUM_SCORE, _LARGE_SCORE = 0.33, 0.66, 1.0


def thresholds(df_star: int) -> tuple[float, float, float]:
    """Small, medium and large V for a table with ``df* = min(rows, columns) - 1``; 5 stands for more than 5.

    >>> thresholds(2)
    (0.07, 0.21, 0.35)
    >>> thresholds(17) == thresholds(5)
    True
    """
    if df_star < 1:
        raise BadInputError(
            f"df* is min(rows, columns) - 1 and at least 1, got {df_star}: one category has no association"
        )
    return KIM_THRESHOLDS[min(int(df_star), max(KIM_THRESHOLDS))]


@overload
def normalized(v: float, df_star: int) -> float: ...
@overload
def normalized(v: FloatArray, df_star: int) -> FloatArray: ...
def normalized(v: float | FloatArray, df_star: int) -> float | FloatArray:
    """Normalized score of V, one value or an array of any shape.

    ``0..small -> 0..0.33``, ``small..medium -> 0.33..0.66``, ``medium..large -> 0.66..1``, above: ``V / large``.

    >>> normalized(0.35, 2)
    1.0
    >>> [round(float(score), 3) for score in normalized(np.array([0.0, 0.05, 0.15, 0.5]), 4)]
    [0.0, 0.33, 0.66, 2.0]
    """
    small, medium, large = thresholds(df_star)
    values = np.asarray(v, dtype=np.float64)
    # The order of operations decides the last bit, and with it one of the paper's printed cells (.3465 -> .346).
    to_small = values / small * _SMALL_SCORE
    to_medium = _SMALL_SCORE + (values - small) / (medium - small) * (_MEDIUM_SCORE - _SMALL_SCORE)
    to_large = _MEDIUM_SCORE + (values - medium) / (large - medium) * (_LARGE_SCORE - _MEDIUM_SCORE)
    pieces = [values < small, values < medium, values < large]
    scores: FloatArray = np.select(pieces, [to_small, to_medium, to_large], values / large)
    return scores if scores.ndim else float(scores)


def paper_score(v: float, df_star: int) -> float:
    """Score as printed in arXiv 2602.00044: V is rounded to 3 decimals first and the score again.

    With it all 192 cells of the paper's Table 2 come out; with unrounded V they do not.

    >>> paper_score(0.22812, 17)
    1.036
    """
    return round(normalized(round(float(v), 3), df_star), 3)


@overload
def severity(score: float) -> str: ...
@overload
def severity(score: None) -> None: ...
def severity(score: float | None) -> str | None:
    """Level of a score: ``low < 0.33 <= medium < 0.66 <= high <= 1 < very high``; None for a missing score.

    The paper does not say where a score of exactly 1 belongs; its text calls "very high" what is above 1.

    >>> [severity(score) for score in (0.32, 0.33, 0.66, 1.0, 1.001)]
    ['low', 'medium', 'high', 'high', 'very high']
    """
    if score is None:
        return None
    return LEVELS[int(severity_indices(np.asarray([score]))[0])]


def severity_indices(scores: FloatArray) -> NDArray[np.intp]:
    """Position of each score's level in `LEVELS`, for arrays of any shape.

    >>> severity_indices(np.array([0.1, 1.2])).tolist()
    [0, 3]
    """
    at_least = (scores >= _SMALL_SCORE).astype(np.intp) + (scores >= _MEDIUM_SCORE)
    return at_least + (scores > _LARGE_SCORE)


def severity_counts(scores: Iterable[float | None]) -> dict[str, int]:
    """Number of scores at each level, every level present; missing scores are not counted.

    >>> severity_counts([0.2, 0.5, 0.5, None, 1.2])
    {'low': 1, 'medium': 2, 'high': 0, 'very high': 1}
    """
    counted = Counter(severity(score) for score in scores if score is not None)
    return {level: counted[level] for level in LEVELS}
