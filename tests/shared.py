"""Real data for checks that is kept beside the checkout; tests that need it skip when it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_data(*parts: str) -> Path:
    """Path of a file or folder of the check data, or a skip with the reason.

    The folder is ``$SPIRITLEVEL_CHECK_DATA``, by default ``shared/data`` beside the checkout.
    """
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("SPIRITLEVEL_CHECK_DATA", default)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"check data not here: {'/'.join(parts)} (set SPIRITLEVEL_CHECK_DATA to the folder that holds it)")
    return path
