"""Workers that are killed or share an audit, and a PostgreSQL that restarts: nothing is lost, nothing is paid twice."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing

import pytest

from registry.ledger.connection import LedgerConnection
from registry.ledger.store import Ledger
from tests.conftest import UNPUBLISHED
from tests.faults.conftest import counts, until
from tests.stub_server import StubServer, stub_process

CONCURRENCY = 8
ORDER = ["--protocol", "persona-brainstorm", "--per-call", 1, "--concurrency", CONCURRENCY]
CONCLUDED = (0, 3)  # few personas: nothing to compare with, or inconclusive


def asked(spiritlevel, base_url):
    return spiritlevel.json("release", "add", "nova", "--model", "stub-1", "--base-url", base_url)["release"]


def answers(url):
    """Of the only audit: how many attempts of each request are stored, and how many answers count."""
    with closing(Ledger(url)) as ledger:
        (audit,) = ledger.audits()
        stored = ledger.responses(audit.id)
        assert audit.state == "complete"
        assert all(answer.failure is None and answer.attempt == 1 for answer in stored)
        assert ledger.answers_stored(audit.id) == len(stored)
        return Counter((answer.index, answer.repeat) for answer in stored)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=[pytest.mark.timeout(900)])])
def test_a_worker_killed_again_and_again_pays_for_each_call_once(spiritlevel, spawn, tmp_path, kills):
    chance = random.Random(kills)
    with stub_process(tmp_path, latency_s=0.02) as base_url:
        release = asked(spiritlevel, base_url)
        for _ in range(kills):
            goal = counts(base_url)["calls"] + chance.randint(1, 45)
            worker = spawn("audit", release, *ORDER, "--personas", 1_000, home=spiritlevel.home)
            until(lambda goal=goal: counts(base_url)["calls"] >= goal, every_s=0.01)
            time.sleep(chance.random() * 0.05)
            worker.kill()
            worker.wait()
        before = counts(base_url)["calls"]
        assert before < 1_000, "every kill was in the middle of the audit"
        spawn.ended(spawn("audit", release, *ORDER, "--personas", 1_000, home=spiritlevel.home), *CONCLUDED)
        calls = counts(base_url)["calls"]
    keys = answers(f"sqlite:///{spiritlevel.home / 'ledger.db'}")
    assert len(keys) == 1_000
    assert set(keys.values()) == {1}
    assert 1_000 <= calls <= 1_000 + CONCURRENCY * kills
    with sqlite3.connect(spiritlevel.home / "ledger.db") as connection:
        ends = Counter(why.split(" ")[0] for (why,) in connection.execute("SELECT why FROM workers"))
    connection.close()
    assert ends == {"its": kills, "finished": 1}, "each dead worker was found by the next"


def test_two_workers_share_an_audit_and_a_third_that_dies_is_taken_over(
    spiritlevel, spawn, tmp_path, postgres_url, monkeypatch
):
    shared = {
        "SPIRITLEVEL_LEDGER_URL": postgres_url,
        "SPIRITLEVEL_TRACKING_URI": f"sqlite:///{spiritlevel.home / 'mlflow.db'}",
    }
    for name, value in shared.items():
        monkeypatch.setenv(name, value)
    with stub_process(tmp_path, latency_s=0.05) as base_url, closing(Ledger(postgres_url)) as ledger:
        release = asked(spiritlevel, base_url)
        homes = [tmp_path / f"machine {number}" for number in range(3)]
        for home in homes:
            home.mkdir()
            (home / "spiritlevel.toml").write_text(UNPUBLISHED)
        command = ["audit", release, *ORDER, "--personas", 500, "--join", "--json"]
        workers = [spawn(*command, home=home, **shared) for home in homes]
        third = workers.pop()
        until(lambda: ledger.audits() and len(ledger.at_work(ledger.audits()[0].id)) == 3)
        before = counts(base_url)["calls"]
        until(lambda: counts(base_url)["calls"] >= before + 50)
        third.kill()
        third.wait()
        results = [json.loads(spawn.ended(worker, *CONCLUDED)) for worker in workers]
        asked_by_seed = counts(base_url)["by_seed"]
        asked_by_seed.pop(
            "None", None
        )  # of the dead worker, when it was killed between the head of a call and its body
        (audit,) = ledger.audits()
        parts = {worker.owner.pid: worker for worker in ledger.workers(audit.id)}
    assert answers(postgres_url).total() == 500
    again = {seed: calls for seed, calls in asked_by_seed.items() if calls > 1}
    assert len(asked_by_seed) == 500, set(asked_by_seed) - {str(seed) for seed in range(500)}
    assert len(again) <= CONCURRENCY, "only what was under way in the dead worker was asked again"
    assert set(again.values()) <= {2}
    assert results[0] == results[1], "one concluded, and both read the same"
    assert parts[third.pid].why == f"its process {third.pid} is gone"
    assert {parts[worker.pid].why for worker in workers} == {"finished"}


def test_a_worker_without_join_is_refused_and_told_how_to_share(spiritlevel, spawn, tmp_path):
    with stub_process(tmp_path, latency_s=0.3) as base_url:
        release = asked(spiritlevel, base_url)
        first = spawn("audit", release, *ORDER, "--personas", 400, home=spiritlevel.home)
        until(lambda: counts(base_url)["calls"] > 0)
        spiritlevel("audit", release, "--protocol", "persona-brainstorm", "--per-call", 1, code=2)
        assert f"being collected by process {first.pid}" in spiritlevel.stderr
        assert "--join" in spiritlevel.stderr
        spiritlevel("audit", release, *ORDER, "--join", "--new", code=2)
        first.kill()


@pytest.mark.parametrize("how", [pytest.param("fast", marks=pytest.mark.slow), "immediate"])
def test_an_audit_goes_on_when_postgresql_restarts_and_no_answer_is_lost(
    spiritlevel, spawn, tmp_path, own_postgres, monkeypatch, how
):
    url = own_postgres.database()
    monkeypatch.setenv("SPIRITLEVEL_LEDGER_URL", url)
    with stub_process(tmp_path, latency_s=0.02) as base_url:
        release = asked(spiritlevel, base_url)
        worker = spawn("audit", release, *ORDER, "--personas", 400, home=spiritlevel.home)
        until(lambda: counts(base_url)["calls"] >= 100, every_s=0.01)
        own_postgres.stop(how)
        time.sleep(2)
        own_postgres.start()
        spawn.ended(worker, *CONCLUDED)
        assert counts(base_url)["calls"] == 400
    told = spawn.said(worker)[1]
    assert "does not answer" in told
    assert "the ledger is back" in told
    assert answers(url).total() == 400
    own_postgres.drop(url)


@pytest.mark.slow
def test_a_postgresql_that_stays_away_is_one_sentence_and_the_next_run_completes_the_audit(
    spiritlevel, own_postgres, monkeypatch
):
    url = own_postgres.database()
    monkeypatch.setenv("SPIRITLEVEL_LEDGER_URL", url)
    monkeypatch.setattr(LedgerConnection, "patience_s", 1.0)
    with StubServer(latency_s=0.02) as server:
        release = asked(spiritlevel, server.base_url)

        def stop():
            until(lambda: server.calls >= 60, every_s=0.01)
            own_postgres.stop("immediate")

        stopping = threading.Thread(target=stop)
        stopping.start()
        spiritlevel("audit", release, *ORDER, "--personas", 200, code=2)
        stopping.join()
        assert "did not for 1 s" in spiritlevel.stderr
        assert own_postgres.url.password not in spiritlevel.stderr
        spiritlevel("audit", release, *ORDER, "--personas", 200, code=2)
        assert "does not answer" in spiritlevel.stderr
        own_postgres.start()
        spiritlevel("audit", release, *ORDER, "--personas", 200, code=None)
        assert 200 <= server.calls <= 200 + CONCURRENCY
    assert answers(url).total() == 200
    own_postgres.drop(url)


@pytest.mark.slow
def test_every_command_of_one_release_after_another_works_on_postgresql(
    spiritlevel, postgres_url, monkeypatch, tmp_path
):
    monkeypatch.setenv("SPIRITLEVEL_LEDGER_URL", postgres_url)
    local = {path.name: path.stat().st_size for path in spiritlevel.home.glob("ledger.db*")}
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.9}) as server:
        releases = [
            spiritlevel.json("release", "add", "nova", "--model", model, "--base-url", server.base_url)["release"]
            for model in ("stub-1", "stub-2")
        ]
        order = ["--protocol", "persona-brainstorm", "--personas", 2_000, "--concurrency", 16]
        spiritlevel("audit", releases[0], *order)
        spiritlevel("audit", releases[1], *order, code=1)
        spiritlevel("audit", releases[0], *order, "--new", code=None)
    assert spiritlevel.json("compare", releases[1], "--against", "previous", code=1)["verdict"] == "regressed"
    spiritlevel("bless", releases[0], "--why", "it was agreed", "--who", "the team")
    assert "nova" in spiritlevel("card", "nova")
    spiritlevel("gate", releases[1], code=1)
    assert "regressed" in spiritlevel("status")
    for _ in range(2):
        assert "audit" in spiritlevel("watch", releases[0], code=None)
    target = tmp_path / "answers.jsonl"
    spiritlevel("export", releases[1], target)
    assert len(target.read_text().splitlines()) == 100
    spiritlevel("import", releases[1], target, "--protocol", "persona-brainstorm", "--per-call", 20, code=None)
    spiritlevel("publish", code=None)
    assert not any((spiritlevel.home / name).stat().st_size > before for name, before in local.items())
