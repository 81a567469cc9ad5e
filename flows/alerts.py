"""Alerts: one value, many channels. A channel is one module, or an entry point of another distribution."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from metrics.catalog import Catalog
from registry.ledger.values import StoredComparison

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


class AlertChannel(Protocol):
    """Where alerts go. ``send`` raises when the alert was not delivered."""

    def send(self, alert: Alert) -> None: ...


CHANNELS: Catalog[Callable[[Path], AlertChannel]] = Catalog("alert channel", group="spiritlevel.channels")


def alerted(workspace: Workspace, conclusion: Conclusion) -> Alert | None:
    """Send an alert to the file channel when a release regressed; returns what was sent."""
    import flows.channels.file  # noqa: F401  (registers itself)

    comparison = conclusion.comparison
    if comparison is None or comparison.verdict != "regressed" or conclusion.previous is None:
        return None
    alert = Alert.of(comparison, release=conclusion.scored.audit.release.uri, previous=conclusion.previous.uri)
    CHANNELS["file"](workspace.home.alerts).send(alert)
    return alert
