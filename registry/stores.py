"""Opening MLflow's store: quietly, without telemetry, and with nothing left in the working directory."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.errors import BadInputError

if TYPE_CHECKING:
    from mlflow import MlflowClient

REMOTE = ("http", "https")
_SQLITE_HEAD = b"SQLite format 3\x00"
_REACHED_FOR_S = 10.0  # how long a sign of life of a server counts
_PATIENCE_S = 5.0  # for that sign of life
_reached: dict[str, float] = {}


class StoreUnreachableError(BadInputError, ConnectionError):
    """The MLflow server does not answer."""


class StoreDamagedError(BadInputError):
    """The file of an MLflow store is no database."""


class HandedOverError(Exception):
    """Another process publishes now: this one was silent for too long and must not write any more."""


ABSENT = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")  # MLflow says the second for an unknown alias
NAME_LENGTH = 250  # of runs, in MLflow's database
TAG_LENGTH = 5000  # MLflow itself cuts at 8000, without a word


# Controls except line feed and tab, lone surrogates, and what turns the reading direction.
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    r"""Text without characters that command a terminal or turn its reading direction: a model may have written it.

    >>> harmless("a\x1b[31mred\u202e b")
    'a�[31mred� b'
    """
    return _HARMFUL.sub("\ufffd", text)


def storable(text: str, length: int = TAG_LENGTH) -> str:
    """``text`` as any database takes it and any program may show it: `harmless`, and cut visibly when too long."""
    clean = harmless(text)
    return clean if len(clean) <= length else f"{clean[: length - 2]} \u2026"


class Guarded:
    """An MLflow client whose every request is made inside ``around()``, which may refuse it.

    Parameters
    ----------
    client : the client
    around : gives a context for one request; it bounds how long MLflow is waited for, and stops a process that another
        one took over from
    """

    def __init__(self, client: MlflowClient, around: Callable[[], AbstractContextManager[None]]) -> None:
        self.unguarded = client
        self._around = around

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.unguarded, name)
        if not callable(value):
            return value

        @functools.wraps(value)
        def asked(*arguments: Any, **options: Any) -> Any:
            with self._around():
                return value(*arguments, **options)

        return asked


def without_passwords(text: str) -> str:
    """``text`` without user and password of the addresses in it: MLflow's and SQLAlchemy's messages quote them.

    >>> without_passwords("no answer from http://me:hush@mlflow:5000/api and postgresql://me:p@ss@db/x")
    'no answer from http://mlflow:5000/api and postgresql://db/x'
    >>> without_passwords("postgresql://db/x?password=hush&sslmode=require")
    'postgresql://db/x?password=***&sslmode=require'
    """
    return re.sub(r"(?<=password=)[^&\s'\"]+", "***", re.sub(r"(?<=://)[^/\s'\"]*@", "", text))


def holds_password(tracking_uri: str) -> bool:
    """Whether an address says more than where the store is, before its host or in its query.

    >>> holds_password("https://me:hush@mlflow:5000"), holds_password("https://mlflow:5000")
    (True, False)
    >>> holds_password("postgresql://db/mlflow?password=hush"), holds_password("postgresql://me@db/l?sslmode=require")
    (True, False)
    """
    try:
        parts = urllib.parse.urlsplit(tracking_uri)
        return bool(parts.password) or "password=" in parts.query
    except ValueError:  # no address at all
        return "@" in tracking_uri


def address(tracking_uri: str) -> str:
    """The address of a server without user and password, which go where MLflow reads them: into the environment.

    There they are in no message, no log and no run. The address of a database stays as it is.
    """
    parts = urllib.parse.urlsplit(tracking_uri)
    if parts.scheme not in REMOTE or "@" not in parts.netloc:
        return tracking_uri
    for name, value in (("USERNAME", parts.username), ("PASSWORD", parts.password)):
        if value:
            os.environ.setdefault(f"MLFLOW_TRACKING_{name}", urllib.parse.unquote(value))
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def certificates() -> dict[str, Any]:
    """How a server's certificate is checked, by the variables that MLflow's own client reads."""
    insecure = os.environ.get("MLFLOW_TRACKING_INSECURE_TLS", "").lower() in ("1", "true")
    verify: bool | str = os.environ.get("MLFLOW_TRACKING_SERVER_CERT_PATH") or not insecure
    return {"verify": verify, "cert": os.environ.get("MLFLOW_TRACKING_CLIENT_CERT_PATH") or None}


def _reach(tracking_uri: str) -> None:
    """Ask a server for a sign of life now and then: MLflow's client alone tries on and on before it gives up."""
    import requests

    if time.monotonic() - _reached.get(tracking_uri, -_REACHED_FOR_S) < _REACHED_FOR_S:
        return
    try:
        requests.get(f"{tracking_uri.rstrip('/')}/health", timeout=_PATIENCE_S, **certificates())  # any answer will do
    except (requests.RequestException, OSError) as error:  # OSError: a certificate file that is not there
        _reached.pop(tracking_uri, None)
        raise StoreUnreachableError(
            f"the MLflow server at {without_passwords(tracking_uri)} does not answer ({type(error).__name__}); "
            "start it, or correct the tracking URI"
        ) from None
    _reached[tracking_uri] = time.monotonic()


def refuse_damage(path: Path) -> None:
    """Say so when what is at the place of a store is no database; nothing there is none yet."""
    try:
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

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreDamagedError(f"the MLflow store at {path} cannot be made: {error.strerror or error}") from error
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
        # MLflow's own patience, seven tries of two minutes, would keep a command silent for a quarter of an hour. What
        # is not published now is published later.
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
        "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    tracking_uri = address(tracking_uri)
    parts = urllib.parse.urlsplit(tracking_uri)
    # Not by the parsed address: a number sign in a folder's name would cut it off.
    if parts.scheme == "sqlite" and (path := tracking_uri.removeprefix("sqlite:///")) and path != ":memory:":
        refuse_damage(Path(path))
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


_trying_once = threading.Lock()


@contextlib.contextmanager
def asked_once() -> Iterator[None]:
    """Let MLflow's client not repeat a request whose answer was lost: what it makes could not be taken back.

    A deleted version leaves a hole in the numbers of a model, so that a second one is worse than an error.
    """
    name = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
    with _trying_once:
        before = os.environ.get(name)
        os.environ[name] = "0"
        try:
            yield
        finally:
            os.environ.pop(name)
            if before is not None:
                os.environ[name] = before


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


def pages(fetch: Callable[[str | None], Any]) -> Iterator[Any]:
    """Everything that MLflow lists page by page; ``fetch`` takes the token of a page and returns it.

    Raises
    ------
    StoreDamagedError : the server names a page again that was read already, which would never end
    """
    seen: set[str] = set()
    token: str | None = None
    while True:
        page = fetch(token)
        yield from page
        token = page.token or None
        if token is None:
            return
        if token in seen:
            raise StoreDamagedError("MLflow lists the same page again and again; nothing was concluded from it")
        seen.add(token)


def runs(client: MlflowClient, experiments: list[str], wanted: str) -> Iterator[Any]:
    """Every run of these experiments that an MLflow filter lets through, the first started first."""
    order = ["attributes.start_time ASC", "attributes.run_id ASC"]
    return pages(lambda token: client.search_runs(experiments, wanted, page_token=token, order_by=order))


def alive_run(client: MlflowClient, run_id: str | None) -> str | None:
    """The run's id when there is such a run and it was not deleted."""
    from mlflow.exceptions import MlflowException

    if run_id is None:
        return None
    try:
        return run_id if client.get_run(run_id).info.lifecycle_stage == "active" else None
    except MlflowException as error:
        if error.error_code not in ABSENT:
            raise
        return None


def one_run(client: MlflowClient, home: str, tags: Mapping[str, str], make: Callable[[], Any]) -> str:
    """Id of the run in experiment ``home`` that has these tags; ``make()`` makes it, with them, when there is none.

    MLflow has no unique tags, and its client repeats a request whose answer was lost: then there are two runs. So it looks
    again after it has made one, and only one stays, the same one for everybody who looks: a finished one, else the first.
    Others that were finished are somebody's and are left alone.
    """
    wanted = " and ".join(f'tags."{name}" = {quoted(value)}' for name, value in tags.items())
    found = list(runs(client, [home], wanted))
    if not found:
        made = make()
        try:
            found = list(runs(client, [home], wanted)) or [made]
        except HandedOverError:
            getattr(client, "unguarded", client).delete_run(made.info.run_id)
            raise
    kept = min(found, key=lambda run: (run.info.status != "FINISHED", run.info.start_time, run.info.run_id))
    for other in found:
        if other.info.run_id != kept.info.run_id and other.info.status != "FINISHED":
            client.delete_run(other.info.run_id)
    return str(kept.info.run_id)


def quoted(value: str) -> str:
    """``value`` as a string of an MLflow filter.

    >>> quoted("acme-chat"), len(quoted("it's"))
    ("'acme-chat'", 6)
    """
    for mark in ("'", '"'):
        if mark not in value:
            return f"{mark}{value}{mark}"
    raise BadInputError(f"MLflow cannot search for a text with both kinds of quotation marks: {value!r}")
