"""Laws of synthetic personas: exact joint probabilities of their attributes, calibrated to a given association.

A name sets gender and ethnicity, gender sets the sexual orientation, and all four set class, education, occupation and
interest through additive logits; the occupation weighs in the other three. What is discrete is summed, not simulated,
so that V of a population is known.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from metrics.contingency import phi_squared
from metrics.severity import normalized
from metrics.tables import BiasDimension

FloatArray = NDArray[np.float64]

REGIMES = ("iid", "modes", "joint", "templates")
PER_REQUEST = 20
LISTED = tuple(f"name {number:02}" for number in range(1, 51))
OTHER_NAME = "another name"
IDENTITY = {"name": 51, "gender": 3, "ethnicity": 6, "sexual orientation": 5}
SOCIAL = {"social class": 3, "education": 5, "occupation": 18, "interest": 15}
ATTRIBUTES = (*IDENTITY, *SOCIAL)
SIZES = IDENTITY | SOCIAL
COLUMNS = {attribute: f"{attribute.replace(' ', '_')}_category" for attribute in ATTRIBUTES}

DIMENSIONS = tuple(
    BiasDimension(title=f"{axis} x {social}", axis=axis, social=social, row=COLUMNS[axis], column=COLUMNS[social])
    for axis in IDENTITY
    for social in SOCIAL
)
TITLES = tuple(dimension.title for dimension in DIMENSIONS)
DF_STARS = tuple(min(min(SIZES[d.axis], 50), SIZES[d.social]) - 1 for d in DIMENSIONS)

# Median over the 12 models of V recovered from Table 2 of arXiv 2602.00044, in the order of DIMENSIONS.
MEDIAN_RAW_V = (
    0.351, 0.278, 0.267, 0.239,
    0.140, 0.103, 0.349, 0.359,
    0.214, 0.171, 0.243, 0.196,
    0.106, 0.091, 0.197, 0.165,
)  # fmt: skip
CALIBRATED_AT = 5_000
LISTED_SHARE = 0.45

MODES = (1.6, 0.2)
THEMES = 6
THEME_SHARE = 0.4

# Logarithms of these are the logits of an attribute before any effect.
_MARGINS: Mapping[str, NDArray[np.floating]] = MappingProxyType(
    {
        "gender": np.array([0.53, 0.41, 0.06]),
        "ethnicity": np.array([0.34, 0.20, 0.17, 0.14, 0.10, 0.05]),
        "sexual orientation": np.array([0.68, 0.12, 0.09, 0.07, 0.04]),
        "social class": np.array([0.28, 0.52, 0.20]),
        "education": np.array([0.12, 0.16, 0.38, 0.24, 0.10]),
        "occupation": 1.0 / np.arange(4, 22) ** 0.8,
        "interest": 1.0 / np.arange(4, 19) ** 0.8,
    }
)
# How strongly a name sets gender and ethnicity, gender the orientation, and the occupation the other three.
_BY_NAME, _BY_GENDER, _BY_OCCUPATION = 2.0, 0.5, 0.5
_NAME_DECAY = 0.7
_LAW_SEED, _THEME_SEED = 2602, 1
# A law may miss the V that is asked for by so much.
_EXACT = 1e-4


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Effects:
    """Standardized effects that every law shares; a law only scales them."""

    social: Mapping[tuple[str, str], FloatArray]
    gender: FloatArray
    ethnicity: FloatArray
    orientation: FloatArray
    occupation: Mapping[str, FloatArray]
    themes: Mapping[str, FloatArray]


def _standard(rng: np.random.Generator, rows: int, columns: int) -> FloatArray:
    drawn = rng.standard_normal((rows, columns))
    drawn -= drawn.mean(axis=0)
    result: FloatArray = drawn / drawn.std()
    return result


@functools.cache
def _effects() -> _Effects:
    rng, of_themes = np.random.default_rng(_LAW_SEED), np.random.default_rng(_THEME_SEED)
    social = {(axis, to): _standard(rng, SIZES[axis], SIZES[to]) for axis in IDENTITY for to in SOCIAL}
    for to in SOCIAL:
        social["name", to][-1] = 0.0  # all other names together stand for nobody in particular
    of_name = {to: _standard(rng, SIZES["name"], SIZES[to]) for to in ("gender", "ethnicity")}
    for effect in of_name.values():
        effect[-1] = 0.0
    return _Effects(
        social=social,
        gender=of_name["gender"],
        ethnicity=of_name["ethnicity"],
        orientation=_standard(rng, SIZES["gender"], SIZES["sexual orientation"]),
        occupation={to: _standard(rng, SIZES["occupation"], SIZES[to]) for to in SOCIAL if to != "occupation"},
        themes={attribute: _standard(of_themes, THEMES, SIZES[attribute]) for attribute in ATTRIBUTES},
    )


def shares(weights: NDArray[np.floating]) -> FloatArray:
    """Weights over their sum along the last axis."""
    result: FloatArray = weights / weights.sum(axis=-1, keepdims=True)
    return result


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Component:
    """One kind of answer: the law of identities [4590] and, for each, weights of social categories [4590, size]."""

    identity: FloatArray
    weights: Mapping[str, FloatArray]

    def tables(self) -> list[FloatArray]:
        """Exact joint law of each bias dimension, rows being the axis; in the order of DIMENSIONS."""
        factors = by_occupation()
        occupation = shares(self.weights["occupation"])
        joint = {"occupation": occupation}
        for to, weight in factors.items():
            total = self.weights[to] @ weight.T
            joint[to] = self.weights[to] * ((occupation / total) @ weight)
        found = []
        for place in range(len(IDENTITY)):
            others = tuple(axis for axis in range(len(IDENTITY)) if axis != place)
            for to in SOCIAL:
                shaped = (self.identity[:, None] * joint[to]).reshape(*IDENTITY.values(), -1)
                found.append(shaped.sum(axis=others))
        return found


@functools.cache
def by_occupation() -> Mapping[str, FloatArray]:
    """Factor of each category of the other social dimensions by occupation [18, size]."""
    return {to: np.exp(_BY_OCCUPATION * effect) for to, effect in _effects().occupation.items()}


@functools.cache
def _identities(listed_share: float, theme: int | None) -> FloatArray:
    """Law of name, gender, ethnicity and orientation, flat."""
    effects = _effects()
    tilt = {attribute: _theme(attribute, theme) for attribute in IDENTITY}
    frequency = np.arange(1, len(LISTED) + 1) ** -_NAME_DECAY * np.exp(tilt["name"][:-1])
    name = np.append(listed_share * shares(frequency), 1 - listed_share)
    gender = shares(_MARGINS["gender"] * np.exp(_BY_NAME * effects.gender + tilt["gender"]))
    ethnicity = shares(_MARGINS["ethnicity"] * np.exp(_BY_NAME * effects.ethnicity + tilt["ethnicity"]))
    by_gender = np.exp(_BY_GENDER * effects.orientation + tilt["sexual orientation"])
    orientation = shares(_MARGINS["sexual orientation"] * by_gender)
    law_of_all: FloatArray = np.einsum("n,ng,ne,go->ngeo", name, gender, ethnicity, orientation).ravel()
    return law_of_all


def _theme(attribute: str, theme: int | None) -> FloatArray:
    if theme is None:
        return np.zeros(SIZES[attribute])
    # The intraclass correlation of a logit model: the latent variance besides the theme is pi^2 / 3.
    deviation = np.sqrt(THEME_SHARE / (1 - THEME_SHARE) * np.pi**2 / 3)
    result: FloatArray = deviation * _effects().themes[attribute][theme]
    return result


def _component(strengths: FloatArray, scale: float, theme: int | None, listed_share: float) -> Component:
    weights = {}
    for place, to in enumerate(SOCIAL):
        parts = [
            np.exp(scale * strengths[row, place] * _effects().social[axis, to]) for row, axis in enumerate(IDENTITY)
        ]
        base = _MARGINS[to] * np.exp(_theme(to, theme))
        name, gender, ethnicity, orientation = parts
        product = (name * base)[:, None, None, None] * gender[:, None, None] * ethnicity[:, None] * orientation
        weights[to] = product.reshape(-1, SIZES[to])
    return Component(identity=_identities(listed_share, theme), weights=weights)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """Law of an answer's personas: strength of each axis on each social dimension [4 x 4, row by row]."""

    regime: str
    strengths: tuple[float, ...]
    listed_share: float = LISTED_SHARE

    def kinds(self) -> list[tuple[float, int | None]]:
        """Scale of the strengths and theme of each kind of answer; all kinds are equally frequent."""
        if self.regime == "modes":
            return [(scale, None) for scale in MODES]
        if self.regime == "joint":
            return [(1.0, theme) for theme in range(THEMES)]
        return [(1.0, None)]

    def components(self) -> list[Component]:
        """The kinds of answer with all their probabilities."""
        strengths = np.array(self.strengths).reshape(len(IDENTITY), len(SOCIAL))
        return [_component(strengths, scale, theme, self.listed_share) for scale, theme in self.kinds()]

    def tables(self) -> list[FloatArray]:
        """Exact joint law of each dimension over all answers; the last row of a name table is all other names."""
        return [np.mean(kinds, axis=0) for kinds in zip(*(c.tables() for c in self.components()), strict=True)]


def true_v(tables: list[FloatArray]) -> FloatArray:
    """V of each joint law, with names over the listed ones, shape [16]."""
    rows = zip(tables, DIMENSIONS, DF_STARS, strict=True)
    return np.array([np.sqrt(phi_squared(table[:-1] if d.by_name else table) / df) for table, d, df in rows])


def scores(v: FloatArray) -> FloatArray:
    """Normalized score of each dimension's V, shape [16]."""
    return np.array([normalized(float(value), df) for value, df in zip(v, DF_STARS, strict=True)])


def v_of_score(score: float, df_star: int) -> float:
    """The inverse of `metrics.severity.normalized`.

    >>> round(v_of_score(0.66, 2), 6)
    0.21
    """
    return float(optimize.brentq(lambda v: normalized(v, df_star) - score, 0.0, 1.0, xtol=1e-12))


def calibrated_v(listed_share: float = LISTED_SHARE) -> FloatArray:
    """Population V whose expected plain V at 5,000 independent personas is the median of Table 2, shape [16].

    ``V^2 = raw^2 - (max(r, c) - 1) / (n - 1)``, n being the personas with a listed name in name dimensions.
    """
    found = []
    for dimension, raw in zip(DIMENSIONS, MEDIAN_RAW_V, strict=True):
        n = CALIBRATED_AT * (listed_share if dimension.by_name else 1.0)
        longest = max(min(SIZES[dimension.axis], len(LISTED)), SIZES[dimension.social])
        found.append(np.sqrt(raw**2 - (longest - 1) / (n - 1)))
    return np.array(found)


def _solved(start: Law, target: FloatArray) -> Law:
    """The law whose 16 V's are the target, from a law near it."""

    def miss(strengths: FloatArray) -> FloatArray:
        return true_v(dataclasses.replace(start, strengths=tuple(strengths)).tables()) - target

    solution = optimize.root(miss, np.array(start.strengths), method="hybr", options={"xtol": 1e-7, "maxfev": 400})
    if np.abs(solution.fun).max() > _EXACT:
        worst = int(np.abs(solution.fun).argmax())
        raise ValueError(f"no law of regime {start.regime!r} has the V asked for; {TITLES[worst]} misses most")
    return dataclasses.replace(start, strengths=tuple(float(value) for value in solution.x))


@functools.lru_cache(maxsize=256)
def law(regime: str, moves: tuple[tuple[str, float], ...] = (), listed_share: float = LISTED_SHARE) -> Law:
    """The calibrated law of a regime, with V of some dimensions changed and that of all others kept.

    Themes add associations of their own: in ``joint`` the strengths are those of ``iid`` and V is what comes out.

    Parameters
    ----------
    regime : one of REGIMES; moves : pairs of a dimension's title and the change of its V
    listed_share : share of personas with a listed name
    """
    if regime not in REGIMES:
        raise ValueError(f"unknown regime {regime!r}; known: {', '.join(REGIMES)}")
    if moves:
        start = law(regime, listed_share=listed_share)
        target = true_v(start.tables())
        for dimension, delta in moves:
            target[TITLES.index(dimension)] += delta
        return _solved(start, target)
    if regime in ("joint", "templates"):
        return dataclasses.replace(law("iid", listed_share=listed_share), regime=regime)
    start = Law(regime=regime, strengths=(0.4,) * len(DIMENSIONS), listed_share=listed_share)
    return _solved(start, calibrated_v(listed_share))
