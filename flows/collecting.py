"""Collecting an audit's answers: endpoint, probe, bounded concurrency, and every answer into the ledger at once."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import Any

from flows.budgets import budgets_of
from flows.chat import OpenAIChat
from flows.collection import CollectionReport, Progress, collect
from flows.endpoints import PROVIDER_URL, host_of
from flows.load import LoadControl, LoadLimits
from flows.ordering import EMBEDDED_SCHEME, is_embedded
from flows.secret_values import secret
from flows.service_settings import ProviderSettings
from flows.sharing import Share, together
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.audits.plan import Request, Response
from registry.ledger.claims import Worker
from registry.ledger.connection import utc_now
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner
from registry.ledger.values import Audit, OpenWork
from registry.releases import ModelRelease

EMBEDDED_SLOTS = 8
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How hard to try, and when to stop.

    Parameters
    ----------
    concurrency : calls in flight; timeout_s : of one try; attempts : tries of one request
    deadline_s : of one request with all its waiting
    budget_tokens, budget_usd : stop before the audit would pass them; None is no bound
    join : share an audit that another process is collecting, instead of refusing it
    """

    concurrency: int = 8
    timeout_s: float = 120.0
    attempts: int = 6
    deadline_s: float = 900.0
    budget_tokens: int | None = None
    budget_usd: float | None = None
    join: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where a release answers: address, model id and key (in memory only); ``own``: served for this process alone."""

    model: str
    base_url: str | None
    api_key: str | None = dataclasses.field(repr=False)
    api_key_env: str | None = None
    own: bool = False


@contextlib.contextmanager
def place_of(workspace: Workspace, release: ModelRelease, tell: Callable[[str], None]) -> Iterator[Place]:
    """The endpoint of a release; an embedded model is served for as long as the block lasts."""
    if is_embedded(release):
        from flows.local_model import embedded_endpoint

        name = (release.base_url or "").removeprefix(EMBEDDED_SCHEME)
        with embedded_endpoint(name, workspace.home.path, slots=EMBEDDED_SLOTS, progress=tell) as endpoint:
            yield Place(endpoint.model, endpoint.base_url, endpoint.api_key, own=True)
        return
    if "://" in release.model or release.model.startswith(("file:", "/")):
        raise BadInputError(
            f"{release.uri} was registered by another tool and says no model id to ask for (only {release.model!r}); "
            f"set the tag spiritlevel.model on its version, and spiritlevel.base_url when it is not OpenAI's"
        )
    key = secret(release.api_key_env or None, release.uri)
    yield Place(release.model, release.base_url, key, release.api_key_env)


def collect_answers(
    workspace: Workspace,
    audit: Audit,
    work: OpenWork,
    place: Place,
    limits: Limits,
    progress: Callable[[Progress], None] | None = None,
    worker: Worker | None = None,
) -> CollectionReport | None:
    """Ask what is open of an audit and store every answer when it arrives; None when there was nothing to ask.

    A killed process loses only the answers that were under way: what arrived is in the ledger, and the next
    run asks exactly what is open. Several processes share an audit: each claims blocks of its requests.

    Parameters
    ----------
    work : what was open, from `Ledger.open_work`: says from which request to which, and whether failures are asked again
    worker : from `working`, when it holds the audit over several calls; else one is begun and ended here

    Raises
    ------
    AuditInProgressError
        When another live process is collecting and ``limits.join`` is not set.
    """
    if not work:
        return None
    if worker is None:
        with working(workspace, audit, limits, failed=work.again) as own:
            return collect_answers(workspace, audit, work, place, limits, progress, own)
    share = Share(workspace, audit, worker, limits.concurrency, work)
    report = asyncio.run(_collected(share, place, limits, progress))
    if report is not None:
        _tell_budget(workspace, audit, report)
    return report


def _tell_budget(workspace: Workspace, audit: Audit, report: CollectionReport) -> None:
    """A budget that ended a collection is an incident until calls are made again."""
    from flows.alerts import cleared, deliver, raised
    from flows.finding_kinds import budget_reached

    family, protocol = audit.release.family, audit.protocol
    finding = budget_reached(f"{family}, {protocol}", family=family, protocol=protocol, why=report.why)
    if report.stopped_by == "budget":
        raised(workspace, finding)
        deliver(workspace)
    elif report.done:
        cleared(workspace, finding.key, f"audit {audit.id} goes on: {report.done} calls were made")


@contextlib.contextmanager
def working(workspace: Workspace, audit: Audit, limits: Limits, *, failed: bool = False) -> Iterator[Worker]:
    """Work on an audit: other processes see it, and share it only when they ask to. What is not answered is free after."""
    ledger = workspace.ledger
    worker = ledger.begin_work(audit.id, Owner.this_process(), join=limits.join, failed=failed)
    why = "finished"
    said = {"audit": audit.id, "release": audit.release.uri}
    _log.info("work begins", extra=said)
    try:
        yield worker
    except BaseException as error:
        why = f"ended by {type(error).__name__}"
        raise
    finally:
        _log.info("work ends: %s", why, extra=said)
        with contextlib.suppress(LedgerError):  # then others see that this process is gone
            ledger.end_work(worker, why)


async def _collected(
    share: Share, place: Place, limits: Limits, progress: Callable[[Progress], None] | None
) -> CollectionReport | None:
    """Collect until nothing is left to ask here: also what another worker leaves behind."""
    stop = asyncio.Event()
    beating = asyncio.create_task(share.beat(stop))
    load = load_control(share.workspace, place, limits)
    chat = _chat(share.audit, place, limits, load)
    report: CollectionReport | None = None
    try:
        budget, allowance = budgets_of(share.workspace, share.audit, limits)
        await load.open()
        while True:
            found = await collect(
                _ProbedFirst(chat, lambda found: share.ledger.change(share.audit.id, differences=found)),
                share.requests(),
                concurrency=limits.concurrency,
                on_response=share.store,
                stop=stop,
                budget=budget,
                allowance=allowance,
                load=load,
                tell=share.workspace.tell,
                progress=share.shown(progress) if progress else None,
                total=share.size,
            )
            report = found if report is None else together(report, found)
            if report.stopped_by or share.lost or share.taken_over or not await share.more_to_do():
                if report.throttling:
                    share.workspace.tell(f"{place_host(place)}: {report.throttling}")
                return share.told(report)
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        await load.aclose()
        await chat.aclose()


def place_host(place: Place) -> str:
    """Host and port of a place, as ``providers`` in the service's configuration names it."""
    return host_of(place.base_url or PROVIDER_URL)


def load_control(workspace: Workspace, place: Place, limits: Limits) -> LoadControl:
    """Load control of the provider at a place, shared with all workers of the ledger."""
    host = place_host(place)
    settings = workspace.home.service.providers.get(host) or ProviderSettings()
    bounds = LoadLimits(
        concurrency=limits.concurrency,
        calls_per_minute=settings.calls_per_minute,
        tokens_per_minute=settings.tokens_per_minute,
        provider_concurrency=settings.concurrency,
    )
    return LoadControl(host, bounds, shared=None if place.own else workspace.ledger, tell=workspace.tell)


def _chat(audit: Audit, place: Place, limits: Limits, load: LoadControl) -> OpenAIChat:
    plan = audit.plan
    return OpenAIChat(
        place.model,
        base_url=place.base_url,
        api_key=place.api_key,
        api_key_env=place.api_key_env,
        sampling=plan.sampling,
        decoding=plan.decoding,
        decoding_spec=plan.decoding_spec,
        differences=audit.differences,
        timeout_s=limits.timeout_s,
        attempts=limits.attempts,
        deadline_s=limits.deadline_s,
        load=load,
        clock=utc_now,
    )


class _ProbedFirst:
    """A chat whose first call finds out which parameters the endpoint takes; the others wait for it.

    The probe's answer is the answer of its request: no call is made that is not in the plan.
    """

    def __init__(self, chat: OpenAIChat, on_differences: Callable[[dict[str, Any]], object]) -> None:
        self.chat = chat
        self.on_differences = on_differences
        self.probed: asyncio.Task[Response] | None = None

    async def answer(self, request: Request) -> Response:
        if self.probed is None:
            self.probed = asyncio.create_task(self._probe(request))
            return await asyncio.shield(self.probed)
        await asyncio.shield(self.probed)
        return await self.chat.answer(request)

    async def _probe(self, request: Request) -> Response:
        known = self.chat.differences
        response, differences = await self.chat.probe(request)
        if differences != known:
            self.on_differences(differences)
        return response

    async def aclose(self) -> None:
        await self.chat.aclose()
