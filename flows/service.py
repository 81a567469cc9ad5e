"""Everything that a small team needs, in one process: the duty clock, the audits, the receiver, and the figures.

Without a Prefect server this process makes the audits itself, one after another; the clock goes on beside them in a thread.
With one (``PREFECT_API_URL``) it brings the deployments up to date and is a worker of the work pool. Nothing that goes
wrong with a provider, MLflow, Prefect or the database ends it: all of that is tried again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from flows import duty_clock
from flows.clockwork import CONFIGURATION, configuration_digest, handed_to_prefect, looked
from flows.deployments import Reconciled, reconciled, server_address
from flows.duty_clock import Start, SweepReport, results_out, startable
from flows.duty_runs import in_one_line, performed
from flows.ending import ended_by_signal
from flows.receiver import Desk, receiving
from flows.service_checks import refuse_unconfigured, refuse_unworkable
from flows.service_settings import ServiceSettings, length_of_time
from flows.settings import Home
from flows.workspace import Workspace, opened
from registry.ledger.duties import DutyRun

Tell = Callable[[str], None]

SILENT_FOR_S = 900.0  # a clock that did not look for so long, or for three polls, is not well
PAUSE_S = 30.0  # before a worker that lost its Prefect server is started again
_log = logging.getLogger(__name__)


class Once:
    """Tells a sentence once, and again only after a round in which it was not said."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._before, self._now = tell, frozenset[str](), set[str]()

    def __call__(self, text: str) -> None:
        if text not in self._before and text not in self._now:
            self._tell(text)
        self._now.add(text)

    def next_round(self) -> None:
        self._before, self._now = frozenset(self._now), set()


class Clock:
    """The duty clock in a thread: looks at once, then with every poll, and when the bell is rung.

    Parameters
    ----------
    start : what takes the runs that are due; None leaves them to whoever looks for them
    prepare : is called before the first look, and before the next one when the configuration has changed
    """

    def __init__(
        self, home: Home, start: Start | None, tell: Tell, prepare: Callable[[Home], None] | None = None
    ) -> None:
        self.home, self.start, self.tell, self.prepare = home, start, tell, prepare
        self.prepared: ServiceSettings | None = None
        self.bell, self.over, self.has_looked = threading.Event(), threading.Event(), threading.Event()
        self.begun_at = time.monotonic()
        self.looked_at: float | None = None
        self.poll_s = 60.0
        self.said: tuple[str, ...] = ()

    def looked_s_ago(self) -> float | None:
        """Seconds since the last look; None before the first.

        Raises
        ------
        TimeoutError
            When it did not look for far too long.
        """
        silent = time.monotonic() - (self.begun_at if self.looked_at is None else self.looked_at)
        if silent > max(SILENT_FOR_S, 3 * self.poll_s):
            raise TimeoutError(f"the duty clock did not look for {silent:.0f} s")
        return None if self.looked_at is None else round(silent, 1)

    @contextlib.contextmanager
    def running(self) -> Iterator[Clock]:
        """Let it run for as long as the block lasts."""
        thread = threading.Thread(target=self._run, name="duty clock", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            self.bell.set()
            thread.join(timeout=30)

    def _run(self) -> None:
        remark = Once(self.tell)
        while not self.over.is_set():
            home = Home(self.home.path)  # the configuration as it is now
            self.bell.clear()
            trouble = []
            try:
                self.poll_s = length_of_time(home.service.service.poll).total_seconds()
                trouble += self._prepared(home)
                with opened(home, remark) as workspace:
                    trouble += looked(workspace, self.start, remark).trouble
                self.looked_at = time.monotonic()
            except Exception as error:  # the next look comes, whatever it was
                _log.exception("a look of the duty clock failed")
                trouble.append(f"the duty clock could not look: {in_one_line(error)}")
            self._say(tuple(trouble))
            remark.next_round()
            self.has_looked.set()
            self.bell.wait(self.poll_s)

    def _prepared(self, home: Home) -> list[str]:
        """Prepare for a configuration that is new here; what went wrong, which does not keep the clock from looking."""
        if self.prepare is None or home.service == self.prepared:
            return []
        try:
            self.prepare(home)
        except Exception as error:  # Prefect's server is away, most likely
            _log.exception("the configuration could not be put to work")
            return [f"the configuration could not be put to work: {in_one_line(error)}"]
        self.prepared = home.service
        return []

    def _say(self, trouble: tuple[str, ...]) -> None:
        """Tell of trouble when it begins and when it is over, not with every look."""
        for one in trouble:
            if one not in self.said:
                self.tell(one)
        if self.said and not trouble:
            self.tell("the trouble is over")
        self.said = trouble


def serve_all(home: Home, tell: Tell) -> None:
    """Run the whole service until the process is stopped.

    Raises
    ------
    BadInputError
        Before anything runs: for a configuration that cannot be worked with, or an address that is taken.
    """
    settings = _checked(home)
    with_prefect = server_address() is not None
    if with_prefect:
        clock = Clock(home, handed_to_prefect, tell, lambda fresh: told_deployments(_deployed(fresh), tell))
    else:
        clock = Clock(home, None, tell, _declared)
    endpoint = settings.service
    with opened(home) as workspace:
        desk = desk_of(workspace, settings, clock, tell)
        with ended_by_signal(), receiving(desk, endpoint.host, endpoint.port) as address:
            tell(f"listening on {address}: /webhooks/mlflow, /health, /metrics")
            try:
                with clock.running():
                    tell("the service runs; stop it with Ctrl-C")
                    if with_prefect:
                        _as_worker(settings.work_pool, tell)
                    else:
                        _by_itself(home, clock, tell)
            finally:
                tell("the service ended")


def serve_once(home: Home, tell: Tell) -> tuple[SweepReport, list[DutyRun]]:
    """One look of the duty clock and everything that is due by it, for a system that has its own cron.

    Returns what the look did, with all that could not be done now, and the runs that were made.

    Raises
    ------
    BadInputError
        Before anything runs: for a configuration that cannot be worked with.
    """
    _checked(home)
    trouble: list[str] = []
    with opened(home, tell) as workspace:
        report = looked(workspace, None, tell, publish=False)
    made = due_performed(home, tell, trouble)
    with opened(Home(home.path), tell) as workspace:
        results_out(workspace, tell, trouble)
    return dataclasses.replace(report, trouble=(*report.trouble, *trouble)), made


def _checked(home: Home) -> ServiceSettings:
    """The configuration, when it can be worked with; its duties are in the ledger then."""
    refuse_unconfigured(home)
    with opened(home) as workspace:
        settings = refuse_unworkable(workspace)
        declare(workspace)
        return settings


def declare(workspace: Workspace) -> None:
    """Make the ledger's duties those of this configuration, and this configuration the one that counts."""
    workspace.ledger.set_fact(CONFIGURATION, configuration_digest(workspace))
    duty_clock.reconciled(workspace.home.service, workspace.ledger, dt.datetime.now(dt.UTC))


def _declared(home: Home) -> None:
    with opened(home) as workspace:
        declare(workspace)


def _by_itself(home: Home, clock: Clock, tell: Tell) -> None:
    remark = Once(tell)
    while True:
        clock.has_looked.wait()
        clock.has_looked.clear()
        remark.next_round()
        trouble: list[str] = []
        try:
            made = due_performed(home, remark, trouble)
        except Exception as error:  # the ledger is away, most likely; the clock rings again
            _log.exception("what is due could not be performed")
            remark(f"what is due could not be performed: {in_one_line(error)}")
            continue
        for one in trouble:
            remark(one)
        if made:
            clock.bell.set()  # something else may be due by now, or wait for what was made


def due_performed(home: Home, tell: Tell, trouble: list[str]) -> list[DutyRun]:
    """Perform what is due, one after another, until nothing new is; returns the runs that this process made.

    What could not be begun now is added to ``trouble``.
    """
    tried: set[int] = set()
    made: list[DutyRun] = []
    while True:
        with opened(Home(home.path), tell) as workspace:
            kept: list[str] = []
            due = [run for run in startable(workspace, dt.datetime.now(dt.UTC), kept) if run.id not in tried]
            if not due:
                trouble += kept
                return made
            tried.add(due[0].id)
            run = performed(workspace, due[0].id, tell=tell)
            if run is not None:
                made.append(run)


def _deployed(home: Home) -> Reconciled:
    with opened(home) as workspace:
        return deployed(workspace, with_clock=False)  # this process is one


def deployed(workspace: Workspace, *, dry_run: bool = False, with_clock: bool = True) -> Reconciled:
    """Make the Prefect deployments and the ledger's duties those of the configuration.

    Both, so that a run which Prefect starts before the first look of the clock knows its duty.
    """
    refuse_unconfigured(workspace.home)
    settings = refuse_unworkable(workspace)
    result = reconciled(settings, workspace.ledger.identity, dry_run=dry_run, with_clock=with_clock)
    if not dry_run:
        declare(workspace)
    return result


def told_deployments(result: Reconciled, tell: Tell, *, would: bool = False) -> None:
    """Say what was done with each deployment, or would be."""
    done = {"created": "create", "updated": "update", "unchanged": "leave", "removed": "remove"}
    if result.pool_made:
        tell(f"{'would create' if would else 'created'} the work pool {result.pool}")
    for name, verb in done.items():
        for deployment in getattr(result, name):
            tell(f"{f'would {verb}' if would else name} {deployment}")


def _as_worker(pool: str, tell: Tell) -> None:
    """Be a worker of the pool; after trouble with Prefect's server begin again. Audits run in processes of their own."""
    import asyncio

    from prefect.workers.process import ProcessWorker

    while True:
        try:
            asyncio.run(ProcessWorker(work_pool_name=pool).start(printer=tell))
            return  # it was told to stop
        except Exception as error:
            _log.exception("the worker stopped")
            tell(f"the worker stopped ({in_one_line(error)}); it begins again in {PAUSE_S:.0f} s")
            time.sleep(PAUSE_S)


def desk_of(workspace: Workspace, settings: ServiceSettings, clock: Clock, tell: Tell) -> Desk:
    """What the endpoint needs of this service."""
    from flows.secret_values import secret, secret_present

    name = settings.service.webhook_secret_env
    given = secret(name, "the webhook receiver") if secret_present(name) else None
    if given is None:
        tell(f"no webhook secret in {name}: webhooks are refused, and new versions are found by looking every poll")
    ledger = workspace.ledger

    def health() -> dict[str, Any]:
        ledger.answers()
        return {"looked_s_ago": clock.looked_s_ago()}

    def figures() -> str:
        from flows.observability import openmetrics

        with opened(Home(workspace.home.path)) as fresh:
            return openmetrics(fresh)

    return Desk(
        secret=given,
        families=lambda: frozenset(duty.family for duty in ledger.duties()),
        receive=ledger.receive_webhook,
        ring=clock.bell.set,
        health=health,
        figures=figures,
    )
