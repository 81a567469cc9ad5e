"""``webhook``: let MLflow's model registry tell the service of new versions."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.commands.shared import HomeOption, JsonOption, print_json, print_text, workspace_of
from metrics.errors import BadInputError

app = typer.Typer(help="Let MLflow's model registry tell the service of new versions.", no_args_is_help=True)
NAME = "spiritlevel"


@app.command()
def register(
    url: Annotated[
        str, typer.Argument(help="Where the service listens, as https://audits.example.org/webhooks/mlflow")
    ],
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Make a webhook on the MLflow server, signed with the secret that the service's configuration names.

    One that is there with the same address gets the secret of now, so that a changed secret needs only this command.
    MLflow sends to https and public addresses only, unless its server is started with MLFLOW_WEBHOOK_ALLOWED_SCHEMES and
    MLFLOW_WEBHOOK_ALLOW_PRIVATE_IPS.

    Example: spiritlevel webhook register https://audits.example.org/webhooks/mlflow
    """
    from flows.receiver import EVENTS
    from flows.secret_values import secret
    from registry.webhooks import registered_webhook

    with workspace_of(home) as workspace:
        if not workspace.home.tracking_uri.startswith(("http://", "https://")):
            raise BadInputError(
                "webhooks are sent by an MLflow server, and MLflow is a file here; set tracking_uri in spiritlevel.toml or "
                "SPIRITLEVEL_TRACKING_URI to a server's address. Without one the service looks for new versions itself"
            )
        value = secret(workspace.home.service.service.webhook_secret_env, "the webhook receiver")
        # Not the home's address alone: a password for the server may come from a file.
        hook, made = registered_webhook(workspace.tracking.uri, NAME, url, EVENTS, value or "")
    if json:
        print_json({"webhook": hook, "url": url, "events": list(EVENTS), "created": made})
        return
    print_text(f"{'created' if made else 'updated'} the webhook {hook} to {url} for {' and '.join(EVENTS)}")
    print_text("MLflow sends to it within a minute; until then new versions are found by looking")
