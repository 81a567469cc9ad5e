"""Signs over releases: scipy's binomial test, Cochran's Q of statsmodels, what few models can show, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

from metrics.clustered import cell_table, contrast
from metrics.directions import direction_table, sign_test
from metrics.errors import BadInputError
from metrics.samples import Estimate, samples
from tests.metrics.messages import message_frame


def gap(value: float | None, error: float = 0.1, groups: tuple[str, ...] = ("female", "male")) -> Estimate:
    return Estimate(
        name="cell-contrast",
        groups=groups,
        value=value,
        low=None if value is None else value - 2 * error,
        high=None if value is None else value + 2 * error,
        standard_error=error,
        n=100,
        clusters=50,
        n_excluded=3,
        reason="" if value is not None else "no message",
    )


@settings(deadline=None, max_examples=60, database=None)
@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_is_scipys_exact_binomial_test(positive: int, negative: int) -> None:
    found = sign_test(positive, negative)
    if positive + negative == 0:
        assert found is None
    else:
        assert found == pytest.approx(stats.binomtest(positive, positive + negative).pvalue)


def test_heterogeneity_and_the_pooled_gap_are_those_of_statsmodels() -> None:
    values, errors = [0.10, 0.25, 0.05, 0.18], [0.05, 0.08, 0.06, 0.10]
    table = direction_table({str(place): gap(*pair) for place, pair in enumerate(zip(values, errors, strict=True))})
    expected = combine_effects(np.array(values), np.square(errors))
    assert table.heterogeneity == pytest.approx(expected.q)
    assert table.heterogeneity_pvalue == pytest.approx(stats.chi2.sf(expected.q, 3))
    assert table.pooled == pytest.approx(expected.mean_effect_fe)
    assert table.high is not None
    assert table.high - table.pooled == pytest.approx(1.959964 * expected.sd_eff_w_fe, rel=1e-5)


def test_three_models_cannot_show_a_common_direction_and_the_table_says_so() -> None:
    table = direction_table({"GPT": gap(0.3), "Llama": gap(0.4), "Mistral": gap(0.35)})
    assert (table.positive, table.negative) == (3, 0)
    assert table.pvalue == table.smallest_pvalue == 0.25
    assert "so few cannot show a common direction (the sign test reaches 0.25 at best)" in table.why
    assert [row.shown for row in table.rows] == [True, True, True]


def test_gaps_that_point_apart_are_said_to_differ_and_are_not_pooled() -> None:
    table = direction_table({"one": gap(0.5), "two": gap(-0.4), "three": gap(0.02)})
    assert [row.sign for row in table.rows] == ["+", "-", "+"]
    assert [row.shown for row in table.rows] == [True, True, False]
    assert table.pooled is None
    assert "the gaps differ from each other" in table.why
    assert table.i_squared is not None
    assert table.i_squared > 0.9


def test_exact_zeros_count_for_neither_side_and_missing_gaps_are_named() -> None:
    table = direction_table({"one": gap(0.0), "two": gap(0.2), "three": gap(None)})
    assert (table.positive, table.negative, len(table.rows)) == (1, 0, 2)
    assert table.left_out == (("three", "no message"),)
    assert table.rows[0].sign == "0"


def test_nothing_measured_gives_a_table_that_says_so() -> None:
    table = direction_table({"one": gap(None)})
    assert table.pvalue is None
    assert table.why == "no release has a gap with a sign"


def test_contrasts_of_real_frames_go_in_as_they_are() -> None:
    gaps = {
        str(seed): contrast(
            cell_table(samples(message_frame(cells=30, repeats=3, seed=seed, gap=0.6), "a", group="group")),
            "female",
            "male",
        )
        for seed in range(8)
    }
    table = direction_table(gaps)
    assert table.positive == 8
    assert table.pvalue == pytest.approx(2 / 2**8)
    assert table.low is not None
    assert table.high is not None
    assert table.low < 0.6 < table.high


def test_no_entry_and_other_groups_are_refused() -> None:
    with pytest.raises(BadInputError, match="at least one release, got none"):
        direction_table({})
    with pytest.raises(BadInputError, match="the same groups in the same order"):
        direction_table({"one": gap(0.1), "two": gap(0.1, groups=("male", "female"))})
