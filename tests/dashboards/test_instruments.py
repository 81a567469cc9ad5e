"""How protocols are told: the words of those that are known, and of one that comes from elsewhere."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from dashboards.html_card import html
from dashboards.instruments import INSTRUMENTS, PERSONA_BRAINSTORM, TARGETED_MESSAGES, Instrument, instrument_of
from dashboards.markdown_card import markdown
from metrics.catalog import UnknownEntryError
from metrics.message_measures import MEASURES
from registry.audits.design import MODES
from registry.audits.protocols import PROTOCOLS
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.audits.protocols.targeted_messages import TargetedMessages
from tests.dashboards.message_sample import first_message_card
from tests.dashboards.pages import page
from tests.dashboards.sample import baseline_card, sample_card
from tests.plugin.spiritlevel_example import ShortBrainstorm


@pytest.mark.parametrize("protocol", [PersonaBrainstorm, TargetedMessages])
def test_an_instrument_says_what_its_protocol_says(protocol: Any) -> None:
    told = instrument_of(protocol.name)
    for name in ("name", "title", "unit", "headline", "mean"):
        assert getattr(told, name) == getattr(protocol, name)
    assert told.categories == getattr(protocol, "categories", False)
    assert told.modes in ((), MODES)


def test_measures_are_told_that_are_measured_and_judged_as_they_are() -> None:
    told = [(m.metric, m.title, m.judged, m.paper) for m in TARGETED_MESSAGES.measures]
    assert told == [(m.metric, m.title, m.judged, m.paper) for m in MEASURES]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a protocol into the catalog for one test."""
    list(PROTOCOLS)  # entry points are loaded before, not into the copy
    monkeypatch.setattr(PROTOCOLS, "_entries", dict(PROTOCOLS._entries))
    return lambda protocol: PROTOCOLS._entries.__setitem__(protocol.name, protocol)


def test_a_plug_in_with_scores_of_a_known_kind_is_told_in_the_same_words_under_its_own_name(registered: Any) -> None:
    registered(ShortBrainstorm)
    told = instrument_of("short-brainstorm")
    assert (told.name, told.title) == ("short-brainstorm", "Short persona brainstorm")
    assert dataclasses.replace(told, name="persona-brainstorm", title="Persona brainstorm") == PERSONA_BRAINSTORM


class Stories:
    name, title, unit, headline, mean = "stories", "Stories", "stories", "word-overlap", "mean-word-overlap"


def test_a_plug_in_of_another_kind_is_told_in_words_that_fit_all_and_no_others(registered: Any) -> None:
    registered(Stories)
    told = instrument_of("stories")
    card = baseline_card()
    rename = {PERSONA_BRAINSTORM.headline: told.headline, PERSONA_BRAINSTORM.mean: told.mean}
    kept = [score for score in card.scores if score.metric in rename]
    scores = tuple(dataclasses.replace(s, metric=rename[s.metric], reason="too few", method="") for s in kept)
    point = dataclasses.replace(card.history[-1], scores=scores, instrument=told)
    shown = baseline_card(
        instrument=told, scores=scores, history=(point,), content_warning=told.content_warning, limits=told.limits
    )
    text = page(html(shown)).text
    assert "Scores in release 3" in text
    assert "0.941" in text
    assert "stories asked for" in text
    assert not [word for word in ("personas", "Cramér", "Concentration by group", "association") if word in text]


def test_a_protocol_of_another_unit_is_not_told_in_words_of_the_first(registered: Any) -> None:
    class Diaries(Stories):
        name, unit, headline = "diaries", "diaries", PERSONA_BRAINSTORM.headline

    registered(Diaries)
    assert instrument_of("diaries").meaning != PERSONA_BRAINSTORM.meaning


def test_an_unknown_protocol_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownEntryError, match="did you mean 'persona-brainstorm'"):
        instrument_of("persona-brainstrom")


@pytest.mark.parametrize("told", INSTRUMENTS.values(), ids=lambda told: told.name)
def test_every_instrument_says_harm_limits_and_scale_and_claims_nothing(told: Instrument) -> None:
    words = " ".join((told.scale, told.content_warning, *told.meaning, *told.limits)).lower()
    assert {"harm", "mitigate", "assess", "severity", "certification"} <= {
        word for word in ("harm", "mitigate", "assess", "severity", "certification") if word in words
    }
    assert not [word for word in ("unbiased", "debias", "safe to", "solved") if word in words]
    assert len(set(told.limits)) == len(told.limits) >= 6


@pytest.mark.parametrize(
    "limit",
    ["Equal weights", "Two genders", "United States", "English", "One topic at a time", "One wording", "Small audits"],
)
def test_what_the_persuasion_index_cannot_show_is_on_its_card(limit: str) -> None:
    section = markdown(first_message_card()).partition("## What this audit cannot show")[2]
    assert limit in section


def test_a_history_told_in_other_words_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot show a history that is told otherwise"):
        sample_card(history=first_message_card().history)


def test_dimensions_of_any_design_are_known_by_their_form() -> None:
    assert TARGETED_MESSAGES.could_measure("shoe size x formality, standalone")
    for title in (
        "gender x formality",
        "gender x words, standalone",
        "gender x agency, standalone",
        " x formality, standalone",
    ):
        assert not TARGETED_MESSAGES.could_measure(title)
    assert not PERSONA_BRAINSTORM.could_measure("gender x occupation")
