"""Fixtures for tests of the whole product: a home folder of their own, and the command line in this process."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

# One thread for the matrices of each worker of pytest-xdist, for two that both want all cores wait for each other. OpenBLAS
# reads it when numpy is loaded; every process that a test starts inherits it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Prefect's temporary server says goodbye after pytest has closed its output.
os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")

from flows.cli import exit_code
from flows.settings import Home
from tests import templates
from tests.planted import planted, planted_template  # noqa: F401  (fixtures)
from tests.planted_site import site  # noqa: F401  (fixture)
from tests.postgres import empty_postgres_url, postgres_server, postgres_url  # noqa: F401  (fixtures)

_OWN = (
    "SPIRITLEVEL_HOME",
    "SPIRITLEVEL_LEDGER_URL",
    "SPIRITLEVEL_LEDGER_URL_FILE",
    "SPIRITLEVEL_TRACKING_URI",
    "PREFECT_HOME",
    "MLFLOW_TRACKING_URI",
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder for what all workers share, and let who made it remove it."""
    if folder := templates.begin():
        config.add_cleanup(lambda: templates.end(folder))


# A test process holds a million objects that live as long as it does; looking for garbage among them is a tenth of its time.
gc.set_threshold(50_000, 20, 50)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of every later look for garbage."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that need Prefect's server first, then those with other servers and processes, then all others.

    With ``-n 2 --dist worksteal`` one worker begins at the front and one in the middle, and who is done takes over half of
    what the other has left, from the end: so only one of them starts Prefect's server, and nothing long is left for last.
    """
    with_prefect = {item.path for item in items if "prefect_server" in getattr(item, "fixturenames", ())}
    real = {Path(__file__).parent / name for name in ("faults", "flows")}

    def place(item: pytest.Item) -> int:
        return 0 if item.path in with_prefect else 1 if real & set(item.path.parents) else 2

    items.sort(key=place)


@sa.event.listens_for(sa.Engine, "connect")
def _unsynchronised(connection: Any, _record: object) -> None:
    """Let SQLite not wait for the disk, which is a fifth of MLflow's time: no test outlives the machine."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous=OFF")


class CommandLine:
    """The command line on one home folder, called in this process."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys

    def __call__(self, *arguments: object, code: int | None = 0) -> str:
        """Run a command, check its exit code, return what it printed; errors are in ``stderr``."""
        self._capsys.readouterr()
        got = exit_code([*map(str, arguments), "--home", str(self.home)])
        captured = self._capsys.readouterr()
        self.stderr = captured.err
        assert code is None or got == code, f"exit code {got}, expected {code}\n{captured.out}\n{captured.err}"
        assert "Traceback" not in captured.out + captured.err
        return captured.out

    def json(self, *arguments: object, code: int | None = 0) -> Any:
        """Run a command with ``--json`` and return what it answered."""
        return json.loads(self(*arguments, "--json", code=code))


UNPUBLISHED = "[publish]\nat_once = false\nevidently = false\n"
"""Results stay in the ledger: MLflow takes a second or two for each audit, and most tests are not about it."""
PUBLISHED = "[publish]\nevidently = false\n"  # Evidently takes five seconds to load; tests of it switch it on


@pytest.fixture(scope="session")
def migrated_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose two databases are migrated; copied by each test, for migrating takes MLflow seconds."""
    from flows.workspace import opened
    from tests.mlflow_stores import migrated

    home = tmp_path_factory.mktemp("template") / "home"
    with pytest.MonkeyPatch.context() as patch:
        for name in _OWN:
            patch.delenv(name, raising=False)
        home.mkdir()
        (home / "spiritlevel.toml").write_text(UNPUBLISHED, encoding="utf-8")
        with opened(Home(home)) as workspace:
            assert workspace.ledger.identity
            migrated(home / "mlflow.db")
    return home


@pytest.fixture
def home(migrated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of the test's own."""
    for name in _OWN:
        monkeypatch.delenv(name, raising=False)
    copied = tmp_path / "home"
    shutil.copytree(migrated_home, copied)
    return copied


@pytest.fixture
def publishing(home: Path) -> None:
    """Results go to MLflow at once, as they do for a user."""
    (home / "spiritlevel.toml").write_text(PUBLISHED, encoding="utf-8")


@pytest.fixture
def spiritlevel(home: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line on a home folder of the test's own."""
    return CommandLine(home, capsys)


@pytest.fixture(scope="session")
def waiting_template(migrated_home: Path) -> Path:
    """A home with two compared releases whose results wait to be published, made once; `tests.waiting_ledger` copies it."""
    from tests.waiting_ledger import made

    return templates.template("waiting", lambda folder: made(migrated_home, folder)) / "template"


@pytest.fixture(scope="session")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real MLflow server, started once; a test that stops it starts it again."""
    from tests.mlflow_server import MlflowServer

    with MlflowServer(tmp_path_factory.mktemp("mlflow")) as server:
        yield server


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[None]:
    """Prefect's own temporary server, started once; a loaded machine takes long for it."""
    from flows.settings import silence

    silence()
    from prefect.logging.configuration import setup_logging
    from prefect.testing.utilities import prefect_test_harness

    setup_logging()  # now, while standard error is that of the session: a test's own is closed after it
    with prefect_test_harness(server_startup_timeout=240):
        yield
