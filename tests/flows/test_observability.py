"""The figures of ``/metrics``: read back by Prometheus' own parser, right, bounded and quick."""

from __future__ import annotations

import dataclasses
import datetime as dt
import time

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from flows.observability import MOST_LINES, OTHER, openmetrics
from flows.settings import Home
from flows.workspace import opened
from registry.audits.plan import Response
from registry.ledger.tables import audits, responses
from tests.registry.ledger.orders import PROTOCOL, RELEASE, ordered

ANSWER = Response(
    index=0, repeat=0, text="a person", finish_reason="stop", prompt_tokens=1000, completion_tokens=500, latency_s=0.3
)
NOW = dt.datetime(2026, 11, 8, tzinfo=dt.UTC)


@pytest.fixture
def workspace(home):
    with opened(Home(home)) as workspace:
        yield workspace


ORDER = ("family", "protocol", "provider", "kind", "severity", "state", "outcome", "part", "version", "le")


def samples(text):
    """Every sample by its name and the values of its labels, in the order above."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, *(sample.labels[name] for name in ORDER if name in sample.labels))
            assert len(key) == 1 + len(sample.labels)
            assert key not in found
            found[key] = sample.value
    return found


def audited(workspace, *, base_url="http://127.0.0.1:8000/v1", price=None, finished=None, answer=ANSWER, **release):
    release = dataclasses.replace(RELEASE, base_url=base_url, price_input=price, price_output=price, **release)
    plan = PROTOCOL.plan(size=60)
    audit = workspace.ledger.order(release, plan, PROTOCOL.requests(plan))
    workspace.ledger.record_all(audit.id, [dataclasses.replace(answer, index=index) for index in range(2)])
    if finished:
        workspace.ledger.change(audit.id, state="complete", finished_at=finished)
    return audit


def test_calls_tokens_cost_and_latency_are_those_of_the_ledger(workspace):
    audited(workspace, price=2.0, finished="2026-11-01T00:00:00.000Z")
    audited(workspace, base_url=None, family="other")
    found = samples(openmetrics(workspace, NOW))
    here, there = ("nova", "persona-brainstorm", "127.0.0.1:8000"), ("other", "persona-brainstorm", "api.openai.com")
    assert found["spiritlevel_calls_total", *here, "answered"] == 2
    assert found["spiritlevel_tokens_total", *here, "prompt"] == 2000
    assert found["spiritlevel_tokens_total", *here, "completion"] == 1000
    assert found["spiritlevel_cost_usd_total", *here] == pytest.approx(3000 * 2.0 / 1e6)
    assert found["spiritlevel_unpriced_calls_total", *here] == 0
    assert ("spiritlevel_cost_usd_total", *there) not in found  # not 0: nobody knows the price
    assert found["spiritlevel_unpriced_calls_total", *there] == 2
    assert found["spiritlevel_uncounted_calls_total", *there] == 0
    assert found["spiritlevel_call_seconds_count", *here] == 2
    assert found["spiritlevel_call_seconds_bucket", *here, "0.25"] == 0
    assert found["spiritlevel_call_seconds_bucket", *here, "0.5"] == 2
    assert found["spiritlevel_last_audit_age_seconds", *here[:2]] == 7 * 86400
    assert ("spiritlevel_last_audit_age_seconds", *there[:2]) not in found  # none is finished: no age, and not 0
    assert found["spiritlevel_open_requests", *there[:2]] == 1
    assert found["spiritlevel_audits", *here[:2], "complete"] == 1


def test_what_no_answer_counted_has_no_sample_and_only_the_embedded_model_costs_nothing(workspace):
    uncounted = dataclasses.replace(ANSWER, prompt_tokens=None, completion_tokens=None)
    audited(workspace, price=2.0, answer=uncounted)
    audited(workspace, base_url="embedded:smollm2", family="small", answer=uncounted)
    audited(workspace, family="half", price=2.0, answer=uncounted)
    audited(workspace, family="half", price=2.0)
    found = samples(openmetrics(workspace, NOW))
    asked, embedded, half = (
        (family, "persona-brainstorm", provider)
        for family, provider in (("nova", "127.0.0.1:8000"), ("small", "embedded"), ("half", "127.0.0.1:8000"))
    )
    of = [key[0] for key in found if key[1:4] == asked and ("tokens" in key[0] or "cost" in key[0])]
    assert of == []
    assert found["spiritlevel_uncounted_calls_total", *asked] == found["spiritlevel_unpriced_calls_total", *asked] == 2
    assert found["spiritlevel_cost_usd_total", *embedded] == found["spiritlevel_unpriced_calls_total", *embedded] == 0
    assert found["spiritlevel_uncounted_calls_total", *embedded] == 2
    assert ("spiritlevel_tokens_total", *embedded, "prompt") not in found
    assert found["spiritlevel_tokens_total", *half, "prompt"] == 2000
    assert found["spiritlevel_cost_usd_total", *half] == pytest.approx(3000 * 2.0 / 1e6)
    assert found["spiritlevel_uncounted_calls_total", *half] == found["spiritlevel_unpriced_calls_total", *half] == 2


def test_an_audit_that_changes_its_state_leaves_the_one_it_was_in(workspace):
    audit = audited(workspace)
    assert samples(openmetrics(workspace))["spiritlevel_audits", "nova", "persona-brainstorm", "open"] == 1
    workspace.ledger.change(audit.id, state="complete", finished_at="2026-11-01T00:00:00.000Z")
    found = {key[-1]: value for key, value in samples(openmetrics(workspace)).items() if key[0] == "spiritlevel_audits"}
    assert found == {"complete": 1}


def test_no_part_of_the_figures_fails(workspace):
    found = samples(openmetrics(workspace))
    assert {key[1]: value for key, value in found.items() if key[0] == "spiritlevel_figures_failed"} == {
        "called": 0, "queues": 0, "incidents": 0, "duties": 0, "providers": 0
    }  # fmt: skip


def test_failed_requests_that_are_asked_again_are_counted_although_the_audit_was_settled(workspace):
    audit = audited(workspace, finished="2026-11-01T00:00:00.000Z")
    line = ("spiritlevel_calls_total", "nova", "persona-brainstorm", "127.0.0.1:8000", "answered")
    assert samples(openmetrics(workspace))[line] == 2
    workspace.ledger.change(audit.id, state="open")
    workspace.ledger.record_all(audit.id, [dataclasses.replace(ANSWER, index=2)])
    assert samples(openmetrics(workspace))[line] == 3
    workspace.ledger.change(audit.id, state="complete", finished_at="2026-11-02T00:00:00.000Z")
    assert samples(openmetrics(workspace))[line] == 3


def test_what_was_imported_was_not_called(workspace):
    plan = PROTOCOL.plan(size=60)
    audit = workspace.ledger.order(RELEASE, plan, PROTOCOL.requests(plan), source="imported", content="x")
    workspace.ledger.record_all(audit.id, [ANSWER])
    workspace.ledger.change(audit.id, state="complete", finished_at="2026-11-01T00:00:00.000Z")
    told = {key[0] for key in samples(openmetrics(workspace))}
    assert not {"spiritlevel_calls_total", "spiritlevel_last_audit_age_seconds"} & told  # nor is it news of the release
    assert "spiritlevel_audits" in told


def test_a_hostile_name_stays_a_label_and_nothing_an_answer_says_is_in_the_figures(workspace):
    audit = audited(workspace, family='no"va\\ (1)')
    workspace.ledger.record_all(audit.id, [dataclasses.replace(ANSWER, index=2, text="MARKER", served_model="MARKER")])
    text = openmetrics(workspace)
    assert "MARKER" not in text
    assert ("spiritlevel_calls_total", 'no"va\\ (1)', "persona-brainstorm", "127.0.0.1:8000", "answered") in samples(
        text
    )


def test_the_number_of_lines_is_bounded_and_the_figures_are_quick_on_a_large_ledger(workspace):
    """As of 200 releases with 3 protocols each week for a year; the same bound for every later look."""
    pattern = ordered(workspace.ledger)
    with workspace.ledger.engine.begin() as connection:
        row = dict(connection.execute(audits.select()).mappings().one())
        row |= {"state": "complete", "finished_at": "2026-11-01T00:00:00.000Z"}
        many = [row | {"id": 2 + n, "family": f"family {n % 900}", "occasion": n} for n in range(31_200)]
        connection.execute(audits.insert(), many)
        answer = {"index": 0, "repeat": 0, "attempt": 1, "text": "x" * 200, "detail": "", "extra": {}, "latency_s": 1.0}
        answers = [answer | {"audit_id": audit["id"], "index": index} for audit in many for index in range(3)]
        connection.execute(responses.insert(), answers)
    took = []
    for _ in range(2):
        began = time.process_time()
        text = openmetrics(workspace)
        took.append(time.process_time() - began)
    found = samples(text)
    calls = {key: value for key, value in found.items() if key[0] == "spiritlevel_calls_total"}
    assert len(calls) == MOST_LINES + 1
    assert calls["spiritlevel_calls_total", OTHER, OTHER, OTHER, "answered"] > 0
    assert sum(calls.values()) == 3 * 31_200
    assert pattern.id == 1
    assert took[0] < 10
    assert took[1] < 2.0, took
