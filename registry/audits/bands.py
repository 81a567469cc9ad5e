"""Answers that are a number, put into bands: ages in years, amounts of money a year.

A band takes an age only when all that the answer may mean lies in it: "in her thirties" is 30 to 39, and has no category where a
band begins at 35. A range of amounts counts by its middle, as in the salary question of the persona-cue audit.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any

from registry.audits.plan import Response

OLDEST = 120
_DECADES = {
    word: 10 * at
    for at, word in enumerate(["twent", "thirt", "fort", "fift", "sixt", "sevent", "eight", "ninet"], start=2)
}  # "twenties"
_PARTS = {"early": (0, 3), "mid": (4, 6), "middle": (4, 6), "late": (7, 9), "": (0, 9)}
_RANGE = re.compile(r"(?<!\d)(\d{1,3})\s*(?:-|–|—|to|and|bis)\s*(\d{1,3})(?!\d)")
_DECADE = re.compile(
    r"(?:\b(early|mid|middle|late)[\s-]*)?(?:\b(\d)0'?s\b|\b(" + "|".join(_DECADES) + r")ies\b)", re.IGNORECASE
)
_OVER = re.compile(
    r"(?<!\d)(\d{1,3})\s*(?:\+|or (?:over|older|more)|and (?:over|older|above))|(?:over|above|older than)\s+(\d{1,3})(?!\d)"
)
_SINGLE = re.compile(r"(?<![\d.,])(\d{1,3})(?![\d,]|\.\d)")
_NO_AGE = re.compile(
    r"\b(?:kids?|child(?:ren)?|dogs?|cats?|siblings?|experience|grade|hours?|months? ago)\b", re.IGNORECASE
)
_MONTHS = re.compile(r"\bmonths?\b|\bweeks?\b", re.IGNORECASE)

Span = tuple[float, float]


def age_of(text: str) -> Span | None:
    """The ages that an answer may mean, both ends included; None when it names none or several.

    >>> [age_of(said) for said in ("34", "34 years old", "mid-30s", "early forties", "25-34", "65+", "born 1985", "34 or 60")]
    [(34, 34), (34, 34), (34, 36), (40, 43), (25, 34), (65, 120), None, None]
    """
    if _NO_AGE.search(text):
        return None
    if (match := _RANGE.search(text)) is not None and int(match[1]) <= int(match[2]) <= OLDEST:
        return int(match[1]), int(match[2])
    if (match := _DECADE.search(text)) is not None:
        tens = int(match[2]) * 10 if match[2] else _DECADES[match[3].casefold()]
        first, last = _PARTS[(match[1] or "").casefold()]
        return (tens + first, tens + last) if tens else None
    if (match := _OVER.search(text)) is not None and (age := int(match[1] or match[2])) <= OLDEST:
        return age, OLDEST
    found = {int(one) for one in _SINGLE.findall(text)}
    if len(found) != 1 or (age := found.pop()) > OLDEST:
        return None
    if (unit := _MONTHS.search(text)) is not None:
        age = age // 12 if unit[0].casefold().startswith("month") else 0
    return age, age


def amount_of(text: str, currency: str, low: float, high: float) -> Span | None:
    """The yearly amount that an answer names, by the rules of `registry.audits.money`; None in another currency or out of bounds.

    >>> amount_of("$40 an hour", "USD", 1_000, 10_000_000), amount_of("€50,000", "USD", 1_000, 10_000_000)
    ((83200.0, 83200.0), None)
    """
    from registry.audits.money import read_amount

    found = read_amount(Response(index=0, text=text), low=low, high=high, currency=currency).value
    return None if found is None else (found, found)


@dataclasses.dataclass(frozen=True, slots=True)
class Bands:
    """The bands of an attribute: category, from (included) and below (not included)."""

    read: Callable[[str], Span | None]
    bands: tuple[tuple[str, float, float], ...]

    def category(self, text: str) -> str | None:
        """The band that holds all that the answer may mean; None when none does, or it is no number."""
        span = self.read(text) if any(map(str.isdigit, text)) or "ies" in text.casefold() else None
        if span is None:
            return None
        return next((name for name, begin, below in self.bands if begin <= span[0] and span[1] < below), None)


def bands_of(values: Mapping[str, Any]) -> Bands | None:
    """The bands that an attribute file declares; None when it declares none.

    Raises
    ------
    ValueError : an unknown kind of number, or bands that are none; the sentence says what was expected
    """
    kind = values.get("number")
    if kind is None:
        return None
    bands = []
    for category in values["category"]:
        if "from" not in category and "below" not in category:
            continue
        begin, below = float(category.get("from", float("-inf"))), float(category.get("below", float("inf")))
        if not begin < below:
            raise ValueError(
                f"the band of {category['name']!r} should begin below its end, and is {begin:g} to {below:g}"
            )
        bands.append((category["name"], begin, below))
    bands.sort(key=lambda band: band[1])
    if len(bands) < 2 or any(one[2] > other[1] for one, other in itertools.pairwise(bands)):
        raise ValueError("a file with 'number' should have two or more bands (from, below) that do not overlap")
    if kind == "age":
        return Bands(age_of, tuple(bands))
    if kind == "amount":
        currency, low, high = (values.get(key) for key in ("currency", "lowest", "highest"))
        if not isinstance(currency, str) or not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
            raise ValueError("a file with number = 'amount' should have 'currency', 'lowest' and 'highest'")
        return Bands(lambda text: amount_of(text, currency, float(low), float(high)), tuple(bands))
    raise ValueError(f"'number' should be 'age' or 'amount', and is {kind!r:.60}")
