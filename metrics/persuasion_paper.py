"""The Persuasion Bias Index as arXiv 2601.17172 computed it, to the letter, beside the sound form in `metrics.persuasion`.

The published computation searches the raw text for verbs in the third person singular, so "lead" and "join" never count and
the nouns "changes" and "matters" do; takes a message without a modal word as balanced (0); and adds a tenth of the *number*
of imperatives. It is kept so that published figures can be made again, under metric names that end in ``-paper``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metrics.errors import BadInputError
from metrics.measures import IntArray, MessageMeasure
from metrics.text import TaggedTexts, unread_reasons

AGENCY_PAPER = "agency-framing-paper"
MODALITY_PAPER = "modal-certainty-paper"
IMPERATIVE_PAPER = "imperative-mood-paper"
INDEX_PAPER = "persuasion-bias-index-paper"

IMPERATIVE_WEIGHT = 0.1
"""What one imperative adds to the published index."""

NO_VERB = "no verb of the agency lexicon"

_RUN = re.compile(r"\w+")
_ENTRY = re.compile(r"\w+(?:[ '-]\w+)*")
_PLAIN = re.compile(r"[a-z0-9_]+")
# The other characters that a pattern of ASCII letters takes for i, s and k when case does not matter.
_FOLD = str.maketrans({"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"})
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh|[^aeiou]o)$")
_IRREGULAR = {"be": "is", "have": "has", "do": "does", "go": "goes", "quiz": "quizzes", "stomach": "stomachs"}


class WordClasses(Protocol):
    """What these measures need of a lexicon; `metrics.lexicon.Lexicon` has it."""

    @property
    def name(self) -> str:
        """Catalog name, for messages."""

    @property
    def unit(self) -> str:
        """What an entry is: ``lemma``, ``third-person``, ``phrase`` or ``stem``."""

    @property
    def classes(self) -> Mapping[str, frozenset[str]]:
        """Class name -> entries."""


def entries_of(lexicon: WordClasses, titles: tuple[str, str], units: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Entries of two classes of a lexicon; `BadInputError` when it has other classes or is of another unit."""
    if lexicon.unit not in units:
        raise BadInputError(
            f"this measure takes a lexicon of unit {' or '.join(units)}, but {lexicon.name!r} is of unit {lexicon.unit!r}; "
            "choose another lexicon"
        )
    missing = [title for title in titles if not lexicon.classes.get(title)]
    if missing:
        raise BadInputError(
            f"this measure takes a lexicon with the classes {' and '.join(titles)}, but {lexicon.name!r} has "
            f"{', '.join(lexicon.classes) or 'none'}; rename its classes or choose another lexicon"
        )
    return tuple(frozenset(lexicon.classes[title]) for title in titles)


def third_person(verb: str) -> str:
    """Third person singular of a verb; of several words, the first is the verb.

    >>> [third_person(verb) for verb in ("lead", "carry out", "pass", "go", "play", "be")]
    ['leads', 'carries out', 'passes', 'goes', 'plays', 'is']
    """
    head, space, rest = verb.partition(" ")
    if head in _IRREGULAR:
        form = _IRREGULAR[head]
    elif _SIBILANT.search(head):
        form = f"{head}es"
    elif re.search(r"[^aeiou]y$", head):
        form = f"{head[:-1]}ies"
    else:
        form = f"{head}s"
    return form + space + rest


def verb_counts(texts: Iterable[str], entries: Collection[str]) -> IntArray:
    r"""How often any of the entries occurs in each text: the sum over entries of ``len(re.findall(rf"\b{entry}\b", text, re.I))``.

    Each entry counts on its own, so "speaks" and "speaks to" both count in "she speaks to us". Equal to that loop, but each
    text is cut into words once, and only entries of several words whose first word is there are searched for.

    Parameters
    ----------
    texts : any strings; entries : lower-case words, also several with a space, a hyphen or an apostrophe between them

    Returns
    -------
    counts [texts]; raises `BadInputError` for an entry of other characters, since the published pattern does not escape them.

    >>> verb_counts(["She speaks to us; he Leads.", "no"], {"leads", "speaks", "speaks to"}).tolist()
    [3, 0]
    """
    whole: set[str] = set()
    by_first: dict[str, list[re.Pattern[str]]] = {}
    always: list[re.Pattern[str]] = []
    for entry in sorted(set(entries)):
        if not _ENTRY.fullmatch(entry) or entry != entry.lower():
            raise BadInputError(
                f"a verb is lower-case words with a space, a hyphen or an apostrophe between them, got {entry!r}; rewrite it"
            )
        first = _RUN.findall(entry)[0]
        if _PLAIN.fullmatch(entry):
            whole.add(entry)
        elif _PLAIN.fullmatch(first):
            by_first.setdefault(first, []).append(re.compile(rf"\b{entry}\b", re.IGNORECASE))
        else:
            always.append(re.compile(rf"\b{entry}\b", re.IGNORECASE))
    counts = []
    for text in texts:
        runs = _RUN.findall((text if text.isascii() else text.translate(_FOLD)).lower())
        patterns = [pattern for first in by_first.keys() & set(runs) for pattern in by_first[first]]
        found = sum(len(pattern.findall(text)) for pattern in (*patterns, *always))
        counts.append(found + sum(run in whole for run in runs))
    return np.array(counts, dtype=np.int32)


def balance(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """``(first - second) / (first + second)``, 0 where both are 0."""
    both = first + second
    result: NDArray[np.float64] = np.divide(first - second, both, out=np.zeros(len(both)), where=both > 0)
    return result


def agency_framing_paper(texts: Sequence[str], lexicon: WordClasses) -> MessageMeasure:
    """How much more often verbs of high than of low agency occur: ``A = (H - L) / (H + L)``.

    H and L count the third-person forms of the lexicon in the raw text, by `verb_counts`. Without any, A is missing.

    Parameters
    ----------
    texts : [messages]; lexicon : classes ``high`` and ``low``, unit ``third-person``; lemmas are put into that form

    Returns
    -------
    ``agency-framing-paper`` from -1 to 1, hits H + L. Source: arXiv 2601.17172 and its published code.

    >>> from metrics.lexicon import load_lexicon
    >>> found = agency_framing_paper(["He leads and decides, she waits.", "Join us!"], load_lexicon("agency"))
    >>> [None if a is None else round(a, 3) for a in found.values.tolist()], found.excluded
    ([0.333, None], {'no verb of the agency lexicon': 1})
    """
    high, low = entries_of(lexicon, ("high", "low"), ("third-person", "lemma"))
    if lexicon.unit == "lemma":
        high, low = (frozenset(map(third_person, verbs)) for verbs in (high, low))
    unread = unread_reasons(texts)
    readable = ["" if reason else text for text, reason in zip(texts, unread, strict=True)]
    h, lo = verb_counts(readable, high), verb_counts(readable, low)
    reasons = [reason or ("" if n else NO_VERB) for reason, n in zip(unread, h + lo, strict=True)]
    return MessageMeasure.of(AGENCY_PAPER, balance(h, lo), h + lo, reasons)


def modal_certainty_paper(tagged: TaggedTexts, lexicon: WordClasses) -> MessageMeasure:
    """How much more often words of certainty than hedges occur: ``M = (C - H) / (C + H)``, and 0 without any.

    Words are compared as written, in lower case, whatever they are: a proper name "Will" counts as certainty.

    Parameters
    ----------
    tagged : texts, of which only the words are used; lexicon : classes ``certainty`` and ``hedge``, single words

    Returns
    -------
    ``modal-certainty-paper`` from -1 to 1, hits C + H. Source: arXiv 2601.17172 and its published code.
    """
    certainty, hedge = modal_words(lexicon)
    c, h = (tagged.per_text(tagged.word_in(words)) for words in (certainty, hedge))
    return MessageMeasure.of(MODALITY_PAPER, balance(c, h), c + h, tagged.unread)


def modal_words(lexicon: WordClasses) -> tuple[frozenset[str], ...]:
    """The words of certainty and the hedges; `BadInputError` for an entry of several words, which no token can be."""
    classes = entries_of(lexicon, ("certainty", "hedge"), ("phrase", "lemma"))
    several = sorted(entry for entries in classes for entry in entries if " " in entry)
    if several:
        raise BadInputError(
            f"modal words are single words, but {lexicon.name!r} has {several[0]!r}; take entries of several words out"
        )
    return classes


def imperative_mood_paper(tagged: TaggedTexts) -> MessageMeasure:
    """A tenth of the number of imperatives: tokens that are a verb in base form (``VERB``, ``VB``) and root of their sentence.

    A subject or an auxiliary does not matter, so "We will win" counts. Always measured; no upper bound; hits are the count.

    >>> from metrics.text import tagged
    >>> imperative_mood_paper(tagged(["Join us today! Save energy now. We will win."])).values.round(1).tolist()
    [0.3]
    """
    tagged.require_parsed(IMPERATIVE_PAPER)
    count = tagged.per_text(tagged.pos_in("VERB") & tagged.tag_in("VB") & tagged.is_root)
    return MessageMeasure.of(IMPERATIVE_PAPER, IMPERATIVE_WEIGHT * count.astype(np.float64), count, tagged.unread)


def persuasion_bias_index_paper(
    agency: MessageMeasure, modality: MessageMeasure, imperative: MessageMeasure
) -> MessageMeasure:
    """The published index ``A + M + 0.1 x imperatives``, with 0 for a missing A.

    Parameters
    ----------
    agency, modality, imperative : the three paper measures of the same messages

    Returns
    -------
    ``persuasion-bias-index-paper``, at least -2, without upper bound.
    """
    values = agency.values.filled(0.0) + modality.values.filled(0.0) + imperative.values.filled(0.0)
    hits = agency.hits + modality.hits + imperative.hits
    return MessageMeasure.of(INDEX_PAPER, values, hits, imperative.reasons)
