"""What `flows.doctor` looks at elsewhere: ledger, outboxes, duties, MLflow and Prefect; a few seconds each."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import email.utils
import importlib.metadata
import json
import os
import socket
import urllib.parse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.doctor import Finding, State
from flows.endpoints import on_loopback
from flows.settings import Home
from registry.ledger.opening import LedgerError

if TYPE_CHECKING:
    from requests import Response

    from registry.ledger.examining import LedgerState
    from registry.ledger.store import Ledger

WITHIN_S = 5.0
SKEW_WARNING_S, SKEW_FAILED_S = 5.0, 60.0
LATE_S = 3600.0
_START = "start it, or correct its address"


def ledger(home: Home) -> Iterable[Finding]:
    """Connection, schema, size, and whether the two clocks agree."""
    from registry.ledger.examining import examined

    state = examined(home.ledger_url, int(WITHIN_S))
    if state is None:
        yield Finding("ledger", "warning", "there is none yet", "'spiritlevel init' makes it, as any order does")
        return
    size = f", {state.size_bytes / 1e6:.1f} MB" if state.size_bytes is not None else ""
    said = f"{state.kind} {state.server} at {state.place}, schema {state.schema or 'none'}{size}"
    yield _schema(state, said)
    if state.skew_s is not None:
        yield _skew("the database", state.skew_s)
    near = on_loopback(home.ledger_url) or not urllib.parse.urlsplit(home.ledger_url).hostname  # or a socket
    if state.encrypted is False and not near:
        yield Finding(
            "ledger",
            "warning",
            "the connection is not encrypted",
            "add ?sslmode=verify-full&sslrootcert=FILE to its URL",
        )


def _schema(state: LedgerState, said: str) -> Finding:
    if state.usable:
        return Finding("ledger", "ok", f"{said} (the newest)")
    if state.schema is not None and state.schema > state.head:
        return Finding(
            "ledger", "failed", f"{said}, and this program knows {state.head}", "install a newer spiritlevel"
        )
    return Finding(
        "ledger", "warning", f"{said}, to be migrated to {state.head}", "back it up; the next command migrates it"
    )


def _skew(whose: str, ahead_s: float) -> Finding:
    state: State = "failed" if abs(ahead_s) > SKEW_FAILED_S else "warning" if abs(ahead_s) > SKEW_WARNING_S else "ok"
    way = "ahead of" if ahead_s > 0 else "behind"
    if state == "ok":
        return Finding("clock", "ok", f"the clock of {whose} agrees with this machine's ({ahead_s:+.1f} s)")
    todo = "let both machines keep time by NTP"
    return Finding("clock", state, f"the clock of {whose} is {abs(ahead_s):.0f} s {way} this machine's", todo)


@contextlib.contextmanager
def readable(home: Home) -> Iterator[Ledger | None]:
    """The ledger, when it is there and needs no migration: looking must change nothing."""
    from registry.ledger.examining import examined
    from registry.ledger.store import Ledger

    try:
        state = examined(home.ledger_url, int(WITHIN_S))
    except LedgerError:
        state = None  # another check says so
    if state is None or not state.usable:
        yield None
        return
    opened = Ledger(home.ledger_url, tell=lambda _: None)
    opened.patience_s = 0.5
    try:
        yield opened
    finally:
        opened.close()


def outboxes(home: Home) -> Iterable[Finding]:
    """What waits for MLflow or a channel, and what was given up."""
    with readable(home) as ledger:
        if ledger is None:
            return
        waiting, notices = ledger.waiting_publications(), ledger.notice_totals()
        if waiting:
            why = next((row.detail for row in waiting if row.detail), "")
            said = f"{len(waiting)} results wait for MLflow" + (f"; {why}" if why else "")
            yield Finding("outbox", "warning", said, "the service publishes them; 'spiritlevel publish' does at once")
        else:
            yield Finding("outbox", "ok", "nothing waits for MLflow")
        if dead := notices.get("dead", 0):
            todo = "see 'spiritlevel alerts list', and test the channel with 'spiritlevel alerts test'"
            yield Finding("outbox", "failed", f"{dead} notices could not be delivered and were given up", todo)
        elif late := notices.get("waiting", 0) + notices.get("sending", 0):
            yield Finding(
                "outbox", "warning", f"{late} notices wait", "test the channels with 'spiritlevel alerts test'"
            )
        else:
            yield Finding("outbox", "ok", "no notice waits")


def duties(home: Home) -> Iterable[Finding]:
    """Work that nobody does any more, runs that nobody took, and whether the clock ticks here."""
    with readable(home) as ledger:
        if ledger is None:
            return
        dead = ledger.dead_work()
        if dead:
            audits = ", ".join(str(worker.audit_id) for worker in dead[:10])
            todo = "the duty clock takes it up; without one, give the same order again"
            which = f"{'audit' if len(dead) == 1 else 'audits'} {audits}"
            yield Finding("duties", "warning", f"work on {which} ended without a word: {dead[0].why}", todo)
        else:
            yield Finding("duties", "ok", "no work was left behind")
        limit = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=LATE_S)
        left = [run for run in ledger.runs(states=("due",)) if dt.datetime.fromisoformat(run.due_at) < limit]
        if left:
            todo = "start 'spiritlevel serve', or a worker of the pool"
            yield Finding("duties", "warning", f"{len(left)} runs are due since over an hour: {left[0].duty}", todo)
    if home.service.families and not os.environ.get("PREFECT_API_URL"):
        yield _service(home)


def _service(home: Home) -> Finding:
    """Whether the service answers on this machine, and when its clock looked last."""
    import requests

    endpoint = home.service.service
    address = f"http://{'127.0.0.1' if endpoint.host in ('', '0.0.0.0') else endpoint.host}:{endpoint.port}/health"  # noqa: S104
    todo = "start 'spiritlevel serve' where it belongs"
    try:
        answer = requests.get(address, timeout=WITHIN_S)
        said = answer.json()
    except (requests.RequestException, ValueError):
        return Finding("duties", "warning", f"no service answers at {address}: nothing is audited by itself", todo)
    if answer.status_code != 200:
        return Finding("duties", "failed", f"the service is not well: {said.get('why')}", "see its log")
    return Finding("duties", "ok", f"the service runs; its clock looked {said.get('looked_s_ago')} s ago")


def mlflow(home: Home) -> Iterable[Finding]:
    """Whether MLflow answers, in which version, and takes a file."""
    from flows.secret_values import take_credentials
    from registry.stores import REMOTE

    take_credentials()
    uri = home.tracking_uri
    client = importlib.metadata.version("mlflow")
    if urllib.parse.urlsplit(uri).scheme not in REMOTE:
        yield _store(uri, client)
        return
    answer = _mlflow_get(uri, "/version")
    if answer is None:
        yield Finding("mlflow", "failed", f"{uri} does not answer", f"{_START}; results wait in the ledger meanwhile")
        return
    if answer.status_code in (401, 403):
        todo = "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD; or, for 'Invalid Host', its --allowed-hosts"
        yield Finding("mlflow", "failed", f"{uri} refused ({answer.status_code}): {answer.text[:100]}", todo)
        return
    server = answer.text.strip()[:40] if answer.ok else "unknown"
    same = server.split(".")[:2] == client.split(".")[:2]
    said = f"{uri} answers, version {server}; client {client}"
    yield Finding("mlflow", "ok" if same else "warning", said, "" if same else "bring both to one minor version")
    if (skew := _date_skew(answer)) is not None:
        yield _skew("MLflow", skew)
    yield _artifacts(uri)


def _store(uri: str, client: str) -> Finding:
    """A store without a server: whether its file is a database. Opening it would make or migrate it."""
    from registry.stores import StoreDamagedError, refuse_damage

    if not uri.startswith("sqlite:"):
        return Finding(
            "mlflow", "ok", f"a store of its own ({uri.partition(':')[0]}), opened by mlflow {client}; no server"
        )
    path = Path(uri.removeprefix("sqlite:///"))
    if not path.exists():
        return Finding("mlflow", "ok", f"no store yet at {path}: mlflow {client} makes it with the first release")
    try:
        refuse_damage(path)
    except StoreDamagedError as error:
        return Finding("mlflow", "failed", str(error), "move it away, then 'spiritlevel publish --rebuild'")
    said = f"a store of its own ({path}, {path.stat().st_size / 1e6:.1f} MB), opened by mlflow {client}; no server"
    return Finding("mlflow", "ok", said)


def _mlflow_get(uri: str, path: str) -> Response | None:
    import requests

    with contextlib.suppress(requests.RequestException, OSError):
        return _mlflow_request("GET", uri, path)
    return None


def _mlflow_request(method: str, uri: str, path: str, content: bytes | None = None) -> Response:
    """A request with what MLflow's own client would send: user and password, or a token, and its certificates."""
    import requests

    from registry.stores import certificates

    user, token = os.environ.get("MLFLOW_TRACKING_USERNAME"), os.environ.get("MLFLOW_TRACKING_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token and not user else {}
    login = (user, os.environ.get("MLFLOW_TRACKING_PASSWORD", "")) if user else None
    address = f"{uri.rstrip('/')}{path}"
    return requests.request(
        method, address, data=content, headers=headers, auth=login, timeout=WITHIN_S, **certificates()
    )


def _date_skew(answer: Response) -> float | None:
    """Seconds that the sender's clock is ahead; its header counts in whole seconds."""
    try:
        then = email.utils.parsedate_to_datetime(answer.headers["Date"])
    except (KeyError, ValueError, TypeError):
        return None
    ahead = (then - dt.datetime.now(dt.UTC)).total_seconds() + answer.elapsed.total_seconds() / 2
    return 0.0 if -1 <= ahead <= 0.5 else ahead


def _artifacts(uri: str) -> Finding:
    """Put a small file where the server keeps files, and take it away again."""
    import requests

    path = f"/api/2.0/mlflow-artifacts/artifacts/spiritlevel-doctor/{socket.gethostname()}-{os.getpid()}.txt"
    try:
        put = _mlflow_request("PUT", uri, path, b"written and removed by spiritlevel doctor\n")
        if put.ok:
            _mlflow_request("DELETE", uri, path)
            return Finding("mlflow", "ok", "it takes files")
    except (requests.RequestException, OSError) as error:
        return Finding("mlflow", "warning", f"whether it takes files is unknown ({type(error).__name__})", _START)
    if put.status_code in (404, 501, 503):
        return Finding("mlflow", "ok", "it does not pass files on; clients write to its artifact store themselves")
    todo = "see its log: the artifact store may be full, or not writable"
    return Finding("mlflow", "failed", f"it takes no files ({put.status_code}): {put.text[:100]}", todo)


def prefect(home: Home) -> Iterable[Finding]:
    """Whether Prefect answers, knows the work pool, has a worker, and when the duty clock ran."""
    api = os.environ.get("PREFECT_API_URL", "").rstrip("/")
    if not api:
        yield Finding(
            "prefect", "ok", "no server is configured (PREFECT_API_URL); 'spiritlevel serve' keeps time itself"
        )
        return
    answer = _prefect(api, "/admin/version")
    if answer is None:
        yield Finding("prefect", "failed", f"{api} does not answer", _START)
        return
    if answer.status_code in (401, 403):
        yield Finding("prefect", "failed", f"{api} refused", "set PREFECT_API_AUTH_STRING to what the server has")
        return
    server, client = answer.text.strip().strip('"')[:40], importlib.metadata.version("prefect")
    same = server.split(".")[:2] == client.split(".")[:2]
    said = f"{api} answers, version {server}; client {client}"
    yield Finding("prefect", "ok" if same else "warning", said, "" if same else "bring both to one minor version")
    if home.service.families:
        yield from _pool(home, api)


def _pool(home: Home, api: str) -> Iterator[Finding]:
    pool = home.service.work_pool
    name = urllib.parse.quote(pool, safe="")
    found = _prefect(api, f"/work_pools/{name}")
    if found is None or not found.ok:
        yield Finding("prefect", "failed", f"there is no work pool {pool!r}", "'spiritlevel deploy' makes it")
        return
    workers = _prefect(api, f"/work_pools/{name}/workers/filter", {})
    online = [worker for worker in _rows(workers) if worker.get("status") == "ONLINE"]
    if online:
        yield Finding("prefect", "ok", f"the work pool {pool!r} has {len(online)} workers online")
    else:
        todo = f"prefect worker start --pool {pool} --type process"
        yield Finding("prefect", "warning", f"no worker of the pool {pool!r} is online: runs wait", todo)
    wanted = {"flows": {"name": {"any_": ["duty-clock"]}}, "flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}}
    runs = _rows(_prefect(api, "/flow_runs/filter", {**wanted, "sort": "END_TIME_DESC", "limit": 1}))
    ago = (dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(runs[0]["end_time"])).total_seconds() if runs else None
    if ago is not None and ago <= LATE_S:
        yield Finding("prefect", "ok", f"the duty clock ran {ago:.0f} s ago")
        return
    clock = _service(home)  # 'spiritlevel serve' is a clock itself, and then there needs to be none on Prefect
    if clock.state == "ok":
        yield Finding("prefect", "ok", f"{clock.said}, here and not on Prefect")
    elif ago is None:
        todo = "'spiritlevel deploy' and start a worker, or start 'spiritlevel serve'"
        yield Finding("prefect", "warning", "the duty clock never ran there, and no service answers here", todo)
    else:
        todo = "see whether workers take its runs, or start 'spiritlevel serve'"
        yield Finding("prefect", "warning", f"the duty clock ran {ago:.0f} s ago, and no service answers here", todo)


def _rows(answer: Response | None) -> list[dict[str, Any]]:
    if answer is None or not answer.ok:
        return []
    rows = answer.json()
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _prefect(api: str, path: str, content: dict[str, Any] | None = None) -> Response | None:
    """A request with what Prefect's own client would send."""
    import requests

    headers = {"Content-Type": "application/json"}
    if given := os.environ.get("PREFECT_API_AUTH_STRING"):
        headers["Authorization"] = f"Basic {base64.b64encode(given.encode()).decode()}"
    elif given := os.environ.get("PREFECT_API_KEY"):
        headers["Authorization"] = f"Bearer {given}"
    insecure = os.environ.get("PREFECT_API_TLS_INSECURE_SKIP_VERIFY", "").casefold() in ("1", "true")
    verify: bool | str = os.environ.get("PREFECT_API_SSL_CERT_FILE") or not insecure
    body = None if content is None else json.dumps(content)
    method = "GET" if content is None else "POST"
    try:
        return requests.request(method, f"{api}{path}", data=body, headers=headers, timeout=WITHIN_S, verify=verify)
    except (requests.RequestException, OSError):
        return None
