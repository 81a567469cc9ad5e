"""What the Persona Brainstorm Audit (arXiv 2602.00044) says of its own tables: what comes out of them, and what does not.

The scores of Table 2, its row means and the severity counts of GPT-4o and GPT-5 are held in test_severity.py.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from metrics.agreement import (
    PairedTest,
    false_discovery_qvalues,
    icc_agreement,
    icc_consistency,
    paired_t,
    severity_difference,
)
from metrics.severity import severity_counts
from tests.metrics.test_agreement import TWO_WORDINGS
from tests.metrics.test_severity import table_2
from tests.shared import shared_data

LOWEST = ("GPT-4o", "Ministral-3B", "GPT-4", "GPT-5 nano")
MIDDLE = ("GPT-3.5", "GPT-4.1", "GPT-4.1 nano", "Mistral-small")
HIGHEST = ("Mistral-medium", "GPT-5 mini", "GPT-5", "GPT-4.1 mini")
FAMILIES = {
    "early": ("GPT-3.5", "GPT-4", "GPT-4o"),
    "Mistral": ("Ministral-3B", "Mistral-small", "Mistral-medium"),
    "GPT-5": ("GPT-5 nano", "GPT-5 mini", "GPT-5"),
    "GPT-4.1": ("GPT-4.1 nano", "GPT-4.1 mini", "GPT-4.1"),
}


def printed() -> pd.DataFrame:
    return table_2().drop(columns="mean")


def shared_table(number: int) -> pd.DataFrame:
    return pd.read_csv(shared_data("pba_tables", f"pba_table{number}.csv"), index_col=0)


@functools.cache
def pairwise() -> pd.DataFrame:
    """The paired tests of all 66 pairs of models over the 16 scores, with both adjustments over the 66."""
    scores = printed()
    pairs = list(itertools.combinations(scores.index, 2))
    tests: list[PairedTest] = [paired_t(scores.loc[one], scores.loc[two]) for one, two in pairs]
    pvalues = [test.pvalue for test in tests]
    return pd.DataFrame(
        {
            "p": pvalues,
            "up": [test.pvalue_up for test in tests],
            "q": false_discovery_qvalues(pvalues),
            "q_any": false_discovery_qvalues(pvalues, any_dependence=True),
        },
        index=pd.Index([frozenset(pair) for pair in pairs], tupleize_cols=False),
    )


def between(one: tuple[str, ...], two: tuple[str, ...]) -> pd.DataFrame:
    return pairwise().loc[[frozenset(pair) for pair in itertools.product(one, two)]]


def pair(one: str, two: str) -> pd.Series:
    return between((one,), (two,)).iloc[0]


def test_the_groups_of_models_have_the_counts_of_very_high_that_the_text_gives() -> None:
    scores = printed().T.to_dict("list")
    very_high = {model: severity_counts(row)["very high"] for model, row in scores.items()}
    middle = ("GPT-4.1", "GPT-4.1 nano", "Mistral-small", "Mistral-medium")  # "5 to 8"
    assert [very_high[model] for model in middle] == [6, 6, 5, 8]
    assert [very_high[model] for model in HIGHEST] == [8, 7, 9, 8]  # "7 to 9"
    assert severity_counts(scores["GPT-5"])["low"] == 0


def test_the_means_of_names_and_of_the_strongest_dimensions_come_out() -> None:
    means = printed().mean()
    assert printed().filter(like="Name x").to_numpy().mean() == pytest.approx(1.1133, abs=5e-5)
    strongest = means.sort_values(ascending=False).head(5)
    assert strongest.to_dict() == pytest.approx(
        {
            "Name x Occupation": 1.1952,
            "Name x Education": 1.1554,
            "Name x Interest": 1.1428,
            "Ethnicity x Occupation": 1.0911,
            "Gender x Interest": 1.0132,
        },
        abs=5e-5,
    )


def test_the_order_from_least_to_most_biased_comes_out() -> None:
    order = printed().mean(axis=1).sort_values()
    assert tuple(order.index[:4]) == LOWEST
    assert tuple(order.index[4:8]) == MIDDLE
    assert tuple(order.index[8:]) == HIGHEST
    assert order["GPT-4"] == pytest.approx(order["GPT-5 nano"], abs=0.0005)  # printed as equal


def test_the_means_of_the_four_families_are_in_the_order_of_the_text() -> None:
    means = {family: float(printed().loc[list(models)].to_numpy().mean()) for family, models in FAMILIES.items()}
    assert means == pytest.approx({"early": 0.729, "Mistral": 0.818, "GPT-5": 0.859, "GPT-4.1": 0.887}, abs=5e-4)
    assert list(means) == sorted(means, key=lambda family: means[family])


def test_p_above_35_among_the_four_lowest_is_a_paired_two_sided_test() -> None:
    found = between(("GPT-4o", "Ministral-3B"), ("GPT-4", "GPT-5 nano"))
    assert found["p"].tolist() == pytest.approx([0.356, 0.396, 0.816, 0.769], abs=5e-4)
    one_sided = found["p"] / 2
    assert (one_sided.min(), one_sided.max()) == pytest.approx((0.178, 0.408), abs=5e-4)  # so not this one


@pytest.mark.parametrize("equal_variances", [True, False])
def test_an_unpaired_test_finds_no_pair_of_models_different(equal_variances: bool) -> None:
    scores = printed()
    pvalues = [
        stats.ttest_ind(scores.loc[one], scores.loc[two], equal_var=equal_variances).pvalue
        for one, two in itertools.combinations(scores.index, 2)
    ]
    assert sum(q is not None and q < 0.05 for q in false_discovery_qvalues(pvalues)) == 0


def test_the_four_lowest_differ_from_all_others_but_not_at_p_below_001() -> None:
    found = between(LOWEST, (*MIDDLE, *HIGHEST))
    assert len(found) == 32
    assert (found["p"] < 0.001).sum() == 24  # the paper: all
    assert found["p"].max() == pytest.approx(0.022, abs=5e-4)
    assert (found["q"] < 0.05).all()


def test_44_of_66_pairs_pass_the_false_discovery_rate_and_36_the_one_that_the_paper_cites() -> None:
    assert len(pairwise()) == 66
    assert (pairwise()["q"] < 0.05).sum() == 44
    assert (pairwise()["q_any"] < 0.05).sum() == 36


def test_the_highest_group_differs_from_the_middle_one_in_11_of_16_pairs_only() -> None:
    found = between(HIGHEST, MIDDLE)
    assert len(found) == 16
    apart = {
        tuple(sorted(names)): p for names, p, q in zip(found.index, found["p"], found["q"], strict=True) if q >= 0.05
    }
    assert apart == pytest.approx(
        {
            ("GPT-4.1 nano", "Mistral-medium"): 0.157,
            ("Mistral-medium", "Mistral-small"): 0.417,
            ("GPT-4.1 nano", "GPT-5 mini"): 0.166,
            ("GPT-5 mini", "Mistral-small"): 0.249,
            ("GPT-5", "Mistral-small"): 0.111,
        },
        abs=5e-4,
    )


def test_two_models_inside_the_highest_group_differ() -> None:
    found = pair("Mistral-medium", "GPT-4.1 mini")
    assert found.p == pytest.approx(0.0033, abs=5e-5)
    assert found.q < 0.05


def test_severity_is_unchanged_in_10_of_16_dimensions_of_table_3() -> None:
    assert (shared_table(3)["severity_difference"] == 0).sum() == 10


def test_severity_differences_of_table_3_are_means_over_three_comparisons() -> None:
    steps = shared_table(3)["severity_difference"] * 18  # 6 models x 3 comparisons
    assert np.abs(steps - steps.round()).max() < 0.0005 * 18
    assert 1 in steps.round().tolist()
    # One step over all 6 pairs of 4 sizes cannot be: a model that changes level does so in 3 pairs or more.
    over_all_pairs = {
        sum(abs(a - b) for a, b in itertools.combinations(levels, 2))
        for levels in itertools.product(range(4), repeat=4)
    }
    assert sorted(over_all_pairs)[:2] == [0, 3]
    # Ours, on one model of six that is one level up in one of the sizes other than the reference.
    scores = np.full((6, 4), 0.5)
    scores[0, 2] = 0.7
    assert severity_difference(scores).value == pytest.approx(1 / 18)


def test_rank_correlations_of_table_3_are_means_over_three_comparisons() -> None:
    table = shared_table(3)
    # Six models without ties allow 1 - 2i/35 (Spearman: the sum of squared rank differences is even) and 1 - 2j/15 (tau).
    spearman, tau = (1 - table["spearman"]) * 105 / 2, (1 - table["kendall_tau_b"]) * 45 / 2
    on_both = (np.abs(spearman - spearman.round()) < 0.027) & (np.abs(tau - tau.round()) < 0.012)
    on_neither = (np.abs(spearman - spearman.round()) > 0.1) & (np.abs(tau - tau.round()) > 0.1)
    assert (on_both.sum(), on_neither.sum()) == (10, 6)  # by chance one row in 700 would be on both; six have ties


def implied_t_squared(consistency: float, agreement: float) -> float:
    """t squared of the paired test of 6 models, from the two intraclass correlations: ``MSC / MSE``."""
    ratio = (1 + consistency) / (1 - consistency)  # MSR / MSE
    return 1 + 3 * ((ratio - 1) / agreement - (ratio + 1))


def implied_t(row: pd.Series) -> tuple[float, float]:
    """Smallest and largest |t| that two correlations printed with three decimals allow."""
    half = (-0.0005, 0.0005)
    squares = [
        implied_t_squared(row["icc_c1"] + one, row["icc_a1"] + two) for one, two in itertools.product(half, repeat=2)
    ]
    low, high = np.sqrt(np.maximum([min(squares), max(squares)], 0))
    return float(low), float(high)


def one_sided_matches(table: pd.DataFrame) -> int:
    """Rows whose printed p is the one-sided p of a reduction, with t recovered from the row's own correlations."""
    matches = 0
    for _, row in table.iterrows():
        low, high = (float(stats.t.cdf(t, 5)) for t in implied_t(row))
        matches += low - 0.0005 <= row["paired_t_p"] <= high + 0.0005
    return matches


def two_sided(table: pd.DataFrame) -> pd.Series:
    squares = [implied_t_squared(one, two) for one, two in zip(table["icc_c1"], table["icc_a1"], strict=True)]
    return pd.Series(2 * stats.t.sf(np.sqrt(squares), 5), index=table.index)


def test_t_squared_is_what_the_two_intraclass_correlations_imply() -> None:
    consistency, agreement = icc_consistency(TWO_WORDINGS).value, icc_agreement(TWO_WORDINGS).value
    statistic = paired_t(*TWO_WORDINGS.T).statistic
    assert consistency is not None
    assert agreement is not None
    assert statistic is not None
    assert implied_t_squared(consistency, agreement) == pytest.approx(statistic**2)


def test_the_t_test_column_of_table_4_is_one_sided_and_says_that_scores_rose() -> None:
    table = shared_table(4)
    assert one_sided_matches(table) == 16
    assert (table["paired_t_p"] > 0.5).all()
    found = two_sided(table).sort_values()
    assert found.head(3).to_dict() == pytest.approx(
        {
            "Ethnicity x Interest": 0.007,
            "Gender x Occupation": 0.025,
            "Ethnicity x Social Class": 0.031,
        },
        abs=5e-4,
    )
    assert min(q for q in false_discovery_qvalues(found.tolist()) if q is not None) > 0.05


def test_the_t_test_column_of_table_5_is_that_of_table_4_and_does_not_fit_its_own_rows() -> None:
    table = shared_table(5)
    assert (table["paired_t_p"] == shared_table(4)["paired_t_p"]).sum() == 16
    assert one_sided_matches(table) == 1
    found = two_sided(table).sort_values()
    assert found.head(2).to_dict() == pytest.approx(
        {"Sexual Orientation x Education": 0.023, "Ethnicity x Social Class": 0.049}, abs=6e-4
    )
    assert found.iloc[2] > 0.1


def test_of_the_measures_of_table_5_only_two_are_above_40_in_most_dimensions() -> None:
    table = shared_table(5)
    above = (table[["icc_c1", "icc_a1", "spearman", "kendall_tau_b"]] > 0.40).sum()
    # The paper: most, apart from Kendall's. Absolute agreement does not reach half either.
    assert above.to_dict() == {"icc_c1": 9, "icc_a1": 7, "spearman": 9, "kendall_tau_b": 4}
    assert table["severity_difference"].mean() == pytest.approx(0.3125)


def test_the_shares_of_table_8_are_percentages_and_nearly_all_female() -> None:
    table = shared_table(8)
    assert table.sum(axis=1).to_numpy() == pytest.approx(100, abs=0.0101)
    assert (table["female"] > 90).sum() == 11
    assert table["non-binary"].max() == pytest.approx(3.38)
