"""The webhook channel: a signed JSON POST to an address of the user's own.

The signature is HMAC-SHA256 over ``timestamp.body``, so a receiver can tell who sent it and refuse what is old. The
header ``Idempotency-Key`` is the message's id: a receiver that knows it has the message already.

The address comes from the configuration, which is trusted, and services mostly listen on private ones; so private and
loopback addresses are allowed. What is refused: redirects, which would let a receiver choose the address; link-local
addresses, where clouds keep credentials; and plain http to a public address, where others could read along.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import ipaddress
import json
import socket
from urllib.parse import SplitResult, urlsplit

from flows.channels.catalog import CHANNELS, TIMEOUT_S, ChannelOptions, DeliveryError, hush_addresses
from flows.channels.message import Message
from metrics.errors import BadInputError

SIGNATURE = "X-Spiritlevel-Signature"
_OWN = {"content-type", "idempotency-key", "user-agent", SIGNATURE.lower(), "host", "content-length"}


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """The value of the signature header.

    >>> signature("s", 1767225600, b"{}")
    't=1767225600,v1=ba9170a5544f572ac4aa337998ae8489ca81af27f3b3dda2661111814a9dd771'
    """
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"


@CHANNELS.register("webhook")
class WebhookChannel:
    """POST a message as JSON to ``url`` (or the value of ``url_env``), signed with the value of ``secret_env``.

    ``headers`` are sent too; a secret does not belong there.
    """

    def __init__(self, options: ChannelOptions) -> None:
        options.refuse_others("url", "url_env", "secret_env", "headers")
        settings = options.settings
        where = f"channels.{options.name}"
        if settings.secret_env is None:
            raise BadInputError(f"{where}: a webhook is signed; name the variable that holds the secret as secret_env")
        if (settings.url is None) == (settings.url_env is None):
            raise BadInputError(f"{where}: a webhook has either url, or url_env when the address itself is a secret")
        if clash := sorted(name for name in settings.headers if name.lower() in _OWN):
            raise BadInputError(f"{where}: the header {clash[0]} is the channel's own")
        self.url = settings.url or options.secret(settings.url_env)
        self.headers = dict(settings.headers)
        self._secret = options.secret(settings.secret_env)
        self._checked = _checked_url(self.url, where)

    def send(self, message: Message) -> str:
        import requests

        hush_addresses()
        _refuse_address(self._checked)
        body = json.dumps(message.as_json(), ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
        now = int(dt.datetime.now(dt.UTC).timestamp())
        headers = {
            **self.headers,
            "Content-Type": "application/json",
            "User-Agent": "spiritlevel",
            "Idempotency-Key": message.id,
            SIGNATURE: signature(self._secret, now, body),
        }
        try:
            # The answer is not read: a receiver that sends without end must not hold the sender.
            with requests.post(
                self.url, data=body, headers=headers, timeout=TIMEOUT_S, allow_redirects=False, stream=True
            ) as answer:
                code = answer.status_code
        except requests.Timeout:
            raise DeliveryError(f"no answer within {TIMEOUT_S:g} s") from None
        except requests.RequestException as error:
            # The library's own words quote the address, which may be a secret.
            raise DeliveryError(f"no connection ({type(error).__name__})") from None
        if 300 <= code < 400:
            raise DeliveryError(f"HTTP {code}: it redirects, and redirects are not followed; configure the new address")
        if not 200 <= code < 300:
            raise DeliveryError(f"HTTP {code}")
        return f"HTTP {code}"


def _checked_url(url: str, where: str) -> SplitResult:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise BadInputError(f"{where}: an address is http(s)://host[:port]/path (what was given is not repeated here)")
    if parts.username or parts.password:
        raise BadInputError(f"{where}: an address has no user and password in it; the signature says who sends")
    return parts


def _refuse_address(parts: SplitResult) -> None:
    """Refuse addresses that no receiver of alerts has."""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise DeliveryError("the host has no address: is its name right, and is there a network?") from None
    for *_, place in found:
        address = ipaddress.ip_address(str(place[0]).partition("%")[0])
        mapped = getattr(address, "ipv4_mapped", None)
        address = mapped or address
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            raise DeliveryError("the host has a link-local address, which is refused: clouds keep credentials there")
        if parts.scheme == "http" and address.is_global:
            raise DeliveryError("plain http to a public address is refused, for others could read along; use https")
