"""Spellings of one word in Devanagari brought together, so that what reads alike is compared alike.

The Unicode Standard, version 16, section 12.1 (Devanagari), and the spelling rules of the Central Hindi Directorate ("Devanāgarī lipi tathā Hindī
vartanī kā mānakīkaraṇ"), which let a nasal before a consonant of its own row be written as anusvara.
"""

from __future__ import annotations

import re

LETTERS = "\u0900-\u0963\u0966-\u096f\u0971-\u097f"
"""The block without its punctuation (danda, double danda, sign of abbreviation), as part of a class of a pattern: ``\\w`` has the
letters and digits, but neither vowel signs nor virama, and would take a word apart at each of them."""

_ANY = re.compile("[\u0900-\u097f]")
_JOINERS = re.compile("[\u200b-\u200d\u2060\ufeff]")
_FOLDED = {0x0929: "न", 0x0931: "र", 0x0934: "ळ", 0x093C: None, 0x0901: "ं"}
_FOLDED |= {0x0966 + digit: str(digit) for digit in range(10)}
_ROWS = {"ङ": "कखगघ", "ञ": "चछजझ", "ण": "टठडढ", "न": "तथदध", "म": "पफबभ"}
_NASAL = re.compile("|".join(f"{nasal}\u094d(?=[{row}])" for nasal, row in _ROWS.items()))


def whole(text: str) -> str:
    """A text without the invisible joiners that only say how letters of Devanagari are drawn.

    >>> whole("लक्\u200dष्मी") == "लक्ष्मी", whole("a\u200db") == "a\u200db"
    (True, True)
    """
    return _JOINERS.sub("", text) if _ANY.search(text) else text


def folded(text: str) -> str:
    """A text, after NFKC, with one spelling of each word: no joiners and no nukta, anusvara for chandrabindu and for a nasal before
    its own row, digits 0 to 9. A text without Devanagari is returned as it is.

    >>> [folded(word) for word in ("हिन्दी", "हिंदी", "फ़िल्में", "पाँच", "१२वीं")]
    ['हिंदी', 'हिंदी', 'फिल्में', 'पांच', '12वीं']
    """
    if not _ANY.search(text):
        return text
    return _NASAL.sub("ं", whole(text).translate(_FOLDED))
