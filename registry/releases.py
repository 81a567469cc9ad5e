"""A release is a version of an MLflow registered model. This is the only module that calls the model registry."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.errors import BadInputError
from registry.pinning import is_floating, pinning
from registry.release_fields import (
    checked_day,
    checked_family,
    checked_model,
    checked_price,
    checked_url,
    checked_variable,
    without_password,
)
from registry.stores import REMOTE, active, experiment, opened, quoted

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

__all__ = [
    "RELEASES_EXPERIMENT",
    "ModelRelease",
    "ReleaseExistsError",
    "Releases",
    "UnknownReleaseError",
    "experiment",
    "is_floating",
    "opened",
    "pinning",
    "quoted",
]

RELEASES_EXPERIMENT = "spiritlevel/releases"
_ABSENT = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")  # MLflow says the second for an unknown alias


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


# ---------------------------------------------------------------- reading a model version


def _number(tags: Mapping[str, str], name: str) -> float | None:
    text = tags.get(f"spiritlevel.{name}")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # Tags can be edited by anybody; one that is no number says nothing, and must not stop every other release.
    return value if math.isfinite(value) and value >= 0 else None


def _model_id(client: MlflowClient, version: ModelVersion) -> str:
    """The id to request: as added, else as another tool tagged it, else what the source names."""
    tags = version.tags
    if named := tags.get("spiritlevel.model") or tags.get("api_model"):
        return str(named)
    source = str(version.source or "")
    if source.startswith("models:/m-"):
        external = client.get_logged_model(source.removeprefix("models:/"))
        return str((external.params or {}).get("api_model") or external.name)
    scheme, separator, rest = source.partition(":/")  # openai:/gpt-4o
    return rest.lstrip("/") if separator and scheme not in ("file", "s3", "gs", "runs", *REMOTE) else source


def _release(client: MlflowClient, found: ModelVersion) -> ModelRelease:
    tags = found.tags
    previous = _number(tags, "previous")
    return ModelRelease(
        family=found.name,
        version=int(found.version),
        model=_model_id(client, found),
        base_url=without_password(tags.get("spiritlevel.base_url") or None),
        api_key_env=tags.get("spiritlevel.api_key_env") or None,
        released=tags.get("spiritlevel.released") or None,
        previous=int(previous)
        if previous is not None and previous == int(previous) and previous != int(found.version)
        else None,
        price_input=_number(tags, "price_input"),
        price_output=_number(tags, "price_output"),
        run_id=found.run_id or None,
    )


def _tags(release: ModelRelease) -> dict[str, str]:
    """What is written on the model version; unknown values have no tag."""
    values = {
        field: getattr(release, field)
        for field in ("model", "base_url", "api_key_env", "released", "previous", "price_input", "price_output")
    }
    tags = {f"spiritlevel.{name}": str(value) for name, value in values.items() if value is not None}
    return tags | {"spiritlevel.pinned": pinning(release.model, release.base_url)}


class Releases:
    """The releases in one MLflow store. Nothing here calls a model.

    Parameters
    ----------
    tracking_uri : MLflow's store (``sqlite:////abs/mlflow.db``) or server (``https://...``)
    artifact_root : folder for files, for stores that are opened without a server
    """

    def __init__(self, tracking_uri: str, artifact_root: Path | None = None) -> None:
        self.tracking_uri = tracking_uri
        self.artifact_root = artifact_root

    def _client(self) -> MlflowClient:
        return opened(self.tracking_uri)

    def add(
        self,
        family: str,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = None,
        released: str | None = None,
        previous: int | None = None,
        price_input: float | None = None,
        price_output: float | None = None,
    ) -> ModelRelease:
        """Register ``model`` as the next version of ``family``, with its release run.

        Model id, endpoint and release date make a release: the same three again in one family raise
        `ReleaseExistsError`. Prices and the key's variable can be changed later, as tags of the version in MLflow.

        Raises
        ------
        ValueError : a value that cannot be right; a key is never repeated in the message
        UnknownReleaseError : ``previous`` is not a version of the family
        """
        checked_family(family)
        checked_model(model)
        base_url = checked_url(base_url)
        checked_variable(api_key_env)
        checked_day(released)
        checked_price("price_input", price_input)
        checked_price("price_output", price_output)
        known = self.list(family) if family in self.families() else ()
        wanted = ModelRelease(
            family=family,
            version=max((one.version for one in known), default=0) + 1,  # as expected; MLflow decides
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            released=released,
            previous=previous,
            price_input=price_input,
            price_output=price_output,
        )
        for one in known:
            if (one.model, one.base_url, one.released) == (model, base_url, released):
                raise ReleaseExistsError(one)
        if previous is not None and previous not in {one.version for one in known}:
            raise UnknownReleaseError(
                f"the previous release of a new version of {family!r} is one of its versions; got {previous}. "
                f"Known: {', '.join(str(one.version) for one in known) or 'none'}"
            )
        return self._registered(wanted)

    def _registered(self, wanted: ModelRelease) -> ModelRelease:
        import mlflow
        from mlflow.exceptions import MlflowException

        client = self._client()
        try:
            client.create_registered_model(wanted.family)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        home = experiment(client, RELEASES_EXPERIMENT, self.artifact_root)
        run_id = client.create_run(home, run_name=f"release {wanted.family} {wanted.model}").info.run_id
        try:
            with active(self.tracking_uri):
                external = mlflow.create_external_model(
                    name=re.sub(r"[^\w-]+", "-", wanted.model)[:200],
                    source_run_id=run_id,
                    model_type="llm-api",
                    experiment_id=home,
                    params={"api_model": wanted.model},
                    tags=_tags(wanted),
                )
                made = client.create_model_version(
                    wanted.family,
                    source=f"models:/{external.model_id}",
                    run_id=run_id,  # at creation: the registry's Compare page reads metrics from here
                    model_id=external.model_id,
                    tags=_tags(wanted),
                )
        except BaseException:
            client.delete_run(run_id)
            raise
        release = dataclasses.replace(wanted, version=int(made.version), run_id=run_id)
        self._describe_run(client, release, run_id)
        return release

    def _describe_run(self, client: MlflowClient, release: ModelRelease, run_id: str) -> None:
        """Name the release run after its version and repeat the version's values as params, which Compare shows."""
        from mlflow.entities import Param, RunTag

        tags = {"spiritlevel.kind": "release", "spiritlevel.release": release.uri, "spiritlevel.family": release.family}
        params = {
            "model": release.model,
            "endpoint": release.base_url or "the provider's own",
            "released": release.released or "not said",
            "pinned": pinning(release.model, release.base_url),
        }
        client.update_run(run_id, name=f"release {release.family}/{release.version} {release.model}")
        client.log_batch(
            run_id,
            params=[Param(name, value) for name, value in params.items()],
            tags=[RunTag(name, value) for name, value in tags.items()],
        )
        client.set_terminated(run_id)

    def families(self) -> tuple[str, ...]:
        """Names of all registered models, sorted."""
        client, names, token = self._client(), [], None
        while True:
            page = client.search_registered_models(page_token=token)
            names += [str(one.name) for one in page]
            if not (token := page.token):
                return tuple(sorted(names))

    def list(self, family: str | None = None) -> tuple[ModelRelease, ...]:
        """All releases, or those of one family, by family and version."""
        if family is not None and family not in (families := self.families()):
            raise self._unknown_family(family, families)
        client, found, token = self._client(), [], None
        name_filter = None if family is None else f"name={quoted(family)}"
        while True:
            page = client.search_model_versions(name_filter, page_token=token)
            found += [_release(client, one) for one in page]
            if not (token := page.token):
                return tuple(sorted(found, key=lambda one: (one.family, one.version)))

    @staticmethod
    def _unknown_family(family: str, families: tuple[str, ...]) -> UnknownReleaseError:
        near = difflib.get_close_matches(family, families, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        return UnknownReleaseError(
            f"no model family is named {family!r}{hint} Known: {', '.join(families) or 'none yet'}"
        )

    def find(self, reference: str) -> ModelRelease:
        """The release that ``models:/family/3``, ``family/3``, ``family/latest`` or ``family@alias`` names.

        Models that other tools registered are taken by their tag ``spiritlevel.model`` or ``api_model``, else by
        what their source names.
        """
        from mlflow.exceptions import MlflowException

        name = reference.removeprefix("models:").strip("/")
        family, slash, version = name.rpartition("/")
        if not slash:
            family, slash, version = name.rpartition("@")
            version = f"@{version}"
        if not family or version in ("", "@"):
            raise UnknownReleaseError(
                f"a release is written family/3, family/latest or family@alias; got {reference!r}"
            )
        families = self.families()
        if family not in families:
            raise self._unknown_family(family, families)
        client = self._client()
        if version.startswith("@"):
            try:
                return _release(client, client.get_model_version_by_alias(family, version[1:]))
            except MlflowException as error:
                if error.error_code not in _ABSENT:
                    raise
            aliases = sorted(client.get_registered_model(family).aliases)
            raise UnknownReleaseError(f"{family!r} has no alias {version[1:]!r}. Known: {', '.join(aliases) or 'none'}")
        known = self.list(family)
        for one in reversed(known):
            if version == "latest" or version == str(one.version):
                return one
        versions = ", ".join(str(one.version) for one in known) or "none"
        raise UnknownReleaseError(f"{family!r} has no version {version!r}. Known: {versions}")

    def previous(self, release: ModelRelease) -> ModelRelease | None:
        """The release that ``release`` is compared with: the declared one, else the next lower version, else None."""
        if release.previous is not None:
            return self.find(f"{release.family}/{release.previous}")
        lower = [one for one in self.list(release.family) if one.version < release.version]
        return lower[-1] if lower else None

    def run_of(self, release: ModelRelease) -> str:
        """Id of the release run, made when there is none (models that other tools registered, a new store)."""
        from mlflow.exceptions import MlflowException

        client = self._client()
        if release.run_id is not None:
            try:
                if client.get_run(release.run_id).info.lifecycle_stage == "active":
                    return release.run_id
            except MlflowException as error:
                if error.error_code not in _ABSENT:
                    raise
        home = experiment(client, RELEASES_EXPERIMENT, self.artifact_root)
        found = client.search_runs([home], f'tags."spiritlevel.release" = {quoted(release.uri)}', max_results=1)
        if found:
            return str(found[0].info.run_id)
        run_id = str(client.create_run(home, run_name=f"release {release.family}").info.run_id)
        self._describe_run(client, release, run_id)
        return run_id

    def describe(self, release: ModelRelease, *, verdict: str, summary: str) -> None:
        """Write the verdict (a tag) and a summary in Markdown (the description) on the model version."""
        client = self._client()
        known = self.find(f"{release.family}/{release.version}")
        client.update_model_version(known.family, str(known.version), description=summary[:5000])
        client.set_model_version_tag(known.family, str(known.version), "spiritlevel.verdict", verdict)
