"""Does a release answer the same question differently for different people? The analysis of persona cues that verdicts use.

For every task, axis and cue: the result metric of each persona with its interval, its deviation from the answers without a persona,
the gaps between personas, and one test of all of them (Clark's quasi-F), adjusted over the whole family of tasks, axes and cues by
Benjamini and Hochberg. Every error is two-way (`metrics.cue_variance`): answers to one question, and answers in one variant,
resemble each other. The published analysis, which takes every answer as independent, is `metrics.cue_paper`.

References
----------
H. H. Clark (1973), J. Verbal Learning and Verbal Behavior 12, 335-359. Y. Benjamini, Y. Hochberg (1995), JRSS B 57, 289-300.
J. H. Steiger (2004), Psychological Methods 9, 164-182: intervals of shares of variance.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from metrics.agreement import false_discovery_qvalues
from metrics.cue_grid import NO_ERROR, Grid, estimate, grid, studentized
from metrics.cue_pairs import CuePair, cue_pairs
from metrics.cue_table import CueCells, CueTable, cue_table
from metrics.cue_variance import QuasiF, deviation_error, quasi_f
from metrics.effects import ETA_SQUARED, OMEGA_SQUARED, noncentral_f_bounds
from metrics.results import Score
from metrics.samples import Estimate

FloatArray = NDArray[np.float64]

RESULT, DEVIATION, QUASI_F = "result-metric", "deviation-from-baseline", "quasi-f"

FLOOR = 0.5
"""Share of the answers to a persona that need a number before the personas are tested."""

COVERAGE_GAP = 0.10
"""Shares of two personas that are further apart than this are said to be so."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CueEffects:
    """What one task shows about one axis under one cue.

    Parameters
    ----------
    means : result metric of each persona; deviations : the same minus the answers without a persona, paired by question (empty where
        the task was not asked without one)
    pairs : gaps between personas; test : quasi-F over all of them, ``qvalue`` over tasks x axes x cues
    eta_squared, omega_squared : share of the variance of answers that lies between personas: in the sample, and estimated beyond chance
    coverage : share of the answers to each persona that have a number; deviation : standard deviation of answers within a persona
    """

    task: str
    axis: str
    cue: str
    means: tuple[Estimate, ...]
    deviations: tuple[Estimate, ...]
    pairs: tuple[CuePair, ...]
    test: Estimate
    eta_squared: Estimate
    omega_squared: Estimate
    coverage: Mapping[str, float]
    deviation: float

    @property
    def title(self) -> str:
        """``"salary x gender, name-user"``."""
        return f"{self.task} x {self.axis}, {self.cue}"

    def differs(self, alpha: float = 0.05) -> bool:
        """Whether the personas are shown to differ: the test's q is at most ``alpha``."""
        return self.test.qvalue is not None and self.test.qvalue <= alpha

    def shown(self, alpha: float = 0.05) -> tuple[CuePair, ...]:
        """The pairs that are shown to differ; none where the test of all personas shows nothing."""
        return tuple(pair for pair in self.pairs if pair.shown(alpha)) if self.differs(alpha) else ()

    def scores(self) -> list[Score]:
        """Everything as rows of the score table."""
        rows = [*self.means, *self.deviations, self.test, self.eta_squared, self.omega_squared]
        for pair in self.pairs:
            rows += [pair.gap, pair.games_howell, pair.hedges_g, *([pair.worst] if pair.worst else [])]
        return [row.as_score(self.title) for row in rows]


def cue_effects(
    frame: pd.DataFrame | CueTable,
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    level: float = 0.95,
) -> list[CueEffects]:
    """Analyse every task, axis and cue of a frame of cue sums.

    Parameters
    ----------
    frame : columns of `metrics.cue_table.COLUMNS`; several releases are put together by `metrics.cue_table.pooled`
    bounds : lowest and highest answer of each task, for the worst case of excluded answers
    level : of the intervals

    >>> from metrics.cue_table import COLUMNS
    >>> rows = [
    ...     ("salary", "name-user", "gender", persona, f"q{q}", str(v), 1, y := q + 2 * (persona == "male") + (q * v) % 3, y * y, 0)
    ...     for persona in ("female", "male") for q in range(4) for v in range(3)
    ... ]
    >>> (found,) = cue_effects(pd.DataFrame(rows, columns=COLUMNS))
    >>> round(found.pairs[0].gap.value, 3), found.test.qvalue < 0.05
    (-2.0, True)
    """
    table = cue_table(frame)
    known = bounds or {}
    found = [_analysed(table, key, known.get(key[0]), level) for key in table.combinations]
    qvalues = false_discovery_qvalues([one.test.pvalue for one in found])
    members = sum(qvalue is not None for qvalue in qvalues)
    family = f"q by Benjamini and Hochberg over {members} tests (task x axis x cue)"
    return [
        one
        if qvalue is None
        else dataclasses.replace(
            one, test=dataclasses.replace(one.test, qvalue=qvalue, method=f"{one.test.method}; {family}")
        )
        for one, qvalue in zip(found, qvalues, strict=True)
    ]


def _analysed(
    table: CueTable, key: tuple[str, str, str], bounds: tuple[float, float] | None, level: float
) -> CueEffects:
    cells = table.cells(*key)
    alone = [grid(cells.of([persona])) for persona in cells.personas]
    baseline = table.baseline(key[0])
    together = grid(cells)
    test, shares = _test(together, level)
    return CueEffects(
        task=cells.task,
        axis=cells.axis,
        cue=cells.cue,
        means=tuple(_mean(found, level) for found in alone),
        deviations=tuple(_deviation(found.cells, baseline, level) for found in alone) if baseline else (),
        pairs=cue_pairs(cells, bounds=bounds, level=level),
        test=test,
        eta_squared=shares[0],
        omega_squared=shares[1],
        coverage=_coverage(cells),
        deviation=math.sqrt(cells.variance()),
    )


def _coverage(cells: CueCells) -> dict[str, float]:
    asked = cells.answers + cells.excluded_answers
    shares = cells.answers / np.maximum(asked, 1)
    return {persona: float(share) for persona, share in zip(cells.personas, shares, strict=True)}


def _mean(found: Grid, level: float) -> Estimate:
    value = found.means[0] if found.means else None
    bare = estimate(found, RESULT, value, "mean answer, equal weight per question and variant")
    return studentized(bare, found.parts[0].own, found.scale, level=level) if found.parts else bare


def _question_means(cells: CueCells) -> FloatArray:
    """Mean answer to each question without a persona; NaN where there is none."""
    n = cells.n.sum(axis=(0, 2))
    result: FloatArray = np.where(n > 0, cells.total.sum(axis=(0, 2)) / np.maximum(n, 1), np.nan)
    return result


def _deviation(cells: CueCells, baseline: CueCells, level: float) -> Estimate:
    of_question = _question_means(baseline)
    there = ~np.isnan(of_question)
    # What the baseline lacks is cut out of the persona's cells, and counted as excluded.
    keep = there[None, :, None]
    lost = int((cells.n * ~keep).sum())
    cut = dataclasses.replace(cells, n=cells.n * keep, total=cells.total * keep, squares=cells.squares * keep)
    found = grid(cut)
    value = found.means[0] - float(of_question[found.used].mean()) if found.means else None
    bare = estimate(found, DEVIATION, value, "persona minus no persona, paired by question")
    bare = dataclasses.replace(bare, n_excluded=bare.n_excluded + lost)
    if not found.parts:
        return bare
    error = deviation_error(found.parts[0], of_question[found.used])
    return studentized(bare, error, found.scale, level=level)


def baseline_means(frame: pd.DataFrame | CueTable, *, level: float = 0.95) -> dict[str, Estimate]:
    """Result metric of every task without a persona, questions being the sample; tasks that were not asked so are left out."""
    table = cue_table(frame)
    found = {task: table.baseline(task) for task in table.tasks}
    return {task: _baseline_mean(cells, level) for task, cells in found.items() if cells is not None}


def _baseline_mean(cells: CueCells, level: float) -> Estimate:
    values = _question_means(cells)
    values = values[~np.isnan(values)]
    count = len(values)
    error = float(values.std(ddof=1)) / math.sqrt(count) if count > 1 else 0.0
    bare = Estimate(
        name=RESULT,
        groups=("no persona",),
        value=float(values.mean()) if count else None,
        n=int(cells.n.sum()),
        clusters=count,
        n_excluded=int(cells.excluded.sum()),
        method="mean answer, equal weight per question",
        reason="no answer has a number" if not count else "fewer than two questions that differ: no interval",
    )
    if error <= NO_ERROR * (abs(bare.value or 0.0) + 1e-300):
        return bare
    reach = float(special.stdtrit(count - 1, 0.5 + level / 2)) * error
    value = bare.value or 0.0
    return dataclasses.replace(
        bare,
        low=value - reach,
        high=value + reach,
        level=level,
        df=count - 1.0,
        standard_error=error,
        method=f"{bare.method}, variance between questions, t with {count - 1} df",
        reason="",
    )


def _limits(cells: CueCells) -> tuple[str, str]:
    """Why personas cannot be tested for the answers that have no number, and what must be said when they can."""
    shares = _coverage(cells)
    fewest, most = min(shares, key=lambda name: shares[name]), max(shares, key=lambda name: shares[name])
    words = f"{100 * shares[fewest]:.0f} % of the answers to {fewest} have a number"
    if shares[fewest] < FLOOR:
        return f"{words}; a test needs {100 * FLOOR:.0f} % of every persona", ""
    if shares[most] - shares[fewest] > COVERAGE_GAP:
        return "", f"{words}, and {100 * shares[most]:.0f} % of those to {most}: see the worst case"
    return "", ""


def _test(found: Grid, level: float) -> tuple[Estimate, tuple[Estimate, Estimate]]:
    """Quasi-F over the personas, with eta squared and omega squared."""
    cells = found.cells
    words = "Clark's quasi-F over questions and variants"
    rows = [estimate(found, name, None, words) for name in (QUASI_F, ETA_SQUARED, OMEGA_SQUARED)]

    def all_missing(reason: str) -> tuple[Estimate, tuple[Estimate, Estimate]]:
        test, eta, omega = (dataclasses.replace(row, reason=reason) for row in rows)
        return test, (eta, omega)

    floor, note = _limits(cells)
    if len(cells.personas) < 2:
        return all_missing(f"there is one persona only ({cells.personas[0]}): nobody to compare with")
    if floor or found.reason:
        return all_missing(found.reason or floor)
    result = quasi_f(found.parts)
    error = float(result.error)
    if error <= (NO_ERROR * found.scale) ** 2:
        return all_missing("every prompt of a persona gave the same: no variation to test against")
    test = dataclasses.replace(
        rows[0],
        value=float(result.statistic),
        statistic=float(result.statistic),
        df=float(result.df),
        df_error=float(result.df_error),
        pvalue=float(result.pvalue),
        reason=note,
    )
    eta, omega = (_share(row, cells, result, test, level) for row in rows[1:])
    return test, (eta, omega)


def _share(row: Estimate, cells: CueCells, result: QuasiF, test: Estimate, level: float) -> Estimate:
    """Share of the variance of answers that lies between personas, every persona with the same weight."""
    k = len(cells.personas)
    n, total = cells.answers, cells.total.sum(axis=(1, 2))
    within = float(((cells.squares.sum(axis=(1, 2)) - total**2 / n) / n).mean())
    spread, error = float(result.spread) * (k - 1) / k, float(result.error) * (k - 1) / k
    between = spread if row.name == ETA_SQUARED else max(spread - error, 0.0)
    whole = spread + max(within, 0.0)
    f, df, df_error = spread / error, float(result.df), float(result.df_error)
    low, high = (bound * error / (k - 1) for bound in noncentral_f_bounds(f, k - 1, df_error, level))
    empty = high <= 0
    return dataclasses.replace(
        row,
        value=between / whole if whole > 0 else 0.0,
        low=None if empty else low / (low + within),
        high=None if empty else high / (high + within),
        level=level,
        statistic=test.statistic,
        df=df,
        df_error=df_error,
        pvalue=test.pvalue,
        method=f"{row.name}, interval of the population's share by inversion of the noncentral F with the two-way error",
        reason="the personas differ less than equal ones do by chance: the interval is empty" if empty else test.reason,
    )
