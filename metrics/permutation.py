"""Tests that exchange labels: exact where few prompt cells leave Student's t with next to nothing.

The standalone mode names no theme and no region, so it has as many prompts as stances. Two tests still say something
there: the signs of the cell differences, about prompts like these, and labels exchanged within cells, about these prompts.

References
----------
R. A. Fisher (1935), The Design of Experiments, ch. III: signs of paired differences. B. Phipson, G. K. Smyth (2010),
"Permutation p-values should never be zero", SAGMB 9(1).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from metrics.clustered import NO_ERROR, cell_table, contrast
from metrics.samples import Estimate, Samples

FloatArray = NDArray[np.float64]

PERMUTATION = "within-cell-permutation"

_MOST_FLIPS = 14


def sign_flip_pvalue(differences: FloatArray) -> float | None:
    """Exact two-sided p of a mean of cell differences: the share of sign changes that give as large a mean or larger.

    It supposes that each cell's difference is as likely positive as negative, and nothing about its shape. With m cells
    it cannot fall below ``2 / 2^m``: with 2 cells below .5. None for more than 14 cells, where t needs no help.

    >>> sign_flip_pvalue(np.array([1.0, 2.0, 3.0]))
    0.25
    """
    cells = len(differences)
    if not 1 <= cells <= _MOST_FLIPS:
        return None
    signs = 1 - 2 * ((np.arange(2**cells)[:, None] >> np.arange(cells)) & 1)
    sums = np.abs(signs @ differences)
    return float((sums >= sums[0] - 1e-9 * np.abs(differences).sum()).mean())


def within_cell_permutation(
    found: Samples, first: str, second: str, *, seed: int, permutations: int = 4999
) -> Estimate:
    """Does the group matter in these very prompts? Group labels are exchanged between messages of one cell.

    The statistic is that of `contrast`. The null hypothesis is that in each of these cells both groups get messages of
    one distribution, for which p is exact whatever the number of cells; it says nothing about other prompts.

    Parameters
    ----------
    seed, permutations : of the exchanges; ``p = (1 + as large or larger) / (permutations + 1)``, two-sided

    >>> import pandas as pd
    >>> from metrics.samples import samples
    >>> frame = pd.DataFrame({"a": [1.0, 2, 3, 4, 11, 12, 13, 14], "sex": [*"ffffmmmm"], "cell": "x"})
    >>> within_cell_permutation(samples(frame, "a", group="sex"), "f", "m", seed=1).pvalue < 0.05
    True
    """
    table = cell_table(found)
    observed = contrast(table, first, second, basis="repeats")
    method = f"{permutations} exchanges of labels within cells, two-sided: about these {observed.clusters} prompts only"
    if observed.value is None:
        return dataclasses.replace(observed, name=PERMUTATION)
    rng = np.random.default_rng(seed)
    drawn = np.zeros(permutations)
    places = found.place(first), found.place(second)
    used = np.flatnonzero(table.shared(first, second))
    for cell in used:
        inside = found.cell == cell
        of_first = found.values[inside & (found.group == places[0])]
        both = np.concatenate([of_first, found.values[inside & (found.group == places[1])]])
        shuffled = rng.permuted(np.broadcast_to(both, (permutations, len(both))), axis=1)
        taken = shuffled[:, : len(of_first)].sum(axis=1)
        drawn += taken / len(of_first) - (both.sum() - taken) / (len(both) - len(of_first))
    reached = int((np.abs(drawn / len(used)) >= abs(observed.value) - NO_ERROR * table.scale).sum())
    return Estimate(
        name=PERMUTATION,
        groups=(first, second),
        value=observed.value,
        pvalue=(1 + reached) / (permutations + 1),
        method=method,
        n=observed.n,
        clusters=observed.clusters,
        n_excluded=observed.n_excluded,
    )
