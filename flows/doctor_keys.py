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
from flows.setting_types import NEWEST
from flows.settings import Home
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from registry.releases import ModelRelease

MOST_ENDPOINTS = 20
_one_at_a_time = threading.Lock()


def releases(home: Home) -> tuple[ModelRelease, ...]:
    """What is audited: the newest release of each family, and those that spiritlevel.yaml names."""
    found = known_releases(home)
    return tuple(dict.fromkeys(found[key] for key in sorted(found)))


def known_releases(home: Home) -> dict[tuple[str, str], ModelRelease]:
    """Releases by family and 'newest', '@alias' or version: as the registry has them, else as the ledger does."""
    with _one_at_a_time:  # several checks ask, and opening MLflow takes seconds
        return _known_releases(home)


@functools.lru_cache(maxsize=1)
def _known_releases(home: Home) -> dict[tuple[str, str], ModelRelease]:
    from flows.secret_values import take_credentials
    from registry.releases import Releases

    try:
        families = home.service.families
    except BadInputError:  # another check says so
        families = {}
    named = [(family, name) for family, said in families.items() for name in said.releases if name != NEWEST]
    found: dict[tuple[str, str], ModelRelease] = {}
    with contextlib.suppress(Exception):  # MLflow is away, or was never made: another check says so
        take_credentials()
        if home.tracking_uri.startswith("sqlite:") and not (home.path / "mlflow.db").exists():
            raise FileNotFoundError
        registry = Releases(home.tracking_uri, home.artifact_root)
        found |= {(release.family, NEWEST): release for release in registry.list()}
        for family, name in named:
            with contextlib.suppress(BadInputError):  # it is not there yet
                found[family, name] = registry.find(f"{family}{name if name.startswith('@') else f'/{name}'}")
    if not found:
        with readable(home) as ledger:
            audited = ledger.audited_releases() if ledger is not None else []
        found |= {(release.family, NEWEST): release for release in audited}
        found |= {key: one for one in audited if (key := (one.family, str(one.version))) in named}
    return found


def budgets(home: Home) -> Iterable[Finding]:
    """Whether every budget in money can be kept: the newest release of its family has prices."""
    from flows.service_checks import refuse_unpriced

    try:
        settings = home.service
    except BadInputError:  # another check says so
        return
    found = known_releases(home)
    try:
        refuse_unpriced(settings, home.service_file, lambda family: found.get((family, NEWEST)))
    except BadInputError as error:
        yield Finding("budgets", "failed", str(error), "the service does not begin like this")
    else:
        yield Finding("budgets", "ok", "no budget in money lacks prices")


def keys(home: Home) -> Iterable[Finding]:
    """Whether each variable that a release or a channel names holds something; never what."""
    from flows.secret_values import secret_present

    wanted: dict[str, list[str]] = {}
    for release in releases(home):
        if release.api_key_env and (user := f"the family {release.family}") not in wanted.get(release.api_key_env, ()):
            wanted.setdefault(release.api_key_env, []).append(user)
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
    from flows.endpoints import PROVIDER_URL
    from flows.ordering import is_embedded

    wanted: dict[tuple[str, str | None], ModelRelease] = {}
    for release in releases(home):
        if not is_embedded(release):
            wanted.setdefault((release.base_url or PROVIDER_URL, release.api_key_env), release)
    shown = list(wanted.items())[:MOST_ENDPOINTS]
    with ThreadPoolExecutor(max_workers=MOST_ENDPOINTS) as pool:
        yield from pool.map(lambda item: _endpoint(item[0][0], item[0][1], item[1]), shown)
    if len(wanted) > len(shown):
        yield Finding("endpoints", "ok", f"{len(wanted) - len(shown)} more were not asked")
    if not wanted:
        yield Finding("endpoints", "ok", "no release needs one")


def _endpoint(base_url: str, variable: str | None, release: ModelRelease) -> Finding:
    import requests

    from flows.endpoints import host_of, on_loopback, usable_key
    from flows.secret_values import secret, secret_present

    try:
        host = host_of(base_url)
        if variable and not secret_present(variable):
            return Finding("endpoints", "warning", f"{host} was not asked: its key is missing", f"set {variable}")
        key = usable_key(secret(variable, release.uri), variable)
    except BadInputError as error:
        return Finding("endpoints", "failed", f"{release.uri}: {error}", "correct what the sentence names")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
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
