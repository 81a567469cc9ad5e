"""The packaged taxonomy, loaded once for the tests of a module."""

from __future__ import annotations

import pytest

from registry.audits.taxonomy import Taxonomy, load_taxonomy


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    return load_taxonomy()
