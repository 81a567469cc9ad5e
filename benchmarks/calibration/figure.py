"""The figure of the report: false alarms by regime and size, and power by size. The same results give the same bytes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.calibration.laws import REGIMES
from benchmarks.calibration.outcomes import LARGEST_FALSE_ALARMS, Results, median
from benchmarks.calibration.releases import SIZES, UNEQUAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = dict(zip(REGIMES, ("#0072b2", "#d55e00", "#009e73", "#cc79a7"), strict=True))
_MARKS = dict(zip(REGIMES, "osD^", strict=True))
_LINES = {(0.03, "v"): ":", (0.05, "v"): "-"}


def draw(results: Results) -> str:
    """The figure as SVG text."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcParams["svg.fonttype"] = "none"
        matplotlib.rcParams["svg.hashsalt"] = "spiritlevel"
        matplotlib.rcParams["font.family"] = ["DejaVu Sans"]
        figure = Figure(figsize=(10, 4.2), layout="constrained")
        FigureCanvasSVG(figure)
        left, right = figure.subplots(1, 2)
        _false_alarms(left, results)
        _power(right, results)
        target = io.StringIO()
        nothing: Any = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(target, format="svg", metadata=nothing)
    return target.getvalue()


def _size_label(sizes: tuple[int, int]) -> str:
    return f"{sizes[0]:,}" if sizes[0] == sizes[1] else f"{sizes[0]:,}\nand {sizes[1]:,}"


def _false_alarms(axes: Axes, results: Results) -> None:
    sizes = (*SIZES, *UNEQUAL)
    for shift, regime in enumerate(REGIMES):
        found = [(place, results.unchanged_in(regime, pair)) for place, pair in enumerate(sizes)]
        shares = [(place + 0.15 * (shift - 1.5), o.alarms) for place, o in found if o is not None]
        if not shares:
            continue
        middle = np.array([share.value for _, share in shares])
        low, high = np.array([share.interval for _, share in shares]).T
        axes.errorbar(
            [place for place, _ in shares], 100 * middle, yerr=100 * np.array([middle - low, high - middle]),
            fmt=_MARKS[regime], color=_COLOURS[regime], markersize=5, capsize=2, label=regime,
        )  # fmt: skip
    axes.axhline(5, color="#555555", linewidth=0.8, linestyle="--")
    axes.axhline(100 * LARGEST_FALSE_ALARMS, color="#555555", linewidth=0.8)
    axes.set_xticks(range(len(sizes)), [_size_label(pair) for pair in sizes])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("personas of the previous and the current audit")
    axes.set_ylabel("audits with a false alarm, %")
    axes.set_title("Unchanged releases: 5 % nominal, bar at 7 %", fontsize=10)
    axes.legend(frameon=False, fontsize=8)


def _power(axes: Axes, results: Results) -> None:
    for regime in REGIMES:
        for (delta, unit), style in _LINES.items():
            sizes, middles, lows, highs = [], [], [], []
            for n, _ in SIZES:
                shares = results.power(regime, n, delta, unit)
                middle = median(shares.values())
                if middle is not None:
                    values = [share.value for share in shares.values()]
                    sizes.append(n)
                    middles.append(100 * middle.value)
                    lows.append(100 * min(values))
                    highs.append(100 * max(values))
            if not sizes:
                continue
            name = f"{regime}, V +{delta:.2f}"
            axes.plot(sizes, middles, style, marker=_MARKS[regime], color=_COLOURS[regime], markersize=4, label=name)
            if regime == "iid" and delta == 0.05:
                axes.fill_between(sizes, lows, highs, color=_COLOURS[regime], alpha=0.12, linewidth=0)
    axes.set_xticks([n for n, _ in SIZES], [f"{n:,}" for n, _ in SIZES])
    axes.set_ylim(0, 101)
    axes.set_xlabel("personas of each audit")
    axes.set_ylabel("changes called regressed, %")
    axes.set_title("Power, median dimension (band: all 16, iid, V +0.05)", fontsize=10)
    if axes.lines:
        axes.legend(frameon=False, fontsize=7)
