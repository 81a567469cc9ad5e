"""Opening a ledger: migrations from nothing and from older schemas, two processes at once, and what cannot be opened."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from registry.audits.plan import Outcome, Response
from registry.ledger.examining import examined
from registry.ledger.opening import HEAD, LedgerAwayError, LedgerError, engine_of, migrate, open_engine
from registry.ledger.ownership import Owner
from registry.ledger.store import Ledger
from registry.ledger.tables import blessings, metadata
from tests.registry.ledger.orders import ordered


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request, tmp_path):
    """URL of a database that has no table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    return request.getfixturevalue("empty_postgres_url")


def older(url, revision):
    """A ledger as the release that knew this schema made it: nothing is migrated when it is opened."""
    engine = engine_of(make_url(url))
    migrate(engine, revision)
    old = Ledger.__new__(Ledger)
    old.engine, old.clock = engine, lambda: "2026-11-01T00:00:00.000Z"
    return old


def test_the_migrations_make_exactly_the_declared_tables(empty_url):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    engine = open_engine(empty_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == HEAD
    engine.dispose()


@pytest.mark.parametrize("revision", ["0001", "0002"])
def test_an_older_ledger_keeps_its_evidence_and_goes_on(empty_url, revision):
    old = older(empty_url, revision)
    audit, done = ordered(old), ordered(old, 20)
    old.record(audit.id, Response(index=0, text="an answer"))
    old.record(audit.id, Response(index=1, failure=Outcome.TIMED_OUT, detail="60 s"))
    old.record(done.id, Response(index=0, text="all of it"))
    old.change(done.id, state="complete", finished_at="2026-11-01T00:00:00.000Z")
    if revision == "0002":
        said = {"family": "nova", "name": "baseline", "version": 1, "who": "w", "why": "y", "made_at": old.clock()}
        with old.engine.begin() as connection:
            connection.execute(blessings.insert().values(**said))
    with old.engine.begin() as connection:  # a process of the old release was killed while it was collecting
        owner = '{"host": "gone", "pid": 1, "started": 1.0}'
        connection.execute(sa.text("UPDATE audits SET owner = :owner, heartbeat_at = '2026-11-01'"), {"owner": owner})
    old.close()
    opened = Ledger(empty_url)
    assert [response.text for response in opened.responses(audit.id)] == ["an answer", None]
    assert opened.audit(done.id).state == "complete"
    assert len(opened.blessings("nova")) == (revision == "0002")
    assert (opened.watches(), opened.checks(audit.id)) == ([], [])
    worker = opened.begin_work(audit.id, Owner.this_process())
    assert [(request.index, attempt) for request, attempt in opened.claim(worker, 9)] == [(2, 1)]
    opened.close()


OPENER = """
import sys
from registry.ledger.store import Ledger
print("ready", flush=True)
sys.stdin.readline()
print(Ledger(sys.argv[1]).identity)
"""


@pytest.mark.parametrize("revision", [None, "0002"])
def test_two_processes_that_open_a_ledger_at_once_both_find_it_whole(empty_url, revision):
    if revision:
        older(empty_url, revision).close()
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", OPENER, empty_url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    both = [subprocess.Popen(command, env=environment, text=True, **pipes) for _ in range(2)]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert said[0][0] == said[1][0], "one ledger, one identity"


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


def test_a_newer_ledger_is_refused(ledger_url):
    opened = Ledger(ledger_url)
    with opened.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num='9999'")
    opened.close()
    with pytest.raises(LedgerError, match="newer spiritlevel"):
        Ledger(ledger_url)


def test_a_server_that_does_not_answer_is_said_without_the_password():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        url = f"postgresql://me:s3cret@127.0.0.1:{taken.getsockname()[1]}/ledger?connect_timeout=2"
        with pytest.raises(LedgerAwayError, match="does not answer") as caught:
            Ledger(url)
    assert "127.0.0.1" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"password": "wr0ng"}, "password authentication failed"),
        ({"database": "nowhere"}, "does not exist"),
        ({"query": {"sslmode": "require"}}, "SSL"),
    ],
)
def test_what_a_postgresql_refuses_is_one_sentence_and_tls_settings_reach_it(postgres_url, change, said):
    url = make_url(postgres_url).set(**change)
    with pytest.raises(LedgerError, match=said) as caught:
        Ledger(url)
    assert "\n" not in str(caught.value)
    assert (url.password or "") not in str(caught.value)


def test_a_password_in_the_query_of_an_address_is_not_shown():
    with pytest.raises(LedgerError) as caught:
        Ledger("postgresql://me@127.0.0.1:1/ledger?password=s3cret&connect_timeout=2")
    assert "s3cret" not in str(caught.value)


def test_a_write_waits_for_the_lock_before_it_reads(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = Ledger(f"sqlite:///{path}")
    with ledger._writing(), sqlite3.connect(path, timeout=0) as other:
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        assert other.execute("SELECT count(*) FROM audits").fetchone() == (0,), "readers are never held up"
    other.close()
    ledger.close()


def test_a_file_that_is_only_looked_at_stays_as_it_is_and_nothing_is_made_beside_it(tmp_path):
    path = tmp_path / "ledger.db"
    with contextlib.closing(sqlite3.connect(path)) as foreign:
        foreign.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    assert examined(f"sqlite:///{path}").schema is None
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])
    path.unlink()
    ledger = Ledger(f"sqlite:///{path}")
    assert ledger.identity
    assert examined(f"sqlite:///{path}").usable, "also while it is open, and what is new is in its journal"
    ledger.close()
    there = sorted(tmp_path.iterdir())
    assert examined(f"sqlite:///{path}").usable
    assert sorted(tmp_path.iterdir()) == there


def test_a_disk_that_takes_no_more_is_said_with_what_to_look_at(tmp_path):
    with contextlib.closing(Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")) as ledger:
        ledger.set_fact("a", "before")
        sa.event.listen(ledger.engine, "checkout", lambda raw, *_: raw.execute("PRAGMA max_page_count = 1"))
        with pytest.raises(
            LedgerError, match=r"disk is full; check the free space of its disk and the limits .* stays"
        ):
            ledger.set_fact("b", "x" * 1_000_000)
        assert ledger.fact("a") == "before"
