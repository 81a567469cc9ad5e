"""Replication over cues, and deviation against explicitness."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from metrics.cue_effects import cue_effects
from metrics.cue_replication import (
    Finding,
    Replication,
    explicitness_trend,
    findings_of,
    kind_of,
    labelled,
    replication,
)
from metrics.errors import BadInputError
from tests.metrics.cues import baseline_of, sums_of, yes_or_no

CUES = ("name-user", "explicit-mention-user", "history-llm", "history-human")
PERSONAS = ("female", "male")


def finding(cue: str, *, up: bool = True) -> Finding:
    higher, lower = PERSONAS if up else PERSONAS[::-1]
    return Finding(task="salary", axis="gender", cue=cue, higher=higher, lower=lower)


def label_of(*findings: Finding) -> Replication:
    return labelled("salary", "gender", findings, CUES)


def test_one_cue_alone_is_cue_specific_and_alerts_nobody_unless_it_is_the_human_history() -> None:
    lone, human = label_of(finding("name-user")), label_of(finding("history-human"))
    assert (lone.label, lone.alerting) == ("cue-specific", False)
    assert (human.label, human.alerting) == ("cue-specific", True)


def test_two_cues_in_one_direction_replicate_and_in_two_contradict() -> None:
    agreed = label_of(finding("name-user"), finding("history-llm"))
    against = label_of(finding("name-user"), finding("history-llm", up=False))
    assert (agreed.label, agreed.alerting) == ("replicated", True)
    assert (against.label, against.alerting) == ("contradictory", False)
    assert against.why == "male above female under history-llm; female above male under name-user"
    mixed = label_of(finding("name-user"), finding("explicit-mention-user"), finding("history-llm", up=False))
    assert (mixed.label, mixed.alerting) == ("contradictory", True)


def test_nothing_found_and_nothing_tested_are_two_labels() -> None:
    assert label_of().label == "none"
    assert labelled("salary", "gender", [], []).label == "not measurable"


def test_cues_that_share_their_names_are_said_to_be_of_one_kind() -> None:
    assert "all of one kind (name)" in label_of(finding("name-user"), finding("name-system")).why
    assert "one kind" not in label_of(finding("name-user"), finding("history-human")).why
    assert {kind_of(cue) for cue in CUES} == {"name", "explicit-mention", "history"}


@given(cues=st.lists(st.sampled_from(CUES), min_size=1, unique=True), turned=st.booleans())
def test_turning_every_finding_round_changes_no_label(cues: list[str], turned: bool) -> None:
    one, other = (label_of(*(finding(cue, up=up) for cue in cues)) for up in (turned, not turned))
    assert (one.label, one.alerting) == (other.label, other.alerting)
    assert one.alerting == (len(cues) > 1 or cues == ["history-human"])


def audit(effects: dict[str, float]) -> pd.DataFrame:
    """Answers under each cue, the first persona moved by so many logits; and without a persona."""
    rng = np.random.default_rng(3)
    frames = [
        sums_of(yes_or_no(rng, personas=2, effect=effect, of_variant=0.05, questions=60), PERSONAS, cue=cue)
        for cue, effect in effects.items()
    ]
    neutral = yes_or_no(rng, personas=1, variants=1, samples=9, crossed=0.0, questions=60)[0, :, 0]
    return pd.concat([*frames, baseline_of(neutral)])


def test_differences_of_an_audit_are_labelled_by_the_cues_that_show_them() -> None:
    effects = cue_effects(audit({"name-user": 0.0, "history-llm": 1.5, "history-human": 1.5}))
    (row,) = replication(effects)
    assert {one.cue for one in findings_of(effects)} == {"history-llm", "history-human"}
    assert (row.label, row.alerting, row.title) == ("replicated", True, "salary x gender")
    assert row.why.startswith("female above male under history-human, history-llm")
    assert row.tested == ("history-human", "history-llm", "name-user")


def test_a_cue_that_could_not_be_tested_is_named_with_the_reason() -> None:
    frame = pd.concat([audit({"name-user": 1.5}), sums_of(np.ones((2, 5, 3, 2)), PERSONAS, cue="history-llm")])
    (row,) = replication(cue_effects(frame))
    assert [cue for cue, _ in row.untested] == ["history-llm"]
    assert row.label == "cue-specific"


def test_the_trend_is_the_mean_of_scipys_rank_correlations_with_an_exact_p() -> None:
    effects = cue_effects(audit({"a-x": 0.0, "b-x": 0.8, "c-x": 1.6, "d-x": 2.4}))
    order = {"a-x": 1.0, "b-x": 2.0, "c-x": 3.0, "d-x": 4.0}
    found = explicitness_trend(effects, order)
    sizes = {key: [point.size for point in found.points if point.persona == key] for key in PERSONAS}
    ranks = [stats.spearmanr(values, range(4)).statistic for values in sizes.values() if len(set(values)) > 1]
    assert found.value == pytest.approx(np.mean(ranks))
    assert (found.n, found.cues, found.blocks) == (8, 4, len(ranks))
    assert found.pvalue is not None
    assert found.pvalue * 24 == pytest.approx(round(found.pvalue * 24))
    backwards = explicitness_trend(effects, {cue: -value for cue, value in order.items()})
    assert backwards.value == pytest.approx(-found.value)


def test_a_deviation_within_its_error_has_no_size() -> None:
    (one,) = cue_effects(audit({"name-user": 0.0}))
    noisy = dataclasses.replace(one, deviations=tuple(dataclasses.replace(row, value=0.0) for row in one.deviations))
    assert [point.size for point in explicitness_trend([noisy], {"name-user": 1}).points] == [0.0, 0.0]


def test_a_trend_needs_cues_of_different_explicitness() -> None:
    effects = cue_effects(audit({"a-x": 0.0, "b-x": 1.0, "c-x": 2.0}))
    flat = explicitness_trend(effects, dict.fromkeys(("a-x", "b-x", "c-x"), 1.0))
    assert (flat.value, flat.pvalue) == (None, None)
    assert "equally explicit" in flat.reason
    assert "3 cues or more" in explicitness_trend(effects[:2], {"a-x": 1, "b-x": 2}).reason
    with pytest.raises(BadInputError, match="'c-x' has no explicitness"):
        explicitness_trend(effects, {"a-x": 1, "b-x": 2})
