"""Watching one release: states, gaps, repeats and replays."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from metrics.errors import BadInputError
from metrics.recurring import STATES, AuditEstimates, WatchedAudit, WatchPolicy, watch
from metrics.sequential import cusum, e_process, log_scale, recursive_residuals, standardized

DIMENSIONS = ("gender x occupation", "gender x education", "name x interest")
SIGMA = 0.003
POLICY = WatchPolicy(baseline=3, horizon=6)
GIVEN = WatchPolicy(scale="given")


def audits(values: NDArray[np.float64], *, size: int = 2000) -> list[AuditEstimates]:
    """Audits of jackknifed V squared around 0.02; NaN for what was not measured."""
    return [
        AuditEstimates(
            audit=f"week {number}",
            size=size,
            estimates=tuple(None if np.isnan(v) else 0.02 + SIGMA * v for v in row.tolist()),
            variances=tuple(None if np.isnan(v) else SIGMA**2 for v in row.tolist()),
        )
        for number, row in enumerate(values, start=1)
    ]


def drawn(number: int, seed: int, *, rise: float = 0.0, at: int = 0) -> NDArray[np.float64]:
    """Unchanged audits in standard deviations; from audit ``at`` on the second dimension rises."""
    values = np.random.default_rng(seed).normal(size=(number, len(DIMENSIONS)))
    values[at:, 1] += rise
    return values


def evidence(row: WatchedAudit) -> tuple[Any, ...]:
    """What a row says, without whose row it is."""
    return row.used, row.state, row.e_value, row.e_mean, row.cusum, row.change_start, row.first_alarm


def test_the_numbers_of_a_row_are_those_of_the_processes() -> None:
    values = drawn(57, seed=1)
    rows = watch(audits(values), DIMENSIONS)
    estimates, variances = log_scale(0.02 + SIGMA * values, np.full(values.shape, SIGMA**2), baseline=5)
    noted = standardized(estimates, variances, baseline=5)
    e_values = e_process(noted.z, noted.rho)
    levels = cusum(recursive_residuals(noted.z, noted.rho), k=1.0)
    assert [row.state for row in rows[:5]] == ["baseline"] * 5
    for t, row in enumerate(rows[5:]):
        assert row.e_value == pytest.approx(e_values[t].max(), rel=1e-10)
        assert row.e_mean == pytest.approx(e_values[t].mean(), rel=1e-10)
        assert row.e_dimension == DIMENSIONS[int(e_values[t].argmax())]
        assert row.cusum == pytest.approx(levels[t].max(), rel=1e-10)
        assert (row.used, row.window, row.e_threshold) == (t + 6, 0, 60.0)
        assert row.dispersion == pytest.approx(float(noted.dispersion))


def test_estimates_can_be_taken_as_given() -> None:
    values = drawn(8, seed=1)
    noted = standardized(0.02 + SIGMA * values, np.full(values.shape, SIGMA**2), baseline=5)
    row = watch(audits(values), DIMENSIONS, GIVEN)[-1]
    assert row.e_value == pytest.approx(e_process(noted.z, noted.rho)[-1].max(), rel=1e-10)


def test_a_rise_warns_and_alarms_and_is_dated() -> None:
    rows = watch(audits(drawn(40, seed=2, rise=3.0, at=24)), DIMENSIONS, GIVEN)
    states = [row.state for row in rows]
    assert set(states[5:24]) <= {"quiet", "warning"}
    first = states.index("alarm")
    assert 24 <= first <= 30
    assert states[first:] == ["alarm"] * (40 - first)
    last = rows[-1]
    assert (last.e_dimension, last.change_start) == ("gender x education", "week 25")
    assert last.first_alarm == f"week {first + 1}"
    assert rows[first - 1].first_alarm is None
    assert "a rise is likely from audit week 25 on" in last.why


def test_the_warning_lane_dates_the_climb() -> None:
    values = np.zeros((9, 3))
    values[6:, 1] = (2.5, 3.5, 3.5)
    rows = watch(audits(values), DIMENSIONS, WatchPolicy(alpha=1e-9, scale="given"))
    assert [row.state for row in rows[5:]] == ["quiet", "quiet", "quiet", "warning"]
    assert (rows[-1].change_start, rows[-1].cusum_dimension) == ("week 7", "gender x education")
    assert "CUSUM" in rows[-1].why


def test_a_fall_is_no_alarm() -> None:
    assert {row.state for row in watch(audits(drawn(40, seed=3, rise=-5.0, at=20)), DIMENSIONS)[5:]} == {"quiet"}


def test_each_window_has_half_the_alpha_of_the_one_before() -> None:
    rows = watch(audits(drawn(21, seed=4)), DIMENSIONS, POLICY)[3:]
    assert [row.window for row in rows] == [0] * 6 + [1] * 6 + [2] * 6
    assert [row.e_threshold for row in rows[::6]] == [60.0, 120.0, 240.0]


def test_a_rise_that_lasts_is_found_again_in_the_next_window() -> None:
    policy = WatchPolicy(horizon=12)
    rows = watch(audits(drawn(29, seed=5, rise=6.0, at=8)), DIMENSIONS, policy)
    assert rows[16].state == "alarm"
    # The next window starts against the baseline of the release, not against the audits with the rise.
    assert [row.state for row in rows[20:]] == ["alarm"] * 9
    assert rows[-1].change_start == "week 18"


sequences = st.integers(0, 2**32 - 1).flatmap(
    lambda seed: st.tuples(st.just(seed), st.integers(1, 22), st.sampled_from([0.0, 3.0]))
)


def gappy(seed: int, number: int, rise: float) -> list[AuditEstimates]:
    """Audits with a quarter of the entries missing, and with one audit in eight that measured nothing."""
    rng = np.random.default_rng(seed)
    values = drawn(number, seed, rise=rise, at=number // 2)
    values[rng.random(values.shape) < 0.25] = np.nan
    values[rng.random(number) < 0.125] = np.nan
    values[:2, 0] = 0.1  # a baseline of something
    return audits(values)


@settings(deadline=None, max_examples=60, database=None)
@given(sequences)
def test_replaying_a_sequence_gives_the_same_rows_and_a_longer_one_starts_with_them(
    sequence: tuple[int, int, float],
) -> None:
    given_audits = gappy(*sequence)
    rows = watch(given_audits, DIMENSIONS, POLICY)
    assert rows == watch(given_audits, DIMENSIONS, POLICY)
    for cut in range(len(given_audits)):
        assert watch(given_audits[:cut], DIMENSIONS, POLICY) == rows[:cut]
    assert all(row.state in STATES and row.why for row in rows)


@settings(deadline=None, max_examples=60, database=None)
@given(sequences, st.data())
def test_an_audit_that_comes_again_is_counted_once(sequence: tuple[int, int, float], data: st.DataObject) -> None:
    given_audits = gappy(*sequence)
    repeated = list(given_audits)
    for _ in range(3):
        again = data.draw(st.integers(0, len(repeated) - 1))
        repeated.insert(data.draw(st.integers(again + 1, len(repeated))), repeated[again])
    assert watch(repeated, DIMENSIONS, POLICY) == watch(given_audits, DIMENSIONS, POLICY)


@settings(deadline=None, max_examples=60, database=None)
@given(sequences, st.data())
def test_an_audit_that_measured_nothing_is_as_one_that_never_was(
    sequence: tuple[int, int, float], data: st.DataObject
) -> None:
    given_audits = gappy(*sequence)
    place = data.draw(st.integers(0, len(given_audits)))
    nothing = AuditEstimates(audit="nothing", size=17, estimates=(None,) * 3, variances=(None,) * 3)
    rows = watch([*given_audits[:place], nothing, *given_audits[place:]], DIMENSIONS, POLICY)
    assert tuple(row for row in rows if row.audit != "nothing") == watch(given_audits, DIMENSIONS, POLICY)
    before = evidence(rows[place - 1]) if place else (0, "baseline", None, None, None, None, None)
    assert evidence(rows[place]) == before
    assert rows[place].unmeasured == DIMENSIONS
    assert "nothing changes" in rows[place].why


@settings(deadline=None, max_examples=40, database=None)
@given(sequences, st.data())
def test_a_missing_dimension_gains_no_evidence_and_changes_no_other(
    sequence: tuple[int, int, float], data: st.DataObject
) -> None:
    seed, number, rise = sequence
    values = drawn(number + POLICY.baseline, seed, rise=rise, at=number // 2)
    missing = data.draw(st.lists(st.integers(POLICY.baseline, len(values) - 1), max_size=6))
    with_gaps = values.copy()
    with_gaps[missing, 1] = np.nan
    policy = dataclasses.replace(POLICY, horizon=40, guard=False)
    # Alone in its family, the dimension has the rows of the audits that measured it.
    alone = watch(
        [dataclasses.replace(a, estimates=a.estimates[1:2], variances=a.variances[1:2]) for a in audits(with_gaps)],
        DIMENSIONS[1:2],
        policy,
    )
    kept = [a for a in audits(with_gaps) if a.estimates[1] is not None]
    only = [dataclasses.replace(a, estimates=a.estimates[1:2], variances=a.variances[1:2]) for a in kept]
    assert [evidence(row) for row in alone if not row.unmeasured] == [
        evidence(row) for row in watch(only, DIMENSIONS[1:2], policy)
    ]
    # The others have the same largest values with the gaps as with the dimension quiet.
    low = values.copy()
    low[:, 1] = np.where(np.arange(len(values)) < POLICY.baseline, values[:, 1], -50.0)
    gone = low.copy()
    gone[POLICY.baseline :, 1] = np.nan
    pairs = zip(watch(audits(low), DIMENSIONS, policy), watch(audits(gone), DIMENSIONS, policy), strict=True)
    for quiet, absent in pairs:
        if quiet.e_dimension == absent.e_dimension != DIMENSIONS[1]:
            assert quiet.e_value == absent.e_value


def test_a_dimension_without_a_baseline_is_named_and_not_watched() -> None:
    values = drawn(10, seed=6)
    values[:5, 2] = np.nan
    values[5:, 2] = 100.0
    rows = watch(audits(values), DIMENSIONS)
    assert rows[-1].unwatched == ("name x interest",)
    assert rows[-1].state == "quiet"
    assert rows[0].unmeasured == ("name x interest",)


def test_a_wide_baseline_delays_the_alarm() -> None:
    values = drawn(20, seed=7, rise=4.0, at=10)
    values[:5] *= 3
    with_guard, without = (watch(audits(values), DIMENSIONS, WatchPolicy(guard=guard))[-1] for guard in (True, False))
    assert with_guard.dispersion is not None
    assert with_guard.dispersion > 3
    assert without.dispersion == 1
    assert with_guard.e_value is not None
    assert without.e_value is not None
    assert with_guard.e_value < without.e_value


def test_audits_of_another_size_are_refused_with_the_way_out() -> None:
    sequence = audits(drawn(6, seed=8))
    watch([*sequence, dataclasses.replace(sequence[0], audit="next", size=1800)], DIMENSIONS, POLICY)
    with pytest.raises(BadInputError, match=r"needs? the same size: .* leave it out or start a new baseline"):
        watch([*sequence, dataclasses.replace(sequence[0], audit="next", size=1799)], DIMENSIONS, POLICY)
    with pytest.raises(BadInputError, match="the same size"):
        watch([sequence[0], dataclasses.replace(sequence[1], size=500)], DIMENSIONS, POLICY)


def test_contradictions_are_refused() -> None:
    sequence = audits(drawn(4, seed=9))
    changed = dataclasses.replace(sequence[0], estimates=(0.5, 0.5, 0.5))
    with pytest.raises(BadInputError, match="'week 1' came twice with different numbers"):
        watch([*sequence, changed], DIMENSIONS, POLICY)
    with pytest.raises(BadInputError, match="has 3 estimates for 2 dimensions"):
        watch(sequence, DIMENSIONS[:2], POLICY)
    with pytest.raises(BadInputError, match="each once"):
        watch(sequence, ("a", "a", "b"), POLICY)
    once = drawn(4, seed=10)
    once[0, 1:] = once[1, [0, 2]] = once[2, :2] = np.nan
    with pytest.raises(BadInputError, match="no dimension was measured in 2 of the 3"):
        watch(audits(once), DIMENSIONS, POLICY)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"estimates": (None, 0.1)}, "give None for both"),
        ({"estimates": (float("nan"), 0.1)}, "finite estimate"),
        ({"variances": (0.0, 0.1)}, "variance above 0"),
        ({"variances": (float("inf"), 0.1)}, "variance above 0"),
        ({"variances": (0.1,)}, "one variance per estimate"),
        ({"size": 0}, "size above 0"),
    ],
)
def test_estimates_that_are_none_are_refused(fields: dict[str, Any], words: str) -> None:
    values: dict[str, Any] = {"audit": "a", "size": 10, "estimates": (0.1, 0.1), "variances": (0.1, 0.1)}
    with pytest.raises(BadInputError, match=words):
        AuditEstimates(**{**values, **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"baseline": 1}, "2 audits or more"),
        ({"scale": "root"}, "unknown scale 'root'; known: log, given"),
        ({"horizon": 0}, "1 or more"),
        ({"alpha": 0.7}, "alpha is a probability"),
        ({"deltas": ()}, "at least one"),
        ({"deltas": (-1.0,)}, "above 0"),
        ({"h": float("nan")}, "above 0"),
    ],
)
def test_a_policy_that_cannot_judge_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        WatchPolicy(**fields)
