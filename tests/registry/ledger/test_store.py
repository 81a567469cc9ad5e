from __future__ import annotations

import dataclasses
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.results import Comparison, Score
from registry.audits.plan import Outcome, Request, Response
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.ledger.opening import HEAD, LedgerError, open_engine
from registry.ledger.ownership import Owner
from registry.ledger.store import AuditInProgressError, Ledger
from registry.ledger.tables import metadata
from registry.ledger.values import NameList
from registry.releases import ModelRelease

RELEASE = ModelRelease(family="nova", version=1, model="nova-2026-10")
PROTOCOL = PersonaBrainstorm()


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}", clock=lambda: "2026-11-01T00:00:00.000Z")
    yield opened
    opened.close()


def ordered(ledger, size=60):
    plan = PROTOCOL.plan(size=size)
    return ledger.order(RELEASE, plan, PROTOCOL.requests(plan))


def test_the_migrations_make_exactly_the_declared_tables(tmp_path):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    engine = open_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == HEAD
    engine.dispose()


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


def test_one_attempt_of_a_request_is_stored_once(ledger):
    audit = ordered(ledger)
    ledger.record(audit.id, Response(index=0, text="a"))
    with pytest.raises(Exception, match="UNIQUE"):
        ledger.record(audit.id, Response(index=0, text="b"))
    assert ledger.responses(audit.id)[0].text == "a"


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
    with pytest.raises(Exception, match="UNIQUE"):
        ledger.freeze_names(names)


def test_a_live_owner_is_respected_and_a_dead_one_is_taken_over_at_once(ledger):
    audit = ordered(ledger)
    me = Owner.this_process()
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    import psutil

    other = Owner(me.host, child.pid, round(psutil.Process(child.pid).create_time(), 2))
    with ledger.engine.begin() as connection:
        from registry.ledger.tables import audits

        held = {"owner": dataclasses.asdict(other), "heartbeat_at": ledger.clock()}
        connection.execute(audits.update().values(**held))
    with pytest.raises(AuditInProgressError, match=str(child.pid)), ledger.collecting(audit.id, me):
        pass
    child.communicate()
    with ledger.collecting(audit.id, me):
        ledger.record(audit.id, Response(index=0, text="x"))


def test_a_silent_owner_on_another_host_is_given_up_after_two_minutes(tmp_path):
    now = ["2026-11-01T00:00:00.000Z"]
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}", clock=lambda: now[0])
    audit = ordered(ledger)
    far = Owner("elsewhere", 1, 1.0)
    with ledger.collecting(audit.id, far):
        now[0] = "2026-11-01T00:01:00.000Z"
        with pytest.raises(AuditInProgressError, match="elsewhere"), ledger.collecting(audit.id, Owner.this_process()):
            pass
        now[0] = "2026-11-01T00:02:30.000Z"
        with ledger.collecting(audit.id, Owner.this_process()):
            pass
    ledger.close()


@pytest.mark.parametrize(
    "content", [b"this is not a database at all, but a text", b"SQLite format 3\x00" + b"\xff" * 500]
)
def test_a_damaged_ledger_is_one_clear_sentence_and_nothing_is_changed(tmp_path, content):
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"damaged or not a database"):
        Ledger(f"sqlite:///{path}")
    assert path.read_bytes() == content


def test_a_folder_that_is_not_there_is_one_clear_sentence(tmp_path):
    with pytest.raises(LedgerError, match="cannot be written"):
        Ledger(f"sqlite:///{tmp_path / 'missing' / 'ledger.db'}")


def test_a_newer_ledger_is_refused(tmp_path):
    path = tmp_path / "ledger.db"
    Ledger(f"sqlite:///{path}").close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num='9999'")
    connection.close()
    with pytest.raises(LedgerError, match="newer spiritlevel"):
        Ledger(f"sqlite:///{path}")


def test_a_killed_writer_loses_nothing_it_stored(tmp_path):
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    script = """
import os, signal, sys
from registry.audits.plan import Response
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.ledger.store import Ledger
from registry.releases import ModelRelease
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


def test_a_ledger_of_the_first_schema_keeps_its_evidence_and_gets_the_new_tables(tmp_path):
    import sqlalchemy as sa

    from registry.ledger.opening import migrate

    address = f"sqlite:///{tmp_path / 'ledger.db'}"
    engine = sa.create_engine(address)
    migrate(engine, "0001")
    old = Ledger.__new__(Ledger)  # as the release that knew the first schema only: no migration on opening
    old.engine, old.clock = engine, lambda: "2026-11-01T00:00:00.000Z"
    audit = ordered(old)
    old.record(audit.id, Response(index=0, text="an answer"))
    engine.dispose()
    opened = Ledger(address)
    assert [response.text for response in opened.responses(audit.id)] == ["an answer"]
    assert (opened.blessings("nova"), opened.watches(), opened.checks(audit.id)) == ([], [], [])
    opened.bless(RELEASE, who="somebody", why="it was agreed")
    assert opened.blessed("nova").version == 1
    opened.close()
