"""Values of answers: read once in batches, again when an answer was given again, and summed by the database."""

from __future__ import annotations

import statistics

import pytest

from registry.audits.plan import Outcome, Request, Response
from registry.ledger.readings import AnswerValue
from tests.registry.ledger.orders import PROTOCOL, RELEASE

READER = "reader 1"
PLAN = PROTOCOL.plan(size=20)


@pytest.fixture
def audit(ledger):
    """Five prompts, three samples each, all answered with a number."""
    work = [Request(index=index, repeat=repeat, messages=()) for index in range(5) for repeat in range(3)]
    made = ledger.order(RELEASE, PLAN, work)
    ledger.record_all(
        made.id,
        [
            Response(
                index=index,
                repeat=repeat,
                text=str(10 * index + repeat),
                served_model="m-1",
                prompt_tokens=7,
                completion_tokens=2,
            )
            for index in range(5)
            for repeat in range(3)
        ],
    )
    return made


def read_all(ledger, audit, *, batch=4, reader=READER):
    read = 0
    for answers in ledger.unread(audit.id, reader, batch=batch):
        read += len(answers)
        ledger.store_readings(
            audit.id,
            reader,
            [
                AnswerValue(
                    index=one.index, repeat=one.repeat, attempt=one.attempt, value=float(one.text), outcome="ok"
                )
                if one.text
                else AnswerValue(
                    index=one.index, repeat=one.repeat, attempt=one.attempt, value=None, outcome=str(one.failure)
                )
                for one in answers
            ],
        )
    return read


@pytest.mark.parametrize("batch", [1, 2, 4, 15, 100])
def test_every_answer_is_read_once_whatever_the_batch(ledger, audit, batch):
    assert read_all(ledger, audit, batch=batch) == 15
    assert read_all(ledger, audit, batch=batch) == 0
    assert read_all(ledger, audit, reader="reader 2") == 15


def test_the_sums_are_those_of_the_values(ledger, audit):
    read_all(ledger, audit)
    found = ledger.tally(audit.id, READER)
    assert list(found.index) == list(range(5))
    for index, n, total, squares in zip(found.index, found.n, found.total, found.squares, strict=True):
        values = [10.0 * index + repeat for repeat in range(3)]
        assert (n, total, squares) == (3, sum(values), sum(value * value for value in values))
        assert (squares - total * total / n) / (n - 1) == pytest.approx(statistics.variance(values))


def test_an_answer_that_was_given_again_is_read_again_in_place_of_the_first(ledger, audit):
    ledger.record(audit.id, Response(index=2, repeat=1, attempt=2, text=None, failure=Outcome.TIMED_OUT, detail="late"))
    read_all(ledger, audit)
    ledger.record(audit.id, Response(index=2, repeat=1, attempt=3, text="99"))
    assert read_all(ledger, audit) == 1
    found = ledger.tally(audit.id, READER)
    assert set(found.outcome) == {"ok"}
    assert found.total[2] == 20 + 99 + 22


def test_outcomes_without_a_value_are_counted_beside_the_sums(ledger, audit):
    ledger.record(audit.id, Response(index=0, repeat=0, attempt=2, failure=Outcome.TIMED_OUT, detail="late"))
    read_all(ledger, audit)
    found = ledger.tally(audit.id, READER)
    rows = dict(zip(zip(found.index, found.outcome, strict=True), zip(found.n, found.total, strict=True), strict=True))
    assert rows[0, "ok"] == (2, 3.0)
    assert rows[0, "timed out"] == (1, 0.0)


def test_what_calls_came_back_with_is_counted_by_the_latest_attempt(ledger, audit):
    facts = ledger.call_facts(audit.id)
    assert (facts.asked, facts.put, facts.answered, facts.served_models) == (15, 15, 15, {"m-1": 15})
    assert (facts.prompt_tokens, facts.completion_tokens) == (105, 30)
    ledger.record(audit.id, Response(index=0, repeat=0, attempt=2, failure=Outcome.TIMED_OUT, detail="late"))
    ledger.record(audit.id, Response(index=1, repeat=0, attempt=2, text="4", served_model="m-2"))
    again = ledger.call_facts(audit.id)
    assert (again.put, again.answered, again.served_models) == (15, 14, {"m-1": 13, "m-2": 1})
    assert again.prompt_tokens is None


def test_an_audit_without_answers_has_nothing_to_read_and_empty_sums(ledger):
    made = ledger.order(RELEASE, PLAN, [Request(index=0, messages=())])
    assert read_all(ledger, made) == 0
    assert list(ledger.tally(made.id, READER).index) == []
    facts = ledger.call_facts(made.id)
    assert (facts.asked, facts.put, facts.prompt_tokens) == (1, 0, None)
