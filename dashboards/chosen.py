"""Which bias dimensions of a card are printed where there are more than can be read: what changed, then what is largest."""

from __future__ import annotations

from dashboards.card import ModelCard
from dashboards.phrases import count_text

MOST_DIMENSIONS = 40
_CHANGED = ("regressed", "improved")


def told_dimensions(card: ModelCard) -> tuple[str, ...]:
    """The dimensions that charts and tables show, in the order of the card; the JSON form has all of them.

    Of more than `MOST_DIMENSIONS` those that regressed or improved, then those with the largest scores.
    """
    if len(card.dimensions) <= MOST_DIMENSIONS:
        return card.dimensions
    headline = card.instrument.headline

    def rank(dimension: str) -> tuple[bool, float]:
        row, score = card.comparison(headline, dimension), card.score(headline, dimension)
        changed = row is not None and row.verdict in _CHANGED
        return not changed, -(score.value if score is not None and score.value is not None else -1.0)

    chosen = set(sorted(card.dimensions, key=rank)[:MOST_DIMENSIONS])
    return tuple(dimension for dimension in card.dimensions if dimension in chosen)


def untold(card: ModelCard) -> tuple[str, ...]:
    """The note that says which dimensions are not printed, if any."""
    rest = len(card.dimensions) - len(told_dimensions(card))
    if not rest:
        return ()
    changed = sum(row.verdict in _CHANGED for row in card.comparisons if row.metric == card.instrument.headline)
    first = "those that regressed or improved, then " if changed else ""
    return (
        f"Of {count_text(len(card.dimensions))} bias dimensions {count_text(MOST_DIMENSIONS)} are shown: {first}those with the largest scores. "
        f"{count_text(rest)} more are in the JSON form of this card.",
    )
