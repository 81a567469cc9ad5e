"""Totals over the ledger, against the same counted from the answers one by one; on both databases."""

from __future__ import annotations

import dataclasses

import pytest

from registry.audits.plan import Response
from registry.ledger.totals import LATENCIES_S
from tests.registry.ledger.orders import ordered

ANSWER = Response(
    index=0, repeat=0, text="a person", finish_reason="stop", prompt_tokens=10, completion_tokens=5, latency_s=0.3
)
OUTCOMES = {
    "answered": ANSWER,
    "refused": dataclasses.replace(ANSWER, text=None, refusal="I cannot"),
    "empty": dataclasses.replace(ANSWER, text=""),
    "truncated": dataclasses.replace(ANSWER, finish_reason="length", latency_s=500.0),
    "timed out": dataclasses.replace(
        ANSWER, text=None, prompt_tokens=None, completion_tokens=None, latency_s=None, failure="timed out"
    ),
}


@pytest.fixture
def counted(ledger):
    """A ledger with two audits: 12 and 3 requests, the first with one answer of each kind and two more."""
    first, second = ordered(ledger, size=240), ordered(ledger, size=60)
    for index, answer in enumerate([*OUTCOMES.values(), ANSWER, ANSWER]):
        ledger.record_all(first.id, [dataclasses.replace(answer, index=index)])
    ledger.record_all(second.id, [ANSWER])
    return ledger, first, second


def test_calls_are_counted_by_audit_and_outcome(counted):
    ledger, first, second = counted
    totals = {(total.audit_id, total.outcome): total for total in ledger.call_totals()}
    assert {key: total.calls for key, total in totals.items()} == {
        **{(first.id, outcome): 1 for outcome in OUTCOMES},
        (first.id, "answered"): 3,
        (second.id, "answered"): 1,
    }
    assert sum(total.prompt_tokens for total in totals.values()) == 7 * 10
    assert sum(total.completion_tokens for total in totals.values()) == 7 * 5
    assert totals[first.id, "timed out"].uncounted == 1
    assert totals[first.id, "timed out"].timed == 0
    assert totals[first.id, "answered"].latency_s == pytest.approx(0.9)


def test_a_histogram_holds_each_latency_in_every_bucket_that_is_large_enough(counted):
    ledger, first, _ = counted
    totals = {total.outcome: total for total in ledger.call_totals({first.id})}
    assert totals["answered"].within == tuple(3 if bound >= 0.3 else 0 for bound in LATENCIES_S)
    assert totals["truncated"].within == (0,) * len(LATENCIES_S)  # it took longer than the last


def test_only_the_wanted_audits_are_counted(counted):
    ledger, _, second = counted
    assert {total.audit_id for total in ledger.call_totals({second.id})} == {second.id}
    assert ledger.call_totals(set()) == []


def test_another_attempt_is_another_call(counted):
    ledger, _, second = counted
    ledger.record_all(second.id, [dataclasses.replace(ANSWER, attempt=2)])
    assert [total.calls for total in ledger.call_totals({second.id})] == [2]


def test_open_requests_are_those_without_an_answer(counted):
    ledger, first, second = counted
    family, protocol = first.release.family, first.protocol
    assert ledger.open_request_totals() == {(family, protocol): (12 - 7) + (3 - 1)}
    ledger.change(first.id, state="complete")
    assert ledger.open_request_totals() == {(family, protocol): 2}
    ledger.change(second.id, state="incomplete")
    assert ledger.open_request_totals() == {}


def test_an_empty_ledger_has_totals_of_nothing(ledger):
    assert ledger.call_totals() == []
    assert ledger.audit_heads() == []
    assert ledger.open_request_totals() == {}
    assert ledger.publication_totals() == {}
    assert ledger.notice_totals() == {}
    assert ledger.duty_run_totals() == {}
    assert ledger.live_incident_totals() == {}
    assert ledger.worker_totals() == (0, 0)
    assert ledger.size_bytes() > 10_000


def test_a_worker_that_gives_no_sign_of_life_is_not_counted_as_live(counted):
    from registry.ledger.ownership import Owner

    ledger, first, _ = counted
    worker = ledger.begin_work(first.id, Owner.this_process())
    assert ledger.worker_totals() == (1, 0)
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE workers SET heartbeat_at = '2020-01-01T00:00:00.000Z'")
    assert ledger.worker_totals() == (0, 1)
    ledger.end_work(worker, "done")
    assert ledger.worker_totals() == (0, 0)
