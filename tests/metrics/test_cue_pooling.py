"""Releases put together: counts of both analyses by one rule, families of releases, and what equal releases correlate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.cue_effects import cue_effects
from metrics.cue_paper import paper_summary, paper_tests
from metrics.cue_pooling import (
    correlations_between,
    correlations_of_cues,
    cue_counts,
    pooled_units,
    shared_prompts,
    shown_tests,
    units_of,
)
from metrics.errors import BadInputError
from tests.metrics.cues import sums_of, yes_or_no

PEOPLE = ["female", "male", "non-binary"]


def release(seed: int, effects: dict[str, float]) -> pd.DataFrame:
    """Sums of one release: the first persona has an effect (in logits) under some cues."""
    rng = np.random.default_rng(seed)
    parts = [
        sums_of(yes_or_no(rng, effect=effect, questions=20, of_variant=0.05, crossed=0.1), PEOPLE, cue=cue)
        for cue, effect in effects.items()
    ]
    return pd.concat(parts, ignore_index=True)


def test_both_analyses_are_counted_by_one_rule_and_a_cue_without_an_effect_counts_nothing() -> None:
    effects = {"explicit-mention-user": 3.0, "history-human": 3.0, "name-user": 0.0}
    frames = [release(seed, effects) for seed in (1, 2)]
    tests = shown_tests(cue_effects(pooled_units(frames, "equal")))
    assert {pair for test in tests for pair in test.found(0.05)} == {("female", "male"), ("female", "non-binary")}
    shown = paper_summary(tests, alpha=0.05)
    paper = paper_summary(paper_tests(pooled_units(frames, "answers")))
    rows = {row.cue: (row.found, row.tested, row.paper_found, row.paper_tested) for row in cue_counts(shown, paper)}
    assert rows["explicit-mention-user"] == rows["history-human"] == (1, 1, 1, 1)
    assert rows["name-user"][:2] == (0, 1)
    assert shown.agreeing == {("salary", "gender"): ("explicit-mention-user",)}
    assert (shown.reference_found, shown.reference_silent) == (1, 0)


def test_what_is_not_tested_is_counted_nowhere_and_has_its_reason() -> None:
    flat = sums_of(np.ones((2, 4, 3, 2)), ["female", "male"])
    summary = paper_summary(shown_tests(cue_effects(flat)), alpha=0.05)
    assert summary.by_cue == {}
    ((title, reason),) = summary.untested
    assert (title, "no variation" in reason) == ("salary x gender, name-user", True)


def test_each_release_counts_the_same_in_its_family_unless_answers_are_to() -> None:
    many, few = np.zeros((2, 4, 3, 9)), np.ones((2, 4, 3, 1))
    frames = {f"nova/{at}": sums_of(one, ["female", "male"]) for at, one in enumerate((many, few))}
    frames["vega/1"] = frames["nova/1"]
    families = {name: name.split("/")[0] for name in frames}

    def mean(weights: str) -> float:
        found = units_of(frames, families, "family", weights)
        assert list(found) == ["nova", "vega"]
        return float(found["nova"]["total"].sum() / found["nova"]["n"].sum())

    assert [mean("equal"), mean("answers")] == pytest.approx([0.5, 0.1])


def test_a_release_correlates_wholly_with_itself_and_every_group_is_there() -> None:
    one = release(3, {"explicit-mention-user": 0.0, "name-user": 0.0})
    rows = correlations_between({"nova/1": one, "nova/2": one}, "release", resamples=50)
    assert {row.grouping for row in rows} == {"overall", "task", "persona", "cue"}
    assert all(row.value == pytest.approx(1.0) and (row.first, row.second) == ("nova/1", "nova/2") for row in rows)
    cues = correlations_of_cues({"nova": one, "vega": one}, "family", resamples=50)
    own = {row.group: row for row in cues if row.grouping == "family"}
    whole = next(row for row in cues if row.grouping == "overall")
    assert own["nova"].value == own["vega"].value == pytest.approx(whole.value, abs=1e-9)
    assert (whole.n, own["nova"].n) == (2 * 3 * 20, 3 * 20)


def test_one_cue_has_no_correlation_of_cues_and_what_cannot_be_pooled_is_refused() -> None:
    frame = release(4, {"name-user": 0.0})
    assert correlations_of_cues({"a": frame, "b": frame}, "release") == []
    with pytest.raises(BadInputError, match="pooled by release or family, got 'house'"):
        units_of({"a": frame}, {"a": "a"}, "house", "equal")
    with pytest.raises(BadInputError, match="got 'tokens'"):
        pooled_units([frame], "tokens")
    with pytest.raises(BadInputError, match="at least 2 releases"):
        correlations_between({"a": frame}, "release")


def test_only_prompts_that_all_were_asked_are_put_together_and_the_rest_is_counted() -> None:
    small, large = (release(5, {"name-user": 0.0}) for _ in range(2))
    small = small[small["question"] < "q010"]
    kept, lost = shared_prompts({"a": small, "b": large})
    assert lost == 3 * 10 * 5
    assert {name: len(frame) for name, frame in kept.items()} == {"a": len(small), "b": len(small)}
    assert kept["b"]["total"].sum() == large[large["question"] < "q010"]["total"].sum()
    assert shared_prompts({"a": large, "b": large.copy()})[1] == 0
    with pytest.raises(BadInputError, match="share no prompt"):
        shared_prompts({"a": small, "b": large[large["question"] > "q010"]})
