"""Many comparisons of simulated releases, judged by the product's own engine, one line of JSON for each.

A line holds the verdicts, changes and intervals of one comparison with the true change. Lines are written as they come,
so a simulation can be stopped and taken up again: what the file has is not done twice.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.calibration.generator import DIMENSIONS, LISTED, REGIMES, TITLES, Release, release
from benchmarks.calibration.laws import IDENTITY, SOCIAL
from metrics.association import DEBIASED, association_scores
from metrics.comparison import Policy, compare_associations, release_verdict
from metrics.results import METRICS_VERSION

SIZES = ((1_000, 1_000), (5_000, 5_000), (10_000, 10_000))
UNEQUAL = ((10_000, 2_000), (2_000, 10_000))
CHANGES = ((0.03, "v"), (0.05, "v"), (0.05, "score"), (0.10, "score"))
LETTERS = {"regressed": "R", "improved": "I", "unchanged": "U", "inconclusive": "?", "not measurable": "-"}
GROUPS = tuple(
    tuple(f"{axis} x {list(SOCIAL)[(row + shift) % len(SOCIAL)]}" for row, axis in enumerate(IDENTITY))
    for shift in range(len(SOCIAL))
)
"""All 16 dimensions in 4 groups, of which no two members share an axis or a social dimension."""

_AT_ONCE = 10
_WITH_SCORES = 4
"""One run in so many also measures the intervals of the scores of one release, which cost as much as a comparison."""

Record = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What is simulated: a regime, the personas of both audits, and what differs between the releases.

    Parameters
    ----------
    regime : one of REGIMES; n_previous, n_current : personas
    moved : dimensions with more association in the current release; none: the release is unchanged
    delta, unit : by how much, in ``v`` or in ``score`` (normalized)
    """

    regime: str
    n_previous: int
    n_current: int
    moved: tuple[str, ...] = ()
    delta: float = 0.0
    unit: str = "v"

    @property
    def key(self) -> str:
        """The cell in one line, as results are grouped by."""
        sizes = f"{self.regime} {self.n_previous}/{self.n_current}"
        places = ",".join(str(TITLES.index(title)) for title in self.moved)
        return f"{sizes} {self.unit}+{self.delta:g} in {places}" if self.moved else sizes

    @classmethod
    def of(cls, record: Record) -> Cell:
        """The cell of a line of results."""
        values = {field.name: record["cell"][field.name] for field in dataclasses.fields(cls)}
        return cls(**values | {"moved": tuple(values["moved"])})


def unchanged_cells(
    sizes: Sequence[tuple[int, int]] = (*SIZES, *UNEQUAL), regimes: Sequence[str] = REGIMES
) -> list[Cell]:
    """Cells without a change, for false alarms, coverage and equivalence."""
    return [
        Cell(regime=regime, n_previous=previous, n_current=current) for regime in regimes for previous, current in sizes
    ]


def changed_cells(
    sizes: Sequence[tuple[int, int]] = SIZES,
    regimes: Sequence[str] = REGIMES,
    groups: Sequence[tuple[str, ...]] = GROUPS,
    changes: Sequence[tuple[float, str]] = CHANGES,
) -> list[Cell]:
    """Cells with a change, for power.

    The adjusted p value of a dimension does not depend on the z of the others (single-step max-T), so four dimensions
    that share neither axis nor social dimension move in one run. Give ``groups`` of one for one at a time.
    """
    return [
        Cell(regime=regime, n_previous=previous, n_current=current, moved=group, delta=delta, unit=unit)
        for regime in regimes
        for previous, current in sizes
        for delta, unit in changes
        for group in groups
    ]


def audited(cell: Cell, run: int, seed: int) -> tuple[tuple[Release, Release], tuple[pd.DataFrame, pd.DataFrame]]:
    """Both releases of a run and the frames of their audits.

    The stored lists of ``templates`` are other ones in each run, and the same for both releases of a run.
    """
    of_lists, first, second = np.random.default_rng([seed, run, zlib.crc32(cell.key.encode())]).spawn(3)
    previous = release(cell.regime, of_lists)
    current = previous.moved(cell.moved, cell.delta, cell.unit) if cell.moved else previous
    return (previous, current), (previous.audit(cell.n_previous, first), current.audit(cell.n_current, second))


def simulated(cell: Cell, run: int, seed: int, policy: Policy) -> Record:
    """One line of results."""
    record: Record = {"cell": dataclasses.asdict(cell), "run": run, "seed": seed}
    try:
        releases, frames = audited(cell, run, seed)
    except ValueError as error:
        return record | {"skipped": str(error)}
    rows = compare_associations(
        *frames, DIMENSIONS, names=LISTED, policy=dataclasses.replace(policy, seed=policy.seed + run)
    )
    truth = [each.scores() for each in releases]
    record |= {
        "release": LETTERS[release_verdict(rows)[0]],
        "verdicts": "".join(LETTERS[row.verdict] for row in rows),
        "true": _rounded(truth[1] - truth[0]),
    }
    record |= {field: _rounded([getattr(row, field) for row in rows]) for field in ("delta", "low", "high")}
    record["z"] = _rounded([row.statistic for row in rows])
    if not cell.moved and run % _WITH_SCORES == 0:
        record["score"] = {"true": _rounded(truth[1]), **_score_intervals(frames[1], run, policy)}
    return record


def _score_intervals(frame: pd.DataFrame, run: int, policy: Policy) -> Record:
    scores = association_scores(frame, DIMENSIONS, names=LISTED, seed=run, resamples=policy.resamples)
    rows = [score for score in scores if score.metric == DEBIASED and score.dimension in TITLES]
    return {"low": _rounded([row.low for row in rows]), "high": _rounded([row.high for row in rows])}


def _rounded(values: Sequence[float | None] | np.ndarray[Any, Any]) -> list[float | None]:
    return [None if value is None else round(float(value), 5) for value in values]


Task = tuple[Cell, tuple[int, ...], int, Policy]


def tasks(cells: Sequence[tuple[Cell, int]], seed: int, policy: Policy, done: set[tuple[str, int]]) -> list[Task]:
    """Pieces of work of some runs each; all cells grow together, so that a stopped simulation has something of each."""
    pieces = []
    for start in range(0, max((runs for _, runs in cells), default=0), _AT_ONCE):
        for cell, runs in cells:
            block = range(start, min(start + _AT_ONCE, runs))
            if left := tuple(run for run in block if (cell.key, run) not in done):
                pieces.append((cell, left, seed, policy))
    return pieces


def _worked(task: Task) -> list[Record]:
    cell, runs, seed, policy = task
    return [simulated(cell, run, seed, policy) for run in runs]


def lines(path: Path) -> Iterator[Record]:
    """All lines of a results file; the last one may be cut off by a stop and is then left out."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue


def about(seed: int, policy: Policy) -> Record:
    """What all lines of one results file have in common; it is their first line."""
    return {"about": {"seed": seed, "metrics_version": METRICS_VERSION, "policy": policy.as_json()}}


def append(path: Path, records: Sequence[Record]) -> None:
    """Add lines to a results file, on a line of their own even after one that was cut off."""
    text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    with path.open("a+b") as file:
        if file.seek(0, 2):
            file.seek(-1, 2)
            text = text if file.read(1) == b"\n" else "\n" + text
        file.write(text.encode())


def simulate(
    cells: Sequence[tuple[Cell, int]],
    path: Path,
    *,
    seed: int = 0,
    policy: Policy | None = None,
    processes: int = 2,
    say: Callable[[str], object] = sys.stderr.write,
) -> None:
    """Do the runs of each cell that a results file lacks, and add them to it.

    Parameters
    ----------
    cells : with the number of runs of each; path : the results, JSON lines; seed : of all personas
    policy : of the comparisons; processes : that work; say : takes lines on the progress

    Raises ValueError when the file was made with another seed, policy or version of the metrics.
    """
    policy = policy or Policy()
    found = list(lines(path))
    header = about(seed, policy)
    if found and found[0] != header:
        raise ValueError(f"{path} was made with another seed, policy or version of the metrics: begin a new file")
    if not found:
        append(path, [header])
    done = {(Cell.of(record).key, record["run"]) for record in found if "cell" in record}
    todo = tasks(cells, seed, policy, done)
    total, count, began = sum(len(task[1]) for task in todo), 0, time.monotonic()
    said = began
    say(f"{total} comparisons to do, {len(done)} in {path.name}\n")
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for records in pool.imap_unordered(_worked, todo):
            append(path, records)
            count += len(records)
            now = time.monotonic()
            if now - said >= 5 or count == total:
                said, rate = now, count / (now - began)
                say(f"{count}/{total} comparisons, {rate:.1f}/s, {(total - count) / rate / 60:.0f} min left\n")
