"""What `flows.doctor` looks at for releases and channels: is each key there, does each endpoint answer. No token is spent."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from flows.doctor import Finding
from flows.doctor_services import WITHIN_S, readable
from flows.settings import Home

if TYPE_CHECKING:
    from registry.releases import ModelRelease

MOST_ENDPOINTS = 20
_one_at_a_time = threading.Lock()


def releases(home: Home) -> tuple[ModelRelease, ...]:
    """The newest release of each family: as the registry has it, else as it was when it was audited last."""
    with _one_at_a_time:  # two checks ask, and opening MLflow takes seconds
        return _releases(home)


@functools.lru_cache(maxsize=1)
def _releases(home: Home) -> tuple[ModelRelease, ...]:
    from registry.releases import Releases

    found: dict[str, ModelRelease] = {}
    with contextlib.suppress(Exception):  # MLflow is away, or was never made: another check says so
        if home.tracking_uri.startswith("sqlite:") and not (home.path / "mlflow.db").exists():
            raise FileNotFoundError
        for release in Releases(home.tracking_uri, home.artifact_root).list():
            found[release.family] = release
    if not found:
        with readable(home) as ledger:
            for audit in ledger.audits() if ledger is not None else ():
                found[audit.release.family] = audit.release
    return tuple(found[family] for family in sorted(found))


def keys(home: Home) -> Iterable[Finding]:
    """Whether each variable that a release or a channel names holds something; never what."""
    from flows.secret_values import secret_present

    wanted: dict[str, list[str]] = {}
    for release in releases(home):
        if release.api_key_env:
            wanted.setdefault(release.api_key_env, []).append(f"the family {release.family}")
    for name, channel in home.service.channels.items():
        extra = {key: value for key, value in (channel.model_extra or {}).items() if key.endswith("_env")}
        for variable in (channel.url_env, channel.secret_env, *extra.values()):
            if variable:
                wanted.setdefault(str(variable), []).append(f"the channel {name}")
    missing = {name: users for name, users in wanted.items() if not secret_present(name)}
    for name, users in sorted(missing.items()):
        said = f"{name} is not set, which {', '.join(users[:5])} {'need' if len(users) > 1 else 'needs'}"
        yield Finding("keys", "failed", said, f"set it, or {name}_FILE to a file that holds it, for the service's user")
    if len(missing) < len(wanted):
        present = sorted(wanted.keys() - missing.keys())
        yield Finding("keys", "ok", f"set: {', '.join(present)}")
    elif not wanted:
        yield Finding("keys", "ok", "nothing here needs a key")
    if home.service.families and not secret_present(home.service.service.webhook_secret_env):
        said = (
            f"{home.service.service.webhook_secret_env} is not set: webhooks are refused, new versions are polled for"
        )
        yield Finding("keys", "ok", said)


def endpoints(home: Home) -> Iterable[Finding]:
    """Whether each endpoint answers to the key it is to get; its list of models costs nothing."""
    from flows.ordering import is_embedded

    wanted: dict[tuple[str, str | None], ModelRelease] = {}
    for release in releases(home):
        if not is_embedded(release):
            wanted.setdefault((release.base_url or "https://api.openai.com/v1", release.api_key_env), release)
    shown = list(wanted.items())[:MOST_ENDPOINTS]
    with ThreadPoolExecutor(max_workers=MOST_ENDPOINTS) as pool:
        yield from pool.map(lambda item: _endpoint(item[0][0], item[0][1], item[1]), shown)
    if len(wanted) > len(shown):
        yield Finding("endpoints", "ok", f"{len(wanted) - len(shown)} more were not asked")
    if not wanted:
        yield Finding("endpoints", "ok", "no release needs one")


def _endpoint(base_url: str, variable: str | None, release: ModelRelease) -> Finding:
    import requests

    from flows.endpoints import host_of, on_loopback
    from flows.secret_values import secret, secret_present

    host = host_of(base_url)
    if variable and not secret_present(variable):
        return Finding("endpoints", "warning", f"{host} was not asked: its key is missing", f"set {variable}")
    key = secret(variable, release.uri)
    headers = {"Authorization": f"Bearer {key.strip()}"} if key else {}
    session = requests.Session()
    session.trust_env = not on_loopback(base_url)
    try:
        with session.get(f"{base_url.rstrip('/')}/models", headers=headers, timeout=WITHIN_S, stream=True) as answer:
            status = answer.status_code
    except requests.RequestException as error:
        # Not its text: it may repeat what was sent.
        return Finding(
            "endpoints", "failed", f"{host} was not reached ({type(error).__name__})", "check address and network"
        )
    if status in (401, 403):
        return Finding("endpoints", "failed", f"{host} refused the key ({status})", f"set {variable or 'a key'} anew")
    if status == 404:
        return Finding("endpoints", "ok", f"{host} answers; it has no list of models")
    if status >= 400:
        return Finding("endpoints", "warning", f"{host} answers {status}", "see its status page, and try again")
    return Finding("endpoints", "ok", f"{host} answers")
