"""Years of recurring audits of one simulated release: `benchmarks.calibration.recurring` on audits of the generator."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibration.generator import DIMENSIONS, LISTED, REGIMES, release
from benchmarks.calibration.recurring import resampled_alarm_delays, resampled_false_alarm_years
from benchmarks.calibration.releases import append, lines
from metrics.baseline import baseline_vocabularies, watched_estimates
from metrics.recurring import WatchPolicy
from metrics.verdicts import Policy

FloatArray = NDArray[np.float64]

AUDIT_SIZE = 2_000


def pooled_audits(regime: str, audits: int, *, seed: int, n: int = AUDIT_SIZE) -> tuple[FloatArray, FloatArray]:
    """What a watch notes of independent audits of one release: estimates and variances, each [audits, dimensions].

    The categories that are counted are those of the first audits, as many as a baseline has.
    """
    of_lists, *streams = np.random.default_rng([seed, REGIMES.index(regime), n]).spawn(audits + 1)
    watched = release(regime, of_lists)
    baseline = [watched.audit(n, rng) for rng in streams[: WatchPolicy().baseline]]
    counted = baseline_vocabularies(baseline, DIMENSIONS, names=LISTED, merge_below=Policy().merge_below)
    found = []
    for place, rng in enumerate(streams):
        frame = baseline[place] if place < len(baseline) else watched.audit(n, rng)
        noted = watched_estimates(frame, DIMENSIONS, counted, names=LISTED)
        found.append([(row.estimate, row.variance) for row in noted])
    both = np.array(found, dtype=np.float64)
    if not np.isfinite(both).all():
        raise ValueError(f"a dimension could not be measured in an audit of {n} personas; make the audits larger")
    return both[..., 0], both[..., 1]


def simulate_years(
    path: Path, *, seed: int = 0, pool: int = 1_000, years: int = 4_000, say: Callable[[str], object] = sys.stderr.write
) -> None:
    """Add the shares of false-alarm years and the delays of each regime to a results file that lacks them.

    Parameters
    ----------
    path : JSON lines; seed : of audits and years; pool : audits that years are drawn from; years : of each regime
    say : takes lines on the progress
    """
    done = {record["years"]["regime"] for record in lines(path) if "years" in record}
    for regime in REGIMES:
        if regime in done:
            continue
        say(f"recurring audits, {regime}\n")
        estimates, variances = pooled_audits(regime, pool, seed=seed)
        shares = resampled_false_alarm_years(estimates, variances, years=years, seed=seed)
        delays = resampled_alarm_delays(estimates, variances, years=years, seed=seed)
        known = {"regime": regime, "n": AUDIT_SIZE, "pool": pool}
        records = [{"delay": known | dataclasses.asdict(row)} for row in delays]
        append(path, [*records, *({"years": known | dataclasses.asdict(row)} for row in shares)])
