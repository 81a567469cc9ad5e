"""Re-auditing one release on an interval, in one process, with Prefect as the clock."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flows.settings import Home
from flows.workspace import Workspace, opened
from registry.releases import ModelRelease


def next_due(
    workspace: Workspace, release: ModelRelease, protocol: str, every: dt.timedelta, now: dt.datetime
) -> dt.datetime:
    """When a release is to be audited next: now when an audit is open or none is, else one interval after the newest."""
    audits = workspace.ledger.audits(family=release.family, version=release.version, protocol=protocol)
    live = [audit for audit in audits if audit.source == "live"]
    if not live or live[-1].state == "open" or live[-1].finished_at is None:
        return now
    return max(now, dt.datetime.fromisoformat(live[-1].finished_at) + every)


def serve_release(
    release: str,
    every: dt.timedelta,
    *,
    protocol: str,
    personas: int | None,
    concurrency: int,
    home: Home,
) -> None:
    """Serve the flow `audit_release` for one release until the process is stopped.

    A restart neither repeats nor skips: the first run is due one interval after the newest finished audit, and an
    interrupted audit is taken up at once.
    """
    from prefect.schedules import Interval

    from flows.audit import audit_release

    with opened(home) as workspace:
        found = workspace.releases.find(release)
        due = next_due(workspace, found, protocol, every, dt.datetime.now(dt.UTC))
    parameters: dict[str, Any] = {
        "release": release,
        "protocol": protocol,
        "personas": personas,
        "again": True,
        "limits": {"concurrency": concurrency},
        "home": str(home.path),
    }
    if due <= dt.datetime.now(dt.UTC):
        audit_release(**parameters)
        due = dt.datetime.now(dt.UTC) + every
    audit_release.serve(
        name=f"{found.family}-{found.version}-{protocol}",
        schedule=Interval(every, anchor_date=due),
        parameters=parameters,
        limit=1,
        print_starting_message=False,
    )
