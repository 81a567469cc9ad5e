"""A protocol and an alert channel that come from outside."""

from __future__ import annotations

from flows.channels.catalog import ChannelOptions, DeliveryError
from flows.channels.message import Message
from registry.audits.protocols import Choices
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm


class ShortBrainstorm(PersonaBrainstorm):
    """The persona brainstorm under another name and a smaller default size."""

    name = "short-brainstorm"
    title = "Short persona brainstorm"

    def defaults(self) -> Choices:
        return Choices(sizes={"size": 40})


class MemoryChannel:
    """Keeps messages in memory; ``limit`` is a setting of its own."""

    def __init__(self, options: ChannelOptions) -> None:
        options.refuse_others("limit")
        self.limit = int((options.settings.model_extra or {}).get("limit", 100))
        self.sent: list[Message] = []

    def send(self, message: Message) -> str:
        if len(self.sent) >= self.limit:
            raise DeliveryError("the memory is full")
        self.sent.append(message)
        return f"kept: {message.subject}"
