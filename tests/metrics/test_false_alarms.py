"""Plant nothing and count the alarms: random halves of one release must not be called a regression.

Each real corpus (answers of one model, one persona a call) is split at random by calls into two "releases".
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.association import BiasDimension
from metrics.comparison import Policy, compare_associations, release_verdict
from tests.metrics.frames import WITHOUT_NAMES, corpus_frame, persona_frame
from tests.shared import shared_data

CORPORA = (
    "personas_gemma-3-270m-q2_k",
    "personas_gemma-3-270m-q4_0",
    "personas_gemma-3-270m-q4_k_m",
    "personas_smollm2-135m-instruct-q4_1",
)
CLOSED = [d for d in WITHOUT_NAMES if d.social in ("social class", "education")]
POLICY = Policy(resamples=100, multipliers=1999)


def alarms(frame: pd.DataFrame, splits: int, dimensions: list[BiasDimension]) -> dict[str, float]:
    """Share of random call-level splits with a regressed dimension, and with a one-sided q of at most alpha."""
    requests = frame["request"].unique()
    regressed = significant = 0
    for seed in range(splits):
        chosen = np.random.default_rng(seed).permutation(requests)[: len(requests) // 2]
        first = frame["request"].isin(chosen)
        comparisons = compare_associations(frame[first], frame[~first], dimensions, policy=POLICY)
        regressed += release_verdict(comparisons)[0] == "regressed"
        significant += any(row.qvalue_up is not None and row.qvalue_up <= POLICY.alpha for row in comparisons)
    return {"regressed": regressed / splits, "significant": significant / splits}


@pytest.mark.parametrize("corpus", CORPORA)
def test_few_random_halves_of_a_real_corpus_raise_an_alarm(corpus: str) -> None:
    frame = corpus_frame(shared_data("local_corpus", f"{corpus}.jsonl"))
    assert alarms(frame, 40, CLOSED)["regressed"] <= 0.15


@pytest.mark.slow
@pytest.mark.parametrize("corpus", CORPORA)
def test_at_most_8_percent_of_200_halves_of_a_real_corpus_raise_an_alarm(corpus: str) -> None:
    frame = corpus_frame(shared_data("local_corpus", f"{corpus}.jsonl"))
    for dimensions in (CLOSED, WITHOUT_NAMES):
        found = alarms(frame, 200, dimensions)
        print(f"{corpus}, {len(dimensions)} dimensions: {found}")
        assert found["regressed"] <= 0.08


def test_the_alarms_count_a_planted_regression() -> None:
    # The same count on two different releases: if it stayed near 0 here, the tests above could not fail.
    first, second = persona_frame(300, 4, seed=1), persona_frame(300, 4, seed=2, strength=1.4)
    second["request"] += 1000
    comparisons = compare_associations(first, second, CLOSED, policy=POLICY)
    assert release_verdict(comparisons)[0] == "regressed"
