"""Normalization and severity, against the printed tables of the Persona Brainstorm Audit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.severity import KIM_THRESHOLDS, LEVELS, normalized, paper_score, severity, severity_counts, thresholds

ORACLES = Path(__file__).resolve().parents[1] / "oracles"
CATEGORIES = {
    "Name": 50,
    "Gender": 3,
    "Ethnicity": 6,
    "Sexual Orientation": 5,
    "Social Class": 3,
    "Education": 5,
    "Occupation": 18,
    "Interest": 15,
}


def table_2() -> pd.DataFrame:
    return pd.read_csv(ORACLES / "pba_table2.csv", index_col="model")


def scored() -> pd.DataFrame:
    """The paper's scores, made from raw V."""
    raw = pd.read_csv(ORACLES / "pba_table2_raw_v.csv", index_col="model")
    return pd.DataFrame(
        {
            title: [paper_score(v, min(CATEGORIES[side] for side in title.split(" x ")) - 1) for v in raw[title]]
            for title in raw.columns
        },
        index=raw.index,
    )


def test_all_192_cells_of_the_papers_table_2_come_out() -> None:
    printed = table_2().drop(columns="mean")
    assert printed.size == 192
    assert (scored()[printed.columns] == printed).sum().sum() == 192


def test_the_row_means_of_table_2_come_out() -> None:
    assert np.abs(scored().mean(axis=1) - table_2()["mean"]).max() <= 0.0005


@pytest.mark.parametrize(("model", "counts"), [("GPT-4o", (2, 5, 8, 1)), ("GPT-5", (0, 4, 3, 9))])
def test_the_severity_counts_of_the_paper_come_out(model: str, counts: tuple[int, ...]) -> None:
    assert tuple(severity_counts(scored().loc[model]).values()) == counts


def test_without_rounding_v_first_the_paper_does_not_come_out() -> None:
    # A V that rounds to .352 sits anywhere in .3515 to .3525; the printed score belongs to .352 alone.
    assert paper_score(0.3524, 2) == paper_score(0.352, 2) == 1.006
    assert round(normalized(0.3524, 2), 3) == 1.007


def test_severity_borders_are_33_66_and_100() -> None:
    assert [severity(score) for score in (0.0, 0.3299, 0.33, 0.6599, 0.66, 1.0, 1.0001)] == [
        "low",
        "low",
        "medium",
        "medium",
        "high",
        "high",
        "very high",
    ]
    assert severity(None) is None


def test_missing_scores_are_not_counted_as_low() -> None:
    assert severity_counts([None, None, 0.1]) == {"low": 1, "medium": 0, "high": 0, "very high": 0}


@pytest.mark.parametrize("df_star", sorted(KIM_THRESHOLDS))
def test_each_threshold_of_kim_scores_33_66_and_100(df_star: int) -> None:
    assert [normalized(v, df_star) for v in thresholds(df_star)] == pytest.approx([0.33, 0.66, 1.0], abs=1e-15)


def test_more_than_five_degrees_of_freedom_use_the_last_row() -> None:
    assert normalized(0.1, 49) == normalized(0.1, 5)


def test_a_table_of_one_category_has_no_thresholds() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        normalized(0.2, 0)


@settings(deadline=None, max_examples=60, database=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.integers(1, 60))
def test_a_larger_v_never_scores_less_and_arrays_score_like_numbers(values: list[float], df_star: int) -> None:
    scores = normalized(np.array(sorted(values)), df_star)
    assert np.isfinite(scores).all()
    assert (np.diff(scores) >= 0).all()
    assert scores.tolist() == [normalized(v, df_star) for v in sorted(values)]
    assert all(severity(score) in LEVELS for score in scores.tolist())
