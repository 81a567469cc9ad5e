"""The published analysis of persona cues: ANOVA and Tukey-Kramer over single answers, and what is counted of them.

It stands beside the analysis that verdicts use (`metrics.cue_effects`), so that figures can be laid beside the paper's. It takes every
answer as independent. Three samples of one prompt and five variants of one persona are not: where variants differ by a few points, it
finds a difference between equal personas in a third to three quarters of all audits (docs/metrics.md).

References
----------
arXiv 2601.18572, "One Persona, Many Cues, Different Results", section 4. C. Y. Kramer (1956), Biometrics 12, 307-310.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from metrics.cue_table import HISTORY_HUMAN, CueCells, CueTable, cue_table
from metrics.effects import explained
from metrics.errors import BadInputError
from metrics.results import Score
from metrics.samples import Estimate
from metrics.studentized_range import range_critical, range_pvalues

FloatArray = NDArray[np.float64]

RESULT_PAPER, ANOVA_PAPER, TUKEY_PAPER = "result-metric-paper", "anova-f-paper", "tukey-kramer-paper"

ALPHA = 0.01
SAME_PERSONA: Mapping[str, str] = {"unisex": "non-binary"}
"""Names stand for another persona than other cues do; the paper sets one beside the other."""

_INDEPENDENT = "answers taken as independent"
_ROUNDING = 1e-12


class AnyTest(Protocol):
    """What one analysis finds of one task, axis and cue, as far as it is counted. ``untested`` : why there is no test; empty when there is."""

    @property
    def task(self) -> str: ...
    @property
    def axis(self) -> str: ...
    @property
    def cue(self) -> str: ...
    @property
    def untested(self) -> str: ...
    def differs(self, alpha: float) -> bool:
        """Whether the personas are found to differ."""

    def found(self, alpha: float) -> frozenset[tuple[str, str]]:
        """Pairs (higher, lower) that are found to differ."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PaperTest:
    """One task, axis and cue as the paper tests it: means, ANOVA, and all pairs by Tukey and Kramer."""

    task: str
    axis: str
    cue: str
    means: tuple[Estimate, ...]
    anova: Estimate
    pairs: tuple[Estimate, ...]

    @property
    def untested(self) -> str:
        """Why there is no test; empty when there is."""
        return self.anova.reason or "not measured" if self.anova.pvalue is None else ""

    def differs(self, alpha: float = ALPHA) -> bool:
        """Whether the ANOVA finds a difference (p < alpha)."""
        return self.anova.pvalue is not None and self.anova.pvalue < alpha

    def found(self, alpha: float = ALPHA) -> frozenset[tuple[str, str]]:
        """Pairs (higher, lower) that Tukey and Kramer's test finds after an ANOVA that did."""
        if not self.differs(alpha):
            return frozenset()
        return frozenset(
            (row.groups[0], row.groups[1]) if (row.value or 0.0) > 0 else (row.groups[1], row.groups[0])
            for row in self.pairs
            if row.qvalue is not None and row.qvalue < alpha
        )

    def scores(self) -> list[Score]:
        """Rows of the score table."""
        return [
            row.as_score(f"{self.task} x {self.axis}, {self.cue}") for row in (*self.means, self.anova, *self.pairs)
        ]


def paper_tests(frame: pd.DataFrame | CueTable, *, alpha: float = ALPHA) -> list[PaperTest]:
    """The paper's tests of every task, axis and cue.

    Parameters
    ----------
    frame : cue sums; several releases are added up by ``pooled(frames, weights="answers")``, as in the paper
    alpha : intervals of pairs are at ``1 - alpha``

    >>> from metrics.cue_table import COLUMNS
    >>> rows = [("t", "name-user", "a", persona, "q", "0", 4, total, squares, 0) for persona, total, squares in
    ...         (("p", 6.0, 14.0), ("r", 14.0, 54.0))]
    >>> (test,) = paper_tests(pd.DataFrame(rows, columns=COLUMNS))
    >>> test.anova.value, round(test.anova.pvalue, 4)
    (4.8, 0.071)
    """
    table = cue_table(frame)
    return [_tested(table.cells(*key), alpha) for key in table.combinations]


def _row(
    name: str, groups: tuple[str, ...], cells: CueCells, value: float | None, method: str, reason: str
) -> Estimate:
    return Estimate(
        name=name,
        groups=groups,
        value=value,
        n=int(cells.n.sum()),
        clusters=int((cells.n > 0).any(axis=(0, 2)).sum()),
        n_excluded=int(cells.excluded.sum()),
        method=f"{method}; {_INDEPENDENT}",
        reason=reason,
    )


def _tested(cells: CueCells, alpha: float) -> PaperTest:
    n, total, squares = cells.answers, cells.total.sum(axis=(1, 2)), cells.squares.sum(axis=(1, 2))
    centre = float(total.sum()) / max(float(n.sum()), 1.0)
    # About the grand mean, so that large values lose no digits.
    moved = total - n * centre
    inside = np.maximum(squares - 2 * centre * total + n * centre**2 - moved**2 / np.maximum(n, 1), 0.0)
    defect = _defect(cells, n, inside, centre)
    free = float(n.sum()) - len(n)
    within = float(inside.sum()) / free if free > 0 else 0.0
    anova = _row(ANOVA_PAPER, cells.personas, cells, None, "one-way ANOVA", defect or "not measured")
    if not defect:
        between = float((moved**2 / n).sum())
        f, df = between / (len(n) - 1) / within, len(n) - 1.0
        eta, omega = explained(f, df, free)
        words = f"one-way ANOVA, eta squared {eta:.3g}, omega squared {omega:.3g}; {_INDEPENDENT}"
        pvalue = float(special.fdtrc(df, free, f))
        anova = dataclasses.replace(
            anova, value=f, statistic=f, df=df, df_error=free, pvalue=pvalue, method=words, reason=""
        )
    return PaperTest(
        task=cells.task,
        axis=cells.axis,
        cue=cells.cue,
        means=tuple(
            _mean(cells.of([persona]), float(n[g]), float(total[g]), float(inside[g]))
            for g, persona in enumerate(cells.personas)
        ),
        anova=anova,
        pairs=_pairs(cells, centre + moved / np.maximum(n, 1), within, free, defect, alpha),
    )


def _defect(cells: CueCells, n: FloatArray, inside: FloatArray, centre: float) -> str:
    if len(n) < 2:
        return f"there is one persona only ({cells.personas[0]}): nobody to compare with"
    few = [persona for persona, count in zip(cells.personas, n, strict=True) if count < 2]
    if few:
        return f"a persona needs at least 2 answers with a number; {', '.join(few)} has fewer"
    if float(inside.sum()) <= (_ROUNDING * (1 + abs(centre))) ** 2 * float(n.sum()) + _ROUNDING * centre**2:
        return "every answer to a persona is the same: no variance to test against"
    return ""


def _mean(cells: CueCells, n: float, total: float, inside: float) -> Estimate:
    value = total / n if n else None
    bare = _row(RESULT_PAPER, cells.personas, cells, value, "mean of answers", "" if n else "no answer has a number")
    if n < 2:
        return dataclasses.replace(bare, reason=bare.reason or "one answer only: no interval")
    error = math.sqrt(inside / (n - 1) / n)
    reach = float(special.stdtrit(n - 1, 0.975)) * error
    method = f"mean of answers, standard deviation {math.sqrt(inside / (n - 1)):.4g}; {_INDEPENDENT}"
    mean = total / n
    return dataclasses.replace(bare, low=mean - reach, high=mean + reach, standard_error=error, method=method)


def _pairs(
    cells: CueCells, means: FloatArray, within: float, free: float, defect: str, alpha: float
) -> tuple[Estimate, ...]:
    pairs = list(itertools.combinations(range(len(means)), 2))
    names = [(cells.personas[one], cells.personas[two]) for one, two in pairs]
    words = f"Tukey-Kramer, p and interval adjusted over {len(pairs)} pairs"
    if defect or not pairs:
        return tuple(_row(TUKEY_PAPER, pair, cells.of(pair), None, words, defect) for pair in names)
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    gaps = means[first] - means[second]
    errors = np.sqrt(within * (1 / cells.answers[first] + 1 / cells.answers[second]) / 2)
    qvalues = range_pvalues(np.abs(gaps) / errors, len(means), free)
    reach = range_critical(1 - alpha, len(means), np.full(len(pairs), free)) * errors
    return tuple(
        dataclasses.replace(
            _row(TUKEY_PAPER, pair, cells.of(pair), float(gap), words, ""),
            low=float(gap - wide),
            high=float(gap + wide),
            level=1 - alpha,
            statistic=float(gap / error),
            df=free,
            qvalue=float(q),
        )
        for pair, gap, wide, error, q in zip(names, gaps, reach, errors, qvalues, strict=True)
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PaperSummary:
    """The paper's counts over combinations of a task and an axis.

    Parameters
    ----------
    by_cue, by_task, by_axis : combinations in which the ANOVA finds a difference, and combinations tested
    reference : the cue that the others are set beside, ``history-human``
    agreeing : combinations in which the reference finds a difference and another cue finds exactly the same pairs in the same
        direction, with those cues
    reference_found, reference_silent : combinations with and without a difference under the reference
    elsewhere : of the silent ones, those in which another cue finds a difference
    untested : tests that could not be made, with the reason
    """

    by_cue: Mapping[str, tuple[int, int]]
    by_task: Mapping[str, tuple[int, int]]
    by_axis: Mapping[str, tuple[int, int]]
    reference: str
    agreeing: Mapping[tuple[str, str], tuple[str, ...]]
    reference_found: int
    reference_silent: int
    elsewhere: int
    untested: tuple[tuple[str, str], ...]


def paper_summary(
    tests: Sequence[AnyTest],
    *,
    alpha: float = ALPHA,
    reference: str = HISTORY_HUMAN,
    same: Mapping[str, str] = SAME_PERSONA,
) -> PaperSummary:
    """Count findings as the paper does.

    Parameters
    ----------
    tests : of `paper_tests`, one release, or several added up; or of another analysis (`metrics.cue_pooling.shown_tests`)
    alpha : that the tests are read at
    reference : cue that the agreement is about; same : personas of one cue that stand for one of another
    """
    keys = [(test.task, test.axis, test.cue) for test in tests]
    if len(set(keys)) < len(keys):
        raise BadInputError(
            "a summary takes one test for every task, axis and cue; add releases up before they are tested"
        )
    made = [test for test in tests if not test.untested]
    of_reference = {(test.task, test.axis): test for test in made if test.cue == reference}
    others = [test for test in made if test.cue != reference and (test.task, test.axis) in of_reference]
    loud = {key for key, test in of_reference.items() if test.differs(alpha)}
    agreeing: dict[tuple[str, str], tuple[str, ...]] = {}
    for key in sorted(loud):
        pairs = _renamed(of_reference[key].found(alpha), same)
        cues = [
            other.cue
            for other in others
            if (other.task, other.axis) == key and other.differs(alpha) and _renamed(other.found(alpha), same) == pairs
        ]
        if cues:
            agreeing[key] = tuple(cues)
    elsewhere = {(test.task, test.axis) for test in others if test.differs(alpha)} - loud
    return PaperSummary(
        by_cue=_counted(made, "cue", alpha),
        by_task=_counted(made, "task", alpha),
        by_axis=_counted(made, "axis", alpha),
        reference=reference,
        agreeing=agreeing,
        reference_found=len(loud),
        reference_silent=len(of_reference) - len(loud),
        elsewhere=len(elsewhere),
        untested=tuple((f"{test.task} x {test.axis}, {test.cue}", test.untested) for test in tests if test.untested),
    )


def _renamed(pairs: frozenset[tuple[str, str]], same: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset((same.get(high, high), same.get(low, low)) for high, low in pairs)


def _counted(tests: Sequence[AnyTest], field: str, alpha: float) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for test in tests:
        hits, of = found.get(getattr(test, field), (0, 0))
        found[getattr(test, field)] = (hits + test.differs(alpha), of + 1)
    return found
