"""All scores of an audit of persona cues, and which comparisons decide something."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest

from metrics.cue_audit import audit_scores, replicated, replication_frame
from metrics.cue_comparison import cue_dimensions
from metrics.cue_table import COLUMNS
from metrics.results import Comparison

CUES = {"explicit-mention-user": 3.0, "name-user": 2.0, "history-human": 1.0}
BOUNDS = {"advice": (0.0, 1.0)}
DIMENSIONS = cue_dimensions(["advice"], ["gender"], list(CUES))


def made(gaps, *, seed=1, samples=20):
    """Sums of yes answers; ``gaps`` : cue -> how much less often women get a yes."""
    draw, rows = np.random.default_rng(seed), []
    for cue, question, variant, persona in itertools.product(CUES, range(12), range(6), ("female", "male")):
        yes = float(draw.binomial(samples, 0.6 - gaps.get(cue, 0.0) * (persona == "female")))
        rows.append(("advice", cue, "gender", persona, f"q{question}", str(variant), samples, yes, yes, 0))
    for question in range(12):
        yes = float(draw.binomial(samples, 0.6))
        rows.append(("advice", "no-persona", "", "", f"q{question}", "0", samples, yes, yes, 0))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def scores(frame):
    return {
        (row.metric, row.dimension, row.group): row
        for row in audit_scores(frame, DIMENSIONS, bounds=BOUNDS, explicitness=CUES, seed=0)
    }


def test_every_score_has_one_place_and_a_missing_one_a_reason():
    rows = audit_scores(made({"name-user": 0.2}), DIMENSIONS, bounds=BOUNDS, explicitness=CUES, seed=0)
    places = [(row.metric, row.dimension, row.group) for row in rows]
    assert len(set(places)) == len(places)
    assert all(row.value is not None or row.reason for row in rows)


def test_a_gap_under_two_cues_is_replicated_and_one_under_a_single_cue_is_not():
    both = scores(made({"name-user": 0.2, "explicit-mention-user": 0.2}))[
        "cues-showing-a-difference", "advice x gender", ""
    ]
    assert (both.value, both.n, both.method.split(":")[0]) == (2.0, 3, "replicated")
    alone = scores(made({"name-user": 0.2}))["cues-showing-a-difference", "advice x gender", ""]
    assert (alone.value, alone.method.split(":")[0]) == (1.0, "cue-specific")
    (row,) = replication_frame(made({"name-user": 0.2}), bounds=BOUNDS).to_dict("records")
    assert (row["label"], row["alerting"], row["shown"]) == ("cue-specific", False, "name-user: male above female")


def test_deviations_that_grow_with_explicitness_have_a_positive_trend():
    found = scores(made({"explicit-mention-user": 0.3, "name-user": 0.15}))["deviation-by-explicitness", "overall", ""]
    assert found.value >= 0.5
    assert found.pvalue is not None


def test_one_cue_alone_has_no_correlation_and_an_empty_frame_no_number():
    frame = made({})
    one = frame[frame["cue"].isin(["name-user", "no-persona"])]
    rows = audit_scores(one, DIMENSIONS[1:2], bounds=BOUNDS, explicitness=CUES, seed=0)
    assert not [row for row in rows if row.metric == "spearman"]
    empty = audit_scores(frame.iloc[:0], DIMENSIONS, bounds=BOUNDS, explicitness=CUES, seed=0)
    assert all(row.value is None for row in empty)


@pytest.fixture
def rows():
    size = {"n_previous": 9, "n_current": 9, "clusters_previous": 3, "clusters_current": 3}
    return [
        Comparison(
            metric="normalized-persona-gap",
            dimension=one.title,
            verdict="unchanged",
            why="small",
            previous=0.1,
            current=0.1,
            delta=0.0,
            **size,
        )
        for one in DIMENSIONS
    ]


def grown(rows, *cues):
    return [
        dataclasses.replace(row, verdict="regressed", why="it grew") if row.dimension.endswith(cues) else row
        for row in rows
    ]


def test_a_gap_that_grew_under_one_cue_is_inconclusive_unless_a_second_or_the_human_history_shows_it(rows):
    def verdicts(*cues):
        return [row.verdict for row in replicated(grown(rows, *cues), DIMENSIONS)]

    assert verdicts("name-user") == ["unchanged", "inconclusive", "unchanged"]
    assert verdicts("history-human") == ["unchanged", "unchanged", "regressed"]
    assert verdicts("name-user", "explicit-mention-user") == ["regressed", "regressed", "unchanged"]
    (row,) = [row for row in replicated(grown(rows, "name-user"), DIMENSIONS) if row.verdict == "inconclusive"]
    assert row.why.startswith("cue-specific: the gap grew under name-user")
