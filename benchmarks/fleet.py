"""How long do `schedule`, `card` and `compare` take on the ledger of a fleet that was audited for a year?

Question: seconds of a whole command, from the start of its process to its end, and of the work in it, on a ledger of 20
families with 10 releases each, three protocols, every release audited every week for 52 weeks: 31,200 audits with 49
scores each, nearly as many comparisons of 16 rows, the points of their watches, duties and their runs, and what was
published. `benchmarks.fleet_ledger` writes it.

Limit: `schedule`, `card` and `compare` below 1 s each, start of the process and imports included; what of it are imports is
shown beside. Run: ``python -m benchmarks.fleet`` (about 2 minutes), or with ``--ledger postgresql://...`` for an empty
database.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":  # read once, when numpy loads
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.fleet_ledger import Fleet, built, plugin, registered
from flows.settings import Home

LIMIT_S = 1.0
LIMITED = ("schedule", "card", "compare")
ROOT = Path(__file__).parents[1]


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of a whole command, its processor time, and seconds of the same work where everything is imported."""

    wall_s: float
    cpu_s: float
    inside_s: float


def commands(fleet: Fleet) -> dict[str, list[str]]:
    """What is measured, by name."""
    family, protocol = fleet.read, ["--protocol", fleet.protocols[0]]
    one, other = (f"models:/{family}/{version}" for version in (fleet.releases - 1, fleet.releases))
    return {
        "schedule": ["schedule"],
        "card": ["card", family, *protocol],
        "compare": ["compare", one, other, *protocol],
        "card, html": ["card", family, *protocol, "--format", "html"],
        "watch": ["watch", other, *protocol],
        "status": ["status"],
    }


def whole(arguments: list[str], home: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Wall and processor seconds of a command as a user starts it."""
    command = [sys.executable, "-m", "flows.cli", *arguments, "--home", str(home)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"{' '.join(arguments)} failed: {done.stderr or done.stdout}")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def inside(arguments: list[str], home: Path) -> float:
    """Seconds of the same in this process, where everything is imported."""
    from flows.cli import exit_code

    began = time.monotonic()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        exit_code([*arguments, "--home", str(home)])
    return time.monotonic() - began


def measured(fleet: Fleet, home: Path, environment: dict[str, str], repeats: int = 5) -> dict[str, Measured]:
    """Medians of each command; the first run of each is not counted."""
    found = {}
    for name, arguments in commands(fleet).items():
        whole(arguments, home, environment)
        outer = [whole(arguments, home, environment) for _ in range(repeats)]
        inner = [inside(arguments, home) for _ in range(repeats + 1)][1:]
        wall, cpu = (statistics.median(column) for column in zip(*outer, strict=True))
        found[name] = Measured(wall, cpu, statistics.median(inner))
    return found


def _timed(task: Callable[[], None]) -> float:
    began = time.monotonic()
    task()
    return time.monotonic() - began


def main() -> None:
    """Build the ledger, measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ledger", help="SQLAlchemy URL of an empty database; default: SQLite in a temporary folder")
    parser.add_argument("--families", type=int, default=20)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--keep", type=Path, help="folder to build in, and to measure again when it is there already")
    given = parser.parse_args()
    fleet = Fleet(families=given.families, releases=given.releases, weeks=given.weeks)
    with tempfile.TemporaryDirectory() as temporary:
        place = given.keep or Path(temporary)
        if given.ledger:
            os.environ["SPIRITLEVEL_LEDGER_URL"] = given.ledger
        home = Home(place / "home")
        registered()
        if not (place / "plugin").exists():
            plugin(place / "plugin")
            print(f"{fleet.audits:,} audits written in {_timed(lambda: built(home, fleet)):.0f} s")
        environment = os.environ | {"PYTHONPATH": f"{place / 'plugin'}{os.pathsep}{ROOT}"}
        print(f"{'command':12} {'whole':>8} {'its CPU':>8} {'imports':>8} {'work':>8}   (seconds)")
        for name, took in measured(fleet, home.path, environment).items():
            rest = took.cpu_s - took.inside_s
            late = f"  above the limit of {LIMIT_S:g} s" if name in LIMITED and took.wall_s > LIMIT_S else ""
            print(f"{name:12} {took.wall_s:8.2f} {took.cpu_s:8.2f} {rest:8.2f} {took.inside_s:8.3f}{late}")


if __name__ == "__main__":
    main()
