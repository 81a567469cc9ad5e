"""The apprise channel: mail, chat, pagers and over a hundred other services, through the library Apprise.

The address of a service holds its secret, so it comes from an environment variable or a file and is never repeated.
"""

from __future__ import annotations

import logging
import re
from typing import Any
from urllib.parse import unquote

from flows.channels.catalog import CHANNELS, TIMEOUT_S, ChannelOptions, DeliveryError, hush_addresses
from flows.channels.message import RECOVERED, TEST, Message
from metrics.errors import BadInputError

_FORMATS = ("text", "markdown")
_SHORTEST_PART = 6
_LONGEST = 300


@CHANNELS.register("apprise")
class AppriseChannel:
    """Send a message to the services whose Apprise addresses are the value of ``url_env``, separated by spaces or commas.

    ``format`` : ``text`` (default), which Apprise turns into what each service takes; or ``markdown``, for services that
    show it
    """

    def __init__(self, options: ChannelOptions) -> None:
        options.refuse_others("url_env", "format")
        where = f"channels.{options.name}"
        self.format = (options.settings.model_extra or {}).get("format", "text")
        if self.format not in _FORMATS:
            raise BadInputError(f"{where}: format is {' or '.join(_FORMATS)}, not {self.format!r}")
        if options.settings.url_env is None:
            raise BadInputError(
                f"{where}: an apprise channel needs url_env, the variable that holds the service's address (as "
                f"mailtos://... or slack://...); the address is a secret, so it does not stand here"
            )
        self._url = options.secret(options.settings.url_env)
        self._where = where

    def send(self, message: Message) -> str:
        hush_addresses()
        service = self._service()
        body = message.markdown() if self.format == "markdown" else message.text()
        result = service.notify(
            title=message.subject, body=body, body_format=self.format, notify_type=_kind(message), timeout=3 * TIMEOUT_S
        )
        if not result:
            said = [entry.message for entry in result.logs()][-1:] or ["no reason was given"]
            raise DeliveryError(self._without_secrets(f"{result.status.name.lower()}: {said[0]}"))
        names = ", ".join(dict.fromkeys(one.name for one in result))
        return self._without_secrets(f"taken by {names}")

    def _service(self) -> Any:
        import apprise

        # The library logs whole addresses at its finest level, and those that it does not take at any.
        log = logging.getLogger("apprise")
        asset = apprise.AppriseAsset(
            app_id="spiritlevel", app_desc="continuous bias audits", app_url="", http_redirects=False, async_mode=False
        )
        service = apprise.Apprise(asset=asset)
        log.setLevel(logging.CRITICAL + 10)
        added = service.add(self._url)
        log.setLevel(logging.WARNING)
        if not added or not len(service):
            raise BadInputError(f"{self._where}: the address is none that Apprise knows (it is not repeated here)")
        return service

    def _without_secrets(self, text: str) -> str:
        parts = re.split(r"[/:@?&=,;\s]+", self._url)
        secrets = {self._url, *parts, *map(unquote, parts)}
        for secret in sorted((part for part in secrets if len(part) >= _SHORTEST_PART), key=len, reverse=True):
            text = text.replace(secret, "[removed]")
        return " ".join(text.split())[:_LONGEST]


def _kind(message: Message) -> str:
    if message.event == RECOVERED:
        return "success"
    if message.event == TEST or message.severity == "low":
        return "info"
    return "warning" if message.severity == "medium" else "failure"
