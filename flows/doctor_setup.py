"""What `flows.doctor` looks at on this machine: versions, configuration, folders, disk, telemetry, time zones."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import zoneinfo
from collections.abc import Iterable, Iterator
from pathlib import Path

from flows.doctor import Finding
from flows.endpoints import on_loopback
from flows.service_checks import refuse_unknown
from flows.settings import Home, silence
from flows.workspace import Workspace
from metrics.errors import BadInputError

SHOWN = ("mlflow", "prefect", "evidently", "openai", "sqlalchemy", "psycopg", "pandas", "apprise")
FULL_BYTES, LOW_BYTES = 200_000_000, 2_000_000_000
_TRUE = {"true", "1", "yes", "on"}


def versions(_: Home) -> Iterable[Finding]:
    """Whether the installed packages are those that this version was made for."""
    found = [f"python {platform.python_version()}", f"spiritlevel {importlib.metadata.version('spiritlevel')}"]
    found += [f"{name} {importlib.metadata.version(name)}" for name in SHOWN]
    yield Finding("versions", "ok", ", ".join(found))
    if wrong := list(_unmet()):
        yield Finding("versions", "failed", f"not as required: {', '.join(wrong)}", "install spiritlevel again")


def _unmet() -> Iterator[str]:
    from packaging.requirements import Requirement

    for line in importlib.metadata.requires("spiritlevel") or ():
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            yield f"{requirement.name} is missing"
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            yield f"{requirement.name} {version} (needs {requirement.specifier})"


def configuration(home: Home) -> Iterable[Finding]:
    """Whether the two configuration files can be read, and say what can be done."""
    for look, file in ((lambda: home.configuration, "spiritlevel.toml"), (lambda: home.service, "spiritlevel.yaml")):
        try:
            look()
        except BadInputError as error:
            yield Finding("configuration", "failed", str(error), f"correct {file}")
    try:
        families = len(home.service.families)
    except BadInputError:
        return
    if home.service_file.exists():
        try:
            refuse_unknown(Workspace(home))
        except BadInputError as error:
            yield Finding("configuration", "failed", str(error), f"correct {home.service_file}")
            return
        counted = f"{families} {'family' if families == 1 else 'families'}"
        yield Finding("configuration", "ok", f"{home.service_file}: {counted}, pool {home.service.work_pool}")
        host = home.service.service.host
        if not on_loopback(f"http://{f'[{host}]' if ':' in host else host}"):
            yield Finding(
                "configuration",
                "warning",
                f"service.host is {host}: whoever reaches this machine reaches /metrics and /health",
                "listen on 127.0.0.1 behind a proxy with TLS, or see to it that a firewall stands before it",
            )
    else:
        yield Finding("configuration", "ok", f"no {home.service_file}: nothing is scheduled")


def home_folder(home: Home) -> Iterable[Finding]:
    """Whether state can be written, and by nobody else."""
    if not home.path.exists():
        yield Finding("home", "warning", f"{home.path} is not there yet", "'spiritlevel init' makes it")
        return
    if not home.path.is_dir():
        advice = "choose another with --home or SPIRITLEVEL_HOME"
        yield Finding("home", "failed", f"{home.path} is a file, not a folder", advice)
        return
    if not os.access(home.path, os.W_OK | os.X_OK):
        yield Finding("home", "failed", f"{home.path} cannot be written by this user", "give it to the service's user")
        return
    mode = home.path.stat().st_mode & 0o777
    if mode & 0o022:
        yield Finding("home", "warning", f"{home.path} can be written by others (mode {mode:o})", "chmod go-w it")
        return
    yield Finding("home", "ok", f"{home.path} can be written (mode {mode:o})")


def disk_space(home: Home) -> Iterable[Finding]:
    """Whether there is room for answers, files and logs."""
    places = {_existing(home.path), _existing(home.artifact_root)}
    for place in sorted(places):
        usage = shutil.disk_usage(place)
        said = f"{usage.free / 1e9:.1f} GB of {usage.total / 1e9:.0f} GB free at {place}"
        if usage.free < FULL_BYTES:
            yield Finding("disk", "failed", said, "make room: an audit that cannot store its answers stops")
        elif usage.free < LOW_BYTES:
            yield Finding("disk", "warning", said, "make room")
        else:
            yield Finding("disk", "ok", said)


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def telemetry(_: Home) -> Iterable[Finding]:
    """Whether the libraries are told to report to nobody; ``DO_NOT_TRACK=1`` stops neither MLflow nor Prefect's server."""
    silence()
    on = []
    mlflow = os.environ.get("MLFLOW_DISABLE_TELEMETRY", "").casefold() in {"true", "1"}
    if not mlflow and os.environ.get("DO_NOT_TRACK", "").casefold() != "true":
        on.append("MLflow (MLFLOW_DISABLE_TELEMETRY=true)")
    if os.environ.get("PREFECT_SERVER_ANALYTICS_ENABLED", "true").casefold() in _TRUE:
        on.append("Prefect's server (PREFECT_SERVER_ANALYTICS_ENABLED=false)")
    if os.environ.get("DO_NOT_TRACK", "").casefold() not in _TRUE:
        on.append("Prefect's and Evidently's clients (DO_NOT_TRACK=true)")
    if on:
        yield Finding("telemetry", "warning", f"not switched off: {', '.join(on)}", "set what stands in brackets")
    else:
        yield Finding("telemetry", "ok", "off here; servers elsewhere have switches of their own")


def time_zones(home: Home) -> Iterable[Finding]:
    """Whether the zones that times are given in are known here."""
    audits = [audit for family in home.service.families.values() for audit in family.audits]
    wanted = {audit.zone for audit in audits} | {"UTC", "Europe/Madrid"}
    for zone in sorted(wanted):
        try:
            zoneinfo.ZoneInfo(zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            yield Finding("time zones", "failed", f"no data for {zone}", "install the package tzdata")
            return
    said = (
        f"tzdata {importlib.metadata.version('tzdata')}; {', '.join(sorted({audit.zone for audit in audits})) or 'UTC'}"
    )
    yield Finding("time zones", "ok", said)
