from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.results import Comparison, Score
from registry.audits.plan import Outcome, Request, Response
from registry.ledger.store import Ledger
from registry.ledger.values import NameList
from tests.registry.ledger.orders import PROTOCOL, RELEASE, ordered


def test_a_plan_comes_back_as_it_was_ordered_and_its_work_list_is_sealed(ledger):
    audit = ordered(ledger)
    assert audit.plan.collection_key == PROTOCOL.plan(size=10_000, seed=9).collection_key  # size and seed are not in it
    assert [request.index for request in ledger.requests(audit.id)] == [0, 1, 2]
    assert ledger.requests(audit.id) == list(PROTOCOL.requests(audit.plan))


def test_each_order_is_the_next_occasion(ledger):
    assert [ordered(ledger).occasion for _ in range(3)] == [1, 2, 3]


def test_the_latest_attempt_counts_and_earlier_ones_stay(ledger):
    audit = ordered(ledger)
    ledger.record(audit.id, Response(index=0, failure=Outcome.TIMED_OUT, detail="no answer in 60 s"))
    ledger.record(audit.id, Response(index=0, attempt=2, text="[]"))
    assert [(answer.attempt, answer.text) for answer in ledger.responses(audit.id)] == [(2, "[]")]
    assert ledger.progress(audit.id) == (1, 3)


@given(text=st.text(alphabet=st.characters()), surrogate=st.sampled_from(["", "\ud800", "\x00", "\udfff\x00"]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_answer_is_kept_losslessly(ledger, text, surrogate):
    audit = ordered(ledger)
    answer = Response(index=0, text=text + surrogate, extra={"odd": [surrogate, 1.5, None]}, detail=surrogate)
    ledger.record(audit.id, answer)
    assert ledger.responses(audit.id) == [answer]


def test_scores_and_comparisons_come_back_equal(ledger):
    audit, other = ordered(ledger), ordered(ledger)
    scores = [
        Score(metric="cramers-v", dimension="gender x occupation", value=0.1234567890123, n=100, n_clusters=5, low=0.1),
        Score(metric="cramers-v", dimension="name x interest", value=None, n=0, n_clusters=0, reason="no names"),
    ]
    ledger.store_scores(audit.id, "v1", scores)
    ledger.store_scores(audit.id, "v1", scores)
    assert ledger.scores(audit.id) == scores
    row = Comparison(
        metric="m", dimension="gender x occupation", verdict="unchanged", why="inside", delta=0.01, merged=("other",)
    )
    values = {"scoring_version": "v1", "policy": {"alpha": 0.05}, "verdict": "unchanged", "why": "w", "results": [row]}
    first = ledger.store_comparison(audit, other, **values)
    again = ledger.store_comparison(audit, other, **values)
    assert first == again
    assert first.rows == (row,)
    stricter = ledger.store_comparison(audit, other, **values | {"policy": {"alpha": 0.01}})
    assert stricter.id != first.id
    assert len(ledger.comparisons(family="nova")) == 2


def test_a_frozen_name_list_is_written_once_per_version(ledger):
    names = NameList(family="nova", protocol="p", version=1, names=("ada", "bo"), audits=(1, 2), reason="first")
    ledger.freeze_names(names)
    ledger.freeze_names(dataclasses.replace(names, version=2, names=("cy",)))
    assert ledger.name_list("nova", "p").names == ("cy",)
    with pytest.raises(Exception, match=r"(?i)unique"):
        ledger.freeze_names(names)


def test_a_killed_writer_loses_nothing_it_stored(ledger_url):
    url = ledger_url
    script = """
import os, signal, sys
from registry.audits.plan import Response
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.ledger.store import Ledger
from registry.releases import ModelRelease
from tests.registry.ledger.orders import PROTOCOL, RELEASE, ordered
ledger = Ledger(sys.argv[1])
plan = PersonaBrainstorm().plan(size=400)
audit = ledger.order(ModelRelease(family="nova", version=1, model="m"), plan, PersonaBrainstorm().requests(plan))
for index in range(7):
    ledger.record(audit.id, Response(index=index, text=f"answer {index}"))
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    process = subprocess.run([sys.executable, "-c", script, url], env=environment, check=False)
    assert process.returncode == -9
    ledger = Ledger(url)
    assert [answer.text for answer in ledger.responses(1)] == [f"answer {index}" for index in range(7)]
    ledger.close()


def test_requests_without_messages_belong_to_imported_answers(ledger):
    plan = PROTOCOL.imported_plan(size=2)
    audit = ledger.order(
        RELEASE, plan, [Request(index=0, messages=()), Request(index=1, messages=())], source="imported"
    )
    assert [request.messages for request in ledger.requests(audit.id)] == [(), ()]


def test_a_score_of_a_group_with_a_long_name_and_a_number_that_is_none_are_stored(ledger):
    audit = ordered(ledger)
    group = " - ".join(f"a category with a long name, number {number}" for number in range(12))
    ledger.store_scores(audit.id, "v1", [Score(metric="gap", dimension="d", group=group, value=0.1, n=1, n_clusters=1)])
    (stored,) = ledger.scores(audit.id)
    assert len(stored.group) == 250
    assert stored.group.startswith("a category with a long name, number 0 - ")
    ledger.record(audit.id, Response(index=0, text="x", extra={"usage": {"cost": float("nan"), "n": [float("inf")]}}))
    assert ledger.responses(audit.id)[0].extra == {"usage": {"cost": "nan", "n": ["inf"]}}


@pytest.mark.parametrize(
    "time",
    ["yesterday", "-----", "2026-10-01T25:00:00Z", r"2026-10-01\u000012:00:00", f"2026-10-01T12:00:00.{'0' * 20}"],
)
def test_an_imported_time_that_is_none_is_refused(tmp_path, time):
    from metrics.errors import BadInputError
    from registry.ledger.bundles import answers_from

    path = tmp_path / "answers.jsonl"
    good = '{"text": "x", "received_at": "2026-10-01T12:00:00.000Z"}\n'
    path.write_text(good)
    assert answers_from(path)[0].received_at == "2026-10-01T12:00:00.000Z"
    path.write_text(f'{good}{{"text": "x", "received_at": "{time}"}}\n')
    with pytest.raises(BadInputError, match=r'line 2 of answers.jsonl: "received_at" should be a time'):
        answers_from(path)
