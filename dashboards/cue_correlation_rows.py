"""Rank correlations between cues as the card shows them: which pair, over what, beside its noise ceiling."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from dashboards.card import OVERALL
from dashboards.cue_names import SPEARMAN
from dashboards.cue_rows import CueScores
from metrics.results import Score

_CEILING = re.compile(r"; noise ceiling (-?[0-9.]+)")
_FREE = re.compile(r"; disattenuated (-?[0-9.]+)")
APART = 0.05
"""Cues are said to differ by more than noise where p is at most this, each pair alone."""


@dataclasses.dataclass(frozen=True, slots=True)
class Correlation:
    """How two cues agree over the means of a group of personas and questions."""

    score: Score
    first: str
    second: str

    @property
    def ceiling(self) -> float | None:
        """What one source correlates with itself at this size."""
        return _number(_CEILING, self.score.method)

    @property
    def disattenuated(self) -> float | None:
        """What unlimited variants would show; an estimate, which may exceed 1."""
        return _number(_FREE, self.score.method)

    @property
    def apart(self) -> bool:
        """Whether the two agree less than swaps of their variants do."""
        return self.score.pvalue is not None and self.score.pvalue <= APART


def _number(pattern: re.Pattern[str], text: str) -> float | None:
    found = pattern.search(text)
    return float(found[1]) if found else None


def correlations(card: CueScores) -> dict[str, list[Correlation]]:
    """By dimension (``overall``, ``task salary``, ``persona gender: female``), in order."""
    found: dict[str, list[Correlation]] = {}
    for score in card.of_metric(SPEARMAN):
        first, dash, second = score.group.partition(" - ")
        if dash:
            found.setdefault(score.dimension, []).append(Correlation(score, first, second))
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
