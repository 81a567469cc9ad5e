"""What the service says on the terminal: each sentence when it begins to hold, not with every look."""

from __future__ import annotations

import uuid

import pytest

from flows.service import Clock, Once
from flows.settings import Home
from tests.conftest import _OWN
from tests.mlflow_server import free_port
from tests.waiting_ledger import copied

LOOKS = 3


@pytest.fixture
def home(waiting_template, tmp_path, monkeypatch):
    for name in _OWN:
        monkeypatch.delenv(name, raising=False)
    family = f"nova-{uuid.uuid4().hex[:8]}"
    place = copied(waiting_template, tmp_path / "home", family)
    audits = "[{protocol: persona-brainstorm, every: 7d}]"
    (place / "spiritlevel.yaml").write_text(f"families: {{{family}: {{audits: {audits}}}}}\n")
    return Home(place)


def test_trouble_that_lasts_is_told_once_and_so_is_its_end(home, monkeypatch):
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", f"http://127.0.0.1:{free_port()}")
    told: list[str] = []
    clock = Clock(home, None, told.append)

    def looks(number):
        for _ in range(number):
            assert clock.has_looked.wait(60)
            clock.has_looked.clear()
            clock.bell.set()

    with clock.running():
        looks(LOOKS)
        assert len(told) == len(set(told))
        away = [text for text in told if "results wait in the ledger" in text]
        assert len(away) == 1, told
        monkeypatch.delenv("SPIRITLEVEL_TRACKING_URI")
        monkeypatch.delenv("MLFLOW_TRACKING_URI")
        before = len(told)
        looks(LOOKS)
    assert told[before:].count("the trouble is over") == 1, told


def test_a_sentence_is_told_again_after_a_round_without_it():
    told: list[str] = []
    once = Once(told.append)
    for said in (["a", "a", "b"], ["a"], [], ["a"]):
        for text in said:
            once(text)
        once.next_round()
    assert told == ["a", "b", "a"]
