"""A provider that fails in every way: an audit ends complete, or open or incomplete with the reason, and a restart completes it."""

from __future__ import annotations

import json
import time
import urllib.request
from contextlib import closing

import pytest

from registry.ledger.store import Ledger
from tests.faults.conftest import counts, until
from tests.stub_server import StubServer, stub_process

ORDER = ["--protocol", "persona-brainstorm", "--per-call", 1, "--concurrency", 6]
CONCLUDED = (0, 3)  # few personas: nothing to compare with, or inconclusive
OPEN = 3


def asked(spiritlevel, base_url):
    return spiritlevel.json("release", "add", "nova", "--model", "stub-1", "--base-url", base_url)["release"]


def behave(base_url, **script):
    """Change what the provider does while it runs."""
    request = urllib.request.Request(base_url.replace("/v1", "/script"), json.dumps(script).encode())
    urllib.request.urlopen(request, timeout=30).close()


def only_audit(spiritlevel):
    with closing(Ledger(f"sqlite:///{spiritlevel.home / 'ledger.db'}")) as ledger:
        (audit,) = ledger.audits()
        answers = ledger.responses(audit.id)
        keys = {(answer.index, answer.repeat) for answer in answers}
        assert ledger.answers_stored(audit.id) == len(answers) == len(keys), "no request was answered twice"
        return audit, answers


def complete(spiritlevel, size):
    audit, answers = only_audit(spiritlevel)
    assert audit.state == "complete"
    assert len(answers) == size
    assert all(answer.failure is None for answer in answers)


def test_a_provider_that_is_restarted_within_the_tries_costs_an_audit_nothing(spiritlevel, spawn):
    with StubServer(latency_s=0.05) as first:
        release = asked(spiritlevel, first.base_url)
        audit = spawn("audit", release, *ORDER, "--personas", 150, home=spiritlevel.home)
        until(lambda: first.calls >= 40)
    time.sleep(1.5)
    with StubServer(port=first.port, latency_s=0.02) as again:
        spawn.ended(audit, *CONCLUDED)
        assert again.calls < 150
    complete(spiritlevel, 150)


def test_a_provider_that_stays_away_leaves_the_rest_open_with_the_reason_and_the_next_run_completes_it(
    spiritlevel, spawn
):
    with StubServer(latency_s=0.05) as first:
        release = asked(spiritlevel, first.base_url)
        command = ["audit", release, *ORDER, "--personas", 120]
        audit = spawn(*command, "--attempts", 2, "--json", home=spiritlevel.home)
        until(lambda: first.calls >= 30)
    stopped = json.loads(spawn.ended(audit, OPEN))
    assert (stopped["state"], stopped["stopped_by"]) == ("open", "unreachable")
    said = spawn.said(audit)[1]
    assert "the connection failed" in said
    assert "Continue with 'spiritlevel audit" in said
    audit, answers = only_audit(spiritlevel)
    assert audit.state == "open"
    assert 0 < len(answers) < 120
    assert all(answer.failure is None for answer in answers), "nobody was there to fail"
    with StubServer(port=first.port) as again:
        spiritlevel(*command, code=None)
        assert again.calls == 120 - len(answers)
    complete(spiritlevel, 120)


@pytest.mark.slow
def test_a_storm_of_refusals_is_waited_out_though_no_header_says_how_long(spiritlevel, spawn, tmp_path):
    with stub_process(tmp_path, latency_s=0.05) as base_url:
        release = asked(spiritlevel, base_url)
        audit = spawn("audit", release, *ORDER, "--personas", 120, "--attempts", 2, home=spiritlevel.home)
        until(lambda: counts(base_url)["calls"] >= 30)
        behave(base_url, default="429")
        before = counts(base_url)["calls"]
        time.sleep(4)
        stormed = counts(base_url)["calls"] - before
        behave(base_url, default="ok")
        spawn.ended(audit, *CONCLUDED)
    assert stormed < 60, "it is not hammered meanwhile"
    complete(spiritlevel, 120)


def test_a_wait_of_hours_leaves_the_rest_open_at_once_and_a_spent_account_too(spiritlevel, tmp_path):
    with stub_process(tmp_path, calls=["ok"] * 10, default={"kind": "429", "retry_after": "7200"}) as base_url:
        release = asked(spiritlevel, base_url)
        command = ["audit", release, *ORDER, "--personas", 60]
        began = time.monotonic()
        stopped = spiritlevel.json(*command, code=OPEN)
        assert time.monotonic() - began < 30
        assert (stopped["state"], stopped["stopped_by"]) == ("open", "rate limit")
        assert "it asked to wait 7200 s" in spiritlevel.stderr
        behave(base_url, calls=[], default="quota")
        spiritlevel(*command, code=2)
        assert "no quota left" in spiritlevel.stderr
        behave(base_url, default="ok")
        spiritlevel(*command, code=None)
    complete(spiritlevel, 60)


def test_what_is_waited_for_is_said(spiritlevel, tmp_path):
    with stub_process(tmp_path, calls=["ok"] * 5 + [{"kind": "429", "retry_after": "3"}]) as base_url:
        release = asked(spiritlevel, base_url)
        spiritlevel("audit", release, *ORDER, "--personas", 40, code=None)
    assert "the provider asked to wait 3 s; going on in" in spiritlevel.stderr
    complete(spiritlevel, 40)


BROKEN = {
    "3": ("500", "500: stub failure 500; given up after 2 tries"),
    "7": ("cut-body", "the connection failed"),
    "11": ("bad-json", "the answer's body was not the JSON of a chat completion"),
    "15": ("plain-text", "the answer's body held no choice with a message"),
    "19": ("slow-loris", "no answer within 1 s"),
    "23": ("drop", "the connection failed"),
}


def test_answers_that_stay_broken_are_incomplete_with_the_reason_and_are_asked_again(spiritlevel, tmp_path):
    with stub_process(tmp_path, by_seed={seed: behaviour for seed, (behaviour, _) in BROKEN.items()}) as base_url:
        release = asked(spiritlevel, base_url)
        limits = ["--attempts", 2, "--timeout-s", 1]
        result = spiritlevel.json("audit", release, *ORDER, "--personas", 40, *limits, code=OPEN)
        assert result["state"] == "incomplete"
        _, answers = only_audit(spiritlevel)
        failed = {str(answer.index): answer.detail for answer in answers if answer.failure is not None}
        assert failed.keys() == BROKEN.keys()
        assert all(failed[seed].startswith(reason) for seed, (_, reason) in BROKEN.items()), failed
        behave(base_url, by_seed={})
        spiritlevel("retry", release, "--failed", code=None)
        assert counts(base_url)["calls"] == 34 + 6 * 2 + 6
    with closing(Ledger(f"sqlite:///{spiritlevel.home / 'ledger.db'}")) as ledger:
        (audit,) = ledger.audits()
        assert audit.state == "complete"
        assert all(answer.failure is None for answer in ledger.responses(audit.id))
