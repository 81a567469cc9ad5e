"""Simulate and report: ``python -m benchmarks.calibration --runs 1000 --results FILE [--quick] [--report]``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

# Before numpy is imported here and in the processes that do the work: they share the cores already.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="JSON lines; an existing file is continued")
    parser.add_argument("--runs", type=int, default=1000, help="comparisons of unchanged releases, a regime and size")
    parser.add_argument("--power-runs", type=int, default=200, help="comparisons of changed releases in iid, a cell")
    parser.add_argument("--other-power-runs", type=int, default=60, help="the same in the other regimes")
    parser.add_argument("--pool", type=int, default=1000, help="audits of which recurring years are put together")
    parser.add_argument("--singly", action="store_true", help="move one dimension a run, not four")
    parser.add_argument("--resamples", type=int, help="of the response bootstrap; default: that of the policy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="few runs of 1,000 personas, to see that all works")
    parser.add_argument("--report", action="store_true", help="write the report of the results; simulate nothing")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="where calibration.md and its figure go")
    return parser


def main() -> None:
    """Do what the command line says."""
    options = _parser().parse_args()
    from benchmarks.calibration.laws import REGIMES, TITLES
    from benchmarks.calibration.releases import GROUPS, SIZES, changed_cells, simulate, unchanged_cells
    from benchmarks.calibration.report import write_report
    from benchmarks.calibration.years import simulate_years
    from metrics.comparison import Policy

    if options.report:
        write_report(options.results, options.docs)
        return
    policy = Policy() if options.resamples is None else Policy(resamples=options.resamples)
    groups = [(title,) for title in TITLES] if options.singly else GROUPS
    if options.quick:
        cells = [(cell, 20) for cell in unchanged_cells(SIZES[:1])]
        cells += [(cell, 4) for cell in changed_cells(SIZES[:1], groups=groups)]
        options.pool = 100
    else:
        cells = [(cell, options.runs) for cell in unchanged_cells()]
        cells += [(cell, options.power_runs) for cell in changed_cells(regimes=["iid"], groups=groups)]
        cells += [(cell, options.other_power_runs) for cell in changed_cells(regimes=REGIMES[1:], groups=groups)]
    simulate(cells, options.results, seed=options.seed, policy=policy, processes=options.processes)
    simulate_years(options.results, seed=options.seed, pool=options.pool)


if __name__ == "__main__":
    main()
