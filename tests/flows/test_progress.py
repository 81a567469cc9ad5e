"""How far a long step is, on standard error: of messages that are measured, how many and how long still."""

from __future__ import annotations

import json

from flows.commands import progress
from flows.commands.progress import counted

IMPORT = ("--protocol", "targeted-messages", "--group", "gender", "--cell", "topic")


def letters(path, count):
    rows = ({"text": "You can win this.", "gender": "FM"[i % 2], "topic": i // 2} for i in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_an_import_counts_the_messages_that_it_measures_and_prints_only_its_result(spiritlevel, tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "_SILENT_S", 0.0)
    spiritlevel("release", "add", "nova", "--model", "nova-1")
    table = letters(tmp_path / "letters.jsonl", 40)
    made = spiritlevel.json("import", "models:/nova/1", table, *IMPORT, code=None)
    assert made["channels"]["usable"] == 40
    assert "models:/nova/1: 40 of 40 messages measured, " in spiritlevel.stderr
    spiritlevel("import", "models:/nova/1", table, *IMPORT, code=None)  # the same audit: nothing is measured
    assert "measured" not in spiritlevel.stderr


def test_what_is_soon_done_has_no_line_and_what_is_not_has_one_now_and_then_and_one_at_the_end(capsys, monkeypatch):
    with counted("nova", "messages measured") as soon:
        for done in (0, 5, 10):
            soon(done, 10)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "_SILENT_S", 0.0)
    with counted("nova", "messages measured") as long:
        for done in (0, 4, 8, 2500):
            long(done, 2500)
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("nova: 4 of 2,500 messages measured, ")
    assert first.endswith(" left")
    assert last.startswith("nova: 2,500 of 2,500 messages measured, ")
