"""Incidents and their outbox, on both databases."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from metrics.errors import BadInputError
from registry.ledger.incidents import (
    ACKNOWLEDGED,
    CLOSED,
    LIVE,
    OPEN,
    RECOVERED,
    UNCONFIRMED,
    WITHDRAWN,
    Notification,
    Opening,
)
from registry.ledger.leases import later
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner
from registry.ledger.store import Ledger
from tests.registry.ledger.orders import ordered

NOW = "2026-11-01T00:00:00.000Z"
ONE, OTHER = Owner("one", 1, 1.0), Owner("other", 2, 2.0)
OPENING = Opening(
    key="regression/nova/persona-brainstorm/against models:/nova/1",
    kind="regression",
    family="nova",
    version=2,
    protocol="persona-brainstorm",
    severity="high",
    title="models:/nova/2 regressed \u202e<b>",
    why="more bias in gender x occupation",
    evidence={"dimensions": ["gender x occupation"], "moved": [{"delta": 0.2, "low": None}]},
    audit=None,
    reference_audit=None,
)


def told(*channels, event="opened"):
    return Notification(event=event, channels=channels, message={"family": "nova", "severity": "high"})


def at(minutes):
    return later(NOW, 60 * minutes)


def test_an_incident_comes_back_as_it_was_opened_with_one_notice_a_channel(ledger):
    incident, opened = ledger.open_incident(OPENING, now=NOW, notify=told("file", "pager"))
    assert opened
    assert ledger.incident(incident.id) == incident
    assert {name: getattr(incident, name) for name in ("key", "title", "why", "state")} == {
        "key": OPENING.key,
        "title": OPENING.title,
        "why": OPENING.why,
        "state": OPEN,
    }
    assert incident.evidence == OPENING.evidence
    assert (incident.notices, incident.noticed_at, incident.live, incident.release) == (1, NOW, True, "models:/nova/2")
    notices = ledger.notices(incident=incident.id)
    assert [(n.channel, n.sequence, n.state, n.attempts) for n in notices] == [
        ("file", 1, "waiting", 0),
        ("pager", 1, "waiting", 0),
    ]


def test_of_two_that_open_one_finding_one_opens_it_and_only_its_notices_are_made(ledger):
    first, _ = ledger.open_incident(OPENING, now=NOW, notify=told("file"))
    second, opened = ledger.open_incident(OPENING, now=at(1), notify=told("file"))
    assert (second.id, opened) == (first.id, False)
    assert len(ledger.notices()) == 1


def test_many_processes_that_open_claim_and_send_at_once_do_each_thing_once(ledger_url):
    first = Ledger(ledger_url)  # makes the database before the others come
    first.identity  # noqa: B018
    opened, sent, errors = [], [], []
    gate = threading.Barrier(4)

    def work(number):
        ledger = Ledger(ledger_url)
        try:
            gate.wait(timeout=30)
            opened.append(ledger.open_incident(OPENING, now=NOW, notify=told("a", "b", "c", "d", "e"))[1])
            owner = Owner("host", number, float(number))
            while notice := ledger.claim_notice(owner, now=at(1)):
                sent.append(notice.id)
                assert ledger.notice_sent(notice, now=at(1), detail="")
        except Exception as error:
            errors.append(error)
        finally:
            ledger.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert errors == []
    assert sorted(opened) == [False, False, False, True]
    assert len(sent) == len(set(sent)) == 5
    assert {notice.state for notice in first.notices()} == {"sent"}
    first.close()


def test_an_ended_incident_sets_its_key_free_and_what_waits_of_it_is_dropped(ledger):
    incident, _ = ledger.open_incident(OPENING, now=NOW, notify=told("file", "pager"))
    notice = ledger.claim_notice(ONE, now=NOW)
    ledger.notice_sent(notice, now=NOW, detail="taken")
    assert ledger.move_incident(incident.id, RECOVERED, among=LIVE, now=at(1), notify=told("file", event="recovered"))
    assert not ledger.move_incident(incident.id, WITHDRAWN, among=LIVE, now=at(2))
    assert [(n.channel, n.event, n.state) for n in ledger.notices()] == [
        ("file", "opened", "sent"),
        ("pager", "opened", "dropped"),
        ("file", "recovered", "waiting"),
    ]
    ended = ledger.incident(incident.id)
    assert (ended.state, ended.ended_at, ended.live) == (RECOVERED, at(1), False)
    again, opened = ledger.open_incident(OPENING, now=at(3))
    assert opened
    assert again.id != incident.id
    assert [one.id for one in ledger.incidents(key=OPENING.key)] == [incident.id, again.id]
    assert ledger.incidents(states=LIVE, family="nova") == [again]


def test_what_is_told_once_is_never_opened_again(ledger):
    event = dataclasses.replace(OPENING, state=CLOSED, kind="improvement")
    first, opened = ledger.open_incident(event, now=NOW, notify=told("file"))
    again, reopened = ledger.open_incident(event, now=at(1), notify=told("file"))
    assert (opened, reopened, again.id) == (True, False, first.id)
    assert (again.live, again.ended_at) == (False, NOW)
    assert len(ledger.notices()) == 1


def test_seeing_it_again_tells_nobody_and_changes_nothing_when_nothing_is_new(ledger):
    audit = ordered(ledger)
    incident, _ = ledger.open_incident(OPENING, now=NOW, notify=told("file"))
    same = ledger.see_incident(incident, now=at(1), audit=None, why=incident.why, evidence=dict(incident.evidence))
    assert same == incident
    seen = ledger.see_incident(incident, now=at(1), audit=audit.id, why="worse")
    assert (seen.why, seen.seen_audit, seen.changed_at) == ("worse", audit.id, at(1))
    assert len(ledger.notices()) == 1


def test_an_open_incident_can_be_acknowledged_and_is_then_not_told_again(ledger):
    incident, _ = ledger.open_incident(OPENING, now=NOW, notify=told("file"))
    assert ledger.remind(incident, now=at(1), notify=told("file", event="again"))
    assert not ledger.remind(incident, now=at(1), notify=told("file", event="again"))  # another process was faster
    said = ledger.acknowledge(incident.id, who="ada", why="known", now=at(2))
    assert (said.state, said.acknowledged_by, said.acknowledged_why, said.acknowledged_at) == (
        ACKNOWLEDGED,
        "ada",
        "known",
        at(2),
    )
    assert not ledger.remind(said, now=at(3), notify=told("file", event="again"))
    assert [(n.event, n.sequence) for n in ledger.notices()] == [("opened", 1), ("again", 2)]


def test_who_had_acknowledged_it_before_stays_in_the_record_in_words(ledger):
    incident, _ = ledger.open_incident(OPENING, now=NOW)
    ledger.acknowledge(incident.id, who="ada", why="known", now=at(1))
    said = ledger.acknowledge(incident.id, who="ada", why="known; fixed in 4", now=at(2))
    assert said.acknowledged_why == "known; fixed in 4"
    said = ledger.acknowledge(incident.id, who="eve", why="mine now", now=at(3))
    assert (said.acknowledged_by, said.acknowledged_at) == ("eve", at(3))
    assert said.acknowledged_why == f"mine now (before: ada at {at(2)}: known; fixed in 4)"


@pytest.mark.parametrize(("who", "why"), [("", "known"), ("ada", " "), ("ada", "a\x00b"), ("ada", "x" * 2001)])
def test_an_acknowledgement_without_readable_words_is_refused(ledger, who, why):
    incident, _ = ledger.open_incident(OPENING, now=NOW)
    with pytest.raises(BadInputError, match="readable words"):
        ledger.acknowledge(incident.id, who=who, why=why, now=NOW)


def test_what_is_not_open_cannot_be_acknowledged(ledger):
    incident, _ = ledger.open_incident(dataclasses.replace(OPENING, state=UNCONFIRMED), now=NOW)
    with pytest.raises(BadInputError, match="a second sample confirms or withdraws it"):
        ledger.acknowledge(incident.id, who="ada", why="known", now=NOW)
    ledger.move_incident(incident.id, WITHDRAWN, among=[UNCONFIRMED], now=NOW)
    with pytest.raises(BadInputError, match="is withdrawn"):
        ledger.acknowledge(incident.id, who="ada", why="known", now=NOW)
    with pytest.raises(LedgerError, match="there is no incident 99"):
        ledger.acknowledge(99, who="ada", why="known", now=NOW)


def test_a_claimed_notice_is_nobody_elses_until_its_claim_ran_out(ledger):
    ledger.open_incident(OPENING, now=NOW, notify=told("file"))
    assert ledger.claim_notice(ONE, now=later(NOW, -1)) is None  # not due yet
    mine = ledger.claim_notice(ONE, now=NOW)
    assert (mine.state, mine.attempts) == ("sending", 1)
    assert ledger.claim_notice(OTHER, now=at(1)) is None
    # the sender died: after the claim another one sends it, and the first may no longer say anything of it
    taken = ledger.claim_notice(OTHER, now=at(3))
    assert (taken.id, taken.attempts) == (mine.id, 2)
    assert not ledger.notice_sent(mine, now=at(3), detail="")
    assert ledger.notice_sent(taken, now=at(3), detail="HTTP 204")
    (notice,) = ledger.notices()
    assert (notice.state, notice.sent_at, notice.detail, notice.holder) == ("sent", at(3), "HTTP 204", None)


def test_a_failed_notice_waits_a_deferred_one_counts_no_try_and_a_dead_one_is_left_alone_until_hastened(ledger):
    ledger.open_incident(OPENING, now=NOW, notify=told("file"))
    notice = ledger.claim_notice(ONE, now=NOW)
    assert ledger.notice_deferred(notice, next_at=at(5), detail="quiet hours")
    assert ledger.claim_notice(ONE, now=at(4)) is None
    notice = ledger.claim_notice(ONE, now=at(5))
    assert notice.attempts == 1
    assert ledger.notice_failed(notice, next_at=at(10), detail="HTTP 500", dead=False)
    assert ledger.claim_notice(ONE, now=at(9)) is None
    notice = ledger.claim_notice(ONE, now=at(10))
    assert (notice.attempts, notice.detail) == (2, "HTTP 500")
    assert ledger.notice_failed(notice, next_at=at(20), detail="HTTP 500", dead=True)
    assert ledger.claim_notice(ONE, now=at(999)) is None
    assert ledger.hasten_notices(now=at(11)) == 0
    assert ledger.hasten_notices(now=at(11), dead=True) == 1
    assert ledger.claim_notice(ONE, now=at(11)).attempts == 3


def test_channels_that_fail_are_left_alone_and_the_oldest_of_the_others_comes_first(ledger):
    ledger.open_incident(OPENING, now=at(1), notify=told("down", "file"))
    older = dataclasses.replace(OPENING, key="older")
    ledger.open_incident(older, now=NOW, notify=told("down", "file"))
    claimed = []
    while notice := ledger.claim_notice(ONE, now=at(2), besides=["down"]):
        claimed.append((notice.channel, notice.made_at))
    assert claimed == [("file", NOW), ("file", at(1))]


def test_a_key_that_would_be_cut_off_is_refused(ledger):
    with pytest.raises(ValueError, match="at most 250 characters"):
        ledger.open_incident(dataclasses.replace(OPENING, key="k" * 251), now=NOW)
