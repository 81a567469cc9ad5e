"""Evidence packs: one folder about a release, the same from the same ledger, whole or not there at all."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.packs.answers import write_answers
from flows.packs.writing import PackWriter, staged
from flows.settings import Home
from flows.staging import file_name
from flows.workspace import opened
from metrics.errors import BadInputError
from registry.audits.plan import content_hash
from tests.flows.recording import recorded
from tests.planted import CUES, MESSAGES, PERSONAS, planted_family
from tests.stub_personas import persona

MARK = "Quibble"


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    """A home with two releases under personas, and one of another family under both other protocols."""
    home = tmp_path_factory.mktemp("packs") / "home"
    shutil.copytree(migrated_home, home)
    with opened(Home(home)) as workspace:
        planted_family(workspace, releases=2)
        planted_family(workspace, protocols=(MESSAGES, CUES), releases=1, blessed=False, family="comet")
    return home


@pytest.fixture
def planted_home(home, made):
    """The command line's home is a copy of that one."""
    shutil.rmtree(home)
    shutil.copytree(made, home)
    return home


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lines_of(path):
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def test_a_process_that_did_nothing_else_packs_every_protocol_of_a_release(planted_home, tmp_path):
    command = [sys.executable, "-m", "flows.cli", "evidence", "models:/comet/1", "--out", str(tmp_path / "pack")]
    done = subprocess.run([*command, "--home", str(planted_home)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert {*json.loads((tmp_path / "pack" / "versions.json").read_text())["protocols"]} == {MESSAGES, CUES}


def test_a_pack_holds_what_an_auditor_needs_of_every_protocol_of_a_release(spiritlevel, planted_home, tmp_path):
    spiritlevel("evidence", "models:/comet/1", "--out", tmp_path / "pack")
    files = files_of(tmp_path / "pack")
    every = {"card.html", "card.md", "card.json", "scores.csv", "comparisons.csv", "tests.csv", "audit.json", "names.json",
             "messages.jsonl", "requests.jsonl", "answers.jsonl"}  # fmt: skip
    assert {f"{protocol}/{name}" for protocol in (MESSAGES, CUES) for name in every} <= set(files)
    assert {f"{MESSAGES}/used/lexicons/agency.toml", f"{CUES}/used/rubrics/stance.toml", "README.txt"} <= set(files)
    versions = json.loads(files["versions.json"])
    assert set(versions["protocols"]) == {MESSAGES, CUES}
    assert {"numpy", "pandas"} <= set(versions["libraries"])


def test_tables_hold_every_score_and_every_row_of_every_comparison(spiritlevel, planted_home, tmp_path):
    spiritlevel("evidence", "models:/nova/2", "--out", tmp_path / "pack")
    with opened(Home(planted_home)) as workspace:
        audit = workspace.ledger.audits(family="nova", version=2)[-1]
        scores, comparisons = workspace.ledger.scores(audit.id), workspace.ledger.comparisons(current=audit.id)
    folder = tmp_path / "pack" / PERSONAS
    with (folder / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["metric"], row["value"]) for row in rows] == [
        (one.metric, "" if one.value is None else repr(one.value)) for one in scores
    ]
    with (folder / "comparisons.csv").open(newline="") as file:
        verdicts = [row["verdict"] for row in csv.DictReader(file)]
    assert verdicts == [row.verdict for one in comparisons for row in one.rows] != []


def test_what_was_sent_and_what_came_back_is_there_word_for_word(spiritlevel, planted_home, tmp_path):
    spiritlevel("evidence", "models:/comet/1", "--protocol", CUES, "--out", tmp_path / "pack")
    folder = tmp_path / "pack" / CUES
    sent = {one["hash"]: one["messages"] for one in lines_of(folder / "messages.jsonl")}
    asked = lines_of(folder / "requests.jsonl")
    texts = [one["text"] for one in lines_of(folder / "answers.jsonl")]
    with opened(Home(planted_home)) as workspace:
        audit = workspace.ledger.audits(family="comet", protocol=CUES)[-1]
        requests, responses = workspace.ledger.requests(audit.id), workspace.ledger.responses(audit.id)
    assert [sent[one["messages"]] for one in asked] == [list(request.messages) for request in requests]
    assert all(content_hash(messages) == digest for digest, messages in sent.items())
    assert texts == [response.text for response in responses]


def test_the_same_ledger_gives_the_same_bytes_but_for_the_time_in_the_manifest(spiritlevel, planted_home, tmp_path):
    for name in ("one", "two"):
        spiritlevel("evidence", "models:/nova/2", "--out", tmp_path / name)
    one, two = (files_of(tmp_path / name) for name in ("one", "two"))
    manifests = [json.loads(files.pop("manifest.json")) for files in (one, two)]
    assert one == two
    different = {key for key in manifests[0] if manifests[0][key] != manifests[1][key]}
    assert different == {"made_at", "digest"}


def test_without_raw_answers_no_word_of_an_answer_is_in_the_pack(spiritlevel, home, tmp_path):
    draw, jobs = random.Random(1), (f"{MARK} banana", f"{MARK} nurse")
    calls = [[persona(draw, 0.5) | {"occupation": jobs[n % 2]} for n in range(20)] for _ in range(4)]
    for version in (1, 2):
        recorded(home, "nova", [json.dumps(people) for people in calls], version=version)
    for name, options in {"with": (), "without": ("--no-raw",)}.items():
        spiritlevel("evidence", "models:/nova/2", "--out", tmp_path / name, *options)
    held, bare = (
        {path for path, text in files_of(tmp_path / name).items() if MARK.lower() in text.decode().lower()}
        for name in ("with", "without")
    )
    assert {f"{PERSONAS}/answers.jsonl", f"{PERSONAS}/card.md"} <= held
    assert bare == set()
    one, other = (lines_of(tmp_path / name / PERSONAS / "requests.jsonl") for name in ("with", "without"))
    assert one == other


@pytest.mark.parametrize(
    ("prepare", "words"),
    [(lambda path: (path.mkdir(), (path / "x").write_text("")), "is not empty"), (lambda path: path.write_text(""), "is a file or a link"),
     (lambda path: path.symlink_to(path.parent), "is a file or a link")],
)  # fmt: skip
def test_a_pack_is_never_written_over_or_into_something_else(spiritlevel, planted_home, tmp_path, prepare, words):
    prepare(tmp_path / "pack")
    before = sorted(path.name for path in tmp_path.iterdir())
    spiritlevel("evidence", "models:/nova/2", "--out", tmp_path / "pack", code=2)
    assert words in spiritlevel.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("models:/nova/9",), "nova"), (("models:/nova/2", "--protocol", MESSAGES), "has no finished targeted-messages audit"),
     (("models:/nova/2", "folder"), "with --out"), (("models:/nova/2", "--digest", "0" * 64), "--digest is for verifying")],
)  # fmt: skip
def test_what_cannot_be_packed_is_one_sentence(spiritlevel, planted_home, tmp_path, arguments, words):
    out = () if "folder" in arguments else ("--out", tmp_path / "pack")
    spiritlevel("evidence", *arguments, *out, code=2)
    assert words in spiritlevel.stderr
    assert not (tmp_path / "pack").exists()


def _die_while_writing(folder):
    with staged(folder) as writer:
        writer.text("scores.csv", "half")
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_leaves_no_pack_and_the_next_one_takes_its_rest_away(tmp_path):
    child = multiprocessing.get_context("spawn").Process(target=_die_while_writing, args=(tmp_path / "pack",))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert not (tmp_path / "pack").exists()
    (left,) = tmp_path.iterdir()
    with pytest.raises(ValueError, match="without a manifest"), staged(tmp_path / "pack"):
        assert left not in tmp_path.iterdir()
    assert list(tmp_path.iterdir()) == []


def test_answers_are_written_one_by_one_and_never_held_together(home, tmp_path):
    with opened(Home(home)) as workspace:
        text = "x" * 20_000
        audit = recorded(home, "nova", [f"{n} {text}" for n in range(1_500)])
        (tmp_path / "pack").mkdir()
        tracemalloc.start()
        served = write_answers(PackWriter(tmp_path / "pack"), "a", workspace.ledger.sealed(audit.id), raw=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert served.answers == 1_500
    assert (tmp_path / "pack" / "a" / "answers.jsonl").stat().st_size > 30_000_000 > 2 * peak


@settings(deadline=None, database=None)
@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_no_name_leads_out_of_its_folder_and_different_names_stay_different(one, other):
    made = file_name(one)
    assert made not in {"", ".", ".."}
    assert not set(made) & set("/\\\0:")
    assert not made.startswith(".")
    assert len(made) < 120
    assert (made == file_name(other)) == (one == other)
    assert file_name(made) == made


def test_a_path_that_leads_outside_is_refused_by_the_writer(tmp_path):
    writer = PackWriter(tmp_path)
    for path in ("../x", "/etc/x", "a/../x", ".x", "a//b", "a\\b"):
        with pytest.raises(ValueError, match="no new path of a pack"):
            writer.text(path, "")
    writer.text("a/b", "")
    with pytest.raises(ValueError, match="no new path of a pack"):
        writer.text("a/b", "again")


def test_a_full_disk_or_a_folder_that_is_gone_is_one_sentence(tmp_path):
    with pytest.raises(BadInputError, match="there is no folder"), staged(tmp_path / "none" / "pack"):
        pass
