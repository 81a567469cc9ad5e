"""A real MLflow store with two releases of one family."""

from __future__ import annotations

import pytest

from tests.flows.services import Service
from tests.mlflow_stores import fresh_store
from tests.stub_server import StubServer


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store, and the check that nothing was written into the working directory."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    yield fresh_store(tmp_path)
    assert list(here.iterdir()) == []


@pytest.fixture
def release(store):
    return store.releases().add("acme-chat", "acme-1", released="2026-10-01", api_key_env="ACME_API_KEY")


@pytest.fixture
def pair(store, release):
    return release, store.releases().add("acme-chat", "acme-2", released="2026-11-01")


@pytest.fixture
def service(home):
    """A service whose one release answers nobody."""
    made = Service(home)
    made.configure()
    return made


@pytest.fixture
def live(home):
    """A service with an endpoint that answers."""
    with StubServer() as server:
        made = Service(home, server.base_url)
        made.server = server
        made.configure()
        yield made
