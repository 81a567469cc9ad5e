"""``spiritlevel release``: register, list and show releases."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.commands.shared import HomeOption, JsonOption, print_json, print_text, say, workspace_of
from metrics.errors import BadInputError
from registry.releases import ModelRelease

app = typer.Typer(
    no_args_is_help=True,
    help="Register and look up releases: versions of MLflow registered models.",
    pretty_exceptions_enable=False,
)


def as_json(release: ModelRelease) -> dict[str, object]:
    """A release for machines: its reference first, then its fields."""
    return {"release": release.uri, **{k: v for k, v in release.as_json().items() if k != "release"}}


@app.command()
def add(
    family: Annotated[str, typer.Argument(help="Name of the model line, such as nova-chat.")],
    model: Annotated[
        str | None, typer.Option("--model", help="Model id to request, best a dated one.", show_default=False)
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="OpenAI-compatible endpoint, or embedded:NAME for a small model that comes along and needs no key. "
            "Default: OpenAI's own.",
            show_default=False,
        ),
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="NAME of the environment variable with the key; never the key itself.")
    ] = None,
    released: Annotated[str | None, typer.Option(help="Date it came out, as 2026-11-29.")] = None,
    previous: Annotated[
        int | None, typer.Option(help="Version it follows. Default: the next lower version of the family.")
    ] = None,
    price_input: Annotated[float | None, typer.Option(help="US dollars per million input tokens.")] = None,
    price_output: Annotated[float | None, typer.Option(help="US dollars per million output tokens.")] = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Register a release. Makes no call to the model.

    Example: spiritlevel release add nova-chat --model nova-2026-10-01 --base-url https://api.example.com/v1
    --api-key-env NOVA_KEY --released 2026-10-01

    Without a key: spiritlevel release add small --base-url embedded:smollm2-135m-instruct-q4_1
    """
    from flows.ordering import EMBEDDED_SCHEME
    from registry.releases import is_floating

    model = _requested(model, base_url)
    if (base_url or "").startswith(EMBEDDED_SCHEME):  # it runs here: nobody charges for a token
        price_input, price_output = price_input or 0.0, price_output or 0.0
    with workspace_of(home) as workspace:
        release = workspace.releases.add(
            family,
            model,
            base_url=base_url,
            api_key_env=api_key_env,
            released=released,
            previous=previous,
            price_input=price_input,
            price_output=price_output,
        )
        if is_floating(release.model):
            say(
                f"warning: {release.model} is a floating model id: the provider may change what answers without a new "
                f"release. Prefer a dated id; served ids are recorded with every answer."
            )
        if json:
            print_json(as_json(release))
        else:
            print_text(f"registered {release.uri} ({release.model})")


def _requested(model: str | None, base_url: str | None) -> str:
    """The model id that is asked for; that of an embedded model is its name."""
    from flows.ordering import EMBEDDED_SCHEME
    from flows.weights import EMBEDDED

    if base_url is not None and base_url.startswith(EMBEDDED_SCHEME):
        known = EMBEDDED[
            base_url.removeprefix(EMBEDDED_SCHEME)
        ]  # a name that is unknown is refused with the known ones
        return model or known.name
    if model is None:
        raise BadInputError("a release needs --model ID (or --base-url embedded:NAME, whose id is its name)")
    if base_url is None and model.startswith(EMBEDDED_SCHEME):
        raise BadInputError(f"an embedded model is an endpoint: give --base-url {model} instead of --model {model}")
    return model


@app.command(name="list")
def list_releases(
    family: Annotated[str | None, typer.Argument(help="Only this family.", show_default=False)] = None,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List releases, oldest first. Example: spiritlevel release list nova-chat"""
    with workspace_of(home) as workspace:
        releases = workspace.releases.list(family)
        if json:
            print_json([as_json(release) for release in releases])
            return
        for release in releases:
            print_text(f"{release.uri}\t{release.model}\t{release.released or 'release date unknown'}")
        if not releases:
            say("no releases yet; register one with 'spiritlevel release add FAMILY --model ID'")


@app.command()
def show(
    release: Annotated[str, typer.Argument(help="models:/family/3, family/3 or models:/family@alias")],
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show one release. Example: spiritlevel release show models:/nova-chat/3"""
    with workspace_of(home) as workspace:
        found = workspace.releases.find(release)
        previous = workspace.releases.previous(found)
        if json:
            print_json(as_json(found) | {"compared_with": previous.uri if previous else None})
            return
        print_text(found.uri)
        for name, value in found.as_json().items():
            if name not in {"family", "version"}:
                print_text(f"  {name.replace('_', ' ')}: {'not given' if value is None else value}")
        print_text(f"  compared with: {previous.uri if previous else 'nothing; it is the first'}")
