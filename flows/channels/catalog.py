"""The catalog of alert channels: a channel is one module in this folder, or an entry point of another distribution."""

from __future__ import annotations

import dataclasses
import importlib
import logging
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from metrics.catalog import Catalog
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from flows.channels.message import Message
    from flows.service_settings import ChannelSettings

TIMEOUT_S = 10.0  # of one try of any channel; others wait meanwhile


class DeliveryError(Exception):
    """A message was not delivered; the reason in words, without an address or a secret. It is tried again."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChannelOptions:
    """What a channel is made from: its name and settings in ``spiritlevel.yaml``, and the home folder."""

    name: str
    settings: ChannelSettings
    home: Path

    def secret(self, variable: str | None) -> str:
        """The value of the variable that the settings name, or of the file that the variable ``..._FILE`` names.

        Raises
        ------
        BadInputError
            When there is none; it names the variable and never a value.
        """
        from flows.secret_values import secret

        return secret(variable, f"the channel {self.name!r}") or ""

    def refuse_others(self, *known: str) -> None:
        """Refuse settings that a kind of channel does not have: a mistyped one would silently do nothing.

        Raises
        ------
        BadInputError
            Names the setting and those that are known.
        """
        given = {*self.settings.model_fields_set, *(self.settings.model_extra or {})} - {"kind"}
        for name in sorted(given - {*known}):
            raise BadInputError(
                f"channels.{self.name}: a {self.settings.kind} channel has no setting {name!r}. Known here: "
                f"kind, {', '.join(known)}"
            )


class AlertChannel(Protocol):
    """Where alerts go.

    ``send`` returns what came back, in a few words, and raises when the message was not delivered. It is not called by two
    processes for one message; after a crash it may be called again with the same ``message.id``.
    """

    def send(self, message: Message) -> str: ...


CHANNELS: Catalog[Callable[[ChannelOptions], AlertChannel]] = Catalog("alert channel", group="spiritlevel.channels")


def hush_addresses() -> None:
    """Keep the HTTP library from writing paths of addresses, which may be secrets, into a log of the finest level."""
    logging.getLogger("urllib3.connectionpool").setLevel(logging.INFO)


def load_channels() -> None:
    """Import every module of this folder, so that the channels in them register themselves."""
    import flows.channels

    for module in pkgutil.iter_modules(flows.channels.__path__):
        importlib.import_module(f"flows.channels.{module.name}")
