"""Two samples in a row: the stated rates against samples that share a reference."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from metrics.errors import BadInputError
from metrics.replication import false_alarms_twice, twice

PAIRS = 400_000


def changes(rng, shape, shift=0.0):
    """Two standardised changes of releases whose samples are independent and whose reference is one sample."""
    reference, first, second = rng.standard_normal((3, *shape))
    return (first - reference) / np.sqrt(2) + shift, (second - reference) / np.sqrt(2) + shift


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_two_comparisons_with_one_reference_err_together_as_often_as_stated(alpha):
    first, second = changes(np.random.default_rng(1), (PAIRS,))
    bound = norm.isf(alpha)
    seen = int(np.sum((first > bound) & (second > bound)))
    interval = binomtest(seen, PAIRS).proportion_ci(0.999)
    assert interval.low <= false_alarms_twice(alpha) <= interval.high


def test_sixteen_independent_dimensions_err_less_often_than_one():
    alpha, dimensions, runs = 0.05, 16, 100_000
    bound = norm.isf(1 - (1 - alpha) ** (1 / dimensions))
    first, second = changes(np.random.default_rng(2), (runs, dimensions))
    assert np.mean((first > bound).any(axis=1)) == pytest.approx(alpha, abs=0.003)
    seen = int(np.sum(((first > bound) & (second > bound)).any(axis=1)))
    interval = binomtest(seen, runs).proportion_ci(0.999)
    assert interval.low <= false_alarms_twice(alpha, dimensions) <= interval.high
    assert false_alarms_twice(alpha, dimensions) < false_alarms_twice(alpha)


def test_the_power_that_a_second_sample_leaves_is_as_stated():
    bound = norm.isf(0.05)
    first, second = changes(np.random.default_rng(3), (PAIRS,), shift=bound + norm.ppf(0.8))
    assert np.mean((first > bound) & (second > bound)) == pytest.approx(twice(0.8), abs=0.003)


def test_the_page_about_alerts_states_these_figures():
    page = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text(encoding="utf-8")
    found = re.findall(r"\*\*(\d+\.\d) %\*\*", page)
    assert found == [f"{100 * false_alarms_twice(0.05):.1f}", f"{100 * false_alarms_twice(0.05, 16):.1f}"]
    assert f"80 % to {100 * twice(0.8):.0f} %" in page


@pytest.mark.parametrize("once", [0.0, 1.0, -0.1])
def test_what_is_no_probability_is_refused(once):
    with pytest.raises(BadInputError, match="between 0 and 1"):
        twice(once)
