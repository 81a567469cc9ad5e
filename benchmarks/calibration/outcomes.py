"""What the lines of a results file say: shares with their exact intervals, and whether the bars hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibration.laws import DIMENSIONS, REGIMES, TITLES
from benchmarks.calibration.recurring import LARGEST_SHARE, exact_interval
from benchmarks.calibration.releases import Cell, Record, lines

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LARGEST_FALSE_ALARMS = 0.07
COVERAGE = (0.93, 0.97)
LEAST_POWER = 0.85
LEAST_UNCHANGED = 0.80
NAME_PLACES = tuple(place for place, dimension in enumerate(DIMENSIONS) if dimension.by_name)
IN_USE = ("e-process", "self-starting-cusum")


@dataclasses.dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, with the exact 95 % interval (Clopper-Pearson).

    >>> print(Share(5, 100))
    5.0 % (5/100; 1.6 to 11.3)
    """

    count: int
    of: int

    @classmethod
    def among(cls, hits: BoolArray) -> Share:
        """The share of true values."""
        return cls(int(hits.sum()), int(hits.size))

    @property
    def value(self) -> float:
        """The share as a fraction."""
        return self.count / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95 % bounds."""
        return exact_interval(self.count, self.of)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{100 * self.value:.1f} % ({self.count}/{self.of}; {100 * low:.1f} to {100 * high:.1f})"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcomes:
    """All runs of one cell.

    ``releases`` : letter of the verdict on the release [runs]; ``verdicts`` : of each dimension [runs, 16]
    ``true``, ``delta``, ``low``, ``high``, ``z`` : [runs, 16], NaN where a dimension was not measured
    ``scores`` : whether the interval of each score holds the true one [runs with scores, 16], NaN alike
    ``skipped`` : runs whose change the finite stored lists could not show
    """

    cell: Cell
    releases: NDArray[np.str_]
    verdicts: NDArray[np.str_]
    true: FloatArray
    delta: FloatArray
    low: FloatArray
    high: FloatArray
    z: FloatArray
    scores: FloatArray
    skipped: int

    @property
    def alarms(self) -> Share:
        """Comparisons with a release verdict `regressed`."""
        return Share.among(self.releases == "R")

    def by_dimension(self, letter: str) -> list[Share]:
        """Share of one verdict in each dimension."""
        return [Share.among(column == letter) for column in self.verdicts.T]

    def coverage(self) -> list[Share]:
        """Share of runs whose 95 % interval of the change holds the true change, of each measured dimension."""
        return _held(self.change_holds())

    def change_holds(self) -> FloatArray:
        """Whether each interval of a change holds the true change [runs, dimensions]; NaN where there is none."""
        return np.where(np.isnan(self.low), np.nan, (self.low <= self.true) & (self.true <= self.high))

    def score_holds(self) -> FloatArray:
        """The same for the interval of the score of one release [runs that measured it, dimensions]."""
        return self.scores

    def score_coverage(self) -> list[Share]:
        """The same for the 95 % interval of the score of one release."""
        return _held(self.scores)


def _held(holds: FloatArray) -> list[Share]:
    columns = [column[~np.isnan(column)] for column in holds.T]
    return [Share.among(column == 1) for column in columns if column.size]


def _floats(records: Sequence[Record], field: str) -> FloatArray:
    return np.array(
        [[np.nan if value is None else value for value in record[field]] for record in records], dtype=float
    )


def _score_holds(records: Sequence[Record]) -> FloatArray:
    found = [record["score"] for record in records if "score" in record]
    if not found:
        return np.zeros((0, len(TITLES)))
    true, low, high = (_floats(found, field) for field in ("true", "low", "high"))
    return np.where(np.isnan(low), np.nan, (low <= true) & (true <= high))


def _outcomes(cell: Cell, records: Sequence[Record]) -> Outcomes:
    done = [record for record in records if "verdicts" in record]
    return Outcomes(
        cell=cell,
        releases=np.array([record["release"] for record in done]),
        verdicts=np.array([list(record["verdicts"]) for record in done]),
        **{field: _floats(done, field) for field in ("true", "delta", "low", "high", "z")},
        scores=_score_holds(done),
        skipped=len(records) - len(done),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Results:
    """A whole results file: its first line, the cells without and with a change, recurring years and delays."""

    about: dict[str, Any]
    unchanged: list[Outcomes]
    changed: list[Outcomes]
    years: list[Record]
    delays: list[Record]

    def unchanged_in(self, regime: str, sizes: tuple[int, int]) -> Outcomes | None:
        """The cell without a change of a regime and a pair of sizes, when it was simulated."""
        found = [o for o in self.unchanged if (o.cell.regime, o.cell.n_previous, o.cell.n_current) == (regime, *sizes)]
        return found[0] if found else None

    def power(self, regime: str, n: int, delta: float, unit: str) -> dict[str, Share]:
        """Share `regressed` of each moved dimension, for equal sizes."""
        wanted = (regime, n, n, delta, unit)
        shares = {}
        for outcomes in self.changed:
            cell = outcomes.cell
            if (cell.regime, cell.n_previous, cell.n_current, cell.delta, cell.unit) != wanted:
                continue
            for title in cell.moved:
                shares[title] = Share.among(outcomes.verdicts[:, TITLES.index(title)] == "R")
        return {title: shares[title] for title in TITLES if title in shares}


def load(path: Path) -> Results:
    """Read a results file; raises ValueError when it has no comparison."""
    records = list(lines(path))
    by_cell: dict[str, list[Record]] = {}
    for record in records:
        if "cell" in record:
            by_cell.setdefault(Cell.of(record).key, []).append(record)
    if not by_cell:
        raise ValueError(f"{path} has no comparison; simulate some first")
    # The order in which processes finish must not show in a report.
    runs = [sorted(found, key=lambda record: int(record["run"])) for found in by_cell.values()]
    cells = [_outcomes(Cell.of(found[0]), found) for found in runs if any("verdicts" in record for record in found)]
    cells.sort(key=_order)
    return Results(
        about=records[0].get("about", {}),
        unchanged=[outcomes for outcomes in cells if not outcomes.cell.moved],
        changed=[outcomes for outcomes in cells if outcomes.cell.moved],
        years=[record["years"] for record in records if "years" in record],
        delays=[record["delay"] for record in records if "delay" in record],
    )


def _order(outcomes: Outcomes) -> tuple[object, ...]:
    cell = outcomes.cell
    unequal = cell.n_previous != cell.n_current
    sizes = (unequal, -cell.n_previous if unequal else cell.n_previous)
    return REGIMES.index(cell.regime), *sizes, cell.unit, cell.delta, cell.moved


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: what is required, what was found, and whether it holds (None: not simulated)."""

    title: str
    required: str
    found: str
    held: bool | None

    @property
    def word(self) -> str:
        """`held`, `missed` or `not simulated`."""
        return "not simulated" if self.held is None else "held" if self.held else "**missed**"


def place_of(cell: Cell) -> str:
    """Regime and sizes in words."""
    same = cell.n_previous == cell.n_current
    sizes = f"n = {cell.n_previous:,}" if same else f"n = {cell.n_previous:,} and {cell.n_current:,}"
    return f"{cell.regime}, {sizes}"


def _false_alarm_bar(results: Results) -> Bar:
    worst = max(results.unchanged, key=lambda o: o.alarms.interval[0], default=None)
    above = [o for o in results.unchanged if o.alarms.interval[0] > LARGEST_FALSE_ALARMS]
    return Bar(
        title="False alarms per audit",
        required="the exact interval does not lie above 7 % in any regime and size",
        found="-" if worst is None else f"{len(above)} above; highest {worst.alarms} in {place_of(worst.cell)}",
        held=None if worst is None else not above,
    )


def _mean_coverage_bar(results: Results, title: str, of: Callable[[Outcomes], FloatArray]) -> Bar:
    """Over all dimensions of an audit; the interval is normal, with the run as the unit, as its dimensions hang together."""
    found = []
    for outcomes in results.unchanged:
        by_run = np.nanmean(of(outcomes), axis=1) if len(of(outcomes)) > 1 else np.zeros(0)
        if by_run.size:
            error = 1.96 * float(by_run.std(ddof=1)) / math.sqrt(by_run.size)
            found.append((float(by_run.mean()), error, place_of(outcomes.cell)))
    outside = [row for row in found if row[0] + row[1] < COVERAGE[0] or row[0] - row[1] > COVERAGE[1]]
    text = "-"
    if found:
        low, high = min(found), max(found)
        text = (
            f"{len(outside)} of {len(found)} outside; lowest {100 * low[0]:.1f} % (+- {100 * low[1]:.1f}) in {low[2]}, "
            f"highest {100 * high[0]:.1f} % (+- {100 * high[1]:.1f}) in {high[2]}"
        )
    return Bar(
        title=f"{title}, over the 16 dimensions",
        required="the 95 % interval of the mean coverage reaches into 93 to 97 % in every regime and size",
        found=text,
        held=not outside if found else None,
    )


def _coverage_bar(results: Results, title: str, of: Callable[[Outcomes], list[Share]]) -> Bar:
    shares = [(share, outcomes.cell) for outcomes in results.unchanged for share in of(outcomes)]
    outside = [(s, c) for s, c in shares if s.interval[1] < COVERAGE[0] or s.interval[0] > COVERAGE[1]]
    found = "-"
    if shares:
        values = [share.value for share, _ in shares]
        found = (
            f"{len(outside)} of {len(shares)} outside; mean {100 * np.mean(values):.1f} %, "
            f"lowest {100 * min(values):.1f} %, highest {100 * max(values):.1f} %"
        )
    if outside:
        share, cell = max(outside, key=lambda item: abs(item[0].value - 0.95))
        found += f"; farthest outside: {share} in {place_of(cell)}"
    return Bar(
        title=f"{title}, in single dimensions",
        required="in every dimension, regime and size the exact interval of the coverage reaches into 93 to 97 %",
        found=found,
        held=not outside if shares else None,
    )


def median(shares: Iterable[Share]) -> Share | None:
    """The lower of the two middle shares, which is a share that was really found."""
    ordered = sorted(shares, key=lambda share: share.value)
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def _power_bar(results: Results) -> Bar:
    middle = median(results.power("iid", 5_000, 0.05, "v").values())
    return Bar(
        title="Power for a change of V of 0.05",
        required="at least 85 % `regressed` in the median dimension at n = 5,000, iid",
        found="-" if middle is None else str(middle),
        held=None if middle is None else middle.value >= LEAST_POWER,
    )


def _unchanged_bar(results: Results) -> Bar:
    outcomes = results.unchanged_in("iid", (10_000, 10_000))
    middle = None if outcomes is None else median(outcomes.by_dimension("U"))
    return Bar(
        title="`unchanged` on unchanged releases",
        required="at least 80 % in the median dimension at n = 10,000, iid",
        found="-" if middle is None else str(middle),
        held=None if middle is None else middle.value >= LEAST_UNCHANGED,
    )


def _years_bar(results: Results) -> Bar:
    rows = [row for row in results.years if row["rule"] in IN_USE]
    worst = max(rows, key=lambda row: float(row["share"]), default=None)
    found = (
        "-"
        if worst is None
        else f"highest {Share(worst['alarms'], worst['years'])}: {worst['rule']}, {worst['regime']}"
    )
    return Bar(
        title="Recurring audits: years with a false alarm",
        required="at most 6 % for the e-process and the self-starting CUSUM in every regime",
        found=found,
        held=None if worst is None else float(worst["share"]) <= LARGEST_SHARE,
    )


def bars(results: Results) -> list[Bar]:
    """All bars with what was found."""
    return [
        _false_alarm_bar(results),
        _mean_coverage_bar(results, "Coverage of the 95 % interval of a change", Outcomes.change_holds),
        _coverage_bar(results, "Coverage of the 95 % interval of a change", Outcomes.coverage),
        _mean_coverage_bar(results, "Coverage of the 95 % interval of a score", Outcomes.score_holds),
        _coverage_bar(results, "Coverage of the 95 % interval of a score", Outcomes.score_coverage),
        _power_bar(results),
        _unchanged_bar(results),
        _years_bar(results),
    ]
