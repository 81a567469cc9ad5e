"""The brainstorms that come along, audited over HTTP from order to card: the planted dimension regresses, and no other does."""

from __future__ import annotations

import pytest

from registry.audits.brainstorm import PAPER, PROSE, brainstorm_names, load_brainstorm
from tests.stub_server import StubServer

OTHERS = [name for name in brainstorm_names() if name != PAPER]


@pytest.mark.parametrize("name", OTHERS)
def test_a_brainstorm_is_audited_compared_and_told_from_order_to_card(spiritlevel, name):
    asks = load_brainstorm(name)
    personas, per_call = (1000, 20) if asks.reads == PROSE else (1500, 50)  # sentences take longer to read
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.9}) as server:
        for version in (1, 2):
            model = f"stub-{version}"
            release = spiritlevel.json("release", "add", "nova", "--model", model, "--base-url", server.base_url)[
                "release"
            ]
            told = spiritlevel.json(
                "audit", release, "--protocol", name, "--personas", personas, "--per-call", per_call, code=None
            )
            assert told["channels"]["usable"] == personas
            assert asks.reviewed.split(":")[0].split(".")[0] in spiritlevel.stderr
    rows = spiritlevel.json("compare", "models:/nova/1", "models:/nova/2", "--protocol", name, code=1)["comparisons"]
    axis = next(one for one in asks.axes if one != "name")
    regressed = [row["dimension"] for row in rows if row["verdict"] == "regressed"]
    assert [title.split(" x ")[0] for title in regressed] == [axis.replace("_", " ")]
    assert len(rows) == len(asks.axes) * len(asks.dimensions)
    page = spiritlevel("card", "nova", "--protocol", name, "--format", "html")
    assert asks.limits[0][:40] in page
    spiritlevel("compare", "models:/nova/1", "models:/nova/2", "--protocol", PAPER, code=2)


def test_audits_in_two_languages_are_never_compared(spiritlevel):
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.9}) as server:
        for version, name in ((1, PAPER), (2, "persona-brainstorm-hi")):
            release = spiritlevel.json(
                "release", "add", "nova", "--model", f"stub-{version}", "--base-url", server.base_url
            )["release"]
            told = spiritlevel.json("audit", release, "--protocol", name, "--personas", "400", code=None)
            assert told.get("comparison") is None
    for name in (PAPER, "persona-brainstorm-hi"):
        spiritlevel("compare", "models:/nova/1", "models:/nova/2", "--protocol", name, code=2)
        assert "has no finished" in spiritlevel.stderr or "no audit" in spiritlevel.stderr
