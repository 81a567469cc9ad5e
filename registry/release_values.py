"""A release as the rest of the product knows it, and the errors about releases."""

from __future__ import annotations

import dataclasses
from typing import Any

from metrics.errors import BadInputError


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelRelease:
    """One version of one model line.

    Parameters
    ----------
    family, version : name of the registered model and its version; written ``models:/family/3``
    model : id that is requested from the endpoint
    base_url : OpenAI-compatible endpoint; None for the provider's own; ``embedded:NAME`` for the embedded model
    api_key_env : name of the environment variable that holds the key (the key itself is never stored)
    released : ISO date the release came out; previous : version it is compared with
    price_input, price_output : US dollars per million tokens; None is unknown, never free
    run_id : the MLflow release run that belongs to this version
    """

    family: str
    version: int
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    released: str | None = None
    previous: int | None = None
    price_input: float | None = None
    price_output: float | None = None
    run_id: str | None = None

    @property
    def uri(self) -> str:
        return f"models:/{self.family}/{self.version}"

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


class ReleaseExistsError(BadInputError):
    """The release that was to be added is registered already; ``existing`` is it."""

    def __init__(self, existing: ModelRelease) -> None:
        self.existing = existing
        super().__init__(
            f"{existing.uri} is this release already (same model id {existing.model!r}, endpoint and release date); "
            f"use it, or give another release date if the provider changed what answers to that id"
        )


class UnknownReleaseError(BadInputError, LookupError):
    """No such family, version or alias; the message names the nearest and lists what is known."""
