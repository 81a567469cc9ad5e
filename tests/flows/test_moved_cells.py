"""Which cells moved, on the command line, in the ledger and on the card: named, with examples of real answers."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil

import pytest

from flows.cli import exit_code
from flows.evidence import FEWEST_CELLS, MOST_CELLS, gathered, moved
from flows.settings import Home
from flows.workspace import opened
from tests.conftest import CommandLine
from tests.stub_personas import persona

CALLS = 60
HOSTILE = "Ada \x1b[31m\u202e<script>alert(1)</script> [x](javascript:1)"


def people(seed: str, *, bias: float = 0.0, unschooled: bool = False, woman: str = "") -> list[dict[str, str]]:
    """One answer of 20 personas; the first may have no schooling, and ``woman`` is the name of every woman."""
    draw = random.Random(seed)
    found = [persona(draw, bias) for _ in range(20)]
    if unschooled:
        found[0] |= {"education_level": "Elementary school"}
    return [one | ({"name": woman} if woman and one["gender"] == "Female" else {}) for one in found]


def compared_home(folder, template, **traits):
    """A home in which two releases are imported and compared; the second has the traits given."""
    home = folder / "home"
    shutil.copytree(template, home)
    for version, changed in ((1, {}), (2, traits)):
        answers = [people(f"{version} {call}", **changed) for call in range(CALLS)]
        lines = [json.dumps({"text": json.dumps(answer), "model": "nova"}) + "\n" for answer in answers]
        source = folder / f"{version}.jsonl"
        source.write_text("".join(lines), encoding="utf-8")
        for command in (
            ["release", "add", "nova", "--model", f"nova-{version}"],
            ["import", f"models:/nova/{version}", source, "--protocol", "persona-brainstorm"],
        ):
            assert exit_code([*map(str, command), "--home", str(home)]) == 0
    return home


@pytest.fixture(scope="module")
def biased_home(tmp_path_factory, migrated_home):
    """In the second release women are far more often given caring jobs, and have a hostile name."""
    return compared_home(tmp_path_factory.mktemp("biased"), migrated_home, bias=0.7, woman=HOSTILE)


@pytest.fixture(scope="module")
def unschooled_home(tmp_path_factory, migrated_home):
    """In the second release one persona of every answer has a level of education that the first never gave."""
    return compared_home(tmp_path_factory.mktemp("unschooled"), migrated_home, unschooled=True)


@pytest.fixture
def biased(biased_home, capsys):
    return CommandLine(biased_home, capsys)


@pytest.fixture
def unschooled(unschooled_home, capsys):
    return CommandLine(unschooled_home, capsys)


RELEASES = ("models:/nova/1", "models:/nova/2")


def answered(spiritlevel, tmp_path, version):
    """The personas of a release as exported, by request and record."""
    path = tmp_path / f"back-{version}.jsonl"
    spiritlevel("export", f"models:/nova/{version}", path)
    lines = path.read_text(encoding="utf-8").splitlines()
    return {(call, place): one for call, line in enumerate(lines) for place, one in enumerate(texts(line))}


def texts(line):
    return json.loads(json.loads(line)["text"])


def test_compare_names_the_cells_that_moved_and_shows_answers_that_are_in_them(biased, tmp_path):
    result = biased.json("compare", *RELEASES, code=1)
    own = [cell for cell in result["cells"] if cell["dimension"] == "gender x occupation"]
    assert FEWEST_CELLS <= len(own) <= MOST_CELLS
    (women,) = [cell for cell in own if (cell["row"], cell["column"]) == ("female", "Education")]
    assert women["significant"]
    assert women["qvalue"] <= 0.05
    assert women["share_current"] > 1.5 * women["share_previous"]
    assert women["expected_previous"] < women["expected_current"] < women["share_current"]
    assert women["direction"] == "fuller, away from independence"
    for side, version in (("previous", 1), ("current", 2)):
        real = answered(biased, tmp_path, version)
        assert len(women["examples"][side]) == 2
        for example in women["examples"][side]:
            assert example["audit"] == version
            asked = real[example["request"], example["record"]]
            assert example["attributes"] | {"name": ""} == asked | {"name": ""}
            assert example["attributes"]["gender"] == "Female"
    changed = {row["dimension"] for row in result["comparisons"] if row["verdict"] in {"regressed", "improved"}}
    assert {cell["dimension"] for cell in result["cells"]} == changed


def test_the_text_says_the_same_under_the_table(biased):
    text = biased("compare", *RELEASES, code=1)
    table, _, rest = text.partition("which cells moved: gender x occupation\n")
    assert "bias dimension" in table
    cells, _, verdict = rest.partition("\nverdict: regressed")
    assert verdict
    assert "  female in Education: " in cells
    assert " of female (" in cells
    assert "fuller, away from independence; q <.001\n    previous: " in cells
    assert "(audit 2, request " in cells


def test_an_answer_that_commands_a_terminal_or_a_page_is_text_in_every_output(biased):
    text = biased("compare", *RELEASES, code=1)
    assert "<script>" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert "<script>" not in biased("card", "nova", "--format", "html")
    assert "[x](" not in biased("card", "nova", "--format", "md")


def test_the_card_has_the_section_in_every_form(biased):
    document = json.loads(biased("card", "nova", "--format", "json"))
    (women,) = [cell for cell in document["cells"] if (cell["row"], cell["column"]) == ("female", "Education")]
    for form in ("md", "html"):
        text = biased("card", "nova", "--format", form)
        assert "Which cells moved" in text
        assert "female x Education" in text
        assert women["examples"]["current"][0]["attributes"]["occupation"] in text


def test_evidence_is_stored_and_made_again_when_it_is_missing(biased):
    first = biased.json("compare", *RELEASES, code=1)
    with opened(Home(biased.home)) as workspace:
        comparison = workspace.ledger.comparisons(family="nova")[-1]
        stored = workspace.ledger.moved_cells(comparison.id)
        assert [cell.change.row for cell in stored] == [cell["row"] for cell in first["cells"]]
        assert gathered(workspace, comparison)[0] == stored
        # An older ledger has the comparison and no evidence: it is made when it is asked for.
        with workspace.ledger.engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM comparison_cells")
            connection.exec_driver_sql("UPDATE comparisons SET gathered_at = NULL")
        assert [cell.change for cell in moved(workspace, comparison).cells] == [cell.change for cell in stored]
        assert workspace.ledger.moved_cells(comparison.id) == stored


def test_answers_that_are_read_by_other_rules_today_give_no_new_evidence_and_no_examples(biased):
    biased("compare", *RELEASES, code=1)
    with opened(Home(biased.home)) as workspace:
        older = dataclasses.replace(workspace.ledger.comparisons(family="nova")[-1], scoring_version="older")
        assert gathered(workspace, older) == ([], [])
        cells = moved(workspace, older).cells
        assert cells
        assert {(cell.expected_previous, cell.previous, cell.current) for cell in cells} == {(None, (), ())}


def test_a_new_category_is_an_event_and_no_verdict_on_bias(unschooled, tmp_path):
    result = unschooled.json("compare", *RELEASES, code=3)
    assert result["verdict"] == "inconclusive"
    assert result["cells"] == []
    (event,) = [event for event in result["events"] if event["attribute"] == "education"]
    assert (event["category"], event["kind"]) == ("less than high school", "new")
    assert (event["n_previous"], event["n_current"], event["of_current"]) == (0, CALLS, 20 * CALLS)
    assert event["significant"]
    assert event["examples"]["previous"] == []
    real = answered(unschooled, tmp_path, 2)
    for example in event["examples"]["current"]:
        assert example["attributes"] == real[example["request"], example["record"]]
        assert example["attributes"]["education_level"] == "Elementary school"
    text = unschooled("compare", *RELEASES, code=3)
    assert "categories that only one of the two releases has (no verdict on bias)" in text
    assert "education: less than high school is new, 0 of 1,200 -> 60 of 1,200 personas; q <.001" in text


def test_compared_the_other_way_the_same_category_has_vanished(unschooled):
    forward = unschooled.json("compare", *RELEASES, code=3)["events"]
    backward = unschooled.json("compare", *RELEASES[::-1], code=3)["events"]
    turned = {"new": "vanished", "vanished": "new"}
    assert [(event["category"], event["kind"]) for event in backward] == [
        (event["category"], turned[event["kind"]]) for event in forward
    ]
    assert [event["qvalue"] for event in backward] == [event["qvalue"] for event in forward]


def test_answers_that_allow_no_verdict_have_no_cells(unschooled, tmp_path):
    other = unschooled.json("release", "add", "nova", "--model", "nova-3")["release"]
    refusals = tmp_path / "refusals.jsonl"
    refusals.write_text(json.dumps({"text": "I'm sorry, but I can't assist with that request."}) + "\n")
    unschooled("import", other, refusals, "--protocol", "persona-brainstorm", code=3)
    result = unschooled.json("compare", RELEASES[0], other, code=3)
    assert (result["verdict"], result["cells"], result["events"]) == ("not measurable", [], [])
