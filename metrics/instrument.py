"""Is the instrument steady? One audit compared with itself (A/A): its first half of requests against its second.

Nothing should differ. When something does, answers changed while they were collected, or the way they are read depends on
when they came, and a difference from another release may be just that. So alerts are held until somebody has looked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd

from metrics.comparison import compare_associations
from metrics.results import Comparison
from metrics.tables import BiasDimension
from metrics.verdicts import Policy

STATES = ("steady", "moved", "not measurable")

ALPHA = 0.01
"""False holds per check, over all dimensions together: a held alert costs more than one in twenty audits."""

_RESAMPLES = 100  # intervals are not used here


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SteadyCheck:
    """``state`` is one of `STATES`, ``why`` the reason in words, ``dimensions`` those that moved."""

    state: str
    why: str
    dimensions: tuple[str, ...] = ()


def split_check(
    frame: pd.DataFrame,
    dimensions: Sequence[BiasDimension],
    *,
    names: Sequence[str] | None = None,
    policy: Policy | None = None,
    alpha: float = ALPHA,
    in_order: bool = True,
) -> SteadyCheck:
    """Compare one audit's first half of requests with its second, two-sided, adjusted over all dimensions.

    Parameters
    ----------
    frame : persona frame of the audit
    dimensions, names, policy : as of `metrics.comparison.compare_associations`; the policy's alpha is replaced
    alpha : probability that a steady instrument is said to have moved
    in_order : split by the order of requests, which shows a change on the way; else at random, for answers whose order
        means something else
    """
    policy = dataclasses.replace(policy or Policy(), alpha=alpha, resamples=_RESAMPLES)
    requests = np.sort(frame["request"].unique())
    if len(requests) < 2 * policy.fewest_clusters:
        return SteadyCheck(
            state="not measurable",
            why=f"a split needs {2 * policy.fewest_clusters} requests with answers; there are {len(requests)}",
        )
    if not in_order:
        requests = np.random.default_rng([policy.seed, 4]).permutation(requests)
    first = frame["request"].isin(requests[: len(requests) // 2])
    rows = compare_associations(frame[first], frame[~first], dimensions, names=names, policy=policy)
    return steady(rows, alpha, "the first and the second half of the requests")


def steady(rows: Sequence[Comparison], alpha: float, what: str) -> SteadyCheck:
    """What rows of a comparison that should show nothing say about the instrument; ``what`` names its two sides."""
    measured = [row for row in rows if row.qvalue is not None]
    if not measured:
        return SteadyCheck(state="not measurable", why=f"no dimension could be measured in {what}")
    moved = [row for row in measured if row.qvalue is not None and row.qvalue <= alpha]
    if moved:
        shown = ", ".join(f"{row.dimension} ({row.delta:+.2f})" for row in moved if row.delta is not None)
        return SteadyCheck(
            state="moved",
            why=f"{what} differ in {shown}, which chance does in {100 * alpha:g} % of checks",
            dimensions=tuple(row.dimension for row in moved),
        )
    return SteadyCheck(state="steady", why=f"{what} differ in none of {len(measured)} dimensions beyond chance")
