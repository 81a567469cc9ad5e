"""Which names an audit took, and how thin their cells are, in its plan, its tables and in words."""

from __future__ import annotations

import json

import pytest

from registry.audits.cue_facts import cell_text, name_cells, notes_of
from registry.audits.names import read_names
from registry.audits.plan import AuditPlan
from registry.audits.protocols.persona_cues import PersonaCues


def plan(**options) -> AuditPlan:
    chosen = {
        "tasks": ("salary",),
        "axes": ("gender",),
        "cues": ("name-user", "name-system"),
        "questions": 2,
        "samples": 1,
    }
    return PersonaCues().plan(**chosen | options)


def test_every_name_that_is_asked_is_told_once_with_the_size_of_its_cell_in_the_table():
    made, table = plan(variants=10), read_names()
    asked = {request.cell["filler"] for request in PersonaCues().requests(made) if request.cell.get("persona")}
    cells = name_cells(made)
    assert sorted(name for cell in cells for name, _ in cell.used) == sorted(asked)
    for cell in cells:
        groups = {"gender": {"unisex": "non-binary"}.get(cell.persona, cell.persona), **cell.held}
        names = table.cell(groups)
        assert cell.names == len(names)
        assert cell.known == pytest.approx(sum(n.born_here for n in names) / sum(n.bearers for n in names), abs=1e-4)


def test_the_thinnest_cell_is_told_first_in_words():
    first, *_ = name_cells(plan())
    assert first.thin
    assert cell_text(first).startswith(f"{first.persona}, age {first.held['age']}, race-ethnicity")
    assert f"{first.names} names, mean age known of {100 * first.known:.0f} % of their bearers" in cell_text(first)


def test_facts_are_stored_with_the_plan_and_are_no_part_of_what_makes_audits_comparable():
    few, many = plan(variants=5), plan(variants=60)
    assert few.collection_key == many.collection_key
    assert few.facts != many.facts
    again = AuditPlan.from_json(json.loads(json.dumps(many.as_json())))
    assert (again.facts, name_cells(again)) == (many.facts, name_cells(many))
    notes = notes_of(plan(cues=("explicit-mention-user", "history-human"), variants=60))
    assert notes == [
        "explicit-mention-user has 20 different texts for each persona of gender, not 60 (explicit-mention-user, gender)",
        "history-human has conversations for 5 variants of each persona, not for 60 (history-human, gender)",
    ]


def test_a_plan_without_names_tells_none_and_one_of_before_tells_nothing():
    assert name_cells(plan(cues=("explicit-mention-user",))) == ()
    old = {key: value for key, value in plan().as_json().items() if key != "facts"}
    assert (name_cells(AuditPlan.from_json(old)), notes_of(AuditPlan.from_json(old))) == ((), [])


def test_the_table_of_fillers_says_how_thin_the_cell_of_each_name_is():
    from registry.audits.cue_reading import Calls, Sums

    made = plan(cues=("name-user", "explicit-mention-user"))
    requests = list(PersonaCues().requests(made))
    none = Sums(index=[], outcome=[], n=[], total=[], squares=[])
    counts = {
        "asked": len(requests),
        "put": 0,
        "answered": 0,
        "repeats": 1,
        "prompt_tokens": None,
        "completion_tokens": None,
    }
    calls = Calls(served_models={}, fingerprints={}, **counts)
    fillers = PersonaCues().read_sums(made, {one.index: one.cell for one in requests}, none, calls).fillers
    named = fillers[fillers["cue"] == "name-user"]
    told = {name: (cell.names, known) for cell in name_cells(made) for name, known in cell.used}
    assert dict(zip(named["filler"], zip(named["cell_names"], named["age_known"], strict=True), strict=True)) == told
    assert fillers[fillers["cue"] != "name-user"]["cell_names"].isna().all()
