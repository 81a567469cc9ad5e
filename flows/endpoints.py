"""Addresses and keys of endpoints."""

from __future__ import annotations

import urllib.parse

from metrics.errors import BadInputError

PROVIDER_URL = "https://api.openai.com/v1"  # of a release that names no endpoint


def on_loopback(base_url: str) -> bool:
    """Whether only this machine can be meant.

    >>> on_loopback("http://127.0.0.1:8000/v1"), on_loopback("https://example.org/v1")
    (True, False)
    """
    host = urllib.parse.urlsplit(base_url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def host_of(base_url: str) -> str:
    """Host and port of the address, without any user name or password in it.

    >>> host_of("https://me:secret@example.org:8443/v1")
    'example.org:8443'
    """
    parts = urllib.parse.urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInputError(
            f"the endpoint's address must begin with http:// or https:// and name a host, got {base_url!r}"
        )
    return parts.hostname + (f":{parts.port}" if parts.port else "")


def usable_key(api_key: str | None, name: str | None) -> str:
    """The key without spaces around it, when a header can carry it."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise BadInputError(
            f"the API key in {name or 'the environment'} holds characters no header can carry: set it again"
        )
    return key
