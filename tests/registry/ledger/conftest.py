"""Every test of the ledger runs on both databases."""

from __future__ import annotations

import pytest

from registry.ledger.store import Ledger


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request, tmp_path):
    """URL of an empty ledger; SQLite's file does not exist yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def ledger(ledger_url):
    """An empty ledger whose clock stands still."""
    opened = Ledger(ledger_url, clock=lambda: "2026-11-01T00:00:00.000Z")
    yield opened
    opened.close()
