"""The MLflow store that results are published to: how things enter it once, and how it is looked at."""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from flows.published_values import (
    METRICS_PER_BATCH,
    PARAM_LENGTH,
    TEXTS_PER_BATCH,
    batched,
    checked_file,
    checked_key,
    checked_numbers,
)
from flows.redaction import without_secrets
from registry.releases import RELEASES_EXPERIMENT, ModelRelease, Releases
from registry.stores import (
    NAME_LENGTH,
    REMOTE,
    Guarded,
    address,
    experiment,
    holds_password,
    one_run,
    opened,
    storable,
    without_passwords,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient

_FIRST_DAY = date(2020, 1, 1)
_SLOT_MS = 1000  # re-scored values of one audit stay within a second of the audit


@dataclasses.dataclass(frozen=True, slots=True)
class Tracking:
    """Where results are published.

    Parameters
    ----------
    uri : ``sqlite:////abs/mlflow.db`` (opened in this process, no server needed) or ``https://...`` of a server
    artifact_root : folder for files of a store without a server; a server keeps files where it was told to
    around : gives a context in which each request is made, which may refuse it; None makes them plainly
    """

    uri: str = dataclasses.field(repr=False)  # a database's may hold a password
    artifact_root: Path | None = None
    around: Callable[[], AbstractContextManager[None]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "uri", address(self.uri))

    def __repr__(self) -> str:
        return f"Tracking({without_passwords(self.uri)!r})"

    @property
    def is_server(self) -> bool:
        return urllib.parse.urlsplit(self.uri).scheme in REMOTE

    def client(self) -> MlflowClient:
        """A quiet client without telemetry."""
        if self.around is None:
            return opened(self.uri)
        with self.around():
            client = opened(self.uri)
        return cast("MlflowClient", Guarded(client, self.around))

    def releases(self) -> Releases:
        """The releases that are registered in this store."""
        return Releases(self.uri, self.artifact_root, self.client)

    def experiment(self, name: str) -> str:
        """Id of the experiment of that name, made when missing."""
        return experiment(self.client(), name, self.artifact_root)

    def identity(self) -> str:
        """What tells this store from one that was made anew at the same place: its first experiment's id and birth."""
        found = self.client().get_experiment(self.experiment(RELEASES_EXPERIMENT))
        return f"{found.experiment_id}/{found.creation_time}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRun:
    """What MLflow says about one run: the latest value of every metric, all tags and params."""

    run_id: str
    name: str
    experiment_id: str
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    params: Mapping[str, str]


def read_back(tracking: Tracking, run_id: str) -> PublishedRun:
    """The run as MLflow returns it, MLflow's own tags left out."""
    run = tracking.client().get_run(run_id)
    return PublishedRun(
        run_id=run_id,
        name=str(run.info.run_name),
        experiment_id=str(run.info.experiment_id),
        metrics=dict(run.data.metrics),
        tags={name: text for name, text in run.data.tags.items() if not name.startswith("mlflow.")},
        params=dict(run.data.params),
    )


# ---------------------------------------------------------------- time


def moment_ms(moment: str | date) -> int:
    """Milliseconds since 1970 of an ISO date or time; without a zone it is UTC.

    >>> moment_ms("2020-01-02"), moment_ms("2020-01-02T00:00:00+00:00")
    (1577923200000, 1577923200000)
    """
    parsed = datetime.fromisoformat(moment if isinstance(moment, str) else moment.isoformat())
    return round((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000)


def day_step(moment: str | date) -> int:
    """Days since 2020-01-01: the step of everything that is followed over time.

    >>> day_step("2020-01-31"), day_step("2026-10-01T12:00:00+00:00")
    (30, 2465)
    """
    return (datetime.fromtimestamp(moment_ms(moment) / 1000, UTC).date() - _FIRST_DAY).days


# ---------------------------------------------------------------- writing, each thing once


def run_for(
    tracking: Tracking, experiment_name: str, key: tuple[str, str], *, name: str, at_ms: int, parent: str | None = None
) -> str:
    """Id of the run whose tag ``key[0]`` is ``key[1]``; it is made, named and nested under ``parent`` when missing.

    A nested run lives in its parent's experiment, else MLflow would not show it under it.
    """
    client = tracking.client()
    home = str(client.get_run(parent).info.experiment_id) if parent else tracking.experiment(experiment_name)
    tags = {key[0]: key[1], **({"mlflow.parentRunId": parent} if parent else {})}
    shown = storable(name, NAME_LENGTH)
    return one_run(
        client, home, dict([key]), lambda: client.create_run(home, start_time=at_ms, run_name=shown, tags=tags)
    )


def add_points(client: MlflowClient, run_id: str, values: Mapping[str, float], *, at_ms: int, step: int) -> None:
    """Add each value at ``step`` once. Publishing again adds nothing; a value that changed follows the one it replaces.

    MLflow shows the point with the highest step, then time: a corrected value is placed one millisecond later, so
    that it is the one shown, and before any other audit of the same day.
    """
    from mlflow.entities import Metric

    measured = checked_numbers(values)
    present = client.get_run(run_id).data.metrics
    points = []
    for name, value in measured.items():
        stamp = at_ms
        if name in present:
            if step == 0 and present[name] == value:  # nothing but step 0 in this run: no need to read the history
                continue
            history = client.get_metric_history(run_id, name)
            own = [p for p in history if p.step == step and at_ms <= p.timestamp < at_ms + _SLOT_MS]
            if own:
                latest = max(own, key=lambda p: (p.timestamp, p.value))
                if latest.value == value:
                    continue
                stamp = latest.timestamp + 1
        points.append(Metric(name, value, stamp, step))
    for batch in batched(points, METRICS_PER_BATCH):
        client.log_batch(run_id, metrics=batch)


def set_texts(
    client: MlflowClient, run_id: str, *, tags: Mapping[str, str], params: Mapping[str, str] | None = None
) -> None:
    """Set tags (the last one wins) and params (MLflow refuses to change one: those that are there stay)."""
    from mlflow.entities import Param, RunTag

    said = [
        Param(checked_key(name), storable(without_secrets(text), PARAM_LENGTH)) for name, text in (params or {}).items()
    ]
    tagged = [RunTag(checked_key(name), storable(without_secrets(text))) for name, text in tags.items()]
    present = client.get_run(run_id).data.params if said else {}
    for batch in batched([param for param in said if param.key not in present], TEXTS_PER_BATCH):
        client.log_batch(run_id, params=batch)
    for tag_batch in batched(tagged, TEXTS_PER_BATCH):
        client.log_batch(run_id, tags=tag_batch)


def put_files(client: MlflowClient, run_id: str, files: Mapping[str, str | bytes]) -> None:
    """Put files on a run; a file that is there is replaced.

    Raises
    ------
    ValueError : a name that is not a plain relative path
    """
    for name in files:
        checked_file(name)
    with tempfile.TemporaryDirectory(prefix="spiritlevel-") as folder:
        for name, content in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            clean = (
                content if isinstance(content, bytes) else without_secrets(content).encode("utf-8", "backslashreplace")
            )
            path.write_bytes(clean)
            # One request each: a slow server must not hold a publisher longer than its lease without a sign of life.
            client.log_artifact(run_id, str(path), str(Path(name).parent) if "/" in name else None)


# ---------------------------------------------------------------- looking at it


def ui_command(tracking: Tracking, port: int = 5000) -> list[str]:
    """The command that shows a store in MLflow's UI, on this machine only. Run it with `ui_environment`.

    Files are read from where the runs say they are; ``--artifacts-destination`` keeps the server from making an
    ``mlartifacts`` folder in the working directory.

    Raises
    ------
    ValueError : the store is a server already, which shows itself
    """
    if tracking.is_server:
        raise ValueError(f"{tracking.uri} is a server: open it in a browser")
    command = [sys.executable, "-m", "mlflow", "ui", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    if not holds_password(tracking.uri):  # else by the environment: others can read a command line
        command += ["--backend-store-uri", tracking.uri]
    if tracking.artifact_root is not None:
        command += ["--artifacts-destination", str(tracking.artifact_root.resolve())]
    return command


def ui_environment(tracking: Tracking) -> dict[str, str]:
    """What to add to the environment of `ui_command`: no telemetry, no job runner, the store's address."""
    return {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # saves seven processes that audits do not need
        "MLFLOW_BACKEND_STORE_URI": tracking.uri,
    }


def compare_link(base_url: str, releases: Sequence[ModelRelease]) -> str:
    """Address of the page that shows releases of one family side by side, in the UI at ``base_url``.

    Raises
    ------
    ValueError : fewer than two releases, several families, or a release without its run
    """
    families = {release.family for release in releases}
    if len(releases) < 2 or len(families) != 1 or any(release.run_id is None for release in releases):
        raise ValueError("side by side go two or more releases of one family that have their release runs")
    name = json.dumps(families.pop())
    runs = json.dumps({str(release.version): release.run_id for release in releases}, separators=(",", ":"))
    query = f"name={urllib.parse.quote(name)}&runs={urllib.parse.quote(runs)}"
    return f"{base_url.rstrip('/')}/#/compare-model-versions?{query}"
