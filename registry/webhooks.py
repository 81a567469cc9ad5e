"""The webhook of MLflow's model registry that tells the service of new versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metrics.errors import BadInputError
from registry.stores import opened, pages


def registered_webhook(tracking_uri: str, name: str, url: str, events: Sequence[str], secret: str) -> tuple[str, bool]:
    """Make the webhook to an address, or give the one that is there today's secret and events.

    Returns
    -------
    tuple : its id, and whether it was made now

    Raises
    ------
    BadInputError
        When MLflow refuses the address; its reason is given without the secret.
    """
    from mlflow.exceptions import MlflowException

    client = opened(tracking_uri)
    wanted: list[Any] = list(events)
    try:
        for hook in pages(lambda token: client.list_webhooks(page_token=token)):
            if hook.url == url:
                client.update_webhook(hook.webhook_id, name=name, events=wanted, secret=secret, status="ACTIVE")
                return str(hook.webhook_id), False
        made = client.create_webhook(name, url, events=wanted, secret=secret)
    except MlflowException as error:
        if error.error_code not in ("INVALID_PARAMETER_VALUE", "BAD_REQUEST"):
            raise
        said = str(error).splitlines()[0].replace(secret, "[removed]")
        raise BadInputError(
            f"MLflow did not take the webhook: {said}. It sends to https and public addresses, unless its server is started "
            f"with MLFLOW_WEBHOOK_ALLOWED_SCHEMES=http,https and MLFLOW_WEBHOOK_ALLOW_PRIVATE_IPS=true"
        ) from None
    return str(made.webhook_id), True
