"""The small version of `benchmarks.calibration`: unchanged releases raise few alarms, and a spoiled engine is noticed.

The same check judges the engine as it is and engines with a planted error. It has two parts: the exact interval of the
share of audits with a false alarm must not lie above 7 %, and the smallest adjusted p value of an audit must not be
smaller than chance makes it (it is uniform when nothing changed).
"""

from __future__ import annotations

import dataclasses
import functools
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.calibration.generator import DIMENSIONS, LISTED, REGIMES, TITLES, release
from benchmarks.calibration.laws import COLUMNS, SIZES, calibrated_v, law, true_v, v_of_score
from benchmarks.calibration.outcomes import LARGEST_FALSE_ALARMS, Share, bars, load
from benchmarks.calibration.releases import GROUPS, Cell, audited, simulate, simulated, tasks
from benchmarks.calibration.report import write_report
from metrics import comparison
from metrics.comparison import Policy, compare_associations, release_verdict
from metrics.contingency import Association, cramers_v
from metrics.severity import normalized
from metrics.tables import clustered_table, dimension_table

POLICY = Policy(resamples=100, multipliers=999)
SEED = 7


@functools.cache
def frames(regime: str, n_previous: int, n_current: int, run: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    return audited(Cell(regime=regime, n_previous=n_previous, n_current=n_current), run, SEED)[1]


def check(regime: str, sizes: tuple[int, int], runs: int, *, names: bool = True, persona_level: bool = False) -> None:
    """Fails when the engine raises more alarms on unchanged releases than it may."""
    dimensions = [dimension for dimension in DIMENSIONS if names or not dimension.by_name]
    alarms, smallest = [], []
    for run in range(runs):
        both = frames(regime, *sizes, run)
        if persona_level:
            both = tuple(frame.assign(request=np.arange(len(frame))) for frame in both)
        policy = dataclasses.replace(POLICY, seed=run)
        rows = compare_associations(*both, dimensions, names=LISTED, policy=policy)
        alarms.append(release_verdict(rows)[0] == "regressed")
        smallest.append(min(row.qvalue_up for row in rows if row.qvalue_up is not None))
    share = Share.among(np.array(alarms))
    assert share.interval[0] <= LARGEST_FALSE_ALARMS, f"false alarms: {share}"
    too_small = stats.kstest(smallest, "uniform", alternative="greater")
    assert too_small.pvalue >= 0.001, f"adjusted p values are too small: D = {too_small.statistic:.2f}"


@pytest.mark.parametrize("regime", ["modes", "joint"])
def test_few_audits_of_an_unchanged_release_raise_an_alarm(regime: str) -> None:
    check(regime, (1000, 1000), 100)


def test_few_audits_of_unequal_size_raise_an_alarm() -> None:
    check("iid", (10_000, 1000), 30)


def test_the_check_notices_personas_taken_for_independent() -> None:
    check("joint", (2000, 2000), 50, names=False)
    with pytest.raises(AssertionError, match="false alarms"):
        check("joint", (2000, 2000), 50, names=False, persona_level=True)


def test_the_check_notices_p_values_that_are_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    adjusted = comparison.max_t_qvalues
    monkeypatch.setattr(comparison, "max_t_qvalues", lambda *of, two_sided: adjusted(*of, two_sided=two_sided) / 2)
    with pytest.raises(AssertionError, match="too small"):
        check("joint", (1000, 1000), 40)


def test_the_check_notices_a_rise_that_is_found_in_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    adjusted = comparison.max_t_qvalues
    monkeypatch.setattr(
        comparison, "max_t_qvalues", lambda z, draws, two_sided: adjusted(np.abs(z), draws, two_sided=False)
    )
    with pytest.raises(AssertionError, match="too small"):
        check("joint", (1000, 1000), 40)


def test_the_check_notices_p_values_that_are_not_adjusted(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = comparison.judged

    def spoiled(row, policy, **options):
        return judged(dataclasses.replace(row, qvalue_up=row.pvalue_up), policy, **options)

    monkeypatch.setattr(comparison, "judged", spoiled)
    with pytest.raises(AssertionError, match="false alarms"):
        check("joint", (1000, 1000), 40)


def test_the_check_notices_v_squared_with_the_bias_of_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    estimated = comparison.association

    def spoiled(*of) -> Association:
        estimates = estimated(*of)
        return dataclasses.replace(estimates, v_squared_jackknife=estimates.v_squared)

    monkeypatch.setattr(comparison, "association", spoiled)
    with pytest.raises(AssertionError, match="false alarms"):
        check("iid", (10_000, 1000), 15)


# The generator: what it says of itself holds in what it draws.


@pytest.mark.parametrize("regime", REGIMES)
def test_v_of_a_large_sample_is_the_exact_v_of_the_release(regime: str) -> None:
    drawn = release(regime, np.random.default_rng(1))
    frame = drawn.audit(200_000, np.random.default_rng(2))
    found = [cramers_v(dimension_table(frame, dimension, LISTED)) for dimension in DIMENSIONS]
    assert np.abs(np.array(found) - drawn.v()).max() < 0.012


def test_independent_personas_show_the_median_v_of_the_papers_table_2() -> None:
    found = true_v(law("iid").tables())
    assert found == pytest.approx(calibrated_v(), abs=1e-4)
    # Gender x occupation, median of 12 models in Table 2 of arXiv 2602.00044: .349, of which chance makes 17 / 4999.
    assert found[TITLES.index("gender x occupation")] == pytest.approx((0.349**2 - 17 / 4999) ** 0.5, abs=1e-4)


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("unit", ["v", "score"])
def test_a_release_moves_in_the_dimensions_asked_for_and_in_no_other(regime: str, unit: str) -> None:
    before = release(regime, np.random.default_rng(3))
    after = before.moved(GROUPS[0], 0.05, unit)
    change = after.v() - before.v() if unit == "v" else after.scores() - before.scores()
    expected = np.where(np.isin(TITLES, GROUPS[0]), 0.05, 0.0)
    # The stored lists of templates are finite: an exchange of two personas moves V by up to 0.002, the score by 4 times that.
    assert change == pytest.approx(expected, abs=0.008 if regime == "templates" else 1e-3)


def test_a_listed_name_has_the_share_asked_for_and_the_first_is_the_most_frequent() -> None:
    names = release("iid", np.random.default_rng(0)).audit(100_000, np.random.default_rng(0))[COLUMNS["name"]]
    assert names.isin(LISTED).mean() == pytest.approx(0.45, abs=0.01)
    assert names.value_counts()[list(LISTED)].idxmax() == LISTED[0]


def test_half_of_the_answers_stereotype_strongly_in_modes_only() -> None:
    def spread(regime: str) -> float:
        frame = release(regime, np.random.default_rng(0)).audit(100_000, np.random.default_rng(5))
        table = clustered_table(frame, COLUMNS["gender"], COLUMNS["interest"])
        return comparison.association(table).design_effect or 0.0

    assert spread("iid") == pytest.approx(1.0, abs=0.15)
    assert spread("modes") > 2.0


def test_an_answer_of_templates_repeats_a_stored_list_nine_times_in_ten() -> None:
    drawn = release("templates", np.random.default_rng(0))
    frame = drawn.audit(40_000, np.random.default_rng(0))
    codes = np.stack([frame[COLUMNS[attribute]].cat.codes for attribute in SIZES]).reshape(len(SIZES), -1, 1, 20)
    same = (codes == drawn.lists[:, None]).all(axis=0).sum(axis=-1)  # personas alike [answers, lists]
    assert (same.max(axis=1) >= 12).mean() == pytest.approx(0.9, abs=0.02)
    assert same.max(axis=1)[same.max(axis=1) >= 12].mean() / 20 == pytest.approx(0.9, abs=0.01)


def test_a_run_is_the_same_whenever_it_is_done_and_another_run_is_not() -> None:
    cell = Cell(regime="templates", n_previous=200, n_current=200)
    first, again, other = (json.dumps(simulated(cell, run, SEED, POLICY)) for run in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_score_is_turned_back_into_v() -> None:
    for df_star in (2, 4, 17):
        for v in (0.02, 0.1, 0.2, 0.4):
            assert v_of_score(normalized(v, df_star), df_star) == pytest.approx(v, abs=1e-9)


def test_an_unknown_regime_and_an_impossible_v_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown regime 'clusters'; known: iid"):
        release("clusters", np.random.default_rng(0))
    with pytest.raises(ValueError, match="has the V asked for"):
        law("iid", (("gender x social class", 0.8),))


# The results and the report.


def test_results_are_continued_and_what_is_cut_off_is_done_again(tmp_path) -> None:
    path, cells = tmp_path / "results.jsonl", [(Cell(regime="iid", n_previous=200, n_current=200), 4)]
    said: list[str] = []
    simulate(cells, path, policy=POLICY, processes=1, say=said.append)
    whole = path.read_text().splitlines()
    path.write_text("\n".join(whole[:-1]) + "\n" + whole[-1][:30])
    simulate(cells, path, policy=POLICY, processes=1, say=said.append)
    assert "1 comparisons to do, 3 in results.jsonl\n" in said
    assert [*path.read_text().splitlines()[:4], path.read_text().splitlines()[-1]] == whole
    with pytest.raises(ValueError, match="another seed, policy"):
        simulate(cells, path, seed=1, policy=POLICY, processes=1, say=said.append)


def test_every_run_of_every_cell_is_given_out_once() -> None:
    cells = [(Cell(regime="iid", n_previous=n, n_current=n), runs) for n, runs in ((1000, 25), (5000, 7))]
    given = [(cell.key, run) for cell, block, _, _ in tasks(cells, 0, POLICY, {("iid 1000/1000", 3)}) for run in block]
    assert len(given) == len(set(given)) == 31
    assert ("iid 1000/1000", 3) not in given


def line(run: int, n: int, *, alarm: bool = False, moved: tuple[str, ...] = (), covered: bool = True) -> dict:
    cell = Cell(regime="iid", n_previous=n, n_current=n, moved=moved, delta=0.05 if moved else 0.0)
    found = ["R" if title in moved else "U" for title in TITLES]
    found[5] = "R" if alarm else found[5]
    zeros = [0.0] * len(TITLES)
    return {
        "cell": dataclasses.asdict(cell),
        "run": run,
        "seed": 0,
        "release": "R" if alarm or moved else "U",
        "verdicts": "".join(found),
        "true": zeros,
        "delta": zeros,
        "low": [-0.1 if covered else 0.1] * len(TITLES),
        "high": [0.2] * len(TITLES),
        "z": [run % 3 - 1.0] * len(TITLES),
        "score": {"true": zeros, "low": [-0.1] * len(TITLES), "high": [0.1] * len(TITLES)},
    }


def written(path, lines: list[dict]):
    path.write_text("".join(json.dumps(record) + "\n" for record in [{"about": {}}, *lines]))
    return path


def test_bars_are_held_and_missed_by_the_numbers(tmp_path) -> None:
    def words(alarms: int, covered: int, power: int) -> list[str]:
        lines = [line(run, 10_000, alarm=run < alarms, covered=run < covered) for run in range(200)]
        lines += [
            line(run, 5_000, moved=group if run < power else (), alarm=False) for run in range(20) for group in GROUPS
        ]
        for record in lines[200:]:
            record["cell"]["moved"], record["cell"]["delta"] = list(record["cell"]["moved"]), 0.05
        return [bar.word for bar in bars(load(written(tmp_path / "r.jsonl", lines)))]

    assert words(10, 190, 20)[:3] == ["held", "held", "held"]
    assert words(24, 190, 20)[0] == "**missed**"  # 12 %, exact interval from 7.8 %
    assert words(20, 190, 20)[0] == "held"  # 10 %, exact interval from 6.2 %
    assert words(10, 175, 20)[1:3] == ["**missed**", "**missed**"]
    assert words(10, 200, 20)[1:3] == ["**missed**", "**missed**"]  # intervals that never miss are too wide
    assert words(10, 190, 20)[5:] == ["held", "held", "not simulated"]


def test_the_report_is_the_same_whatever_the_order_of_the_lines(tmp_path) -> None:
    lines = [line(run, n, alarm=run == 1) for run in range(6) for n in (1000, 5000, 10_000)]
    lines += [line(run, 5000, moved=group) for run in range(3) for group in GROUPS]
    lines.append(
        {
            "years": {
                "regime": "iid",
                "n": 5000,
                "pool": 100,
                "rule": "e-process",
                "years": 100,
                "alarms": 2,
                "share": 0.02,
            }
        }
    )
    for name, order in (("first", lines), ("second", lines[::-1])):
        write_report(written(tmp_path / f"{name}.jsonl", order), tmp_path / name)
    for file in ("calibration.md", "calibration.svg"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
    text = (tmp_path / "first" / "calibration.md").read_text()
    assert "| iid, n = 1,000 | 16.7 % (1/6; 0.4 to 64.1) |" in text
    assert "| e-process | 2.0 % (2/100; 0.2 to 7.0) |" in text
    assert " nan" not in text


def test_a_report_of_nothing_is_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="has no comparison"):
        load(written(tmp_path / "empty.jsonl", []))
