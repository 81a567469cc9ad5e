"""The size of the gap between personas under one cue, in one release or in two, with its two-way error.

It is the gap of `metrics.gaps`, in standard deviations of answers within a persona, and goes through the same normalized score, severity and
verdicts. Only its error is another: it has no single list of clusters, but questions and, within every persona, variants
(`metrics.cue_variance`). What clusters are to other gaps are here the axes of that error's covariance matrix.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metrics.cue_table import CueCells
from metrics.cue_variance import filled, persona_parts, quasi_f
from metrics.effects import hedges_correction
from metrics.gaps import Gap

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

FEWEST_VARIANTS = FEWEST_QUESTIONS = 2

_TINY = 1e-300


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CueGaps:
    """The gaps of one task, axis and cue in one or two releases, on one standard deviation.

    Parameters
    ----------
    gaps : one for each release; their ``influence`` has a row for each axis of the joint covariance
    pvalues : that the personas of a release do not differ, by Clark's quasi-F
    sources : the parts of the covariance matrix of all vectors together, each with its degrees of freedom
    covariance : of all vectors together [releases x personas, the same]
    """

    gaps: tuple[Gap, ...]
    pvalues: tuple[float, ...]
    sources: tuple[tuple[FloatArray, float], ...]
    covariance: FloatArray

    def df(self, *directions: FloatArray) -> float:
        """Satterthwaite's degrees of freedom of the vectors along one direction for each release; at least 1."""
        along = np.concatenate(directions)
        below = sum(float(along @ part @ along) ** 2 / df for part, df in self.sources)
        return max(float(along @ self.covariance @ along) ** 2 / max(below, _TINY), 1.0)


def paired(first: CueCells, second: CueCells) -> tuple[CueCells, CueCells, str] | None:
    """Both releases cut to the questions and variants that they share, with what is to be said of the rest.

    None when they share less than half of the smaller one's questions or variants: then they are other samples, and not paired.
    """
    cut = [first, second]
    missed = 0
    for axis, name in ((1, "questions"), (2, "variants")):
        names: list[tuple[str, ...]] = [getattr(cells, name) for cells in cut]
        common = sorted(set(names[0]) & set(names[1]))
        if 2 * len(common) < min(map(len, names)) or not common:
            return None
        missed += len(names[0]) + len(names[1]) - 2 * len(common)
        cut = [_taken(cells, axis, name, common) for cells in cut]
    there = (cut[0].n > 0) & (cut[1].n > 0)
    lost = sum(int((cells.n * ~there).sum()) for cells in cut)
    cut = [_kept(cells, there) for cells in cut]
    said = [f"{missed} questions or variants of one release only left out"] if missed else []
    said += [f"{lost} answers to prompts without an answer in the other release left out"] if lost else []
    return cut[0], cut[1], "; ".join(said)


def _taken(cells: CueCells, axis: int, name: str, wanted: Sequence[str]) -> CueCells:
    places = [getattr(cells, name).index(one) for one in wanted]
    return dataclasses.replace(
        cells,
        questions=tuple(wanted) if name == "questions" else cells.questions,
        variants=tuple(wanted) if name == "variants" else cells.variants,
        n=np.take(cells.n, places, axis=axis),
        total=np.take(cells.total, places, axis=axis),
        squares=np.take(cells.squares, places, axis=axis),
        excluded=np.take(cells.excluded, places, axis=axis),
    )


def _kept(cells: CueCells, there: BoolArray) -> CueCells:
    """The cells with the answers of the others counted as excluded."""
    return dataclasses.replace(
        cells,
        n=cells.n * there,
        total=cells.total * there,
        squares=cells.squares * there,
        excluded=cells.excluded + cells.n * ~there,
    )


def cue_gaps(releases: Sequence[CueCells], *, together: bool) -> CueGaps | str:
    """The gaps of one or two releases with the same personas, or why there are none.

    ``together`` : the releases have the same questions and variants (`paired`), so that errors of both hang together.
    """
    used = [_used(cells) for cells in releases]
    if together:
        used = [np.logical_and.reduce(used)] * len(releases)
    if reason := next(filter(None, map(_defect, releases, used)), ""):
        return reason
    grids = [
        [_square(cells.means[g][use]) for g in range(len(cells.personas))]
        for cells, use in zip(releases, used, strict=True)
    ]
    deviation = _deviation(releases)
    if deviation <= 0 or not any(np.ptp(values) > 0 for side in grids for values, _ in side):
        return "every answer to a persona is the same: no standard deviation to measure a gap by"
    personas = len(releases[0].personas)
    unit = 2 / math.sqrt(personas) * hedges_correction(sum(float(c.n.sum()) for c in releases) - 2) / deviation
    sources, covariance = _covariance(grids, together)
    means = [np.array([values.mean() for values, _ in side]) for side in grids]
    values, axes = np.linalg.eigh(unit**2 * covariance)
    influence = np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T
    bare = CueGaps(
        gaps=(),
        pvalues=tuple(float(quasi_f([persona_parts(*one) for one in side]).pvalue) for side in grids),
        sources=tuple((unit**2 * part, df) for part, df in sources),
        covariance=unit**2 * covariance,
    )
    gaps = []
    for place, (cells, use, raw) in enumerate(zip(releases, used, means, strict=True)):
        own = slice(place * personas, (place + 1) * personas)
        gap = _gap(cells, use, raw, unit, influence[:, own], deviation)
        still = [np.zeros(personas)] * len(releases)
        directions = [*still[:place], gap.direction, *still[place + 1 :]]
        gaps.append(dataclasses.replace(gap, df=bare.df(*directions)))
    return dataclasses.replace(bare, gaps=tuple(gaps))


def _used(cells: CueCells) -> BoolArray:
    """Questions that every persona has an answer to."""
    return np.asarray((cells.n > 0).any(axis=2).all(axis=0), dtype=np.bool_)


def _defect(cells: CueCells, used: BoolArray) -> str:
    answered = np.asarray((cells.n > 0).any(axis=(1, 2)), dtype=np.bool_).tolist()
    if silent := [persona for persona, some in zip(cells.personas, answered, strict=True) if not some]:
        return f"no answer to {', '.join(silent)} has a number"
    if used.sum() < FEWEST_QUESTIONS:
        return (
            f"{used.sum()} questions were answered with a number to every persona: too few to tell how much they vary"
        )
    variants = (cells.n[:, used] > 0).any(axis=1).sum(axis=1)
    if few := [persona for persona, count in zip(cells.personas, variants, strict=True) if count < FEWEST_VARIANTS]:
        return f"{', '.join(few)}: one variant only, and nothing says how much variants vary"
    return ""


def _square(means: FloatArray) -> tuple[FloatArray, int]:
    return filled(means[:, ~np.isnan(means).all(axis=0)])


def _deviation(releases: Sequence[CueCells]) -> float:
    """Standard deviation of answers within a persona, pooled over releases."""
    free = [max(float(cells.n.sum()) - len(cells.personas), 0.0) for cells in releases]
    inside = sum(cells.variance() * df for cells, df in zip(releases, free, strict=True))
    return math.sqrt(inside / sum(free)) if sum(free) > 0 else 0.0


_Side = Sequence[tuple[FloatArray, int]]


def _covariance(grids: Sequence[_Side], together: bool) -> tuple[list[tuple[FloatArray, float]], FloatArray]:
    """Parts of the covariance of centred persona means [releases x personas], and their sum without negative sources."""
    personas, sides = len(grids[0]), len(grids)
    size = sides * personas
    groups = [list(range(sides))] if together else [[side] for side in range(sides)]
    centre = np.kron(np.eye(sides), np.eye(personas) - 1 / personas)
    question, interaction, variant = (np.zeros((size, size)) for _ in range(3))
    sources: list[tuple[FloatArray, float]] = []
    for members in groups:
        by_question = np.concatenate(
            [np.stack([values.mean(axis=1) for values, _ in grids[side]], axis=1) for side in members], axis=1
        )
        places = [side * personas + g for side in members for g in range(personas)]
        questions = len(by_question)
        part = np.zeros((size, size))
        part[np.ix_(places, places)] = np.atleast_2d(np.cov(by_question, rowvar=False)) / questions
        part = centre @ part @ centre
        question += part
        sources.append((part, questions - 1.0))
        for g in range(personas):
            rows = [side * personas + g for side in members]
            of_variant, left, df_variant, df_left = _persona_covariance([grids[side][g] for side in members])
            for into, found, df in ((variant, of_variant, df_variant), (interaction, left, df_left)):
                part = np.zeros((size, size))
                part[np.ix_(rows, rows)] = found
                part = centre @ part @ centre
                into += part
                sources.append((part, df))
    total = _without_negative(question - interaction) + _without_negative(variant - interaction) + interaction
    return sources, total


def _persona_covariance(cells: Sequence[tuple[FloatArray, int]]) -> tuple[FloatArray, FloatArray, float, float]:
    """Covariances over releases of one persona's mean from variants and from what is left, with their degrees of freedom."""
    stacked = np.stack([values for values, _ in cells])
    questions, variants = stacked.shape[1:]
    by_variant = stacked.mean(axis=1)
    left = (
        stacked
        - stacked.mean(axis=2, keepdims=True)
        - by_variant[:, None, :]
        + stacked.mean(axis=(1, 2))[:, None, None]
    )
    flat = left.reshape(len(stacked), -1)
    free = max((questions - 1) * (variants - 1) - max(missing for _, missing in cells), 1)
    of_variant = np.atleast_2d(np.cov(by_variant)) / variants
    return of_variant, flat @ flat.T / (free * questions * variants), variants - 1.0, float(free)


def _without_negative(matrix: FloatArray) -> FloatArray:
    """The matrix without the directions in which its source seems to vary less than not at all."""
    values, axes = np.linalg.eigh((matrix + matrix.T) / 2)
    result: FloatArray = (axes * np.maximum(values, 0.0)) @ axes.T
    return result


def _gap(
    cells: CueCells, used: BoolArray, raw: FloatArray, unit: float, influence: FloatArray, deviation: float
) -> Gap:
    inside = int(cells.n[:, used].sum())
    return Gap(
        groups=cells.personas,
        vector=unit * (raw - raw.mean()),
        influence=influence,
        raw=raw,
        deviation=deviation,
        df=1.0,
        n=inside,
        cells=int(used.sum()),
        n_excluded=int(cells.n.sum()) - inside + int(cells.excluded.sum()),
    )
