"""Delivery: from the outbox to the channels, with patience. A channel that is down holds up neither audits nor others.

Each notice is tried until its channel took it, after 1, 2, 4, ... minutes, at most 6 hours apart, and given up after
7 days. While one channel fails, its other notices are left alone until they are due again.
"""

from __future__ import annotations

import contextvars
import dataclasses
import datetime as dt
import hashlib
import logging
import threading
import time
import urllib.parse
import zoneinfo
from typing import TYPE_CHECKING, Any

from flows.channels.catalog import CHANNELS, AlertChannel, ChannelOptions, DeliveryError, load_channels
from flows.channels.message import RECOVERED, Message, trial_message
from flows.finding_kinds import is_worse
from flows.incidents import Moment, channels_of, moment_of
from metrics.errors import BadInputError
from registry.ledger.connection import moment_text
from registry.ledger.incidents import DEAD, SENDING, WAITING, Incident, Notice
from registry.ledger.leases import later
from registry.ledger.ownership import Owner

if TYPE_CHECKING:
    from flows.service_settings import QuietHours
    from flows.workspace import Workspace

FIRST_WAIT_S = 60.0
LONGEST_WAIT_S = 6 * 3600.0
LONGEST_SEND_S = 45.0  # shorter than a claim
GIVEN_UP_AFTER = dt.timedelta(days=7)
_JITTER = 0.25
_LONGEST_DETAIL = 300
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryReport:
    """What one round of delivery came to.

    ``sent`` : notices delivered; ``failed`` : by channel, why; ``deferred`` : put off by quiet hours; ``given_up`` : tried
    for too long; ``waiting`` : still in the outbox
    """

    sent: int = 0
    failed: dict[str, str] = dataclasses.field(default_factory=dict)
    deferred: int = 0
    given_up: int = 0
    waiting: int = 0

    def in_words(self) -> str:
        """One line."""
        parts = [f"{self.sent} sent", f"{self.waiting} waiting"]
        if self.deferred:
            parts.append(f"{self.deferred} put off by quiet hours")
        if self.given_up:
            parts.append(f"{self.given_up} given up")
        return ", ".join(parts + [f"{name} failed: {why}" for name, why in self.failed.items()])


def channel_named(workspace: Workspace, name: str) -> AlertChannel:
    """A configured channel, opened.

    Raises
    ------
    BadInputError
        When it is not configured, its kind is not known, or its settings or secret are wrong.
    """
    load_channels()
    configured = channels_of(workspace)
    if name not in configured:
        raise BadInputError(f"no channel is named {name!r} in spiritlevel.yaml. Known: {', '.join(configured)}")
    settings = configured[name]
    try:
        kind = CHANNELS[settings.kind]
    except BadInputError as error:
        raise BadInputError(f"channels.{name}: {error}") from error
    return kind(ChannelOptions(name=name, settings=settings, home=workspace.home.path))


def deliver(workspace: Workspace, now: Moment | None = None, *, hasten: bool = False) -> DeliveryReport:
    """Send what is due in the outbox, each notice by one process; never raises for a channel.

    ``hasten`` : try everything that waits, also what is put off after a failure or by quiet hours
    """
    ledger, owner = workspace.ledger, Owner.this_process()
    begun, start = time.monotonic(), moment_of(workspace, now)
    if hasten:
        ledger.hasten_notices(now=start)
    channels: dict[str, AlertChannel] = {}
    sent = deferred = given_up = 0
    failed: dict[str, str] = {}
    # What fails or is put off is due later, so this ends.
    while notice := ledger.claim_notice(owner, now=later(start, time.monotonic() - begun), besides=failed):
        at = later(start, time.monotonic() - begun)
        until = None if hasten else _quiet_until(workspace, notice, at)
        if until is not None:
            ledger.notice_deferred(notice, next_at=until, detail=f"quiet hours until {until}")
            deferred += 1
            continue
        try:
            if notice.channel not in channels:
                channels[notice.channel] = channel_named(workspace, notice.channel)
            said = sent_by(channels[notice.channel], message_of(workspace, notice))
        except Exception as error:  # a channel of another distribution may raise anything; none may stop an audit
            failed[notice.channel] = _in_words(error)
            given_up += _put_back(workspace, notice, at, failed[notice.channel])
        else:
            ledger.notice_sent(notice, now=at, detail=said[:_LONGEST_DETAIL])
            _log.info("notice %d of incident %d was sent to %s", notice.id, notice.incident, notice.channel)
            sent += 1
    for name, why in failed.items():
        workspace.tell(f"alerts did not reach the channel {name}: {why}; they are kept and tried again")
        _log.error("alerts did not reach the channel %s: %s", name, why)
    waiting = len(ledger.notices(states=[WAITING, SENDING]))
    return DeliveryReport(sent=sent, failed=failed, deferred=deferred, given_up=given_up, waiting=waiting)


def sent_by(channel: AlertChannel, message: Message, *, within_s: float | None = None) -> str:
    """What came back from a channel, or a failure when it takes too long: one that hangs must not hold an audit.

    The sending thread of a channel that hangs is left behind; should it get through after all, the message is sent twice
    under one id.
    """
    outcome: list[str | Exception] = []

    def send() -> None:
        try:
            outcome.append(str(channel.send(message) or "taken"))
        except Exception as error:
            outcome.append(error)

    allowed = LONGEST_SEND_S if within_s is None else within_s
    thread = threading.Thread(target=contextvars.copy_context().run, args=(send,), daemon=True)
    thread.start()
    thread.join(allowed)
    if not outcome:
        raise DeliveryError(f"the channel did not come back within {allowed:g} s")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def _in_words(error: Exception) -> str:
    """Why a channel failed. Only our own errors are quoted: those of libraries repeat addresses with their secrets."""
    from flows.redaction import Redaction

    if isinstance(error, (DeliveryError, BadInputError)):
        return Redaction(None).line(str(error))[:_LONGEST_DETAIL]
    return f"the channel raised {type(error).__name__}"


def _put_back(workspace: Workspace, notice: Notice, at: str, why: str) -> bool:
    age = dt.datetime.fromisoformat(at) - dt.datetime.fromisoformat(notice.made_at)
    dead = age >= GIVEN_UP_AFTER
    next_at = later(at, wait_s(notice.id, notice.attempts))
    workspace.ledger.notice_failed(notice, next_at=next_at, detail=why, dead=dead)
    return dead


def wait_s(notice_id: int, attempts: int) -> float:
    """Seconds until the next try: doubled each time, with a jitter that is fixed for each try of each notice.

    >>> [round(wait_s(1, tried) / 60) for tried in (1, 2, 3, 20)]
    [1, 2, 4, 221]
    """
    digest = hashlib.sha256(f"{notice_id} {attempts}".encode()).digest()
    jitter = 1 + _JITTER * (int.from_bytes(digest[:4], "big") / 2**31 - 1)
    doubled = FIRST_WAIT_S * 2.0 ** min(attempts - 1, 40)
    return float(min(doubled, LONGEST_WAIT_S / (1 + _JITTER)) * jitter)


# Quiet hours -------------------------------------------------------------------------------------------------------


def _quiet_until(workspace: Workspace, notice: Notice, at: str) -> str | None:
    quiet = workspace.home.service.alerts_of(notice.message["family"]).quiet_hours
    # That something is over can wait until the morning, however bad it was.
    severity = "low" if notice.event == RECOVERED else notice.message["severity"]
    return None if quiet is None else quiet_until(quiet, severity, at)


def quiet_until(quiet: QuietHours, severity: str, at: str) -> str | None:
    """The end of the quiet hours that a moment is in; None when it is in none, or the severity is excepted.

    Times are wall times of the zone, so a night in which clocks change is an hour longer or shorter.
    """
    if quiet.except_severity is not None and is_worse(severity, quiet.except_severity):
        return None
    zone = zoneinfo.ZoneInfo(quiet.zone)
    local = dt.datetime.fromisoformat(at).astimezone(zone)
    begin, end = dt.time.fromisoformat(quiet.from_), dt.time.fromisoformat(quiet.to)
    clock = local.time()
    over_midnight = begin > end
    inside = (clock >= begin or clock < end) if over_midnight else begin <= clock < end
    if not inside:
        return None
    day = local.date() + dt.timedelta(days=1) if over_midnight and clock >= begin else local.date()
    # A wall time that comes twice means the second: the night is not over at the first.
    then = dt.datetime.combine(day, end, tzinfo=zone).replace(fold=1)
    return moment_text(then)


# The message -------------------------------------------------------------------------------------------------------


def message_of(workspace: Workspace, notice: Notice) -> Message:
    """The message of a notice, with the links that there are by now."""
    stored = dict(notice.message)
    stored["dimensions"] = tuple(stored["dimensions"])
    return Message(
        **stored,
        id=f"{workspace.ledger.identity}-{notice.id}",
        event=notice.event,
        incident=notice.incident,
        links=links_of(workspace, workspace.ledger.incident(notice.incident)),
    )


def links_of(workspace: Workspace, incident: Incident) -> dict[str, str]:
    """Where to look: the comparison's run, the releases side by side, the release's run, the card. Made without asking MLflow."""
    from flows.stores import compare_link

    settings, links = workspace.home.service.links, {}
    base = (settings.mlflow or _server(workspace.home.tracking_uri)).rstrip("/")
    if base and incident.audit is not None:
        release = workspace.ledger.audit(incident.audit).release
        sides = [release]
        if incident.reference_audit is not None:
            sides.insert(0, workspace.ledger.audit(incident.reference_audit).release)
        if run := _comparison_run(workspace, incident):
            links["Comparison in MLflow"] = f"{base}/#/runs/{run}"
        if len({side.version for side in sides}) == 2 and all(side.run_id for side in sides):
            links["Releases side by side"] = compare_link(base, sides)
        if release.run_id:
            links["Release in MLflow, with its card and moved cells"] = f"{base}/#/runs/{release.run_id}"
    if settings.cards:
        family, protocol = (urllib.parse.quote(text, safe="") for text in (incident.family, incident.protocol))
        links["Card"] = settings.cards.replace("{family}", family).replace("{protocol}", protocol)
    return links


def _server(tracking_uri: str) -> str:
    """The address of a tracking server without user and password; empty for a file or database."""
    parts = urllib.parse.urlsplit(tracking_uri)
    if parts.scheme not in ("http", "https"):
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _comparison_run(workspace: Workspace, incident: Incident) -> str | None:
    wanted: Any = incident.evidence.get("comparison")
    made = workspace.ledger.comparisons(family=incident.family, protocol=incident.protocol, current=incident.audit)
    return next((comparison.run_id for comparison in made if comparison.id == wanted), None)


# Trying it ---------------------------------------------------------------------------------------------------------


def tried(workspace: Workspace, name: str) -> tuple[bool, str]:
    """Really send a test message to a channel; whether it took it, and what came back."""
    now = workspace.ledger.moment()
    message = trial_message(name, f"{workspace.ledger.identity}-test-{time.time_ns()}", now)
    try:
        return True, sent_by(channel_named(workspace, name), message)
    except Exception as error:
        return False, _in_words(error)


def outbox(workspace: Workspace) -> list[Notice]:
    """What was not delivered yet, or was given up."""
    return workspace.ledger.notices(states=[WAITING, SENDING, DEAD])
