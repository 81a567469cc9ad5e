"""Synthetic personas with a known association in each bias dimension and a known dependence within answers.

A name sets gender and ethnicity, gender sets the sexual orientation, and all four set class, education, occupation and
interest through additive logits; the occupation weighs in the other three. The 16 associations are calibrated, so that
5,000 independent personas show the median plain V of the models in Table 2 of arXiv 2602.00044.

Four regimes say how the 20 personas of one answer hang together:

``iid`` : not at all
``modes`` : half of the answers stereotype 1.6 times as strongly, half 0.2 times
``joint`` : every answer has one of 6 themes, which shifts all its attributes (intraclass correlation 0.4 of the logits)
``templates`` : with probability 0.9 an answer repeats one of 20 stored lists, of which each persona is replaced with
    probability 0.1. The lists belong to the release; an unchanged release keeps them

V of the population of a release is exact: the laws are discrete and are summed, not simulated.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.calibration.laws import (
    ATTRIBUTES,
    COLUMNS,
    DF_STARS,
    DIMENSIONS,
    IDENTITY,
    LISTED,
    LISTED_SHARE,
    OTHER_NAME,
    REGIMES,
    SIZES,
    SOCIAL,
    TITLES,
    Law,
    by_occupation,
    law,
    scores,
    shares,
    true_v,
    v_of_score,
)
from benchmarks.calibration.lists import moved_lists
from metrics.severity import normalized

__all__ = ["DIMENSIONS", "LISTED", "REGIMES", "TITLES", "Release", "frame_of", "release"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

PER_REQUEST = 20
TEMPLATES, REPEATS, REPLACED = 20, 0.9, 0.1


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Sampler:
    """Cumulative probabilities of a law, for drawing."""

    identity: FloatArray
    occupation: FloatArray
    weights: Mapping[str, FloatArray]
    kinds: int

    def draw(self, kind: IntArray, rng: np.random.Generator) -> IntArray:
        """Codes of one persona for each entry of ``kind``, shape [attributes, personas]."""
        states = self.identity.size // self.kinds
        row = np.searchsorted(self.identity, kind + rng.random(kind.size), side="right")
        occupation = (self.occupation[row] <= rng.random((kind.size, 1))).sum(axis=1)
        codes = [*np.unravel_index(row - kind * states, tuple(IDENTITY.values()))]
        for to in SOCIAL:
            if to == "occupation":
                codes.append(occupation)
                continue
            reached = (self.weights[to][row] * by_occupation()[to][occupation]).cumsum(axis=1)
            codes.append((reached[:, :-1] <= reached[:, -1:] * rng.random((kind.size, 1))).sum(axis=1))
        return np.stack(codes)


@functools.lru_cache(maxsize=8)
def _sampler(of: Law) -> _Sampler:
    components = of.components()
    flat = np.concatenate([place + _steps(c.identity) for place, c in enumerate(components)])
    weights = {to: np.concatenate([c.weights[to] for c in components]) for to in SOCIAL}
    occupation = _steps(shares(weights.pop("occupation")))
    return _Sampler(identity=flat, occupation=occupation[:, :-1], weights=weights, kinds=len(components))


def _steps(shares: FloatArray) -> FloatArray:
    steps: FloatArray = shares.cumsum(axis=-1)
    steps[..., -1] = 1.0
    return steps


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """A simulated release: a law, and the stored lists [attributes, lists, 20] that it repeats (``templates`` only)."""

    law: Law
    lists: IntArray | None = None

    def tables(self) -> list[FloatArray]:
        """Exact joint law of each dimension in this release."""
        fresh = self.law.tables()
        if self.lists is None:
            return fresh
        stored = dict(zip(ATTRIBUTES, self.lists.reshape(len(ATTRIBUTES), -1), strict=True))
        kept = REPEATS * (1 - REPLACED)
        return [
            (1 - kept) * table + kept * counted(stored[d.axis], stored[d.social], table.shape) / stored["name"].size
            for table, d in zip(fresh, DIMENSIONS, strict=True)
        ]

    def v(self) -> FloatArray:
        """V of the population of this release, shape [16]."""
        return true_v(self.tables())

    def scores(self) -> FloatArray:
        """Normalized score of the population of this release, shape [16]."""
        return scores(self.v())

    def moved(self, dimensions: Sequence[str], delta: float, unit: str = "v") -> Release:
        """A release with another association in some dimensions: by ``delta`` of V, or of the ``score``.

        Exact, and the other dimensions stay; but the lists of ``templates`` are finite, and there V comes within 0.003.
        In ``templates`` no two of the dimensions may share an axis or a social dimension.
        """
        before = self.v()
        moves = []
        for title in dimensions:
            place = TITLES.index(title)
            v, df = float(before[place]), DF_STARS[place]
            change = delta if unit == "v" else v_of_score(normalized(v, df) + delta, df) - v
            moves.append((title, round(change, 6)))
        if self.lists is None:
            return dataclasses.replace(self, law=law(self.law.regime, tuple(moves), self.law.listed_share))
        fresh, kept, lists = self.law.tables(), REPEATS * (1 - REPLACED), self.lists
        for title, change in moves:
            place = TITLES.index(title)
            lists = moved_lists(lists, place, fresh[place], kept, float(before[place]) + change)
        return dataclasses.replace(self, lists=lists)

    def audit(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Persona frame of an audit of ``n`` personas, 20 an answer."""
        requests = -(-n // PER_REQUEST)
        sampler = _sampler(self.law)
        kind = rng.integers(0, sampler.kinds, size=requests).repeat(PER_REQUEST)
        codes = sampler.draw(kind, rng)
        if self.lists is not None:
            chosen = rng.integers(0, self.lists.shape[1], size=requests)
            repeated = self.lists[:, chosen].reshape(len(ATTRIBUTES), -1)
            repeats = (rng.random(requests) < REPEATS).repeat(PER_REQUEST) & (rng.random(kind.size) >= REPLACED)
            codes = np.where(repeats, repeated, codes)
        return frame_of(codes[:, :n], np.arange(requests).repeat(PER_REQUEST)[:n])


def release(regime: str, rng: np.random.Generator, listed_share: float = LISTED_SHARE) -> Release:
    """A release of a regime; ``rng`` draws its stored lists, and is not used where there are none."""
    of = law(regime, listed_share=listed_share)
    if regime != "templates":
        return Release(law=of)
    codes = _sampler(of).draw(np.zeros(TEMPLATES * PER_REQUEST, dtype=np.int64), rng)
    return Release(law=of, lists=codes.reshape(len(ATTRIBUTES), TEMPLATES, PER_REQUEST))


def counted(rows: IntArray, columns: IntArray, shape: tuple[int, ...]) -> FloatArray:
    """Plain table of two code arrays."""
    flat = np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1])
    return flat.reshape(shape).astype(np.float64)


@functools.cache
def _categories(attribute: str) -> pd.CategoricalDtype:
    labels = [*LISTED, OTHER_NAME] if attribute == "name" else [f"{attribute} {k:02}" for k in range(SIZES[attribute])]
    return pd.CategoricalDtype(labels)


def frame_of(codes: IntArray, request: IntArray) -> pd.DataFrame:
    """Persona frame of codes [attributes, personas], with categories as the product knows them."""
    columns: dict[str, object] = {"request": request}
    for attribute, code in zip(ATTRIBUTES, codes, strict=True):
        columns[COLUMNS[attribute]] = pd.Categorical.from_codes(
            code.astype(np.int8), dtype=_categories(attribute), validate=False
        )
    return pd.DataFrame(columns)
