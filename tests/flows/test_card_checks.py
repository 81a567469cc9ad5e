"""A card is checked against the ledger: a fresh one agrees in every form, and one changed digit anywhere is found."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.card_checks import checked, differences, literal
from flows.carding import card_of, cards_of, rendered
from flows.errata import card_given_out
from flows.settings import Home
from flows.workspace import opened
from metrics.errors import BadInputError
from registry.audits.plan import Response
from tests.dashboards.test_card_schema import FAMILY, validator
from tests.flows.compared import PROTOCOL, texts, three_releases
from tests.flows.recording import recorded
from tests.planted import planted_family

_NUMBER = re.compile(r"(?<=[\s\[:])-?\d[\d.eE+-]*(?=[\s,\]}])")


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    """A home with three compared releases, the first of them blessed."""
    home = tmp_path_factory.mktemp("checks") / "home"
    shutil.copytree(migrated_home, home)
    three_releases(home, blessed=True)
    return home


@pytest.fixture
def workspace(home, made):
    """A workspace on a copy of that home."""
    shutil.rmtree(home)
    shutil.copytree(made, home)
    with opened(Home(home)) as found:
        yield found


@pytest.fixture(scope="module")
def text(made, tmp_path_factory):
    """The JSON card of the newest release, from a copy of the home."""
    home = tmp_path_factory.mktemp("text") / "home"
    shutil.copytree(made, home)
    with opened(Home(home)) as found:
        return rendered(card_of(found, "nova", PROTOCOL), "json")


def checked_text(workspace, text, tmp_path, name="card.json"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return checked(workspace, file)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("form", ["json", "md", "html"])
def test_a_fresh_card_of_any_release_agrees_in_every_form(workspace, tmp_path, form, version):
    card = rendered(card_of(workspace, "nova", PROTOCOL, version), form, front_matter=True)
    found = checked_text(workspace, card, tmp_path, f"card.{form}")
    assert (found.mismatches, found.notes) == ((), ())
    assert found.compared > 100


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_changed_digit_of_any_number_is_found(text, data):
    numbers = list(_NUMBER.finditer(text))
    assert len(numbers) > 2000
    number = data.draw(st.sampled_from(numbers))
    at = data.draw(st.sampled_from([number.start() + i for i, sign in enumerate(number[0]) if sign.isdigit()]))
    digit = data.draw(st.sampled_from([sign for sign in "0123456789" if sign != text[at]]))
    changed = f"{text[:at]}{digit}{text[at + 1 :]}"
    try:
        told = literal(changed)
    except BadInputError:  # 0.5 became 00.5, which is no JSON
        return
    assert list(differences(told, literal(text)))


def test_a_digit_that_a_computer_would_not_keep_is_found():
    one, other = '{"a": 0.30000000000000004}', '{"a": 0.30000000000000005}'
    assert json.loads(one) == json.loads(other)
    assert [found.where for found in differences(literal(other), literal(one))] == ["a"]


@pytest.mark.parametrize("form", ["json", "md", "html"])
def test_one_digit_changed_in_a_file_leaves_with_exit_code_1_and_says_where(workspace, spiritlevel, tmp_path, form):
    file = tmp_path / f"card.{form}"
    spiritlevel("card", "nova", "--format", form, "-o", file)
    spiritlevel("card", "check", file)
    whole = file.read_text(encoding="utf-8")
    card = card_of(workspace, "nova", PROTOCOL)
    score = next(row.value for row in card.scores if row.metric == card.instrument.headline and row.value)
    shown = repr(score) if form == "json" else f"{score:.3f}"
    at = whole.index(shown) + 3
    file.write_text(f"{whole[:at]}{(int(whole[at]) + 1) % 10}{whole[at + 1 :]}", encoding="utf-8")
    said = spiritlevel("card", "check", file, code=1)
    assert "the card says" in said
    assert "the ledger says" in said
    assert spiritlevel.json("card", "check", file, code=1)["mismatches"]


def test_a_changed_verdict_reason_or_plan_is_found_too(workspace, text, tmp_path):
    told = json.loads(text)
    for path in (
        ("verdict",),
        ("why",),
        ("audit", "plan", "seed"),
        ("baselines", 0, "reason"),
        ("cells",),
        ("policy", "margin"),
    ):
        other = json.loads(text)
        inner = functools.reduce(lambda value, name: value[name], path[:-1], other)
        inner[path[-1]] = "regressed" if path == ("verdict",) else [] if path == ("cells",) else 7
        if other == told:
            continue
        wrong = checked_text(workspace, json.dumps(other), tmp_path).mismatches
        assert wrong
        assert wrong[0].where.startswith(str(path[0]))


def test_what_was_taken_out_of_a_card_is_found(workspace, text, tmp_path):
    told = json.loads(text)
    told["history"].pop(0)
    told["baselines"] = []
    del told["scores"][3]
    told["reference"] = re.sub(r"baselines [\d: ]+; history 1 ", "baselines none; history ", told["reference"])
    assert "history 2 3" in told["reference"]
    wrong = {one.where.split("[")[0] for one in checked_text(workspace, json.dumps(told), tmp_path).mismatches}
    assert wrong >= {"history", "baselines", "scores"}


def test_audits_and_blessings_that_came_later_are_no_mismatch(workspace, text, tmp_path):
    recorded(workspace.home.path, "nova", texts(4), version=4, model="nova-4", served="nova-4")
    recorded(workspace.home.path, "nova", texts("2 again", 0.9), version=2, model="nova-2", served="nova-2")
    workspace.ledger.bless(workspace.ledger.audit(2).release, who="quinn", why="later")
    workspace.ledger.add_erratum(3, why="a typing error", who="quinn")
    card_of(workspace, "nova", PROTOCOL)
    found = checked_text(workspace, text, tmp_path)
    assert found.mismatches == ()


def test_a_card_made_before_the_names_were_frozen_is_told_apart_from_a_changed_one(home, tmp_path):
    recorded(home, "nova", texts(1), version=1, model="nova-1", served="nova-1")
    with opened(Home(home)) as workspace:
        first = rendered(card_of(workspace, "nova", PROTOCOL), "json")
    recorded(home, "nova", texts(2, 0.9), version=2, model="nova-2", served="nova-2")
    with opened(Home(home)) as workspace:
        card_of(workspace, "nova", PROTOCOL)  # compares, and so freezes names: release 1 is scored again
        found = checked_text(workspace, first, tmp_path)
        assert found.mismatches == ()
        assert any("was scored again since (names " in note for note in found.notes)
        told = json.loads(first)
        told["scores"][0]["value"] = 0.123
        assert [one.where for one in checked_text(workspace, json.dumps(told), tmp_path).mismatches] == [
            "scores[0].value"
        ]


def test_a_card_whose_answers_were_asked_again_is_known_to_be_no_forgery(workspace, tmp_path):
    given = rendered(card_given_out(workspace, "nova", PROTOCOL), "json")
    workspace.ledger.record(3, Response(index=3, attempt=2, text="I can't help with that.", served_model="nova-3"))
    card_given_out(workspace, "nova", PROTOCOL)
    found = checked_text(workspace, given, tmp_path)
    assert found.mismatches
    assert any("the ledger remembers this very card" in note for note in found.notes)
    told = json.loads(given)
    told["channels"]["usable"] += 1
    forged = checked_text(workspace, json.dumps(told), tmp_path)
    assert not any("remembers" in note for note in forged.notes)


@pytest.mark.slow
def test_a_document_of_several_cards_is_checked_card_by_card(home, tmp_path):
    planted_family(home, protocols=(PROTOCOL, "targeted-messages", "persona-cues"), releases=2, blessed=True)
    with opened(Home(home)) as workspace:
        whole = cards_of(workspace, "nova")
        for form in ("json", "md", "html"):
            assert checked_text(workspace, rendered(whole, form), tmp_path, f"c.{form}").mismatches == ()
        told = json.loads(rendered(whole, "json"))
        assert [error.message for error in validator(FAMILY).iter_errors(told)] == []
        told["cards"][1]["channels"]["usable"] += 1
        told["summary"][0]["verdict"] = "improved"
        wrong = [one.where for one in checked_text(workspace, json.dumps(told), tmp_path).mismatches]
    assert wrong == ["cards[1].channels.usable", "summary[0].verdict"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "not the JSON of a card"),
        (b'{"schema": "spiritlevel/model-card/1"}', "should be a card of schema spiritlevel/model-card/2"),
        (b'{"schema": "spiritlevel/family-card/1", "cards": []}', "with its cards"),
        (b'{"a": 1, "a": 2}', "a key stands twice"),
        (b'{"a": NaN}', "NaN is no number"),
        (b"# A page", "the file is no card of spiritlevel"),
        (b"\xff\xfe", "no UTF-8 text"),
        (b"[" * 100_000, "the file is no card"),
        (b'{"a": ' + b"[" * 100_000, "not the JSON of a card"),
    ],
)
def test_what_is_no_card_is_refused_in_one_sentence(spiritlevel, tmp_path, content, says):
    file = tmp_path / "card.json"
    file.write_bytes(content)
    spiritlevel("card", "check", file, code=2)
    assert says in " ".join(spiritlevel.stderr.split())
    spiritlevel("card", "check", tmp_path / "none.json", code=2)


@pytest.mark.parametrize(
    "reference",
    [
        None,
        "audit 3",
        "audit 99; scored ab; comparison 0; baselines none; history 99; made 2026-11-30 by 0.1.0",
        "audit 3; scored ab; comparison 99; baselines none; history 3; made 2026-11-30T00:00:00Z by 0.1.0",
        "audit 3; scored ab; comparison 0; baselines none; history 1; made 2026-11-30T00:00:00Z by 0.1.0",
    ],
)
def test_a_card_that_says_it_is_of_what_the_ledger_does_not_have_is_a_mismatch(workspace, text, tmp_path, reference):
    told = json.loads(text) | {"reference": reference}
    assert checked_text(workspace, json.dumps(told), tmp_path).mismatches[0].where == "reference"


def test_results_that_were_published_since_are_a_note(workspace, text, tmp_path):
    workspace.ledger.change(3, run_id="0f3a")
    found = checked_text(workspace, text, tmp_path)
    assert found.mismatches == ()
    assert found.notes == ("the results were published to MLflow after the card was made",)


def test_a_reference_in_an_answer_of_a_model_is_not_taken_for_that_of_the_card(workspace, tmp_path):
    made = card_of(workspace, "nova", PROTOCOL)
    said = "\n- reference of this card: audit 1; scored ab; comparison 0; baselines none; history 1; made 2026-11-30 by 0.1.0"
    hostile = (
        dataclasses.replace(made, unmapped=(*made.unmapped, dataclasses.replace(made.unmapped[0], term=said)))
        if made.unmapped
        else made
    )
    for form in ("md", "html"):
        wrong = checked_text(workspace, rendered(hostile, form), tmp_path, f"c.{form}").mismatches
        assert all("line" in one.where for one in wrong)
