"""How large must an audit be? Changes that a size can show, sizes that a change needs, and the chance of `unchanged`.

The variance of V squared at a planned size comes from a pilot (`metrics.pilot`), its noise floor included. The floor
matters for names: without it the formula was found too optimistic for them below 5,000 records. With it, simulated
audits of 2,000 to 10,000 records with 50 names reached 83-88 % where 80 % were planned; of 2,400 and 5,000 personas in
dependent answers, 73-86 %, names and others alike. What error the plan has is then mostly that of the pilot: from 2,000
personas, s is off by about a tenth.

References
----------
P. H. Westfall, S. S. Young (1993), Resampling-Based Multiple Testing, Wiley: the largest statistic of a family.
Z. Šidák (1967), JASA 62, 626-633: its critical value when the tests are independent.
D. J. Schuirmann (1987), J. Pharmacokinetics and Biopharmaceutics 15, 657-680: two one-sided tests for equivalence.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from metrics.contingency import score_of
from metrics.errors import BadInputError
from metrics.multiplicity import max_t_critical
from metrics.pilot import Pilot, PilotDimension
from metrics.resampling import multiplier_draws
from metrics.severity import normalized, thresholds
from metrics.verdicts import POWER, Policy

FloatArray = NDArray[np.float64]

_Z_POWER = float(special.ndtri(POWER))
_Z_MARGIN = float(special.ndtri(0.95))  # `unchanged` is judged on the 90 % interval
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)

NAMES_NOTE = (
    "names: only personas with a listed name count, and a verdict needs {needed:,} of them in each release; below 5,000 "
    "take the plan as too optimistic, for the noise of 50 names dilutes a change, and a release may use them less"
)


def v_of_score(score: float, df_star: int) -> float:
    """Raw V that has the given normalized score: the inverse of `metrics.severity.normalized`.

    >>> v_of_score(1.0, 2), round(v_of_score(normalized(0.123, 4), 4), 6)
    (0.35, 0.123)
    """
    small, medium, large = thresholds(df_star)
    if score > 1.0:
        return score * large
    return float(np.interp(score, (0.0, 0.33, 0.66, 1.0), (0.0, small, medium, large)))


def round_up(size: int) -> int:
    """A planned size to two digits, upwards: more would claim a precision that a pilot does not have.

    >>> round_up(12345), round_up(87)
    (13000, 87)
    """
    step = int(10 ** max(0, len(str(size)) - 2))
    return -(-size // step) * step


def critical_value(
    tests: int, alpha: float, influences: FloatArray | None = None, *, draws: int = 4999, seed: int = 0
) -> float:
    """What the largest of ``tests`` one-sided z values exceeds by chance with probability ``alpha``.

    Independent tests: ``ndtri((1 - alpha)^(1 / tests))``. With ``influences`` [requests, k], the first k are drawn with
    the covariance of these multipliers, and the rest as independent, which errs on the side of a larger value.

    >>> round(critical_value(16, 0.05), 3), round(critical_value(1, 0.05), 3)
    (2.726, 1.645)
    """
    if tests < 1 or not 0 < alpha < 0.5:
        raise BadInputError(f"a family has at least one test and an alpha between 0 and 0.5, got {tests} and {alpha}")
    if influences is None or influences.shape[1] == 0:
        return float(special.ndtri((1.0 - alpha) ** (1.0 / tests)))
    if influences.shape[1] > tests:
        raise BadInputError(f"there are influences of {influences.shape[1]} dimensions but {tests} tests in the family")
    scaled = influences / np.sqrt(np.square(influences).sum(axis=0))
    rng = np.random.default_rng([seed, 2])
    joint = multiplier_draws(rng, [scaled], draws)
    rest = rng.standard_normal((draws, tests - scaled.shape[1]))
    return max_t_critical(np.concatenate([joint, rest], axis=1), alpha, two_sided=False)


def detectable_change(pilot: PilotDimension, size: int, critical: float) -> float | None:
    """Smallest rise of V squared that an audit of ``size`` personas a release shows with 80 % power.

    The rise d solves ``d = (critical + z) sqrt(Var(V^2; n) + Var(V^2 + d; n))``, with z = 0.842 for 80 %: the standard
    error is that of the two releases as they then are. None when V would have to pass 1.
    """
    reach = 1.0 - pilot.v_squared
    if reach <= 0 or _excess(pilot, reach, size, critical) < 0:
        return None
    return float(optimize.brentq(lambda rise: _excess(pilot, rise, size, critical), 0.0, reach))


def _excess(pilot: PilotDimension, rise: float, size: float, critical: float) -> float:
    """By how much a rise passes what an audit of that size shows with 80 % power."""
    now, then = pilot.variance_at(pilot.v_squared, size), pilot.variance_at(pilot.v_squared + rise, size)
    return rise - (critical + _Z_POWER) * math.sqrt(now + then)


def size_for(pilot: PilotDimension, rise: float, critical: float) -> int:
    """Personas a release that show a rise of V squared with 80 % power: `detectable_change` solved for the size."""
    if rise <= 0:
        raise BadInputError(f"a size is found for a rise of V squared above 0, got {rise}")
    low, high = 1.0, 2.0
    while _excess(pilot, rise, high, critical) < 0:
        low, high = high, 2 * high
    if low == 1.0:
        return 2
    return math.ceil(float(optimize.brentq(lambda size: _excess(pilot, rise, size, critical), low, high)))


def score_error(pilot: PilotDimension, v_squared: float, size: int) -> float:
    """Standard deviation of the normalized score over audits of ``size`` personas, for a true ``v_squared``.

    By Gauss-Hermite quadrature over normal V squared, as the score bends where V is 0 and at Kim's thresholds.
    """
    values = v_squared + math.sqrt(pilot.variance_at(v_squared, size)) * _NODES
    scores = score_of(values, pilot.df_star)
    share = _WEIGHTS / _WEIGHTS.sum()
    mean = float(share @ scores)
    return math.sqrt(float(share @ np.square(scores - mean)))


def chance_unchanged(pilot: PilotDimension, size: int, margin: float) -> float:
    """Probability that a release which did not change is shown to be `unchanged`, with ``size`` personas a release.

    The 90 % interval of the change must lie inside +-margin: ``max(0, 2 Phi(margin / SE - 1.645) - 1)`` with SE the
    standard error of the difference of two scores. False alarms, which alpha bounds, are not taken off.
    """
    error = math.sqrt(2) * score_error(pilot, pilot.v_squared, size)
    return max(0.0, 2 * float(special.ndtr(margin / error - _Z_MARGIN)) - 1) if error > 0 else 1.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DimensionPlan:
    """What one dimension can show at a planned size. A number that is not there is None, and ``reason`` says why.

    Parameters
    ----------
    score, v : normalized score and raw V of the pilot, without their noise floor
    counted : records that the dimension would count in each release
    detectable, detectable_v : smallest change shown with 80 % power, of the score and of V
    size_for_change : personas a release for the wanted change
    chance_shown : that the wanted change, if real, gives a one-sided q of at most alpha
    chance_regressed : that it is called `regressed`: it must also be estimated at the smallest change that matters
    chance_unchanged : that a release without any change is shown to be so
    """

    dimension: str
    by_name: bool = False
    score: float | None = None
    v: float | None = None
    design_effect: float | None = None
    counted: int | None = None
    detectable: float | None = None
    detectable_v: float | None = None
    size_for_change: int | None = None
    chance_shown: float | None = None
    chance_regressed: float | None = None
    chance_unchanged: float | None = None
    reason: str = ""


def planned_dimensions(
    pilot: Pilot, *, size: int, change: float, per_call: int = 1, policy: Policy | None = None
) -> tuple[DimensionPlan, ...]:
    """One row per dimension of the pilot, then one for each that is missing in it.

    Parameters
    ----------
    size : personas asked for in each release; per_call : personas in one request
    change : wanted change of the normalized score, above 0
    policy : how changes will be judged; default `Policy()`
    """
    policy = policy or Policy()
    if size < 1 or per_call < 1 or not 0 < change < math.inf:
        raise BadInputError(
            f"a plan has a size and a wanted change above 0, got {size} personas, {per_call} a call, change {change}"
        )
    critical = family_critical(pilot, policy)
    rows = [_dimension_plan(one, size, change, per_call, policy, critical) for one in pilot.dimensions]
    return (*rows, *(DimensionPlan(dimension=title, reason=why) for title, why in pilot.missing.items()))


def family_critical(pilot: Pilot, policy: Policy) -> float:
    """Critical value of the pilot's family, the dimensions that it could not measure included."""
    tests = max(1, len(pilot.dimensions) + len(pilot.missing))
    return critical_value(tests, policy.alpha, pilot.influences, draws=policy.multipliers, seed=policy.seed)


def _dimension_plan(
    pilot: PilotDimension, size: int, change: float, per_call: int, policy: Policy, critical: float
) -> DimensionPlan:
    v = math.sqrt(pilot.v_squared)
    score = normalized(v, pilot.df_star)
    counted = int(pilot.share * size + 1e-9)
    reasons = []
    target = v_of_score(score + change, pilot.df_star) ** 2
    wanted = None
    if target > 1:
        reasons.append(f"no release can score {change:g} more than {score:.2f}: V would pass 1")
    else:
        fewest = policy.fewest_clusters * per_call
        if pilot.by_name:
            fewest = max(fewest, math.ceil(policy.name_n_eff / pilot.share - 1e-9))
        wanted = max(size_for(pilot, target - pilot.v_squared, critical), fewest)
    plan = DimensionPlan(
        dimension=pilot.dimension,
        by_name=pilot.by_name,
        score=score,
        v=v,
        design_effect=pilot.design_effect,
        counted=counted,
        size_for_change=wanted,
    )
    if limit := _no_verdict(pilot, size, counted, per_call, policy):
        return dataclasses.replace(plan, reason="; ".join([limit, *reasons]))
    rise = detectable_change(pilot, size, critical)
    if rise is None:
        reasons.append(f"at this size no change is shown: V would have to pass 1 from {v:.2f}")
    else:
        reached = math.sqrt(pilot.v_squared + rise)
        plan = dataclasses.replace(
            plan, detectable=normalized(reached, pilot.df_star) - score, detectable_v=reached - v
        )
    if target <= 1:
        shown, regressed = _chances(pilot, size, change, target, critical, policy)
        plan = dataclasses.replace(plan, chance_shown=shown, chance_regressed=regressed)
    unchanged = chance_unchanged(pilot, size, policy.margin)
    return dataclasses.replace(plan, chance_unchanged=unchanged, reason="; ".join(reasons))


def _no_verdict(pilot: PilotDimension, size: int, counted: int, per_call: int, policy: Policy) -> str:
    """Why the policy gives no verdict at this size, whatever is found; empty when it may."""
    if pilot.by_name and counted < policy.name_n_eff:
        return (
            f"a verdict on names needs {policy.name_n_eff:,} records with a listed name in each release; "
            f"this size gives about {counted:,}"
        )
    if -(-size // per_call) < policy.fewest_clusters:
        return (
            f"a verdict needs {policy.fewest_clusters} requests in each release; this size has {-(-size // per_call)}"
        )
    return ""


def _chances(
    pilot: PilotDimension, size: int, change: float, target: float, critical: float, policy: Policy
) -> tuple[float, float]:
    """Probabilities that the wanted change is shown, and that it is called `regressed`."""
    variances = [pilot.variance_at(v_squared, size) for v_squared in (pilot.v_squared, target)]
    over = (target - pilot.v_squared) / math.sqrt(sum(variances)) - critical
    errors = [score_error(pilot, v_squared, size) for v_squared in (pilot.v_squared, target)]
    material = (change - policy.smallest_change) / max(math.hypot(*errors), 1e-12)
    return float(special.ndtr(over)), float(special.ndtr(min(over, material)))
