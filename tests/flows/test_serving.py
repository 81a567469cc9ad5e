from __future__ import annotations

import datetime as dt
import logging
import os
import signal
import sqlite3

import pytest
import sqlalchemy as sa

from flows.ending import ended_by_signal
from flows.serving import audited_once, next_due
from flows.settings import Home
from flows.workspace import opened
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.releases import ModelRelease

WEEK = dt.timedelta(days=7)
NOW = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)
RELEASE = ModelRelease(family="nova", version=1, model="m")


def test_the_next_audit_is_due_one_interval_after_the_newest_and_at_once_when_one_is_open(home):
    protocol = PersonaBrainstorm()
    with opened(Home(home)) as workspace:
        assert next_due(workspace, RELEASE, protocol.name, WEEK, NOW) == NOW
        plan = protocol.plan(size=20)
        audit = workspace.ledger.order(RELEASE, plan, protocol.requests(plan))
        assert next_due(workspace, RELEASE, protocol.name, WEEK, NOW) == NOW
        finished = NOW - dt.timedelta(days=2)
        workspace.ledger.change(audit.id, state="complete", finished_at=finished.isoformat())
        assert next_due(workspace, RELEASE, protocol.name, WEEK, NOW) == NOW  # its answers were never scored
        workspace.ledger.change(audit.id, scoring_version="v")
        assert next_due(workspace, RELEASE, protocol.name, WEEK, NOW) == finished + WEEK
        workspace.ledger.change(audit.id, finished_at=(NOW - dt.timedelta(days=30)).isoformat())
        assert next_due(workspace, RELEASE, protocol.name, WEEK, NOW) == NOW


@pytest.mark.usefixtures("prefect_server")
def test_a_provider_that_is_down_does_not_end_the_service_and_the_reason_is_told(spiritlevel, monkeypatch):
    spiritlevel("release", "add", "nova", "--model", "m-2026-01-01", "--base-url", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("PREFECT_LOGGING_LEVEL", "CRITICAL")
    limits = {"attempts": 1, "timeout_s": 2.0}
    parameters = {"release": "models:/nova/1", "personas": 20, "home": str(spiritlevel.home), "limits": limits}
    trouble = audited_once(parameters)
    assert trouble is not None
    assert "127.0.0.1:9" in trouble


def test_sigterm_ends_a_service_that_a_script_started_in_the_background_with_sigint_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), ended_by_signal() as came:
            os.kill(os.getpid(), signal.SIGTERM)
        assert came == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


class EndedWhileClosing(sqlite3.Connection):
    def close(self) -> None:
        super().close()
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("pool", [sa.pool.QueuePool, sa.pool.NullPool])
def test_sigterm_while_a_connection_is_closed_is_no_error_in_the_log(pool, caplog):
    caplog.set_level(logging.ERROR)
    engine = sa.create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(":memory:", factory=EndedWhileClosing), poolclass=pool
    )

    def closed() -> None:
        engine.connect().close()
        engine.dispose()

    with ended_by_signal() as came, pytest.raises(KeyboardInterrupt):
        closed()
    assert came == [signal.SIGTERM]
    assert not caplog.records
    logging.getLogger("sqlalchemy.pool.impl.QueuePool").error("of something else")
    assert len(caplog.records) == 1
