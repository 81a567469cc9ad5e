"""The report on a simulation: `docs/calibration.md` and its figure, from a results file alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.calibration.figure import draw
from benchmarks.calibration.laws import LISTED_SHARE, REGIMES, TITLES
from benchmarks.calibration.outcomes import IN_USE, NAME_PLACES, Outcomes, Results, Share, bars, load, median, place_of
from benchmarks.calibration.releases import CHANGES, SIZES

_INTRODUCTION = """\
# Calibration

How often does a comparison of two releases err? This page answers by simulation: synthetic personas with a known
association, audited and compared by the same functions that judge real releases (`metrics.comparison`), many times.
Every share is given as found, with its count and its exact 95 % interval (Clopper and Pearson 1934).

```bash
python -m benchmarks.calibration --runs 1000 --results calibration.jsonl
python -m benchmarks.calibration --results calibration.jsonl --report
```
"""
_METHOD = """\
## What is simulated

A name sets gender and ethnicity, gender sets the sexual orientation, and all four set class, education, occupation and
interest. The {share:.0f} % of personas with one of 50 listed names count in name dimensions. The associations are set so
that 5,000 independent personas show the median plain V of the 12 models in Table 2 of arXiv 2602.00044. V of each
simulated release is known exactly, not estimated. Answers hold 20 personas, which hang together in four ways:

| regime | answers |
| --- | --- |
| iid | personas are independent |
| modes | half of the answers stereotype 1.6 times as strongly, half 0.2 times |
| joint | every answer has a theme that shifts all attributes (intraclass correlation 0.4 of the logits) |
| templates | with probability 0.9 an answer repeats one of 20 stored lists, each persona replaced with probability 0.1 |

In `joint` the themes add associations of their own, so that V is higher there. In `templates` both releases of a
comparison keep the same stored lists, which are other ones in each run. How the answers of a real model hang together is
not known; these regimes are guesses on the harsh side.

Policy: {policy}.
"""
_LIMITS = """\
## What this does not show

The personas are synthetic and no model was asked. A real model may have dependence of another kind, rarer categories,
refusals, or terms that the taxonomy reads wrongly. The bars were set before the simulation was run; a bar that is missed
is reported as missed. Some of the many intervals on this page miss their true share by chance.
"""


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    marks = ["---"] * len(head)
    return [f"| {' | '.join(map(str, row))} |" for row in (head, marks, *rows)]


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _bars(results: Results) -> list[str]:
    rows = [(bar.title, bar.required, bar.found, bar.word) for bar in bars(results)]
    runs = [len(outcomes.releases) for outcomes in results.unchanged]
    return [
        "## The bars",
        "",
        f"From {sum(runs):,} comparisons of unchanged releases ({min(runs):,} to {max(runs):,} a regime and size) and",
        f"{sum(len(outcomes.releases) for outcomes in results.changed):,} of changed ones. A bar on an exact interval is",
        "easily held by few runs: read it with the count.",
        "",
        *_table(("what", "required", "found", "bar"), rows),
    ]


def _false_alarms(results: Results) -> list[str]:
    rows = []
    for outcomes in results.unchanged:
        worst = max(outcomes.by_dimension("R"), key=lambda share: share.value)
        better = Share.among((outcomes.verdicts == "I").any(axis=1))
        rows.append((place_of(outcomes.cell), outcomes.alarms, worst, better))
    return [
        "## False alarms on unchanged releases",
        "",
        "An audit has a false alarm when any of the 16 dimensions is `regressed`; nominal is 5 %. The share of audits",
        "in which any dimension is falsely `improved` stands beside it, and the dimension with the most false alarms.",
        "",
        *_table(("regime and size", "any `regressed`", "worst dimension", "any `improved`"), rows),
        "",
        "![False alarms by regime and size, and power by size](calibration.svg)",
    ]


def _verdicts(results: Results) -> list[str]:
    rows = []
    for outcomes in results.unchanged:
        plain = [place for place in range(len(TITLES)) if place not in NAME_PLACES]
        shares = outcomes.by_dimension("U")
        middle = median(shares)
        rows.append(
            (
                place_of(outcomes.cell),
                _percent(middle.value if middle else 0.0),
                _percent(float(np.mean([shares[place].value for place in plain]))),
                _percent(float(np.mean([shares[place].value for place in NAME_PLACES]))),
                *(_percent(float(np.mean(outcomes.verdicts == letter))) for letter in ("?", "R", "I")),
                Share.among(outcomes.releases == "U"),
            )
        )
    head = (
        "regime and size", "`unchanged`, median dimension", "mean of 12 without names", "mean of 4 by name",
        "`inconclusive`, mean of all", "`regressed`", "`improved`", "release `unchanged`",
    )  # fmt: skip
    return [
        "## Verdicts on unchanged releases",
        "",
        "A dimension is `unchanged` when the 90 % interval of its change is inside the margin of 0.10. A release is",
        "`unchanged` only when every measured dimension is.",
        "",
        *_table(head, rows),
    ]


def _by_dimension(results: Results) -> list[str]:
    regimes = [regime for regime in REGIMES if any(o.cell.regime == regime for o in results.unchanged)]
    pooled = {}
    for regime in regimes:
        found = np.concatenate([o.verdicts for o in results.unchanged if o.cell.regime == regime])
        pooled[regime] = [Share.among(column == "R") for column in found.T]
    rows = [(title, *(pooled[regime][place] for regime in regimes)) for place, title in enumerate(TITLES)]
    return [
        "## False alarms by dimension",
        "",
        "Share `regressed` of each dimension, over all sizes of a regime. The 5 % are those of the whole family, so that",
        "a single dimension stays far below. A name dimension has no verdict under 2,000 personas with a listed name.",
        "",
        *_table(("dimension", *regimes), rows),
    ]


def _coverage_row(outcomes: Outcomes) -> tuple[object, ...]:
    def span(shares: list[Share]) -> tuple[str, ...]:
        values = [share.value for share in shares]
        return (
            tuple(_percent(float(value)) for value in (np.mean(values), min(values), max(values)))
            if values
            else ("-", "-", "-")
        )

    deviation = np.nanstd(outcomes.z, axis=0, ddof=1)
    runs, scored = len(outcomes.releases), len(outcomes.scores)
    return (
        place_of(outcomes.cell),
        f"{runs:,}",
        *span(outcomes.coverage()),
        f"{scored:,}",
        *span(outcomes.score_coverage()),
        f"{np.mean(deviation):.2f} ({deviation.min():.2f} to {deviation.max():.2f})",
    )


def _coverage(results: Results) -> list[str]:
    head = (
        "regime and size", "runs", "change: mean", "lowest", "highest",
        "runs with scores", "score: mean", "lowest", "highest", "sd of z",
    )  # fmt: skip
    rows = [_coverage_row(outcomes) for outcomes in results.unchanged if len(outcomes.releases) > 1]
    return [
        "## Coverage of the 95 % intervals",
        "",
        "How often the interval of a change holds the true change (none), and that of a debiased score the true score:",
        "mean, lowest and highest of the 16 dimensions. The standard deviation of z would be 1 with perfect errors.",
        "",
        *_table(head, rows),
    ]


def _named(delta: float, unit: str) -> str:
    return f"V +{delta:.2f}" if unit == "v" else f"score +{delta:.2f}"


def _power(results: Results) -> list[str]:
    rows = []
    for regime in REGIMES:
        for n, _ in SIZES:
            for delta, unit in CHANGES:
                shares = results.power(regime, n, delta, unit)
                middle = median(shares.values())
                if middle is None:
                    continue
                worst, best = (pick(shares, key=lambda title: shares[title].value) for pick in (min, max))
                rows.append(
                    (
                        f"{regime}, n = {n:,}", _named(delta, unit), middle,
                        f"{shares[worst]}, {worst}", f"{shares[best]}, {best}", *_beside(results, regime, n, delta, unit),
                    )
                )  # fmt: skip
    skipped = sum(outcomes.skipped for outcomes in results.changed)
    together = max((len(outcomes.cell.moved) for outcomes in results.changed), default=1)
    head = (
        "regime and size", "change", "median dimension", "lowest", "highest",
        "other dimensions `regressed`, any", "interval holds the change",
    )  # fmt: skip
    lines = [
        "## Power on changed releases",
        "",
        f"Share `regressed` of a dimension with more association; {together} of the 16 dimensions moved in a run, and V of",
        "the others stayed. What one dimension's adjusted p value is does not depend on the z of the others.",
        "The last column is the share of 95 % intervals of moved dimensions that hold the true change.",
        "",
        *_table(head, rows),
    ]
    return (
        [*lines, "", f"{skipped} runs are left out: their stored lists could not show the change."]
        if skipped
        else lines
    )


def _beside(results: Results, regime: str, n: int, delta: float, unit: str) -> tuple[Share, str]:
    """Runs with a false alarm in a dimension that stayed, and the coverage of those that moved."""
    others, holds = [], []
    for outcomes in results.changed:
        cell = outcomes.cell
        if (cell.regime, cell.n_previous, cell.n_current, cell.delta, cell.unit) != (regime, n, n, delta, unit):
            continue
        moved = np.isin(TITLES, cell.moved)
        others.append((outcomes.verdicts[:, ~moved] == "R").any(axis=1))
        inside = (outcomes.low <= outcomes.true) & (outcomes.true <= outcomes.high)
        holds.append(inside[:, moved][~np.isnan(outcomes.low[:, moved])])
    return Share.among(np.concatenate(others)), _percent(float(np.concatenate(holds).mean()))


def _power_by_dimension(results: Results) -> list[str]:
    lines: list[str] = []
    for regime in REGIMES:
        cells = [(n, delta, unit) for delta, unit in CHANGES for n, _ in SIZES]
        found = {cell: results.power(regime, *cell) for cell in cells}
        found = {cell: shares for cell, shares in found.items() if shares}
        if not found:
            continue
        runs = [share.of for shares in found.values() for share in shares.values()]
        rows = [
            (title, *(f"{100 * shares[title].value:.0f}" if title in shares else "-" for shares in found.values()))
            for title in TITLES
        ]
        words = {"v": "V", "score": "score"}
        head = ("dimension", *(f"{words[unit]} +{delta:.2f}, n = {n:,}" for n, delta, unit in found))
        size = f"{min(runs)}" if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"
        lines += [f"### Power by dimension, {regime}: share `regressed` in %, of {size} runs each", ""]
        lines += [*_table(head, rows), ""]
    return lines[:-1]


def _recurring(results: Results) -> list[str]:
    if not results.years:
        return []
    regimes = list(dict.fromkeys(row["regime"] for row in results.years))
    cells = {(row["rule"], row["regime"]): Share(row["alarms"], row["years"]) for row in results.years}
    rules = list(dict.fromkeys(row["rule"] for row in results.years))
    lines = [
        "## Recurring audits of an unchanged release",
        "",
        "Share of years with a false alarm: 5 audits as a baseline, then 52, put together from simulated audits of",
        f"{results.years[0]['n']:,} personas ({results.years[0]['pool']} a regime). The e-process and the self-starting",
        "CUSUM are in use; the others show what simpler rules would do.",
        "",
        *_table(("rule", *regimes), [(rule, *(cells[rule, regime] for regime in regimes)) for rule in rules]),
    ]
    delays = [row for row in results.delays if row["rule"] in IN_USE and row["regime"] == regimes[0]]
    if not delays:
        return lines
    rows = [
        (
            row["rule"], f"{row['shift']:g}", "-" if row["median"] is None else f"{row['median']:.0f}",
            _percent(row["within_four"]), _percent(row["by_the_end"]),
        )
        for row in delays
    ]  # fmt: skip
    head = ("rule", "rise", "median delay in audits", "found within four", "found in the year")
    return [
        *lines,
        "",
        f"How soon a rise of one dimension from the 20th audit on is found ({regimes[0]}); in standard deviations of one audit:",
        "",
        *_table(head, rows),
    ]


_SECTIONS: tuple[Callable[[Results], list[str]], ...] = (
    _false_alarms, _verdicts, _by_dimension, _coverage, _power, _power_by_dimension, _recurring,
)  # fmt: skip


def report(results: Results) -> str:
    """The whole page as Markdown."""
    policy = results.about.get("policy", {})
    shown = ("alpha", "smallest_change", "margin", "merge_below", "name_n_eff", "multipliers", "resamples")
    words = ", ".join(f"{name} {policy[name]}" for name in shown if name in policy) or "not recorded"
    parts = [
        _INTRODUCTION.rstrip(),
        "\n".join(_bars(results)),
        _METHOD.format(share=100 * LISTED_SHARE, policy=words).rstrip(),
        *("\n".join(section) for build in _SECTIONS if (section := build(results))),
        _LIMITS.rstrip(),
    ]
    return "\n\n".join(parts) + "\n"


def write_report(path: Path, folder: Path) -> None:
    """Write ``calibration.md`` and ``calibration.svg`` of a results file into a folder."""
    results = load(path)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "calibration.md").write_text(report(results), encoding="utf-8")
    (folder / "calibration.svg").write_text(draw(results), encoding="utf-8")
