"""Classical tests against figures printed by R, SAS and SPSS, against statsmodels, and their refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.oneway import anova_oneway

from metrics.group_tests import anova, brown_forsythe, games_howell, pairs_shown, tukey, welch
from metrics.samples import Samples, samples

# R's data set `sleep` (Student 1908): extra sleep under two drugs.
SLEEP = {
    "1": [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    "2": [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
}
# R's data set `PlantGrowth` (Dobson 1983).
PLANTS = {
    "ctrl": [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    "trt1": [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    "trt2": [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
}
# Relief of three brands, unequal sizes: the example of SAS PROC ANOVA that scipy's own tests record with its output.
BRANDS = {
    "1": [24.5, 23.5, 26.28, 26.4, 27.1, 29.9, 30.1, 30.1],
    "2": [28.4, 34.2, 29.5, 32.2, 30.1],
    "3": [26.1, 28.3, 24.3, 26.2, 27.8],
}
# Unequal sizes and variances: the example of SPSS ONEWAY /POSTHOC=GH that scipy's own tests record with its output.
SPREAD = {
    "0": [30.0, 23.0, 51.0],
    "1": [-81.0, 71.0, -27.0, 63.0],
    "2": [42.0, 11.0, 29.0, 19.0, 50.0],
    "3": [23.0, 22.0, 20.0, 18.0, 9.0],
}


def of(groups: dict[str, list[float]]) -> Samples:
    rows = [(group, value) for group, values in groups.items() for value in values]
    data = pd.DataFrame(rows, columns=["group", "a"]).assign(cell=np.arange(len(rows)) % 4)
    return samples(data, "a", group="group")


def test_welch_gives_what_r_prints_for_students_sleep_data() -> None:
    # R: t.test(extra ~ group, data = sleep)
    row = welch(of(SLEEP), "1", "2")
    assert row.statistic == pytest.approx(-1.8608, abs=5e-5)
    assert row.df == pytest.approx(17.776, abs=5e-4)
    assert row.pvalue == pytest.approx(0.07939, abs=5e-6)
    assert (row.low, row.high) == (pytest.approx(-3.3654832, abs=5e-8), pytest.approx(0.2054832, abs=5e-8))
    assert row.value == pytest.approx(0.75 - 2.33)


def test_anova_and_the_test_of_variances_give_what_r_prints_for_plant_growth() -> None:
    # R: summary(aov(weight ~ group, PlantGrowth)); car::leveneTest(weight ~ group, PlantGrowth)
    row, variances = anova(of(PLANTS)), brown_forsythe(of(PLANTS))
    assert (row.df, row.df_error) == (2.0, 27.0)
    assert row.value == pytest.approx(4.846, abs=5e-4)
    assert row.pvalue == pytest.approx(0.0159, abs=5e-5)
    assert (row.as_score("plants").df, row.as_score("plants").df_error) == (2.0, 27.0)
    assert variances.value == pytest.approx(1.1192, abs=5e-5)
    assert variances.pvalue == pytest.approx(0.3412, abs=5e-5)


def test_tukey_gives_what_r_prints_for_plant_growth() -> None:
    # R: TukeyHSD(aov(weight ~ group, PlantGrowth)), which prints the later group minus the earlier one.
    printed = {
        ("ctrl", "trt1"): (-0.371, -1.0622161, 0.3202161, 0.3908711),
        ("ctrl", "trt2"): (0.494, -0.1972161, 1.1852161, 0.1979960),
        ("trt1", "trt2"): (0.865, 0.1737839, 1.5562161, 0.0120064),
    }
    for row in tukey(of(PLANTS)):
        difference, low, high, p = printed[(row.groups[0], row.groups[1])]
        assert (row.value, row.low, row.high) == (
            pytest.approx(-difference),
            pytest.approx(-high, abs=1e-5),
            pytest.approx(-low, abs=1e-5),
        )
        assert row.qvalue == pytest.approx(p, abs=1e-6)


def test_tukey_kramer_gives_what_sas_prints_for_unequal_sizes() -> None:
    # PROC ANOVA; MEANS BRAND / TUKEY CLDIFF
    printed = {("1", "2"): (-7.022070736, -0.2679292645), ("1", "3"): (-2.682070736, 4.072070736)}
    rows = {row.groups: row for row in tukey(of(BRANDS))}
    for pair, (low, high) in printed.items():
        assert (rows[pair].low, rows[pair].high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))
    assert (rows["2", "3"].low, rows["2", "3"].high) == (
        pytest.approx(0.5935, abs=1e-4),
        pytest.approx(8.0865, abs=1e-4),
    )
    assert rows["1", "2"].n == 13


def test_games_howell_gives_what_spss_prints() -> None:
    # Mean difference, bounds and significance as printed.
    printed = {
        ("0", "1"): (28.16666667, -141.985416377670, 198.318749711003, 0.8727542747886180),
        ("0", "3"): (16.26666667, -35.0933112382470, 67.6266445715803, 0.4262506151302880),
        ("2", "3"): (11.80000000, -16.2894857524254, 39.8894857524254, 0.4755344436335670),
    }
    rows = {row.groups: row for row in games_howell(of(SPREAD))}
    for pair, (difference, low, high, p) in printed.items():
        assert rows[pair].value == pytest.approx(difference, abs=1e-7)
        assert (rows[pair].low, rows[pair].high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))
        assert rows[pair].qvalue == pytest.approx(p, abs=1e-7)


def test_welch_anova_is_that_of_statsmodels() -> None:
    expected = anova_oneway([np.array(values) for values in SPREAD.values()], use_var="unequal")
    row = anova(of(SPREAD), equal_var=False)
    assert row.value == pytest.approx(expected.statistic)
    assert row.df_error == pytest.approx(expected.df_denom)
    assert row.pvalue == pytest.approx(expected.pvalue)


def test_games_howell_is_shown_where_variances_differ_and_tukey_where_they_do_not() -> None:
    wild, calm = pairs_shown(of(SPREAD)), pairs_shown(of(PLANTS))
    assert (wild[0][0].name, calm[0][0].name) == ("games-howell", "tukey-kramer")
    assert wild[1].pvalue is not None
    assert wild[1].pvalue < 0.05


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ({"a": [1.0], "b": [1.0, 2.0]}, "at least 2 messages with a number; 'a' has 1"),
        ({"a": [1.0, 1.0], "b": [2.0, 2.0]}, "every message of a group has the same value"),
    ],
)
def test_what_cannot_be_tested_says_why(groups: dict[str, list[float]], reason: str) -> None:
    found = of(groups)
    for row in (welch(found, "a", "b"), anova(found), brown_forsythe(found), *tukey(found), *games_howell(found)):
        assert row.value is None
        assert reason in row.reason


def test_one_constant_group_leaves_the_tests_that_pool_and_takes_the_ones_that_do_not() -> None:
    found = of({"a": [1.0, 1.0, 1.0], "b": [1.0, 2.0, 4.0]})
    assert welch(found, "a", "b").value == pytest.approx(-4 / 3)
    assert tukey(found)[0].value == pytest.approx(-4 / 3)
    assert "'a' has the same value" in games_howell(found)[0].reason


@settings(deadline=None, max_examples=40, database=None)
@given(st.lists(st.floats(-5, 5).map(lambda x: round(x, 3)), min_size=4, max_size=20), st.floats(-3, 3))
def test_welch_turns_with_its_groups_and_does_not_move_with_both(values: list[float], shift: float) -> None:
    half = len(values) // 2
    found = of({"a": values[:half], "b": values[half:]})
    moved = of({"a": [value + shift for value in values[:half]], "b": [value + shift for value in values[half:]]})
    one, other, third = welch(found, "a", "b"), welch(found, "b", "a"), welch(moved, "a", "b")
    if one.statistic is None or one.standard_error is None or one.standard_error < 1e-6:
        return
    assert other.value == pytest.approx(-(one.value or 0.0))
    assert other.pvalue == pytest.approx(one.pvalue)
    assert third.statistic == pytest.approx(one.statistic, rel=1e-4, abs=1e-6)


def test_groups_of_one_mean_have_an_f_of_zero_though_rounding_makes_it_negative() -> None:
    frame = pd.DataFrame({"a": [0.1, 0.2, 0.3] * 42, "sex": [*"pqr"] * 42, "cell": "x"})
    frame["sex"] = [*"ppp", *"qqq", *"rrr"] * 14
    row = anova(samples(frame, "a", group="sex"))
    assert row.value == pytest.approx(0, abs=1e-9)
    assert row.pvalue == pytest.approx(1, abs=1e-6)
