"""Which difference between personas an audit of persona cues can show, before anything is asked.

The planner draws the mean squares of Clark's quasi-F as the planned design would give them, with degrees of freedom and all, and takes
the p value of the very test that verdicts use (`metrics.cue_variance`). What it needs is how much answers vary, and by what:

- ``crossed``: a persona's answers to one question, beyond what question and persona let expect;
- ``variant``: a persona's variants, the same to every question;
- ``nested``: a variant on one question;
- ``sampling``: answers to one prompt.

Questions as such cancel, for all personas are asked the same. Only ``sampling`` falls with more samples, ``variant`` with more variants
alone, ``crossed`` with more questions alone.

A pilot audit tells the four by the method of moments. Without one they are those of simulated yes-or-no answers
(`WITHOUT_PILOT`, scenarios S3 and S4 of ``benchmarks.calibration.cues``).

References
----------
H. H. Clark (1973), J. Verbal Learning and Verbal Behavior 12, 335-359. F. E. Satterthwaite (1946), Biometrics Bulletin 2, 110-114.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from metrics.cue_grid import grid
from metrics.cue_table import CueCells
from metrics.cue_variance import MeanSquares, PersonaParts, quasi_f_of

FloatArray = NDArray[np.float64]

POWER = 0.8
QUESTION_SPREAD = 2.0
"""Standard deviation of simulated questions on the logit scale."""

_DRAWS = 2000
_HALVINGS = 14
_NODES = 40
_TINY = 1e-300


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Variances of answers by their source; ``apart`` says whether a pilot could tell ``nested`` from ``sampling``."""

    crossed: float
    variant: float
    nested: float
    sampling: float
    apart: bool = True

    def scaled(self, sampling: float) -> Components:
        """The same shares of variance where answers to one prompt have this standard deviation."""
        by = sampling**2 / self.sampling
        return Components(
            crossed=by * self.crossed, variant=by * self.variant, nested=by * self.nested, sampling=sampling**2
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """Standard deviations on the logit scale that are assumed of yes-or-no answers, in words."""

    words: str
    crossed: float
    variant: float
    nested: float


WITHOUT_PILOT = (
    Assumption(words="variants differ little", crossed=0.3, variant=0.15, nested=0.0),
    Assumption(words="variants differ much", crossed=0.3, variant=0.3, nested=0.5),
)
"""As simulated names (S3) and simulated conversations (S4) do."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CueSize:
    """What a plan asks of one task, axis and cue: personas, questions, variants of each persona, samples of each prompt."""

    personas: int
    questions: int
    variants: int
    samples: int


@lru_cache(maxsize=16)
def assumed(assumption: Assumption) -> Components:
    """Variances of yes-or-no answers (as shares) whose logits vary as assumed, with half of the answers yes on average.

    >>> found = assumed(WITHOUT_PILOT[0])
    >>> [round(100 * part**0.5, 1) for part in (found.crossed, found.variant, found.nested, found.sampling)]
    [5.1, 2.3, 1.2, 38.8]
    """
    question, crossed = QUESTION_SPREAD**2, assumption.crossed**2
    variant, nested = assumption.variant**2, assumption.nested**2
    whole = question + crossed + variant + nested
    same_prompt = _shared(whole, 0.0)
    same_question = _shared(question + crossed, variant + nested)
    same_variant, same_item = _shared(variant, whole - variant), _shared(question, whole - question)
    return Components(
        crossed=same_question - same_item,
        variant=same_variant - 0.25,
        nested=max(same_prompt - same_question - same_variant + 0.25, 0.0),
        sampling=0.5 - same_prompt,
    )


def _shared(shared: float, own: float) -> float:
    """Mean product of two chances of a yes whose logits share one normal part and have another each."""
    at, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    logits = math.sqrt(shared) * at[:, None] + math.sqrt(max(own, 0.0)) * at[None, :]
    return float(weights @ np.square(special.expit(logits) @ weights))


def measured(cells: CueCells) -> Components | str:
    """The variances that a finished audit shows of one task, axis and cue, or why it shows none; a source below chance is none."""
    found = grid(cells)
    if found.reason or len(cells.personas) < 2:
        return found.reason or f"there is one persona only ({cells.personas[0]})"
    questions = len(found.parts[0].by_question)
    variants = min(len(part.by_variant) for part in found.parts)
    left = float(np.mean([part.interaction for part in found.parts])) * questions * variants
    variant = float(np.mean([part.variant for part in found.parts])) * variants - left / questions
    crossed = _crossed(found.parts) - left / variants
    sampling = _sampling(cells)
    each = cells.n[cells.n > 0]
    # Of answers to one prompt: where there is one alone, what they vary is taken as the variant's on that question.
    nested = left if sampling is None else max(left - sampling * float(np.mean(1 / each)), 0.0)
    found_parts = Components(
        crossed=max(crossed, 0.0),
        variant=max(variant, 0.0),
        nested=nested,
        sampling=sampling or 0.0,
        apart=sampling is not None,
    )
    if found_parts.crossed + found_parts.variant + found_parts.nested + found_parts.sampling <= 0:
        return "every prompt of a persona gave the same: no variation to plan with"
    return found_parts


def _crossed(parts: Sequence[PersonaParts]) -> float:
    """Mean square of personas x questions in question means."""
    means = np.stack([part.by_question for part in parts])
    left = means - means.mean(axis=0) - means.mean(axis=1, keepdims=True) + means.mean()
    return float(np.square(left).sum() / ((means.shape[0] - 1) * (means.shape[1] - 1)))


def _sampling(cells: CueCells) -> float | None:
    """Variance of answers to one prompt; None where no prompt has two."""
    free = float(np.maximum(cells.n - 1, 0).sum())
    if free < 1:
        return None
    inside = cells.squares - cells.total**2 / np.maximum(cells.n, 1)
    return float(np.maximum(inside, 0.0)[cells.n > 0].sum()) / free


# ---------------------------------------------------------------- power


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Drawn:
    """Mean squares of one design as drawn, every one in units of a persona's mean."""

    variance: float
    along: FloatArray
    across: FloatArray
    question: FloatArray
    variant: FloatArray
    interaction: FloatArray


def _drawn(of: Components, size: CueSize) -> _Drawn:
    rng = np.random.default_rng([size.personas, size.questions, size.variants])
    k, q, v = size.personas, size.questions, size.variants
    cell = of.nested + of.sampling / size.samples
    df_left = max((q - 1) * (v - 1), 1)

    def mean_square(df: float, *shape: int) -> FloatArray:
        return rng.chisquare(df, (_DRAWS, *shape)) / df

    return _Drawn(
        variance=of.crossed / q + of.variant / v + cell / (q * v),
        along=rng.standard_normal(_DRAWS),
        across=rng.chisquare(k - 2, _DRAWS) if k > 2 else np.zeros(_DRAWS),
        question=(of.crossed + cell / v) / q * mean_square((k - 1) * (q - 1)),
        variant=(of.variant + cell / q) / v * mean_square(v - 1, k),
        interaction=cell / (q * v) * mean_square(df_left, k),
    )


def _power(drawn: _Drawn, size: CueSize, difference: float, alpha: float) -> float:
    """Share of the draws in which the test shows one persona that lies ``difference`` from all others."""
    k = size.personas
    moved = drawn.along + difference * math.sqrt((k - 1) / k / max(drawn.variance, _TINY))
    spread = drawn.variance * (moved**2 + drawn.across) / (k - 1)
    squares = MeanSquares(
        spread=spread,
        question=drawn.question,
        variants=drawn.variant,
        interactions=drawn.interaction,
        df_question=(k - 1.0) * (size.questions - 1),
        df_variants=np.full(k, size.variants - 1.0),
        df_interactions=np.full(k, max((size.questions - 1.0) * (size.variants - 1), 1.0)),
    )
    return float(np.mean(quasi_f_of(squares).pvalue <= alpha))


def shown_chance(of: Components, size: CueSize, difference: float, *, alpha: float = 0.05) -> float | None:
    """Chance that the test at ``alpha`` shows one persona that lies so far from all others; None where there is no test."""
    return None if no_test(size) else _power(_drawn(of, size), size, difference, alpha)


def no_test(size: CueSize) -> str:
    """Why a design of this size has no test, whatever is found; empty when it has one."""
    for number, what, fewest in (
        (size.personas, "personas", 2),
        (size.questions, "questions", 2),
        (size.variants, "variants of each persona", 2),
    ):
        if number < fewest:
            return f"a test needs {fewest} {what}, and this design has {number}"
    return ""


@lru_cache(maxsize=4096)
def detectable(of: Components, size: CueSize, *, alpha: float = 0.05) -> float | None:
    """Smallest difference of one persona from all others that the test at ``alpha`` shows with 80 % power; None where there is no test.

    In the unit of the answers. It is of one test alone: of a family of ``m``, in which nothing else differs, Benjamini and Hochberg's
    first step is ``alpha / m``.

    >>> names, size = assumed(WITHOUT_PILOT[0]), CueSize(personas=3, questions=100, variants=5, samples=3)
    >>> more = dataclasses.replace(size, variants=20)
    >>> [round(100 * detectable(names, one), 1) for one in (size, more)]
    [6.8, 3.5]
    """
    if no_test(size):
        return None
    drawn = _drawn(of, size)
    low, high = 0.0, 4 * math.sqrt(drawn.variance)
    for _ in range(20):
        if _power(drawn, size, high, alpha) >= POWER:
            break
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _power(drawn, size, middle, alpha) >= POWER else (middle, high)
        if high - low <= 0.005 * high:
            break
    return high
