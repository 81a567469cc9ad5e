"""Alerts: one value, many channels. A channel is one module, or an entry point of another distribution."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from metrics.catalog import Catalog
from registry.ledger.values import StoredComparison
from registry.ledger.watching import Confirmation

if TYPE_CHECKING:
    from flows.concluding import Conclusion
    from flows.workspace import Workspace


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """What a reader of an alert needs: which release, what happened, how sure, where to look.

    ``key`` is the same for the same event, so that a channel can tell a repetition from news.
    """

    key: str
    at: str
    release: str
    previous: str
    protocol: str
    verdict: str
    why: str
    dimensions: tuple[str, ...]

    @classmethod
    def of(cls, comparison: StoredComparison, *, release: str, previous: str) -> Alert:
        """The alert for a comparison."""
        return cls(
            key=f"{comparison.protocol}/{comparison.previous_audit}/{comparison.current_audit}/{comparison.verdict}",
            at=comparison.made_at,
            release=release,
            previous=previous,
            protocol=comparison.protocol,
            verdict=comparison.verdict,
            why=comparison.why,
            dimensions=tuple(row.dimension for row in comparison.rows if row.verdict == comparison.verdict),
        )

    @classmethod
    def of_drift(cls, confirmation: Confirmation, *, release: str, protocol: str) -> Alert:
        """The alert for a release that changed since its baseline: an alarm of its watch that a full audit confirmed."""
        return cls(
            key=f"{protocol}/watch {confirmation.watch}/{confirmation.alarm_audit}/{confirmation.verdict}",
            at=confirmation.made_at or confirmation.asked_at,
            release=release,
            previous=f"{release}, as in its baseline",
            protocol=protocol,
            verdict=confirmation.verdict or "",
            why=confirmation.why,
            dimensions=tuple(row["dimension"] for row in confirmation.rows if row["verdict"] == confirmation.verdict),
        )


class AlertChannel(Protocol):
    """Where alerts go. ``send`` raises when the alert was not delivered."""

    def send(self, alert: Alert) -> None: ...


CHANNELS: Catalog[Callable[[Path], AlertChannel]] = Catalog("alert channel", group="spiritlevel.channels")


def alerted(workspace: Workspace, conclusion: Conclusion) -> list[Alert]:
    """Send what an audit has to alert about to the file channel; returns what was sent.

    A release that regressed against the previous one or a blessed baseline, when it is first audited; and one that
    drifted, when a full audit confirmed the alarm of its watch. Later audits of the same kind are the watch's alone:
    testing each of them again would raise a false alarm in nearly every year. Nothing is sent while the instrument
    is not steady.
    """
    import flows.channels.file  # noqa: F401  (registers itself)

    if conclusion.held:
        return []
    alerts = []
    audit = conclusion.scored.audit
    judged_elsewhere = conclusion.recurrence or conclusion.confirmation is not None
    compared = [] if judged_elsewhere else [conclusion.comparison, *conclusion.with_baselines]
    for comparison in compared:
        if comparison is not None and comparison.verdict == "regressed":
            previous = workspace.ledger.audit(comparison.previous_audit).release.uri
            alerts.append(Alert.of(comparison, release=audit.release.uri, previous=previous))
    if conclusion.confirmation is not None and conclusion.confirmation.verdict == "regressed":
        alerts.append(Alert.of_drift(conclusion.confirmation, release=audit.release.uri, protocol=audit.protocol))
    channel = CHANNELS["file"](workspace.home.alerts)
    for alert in alerts:
        channel.send(alert)
    return alerts
