"""How messages are delivered: retried, given up, held back in quiet hours, sent once by whichever process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from flows.alerts import cleared, deliver, raised
from flows.delivery import GIVEN_UP_AFTER, LONGEST_WAIT_S, message_of, quiet_until, wait_s
from flows.finding_kinds import key_of, overdue
from flows.service_settings import QuietHours
from flows.settings import Home
from flows.workspace import opened
from registry.ledger.incidents import RECOVERED
from registry.ledger.leases import later
from registry.ledger.ownership import Owner
from tests.flows.alert_setup import NOW, SECRET, both_channels, configured, finding, lines_of
from tests.hook_server import HookServer


@pytest.fixture
def workspace(home):
    with opened(Home(home)) as found:
        yield found


@pytest.fixture
def hook(monkeypatch):
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    with HookServer() as server:
        yield server


def test_a_failed_channel_is_tried_again_with_patience_and_holds_up_no_other(home, hook, workspace):
    configured(home, both_channels(hook))
    hook.answers = [500, 503, 200]
    raised(workspace, finding(), NOW)
    raised(workspace, finding("second"), NOW)
    report = deliver(workspace, NOW)
    assert (report.sent, report.waiting, report.failed) == (2, 2, {"hook": "HTTP 500"})
    assert len(lines_of(home)) == 2
    assert len(hook.bodies) == 1  # the second message did not wait for the same failure
    (failed, other) = (n for n in workspace.ledger.notices() if n.channel == "hook")
    assert (failed.attempts, failed.state, failed.detail) == (1, "waiting", "HTTP 500")
    assert 45 <= (_seconds(failed.next_at) - _seconds(NOW)) <= 75
    assert (other.attempts, other.next_at) == (0, NOW)
    assert deliver(workspace, later(NOW, 1)).failed == {
        "hook": "HTTP 503"
    }  # the other message; it has a turn of its own
    assert deliver(workspace, later(NOW, 2)).sent == 0  # none is due
    assert deliver(workspace, later(NOW, 200)).sent == 2
    assert {n.state for n in workspace.ledger.notices()} == {"sent"}
    assert len({headers["idempotency-key"] for headers in hook.headers}) == 2


def _seconds(moment):
    import datetime as dt

    return dt.datetime.fromisoformat(moment).timestamp()


def test_waits_double_up_to_six_hours_and_differ_between_messages():
    waits = [wait_s(7, attempt) for attempt in range(1, 60)]
    assert all(45 * 2**n <= wait <= 75 * 2**n for n, wait in enumerate(waits[:8]))
    assert max(waits) <= LONGEST_WAIT_S
    assert min(waits[12:]) > LONGEST_WAIT_S / 2
    assert len({wait_s(number, 3) for number in range(50)}) == 50


def test_what_fails_for_days_is_given_up_said_in_the_list_and_sent_when_asked_for(spiritlevel, hook):
    configured(spiritlevel.home, both_channels(hook))
    with opened(Home(spiritlevel.home)) as workspace:
        hook.answers = [500] * 60
        raised(workspace, finding(), NOW)
        now, tries = NOW, 0
        while any(n.state == "waiting" for n in workspace.ledger.notices()):
            deliver(workspace, now)
            tries += 1
            now = max([now, *(n.next_at for n in workspace.ledger.notices() if n.state == "waiting")])
            assert tries < 60
        dead = next(n for n in workspace.ledger.notices() if n.channel == "hook")
        assert dead.state == "dead"
        assert _seconds(now) - _seconds(NOW) >= GIVEN_UP_AFTER.total_seconds()
        assert 30 < dead.attempts < 60
    listed = spiritlevel("alerts", "list")
    assert f"given up after {dead.attempts} tries: incident 1 (opened) to channel hook: HTTP 500" in listed
    hook.answers = []
    assert "0 waiting" in spiritlevel("alerts", "send")
    assert spiritlevel.json("alerts", "send", "--given-up")["sent"] == 1
    assert "given up" not in spiritlevel("alerts", "list")


def test_a_sender_that_dies_after_sending_is_followed_by_one_that_sends_the_same_message(home, hook, workspace):
    configured(home, both_channels(hook))
    raised(workspace, finding(), NOW)
    dying = Owner("elsewhere", 1, 1.0)
    for _ in range(2):  # it sends both and is killed before it can say so
        notice = workspace.ledger.claim_notice(dying, now=NOW)
        from flows.delivery import channel_named

        channel_named(workspace, notice.channel).send(message_of(workspace, notice))
    assert deliver(workspace, later(NOW, 60)).sent == 0
    assert deliver(workspace, later(NOW, 180)).sent == 2
    assert len(lines_of(home)) == 1
    assert len({message["id"] for message in hook.messages}) == 1  # by which a receiver knows it


class HangingChannel:
    def __init__(self):
        self.released = threading.Event()

    def send(self, message):
        self.released.wait(30)
        return "late"


def test_a_channel_that_hangs_is_a_failure():
    from flows.channels.catalog import DeliveryError
    from flows.delivery import sent_by

    channel = HangingChannel()
    with pytest.raises(DeliveryError, match="did not come back within"):
        sent_by(channel, None, within_s=0.05)
    channel.released.set()


DRAIN = """
import sys
from flows.alerts import deliver
from flows.settings import Home
from flows.workspace import opened
with opened(Home(sys.argv[1])) as workspace:
    workspace.ledger.identity
    print("ready", flush=True)
    sys.stdin.readline()
    print(deliver(workspace).sent)
"""


def test_processes_that_send_at_the_same_time_send_each_message_once(home, hook):
    configured(home, both_channels(hook))
    hook.delay_s = 0.01
    with opened(Home(home)) as workspace:
        for number in range(25):
            raised(workspace, finding(f"finding {number}"))
    command = [sys.executable, "-c", DRAIN, str(home)]
    pipes = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
        "env": os.environ | {"HOOK_SECRET": SECRET},
    }
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    sent = [int(process.communicate(timeout=120)[0]) for process in processes]
    assert sum(sent) == 50
    assert min(sent) > 0
    assert len({message["id"] for message in hook.messages}) == len(hook.messages) == 25
    assert len(lines_of(home)) == len({line["id"] for line in lines_of(home)}) == 25


# Time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "until"),
    [
        ("2026-11-02T20:59:00Z", None),
        ("2026-11-02T21:00:00Z", "2026-11-03T06:00:00.000Z"),  # 22:00 in Madrid
        ("2026-11-03T05:59:59Z", "2026-11-03T06:00:00.000Z"),
        ("2026-11-03T06:00:00Z", None),
        ("2026-03-28T22:00:00Z", "2026-03-29T05:00:00.000Z"),  # clocks go forward in this night: it is an hour shorter
        ("2026-10-24T21:00:00Z", "2026-10-25T06:00:00.000Z"),  # and back in this one
    ],
)
def test_quiet_hours_are_wall_times_of_their_zone(at, until):
    quiet = QuietHours.model_validate({"from": "22:00", "to": "07:00", "zone": "Europe/Madrid"})
    assert quiet_until(quiet, "medium", at) == until
    assert quiet_until(quiet, "high", at) is None  # a page is a page at night too, unless it is configured otherwise


def test_quiet_hours_within_a_day_end_at_their_second_end_when_clocks_go_back():
    quiet = QuietHours.model_validate({"from": "01:00", "to": "02:30", "zone": "Europe/Madrid"})
    assert quiet_until(quiet, "low", "2026-10-25T00:10:00Z") == "2026-10-25T01:30:00.000Z"
    assert quiet_until(quiet, "low", "2026-10-25T12:00:00Z") is None


def test_in_quiet_hours_a_message_waits_until_their_end_unless_it_is_severe_enough(home, workspace):
    quiet = '{from: "22:00", to: "07:00", except_severity: high}'
    configured(home, f"alerts: {{quiet_hours: {quiet}}}\n")
    night = "2026-11-02T23:00:00.000Z"
    raised(workspace, overdue("nova/x", family="nova", protocol="p", why="late"), night)
    raised(workspace, finding(), night)
    report = deliver(workspace, night)
    assert (report.sent, report.deferred, report.waiting) == (1, 1, 1)
    assert [line["kind"] for line in lines_of(home)] == ["regression"]
    assert cleared(workspace, key_of("regression", "nova", "regression"), "over", night).state == RECOVERED
    assert deliver(workspace, night).deferred == 1  # that it is over can wait, however bad it was
    assert deliver(workspace, "2026-11-03T06:59:00.000Z").sent == 0
    report = deliver(workspace, "2026-11-03T07:00:01.000Z")
    assert report.sent == 2
    assert all(notice.attempts == 1 for notice in workspace.ledger.notices())
