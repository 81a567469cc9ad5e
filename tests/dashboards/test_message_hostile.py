"""Names of groups, attributes and lexicons come from files of users: text on every form of a card of messages."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.card import ModelCard
from dashboards.charts.gaps import gap_chart
from dashboards.charts.weights import weight_chart
from dashboards.html_card import html
from dashboards.json_card import json_text
from dashboards.markdown_card import markdown
from dashboards.message_details import MessageDetails
from metrics.results import Comparison, Score
from tests.dashboards.message_sample import MODES, comparisons, details, message_card, message_channels, plan
from tests.dashboards.pages import Element, page
from tests.dashboards.test_hostile import _ACTIVE, HOSTILE, rendered


def poisoned(term: str) -> ModelCard:
    """A card with ``term`` as a group, an attribute, a category, a lexicon, a method, a reason, a stance and a theme."""
    card, whole = message_card(), term.replace("\ud800", "")

    def titled(title: str) -> str:
        title = title.replace("agentic words", f"{term} words")
        return term + title.removeprefix("gender") if title.startswith("gender x ") else title

    def spoiled(score: Score) -> Score:
        name = term if score.metric == "lexicon-hit-rate" and score.dimension == "agency" else titled(score.dimension)
        words = {"method": term if score.method else "", "reason": term if score.reason else ""}
        return dataclasses.replace(score, dimension=name, group=score.group.replace("female", term), **words)

    def compared(row: Comparison) -> Comparison:
        return dataclasses.replace(row, dimension=titled(row.dimension), why=term or "why")

    def told(found: MessageDetails) -> MessageDetails:
        gaps = [dataclasses.replace(g, axis=titled(g.axis), groups=g.groups.replace("female", term), mode=term, method=term)
                for g in found.gaps]  # fmt: skip
        words = [dataclasses.replace(g, axis=titled(g.axis), group=g.group.replace("male", term), method=term, mode=term,
                                     words=tuple(dataclasses.replace(w, word=term) for w in g.words))
                 for g in found.words]  # fmt: skip
        return dataclasses.replace(found, gaps=tuple(gaps), words=tuple(words))

    design: Any = plan().options
    audiences = [{"name": whole, "title": whole, "groups": [[whole, whole], ["male", "male"]]}]
    domain = design["domain"] | {"title": whole, "stances": [[whole, [whole]]], "regions": [whole]}
    options = {"domain": domain, "audiences": audiences, "modes": list(MODES)}
    asked = dataclasses.replace(plan({"standalone": f"{whole[:500]}."}), options=options)
    groups = {f"{term} = {term}": {"ok": 3, term: 4}, "age group = 65+": {"ok": 9}}
    history = [dataclasses.replace(p, scores=tuple(spoiled(s) for s in p.scores)) for p in card.history]
    return message_card(
        audit=dataclasses.replace(card.audit, plan=asked),
        channels=message_channels(groups=groups),
        previous_channels=message_channels(groups=groups),
        dimensions=tuple(titled(name) for name in card.dimensions),
        scores=tuple(spoiled(score) for score in card.scores),
        previous_scores=tuple(spoiled(score) for score in card.previous_scores),
        comparisons=tuple(compared(row) for row in comparisons()),
        history=tuple(history),
        details=told(details()),
    )


@functools.cache
def plain() -> tuple[Element, Element]:
    """Page and Markdown of the same card with a harmless term in every place."""
    card = poisoned("nurse")
    return page(html(card)), rendered(markdown(card))


def tags(elements: Sequence[Element]) -> list[str]:
    return [element.tag for element in elements]


@pytest.mark.parametrize("term", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_text_on_every_form(term: str) -> None:
    card = poisoned(term)
    text, source = html(card), markdown(card)
    (text + source).encode("utf-8")
    assert not [character for character in text if character in "\u202e\u2066\u200b\x00\x1b\x08\ufeff"]
    for document, harmless in zip((page(text), rendered(source)), plain(), strict=True):
        assert tags(document.all()) == tags(harmless.all())
        assert not [name for element in document.all() for name in element.attributes if name.startswith("on")]
    assert len(text) < 500_000
    assert len(source) < 150_000
    stored = json_text(card)
    assert stored.isascii()
    assert term in {row["group"] for row in json.loads(stored)["scores"]}


@settings(deadline=None, max_examples=4)
@given(st.text(min_size=1, max_size=40))
def test_any_name_gives_a_card_without_anything_active(term: str) -> None:
    card = poisoned(term)
    document = rendered(markdown(card))
    assert not _ACTIVE & set(tags(document.all()))
    assert not document.all("a", "pre")[1:]  # the prompt is the one block of code
    for chart in (draw(card, narrow=narrow) for draw in (gap_chart, weight_chart) for narrow in (False, True)):
        assert tags(page(chart).children) == ["svg"]
        assert not _ACTIVE & set(tags(page(chart).all()))
