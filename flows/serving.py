"""Re-auditing one release on an interval, in one process, with Prefect as the clock."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from flows.settings import Home
from flows.workspace import Workspace, opened
from registry.releases import ModelRelease


def next_due(
    workspace: Workspace, release: ModelRelease, protocol: str, every: dt.timedelta, now: dt.datetime
) -> dt.datetime:
    """When a release is audited next: now when none was made or one was interrupted, else an interval after the newest."""
    audits = workspace.ledger.audits(family=release.family, version=release.version, protocol=protocol)
    live = [audit for audit in audits if audit.source == "live"]
    if not live or live[-1].finished_at is None or not live[-1].concluded:
        return now
    return max(now, dt.datetime.fromisoformat(live[-1].finished_at) + every)


PAUSE_AFTER_FAILURE = dt.timedelta(minutes=5)


def serve_release(
    release: str,
    every: dt.timedelta,
    *,
    protocol: str,
    personas: int | None,
    concurrency: int,
    home: Home,
    tell: Callable[[str], None],
) -> None:
    """Run the flow `audit_release` for one release on an interval until the process is stopped.

    A restart neither repeats nor skips: the next run is due one interval after the newest finished audit, and an
    interrupted audit is taken up at once. With a Prefect server configured (``PREFECT_API_URL``) the flow is served as
    a deployment there. Without one this process keeps the time itself, for Prefect's temporary server has no scheduler.
    """
    parameters: dict[str, Any] = {
        "release": release,
        "protocol": protocol,
        "personas": personas,
        "again": True,
        "limits": {"concurrency": concurrency},
        "home": str(home.path),
    }
    if os.environ.get("PREFECT_API_URL"):
        _deployed(parameters, every, due_in(home, release, protocol, every))
        return
    while True:
        due = due_in(home, release, protocol, every)
        wait_s = (due - dt.datetime.now(dt.UTC)).total_seconds()
        if wait_s > 0:
            tell(f"next audit of {release} at {due:%Y-%m-%d %H:%M:%S} UTC")
            time.sleep(wait_s)
        if (trouble := audited_once(parameters)) is not None:
            pause = min(every, PAUSE_AFTER_FAILURE)
            tell(f"{trouble}; trying again in {pause.total_seconds():.0f} s")
            time.sleep(pause.total_seconds())


def due_in(home: Home, release: str, protocol: str, every: dt.timedelta) -> dt.datetime:
    """When the release that a reference names now is due; an alias may have moved since the last look."""
    with opened(home) as workspace:
        found = workspace.releases.find(release)
        return next_due(workspace, found, protocol, every, dt.datetime.now(dt.UTC))


def audited_once(parameters: Mapping[str, Any]) -> str | None:
    """One run of the flow; what went wrong in words, or None. A service outlives a provider that is down for an hour."""
    from flows.audit import audit_release

    try:
        result = audit_release(**parameters)
    except Exception as error:  # whatever it is, the next interval must come; Prefect has logged it with its traceback
        return f"the audit failed: {error}"
    return f"the audit is not finished: {result['why']}" if result["state"] == "open" else None


def _deployed(parameters: dict[str, Any], every: dt.timedelta, due: dt.datetime) -> None:
    from prefect.schedules import Interval

    from flows.audit import audit_release

    name = f"{parameters['release'].removeprefix('models:/').replace('/', '-')}-{parameters['protocol']}"
    audit_release.serve(
        name=name,
        schedule=Interval(every, anchor_date=due),
        parameters=parameters,
        limit=1,
        print_starting_message=False,
    )
