"""Many release families watched at once: how many false alerts to expect, and which alarms to believe.

References
----------
A. Javanmard, A. Montanari (2018), "Online rules for control of false discovery rate and false discovery exceedance",
Annals of Statistics 46: levels by the number of discoveries (LOND).
A. Ramdas, F. Yang, M. J. Wainwright, M. I. Jordan (2017), "Online control of the false discovery rate with decaying
memory", NeurIPS 30 (LORD++, which needs independent p values and is therefore not used here).
Z. Xu, A. Ramdas (2024), "Online multiple testing with e-values", AISTATS 27 (e-LOND, for any dependence).
T. Zrnic, A. Ramdas, M. I. Jordan (2021), "Asynchronous online testing of multiple hypotheses", JMLR 22: tests that
overlap in time.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from metrics.errors import BadInputError

HORIZON = 52
"""Audits of one window; after them a new one begins, with half the alpha."""

# Share of 52 audits without a change that raise an alarm (alpha .05) or a warning (k = 1, h = 4.05), with 16 dimensions
# and 5 audits as baseline: the largest over four ways in which answers hang together, 4,000 years each, of
# `benchmarks.calibration.recurring` on simulated audits of 2,000 personas. The Gaussian model has .012 and .047.
MEASURED_ALARMS = 0.025
MEASURED_WARNINGS = 0.044
_MEASURED_ALPHA = 0.05

# Sum of 1 / (n log(n)^2) over n = 2, 3, ...
_SHARES_TOTAL = 2.109742801236892


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How one family is audited: audits per year, and alpha and horizon of its `metrics.recurring.WatchPolicy`."""

    audits_per_year: float = 52.0
    alpha: float = 0.05
    horizon: int = HORIZON

    def __post_init__(self) -> None:
        if not 0 < self.audits_per_year < math.inf or not 0 < self.alpha < 0.5 or self.horizon < 1:
            raise BadInputError(
                f"a schedule has audits_per_year above 0, alpha between 0 and 0.5 and a horizon of 1 or more, got "
                f"{self.audits_per_year}, {self.alpha} and {self.horizon}"
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FalseAlerts:
    """False alerts of a fleet per month, in its first year.

    ``guaranteed_alarms`` : bound on the expected number; ``measured_alarms``, ``measured_warnings`` : what simulated
    years of releases without a change gave.
    """

    families: int
    guaranteed_alarms: float
    measured_alarms: float
    measured_warnings: float


def expected_false_alerts(
    fleet: Sequence[Schedule],
    *,
    measured_alarms: float = MEASURED_ALARMS,
    measured_warnings: float = MEASURED_WARNINGS,
) -> FalseAlerts:
    """Expected number of false alerts a month when no family changes.

    A family counts once per window. Windows that begin in the year bound its number by
    ``alpha (1 + 1/2 + 1/4 + ...)``; the bounds of families add up, however they hang together. The measured number is
    ``measured_alarms`` of that at alpha .05 in proportion to alpha and to the part of each window inside the year.

    Parameters
    ----------
    fleet : one schedule per family
    measured_alarms, measured_warnings : share of 52 audits without a change with an alarm (at alpha .05), a warning

    >>> expected_false_alerts([Schedule()] * 120)
    FalseAlerts(families=120, guaranteed_alarms=0.5, measured_alarms=0.25, measured_warnings=0.44)
    """
    if not (0 <= measured_alarms <= 1 and 0 <= measured_warnings <= 1):
        raise BadInputError(f"measured shares are between 0 and 1, got {measured_alarms} and {measured_warnings}")
    bound = alarms = warnings = 0.0
    for schedule in fleet:
        windows = schedule.audits_per_year / schedule.horizon
        for number in range(math.ceil(windows)):
            alpha = schedule.alpha / 2.0**number
            bound += alpha
            alarms += measured_alarms * alpha / _MEASURED_ALPHA * min(1.0, windows - number)
        warnings += measured_warnings * schedule.audits_per_year / HORIZON
    return FalseAlerts(
        families=len(fleet),
        guaranteed_alarms=round(bound / 12, 12),
        measured_alarms=round(alarms / 12, 12),
        measured_warnings=round(warnings / 12, 12),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OnlineDecision:
    """One test of a stream: its level, what its e value must reach (1 / level), and whether it did.

    ``level`` and ``threshold`` are None for a test that was not made; it takes no part of alpha.
    """

    e_value: float | None
    level: float | None
    threshold: float | None
    discovered: bool


def online_fdr_levels(
    e_values: Sequence[float | None], *, alpha: float = 0.05, overlap: int = 0
) -> tuple[OnlineDecision, ...]:
    """Which tests of a stream are discoveries, at a false discovery rate of at most alpha at every time (e-LOND).

    Test t has the level ``alpha g_t (D + 1)`` with D the discoveries before it and
    ``g_t = 1 / (2.1097 (t + 1) log(t + 1)^2)``, which sum to 1; it is a discovery when its e value reaches 1 / level.
    The bound holds for any dependence between the e values; LORD++ and SAFFRON need independent p values, which
    audits with shared baselines, days and providers do not have.

    Parameters
    ----------
    e_values : one per test, in the order in which the tests were begun, such as ``e_mean`` of
        `metrics.recurring.WatchedAudit` at the end of each window of each family, or when it first reaches its
        threshold. Every test that was begun has its place, an alarm or not: a stream of alarms only has no bound.
        None: not made
    alpha : bound on the false discovery rate
    overlap : tests begun just before that were still open when a test began; their discoveries do not count for it

    Raises
    ------
    BadInputError : an e value that is negative or not finite, alpha outside of (0, 1), negative overlap

    >>> [round(decision.threshold) for decision in online_fdr_levels([100.0, 1.0, 1.0])]
    [41, 76, 162]
    """
    if not 0 < alpha < 1 or overlap < 0:
        raise BadInputError(f"alpha is between 0 and 1 and overlap not negative, got {alpha} and {overlap}")
    decisions: list[OnlineDecision] = []
    discoveries = [0]
    tested = 0
    for place, e_value in enumerate(e_values):
        if e_value is None:
            decisions.append(OnlineDecision(e_value=None, level=None, threshold=None, discovered=False))
            discoveries.append(discoveries[-1])
            continue
        if not 0 <= e_value < math.inf:
            raise BadInputError(f"an e value is finite and not negative, got {e_value} at place {place + 1}")
        tested += 1
        known = discoveries[max(place - overlap, 0)]
        level = alpha * (known + 1) / (_SHARES_TOTAL * (tested + 1) * math.log(tested + 1) ** 2)
        discovered = e_value >= 1 / level
        decisions.append(OnlineDecision(e_value=e_value, level=level, threshold=1 / level, discovered=discovered))
        discoveries.append(discoveries[-1] + discovered)
    return tuple(decisions)
