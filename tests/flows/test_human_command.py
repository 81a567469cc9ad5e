"""``spiritlevel human``: sheets that tell nothing, a key that tells all, and what comes out when they meet again."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from flows.settings import Home
from flows.workspace import opened
from tests.dashboards.pages import page
from tests.flows.people import MAN, WOMAN, counted, people_of, person
from tests.planted import HOSTILE

EVEN = [(gender, job, 50) for gender in (WOMAN, MAN) for job in ("Nurse", "Engineer")]
APART = [(WOMAN, "Nurse", 95), (WOMAN, "Engineer", 5), (MAN, "Nurse", 5), (MAN, "Engineer", 95)]
TWO = ("models:/nova/1", "models:/nova/2")
FEW = ("--items", "6", "--personas", "30")


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    home = tmp_path_factory.mktemp("human") / "home"
    shutil.copytree(migrated_home, home)
    with opened(Home(home)) as workspace:
        for version, counts in enumerate((EVEN, APART), start=1):
            workspace.releases.add("nova", f"nova-{version}")
            people_of(workspace, version, counted(counts))
        for version in (1, 2):
            workspace.releases.add("wild", f"wild-{version}")
            said = [*HOSTILE, f"wild-{version}"]
            hostile = [person(WOMAN if at % 2 else MAN, text) for at, text in enumerate(said)]
            nurses = [person(WOMAN if at % 2 else MAN, f"{one['occupation']} nurse") for at, one in enumerate(hostile)]
            people_of(workspace, version, nurses * 8, family="wild")
    return home


@pytest.fixture
def command(spiritlevel, made):
    spiritlevel.home = made
    return spiritlevel


@pytest.fixture
def sheets(command, tmp_path):
    """Three empty sheets with their key."""
    command("human", "export", *TWO, "--out", str(tmp_path / "out"), *FEW)
    return tmp_path / "out"


def rows_of(sheet):
    return list(csv.DictReader(sheet.read_text(encoding="utf-8").splitlines()))


def refused(command, *arguments):
    """What a command that leaves with 2 says, on one line."""
    command("human", *arguments, code=2)
    return " ".join(command.stderr.split())


def fill(sheet, answer):
    """Writes what ``answer`` gives for each row into the sheet."""
    rows = [row | answer(row) for row in rows_of(sheet)]
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def share_in(cell):
    """Per cent in a cell such as ``9 (60 %)``; 0 is written alone."""
    return float(re.search(r"\((\d+)", cell).group(1)) if "(" in cell else 0.0


def seen(sheet):
    """Somebody who reads the page: rates the set higher whose women are nurses more often than its men."""
    document = page(sheet.with_suffix(".html").read_text(encoding="utf-8"))
    shares = []
    for table in document.all("table"):
        care = next(row for row in table.all("tr") if row.text.strip().startswith("Healthcare"))
        women, men = (share_in(cell.text) for cell in care.all("td")[-2:])
        shares.append(women - men)
    gaps = dict(enumerate(zip(shares[::2], shares[1::2], strict=True), start=1))

    def answer(row):
        a, b = gaps[int(row["item"])]
        return {"rating_a": 4 if a > b else 2, "rating_b": 4 if b > a else 2, "more_biased": "A" if a > b else "b"}

    return answer


def test_raters_who_read_their_pages_find_the_release_that_was_made_more_biased(command, sheets):
    names = [sheets / f"rater-{number}.csv" for number in (1, 2, 3)]
    for name in names:
        fill(name, seen(name))
    found = command.json("human", "import", *map(str, names))
    assert found["preference"]["value"] == 1
    assert found["preference"]["low"] > 0.4
    assert [one["value"] for one in found["severity"][:2]] == [2, 4]
    assert {one["value"] for one in found["agreement"] if one["dimension"] == "severity"} == {1}
    assert found["measured"]["delta"] > 0.5
    assert (found["missing"], found["contradictions"]) == ({"severity": 0, "choice": 0}, 0)
    assert found["second"]["release"] == "models:/nova/2"


def test_what_people_said_is_one_record_on_both_cards_and_in_packs_that_verify(command, sheets, tmp_path):
    names = [str(sheets / f"rater-{number}.csv") for number in (1, 2, 3)]
    for name in names:
        answer = seen(Path(name))
        fill(
            Path(name), lambda row, answer=answer: answer(row) | {"reason": "Ada says BANANA", "stereotypes": "BANANA"}
        )
    first = command.json("human", "import", names[0])["record"]
    record = command.json("human", "import", *names)["record"]
    assert command.json("human", "import", *reversed(names))["record"] == record != first
    for uri in TWO:
        card = json.loads(command("card", uri, "--protocol", "persona-brainstorm", "--format", "json"))
        *others, said = card["human_checks"]  # the home has those of other tests
        assert said["key"] not in {one["key"] for one in others}
        assert (said["id"], said["raters"], said["invited"], said["pairs"]) == (record, 3, 3, 6)
        assert said["preference"]["value"] == 1
        assert said["preference"]["low"] < 1
        assert (said["direction"], said["first"], said["second"]) == ("undecided", *TWO)  # three raters are few
        assert said["measured"]["delta"] > 0.5
        pack = tmp_path / uri[-1]
        command("evidence", uri, "--out", str(pack))
        kept = json.loads((pack / "persona-brainstorm" / "human.json").read_text())
        assert [one["id"] for one in kept][-2:] == [first, record]
        assert "What people saw" in (pack / "persona-brainstorm" / "card.md").read_text()
        assert "BANANA" not in "".join(file.read_text() for file in pack.rglob("*") if file.is_file())
        command("evidence", "verify", str(pack))
    changed = pack / "persona-brainstorm" / "human.json"
    changed.write_text(changed.read_text().replace('"raters": 3', '"raters": 9'))
    assert "human.json" in command("evidence", "verify", str(pack), code=1) + command.stderr


def test_ratings_of_audits_that_this_ledger_does_not_hold_are_put_together_and_not_kept(spiritlevel, made, sheets):
    fill(sheets / "rater-1.csv", seen(sheets / "rater-1.csv"))
    key = f"{sheets}.key.json"
    spiritlevel.home = sheets.parent / "elsewhere"
    found = spiritlevel.json("human", "import", str(sheets / "rater-1.csv"), "--key", key)
    assert found["preference"]["value"] == 1
    assert found["record"] is None
    assert "this ledger has no audit" in found["record_why"]


def test_answers_that_are_not_there_are_counted_and_remarks_are_shown_as_text(command, sheets, tmp_path):
    sheet = sheets / "rater-2.csv"
    answer = seen(sheet)
    fill(
        sheet,
        lambda row: (
            answer(row)
            | ({"rating_a": "", "more_biased": "same", "reason": "\x1b[31mred"} if row["item"] == "3" else {})
        ),
    )
    text = command("human", "import", str(sheet), "--key", f"{sheets}.key.json")
    assert "empty: 1 of 12 ratings, 0 of 6 choices" in text
    assert "agreement is between raters, and there is one" in text
    assert "⟨U+001B⟩[31mred" in text
    assert "\x1b" not in text


def test_nothing_in_the_folder_tells_which_release_is_which(command, sheets):
    key = json.loads((sheets.parent / "out.key.json").read_text())
    told = "".join(file.read_text(encoding="utf-8") for file in sheets.iterdir())
    for hint in ("nova", "models:/", key["salt"], key["made_at"], '"seed"', "first_is_a"):
        assert hint not in told
    assert sorted(file.name for file in sheets.iterdir()) == [
        f"rater-{n}.{kind}" for n in (1, 2, 3) for kind in ("csv", "html")
    ]
    assert {sum(one["first_is_a"]) for one in key["sheets"]} == {3}
    assert len({tuple(one["first_is_a"]) for one in key["sheets"]}) > 1
    assert oct((sheets.parent / "out.key.json").stat().st_mode)[-3:] == "600"


def test_the_same_seed_gives_the_same_sets_and_another_one_others(command, sheets, tmp_path):
    for name, seed in (("again", "0"), ("other", "1")):
        command("human", "export", *TWO, "--out", str(tmp_path / name), *FEW, "--seed", seed)
    first, again, other = (
        [row["check"] for row in rows_of(tmp_path / name / "rater-1.csv")] for name in ("out", "again", "other")
    )
    assert first == again
    assert not set(first) & set(other)
    assert rows_of(sheets / "rater-1.csv")[0]["key"] != rows_of(tmp_path / "again" / "rater-1.csv")[0]["key"]


def test_hostile_terms_are_text_on_the_page_and_are_in_no_spreadsheet(command, tmp_path):
    told = command.json(
        "human",
        "export",
        "models:/wild/1",
        "models:/wild/2",
        "--out",
        str(tmp_path / "w"),
        "--items",
        "2",
        "--personas",
        "50",
    )
    assert told["masked"] > 0
    for sheet in (tmp_path / "w").glob("*.csv"):
        for row in rows_of(sheet):
            assert [cell for cell in row.values() if cell[:1] in tuple("=+-@\t\r")] == []
    for file in (tmp_path / "w").glob("*.html"):
        text = file.read_text(encoding="utf-8")
        document = page(text)
        assert document.all("script", "img", "svg", "form", "iframe") == []
        assert {one.attributes["href"][:1] for one in document.all("a")} == {"#"}
        assert "alert(1)" in document.text
        assert "wild-" not in text.lower()
        assert "[name withheld]" in document.text


REFUSED = {
    "line 3 of rater-1.csv: rating_a is 1, 2, 3, 4 or empty, not '5'": {"rating_a": "5"},
    "line 3 of rater-1.csv: more_biased is A, B, same or empty, not 'both'": {"more_biased": "both"},
    "line 3 of rater-1.csv has the check 'ffff' which is no pair of this sheet": {"check": "ffff"},
    "rater-1.csv should have the items 1 to 6, each once, and item '5' is not so": {"item": "5"},
    "line 3 of rater-1.csv is of another key": {"key": "0" * 64},
    "rater-1.csv should have one rater from 1 to 3": {"rater": "2"},
}


@pytest.mark.parametrize(("message", "change"), REFUSED.items())
def test_a_sheet_that_was_changed_is_refused_with_its_line(command, sheets, message, change):
    sheet = sheets / "rater-1.csv"
    fill(sheet, lambda row: change if row["item"] == "2" else {})
    said = refused(command, "import", str(sheet), "--key", f"{sheets}.key.json")
    assert message in said


def test_sheets_that_nobody_filled_in_are_refused_and_one_sheet_hides_no_three(command, sheets):
    names = [str(sheets / f"rater-{number}.csv") for number in (1, 2, 3)]
    assert "no sheet has an answer" in refused(command, "import", *names)
    for name in names:
        fill(Path(name), seen(Path(name)))
    every = command.json("human", "import", *names)["record"]
    one = command.json("human", "import", names[0])["record"]
    assert one > every
    card = json.loads(command("card", TWO[0], "--protocol", "persona-brainstorm", "--format", "json"))
    assert card["human_checks"][-1]["id"] == every


def test_two_sheets_of_one_rater_a_lost_line_another_key_and_a_changed_page_are_refused(command, sheets, tmp_path):
    one, key = sheets / "rater-1.csv", sheets.parent / "out.key.json"
    copy = tmp_path / "copy.csv"
    shutil.copy(one, copy)
    assert "are both of rater 1" in refused(command, "import", str(one), str(copy))
    copy.write_text("".join(one.read_text().splitlines(keepends=True)[:-1]))
    assert "has 5 of 6 pairs" in refused(command, "import", str(copy))
    other = tmp_path / "other.json"
    other.write_text(key.read_text().replace('"first_is_a"', '"first_is_a" ', 1))
    assert "is of another key" in refused(command, "import", str(one), "--key", str(other))
    one.with_suffix(".html").write_text("<p>another pair</p>")
    assert "is not the page that was given out" in refused(command, "import", str(one))


def test_a_sheet_saved_with_semicolons_in_another_order_reads_the_same(command, sheets):
    sheet = sheets / "rater-3.csv"
    fill(sheet, seen(sheet))
    before = command.json("human", "import", str(sheet))
    rows = rows_of(sheet)[::-1]
    sheet.write_text("\ufeff" + "\r\n".join(";".join(row) for row in (rows[0].keys(), *(row.values() for row in rows))))
    assert command.json("human", "import", str(sheet)) == before


def test_what_cannot_be_exported_says_why(command, sheets, tmp_path):
    out = ("--out", str(tmp_path / "new"))
    assert "cannot be rated against itself" in refused(command, "export", TWO[0], TWO[0], *out)
    assert "take fewer --items or --personas" in refused(command, "export", *TWO, *out, "--items", "150")
    assert "--raters should be 1 to 100" in refused(command, "export", *TWO, *out, "--raters", "0")
    assert "is not an empty folder" in refused(command, "export", *TWO, "--out", str(sheets))
    assert not (tmp_path / "new").exists()
