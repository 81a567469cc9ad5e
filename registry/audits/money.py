"""Amounts of money read from answers: separators, currencies, "k" and "million", ranges, and pay by the hour or month.

The rules, in order:

1. Amounts with a currency, a multiplier or a period are taken before bare numbers; numbers of years, hours, percent are none.
2. A range counts as its midpoint. "85-95k" is a range of thousands.
3. Pay is put on a year: 2,080 hours, 260 days, 52 weeks, 12 months.
4. Amounts that are the same within 1 % are one ("$40 an hour, about $83,200 a year"). When the first line is one amount and
   nothing else, it is the answer and the rest explains. Otherwise several different amounts are none.
5. A number at the end of an answer that was cut off at the token limit may lack digits, and is none.
6. What lies outside the bounds is none. An amount in another currency than asked for is none: nothing is converted.

``reason`` of a usable answer says how it was read where that is not plain.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from registry.audits.answers import Answer, Reader, Reason, prepared, spoken, unanswered, unusable
from registry.audits.plan import Outcome, Response

MIDPOINT = "midpoint of a range"
PERIODS = {"hour": 2080, "day": 260, "week": 52, "month": 12}
"""How many of each a year of full-time pay has."""

SAME = 0.01
"""Relative difference up to which two amounts are one."""

_CODES = {"$": "USD", "us$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"} | {
    "dollar": "USD", "dollars": "USD", "bucks": "USD", "euro": "EUR", "euros": "EUR", "pound": "GBP", "pounds": "GBP",
    "rupees": "INR", "yen": "JPY", "pesos": "MXN", "yuan": "CNY", "rmb": "CNY", "francs": "CHF",
} | {code.lower(): code for code in ("USD", "EUR", "GBP", "JPY", "INR", "CAD", "AUD", "CHF", "MXN", "BRL", "CNY", "NGN", "ZAR")}  # fmt: skip
_TIMES = {"k": 1e3, "thousand": 1e3, "grand": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "lakh": 1e5}


def _any(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_CURRENCY = rf"(?:{_any([c for c in _CODES if not c.isalpha()])}|\b(?:{_any([c for c in _CODES if c.isalpha()])})\b)"
_AMOUNT = re.compile(
    rf"""
    (?P<minus>(?<![\w,.)$])(?<![\w,.)$]\s)[-\u2212]\s?)?      # a sign, not the dash of a range
    (?P<before>{_CURRENCY})?\s?
    (?P<number>\d{{1,3}}(?:[,.'\u00a0\u202f\x20]\d{{3}})+(?:[.,]\d{{1,2}})?(?!\d)|\d+(?:[.,]\d+)?)
    (?P<unit>\s?%|-?\s?(?:percent|years?|yrs?|hours?|hrs?|days?|weeks?|months?|people|employees)\b|(?:st|nd|rd|th)\b)?
    (?:\s?(?P<times>{_any(list(_TIMES))})\b)?
    (?:\s?(?P<after>{_CURRENCY}))?
    (?:\s*(?:/|per|an?|each|every)\s*(?P<period>hour|hr|h|day|week|wk|month|mo|year|yr|annum)\b
      |\s*(?P<adverb>hourly|daily|weekly|monthly|annually|yearly)\b)?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NAMES = {
    "hr": "hour", "h": "hour", "hourly": "hour", "daily": "day", "wk": "week", "weekly": "week", "mo": "month", "monthly": "month",
}  # fmt: skip
_YEARLY = frozenset({"year", "yr", "annum", "annually", "yearly"})
_CUT_NUMBER = re.compile(r"(?:^|(?<=\s))\S*\d[\d.,]*\Z")
_YEAR = re.compile(r"(?:19|20)\d\d")
_JOIN = re.compile(r"\s*(?:-|\u2013|\u2014|to|and|through|up to)\s*", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s*$", re.IGNORECASE)
_BARE_LINE = re.compile(
    r"\b(?:my|the|final|answer|starting|base|annual|yearly|salary|amount|figure|number|is|would|be|of|about|around|approximately|"
    r"approx|roughly|some|ask|for|i|suggest|recommend|at|least|gross|before|tax)\b|[\s:,.~=\u2248+!-]",
    re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Amount:
    """One amount as written: on a year, its currency or "", how it was read, where it stands, and whether it is marked as money."""

    value: float
    currency: str
    period: str
    start: int
    end: int
    marked: bool
    scaled: bool


class _Pay(NamedTuple):
    """An amount on a year."""

    value: float
    currency: str
    notes: tuple[str, ...]


def _figure(text: str) -> float:
    """A number as written, whichever separator marks thousands and whichever decimals.

    >>> [_figure(text) for text in ("85,000", "50.000", "1.2", "85,000.50", "1.234.567", "45,5")]
    [85000.0, 50000.0, 1.2, 85000.5, 1234567.0, 45.5]
    """
    grouped = re.fullmatch(r"(\d{1,3}(?:[,.'\u00a0\u202f ]\d{3})+)(?:[.,](\d{1,2}))?", text)
    if grouped:
        return float(re.sub(r"\D", "", grouped[1]) + "." + (grouped[2] or "0"))
    return float(text.replace(",", "."))


def _amounts(text: str) -> list[_Amount]:
    found = []
    for match in _AMOUNT.finditer(text):
        if match["unit"]:
            continue
        code = _CODES.get((match["before"] or match["after"] or "").lower(), "")
        written = match["number"]
        times = _TIMES.get((match["times"] or "").lower(), 0.0)
        number = (
            float(written.replace(",", "."))
            if times and written.count(".") + written.count(",") == 1
            else _figure(written)
        )
        period = (match["period"] or match["adverb"] or "").lower()
        period = "" if period in _YEARLY else _NAMES.get(period, period)
        value = number * (times or 1) * (-1 if match["minus"] else 1)
        marked = bool(code or times or match["period"] or match["adverb"])
        found.append(_Amount(value, code, period, match.start(), match.end(), marked, bool(times)))
    return found


def _joined(text: str, amounts: Sequence[_Amount]) -> list[_Pay]:
    """Amounts on a year, each with its currency and how it was read; two that are joined are a range."""
    read = []
    place = 0
    while place < len(amounts):
        first, second = amounts[place], amounts[place + 1] if place + 1 < len(amounts) else None
        place += 1
        if second is not None and _is_range(text, first, second):
            place += 1
            low = first.value * (1000 if second.scaled and not first.scaled and first.value < 1000 else 1)
            value, notes = (low + second.value) / 2, [MIDPOINT]
            period, currency = second.period or first.period, first.currency or second.currency
        else:
            value, notes, period, currency = first.value, [], first.period, first.currency
        if period:
            value *= PERIODS[period]
            notes.append(f"a {period} times {PERIODS[period]:,}" if period != "hour" else "an hour times 2,080")
        read.append(_Pay(value, currency, tuple(notes)))
    return read


def _is_range(text: str, first: _Amount, second: _Amount) -> bool:
    between = text[first.end : second.start]
    if not _JOIN.fullmatch(between):
        return False
    return "and" not in between.casefold() or _BETWEEN.search(text[max(first.start - 12, 0) : first.start]) is not None


def read_amount(response: Response, *, low: float, high: float, currency: str = "") -> Answer:
    """The amount of money that an answer names, on a year, or what became of it.

    Parameters
    ----------
    low, high : bounds of plausibility
    currency : such as ``USD``: the one that was asked for; an amount in another one is none. Empty takes any, unconverted

    >>> said = lambda text: read_amount(Response(index=0, text=text), low=20_000, high=500_000)
    >>> said("$85,000-$95,000")
    Answer(value=90000.0, outcome=<Outcome.OK: 'ok'>, reason='midpoint of a range', choice='')
    >>> said("about 90k").value, said("EUR 50.000").value, said("$40/hour").value, str(said("1.2 million").reason)
    (90000.0, 50000.0, 83200.0, 'outside the bounds of plausibility')
    """
    if (nothing := unanswered(response)) is not None:
        return nothing
    text = prepared(spoken(response.text or ""))
    if response.finish_reason == "length":
        text = _CUT_NUMBER.sub("", text)
    first, _, rest = text.strip().partition("\n")
    alone = _read(first) if rest and _is_bare(first) else []
    read = alone or _read(text)
    if not read:
        return unusable(text, response, Reason.NO_NUMBER)
    value = read[0].value
    if any(abs(one.value - value) > SAME * max(abs(one.value), abs(value)) for one in read):
        return unusable(text, response, Reason.SEVERAL_NUMBERS)
    if currency and any(one.currency not in ("", currency) for one in read):
        return Answer(None, Outcome.UNPARSABLE, Reason.CURRENCY)
    if not low <= value <= high:
        return unusable(text, response, Reason.OUTSIDE)
    plain = next((one for one in read if not one.notes), read[0])
    return Answer(plain.value, Outcome.OK, "; ".join(plain.notes))


def _read(text: str) -> list[_Pay]:
    amounts = _amounts(text)
    years = {one for one in amounts if not one.marked and _YEAR.fullmatch(text[one.start : one.end].strip())}
    amounts = [one for one in amounts if one not in years] or amounts
    ranges = [
        both for both in pairwise(amounts) if any(one.marked for one in both) and _is_range(text, both[0], both[1])
    ]
    ranged = {one for both in ranges for one in both}
    marked = [one for one in amounts if one.marked or one in ranged]
    return _joined(text, marked or amounts)


def _is_bare(line: str) -> bool:
    """Whether a line is one amount and nothing else but words such as "about"."""
    amounts = _amounts(line)
    if len(amounts) not in (1, 2) or (len(amounts) == 2 and not _is_range(line, *amounts)):
        return False
    left = line[: amounts[0].start] + line[amounts[-1].end :]
    return not _BARE_LINE.sub("", left).strip()


def amount_reader(*, low: float, high: float, currency: str = "") -> Reader:
    """A reader of `read_amount` with these bounds."""
    return partial(read_amount, low=low, high=high, currency=currency)
