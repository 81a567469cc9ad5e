"""The outbox on both databases: a row is made with what it is about, and waits until all of that is in MLflow."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from metrics.results import Comparison, Score
from registry.ledger.publications import IN_ORDER, _without_row
from registry.ledger.store import Ledger
from registry.ledger.tables import audits, comparisons
from tests.registry.ledger.orders import RELEASE, ordered

SCORE = Score(metric="cramers-v", dimension="gender x occupation", value=0.2, n=60, n_clusters=3)
ROW = Comparison(
    metric="normalized-cramers-v-debiased", dimension="gender x occupation", verdict="inconclusive", why="few"
)


def scored(ledger, version="v1"):
    audit = ordered(ledger)
    ledger.store_scores(audit.id, version, [SCORE])
    return ledger.audit(audit.id)


def compared(ledger, one, other, why="few"):
    return ledger.store_comparison(
        one, other, scoring_version="v1", policy={"alpha": 0.05}, verdict="inconclusive", why=why, results=[ROW]
    )


def shown(rows):
    return [(row.kind, row.subject) for row in rows]


def test_scores_and_comparisons_wait_from_the_moment_they_are_stored(ledger):
    first, second = scored(ledger), scored(ledger)
    comparison = compared(ledger, first, second)
    assert shown(ledger.waiting_publications()) == [
        ("audit", first.id),
        ("audit", second.id),
        ("comparison", comparison.id),
        ("timeline", 0),
        ("card", 0),
    ]
    assert ledger.waiting_publications("another") == []
    assert [row.kind for row in ledger.waiting_publications()] == sorted(
        (row.kind for row in ledger.waiting_publications()), key=IN_ORDER.index
    )


def test_what_fails_to_be_stored_does_not_wait(ledger):
    audit = ordered(ledger)
    with pytest.raises(Exception, match=r"(?i)null|none"):
        ledger.store_scores(audit.id, "v1", [dataclasses.replace(SCORE, metric=None)])
    assert ledger.waiting_publications() == []


def test_the_same_again_does_not_wait_again_and_something_else_does(ledger):
    first, second = scored(ledger), scored(ledger)
    comparison = compared(ledger, first, second)
    for row in ledger.waiting_publications():
        assert ledger.published(row, run_id=f"run {row.id}", scoring_version="v1")
    assert ledger.waiting_publications() == []
    assert ledger.audit(first.id).run_id == f"run {ledger.publications()[0].id}"
    ledger.store_scores(first.id, "v1", [SCORE])
    compared(ledger, first, second)
    assert ledger.waiting_publications() == []
    compared(ledger, first, second, why="still few")
    assert shown(ledger.waiting_publications()) == [("comparison", comparison.id), ("card", 0)]
    ledger.store_scores(first.id, "v2", [SCORE])
    assert ("audit", first.id) in shown(ledger.waiting_publications())
    assert ledger.audit(first.id).run_id is None


def test_what_changed_while_it_was_published_goes_on_waiting(ledger):
    audit = scored(ledger)
    row = ledger.waiting_publications()[0]
    ledger.store_scores(audit.id, "v2", [SCORE])
    assert not ledger.published(row, run_id="old", scoring_version="v1")
    assert shown(ledger.waiting_publications())[0] == ("audit", audit.id)
    assert ledger.audit(audit.id).run_id is None


def test_a_failure_is_counted_and_waits_its_time(ledger):
    scored(ledger)
    row = ledger.waiting_publications()[0]
    ledger.publication_failed(row, "refused")
    after = ledger.waiting_publications()[0]
    assert (after.attempts, after.detail, after.state) == (1, "refused", "waiting")
    assert after.next_at > row.next_at
    assert row.id not in {one.id for one in ledger.waiting_publications(due=True)}


def test_another_store_gets_everything_again(ledger):
    audit = scored(ledger)
    assert not ledger.publish_to("store 1")
    for row in ledger.waiting_publications():
        ledger.published(row, run_id="run", scoring_version="v1")
    assert not ledger.publish_to("store 1")
    assert ledger.waiting_publications() == []
    assert ledger.newest_run() == "run"
    assert ledger.publish_to("store 2")
    assert len(ledger.waiting_publications()) == 3
    assert ledger.audit(audit.id).run_id is None


def test_a_blessing_with_a_name_that_mlflow_takes_waits_as_an_alias(ledger):
    ledger.bless(RELEASE, who="me", why="reviewed")
    ledger.bless(RELEASE, who="me", why="reviewed", name="eu.2026")
    assert [(row.kind, row.protocol) for row in ledger.waiting_publications()] == [("alias", "baseline")]


def test_processes_that_put_the_same_into_an_empty_outbox_at_once_make_one_row(ledger, ledger_url):
    audits = [ordered(ledger) for _ in range(4)]
    troubles: list[Exception] = []

    def store(audit_id):
        own = Ledger(ledger_url)
        try:
            own.store_scores(audit_id, "v1", [SCORE])
        except Exception as error:
            troubles.append(error)
        finally:
            own.close()

    threads = [threading.Thread(target=store, args=(audit.id,)) for audit in audits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert troubles == []
    assert [row.kind for row in ledger.waiting_publications()] == ["audit"] * 4 + ["timeline", "card"]


@pytest.mark.parametrize(("kind", "place"), [("audit", audits), ("comparison", comparisons)])
def test_what_has_no_row_is_looked_up_by_the_whole_key_of_the_outbox(tmp_path, kind, place):
    """Else SQLite, which keeps no statistics, goes through all rows of a kind for each audit."""
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    query = _without_row(kind, place).compile(ledger.engine, compile_kwargs={"literal_binds": True})
    with ledger.engine.connect() as connection:
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}")]
    ledger.close()
    assert any(step.endswith("(kind=? AND family=? AND protocol=? AND subject=?)") for step in plan), plan
