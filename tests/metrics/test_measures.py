"""One measure of each message: missing values have reasons, and no number that is not finite gets in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.measures import MessageMeasure


def measure(values: list[float], reasons: list[str]) -> MessageMeasure:
    return MessageMeasure.of("m", np.array(values), np.arange(len(values)), reasons)


def test_a_value_is_missing_exactly_where_there_is_a_reason() -> None:
    found = measure([0.5, np.nan, -1.0], ["", "no verb", ""])
    assert found.values.tolist() == [0.5, None, -1.0]
    assert found.measured.tolist() == [True, False, True]
    assert (found.n, found.excluded) == (2, {"no verb": 1})
    assert np.isfinite(found.values.data).all()


def test_a_series_of_pandas_shows_it_as_missing() -> None:
    assert pd.Series(measure([0.5, 7.0], ["", "x"]).values).isna().tolist() == [False, True]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_without_a_reason_must_be_finite(value: float) -> None:
    with pytest.raises(ValueError, match="'m' has a value that is not finite; say why it is missing instead"):
        measure([0.0, value], ["", ""])
