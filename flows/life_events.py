"""Events on the Prefect server about the life of audits and releases, for its automations. They are a courtesy: nothing
waits for them, and an audit does not fail because one could not be given. What must arrive is an alert.
"""

from __future__ import annotations

import datetime as dt
import logging
import uuid
from collections.abc import Mapping
from typing import Any

STARTED, FINISHED = "spiritlevel.audit.started", "spiritlevel.audit.finished"
REGISTERED = "spiritlevel.release.registered"
TIMEOUT_S = 5.0
_NAMESPACE = uuid.UUID("0b5c2c8e-2f0c-5b53-8d1c-6b9c3f0d6a11")
_log = logging.getLogger(__name__)


def emit(event: str, family: str, version: int, payload: Mapping[str, Any], *, once: str) -> bool:
    """Give an event about a release to the configured Prefect server; False when there is none or it did not take it.

    Parameters
    ----------
    once : what the event is about, for good: the same event given again has the same id, and Prefect keeps one
    """
    from flows.channels.prefect_events import slug
    from flows.deployments import server_address

    if server_address() is None:
        return False
    said = {
        "id": str(uuid.uuid5(_NAMESPACE, f"{event} {once}")),
        "occurred": dt.datetime.now(dt.UTC).isoformat(),
        "event": event,
        "resource": {
            "prefect.resource.id": f"spiritlevel.release.{slug(family)}.{version}",
            "prefect.resource.name": f"models:/{family}/{version}",
        },
        "related": [
            {"prefect.resource.id": f"spiritlevel.family.{slug(family)}", "prefect.resource.role": "family"},
        ],
        "payload": dict(payload),
    }
    try:
        from prefect.client.orchestration import get_client

        with get_client(httpx_settings={"timeout": TIMEOUT_S}, sync_client=True) as client:
            client.request("POST", "/events", json=[said]).raise_for_status()
    except Exception as error:  # the library raises many kinds
        _log.info("the Prefect server did not take the event %s (%s)", event, type(error).__name__)
        return False
    return True
