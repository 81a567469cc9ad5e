"""The instrument check: halves of one audit differ only when something changed on the way."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from metrics.comparison import compare_associations
from metrics.instrument import split_check, steady
from metrics.results import Comparison
from metrics.verdicts import Policy
from tests.metrics.frames import WITHOUT_NAMES, persona_frame

POLICY = Policy(multipliers=2999)


def test_a_steady_audit_is_steady_and_says_on_how_much() -> None:
    found = split_check(persona_frame(120, 20, seed=1), WITHOUT_NAMES, policy=POLICY)
    assert (found.state, found.dimensions) == ("steady", ())
    assert found.why.endswith("differ in none of 12 dimensions beyond chance")


def test_a_model_that_is_exchanged_on_the_way_moves_the_instrument() -> None:
    first, second = persona_frame(80, 20, seed=1), persona_frame(80, 20, seed=2, extra=1.5)
    frame = pd.concat([first, second.assign(request=second["request"] + 80)], ignore_index=True)
    found = split_check(frame, WITHOUT_NAMES, policy=POLICY)
    assert found.state == "moved"
    assert "gender x occupation" in found.dimensions
    assert "which chance does in 1 % of checks" in found.why
    # In random order the two models are spread over both halves, and there is nothing to see.
    assert split_check(frame, WITHOUT_NAMES, policy=POLICY, in_order=False).state == "steady"


def test_few_requests_allow_no_check() -> None:
    found = split_check(persona_frame(39, 20, seed=1), WITHOUT_NAMES, policy=POLICY)
    assert found.state == "not measurable"
    assert found.why == "a split needs 40 requests with answers; there are 39"


def test_what_cannot_be_measured_is_not_called_steady() -> None:
    rows = [Comparison(metric="m", dimension="a x b", verdict="not measurable", why="one category")]
    assert steady(rows, 0.01, "the halves").state == "not measurable"


def test_the_level_of_the_check_is_the_one_given() -> None:
    row = Comparison(metric="m", dimension="a x b", verdict="inconclusive", why="open", delta=0.2, qvalue=0.03)
    assert steady([row], 0.01, "the halves").state == "steady"
    assert steady([row], 0.05, "the halves").state == "moved"
    assert steady([row], 0.03, "the halves").state == "moved"


def test_steady_audits_are_rarely_held() -> None:
    moved = sum(
        split_check(persona_frame(60, 20, seed=seed, modes=True), WITHOUT_NAMES, policy=POLICY).state == "moved"
        for seed in range(60)
    )
    # Nominal 1 %: the exact interval of what was found must reach down to it.
    assert binomtest(moved, 60).proportion_ci(0.95).low <= 0.01


def test_the_halves_are_those_of_the_requests_in_order() -> None:
    frame = persona_frame(60, 20, seed=3)
    shuffled = frame.sample(frac=1.0, random_state=1)
    assert split_check(frame, WITHOUT_NAMES, policy=POLICY) == split_check(shuffled, WITHOUT_NAMES, policy=POLICY)
    cut = np.sort(frame["request"].unique())[30]
    rows = compare_associations(
        frame[frame["request"] < cut],
        frame[frame["request"] >= cut],
        WITHOUT_NAMES,
        policy=Policy(alpha=0.01, resamples=100, multipliers=2999),
    )
    assert steady(rows, 0.01, "the first and the second half of the requests") == split_check(
        frame, WITHOUT_NAMES, policy=POLICY
    )
