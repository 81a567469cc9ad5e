"""The prefect-event channel: an event on the Prefect server for each message, for automations to act on."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from typing import Any

from flows.channels.catalog import CHANNELS, TIMEOUT_S, ChannelOptions, DeliveryError
from flows.channels.message import AGAIN, OPENED, RECOVERED, TEST, Message

EVENTS = {
    "regression": "spiritlevel.release.regressed",
    "improvement": "spiritlevel.release.improved",
    "drift": "spiritlevel.release.drifted",
    "identity-changed": "spiritlevel.release.identity-changed",
    "gate-failure": "spiritlevel.gate.failed",
    "coverage-collapse": "spiritlevel.audit.coverage-collapsed",
    "overdue": "spiritlevel.audit.overdue",
    "no-verdict": "spiritlevel.audit.no-verdict",
    "instrument-moved": "spiritlevel.instrument.moved",
    "budget": "spiritlevel.budget.reached",
}
_NAMESPACE = uuid.UUID("6f6bd0a4-4f0b-5d0c-9d0b-1d3ea1c0a8f4")


def event_name(message: Message) -> str:
    """The name of the event for a message: what happened, or that it is over, or that it is still so.

    Reminders and recoveries have names of their own, so that an automation on ``spiritlevel.release.regressed`` acts
    once for each regression.
    """
    fixed = {AGAIN: "spiritlevel.incident.still-open", RECOVERED: "spiritlevel.incident.recovered"}
    if message.event == TEST:
        return "spiritlevel.alerts.test"
    return fixed.get(message.event) or EVENTS.get(message.kind, f"spiritlevel.finding.{slug(message.kind)}")


def slug(text: str) -> str:
    """Text as a part of a resource id.

    >>> slug("Acme Chat (EU)")
    'acme-chat-eu'
    """
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-") or "none"


def event_of(message: Message) -> dict[str, Any]:
    """The event as Prefect takes it: about the release, related to its family, protocol and incident."""
    family = slug(message.family)
    release = f"{family}.{message.version}" if message.version is not None else family
    related = [
        {"prefect.resource.id": f"spiritlevel.family.{family}", "prefect.resource.role": "family"},
        {"prefect.resource.id": f"spiritlevel.protocol.{slug(message.protocol)}", "prefect.resource.role": "protocol"},
        {"prefect.resource.id": f"spiritlevel.incident.{message.incident}", "prefect.resource.role": "incident"},
    ]
    return {
        "id": str(uuid.uuid5(_NAMESPACE, message.id)),  # the same when it is sent again: Prefect stores it once
        "occurred": message.at,
        "event": event_name(message),
        "resource": {
            "prefect.resource.id": f"spiritlevel.release.{release}",
            "prefect.resource.name": message.release or "spiritlevel",
            "spiritlevel.severity": message.severity,
            "spiritlevel.kind": message.kind,
            "spiritlevel.protocol": message.protocol,
        },
        "related": related if message.event in (OPENED, AGAIN, RECOVERED) else [],
        "payload": message.as_json(),
    }


@CHANNELS.register("prefect-event")
class PrefectEventChannel:
    """Give each message to the Prefect server of ``PREFECT_API_URL`` as an event; it has no settings.

    The server's answer is waited for, which Prefect's own ``emit_event`` does not: an event that it did not take is sent
    again later.
    """

    def __init__(self, options: ChannelOptions) -> None:
        options.refuse_others()

    def send(self, message: Message) -> str:
        from prefect.client.orchestration import get_client
        from prefect.settings import PREFECT_API_URL

        if not PREFECT_API_URL.value():
            raise DeliveryError("PREFECT_API_URL is not set, so there is no Prefect server to give events to")
        event = event_of(message)
        occurred = dt.datetime.fromisoformat(message.at)
        event["occurred"] = occurred.isoformat()
        try:
            with get_client(httpx_settings={"timeout": TIMEOUT_S}, sync_client=True) as client:
                client.request("POST", "/events", json=[event]).raise_for_status()
        except Exception as error:  # the library raises many kinds, and their words may quote the address
            code = getattr(getattr(error, "response", None), "status_code", None)
            what = f"HTTP {code}" if code else type(error).__name__
            raise DeliveryError(f"the Prefect server did not take the event ({what})") from None
        return f"{event['event']} taken by the Prefect server"
