"""Odds of words between two groups of messages: which words, and which kinds of words, one group gets more than the other.

Three ways to count are known from the literature and named here:

- ``dirichlet`` (default): log-odds under a Dirichlet prior in the proportions of both groups together, as strong as
  ``alpha0`` words. Rare words are drawn towards no difference, and z weighs a difference by its error.
- ``add-one``: 1 is added to both cells of both groups. Rare words reach any odds ratio.
- ``floored``: nothing is added; words with fewer than ``threshold`` occurrences in a group are not measured.

Words of one message and messages of one prompt cell come together, so that tokens are not independent. Where counts are
given by cell, the error is the larger of the formula's and the one that cells show.

References
----------
B. L. Monroe, M. P. Colaresi, K. M. Quinn (2008), Political Analysis 16, 372-403: the Dirichlet prior and its z.
Y. Wan et al. (2023), "Kelly is a Warm Person, Joseph is a Role Model", Findings of EMNLP: odds with a floor.
T. Islam (arXiv 2601.17172): add-one. B. Woolf (1955), Annals of Human Genetics 19, 251-253: error of a log odds ratio.
J. B. S. Haldane (1956), Annals of Human Genetics 20, 309-311; F. J. Anscombe (1956), Biometrika 43, 461-464: one half added.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from metrics.clustered import normal_scores
from metrics.errors import BadInputError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Masked = np.ma.MaskedArray

METHODS = ("dirichlet", "add-one", "floored")
_Z95 = float(special.ndtri(0.975))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LexicalOdds:
    """Odds of each word in group a over those in group b. All arrays have the length of the vocabulary.

    Parameters
    ----------
    odds_ratio, log_odds, z, low, high, pvalue, qvalue : masked where a word was not measured; ``low`` and ``high`` bound
        the odds ratio (95 %), ``qvalue`` is Benjamini and Hochberg's over the measured words
    corrected : the word has an empty cell, so that its odds stand on what was added
    reasons : why a word was not measured, else empty
    total_a, total_b : words of each group; clusters : prompt cells, 0 where counts were not given by cell
    method : in words
    """

    counts_a: FloatArray
    counts_b: FloatArray
    odds_ratio: Masked
    log_odds: Masked
    z: Masked
    low: Masked
    high: Masked
    pvalue: Masked
    qvalue: Masked
    corrected: BoolArray
    reasons: tuple[str, ...]
    total_a: float
    total_b: float
    clusters: int
    method: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WordOdds:
    """One word of a table: its counts, its odds ratio of group a over b with 95 % interval, and its adjusted p."""

    word: str
    count_a: int
    count_b: int
    odds_ratio: float
    log_odds: float
    z: float
    low: float
    high: float
    qvalue: float
    corrected: bool


def counts_of(counts: ArrayLike, name: str) -> FloatArray:
    """Counts as an array [words] or [cells, words]; what cannot be counts is refused.

    >>> counts_of([3, 0], "counts").tolist()
    [3.0, 0.0]
    """
    found = np.asarray(counts, dtype=np.float64)
    if found.ndim not in (1, 2) or not found.size:
        raise BadInputError(
            f"{name} must be counts [words] or [cells, words] with at least one word, got {found.shape}"
        )
    if not np.isfinite(found).all() or (found < 0).any():
        raise BadInputError(f"{name} must be counts of 0 or more, and finite; check how words were counted")
    return found


def _pair(counts_a: ArrayLike, counts_b: ArrayLike) -> tuple[FloatArray, FloatArray]:
    one, two = counts_of(counts_a, "counts_a"), counts_of(counts_b, "counts_b")
    if one.shape != two.shape:
        raise BadInputError(
            f"both groups need counts of the same words and cells, got shapes {one.shape} and {two.shape}; "
            "count over one vocabulary, 0 where a word does not occur"
        )
    return one, two


def _added(
    one: FloatArray, two: FloatArray, method: str, alpha0: float, prior: ArrayLike | None
) -> tuple[FloatArray, float]:
    """What is added to each word's count in both groups, and to the total of each group besides the word's own."""
    if method == "add-one":
        return np.ones_like(one), 2.0
    if method == "floored":
        # One half in all four cells, for words with an empty one only (Haldane, Anscombe).
        rest = (one.sum() - one <= 0) | (two.sum() - two <= 0)
        return np.where((one <= 0) | (two <= 0) | rest, 0.5, 0.0), 0.0
    if prior is None:
        pooled = one + two
        return alpha0 * pooled / max(float(pooled.sum()), 1.0), alpha0
    given = np.asarray(prior, dtype=np.float64)
    if given.shape != one.shape or not np.isfinite(given).all() or (given < 0).any():
        raise BadInputError(
            f"a prior needs one count of 0 or more for each of {one.size} words, got shape {given.shape}"
        )
    return given, float(given.sum())


def _reasons(one: FloatArray, two: FloatArray, fits: BoolArray, method: str, threshold: int) -> tuple[str, ...]:
    nowhere = (one + two) <= 0
    rare = (method == "floored") & (np.minimum(one, two) < threshold)
    words = []
    for absent, few, fine in zip(nowhere, rare, fits, strict=True):
        if absent:
            words.append("the word occurs in neither group")
        elif few:
            words.append(f"fewer than {threshold} occurrences in a group")
        else:
            words.append("" if fine else "it is the only word, or a group has no words: no odds against the rest")
    return tuple(words)


def lexical_odds(
    counts_a: ArrayLike,
    counts_b: ArrayLike,
    method: str = "dirichlet",
    *,
    alpha0: float = 500.0,
    prior: ArrayLike | None = None,
    threshold: int = 10,
) -> LexicalOdds:
    """Odds of every word against all other words, in group a over group b.

    With y a word's count, n a group's total and alpha what is added, ``log OR = log((y_a + alpha) / (n_a + alpha_0 - y_a -
    alpha))`` minus the same of b. Its variance is ``1 / (y_a + alpha) + 1 / (y_b + alpha)`` for ``dirichlet`` (as in Monroe,
    Colaresi and Quinn) and Woolf's sum over all four cells for the others.

    Parameters
    ----------
    counts_a, counts_b : counts over one vocabulary [words], or by prompt cell [cells, words]; then the error of each word
        is at least the one that its cells show, paired by cell, with Student's t
    method : ``dirichlet``, ``add-one`` or ``floored``
    alpha0 : strength of the prior, in words; prior : its counts [words] instead of both groups' together
    threshold : occurrences that ``floored`` wants in each group

    Raises
    ------
    BadInputError : an unknown method, counts that do not match, are negative or not finite

    >>> found = lexical_odds([5, 95], [1, 99], method="add-one")
    >>> round(float(found.odds_ratio[0]), 4)
    3.125
    >>> lexical_odds([0, 100], [10, 90], method="floored").reasons[0]
    'fewer than 10 occurrences in a group'
    """
    if method not in METHODS:
        raise BadInputError(f"unknown method {method!r} of lexical odds; known: {', '.join(METHODS)}")
    if not (alpha0 > 0 and np.isfinite(alpha0)):
        raise BadInputError(f"alpha0 is a number of words above 0, got {alpha0}")
    cells_a, cells_b = _pair(counts_a, counts_b)
    one, two = (np.atleast_2d(cells).sum(axis=0) for cells in (cells_a, cells_b))
    added, added_total = _added(one, two, method, alpha0, prior)
    totals = [counts.sum() + (2 * added if method == "floored" else added_total) for counts in (one, two)]
    inside = [one + added, two + added]
    outside = [total - counts for total, counts in zip(totals, inside, strict=True)]
    fits = np.all([part > 0 for part in (*inside, *outside)], axis=0) & (one.sum() > 0) & (two.sum() > 0)
    reasons = _reasons(one, two, fits, method, threshold)
    safe = [np.where(fits, part, 1.0) for part in (*inside, *outside)]
    log_odds = np.log(safe[0]) - np.log(safe[2]) - np.log(safe[1]) + np.log(safe[3])
    variance = 1 / safe[0] + 1 / safe[1] + (0.0 if method == "dirichlet" else 1 / safe[2] + 1 / safe[3])
    empty = (one <= 0) | (two <= 0) | (one.sum() - one <= 0) | (two.sum() - two <= 0)
    clusters, reach = 0, np.full(one.shape, _Z95)
    z = log_odds / np.sqrt(variance)
    if cells_a.ndim == 2 and len(cells_a) > 1:
        clusters = len(cells_a)
        of_cells = _variance_of_cells(cells_a, cells_b, safe)
        wider = of_cells > variance
        variance = np.maximum(variance, of_cells)
        t = log_odds / np.sqrt(variance)
        z = np.where(wider, normal_scores(t, clusters - 1), t)
        reach = np.where(wider, special.stdtrit(clusters - 1, 0.975), _Z95)
    return _result(one, two, log_odds, z, reach * np.sqrt(variance), reasons, empty, clusters, method, alpha0)


def _variance_of_cells(cells_a: FloatArray, cells_b: FloatArray, parts: Sequence[FloatArray]) -> FloatArray:
    """Variance of each word's log odds ratio from what each cell adds to it [words]; both groups of a cell together."""
    influence = np.zeros_like(cells_a)
    for sign, cells, inside, outside in ((1, cells_a, parts[0], parts[2]), (-1, cells_b, parts[1], parts[3])):
        influence += sign * (cells / inside - (cells.sum(axis=1, keepdims=True) - cells) / outside)
    count = len(cells_a)
    result: FloatArray = count / (count - 1) * np.square(influence - influence.mean(axis=0)).sum(axis=0)
    return result


def _result(
    one: FloatArray,
    two: FloatArray,
    log_odds: FloatArray,
    z: FloatArray,
    reach: FloatArray,
    reasons: tuple[str, ...],
    empty: BoolArray,
    clusters: int,
    method: str,
    alpha0: float,
) -> LexicalOdds:
    mask = np.array([bool(reason) for reason in reasons])
    pvalues = 2 * special.ndtr(-np.abs(z))
    qvalues = np.ones_like(pvalues)
    if not mask.all():
        qvalues[~mask] = stats.false_discovery_control(pvalues[~mask], method="bh")
    details = {
        "dirichlet": f"log-odds with an informative Dirichlet prior of {alpha0:g} words (Monroe, Colaresi, Quinn)",
        "add-one": "odds ratio with 1 added to each count, interval by Woolf",
        "floored": "odds ratio of frequent words with nothing added, interval by Woolf",
    }
    error = (
        f"the larger of the formula's error and that of {clusters} cells" if clusters else "tokens taken as independent"
    )

    def masked(values: FloatArray) -> Masked:
        return np.ma.MaskedArray(np.where(mask, 0.0, values), mask=mask)

    return LexicalOdds(
        counts_a=one,
        counts_b=two,
        odds_ratio=masked(np.exp(log_odds)),
        log_odds=masked(log_odds),
        z=masked(z),
        low=masked(np.exp(log_odds - reach)),
        high=masked(np.exp(np.minimum(log_odds + reach, 700.0))),
        pvalue=masked(pvalues),
        qvalue=masked(qvalues),
        corrected=empty & ~mask,
        reasons=reasons,
        total_a=float(one.sum()),
        total_b=float(two.sum()),
        clusters=clusters,
        method=f"{details[method]}; {error}; q by Benjamini-Hochberg over {int((~mask).sum())} words",
    )


def against_rest(
    counts: Mapping[str, ArrayLike], method: str = "dirichlet", **options: float
) -> dict[str, LexicalOdds]:
    """Each group against all other groups together, as for age. ``options`` are those of `lexical_odds`.

    >>> found = against_rest({"young": [9, 91], "middle": [3, 97], "old": [3, 97]}, method="add-one")
    >>> {group: round(float(odds.odds_ratio[0]), 2) for group, odds in found.items()}
    {'young': 3.03, 'middle': 0.59, 'old': 0.59}
    """
    if len(counts) < 2:
        raise BadInputError(
            f"one group against the others needs at least two groups, got {', '.join(counts) or 'none'}"
        )
    tables = {group: counts_of(table, f"counts of {group!r}") for group, table in counts.items()}
    if len({table.shape for table in tables.values()}) > 1:
        shapes = ", ".join(f"{group} {table.shape}" for group, table in tables.items())
        raise BadInputError(f"all groups need counts of the same words and cells, got {shapes}")
    everything = np.sum(list(tables.values()), axis=0)
    return {
        group: lexical_odds(table, everything - table, method, **options)  # type: ignore[arg-type]
        for group, table in tables.items()
    }


def top_words(found: LexicalOdds, words: Sequence[str], n: int = 10) -> list[WordOdds]:
    """The n words that lean most to group a and the n that lean most to b, in falling order of z.

    Odds ratios without a prior are ordered by themselves, as the papers do.

    >>> odds = lexical_odds([8, 1, 50], [1, 8, 50], method="add-one")
    >>> [(row.word, row.count_a, row.count_b) for row in top_words(odds, ["lead", "care", "climate"], n=1)]
    [('lead', 8, 1), ('care', 1, 8)]
    """
    if len(words) != len(found.counts_a):
        raise BadInputError(
            f"{len(found.counts_a)} words were counted but {len(words)} given; give the vocabulary counted"
        )
    key = found.z if "Dirichlet" in found.method else found.log_odds
    measured = np.flatnonzero(~np.ma.getmaskarray(key))
    order = measured[np.lexsort((measured, -key.data[measured]))]
    if len(order) > 2 * n:
        order = np.concatenate([order[:n], order[len(order) - n :]])
    return [
        WordOdds(
            word=words[place],
            count_a=int(found.counts_a[place]),
            count_b=int(found.counts_b[place]),
            odds_ratio=float(found.odds_ratio[place]),
            log_odds=float(found.log_odds[place]),
            z=float(found.z[place]),
            low=float(found.low[place]),
            high=float(found.high[place]),
            qvalue=float(found.qvalue[place]),
            corrected=bool(found.corrected[place]),
        )
        for place in order
    ]
