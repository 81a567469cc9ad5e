"""Folders that a process puts things together in: gone when it ends, and when it is killed gone with the next one."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from flows.bundles.making import make_bundle
from flows.bundles.reading import opened_bundle
from flows.packs.checking import verify_pack
from flows.packs.making import make_pack
from flows.settings import Home
from flows.staging import refuse_place, temporary_folder
from flows.workspace import opened
from metrics.errors import BadInputError
from tests.conftest import UNPUBLISHED
from tests.flows.audited import audit_of, texts_of


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    """A folder with the bundle ``a.zip`` and the evidence pack ``pack`` of one release."""
    place = tmp_path_factory.mktemp("made")
    shutil.copytree(migrated_home, place / "home")
    (place / "home" / "spiritlevel.toml").write_text(UNPUBLISHED)
    with opened(Home(place / "home")) as workspace:
        audit = audit_of(workspace, 1, texts_of(bias=0.5, seed="x", calls=5))
        make_bundle(workspace, audit, place / "a.zip")
        make_pack(workspace, audit.release, place / "pack")
    return place


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary folders."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def _opens(place, temporary):
    tempfile.tempdir = temporary
    with opened_bundle(Path(place) / "a.zip"):
        signal.pause()


def _verifies(place, temporary):
    tempfile.tempdir = temporary
    while True:
        verify_pack(Path(place) / "pack")


@pytest.mark.parametrize(
    ("begun", "again"),
    [
        (_opens, lambda place: opened_bundle(place / "a.zip").__enter__()),
        (_verifies, lambda place: verify_pack(place / "pack")),
    ],
    ids=["bundle", "pack"],
)
def test_what_a_killed_verification_leaves_is_taken_away_by_the_next_one(made, temporary, begun, again):
    child = multiprocessing.get_context("spawn").Process(target=begun, args=(str(made), str(temporary)))
    child.start()
    while not list(temporary.glob("*/*")):
        assert child.is_alive()
        child.join(0.05)
    child.kill()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    (left,) = temporary.iterdir()
    again(made)
    assert not left.exists()


def test_a_folder_of_a_process_that_lives_and_one_of_another_kind_are_left_alone(temporary):
    (temporary / "spiritlevel-bundle-mine").mkdir()
    with temporary_folder("bundle") as one, temporary_folder("bundle") as other, temporary_folder("verify"):
        assert one != other
        assert one.is_dir()
        assert len(list(temporary.iterdir())) == 4
    assert [path.name for path in temporary.iterdir()] == ["spiritlevel-bundle-mine"]


def test_no_place_for_a_temporary_folder_is_one_sentence(temporary):
    temporary.rmdir()
    with (
        pytest.raises(BadInputError, match="no temporary folder can be made: No such file"),
        temporary_folder("bundle"),
    ):
        pass


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_something_that_is_there_is_refused_by_its_own_sentence(tmp_path, kind):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").touch()
    (tmp_path / "file").touch()
    words = {"file": "is there already, and is never written over", "folder": "is not empty, and what is written"}
    with pytest.raises(BadInputError, match=f"^{tmp_path / kind} {words[kind]}"):
        refuse_place(tmp_path / kind, kind)
