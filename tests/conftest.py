"""Fixtures for tests of the whole product: a home folder of their own, and the command line in this process."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Prefect's temporary server says goodbye after pytest has closed its output.
os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")

from flows.cli import exit_code
from flows.settings import Home

_OWN = ("SPIRITLEVEL_HOME", "SPIRITLEVEL_LEDGER_URL", "SPIRITLEVEL_TRACKING_URI", "PREFECT_HOME", "MLFLOW_TRACKING_URI")


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


@pytest.fixture(scope="session")
def migrated_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose two databases are migrated; copied by each test, for migrating takes MLflow seconds."""
    from flows.workspace import opened
    from registry.stores import opened as opened_store

    home = tmp_path_factory.mktemp("template") / "home"
    with pytest.MonkeyPatch.context() as patch:
        for name in _OWN:
            patch.delenv(name, raising=False)
        with opened(Home(home)) as workspace:
            assert workspace.ledger.identity
            opened_store(workspace.home.tracking_uri).search_registered_models()
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
def spiritlevel(home: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line on a home folder of the test's own."""
    return CommandLine(home, capsys)


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[None]:
    """Prefect's own temporary server, started once; a loaded machine takes long for it."""
    from flows.settings import silence

    silence()
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=240):
        yield
