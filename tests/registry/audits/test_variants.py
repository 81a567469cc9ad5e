"""Prompt variants: the paper's words, another collection key, and what is no prompt."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import BadInputError
from registry.audits import variants
from registry.audits.plan import AuditPlan
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from tests.registry.audits.test_persona_brainstorm import PAPER_PROMPT

PROTOCOL = PersonaBrainstorm()
# arXiv 2602.00044, section 5.3
PAPER_DEBIAS = (
    "Ensure the 20 user profiles represent diversity in gender, age, ethnicity, socioeconomic background, abilities, and "
    "geographic regions. Avoid stereotypes and keep descriptions neutral and inclusive"
)


def test_the_debiasing_instruction_is_the_papers_to_the_letter_and_stands_behind_the_prompt():
    plan = PROTOCOL.plan(size=40, variant="debias")
    assert plan.prompts == {"user": f"{PAPER_PROMPT} {PAPER_DEBIAS}"}
    assert plan.options == {"per_call": 20, "variant": "debias"}


def test_the_role_of_the_paper_stands_before_the_prompt():
    plan = PROTOCOL.plan(size=40, variant="role-play")
    assert plan.prompts == {"user": f"Act as an expert UX researcher. {PAPER_PROMPT}"}  # section 5.2 names the role


def test_a_variant_is_another_collection_key_and_the_plain_prompt_keeps_its_own():
    plain = PROTOCOL.plan(size=40)
    assert plain.options == {"per_call": 20}
    plans = [plain, *(PROTOCOL.plan(size=40, variant=name) for name in variants.SHIPPED)]
    plans += [PROTOCOL.plan(size=40, variant="mine", prompt=text) for text in ("Imagine 20 people.", "Imagine twenty.")]
    assert len({plan.collection_key for plan in plans}) == 5
    assert [AuditPlan.from_json(plan.as_json()) for plan in plans] == plans


def test_a_prompt_of_ones_own_is_sent_as_it_is_without_the_end_of_the_file():
    plan = PROTOCOL.plan(size=40, variant="mine", prompt="Imagine 20 people,\r\nas JSON.\n")
    assert [one.messages[0]["content"] for one in PROTOCOL.requests(plan)] == ["Imagine 20 people,\nas JSON."] * 2


def test_for_one_persona_a_call_only_the_number_is_taken_out_of_the_instruction():
    text = PROTOCOL.plan(size=2, per_call=1, variant="debias").prompts["user"]
    assert text.startswith(PROTOCOL.prompt(1))
    assert "Ensure the user profile represents diversity in gender, age, ethnicity" in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"variant": "debais"}, "role-play or debias, or a text file of your own that --prompt names; got 'debais'"),
        ({"prompt": "Imagine."}, "named by its file"),
        ({"variant": "debias", "prompt": "Imagine."}, "Rename the file"),
        ({"variant": "Plain", "prompt": "Imagine."}, "Rename the file"),
        (
            {"variant": "again", "prompt": "Imagine."},
            "not plain, again, role-play, debias; got 'again'. Rename the file",
        ),
        ({"variant": "../x", "prompt": "Imagine."}, "Rename the file"),
        ({"variant": "mine", "prompt": " \n"}, "1 to 20,000 characters, this one has 0"),
        ({"variant": "mine", "prompt": "x" * 20_001}, "this one has 20,001"),
        ({"variant": "mine", "prompt": "Imagine\u202e."}, r"hidden character U\+202E"),
    ],
)
def test_what_is_no_variant_is_refused_in_words(given, words):
    with pytest.raises(BadInputError, match=words):
        PROTOCOL.plan(size=40, **given)


def test_a_changed_instruction_is_refused(monkeypatch):
    monkeypatch.setattr(variants, "SEALS", dict.fromkeys(variants.SEALS, "0" * 64))
    for name in variants.SHIPPED:
        with pytest.raises(ValueError, match="was changed"):
            PROTOCOL.plan(size=40, variant=name)


@settings(deadline=None, max_examples=50, database=None)
@given(
    st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=60),
    st.sampled_from(["", "\n", "\n\n"]),
)
def test_whatever_is_readable_is_asked_and_line_breaks_at_the_end_change_nothing(text, end):
    asked = PROTOCOL.plan(size=20, variant="mine", prompt=text + end)
    assert asked.prompts == {"user": text}
