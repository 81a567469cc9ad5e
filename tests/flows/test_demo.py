"""The demo, whole and real: two builds of a small model imagine people on this machine."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("xllamacpp", reason="the embedded model's runtime is not installed (extra `demo`)")


@pytest.mark.usefixtures("publishing")
def test_the_demo_audits_two_real_builds_writes_the_card_and_asks_nothing_the_second_time(spiritlevel):
    printed = spiritlevel("demo", "--personas", 4)
    assert "compared with models:/smollm2-demo/1" in printed
    for form in ("md", "html", "json"):
        assert str(spiritlevel.home / "demo" / f"card.{form}") in printed
        assert (spiritlevel.home / "demo" / f"card.{form}").stat().st_size > 1000
    assert "spiritlevel ui --home" in printed
    audits = spiritlevel.json("status")["audits"]
    assert [(audit["state"], audit["requests"], audit["published"]) for audit in audits] == [("complete", 4, True)] * 2
    card = json.loads((spiritlevel.home / "demo" / "card.json").read_text())
    assert len(card["history"]) == 2
    assert spiritlevel("demo") == printed
    assert len(spiritlevel.json("status")["audits"]) == 2
