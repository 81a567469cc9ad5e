"""Bundles: the same audit is the same bundle, nothing of it is lost, and nothing is half written."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import shutil
import signal
import tracemalloc

import pytest

from flows.bundles.checking import refuse_misfit
from flows.bundles.making import make_bundle
from flows.bundles.reading import opened_bundle
from flows.bundles.writing import placed
from flows.packs.answers import read_answers, read_asked
from flows.settings import Home
from flows.workspace import opened
from registry.ledger.bundles import lines_of
from tests.flows.audited import audit_of
from tests.flows.recording import recorded
from tests.planted import CUES, MESSAGES, PERSONAS, planted_family

RELEASES = {PERSONAS: "models:/nova/2", MESSAGES: "models:/comet/1", CUES: "models:/comet/1"}


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    """A home with two releases under personas, and one of another family under both other protocols."""
    home = tmp_path_factory.mktemp("bundles") / "home"
    shutil.copytree(migrated_home, home)
    with opened(Home(home)) as workspace:
        planted_family(workspace, releases=2, blessed=False)
        planted_family(workspace, protocols=(MESSAGES, CUES), releases=1, blessed=False, family="comet")
    return home


@pytest.fixture
def planted_home(home, made):
    """The command line's home is a copy of that one."""
    shutil.rmtree(home)
    shutil.copytree(made, home)
    return home


def newest(workspace, uri, protocol):
    family, version = uri.removeprefix("models:/").split("/")
    return workspace.ledger.audits(family=family, version=int(version), protocol=protocol)[-1]


@pytest.mark.parametrize("protocol", RELEASES)
def test_a_bundle_holds_every_request_and_every_answer_as_the_ledger_has_them(planted_home, tmp_path, protocol):
    with opened(Home(planted_home)) as workspace:
        audit = newest(workspace, RELEASES[protocol], protocol)
        make_bundle(workspace, audit, tmp_path / "a.zip")
        asked, given = list(workspace.ledger.sealed(audit.id)), workspace.ledger.responses(audit.id)
    with opened_bundle(tmp_path / "a.zip") as bundle:
        assert refuse_misfit(bundle) == audit.plan
        packed = [(request, digest) for request, digest, _, _ in read_asked(bundle.folder)]
        assert list(lines_of(read_answers(bundle.folder))) == list(lines_of(given)) != []
    assert packed == [(one.request, one.messages) for one in asked]


def test_the_same_audit_is_the_same_file_and_the_folder_has_the_same_address(spiritlevel, planted_home, tmp_path):
    said = [spiritlevel.json("bundle", "export", "models:/nova/2", tmp_path / name) for name in ("a.zip", "b.zip", "c")]
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert len({one["address"] for one in said}) == 1
    other = spiritlevel.json("bundle", "export", "models:/nova/2", tmp_path / "d.zip", "--license", "CC0-1.0")
    assert other["address"] != said[0]["address"]


def test_a_manifest_says_what_was_asked_who_answered_and_under_which_licence(spiritlevel, planted_home, tmp_path):
    (tmp_path / "about.txt").write_text("Asked by team A on its own account.\n")
    options = ("--license", "cc-by-4.0", "--provenance", tmp_path / "about.txt")
    said = spiritlevel.json("bundle", "export", "models:/nova/2", tmp_path / "a.zip", *options)
    checked = spiritlevel.json("bundle", "verify", tmp_path / "a.zip", "--address", said["address"][:20])
    assert checked == said | {"bundle": str(tmp_path / "a.zip"), "ok": True}
    assert (checked["license"], checked["provenance"]) == ("CC-BY-4.0", "Asked by team A on its own account.")
    with opened(Home(planted_home)) as workspace:
        audit = newest(workspace, "models:/nova/2", PERSONAS)
        n = len(workspace.ledger.responses(audit.id))
    assert checked["collection_key"] == audit.plan.collection_key
    assert checked["counts"]["answers"] == n == sum(one["answers"] for one in checked["served"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("models:/nova/9", "x.zip"), "nova"), (("models:/nova/2", "x.zip", "--license", "mine"), "SPDX expression"),
     (("models:/nova/2", "x.zip", "--audit", "3"), "name that release"), (("models:/nova/2", "x.zip", "--audit", "77"), "no audit 77"),
     (("models:/nova/2", "no/where/x.zip"), "there is no folder"), (("models:/nova/2", "x.zip", "--protocol", MESSAGES), "targeted-messages"),
     (("models:/comet/1", "x.zip"), "--protocol")],
)  # fmt: skip
def test_what_cannot_be_exported_is_one_sentence_and_leaves_nothing(spiritlevel, planted_home, tmp_path, monkeypatch, arguments, words):  # fmt: skip
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    spiritlevel("bundle", "export", *arguments, code=2)
    assert words in spiritlevel.stderr
    assert len(spiritlevel.stderr.strip().splitlines()) == 1
    assert list((tmp_path / "here").iterdir()) == []


def test_a_bundle_is_never_written_over_something_else(spiritlevel, planted_home, tmp_path):
    (tmp_path / "a.zip").write_text("mine")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("mine")
    for name in ("a.zip", "a"):
        spiritlevel("bundle", "export", "models:/nova/2", tmp_path / name, code=2)
    assert (tmp_path / "a.zip").read_text() == (tmp_path / "a" / "x").read_text() == "mine"


def _die_while_writing(place):
    with placed(place) as writer:
        writer.text("manifest.json", "half")
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("name", ["a.zip", "a"])
def test_a_killed_export_leaves_no_bundle_and_the_next_one_takes_its_rest_away(planted_home, tmp_path, name):
    (tmp_path / "out").mkdir()
    child = multiprocessing.get_context("spawn").Process(target=_die_while_writing, args=(tmp_path / "out" / name,))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert not (tmp_path / "out" / name).exists()
    with opened(Home(planted_home)) as workspace:
        make_bundle(workspace, newest(workspace, "models:/nova/2", PERSONAS), tmp_path / "out" / name)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]


def test_answers_are_written_and_read_one_by_one_and_never_held_together(home, tmp_path):
    with opened(Home(home)) as workspace:
        audit = recorded(home, "nova", [f"{n} {'x' * 20_000}" for n in range(1_500)])
        tracemalloc.start()
        make_bundle(workspace, audit, tmp_path / "a.zip")
        with opened_bundle(tmp_path / "a.zip") as bundle:
            refuse_misfit(bundle)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert bundle.manifest.counts.answers == 1_500
    assert sum(one.bytes for one in bundle.manifest.files) > 30_000_000 > 2 * peak


def test_neither_a_key_nor_an_address_of_an_endpoint_is_in_a_bundle(home, tmp_path):
    with opened(Home(home)) as workspace:
        audit = audit_of(workspace, 1, ["one"])
        secret = dataclasses.replace(audit.release, base_url="http://inner.example:8000/v1", api_key_env="TEAM_KEY")
        audit = dataclasses.replace(audit, release=secret)
        manifest = make_bundle(workspace, audit, tmp_path / "a", provenance="by team A")
    text = "".join(path.read_text() for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert manifest.release.provider is None
    assert not any(word in text for word in ("inner.example", "TEAM_KEY"))
    assert json.loads((tmp_path / "a" / "manifest.json").read_text())["provenance"] == "by team A"
