"""Several releases, or families, together: what each cue finds in them, and how far they and the cues agree.

The analysis of verdicts is made of the releases' sums put together, where each counts the same unless answers are to. The paper's tests
are made of all answers added up, as in the paper. Both are counted by the same rules, so that their counts can be laid side by side.
Correlations are between the single releases (or families), and between cues over the means of each, which are not put together.

References
----------
arXiv 2601.18572, section 4 and figure 4: counts over tasks and axes of models put together, correlations between cues and models.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from metrics.cue_correlation import OVERALL, CueCorrelation, cue_correlations
from metrics.cue_effects import CueEffects
from metrics.cue_paper import PaperSummary
from metrics.cue_table import KEYS, pooled
from metrics.errors import BadInputError

RELEASE, FAMILY = UNITS = ("release", "family")
EQUAL, ANSWERS = WEIGHTS = ("equal", "answers")
_POOLED_BY = {EQUAL: "releases", ANSWERS: "answers"}


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """What the analysis of verdicts shows of one task, axis and cue, as `metrics.cue_paper.paper_summary` counts it."""

    effects: CueEffects

    @property
    def task(self) -> str:
        return self.effects.task

    @property
    def axis(self) -> str:
        return self.effects.axis

    @property
    def cue(self) -> str:
        return self.effects.cue

    @property
    def untested(self) -> str:
        """Why there is no test; empty when there is."""
        return "" if self.effects.test.qvalue is not None else self.effects.test.reason or "not measured"

    def differs(self, alpha: float) -> bool:
        """Whether the test of all personas shows a difference."""
        return self.effects.differs(alpha)

    def found(self, alpha: float) -> frozenset[tuple[str, str]]:
        """Pairs (higher, lower) that are shown to differ."""
        shown = self.effects.shown(alpha)
        return frozenset(
            (pair.personas[0], pair.personas[1])
            if (pair.gap.value or 0.0) > 0
            else (pair.personas[1], pair.personas[0])
            for pair in shown
        )


def shown_tests(effects: Iterable[CueEffects]) -> list[Shown]:
    """The analysis of verdicts in the form that is counted."""
    return [Shown(one) for one in effects]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CueCount:
    """On how many combinations of task and axis one cue finds a difference.

    Parameters
    ----------
    found, tested : by the analysis of verdicts; paper_found, paper_tested : by the paper's ANOVA
    """

    cue: str
    found: int
    tested: int
    paper_found: int
    paper_tested: int


def cue_counts(shown: PaperSummary, paper: PaperSummary) -> tuple[CueCount, ...]:
    """Both counts of every cue, by name.

    A share of so few combinations that share their questions has no interval.
    """
    nothing = (0, 0)
    return tuple(
        CueCount(
            cue=cue,
            found=shown.by_cue.get(cue, nothing)[0],
            tested=shown.by_cue.get(cue, nothing)[1],
            paper_found=paper.by_cue.get(cue, nothing)[0],
            paper_tested=paper.by_cue.get(cue, nothing)[1],
        )
        for cue in sorted({*shown.by_cue, *paper.by_cue})
    )


def units_of(
    frames: Mapping[str, pd.DataFrame], families: Mapping[str, str], by: str, weights: str
) -> dict[str, pd.DataFrame]:
    """Cue sums by release, or those of each family put together.

    Parameters
    ----------
    frames : by release; families : family of each release
    by : ``release`` or ``family``; weights : ``equal``: each release counts the same in its family, or ``answers``
    """
    if by not in UNITS:
        raise BadInputError(f"persona cues are pooled by {' or '.join(UNITS)}, got {by!r}")
    if by == RELEASE:
        return dict(frames)
    members: dict[str, list[pd.DataFrame]] = {}
    for release, frame in frames.items():
        members.setdefault(families[release], []).append(frame)
    return {family: own[0] if len(own) == 1 else pooled_units(own, weights) for family, own in members.items()}


def pooled_units(frames: Iterable[pd.DataFrame], weights: str) -> pd.DataFrame:
    """Sums of several releases or families as one frame. ``weights`` : ``equal``: each counts the same; ``answers``: added up."""
    if weights not in WEIGHTS:
        raise BadInputError(f"releases count the same ('equal') or by their answers ('answers'), got {weights!r}")
    return pooled(frames, weights=_POOLED_BY[weights])


def correlations_between(
    frames: Mapping[str, pd.DataFrame], unit: str, *, seed: int = 0, resamples: int = 1000
) -> list[CueCorrelation]:
    """Every two releases (or families): overall, by task, by persona and by cue. ``unit`` : what the frames are of."""
    found = cue_correlations(
        frames, source=RELEASE, by=(OVERALL, "task", "persona", "cue"), seed=seed, resamples=resamples
    )
    return [dataclasses.replace(row, source=unit) for row in found]


def correlations_of_cues(
    frames: Mapping[str, pd.DataFrame], unit: str, *, seed: int = 0, resamples: int = 1000
) -> list[CueCorrelation]:
    """Every two cues over the means of all releases (or families): overall, by task, by persona, and in each of them.

    With one cue alone there is none.
    """
    cues = {cue for frame in frames.values() for cue in frame.loc[frame["axis"] != "", "cue"].unique()}
    if len(cues) < 2:
        return []
    by: Sequence[str] = (OVERALL, "task", "persona", RELEASE)
    found = cue_correlations(frames, source="cue", by=by, seed=seed, resamples=resamples)
    return [dataclasses.replace(row, grouping=unit) if row.grouping == RELEASE else row for row in found]


def shared_prompts(frames: Mapping[str, pd.DataFrame]) -> tuple[dict[str, pd.DataFrame], int]:
    """The sums of the prompts that every release was asked, and how many prompts are left out.

    Audits of one design may differ in size: a mean over other questions or variants is another mean.
    """
    keys = list(KEYS)
    first, *others = frames.values()
    if all(
        len(one) == len(first) and one[keys].reset_index(drop=True).equals(first[keys].reset_index(drop=True))
        for one in others
    ):
        return dict(frames), 0
    asked = pd.concat([frame[keys] for frame in frames.values()], ignore_index=True)
    times = asked.groupby(keys, as_index=False).size()
    whole = times[times["size"] == len(frames)][keys]
    if whole.empty:
        raise BadInputError("these audits share no prompt: they were asked other questions, or of other personas")
    return {name: whole.merge(frame, on=keys) for name, frame in frames.items()}, len(times) - len(whole)
