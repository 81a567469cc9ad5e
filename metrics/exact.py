"""Fisher's exact test and Holm's adjustment, in plain Python: what reads stored results needs them without a numerical library.

References
----------
R. A. Fisher (1922), J. Royal Statistical Society 85, 87-94: the exact test. S. Holm (1979), "A simple sequentially
rejective multiple test procedure", Scandinavian Journal of Statistics 6, 65-70.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from metrics.errors import BadInputError

# Tables that are as likely as the observed one count as extreme, whatever rounding makes of equal numbers.
_EQUAL = 1e-7


def fisher_exact(with_it: tuple[int, int], clusters: tuple[int, int]) -> float:
    """Two-sided p of Fisher's exact test: is a category in equally many requests of two releases?

    Parameters
    ----------
    with_it : requests of each release that have the category; clusters : requests of each release

    >>> round(fisher_exact((0, 5), (10, 10)), 4)
    0.0325
    >>> fisher_exact((0, 5), (10, 10)) == fisher_exact((5, 0), (10, 10))
    True
    """
    if any(not 0 <= part <= whole for part, whole in zip(with_it, clusters, strict=True)):
        raise BadInputError(f"of {clusters} requests {with_it} cannot have a category; give counts from 0 to all")
    # The release with fewer requests first, so that swapping them gives the very same number.
    (part, whole), (other_part, other_whole) = sorted(
        zip(with_it, clusters, strict=True), key=lambda side: (side[1], side[0])
    )
    chances = _chances(whole, other_whole, part + other_part)
    most = chances[part] * (1 + _EQUAL)
    return min(math.fsum(chance for chance in chances.values() if chance <= most) / math.fsum(chances.values()), 1.0)


def _chances(whole: int, other_whole: int, total: int) -> dict[int, float]:
    """Chance of each count in the first release when ``total`` are spread by chance, as a multiple of the most likely one's.

    Each follows from its neighbour, outward from the most likely: nothing is near overflow, and the far ends become 0.
    """
    lowest, highest = max(0, total - other_whole), min(whole, total)
    middle = min(max((total + 1) * (whole + 1) // (whole + other_whole + 2), lowest), highest)

    def ratio(count: int) -> float:
        """Chance of one more, over that of ``count``."""
        return (whole - count) * (total - count) / ((count + 1) * (other_whole - total + count + 1))

    chances = {middle: 1.0}
    for count in range(middle, highest):
        chances[count + 1] = chances[count] * ratio(count)
    for count in range(middle, lowest, -1):
        chances[count - 1] = chances[count] / ratio(count - 1)
    return chances


def holm(pvalues: Sequence[float]) -> list[float]:
    """P values adjusted by Holm's step-down procedure, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(pvalues)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(pvalues)), key=lambda place: pvalues[place])):
        largest = max(largest, pvalues[place] * (len(pvalues) - rank))
        adjusted[place] = min(largest, 1.0)
    return adjusted
