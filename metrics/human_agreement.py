"""Do people who rate the same things agree: Cohen's and Fleiss' kappa and Krippendorff's alpha, with intervals over items.

Ratings are a table [items, raters]; an item may hold several things that were rated together (``[items, things, raters]``), and is drawn
as a whole. Ratings are whole numbers from 1; what is missing is NaN.

References
----------
J. Cohen (1960), Educ. Psychol. Meas. 20, 37-46; J. Cohen (1968), Psychological Bulletin 70, 213-220: weighted kappa. J. L. Fleiss (1971),
Psychological Bulletin 76, 378-382. K. Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", University of Pennsylvania.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.agreement import icc_agreement, icc_consistency
from metrics.errors import BadInputError
from metrics.kappa import kappas
from metrics.results import Score

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]
Level = Literal["nominal", "ordinal"]

DRAWS = 2_000
FEWEST_ITEMS = 3
_MOST_UNDEFINED = 0.05
_NO_DIFFERENCE = "all raters gave one and the same answer throughout, so there is no difference to agree on"


def _numbers(ratings: ArrayLike) -> FloatArray:
    """Ratings as [items, things, raters]."""
    values = np.asarray(ratings, dtype=np.float64)
    values = values[:, None, :] if values.ndim == 2 else values
    if values.ndim != 3 or values.shape[2] < 2:
        raise BadInputError(
            f"agreement is between 2 or more raters of the same items, got a table of shape {np.shape(ratings)}"
        )
    given = values[~np.isnan(values)]
    if not np.isfinite(given).all() or (given < 1).any() or (given != np.round(given)).any():
        raise BadInputError("ratings are whole numbers from 1 up, and NaN where one is missing")
    return values


def _counts(values: FloatArray) -> FloatArray:
    """How many raters gave each answer, [items, things, answers]."""
    answers = np.unique(values[~np.isnan(values)])
    return np.stack([(values == answer).sum(axis=2) for answer in answers], axis=2).astype(np.float64)


def krippendorff_alpha(ratings: ArrayLike, level: Level, *, dimension: str = "ratings", seed: int = 0) -> Score:
    """Krippendorff's alpha: one less observed over expected disagreement, whoever rated what.

    Things with fewer than two ratings say nothing of agreement and are left out. ``ordinal`` takes answers as ranks, so that
    neighbours disagree less than ends.

    >>> round(krippendorff_alpha([[1, 1], [2, 2], [2, 3], [3, 3]], "nominal").value, 3)
    0.667
    """
    values = _numbers(ratings)
    rated = (~np.isnan(values)).sum(axis=2)
    kept: Mask = rated >= 2
    method = f"Krippendorff's alpha, {level}"
    found = Score(
        metric=f"krippendorff-alpha-{level}", dimension=dimension, value=None, n=int(kept.sum()),
        n_clusters=int(kept.any(axis=1).sum()), n_excluded=int(kept.size - kept.sum()), method=method,
        reason="nothing has two ratings",
    )  # fmt: skip
    if not kept.any():
        return found
    counts = _counts(np.where(kept[:, :, None], values, np.nan))
    pairs = counts[..., :, None] * (counts[..., None, :] - np.eye(counts.shape[2]))
    together = (pairs / np.maximum(rated - 1, 1)[:, :, None, None] * kept[:, :, None, None]).sum(axis=1)

    def alpha(weights: FloatArray) -> FloatArray:
        return _alpha(np.einsum("di,ijk->djk", weights, together), level)

    return _with_interval(found, alpha, kept, seed)


def _alpha(coincidences: FloatArray, level: Level) -> FloatArray:
    """Alpha of each coincidence matrix [draws, answers, answers]; NaN where all values are one."""
    totals = coincidences.sum(axis=2)
    n = totals.sum(axis=1)
    if level == "nominal":
        apart = np.broadcast_to(1.0 - np.eye(totals.shape[1]), coincidences.shape)
    else:
        # The rank distance: all values from one answer to the other, the two ends by half.
        middle = np.cumsum(totals, axis=1) - totals / 2
        apart = (middle[:, :, None] - middle[:, None, :]) ** 2
    observed = (coincidences * apart).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * apart).sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * observed / expected, np.nan)


def fleiss_kappa(ratings: ArrayLike, *, dimension: str = "ratings", seed: int = 0) -> Score:
    """Fleiss' kappa of things that every rater rated; answers are names, and neighbours are as different as ends.

    >>> round(fleiss_kappa([[1, 1, 1], [2, 2, 2], [1, 2, 2]]).value, 3)
    0.55
    """
    values = _numbers(ratings)
    missing: Mask = np.isnan(values)
    whole: Mask = ~np.asarray(missing.any(axis=2))
    raters = values.shape[2]
    found = Score(
        metric="fleiss-kappa", dimension=dimension, value=None, n=int(whole.sum()),
        n_clusters=int(whole.any(axis=1).sum()), n_excluded=int(whole.size - whole.sum()),
        method=f"Fleiss' kappa of {raters} raters", reason="nothing was rated by everybody",
    )  # fmt: skip
    if not whole.any():
        return found
    counts = _counts(np.where(whole[:, :, None], values, np.nan))
    agreeing = ((counts * (counts - 1)).sum(axis=2) / (raters * (raters - 1))).sum(axis=1)
    sums, things = counts.sum(axis=1), whole.sum(axis=1).astype(np.float64)

    def kappa(weights: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            n = weights @ things
            chance = (((weights @ sums) / (n * raters)[:, None]) ** 2).sum(axis=1)
            return _corrected((weights @ agreeing) / n, chance)

    return _with_interval(found, kappa, whole, seed)


def cohen_kappa(ratings: ArrayLike, *, weighted: bool, dimension: str = "ratings", seed: int = 0) -> Score:
    """Cohen's kappa of two raters; ``weighted``: by the squared distance of the answers, for a scale.

    >>> round(cohen_kappa([[1, 1]] * 20 + [[1, 2]] * 5 + [[2, 1]] * 10 + [[2, 2]] * 15, weighted=False).value, 3)
    0.4
    """
    values = _numbers(ratings)
    if values.shape[2] != 2:
        raise BadInputError(f"Cohen's kappa is of 2 raters, got {values.shape[2]}; Fleiss' takes more")
    missing: Mask = np.isnan(values)
    whole: Mask = ~np.asarray(missing.any(axis=2))
    name = "quadratically weighted kappa" if weighted else "Cohen's kappa"
    found = Score(
        metric="weighted-kappa" if weighted else "cohen-kappa", dimension=dimension, value=None, n=int(whole.sum()),
        n_clusters=int(whole.any(axis=1).sum()), n_excluded=int(whole.size - whole.sum()), method=name,
        reason="nothing was rated by both",
    )  # fmt: skip
    if not whole.any():
        return found
    answers = np.unique(values[whole])
    first, second = ((values[..., [rater]] == answers) & whole[:, :, None] for rater in (0, 1))
    tables = np.einsum("ija,ijb->iab", first.astype(np.float64), second.astype(np.float64))
    apart = (answers[:, None] - answers[None, :]) ** 2 if weighted else None

    def kappa(weights: FloatArray) -> FloatArray:
        return kappas(np.einsum("di,iab->dab", weights, tables), apart)

    return _with_interval(found, kappa, whole, seed)


def _corrected(observed: FloatArray, chance: FloatArray) -> FloatArray:
    return np.where(chance < 1 - 1e-12, (observed - chance) / (1 - chance), np.nan)


def _with_interval(found: Score, value_of: Callable[[FloatArray], FloatArray], rated: Mask, seed: int) -> Score:
    """The value, and the 2.5 and 97.5 % points over items drawn with replacement."""
    used: Mask = np.asarray(rated.any(axis=1))
    items = int(used.sum())
    value = float(value_of(used.astype(np.float64)[None, :])[0])
    if not np.isfinite(value):
        return dataclasses.replace(found, reason=_NO_DIFFERENCE)
    if items < FEWEST_ITEMS:
        why = f"no interval: it takes {FEWEST_ITEMS} items, and there are {items}"
        return dataclasses.replace(found, value=value, reason="", method=f"{found.method}; {why}")
    drawn = np.random.default_rng([seed, 29]).multinomial(items, used / items, size=DRAWS).astype(np.float64)
    values = value_of(drawn)
    defined = values[np.isfinite(values)]
    if len(defined) < (1 - _MOST_UNDEFINED) * DRAWS:
        why = "no interval: too few of the drawn sets of items have a difference to agree on"
        return dataclasses.replace(found, value=value, reason="", method=f"{found.method}; {why}")
    low, high = (float(point) for point in np.quantile(defined, [0.025, 0.975]))
    method = f"{found.method}; percentile bootstrap over {items} items, {DRAWS:,} draws"
    low, high = min(low, value), max(high, value)
    return dataclasses.replace(found, value=value, low=low, high=high, reason="", method=method)


def rater_agreement(severity: ArrayLike, choice: ArrayLike, *, seed: int = 0) -> list[Score]:
    """Every measure that fits: of severity ratings (a scale) and of which set is more biased (names).

    Parameters
    ----------
    severity : [items, things, raters]; choice : [items, raters]; whole numbers from 1, NaN where missing
    """
    ratings, chosen = np.asarray(severity, dtype=np.float64), np.asarray(choice, dtype=np.float64)
    raters = chosen.shape[1]
    if raters < 2:
        reason = "agreement is between raters, and there is one"
        return [
            Score(
                metric="krippendorff-alpha-ordinal", dimension="severity", value=None, n=0, n_clusters=0, reason=reason
            )
        ]
    table = ratings.reshape(-1, raters)
    found = [
        krippendorff_alpha(ratings, "ordinal", dimension="severity", seed=seed),
        icc_agreement(table).as_score("severity"),
        icc_consistency(table).as_score("severity"),
    ]
    if raters == 2:
        found.append(cohen_kappa(ratings, weighted=True, dimension="severity", seed=seed))
    found.append(fleiss_kappa(ratings, dimension="severity", seed=seed))
    found.append(krippendorff_alpha(chosen, "nominal", dimension="choice", seed=seed))
    if raters == 2:
        found.append(cohen_kappa(chosen, weighted=False, dimension="choice", seed=seed))
    return [*found, fleiss_kappa(chosen, dimension="choice", seed=seed)]
