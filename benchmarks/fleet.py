"""How long do `schedule`, `card` and `compare` take on the ledger of a fleet that was audited for a year?

Question: wall and processor seconds of a whole command, from the start of its process to its end, and processor seconds of the
work in it, where everything is imported already; what is between the two is the start. On a ledger of 20
families with 10 releases each, three protocols, every release audited every week for 52 weeks: 31,200 audits with 49
scores each, nearly as many comparisons of 16 rows, the points of their watches, duties and their runs, and what was
published. `benchmarks.fleet_ledger` writes it.

Limit: `schedule`, `card` and `compare` below 1 s each, start of the process and imports included. Run: ``python -m benchmarks.fleet`` (about 2 minutes), or with ``--ledger postgresql://...`` for an empty
database.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
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
REPEATS = 5
FINE = (0, 1, 3)  # exit codes of a command that has shown something; a verdict may be one
LIMITED = ("schedule", "card", "compare")
ROOT = Path(__file__).parents[1]


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of each run: wall and processor time of whole commands, processor time of the same work inside."""

    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]
    inside_s: tuple[float, ...]

    @property
    def start_s(self) -> float:
        """Processor time before the work begins: Python and imports."""
        return statistics.median(self.cpu_s) - statistics.median(self.inside_s)


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
    if done.returncode not in FINE:
        raise RuntimeError(f"{' '.join(arguments)} failed: {done.stderr or done.stdout}")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def inside(arguments: list[str], home: Path) -> float:
    """Processor seconds of the same in this process, where everything is imported."""
    from flows.cli import exit_code

    said, began = io.StringIO(), time.process_time()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = exit_code([*arguments, "--home", str(home)])
    took = time.process_time() - began
    if code not in FINE:
        raise RuntimeError(f"{' '.join(arguments)} failed: {said.getvalue()}")
    return took


def measured(fleet: Fleet, home: Path, environment: dict[str, str]) -> dict[str, Measured]:
    """Each command several times; the first run of each is not counted."""
    found = {}
    for name, arguments in commands(fleet).items():
        whole(arguments, home, environment)
        outer = [whole(arguments, home, environment) for _ in range(REPEATS)]
        inside(arguments, home)
        found[name] = Measured(*zip(*outer, strict=True), tuple(inside(arguments, home) for _ in range(REPEATS)))
    return found


def ready(place: Path, fleet: Fleet) -> None:
    """Build the fleet in a folder, unless it is there already.

    A folder that was left half-built, or holds another fleet, is not measured.
    """
    size = json.dumps([fleet.families, fleet.releases, fleet.weeks])
    done = place / "built.json"
    if done.exists() and done.read_text(encoding="utf-8") == size:
        return
    if place.exists() and any(place.iterdir()):
        raise SystemExit(
            f"{place} is not empty and holds no whole fleet of this size; remove it, or name another folder"
        )
    plugin(place / "plugin")
    print(f"{fleet.audits:,} audits written in {_timed(lambda: built(Home(place / 'home'), fleet)):.0f} s")
    done.write_text(size, encoding="utf-8")


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
        registered()
        ready(place, fleet)
        environment = os.environ | {"PYTHONPATH": f"{place / 'plugin'}{os.pathsep}{ROOT}"}
        print(f"Seconds, median of {REPEATS} (least to most); 'start' is the processor time of Python and imports.")
        print(f"{'command':12} {'wall':>17} {'processor':>17} {'start':>6} {'work inside':>20}")
        for name, took in measured(fleet, place / "home", environment).items():
            late = (
                f"  above the limit of {LIMIT_S:g} s"
                if name in LIMITED and statistics.median(took.wall_s) > LIMIT_S
                else ""
            )
            print(
                f"{name:12} {_spread(took.wall_s):>17} {_spread(took.cpu_s):>17} {took.start_s:6.2f} "
                f"{_spread(took.inside_s, 3):>20}{late}"
            )


def _spread(seconds: tuple[float, ...], digits: int = 2) -> str:
    middle, least, most = statistics.median(seconds), min(seconds), max(seconds)
    return f"{middle:.{digits}f} ({least:.{digits}f}-{most:.{digits}f})"


if __name__ == "__main__":
    main()
