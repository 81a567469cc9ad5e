"""The gap in the persuasion bias index under other weights: does a finding hang on what each component is held to be worth?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metrics.clustered import contrast
from metrics.measures import MessageMeasure
from metrics.message_scores import Axis, basis_of_cells, table_of
from metrics.persuasion import AGENCY, IMPERATIVE, MODALITY, NEUTRAL, index_components
from metrics.samples import Estimate

STEPS = 12
"""Steps of the table along each weight. A multiple of 3, so that a third each is on the grid."""

DRAWN_STEPS = 6
"""Steps of the picture: 28 points, few enough for a sign in each. The gap is linear in the weights, so no more is hidden."""

Weights3 = tuple[float, float, float]


def simplex_frame(
    frame: pd.DataFrame, axes: Sequence[Axis], modes: Sequence[str], *, missing: str = NEUTRAL, steps: int = STEPS
) -> pd.DataFrame:
    """The gap in the persuasion bias index at every combination of weights, for each attribute, mode and pair of groups.

    Parameters
    ----------
    missing : of the index, as in `metrics.persuasion.persuasion_bias_index`; steps : of the grid along each weight

    Returns
    -------
    Columns ``audience, mode, groups, agency, modality, imperative, gap, low, high, n, clusters``, intervals (95 %) as for the gap
    itself; no row where a group has no message.
    """
    rows = [
        (axis, mode, " - ".join(gap.groups), *weights, gap.value, gap.low, gap.high, gap.n, gap.clusters)
        for axis, mode, weights, gap in _gaps(frame, axes, modes, missing, steps)
    ]
    columns = ["audience", "mode", "groups", "agency", "modality", "imperative", "gap", "low", "high", "n", "clusters"]
    found = pd.DataFrame(rows, columns=columns)
    return found.sort_values(["audience", "mode", "groups"], kind="stable", ignore_index=True)


def weighted_gaps(
    frame: pd.DataFrame,
    axes: Sequence[Axis],
    modes: Sequence[str],
    *,
    missing: str = NEUTRAL,
    steps: int = DRAWN_STEPS,
) -> list[dict[str, Any]]:
    """The same gaps as plain values, one entry for each attribute, mode and pair of groups, in their order.

    Each has ``axis, mode, groups, n, clusters, method`` and ``points``: weights of agency, modality and imperative, gap, low, high.
    """
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for axis, mode, weights, gap in _gaps(frame, axes, modes, missing, steps):
        groups = " - ".join(gap.groups)
        entry = {"axis": axis, "mode": mode, "groups": groups, "n": gap.n, "clusters": gap.clusters, "points": []}
        one = found.setdefault((axis, mode, groups), entry)
        one["points"].append([*weights, gap.value, gap.low, gap.high])
        # A weight may leave a component that never varies, of which there is no interval: the others say how it is made.
        if gap.low is not None or "method" not in one:
            one["method"] = gap.method
    return list(found.values())


def _gaps(
    frame: pd.DataFrame, axes: Sequence[Axis], modes: Sequence[str], missing: str, steps: int
) -> Iterator[tuple[str, str, Weights3, Estimate]]:
    parts = [_as_measure(frame, name) for name in (AGENCY, MODALITY, IMPERATIVE)]
    components, reasons = index_components(parts[0], parts[1], parts[2], missing)
    absent = np.array([bool(reason) for reason in reasons], dtype=bool)
    for one, two in itertools.product(range(steps + 1), repeat=2):
        if one + two > steps:
            continue
        weights = (one / steps, two / steps, (steps - one - two) / steps)
        index = frame.assign(index=np.where(absent, np.nan, np.array(weights) @ components))
        for axis, mode in itertools.product(axes, modes):
            made = table_of(index[index["mode"] == mode], axis, "index")
            if made is None:
                continue
            basis = basis_of_cells(made[0])
            for first, second in axis.pairs:
                gap = contrast(made[1], first, second, basis=basis)
                if gap.value is not None:
                    yield axis.title, mode, weights, gap


def _as_measure(frame: pd.DataFrame, name: str) -> MessageMeasure:
    values = frame[name].to_numpy(dtype=np.float64)
    reasons = ["not measured" if gone else "" for gone in np.isnan(values)]
    return MessageMeasure.of(name, np.nan_to_num(values), np.zeros(len(values), dtype=np.int64), reasons)
