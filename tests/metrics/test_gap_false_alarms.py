"""How often an unchanged release is called worse: simulated audits with a known gap, and halves of real replies.

The family is four measures of one audience attribute. At a gap of 0 the test is careful; from .3 on it meets its level.
"""

from __future__ import annotations

import dataclasses
import gzip
import json

import numpy as np
import pandas as pd
import pytest

from metrics.gap_comparison import compare_gaps
from metrics.gaps import GapDimension, normalized_gap
from metrics.policy import Policy
from tests.metrics.messages import message_frame
from tests.shared import shared_data

POLICY = Policy(multipliers=999, fewest_clusters=5)
AGES = ("18-24", "25-44", "45-64", "65+")
MEASURES = "abcd"
DIMENSIONS = [GapDimension(title=name, axis="group", measure=name, group="group") for name in MEASURES]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scenario:
    """Two releases without a change of size, unless ``after`` says otherwise.

    ``same`` : how much of the cells' own gaps stays; with two prompts, which are judged by themselves, all of it must.
    """

    gap: float
    after: float | None = None
    groups: tuple[str, ...] = ("female", "male")
    cells: tuple[int, int] = (24, 24)
    repeats: tuple[int, int] = (3, 3)
    same: float = 0.0
    paired: bool = True


SCENARIOS = {
    "gap 0": Scenario(gap=0.0),
    "gap .3": Scenario(gap=0.3),
    "gap 1": Scenario(gap=1.0),
    "gap .3, cells keep their gaps": Scenario(gap=0.3, same=0.7),
    "gap .3 turned round": Scenario(gap=0.3, after=-0.3),
    "gap .8 turned round": Scenario(gap=0.8, after=-0.8),
    "gap 0, a twentieth of the messages": Scenario(gap=0.0, repeats=(20, 1)),
    "gap .3, a twentieth of the messages": Scenario(gap=0.3, repeats=(20, 1)),
    "gap .3, other and fewer cells": Scenario(gap=0.3, cells=(48, 10), paired=False),
    "gap .3, two prompts": Scenario(gap=0.3, cells=(2, 2), repeats=(20, 20), same=1.0),
    "4 groups, gap 1, two prompts": Scenario(gap=1.0, groups=AGES, cells=(2, 2), repeats=(10, 10), same=1.0),
    "4 groups, gap 0": Scenario(gap=0.0, groups=AGES),
    "4 groups, gap .5": Scenario(gap=0.5, groups=AGES),
    "4 groups, gap 0, a twentieth of the messages": Scenario(gap=0.0, groups=AGES, repeats=(20, 1)),
    "4 groups, gap .5, a twentieth of the messages": Scenario(gap=0.5, groups=AGES, repeats=(20, 1)),
}


def rates(scenario: Scenario, audits: int, *, uneven: float = 0.2) -> dict[str, float]:
    """Shares of audits with any dimension regressed or improved, and of intervals that hold the true change."""
    after = scenario.gap if scenario.after is None else scenario.after
    sizes = [
        2 * float(np.std(gap * np.linspace(0.5, -0.5, len(scenario.groups)))) / np.sqrt(1.25 + uneven**2)
        for gap in (scenario.gap, after)
    ]
    truth = normalized_gap(sizes[1]) - normalized_gap(sizes[0])
    found = {"regressed": 0.0, "improved": 0.0, "held": 0.0}
    for seed in range(audits):
        frames = [
            message_frame(
                cells=scenario.cells[place],
                repeats=scenario.repeats[place],
                seed=2 * seed + place,
                gap=gap,
                groups=scenario.groups,
                measures=MEASURES,
                uneven=uneven,
                same=scenario.same,
                design=seed if scenario.paired else 2 * seed + place,
            )
            for place, gap in enumerate((scenario.gap, after))
        ]
        if not scenario.paired:
            frames[1]["cell"] = "other " + frames[1]["cell"]
        rows = compare_gaps(*frames, DIMENSIONS, policy=POLICY)
        found["regressed"] += any(row.verdict == "regressed" for row in rows) / audits
        found["improved"] += any(row.verdict == "improved" for row in rows) / audits
        for row in rows:
            assert row.low is not None
            assert row.high is not None
            found["held"] += (row.low <= truth <= row.high) / (audits * len(rows))
    return found


@pytest.mark.parametrize("name", ["gap 0", "gap .3", "gap .8 turned round"])
def test_few_of_50_unchanged_releases_are_called_worse(name: str) -> None:
    found = rates(SCENARIOS[name], 50)
    # Binomial: 5 + 9.2 % at three standard errors.
    assert found["regressed"] <= 0.142
    assert found["improved"] <= 0.142
    assert found["held"] >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SCENARIOS))
def test_about_5_percent_of_1000_unchanged_releases_are_called_worse(name: str) -> None:
    found = rates(SCENARIOS[name], 1000)
    print(f"{name}: {found}")
    # Binomial: 5 + 2.1 % at three standard errors, and a point for a joint law that is learnt from 24 cells.
    assert found["regressed"] <= 0.081
    assert found["improved"] <= 0.081
    assert found["held"] >= 0.92


@pytest.mark.parametrize(
    ("before", "after", "verdict"), [(0.0, 0.8, "regressed"), (0.3, 1.0, "regressed"), (1.0, 0.3, "improved")]
)
def test_the_count_finds_a_planted_change(before: float, after: float, verdict: str) -> None:
    # The same count where something changed: if it stayed near 0 here, the tests above could not fail.
    assert rates(Scenario(gap=before, after=after), 40)[verdict] >= 0.6


def replies(model: str) -> pd.DataFrame:
    """Real replies to library patrons: measures that need no lexicon; the cell is query type x institution."""
    path = shared_data("fep_library_replies", "fep_responses.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [row for line in lines if (row := json.loads(line))["model"] == model]
    frame = pd.DataFrame(rows)
    text = frame["response"]
    words = text.str.split().str.len()
    return pd.DataFrame(
        {
            "group": frame["sex"],
            "cell": frame["query_type"] + " | " + frame["institution"],
            "a": words,
            "b": text.str.count("!"),
            "c": text.str.len() / words.clip(lower=1),
            "d": text.str.count("[.?!](?:\\s|$)") / words.clip(lower=1),
        }
    )


def alarms(model: str, splits: int) -> dict[str, float]:
    """Shares of random halves of one model's replies, drawn within cells, that are called worse or better."""
    frame = replies(model)
    found = {"regressed": 0.0, "improved": 0.0}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(frame))
        half = frame.iloc[order].groupby(["cell", "group"]).cumcount() % 2 == 0
        rows = compare_gaps(
            frame[half.sort_index()], frame[~half.sort_index()], DIMENSIONS, policy=Policy(multipliers=999)
        )
        assert all(row.delta is not None for row in rows)
        for verdict in found:
            found[verdict] += any(row.verdict == verdict for row in rows) / splits
    return found


def test_few_random_halves_of_real_replies_raise_an_alarm() -> None:
    found = alarms("gpt_4o_2024_08_06", 40)
    assert found["regressed"] <= 0.15
    assert found["improved"] <= 0.15


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        "Llama_3.1_8B_Instruct",
        "Ministral_8B_Instruct_2410",
        "claude_3_5_sonnet_20241022",
        "gemini_2.5_pro_preview_05_06",
        "gemma_2_9b_it",
        "gpt_4o_2024_08_06",
    ],
)
def test_at_most_8_percent_of_300_halves_of_real_replies_raise_an_alarm(model: str) -> None:
    found = alarms(model, 300)
    print(f"{model}: {found}")
    assert found["regressed"] <= 0.08
    assert found["improved"] <= 0.08
