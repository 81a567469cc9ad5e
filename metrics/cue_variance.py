"""How sure a mean over questions and variants is: two-way standard errors, and Clark's quasi-F for several personas.

A persona is asked the same questions as every other persona (questions are crossed with personas) in variants of its own (wordings
filled with its names or histories: variants are nested in personas). Both are samples: other questions could have been asked, and
other names used. So the error of a persona's mean has two sources, and what is common to both must be counted once:

``SE^2 = question + variant - interaction``,

with the variances of question means over their number, of variant means over their number, and of what is left over the number of
cells. A source that seems smaller than chance is taken as none: ``max(q, i) + max(v, i) - i``. Samples of one prompt enter through
their mean; more of them make a cell steadier and are no further evidence about other questions or other names.

All functions take arrays of any leading shape [..., questions, variants], so that a thousand simulated audits are one call.

References
----------
H. H. Clark (1973), J. Verbal Learning and Verbal Behavior 12, 335-359: quasi-F. F. E. Satterthwaite (1946), Biometrics Bulletin 2,
110-114: degrees of freedom of sums of variances. G. E. P. Box (1954), Annals of Mathematical Statistics 25, 290-302: F under
unequal variances. F. Yates (1933), Empire Journal of Experimental Agriculture 1, 129-142: missing cells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_ROUNDS = 500
_SETTLED = 1e-10
_TINY = 1e-300


def filled(cells: FloatArray) -> tuple[FloatArray, int]:
    """Cells with every missing one (NaN) replaced by what its question and its variant let expect, and how many that were.

    The values are those that leave the interaction smallest (Yates), so that a variant that lacks a hard question is not favoured.
    Every question and variant must have a cell.

    >>> filled(np.array([[1.0, 3.0], [2.0, np.nan], [4.0, 6.0]]))[0].round(6).tolist()
    [[1.0, 3.0], [2.0, 4.0], [4.0, 6.0]]
    """
    gone = np.isnan(cells)
    missing = int(gone.sum())
    if not missing:
        return cells, 0
    values = np.where(gone, np.nanmean(cells), cells)
    scale = float(np.ptp(cells[~gone])) + _TINY
    for _ in range(_ROUNDS):
        expected = values.mean(axis=1, keepdims=True) + values.mean(axis=0, keepdims=True) - values.mean()
        moved = float(np.abs(values - expected)[gone].max())
        values[gone] = expected[gone]
        if moved <= _SETTLED * scale:
            break
    return values, missing


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TwoWay:
    """Variance of a mean by its sources, each with its degrees of freedom; arrays of any one shape."""

    question: FloatArray
    variant: FloatArray
    interaction: FloatArray
    df_question: FloatArray
    df_variant: FloatArray
    df_interaction: FloatArray

    @property
    def variance(self) -> FloatArray:
        """Squared standard error; a source below the interaction counts as none."""
        least = self.interaction
        result: FloatArray = np.maximum(self.question, least) + np.maximum(self.variant, least) - least
        return result

    @property
    def df(self) -> FloatArray:
        """Satterthwaite's degrees of freedom, at least 1."""
        parts = (
            (self.question, self.df_question),
            (self.variant, self.df_variant),
            (self.interaction, self.df_interaction),
        )
        below = sum(np.square(part) / np.maximum(df, 1.0) for part, df in parts)
        result: FloatArray = np.maximum(np.square(self.variance) / np.maximum(below, _TINY), 1.0)
        return result


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PersonaParts:
    """One persona's cells, taken apart.

    ``variant`` is the variance of variant means over their number, ``interaction`` that of the residuals over the number of cells.
    """

    mean: FloatArray
    by_question: FloatArray
    by_variant: FloatArray
    variant: FloatArray
    interaction: FloatArray
    df_variant: float
    df_interaction: float

    @property
    def own(self) -> TwoWay:
        """The error of the persona's mean by itself."""
        return _two_way(self.by_question, [self])


def persona_parts(cells: FloatArray, missing: int = 0) -> PersonaParts:
    """Means and variance parts of cells [..., questions, variants], of which ``missing`` were filled in.

    At least two questions and two variants.
    """
    questions, variants = cells.shape[-2:]
    mean, by_question, by_variant = cells.mean(axis=(-2, -1)), cells.mean(axis=-1), cells.mean(axis=-2)
    left = cells - by_question[..., :, None] - by_variant[..., None, :] + mean[..., None, None]
    free = max((questions - 1) * (variants - 1) - missing, 1)
    return PersonaParts(
        mean=np.asarray(mean),
        by_question=by_question,
        by_variant=by_variant,
        variant=np.asarray(by_variant.var(axis=-1, ddof=1) / variants),
        interaction=np.asarray(np.square(left).sum(axis=(-2, -1)) / (free * questions * variants)),
        df_variant=variants - 1.0,
        df_interaction=float(free),
    )


def _summed(parts: Sequence[FloatArray], dfs: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """A sum of independent variances and its degrees of freedom."""
    total = np.asarray(sum(parts))
    below = sum(np.square(part) / df for part, df in zip(parts, dfs, strict=True))
    return total, np.square(total) / np.maximum(below, _TINY)


def _two_way(by_question: FloatArray, personas: Sequence[PersonaParts]) -> TwoWay:
    """The error of something with one value a question, to which the personas bring variants of their own."""
    questions = by_question.shape[-1]
    variant, df_variant = _summed([one.variant for one in personas], [one.df_variant for one in personas])
    interaction, df_interaction = _summed(
        [one.interaction for one in personas], [one.df_interaction for one in personas]
    )
    return TwoWay(
        question=np.asarray(by_question.var(axis=-1, ddof=1) / questions),
        variant=variant,
        interaction=interaction,
        df_question=np.full(np.shape(variant), questions - 1.0),
        df_variant=df_variant,
        df_interaction=df_interaction,
    )


def difference_error(first: PersonaParts, second: PersonaParts) -> TwoWay:
    """The error of the difference of two personas' means, paired by question.

    >>> cells = np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 4.0]])
    >>> found = difference_error(persona_parts(cells), persona_parts(cells[:, ::-1] + 1))
    >>> round(float(found.question), 3), round(float(found.variant), 3), round(float(found.interaction), 3)
    (0.0, 0.5, 0.167)
    """
    return _two_way(first.by_question - second.by_question, [first, second])


def deviation_error(persona: PersonaParts, baseline: FloatArray) -> TwoWay:
    """The error of a persona's mean minus that of a baseline with one value a question [..., questions].

    What the baseline's own answers vary is in the differences by question.
    """
    return _two_way(persona.by_question - baseline, [persona])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuasiF:
    """Do the means of several personas differ? ``spread`` is the variance of the means, ``error`` what chance makes of it."""

    statistic: FloatArray
    df: FloatArray
    df_error: FloatArray
    pvalue: FloatArray
    spread: FloatArray
    error: FloatArray


def quasi_f(personas: Sequence[PersonaParts], *, equal_var: bool = False) -> QuasiF:
    """Clark's quasi-F: ``(MS personas + MS variants x questions) / (MS personas x questions + MS variants)``.

    All mean squares are over variants x questions, that is in units of a mean's variance. For the same number of variants in every
    persona it is the ratio of Clark (1973).

    Parameters
    ----------
    personas : two or more, with the same questions
    equal_var : take the variants of every persona as equally variable, as Clark does. The default gives the numerator Box's degrees of
        freedom and the variants those of Satterthwaite over personas: names of one persona may differ far more than
        those of another, and then the textbook's degrees of freedom err in 9 % instead of 6 %

    Returns
    -------
    ``error`` is 0 where nothing varies; the statistic then says nothing.
    """
    means = np.stack([one.mean for one in personas], axis=-1)
    by_question = np.stack([one.by_question for one in personas], axis=-2)
    spread = means.var(axis=-1, ddof=1)
    crossed = by_question - means[..., None] - by_question.mean(axis=-2, keepdims=True)
    crossed = crossed + means.mean(axis=-1)[..., None, None]
    groups, questions = by_question.shape[-2:]
    squares = MeanSquares(
        spread=spread,
        question=np.square(crossed).sum(axis=(-2, -1)) / ((groups - 1) * (questions - 1) * questions),
        variants=np.stack([one.variant for one in personas], axis=-1),
        interactions=np.stack([one.interaction for one in personas], axis=-1),
        df_question=(groups - 1.0) * (questions - 1),
        df_variants=np.array([one.df_variant for one in personas]),
        df_interactions=np.array([one.df_interaction for one in personas]),
    )
    return quasi_f_of(squares, equal_var=equal_var)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanSquares:
    """What quasi-F is made of, in units of a mean's variance: the spread of the personas' means, their variation over questions, and, for
    each persona (last axis), that of its variants and what is left over; with degrees of freedom.
    """

    spread: FloatArray
    question: FloatArray
    variants: FloatArray
    interactions: FloatArray
    df_question: float
    df_variants: FloatArray
    df_interactions: FloatArray


def quasi_f_of(squares: MeanSquares, *, equal_var: bool = False) -> QuasiF:
    """Quasi-F of mean squares; see `quasi_f`."""
    spread, question = squares.spread, squares.question
    variants, left = squares.variants, squares.interactions
    variant, interaction = variants.mean(axis=-1), left.mean(axis=-1)
    if equal_var:
        df_between: FloatArray | float = variants.shape[-1] - 1.0
        df_variant = np.full(np.shape(variant), squares.df_variants.sum())
        df_interaction = np.full(np.shape(variant), squares.df_interactions.sum())
    else:
        df_between = _box_df(question[..., None] + variants)
        df_variant, df_interaction = _mean_df(variants, squares.df_variants), _mean_df(left, squares.df_interactions)
    above, below = spread + interaction, question + variant
    df = np.square(above) / np.maximum(_per_df((spread, df_between), (interaction, df_interaction)), _TINY)
    of_question = (question, squares.df_question)
    df_error = np.square(below) / np.maximum(_per_df(of_question, (variant, df_variant)), _TINY)
    df, df_error = np.maximum(df, _TINY), np.maximum(df_error, 1.0)
    statistic = above / np.maximum(below, _TINY)
    return QuasiF(
        statistic=statistic,
        df=df,
        df_error=df_error,
        pvalue=special.fdtrc(df, df_error, statistic),
        spread=spread,
        error=np.maximum(question, interaction) + np.maximum(variant, interaction) - interaction,
    )


def _per_df(*parts: tuple[FloatArray, FloatArray | float]) -> FloatArray:
    result: FloatArray = np.asarray(sum(np.square(part) / np.maximum(df, _TINY) for part, df in parts))
    return result


def _mean_df(parts: FloatArray, dfs: FloatArray) -> FloatArray:
    """Satterthwaite's degrees of freedom of the mean of independent variances [..., personas]."""
    below = (np.square(parts) / dfs).sum(axis=-1)
    result: FloatArray = np.square(parts.sum(axis=-1)) / np.maximum(below, _TINY)
    return result


def _box_df(variances: FloatArray) -> FloatArray:
    """Degrees of freedom of the spread of means with these variances [..., means]: ``tr(PS)^2 / tr(PSPS)``, P taking off the mean.

    >>> _box_df(np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])).round(9).tolist()
    [2.0, 1.0]
    """
    groups = variances.shape[-1]
    trace = variances.sum(axis=-1) * (1 - 1 / groups)
    squares = np.square(variances).sum(axis=-1)
    crossed = squares * (1 - 2 / groups) + np.square(variances.sum(axis=-1)) / groups**2
    result: FloatArray = np.where(crossed > 0, np.square(trace) / np.maximum(crossed, _TINY), groups - 1.0)
    return result
