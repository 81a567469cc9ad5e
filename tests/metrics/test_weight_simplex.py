"""The index under other weights: linear in them, the component itself at a corner, and the same as what the table has."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from metrics.clustered import contrast
from metrics.message_scores import Axis, table_of
from metrics.weight_simplex import simplex_frame, weighted_gaps

AXES, MODES = (Axis("gender", "gender", ("female", "male")),), ("context-rich",)
PARTS = ("agency-framing", "modal-certainty", "imperative-mood")


@pytest.fixture(scope="module")
def frame():
    """Two messages a group in 8 prompt cells, with components drawn at random and some of them missing."""
    rng = np.random.default_rng(7)
    values = rng.uniform(-1, 1, (32, 3))
    values[:, 2] = np.abs(values[:, 2])
    values[rng.random(32) < 0.2, 0] = np.nan
    labels = {"mode": "context-rich", "gender": np.tile(["female", "male"], 16), "cell": np.repeat([*"abcdefgh"], 4)}
    return pd.DataFrame(labels | dict(zip(PARTS, values.T, strict=True)))


def test_the_gap_is_linear_in_the_weights(frame):
    (gap,) = weighted_gaps(frame, AXES, MODES)
    points = {tuple(np.round(point[:3], 6)): point[3] for point in gap["points"]}
    corners = [points[corner] for corner in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
    assert len(points) == 28
    for weights, value in points.items():
        assert value == pytest.approx(float(np.dot(weights, corners)), abs=1e-5)


def test_at_a_corner_stands_the_gap_of_the_component_itself(frame):
    (gap,) = weighted_gaps(frame, AXES, MODES)
    (corner,) = [point for point in gap["points"] if point[2] == 1.0]
    _, table = table_of(frame, AXES[0], "imperative-mood")
    alone = contrast(table, "male", "female")
    # The share of imperatives is stretched to -1..1 in the index, and its gap with it.
    assert corner[3:] == pytest.approx([2 * alone.value, 2 * alone.low, 2 * alone.high])
    assert (gap["n"], gap["clusters"], gap["groups"]) == (32, 8, "male - female")


def test_the_table_and_the_picture_agree_where_both_have_a_weight(frame):
    table = simplex_frame(frame, AXES, MODES)
    assert len(table) == 91
    (gap,) = weighted_gaps(frame, AXES, MODES)
    wide = {(round(r.agency, 6), round(r.modality, 6)): (r.gap, r.low, r.high) for r in table.itertuples()}
    for agency, modality, _, *numbers in gap["points"]:
        assert wide[round(agency, 6), round(modality, 6)] == pytest.approx(tuple(numbers))


def test_a_component_that_never_varies_has_a_value_and_no_interval_and_stays_plain(frame):
    flat = frame.assign(**{"modal-certainty": 1.0})
    (gap,) = weighted_gaps(flat, AXES, MODES)
    (corner,) = [point for point in gap["points"] if point[1] == 1.0]
    assert corner[3:] == [0.0, None, None]
    assert "variance between cells" in gap["method"]
    assert json.loads(json.dumps(gap, allow_nan=False)) == gap


def test_a_group_without_a_message_has_no_gap_under_any_weights(frame):
    women = frame[frame["gender"] == "female"]
    assert weighted_gaps(women, AXES, MODES) == []
    assert simplex_frame(women, AXES, MODES).empty
