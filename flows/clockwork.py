"""The duty clock under Prefect: a flow that looks what is due and hands it to the work pool, for setups of many machines."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from typing import Any

from flows.settings import Home, silence

silence()  # a worker imports this module by itself, and Prefect reads its settings when it is imported

from prefect import flow, get_run_logger  # noqa: E402 - after the environment

from flows.deployments import AUDIT_FLOW, deployment_name  # noqa: E402
from flows.duty_clock import Start, SweepReport, swept  # noqa: E402
from flows.duty_runs import duty_of  # noqa: E402
from flows.life_events import REGISTERED, emit  # noqa: E402
from flows.service_checks import refuse_unconfigured  # noqa: E402
from flows.workspace import Workspace, opened  # noqa: E402
from metrics.errors import BadInputError  # noqa: E402
from registry.audits.plan import content_hash  # noqa: E402
from registry.ledger.duties import DutyRun  # noqa: E402

Tell = Callable[[str], None]
CONFIGURATION = "service-configuration"  # the name under which the ledger keeps its digest


@flow(name="duty-clock", flow_run_name="look what is due", persist_result=False)
def duty_clock(home: str | None = None) -> dict[str, Any]:
    """One look of the duty clock; what is due is started as flow runs of the audits' own deployments.

    Parameters
    ----------
    home : the home folder; None is the default one
    """
    logger = get_run_logger()
    with opened(Home(home), logger.info) as workspace:
        refuse_other_configuration(workspace)
        report = looked(workspace, handed_to_prefect, logger.info)
    for trouble in report.trouble:
        logger.warning("%s", trouble)
    return dataclasses.asdict(report)


def looked(workspace: Workspace, start: Start | None, tell: Tell, *, publish: bool = True) -> SweepReport:
    """One look of the duty clock by the clock of this machine. Prefect's automations are told of releases that are new.

    Raises
    ------
    BadInputError
        Where there is no configuration: a look from there would end every duty.
    """
    refuse_unconfigured(workspace.home)
    report = swept(workspace, dt.datetime.now(dt.UTC), start=start, tell=tell, publish=publish)
    for name in report.arrived:
        tell(f"models:/{name} was registered")
        family, _, version = name.rpartition("/")
        once = f"{workspace.ledger.identity} {name}"
        emit(REGISTERED, family, int(version), {"release": f"models:/{name}"}, once=once)
    return report


def configuration_digest(workspace: Workspace) -> str:
    """What tells apart two configurations of duties."""
    settings = workspace.home.service
    return content_hash(
        [settings.work_pool, {name: one.model_dump(mode="json") for name, one in settings.families.items()}]
    )


def refuse_other_configuration(workspace: Workspace) -> None:
    """Refuse to be the clock by another file than the one that was deployed: two machines would undo each other's duties.

    Raises
    ------
    BadInputError
        When the file of this machine declares other duties than the last ``spiritlevel deploy`` or ``serve``.
    """
    refuse_unconfigured(workspace.home)
    deployed = workspace.ledger.fact(CONFIGURATION)
    if deployed and deployed != configuration_digest(workspace):
        raise BadInputError(
            f"{workspace.home.service_file} on this machine is not the configuration that was deployed; copy that one to "
            f"every machine that is a worker, or run 'spiritlevel deploy' where this one is right"
        )


def handed_to_prefect(workspace: Workspace, run: DutyRun) -> str:
    """Start a flow run of a duty's deployment for a run that is due; returns the flow run's id.

    Two flow runs for one run do no harm, for the ledger lets one of them have it.
    """
    from prefect.deployments import run_deployment
    from prefect.exceptions import ObjectNotFound

    duty = duty_of(workspace, run.duty)
    name = f"{AUDIT_FLOW}/{deployment_name(duty, workspace.home.service.work_pool)}"
    try:
        made: Any = run_deployment(
            name=name,
            parameters={"run": run.id, "release": run.release or duty.reference},
            timeout=0,
            as_subflow=False,
            # The time it was made too: a ledger that was put back from a backup counts its runs from there again.
            idempotency_key=f"{workspace.ledger.identity} run {run.id} {run.made_at} {run.attempts} {run.next_at}",
        )
    except ObjectNotFound:
        raise BadInputError(f"Prefect has no deployment {name}; 'spiritlevel deploy' makes it") from None
    return str(made.id)
