"""The log file: one JSON object a line, whole from several processes, and never a secret, a prompt or an answer."""

import io
import json
import logging
import os
import subprocess
import sys

import pytest

from flows.logs import FIELDS, JsonLine, SharedFile, about, log_to, redact_all, remembered
from flows.settings import Home
from flows.workspace import opened
from tests.stub_server import StubServer

KEY = "sk" + "-proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0"


@pytest.fixture
def place(tmp_path):
    home = Home(tmp_path / "home")
    home.make()
    log_to(home)
    return home


def lines(home):
    return [json.loads(line) for line in home.log_file.read_text(encoding="utf-8").splitlines()]


def test_a_line_says_when_what_and_what_it_is_about(place):
    log = logging.getLogger("spiritlevel.test")
    with about(release="models:/nova-chat/3", audit=7), about(duty="nova-chat persona-brainstorm", run="2026-11-01"):
        log.info("audit %d began", 7)
    log.warning("nothing waits", extra={"provider": "127.0.0.1:8000"})
    first, second = lines(place)
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "info",
        "event": "audit 7 began",
        "audit": 7,
        "release": "models:/nova-chat/3",
        "duty": "nova-chat persona-brainstorm",
        "run": "2026-11-01",
        "logger": "spiritlevel.test",
        "process": os.getpid(),
    }
    assert (second["event"], second["provider"]) == ("nothing waits", "127.0.0.1:8000")
    assert not set(FIELDS) - {"provider"} & second.keys()


def test_a_line_cannot_be_about_what_nobody_knows():
    with pytest.raises(ValueError, match="a log line is about"), about(prompt="Imagine a person"):
        pass


def test_no_line_holds_a_key_wherever_it_came_from(place):
    log = logging.getLogger("flows.test")
    log.error("refused %s", KEY, extra={"run": KEY})
    try:
        raise ValueError(f"the key {KEY} is wrong")
    except ValueError:
        log.exception("it broke")
    log.error("%d", "no number")  # a mistake in a log call must not stop an audit
    text = place.log_file.read_text(encoding="utf-8")
    assert KEY not in text
    assert len(lines(place)) == 3
    assert "ValueError: the key [secret removed] is wrong" in lines(place)[1]["error"]


def test_lines_go_to_the_file_and_to_no_handler_that_a_library_gave_the_root(place):
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    logging.root.addHandler(handler)
    try:
        logging.getLogger("flows.test").warning("work begins")
    finally:
        logging.root.removeHandler(handler)
    assert (written.getvalue(), lines(place)[-1]["event"]) == ("", "work begins")


def test_other_libraries_handlers_write_no_key_either(place):
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    logger = logging.getLogger("prefect.flow_runs.test")
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.WARNING)  # whatever Prefect's own level is
    try:
        redact_all()
        logger.warning("Finished in state Failed: %s", KEY)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert written.getvalue() == "Finished in state Failed: [secret removed]\n"


def test_an_internal_error_is_remembered_with_its_traceback_and_without_keys(place):
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError(f"with {KEY}")
    assert remembered(place, caught.value)
    [line] = lines(place)
    assert (line["level"], line["event"]) == ("error", "internal error: RuntimeError")
    assert "Traceback" in line["error"]
    assert KEY not in str(line)


def test_a_log_that_cannot_be_written_stops_nothing(place):
    logging.getLogger("spiritlevel.test").info("first")
    place.log_file.unlink()
    place.log_file.mkdir()
    logging.getLogger("spiritlevel.test").info("second")
    assert not remembered(place, RuntimeError())


WRITER = """
import logging, sys
from pathlib import Path
import flows.logs as logs
logs.LARGEST_FILE = 20_000
handler = logs.SharedFile(Path(sys.argv[1]))
handler.maxBytes = 20_000
handler.backupCount = 50
handler.setFormatter(logs.JsonLine())
log = logging.getLogger("spiritlevel.test")
log.setLevel("INFO")
log.addHandler(handler)
for number in range(400):
    log.info("%s %d %s", sys.argv[2], number, "x" * 60)
"""


def test_several_processes_write_whole_lines_and_lose_none_when_the_file_is_exchanged(tmp_path):
    path = tmp_path / "spiritlevel.log"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    files = [file for file in tmp_path.iterdir() if file.suffix != ".lock"]
    assert len(files) > 2
    written = [json.loads(line)["event"] for file in files for line in file.read_text().splitlines()]
    assert sorted(event.rsplit(" ", 1)[0] for event in written) == sorted(f"{w} {n}" for w in "ab" for n in range(400))
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_containers_get_the_same_lines_on_standard_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SPIRITLEVEL_LOG", "json")
    home = Home(tmp_path / "home")
    home.make()
    log_to(home)
    logging.getLogger("spiritlevel.test").info("audit %d began", 7, extra={"audit": 7})
    assert json.loads(capsys.readouterr().err)["audit"] == 7
    monkeypatch.delenv("SPIRITLEVEL_LOG")
    log_to(home)
    logging.getLogger("spiritlevel.test").info("again")
    assert capsys.readouterr().err == ""
    assert len(lines(home)) == 2


def test_no_formatter_needs_more_than_the_record():
    record = logging.LogRecord("spiritlevel", logging.INFO, "", 0, "x", (), None)
    assert json.loads(JsonLine().format(record))["event"] == "x"
    assert issubclass(SharedFile, logging.Handler)


@pytest.mark.usefixtures("publishing")
def test_an_audit_is_logged_without_its_prompts_and_answers(spiritlevel, home):
    with StubServer() as server:
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url)
        options = ("--protocol", "persona-brainstorm", "--personas", "60")
        spiritlevel("audit", "models:/nova/1", *options, code=None)
    written = lines(Home(home))
    assert [(line["event"], line["audit"], line["release"]) for line in written if line["logger"] == "flows.collecting"] == [
        ("work begins", 1, "models:/nova/1"), ("work ends: finished", 1, "models:/nova/1")
    ]  # fmt: skip
    assert "audit 1" in " ".join(line["event"] for line in written if line["logger"] == "flows.publishing")
    with opened(Home(home)) as workspace:
        [answer, *_], [request, *_] = workspace.ledger.responses(1), workspace.ledger.requests(1)
    text = Home(home).log_file.read_text(encoding="utf-8")
    assert request.messages[-1]["content"][:40] not in text
    assert answer.text[:40] not in text
