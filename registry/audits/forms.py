"""What an answer is by its form alone: a code, a clause, a person's name, letters that are no word, a fragment of text.

`registry.audits.matching` asks for the form of an answer in which it found no category, to tell "names nothing" from "names
something we do not know". Every rule is narrow, has a name, and is written into the basis of the category. A real English
word, and a short phrase of real words, has no form: it stays unmapped and is listed, so that a new hobby is seen.
"""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

CODE = "code"
CLAUSE = "clause"
NAME = "name"
NO_WORD = "no word"
FRAGMENT = "fragment"
FORMS = (CODE, CLAUSE, NAME, NO_WORD, FRAGMENT)
"""The forms, in the order in which they are tried."""

FRAGMENT_WORDS = 7
"""An answer of so many words, none of them known to a category, is text and not a term."""

FRAGMENT_CHARACTERS = 45
"""So is one of so many characters: the answer formats of the protocols bound an attribute near 50."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


SUBJECTS = _listed(
    """
    i im ive id ill we weve you youre youve youll he hes she shes they theyre theyve
    """
)
"""Words, without apostrophes, that begin a clause."""

BE = _listed("is are was were am be been being isnt arent wasnt werent im youre hes shes theyre")

_FINITE = (BE - {"be", "been", "being"}) | _listed(
    """
    has have had hasnt havent hadnt will would wont wouldnt can could cant cannot couldnt should shouldnt
    does did do dont doesnt didnt
    """
)
_SUBJECTLESS = _listed("this that these those there it its everyone someone nobody what who")
_REGNAL = _listed("war part level type class phase stage group bush act grade volume")
_HONORIFICS = _listed("mr mrs ms miss mx dr prof professor sir madam sr jr")
_FUNCTION = _listed(
    """
    the and for with from not but nor are was were been has had you your his her him she they them their our who
    its this that these those all any one two into onto per via etc inc ltd non pre ex van von bin abu der del des las los con
    """
)
_DIGITS = re.compile(r"\d{5}")
_REPEATED = re.compile(r"([^\W_])\1{3}", re.IGNORECASE)
_CHAIN = re.compile(r"[^\s_-]+(?:[_-]+[^\s_-]+){4,}[\s_.,-]*")
_ENGLISH = re.compile(r"[a-z]{2,40}")
_ACRONYM = re.compile(r"[A-Z]{3,4}")  # may name a job or a game that no list has yet: stays unmapped
_TOKEN = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=1)
def _dictionary() -> Any:
    # A third of a second once: imported when the first answer without a category is met, not with this module.
    from spylls.hunspell import Dictionary

    with warnings.catch_warnings():
        # The reader leaves its two files to the collector, which would warn wherever it runs next.
        warnings.simplefilter("ignore", ResourceWarning)
        dictionary = Dictionary.from_files("en_US")
        gc.collect()
    return dictionary


@lru_cache(maxsize=65536)
def is_entry(word: str) -> bool:
    """Whether a word of the letters a to z is in the dictionary, as it is written."""
    return bool(_ENGLISH.fullmatch(word.casefold()) and _dictionary().lookup(word))


@lru_cache(maxsize=65536)
def known_word(word: str) -> str | None:
    """``"word"`` for an English word, ``"name"`` for one that English only writes with a capital, None for neither.

    Read off the Hunspell dictionary en_US. Two of its words, of four letters or more, written as one are a word
    ("craftmaster"). So is anything with a letter outside a to z: it may be of another language, which this cannot tell.

    >>> known_word("archery"), known_word("barcelona"), known_word("achiejud"), known_word("médica")
    ('word', 'name', None, 'word')
    """
    lower = word.casefold().replace("'", "")
    if not _ENGLISH.fullmatch(lower):
        return "word" if lower and len(lower) <= 40 else None
    if is_entry(lower):
        return "word"
    if is_entry(lower.capitalize()):
        return "name"
    cuts = range(4, len(lower) - 3)
    return "word" if any(is_entry(lower[:cut]) and is_entry(lower[cut:]) for cut in cuts) else None


def weighed(words: Sequence[str]) -> list[str]:
    """The words by which an answer is judged: three letters or more, no digits, no function words."""
    return [
        word
        for word in words
        if len(word) > 2 and word not in _FUNCTION and word not in SUBJECTS and not any(map(str.isdigit, word))
    ]


def is_chain(term: str, words: Sequence[str]) -> bool:
    """Five parts or more without a space, joined by underscores, or by hyphens with a part that is no word.

    >>> is_chain("hunger_women_eating_man_", ["hunger", "women", "eating", "man"]), is_chain("a_b_c_d_e", list("abcde"))
    (False, True)
    """
    if not _CHAIN.fullmatch(term.strip()):
        return False
    return "_" in term or None in map(known_word, weighed(words))


def is_code(term: str, words: Sequence[str]) -> bool:
    """No letters, a run of five digits, a character four times over, only initials and numbers, or a chain of five parts.

    >>> is_code("1337155-1337156", ["1337155", "1337156"]), is_code("A.P.M.", ["a", "p", "m"]), is_code("CNA", ["cna"])
    (True, True, False)
    """
    if not any(map(str.isalpha, term)) or _DIGITS.search(term) or _REPEATED.search(term):
        return True
    return is_chain(term, words) or all(
        (len(word) <= 2 and word.isascii()) or any(map(str.isdigit, word)) for word in words if word not in _FUNCTION
    )


def is_clause(words: Sequence[str]) -> bool:
    """A subject pronoun with something said of it, or a finite "be", "have", "do" or modal verb in four words or more.

    >>> is_clause("i like to be alone".split()), is_clause("world war i history".split())
    (True, False)
    """
    if len(words) < 2:
        return False
    for at, word in enumerate(words[:-1]):
        if word in SUBJECTS and not (word == "i" and at and words[at - 1] in _REGNAL):
            return len(words) > 2
    if words[0] in _SUBJECTLESS and words[1] in _FINITE:
        return True
    return len(words) >= 4 and (words[-1] in {"me", "myself"} or any(word in _FINITE for word in words[:-1]))


def is_name(term: str, words: Sequence[str]) -> bool:
    """An honorific with names, or two to five capitalised words of which one is a name and none an English word.

    >>> is_name("Eduardo Gomez", ["eduardo", "gomez"]), is_name("Barcelona", ["barcelona"])
    (True, False)
    """
    tokens = _TOKEN.findall(term)
    if not 2 <= len(tokens) <= 5 or not all(token[0].isupper() or len(token) <= 3 for token in tokens):
        return False
    if words[-1] in {"jr", "sr"} or (words[0] in _HONORIFICS and len(tokens) <= 3):
        return True
    weighty = weighed(words)
    return "name" in map(known_word, weighty) and not any(map(is_entry, weighty))


def is_no_word(words: Sequence[str]) -> bool:
    """None of its words is an English word or name; of three words or more, most are neither.

    >>> is_no_word(["achiejud"]), is_no_word(["archery", "tagging"]), is_no_word(["archery", "vibarnma"])
    (True, False, False)
    """
    weighty = weighed(words)
    kinds = [known_word(word) for word in weighty]
    missing = kinds.count(None)
    return bool(kinds) and (missing == len(kinds) or (len(kinds) > 2 and 2 * missing > len(kinds)))


def is_fragment(term: str, words: Sequence[str]) -> bool:
    """Text of many words, or at the length bound of an answer.

    >>> text = "Giant raised palms reaching for the sky"
    >>> is_fragment(text, text.lower().split()), is_fragment("Archery tagging", ["archery", "tagging"])
    (True, False)
    """
    return len(words) >= FRAGMENT_WORDS or (len(words) > 1 and len(term.strip()) >= FRAGMENT_CHARACTERS)


def form(term: str, words: Sequence[str]) -> str | None:
    """The form of an answer that holds no known word: one of `FORMS`, or None when it may name something.

    ``term`` is the answer as given, ``words`` the words of its normal form.

    >>> [form(term, term.lower().split()) for term in ("A4066", "I like to be alone", "Hagio", "Archery tagging")]
    ['code', 'clause', 'no word', None]
    """
    if is_code(term, words):
        return CODE
    if is_clause(words):
        return CLAUSE
    if is_name(term, words):
        return NAME
    if is_no_word(words) and not _ACRONYM.fullmatch(term.strip(" .,")):
        return NO_WORD
    return FRAGMENT if is_fragment(term, words) else None
