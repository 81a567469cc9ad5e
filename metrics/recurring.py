"""Watching one release: baseline, quiet, warning or alarm after each of its recurring audits.

The first audits form the baseline; each later one is judged by the e-process (alarm) and the self-starting CUSUM
(warning) of `metrics.sequential`. What is returned is a function of the audits in their order and of nothing else:
the same sequence gives the same rows, and a longer one starts with the rows of the shorter one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from metrics.errors import BadInputError
from metrics.sequential import (
    DELTAS,
    HORIZON,
    FloatArray,
    Standardized,
    alarm_threshold,
    check_sizes,
    cusum,
    e_process,
    likeliest_start,
    log_scale,
    recursive_residuals,
    standardized,
)

STATES = ("baseline", "quiet", "warning", "alarm")
SCALES = ("log", "given")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchPolicy:
    """How a sequence of audits is judged.

    Parameters
    ----------
    baseline : audits that form the baseline, at least 2
    alpha : bound on the probability of a false alarm in the first window; each further window has half of the one
        before, so that all windows together stay under 2 alpha
    horizon : audits of one window; deltas : rises that are looked for, in standard deviations of one audit
    k, h : allowance and limit of the CUSUM; 1 and 4.05 warn in about 5 % of years without a change (16 dimensions,
        52 audits; fewer dimensions warn less often)
    guard : multiply the stated variances by the dispersion of the baseline when it is above 1
    scale : ``log`` for estimates whose variance grows with them, such as jackknifed V squared
        (`metrics.sequential.log_scale`); ``given`` for those that vary equally around any mean
    """

    baseline: int = 5
    alpha: float = 0.05
    horizon: int = HORIZON
    deltas: tuple[float, ...] = DELTAS
    k: float = 1.0
    h: float = 4.05
    guard: bool = True
    scale: str = "log"

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise BadInputError(f"unknown scale {self.scale!r}; known: {', '.join(SCALES)}")
        if self.baseline < 2 or self.horizon < 1:
            raise BadInputError(
                f"a baseline has 2 audits or more and a window 1 or more, got {self.baseline} and {self.horizon}"
            )
        if not 0 < self.alpha < 0.5:
            raise BadInputError(f"alpha is a probability between 0 and 0.5, got {self.alpha}")
        numbers = (*self.deltas, self.k, self.h)
        if not self.deltas or not all(number > 0 and math.isfinite(number) for number in numbers):
            raise BadInputError(f"deltas (at least one), k and h are above 0, got {self.deltas}, {self.k} and {self.h}")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AuditEstimates:
    """What one audit says of each dimension, in the order of the family.

    Parameters
    ----------
    audit : identity of the audit; size : personas that were counted in it
    estimates : such as jackknifed V squared, see ``scale`` of `WatchPolicy`; None: not measured
    variances : of the estimates, robust to answers of one request hanging together; None where the estimate is
    """

    audit: str
    size: int
    estimates: tuple[float | None, ...]
    variances: tuple[float | None, ...]

    def __post_init__(self) -> None:
        if len(self.estimates) != len(self.variances) or self.size <= 0:
            raise BadInputError(
                f"audit {self.audit!r} needs a size above 0 and one variance per estimate, got size {self.size}, "
                f"{len(self.estimates)} estimates and {len(self.variances)} variances"
            )
        for estimate, variance in zip(self.estimates, self.variances, strict=True):
            if estimate is None and variance is None:
                continue
            if estimate is None or variance is None or not math.isfinite(estimate) or not 0 < variance < math.inf:
                raise BadInputError(
                    f"audit {self.audit!r}: a measured dimension has a finite estimate and a variance above 0, got "
                    f"{estimate} and {variance}; give None for both where it could not be measured"
                )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchedAudit:
    """The state of a release after one of its audits.

    Parameters
    ----------
    audit : identity of the audit; used : audits that count up to it (those that measured at least one dimension)
    state : ``baseline`` (not complete yet), ``quiet``, ``warning`` or ``alarm``, by the evidence as it is now;
        why : the reason in words; first_alarm : the first audit whose state was ``alarm``, if any
    e_value, e_dimension, e_threshold : largest evidence of the present window, where, and what raises an alarm
    e_mean : mean evidence over the dimensions, an e value of the release as a whole (`metrics.fleet`)
    cusum, cusum_dimension, cusum_threshold : the same of the warning lane
    change_start : audit from which a rise is likely, for a warning or an alarm
    window : number of the window, from 0; dispersion : what the stated variances were multiplied by
    unmeasured : dimensions that this audit says nothing of; unwatched : those too rarely measured in the baseline

    Numbers are None until the baseline is complete.
    """

    audit: str
    used: int
    state: str
    why: str
    e_value: float | None = None
    e_dimension: str | None = None
    e_threshold: float | None = None
    e_mean: float | None = None
    cusum: float | None = None
    cusum_dimension: str | None = None
    cusum_threshold: float | None = None
    change_start: str | None = None
    first_alarm: str | None = None
    window: int | None = None
    dispersion: float | None = None
    unmeasured: tuple[str, ...] = ()
    unwatched: tuple[str, ...] = ()


def _once(audits: Sequence[AuditEstimates], dimensions: Sequence[str]) -> list[AuditEstimates]:
    """The audits in order, repeats left out."""
    by_id: dict[str, AuditEstimates] = {}
    for audit in audits:
        if len(audit.estimates) != len(dimensions):
            raise BadInputError(
                f"audit {audit.audit!r} has {len(audit.estimates)} estimates for {len(dimensions)} dimensions; "
                f"give None for those that were not measured"
            )
        if by_id.setdefault(audit.audit, audit) != audit:
            raise BadInputError(
                f"audit {audit.audit!r} came twice with different numbers; give those of one way of scoring"
            )
    return list(by_id.values())


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Evidence:
    """Both processes over the audits after the baseline, with what is needed to put them in words."""

    ids: Sequence[str]
    dimensions: Sequence[str]
    policy: WatchPolicy
    noted: Standardized
    e_values: FloatArray
    levels: FloatArray

    @classmethod
    def of(cls, used: Sequence[AuditEstimates], dimensions: Sequence[str], policy: WatchPolicy) -> _Evidence:
        estimates, variances = (
            np.array([[math.nan if cell is None else cell for cell in cells] for cells in table])
            for table in ([audit.estimates for audit in used], [audit.variances for audit in used])
        )
        there = ~np.isnan(estimates)
        if policy.scale == "log":
            estimates, variances = log_scale(estimates, variances, baseline=policy.baseline, measured=there)
        noted = standardized(
            estimates,
            variances,
            baseline=policy.baseline,
            sizes=[audit.size for audit in used],
            measured=there,
            guard=policy.guard,
        )
        if not noted.watched.any():
            raise BadInputError(
                f"no dimension was measured in 2 of the {policy.baseline} audits of the baseline; start a new baseline"
            )
        windows = [
            e_process(
                noted.z[start : start + policy.horizon],
                noted.rho,
                deltas=policy.deltas,
                horizon=policy.horizon,
                measured=noted.measured[start : start + policy.horizon],
            )
            for start in range(0, len(noted.z), policy.horizon)
        ]
        residuals = recursive_residuals(noted.z, noted.rho, noted.measured)
        return cls(
            ids=[audit.audit for audit in used[policy.baseline :]],
            dimensions=dimensions,
            policy=policy,
            noted=noted,
            e_values=np.concatenate([np.empty((0, len(dimensions))), *windows]),
            levels=cusum(residuals, k=policy.k, measured=noted.measured),
        )

    def rise_start(self, t: int, place: int) -> str:
        """Likeliest first audit of a rise in the present window, after audit ``t``."""
        first = t - t % self.policy.horizon
        there = first + np.flatnonzero(self.noted.measured[first : t + 1, place])
        start = likeliest_start(self.noted.z[there, place], float(self.noted.rho[place]))
        return self.ids[int(there[start])]

    def climb_start(self, t: int, place: int) -> str:
        """First audit after the CUSUM was last at 0 (Page 1954)."""
        zero = np.flatnonzero(self.levels[: t + 1, place] == 0.0)
        after = int(zero[-1]) + 1 if len(zero) else 0
        return self.ids[after + int(np.argmax(self.noted.measured[after : t + 1, place]))]

    def row(self, t: int, first_alarm: str | None) -> WatchedAudit:
        """The state after audit ``t`` of those after the baseline."""
        policy, window = self.policy, t // self.policy.horizon
        top, high = int(np.argmax(self.e_values[t])), int(np.argmax(self.levels[t]))
        e_value, level = float(self.e_values[t, top]), float(self.levels[t, high])
        threshold = alarm_threshold(len(self.dimensions), alpha=policy.alpha, window=window)
        evidence = f"largest e value {e_value:.3g} ({self.dimensions[top]}), an alarm needs {threshold:.4g}"
        climbed = f"largest CUSUM {level:.3g} ({self.dimensions[high]}), a warning needs {policy.h:g}"
        start = None
        if e_value >= threshold:
            state, start = "alarm", self.rise_start(t, top)
            why = f"{evidence}; a rise is likely from audit {start} on: compare a full audit with the baseline"
        elif level >= policy.h:
            state, start = "warning", self.climb_start(t, high)
            why = f"{climbed}; a rise may have begun at {start}; {evidence}"
        else:
            state, why = "quiet", f"{evidence}; {climbed}"
        return WatchedAudit(
            audit=self.ids[t],
            used=policy.baseline + t + 1,
            state=state,
            why=why,
            e_value=e_value,
            e_dimension=self.dimensions[top],
            e_threshold=threshold,
            e_mean=float(self.e_values[t].mean()),
            cusum=level,
            cusum_dimension=self.dimensions[high],
            cusum_threshold=policy.h,
            change_start=start,
            first_alarm=first_alarm or (self.ids[t] if state == "alarm" else None),
            window=window,
            dispersion=float(self.noted.dispersion),
            unwatched=tuple(np.array(self.dimensions)[~self.noted.watched].tolist()),
        )


def _rows(used: Sequence[AuditEstimates], dimensions: Sequence[str], policy: WatchPolicy) -> list[WatchedAudit]:
    """One row for each audit that measured something."""
    check_sizes([audit.size for audit in used])
    rows = [
        WatchedAudit(
            audit=audit.audit,
            used=number,
            state="baseline",
            why=f"audit {number} of the {policy.baseline} that form the baseline",
        )
        for number, audit in enumerate(used[: policy.baseline], start=1)
    ]
    if len(used) >= policy.baseline:
        evidence = _Evidence.of(used, dimensions, policy)
        for t in range(len(used) - policy.baseline):
            rows.append(evidence.row(t, rows[-1].first_alarm))
    return rows


def watch(
    audits: Sequence[AuditEstimates], dimensions: Sequence[str], policy: WatchPolicy | None = None
) -> tuple[WatchedAudit, ...]:
    """State of a release after each of its audits, in the order given.

    An audit that comes again is counted once. A dimension that an audit does not measure gains and loses no evidence
    by it, and an audit that measured nothing changes nothing. After ``horizon`` audits a new window starts against the
    same baseline with half the alpha of the one before: a rise that was not found is then still one from the baseline.
    The CUSUM runs on. After an alarm that was looked into, or a new release, give the audits of a new baseline.

    Parameters
    ----------
    audits : estimates of one release by audit, oldest first, the first ones as baseline; sizes at most 10 % apart
    dimensions : names of the family; all of them count in the threshold, measured or not
    policy : default `WatchPolicy()`

    Raises
    ------
    BadInputError : an audit of another size or number of dimensions, one that came twice with different numbers, or a
        baseline that measured no dimension twice

    >>> def audit(week: int, value: float) -> AuditEstimates:
    ...     return AuditEstimates(audit=f"week {week}", size=2000, estimates=(value,), variances=(1e-6,))
    >>> values = [0.020, 0.021, 0.020, 0.025, 0.026]
    >>> rows = watch([audit(*pair) for pair in enumerate(values)], ["gender x occupation"], WatchPolicy(baseline=3))
    >>> [row.state for row in rows], rows[-1].change_start
    (['baseline', 'baseline', 'baseline', 'quiet', 'alarm'], 'week 3')
    """
    policy = policy or WatchPolicy()
    if not dimensions or len(set(dimensions)) != len(dimensions):
        raise BadInputError(f"a family has at least one dimension, each once, got {list(dimensions)}")
    sequence = _once(audits, dimensions)
    rows = iter(_rows([audit for audit in sequence if any(v is not None for v in audit.estimates)], dimensions, policy))
    last = WatchedAudit(audit="", used=0, state="baseline", why="no audit has measured a dimension yet")
    watched = []
    for audit in sequence:
        missing = tuple(name for name, value in zip(dimensions, audit.estimates, strict=True) if value is None)
        if len(missing) < len(dimensions):
            last = next(rows)
            row = last
        else:
            row = dataclasses.replace(last, why=f"no dimension was measured, nothing changes: {last.why}")
        watched.append(dataclasses.replace(row, audit=audit.audit, unmeasured=missing))
    return tuple(watched)
