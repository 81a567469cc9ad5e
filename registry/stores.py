"""Opening MLflow's store: quietly, without telemetry, and with nothing left in the working directory."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from metrics.errors import BadInputError

if TYPE_CHECKING:
    from mlflow import MlflowClient

REMOTE = ("http", "https")
_SQLITE_HEAD = b"SQLite format 3\x00"
_reached: set[str] = set()


class StoreUnreachableError(BadInputError, ConnectionError):
    """The MLflow server does not answer."""


class StoreDamagedError(BadInputError):
    """The file of an MLflow store is no database."""


def _reach(tracking_uri: str) -> None:
    """Ask a server for a sign of life, once per process: MLflow's client alone tries on and on before it gives up."""
    import requests

    if tracking_uri in _reached:
        return
    try:
        requests.get(f"{tracking_uri.rstrip('/')}/health", timeout=10)  # any answer will do
    except requests.RequestException as error:
        parts = urllib.parse.urlsplit(tracking_uri)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # without a password
        raise StoreUnreachableError(
            f"the MLflow server at {shown} does not answer ({type(error).__name__}); "
            "start it, or correct the tracking URI"
        ) from None
    _reached.add(tracking_uri)


def _refuse_damage(path: Path) -> None:
    """Make the folder of a store, and say so when what is at its place is no database."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as file:
            head = file.read(len(_SQLITE_HEAD))
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreDamagedError(f"the MLflow store at {path} cannot be read: {error.strerror or error}") from error
    if head and head != _SQLITE_HEAD:
        raise StoreDamagedError(
            f"the MLflow store at {path} is damaged or not a database; nothing was changed. Move it away: what was "
            f"published to it can be published again from the ledger"
        )


def _make_whole(path: Path) -> None:
    """Make a new store whole or not at all, once: MLflow's own making cannot be interrupted, nor done by two at once."""
    if path.exists() and path.stat().st_size:
        return
    from filelock import FileLock

    with FileLock(f"{path}.lock"):
        if path.exists() and path.stat().st_size:
            return
        part = path.with_name(f".{path.name}.part")
        part.unlink(missing_ok=True)
        client = _client(f"sqlite:///{part}")
        client.search_experiments(max_results=1)
        client.search_registered_models(max_results=1)
        part.replace(path)


def _client(tracking_uri: str) -> MlflowClient:
    from mlflow import MlflowClient

    if "MLFLOW_LOGGING_LEVEL" not in os.environ:  # else "Creating initial MLflow database tables..." and the like
        logging.getLogger("mlflow").setLevel(logging.WARNING)
    return MlflowClient(tracking_uri=tracking_uri, registry_uri=tracking_uri)


def opened(tracking_uri: str) -> MlflowClient:
    """A client of the MLflow store at ``tracking_uri``, for runs and registry alike: quiet, and without telemetry.

    ``sqlite:////abs/mlflow.db`` is opened in this process, without a server, and made on first use.

    Raises
    ------
    StoreUnreachableError : ``tracking_uri`` is a server that does not answer
    """
    defaults = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",  # MLflow heeds "true", not "1"
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # a server's client prints links when a run ends
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",  # seven, its default, keep a command silent for minutes
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    parts = urllib.parse.urlsplit(tracking_uri)
    # Not by the parsed address: a number sign in a folder's name would cut it off.
    if parts.scheme == "sqlite" and (path := tracking_uri.removeprefix("sqlite:///")) and path != ":memory:":
        _refuse_damage(Path(path))
        _make_whole(Path(path))
    if parts.scheme in REMOTE:
        _reach(tracking_uri)
    return _client(tracking_uri)


_active_uri = threading.Lock()


@contextlib.contextmanager
def active(tracking_uri: str) -> Iterator[None]:
    """Make ``tracking_uri`` MLflow's global one: registering an external model looks it up there, whatever the client.

    Without it MLflow would make an ``mlflow.db`` in the working directory.
    """
    import mlflow

    with _active_uri:
        was_set = mlflow.is_tracking_uri_set()  # type: ignore[no-untyped-call]
        previous = mlflow.get_tracking_uri() if was_set else None
        mlflow.set_tracking_uri(tracking_uri)
        try:
            yield
        finally:
            mlflow.set_tracking_uri(previous)  # type: ignore[arg-type]  # None unsets it


def experiment(client: MlflowClient, name: str, artifact_root: Path | None) -> str:
    """Id of the experiment of that name, made when missing.

    ``artifact_root`` is the folder for files of stores opened in this process; a server keeps its own.
    """
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        remote = urllib.parse.urlsplit(client.tracking_uri).scheme in REMOTE
        folder = None if remote or artifact_root is None else str(artifact_root.resolve() / name.replace("/", "-"))
        try:
            return client.create_experiment(name, artifact_location=folder)
        except MlflowException as error:  # another process made it meanwhile
            if error.error_code != "RESOURCE_ALREADY_EXISTS" or (found := client.get_experiment_by_name(name)) is None:
                raise
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return str(found.experiment_id)


def quoted(value: str) -> str:
    """``value`` as a string of an MLflow filter.

    >>> quoted("acme-chat"), len(quoted("it's"))
    ("'acme-chat'", 6)
    """
    for mark in ("'", '"'):
        if mark not in value:
            return f"{mark}{value}{mark}"
    raise ValueError(f"MLflow cannot search for a text with both kinds of quotation marks: {value!r}")
