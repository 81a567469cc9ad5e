"""``spiritlevel zoom``: down to a term, its answers and its course over releases, and back up again."""

from __future__ import annotations

import json
import shlex
import shutil

import pytest

from flows.settings import Home
from flows.workspace import opened
from tests.dashboards.pages import page
from tests.flows.people import MAN, WOMAN, counted, people_of, person
from tests.planted import HOSTILE

SECOND = [(WOMAN, "Nurse", 120), (WOMAN, "Doctor", 40), (WOMAN, "Chef", 40),
          (MAN, "nurse", 30), (MAN, "Doctor", 50), (MAN, "Chef", 120)]  # fmt: skip
FIRST = [(WOMAN, "Nurse", 80), (WOMAN, "Chef", 120), (MAN, "Nurse", 80), (MAN, "Chef", 120)]


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    home = tmp_path_factory.mktemp("zoom") / "home"
    shutil.copytree(migrated_home, home)
    with opened(Home(home)) as workspace:
        for version, counts in enumerate((FIRST, SECOND), start=1):
            workspace.releases.add("nova", f"nova-{version}")
            people_of(workspace, version, counted(counts))
        workspace.releases.add("nova", "nova-3")
        hostile = [person(WOMAN if at % 2 else MAN, text) for at, text in enumerate(HOSTILE)]
        people_of(workspace, 1, [*hostile * 5, *counted(FIRST)], family="wild")
    return home


@pytest.fixture
def command(spiritlevel, made):
    spiritlevel.home = made
    return spiritlevel


def cells(row):
    return {cell["group"]: cell for cell in row["cells"]}


def test_a_term_has_its_spellings_its_category_and_its_parts_as_counted_by_hand(command):
    answer = command.json("zoom", "models:/nova/2", "occupation", "--term", "NURSE")
    (row,) = answer["terms"]["rows"]
    assert (answer["category"], answer["term"], row["n"]) == ("Healthcare", "nurse", 150)
    assert answer["spellings"] == [{"text": "Nurse", "n": 120}, {"text": "nurse", "n": 30}]
    women, men = cells(row)["female"], cells(row)["male"]
    assert (women["share"], women["part"]) == (0.6, 0.8)
    assert (men["share"], men["part"]) == (0.15, 0.2)
    assert women["part_low"] < 0.8 < women["part_high"]
    assert women["qvalue"] < 0.01
    assert "in Healthcare: " in command("zoom", "models:/nova/2", "occupation", "--term", "nurse")


def test_every_place_is_that_of_an_answer_with_the_term(command, made):
    answer = command.json("zoom", "models:/nova/2", "occupation", "--term", "nurse")
    (row,) = answer["terms"]["rows"]
    with opened(Home(made)) as workspace:
        texts = {one.index: json.loads(one.text) for one in workspace.ledger.responses(answer["audit"])}
    for cell, gender in ((cells(row)["female"], WOMAN), (cells(row)["male"], MAN)):
        found = [texts[place["request"]][place["record"]] for place in cell["places"]]
        assert {(one["gender"], one["occupation"].lower()) for one in found} == {(gender, "nurse")}
        assert len(found) == cell["count"]
        assert {place["audit"] for place in cell["places"]} == {answer["audit"]}


def test_the_ways_lead_from_a_dimension_to_a_category_a_term_and_back(command):
    top = command.json("zoom", "models:/nova/2", "occupation")
    assert top["categories"]["rows"][0]["label"] == "Healthcare"
    assert top["terms"]["top"]["male"] == ["chef", "doctor", "nurse"]
    (gap,) = top["gaps"]
    assert (gap["group"], gap["n"]) == ("female - male", 400)
    assert gap["value"] == pytest.approx(80.0)  # healthcare |80 - 40|, cooking |20 - 60|
    inside = command.json("zoom", "models:/nova/2", "occupation", "--category", "healthcare")
    assert {row["label"]: row["n"] for row in inside["terms"]["rows"]} == {"nurse": 150, "doctor": 90}
    down = command.json(*shlex.split(inside["down"][0])[1:])
    assert (down["term"], down["category"]) == ("nurse", "Healthcare")
    assert command.json(*shlex.split(down["up"])[1:])["terms"] == inside["terms"]


def test_over_time_has_a_line_per_group_of_each_release_and_says_who_is_left_out(command, tmp_path):
    order = ("zoom", "models:/nova/2", "occupation", "--term", "nurse", "--over-time")
    answer = command.json(*order, "--html", tmp_path / "zoom.html")
    parts = [(one["release"], cells(one)["female"]["part"], one["n"], one["of"]) for one in answer["over_time"]]
    assert parts == [("models:/nova/1", 0.5, 160, 400), ("models:/nova/2", 0.8, 150, 400)]
    assert answer["left_out"] == [{"release": "models:/nova/3", "reason": "no finished persona-brainstorm audit"}]
    document = page((tmp_path / "zoom.html").read_text(encoding="utf-8"))
    assert len(document.all("svg")) == 2  # wide and narrow
    assert "female: 1: 50 %, 2: 80 %" in document.all("svg")[0].text
    assert "left out: models:/nova/3" in command(*order)
    doctors = command.json("zoom", "models:/nova/2", "occupation", "--term", "doctor", "--over-time")["over_time"]
    assert (doctors[0]["n"], cells(doctors[0])["female"]["share"]) == (0, 0.0)


def test_what_a_model_wrote_is_text_in_the_terminal_and_on_the_page(command, tmp_path):
    told = command("zoom", "models:/wild/1", "occupation", "--html", tmp_path / "wild.html")
    assert not {"\x1b", "\u202e", "\x00"} & set(told)
    document = page((tmp_path / "wild.html").read_text(encoding="utf-8"))
    assert not document.all("script", "img", "iframe")
    term = command.json("zoom", "models:/wild/1", "occupation", "--term", HOSTILE[0], "--html", tmp_path / "t.html")
    assert term["terms"]["rows"][0]["n"] == 5
    assert not page((tmp_path / "t.html").read_text(encoding="utf-8")).all("script")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("occupation", "--term", "nurze"), "near it: nurse"),
        (("occupation", "--term", "nurse", "--category", "Education"), "there are Healthcare, Hospitality"),
        (("occupation", "--term", "chef", "--category", "Healthcare"), "'chef' is in Hospitality"),
        (("occupation", "--category", "Helthcare"), "did you mean 'Healthcare'?"),
        (("occupation", "--over-time"), "add --category or --term"),
        (("occupation", "--axis", "name"), "there is no axis 'name'"),
        (("ocupation",), "did you mean 'occupation'?"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(command, arguments, words):
    command("zoom", "models:/nova/2", *arguments, code=2)
    assert words in command.stderr


def test_a_release_without_personas_is_refused_with_the_command_that_makes_some(command):
    command("zoom", "models:/nova/3", "occupation", code=2)
    assert "run 'spiritlevel audit models:/nova/3 --protocol persona-brainstorm'" in command.stderr
