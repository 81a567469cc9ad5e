"""The queue of terms that no rule knows, as a page to read: what was answered, how often, where, and what is proposed by whom."""

from __future__ import annotations

from collections.abc import Sequence

from dashboards.blocks import Block, Bullets, Cell, Paragraph, Section, Table
from dashboards.cells import left_off
from dashboards.html_card import page
from dashboards.phrases import count_text, decimal_text, visible
from dashboards.sections.contents import Fact
from registry.audits.review_files import HOW, QueueRow

MOST_ROWS = 500  # of an attribute
LONGEST_TERM = 120
_WHY = (
    "A term without a category is left out of the tables, so a group whose answers are unusual is counted less than it was imagined. Somebody should look. "
    "A proposal decides nothing: rules see spelling and common words, and a model guesses."
)
_DECIDE = (
    "Write the same queue as a file: spiritlevel taxonomy review --out terms.csv",
    f"Fill in the column decision ({HOW}), who, and why.",
    "Take it in: spiritlevel taxonomy accept terms.csv --by NAME. Audits are then scored anew when they are next needed.",
    "Give two people the same file, and compare what they return: spiritlevel taxonomy compare ONE.csv OTHER.csv",
)
_CHECKED = (
    "How far the model can be relied on, by listed terms whose category is known, and, once people have decided about terms that it was asked about, by what they took of its proposals. "
    "Whoever decides has seen the proposal, so people and model agree more than they would unseen. Intervals are 95 %."
)
_COLUMNS = (
    "Term",
    "Answered",
    "Proposed by rule",
    "Rule and nearness",
    "Proposed by the model",
    "Releases",
    "First answer",
)


def review_page(rows: Sequence[QueueRow], checks: Sequence[str], *, audits: int) -> str:
    """The page, self-contained and escaped as a card is; ``checks`` : how good the models are whose proposals stand in it."""
    attributes = list(dict.fromkeys(row.attribute for row in rows))
    answers = sum(row.count for row in rows)
    first: list[Block] = [Paragraph(_WHY)]
    if checks:
        first.append(Paragraph(_CHECKED))
        first.append(Bullets(tuple(visible(one, limit=600) for one in checks)))
    return page(
        title="Terms that wait for a person",
        subtitle="What models answered and no rule has a category for",
        headline=f"{count_text(len(rows))} terms of {count_text(answers)} answers wait." if rows else "No term waits.",
        verdict="",
        facts=(
            Fact("Terms", count_text(len(rows))),
            Fact("Answers with them", count_text(answers)),
            Fact("Audits looked at", count_text(audits)),
        ),
        warning="Terms on this page are what language models answered about people. They may be offensive; they describe the answers, not people.",
        sections=(
            Section("queue", "What waits, and why somebody should look", tuple(first)),
            *(_attribute(name, [row for row in rows if row.attribute == name]) for name in attributes),
            Section("decide", "How to decide", (Bullets(_DECIDE),)),
        ),
        charts={},
        sheets=("site.css",),
        made="Made by spiritlevel. It asks no model, and nothing on it was applied.",
    )


def _attribute(name: str, rows: Sequence[QueueRow]) -> Section:
    shown = visible(name.replace("_", " "))
    table = Table(
        f"queue-{name.replace('_', '-')}",
        f"Terms of {shown}, the most frequent first",
        _COLUMNS,
        tuple(_row(row) for row in rows[:MOST_ROWS]),
        left_off(max(len(rows) - MOST_ROWS, 0), "terms"),
        look="queue",
    )
    return Section(
        f"terms-{name.replace('_', '-')}", f"{shown[:1].upper()}{shown[1:]}: {count_text(len(rows))}", (table,)
    )


def _row(row: QueueRow) -> tuple[Cell, ...]:
    near = "" if row.score is None else f", {decimal_text(row.score)}"
    model = Cell("not asked", kind="missing")
    if row.model:
        model = Cell(visible(row.model_proposed or row.model_reason), kind="" if row.model_proposed else "missing")
    return (
        Cell(visible(row.as_answered, limit=LONGEST_TERM)),
        Cell(count_text(row.count), numeric=True),
        Cell(visible(row.proposed)) if row.proposed else Cell("none", kind="missing"),
        Cell(visible(f"{row.rule}{near}", limit=200)),
        model,
        Cell(visible(", ".join(row.releases), limit=200)),
        Cell(visible(row.place, limit=LONGEST_TERM)),
    )
