"""Watching over recurring audits of one release: a provider may change what answers without saying so.

Testing each audit against the previous release again would raise a false alarm in nearly every year. So recurring audits
are judged together (`metrics.recurring`), and an alarm asks for one full audit against the pooled baseline before anybody
is alerted. Everything is made from the audits in the ledger in their order: a missed, late or repeated one neither
breaks nor counts twice.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from collections.abc import Sequence

from flows.scoring import finished, frozen_names, read_answers
from flows.soundness import unsound
from flows.summaries import channels_of
from flows.workspace import Workspace
from metrics.fleet import FalseAlerts, Schedule, expected_false_alerts, online_fdr_levels
from metrics.recurring import AuditEstimates, WatchedAudit, WatchPolicy, watch
from metrics.verdicts import release_verdict
from registry.ledger.values import Audit
from registry.ledger.watching import Confirmation, Watch, WatchKey, WatchPace, WatchPoint

AUDITS_A_YEAR = 52.0  # of a watch that is too young to tell its own pace


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchState:
    """A watched release after its newest audit.

    Parameters
    ----------
    audits : ids of its recurring audits in this episode, oldest first
    rows : state after each audit that was read; empty while the baseline is being collected
    needed : audits of a baseline
    watch : as stored; None before the baseline is complete
    confirmation : what an alarm of this episode asked for
    held : why an alarm is not acted on, in words; empty when it is
    served : what changed in who answers, in words; empty when nothing did
    full_size : personas of the audit that an alarm asks for
    """

    audits: tuple[int, ...]
    rows: tuple[WatchedAudit, ...]
    needed: int
    full_size: int
    watch: Watch | None = None
    confirmation: Confirmation | None = None
    held: str = ""
    served: str = ""

    @property
    def state(self) -> str:
        """``baseline``, ``quiet``, ``warning`` or ``alarm``."""
        return self.rows[-1].state if self.rows else "baseline"

    @property
    def why(self) -> str:
        """The reason for the state, in words."""
        if not self.rows:
            return f"{len(self.audits)} of {self.needed} audits of the baseline are there"
        return self.rows[-1].why

    @property
    def wants_confirmation(self) -> bool:
        """Whether an alarm waits for its full audit."""
        return self.state == "alarm" and not self.held and (self.confirmation is None or not self.confirmation.verdict)


def recurring_audits(workspace: Workspace, audit: Audit) -> list[Audit]:
    """The finished audits of the same release that asked the same at the same size, oldest first; this one included."""
    same = finished(workspace, family=audit.release.family, version=audit.release.version, protocol=audit.protocol)
    return [
        other
        for other in same
        if other.plan.collection_key == audit.plan.collection_key
        and other.plan.size == audit.plan.size
        and dict(other.differences) == dict(audit.differences)
    ]


def is_recurrence(workspace: Workspace, audit: Audit) -> bool:
    """Whether the release was audited in the same way at the same size before."""
    return any(other.id < audit.id for other in recurring_audits(workspace, audit))


def watched(workspace: Workspace, audit: Audit) -> WatchState | None:
    """The watch over an audit's release, brought up to its newest audit; None for a release that was audited once."""
    series = recurring_audits(workspace, audit)
    if len(series) < 2:
        return None
    settings = workspace.home.configuration.watch
    names = frozen_names(workspace, audit) if len(series) >= settings.baseline else ()
    episode = 0
    while True:
        known = workspace.ledger.watch(_key(workspace, audit, names, episode)) if names else None
        if known is None:  # only then are all answers read; later audits are stored points
            sound = [other for other in series if not _unsound(workspace, other)]
            if len(sound) < settings.baseline:
                ids = tuple(other.id for other in series)
                return WatchState(audits=ids, rows=(), needed=settings.baseline, full_size=settings.confirm_personas)
            known = _begun(workspace, audit, names, episode, sound[: settings.baseline])
        settled = [c for c in workspace.ledger.confirmations(known.id) if c.verdict is not None]
        rest = [other for other in series if settled and other.id > settled[-1].alarm_audit]
        if not rest:
            return _state(workspace, known, series, names)
        # What an alarm was about is looked into: the audits after it are another episode, with a baseline of its own.
        series, episode = rest, episode + 1


def _unsound(workspace: Workspace, audit: Audit) -> str:
    return unsound(channels_of(workspace, audit), workspace.home.policy(audit.release.family))


def _key(workspace: Workspace, audit: Audit, names: Sequence[str], episode: int) -> WatchKey:
    return WatchKey(
        family=audit.release.family,
        version=audit.release.version,
        protocol=audit.protocol,
        collection_key=audit.plan.collection_key,
        scoring_version=workspace.protocol(audit.protocol).scoring_version(names),
        size=audit.plan.size,
        episode=episode,
    )


def _begun(workspace: Workspace, audit: Audit, names: Sequence[str], episode: int, baseline: Sequence[Audit]) -> Watch:
    protocol = workspace.protocol(audit.protocol)
    readings = [read_answers(workspace, other) for other in baseline]
    return workspace.ledger.begin_watch(
        _key(workspace, audit, names, episode),
        baseline=[other.id for other in baseline],
        vocabulary=protocol.baseline(readings, names, workspace.home.policy(audit.release.family)),
    )


def _policy(workspace: Workspace, episode: int) -> WatchPolicy:
    settings = workspace.home.configuration.watch
    # Each further episode has half the alpha of the one before: all of them together stay below twice the first.
    return WatchPolicy(baseline=settings.baseline, alpha=settings.alpha / 2.0**episode, horizon=settings.horizon)


def _state(workspace: Workspace, known: Watch, series: Sequence[Audit], names: Sequence[str]) -> WatchState:
    points = _points(workspace, known, series, names)
    rows = _rows(workspace, known, [audit.id for audit in series], points)
    alarms = workspace.ledger.confirmations(known.id)
    held = _held_by_fleet(workspace, known, rows[-1]) if rows and rows[-1].state == "alarm" else ""
    return WatchState(
        audits=tuple(other.id for other in series),
        rows=rows,
        needed=len(known.baseline),
        full_size=workspace.home.configuration.watch.confirm_personas,
        watch=known,
        confirmation=alarms[-1] if alarms else None,
        held=held,
        served=_served(workspace, known, series[-1]),
    )


def _points(
    workspace: Workspace, known: Watch, series: Sequence[Audit], names: Sequence[str]
) -> dict[int, list[WatchPoint]]:
    """Stored points of every audit of the series; an audit that has none yet is read now."""
    stored = workspace.ledger.points(known.id)
    protocol = workspace.protocol(known.protocol)
    for audit in series:
        if audit.id in stored:
            continue
        reason = _unsound(workspace, audit)
        made = [
            WatchPoint(
                audit=audit.id,
                dimension=found.dimension,
                estimate=None if reason else found.estimate,
                variance=None if reason else found.variance,
                n=found.n,
                n_clusters=found.n_clusters,
                reason=reason or found.reason,
            )
            for found in protocol.estimates(read_answers(workspace, audit), names, known.vocabulary)
        ]
        workspace.ledger.store_points(known.id, audit.id, made)
        stored[audit.id] = made
    return stored


def _rows(
    workspace: Workspace, known: Watch, series: Sequence[int], points: dict[int, list[WatchPoint]]
) -> tuple[WatchedAudit, ...]:
    plan = workspace.ledger.audit(known.baseline[0]).plan
    dimensions = tuple(dimension.title for dimension in workspace.protocol(known.protocol).dimensions(plan))
    estimates = []
    for number in series:
        by_dimension = {point.dimension: point for point in points[number]}
        estimates.append(
            AuditEstimates(
                audit=f"audit {number}",
                size=known.size,
                estimates=tuple(by_dimension[name].estimate for name in dimensions),
                variances=tuple(by_dimension[name].variance for name in dimensions),
            )
        )
    return _judged(tuple(estimates), dimensions, _policy(workspace, known.episode))


@functools.lru_cache(maxsize=16)
def _judged(
    estimates: tuple[AuditEstimates, ...], dimensions: tuple[str, ...], policy: WatchPolicy
) -> tuple[WatchedAudit, ...]:
    """The state after each audit. Kept, for the conclusion of an audit and its publication both ask."""
    return watch(estimates, dimensions, policy)


def _served(workspace: Workspace, known: Watch, newest: Audit) -> str:
    """Whether another model answers than in the baseline: a change that a provider does not hide."""
    baseline = workspace.ledger.audits_of(known.baseline)
    before = {model for audit in baseline.values() for model in channels_of(workspace, audit).served_models}
    now = set(channels_of(workspace, newest).served_models)
    if not before or not now or before == now:
        return ""
    return f"the served model changed from {', '.join(sorted(before))} to {', '.join(sorted(now))}"


def _held_by_fleet(workspace: Workspace, known: Watch, row: WatchedAudit) -> str:
    """Why an alarm is not acted on when the share of false alarms over all watches is bounded."""
    rate = workspace.home.configuration.watch.false_discovery_rate
    if not rate:
        return ""
    values: list[float | None] = []
    place = 0
    for other in workspace.ledger.watches():
        if other.id == known.id:
            place = len(values)
            values.append(row.e_mean)
            continue
        points = workspace.ledger.points(other.id)
        newest = _rows(workspace, other, list(points), points)[-1]
        values.append(newest.e_mean)
    decision = online_fdr_levels(values, alpha=rate, overlap=len(values))[place]
    if decision.discovered or decision.threshold is None:
        return ""
    return (
        f"over {len(values)} watched releases the share of false alarms is bounded by {100 * rate:g} %, which asks for "
        f"evidence of {decision.threshold:.0f}; there is {row.e_mean or 0:.0f}"
    )


def ask(workspace: Workspace, state: WatchState) -> Confirmation | None:
    """Ask for the full audit of an alarm, once; None when there is nothing to ask for."""
    if state.watch is None or not state.wants_confirmation:
        return None
    return state.confirmation or workspace.ledger.ask_confirmation(state.watch.id, state.audits[-1], state.why)


def settled(workspace: Workspace, audit: Audit) -> Confirmation | None:
    """Compare a full audit with the pooled baseline of the watch whose alarm asked for it; None when none did.

    `regressed` confirms the drift. Every other verdict is stored as well, and begins a new episode.
    """
    same = {
        "family": audit.release.family,
        "version": audit.release.version,
        "protocol": audit.protocol,
        "collection_key": audit.plan.collection_key,
    }
    for known in workspace.ledger.watches(**same):
        for asked in workspace.ledger.confirmations(known.id):
            if asked.verdict is not None and asked.audit == audit.id:
                return asked
            if asked.verdict is None and audit.id > asked.alarm_audit and audit.plan.size > known.size:
                return _settled_now(workspace, known, asked, audit)
    return None


def _settled_now(workspace: Workspace, known: Watch, asked: Confirmation, audit: Audit) -> Confirmation:
    protocol = workspace.protocol(known.protocol)
    names = frozen_names(workspace, audit)
    baseline = [read_answers(workspace, workspace.ledger.audit(audit_id)) for audit_id in known.baseline]
    policy = workspace.home.policy(audit.release.family)
    rows, reason = protocol.compare(protocol.pooled(baseline), read_answers(workspace, audit), names, policy)
    verdict, why = release_verdict(rows, reason)
    told = f"against the pooled baseline of {len(baseline)} audits: {why}"
    workspace.ledger.settle_confirmation(
        known.id, asked.alarm_audit, audit=audit.id, verdict=verdict, why=told, results=rows
    )
    return next(c for c in workspace.ledger.confirmations(known.id) if c.alarm_audit == asked.alarm_audit)


def fleet_alerts(workspace: Workspace) -> FalseAlerts | None:
    """Expected false alerts a month over all watched releases; None when none is watched."""
    paces = workspace.ledger.watch_paces()
    if not paces:
        return None
    settings = workspace.home.configuration.watch
    return expected_false_alerts(
        [
            Schedule(
                audits_per_year=_audits_a_year(pace),
                alpha=settings.alpha / 2.0**pace.episode,
                horizon=settings.horizon,
            )
            for pace in paces
        ]
    )


def _audits_a_year(pace: WatchPace) -> float:
    """Audits a year, from the time between the first and the newest audit of a watch."""
    if pace.audits < 2 or pace.first is None or pace.newest is None:
        return AUDITS_A_YEAR
    length = dt.datetime.fromisoformat(pace.newest) - dt.datetime.fromisoformat(pace.first)
    days = length.total_seconds() / 86400
    return AUDITS_A_YEAR if days < 7 else (pace.audits - 1) / days * 365.25
