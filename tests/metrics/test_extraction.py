"""Errors of reading: a table by hand, groups that are read unequally, and any frame."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from metrics.errors import BadInputError
from metrics.extraction import FEWEST, reading_errors
from metrics.shares import wilson_of


def frame(rows, per_call=1):
    stated, read = zip(*rows, strict=True) if rows else ((), ())
    return pd.DataFrame(
        {"request": [at // per_call for at in range(len(rows))], "stated": stated, "read": read}, dtype=object
    )


def test_a_table_by_hand():
    rows = (
        [("f", "f")] * 18
        + [("f", None)] * 2
        + [("m", "m")] * 12
        + [("m", "f")] * 3
        + [(None, "f")] * 5
        + [(None, None)] * 7
    )
    one = reading_errors({"gender": frame(rows)})[0]
    assert (one.precision.hits, one.precision.n) == (30, 33)  # 18 and 12 of 18 + 12 + 3 that were read
    assert (one.recall.hits, one.recall.n) == (30, 35)
    assert (one.missed, one.wrong, one.unlabelled) == (2, 3, 5)
    assert {group: (part.hits, part.n) for group, part in one.groups.items()} == {"f": (18, 20), "m": (12, 15)}
    low, high = wilson_of(30, 33)  # each text is an answer of its own
    assert one.precision.low == pytest.approx(low, abs=0.004)
    assert one.precision.high == pytest.approx(high, abs=0.004)


def test_groups_that_are_read_unequally_are_found_and_alike_ones_are_not():
    worse = [("f", "f")] * 95 + [("f", None)] * 5 + [("m", "m")] * 60 + [("m", None)] * 40
    alike = [("f", "f")] * 80 + [("f", None)] * 20 + [("m", "m")] * 82 + [("m", None)] * 18
    found = reading_errors({"worse": frame(worse), "alike": frame(alike)})
    expected = chi2_contingency([[95, 5], [60, 40]], correction=False).pvalue
    assert found[0].pvalue == pytest.approx(
        2 * expected, rel=0.05
    )  # Holm over two; the design effect of single texts is 1
    assert found[1].pvalue > 0.5


def test_texts_of_one_answer_are_no_independent_evidence():
    rows = [("f", "f")] * 40 + [("f", None)] * 40
    apart, together = (reading_errors({"g": frame(rows, per_call)})[0].recall for per_call in (1, 10))
    assert together.high - together.low > 1.5 * (apart.high - apart.low)


def test_what_cannot_be_said_is_none_with_the_reason():
    none, few, all_right = reading_errors(
        {
            "none": frame([]),
            "few": frame([("f", "f")] * (FEWEST - 1) + [("m", None)] * FEWEST),
            "all_right": frame([("f", "f")] * 20 + [("m", "m")] * 20),
        }
    )
    assert (none.precision.share, none.recall.share, none.precision.n) == (None, None, 0)
    assert (few.few, few.pvalue) == ({"f": FEWEST - 1}, None)
    assert "fewer than two groups" in few.why
    assert all_right.pvalue is None
    assert "read alike" in all_right.why
    with pytest.raises(BadInputError, match="lack the column 'read'"):
        reading_errors({"gender": frame([("f", "f")]).drop(columns="read")})


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["f", "m", "x", None]), st.sampled_from(["f", "m", "x", None])), max_size=80),
    st.integers(1, 7),
)
def test_any_readings_give_shares_with_their_intervals_and_counts_that_add_up(rows, per_call):
    one = reading_errors({"gender": frame(rows, per_call)})[0]
    assert one.recall.hits + one.missed + one.wrong == one.recall.n
    assert one.precision.hits + one.wrong == one.precision.n
    for part in (one.precision, one.recall, *one.groups.values()):
        if part.n:
            assert 0 <= part.low <= part.share <= part.high <= 1
            assert math.isfinite(part.share)
        else:
            assert part.share is part.low is part.high is None
    assert one.pvalue is None or 0 <= one.pvalue <= 1
    assert (one.pvalue is None) == bool(one.why)
