"""``spiritlevel intersect``: a planted excess is found, none is claimed without one, and what cannot be combined is refused."""

from __future__ import annotations

import shutil

import pytest

from flows.settings import Home
from flows.workspace import opened
from tests.dashboards.pages import page
from tests.flows.people import crossing, people_of


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    home = tmp_path_factory.mktemp("intersect") / "home"
    shutil.copytree(migrated_home, home)
    with opened(Home(home)) as workspace:
        people_of(workspace, 1, crossing(40, "none", excess=0.0))
        people_of(workspace, 2, crossing(40, "planted", excess=0.5))
    return home


@pytest.fixture
def command(spiritlevel, made):
    spiritlevel.home = made
    return spiritlevel


def only(answer):
    (found,) = answer["dimensions"]
    return found


def test_what_only_a_combination_shows_is_found_with_its_group_and_both_p_values(command):
    order = ("intersect", "models:/nova/2", "gender,sexual-orientation", "--dimension", "occupation")
    found = only(command.json(*order))
    excess = found["excess"]
    assert excess["qvalue"] == excess["pvalue"] < 0.01
    assert 0 < excess["chi_squared_pvalue"] < 0.01
    assert excess["explained"] + excess["g_squared"] == pytest.approx(excess["total"])
    surest = min(found["cells"], key=lambda cell: cell["qvalue"])
    assert surest["qvalue"] < 0.05
    told = command(*order)
    assert "an excess is shown" in told
    assert "chi-squared p <.001 (too small where personas of an answer are alike)" in told
    assert "female & bisexual in Healthcare" in told


def test_without_an_excess_none_is_claimed_and_every_number_has_its_n(command):
    answer = command.json("intersect", "models:/nova/1", "gender,sexual-orientation", "--dimension", "occupation")
    found = only(answer)
    assert found["excess"]["pvalue"] > 0.05
    assert found["n"] == answer["usable"] == 800
    assert sum(n for _, n, _ in found["groups"]) == 800
    assert {score["metric"] for score in found["scores"]} >= {"normalized-cramers-v-debiased", "noise-floor"}
    assert all(score["n"] == 800 for score in found["scores"] if score["value"] is not None)
    told = command("intersect", "models:/nova/1", "gender,sexual-orientation", "--dimension", "occupation")
    assert "an excess is not shown" in told
    assert "no single cell is sure" in told


def test_the_page_says_the_numbers_of_the_json_form_and_holds_no_script(command, tmp_path):
    file = tmp_path / "crossing.html"
    order = ("intersect", "models:/nova/2", "gender,sexual-orientation", "--dimension", "occupation")
    found = only(command.json(*order, "--html", file))
    document = page(file.read_text(encoding="utf-8"))
    assert not document.all("script")
    tables = {table.attributes["class"]: table.text for table in document.all("table")}
    assert f"{found['excess']['g_squared']:.1f} ({found['excess']['df']})" in tables["excess-table"]
    assert f"{found['excess']['value']:.3f}" in tables["excess-table"]
    (group, n, requests), *_ = found["groups"]
    assert f"{group}, n {n} ({requests})" in tables["share-table"]


def test_dimensions_that_cannot_be_measured_say_why_beside_those_that_can(command):
    answer = command.json("intersect", "models:/nova/2", "gender,sexual-orientation")
    reasons = {found["dimension"]["social"]: found["reason"] for found in answer["dimensions"]}
    assert reasons["occupation"] == ""
    assert "needs at least 2 categories" in reasons["social class"]
    assert "not measurable: association needs" in command("intersect", "models:/nova/2", "gender,sexual-orientation")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gender",), "two or more different axes"),
        (("gender,gender",), "two or more different axes"),
        (("gender,name",), "there is no axis 'name'"),
        (("gender,ethnicty",), "did you mean 'ethnicity'?"),
        (("gender,ethnicity", "--dimension", "salary"), "there is no dimension 'salary'"),
        (("gender,ethnicity", "--html", "/nowhere/page.html"), "there is no folder /nowhere"),
    ],
)
def test_what_cannot_be_combined_is_refused_with_what_could(command, arguments, words):
    command("intersect", "models:/nova/2", *arguments, code=2)
    assert words in command.stderr
