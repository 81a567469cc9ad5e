"""Bad input, help, the home folder, and what is left outside it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from flows.cli import exit_code

ROOT = Path(__file__).parents[2]
COMMANDS = ("demo", "init", "audit", "compare", "card", "import", "export", "retry", "serve", "status", "ui")


@pytest.mark.parametrize(
    "command", [*([name] for name in COMMANDS), ["release", "add"], ["release", "list"], ["release", "show"]]
)
def test_every_command_explains_itself_with_an_example(command, capsys):
    assert exit_code([*command, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Examples?: spiritlevel " + " ".join(command), text)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("audit", "models:/nova/9", "--protocol", "persona-brainstorm"), "nova"),
        (("audit", "nonsense", "--protocol", "persona-brainstorm"), "family/3"),
        (("compare", "models:/a/1", "models:/a/2"), "a"),
        (("card", "nowhere"), "nowhere"),
        (("export", "models:/a/1"), "--records"),
        (("release", "add", "nova", "--model", "m", "--base-url", "ftp://x"), "http"),
        (
            ("release", "add", "nova", "--base-url", "embedded:smollm2-135m-instruct-q4"),
            "did you mean 'smollm2-135m-instruct-q4_",
        ),
        (("release", "add", "nova", "--model", "embedded:smollm2-135m-instruct-q4_1"), "give --base-url embedded:"),
        (("release", "add", "nova", "--base-url", "https://api.example.com/v1"), "needs --model ID"),
        (("release", "add", "nova", "--model", "m", "--released", "yesterday"), "2026-"),
        (("release", "add", "nova", "--model", "m", "--price-input", "-1"), "price"),
        (("release", "add", "a/b", "--model", "m"), "family"),
        (("release", "add", "nova", "--model", "m", "--previous", "7"), "7"),
        (("serve", "models:/nova/1", "--every", "soon"), "7d"),
        (("retry", "models:/nova/1"), "--failed"),
        (("card", "nova", "--format", "pdf"), "md, html or json"),
        (("no-such-command",), "No such command"),
        (("audit", "models:/nova/1"), "--protocol"),
    ],
)
def test_bad_input_is_one_clear_sentence_and_exit_code_2(spiritlevel, arguments, says):
    out = spiritlevel(*arguments, code=None) if arguments[0] == "no-such-command" else spiritlevel(*arguments, code=2)
    assert out == ""
    assert says in spiritlevel.stderr
    assert "internal error" not in spiritlevel.stderr


def test_an_embedded_model_needs_no_second_name(spiritlevel):
    out = spiritlevel("release", "add", "small", "--base-url", "embedded:smollm2-135m-instruct-q4_0")
    assert out == "registered models:/small/1 (smollm2-135m-instruct-q4_0)\n"
    assert spiritlevel.json("release", "show", "models:/small/1")["price_output"] == 0


def test_a_key_given_as_the_name_of_its_variable_is_refused_and_not_repeated(spiritlevel):
    spiritlevel("release", "add", "nova", "--model", "m", "--api-key-env", "sk-abcdef1234567890", code=2)
    assert "sk-abcdef" not in spiritlevel.stderr


def test_an_audit_with_an_unknown_protocol_is_answered_with_the_nearest(spiritlevel):
    spiritlevel("release", "add", "nova", "--model", "m-2026-01-01", "--base-url", "http://127.0.0.1:9/v1")
    spiritlevel("audit", "models:/nova/1", "--protocol", "persona-brainstrom", code=2)
    assert "did you mean 'persona-brainstorm'" in spiritlevel.stderr


def test_a_damaged_ledger_is_one_sentence_and_stays_as_it_is(spiritlevel):
    ledger = spiritlevel.home / "ledger.db"
    ledger.write_bytes(b"not a database" * 100)
    for side in ("-wal", "-shm"):
        ledger.with_name(ledger.name + side).unlink(missing_ok=True)
    spiritlevel("status", code=2)
    assert "damaged or not a database" in spiritlevel.stderr
    assert ledger.read_bytes() == b"not a database" * 100


def test_a_damaged_mlflow_store_is_one_sentence(spiritlevel):
    (spiritlevel.home / "mlflow.db").write_bytes(b"not a database" * 100)
    spiritlevel("release", "list", code=2)
    assert "mlflow.db" in spiritlevel.stderr


def test_a_home_that_cannot_be_made_is_one_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert exit_code(["status", "--home", str(tmp_path / "file" / "home")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["per%20cent", "ques?tion"])
def test_a_home_whose_path_would_be_read_as_an_address_is_refused_before_anything_is_written(tmp_path, capsys, name):
    assert exit_code(["init", "--home", str(tmp_path / name)]) == 2
    assert "% or ?" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_home_with_blanks_signs_and_letters_of_other_scripts_works(tmp_path, capsys):
    home = tmp_path / "übung #1, a b"
    assert exit_code(["init", "--home", str(home)]) == 0
    assert exit_code(["release", "add", "nova", "--model", "m-2026-01-01", "--home", str(home)]) == 0
    assert "models:/nova/1" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == [home.name]


def test_a_configuration_that_is_wrong_names_the_field(spiritlevel):
    (spiritlevel.home / "spiritlevel.toml").write_text("[policy]\nalpha = 2\n")
    spiritlevel("compare", "models:/a/1", "models:/a/2", code=2)
    assert "policy.alpha" in spiritlevel.stderr


def test_init_writes_a_configuration_that_is_the_default(spiritlevel):
    from flows.settings import Configuration, Home

    path = spiritlevel.home / "spiritlevel.toml"
    path.unlink()
    spiritlevel("init")
    assert Home(spiritlevel.home).configuration == Configuration()
    for table, lines in re.findall(
        r"^\[(policy|instrument|watch|publish)\]\n((?:#.*\n)+)", path.read_text(), re.MULTILINE
    ):
        shown = tomllib.loads("\n".join(re.findall(r"^# (\w+ = .*)$", lines, re.MULTILINE)))
        assert shown == getattr(Configuration(), table).model_dump()
    path.write_text("# mine\n")
    spiritlevel("init")
    assert path.read_text() == "# mine\n"


def test_the_home_option_is_taken_before_and_after_the_command(home, capsys):
    assert exit_code(["--home", str(home), "status"]) == 0
    assert exit_code(["status", "--home", str(home)]) == 0
    assert capsys.readouterr().out.count(str(home)) == 2


def test_nothing_is_written_outside_the_home(migrated_home, tmp_path):
    user, work = tmp_path / "user", tmp_path / "work"
    user.mkdir()
    work.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MLFLOW", "PREFECT", "SPIRITLEVEL", "XDG"))}
    environment |= {"HOME": str(user), "PYTHONPATH": str(ROOT), "SPIRITLEVEL_HOME": str(tmp_path / "home")}
    answer = work / "a.jsonl"
    answer.write_text('{"text": "[]"}\n')
    commands = (
        ["init"],
        ["release", "add", "nova", "--model", "m-2026-01-01"],
        ["import", "models:/nova/1", str(answer), "--protocol", "persona-brainstorm"],
        ["card", "nova", "--format", "html"],
        ["status"],
    )
    script = f"from flows.cli import exit_code; print([exit_code(each) for each in {commands}])"
    command = [sys.executable, "-c", script]  # one process for all, for each would load MLflow again
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    # 3: an answer without a persona measures nothing
    assert done.stdout.splitlines()[-1] == "[0, 0, 3, 0, 0]", done.stderr
    assert [path.name for path in work.iterdir()] == ["a.jsonl"]
    assert list(user.rglob("*")) == []


def test_help_starts_without_the_heavy_libraries():
    heavy = (
        "mlflow prefect evidently openai apprise numpy pandas scipy statsmodels sqlalchemy alembic psycopg requests "
        "matplotlib uvicorn starlette prometheus_client"
    )
    script = (
        "import sys; from flows.cli import exit_code; code = exit_code(['--help']);"
        f"print(code, [name for name in '{heavy}'.split() if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "spiritlevel demo" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 []"


def test_two_first_commands_at_once_on_a_new_home_both_work(tmp_path):
    home = tmp_path / "home"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    commands = [
        [sys.executable, "-m", "flows.cli", "release", "add", family, "--model", "m-2026-01-01", "--home", str(home)]
        for family in ("one", "two")
    ]
    running = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for command in commands]
    ended = [(process.communicate()[1], process.returncode) for process in running]
    assert [code for _, code in ended] == [0, 0], ended


@pytest.mark.slow
def test_a_first_command_that_is_killed_leaves_a_home_that_works(tmp_path):
    home = tmp_path / "home"
    command = [
        sys.executable,
        "-m",
        "flows.cli",
        "release",
        "add",
        "nova",
        "--model",
        "m-2026-01-01",
        "--home",
        str(home),
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (home / ".mlflow.db.part").exists() and process.poll() is None:
        assert time.monotonic() < deadline
    process.kill()
    process.wait()
    assert not (home / "mlflow.db").exists()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_device_is_written_to_and_a_link_is_followed_but_neither_is_replaced(tmp_path):
    from flows.commands.results import written
    from metrics.errors import BadInputError

    real, link = tmp_path / "real.md", tmp_path / "link.md"
    real.write_text("old")
    link.symlink_to(real)
    written(link, "new")
    assert (link.is_symlink(), real.read_text()) == (True, "new")
    written(Path("/dev/null"), "nothing")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(BadInputError, match="is a folder"):
        written(tmp_path, "x")
