"""The published schema of the JSON card: every card keeps to it, every field is described, and what is not in it is refused."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from dashboards.baselines import ComparisonSource
from dashboards.card import ModelCard
from dashboards.energy import Energy
from dashboards.family_card import FamilyCard, family_json
from dashboards.html_card import html
from dashboards.json_card import SCHEMA, json_text
from dashboards.markdown_card import markdown
from metrics.results import Score
from registry.ledger.values import Change, Erratum, HumanRecord
from tests.dashboards.cue_sample import cue_card, first_cue_card
from tests.dashboards.message_sample import first_message_card, message_card
from tests.dashboards.sample import baseline_card, sample_card
from tests.dashboards.test_baseline_section import blessed
from tests.dashboards.test_moved import moved_card

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
CARD, FAMILY = (json.loads((SCHEMAS / f"{name}.json").read_text()) for name in ("model-card-2", "family-card-1"))


def rated(**changes: Any) -> HumanRecord:
    """What three people said of two audits."""
    share = Score(
        metric="called-more-biased", dimension="choice", value=0.8, low=0.6, high=0.95, n=30, n_clusters=3, method="t"
    )
    alone = Score(
        metric="krippendorff-alpha-nominal",
        dimension="choice",
        value=None,
        n=0,
        n_clusters=0,
        reason="there is one rater",
    )
    numbers = dict.fromkeys(("previous", "current", "delta", "low", "high", "level", "pvalue"), 0.5)
    result = {
        "dimension": "gender x occupation",
        "pairs": 10,
        "personas": 40,
        "raters": 3,
        "invited": 9,
        "preference": dataclasses.asdict(share),
        "same": 2,
        "severity": [],
        "agreement": [dataclasses.asdict(alone)],
        "missing": {"severity": 1, "choice": 0},
        "asked": {"severity": 60, "choice": 30},
        "contradictions": 1,
        "measured": numbers
        | {"n_previous": 400, "n_current": 500, "metric": "normalized-cramers-v-debiased", "reason": ""},
        "direction": "same",
        "direction_why": "both say so",
    }
    told = {
        "id": 1,
        "key": "ab" * 32,
        "sheets": ("cd" * 8,),
        "first_audit": 9,
        "second_audit": 17,
        "made_at": "2026-11-01",
    }
    return HumanRecord(**told, first="models:/nova-chat/2", second="models:/nova-chat/3", result=result | changes)  # type: ignore[arg-type]


def full_card() -> ModelCard:
    """A card with all that a card may have."""
    change = Change(where="score of gender x occupation, value", was=0.9, now=0.941)
    told = {"id": 1, "audit": 17, "version": 3, "digest": "ab", "why": "asked again", "who": "", "made_at": "2026"}
    return sample_card(
        baselines=(
            blessed(),
            blessed(name="eu", blessing=2, verdict=None, rows=(), source=None, why="it is this release"),
        ),
        source=ComparisonSource(comparison=31, previous_audit=9, scoring_version="ab12", made_at="2026"),
        energy=Energy(low=0.1, high=0.2, calls=5, tokens=9, source="ecologits 0.11.3", remarks=("low precision",)),
        uneven={"gender x occupation": "too few"},
        human_checks=(rated(),),
        errata=(Erratum(**told, changes=(change,)),),  # type: ignore[arg-type]
    )


CARDS = {
    "compared": sample_card,
    "first": baseline_card,
    "full": full_card,
    "moved": moved_card,
    "messages": message_card,
    "first messages": first_message_card,
    "cues": cue_card,
    "first cues": first_cue_card,
}


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    known = Registry().with_resource(CARD["$id"], Resource.from_contents(CARD))
    return Draft202012Validator(schema, registry=known)


@pytest.mark.parametrize("name", CARDS)
def test_every_card_keeps_to_the_published_schema(name: str) -> None:
    document = json.loads(json_text(CARDS[name]()))
    assert [error.message for error in validator(CARD).iter_errors(document)] == []
    assert document["schema"] == SCHEMA == CARD["properties"]["schema"]["const"]


def test_a_document_of_several_cards_keeps_to_its_schema() -> None:
    document = json.loads(family_json(FamilyCard(cards=(sample_card(), message_card(), cue_card()))))
    assert [error.message for error in validator(FAMILY).iter_errors(document)] == []
    document["cards"][1]["verdict"] = "fine"
    assert list(validator(FAMILY).iter_errors(document))


def fields(schema: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Every property that a schema declares."""
    if isinstance(schema, dict):
        for name, inner in schema.get("properties", {}).items():
            yield f"{where}.{name}", inner
        for key, inner in schema.items():
            yield from fields(inner, f"{where}.{key}")
    elif isinstance(schema, list):
        for inner in schema:
            yield from fields(inner, where)


@pytest.mark.parametrize("schema", [CARD, FAMILY], ids=["card", "family"])
def test_every_field_is_described_and_no_object_takes_unknown_ones(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    found = list(fields(schema))
    assert len(found) > 10
    assert [where for where, inner in found if not inner.get("description") and "$ref" not in inner] == []
    open_ones = [
        where for where, inner in found if inner.get("type") == "object" and "additionalProperties" not in inner
    ]
    assert {where.rpartition(".")[2] for where in open_ones} <= {"options", "extra", "facts", "differences", "policy"}


def test_a_field_that_is_missing_unknown_or_of_another_kind_is_refused() -> None:
    whole = json.loads(json_text(full_card()))
    for change in (
        lambda card: card.pop("errata"),
        lambda card: card.update(score=1),
        lambda card: card["scores"][0].update(value="high"),
        lambda card: card["scores"][0].pop("audit_id"),
        lambda card: card.update(verdict="fine"),
        lambda card: card["channels"].update(cost_usd=-1),
        lambda card: card["baselines"][0]["comparisons"][0].update(extra=1),
    ):
        other = copy.deepcopy(whole)
        change(other)
        assert list(validator(CARD).iter_errors(other))


def test_what_people_saw_stands_on_every_form_of_the_card_with_its_interval_and_as_text_only() -> None:
    hostile = rated(dimension="<script>alert(1)</script>\x1b[31m", direction_why="=cmd|x")
    card = sample_card(human_checks=(hostile,))
    for text in (markdown(card), html(card)):
        assert "What people saw" in text
        assert "80" in text
        assert "there is one rater" in text
        assert "3 of 9 raters" in text
        assert "<script>alert" not in text
        assert "\x1b" not in text
    assert "What people saw" not in markdown(sample_card())
    assert "human_checks" not in json.loads(json_text(sample_card()))
