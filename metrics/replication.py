"""How often a finding is seen in two independent samples of one release that are compared with the same reference.

Both comparisons share the reference's sample, so their errors hang together: with samples of equal size half of each
variance is that of the reference, and the correlation is 1/2.
"""

from __future__ import annotations

from scipy.special import ndtri
from scipy.stats import multivariate_normal

from metrics.errors import BadInputError

SHARED_REFERENCE = 0.5


def twice(once: float, *, correlation: float = SHARED_REFERENCE) -> float:
    """Probability that two comparisons both find what one finds with the probability ``once``, for one test.

    The two statistics are jointly normal. Without a change ``once`` is the level, and this is the rate of false alarms of
    two in a row; with one it is the power, and this is what demanding a second sample leaves of it.

    >>> round(twice(0.05), 4), round(twice(0.05, correlation=0), 4)
    (0.0122, 0.0025)
    >>> round(twice(0.8), 2)
    0.69
    """
    if not 0 < once < 1:
        raise BadInputError(f"a probability lies between 0 and 1, got {once}")
    bound = float(ndtri(once))
    joint = multivariate_normal([0.0, 0.0], [[1.0, correlation], [correlation, 1.0]], allow_singular=True)
    return float(joint.cdf([bound, bound]))


def false_alarms_twice(alpha: float, dimensions: int = 1) -> float:
    """False-alarm rate of two comparisons in a row that must agree in at least one dimension.

    ``alpha`` is the rate of one comparison over all its dimensions. With ``dimensions`` = 1 it is also that of any number
    of dimensions that always err together, which is the worst case; of independent ones it is lower.

    >>> round(false_alarms_twice(0.05), 4), round(false_alarms_twice(0.05, 16), 4)
    (0.0122, 0.0043)
    """
    if dimensions < 1:
        raise BadInputError(f"there is at least one dimension, got {dimensions}")
    each = 1 - (1 - alpha) ** (1 / dimensions)
    return 1 - (1 - twice(each)) ** dimensions
