"""How often does a year of recurring audits of an unchanged release raise an alarm, and how soon is a rise found?

Years come from a Gaussian model with a given correlation of the dimensions, or are put together from audits that were
really simulated and measured (`benchmarks.calibration.generator`). Baseline error is part of every year. The rules:

``weekly-z`` : some dimension has z > 1.645 in some audit, as if each were the only test
``weekly-max-t`` : the largest z of some audit exceeds the 5 % value of one family, as if it were the only audit
``e-process`` : the alarm of `metrics.recurring`, at dimensions / alpha
``self-starting-cusum`` : its warning
``fixed-baseline-cusum`` : a CUSUM with the same k and h that takes the mean of the baseline for exact
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from metrics.errors import BadInputError
from metrics.multiplicity import max_t_critical
from metrics.recurring import WatchPolicy
from metrics.sequential import alarm_threshold, cusum, e_process, log_scale, recursive_residuals, standardized

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

RULES = ("weekly-z", "weekly-max-t", "e-process", "self-starting-cusum", "fixed-baseline-cusum")
SHIFTS = (1.0, 1.5, 2.0, 3.0)
SHIFT_AT = 20
LARGEST_SHARE = 0.06
"""Bar for the share of years with a false alarm, for the e-process and the self-starting CUSUM."""

_YEARS_AT_ONCE = 500
_CRITICAL_DRAWS = 200_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AlarmShare:
    """Share of years without a change in which a rule had an alarm, with its exact 95 % interval (Clopper-Pearson)."""

    rule: str
    years: int
    alarms: int
    share: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AlarmDelay:
    """How soon a rule finds a rise of one dimension, in audits from the first with the rise (that one is 1).

    ``shift`` : rise in standard deviations of one audit. ``median`` : None when under half of the years had an alarm
    by the end. ``within_four``, ``by_the_end`` : shares of years, with the exact 95 % interval of the second
    """

    rule: str
    shift: float
    years: int
    median: float | None
    within_four: float
    by_the_end: float
    low: float
    high: float


def exact_interval(successes: int, trials: int) -> tuple[float, float]:
    """95 % interval of a share (Clopper and Pearson 1934, Biometrika 26).

    >>> [round(bound, 4) for bound in exact_interval(5, 100)]
    [0.0164, 0.1128]
    """
    low = 0.0 if successes == 0 else float(stats.beta.ppf(0.025, successes, trials - successes + 1))
    high = 1.0 if successes == trials else float(stats.beta.ppf(0.975, successes + 1, trials - successes))
    return low, high


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Family:
    """What the rules must know of the family: its size and the 5 % value of its largest z."""

    dimensions: int
    critical: float
    policy: WatchPolicy

    @classmethod
    def of(cls, correlation: FloatArray, policy: WatchPolicy, seed: int) -> _Family:
        draws = np.random.default_rng([seed, 1]).standard_normal((_CRITICAL_DRAWS, len(correlation)))
        critical = max_t_critical(draws @ _root(correlation).T, 0.05, two_sided=False)
        return cls(dimensions=len(correlation), critical=critical, policy=policy)

    def alarms(self, z: FloatArray, rho: FloatArray) -> dict[str, BoolArray]:
        """Whether each rule has an alarm [audits, years, dimensions], from z and rho of `standardized`."""
        policy = self.policy
        each = z / np.sqrt(1 + rho)
        values = e_process(z, rho, deltas=policy.deltas, horizon=policy.horizon)
        found = (
            each > special.ndtri(0.95),
            each > self.critical,
            values >= alarm_threshold(self.dimensions, alpha=policy.alpha),
            cusum(recursive_residuals(z, rho), k=policy.k) >= policy.h,
            cusum(z, k=policy.k) >= policy.h,
        )
        return dict(zip(RULES, found, strict=True))


def _root(correlation: FloatArray) -> FloatArray:
    """A matrix whose product with its transpose is the correlation, which may be singular."""
    values, vectors = np.linalg.eigh(correlation)
    if values[0] < -1e-8 or not np.allclose(correlation, correlation.T) or not np.allclose(np.diag(correlation), 1):
        raise BadInputError("a correlation matrix is symmetric, has ones on its diagonal and no negative eigenvalue")
    root: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


_Years = Callable[[np.random.Generator, int, FloatArray | float], tuple[FloatArray, FloatArray]]
"""z and rho [audits, years, dimensions] and [years, dimensions] of so many years, with a rise in standard deviations of
one audit [baseline and audits, years, dimensions] added."""


def _gaussian_years(correlation: FloatArray, audits: int, baseline: int, understated: float) -> _Years:
    root = _root(correlation)

    def years(rng: np.random.Generator, number: int, rise: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        drawn = understated * (rng.standard_normal((baseline + audits, number, len(root))) @ root.T + rise)
        return drawn[baseline:] - drawn[:baseline].mean(axis=0), np.full(drawn.shape[1:], 1 / baseline)

    return years


def _risen(
    values: FloatArray, spreads: FloatArray, rise: FloatArray | float, pool: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Estimates of V squared, and their variances, after a rise of V in standard deviations of V in one audit.

    The standard deviation of V hardly depends on V, so that of V squared grows with it. Where V squared is hardly above
    0, a constant is added before the root is taken.
    """
    deviation = pool.std(axis=0, ddof=1)
    added = np.maximum(0.0, 3 * deviation - pool.mean(axis=0))
    least = (pool.mean(axis=0) + added) / 4
    root, moved = np.sqrt(np.maximum(pool + added, least)), np.sqrt(np.maximum(values + added, least))
    growth = (moved + rise * root.std(axis=0, ddof=1)) / moved
    return values + moved**2 * (growth**2 - 1), spreads * growth**2


def _resampled_years(
    estimates: FloatArray, variances: FloatArray, audits: int, policy: WatchPolicy, understated: float
) -> _Years:
    stated = variances / understated**2

    def years(rng: np.random.Generator, number: int, rise: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        chosen = rng.integers(len(estimates), size=(policy.baseline + audits, number))
        values, spreads = estimates[chosen], stated[chosen]
        if policy.scale == "log":
            values, spreads = _risen(values, spreads, rise, estimates)
            values, spreads = log_scale(values, spreads, baseline=policy.baseline)
        else:
            values = values + rise * estimates.std(axis=0, ddof=1)
        noted = standardized(values, spreads, baseline=policy.baseline, guard=policy.guard)
        return noted.z, noted.rho

    return years


def _checked_pool(estimates: FloatArray, variances: FloatArray) -> None:
    if estimates.ndim != 2 or estimates.shape != variances.shape or len(estimates) < 100:
        raise BadInputError(
            f"estimates and variances have one shape [audits, dimensions] with 100 audits or more, got "
            f"{estimates.shape} and {variances.shape}"
        )


def _batches(years: int) -> Iterator[int]:
    for start in range(0, years, _YEARS_AT_ONCE):
        yield min(_YEARS_AT_ONCE, years - start)


def _alarm_shares(draw: _Years, family: _Family, years: int, seed: int) -> tuple[AlarmShare, ...]:
    rng = np.random.default_rng([seed, 2])
    counted = dict.fromkeys(RULES, 0)
    for number in _batches(years):
        for rule, alarms in family.alarms(*draw(rng, number, 0.0)).items():
            counted[rule] += int(alarms.any(axis=(0, 2)).sum())
    rows = []
    for rule, count in counted.items():
        low, high = exact_interval(count, years)
        rows.append(AlarmShare(rule=rule, years=years, alarms=count, share=count / years, low=low, high=high))
    return tuple(rows)


def false_alarm_years(
    correlation: FloatArray,
    *,
    years: int = 4000,
    audits: int = 52,
    policy: WatchPolicy | None = None,
    understated: float = 1.0,
    seed: int = 0,
) -> tuple[AlarmShare, ...]:
    """Share of years with a false alarm in the Gaussian model, one row per rule.

    Parameters
    ----------
    correlation : of the estimates of one audit [dimensions, dimensions]
    years : simulated; audits : of a year, at most the horizon; policy : default `WatchPolicy()`, without its scale
        and guard: estimates are Gaussian and their variance is known
    understated : true standard error over the stated one
    """
    policy = policy or WatchPolicy()
    family = _Family.of(correlation, policy, seed)
    return _alarm_shares(_gaussian_years(correlation, audits, policy.baseline, understated), family, years, seed)


def resampled_false_alarm_years(
    estimates: FloatArray,
    variances: FloatArray,
    *,
    years: int = 4000,
    audits: int = 52,
    policy: WatchPolicy | None = None,
    understated: float = 1.0,
    seed: int = 0,
) -> tuple[AlarmShare, ...]:
    """Share of years with a false alarm, in years drawn with replacement from audits of one unchanged release.

    Standard errors are estimated as in use: from the audits of each year's baseline, with the scale and the guard of the
    policy.

    Parameters
    ----------
    estimates, variances : of each dimension in independent audits of one size [audits, dimensions]
    years, audits, policy, understated : as of `false_alarm_years`
    """
    _checked_pool(estimates, variances)
    policy = policy or WatchPolicy()
    family = _Family.of(np.asarray(np.corrcoef(estimates, rowvar=False)), policy, seed)
    draw = _resampled_years(estimates, variances, audits, policy, understated)
    return _alarm_shares(draw, family, years, seed)


def _delay(rule: str, shift: float, found: BoolArray) -> AlarmDelay:
    """``found`` : alarm of the risen dimension [audits from the rise on, years]."""
    years = found.shape[1]
    delays = np.where(found.any(axis=0), found.argmax(axis=0) + 1.0, np.inf)
    hits = int(found.any(axis=0).sum())
    low, high = exact_interval(hits, years)
    # With an even number of years the lower of the two middle ones, so that no infinity is averaged.
    median = float(np.sort(delays)[(years - 1) // 2])
    return AlarmDelay(
        rule=rule,
        shift=shift,
        years=years,
        median=median if median < np.inf else None,
        within_four=float((delays <= 4).mean()),
        by_the_end=hits / years,
        low=low,
        high=high,
    )


def _delays(
    draw: _Years, family: _Family, audits: int, shifts: Sequence[float], years: int, shift_at: int, seed: int
) -> tuple[AlarmDelay, ...]:
    """The risen dimension is another one from year to year; only its own alarms count."""
    if not 1 <= shift_at <= audits:
        raise BadInputError(f"a rise begins at one of the {audits} audits of the year, got {shift_at}")
    rows = []
    for shift in shifts:
        rng = np.random.default_rng([seed, 3])
        found: dict[str, list[BoolArray]] = {rule: [] for rule in RULES}
        for number in _batches(years):
            year, dimension = np.arange(number), np.arange(number) % family.dimensions
            rise = np.zeros((family.policy.baseline + audits, number, family.dimensions))
            rise[family.policy.baseline + shift_at - 1 :, year, dimension] = shift
            z, rho = draw(rng, number, rise)
            risen = family.alarms(z[:, year, dimension, None], rho[year, dimension, None])
            for rule, alarms in risen.items():
                found[rule].append(alarms[shift_at - 1 :, :, 0])
        rows += [_delay(rule, shift, np.concatenate(parts, axis=1)) for rule, parts in found.items()]
    return tuple(rows)


def alarm_delays(
    correlation: FloatArray,
    *,
    shifts: Sequence[float] = SHIFTS,
    shift_at: int = SHIFT_AT,
    years: int = 4000,
    audits: int = 52,
    policy: WatchPolicy | None = None,
    seed: int = 0,
) -> tuple[AlarmDelay, ...]:
    """How soon a rise of one dimension is found in the Gaussian model, one row per shift and rule.

    Parameters
    ----------
    correlation : of the estimates of one audit [dimensions, dimensions]
    shifts : rises in standard deviations of one audit; shift_at : first audit with the rise, from 1
    years, audits, policy : as of `false_alarm_years`
    """
    policy = policy or WatchPolicy()
    family = _Family.of(correlation, policy, seed)
    draw = _gaussian_years(correlation, audits, policy.baseline, 1.0)
    return _delays(draw, family, audits, shifts, years, shift_at, seed)


def resampled_alarm_delays(
    estimates: FloatArray,
    variances: FloatArray,
    *,
    shifts: Sequence[float] = SHIFTS,
    shift_at: int = SHIFT_AT,
    years: int = 4000,
    audits: int = 52,
    policy: WatchPolicy | None = None,
    seed: int = 0,
) -> tuple[AlarmDelay, ...]:
    """How soon a rise is found in years drawn from audits of one release, one row per shift and rule.

    Parameters
    ----------
    estimates, variances : of each dimension in independent audits of one size [audits, dimensions]
    shifts : rises in standard deviations of one audit: of V, when the scale of the policy is ``log`` and the estimates are
        of V squared, else of the estimates
    shift_at : as of `alarm_delays`; years, audits, policy : as of `resampled_false_alarm_years`
    """
    _checked_pool(estimates, variances)
    policy = policy or WatchPolicy()
    family = _Family.of(np.asarray(np.corrcoef(estimates, rowvar=False)), policy, seed)
    draw = _resampled_years(estimates, variances, audits, policy, 1.0)
    return _delays(draw, family, audits, shifts, years, shift_at, seed)


def too_many_false_alarms(shares: Sequence[AlarmShare]) -> tuple[AlarmShare, ...]:
    """Rows of the two rules in use whose share of years with a false alarm is above the bar of 6 %."""
    used = ("e-process", "self-starting-cusum")
    return tuple(row for row in shares if row.rule in used and row.share > LARGEST_SHARE)
