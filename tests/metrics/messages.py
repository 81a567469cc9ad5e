"""Message frames for the tests: made from a seed, with a known gap, repeats within cells and cells that differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd


def message_frame(
    *,
    cells: int,
    repeats: int,
    seed: int,
    gap: float = 0.0,
    groups: Sequence[str] = ("female", "male"),
    measures: Sequence[str] = ("a",),
    between: float = 0.5,
    uneven: float = 0.3,
    design: int | None = None,
    same: float = 0.0,
    mode: str = "",
) -> pd.DataFrame:
    """Messages of every group in every cell, normal with standard deviation 1 within a cell and group.

    ``gap`` is the first group's mean minus the last one's, the others evenly between. ``between`` is the standard deviation
    of cell means, ``uneven`` that of a group's own shift in a cell. ``same`` is the share of the variance of these shifts
    that comes from ``design`` (a seed), so that two frames with one design share it. Measures share half of their variance.
    """
    rng = np.random.default_rng(seed)
    prompts = np.random.default_rng(0 if design is None else design)
    shape = (len(measures), cells, len(groups))
    cell_means = between * prompts.standard_normal((len(measures), cells, 1))
    own = np.sqrt(1 - same) * rng.standard_normal(shape) + np.sqrt(same) * prompts.standard_normal(shape)
    levels = gap * np.linspace(0.5, -0.5, len(groups))
    means = cell_means + uneven * own + levels
    shared = rng.standard_normal((1, cells, len(groups), repeats))
    noise = np.sqrt(0.5) * (shared + rng.standard_normal((*shape, repeats)))
    values = means[..., None] + noise
    frame = pd.DataFrame(
        {
            "cell": np.repeat([f"cell {number:03}" for number in range(cells)], len(groups) * repeats),
            "group": np.tile(np.repeat(list(groups), repeats), cells),
        }
    )
    for measure, of in zip(measures, values, strict=True):
        frame[measure] = of.reshape(-1)
    if mode:
        frame["mode"] = mode
    return frame
