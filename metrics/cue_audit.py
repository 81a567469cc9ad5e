"""All scores of one audit of persona cues: the analysis of verdicts, the published one, agreement of cues, and replication."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from metrics.cue_comparison import CueDimension, regressions_by_cue
from metrics.cue_correlation import cue_correlations
from metrics.cue_effects import CueEffects, baseline_means, cue_effects
from metrics.cue_paper import PaperTest, paper_summary, paper_tests
from metrics.cue_replication import ExplicitnessTrend, Replication, explicitness_trend, replication
from metrics.cue_scores import cue_gap_scores
from metrics.cue_table import CueTable, cue_table
from metrics.errors import BadInputError
from metrics.results import Comparison, Score
from metrics.verdicts import SPECIFIC

CUES_SHOWING, PAPER_SHARE = "cues-showing-a-difference", "share-of-differences-paper"
TREND = "deviation-by-explicitness"

Bounds = Mapping[str, tuple[float, float]]


def audit_scores(
    frame: pd.DataFrame | CueTable,
    dimensions: Sequence[CueDimension],
    *,
    bounds: Bounds,
    explicitness: Mapping[str, float],
    seed: int,
) -> list[Score]:
    """Every score that follows from the sums of an audit.

    Parameters
    ----------
    frame : columns of `metrics.cue_table.COLUMNS`; dimensions : that verdicts are given on
    bounds : lowest and highest answer of each task; explicitness : of each cue; seed : of resampling

    Returns
    -------
    The gaps of `metrics.cue_scores`. Of each task without a persona its mean; of each task, axis and cue what
    `metrics.cue_effects` and `metrics.cue_paper` say. How many cues show a difference, and whether deviations from the baseline
    grow with the explicitness of the cue (`metrics.cue_replication`); on how many combinations each cue finds a difference
    as the paper counts; rank correlations between cues (`metrics.cue_correlation`).
    """
    table = cue_table(frame)
    effects, tests = cue_effects(table, bounds=bounds), paper_tests(table)
    rows = effect_scores(table, effects, tests, dimensions, explicitness=explicitness, seed=seed)
    return rows + _correlated(table, seed)


def effect_scores(
    table: CueTable,
    effects: Sequence[CueEffects],
    tests: Sequence[PaperTest],
    dimensions: Sequence[CueDimension],
    *,
    explicitness: Mapping[str, float],
    seed: int,
) -> list[Score]:
    """What `audit_scores` gives but the correlations between cues, from effects and the paper's tests as they were made.

    Of releases put together the paper's tests are of other sums than the effects: answers are added up there.
    """
    rows = cue_gap_scores(table, dimensions, seed=seed)
    rows += [found.as_score(f"{task}, no-persona") for task, found in baseline_means(table).items()]
    for one in effects:
        rows += one.scores()
    for test in tests:
        rows += test.scores()
    rows += [_showing(one) for one in replication(effects)]
    rows.append(_trend(explicitness_trend(effects, explicitness, seed=seed)))
    return [*rows, *_paper_shares(tests)]


def _showing(one: Replication) -> Score:
    """How many cues show a difference; the label and what it comes to stand in the method."""
    tested = len(one.tested)
    return Score(
        metric=CUES_SHOWING,
        dimension=one.title,
        value=float(len({finding.cue for finding in one.findings})) if tested else None,
        method=f"{one.label}: {one.why}" if tested else "",
        n=tested,
        n_clusters=tested,
        n_excluded=len(one.untested),
        reason="" if tested else one.why or "no cue could be tested",
    )


def _trend(found: ExplicitnessTrend) -> Score:
    """Whether deviations from the answers without a persona are larger under more explicit cues."""
    return Score(
        metric=TREND,
        dimension="overall",
        value=found.value,
        method=f"{found.method}; {found.cues} cues",
        pvalue=found.pvalue,
        n=found.n,
        n_clusters=found.blocks,
        reason=found.reason,
    )


def _paper_shares(tests: Sequence[PaperTest]) -> Iterator[Score]:
    """On which share of task x axis combinations each cue finds a difference, as the paper counts."""
    summary = paper_summary(tests)
    for cue, (found, of) in summary.by_cue.items():
        yield Score(
            metric=PAPER_SHARE,
            dimension=f"cue {cue}",
            value=found / of if of else None,
            method="combinations of task and axis in which an ANOVA over single answers has p < .01; no interval: "
            "they share questions",
            n=of,
            n_clusters=of,
            reason="" if of else "no combination could be tested",
        )


def _correlated(table: CueTable, seed: int) -> list[Score]:
    """Rank correlations between cues over all persona and question means; none where there is one cue only."""
    if len({cue for _, _, cue in table.combinations}) < 2:
        return []
    try:
        return [score for one in cue_correlations(table.frame, seed=seed) for score in one.scores()]
    except BadInputError as error:
        return [Score(metric="spearman", dimension="overall", value=None, n=0, n_clusters=0, reason=str(error))]


def replication_frame(frame: pd.DataFrame | CueTable, *, bounds: Bounds) -> pd.DataFrame:
    """One row a task and axis: label, whether it alerts, and the cues that show or could not show a difference."""
    rows = []
    for one in replication(_effects(frame, bounds)):
        shown = [f"{f.cue}: {f.higher} above {f.lower}" for f in one.findings]
        rows.append(
            {
                "task": one.task,
                "axis": one.axis,
                "label": one.label,
                "alerting": one.alerting,
                "shown": "; ".join(shown),
                "tested": ", ".join(one.tested),
                "untested": "; ".join(f"{cue}: {reason}" for cue, reason in one.untested),
                "why": one.why,
            }
        )
    return pd.DataFrame(rows)


def _effects(frame: pd.DataFrame | CueTable, bounds: Bounds) -> list[CueEffects]:
    return cue_effects(frame, bounds=bounds)


def replicated(rows: Sequence[Comparison], dimensions: Sequence[CueDimension]) -> list[Comparison]:
    """Comparisons in which a gap that grew under one cue alone decides nothing: it is said to be cue-specific.

    A rare name or an odd wording makes a gap of its own. What is to alert somebody has to show under a second cue, or under
    ``history-human``. Change, interval and q stay as they are.
    """
    labels = {(one.task, one.axis): one for one in regressions_by_cue(rows, dimensions)}
    found = []
    for row, dimension in zip(rows, dimensions, strict=True):
        label = labels[dimension.task, dimension.axis]
        if row.verdict == "regressed" and not label.alerting:
            why = f"{SPECIFIC}: the gap grew under {dimension.cue} and no second cue shows it. {row.why}"
            row = dataclasses.replace(row, verdict="inconclusive", why=why)
        found.append(row)
    return found
