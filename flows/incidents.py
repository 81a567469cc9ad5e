"""From findings to incidents: opened once, updated when seen again, ended when what they say is no longer so.

Everything here writes to the ledger alone; what channels are to be told is put into the outbox in the same transaction.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flows.channels.message import AGAIN, OPENED, RECOVERED
from flows.finding_kinds import ONCE, REPLICATED, Finding, is_worse, plain
from registry.ledger.connection import moment_text
from registry.ledger.incidents import (
    ACKNOWLEDGED,
    CLOSED,
    LIVE,
    OPEN,
    UNCONFIRMED,
    Incident,
    Notification,
    Opening,
)
from registry.ledger.incidents import RECOVERED as HAS_RECOVERED

if TYPE_CHECKING:
    from flows.service_settings import AlertSettings, ChannelSettings
    from flows.workspace import Workspace

Moment = str | dt.datetime
_MOST_SEEN = 20
_OWN_RECORD = ("seen", "repeated")  # of the evidence: who said what and when; no message repeats it

NOT_ASKED = "Not replicated: the answers were imported, so no second sample could be asked for."
TURNED_OFF = "Not replicated: 'replicate' is off in spiritlevel.yaml, so no second sample was asked for."


def moment_of(workspace: Workspace, now: Moment | None) -> str:
    """A moment as the ledger keeps it; the time now by the ledger's shared clock when none is given."""
    if now is None:
        return workspace.ledger.moment()
    if isinstance(now, str):
        return now
    return moment_text(now)


def channels_of(workspace: Workspace) -> dict[str, ChannelSettings]:
    """The configured channels by name; where none is configured, the file ``alerts.jsonl`` of the home folder."""
    from flows.service_settings import ChannelSettings

    return dict(workspace.home.service.channels) or {"file": ChannelSettings(kind="file")}


def routed(workspace: Workspace, family: str, severity: str) -> tuple[str, ...]:
    """Names of the channels that are told of a finding of this severity about this family."""
    settings = workspace.home.service.alerts_of(family)
    if not is_worse(severity, settings.at_least):
        return ()
    return tuple(channels_of(workspace)) if settings.channels is None else settings.channels


def body_of(
    incident: Incident | Opening, at: str, *, why: str | None = None, evidence: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What a message about an incident says, as it is stored in the outbox."""
    shown = dict(incident.evidence if evidence is None else evidence)
    about = incident.family if incident.version is None else f"models:/{incident.family}/{incident.version}"
    copied = ("key", "kind", "severity", "family", "version", "protocol", "title")
    return {name: getattr(incident, name) for name in copied} | {
        "at": at,
        "release": about,
        "previous": incident.evidence.get("previous", ""),
        "verdict": shown.get("verdict", ""),
        "why": incident.why if why is None else why,
        "dimensions": list(shown.get("dimensions", ())),
        "evidence": {name: value for name, value in shown.items() if name not in _OWN_RECORD},
    }


def asked_again(workspace: Workspace, incident: Incident, audit: int) -> bool:
    """Whether requests of an audit were asked again since it last said something of an incident."""
    return workspace.ledger.repeated(audit) > int(incident.evidence.get("repeated", {}).get(str(audit), 0))


def old_news(workspace: Workspace, incident: Incident, audit: int) -> bool:
    """Whether an incident has seen what an audit says: that one as it is answered now, or a later one."""
    seen = incident.seen_audit or 0
    return audit < seen or (audit == seen and not asked_again(workspace, incident, audit))


def seen_with(
    workspace: Workspace, evidence: Mapping[str, Any], audit: int | None, before: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Evidence that also says how many answers of an audit came for requests that had been asked before.

    ``before`` : evidence that it takes the place of
    """
    repeated = dict((before or evidence).get("repeated", {}))
    if audit is not None and (count := workspace.ledger.repeated(audit)):
        repeated[str(audit)] = count
    return dict(evidence) | ({"repeated": repeated} if repeated else {})


def raised(workspace: Workspace, finding: Finding, now: Moment | None = None) -> Incident:
    """The incident of a finding: opened now, or the one that is open already, brought up to date.

    A finding from an audit that its incident has seen already is old news: it opens nothing, and does not undo what a
    second sample left of it.
    """
    ledger, now = workspace.ledger, moment_of(workspace, now)
    known = ledger.incidents(key=finding.key)
    if known and finding.audit is not None and old_news(workspace, known[-1], finding.audit):
        return known[-1]
    if known and known[-1].live:
        return _seen_again(workspace, known[-1], finding, now)
    opening = _opening(workspace, finding)
    incident, opened = ledger.open_incident(opening, now=now, notify=opened_notice(workspace, opening, now))
    return incident if opened or not incident.live else _seen_again(workspace, incident, finding, now)


def _opening(workspace: Workspace, finding: Finding) -> Opening:
    settings = workspace.home.service.alerts_of(finding.family)
    severity = settings.severities.get(finding.kind, finding.severity)
    wants_sample = finding.kind in REPLICATED and is_worse(severity, "high")
    replication = _why_not_replicated(finding, settings) if wants_sample else ""
    state = CLOSED if finding.kind in ONCE else UNCONFIRMED if wants_sample and not replication else OPEN
    return Opening(
        key=finding.key,
        kind=finding.kind,
        family=finding.family,
        version=finding.version,
        protocol=finding.protocol,
        severity=severity,
        title=finding.title,
        why=finding.why,
        evidence=seen_with(workspace, plain(finding.evidence), finding.audit)
        | ({"replication": replication} if replication else {}),
        audit=finding.audit,
        reference_audit=finding.reference_audit,
        state=state,
    )


def _why_not_replicated(finding: Finding, settings: AlertSettings) -> str:
    if not settings.replicate:
        return TURNED_OFF
    return "" if finding.live else NOT_ASKED


def opened_notice(workspace: Workspace, incident: Incident | Opening, now: str, **changed: Any) -> Notification | None:
    """What to tell when an incident opens; nothing while it is not confirmed, or when nobody wants to know."""
    if incident.state == UNCONFIRMED and not changed:
        return None
    channels = routed(workspace, incident.family, incident.severity)
    return Notification(event=OPENED, channels=channels, message=body_of(incident, now, **changed))


def _seen_again(workspace: Workspace, incident: Incident, finding: Finding, now: str) -> Incident:
    anew = incident.state == UNCONFIRMED and finding.audit == incident.audit  # nobody was told what it opened with
    if finding.reference_audit is not None and finding.audit is not None and not anew:
        # What it opened with stays: it is what was told, and what a recovery is judged by.
        verdict = str(finding.evidence.get("verdict", ""))
        return noted(workspace, incident, finding.audit, verdict, finding.why, now)
    evidence = seen_with(workspace, plain(finding.evidence), finding.audit, incident.evidence)
    kept = ("replication", "seen") if anew else ("replication",)
    evidence |= {name: incident.evidence[name] for name in kept if name in incident.evidence}
    return workspace.ledger.see_incident(
        incident, now=now, audit=finding.audit, title=finding.title, why=finding.why, evidence=evidence
    )


def noted(
    workspace: Workspace,
    incident: Incident,
    audit: int,
    verdict: str,
    why: str,
    now: str,
    missing: Sequence[str] = (),
) -> Incident:
    """The incident with what a later audit said of it; ``missing`` : what it would take to be over.

    Once an audit. What one says whose requests were asked again, its own among them, takes the place of what it said before.
    """
    seen = [dict(item) for item in incident.evidence.get("seen", ())]
    known = audit <= (incident.audit or 0) or any(item["audit"] == audit for item in seen)
    if known and (audit != incident.seen_audit or not asked_again(workspace, incident, audit)):
        return incident
    seen = [item for item in seen if item["audit"] != audit]
    seen.append({"audit": audit, "verdict": verdict, "why": why, "at": now, "missing": list(missing)})
    evidence = seen_with(workspace, dict(incident.evidence) | {"seen": seen[-_MOST_SEEN:]}, audit)
    return workspace.ledger.see_incident(incident, now=now, audit=audit, evidence=evidence)


def recovered(
    workspace: Workspace,
    incident: Incident,
    why: str,
    now: Moment | None = None,
    *,
    audit: int | None = None,
    evidence: Mapping[str, Any] | None = None,
) -> Incident:
    """End an incident because what it says is no longer so, and tell the channels that were told of it."""
    now = moment_of(workspace, now)
    told = sorted({notice.channel for notice in workspace.ledger.notices(incident=incident.id)})
    details = [f"open since {incident.opened_at}"]
    if incident.state == ACKNOWLEDGED:
        details.append(f"acknowledged by {incident.acknowledged_by}: {incident.acknowledged_why}")
    shown = {**plain(evidence or {}), "details": details}
    notify = Notification(
        event=RECOVERED, channels=tuple(told), message=body_of(incident, now, why=why, evidence=shown)
    )
    seen = {"seen_audit": audit} if audit is not None else {}
    after = seen_with(workspace, incident.evidence, audit) | {"ended": why}
    workspace.ledger.move_incident(
        incident.id, HAS_RECOVERED, among=LIVE, now=now, notify=notify, evidence=after, **seen
    )
    return workspace.ledger.incident(incident.id)


def cleared(workspace: Workspace, key: str, why: str, now: Moment | None = None) -> Incident | None:
    """End the open incident of a key, with a notice to those who were told; None when there is none."""
    found = [incident for incident in workspace.ledger.incidents(key=key, states=LIVE) if incident.state in LIVE]
    return recovered(workspace, found[-1], why, now) if found else None


def reminded(workspace: Workspace, now: Moment | None = None) -> list[Incident]:
    """Tell again of incidents of medium severity and more that are open, that nobody acknowledged, and that were told long ago."""
    from flows.service_settings import length_of_time

    at = moment_of(workspace, now)
    told = []
    for incident in workspace.ledger.incidents(states=[OPEN]):
        settings = workspace.home.service.alerts_of(incident.family)
        if incident.noticed_at is None or settings.renotify is None or not is_worse(incident.severity, "medium"):
            continue
        since = dt.datetime.fromisoformat(at) - dt.datetime.fromisoformat(incident.noticed_at)
        if since < length_of_time(settings.renotify):
            continue
        channels = _not_waiting(workspace, incident, routed(workspace, incident.family, incident.severity))
        why = f"{incident.why} (open since {incident.opened_at}; nobody acknowledged it)"
        notify = Notification(event=AGAIN, channels=channels, message=body_of(incident, at, why=why))
        if channels and workspace.ledger.remind(incident, now=at, notify=notify):
            told.append(workspace.ledger.incident(incident.id))
    return told


def _not_waiting(workspace: Workspace, incident: Incident, channels: Sequence[str]) -> tuple[str, ...]:
    """Channels that have nothing of this incident in the outbox: reminders do not pile up where one is down."""
    waiting = {
        notice.channel for notice in workspace.ledger.notices(incident=incident.id, states=["waiting", "sending"])
    }
    return tuple(channel for channel in channels if channel not in waiting)
