"""Rows of explicitness and deviation: the trend as `metrics.cue_replication` has it, and the mean size of each cue by hand."""

from __future__ import annotations

import itertools
import math

import pandas as pd
import pytest

from metrics.cue_effects import CueEffects, cue_effects
from metrics.cue_explicitness import SIZE, TREND, explicitness_scores
from metrics.cue_replication import explicitness_trend
from metrics.cue_table import COLUMNS
from metrics.errors import BadInputError

EXPLICIT = {"history-human": 1.0, "name-user": 2.0, "explicit-mention-user": 3.0}


def effects(*, baseline: bool = True) -> list[CueEffects]:
    """Answers that lie the further from those without a persona, the more explicit the cue is."""
    rows: list[tuple[object, ...]] = []
    for question in range(6):
        y = float(question)
        if baseline:
            rows.append(("t", "no-persona", "", "", f"q{question}", "0", 1, y, y * y, 0))
        for cue, persona, variant in itertools.product(EXPLICIT, ("p", "r"), range(4)):
            y = question + 2 * EXPLICIT[cue] + 0.3 * ((question * variant + len(cue)) % 3) + (persona == "r")
            rows.append(("t", cue, "a", persona, f"q{question}", str(variant), 1, y, y * y, 0))
    return cue_effects(pd.DataFrame(rows, columns=list(COLUMNS)))


def test_the_trend_is_that_of_the_replication_with_the_cues_as_its_sample() -> None:
    found, (trend, *_) = explicitness_trend(effects(), EXPLICIT), explicitness_scores(effects(), EXPLICIT)
    assert (trend.metric, trend.value, trend.pvalue) == (TREND, found.value, found.pvalue)
    assert (trend.value, trend.n, trend.n_clusters) == (1.0, 6, 3)
    assert trend.pvalue == pytest.approx(1 / 3)  # 2 of 6 orders of three cues are as far from none


def test_the_size_of_a_cue_is_its_mean_deviation_without_noise() -> None:
    sizes = {row.dimension: row for row in explicitness_scores(effects(), EXPLICIT) if row.metric == SIZE}
    assert list(sizes) == [f"cue {cue}" for cue in sorted(EXPLICIT)]
    for one in effects():
        by_hand = [
            math.sqrt((d.value or 0) ** 2 - (d.standard_error or 0) ** 2) / one.deviation for d in one.deviations
        ]
        assert sizes[f"cue {one.cue}"].value == pytest.approx(sum(by_hand) / len(by_hand))
        assert sizes[f"cue {one.cue}"].n == len(by_hand)


def test_without_answers_without_a_persona_there_is_a_reason_and_no_number() -> None:
    (trend,) = explicitness_scores(effects(baseline=False), EXPLICIT)
    assert trend.value is None
    assert "no task and persona" in trend.reason


def test_a_cue_without_a_rank_is_refused() -> None:
    with pytest.raises(BadInputError, match="has no explicitness"):
        explicitness_scores(effects(), {"name-user": 2.0})
