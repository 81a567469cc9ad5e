"""Figures about the service in the OpenMetrics format, from the ledger: so they are right over all its workers.

Labels are families, protocols, providers, and names that this program knows; never a release, an audit or anything that
an answer says. Counters are what the ledger holds, so they go on after a restart.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import importlib.metadata
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from flows.endpoints import PROVIDER_URL, host_of
from flows.ordering import EMBEDDED_SCHEME
from metrics.errors import BadInputError
from registry.audits.channels import cost_usd
from registry.ledger.totals import LATENCIES_S, AuditHead, CallTotal

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from flows.workspace import Workspace
    from registry.ledger.store import Ledger

MOST_LINES = 500  # families x protocols x providers that stand by themselves; the rest are one line
OTHER = "(other)"
_log = logging.getLogger(__name__)

# Totals of audits whose answers are in: they cost the database a look at every answer, and change only when failed
# requests are asked again, which gives the audit another time of finishing.
_settled: dict[tuple[str, int, str], tuple[CallTotal, ...]] = {}

Line = tuple[str, str, str]  # family, protocol, provider


@dataclasses.dataclass(slots=True)
class _Calls:
    """What was called under one line."""

    outcomes: dict[str, int] = dataclasses.field(default_factory=lambda: defaultdict(int))
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    uncounted: int = 0
    unpriced: int = 0
    latency_s: float = 0.0
    timed: int = 0
    within: list[int] = dataclasses.field(default_factory=lambda: [0] * len(LATENCIES_S))

    def add(self, total: CallTotal, release: Mapping[str, Any]) -> None:
        self.outcomes[total.outcome] += total.calls
        self.prompt_tokens += total.prompt_tokens
        self.completion_tokens += total.completion_tokens
        self.uncounted += total.uncounted
        if not _embedded(release):  # its calls cost nothing, counted or not
            cost = cost_usd(
                total.prompt_tokens, total.completion_tokens, release.get("price_input"), release.get("price_output")
            )
            self.usd += cost or 0.0
            self.unpriced += total.calls if cost is None else total.uncounted
        self.latency_s += total.latency_s
        self.timed += total.timed
        self.within = [before + now for before, now in zip(self.within, total.within, strict=True)]


def openmetrics(workspace: Workspace, now: dt.datetime | None = None) -> str:
    """The figures as OpenMetrics text, which Prometheus and its kin read."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.openmetrics.exposition import generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(workspace.ledger, now or dt.datetime.now(dt.UTC)))
    return str(generate_latest(registry).decode("utf-8"))  # type: ignore[no-untyped-call]


class _Collector:
    """Makes all figures when it is asked; a part that fails leaves the others standing."""

    def __init__(self, ledger: Ledger, now: dt.datetime) -> None:
        self.ledger = ledger
        self.now = now

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily as Gauge
        from prometheus_client.core import InfoMetricFamily as Info

        yield Info("spiritlevel", "Version", {"version": importlib.metadata.version("spiritlevel")})
        failed = Gauge("spiritlevel_figures_failed", "Parts of these figures that could not be made", labels=["part"])
        for part in (self._called, self._queues, self._incidents, self._duties, self._providers):
            try:
                yield from list(part())
                failed.add_metric([part.__name__.strip("_")], 0)
            except Exception:
                _log.exception("figures: the part %s could not be made", part.__name__.strip("_"))
                failed.add_metric([part.__name__.strip("_")], 1)
        yield failed

    def _called(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily as Counter
        from prometheus_client.core import HistogramMetricFamily as Histogram

        heads = self.ledger.audit_heads()
        lines = sorted(_lines(self.ledger, heads).items())
        names = ["family", "protocol", "provider"]
        calls = Counter("spiritlevel_calls", "Calls whose outcome is stored", labels=[*names, "outcome"])
        tokens = Counter("spiritlevel_tokens", "Tokens, as the provider counted them", labels=[*names, "kind"])
        uncounted = Counter("spiritlevel_uncounted_calls", "Calls whose tokens are not known", labels=names)
        cost = Counter("spiritlevel_cost_usd", "Cost in US dollars, of calls whose price is known", labels=names)
        unpriced = Counter("spiritlevel_unpriced_calls", "Calls whose cost is not known", labels=names)
        latency = Histogram("spiritlevel_call_seconds", "Seconds that a call took", labels=names)
        for line, made in lines:
            for outcome, count in sorted(made.outcomes.items()):
                calls.add_metric([*line, outcome], count)
            every = sum(made.outcomes.values())
            # Where nothing is known there is no sample: 0 would say that there were no tokens, and no cost.
            for kind, count in (("prompt", made.prompt_tokens), ("completion", made.completion_tokens)):
                if count or made.uncounted < every:
                    tokens.add_metric([*line, kind], count)
            uncounted.add_metric(line, made.uncounted)
            if made.usd or made.unpriced < every:
                cost.add_metric(line, made.usd)
            unpriced.add_metric(line, made.unpriced)
            bounds = [(f"{bound:g}", count) for bound, count in zip(LATENCIES_S, made.within, strict=True)]
            latency.add_metric(line, buckets=[*bounds, ("+Inf", made.timed)], sum_value=made.latency_s)
        yield from (calls, tokens, uncounted, cost, unpriced, latency)
        yield from _audits(heads, self.now)

    def _queues(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily as Counter
        from prometheus_client.core import GaugeMetricFamily as Gauge

        waiting = Gauge("spiritlevel_open_requests", "Requests that wait to be asked", labels=["family", "protocol"])
        for (family, protocol), count in _capped(self.ledger.open_request_totals()):
            waiting.add_metric([family, protocol], count)
        publications = Gauge("spiritlevel_waiting_publications", "Results that wait for MLflow", labels=["kind"])
        for kind, count in sorted(self.ledger.publication_totals().items()):
            publications.add_metric([kind], count)
        by_state = {"waiting": 0, "sending": 0, "dead": 0} | self.ledger.notice_totals()
        notices = Gauge("spiritlevel_notices", "Notices that channels were not told yet", labels=["state"])
        for state in ("waiting", "sending", "dead"):
            notices.add_metric([state], by_state[state])
        sent = Counter("spiritlevel_notices_sent", "Notices that were sent", value=by_state.get("sent", 0))
        live, silent = self.ledger.worker_totals()
        workers = Gauge("spiritlevel_workers", "Processes that collect answers", labels=["state"])
        workers.add_metric(["live"], live)
        workers.add_metric(["silent"], silent)
        yield from (waiting, publications, notices, sent, workers)

    def _incidents(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily as Gauge

        gauge = Gauge("spiritlevel_incidents", "Findings that have not ended", labels=["kind", "severity"])
        for (kind, severity), count in _capped(self.ledger.live_incident_totals()):
            gauge.add_metric([kind, severity], count)
        yield gauge

    def _duties(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily as Gauge

        gauge = Gauge("spiritlevel_duty_runs", "Runs of duties", labels=["state"])
        for state, count in sorted(self.ledger.duty_run_totals().items()):
            gauge.add_metric([state], count)
        yield gauge

    def _providers(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily as Gauge

        limit = Gauge("spiritlevel_provider_limit", "Calls that may be under way, as found out", labels=["provider"])
        flying = Gauge("spiritlevel_calls_under_way", "Calls that are under way", labels=["provider"])
        for load in self.ledger.provider_loads()[:MOST_LINES]:
            limit.add_metric([load["provider"]], load["concurrency"])
            flying.add_metric([load["provider"]], load["in_flight"])
        yield from (limit, flying)


def _audits(heads: list[AuditHead], now: dt.datetime) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily as Gauge

    states: dict[tuple[str, str, str], int] = defaultdict(int)
    newest: dict[tuple[str, str], dt.datetime] = {}
    for head in heads:
        states[head.family, head.protocol, head.state] += 1
        if head.source == "live" and head.settled and head.finished_at is not None:
            moment = dt.datetime.fromisoformat(head.finished_at)
            key = (head.family, head.protocol)
            newest[key] = max(moment, newest.get(key, moment))
    made = Gauge("spiritlevel_audits", "Audits in the ledger", labels=["family", "protocol", "state"])
    for (family, protocol, state), count in _capped(states):
        made.add_metric([family, protocol, state], count)
    age = Gauge(
        "spiritlevel_last_audit_age_seconds",
        "Since the newest finished audit that asked",
        labels=["family", "protocol"],
    )
    for (family, protocol), moment in sorted(newest.items())[:MOST_LINES]:
        age.add_metric([family, protocol], max(0.0, (now - moment).total_seconds()))
    yield from (made, age)


def _lines(ledger: Ledger, heads: list[AuditHead]) -> dict[Line, _Calls]:
    """Calls by family, protocol and provider; what was imported was not called."""
    live = [head for head in heads if head.source == "live"]
    by_audit = _call_totals(ledger, live)
    found: dict[Line, _Calls] = {}
    for head in live:
        line = (head.family, head.protocol, provider_of(head.release))
        if line not in found and len(found) >= MOST_LINES:
            line = (OTHER, OTHER, OTHER)
        for total in by_audit.get(head.id, ()):
            found.setdefault(line, _Calls()).add(total, head.release)
    return found


def _call_totals(ledger: Ledger, heads: list[AuditHead]) -> dict[int, tuple[CallTotal, ...]]:
    """Totals by audit; those of settled audits are counted once in a process."""
    identity = ledger.identity
    keys = {head.id: (identity, head.id, head.finished_at or "") for head in heads}
    wanted = {head.id for head in heads if not head.settled or keys[head.id] not in _settled}
    counted: dict[int, list[CallTotal]] = {audit: [] for audit in wanted}
    for total in ledger.call_totals(wanted) if wanted else ():
        counted[total.audit_id].append(total)
    for head in heads:
        if head.id in wanted and head.settled:
            _settled[keys[head.id]] = tuple(counted[head.id])
    return {head.id: tuple(counted[head.id]) if head.id in wanted else _settled[keys[head.id]] for head in heads}


def provider_of(release: Mapping[str, Any]) -> str:
    """Host and port that a release is asked at.

    >>> provider_of({"base_url": "https://example.org/v1"}), provider_of({"base_url": "embedded:smollm2"})
    ('example.org', 'embedded')
    """
    address = release.get("base_url") or PROVIDER_URL
    if _embedded(release):
        return "embedded"
    try:
        return host_of(str(address))[:200]
    except (BadInputError, ValueError):
        return OTHER


def _embedded(release: Mapping[str, Any]) -> bool:
    return str(release.get("base_url") or "").startswith(EMBEDDED_SCHEME)


def _capped(counts: Mapping[Any, int]) -> list[tuple[Any, int]]:
    """The counts in order; those beyond the bound are one line, so that nobody's collector is flooded."""
    ordered = sorted(counts.items())
    if len(ordered) <= MOST_LINES:
        return ordered
    rest = tuple(OTHER for _ in ordered[0][0])
    return [*ordered[:MOST_LINES], (rest, sum(count for _, count in ordered[MOST_LINES:]))]
