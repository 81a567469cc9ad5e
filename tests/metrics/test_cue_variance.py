"""Two-way errors and quasi-F against R, and the studentized range against scipy.

R 4.2.2 with lme4 1.1-31 and lmerTest 3.1-3, `item` being the variant within its persona:
quasi-F: mean squares of `aov(y ~ persona + question + persona:question + persona:item)`, put together as Clark (1973) and
languageR's `quasiF.fnc` do; difference: `lmer(y ~ persona + (1|question) + (1|question:persona) + (1|item))` of A and B;
mean: `lmer(y ~ 1 + (1|question) + (1|item))` of A.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.cue_variance import difference_error, filled, persona_parts, quasi_f
from metrics.errors import BadInputError
from metrics.studentized_range import range_critical, range_pvalues

# Three personas x six questions x four variants.
SCORES = np.array(
    [
        [[48, 55, 50, 44], [60, 64, 70, 55], [57, 60, 57, 64], [31, 30, 42, 36], [48, 51, 56, 41], [39, 43, 33, 40]],
        [[52, 63, 61, 58], [68, 68, 78, 70], [66, 67, 78, 71], [45, 55, 62, 60], [42, 60, 62, 54], [38, 55, 46, 51]],
        [[50, 40, 48, 39], [64, 75, 79, 56], [52, 63, 69, 59], [28, 38, 38, 33], [38, 48, 49, 43], [34, 33, 38, 43]],
    ],
    dtype=np.float64,
)
PARTS = [persona_parts(cells) for cells in SCORES]


def test_quasi_f_is_that_of_rs_mean_squares() -> None:
    found = quasi_f(PARTS, equal_var=True)
    assert found.statistic == pytest.approx(6.254388505880, rel=1e-11)
    assert (found.df, found.df_error) == (pytest.approx(2.103521119622), pytest.approx(16.791990947645))
    assert found.pvalue == pytest.approx(0.008626910606, rel=1e-9)


def test_the_error_of_a_difference_is_that_of_rs_mixed_model() -> None:
    found = difference_error(PARTS[1], PARTS[0])
    assert PARTS[1].mean - PARTS[0].mean == pytest.approx(10.66666667)
    assert np.sqrt(found.variance) == pytest.approx(3.395668520, rel=1e-6)


def test_the_error_of_a_mean_and_its_degrees_of_freedom_are_those_of_rs_mixed_model() -> None:
    own = PARTS[0].own
    assert PARTS[0].mean == pytest.approx(48.91666667)
    assert np.sqrt(own.variance) == pytest.approx(4.485315126, rel=1e-6)
    assert own.df == pytest.approx(5.116827985, rel=1e-6)


def test_the_error_of_a_difference_is_that_of_statsmodels_mixed_model() -> None:
    import pandas as pd
    from statsmodels.regression.mixed_linear_model import MixedLM

    places = np.indices(SCORES[:2].shape).reshape(3, -1)
    frame = pd.DataFrame({"y": SCORES[:2].ravel(), "persona": places[0], "question": places[1]})
    frame["pq"], frame["item"] = frame["persona"] * 10 + frame["question"], places[0] * 10 + places[2]
    parts = {name: f"0 + C({name})" for name in ("question", "pq", "item")}
    model = MixedLM.from_formula("y ~ persona", frame.assign(all=1), groups="all", vc_formula=parts)
    fitted = model.fit(reml=True)
    assert np.sqrt(difference_error(PARTS[1], PARTS[0]).variance) == pytest.approx(fitted.bse["persona"], rel=1e-3)


def test_quasi_f_of_two_personas_without_variant_effects_is_the_square_of_the_paired_t() -> None:
    # Every variant the same: only questions are a sample.
    values = np.random.default_rng(1).normal(size=(2, 12))
    parts = [persona_parts(np.repeat(one[:, None], 3, axis=1)) for one in values]
    assert quasi_f(parts, equal_var=True).statistic == pytest.approx(stats.ttest_rel(*values).statistic ** 2)


@given(seed=st.integers(0, 10_000), shift=st.floats(-50, 50), scale=st.floats(0.1, 50))
@settings(max_examples=40)
def test_a_change_of_units_changes_no_test(seed: int, shift: float, scale: float) -> None:
    cells = np.random.default_rng(seed).normal(size=(3, 5, 4))
    one = quasi_f([persona_parts(c) for c in cells])
    other = quasi_f([persona_parts(shift + scale * c) for c in cells])
    assert other.statistic == pytest.approx(one.statistic, rel=1e-6)
    assert (other.df, other.df_error) == (pytest.approx(one.df, rel=1e-6), pytest.approx(one.df_error, rel=1e-6))
    assert other.error == pytest.approx(scale**2 * one.error, rel=1e-6)


def test_unequal_variants_cost_degrees_of_freedom() -> None:
    cells = SCORES.copy()
    cells[0] += np.array([-30.0, 30.0, -30.0, 30.0])
    plain, careful = (quasi_f([persona_parts(c) for c in cells], equal_var=equal) for equal in (True, False))
    assert careful.df_error < plain.df_error / 2
    # Nearly all variance is one persona's: one degree of freedom between three means, not two.
    assert (float(careful.df), float(plain.df)) == (pytest.approx(1.0, abs=0.15), pytest.approx(2.0, abs=0.2))


def test_many_audits_at_once_are_many_audits_one_by_one() -> None:
    cells = np.random.default_rng(2).normal(size=(3, 7, 6, 4))  # persona, audit, question, variant
    together = quasi_f([persona_parts(c) for c in cells])
    alone = [float(quasi_f([persona_parts(c[audit]) for c in cells]).pvalue) for audit in range(7)]
    assert together.pvalue == pytest.approx(alone)


def test_a_missing_cell_is_filled_by_its_row_and_column() -> None:
    # Yates: an additive table gets its own value back, and means are those of the whole table.
    whole = np.arange(5.0)[:, None] * 2 + np.array([0.0, 7.0, 1.0])
    holed = whole.copy()
    holed[0, 1] = holed[3, 2] = holed[4, 2] = np.nan
    values, missing = filled(holed)
    assert values == pytest.approx(whole)
    assert missing == 3


def test_means_with_missing_cells_are_those_of_least_squares() -> None:
    import pandas as pd
    import statsmodels.formula.api as smf

    holed = SCORES[0].copy()
    holed[0, 1] = holed[3, 2] = holed[5, 2] = np.nan
    places = np.indices(holed.shape).reshape(2, -1)
    frame = pd.DataFrame({"y": holed.ravel(), "question": places[0], "variant": places[1]})
    fitted = smf.ols("y ~ C(question) + C(variant)", frame.dropna()).fit()
    assert filled(holed)[0].mean() == pytest.approx(fitted.predict(frame).mean(), rel=1e-8)


@pytest.mark.parametrize("groups", [2, 3, 4, 10])
@pytest.mark.parametrize("df", [1.0, 1.7, 8.3, 300.0])
def test_the_studentized_range_is_scipys(groups: int, df: float) -> None:
    q = np.array([0.0, 0.7, 3.3, 6.0, 15.0])
    expected = [stats.studentized_range.sf(value, groups, df) for value in q]
    assert range_pvalues(q, groups, df) == pytest.approx(expected, abs=1e-6)
    critical = stats.studentized_range.ppf(0.95, groups, df)
    assert range_critical(0.95, groups, [df])[0] == pytest.approx(critical, rel=1e-3 if df < 1.5 else 1e-5)


def test_a_range_of_one_group_or_of_negative_values_is_refused() -> None:
    for q, groups in (([1.0], 1), ([-1.0], 3)):
        with pytest.raises(BadInputError, match="a studentized range needs"):
            range_pvalues(q, groups, [5.0])
