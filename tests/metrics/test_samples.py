"""Reading messages from a frame: what enters, what is counted as left out, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import BadInputError
from metrics.samples import Estimate, not_measured, samples


def frame(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame(
        {"sex": ["f", "f", "m", "m"], "cell": ["x", "y", "x", "y"], "a": [1.0, 2.0, 3.0, 4.0], **columns}
    )


def test_messages_without_a_number_are_counted_by_group_and_do_not_enter() -> None:
    found = samples(frame(a=[1.0, None, math.nan, 4.0]), "a", group="sex")
    assert found.counts(["f", "m"]) == {"n": 2, "clusters": 2, "n_excluded": 2}
    assert found.counts(["f"]) == {"n": 1, "clusters": 1, "n_excluded": 1}
    assert found.of("m").tolist() == [4.0]


def test_a_message_without_group_or_cell_belongs_to_no_group() -> None:
    found = samples(frame(sex=["f", None, "m", "m"], cell=["x", "y", "x", None]), "a", group="sex")
    assert found.values.tolist() == [1.0, 3.0]
    assert found.excluded.tolist() == [0, 0]


def test_several_columns_together_name_the_cell_and_none_makes_every_message_its_own() -> None:
    data = frame(theme=["t", "t", "u", "u"])
    assert samples(data, "a", group="sex", cell=["cell", "theme"]).cells == ("x x t", "x x u", "y x t", "y x u")
    assert len(samples(data, "a", group="sex", cell=None).cells) == 4


def test_groups_come_in_the_order_asked_for_and_others_are_left_out() -> None:
    data = frame(sex=["f", "m", "x", "m"])
    found = samples(data, "a", group="sex", groups=("m", "f"))
    assert found.groups == ("m", "f")
    assert found.of("m").tolist() == [2.0, 4.0]


def test_whole_numbers_and_truth_values_are_numbers() -> None:
    assert samples(frame(a=[1, 2, 3, 4]), "a", group="sex").of("f").tolist() == [1.0, 2.0]
    assert samples(frame(a=[True, False, True, True]), "a", group="sex").of("m").tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({}, {"measure": "b"}, "no column b; its columns are sex, cell, a"),
        ({}, {"group": "age"}, "no column age"),
        ({}, {"groups": ("f", "x")}, "has no group x; it has f, m"),
        ({"sex": ["f"] * 4}, {}, "at least two different groups, got f"),
        ({}, {"groups": ("f", "f")}, "at least two different groups, got f, f"),
        ({"a": [1.0, math.inf, 2.0, 3.0]}, {}, "finite numbers or nothing, got inf"),
        ({"a": ["1", "two", "3", "4"]}, {}, "finite numbers or nothing, got 'two'"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(
    changes: dict[str, list[object]], options: dict[str, object], message: str
) -> None:
    given_options = {"measure": "a", "group": "sex", **options}
    with pytest.raises(BadInputError, match=message):
        samples(frame(**changes), **given_options)  # type: ignore[arg-type]


def test_an_unknown_group_of_read_messages_is_refused() -> None:
    with pytest.raises(BadInputError, match="no group 'x'; its groups are f, m"):
        samples(frame(), "a", group="sex").of("x")


def test_an_estimate_refuses_infinity_and_a_missing_value_without_reason() -> None:
    sizes = {"n": 1, "clusters": 1, "n_excluded": 0}
    with pytest.raises(ValueError, match="low must be finite or None"):
        Estimate(name="t", groups=("a", "b"), value=1.0, low=-math.inf, **sizes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a reason in words is needed"):
        Estimate(name="t", groups=("a", "b"), value=None, **sizes)  # type: ignore[arg-type]


def test_an_estimate_becomes_a_score_with_all_that_it_knows() -> None:
    row = not_measured(samples(frame(), "a", group="sex"), "welch-t", ("f", "m"), "too few").as_score("sex x a")
    assert (row.metric, row.dimension, row.group, row.value, row.reason) == (
        "welch-t",
        "sex x a",
        "f - m",
        None,
        "too few",
    )
    assert (row.n, row.n_clusters, row.severity) == (4, 2, None)


@settings(deadline=None, max_examples=50, database=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["f", "m", None]), st.sampled_from(["x", "y", None]), st.none() | st.floats(-9, 9)),
        min_size=1,
        max_size=30,
    )
)
def test_every_message_of_a_group_either_enters_or_is_counted(rows: list[tuple[object, ...]]) -> None:
    data = pd.DataFrame(rows, columns=["sex", "cell", "a"])
    data["a"] = data["a"].astype("float64")
    if set(data["sex"].dropna()) != {"f", "m"}:
        return
    found = samples(data, "a", group="sex")
    placed = data["sex"].notna() & data["cell"].notna()
    assert len(found.values) + int(found.excluded.sum()) == int(placed.sum())
    assert np.isfinite(found.values).all()
