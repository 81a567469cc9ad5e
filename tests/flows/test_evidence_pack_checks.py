"""Verifying an evidence pack: on another machine, against every change, and scored again from its answers."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.cli import exit_code
from flows.lexicons import added
from flows.packs.checking import verify_pack
from flows.packs.making import make_pack
from flows.packs.manifest import NAME, Manifest, PackFile, read_manifest
from flows.reference import release_of
from flows.settings import Home
from flows.workspace import opened
from metrics.errors import BadInputError
from tests.conftest import UNPUBLISHED
from tests.planted import CUES, MESSAGES, PERSONAS, planted_family
from tests.stub_server import StubServer

RELEASES = {PERSONAS: "models:/nova/2", MESSAGES: "models:/comet/1", CUES: "models:/comet/1"}


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    """Packs of every protocol, by protocol; names are frozen in that of personas."""
    home = tmp_path_factory.mktemp("packs") / "home"
    shutil.copytree(migrated_home, home)
    packs = {}
    with opened(Home(home)) as workspace:
        planted_family(workspace, releases=2)
        planted_family(workspace, protocols=(MESSAGES, CUES), releases=1, blessed=False, family="comet")
        for protocol, uri in RELEASES.items():
            packs[protocol] = home.parent / protocol
            make_pack(workspace, release_of(workspace, uri), packs[protocol], protocol=protocol)
    return packs


@pytest.fixture
def pack(made, tmp_path):
    """A copy of the pack of personas."""
    return Path(shutil.copytree(made[PERSONAS], tmp_path / "pack"))


def sealed_again(folder):
    """Write a manifest that fits the files as they are now: what somebody would do who changed one."""
    old, _ = read_manifest(folder)
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files = []
    for path in paths:
        content = (folder / path).read_bytes()
        if path != NAME:
            files.append(PackFile(path, len(content), hashlib.sha256(content).hexdigest()))
    new = Manifest(release=old.release, made_at=old.made_at, product=old.product, raw=old.raw, files=tuple(files))
    (folder / NAME).write_text(new.text())


def replaced(path, old, new):
    content = path.read_bytes()
    assert old.encode() in content
    path.write_bytes(content.replace(old.encode(), new.encode(), 1))


@pytest.mark.parametrize("protocol", RELEASES)
def test_the_answers_of_every_protocol_give_every_number_again(made, protocol):
    found = verify_pack(made[protocol])
    assert (found.faults, found.notes) == ((), ())
    rows = (made[protocol] / protocol / "scores.csv").read_bytes().count(b"\r\n") - 1
    assert found.scored == ((protocol, rows),)
    assert rows > 20


def test_another_process_verifies_without_home_ledger_or_network(made, tmp_path):
    (tmp_path / "empty").mkdir()
    nowhere = {"SPIRITLEVEL_HOME": str(tmp_path / "empty"), "SPIRITLEVEL_LEDGER_URL": "postgresql://127.0.0.1:9/none",
               "SPIRITLEVEL_TRACKING_URI": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}  # fmt: skip
    command = [sys.executable, "-m", "flows.cli", "evidence", "verify", str(made[PERSONAS]), "--json"]
    done = subprocess.run(command, env=os.environ | nowhere, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["ok"], answer["faults"], answer["notes"]) == (True, [], [])
    assert answer["scored"][PERSONAS] > 100
    assert list((tmp_path / "empty").iterdir()) == []


@settings(max_examples=40, deadline=None, database=None)
@given(st.data())
def test_one_changed_byte_in_any_file_is_found(made, data):
    folder = made[data.draw(st.sampled_from(sorted(made)))]
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    path = data.draw(st.sampled_from(files))
    before = path.read_bytes()
    place = data.draw(st.integers(0, len(before) - 1))
    changed = bytes([before[place] ^ data.draw(st.integers(1, 255))])
    try:
        path.write_bytes(before[:place] + changed + before[place + 1 :])
        assert exit_code(["evidence", "verify", str(folder)]) in ({1, 2} if path.name == NAME else {1})
    finally:
        path.write_bytes(before)


def test_a_file_that_is_missing_added_or_a_link_is_named(pack, tmp_path):
    (pack / "versions.json").rename(tmp_path / "versions.json")
    (pack / "versions.json").symlink_to(tmp_path / "versions.json")
    (pack / PERSONAS / "tests.csv").unlink()
    (pack / "used").mkdir()
    (pack / "used" / "more.txt").write_text("")
    found = verify_pack(pack).faults
    assert [fault.split(" is ")[0] for fault in found] == [
        "used/more.txt",
        "versions.json",
        f"{PERSONAS}/tests.csv",
    ]
    assert "added" in found[0]
    assert "link" in found[1]
    assert "missing" in found[2]


def test_a_manifest_that_names_files_elsewhere_reads_none_of_them(pack, tmp_path):
    (tmp_path / "secret").write_text("secret")
    old, _ = read_manifest(pack)
    digest = hashlib.sha256(b"secret").hexdigest()
    outside = (PackFile("../secret", 6, digest), PackFile(str(tmp_path / "secret"), 6, digest))
    new = Manifest(
        release=old.release, made_at=old.made_at, product=old.product, raw=True, files=(*old.files, *outside)
    )
    (pack / NAME).write_text(new.text())
    found = verify_pack(pack).faults
    assert len(found) == 2
    assert all("is missing" in fault for fault in found)


def test_a_number_that_was_changed_with_its_manifest_does_not_follow_from_the_answers(pack, capsys):
    path = pack / PERSONAS / "scores.csv"
    row = next(line for line in path.read_text().splitlines() if line.startswith("normalized-cramers-v-debiased,"))
    value = row.split(",")[2]
    replaced(path, row, row.replace(value, f"{float(value) / 2!r}", 1))
    sealed_again(pack)
    (fault,) = verify_pack(pack).faults
    assert f"value is {float(value) / 2!r} there, and the answers give {value}" in fault
    assert exit_code(["evidence", "verify", str(pack)]) == 1
    assert "NOT AS IT WAS: persona-brainstorm: scores.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new"), [(",very high,", ",low,"), ("gender x occupation", "gender x interest"), (",800,40,", ",800,41,")]
)
def test_a_word_or_a_size_that_was_changed_with_its_manifest_does_not_either(pack, old, new):
    replaced(pack / PERSONAS / "scores.csv", old, new)
    sealed_again(pack)
    (fault,) = verify_pack(pack).faults
    assert "persona-brainstorm: scores.csv, " in fault
    assert "and the answers give" in fault


def test_an_answer_that_was_changed_with_its_hashes_gives_other_scores(pack):
    lines = (pack / PERSONAS / "answers.jsonl").read_bytes().split(b"\n")
    empty = b'{"text": "I would rather not."}'
    old = [hashlib.sha256(line).hexdigest() for line in lines[:2]]
    (pack / PERSONAS / "answers.jsonl").write_bytes(b"\n".join([empty, empty, *lines[2:]]))
    for digest in old:
        replaced(pack / PERSONAS / "requests.jsonl", digest, hashlib.sha256(empty).hexdigest())
    sealed_again(pack)
    faults = verify_pack(pack).faults
    assert any("and the answers give" in fault for fault in faults)
    assert "more cells of scores.csv differ" in faults[-1]


def test_messages_that_were_changed_with_their_manifest_have_another_hash(made, tmp_path):
    pack = Path(shutil.copytree(made[CUES], tmp_path / "pack"))
    replaced(pack / CUES / "messages.jsonl", "Answer with Yes or No", "Answer with No or Yes")
    sealed_again(pack)
    (fault,) = verify_pack(pack).faults
    assert "of messages.jsonl: the hash is not that of the messages" in fault


def test_a_pack_that_was_scored_otherwise_is_checked_by_hash_only_and_says_which_part(pack, capsys):
    text = (pack / PERSONAS / "audit.json").read_text()
    version = json.loads(text)["scoring_parts"]["metrics"]
    replaced(pack / PERSONAS / "audit.json", f'"metrics": "{version}"', '"metrics": "1999"')
    sealed_again(pack)
    assert exit_code(["evidence", "verify", str(pack)]) == 0
    said = capsys.readouterr().out
    assert f"hashes only: the installed version scores otherwise (metrics: 1999 in the pack, {version} here)" in said
    assert "the scores follow" not in said


def test_a_pack_without_answers_is_checked_by_hash_and_says_so(pack, capsys):
    (pack / PERSONAS / "answers.jsonl").unlink()
    replaced(pack / NAME, '"raw": true', '"raw": false')
    sealed_again(pack)
    assert exit_code(["evidence", "verify", str(pack)]) == 0
    assert "so the scores were not made again" in capsys.readouterr().out


def test_a_digest_that_was_told_otherwise_is_another_pack(pack, capsys):
    digest = read_manifest(pack)[0].digest
    assert exit_code(["evidence", "verify", str(pack), "--digest", digest.upper()]) == 0
    assert exit_code(["evidence", "verify", str(pack), "--digest", "0" * 64]) == 1
    assert "it is another pack than you were told of" in capsys.readouterr().out
    with pytest.raises(BadInputError, match="at least 16"):
        verify_pack(pack, digest="")


@pytest.mark.parametrize(
    ("change", "words"),
    [(lambda path: path.unlink(), "is no evidence pack"), (lambda path: path.write_text("{"), "is not JSON"),
     (lambda path: path.write_text("[" * 200_000), "is not JSON"), (lambda path: path.write_text('{"schema": "other/1"}'), "should have the schema"),
     (lambda path: path.write_text('{"schema": "spiritlevel/evidence-pack/1", "digest": "", "files": 3}'), "is not as a manifest is written")],
)  # fmt: skip
def test_a_folder_that_is_no_pack_is_one_sentence(pack, capsys, change, words):
    change(pack / NAME)
    assert exit_code(["evidence", "verify", str(pack)]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("audit.json", '"version": 2', '"version": "x"'), ("audit.json", '"plan": {', '"plan": [], "other": {'), ("audit.json", '"state": "complete"', '"state": 7'),
     ("audit.json", '"settings": {', '"settings": {"ledger_url": 7, "judge": 3'), ("requests.jsonl", '"index": 1', '"index": 0'), ("names.json", '"version": 1', '"version": "x"')],
)  # fmt: skip
def test_a_pack_with_nonsense_in_it_is_a_fault_in_words_and_no_crash(pack, capsys, name, old, new):
    replaced(pack / PERSONAS / name, old, new)
    sealed_again(pack)
    assert exit_code(["evidence", "verify", str(pack)]) == 1
    assert "NOT AS IT WAS: persona-brainstorm: " in capsys.readouterr().out


@pytest.mark.slow
def test_what_a_judge_said_is_in_the_pack_and_scored_again(spiritlevel, home, tmp_path):
    judge = "judge-2026-01-01"
    (home / "spiritlevel.toml").write_text(f'{UNPUBLISHED}\n[judge]\nrelease = "models:/judges/1"\n')
    with StubServer(models={"stub-2": 0.95, judge: 0.0}) as server:
        spiritlevel("release", "add", "nova", "--model", "stub-2", "--base-url", server.base_url)
        spiritlevel("release", "add", "judges", "--model", judge, "--base-url", server.base_url)
        spiritlevel(
            "audit",
            "models:/nova/1",
            "--protocol",
            MESSAGES,
            "--audience",
            "gender",
            "--cells",
            8,
            "--repeats",
            1,
            code=None,
        )
    spiritlevel("evidence", "models:/nova/1", "--out", tmp_path / "pack")
    rated = tmp_path / "pack" / MESSAGES / "ratings"
    assert sorted(path.name for path in rated.iterdir()) == ["emotion-1", "formality-1"]
    found = verify_pack(tmp_path / "pack")
    assert (found.faults, found.notes) == ((), ())
    shutil.rmtree(rated / "emotion-1")
    sealed_again(tmp_path / "pack")
    assert "and there are none" in verify_pack(tmp_path / "pack").faults[0]


def test_a_lexicon_that_a_user_brought_is_in_the_pack_and_used_again(home, tmp_path):
    own = tmp_path / "own.toml"
    entries = 'high = ["lead", "build", "win", "decide", "act"]\nlow = ["hope", "wait", "change"]\n'
    own.write_text(
        f'name = "own"\ntitle = "own words"\nversion = "1"\nsource = "a test"\nlicence = "CC0"\nunit = "lemma"\n\n[classes]\n{entries}'
    )
    (home / "spiritlevel.toml").write_text(f'{UNPUBLISHED}\n[messages]\nagency = "own"\nweights = [0.5, 0.25, 0.25]\n')
    with opened(Home(home)) as workspace:
        added(workspace.home, "file", own)
        planted_family(workspace, protocols=(MESSAGES,), releases=1, blessed=False)
        make_pack(workspace, release_of(workspace, "models:/nova/1"), tmp_path / "pack")
    assert [path.name for path in (tmp_path / "pack" / MESSAGES / "used" / "own-lexicons").iterdir()] == ["own.toml"]
    found = verify_pack(tmp_path / "pack")
    assert (found.faults, found.notes) == ((), ())
    assert dict(found.scored)[MESSAGES] > 100
