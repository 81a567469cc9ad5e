"""What a user sees of a verdict, from raw answers to ``spiritlevel compare --json``: real corpora and hostile changes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from metrics.pilot import measured_pilot
from metrics.power import planned_dimensions
from metrics.verdicts import Policy, release_verdict
from registry.audits.plan import Request, Response
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from tests.flows.recording import recorded
from tests.flows.test_real_corpora import BUILDS, corpus, lines
from tests.stub_personas import answer_text

PROTOCOL = "persona-brainstorm"
REFUSAL = "I'm sorry, but I can't help with that."
DIMENSION = "gender x occupation"


def personas(calls, *, seed, bias=0.2, per_call=20):
    return [answer_text({}, seed=f"{seed} {number}", bias=bias, per_call=per_call) for number in range(calls)]


@pytest.fixture
def compared(spiritlevel):
    """Compare two lists of answers as two releases: result, exit code and all."""

    def run(previous, current, *, served="nova-1", code=None):
        releases = []
        for version, texts, by in ((1, previous, "nova-1"), (2, current, served)):
            model = f"nova-{version}"
            releases.append(spiritlevel.json("release", "add", "nova", "--model", model)["release"])
            recorded(spiritlevel.home, "nova", texts, version=version, model=model, served=by)
        return spiritlevel.json("compare", *releases, code=code)

    return run


def test_halves_of_a_real_corpus_are_unchanged_or_inconclusive(spiritlevel, tmp_path):
    answers = corpus(BUILDS[1])
    order = np.random.default_rng(20261130).permutation(len(answers))
    releases = []
    for number, half in enumerate(np.array_split(order, 2)):
        source = tmp_path / f"{number}.jsonl"
        source.write_text(lines([answers[i] for i in half]))
        releases.append(spiritlevel.json("release", "add", "nova", "--model", f"nova-{number}")["release"])
        spiritlevel.json("import", releases[-1], source, "--protocol", PROTOCOL)
    result = spiritlevel.json("compare", *releases, code=None)
    assert result["verdict"] in {"unchanged", "inconclusive"}
    measured = [row for row in result["comparisons"] if row["delta"] is not None]
    assert measured
    assert all(row["verdict"] in {"unchanged", "inconclusive"} for row in measured)
    assert all(row["smallest_change"] > 0 for row in measured)


def test_ten_thousand_against_five_hundred_personas_raise_no_alarm_and_the_size_is_explained(compared):
    previous = personas(500, seed="large")
    current = personas(25, seed="small")
    result = compared(previous, current, code=3)
    assert result["verdict"] == "inconclusive"
    assert "500 personas a release only large changes show" in result["why"]
    for row in result["comparisons"]:
        assert row["verdict"] in {"inconclusive", "unchanged", "not measurable"}, row
        # Raw V of 500 personas is far above that of 10,000 by noise alone; the debiased change is not.
        if row["delta"] is not None and not row["dimension"].startswith("name"):
            assert row["low"] <= 0 <= row["high"] or abs(row["delta"]) < 0.2


def test_a_release_that_refuses_everything_is_not_measurable(compared):
    result = compared(personas(30, seed="a"), [REFUSAL] * 30, code=3)
    assert result["verdict"] == "not measurable"
    assert "usable records for 0 % of those asked for" in result["why"]
    assert {row["verdict"] for row in result["comparisons"]} == {"not measurable"}
    assert result["channels"]["current"]["outcomes"]["refused"] == 1.0


def test_a_release_that_begins_to_refuse_half_has_not_improved(compared):
    biased = personas(40, seed="a", bias=0.9)
    # What is left after refusing is far less biased: without the coverage rule this would read as an improvement.
    fair = personas(22, seed="b", bias=0.0) + [REFUSAL] * 18
    result = compared(biased, fair, code=3)
    assert result["verdict"] == "not measurable"
    assert "100 %" in result["why"]
    assert "55 %" in result["why"]
    assert "had the missing records come, the mean plain score could be from" in result["why"]
    assert "in the current release (360 missing)" in result["why"]


def test_the_same_answers_in_fences_are_a_change_of_format_and_not_of_bias(compared):
    texts = personas(60, seed="a")
    fenced = [f"Here are the profiles you asked for:\n\n```json\n{text}\n```" for text in texts]
    result = compared(texts, fenced)
    assert result["verdict"] in {"unchanged", "inconclusive"}
    assert all(row["delta"] == 0 for row in result["comparisons"] if row["delta"] is not None)
    changed = [change for change in result["channel_changes"] if change["qvalue"] < 0.001]
    assert {change["channel"] for change in changed} == {"format"}


def test_two_served_models_in_one_audit_are_a_mixed_release(compared):
    texts = personas(60, seed="a", bias=0.9)
    result = compared(personas(60, seed="b"), texts, served=["nova-1", "nova-2"], code=3)
    assert result["verdict"] == "not measurable"
    assert result["why"].startswith("mixed release: more than one served model answered in the audit of the current")


def read(name):
    protocol = PersonaBrainstorm()
    answers = corpus(name)
    requests = [Request(index=i, messages=(), expected=1) for i in range(len(answers))]
    return protocol.read(requests, [Response(index=i, text=a["raw_text"]) for i, a in enumerate(answers)])


def drawn(reading, rng, category=None, share=0.0, times=1):
    """An audit of a release whose answers are those of the corpus, each call drawn with replacement.

    A share of the women, each by itself, is moved into one occupation.
    """
    frame = reading.frame.iloc[rng.integers(0, len(reading.frame), size=times * len(reading.frame))]
    frame = frame.assign(request=np.arange(len(frame)), cluster=np.arange(len(frame)))
    if category is not None:
        women = (frame["gender_category"] == "female").to_numpy()
        frame.loc[women & (rng.random(len(frame)) < share), "occupation_category"] = category
    return frame


@dataclasses.dataclass(frozen=True)
class Plant:
    """How many of the women to move where, so that the score rises by what the planner calls detectable."""

    reading: object
    names: tuple
    category: str
    share: float


def planted(name):
    protocol = PersonaBrainstorm()
    reading = read(name)
    names = protocol.names([reading.frame])
    size = len(reading.frame)

    def pilot_of(category=None, share=0.0):
        # Ten times the corpus: what is planned from is then the release itself, and not the luck of one audit.
        frame = drawn(reading, np.random.default_rng(3), category, share, times=10)
        # Two audits pool twice the corpus, this one ten times: what is rare there must be rare here.
        return measured_pilot(frame, protocol.dimensions(), size=len(frame), names=names, merge_below=50)

    (plan,) = [
        planned
        for planned in planned_dimensions(pilot_of(), size=size, change=0.1, policy=Policy())
        if planned.dimension == DIMENSION
    ]
    target = (plan.v + plan.detectable_v) ** 2
    women = reading.frame.loc[reading.frame["gender_category"] == "female", "occupation_category"]
    category = women.value_counts().index[0]

    def reached(share):
        return next(d.v_squared for d in pilot_of(category, share).dimensions if d.dimension == DIMENSION)

    low, high = 0.0, 1.0
    assert reached(high) > target, f"{name}: moving every woman does not reach V squared {target:.3f}"
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) < target else (low, middle)
    return Plant(reading, names, category, high)


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS[:2])
def test_the_change_that_the_plan_calls_detectable_is_found_in_70_to_90_of_100_audits_and_its_cells_are_named(
    name, record_property
):
    from metrics.cells import moved_cells

    protocol = PersonaBrainstorm()
    plant = planted(name)
    (dimension,) = [d for d in protocol.dimensions() if d.title == DIMENSION]
    found = named = 0
    for seed in range(100):
        rng = np.random.default_rng([20261130, seed])
        previous, current = drawn(plant.reading, rng), drawn(plant.reading, rng, plant.category, plant.share)
        sides = [dataclasses.replace(plant.reading, frame=frame) for frame in (previous, current)]
        rows, reason = protocol.compare(*sides, plant.names, Policy(seed=seed, resamples=200))
        assert reason is None
        (row,) = [row for row in rows if row.dimension == DIMENSION]
        if row.verdict == "regressed":
            found += 1
            cells = moved_cells(previous, current, [dimension], names=plant.names, policy=Policy(seed=seed))
            named += any((cell.row, cell.column) == ("female", plant.category) for cell in cells[:3])
    print(
        f"{name}: {100 * plant.share:.0f} % of the women moved to {plant.category}; {found} of 100 regressed, the moved cell among the first three in {named}"
    )
    record_property("found", found)
    assert 70 <= found <= 90
    assert named >= 0.9 * found


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS)
def test_500_halves_of_a_real_corpus_raise_false_alarms_at_a_known_rate(name, record_property):
    from scipy.stats import binomtest

    protocol = PersonaBrainstorm()
    whole = read(name)
    names = protocol.names([whole.frame])
    calls = len(whole.frame["request"].unique())
    alarms = 0
    for split in range(500):
        half = np.random.default_rng([20261130, split]).permutation(calls) < calls // 2
        sides = [
            dataclasses.replace(whole, frame=whole.frame[pd.Series(part).reindex(whole.frame["request"]).to_numpy()])
            for part in (half, ~half)
        ]
        rows, reason = protocol.compare(*sides, names, Policy(seed=split, resamples=100))
        alarms += release_verdict(rows, reason)[0] == "regressed"
    interval = binomtest(alarms, 500).proportion_ci(0.95)
    print(
        f"{name}: {alarms} of 500 halves regressed, 95 % interval {100 * interval.low:.1f} to {100 * interval.high:.1f} %"
    )
    record_property("alarms", alarms)
    assert interval.low <= 0.07
