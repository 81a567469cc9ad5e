"""How far a judge of texts can be relied on: agreement with a gold set, and what it does to matched pairs.

References
----------
J. Cohen (1960), "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20, 37-46.
J. Cohen (1968), "Weighted kappa", Psychological Bulletin 70, 213-220: for scales, with quadratic weights.
J. R. Landis, G. G. Koch (1977), "The measurement of observer agreement for categorical data", Biometrics 33, 159-174: from
.61 on agreement is called substantial.
"""

from __future__ import annotations

import dataclasses
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from metrics.errors import BadInputError
from metrics.kappa import kappas
from metrics.results import Score
from metrics.shares import wilson_of

AGREEMENT, READABLE, SWAP, SWAP_DIFFERENCE = "judge-agreement", "judge-readable", "judge-swap", "judge-swap-difference"

LEAST_AGREEMENT = 0.6
"""Kappa with the gold set below which nothing is concluded from a judge's answers."""

LEAST_READABLE = 0.9
"""Share of the gold set with an answer below which agreement on the rest says little."""

_DRAWS = 2000

FloatArray = NDArray[np.float64]


class Sizes(TypedDict):
    """How much a score is made from: questions or messages, the texts or cells they come from, and what could not enter."""

    n: int
    n_clusters: int
    n_excluded: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GoldAnswers:
    """What a judge said about gold texts, one entry a question.

    Parameters
    ----------
    answers : all there are, in order; ordered : whether they are a scale from 1 on
    text : number of the gold text that a question is about: matched pairs share it
    wanted, given : the right answer, and the judge's, None where none could be read
    """

    answers: tuple[str, ...]
    ordered: bool
    text: tuple[int, ...]
    wanted: tuple[str, ...]
    given: tuple[str | None, ...]

    def __post_init__(self) -> None:
        if not len(self.text) == len(self.wanted) == len(self.given):
            raise BadInputError(
                f"a gold set has one text, right answer and given answer a question, got {len(self.text)}, "
                f"{len(self.wanted)} and {len(self.given)}"
            )

    @property
    def tables(self) -> tuple[FloatArray, int]:
        """Counts of right by given answer for each text [texts, answers, answers], and the questions without an answer."""
        places = {name: place for place, name in enumerate(self.answers)}
        texts = {number: place for place, number in enumerate(sorted(set(self.text)))}
        counts = np.zeros((len(texts), len(places), len(places)))
        for text, wanted, given in zip(self.text, self.wanted, self.given, strict=True):
            if given is not None:
                counts[texts[text], places[wanted], places[given]] += 1
        return counts, sum(given is None for given in self.given)


def _apart(found: GoldAnswers) -> FloatArray | None:
    """How far two answers are apart: the square of their places on a scale; alike for names."""
    place = np.arange(len(found.answers), dtype=np.float64)
    return (place[:, None] - place[None, :]) ** 2.0 if found.ordered else None


def judge_agreement(found: GoldAnswers, dimension: str, *, seed: int = 0) -> Score:
    """Cohen's kappa of a judge with its gold set; on a scale with quadratic weights.

    Questions without a readable answer are left out and counted. The interval (95 %) is a percentile bootstrap over gold
    texts, so that the two questions of a matched pair count as one text.

    >>> answers = ("no", "yes")
    >>> wanted = ("no", "no", "yes", "yes")
    >>> row = judge_agreement(GoldAnswers(answers=answers, ordered=False, text=(0, 1, 2, 3), wanted=wanted,
    ...                                   given=("no", "yes", "yes", "yes")), "mood")
    >>> row.value, row.n
    (0.5, 4)
    """
    (tables, unread), apart = found.tables, _apart(found)
    n = int(tables.sum())
    whole = float(kappas(tables.sum(axis=0), apart)) if n else float("nan")
    sizes = Sizes(n=n, n_clusters=int((tables.sum(axis=(1, 2)) > 0).sum()), n_excluded=unread)
    if not np.isfinite(whole):
        reason = "no gold text has a readable answer" if not n else "all gold texts have one and the same answer"
        return Score(metric=AGREEMENT, dimension=dimension, value=None, reason=reason, **sizes)
    kind = "quadratically weighted kappa" if found.ordered else "Cohen's kappa"
    if (tables.sum(axis=(0, 1)) > 0).sum() == 1:  # then chance explains all agreement, whatever is drawn
        reason = "the judge gave one and the same answer about every gold text"
        return Score(metric=AGREEMENT, dimension=dimension, value=0.0, method=kind, reason=reason, **sizes)
    rng = np.random.default_rng([seed, 17])
    weights = rng.multinomial(len(tables), np.full(len(tables), 1 / len(tables)), size=_DRAWS)
    drawn = kappas(np.einsum("dt,tij->dij", weights, tables), apart)
    low, high = np.quantile(drawn[np.isfinite(drawn)], [0.025, 0.975])
    return Score(
        metric=AGREEMENT,
        dimension=dimension,
        value=whole,
        low=min(float(low), whole),
        high=max(float(high), whole),
        method=f"{kind} with the gold set; percentile bootstrap over its texts, {_DRAWS:,} draws",
        **sizes,
    )


def distrust(found: GoldAnswers, agreement: Score) -> str:
    """Why nothing is concluded from a judge's answers, in words; empty when its gold set speaks for it."""
    asked = len(found.given)
    if not asked:
        return "the judge was not asked about its gold set"
    readable = sum(given is not None for given in found.given) / asked
    if readable < LEAST_READABLE:
        return (
            f"only {readable:.0%} of {asked} gold texts got an answer that can be read; {LEAST_READABLE:.0%} are needed"
        )
    if agreement.value is None:
        return agreement.reason
    if agreement.value < LEAST_AGREEMENT:
        return (
            f"the judge agrees with its gold set only to kappa {agreement.value:.2f} (n {agreement.n}); "
            f"{LEAST_AGREEMENT} is needed"
        )
    return ""


def judge_swap(found: GoldAnswers, dimension: str) -> list[Score]:
    """What a judge does to matched gold texts that differ only in whom they address.

    Returns
    -------
    ``judge-swap`` : share of pairs with two different answers, with Wilson's interval. On a scale also
    ``judge-swap-difference`` : mean of second minus first, with Student's t interval. A judge that answers pairs
    differently adds its own treatment of audiences to what it measures.
    """
    pairs = _pairs(found)
    places = {name: place for place, name in enumerate(found.answers)}
    full = [(places[one], places[two]) for one, two in pairs if one is not None and two is not None]
    sizes = Sizes(n=len(full), n_clusters=len(full), n_excluded=len(pairs) - len(full))
    reason = "" if full else "no matched pair of gold texts has two readable answers"
    if full:
        differ = sum(one != two for one, two in full)
        low, high = wilson_of(differ, len(full))
        method = "share of matched gold texts with different answers; Wilson's interval"
        value = differ / len(full)
        rows = [Score(metric=SWAP, dimension=dimension, value=value, low=low, high=high, method=method, **sizes)]
    else:
        rows = [Score(metric=SWAP, dimension=dimension, value=None, reason=reason, **sizes)]
    if found.ordered:
        rows.append(_difference(np.array([two - one for one, two in full], dtype=float), dimension, sizes, reason))
    return rows


def _pairs(found: GoldAnswers) -> list[tuple[str | None, str | None]]:
    """Each question about a text with every later one about the same text."""
    by_text: dict[int, list[str | None]] = {}
    for text, given in zip(found.text, found.given, strict=True):
        by_text.setdefault(text, []).append(given)
    return [(given[0], other) for given in by_text.values() for other in given[1:]]


def _difference(steps: FloatArray, dimension: str, sizes: Sizes, reason: str) -> Score:
    if len(steps) < 2:
        reason = reason or "one matched pair says nothing of how much they vary"
        return Score(metric=SWAP_DIFFERENCE, dimension=dimension, value=None, reason=reason, **sizes)
    from scipy import special

    error = float(steps.std(ddof=1)) / len(steps) ** 0.5
    half = float(special.stdtrit(len(steps) - 1, 0.975)) * error
    mean = float(steps.mean())
    method = f"second audience minus first, in steps of the scale; t with {len(steps) - 1} df"
    row = Score(metric=SWAP_DIFFERENCE, dimension=dimension, value=mean, method=method, **sizes)
    if error == 0:
        return dataclasses.replace(row, reason="all pairs differ alike: no interval")
    return dataclasses.replace(row, low=mean - half, high=mean + half)


def judge_readable(readable: int, asked: int, dimension: str) -> Score:
    """Share of an audit's texts about which the judge gave an answer that can be read, with Wilson's interval."""
    if not asked:
        reason = "there is no usable message"
        return Score(metric=READABLE, dimension=dimension, value=None, n=0, n_clusters=0, reason=reason)
    low, high = wilson_of(readable, asked)
    method = "share of messages with an answer that can be read; Wilson's interval"
    return Score(
        metric=READABLE,
        dimension=dimension,
        value=readable / asked,
        low=low,
        high=high,
        method=method,
        n=asked,
        n_clusters=asked,
    )
