"""Do two cues, two releases or two families give the same picture of who gets which answer? Rank correlations with their ceiling.

Means over variants and samples, one for each persona and question, are correlated between two sources. Two sources that treat everybody
alike do not reach 1: each mean is made of few answers. So beside Spearman's correlation stand

- the **noise ceiling**: the correlation of the same answers after the sources' labels are swapped between variants at random, within
  each persona and question. It is what one source correlates with itself at this size. p is the share of swaps that correlate no
  better than what was seen;
- the **disattenuated** correlation, over the root of both reliabilities, which asks what unlimited variants would show. It is an
  estimate and may exceed 1;
- the paper's test against 1, which rejects for identical cues as well.

References
----------
C. Spearman (1904), American J. Psychology 15, 72-101: correlation and its attenuation. P. Horst (1951), Educational and Psychological
Measurement 11, 368-371: reliability from halves. arXiv 2601.18572, section 4: the test against 1.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.cue_ranks import (
    bootstrap_correlations,
    correlations,
    midranks,
    reliability,
    swapped_means,
    variant_means,
)
from metrics.cue_table import NO_PERSONA, CueTable
from metrics.errors import BadInputError
from metrics.results import Score

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

SPEARMAN, CEILING, DISATTENUATED = "spearman", "spearman-noise-ceiling", "spearman-disattenuated"
OVERALL = "overall"
SOURCES = ("cue", "release")
GROUPINGS = (OVERALL, "task", "persona", "release", "cue")

PAPER_ALPHA, PAPER_SEED, PAPER_RESAMPLES = 0.01, 13, 1000

_FEWEST_ROWS = 3
_RELEASE = "release"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CueCorrelation:
    """How two sources agree over (persona, question) means.

    Parameters
    ----------
    source : ``cue`` or ``release``; first, second : the two
    grouping, group : ``overall``, or the task, persona, release or cue that the rows are of
    value, low, high : Spearman's correlation and its 95 % interval from drawing questions; None with a ``reason``
    n : means on either side; questions : that they are of; excluded : means that only one side has
    ceiling : mean correlation after swaps of variants within each question; pvalue : of a correlation as low as this if both were one source
    reliabilities : of the means of either side, from halves of their variants
    disattenuated, disattenuated_low, disattenuated_high : correlation and interval over the root of both, taken as known; may exceed 1
    paper_upper : upper 99 % bound of the paper's bootstrap; paper_differs : it is below 1, as it nearly always is
    """

    source: str
    grouping: str
    group: str
    first: str
    second: str
    value: float | None
    n: int
    questions: int
    excluded: int
    method: str = ""
    low: float | None = None
    high: float | None = None
    ceiling: float | None = None
    pvalue: float | None = None
    reliabilities: tuple[float | None, float | None] = (None, None)
    disattenuated: float | None = None
    disattenuated_low: float | None = None
    disattenuated_high: float | None = None
    paper_upper: float | None = None
    paper_differs: bool | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        for field in self.__slots__:
            number = getattr(self, field)
            if isinstance(number, float) and not math.isfinite(number):
                raise ValueError(f"correlation of {self.first} and {self.second}: {field} must be finite or None")
        if self.value is None and not self.reason:
            raise ValueError(f"the correlation of {self.first} and {self.second} is missing without a reason")

    def as_score(self) -> Score:
        """The correlation as a row of the score table: the dimension is the group, the group the pair of sources."""
        return Score(
            metric=SPEARMAN,
            dimension=self.grouping if self.grouping == OVERALL else f"{self.grouping} {self.group}",
            group=f"{self.first} - {self.second}",
            value=self.value,
            low=self.low,
            high=self.high,
            method=self.method,
            pvalue=self.pvalue,
            n=self.n,
            n_clusters=self.questions,
            n_excluded=self.excluded,
            reason=self.reason,
        )

    def scores(self) -> list[Score]:
        """The correlation, and its noise ceiling and the disattenuated one where there are such."""
        row = self.as_score()
        found = [row]
        bare = functools.partial(dataclasses.replace, row, pvalue=None, reason="")
        if self.ceiling is not None:
            words = "mean correlation after swaps of variants within questions; no interval"
            found.append(bare(metric=CEILING, value=self.ceiling, low=None, high=None, method=words))
        if self.disattenuated is not None:
            low, high = self.disattenuated_low, self.disattenuated_high
            words = (
                "correlation and interval over the root of both reliabilities, which are taken as known; may exceed 1"
            )
            found.append(bare(metric=DISATTENUATED, value=self.disattenuated, low=low, high=high, method=words))
        return found


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Means:
    """Means by prompt of every source: rows are (release, task, persona, cue, question) without the source's own key.

    ``blocks`` [rows, sources, variants] is NaN where nothing has a number, ``values`` [rows, sources] their mean; ``labels`` are the rows' groups, ``question`` the
    question of each row and ``stratum`` its task.
    """

    sources: tuple[str, ...]
    blocks: FloatArray
    values: FloatArray
    labels: Mapping[str, NDArray[np.object_]]
    question: IntArray
    stratum: IntArray


def _means(frames: Mapping[str, pd.DataFrame], source: str, same: Mapping[str, str]) -> _Means:
    parts = [CueTable(frame).frame.assign(release=name) for name, frame in frames.items()]
    frame = pd.concat(parts, ignore_index=True)
    frame = frame[(frame["cue"] != NO_PERSONA) & (frame["n"] > 0)]
    if same:
        frame = frame.assign(persona=frame["persona"].replace(dict(same)))
    keys = [key for key in (_RELEASE, "task", "axis", "persona", "cue", "question") if key != source]
    row, of_row = pd.factorize(pd.MultiIndex.from_frame(frame[keys]), sort=True)
    column, sources = pd.factorize(frame[source], sort=True)
    variant, variants = pd.factorize(frame["variant"], sort=True)
    blocks = np.full((len(of_row), len(sources), len(variants)), np.nan)
    blocks[row, column, variant] = (frame["total"] / frame["n"]).to_numpy(dtype=np.float64)
    rows = pd.DataFrame(list(of_row), columns=keys) if len(of_row) else pd.DataFrame(columns=keys, dtype="object")
    labels = {
        OVERALL: np.full(len(rows), "", dtype=np.object_),
        "task": rows["task"].to_numpy(dtype=np.object_),
        "persona": (rows["axis"] + ": " + rows["persona"]).to_numpy(dtype=np.object_),
        **{key: rows[key].to_numpy(dtype=np.object_) for key in (_RELEASE, "cue") if key in keys},
    }
    return _Means(
        sources=tuple(map(str, sources)),
        blocks=blocks,
        values=variant_means(blocks),
        labels=labels,
        question=_codes(rows, ["task", "question"]),
        stratum=_codes(rows, ["task"]),
    )


def _codes(rows: pd.DataFrame, keys: Sequence[str]) -> IntArray:
    return np.asarray(rows.groupby(list(keys), sort=True).ngroup() if len(rows) else [], dtype=np.int64)


def cue_correlations(
    frames: pd.DataFrame | Mapping[str, pd.DataFrame],
    *,
    source: str = "cue",
    by: Sequence[str] = (OVERALL, "task", "persona"),
    same: Mapping[str, str] | None = None,
    resamples: int = 1000,
    swaps: int = 99,
    seed: int = 0,
    paper: bool = True,
) -> list[CueCorrelation]:
    """Correlate every two cues of an audit, or every two releases (or families) of several audits.

    Parameters
    ----------
    frames : cue sums of one release, or of several by name; families are pooled releases (`metrics.cue_table.pooled`)
    source : what is correlated, ``cue`` or ``release``
    by : ``overall`` and any of ``task``, ``persona``, ``release``, ``cue``: the last two only where they are not the source
    same : personas to be taken for others, such as ``{"unisex": "non-binary"}``, as the paper does; without it names have no
        counterpart of non-binary personas and those means are left out where names meet another cue
    resamples : of the bootstrap over questions (within tasks); swaps : of variants, for the noise ceiling; seed : of both
    paper : add the paper's test against 1 (1,000 resamples of single means, seed 13, alpha .01)

    Returns
    -------
    One row for each group and pair, in order. ``overall`` mixes tasks of different units, as the paper does: a salary is above any
    share of yes, and the ranks say so. Read it by task.
    """
    known = {"": frames} if isinstance(frames, pd.DataFrame) else dict(frames)
    _check(known, source, by)
    found = _means(known, source, same or {})
    if len(found.sources) < 2:
        there = ", ".join(found.sources) or "none"
        raise BadInputError(f"a correlation needs at least 2 {source}s with answers, got {there}")
    pairs = list(itertools.combinations(range(len(found.sources)), 2))
    swapped = _swapped(found, pairs, swaps, seed)
    rows: list[CueCorrelation] = []
    for grouping in by:
        labels = found.labels[grouping]
        for group in sorted(set(labels.tolist())):
            chosen = np.flatnonzero(labels == group)
            rows += _group(
                found, chosen, pairs, swapped, _Task(source, grouping, str(group), resamples, seed, paper=paper)
            )
    return rows


def _check(known: Mapping[str, pd.DataFrame], source: str, by: Sequence[str]) -> None:
    if source not in SOURCES:
        raise BadInputError(f"what is correlated is {' or '.join(SOURCES)}, got {source!r}")
    if wrong := [one for one in by if one not in GROUPINGS or one == source]:
        named = ", ".join(one for one in GROUPINGS if one != source)
        raise BadInputError(f"correlations of every {source} are by {named}; got {', '.join(wrong)}")
    if not known:
        raise BadInputError("correlations need the cue sums of at least one release, got none")


@dataclasses.dataclass(frozen=True, slots=True)
class _Task:
    """What one group of rows is to be done with."""

    source: str
    grouping: str
    group: str
    resamples: int
    seed: int
    paper: bool


_Swapped = dict[tuple[int, int], tuple[NDArray[np.float32], NDArray[np.float32]]]


def _swapped(found: _Means, pairs: Sequence[tuple[int, int]], swaps: int, seed: int) -> _Swapped:
    """Means of every pair of sources after swaps [swaps, rows], drawn once for all groups."""
    if swaps < 1:
        return {}
    rng = np.random.default_rng([seed, 1])
    return {(one, two): swapped_means(found.blocks[:, one], found.blocks[:, two], rng, swaps) for one, two in pairs}


def _group(
    found: _Means, chosen: IntArray, pairs: Sequence[tuple[int, int]], swapped: _Swapped, task: _Task
) -> list[CueCorrelation]:
    values = found.values[chosen]
    there = ~np.isnan(values)
    reliabilities = [
        reliability(found.blocks[chosen, place], np.random.default_rng([task.seed, 3]))
        for place in range(values.shape[1])
    ]
    # Pairs that have the same means in common share their resamples, and the sorting of each side.
    alike: dict[bytes, list[tuple[int, int]]] = {}
    for one, two in pairs:
        alike.setdefault((there[:, one] & there[:, two]).tobytes(), []).append((one, two))
    rows: dict[tuple[int, int], CueCorrelation] = {}
    for members in alike.values():
        whole = there[:, members[0][0]] & there[:, members[0][1]]
        bounds = _bounds(found, chosen[whole], members, task)
        for pair, ends in zip(members, bounds, strict=True):
            missed = int((there[:, pair[0]] ^ there[:, pair[1]]).sum())
            bare = _bare(found, chosen[whole], pair, missed, task)
            rows[pair] = _finished(bare, ends, _ceiling(bare, chosen[whole], swapped.get(pair)), reliabilities, pair)
    return [rows[pair] for pair in pairs]


def _bare(found: _Means, rows: IntArray, pair: tuple[int, int], missed: int, task: _Task) -> CueCorrelation:
    sides = found.values[rows][:, list(pair)]
    value, reason = None, ""
    if len(rows) < _FEWEST_ROWS:
        reason = f"a correlation needs at least {_FEWEST_ROWS} means that both have; there are {len(rows)}"
    else:
        value = float(correlations(*(midranks(sides[None, :, side]) for side in (0, 1)))[0])
        if math.isnan(value):
            value, reason = None, "undefined: all means of one side are the same, so they have no order"
    return CueCorrelation(
        source=task.source,
        grouping=task.grouping,
        group=task.group,
        first=found.sources[pair[0]],
        second=found.sources[pair[1]],
        value=value,
        n=len(rows),
        questions=len(np.unique(found.question[rows])),
        excluded=missed,
        method="Spearman's rank correlation of (persona, question) means",
        reason=reason,
    )


def _bounds(
    found: _Means, rows: IntArray, pairs: list[tuple[int, int]], task: _Task
) -> list[tuple[float | None, float | None, float | None]]:
    """Interval of every pair from drawing questions, and the paper's upper bound from drawing single means."""
    nothing = (None, None, None)
    if len(rows) < _FEWEST_ROWS or task.resamples < 1:
        return [nothing for _ in pairs]
    values = found.values[rows]
    questions, cluster = np.unique(found.question[rows], return_inverse=True)
    strata = np.zeros(len(questions), dtype=np.int64)
    strata[cluster] = found.stratum[rows]
    rng = np.random.default_rng([task.seed, 2])
    drawn = bootstrap_correlations(values, pairs, cluster, strata, rng, task.resamples)
    ends = [
        _quantiles(drawn[:, place], (0.025, 0.975)) if len(questions) > 1 else (None, None)
        for place in range(len(pairs))
    ]
    if not task.paper:
        return [(low, high, None) for low, high in ends]
    alone, together = np.arange(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    rng = np.random.default_rng(PAPER_SEED)
    single = bootstrap_correlations(values, pairs, alone, together, rng, PAPER_RESAMPLES)
    uppers = [_quantiles(single[:, place], (1 - PAPER_ALPHA,))[0] for place in range(len(pairs))]
    return [(low, high, upper) for (low, high), upper in zip(ends, uppers, strict=True)]


def _quantiles(drawn: FloatArray, shares: tuple[float, ...]) -> tuple[float | None, ...]:
    """Quantiles of the draws that have a correlation; None when fewer than half have."""
    kept = drawn[~np.isnan(drawn)]
    if 2 * len(kept) < len(drawn) or not len(kept):
        return tuple(None for _ in shares)
    return tuple(float(bound) for bound in np.quantile(kept, shares))


def _ceiling(
    bare: CueCorrelation, rows: IntArray, sides: tuple[NDArray[np.float32], NDArray[np.float32]] | None
) -> tuple[float | None, float | None]:
    """Mean correlation after swaps, and the share of swaps that correlate no better."""
    if bare.value is None or sides is None:
        return None, None
    drawn = correlations(midranks(sides[0][:, rows]), midranks(sides[1][:, rows]))
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return None, None
    return float(drawn.mean()), float((1 + (drawn <= bare.value + 1e-6).sum()) / (1 + len(drawn)))


def _finished(
    bare: CueCorrelation,
    ends: tuple[float | None, float | None, float | None],
    ceiling: tuple[float | None, float | None],
    reliabilities: Sequence[float | None],
    pair: tuple[int, int],
) -> CueCorrelation:
    """The row with its interval, ceiling, disattenuated value and the paper's test."""
    if bare.value is None:
        return bare
    low, high, upper = ends
    one, two = reliabilities[pair[0]], reliabilities[pair[1]]
    factor = 1 / math.sqrt(one * two) if one is not None and two is not None and one > 0 and two > 0 else None
    noise = "" if factor is not None else "; no reliability: it needs two variants or more whose halves go together"
    return dataclasses.replace(
        bare,
        low=None if low is None else min(low, bare.value),
        high=None if high is None else max(high, bare.value),
        ceiling=ceiling[0],
        pvalue=ceiling[1],
        reliabilities=(one, two),
        disattenuated=None if factor is None else bare.value * factor,
        disattenuated_low=None if factor is None or low is None else min(low, bare.value) * factor,
        disattenuated_high=None if factor is None or high is None else max(high, bare.value) * factor,
        paper_upper=upper,
        paper_differs=None if upper is None else upper < 1 - 1e-9,
        method=f"{bare.method}, interval from drawing questions, p from swaps of variants within questions{noise}",
    )
