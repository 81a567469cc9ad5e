"""Cohen's kappa: do two people put the same things under the same labels, beyond what chance would give?

References
----------
J. Cohen (1960), "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20, 37-46.
J. L. Fleiss, J. Cohen, B. S. Everitt (1969), "Large sample standard errors of kappa and weighted kappa", Psychological
Bulletin 72, 323-327.
C. J. Clopper, E. S. Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of the binomial",
Biometrika 26, 404-413.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metrics.agreement import Agreement
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from metrics.tables import FloatArray

METRIC = "cohens-kappa"
_ZERO = 1e-12
_LARGE_SAMPLE = "large-sample interval (Fleiss, Cohen and Everitt 1969)"
_EXACT = "exact interval of the agreement (Clopper and Pearson 1934), chance agreement as observed"


def kappas(tables: FloatArray, apart: FloatArray | None = None) -> FloatArray:
    """Kappa of each table: ``1 - sum(apart * shares) / sum(apart * chance)``.

    Parameters
    ----------
    tables : counts or weights of one's labels by the other's, shape [..., labels, labels]
    apart : how far two labels are apart, shape [labels, labels]: 0 on the diagonal, and 1 elsewhere unless it is given

    Returns
    -------
    Shape [...]. NaN for a table that is empty, or in which chance leaves no disagreement: such a kappa has no value.

    >>> import numpy as np
    >>> kappas(np.array([[[20.0, 5.0], [10.0, 15.0]], [[7.0, 0.0], [0.0, 0.0]]])).round(3).tolist()
    [0.4, nan]
    """
    import numpy as np

    weights = 1.0 - np.eye(tables.shape[-1]) if apart is None else apart
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
        chance = shares.sum(axis=-1)[..., :, None] * shares.sum(axis=-2)[..., None, :]
        expected = (weights * chance).sum(axis=(-2, -1))
        found: FloatArray = np.where(expected > 0, 1.0 - (weights * shares).sum(axis=(-2, -1)) / expected, np.nan)
    return found


def cohens_kappa(first: Sequence[str], second: Sequence[str], *, n_excluded: int = 0, level: float = 0.95) -> Agreement:
    """Kappa of two labels a thing, shape [things] each, with its interval.

    ``(observed - expected) / (1 - expected)`` agreement, expected from each person's own use of the labels. Where the
    large-sample error is zero, as when all agree, no sample says so; the interval is then that of the agreement itself.

    Parameters
    ----------
    n_excluded : things that only one of them labelled; told, not used

    >>> found = cohens_kappa(["a", "a", "b", "b"], ["a", "a", "b", "a"])
    >>> found.value, found.n
    (0.5, 4)
    """
    if len(first) != len(second):
        raise BadInputError(f"two labels a thing are compared, and there are {len(first)} and {len(second)}; pair them")
    if not 0 < level < 1:
        raise BadInputError(f"a level is between 0 and 1, not {level}; 0.95 is usual")
    labels = sorted({*first, *second})
    n = len(first)
    if len(labels) < 2:
        reason = f"both use one label only, {labels[0]!r}" if n else "nothing was labelled by both"
        return Agreement(metric=METRIC, value=None, n=n, n_excluded=n_excluded, method="", level=level, reason=reason)
    value, low, high, method = _measured(first, second, labels, level)
    return Agreement(
        metric=METRIC, value=value, low=low, high=high, n=n, n_excluded=n_excluded, method=method, level=level
    )


def _measured(
    first: Sequence[str], second: Sequence[str], labels: Sequence[str], level: float
) -> tuple[float, float, float, str]:
    import numpy as np

    at = {label: place for place, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)))
    for one, other in zip(first, second, strict=True):
        table[at[one], at[other]] += 1
    return kappa_with_interval(table, level)


def kappa_with_interval(table: FloatArray, level: float = 0.95) -> tuple[float, float, float, str]:
    """Kappa of a table of counts, shape [labels, labels], both ends of its interval, and how the interval was made.

    Raises
    ------
    BadInputError : the table is empty, or chance leaves no disagreement: there is no kappa then
    """
    import numpy as np
    from scipy import stats

    value = float(kappas(table))
    if not np.isfinite(value):
        raise BadInputError(
            "kappa needs labels of which chance would leave some apart; all of them are one and the same"
        )
    n, agreed = int(table.sum()), int(np.trace(table))
    shares = table / n
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, chance = agreed / n, float(rows @ columns)
    on = np.diag(shares) @ np.square((1 - chance) - (rows + columns) * (1 - observed))
    weights = np.square(columns[:, None] + rows[None, :])
    off = (1 - observed) ** 2 * ((shares * weights).sum() - np.trace(shares * weights))
    variance = float(on + off - (observed * chance - 2 * chance + observed) ** 2) / (n * (1 - chance) ** 4)
    if variance > _ZERO:
        half = float(stats.norm.ppf((1 + level) / 2)) * variance**0.5
        return value, max(value - half, -1.0), min(value + half, 1.0), _LARGE_SAMPLE
    tail = (1 - level) / 2
    lowest = float(stats.beta.ppf(tail, agreed, n - agreed + 1)) if agreed else 0.0
    highest = float(stats.beta.ppf(1 - tail, agreed + 1, n - agreed)) if agreed < n else 1.0
    low, high = ((end - chance) / (1 - chance) for end in (lowest, highest))
    return value, max(low, -1.0), min(high, 1.0), _EXACT
