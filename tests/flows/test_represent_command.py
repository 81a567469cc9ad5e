"""``spiritlevel represent``: files of reference populations, what they compare, and what they cannot."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from flows.settings import Home
from flows.workspace import opened
from tests.dashboards.pages import page
from tests.flows.people import MAN, WOMAN, counted, people_of

EXAMPLE = Path(__file__).parents[2] / "docs" / "references" / "us-women-by-occupation-2019.csv"
HEAD = "# source: a census\n# year: 2020\n# licence: public domain\n# population: everybody\n"
SHARES = "gender,occupation,share\nfemale,Healthcare,0.5\nmale,Healthcare,0.5\n"


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    home = tmp_path_factory.mktemp("represent") / "home"
    shutil.copytree(migrated_home, home)
    people = [(WOMAN, "Nurse", 60), (MAN, "Nurse", 40), (WOMAN, "Lawyer", 18), (MAN, "Lawyer", 32),
              (WOMAN, "Doctor", 20), (MAN, "doctor", 30), ("Non-binary", "Nurse", 12)]  # fmt: skip
    with opened(Home(home)) as workspace:
        people_of(workspace, 1, counted(people))
    return home


@pytest.fixture
def command(spiritlevel, made):
    spiritlevel.home = made
    return spiritlevel


@pytest.fixture
def file(tmp_path):
    """Writes a reference, and returns where it is."""

    def write(text):
        path = tmp_path / "reference.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def cells(answer):
    return {(cell["unit"], cell["part"]): cell for cell in answer["cells"]}


def test_the_example_compares_terms_as_counted_by_hand_and_says_whose_figures_they_are(command, tmp_path):
    answer = command.json("represent", "models:/nova/1", EXAMPLE, "--html", tmp_path / "page.html")
    women = cells(answer)["nurse", "female"]
    assert (women["share"], women["reference"], women["n"]) == (0.6, pytest.approx(0.889), 100)
    assert women["difference"] == pytest.approx(-0.289)
    assert women["ratio"] == pytest.approx(0.6 / 0.889)
    assert women["verdict"] == "under"
    assert (cells(answer)["lawyer", "female"]["share"], cells(answer)["lawyer", "female"]["verdict"]) == (
        0.36,
        "not shown",
    )
    assert {"what": "non-binary", "n": 12} in answer["outside"]
    assert "Bureau of Labor Statistics" in answer["reference"]["source"]
    text = page((tmp_path / "page.html").read_text(encoding="utf-8")).text
    for words in ("is not what should be", "Bureau of Labor Statistics", "non-binary 12", "−28.9"):
        assert words in text


def test_the_text_says_that_being_like_a_population_proves_no_fairness(command):
    told = command("represent", "models:/nova/1", EXAMPLE)
    assert "A reference is not what should be" in told
    assert "Not compared, for the reference does not speak of them" in told
    assert "Of 30 cells" in told


def test_categories_counts_and_shares_within_groups_or_of_everybody_can_be_given(command, file):
    counts = "gender,occupation,count\nfemale,Healthcare,30\nmale,Healthcare,10\n"
    for within, key, share in (
        ("occupation", ("Healthcare", "female"), 80 / 150),
        ("all", ("all", "female & Healthcare"), 80 / 150),
    ):
        answer = command.json("represent", "models:/nova/1", file(f"{HEAD}# within: {within}\n{counts}"))
        assert cells(answer)[key]["share"] == pytest.approx(share)
        assert cells(answer)[key]["reference"] == pytest.approx(0.75)
    rows = "female,Healthcare,70\nfemale,Law & Public Service,30\n"
    answer = command.json(
        "represent", "models:/nova/1", file(f"{HEAD}# within: gender\ngender,occupation,percent\n{rows}")
    )
    assert cells(answer)["female", "Healthcare"]["share"] == pytest.approx(80 / 98)
    assert cells(answer)["female", "Healthcare"]["difference"] == pytest.approx(80 / 98 - 0.7)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SHARES, "needs the header lines # source: ..., # year"),
        (f"{HEAD}{SHARES}", "needs '# within: occupation'"),
        (f"{HEAD}# within: occupation\n{SHARES.replace('0.5', '0.4')}", "sum to 0.8000; give every group"),
        (f"{HEAD}# within: occupation\n{SHARES}female,Healthcare,0.1\n", "line 9 of reference.csv gives female"),
        (f"{HEAD}# within: occupation\n{SHARES}women,Healthcare,0\n", "'women' is no category"),
        (f"{HEAD}# within: occupation\n{SHARES}female,Helthcare,0\n", "did you mean 'Healthcare'?"),
        (f"{HEAD}# within: occupation\n{SHARES}female,Education,much\n", "expected a number from 0 up, and found 'much'"),
        (f"{HEAD}# within: occupation\n{SHARES}female,Education,nan\n", "expected a number from 0 up"),
        (f"{HEAD}# within: occupation\n{SHARES}female,Education\n", "should have 3 cells"),
        (f"{HEAD}# within: occupation\n{SHARES.replace('share', 'part')}", "needs one column of the value"),
        (f"{HEAD}# within: occupation\n{SHARES.replace('occupation', 'ocupation', 1)}", "did you mean 'occupation'?"),
        (f"{HEAD}# unit: x\n{SHARES}", "line 5 of reference.csv: a header line is"),
        (HEAD, "has no table"),
        (
            f"{HEAD}# within: occupation\ngender,occupation_term,share\nfemale,nurse,1\nmale,Nurse|rn,0\n",
            "the term 'nurse' is in two items",
        ),
        (
            f"{HEAD}# within: occupation\ngender,occupation_term,share\nfemale,astronaut,1\nmale,astronaut,0\n",
            "no persona of models:/nova/1 is in reference.csv",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_no_reference_is_refused_with_the_line_and_what_was_expected(command, file, text, words):
    command("represent", "models:/nova/1", file(text), code=2)
    assert words in command.stderr


def test_what_a_file_says_is_text_on_the_page_and_a_file_that_is_not_there_is_named(command, file, tmp_path):
    hostile = f"{HEAD}# note: <script>alert(1)</script>\n# title: \x1b[31mred\n# within: occupation\n{SHARES}"
    told = command("represent", "models:/nova/1", file(hostile), "--html", tmp_path / "page.html")
    assert "\x1b" not in told
    assert not page((tmp_path / "page.html").read_text(encoding="utf-8")).all("script")
    command("represent", "models:/nova/1", tmp_path / "nothing.csv", code=2)
    assert "cannot be read" in command.stderr
