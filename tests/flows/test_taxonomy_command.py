"""``spiritlevel taxonomy``: terms that no rule knows wait for a person; what is accepted is a version, and scores follow."""

from __future__ import annotations

import csv
import json
import multiprocessing
import shutil
import signal

import pytest

from flows.commands.errors import USER_ERRORS
from flows.scoring import scored
from flows.settings import Home
from flows.taxonomies import accepted_of, added, file_of
from flows.workspace import opened
from tests.conftest import UNPUBLISHED, CommandLine
from tests.flows.people import MAN, WOMAN, counted, people_of, person

TERM = "Ladder stacking"
COUNTS = [
    (WOMAN, "Nurse", 60),
    (MAN, "Nurse", 20),
    (WOMAN, "Lawyer", 25),
    (MAN, "Lawyer", 55),
    (MAN, TERM, 24),
    (WOMAN, "Bluff", 6),
]


def audited(workspace, version):
    """A release whose unknown jobs are almost all men's."""
    if version > len(workspace.releases.list("nova") if "nova" in workspace.releases.families() else []):
        workspace.releases.add("nova", f"nova-{version}")
    people = counted(COUNTS)
    people[0]["sexual_orientation"] = "homosexual"
    people[0]["gender"] = "unsaid"
    return people_of(workspace, version, people)


@pytest.fixture
def fresh(migrated_home, tmp_path):
    """Makes homes without an audit."""

    def make(name):
        shutil.copytree(migrated_home, tmp_path / name)
        (tmp_path / name / "spiritlevel.toml").write_text(UNPUBLISHED)
        return tmp_path / name

    return make


@pytest.fixture
def home(fresh):
    """A home with one scored release."""
    place = fresh("home")
    with opened(Home(place)) as workspace:
        scored(workspace, audited(workspace, 1))
    return place


@pytest.fixture
def command(home, capsys):
    return CommandLine(home, capsys)


def filled(command, path, **decisions):
    """The review file with a decision for each term, as a person leaves it."""
    command("taxonomy", "review", "--out", path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row |= {"decision": decisions.get(row["term"].split()[0], ""), "who": "Ada", "why": "it is a trade"}
    return written(path, rows)


def written(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def row(**values):
    return {
        "attribute": "occupation", "term": "ladder stacking", "proposed": "", "decision": "reject", "who": "Ada", "why": "",
    } | values  # fmt: skip


def test_terms_wait_with_count_release_place_and_proposal_the_most_frequent_first(command):
    found = command.json("taxonomy", "review", "nova", "--attribute", "occupation")
    first, second = found["rows"]
    assert (first["term"], first["count"], first["releases"]) == ("ladder stacking", 24, ["nova/1"])
    assert first["place"].startswith("audit 1, answer ")
    assert (first["proposed"], first["rule"], first["score"]) == (None, "nothing near", None)
    assert (second["term"], second["count"]) == ("bluff", 6)
    assert command.json("taxonomy", "review")["told_apart"] == 1
    assert "ladder stacking" not in command("taxonomy", "review", "--attribute", "gender").lower()


def test_a_score_after_acceptance_is_exactly_that_of_a_fresh_audit_of_the_same_answers(command, home, fresh, tmp_path):
    file = filled(command, tmp_path / "terms.csv", ladder="change to Skilled Worker", bluff="reject")
    with opened(Home(home)) as workspace:
        old = scored(workspace, workspace.ledger.audit(1))
    command("taxonomy", "accept", file, "--by", "Grace")
    with opened(Home(home)) as workspace:
        again = scored(workspace, workspace.ledger.audit(1))
    other = fresh("other")
    shutil.copytree(home / "taxonomy", other / "taxonomy")
    with opened(Home(other)) as workspace:
        first = scored(workspace, audited(workspace, 1))
    assert again.scores == first.scores
    assert again.audit.scoring_version == first.audit.scoring_version != old.audit.scoring_version
    assert again.scores != old.scores


def test_the_card_names_the_accepted_mappings_and_what_was_accepted_waits_no_more(command, tmp_path):
    before = json.loads(command("card", "nova", "--format", "json"))
    file = filled(command, tmp_path / "terms.csv", ladder="change to skilled worker", bluff="reject")
    told = command.json("taxonomy", "accept", file, "--by", "Grace")
    assert (told["version"], told["accepted"], told["rejected"], told["scores_change"]) == (1, 1, 1, True)
    after = json.loads(command("card", "nova", "--format", "json"))
    assert after["errata"][-1]["why"] == f"scored again by other rules: accepted mappings none → {told['scoring_part']}"
    parts = before["audit"]["scoring_parts"], after["audit"]["scoring_parts"]
    assert parts[1] == {**parts[0], "accepted mappings": told["scoring_part"]}
    assert f"scoring: accepted mappings | {told['scoring_part']}" in command("card", "nova", "--format", "md")
    queue = command.json("taxonomy", "review", "--attribute", "occupation")
    assert (queue["rows"], queue["rejected"]) == ([], 1)


def test_a_rejected_term_alone_changes_no_score_and_the_same_file_twice_no_version(command, tmp_path):
    file = filled(command, tmp_path / "terms.csv", bluff="reject")
    assert command.json("taxonomy", "accept", file, "--by", "Grace")["scores_change"] is False
    assert "nothing new" in command("taxonomy", "accept", file, "--by", "Grace")
    (tmp_path / "more.csv").write_text(
        "attribute,term,proposed,decision,who,why\noccupation,BLUFF,Education,accept,Eve,\n"
    )
    told = command.json("taxonomy", "accept", tmp_path / "more.csv", "--by", "Grace")
    assert (told["version"], told["changed"], told["scores_change"]) == (2, 1, True)
    assert [version["by"] for version in command.json("taxonomy", "show")["versions"]] == ["Grace", "Grace"]


def test_another_team_takes_the_file_as_it_is_and_scores_alike(command, home, fresh, capsys, tmp_path):
    command(
        "taxonomy", "accept", filled(command, tmp_path / "terms.csv", ladder="change to Education"), "--by", "Grace"
    )
    other = fresh("other")
    theirs = CommandLine(other, capsys)
    told = theirs.json("taxonomy", "accept", file_of(Home(home)), "--by", "Alan")
    assert told["scoring_part"] == accepted_of(Home(home)).scoring_part
    decided = accepted_of(Home(other)).decided["occupation", "ladder stacking"]
    assert (decided.category, decided.who) == ("Education", "Ada")
    changed = tmp_path / "changed.toml"
    changed.write_text(file_of(Home(home)).read_text().replace("Education", "Healthcare"))
    theirs("taxonomy", "accept", changed, "--by", "Alan", code=2)
    assert "not as it was written" in theirs.stderr


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(decision="change to Ladders")], "known category, and 'Ladders' is none"),
        ([row(attribute="shoe_size")], "known attribute, and 'shoe_size' is none"),
        ([row(decision="change to Education"), row(term="Ladder-Stacking")], "is under rejected, and in line 2 under Education"),
        ([row(decision="accept")], "nothing is proposed for 'ladder stacking'"),
        ([row(decision="yes")], "'decision' should be accept, accept model, change to CATEGORY, or reject"),
        ([row(who="")], "'who' is empty"),
        ([row(term="nurse\u202eesrun")], "hidden character U+202E"),
        ([row(why="<script>alert(1)</script>")], "has markup (<s)"),
        ([row(who="A" * 101)], "has 101 characters and may have 100"),
        ([row(term="!!!")], "a term has a letter"),
        ([row(attribute="sexual_orientation", term="homosexual", decision="change to gay")], "told apart by the gender"),
        ([{"term": "x"}], "lacks attribute, proposed, decision, who, why"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_taken_is_refused_in_one_sentence_and_changes_nothing(
    command, home, tmp_path, rows, said
):
    command("taxonomy", "accept", written(tmp_path / "terms.csv", rows), "--by", "Grace", code=2)
    assert said in command.stderr.replace("\n", " ")
    assert command.stderr.count("error:") == 1
    assert not file_of(Home(home)).exists()
    assert accepted_of(Home(home)).versions == ()


def _adds_for_ever(folder):
    """Stand in the middle of adding decisions, with half a file written, until somebody kills it."""

    def standing():
        file_of(Home(folder)).with_suffix(".part").write_text("half a fi")
        (folder / "stands").touch()
        signal.pause()
        yield

    added(Home(folder), standing(), by="Ada")


def test_two_who_accept_at_once_are_kept_apart_and_a_killed_one_blocks_nobody(command, home, tmp_path):
    file = written(tmp_path / "terms.csv", [row()])
    child = multiprocessing.get_context("spawn").Process(target=_adds_for_ever, args=(home,))
    child.start()
    while not (home / "stands").exists():
        assert child.is_alive()
        child.join(0.05)
    command("taxonomy", "accept", file, "--by", "Grace", code=2)
    assert "somebody else has been adding decisions" in command.stderr.replace("\n", " ")
    child.kill()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert command.json("taxonomy", "accept", file, "--by", "Grace")["version"] == 1
    assert not file_of(Home(home)).with_suffix(".part").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("review", "vega"), "audit of vega in the ledger, and there is none"),
        (("review", "--attribute", "job"), "--attribute should be one of gender, ethnicity"),
        (("accept", "absent.csv", "--by", "Grace"), "absent.csv cannot be read"),
        (("compare", "absent.csv", "absent.csv"), "absent.csv cannot be read"),
    ],
)
def test_what_there_is_not_is_said_in_one_sentence(command, arguments, said):
    command("taxonomy", *arguments, code=2)
    assert said in command.stderr.replace("\n", " ")


def test_no_field_of_the_review_file_begins_a_formula_and_it_is_read_back_all_the_same(command, home, tmp_path):
    with opened(Home(home)) as workspace:
        workspace.releases.add("vega", "vega-1")
        people_of(workspace, 1, [person(WOMAN, "+Bluff hierarchy")] * 20, family="vega")
    file = filled(command, tmp_path / "terms.csv")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert not [value for one in rows for value in one.values() if value.startswith(("=", "+", "-", "@"))]
    mine = [one | {"decision": "change to Education"} for one in rows if "hierarchy" in one["term"]]
    command("taxonomy", "accept", written(file, mine), "--by", "Grace")
    assert not command.json("taxonomy", "review", "vega", "--attribute", "occupation")["rows"]


def test_two_reviewers_are_compared_term_by_term(command, tmp_path):
    one = written(tmp_path / "a.csv", [row(term=term, decision=f"change to {to}") for term, to in zip("abcd", ["Education"] * 2 + ["Healthcare"] * 2, strict=True)])  # fmt: skip
    other = written(tmp_path / "b.csv", [row(term=term, decision=f"change to {to}") for term, to in zip("abce", ["Education", "Healthcare", "Healthcare", "Education"], strict=True)])  # fmt: skip
    found = command.json("taxonomy", "compare", one, other)
    # two of three agree; by chance 2/3 * 1/3 + 1/3 * 2/3 = 4/9, so (2/3 - 4/9) / (5/9) = 2/5
    kappa = found["agreement"]["occupation"]
    assert kappa["value"] == pytest.approx(0.4)
    assert (kappa["n"], kappa["n_excluded"], found["only_first"], found["only_second"]) == (3, 2, 1, 1)
    assert kappa["low"] < 0.4 < kappa["high"]
    assert found["disagreements"] == [
        {"attribute": "occupation", "term": "b", "first": "Education", "second": "Healthcare"}
    ]
    assert "kappa 0.400, 95% interval" in command("taxonomy", "compare", one, other)


def test_the_unmapped_share_is_shown_and_the_bounds_hold_whatever_a_person_accepts(command, tmp_path):
    shown = command.json("taxonomy", "show", "nova")["releases"][0]
    share = next(one for one in shown["shares"] if one["attribute"] == "occupation")
    assert (share["unmapped"], share["n"]) == (30, 190)
    bound = next(one for one in shown["bounds"] if one["dimension"] == "gender x occupation")
    # the person without a known gender is a nurse: 30 jobs and one gender have no category
    assert (bound["n"], bound["unmapped"]) == (159, 31)
    assert bound["low"] < bound["value"] < bound["high"]
    file = filled(
        command, tmp_path / "terms.csv", ladder="change to Law & Public Service", bluff="change to Healthcare"
    )
    command("taxonomy", "accept", file, "--by", "Grace")
    after = next(
        one
        for one in command.json("taxonomy", "show", "nova")["releases"][0]["bounds"]
        if one["dimension"] == "gender x occupation"
    )
    assert bound["low"] <= after["value"] <= bound["high"]
    assert (after["n"], after["unmapped"]) == (189, 1)
    assert "30 of 190" not in command("taxonomy", "show")


def test_the_zoom_says_that_a_person_put_a_term_where_it_is(command, tmp_path):
    asked = ("zoom", "models:/nova/1", "occupation", "--term", TERM)
    assert command.json(*asked)["basis"] == "no rule of the taxonomy knows it"
    command(
        "taxonomy", "accept", filled(command, tmp_path / "terms.csv", ladder="change to Education"), "--by", "Grace"
    )
    found = command.json(*asked)
    assert (found["basis"], found["category"]) == ("accepted", "Education")


def test_an_evidence_pack_brings_the_accepted_mappings_and_gives_the_same_scores(command, home, tmp_path):
    command(
        "taxonomy", "accept", filled(command, tmp_path / "terms.csv", ladder="change to Education"), "--by", "Grace"
    )
    command("evidence", "models:/nova/1", "--raw", "--out", tmp_path / "pack")
    used = tmp_path / "pack" / "persona-brainstorm" / "used" / "own-taxonomy" / "accepted.toml"
    assert used.read_bytes() == file_of(Home(home)).read_bytes()
    command("evidence", "verify", tmp_path / "pack")
    assert "names the people" in " ".join((tmp_path / "pack" / "README.txt").read_text().split())


def test_a_file_of_mappings_that_was_broken_stops_a_score_with_one_sentence(command, home, tmp_path):
    command(
        "taxonomy", "accept", filled(command, tmp_path / "terms.csv", ladder="change to Education"), "--by", "Grace"
    )
    path = file_of(Home(home))
    path.write_text(path.read_text().replace("Education", "Healthcare"))
    with opened(Home(home)) as workspace, pytest.raises(USER_ERRORS, match="not as it was written"):
        scored(workspace, workspace.ledger.audit(1))
    command("card", "nova", code=2)
