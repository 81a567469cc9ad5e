"""The benchmark of messages compares like with like, on a few messages; nothing is held to a time here."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.messages import BATCH, audited, bare, main, messages, scored
from metrics.text import tagged


def test_messages_have_fifty_words_and_are_the_same_for_the_same_seed() -> None:
    found = messages(40)
    assert {len(text.split()) for text in found} == {50}
    assert found == messages(40)
    assert len(set(found)) == 40


def test_both_contestants_see_the_same_tokens() -> None:
    texts = messages(20)
    assert bare(texts) == len(tagged(texts, batch_size=BATCH).text)


def test_every_measure_finds_something_in_these_messages() -> None:
    found = scored(messages(100))
    assert len(found) == 15
    assert found.pop("words").values.tolist() == [50.0] * 100
    assert [name for name, one in found.items() if one.n < 10 or np.ptp(one.values.compressed()) == 0] == []


def test_the_command_prints_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--messages", "16", "--repeats", "1"])
    figures = json.loads(capsys.readouterr().out)
    assert set(figures["wall_s"]) == {"1 process", "2 processes"}
    assert figures["ratio"]["median"] > 0
    assert figures["end to end"]["messages"] == 16
    assert figures["limits"]["end to end below 120 s"] is None


@pytest.mark.slow
def test_end_to_end_every_message_is_measured_and_all_scores_are_made() -> None:
    found = audited(messages(120))
    assert found["messages"] == 120
    assert found["scores"] > 1000
    assert found["whole_s"] == pytest.approx(found["read_s"] + found["measure_s"] + found["score_s"], abs=0.2)
