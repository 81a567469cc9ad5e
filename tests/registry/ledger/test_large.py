"""Audits of many requests: the work list is stored as it comes, and equal words are held once."""

from __future__ import annotations

import tracemalloc

from registry.audits.plan import AuditPlan, Request
from registry.ledger.store import SEALED_AT_ONCE
from registry.releases import ModelRelease

RELEASE = ModelRelease(family="f", version=1, model="m")
PLAN = AuditPlan(protocol="p", protocol_version="1", prompts={"a": "b"}, options={}, size=1)


def many(count, length, samples=2):
    """Requests with a cell and a message of some length each."""
    for index in range(count // samples):
        messages = ({"role": "user", "content": f"{index} ".ljust(length, "x")},)
        for repeat in range(samples):
            yield Request(
                index=index, repeat=repeat, messages=messages, cell={"task": "salary", "question": f"q{index}"}
            )


def test_the_work_list_of_a_large_audit_is_never_in_memory_as_a_whole(ledger):
    count, length = 5 * SEALED_AT_ONCE, 3000
    tracemalloc.start()
    audit = ledger.order(RELEASE, PLAN, many(count, length))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ledger.progress(audit.id) == (0, count)
    assert peak < 0.8 * count / 2 * length


def test_a_long_work_list_is_stored_in_order_with_every_message_once(ledger):
    count = SEALED_AT_ONCE + 3
    audit = ledger.order(RELEASE, PLAN, many(count, 10, samples=1))
    again = ledger.order(RELEASE, PLAN, many(count, 10, samples=1))
    asked = ledger.requests(again.id)
    assert asked == list(many(count, 10, samples=1)) == ledger.requests(audit.id)


def test_equal_words_of_cells_are_one_object(ledger):
    audit = ledger.order(RELEASE, PLAN, many(4, 10))
    cells, samples = ledger.cells(audit.id)
    assert (cells, samples) == ({n: {"task": "salary", "question": f"q{n}"} for n in range(2)}, 2)
    assert cells[0]["task"] is cells[1]["task"]
