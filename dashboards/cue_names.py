"""Names of the scores of persona cues, and the labels of findings; `metrics` has them beside what makes the numbers.

They stand here once more because a card is read without loading the libraries that made its numbers.
"""

from __future__ import annotations

RESULT, DEVIATION, QUASI_F = "result-metric", "deviation-from-baseline", "quasi-f"
GAP, WORST, HEDGES_G, GAMES_HOWELL = "gap", "worst-case-gap", "hedges-g", "games-howell"
OMEGA_SQUARED = "omega-squared"
SPEARMAN, CEILING, DISATTENUATED = "spearman", "spearman-noise-ceiling", "spearman-disattenuated"
CUES_SHOWING, TREND = "cues-showing-a-difference", "deviation-by-explicitness"
ANOVA_PAPER, TUKEY_PAPER, PAPER_SHARE = "anova-f-paper", "tukey-kramer-paper", "share-of-differences-paper"
PAPER_ALPHA = 0.01

NO_PERSONA, HISTORY_HUMAN = "no-persona", "history-human"

REPLICATED, SPECIFIC, CONTRADICTORY, NONE, UNMEASURED = LABELS = (
    "replicated",
    "cue-specific",
    "contradictory",
    "none",
    "not measurable",
)
