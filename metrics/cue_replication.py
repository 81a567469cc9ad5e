"""Does a difference between personas show whichever way a release learns who asks, or under one cue only?

A difference that a single cue shows may be about the cue: a name that is rare, a template that sounds odd. It is labelled
`cue-specific` and alerts nobody, except under ``history-human``, the cue nearest to real use. A difference that several cues show in the
same direction is `replicated`; where cues contradict each other, that is said.

References
----------
D. T. Campbell, D. W. Fiske (1959), Psychological Bulletin 56, 81-105: a finding by one method only may be the method's.
S. B. Lyerly (1952), Psychometrika 17, 421-428: the average rank correlation of blocks.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from metrics.cue_effects import CueEffects
from metrics.cue_table import HISTORY_HUMAN
from metrics.errors import BadInputError

FloatArray = NDArray[np.float64]

REPLICATED, SPECIFIC, CONTRADICTORY, NONE, UNMEASURED = LABELS = (
    "replicated",
    "cue-specific",
    "contradictory",
    "none",
    "not measurable",
)

_EXACT_CUES = 7
_DRAWS = 4999
_FEWEST_CUES = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """One cue shows that one persona is answered higher than another."""

    task: str
    axis: str
    cue: str
    higher: str
    lower: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """What all cues together show about one task and axis.

    Parameters
    ----------
    label : one of `LABELS`; alerting : whether somebody should be told
    findings : what each cue shows; tested : cues that could be tested; untested : the others, with the reason
    why : what it comes to, in words
    """

    task: str
    axis: str
    label: str
    alerting: bool
    findings: tuple[Finding, ...]
    tested: tuple[str, ...]
    untested: tuple[tuple[str, str], ...]
    why: str

    @property
    def title(self) -> str:
        """``"salary x gender"``."""
        return f"{self.task} x {self.axis}"


def findings_of(effects: Iterable[CueEffects], *, alpha: float = 0.05) -> list[Finding]:
    """Every pair that the analysis of verdicts shows to differ, the test of all personas included."""
    return [
        Finding(task=one.task, axis=one.axis, cue=one.cue, higher=higher, lower=lower)
        for one in effects
        for pair in one.shown(alpha)
        for higher, lower in [pair.personas if (pair.gap.value or 0.0) > 0 else pair.personas[::-1]]
    ]


def replication(effects: Sequence[CueEffects], *, alpha: float = 0.05, alone: str = HISTORY_HUMAN) -> list[Replication]:
    """A label for every task and axis, in order.

    Parameters
    ----------
    effects : of `metrics.cue_effects.cue_effects`, all cues of the audit
    alone : the cue whose findings need no second one to alert

    A test that shows that personas differ while no single pair does is named in ``why`` and counts as no finding.
    """
    found = findings_of(effects, alpha=alpha)
    keys = dict.fromkeys((one.task, one.axis) for one in effects)
    rows = []
    for task, axis in keys:
        members = [one for one in effects if (one.task, one.axis) == (task, axis)]
        tested = tuple(one.cue for one in members if one.test.qvalue is not None)
        untested = tuple((one.cue, one.test.reason) for one in members if one.test.qvalue is None)
        unpaired = [one.cue for one in members if one.differs(alpha) and not one.shown(alpha)]
        row = labelled(task, axis, [one for one in found if (one.task, one.axis) == (task, axis)], tested, alone=alone)
        said = f"; {', '.join(unpaired)}: the personas differ, and no single pair is shown" if unpaired else ""
        rows.append(dataclasses.replace(row, untested=untested, why=row.why + said))
    return rows


def labelled(
    task: str, axis: str, findings: Sequence[Finding], tested: Sequence[str], *, alone: str = HISTORY_HUMAN
) -> Replication:
    """The label of some findings about one task and axis; also for changes between releases.

    >>> one = Finding(task="salary", axis="gender", cue="name-user", higher="male", lower="female")
    >>> labelled("salary", "gender", [one], ["name-user", "history-human"]).label
    'cue-specific'
    >>> two = dataclasses.replace(one, cue="history-human")
    >>> labelled("salary", "gender", [one, two], ["name-user", "history-human"]).why
    'male above female under history-human, name-user'
    """
    by_direction: dict[tuple[str, str], list[str]] = {}
    for one in sorted(findings):
        by_direction.setdefault((one.higher, one.lower), []).append(one.cue)
    several = any(len(set(cues)) > 1 for cues in by_direction.values())
    both_ways = any((low, high) in by_direction for high, low in by_direction)
    if not tested:
        label = UNMEASURED
    elif both_ways:
        label = CONTRADICTORY
    elif several:
        label = REPLICATED
    else:
        label = SPECIFIC if by_direction else NONE
    return Replication(
        task=task,
        axis=axis,
        label=label,
        alerting=several or any(one.cue == alone for one in findings),
        findings=tuple(sorted(findings)),
        tested=tuple(tested),
        untested=(),
        why=_words(by_direction, tested),
    )


def _words(by_direction: Mapping[tuple[str, str], Sequence[str]], tested: Sequence[str]) -> str:
    if not tested:
        return "no cue could be tested"
    if not by_direction:
        return f"no difference shown under {len(tested)} cues"
    said = [f"{high} above {low} under {', '.join(cues)}" for (high, low), cues in by_direction.items()]
    kinds = {kind_of(cue) for cues in by_direction.values() for cue in cues}
    several = any(len(cues) > 1 for cues in by_direction.values())
    of_one_kind = f"; all of one kind ({kinds.pop()}), which share what they are filled with" if len(kinds) == 1 else ""
    return "; ".join(said) + (of_one_kind if several else "")


def kind_of(cue: str) -> str:
    """What a cue gives away: ``name``, ``explicit-mention`` or ``history``.

    >>> kind_of("explicit-mention-user"), kind_of("history-llm")
    ('explicit-mention', 'history')
    """
    return cue.rsplit("-", 1)[0]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeviationPoint:
    """How far one persona under one cue lies from the answers without a persona, in standard deviations of answers.

    ``deviation`` is signed; ``size`` is without sign and without the noise of its own error, so that cues with wider errors do not seem
    to deviate more.
    """

    task: str
    axis: str
    persona: str
    cue: str
    explicitness: float
    deviation: float
    size: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExplicitnessTrend:
    """Do more explicit cues move answers further from those without a persona?

    Parameters
    ----------
    points : for the figure; mean_size : by cue
    value : mean, over tasks and personas, of the rank correlation of explicitness and size over cues; None with its ``reason``
    pvalue : exact two-sided, from giving the explicitness to the cues in every other order: the cues are the sample, however many
        points there are
    n : points; blocks : tasks x personas that have enough cues; cues : cues
    """

    points: tuple[DeviationPoint, ...]
    mean_size: Mapping[str, float]
    value: float | None
    pvalue: float | None
    n: int
    blocks: int
    cues: int
    method: str
    reason: str


def explicitness_trend(
    effects: Iterable[CueEffects], explicitness: Mapping[str, float], *, seed: int = 13
) -> ExplicitnessTrend:
    """Deviation from the baseline against the explicitness of the cue.

    Parameters
    ----------
    effects : of one audit, asked without a persona as well
    explicitness : of each cue, in any unit, more for more explicit; cues without one are refused
    seed : of the orders that are drawn where there are more than seven cues
    """
    points = _points(effects, explicitness)
    cues = sorted({point.cue for point in points})
    sizes, blocks = _blocks(points, cues)
    method = "mean rank correlation of explicitness and size of deviation over cues; p from all orders of the cues"
    mean_size = {cue: float(np.mean([point.size for point in points if point.cue == cue])) for cue in cues}
    found = ExplicitnessTrend(
        points=points, mean_size=mean_size, value=None, pvalue=None, n=len(points), blocks=len(blocks), cues=len(cues),
        method=method, reason="",
    )  # fmt: skip
    of_cue = np.array([explicitness[cue] for cue in cues], dtype=np.float64)
    if not len(blocks):
        reason = f"no task and persona deviates differently under {_FEWEST_CUES} cues or more"
        return dataclasses.replace(found, reason=reason)
    orders = _orders(len(cues), seed)
    values = _mean_correlation(of_cue[orders], sizes)
    if math.isnan(float(values[0])):
        return dataclasses.replace(found, reason="all cues are equally explicit: there is no order to compare with")
    reached = np.nanmean(np.abs(values) >= abs(values[0]) - 1e-12)
    return dataclasses.replace(found, value=float(values[0]), pvalue=float(reached))


def _points(effects: Iterable[CueEffects], explicitness: Mapping[str, float]) -> tuple[DeviationPoint, ...]:
    points = []
    for one in effects:
        if one.cue not in explicitness:
            known = ", ".join(sorted(explicitness)) or "none"
            raise BadInputError(f"cue {one.cue!r} has no explicitness; those with one are {known}")
        for row in one.deviations:
            if row.value is None or row.standard_error is None or one.deviation <= 0:
                continue
            size = math.sqrt(max(row.value**2 - row.standard_error**2, 0.0)) / one.deviation
            points.append(
                DeviationPoint(
                    task=one.task,
                    axis=one.axis,
                    persona=row.groups[0],
                    cue=one.cue,
                    explicitness=float(explicitness[one.cue]),
                    deviation=row.value / one.deviation,
                    size=size,
                )
            )
    return tuple(points)


def _blocks(points: Sequence[DeviationPoint], cues: Sequence[str]) -> tuple[FloatArray, list[tuple[str, str, str]]]:
    """Sizes by task and persona [blocks, cues], NaN where a cue is missing; only blocks whose cues can be ordered."""
    keys = sorted({(point.task, point.axis, point.persona) for point in points})
    sizes = np.full((len(keys), len(cues)), np.nan)
    for point in points:
        sizes[keys.index((point.task, point.axis, point.persona)), cues.index(point.cue)] = point.size
    there = ~np.isnan(sizes)
    enough = there.sum(axis=1) >= _FEWEST_CUES
    varies = np.array([len(np.unique(row[~np.isnan(row)])) > 1 for row in sizes], dtype=np.bool_)
    kept = enough & varies if len(keys) else np.zeros(0, dtype=np.bool_)
    return sizes[kept], [key for key, keep in zip(keys, kept, strict=True) if keep]


def _orders(cues: int, seed: int) -> NDArray[np.int64]:
    """Orders of the cues, the given one first: all of them, or many drawn."""
    if cues <= _EXACT_CUES:
        return np.array(list(itertools.permutations(range(cues))), dtype=np.int64)
    rng = np.random.default_rng(seed)
    return np.stack([np.arange(cues), *(rng.permutation(cues) for _ in range(_DRAWS))])


def _mean_correlation(explicitness: FloatArray, sizes: FloatArray) -> FloatArray:
    """Mean over blocks of the rank correlation over cues, for every order of explicitness [orders]."""
    total, counted = np.zeros(len(explicitness)), np.zeros(len(explicitness))
    for block in sizes:
        there = ~np.isnan(block)
        ranks = stats.rankdata(block[there])
        others = stats.rankdata(explicitness[:, there], axis=1)
        one, two = ranks - ranks.mean(), others - others.mean(axis=1, keepdims=True)
        length = np.sqrt((one**2).sum() * (two**2).sum(axis=1))
        usable = length > 0
        total += np.where(usable, (two @ one) / np.where(usable, length, 1.0), 0.0)
        counted += usable
    result: FloatArray = np.where(counted > 0, total / np.maximum(counted, 1), np.nan)
    return result
