"""A protocol and an alert channel that come from outside."""

from __future__ import annotations

from pathlib import Path

from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm


class ShortBrainstorm(PersonaBrainstorm):
    """The persona brainstorm under another name and a smaller default size."""

    name = "short-brainstorm"
    title = "Short persona brainstorm"
    default_size = 40


class MemoryChannel:
    """Keeps alerts in memory."""

    def __init__(self, path: Path) -> None:
        self.sent: list[object] = []

    def send(self, alert: object) -> None:
        self.sent.append(alert)
