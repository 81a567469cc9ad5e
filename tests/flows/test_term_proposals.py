"""``taxonomy propose``: a model proposes, is measured on terms whose category is known, and nothing is applied without a person."""

from __future__ import annotations

import csv
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.scoring import scored
from flows.settings import Home
from flows.workspace import opened
from metrics.kappa import cohens_kappa
from metrics.shares import wilson_of
from registry.audits.plan import Response
from registry.audits.taxonomy import load_taxonomy
from registry.audits.term_rating import (
    GOLD,
    NONE,
    ModelProposal,
    TermProposals,
    category_of,
    gold_terms,
    prompt_of,
)
from tests.conftest import UNPUBLISHED, CommandLine
from tests.flows.people import MAN, WOMAN, counted, people_of
from tests.stub_server import StubServer

COUNTS = [
    (WOMAN, "Nurse", 60),
    (MAN, "Lawyer", 60),
    (MAN, "Ladder stacking", 24),
    (WOMAN, "Bluff <b>'quoted'</b>", 6),
]


@pytest.fixture
def home(migrated_home, tmp_path):
    place = tmp_path / "home"
    shutil.copytree(migrated_home, place)
    (place / "spiritlevel.toml").write_text(UNPUBLISHED)
    with opened(Home(place)) as workspace:
        workspace.releases.add("nova", "nova-1")
        scored(workspace, people_of(workspace, 1, counted(COUNTS)))
    return place


@pytest.fixture
def command(home, capsys):
    return CommandLine(home, capsys)


@pytest.fixture
def server():
    with StubServer(models={"judge-2026-01-01": 0.25}) as running:
        yield running


@pytest.fixture
def judge(command, server):
    return command.json("release", "add", "judges", "--model", "judge-2026-01-01", "--base-url", server.base_url)[
        "release"
    ]


def test_terms_are_asked_about_once_beside_listed_ones_that_say_how_good_the_model_is(command, server, judge):
    told = command.json("taxonomy", "propose", "nova", "--attribute", "occupation", "--release", judge)
    assert server.calls == GOLD + 2
    assert told["open"] == 0
    check = told["models"][0]
    assert (check["n"], check["release"]) == (GOLD, judge)
    assert 0.5 < check["low"] < check["right"] / check["n"] < check["high"] < 1
    assert check["kappa_low"] < check["kappa"] < check["kappa_high"]
    ladder = told["proposals"]["occupation"]["ladder stacking"]
    assert (ladder["category"], ladder["release"]) == ("Business & Finance", judge)
    assert ladder["served"].startswith("judge-2026-01-01")
    assert command.json("taxonomy", "propose", "nova", "--attribute", "occupation", "--release", judge) == told
    assert server.calls == GOLD + 2


def test_a_proposal_changes_nothing_until_a_person_takes_it(command, judge, tmp_path):
    before = command.json("taxonomy", "show", "nova")["releases"][0]["shares"]
    command("taxonomy", "propose", "nova", "--attribute", "occupation", "--release", judge)
    assert command.json("taxonomy", "show", "nova")["releases"][0]["shares"] == before
    command("taxonomy", "review", "nova", "--attribute", "occupation", "--release", judge, "--out", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["model_proposed"], row["model"]) for row in rows] == [("Business & Finance", judge)] * 2
    rows[0] |= {"decision": "accept model", "who": "Ada Lovelace"}
    rows[1] |= {"decision": "reject", "who": "Ada Lovelace"}
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert command.json("taxonomy", "accept", tmp_path / "t.csv", "--by", "Grace")["accepted"] == 1
    again = command.json("taxonomy", "review", "nova", "--attribute", "occupation", "--release", judge)
    assert again["rows"] == []
    people = again["models"][0]["people"]
    assert (people["taken"], people["n"]) == (1, 2)
    assert (people["low"], people["high"]) == pytest.approx(wilson_of(1, 2))
    kappa = people["kappa"]
    assert (kappa["value"], kappa["n"], kappa["n_excluded"]) == (0.0, 2, 0)
    assert kappa["low"] <= 0 <= kappa["high"]
    text = command("taxonomy", "review", "nova", "--attribute", "occupation", "--release", judge)
    told = (
        "people, who saw them, took 1 of 2 proposals that they decided about, 50% (9% to 91%, Wilson); "
        f"model and people: kappa 0.00 ({kappa['low']:.2f} to {kappa['high']:.2f}) over 2 terms"
    )
    assert f"{judge}, occupation: {told}" in text
    command("taxonomy", "review", "nova", "--release", judge, "--html", tmp_path / "after.html")
    assert told in (tmp_path / "after.html").read_text()


def said(**of):
    """What a model said about terms: a category, or None with the reason that it gave."""
    proposals = {
        term: ModelProposal(one, "", "models:/judges/1", "judge")
        if one in CATEGORIES
        else ModelProposal(None, one, "", "")
        for term, one in of.items()
    }
    return TermProposals(proposals, ())


CATEGORIES = ("Healthcare", "Education")
UNREADABLE = "is not one number"


def test_what_people_took_counts_proposed_categories_and_kappa_everything_that_both_said_something_about():
    found = said(a="Healthcare", b="Healthcare", c="Education", d=NONE, e=NONE, f=UNREADABLE, g="Education")
    decided = {
        "a": "Healthcare",
        "b": "Education",
        "c": "Education",
        "d": None,
        "e": "Healthcare",
        "f": None,
        "x": "Education",
    }
    people = found.taken(decided)
    assert (people.taken, people.n, (people.low, people.high)) == (2, 3, wilson_of(2, 3))
    own = cohens_kappa(["H", "H", "E", NONE, NONE], ["H", "E", "E", NONE, "H"])
    assert (people.kappa.value, people.kappa.low, people.kappa.high) == (own.value, own.low, own.high)
    assert (people.kappa.n, people.kappa.n_excluded) == (5, 2)  # f cannot be read, x was not asked about


@pytest.mark.parametrize(
    ("found", "decided", "n", "reason"),
    [
        (said(a="Healthcare"), {}, 0, "nothing was labelled by both"),
        (said(a=UNREADABLE), {"a": "Healthcare"}, 0, "nothing was labelled by both"),
        (said(a="Healthcare"), {"a": "Healthcare"}, 1, "both use one label only, 'Healthcare'"),
    ],
)
def test_a_kappa_that_is_not_defined_is_none_with_its_reason_and_a_share_of_nothing_is_none(found, decided, n, reason):
    people = found.taken(decided)
    assert (people.kappa.value, people.kappa.low, people.kappa.reason) == (None, None, reason)
    assert people.n == n
    assert (people.low is None) == (n == 0)


def test_before_anybody_decided_nothing_is_said_of_people_and_propose_says_it_afterwards(command, judge, tmp_path):
    ask = ("taxonomy", "propose", "nova", "--attribute", "occupation", "--release", judge)
    assert "people" not in command(*ask)
    file = tmp_path / "one.csv"
    command("taxonomy", "review", "nova", "--attribute", "occupation", "--release", judge, "--out", file)
    with file.open(newline="") as source:
        rows = list(csv.DictReader(source))
    rows[0] |= {"decision": "change to Education", "who": "Ada Lovelace"}
    with file.open("w", newline="") as target:
        writer = csv.DictWriter(target, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    command("taxonomy", "accept", file, "--by", "Grace")
    assert "took 0 of 1 proposals that they decided about, 0% (0% to 79%, Wilson)" in command(*ask)
    assert command.json(*ask)["models"][0]["people"]["n"] == 1


def test_the_page_shows_both_proposals_and_what_was_answered_as_text(command, judge, tmp_path):
    command("taxonomy", "propose", "nova", "--attribute", "occupation", "--release", judge)
    command("taxonomy", "review", "nova", "--release", judge, "--html", tmp_path / "queue.html")
    page = (tmp_path / "queue.html").read_text()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "Proposed by the model" in page
    assert f"of {GOLD} listed terms right" in page
    assert "<script" not in page


def test_without_a_release_and_without_a_judge_the_way_out_is_named(command):
    command("taxonomy", "propose", "nova", code=2)
    assert "no judge is configured" in command.stderr


def test_a_model_id_that_its_provider_may_change_is_refused(command):
    command("release", "add", "openai", "--model", "gpt-4o")
    command("taxonomy", "propose", "nova", "--release", "models:/openai/1", code=2)
    assert "may change at any time" in command.stderr


def test_a_provider_that_goes_away_leaves_the_rest_open_and_the_command_goes_on(command, server, judge):
    with StubServer(models={"judge-2026-01-01": 0.0}, default="500") as broken:
        other = command.json("release", "add", "judges", "--model", "judge-2026-01-01", "--base-url", broken.base_url)[
            "release"
        ]
        told = command.json(
            "taxonomy", "propose", "nova", "--attribute", "occupation", "--release", other, "--deadline-s", "1", code=3
        )
        assert told["open"] == GOLD + 2
        assert told["proposals"]["occupation"] == {}
        assert told["models"][0]["n"] == 0
        assert told["models"][0]["kappa"] is None


def test_a_release_that_was_asked_is_shown_as_before(command, judge, tmp_path):
    command("audit", judge, "--protocol", "persona-brainstorm", "--personas", 400, code=None)
    before = command.json("status")
    command("taxonomy", "propose", "nova", "--attribute", "occupation", "--release", judge)
    command("site", "build", tmp_path / "site")
    command("card", "judges")
    command("evidence", judge, "--out", tmp_path / "pack")
    command("export", judge, tmp_path / "out.jsonl")
    command("rank", judge, "models:/nova/1", code=None)
    assert "--protocol" not in command.stderr
    assert [one["release"] for one in command.json("status")["audits"]] == [one["release"] for one in before["audits"]]


@pytest.mark.parametrize(
    "text", ["1 is wrong, it is 2", "2 or 3", "3 years of school", "1\n2", "1 2 3", "\u0662", "", "2, Healthcare"]
)
def test_anything_but_one_number_is_no_proposal(text):
    categories = ["Healthcare", "Education", "Engineering"]
    assert category_of(Response(index=0, text=text), categories)[0] is None


@pytest.mark.parametrize("text", ["2", "2.", "**2**", " (2) ", "2. Education", "2: education."])
def test_one_number_with_or_without_its_category_is_a_proposal(text):
    assert category_of(Response(index=0, text=text), ["Healthcare", "Education"]) == ("Education", "")


def test_another_language_is_another_question():
    from registry.audits.plan import Sampling
    from registry.audits.term_rating import proposal_plan

    keys = {
        proposal_plan(
            load_taxonomy(language=one), "occupation", size=0, sampling=Sampling(), constrained=False
        ).collection_key
        for one in ("en", "hi")
    }
    assert len(keys) == 2


@given(st.text(max_size=60), st.sampled_from(["occupation", "gender", "top_personal_interest"]))
def test_a_term_is_data_in_the_question_and_any_answer_is_a_category_or_a_reason(text, attribute):
    categories = load_taxonomy().attribute(attribute).categories
    prompt = prompt_of("x", categories, text)
    assert prompt.count("\n") == len(categories) + 3
    category, reason = category_of(Response(index=0, text=text), categories)
    assert (category in categories) != bool(reason)


@pytest.mark.parametrize(
    "attribute", ["gender", "ethnicity", "occupation", "top_personal_interest", "sexual_orientation"]
)
def test_listed_terms_cover_the_categories_and_are_the_same_each_time(attribute):
    taxonomy = load_taxonomy()
    gold = gold_terms(taxonomy, attribute)
    assert gold == gold_terms(taxonomy, attribute)
    assert {category for _, category in gold} == set(taxonomy.attribute(attribute).categories)
    assert all(taxonomy.category(attribute, term) == category for term, category in gold)
