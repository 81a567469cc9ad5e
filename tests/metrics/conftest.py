"""The marker of tests that take more than 20 seconds."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than 20 seconds; deselect with -m 'not slow'")
