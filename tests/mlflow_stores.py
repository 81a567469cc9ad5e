"""Real MLflow stores for tests: SQLite, without a server. The first migration takes seconds, so it is made once."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from flows.stores import Tracking
from registry.stores import opened


@functools.cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        opened(f"sqlite:///{folder}/mlflow.db").search_experiments()
        return Path(folder, "mlflow.db").read_bytes()


def fresh_store(folder: Path) -> Tracking:
    """An empty, migrated store in ``folder/home``; the space in the path is meant."""
    home = folder / "a home"
    home.mkdir()
    (home / "mlflow.db").write_bytes(_migrated())
    return Tracking(f"sqlite:///{home}/mlflow.db", home / "artifacts")
