"""Names of tasks, axes, personas and cues, methods and reasons are text on every form of a card of persona cues."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.card import ModelCard
from dashboards.charts.cue_correlations import heat_map
from dashboards.charts.cue_deviations import deviation_chart
from dashboards.charts.cue_means import cue_chart
from dashboards.html_card import html
from dashboards.json_card import json_text
from dashboards.markdown_card import markdown
from metrics.results import Comparison, Score
from tests.dashboards.cue_sample import cue_card, cue_channels, plan
from tests.dashboards.pages import Element, page
from tests.dashboards.test_hostile import _ACTIVE, HOSTILE, rendered


def poisoned(term: str) -> ModelCard:
    """A card with ``term`` in every place that a user, a plug-in or a reason can write to."""

    def named(text: str) -> str:
        """A dimension; what stands between its parts is the program's own, so no name in it holds that."""
        for name in ("salary", "gender", "name-user"):
            text = text.replace(name, term.replace(" x ", " y "))
        return text

    def spoiled(score: Score) -> Score:
        label, colon, _ = score.method.partition(": ")
        method = f"{label}: {term}" if score.metric.startswith("cues-showing") and colon else term
        reason = term if score.value is None else ""
        return dataclasses.replace(
            score,
            dimension=named(score.dimension),
            group=score.group.replace("female", term),
            method=method,
            reason=reason,
        )

    def compared(row: Comparison) -> Comparison:
        return dataclasses.replace(row, dimension=named(row.dimension), why=term)

    card = cue_card()
    whole = term.replace("\ud800", "")
    axis = {"name": whole, "title": whole, "personas": [[whole, whole + "2"]], "held": [{whole: whole}]}
    options = {
        "tasks": [[whole, whole, whole]],
        "axes": [axis],
        "cues": [whole],
        "material": {whole: whole},
        "missing": [[whole, whole, whole, {whole: whole}, whole]],
        "paper": False,
    }
    asked = dataclasses.replace(plan(), prompts={whole: whole + "."}, options=options)
    side = cue_channels(groups={f"{term} = {term}": {"ok": 3, term: 4}, "cue = history-llm": {"ok": 9}})
    history = [dataclasses.replace(p, scores=tuple(spoiled(s) for s in p.scores)) for p in card.history]
    return cue_card(
        audit=dataclasses.replace(card.audit, plan=asked),
        channels=side,
        previous_channels=side,
        dimensions=tuple(named(name) for name in card.dimensions),
        scores=tuple(spoiled(score) for score in card.scores),
        previous_scores=tuple(spoiled(score) for score in card.previous_scores),
        comparisons=tuple(compared(row) for row in card.comparisons),
        why=term,
        history=tuple(history),
    )


@functools.cache
def plain() -> tuple[Element, Element]:
    """Page and Markdown of the same card with a harmless term in every place."""
    card = poisoned("nurse")
    return page(html(card)), rendered(markdown(card))


def tags(elements: Sequence[Element]) -> list[str]:
    return [element.tag for element in elements if element.tag not in ("path", "use", "g", "defs", "text")]


@pytest.mark.parametrize("term", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_text_on_every_form(term: str) -> None:
    card = poisoned(term)
    text, source = html(card), markdown(card)
    (text + source).encode("utf-8")
    assert not [character for character in text if character in "\u202e\u2066\u200b\x00\x1b\x08\ufeff"]
    for document, harmless in zip((page(text), rendered(source)), plain(), strict=True):
        assert tags(document.all()) == tags(harmless.all())
        assert not [name for element in document.all() for name in element.attributes if name.startswith("on")]
    assert len(text) < 900_000
    assert len(source) < 250_000
    stored = json_text(card)
    assert stored.isascii()
    assert term in {row["group"] for row in json.loads(stored)["scores"]}


@settings(deadline=None, max_examples=4)
@given(st.text(min_size=1, max_size=40))
def test_any_name_gives_a_card_without_anything_active(term: str) -> None:
    card = poisoned(term)
    document = rendered(markdown(card))
    assert not _ACTIVE & {element.tag for element in document.all()}
    for draw in (cue_chart, deviation_chart, heat_map):
        found = page(draw(card, narrow=True))
        assert [element.tag for element in found.children] == ["svg"]
        assert not _ACTIVE & {element.tag for element in found.all()}
