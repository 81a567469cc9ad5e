"""A further answer to a request drops what followed from the answers before, on both databases."""

from __future__ import annotations

import pytest

from metrics.results import Comparison, Score
from registry.audits.plan import AuditPlan, Outcome, Request, Response
from registry.ledger.values import OpenWork
from registry.ledger.watching import WatchKey, WatchPoint
from registry.releases import ModelRelease
from tests.registry.ledger.orders import ordered

SCORE = Score(metric="cramers-v", dimension="gender x occupation", value=0.2, n=60, n_clusters=3)
ROW = Comparison(metric="m", dimension="gender x occupation", verdict="regressed", why="more")
POINT = {"dimension": "gender x occupation", "estimate": 0.1, "variance": 0.01, "n": 60, "n_clusters": 3, "reason": ""}


def answered(ledger):
    """An audit whose last request failed, with scores."""
    audit = ordered(ledger)
    ledger.record_all(audit.id, [Response(index=0, text="a"), Response(index=1, text="b")])
    ledger.record(audit.id, Response(index=2, failure=Outcome.TIMED_OUT, detail="no answer in 60 s"))
    ledger.change(audit.id, state="incomplete")
    assert ledger.store_scores(audit.id, "v1", [SCORE], attempts=ledger.attempts(audit.id))
    return ledger.change(audit.id, run_id="run")


def compared(ledger, one, other, **options):
    values = {"scoring_version": "v1", "policy": {"alpha": 0.05}, "verdict": "regressed", "why": "more"}
    return ledger.store_comparison(one, other, **values, results=[ROW], **options)


def watched(ledger, audit, *points):
    key = WatchKey(family="nova", version=1, protocol="p", collection_key="k", scoring_version="v1", size=audit.id)
    watch = ledger.begin_watch(key, baseline=[1], vocabulary={})
    for one in points:
        ledger.store_points(watch.id, one.id, [WatchPoint(audit=one.id, **POINT)])
    ledger.ask_confirmation(watch.id, points[0].id, "an alarm")
    ledger.settle_confirmation(watch.id, points[0].id, audit=audit.id, verdict="regressed", why="seen", results=[ROW])
    return watch


def again(ledger, audit, text="c"):
    assert ledger.record(audit.id, Response(index=2, attempt=2, text=text))


def test_a_second_attempt_drops_what_followed_from_the_answers_and_keeps_the_ids(ledger):
    first, second, third = (answered(ledger) for _ in range(3))
    before, after, other = (
        compared(ledger, first, second),
        compared(ledger, second, third),
        compared(ledger, first, third),
    )
    for kind in ("split", "reference"):
        ledger.store_check(second.id, kind, scoring_version="v1", policy={}, state="moved", why="half")
    watch = watched(ledger, second, second, third)
    again(ledger, second)

    now = ledger.audit(second.id)
    assert (now.scoring_version, now.run_id, now.concluded) == ("", None, True)
    assert (ledger.audit(first.id), ledger.audit(third.id)) == (first, third)
    assert ledger.unscored("nova", first.protocol, "v1") == [second.id] == ledger.unscored("nova", first.protocol, None)
    assert ledger.comparisons() == [other]
    assert (ledger.comparison(before.id), [one.id for one in ledger.judgements()]) == (None, [other.id])
    assert [one.id for one in ledger.unjudged(second.id)] == [before.id, after.id]
    assert ([one.id for one in ledger.unjudged(third.id)], ledger.unjudged(first.id)) == (
        [after.id],
        ledger.unjudged(second.id)[:1],
    )
    assert [check.kind for check in ledger.checks(second.id)] == ["reference"]
    assert list(ledger.points(watch.id)) == [third.id]
    (confirmation,) = ledger.confirmations(watch.id)
    assert (confirmation.audit, confirmation.verdict, confirmation.made_at, confirmation.rows) == (None, None, None, ())

    assert ledger.store_scores(second.id, "v1", [SCORE], attempts=ledger.attempts(second.id))
    assert compared(ledger, first, second).id == before.id
    assert [one.id for one in ledger.comparisons()] == [before.id, other.id]


def test_what_was_made_from_older_answers_is_not_stored(ledger):
    first, second = answered(ledger), answered(ledger)
    attempts = {audit.id: ledger.attempts(audit.id) for audit in (first, second)}
    again(ledger, first)
    assert not ledger.store_scores(first.id, "v1", [SCORE], attempts=attempts[first.id])
    assert ledger.audit(first.id).scoring_version == ""
    assert compared(ledger, first, second, attempts=attempts) is None
    assert (ledger.comparisons(), ledger.unjudged(first.id)) == ([], [])
    assert compared(ledger, first, second, attempts=attempts | {first.id: ledger.attempts(first.id)}).verdict


def test_an_audit_that_was_never_scored_stays_so(ledger):
    audit = ordered(ledger)
    ledger.record(audit.id, Response(index=2, failure=Outcome.TIMED_OUT, detail="late"))
    again(ledger, audit)
    assert ledger.audit(audit.id).scoring_version is None


def test_an_answer_that_comes_late_for_a_failed_request_drops_it_too(ledger):
    audit = answered(ledger)
    assert ledger.repeated(audit.id) == 0
    assert not ledger.record(audit.id, Response(index=1, text="another"))
    assert ledger.audit(audit.id).scoring_version == "v1", "that answer is not taken"
    assert ledger.record(audit.id, Response(index=2, text="late and paid for"))
    assert (ledger.audit(audit.id).scoring_version, ledger.repeated(audit.id)) == ("", 1)


def test_an_audit_that_is_scored_anew_waits_to_be_published_again(ledger):
    audit = answered(ledger)
    (row, *_) = ledger.waiting_publications()
    assert ledger.published(row, run_id="run", scoring_version="v1")
    again(ledger, audit)
    ledger.store_scores(audit.id, "v1", [SCORE], attempts=ledger.attempts(audit.id))
    assert [row.kind for row in ledger.waiting_publications()] == ["audit", "timeline", "card"]


def test_what_became_of_requests_and_what_is_open_is_counted_without_their_answers(ledger):
    audit = answered(ledger)
    counts = ledger.answer_counts(audit.id)
    assert (counts.put, counts.given, counts.failed) == (3, 2, 1)
    assert ledger.last_failure(audit.id) == "no answer in 60 s"
    assert ledger.open_work(audit.id) == OpenWork()
    assert ledger.open_work(audit.id, failed=True) == OpenWork(size=1, first=2, last=2, again=True)
    assert ledger.open_work(audit.id, failed=True, between=(0, 1)) == OpenWork()
    assert (ledger.open_indexes(audit.id), ledger.open_indexes(audit.id, failed=True)) == ([], [2])
    again(ledger, audit)
    assert ledger.answer_counts(audit.id).failed == 0
    assert not ledger.open_work(audit.id, failed=True)


def test_an_audit_without_a_single_answer_is_open_as_a_whole(ledger):
    plan = AuditPlan(protocol="p", protocol_version="1", prompts={"a": "b"}, options={}, size=3)
    audit = ledger.order(
        ModelRelease(family="f", version=1, model="m"), plan, [Request(index=n, messages=()) for n in range(3)]
    )
    assert ledger.open_work(audit.id) == OpenWork(size=3, first=0, last=2)
    ledger.record(audit.id, Response(index=1, failure=Outcome.TIMED_OUT, detail="slow"))
    assert ledger.open_work(audit.id) == OpenWork(size=3, first=0, last=2, again=True)
    ledger.record(audit.id, Response(index=0, text="hello"))
    assert ledger.open_work(audit.id) == OpenWork(size=1, first=2, last=2)


@pytest.mark.parametrize("times", [1, 5])
def test_however_many_requests_are_asked_again_the_last_answers_count(ledger, times):
    audit = answered(ledger)
    for attempt in range(2, 2 + times):
        failure = Outcome.TIMED_OUT if attempt <= times else None
        ledger.record(audit.id, Response(index=2, attempt=attempt, failure=failure, text="c"))
    assert (ledger.audit(audit.id).scoring_version, ledger.repeated(audit.id)) == ("", times)
