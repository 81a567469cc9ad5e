"""Prefect deployments of the service: one for each duty, and one for the clock; made to agree with ``spiritlevel.yaml``.

Prefect's schedules only say when to look; whether a run is due, was made already or overlaps is decided by the ledger. A
deployment whose configuration did not change is not touched at all: writing it again would delete the runs that Prefect
has scheduled. There is no concurrency limit of Prefect's: its lease lives in the memory of Prefect's server, and a run
whose lease is lost when that server restarts is ended in the middle of an audit.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flows.duties import ANCHOR, Duty, anchor_of, duties_of
from flows.service_settings import ServiceSettings, length_of_time
from metrics.errors import BadInputError
from registry.audits.plan import content_hash

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.responses import DeploymentResponse

TAG = "spiritlevel"
AUDIT_FLOW, CLOCK_FLOW = "audit-release", "duty-clock"
ENTRYPOINTS = {AUDIT_FLOW: "flows.audit.audit_release", CLOCK_FLOW: "flows.clockwork.duty_clock"}
SLUG = "time"  # of the one schedule of a deployment, so that a change keeps its id
PAGE = 200
CLOCK_AT_MOST_EVERY_S = 60.0  # each look under Prefect is a process of its own


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A deployment as the configuration asks for it.

    ``schedule`` has ``cron`` and ``timezone``, or ``interval`` (seconds), ``anchor_date`` and ``timezone``: the anchor is
    always given, for Prefect's own choice is the moment of the deployment.
    """

    name: str
    flow: str
    parameters: dict[str, Any]
    schedule: dict[str, Any]
    tags: tuple[str, ...]
    pool: str
    description: str

    def digest(self, schema: dict[str, Any]) -> str:
        """What the deployment's version is: a hash of all that is configured."""
        return content_hash([dataclasses.asdict(self), ENTRYPOINTS[self.flow], schema])[:16]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Names of deployments by what was done with them; ``pool_made``: whether the work pool was missing."""

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    pool: str = ""
    pool_made: bool = False


def deployment_name(duty: Duty, pool: str) -> str:
    """The name of a duty's deployment; Prefect takes no slash in it. A pool of another name is part of it.

    >>> from flows.service_settings import AuditSettings
    >>> audit = AuditSettings(protocol="persona-brainstorm", every="7d")
    >>> duty = Duty(name="nova/persona-brainstorm @champion", family="nova", release="@champion", audit=audit)
    >>> deployment_name(duty, "spiritlevel"), deployment_name(duty, "staging")
    ('nova-persona-brainstorm@champion', 'nova-persona-brainstorm@champion (staging)')
    """
    plain = duty.name.replace("/", "-").replace(" @", "@").replace(" version ", "-version-")
    return plain if pool == TAG else f"{plain} ({pool})"


def wanted_deployments(settings: ServiceSettings, ledger: str) -> tuple[Wanted, ...]:
    """All deployments that the configuration asks for; ``ledger`` is the ledger's identity.

    Raises
    ------
    BadInputError
        When two duties would have deployments of one name.
    """
    owner = (TAG, f"ledger {ledger}")
    made = [_of_duty(duty, settings.work_pool, owner) for duty in duties_of(settings)]
    names = [wanted.name for wanted in made]
    for name in names:
        if names.count(name) > 1:
            raise BadInputError(
                f"two audits in spiritlevel.yaml would have the deployment {name!r}; give one of them a name of its own"
            )
    return (*made, _of_clock(settings, owner))


def _of_duty(duty: Duty, pool: str, owner: tuple[str, ...]) -> Wanted:
    audit = duty.audit
    return Wanted(
        name=deployment_name(duty, pool),
        flow=AUDIT_FLOW,
        parameters={
            "release": duty.reference,
            "protocol": audit.protocol,
            "personas": audit.personas,
            "again": True,
            "options": audit.options,
            "limits": audit.limits,
            "duty": duty.name,
            "share": audit.share,
        },
        schedule=_schedule(duty),
        tags=(*owner, f"family {duty.family}"),
        pool=pool,
        description=(
            f"Recurring audit {duty.name!r}. Made from spiritlevel.yaml by 'spiritlevel deploy': change it there, for "
            f"what is changed here is lost with the next change there."
        ),
    )


def _of_clock(settings: ServiceSettings, owner: tuple[str, ...]) -> Wanted:
    pool = settings.work_pool
    return Wanted(
        name=TAG if pool == TAG else f"{TAG} ({pool})",
        flow=CLOCK_FLOW,
        parameters={},
        schedule={
            "interval": max(length_of_time(settings.service.poll).total_seconds(), CLOCK_AT_MOST_EVERY_S),
            "anchor_date": f"{ANCHOR}:00+00:00",
            "timezone": "UTC",
        },
        tags=owner,
        pool=pool,
        description=(
            "Looks what is due, catches up, finds dead workers and new versions, delivers and publishes what waits. "
            "Made from spiritlevel.yaml by 'spiritlevel deploy'."
        ),
    )


def _schedule(duty: Duty) -> dict[str, Any]:
    audit = duty.audit
    if audit.cron is not None:
        return {"cron": audit.cron, "timezone": audit.zone}
    return {
        "interval": length_of_time(audit.every or "").total_seconds(),
        "anchor_date": anchor_of(duty.clock).isoformat(),
        "timezone": "UTC",  # the steps are counted in UTC, as the duty clock counts them
    }


def reconciled(settings: ServiceSettings, ledger: str, *, dry_run: bool = False, with_clock: bool = True) -> Reconciled:
    """Make the deployments on the Prefect server say what the configuration says; others are left alone.

    Parameters
    ----------
    ledger : the ledger's identity; deployments of other ledgers are other people's
    dry_run : only say what would be done
    with_clock : make the deployment of the duty clock when it is missing; a process that is a clock itself needs none

    Raises
    ------
    BadInputError
        When there is no Prefect server, or a deployment of a wanted name is somebody else's.
    """
    wanted = wanted_deployments(settings, ledger)
    schemas = _schemas()
    with prefect_server() as client:
        pool_made = _pool(client, settings.work_pool, dry_run)
        there = _deployments(client, (AUDIT_FLOW, CLOCK_FLOW))
        mine = {key: one for key, one in there.items() if {TAG, f"ledger {ledger}"} <= set(one.tags)}
        created, updated, unchanged = [], [], []
        for one in wanted:
            key = (one.flow, one.name)
            if one.flow == CLOCK_FLOW and key not in there and not with_clock:
                continue
            if key in there and key not in mine:
                raise BadInputError(
                    f"Prefect has a deployment {one.flow}/{one.name} that was not made for this ledger; delete it there "
                    f"if it is not needed, or set another work_pool in spiritlevel.yaml, which becomes part of the names"
                )
            if key not in mine:
                created.append(one)
            elif mine[key].version != one.digest(schemas[one.flow]):
                updated.append(one)
            else:
                unchanged.append(one)
        names = {(one.flow, one.name) for one in wanted}
        removed = [key for key in mine if key not in names]
        if not dry_run:
            for one in created:
                _create(client, one, schemas[one.flow])
            for one in updated:
                _update(client, one, mine[one.flow, one.name], schemas[one.flow])
            for key in removed:
                client.delete_deployment(mine[key].id)
    return Reconciled(
        created=_names(created),
        updated=_names(updated),
        unchanged=_names(unchanged),
        removed=tuple(sorted(f"{flow}/{name}" for flow, name in removed)),
        pool=settings.work_pool,
        pool_made=pool_made,
    )


def _names(wanted: Iterable[Wanted]) -> tuple[str, ...]:
    return tuple(sorted(f"{one.flow}/{one.name}" for one in wanted))


@contextmanager
def prefect_server() -> Iterator[SyncPrefectClient]:
    """A client of the configured Prefect server.

    Raises
    ------
    BadInputError
        When none is configured, or it does not answer, or refuses.
    """
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError

    address = server_address()
    if address is None:
        raise BadInputError(
            "deployments live on a Prefect server, and none is configured; set PREFECT_API_URL, as "
            "http://127.0.0.1:4200/api ('prefect server start' runs one), or use 'spiritlevel serve', which needs none"
        )
    with get_client(sync_client=True) as client:
        if (trouble := client.api_healthcheck()) is not None:
            _refuse_other_server(address, trouble)
            raise BadInputError(
                f"the Prefect server at {address} does not answer ({type(trouble).__name__}); start it, or correct "
                f"PREFECT_API_URL"
            ) from trouble
        try:
            client.read_work_pools(limit=1)  # something else may answer, and call itself healthy
        except (ObjectNotFound, PrefectHTTPStatusError, ValueError, TypeError) as error:
            _refuse_other_server(address, error)
        try:
            yield client
        except PrefectHTTPStatusError as error:
            code = error.response.status_code
            hint = "; set PREFECT_API_AUTH_STRING" if code in (401, 403) else ""
            raise BadInputError(
                f"the Prefect server at {address} refused with status {code}{hint}: {_detail(error)}"
            ) from error


def _refuse_other_server(address: str, error: Exception) -> None:
    """Say that something else than Prefect answers at an address, when an error of a first question shows it."""
    from httpx import RemoteProtocolError
    from prefect.exceptions import ObjectNotFound

    code = getattr(getattr(error, "response", None), "status_code", None)
    odd = isinstance(error, (ObjectNotFound, RemoteProtocolError, ValueError, TypeError))
    if code in (400, 404, 405, 501) or (code is None and odd):
        raise BadInputError(
            f"what answers at {address} is no Prefect server; correct PREFECT_API_URL, which mostly ends with /api"
        ) from error


def server_address() -> str | None:
    """The address of the configured Prefect server without user and password; None when there is none."""
    import urllib.parse

    from prefect.settings import PREFECT_API_URL

    address = PREFECT_API_URL.value()
    if not address:
        return None
    parts = urllib.parse.urlsplit(str(address))
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _detail(error: Any) -> str:
    try:
        return str(error.response.json().get("detail", ""))[:300]
    except ValueError:
        return "no further reason was given"


def _pool(client: SyncPrefectClient, name: str, dry_run: bool) -> bool:
    """Make the work pool when it is missing; returns whether it was."""
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
    from prefect.workers.process import ProcessWorker

    try:
        client.read_work_pool(name)
    except ObjectNotFound:
        pass
    else:
        return False
    if not dry_run:
        template = ProcessWorker.get_default_base_job_template()
        try:
            client.create_work_pool(WorkPoolCreate(name=name, type="process", base_job_template=template))
        except ObjectAlreadyExists:  # another process was first
            return False
    return True


def _deployments(client: SyncPrefectClient, flows: Sequence[str]) -> dict[tuple[str, str], DeploymentResponse]:
    """All deployments of some flows, by flow and name."""
    from prefect.client.schemas.filters import FlowFilter, FlowFilterName

    found: dict[tuple[str, str], DeploymentResponse] = {}
    for flow in flows:
        offset = 0
        while True:
            page = client.read_deployments(
                flow_filter=FlowFilter(name=FlowFilterName(any_=[flow])), limit=PAGE, offset=offset
            )
            found |= {(flow, one.name): one for one in page}
            offset += len(page)
            if len(page) < PAGE:
                break
    return found


def _schemas() -> dict[str, dict[str, Any]]:
    """The parameters of both flows as Prefect describes them in its pages."""
    from prefect.utilities.callables import parameter_schema

    from flows.audit import audit_release
    from flows.clockwork import duty_clock

    flows: dict[str, Any] = {AUDIT_FLOW: audit_release, CLOCK_FLOW: duty_clock}
    return {name: parameter_schema(flow).model_dump(exclude_unset=True) for name, flow in flows.items()}


def _prefect_schedule(wanted: Wanted) -> Any:
    from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule

    said = wanted.schedule
    if "cron" in said:
        return CronSchedule(cron=said["cron"], timezone=said["timezone"])
    return IntervalSchedule(
        interval=dt.timedelta(seconds=said["interval"]),
        anchor_date=dt.datetime.fromisoformat(said["anchor_date"]),
        timezone=said["timezone"],
    )


def _create(client: SyncPrefectClient, wanted: Wanted, schema: dict[str, Any]) -> None:
    from prefect.client.schemas.actions import DeploymentScheduleCreate

    client.create_deployment(
        flow_id=client.create_flow_from_name(wanted.flow),
        name=wanted.name,
        version=wanted.digest(schema),
        description=wanted.description,
        parameters=wanted.parameters,
        tags=list(wanted.tags),
        work_pool_name=wanted.pool,
        entrypoint=ENTRYPOINTS[wanted.flow],
        schedules=[DeploymentScheduleCreate(schedule=_prefect_schedule(wanted), slug=SLUG)],
        parameter_openapi_schema=schema,
        enforce_parameter_schema=True,
        pull_steps=[],  # the code is installed where the worker runs
    )


def _update(client: SyncPrefectClient, wanted: Wanted, there: DeploymentResponse, schema: dict[str, Any]) -> None:
    """Change a deployment; its schedule only when that is what changed, and whether it is paused never."""
    from prefect.client.schemas.actions import DeploymentScheduleUpdate, DeploymentUpdate

    changed: dict[str, Any] = {
        "version": wanted.digest(schema),
        "description": wanted.description,
        "parameters": wanted.parameters,
        "tags": list(wanted.tags),
        "work_pool_name": wanted.pool,
        "entrypoint": ENTRYPOINTS[wanted.flow],
        "parameter_openapi_schema": schema,
    }
    schedule = _prefect_schedule(wanted)
    if [one.schedule for one in there.schedules] != [schedule]:
        changed["schedules"] = [DeploymentScheduleUpdate(schedule=schedule, slug=SLUG)]
    client.update_deployment(there.id, DeploymentUpdate(**changed))
