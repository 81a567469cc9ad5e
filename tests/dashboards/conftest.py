"""matplotlib keeps its font cache in a folder of the tests, not of the user."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def _matplotlib_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ.setdefault("MPLCONFIGDIR", str(tmp_path_factory.mktemp("matplotlib")))
