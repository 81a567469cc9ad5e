"""What is known before an audit is planned: the estimates of a pilot audit, or assumptions that are named as such.

All of it rests on one law for the variance of V squared in an audit of n personas:

    Var(V^2; n) = 4 s^2 (V^2 + B / n) (1 - V^2) / ((1 - V0^2) n)

``s`` is ``sqrt(n) SD(V)`` of a large audit, and ``B / n`` is what the size of the table adds to V squared (the noise
floor). ``V0`` is V of the pilot. ``s`` is taken as the same for all V but for the last factor, which lets the variance vanish
where one attribute tells the other: without it the size for a large change is overstated. Both come from a finished audit, with the dependence of personas in one
answer in them, or from `ASSUMED`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.contingency import association
from metrics.errors import BadInputError
from metrics.tables import BiasDimension, ClusteredTable, dimension_table
from metrics.verdicts import Policy
from metrics.vocabulary import shared_vocabulary

FloatArray = NDArray[np.float64]

_NO_VARIANCE = 1e-18

ASSUMED_DESIGN_EFFECTS = (1.0, 2.0)
"""Shown beside each other without a pilot: independent personas, and answers whose personas resemble each other.

In simulations of dependent answers the variance of V was 1 to 1.6 times that of independent personas on average over
the dimensions, and up to 5 times in single ones.
"""


_NO_ROOM = 1e-9


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """Raw ``v``, ``spread`` = sqrt(n) SD(V) of independent personas, df*, and the categories of the longer side."""

    v: float
    spread: float
    df_star: int
    longest: int


ASSUMED: Mapping[str, Assumption] = MappingProxyType(
    {
        "name x social class": Assumption(v=0.351, spread=1.12, df_star=2, longest=50),
        "name x education": Assumption(v=0.278, spread=0.76, df_star=4, longest=50),
        "name x occupation": Assumption(v=0.267, spread=0.49, df_star=17, longest=50),
        "name x interest": Assumption(v=0.239, spread=0.47, df_star=14, longest=50),
        "gender x social class": Assumption(v=0.140, spread=0.83, df_star=2, longest=3),
        "gender x education": Assumption(v=0.103, spread=0.70, df_star=2, longest=5),
        "gender x occupation": Assumption(v=0.349, spread=0.86, df_star=2, longest=18),
        "gender x interest": Assumption(v=0.359, spread=0.65, df_star=2, longest=15),
        "ethnicity x social class": Assumption(v=0.214, spread=0.69, df_star=2, longest=6),
        "ethnicity x education": Assumption(v=0.171, spread=0.49, df_star=4, longest=6),
        "ethnicity x occupation": Assumption(v=0.243, spread=0.48, df_star=5, longest=18),
        "ethnicity x interest": Assumption(v=0.196, spread=0.45, df_star=5, longest=15),
        "sexual orientation x social class": Assumption(v=0.106, spread=0.64, df_star=2, longest=5),
        "sexual orientation x education": Assumption(v=0.091, spread=0.51, df_star=4, longest=5),
        "sexual orientation x occupation": Assumption(v=0.197, spread=0.58, df_star=4, longest=18),
        "sexual orientation x interest": Assumption(v=0.165, spread=0.49, df_star=4, longest=15),
    }
)
"""Without a pilot: the median raw V of the 12 models in Table 2 of arXiv 2602.00044 (V is recovered from the printed
scores), and sqrt(n) SD(V) of independent personas that were simulated with these V. An assumption, not a measurement."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PilotDimension:
    """What a pilot says of one dimension.

    Parameters
    ----------
    v_squared : jackknifed V squared, at least 0; floor : what the pilot's size added to plain V squared
    variance : of V squared over repeated audits of the pilot's ``size`` (personas asked for)
    share : records that the dimension counts, of the personas asked for (names: those with a listed name)
    design_effect : variance, as a multiple of that of independent records; None when unknown
    """

    dimension: str
    df_star: int
    v_squared: float
    floor: float
    variance: float
    size: int
    share: float
    design_effect: float | None = None
    by_name: bool = False

    def __post_init__(self) -> None:
        numbers = (self.v_squared, self.floor, self.variance, self.share)
        if not all(math.isfinite(number) and number >= 0 for number in numbers):
            raise BadInputError(f"a pilot's V squared, floor, variance and share are at least 0, got {numbers}")
        if self.size < 1 or self.variance < _NO_VARIANCE or self.share > 1 or self.v_squared + self.floor <= 0:
            raise BadInputError(
                f"a pilot of {self.dimension!r} has personas and a variance above 0, got size {self.size} and "
                f"variance {self.variance}: nothing tells how much its audits vary"
            )

    def variance_at(self, v_squared: float, size: float) -> float:
        """Variance of V squared of a release with true ``v_squared`` in an audit of ``size`` personas.

        ``4 s^2 (V^2 + B / n) (1 - V^2) / n``, with s from the pilot: it grows with V squared and its floor, and
        vanishes where one attribute tells the other.
        """
        room = (1.0 - v_squared) / max(1.0 - self.v_squared, _NO_ROOM)
        return (
            self.variance
            * self.size
            / size
            * (v_squared + self.floor * self.size / size)
            / (self.v_squared + self.floor)
            * max(room, 0.0)
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pilot:
    """The family of dimensions as a pilot shows it.

    ``missing`` : why a dimension could not be measured, by its title. ``influences`` [requests, dimensions] : how each
    request moves each V squared, one column for each dimension in order; None when the tests count as independent.
    """

    dimensions: tuple[PilotDimension, ...]
    missing: Mapping[str, str] = dataclasses.field(default_factory=dict)
    influences: FloatArray | None = None


def measured_pilot(
    frame: pd.DataFrame,
    dimensions: Sequence[BiasDimension],
    *,
    size: int,
    names: Sequence[str] | None = None,
    merge_below: int = Policy().merge_below,
) -> Pilot:
    """The pilot that a finished audit is.

    Parameters
    ----------
    frame : persona frame; size : personas that were asked for
    dimensions : the family; names : names that the name dimensions count
    merge_below : categories with fewer records, in this audit and another one like it, are merged as a comparison does
    """
    measured, missing, columns = [], {}, []
    for dimension in dimensions:
        if dimension.by_name and not names:
            missing[dimension.title] = "no list of names was given, and names are counted from a list only"
            continue
        table = dimension_table(frame, dimension, names)
        shared = shared_vocabulary(table, table, merge_below)
        table = table.relabelled(shared.rows, shared.columns)
        found = _pilot_dimension(table, dimension, size)
        if isinstance(found, str):
            missing[dimension.title] = found
            continue
        measured.append(found[0])
        columns.append(found[1])
    influences = np.stack(columns, axis=1) if columns else None
    return Pilot(dimensions=tuple(measured), missing=missing, influences=influences)


def _pilot_dimension(
    table: ClusteredTable, dimension: BiasDimension, size: int
) -> tuple[PilotDimension, FloatArray] | str:
    if defect := table.defect() or table.sparseness():
        return defect
    found = association(table)
    if found.variance is None or found.v_squared_jackknife is None:
        return "all records are from one request, so that nothing says how much requests vary"
    if found.variance < _NO_VARIANCE:
        return "every request shows the same association: no variation to judge a change by"
    v_squared = min(max(found.v_squared_jackknife, 0.0), 1.0)
    pilot = PilotDimension(
        dimension=dimension.title,
        df_star=found.df_star,
        v_squared=v_squared,
        floor=max(found.v_squared - v_squared, 0.0),
        variance=found.variance,
        size=size,
        share=min(table.n / size, 1.0),
        design_effect=found.design_effect,
        by_name=dimension.by_name,
    )
    return pilot, found.influence


def assumed_pilot(dimensions: Sequence[BiasDimension], design_effect: float = 1.0) -> Pilot:
    """A pilot from `ASSUMED`, for dimensions that have an entry there; every persona counts as one with a listed name.

    >>> pilot = assumed_pilot([BiasDimension(title="gender x planet", axis="", social="", row="", column="")])
    >>> pilot.missing["gender x planet"]
    'there is no pilot, and nothing is assumed of this dimension'
    """
    size = 10_000  # any: the spread is the same at all sizes
    measured, missing = [], {}
    for dimension in dimensions:
        assumed = ASSUMED.get(dimension.title)
        if assumed is None:
            missing[dimension.title] = "there is no pilot, and nothing is assumed of this dimension"
            continue
        floor = design_effect * (assumed.longest - 1) / size
        variance = 4 * assumed.spread**2 * design_effect * (assumed.v**2 + floor) / size
        measured.append(
            PilotDimension(
                dimension=dimension.title,
                df_star=assumed.df_star,
                v_squared=assumed.v**2,
                floor=floor,
                variance=variance,
                size=size,
                share=1.0,
                design_effect=design_effect,
                by_name=dimension.by_name,
            )
        )
    return Pilot(dimensions=tuple(measured), missing=missing)
