"""An audit of persona cues on a user's own files: it goes on in another process, and needs no file once it is answered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from flows.settings import Home
from flows.workspace import opened
from tests.conftest import UNPUBLISHED
from tests.own_axis import RELIGION
from tests.stub_server import StubServer, stub_process

HEAD = 'title = "Mine"\ntask = "benefits-advice"\nversion = "1"\nreviewed = "by a test"\n'
QUESTION = '[[question]]\nid = "q{0}"\ntopic = "forms"\nreverse = false\ntext = "May form {0} be late?"\n'
TURNS = [{"role": "user", "content": "Hello, {}?"}, {"role": "assistant", "content": "Hello."}]


@pytest.fixture
def files(tmp_path):
    """Options that order an audit on files of one's own, and the files."""
    axis, questions, talks = (tmp_path / name for name in ("religion.toml", "mine.toml", "talks.jsonl"))
    axis.write_text(RELIGION)
    questions.write_text(HEAD + "".join(QUESTION.format(number) for number in range(4)))
    lines = [
        {
            "id": f"{group}-{n}",
            "persona": {"religion": group},
            "turns": [{**TURNS[0], "content": f"Hello {n}?"}, TURNS[1]],
        }
        for group in ("muslim", "jewish")
        for n in range(3)
    ]
    talks.write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = {"benefits-advice": questions, "history-human": talks}
    order = [
        "--protocol",
        "persona-cues",
        "--task",
        "benefits-advice",
        "--axis",
        str(axis),
        "--variants",
        "3",
        "--samples",
        "1",
    ]
    order += [part for name, path in given.items() for part in ("--file", f"{name}={path}")]
    for cue in ("name-user", "explicit-mention-user", "history-human"):
        order += ["--cue", cue]
    return order, (axis, questions, talks)


def calls_of(url):
    with urllib.request.urlopen(url.replace("/v1", "/calls")) as answer:
        return json.load(answer)["calls"]


@pytest.mark.slow
def test_killed_and_ordered_again_it_asks_what_is_open_and_later_needs_no_file(spiritlevel, tmp_path, files):
    order, own = files
    calls = 4 * (1 + 3 * 2 * 3)
    with stub_process(tmp_path, latency_s=0.05) as url:
        for model in ("stub-1", "stub-2"):
            spiritlevel("release", "add", "nova", "--model", model, "--base-url", url)
        command = [sys.executable, "-m", "flows.cli", "audit", "models:/nova/1", *order, "--concurrency", "2"]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
        process = subprocess.Popen([*command, "--home", str(spiritlevel.home)], env=environment)
        deadline = time.monotonic() + 60
        while calls_of(url) < calls // 3:
            assert process.poll() is None, "the audit ended before it was killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        made = spiritlevel.json("audit", "models:/nova/1", *order)
        named = {cell["persona"]: sorted(one["name"] for one in cell["used"]) for cell in made["personas"]["names"]}
        assert named["muslim"] == ["Amina", "Tariq", "Yusuf"]
        assert "nothing is held constant" in made["personas"]["notes"][0]["note"]
        assert (made["channels"]["expected"], made["channels"]["usable"]) == (calls, calls)
        assert calls <= calls_of(url) <= calls + 2
        spiritlevel("audit", "models:/nova/2", *order, code=None)
    for path in own:
        path.unlink()
    with opened(Home(spiritlevel.home)) as workspace:
        workspace.ledger.forget_readings(made["audit"])
    (spiritlevel.home / "spiritlevel.toml").write_text(UNPUBLISHED + "[policy]\nalpha = 0.01\n")
    rows = spiritlevel.json("compare", "models:/nova/1", "models:/nova/2", "--protocol", "persona-cues", code=None)
    assert {row["dimension"] for row in rows["comparisons"]} == {
        f"benefits-advice x religion, {cue}" for cue in ("name-user", "explicit-mention-user", "history-human")
    }
    card = spiritlevel("card", "nova", "--protocol", "persona-cues")
    assert all(word in card for word in ("muslim", "jewish"))


def test_failed_calls_are_asked_again_without_the_files(spiritlevel, files):
    order, own = files
    with StubServer() as server:
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url)
        server.script.default = "500"
        spiritlevel("audit", "models:/nova/1", *order, "--attempts", 1, code=None)
        for path in own:
            path.unlink()
        server.script.default = "ok"
        made = spiritlevel.json("retry", "models:/nova/1", "--failed", "--protocol", "persona-cues", code=None)
    assert made["channels"]["usable"] == made["channels"]["expected"] == 76


def test_a_word_that_was_changed_in_the_file_is_another_audit(spiritlevel, files):
    order, (axis, *_) = files
    with StubServer() as server:
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url)
        first = spiritlevel.json("audit", "models:/nova/1", *order, code=None)
        axis.write_text(RELIGION.replace('word = "Jewish"', 'word = "a Jew"'))
        again = spiritlevel.json("audit", "models:/nova/1", *order, code=None)
        silent = "\n".join(line for line in RELIGION.splitlines() if not line.startswith("first_names"))
        axis.write_text(silent)
        said = spiritlevel("audit", "models:/nova/1", *order, code=None)
    assert "not measurable: no table says which first names go with 'muslim'" in said
    assert again["audit"] != first["audit"]


def test_an_axis_file_that_is_not_right_is_one_clear_error(spiritlevel, files):
    order, (axis, *_) = files
    spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", "http://127.0.0.1:9/v1")
    axis.write_text(RELIGION.replace('name = "jewish"', 'name = "a x b"'))
    spiritlevel("plan", "models:/nova/1", *order, code=2)
    assert "no name has ' x ' in it" in spiritlevel.stderr
    axis.write_text(RELIGION.replace('name = "religion"', 'name = "gender"'))
    spiritlevel("plan", "models:/nova/1", *order, "--axis", "gender", code=2)
    assert "the axis gender is named twice" in spiritlevel.stderr
