"""Designs of targeted messages: what is asked, in which order, and what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import BadInputError
from registry.audits.amounts import Amounts, amounts, fewest_cells
from registry.audits.design import (
    CONTEXT_RICH,
    STANDALONE,
    Audience,
    Design,
    Domain,
    known_audiences,
    known_domains,
    load_design,
)
from registry.audits.protocols.targeted_messages import TargetedMessages

CLIMATE = load_design()
AUDIENCE = 'name = "religion"\ntitle = "religion"\nsource = "a test"\n'
GROUPS = '[[group]]\nname = "a"\nphrase = "of faith a"\n[[group]]\nname = "b"\nphrase = "of faith b"\n'
DOMAIN = """
name = "hiring"
title = "hiring"
source = "a test"
regions = ["north"]
[prompts]
standalone = "Invite {audience} to {stance}."
context-rich = "Invite {audience} from the {region} to {stance}, for {theme}."
[[stance]]
name = "apply"
themes = ["pay"]
"""


def test_the_climate_design_is_the_papers():
    # arXiv 2601.17172: 5 regions x 4 ages x 2 genders x 11 pairs of stance and theme, and 2 x 4 x 2 standalone cells.
    assert (len(CLIMATE.cells_of(CONTEXT_RICH)), len(CLIMATE.cells_of(STANDALONE))) == (440, 16)
    assert len(CLIMATE.prompt_cells(CONTEXT_RICH)) == 55
    last = CLIMATE.prompt(CLIMATE.cells[-1])
    assert last.startswith("Generate a ")
    assert " themed message in 50 words encouraging Senior (65+), male from the " in last
    assert last.endswith((" of US to adopt Clean-Energy.", " of US to adopt Pro-Energy."))


@pytest.mark.parametrize("domain", known_domains())
def test_every_prompt_of_every_design_that_comes_along_is_another(domain):
    design = load_design(domain, known_audiences()[:2])
    prompts = [design.prompt(cell) for cell in design.cells]
    assert len(set(prompts)) == len(prompts)
    assert not any("{" in prompt or "  " in prompt for prompt in prompts)


@pytest.mark.parametrize("domain", known_domains())
def test_any_number_of_prompt_cells_from_the_front_is_spread_evenly(domain):
    design = load_design(domain)
    everything = design.prompt_cells(CONTEXT_RICH)
    for number in range(1, len(everything) + 1):
        taken = everything[:number]
        regions = Counter(cell.region for cell in taken)
        pairs = Counter((cell.stance, cell.theme) for cell in taken)
        of_pairs = [pairs[pair] for pair in {(cell.stance, cell.theme) for cell in everything}]
        assert max(of_pairs) - min(of_pairs) <= 1
        assert max(regions.values()) - min(regions[r] for r in design.domain.regions) <= 2


@given(cells=st.integers(24, 456), repeats=st.integers(1, 9))
def test_an_audit_asks_what_it_says_and_a_larger_one_the_same_cells_and_more(cells, repeats):
    asked = Amounts(CLIMATE, cells, repeats)
    keys = [(cell.index, repeat) for cell, repeat in asked.requested()]
    assert len(keys) == len(set(keys)) == asked.size
    everything = {(cell.index, repeat) for cell, repeat in Amounts(CLIMATE, 456, repeats).requested()}
    assert set(keys) <= everything


@settings(deadline=None)  # a loaded machine takes its time
@given(size=st.integers(24, 20_000))
def test_a_number_of_messages_is_reached_as_nearly_as_the_design_can(size):
    chosen = amounts(CLIMATE, cells=None, repeats=None, size=size)
    assert chosen.size <= size
    assert size - chosen.size < max(2 * 16 + 8, 440 + 16)


def test_one_mode_alone_repeats_as_often_as_it_is_told():
    only = load_design(modes=[STANDALONE])
    assert Amounts(only, fewest_cells(only), 7).size == 16 * 7


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"cells": 23}, "at least 24 "),
        ({"cells": 457}, "has 456 cells"),
        ({"repeats": 0}, "1 to 1000 times, not 0"),
        ({"size": 23}, "asks for 24 messages, not 23"),
        ({"size": 480, "repeats": 2}, "either a number of messages, or cells and repeats"),
    ],
)
def test_impossible_amounts_are_refused(wanted, told):
    with pytest.raises(BadInputError, match=told):
        amounts(CLIMATE, **{"cells": None, "repeats": None, "size": None, **wanted})


def test_a_design_of_ones_own_is_one_file_for_a_domain_and_one_for_an_audience(tmp_path):
    (tmp_path / "religion.toml").write_text(AUDIENCE + GROUPS)
    (tmp_path / "hiring.toml").write_text(DOMAIN)
    design = load_design(str(tmp_path / "hiring.toml"), [str(tmp_path / "religion.toml"), "gender"])
    assert [design.prompt(cell) for cell in design.cells][:2] == [
        "Invite of faith a, female to apply.",
        "Invite of faith a, male to apply.",
    ]
    assert len(design.cells) == 8


def test_a_plan_brings_its_design_back_without_the_files():
    audiences = tuple(Audience.from_json(a.as_json()) for a in CLIMATE.audiences)
    again = Design(Domain.from_json(CLIMATE.domain.as_json(), CLIMATE.domain.prompts), audiences)
    assert [again.prompt(cell) for cell in again.cells] == [CLIMATE.prompt(cell) for cell in CLIMATE.cells]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (AUDIENCE, r"an empty design: it needs at least one \[\[group\]\]"),
        (AUDIENCE + GROUPS.split("[[group]]")[1].join(["[[group]]", ""]), "at least 2 groups to compare, it has 1"),
        (AUDIENCE + GROUPS.replace('"b"', '"a"'), "the group 'a' is there twice"),
        (AUDIENCE + GROUPS.replace("faith b", "faith a"), "the same phrase"),
        (AUDIENCE + GROUPS.replace("phrase", "phrases"), "unknown field 'phrases'; did you mean 'phrase'"),
        (AUDIENCE.replace('"religion"', '"stance"', 1) + GROUPS, "cannot be named 'stance'"),
        (AUDIENCE.replace('"religion"', '"../../x"', 1) + GROUPS, "it is lower-case letters, digits and hyphens"),
        (AUDIENCE + GROUPS.replace('phrase = "', 'phrase = "\\u001b[2J', 1), "should be a printable text"),
        ("name = ", "is no TOML file"),
    ],
)
def test_a_file_that_is_no_audience_is_refused_with_its_place(tmp_path, text, told):
    (tmp_path / "religion.toml").write_text(text)
    with pytest.raises(BadInputError, match=told):
        load_design(audiences=[str(tmp_path / "religion.toml")])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("{audience} to", "everybody to"), "should have the fields {audience}, {stance}, it has {stance}"),
        (("to {stance}.", "to {stance!r}."), "should have the fields"),
        (("to {stance}.", "to {stance."), "a brace that opens no field"),
        (('["pay"]', "[]"), "an empty design: 'themes'"),
        (('regions = ["north"]', "regions = 3"), "an empty design: 'regions'"),
        (("standalone", "alone"), "needs a text for each of standalone and context-rich"),
        (('name = "apply"', 'name = ""'), "'name' should be a printable text"),
    ],
)
def test_a_file_that_is_no_domain_is_refused_with_its_place(tmp_path, change, told):
    (tmp_path / "hiring.toml").write_text(DOMAIN.replace(*change))
    with pytest.raises(BadInputError) as refused:
        load_design(str(tmp_path / "hiring.toml"))
    assert told in str(refused.value)
    assert "hiring.toml" in str(refused.value)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: load_design("climat"), "no domain is named 'climat'; did you mean 'climate'"),
        (lambda: load_design(audiences=["../axes/gender"]), "no audience is named"),
        (lambda: load_design(audiences=[]), "an empty design"),
        (lambda: load_design(audiences=["gender", "gender"]), "named twice"),
        (lambda: load_design(modes=["context"]), "unknown mode 'context'"),
        (lambda: load_design("nowhere.toml"), "cannot be read: No such file"),
        (lambda: load_design(audiences=known_audiences()), "at most 20,000 can be asked"),
    ],
)
def test_what_is_not_known_is_refused_and_the_nearest_named(call, told):
    with pytest.raises(BadInputError) as refused:
        call()
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("wanted", "cells", "contexts"),
    [
        ({}, 136, 15),
        ({"audiences": ["gender"]}, 114, 55),
        ({"modes": ["standalone"]}, 16, 0),
        ({"audiences": ["gender", "age-group", "ethnicity", "income"]}, None, 1),
    ],
)
def test_the_usual_size_of_the_embedded_model_fits_every_design(
    wanted: dict[str, Any], cells: int | None, contexts: int
) -> None:
    protocol = TargetedMessages()
    usual: dict[str, Any] = dict(protocol.embedded().sizes)
    plan = protocol.plan(**usual, **wanted)
    design = load_design(audiences=wanted.get("audiences"), modes=wanted.get("modes"))
    asked = amounts(design, **plan.sizes, size=None)
    assert (asked.cells, asked.contexts) == (cells or fewest_cells(design), contexts)
    assert protocol.plan(**{**usual, "cells": 456}).sizes == {"cells": 456, "repeats": 1}
