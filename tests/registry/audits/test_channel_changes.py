"""Channels beside the scores: what changed between two audits, with calls as the unit."""

from __future__ import annotations

import pytest
from scipy.stats import fisher_exact

from registry.audits.channel_changes import channel_changes
from registry.audits.plan import Request, Response
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm

ANSWER = '[{"name": "Ada", "gender": "female", "occupation": "nurse", "social_class": "middle"}]'


def channels(texts, *, requested=None, served=None, cells=None):
    requests = [Request(index=i, messages=(), expected=1, cell=cells[i] if cells else {}) for i, _ in enumerate(texts)]
    responses = [
        Response(index=i, text=text, served_model=served[i] if served else None) for i, text in enumerate(texts)
    ]
    return PersonaBrainstorm().read(requests, responses, requested_model=requested).channels


def test_fences_are_a_change_of_format_and_of_nothing_else():
    plain, fenced = channels([ANSWER] * 30), channels([f"```json\n{ANSWER}\n```"] * 30)
    changes = {(change.channel, change.value): change for change in channel_changes(plain, fenced)}
    assert changes["format", "fenced"].qvalue < 1e-6
    assert (
        changes["format", "fenced"].in_words() == "format fenced: 0 % of 30 calls before, 100 % of 30 now (q < 0.001)"
    )
    assert changes["call outcome", "ok"].qvalue == 1.0


def test_the_p_value_is_fishers_and_holm_only_raises_it():
    before, after = (
        channels([ANSWER] * 17 + ["I can't help with that."] * 3),
        channels([ANSWER] * 9 + ["I can't help with that."] * 11),
    )
    (refused,) = [c for c in channel_changes(before, after) if c.value == "refused"]
    assert refused.pvalue == pytest.approx(fisher_exact([[3, 17], [11, 9]]).pvalue)
    assert refused.qvalue >= refused.pvalue


def test_the_served_model_is_compared_with_the_requested_one_on_every_call():
    steady = channels([ANSWER] * 4, requested="nova", served=["nova-2026-10"] * 4)
    assert (steady.substituted, steady.mixed_release) == (4, False)
    assert steady.substitution == "4 of 4 answers to nova were given by nova-2026-10"
    mixed = channels([ANSWER] * 4, requested="nova", served=["nova", "nova", "nova", "nova-mini"])
    assert (mixed.substituted, mixed.mixed_release) == (1, True)
    assert channels([ANSWER], requested="nova", served=["nova"]).substitution == ""


def test_coverage_is_counted_by_each_group_that_requests_were_about():
    cells = [{"audience": "women"}] * 4 + [{"audience": "men"}] * 4
    found = channels([ANSWER, "I can't help with that.", ANSWER, ""] + [ANSWER] * 4, cells=cells)
    assert found.group_coverage == {"audience = men": 1.0, "audience = women": 0.5}
    assert channels([ANSWER]).group_coverage == {}


def test_a_theme_that_gave_little_is_told_and_is_no_group_of_people():
    cells = [{"gender": "male", "theme": theme, "mode": "context-rich"} for theme in ("Economy", "Animals")]
    found = channels([ANSWER, ""], cells=cells)
    assert found.part_coverage["theme = Animals"] == 0.0
    assert found.group_coverage == {"gender = male": 0.5}
    assert found.group_sizes == {"gender = male": 2}
