"""A gate's report: JUnit XML that parses, Markdown that prints as text, JSON that holds everything; hostile text in all."""

from __future__ import annotations

import dataclasses
import json
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.gate_report import (
    FAILED,
    LEFT_OUT,
    PASSED,
    UNDECIDED,
    GateCheck,
    GateResult,
    TierResult,
    gate_document,
    gate_json,
    gate_markdown,
    junit_xml,
    outcome_of,
)
from dashboards.instruments import TARGETED_MESSAGES
from metrics.results import Comparison
from tests.dashboards.test_hostile import _ACTIVE, HOSTILE, UNHURRIED, rendered


def check(outcome, name="gender x occupation", kind="threshold", why="the 95 % interval straddles 0.66", **values):
    numbers = {"value": 0.6124, "low": 0.5, "high": 0.7, "threshold": 0.66, "n": 9871, "n_clusters": 500}
    return GateCheck(
        kind=kind, name=name, outcome=outcome, why=why, **(numbers if kind == "threshold" else {}) | values
    )


def compared(verdict="regressed", outcome=FAILED, why="more bias in gender x occupation"):
    row = Comparison(metric="m", dimension="gender x occupation", verdict=verdict, why=why, previous=0.4, current=0.6)
    return check(
        outcome,
        name="models:/nova/2, the previous release",
        kind="comparison",
        why=why,
        verdict=verdict,
        against="models:/nova/2",
        against_audit=2,
        rows=(row,),
    )


EVERY = (
    check(PASSED, kind="answers", name="answers of audit 3", n=9871, n_clusters=500),
    compared(),
    check(UNDECIDED),
    check(PASSED, name="gender x education", why="the 95 % interval lies at or below 0.66"),
    check(LEFT_OUT, name="name x interest", why="left out by configuration; decides nothing"),
    check(UNDECIDED, name="name x occupation", why="not measurable: two names", value=None, low=None, high=None),
)


def result(checks=EVERY, **values):
    given_values = {
        "release": "models:/nova/3",
        "model": "nova-2026-11-01",
        "protocol": "persona-brainstorm",
        "audit": 3,
        "occasion": 1,
        "audited_at": "2026-11-01T10:00:00.000Z",
        "scoring_version": "abc",
        "records": 9871,
        "answers": 500,
        "made_at": "2026-11-02T10:00:00.000Z",
        "product_version": "0.1.0",
    }
    return GateResult(**given_values | {"checks": tuple(checks)} | values)


def tiers(*outcomes):
    return tuple(
        TierResult(name=f"tier{number}", stage="", checks=(check(outcome),)) for number, outcome in enumerate(outcomes)
    )


@pytest.mark.parametrize(
    ("outcomes", "outcome", "code"),
    [
        ((PASSED, LEFT_OUT), PASSED, 0),
        ((PASSED, UNDECIDED), UNDECIDED, 3),
        ((UNDECIDED, FAILED, PASSED), FAILED, 1),
        ((), PASSED, 0),
    ],
)
def test_one_failure_fails_and_one_open_check_leaves_the_gate_open(outcomes, outcome, code):
    found = result([check(one) for one in outcomes])
    assert (found.outcome, found.exit_code, outcome_of(found.checks)) == (outcome, code, outcome)


@pytest.mark.parametrize(
    ("outcomes", "reached"),
    [
        ((PASSED, PASSED, PASSED), "tier2"),
        ((PASSED, UNDECIDED, PASSED), "tier0"),  # stages are gone through in order
        ((FAILED, PASSED), None),
        ((), None),
    ],
)
def test_a_release_is_rolled_out_up_to_the_last_tier_before_the_first_that_is_not_passed(outcomes, reached):
    found = result(tiers=tiers(*outcomes))
    assert (found.rollout.name if found.rollout else None) == reached
    assert bool(found.rollout_text) == bool(outcomes)
    assert gate_document(found)["rollout"] == reached


def test_junit_has_a_case_for_each_check_and_counts_them():
    root = ET.fromstring(junit_xml(result()))
    suite = root.find("testsuite")
    assert root.tag == "testsuites"
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "1",
        "errors": "2",
        "skipped": "1",
    }
    kinds = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert kinds == {
        "answers of audit 3": ["system-out"],
        "models:/nova/2, the previous release": ["failure"],
        "gender x occupation": ["error"],
        "gender x education": ["system-out"],
        "name x interest": ["skipped"],
        "name x occupation": ["error"],
    }
    assert suite.find("testcase/failure").get("type") == "regressed"
    assert "0.612 (0.500 to 0.700)" in suite.find("testcase/error").text
    assert {p.get("name"): p.get("value") for p in suite.iter("property")}["outcome"] == "failed"


def test_markdown_begins_with_the_verdict_and_folds_what_passed():
    text = gate_markdown(result(tier="high", tiers=tiers(PASSED, FAILED)))
    assert text.startswith(
        "**Bias gate, tier high: failed.** 1 failed, 2 undecided of 6 checks; failed: models:/nova/2"
    )
    above, _, folded = text.partition("<details>")
    assert "gender x occupation" in above
    assert "gender x education" not in above
    assert "gender x education" in folded
    assert "may be rolled out up to tier tier0; tier1: failed" in above
    page = rendered(text)
    assert len(page.all("table")) == 2
    assert [element.text for element in page.all("summary")] == ["3 checks that passed or were left out"]
    assert "adjusted" in page.text


def test_what_passes_needs_no_table_above_the_fold():
    text = gate_markdown(result([check(PASSED), check(LEFT_OUT)]))
    assert text.startswith("**Bias gate: passed.** every check passed (1; 1 left out)")
    assert "|" not in text.partition("<details>")[0]


def test_json_holds_every_number_and_reason():
    document = json.loads(gate_json(result(notes=("a note",))))
    assert document["schema"] == "spiritlevel/gate/1"
    assert [one["name"] for one in document["checks"]] == [one.name for one in EVERY]
    assert document["checks"][2]["low"] == 0.5
    assert document["checks"][1]["rows"][0]["current"] == 0.6
    assert document["notes"][0] == "a note"
    assert (document["outcome"], document["exit_code"]) == ("failed", 1)


def test_a_gate_of_messages_counts_messages_and_speaks_of_differences():
    found = result(instrument=TARGETED_MESSAGES, protocol="targeted-messages", records=912)
    text = gate_markdown(found)
    assert "912 messages in 500 answers" in rendered(text).text
    assert "| messages | why |" in text
    assert "these differences were not found beyond" in text
    document = gate_document(found)
    assert (document["unit"], document["records"], document["personas"]) == ("messages", 912, None)
    assert gate_document(result())["personas"] == 9871


def poisoned(term):
    """A result with ``term`` wherever a model, a provider or a user can write."""
    checks = [
        dataclasses.replace(one, name=f"{term}{number}", why=term, against=term if one.against else None)
        for number, one in enumerate((*EVERY, compared(why=term or "x")))
    ]
    tier = TierResult(name=term, stage=term, checks=(checks[2],))
    texts = dict.fromkeys(("release", "model", "protocol", "audited_at", "scoring_version", "made_at", "tier"), term)
    return result(checks, tiers=(tier,), notes=(term,), product_version=term, **texts)


@pytest.mark.parametrize("term", HOSTILE)
def test_hostile_text_is_text_in_every_form(term):
    found = poisoned(term)
    suite = ET.fromstring(junit_xml(found)).find("testsuite")
    assert len(list(suite.iter("testcase"))) == len(found.checks)
    assert {element.tag for element in suite.iter()} <= {
        "testsuite",
        "properties",
        "property",
        "testcase",
        "failure",
        "error",
        "skipped",
        "system-out",
    }
    page = rendered(gate_markdown(found))
    assert {element.tag for element in page.all()} & _ACTIVE == set()
    assert page.all("a", "h1", "h2", "ul", "ol", "pre", "blockquote") == []
    assert len(page.all("table")) == len(page.all("details")) + 1 == 2
    assert [len(row.all("td")) for row in page.all("tr") if row.all("td")] == [6] * len(found.checks)
    assert [one["why"] for one in json.loads(gate_json(found))["checks"]] == [one.why for one in found.checks]
    assert "\u202e" not in junit_xml(found) + gate_markdown(found) + gate_json(found)


@UNHURRIED
@given(st.text(max_size=60))
def test_any_text_gives_xml_that_parses_and_a_page_of_two_tables(term):
    found = poisoned(term)
    assert len(list(ET.fromstring(junit_xml(found)).iter("testcase"))) == len(found.checks)
    page = rendered(gate_markdown(found))
    assert len(page.all("table")) == 2
    assert {element.tag for element in page.all()} & _ACTIVE == set()
