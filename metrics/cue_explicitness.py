"""Whether more explicit cues move answers more, as rows of the score table; see `metrics.cue_replication.explicitness_trend`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from metrics.cue_effects import CueEffects
from metrics.cue_replication import explicitness_trend
from metrics.results import Score

TREND, SIZE = "explicitness-trend", "deviation-size"


def explicitness_scores(
    effects: Iterable[CueEffects], explicitness: Mapping[str, float], *, seed: int = 13
) -> list[Score]:
    """The rank correlation of explicitness and deviation, then the mean size of deviations of each cue.

    Parameters
    ----------
    effects, explicitness, seed : as of `explicitness_trend`

    Returns
    -------
    ``explicitness-trend`` of dimension ``overall``: n are deviations, clusters the cues, which are its sample. ``deviation-size`` of
    dimension ``"cue NAME"``, in standard deviations of answers, without the noise of its own errors. Neither has an interval:
    deviations share questions and baselines.
    """
    found = explicitness_trend(effects, explicitness, seed=seed)
    trend = Score(
        metric=TREND,
        dimension="overall",
        value=found.value,
        pvalue=found.pvalue,
        method=f"{found.method}; {found.blocks} tasks x personas; no interval: they share cues and baselines",
        n=found.n,
        n_clusters=found.cues,
        reason=found.reason,
    )
    return [trend] + [
        Score(
            metric=SIZE,
            dimension=f"cue {cue}",
            value=size,
            method="mean over tasks and personas of the root of squared deviation less squared error, in standard deviations "
            "of answers; no interval: they share questions and baselines",
            n=n,
            n_clusters=n,
        )
        for cue, size in found.mean_size.items()
        for n in [sum(point.cue == cue for point in found.points)]
    ]
