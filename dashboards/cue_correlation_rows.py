"""Rank correlations between cues as the card shows them: which pair, over what, beside its noise ceiling."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from dashboards.card import OVERALL
from dashboards.cue_names import CEILING, DISATTENUATED, SPEARMAN
from dashboards.cue_rows import CueScores
from metrics.results import Score

APART = 0.05
"""Cues are said to differ by more than noise where p is at most this, each pair alone."""


@dataclasses.dataclass(frozen=True, slots=True)
class Correlation:
    """How two cues agree over the means of a group of personas and questions.

    ``ceiling`` is what one source correlates with itself at this size, ``disattenuated`` what unlimited variants would show: an
    estimate, which may exceed 1.
    """

    score: Score
    first: str
    second: str
    ceiling: float | None = None
    disattenuated: float | None = None

    @property
    def apart(self) -> bool:
        """Whether the two agree less than swaps of their variants do."""
        return self.score.pvalue is not None and self.score.pvalue <= APART


def correlations(card: CueScores) -> dict[str, list[Correlation]]:
    """By dimension (``overall``, ``task salary``, ``persona gender: female``), in order."""
    beside: dict[tuple[str, str, str], float | None] = {
        (score.metric, score.dimension, score.group): score.value
        for metric in (CEILING, DISATTENUATED)
        for score in card.of_metric(metric)
    }
    found: dict[str, list[Correlation]] = {}
    for score in card.of_metric(SPEARMAN):
        first, dash, second = score.group.partition(" - ")
        if dash:
            where = (score.dimension, score.group)
            row = Correlation(score, first, second, beside.get((CEILING, *where)), beside.get((DISATTENUATED, *where)))
            found.setdefault(score.dimension, []).append(row)
    return found


def cues_of(rows: Sequence[Correlation]) -> tuple[str, ...]:
    """The cues that the rows are about, in order."""
    return tuple(dict.fromkeys(name for row in rows for name in (row.first, row.second)))


def drawn_matrices(card: CueScores, most: int) -> list[tuple[str, list[Correlation]]]:
    """What is drawn: over everything, then the tasks that agree least, each with a value."""
    found = correlations(card)
    tasks = [
        (name, rows)
        for name, rows in found.items()
        if name.startswith("task ") and any(row.score.value is not None for row in rows)
    ]
    tasks.sort(key=lambda item: min(row.score.value for row in item[1] if row.score.value is not None))
    whole = [(OVERALL, found[OVERALL])] if any(row.score.value is not None for row in found.get(OVERALL, ())) else []
    return [*whole, *tasks][:most]
