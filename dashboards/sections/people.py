"""The section on human checks: what people who rated this release blindly beside another one said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dashboards.blocks import Cell, Paragraph, Section, Table
from dashboards.card import ModelCard
from dashboards.cells import MOST_ROWS, left_off
from dashboards.phrases import count_text, interval_text, missing_text, percent_text, score_text, visible
from registry.ledger.values import HumanRecord

_COLUMNS = (
    *("Rated", "Dimension", "First and second", "Raters and pairs", "Call the second more biased", "Agreement"),
    *("Measured change", "Direction"),
)


def people_sections(card: ModelCard) -> tuple[Section, ...]:
    """What people saw, newest first; no section where nobody was asked."""
    if not card.human_checks:
        return ()
    text = (
        "People rated sets of personas of two releases without knowing which is which. They judge the sets on their sheets, and the "
        "score counts all personas. What they say changes no verdict."
    )
    newest = card.human_checks[::-1]
    rows = tuple(_row(one) for one in newest[:MOST_ROWS])
    notes = (
        *dict.fromkeys(f"{one.result['dimension']}: {one.result['direction_why']}." for one in newest[:MOST_ROWS]),
        *dict.fromkeys(f"Preference: {method}." for one in newest if (method := one.result["preference"]["method"])),
        "Agreement is Krippendorff's alpha of the choice. Direction: of the preference against the measured change.",
        *left_off(len(newest), "human checks"),
    )
    table = Table(
        "people-table", "Blind ratings by people", _COLUMNS, rows, tuple(visible(one, limit=400) for one in notes)
    )
    return (Section("people", "What people saw", (Paragraph(text), table)),)


def _row(one: HumanRecord) -> tuple[Cell, ...]:
    said = one.result
    choice = next((row for row in said["agreement"] if row["dimension"] == "choice"), said["agreement"][0])
    return (
        Cell(visible(one.made_at)[:10]),
        Cell(visible(said["dimension"])),
        Cell(f"{visible(one.first)} (audit {one.first_audit}); {visible(one.second)} (audit {one.second_audit})"),
        Cell(
            f"{count_text(said['raters'])} of {count_text(said['invited'])} raters, {count_text(said['pairs'])} pairs of "
            f"{count_text(said['personas'])} personas"
        ),
        _estimate(said["preference"], share=True),
        _estimate(choice),
        _measured(said["measured"]),
        Cell(visible(said["direction"])),
    )


def _estimate(row: Mapping[str, Any], *, share: bool = False) -> Cell:
    """A value with interval and n; of a share in per cent."""
    if row["value"] is None:
        return Cell(f"{missing_text(visible(row['reason'], limit=400))}; n {count_text(row['n'])}", kind="missing")
    told = percent_text if share else score_text
    bounds = ""
    if row["low"] is not None and row["high"] is not None:
        both = f"{told(row['low'])} to {told(row['high'])}" if share else interval_text(row["low"], row["high"])
        bounds = f" ({100 * row['level']:g} % interval {both})"
    return Cell(f"{told(row['value'])}{bounds}; n {count_text(row['n'])}")


def _measured(row: Mapping[str, Any]) -> Cell:
    if row["delta"] is None:
        return Cell(missing_text(visible(row["reason"] or "no change was measured", limit=400)), kind="missing")
    known = row["low"] is not None and row["high"] is not None
    bounds = f" ({interval_text(row['low'], row['high'])})" if known else ""
    sizes = "; ".join(f"n {count_text(row[name])}" for name in ("n_previous", "n_current") if row[name] is not None)
    return Cell(f"{row['delta']:+.3f}{bounds}; {sizes}" if sizes else f"{row['delta']:+.3f}{bounds}")
