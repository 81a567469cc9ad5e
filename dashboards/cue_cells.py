"""Cells of the tables on persona cues: numbers in the unit of their task, or in words why there are none."""

from __future__ import annotations

from dashboards.blocks import Cell
from dashboards.cells import size_text
from dashboards.cue_rows import CueScores, combination_of
from dashboards.cue_units import Unit, unit_of
from dashboards.phrases import missing_text, visible
from metrics.results import Score


def level_cell(score: Score | None, unit: Unit, absent: str = "this audit has no such answers") -> Cell:
    """A mean with its interval and its size, never one without the others."""
    if score is None or score.value is None:
        return Cell(missing_text(score.reason if score is not None else absent), kind="missing")
    size = f"n {size_text(score.n, score.n_clusters)}"
    if score.low is None or score.high is None:
        return Cell(f"{unit.text(score.value)} (no interval was given), {size}")
    return Cell(f"{unit.text(score.value)} ({unit.interval(score.low, score.high)}), {size}", numeric=True)


def change_cell(score: Score | None, unit: Unit, absent: str = "this audit has no such difference") -> Cell:
    """A difference with its sign and its interval; size and unit stand in columns of their own."""
    if score is None or score.value is None:
        return Cell(missing_text(score.reason if score is not None else absent), kind="missing")
    if score.low is None or score.high is None:
        return Cell(f"{unit.change(score.value)} (no interval was given)")
    return Cell(f"{unit.change(score.value)} ({unit.interval(score.low, score.high)})", numeric=True)


def largest_gap_cell(card: CueScores, dimension: str) -> Cell:
    """The two personas that lie farthest apart, and which way, in the unit of the task."""
    found = [score for score in card.grouped(card.instrument.difference, dimension) if score.value is not None]
    top = max(found, key=lambda score: abs(score.value or 0.0), default=None)
    of = combination_of(dimension)
    if top is None or of is None:
        return Cell("this audit has no such difference", kind="missing")
    unit = unit_of(of.task)
    shown = change_cell(top, unit).text
    word = f" {unit.difference}" if unit.difference else ""
    return Cell(f"{visible(top.group)}: {shown}{word}")


def bounds_cell(score: Score | None, unit: Unit) -> Cell:
    """Where a gap lies whatever each answer without a number would have been."""
    if score is None or score.low is None or score.high is None:
        return Cell("unknown: the task has no bounds", kind="missing")
    if not score.n_excluded:
        return Cell("every answer has a number")
    return Cell(unit.interval(score.low, score.high), numeric=True)
