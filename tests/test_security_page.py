"""Every test that docs/security.md names as holding a measure exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs" / "security.md").read_text(encoding="utf-8"))


def test_every_measure_is_held_by_a_test_that_exists():
    assert len(NAMED) > 20
    missing = [
        f"{path}::{name}"
        for path, name in NAMED
        if not (ROOT / path).exists() or f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert missing == []
