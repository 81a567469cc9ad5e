"""What a month and an audit took, and allowances: all workers together never pass a budget."""

import dataclasses
import datetime as dt
import threading

import pytest

from registry.audits.plan import Outcome, Response
from registry.ledger.spending import SILENT_S, Bound
from registry.ledger.store import Ledger
from tests.registry.ledger.orders import PROTOCOL, RELEASE, ordered

PRICED = dataclasses.replace(RELEASE, family="priced", price_input=1.0, price_output=3.0)
OCTOBER, NOVEMBER = "2026-10-31T23:59:59.999+00:00", "2026-11-01T00:00:00.000+00:00"


def answer(index: int, prompt: int | None, completion: int | None, *, at: str = NOVEMBER, **fields) -> Response:
    given = {"text": "words", "prompt_tokens": prompt, "completion_tokens": completion, "received_at": at}
    return Response(index=index, **given | fields)


def audit_of(ledger, release=PRICED, source="live"):
    plan = PROTOCOL.plan(size=200)
    return ledger.order(release, plan, PROTOCOL.requests(plan), source=source)


def test_what_was_spent_is_what_answers_took_since_a_moment_of_a_family_or_of_all(ledger):
    priced, other = audit_of(ledger), ordered(ledger)
    ledger.record_all(priced.id, [answer(0, 100, 900, at=OCTOBER), answer(1, 50, 150), answer(2, 50, 250)])
    ledger.record_all(other.id, [answer(0, 10, 20)])
    month = ledger.spent("2026-11-01")
    assert (month.prompt_tokens, month.completion_tokens, month.charged_tokens) == (110, 420, 530)
    assert (month.usd, month.unpriced) == (None, ("models:/nova/1",)), "an unknown price is unknown, not free"
    family = ledger.spent("2026-11-01", "priced")
    assert family.usd == pytest.approx((100 * 1.0 + 400 * 3.0) / 1e6)
    assert (family.largest_tokens, family.without_count, family.unpriced) == (300, 0, ())
    assert ledger.spent(audit_id=priced.id).charged_tokens == 1500
    assert ledger.spent("2026-12-01").charged_tokens == 0


def test_a_call_without_a_count_is_charged_as_the_largest_and_a_provider_error_is_not(ledger):
    audit = audit_of(ledger)
    answers = [
        answer(0, 100, 300),
        answer(1, None, None),
        answer(2, 0, 0),  # none for text
        answer(3, 70, 0),
        answer(4, None, None, text=None, failure=Outcome.TIMED_OUT),
        answer(5, None, None, text=None, failure=Outcome.PROVIDER_ERROR),
        answer(6, 70, 0, text=""),  # none for nothing
    ]
    ledger.record_all(audit.id, answers)
    spent = ledger.spent(audit_id=audit.id)
    assert (spent.prompt_tokens, spent.completion_tokens, spent.without_count) == (170, 300, 4)
    assert spent.charged_tokens == 470 + 4 * 400
    assert spent.usd == pytest.approx((170 * 1.0 + 300 * 3.0 + 1600 * 3.0) / 1e6), "at the dearer price"


def test_without_any_count_calls_are_charged_as_stated_and_every_attempt_counts(ledger):
    audit = audit_of(ledger)
    ledger.record_all(audit.id, [answer(0, None, None), answer(0, None, None, attempt=2)])
    assert ledger.spent(audit_id=audit.id).charged_tokens == 0
    assert ledger.spent(audit_id=audit.id, uncounted_tokens=500).charged_tokens == 1000


def test_imported_answers_cost_nothing(ledger):
    ledger.record_all(audit_of(ledger, source="imported").id, [answer(0, 100, 900)])
    assert ledger.spent().charged_tokens == 0


def test_a_price_that_is_found_later_may_be_stated(ledger):
    ledger.record_all(ordered(ledger).id, [answer(0, 100, 200)])
    assert ledger.spent(prices=lambda release: (1.0, 2.0)).usd == pytest.approx(0.0005)


def test_what_is_set_aside_leaves_less_for_others_and_nothing_is_left_when_it_is_spent(ledger):
    audit = audit_of(ledger)
    bound = Bound(scope="2026-11", since="2026-11-01", tokens=1000)
    assert ledger.set_aside("a", [bound], 600, 0.0)[0] == 600
    tokens, _, (room,) = ledger.set_aside("b", [bound], 600, 0.0)
    assert (tokens, room.aside_tokens) == (400, 600)
    ledger.record_all(audit.id, [answer(0, 100, 500)])
    assert ledger.set_aside("a", [bound], 300, 0.0)[0] == 0, "600 are spent, and the other has 400"
    ledger.release_allowance("b")
    assert ledger.set_aside("a", [bound], 900, 0.0)[0] == 400


def test_the_tightest_of_several_budgets_holds_and_no_other_has_more_set_aside(ledger):
    wide, narrow = Bound(scope="2026-11", tokens=1000), Bound(scope="2026-11 priced", family="priced", usd=0.5)
    tokens, usd, _ = ledger.set_aside("a", [wide, narrow], 2000, 2.0)
    assert (tokens, usd) == (1000, 0.5)
    assert ledger.set_aside("b", [wide], 10, 0.0)[0] == 0


def test_money_whose_price_is_not_known_leaves_nothing(ledger):
    ledger.record_all(ordered(ledger).id, [answer(0, 100, 500)])
    assert ledger.set_aside("a", [Bound(scope="2026-11", usd=5.0)], 100, 1.0)[1] == 0.0


def test_what_a_dead_worker_had_set_aside_is_free_again(tmp_path):
    now = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
    ledger = Ledger(
        f"sqlite:///{tmp_path / 'ledger.db'}",
        clock=lambda: now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )
    bound = Bound(scope="2026-11", tokens=1000)
    ledger.set_aside("dead", [bound], 1000, 0.0)
    assert ledger.set_aside("b", [bound], 100, 0.0)[0] == 0
    now += dt.timedelta(seconds=SILENT_S + 1)
    assert ledger.set_aside("b", [bound], 100, 0.0)[0] == 100
    ledger.close()


def test_of_many_that_set_aside_at_the_same_instant_all_together_have_the_budget_and_no_more(ledger):
    bounds = [Bound(scope="2026-11", tokens=1000), Bound(scope="2026-11 priced", family="priced", tokens=700)]
    got: list[int] = []

    def come(name: str) -> None:
        got.append(ledger.set_aside(name, bounds if name < "c" else bounds[::-1], 150, 0.0)[0])

    workers = [threading.Thread(target=come, args=(name,)) for name in "abcdefgh"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(got) == 700
