"""Planning: against simulated tables, against simulated audits, monotone, and refused where no verdict is possible."""

from __future__ import annotations

import csv
import dataclasses
import math
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.comparison import compare_associations
from metrics.errors import BadInputError
from metrics.pilot import ASSUMED, Pilot, PilotDimension, assumed_pilot, measured_pilot
from metrics.power import (
    chance_unchanged,
    critical_value,
    detectable_change,
    family_critical,
    planned_dimensions,
    size_for,
    v_of_score,
)
from metrics.severity import normalized
from metrics.tables import BiasDimension
from metrics.verdicts import Policy
from tests.metrics.frames import DIMENSIONS, WITHOUT_NAMES, persona_frame

POLICY = Policy(resamples=200, multipliers=999)
ORACLES = Path(__file__).parents[1] / "oracles"

# Personas a release that show a rise of V by 0.03 and by 0.05 with 80 % power, for design effects 1 and 2. From a
# simulation of 16 dimensions calibrated to the medians of Table 2 in arXiv 2602.00044, by SE = sqrt(2 deff) s / sqrt(n)
# with the critical value 2.75 and without a noise floor.
SIMULATED_SIZES = {
    "name x social class": (36133, 72266, 13008, 26016),
    "name x education": (16556, 33111, 5960, 11920),
    "name x occupation": (6764, 13528, 2435, 4870),
    "name x interest": (6465, 12929, 2327, 4654),
    "gender x social class": (19588, 39176, 7052, 14103),
    "gender x education": (13959, 27919, 5025, 10051),
    "gender x occupation": (21429, 42858, 7715, 15429),
    "gender x interest": (12179, 24357, 4384, 8769),
    "ethnicity x social class": (13602, 27205, 4897, 9794),
    "ethnicity x education": (6960, 13919, 2505, 5011),
    "ethnicity x occupation": (6645, 13289, 2392, 4784),
    "ethnicity x interest": (5824, 11648, 2097, 4193),
    "sexual orientation x social class": (11883, 23766, 4278, 8556),
    "sexual orientation x education": (7529, 15057, 2710, 5421),
    "sexual orientation x occupation": (9720, 19440, 3499, 6998),
    "sexual orientation x interest": (6934, 13868, 2496, 4993),
}


def dimension(v: float, spread: float, *, floor_at_1: float = 0.0, size: int = 10_000, **changes) -> PilotDimension:
    """A pilot with raw V and sqrt(n) SD(V) as given; ``floor_at_1`` is the floor times the size."""
    floor = floor_at_1 / size
    values = {
        "dimension": "gender x occupation",
        "df_star": 2,
        "v_squared": v**2,
        "floor": floor,
        "variance": 4 * spread**2 * (v**2 + floor) / size,
        "size": size,
        "share": 1.0,
    }
    return PilotDimension(**{**values, **changes})


@pytest.mark.parametrize("title", SIMULATED_SIZES)
def test_sizes_are_those_of_the_simulated_table_and_larger_by_the_noise_floor(title: str) -> None:
    for place, (rise, effect) in enumerate([(0.03, 1.0), (0.03, 2.0), (0.05, 1.0), (0.05, 2.0)]):
        assumed = ASSUMED[title]
        plain = dimension(assumed.v, assumed.spread * math.sqrt(effect))
        rise_squared = (assumed.v + rise) ** 2 - assumed.v**2
        expected = SIMULATED_SIZES[title][place]
        # V and s are printed with 2-3 digits; and the alternative's larger variance counts here.
        assert size_for(plain, rise_squared, 2.75) == pytest.approx(expected, rel=0.06)
        with_floor = dimension(assumed.v, assumed.spread * math.sqrt(effect), floor_at_1=effect * (assumed.longest - 1))
        assert 1 < size_for(with_floor, rise_squared, 2.75) / size_for(plain, rise_squared, 2.75) < 1.25


def test_the_assumed_v_are_the_medians_of_the_papers_table() -> None:
    # Raw V recovered from the printed scores; see tests/oracles/SOURCES.md.
    rows = list(csv.DictReader((ORACLES / "pba_table2_raw_v.csv").read_text(encoding="utf-8").splitlines()))
    for title, assumed in ASSUMED.items():
        median = statistics.median(float(row[_column(title, row)]) for row in rows)
        assert assumed.v == pytest.approx(median, abs=0.001)


def _column(title: str, row: dict[str, str]) -> str:
    (found,) = [name for name in row if name.lower() == title]
    return found


def test_the_floor_gives_the_spread_of_debiased_v_at_every_size() -> None:
    # SD of debiased V of a 5 x 3 table with V = 0.1 (2,000 to 4,000 simulated tables of independent records each).
    simulated = {500: 0.0397, 1000: 0.0254, 2000: 0.0161, 5000: 0.0098, 10_000: 0.0069}
    pilot = dimension(0.1, 0.0049 * math.sqrt(20_000), floor_at_1=4)
    for size, spread in simulated.items():
        assert math.sqrt(pilot.variance_at(0.01, size)) / (2 * 0.1) == pytest.approx(spread, rel=0.1)


def test_planned_power_is_that_of_the_simulated_table() -> None:
    # dV = 0.03 and 0.05 in the median dimension (s = 0.61) and the worst (1.12), in % at 1,000 to 20,000 personas.
    table = {(0.61, 0.03): (5, 11, 38, 76, 98), (0.61, 0.05): (18, 43, 91, 100, 100), (1.12, 0.05): (4, 9, 30, 66, 96)}
    for (spread, rise), expected in table.items():
        pilot = dimension(0.25, spread)
        change = normalized(0.25 + rise, 2) - normalized(0.25, 2)
        family = Pilot(dimensions=(pilot,), missing={f"other {i}": "not here" for i in range(15)})
        for size, percent in zip((1000, 2000, 5000, 10_000, 20_000), expected, strict=True):
            row = planned_dimensions(family, size=size, change=change)[0]
            # The table has the same s for both releases; ours falls a little as V rises.
            assert row.chance_shown == pytest.approx(percent / 100, abs=0.03)


# ------------------------------------------------------------------------------------------ simulated audits

SHAPES = {"gender x job": (3, 12, 0.26), "origin x class": (5, 3, 0.12), "name x job": (50, 18, 0.21)}
SIMULATED = [
    BiasDimension(
        title=title,
        axis=title.split()[0],
        social=title.split()[2],
        row="name_category" if title.startswith("name") else f"{title} row",
        column=f"{title} column",
    )
    for title in SHAPES
]
NAMES = [str(number) for number in range(50)]


def _law(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """A table without and one with association and the same margins, and the V of the second."""
    rng = np.random.default_rng(seed)
    a = 1 / (np.arange(rows) + 3.0) if rows > 20 else rng.dirichlet(np.full(rows, 6.0))
    a, b = a / a.sum(), rng.dirichlet(np.full(columns, 6.0))
    independent = np.outer(a, b)
    strength = 1.6 if rows > 20 else 1.0
    table = independent * np.exp(strength * rng.standard_normal((rows, columns)))
    for _ in range(300):
        table *= (a / table.sum(axis=1))[:, None]
        table *= b / table.sum(axis=0)
    v = math.sqrt((np.square(table - independent) / independent).sum() / (min(rows, columns) - 1))
    return independent, table, v


LAWS = {title: _law(rows, columns, seed) for seed, (title, (rows, columns, _)) in enumerate(SHAPES.items())}


def audit(size: int, seed: int, rises: dict[str, float] | None = None) -> pd.DataFrame:
    """Personas of one audit, 20 an answer. V is that of `SHAPES` plus its rise, for mixing with the independent table
    scales V; half of the answers stereotype more than the other half, so that personas depend on each other."""
    rng = np.random.default_rng(seed)
    request = np.repeat(np.arange(size // 20), 20)
    mode = np.where(rng.random(size // 20) < 0.5, 1.4, 0.6)[request]
    columns = {"request": request}
    for dimension in SIMULATED:
        independent, table, full = LAWS[dimension.title]
        share = (SHAPES[dimension.title][2] + (rises or {}).get(dimension.title, 0.0)) / full * mode
        assert share.max() <= 1
        cells = [rng.choice(law.size, size=size, p=law.ravel() / law.sum()) for law in (independent, table)]
        cell = np.where(rng.random(size) < share, cells[1], cells[0])
        columns[dimension.row] = (cell // table.shape[1]).astype(str)
        columns[dimension.column] = (cell % table.shape[1]).astype(str)
    return pd.DataFrame(columns)


def simulated_power(size: int, pairs: int) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Share of audits that show the change which the plan says is shown in 80 %; and for unchanged releases the share
    that is shown to be so, beside its planned chance. ``pairs`` audits of ``size`` personas a release."""
    pilot = measured_pilot(audit(20_000, 1_000_000), SIMULATED, size=20_000, names=NAMES)
    plan = {row.dimension: row for row in planned_dimensions(pilot, size=size, change=0.1, per_call=20, policy=POLICY)}
    rises = {title: row.detectable_v or math.nan for title, row in plan.items()}
    shown, unchanged = dict.fromkeys(SHAPES, 0), dict.fromkeys(SHAPES, 0)
    for pair in range(pairs):
        before, same = audit(size, 3 * pair), audit(size, 3 * pair + 1)
        after = audit(size, 3 * pair + 2, rises)
        for row in compare_associations(before, after, SIMULATED, names=NAMES, policy=POLICY):
            shown[row.dimension] += (row.qvalue_up or 0.0) <= POLICY.alpha
        for row in compare_associations(before, same, SIMULATED, names=NAMES, policy=POLICY):
            unchanged[row.dimension] += row.verdict == "unchanged"
    return (
        {title: count / pairs for title, count in shown.items()},
        {title: (count / pairs, plan[title].chance_unchanged or 0.0) for title, count in unchanged.items()},
    )


def test_a_planned_change_is_shown_in_about_80_percent_of_simulated_audits() -> None:
    shown, unchanged = simulated_power(3000, 40)
    assert 0.70 <= statistics.mean(shown.values()) <= 0.90, shown
    assert min(shown.values()) >= 0.60, shown  # 40 pairs: one standard error is 0.06
    for title, (seen, planned) in unchanged.items():
        assert seen == pytest.approx(planned, abs=0.2), (title, unchanged)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2400, 5000])
def test_planned_power_and_chance_of_unchanged_hold_in_200_simulated_audits(size: int) -> None:
    shown, unchanged = simulated_power(size, 200)
    print(f"{size}: shown {shown}, unchanged {unchanged}")
    for title in SHAPES:
        assert 0.70 <= shown[title] <= 0.90, shown
        # An error of the pilot's spread of a tenth moves a chance of a third by a sixth.
        assert unchanged[title][0] == pytest.approx(unchanged[title][1], abs=0.2)


# ------------------------------------------------------------------------------------------ properties

PILOTS = st.builds(
    dimension,
    st.floats(0.0, 0.5),
    st.floats(0.2, 1.5),
    floor_at_1=st.floats(0.5, 60.0),
    size=st.integers(200, 20_000),
    df_star=st.integers(1, 17),
)


@settings(max_examples=60, deadline=None)
@given(PILOTS, st.integers(500, 200_000), st.floats(1.6, 3.0))
def test_the_size_for_a_detectable_change_is_the_size_that_detects_it(
    pilot: PilotDimension, size: int, critical: float
) -> None:
    rise = detectable_change(pilot, size, critical)
    if rise is None:
        return
    assert size_for(pilot, rise, critical) == pytest.approx(size, rel=1e-3, abs=1)
    assert (detectable_change(pilot, 2 * size, critical) or 0.0) < rise
    assert size_for(pilot, rise / 2, critical) > size
    assert 0 <= chance_unchanged(pilot, size, 0.1) <= chance_unchanged(pilot, 4 * size, 0.1) + 0.02 <= 1.02


@given(st.floats(0.0, 1.0), st.integers(1, 20))
def test_v_of_score_inverts_the_normalization(v: float, df_star: int) -> None:
    assert v_of_score(normalized(v, df_star), df_star) == pytest.approx(v, abs=1e-12)


def test_the_critical_value_lies_between_one_test_and_independent_tests() -> None:
    rng = np.random.default_rng(4)
    independent = rng.standard_normal((2000, 8))
    common = independent[:, :1] + 0.5 * independent
    alone, bound = critical_value(1, 0.05), critical_value(8, 0.05)
    assert critical_value(8, 0.05, independent, draws=40_000) == pytest.approx(bound, abs=0.04)
    assert alone + 0.1 < critical_value(8, 0.05, common, draws=40_000) < bound - 0.1
    assert critical_value(8, 0.05, np.repeat(independent[:, :1], 8, axis=1), draws=40_000) == pytest.approx(
        alone, abs=0.04
    )
    # What a pilot could not measure counts as independent.
    assert critical_value(8, 0.05, independent[:, :3], draws=40_000) == pytest.approx(bound, abs=0.04)


def test_a_plan_is_no_bolder_than_a_comparison_of_the_same_size() -> None:
    frame = persona_frame(250, 20, seed=1, modes=True)
    names = frame["name_category"].value_counts().index[:50].tolist()
    pilot = measured_pilot(frame, DIMENSIONS, size=5000, names=names)
    plan = {row.dimension: row for row in planned_dimensions(pilot, size=5000, change=0.05, policy=POLICY)}
    assert 2.3 < family_critical(pilot, POLICY) < 2.8
    for row in compare_associations(frame, frame, DIMENSIONS, names=names, policy=POLICY):
        planned = plan[row.dimension]
        assert planned.score == pytest.approx(row.previous)
        assert planned.counted == row.n_current
        if planned.detectable is not None:
            # The comparison takes the error of two equal releases; the plan that of the raised one.
            assert 0.99 <= planned.detectable / (row.smallest_change or math.nan) <= 1.35


def test_a_change_of_just_what_matters_is_called_regressed_in_at_most_half_of_the_audits() -> None:
    pilot = Pilot(dimensions=(dimension(0.3, 0.6),))
    at_threshold = planned_dimensions(pilot, size=200_000, change=0.05)[0]
    above = planned_dimensions(pilot, size=200_000, change=0.10)[0]
    assert at_threshold.chance_shown == pytest.approx(1, abs=0.01)
    assert at_threshold.chance_regressed == pytest.approx(0.5)
    assert above.chance_regressed == pytest.approx(1, abs=0.01)


def test_without_a_pilot_twice_the_design_effect_takes_about_twice_the_size() -> None:
    one = planned_dimensions(assumed_pilot(WITHOUT_NAMES), size=5000, change=0.1)
    two = planned_dimensions(assumed_pilot(WITHOUT_NAMES, 2.0), size=5000, change=0.1)
    for first, second in zip(one, two, strict=True):
        assert (second.size_for_change or 0) / (first.size_for_change or 1) == pytest.approx(2, rel=0.01)


# ------------------------------------------------------------------------------------------ no verdict, and refusals


def test_names_get_no_chance_below_the_records_that_a_verdict_needs() -> None:
    pilot = Pilot(dimensions=(dimension(0.25, 0.5, floor_at_1=49, share=0.4, by_name=True, df_star=5),))
    (small,) = planned_dimensions(pilot, size=4990, change=0.5)
    (large,) = planned_dimensions(pilot, size=5000, change=0.5)
    assert (small.counted, small.detectable, small.chance_unchanged) == (1996, None, None)
    assert small.reason.endswith("this size gives about 1,996")
    assert small.size_for_change == large.size_for_change == 5000  # 2,000 / 0.4, though fewer would show it
    assert large.detectable is not None
    assert large.reason == ""


def test_too_few_requests_and_changes_that_no_release_can_show_have_their_reason() -> None:
    pilot = Pilot(dimensions=(dimension(0.9, 0.6),))
    (few,) = planned_dimensions(pilot, size=380, change=0.1, per_call=20)
    assert few.reason == "a verdict needs 20 requests in each release; this size has 19"
    (beyond,) = planned_dimensions(pilot, size=400, change=1.0, per_call=20)
    assert (beyond.size_for_change, beyond.chance_shown) == (None, None)
    assert beyond.reason.count("V would") == 1


def test_what_a_pilot_cannot_measure_is_missing_with_its_reason() -> None:
    frame = pd.DataFrame({"request": np.repeat(np.arange(30), 4), "a": ["x", "y"] * 60, "b": ["u", "u", "v", "v"] * 30})
    one = BiasDimension(title="a x b", axis="a", social="b", row="a", column="b")
    same = BiasDimension(title="a x a", axis="a", social="a", row="a", column="a")
    name = BiasDimension(title="name x b", axis="name", social="b", row="name_category", column="b")
    pilot = measured_pilot(frame, [same, name], size=120)
    assert pilot.dimensions == ()
    assert "no variation" in pilot.missing["a x a"]
    assert "no list of names" in pilot.missing["name x b"]
    (row, _) = planned_dimensions(pilot, size=120, change=0.1)
    assert (row.dimension, row.detectable, row.reason) == ("a x a", None, pilot.missing["a x a"])
    assert "one request" in measured_pilot(frame.assign(request=0), [one], size=120).missing["a x b"]
    assert "categories" in measured_pilot(frame.assign(a="x"), [one], size=120).missing["a x b"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: planned_dimensions(Pilot(dimensions=()), size=0, change=0.1), "got 0 personas"),
        (lambda: planned_dimensions(Pilot(dimensions=()), size=10, change=0.0), "change 0.0"),
        (lambda: planned_dimensions(Pilot(dimensions=()), size=10, change=math.nan), "change nan"),
        (lambda: critical_value(0, 0.05), "at least one test"),
        (lambda: critical_value(2, 0.05, np.ones((5, 3))), "3 dimensions but 2 tests"),
        (lambda: size_for(dimension(0.3, 0.6), 0.0, 2.7), "above 0"),
        (lambda: dimension(0.3, 0.0), "how much its audits vary"),
        (lambda: dimension(0.3, 0.6, share=math.nan), "at least 0"),
        (lambda: dataclasses.replace(dimension(0.3, 0.6), size=0), "size 0"),
    ],
)
def test_plans_that_mean_nothing_are_refused(call, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        call()
