"""Cards of any release of a family, collected from a ledger."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest

from dashboards.card_numbers import digest_of
from flows.carding import _links, card_of, rendered
from flows.settings import Home
from flows.workspace import opened
from metrics.errors import BadInputError
from tests.flows.compared import PROTOCOL, three_releases
from tests.planted import planted_family


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    """A home with three releases of one family, each compared with the one before; everything is in the ledger only."""
    home = tmp_path_factory.mktemp("cards") / "home"
    shutil.copytree(migrated_home, home)
    three_releases(home)
    return home


@pytest.fixture
def workspace(home, made):
    """A workspace on a copy of that home."""
    shutil.rmtree(home)
    shutil.copytree(made, home)
    with opened(Home(home)) as found:
        yield found


def test_the_card_of_an_earlier_release_is_as_if_later_ones_did_not_exist(workspace):
    second, newest = card_of(workspace, "nova", PROTOCOL, 2), card_of(workspace, "nova", PROTOCOL)
    assert (second.release.version, second.previous.version) == (2, 1)
    assert [point.version for point in second.history] == [1, 2]
    assert second.history == newest.history[:2]
    assert second.verdict == newest.history[1].verdict == "regressed"
    assert card_of(workspace, "nova", PROTOCOL, 1).verdict is None
    assert [point.version for point in newest.history] == [1, 2, 3]


def test_a_release_without_a_finished_audit_has_no_card(workspace):
    with pytest.raises(BadInputError, match=r"models:/nova/4 has no finished persona-brainstorm audit; run"):
        card_of(workspace, "nova", PROTOCOL, 4)
    with pytest.raises(BadInputError, match=r"^vega has no finished"):
        card_of(workspace, "vega", PROTOCOL)


@pytest.mark.parametrize(("reference", "version"), [("nova", 3), ("models:/nova/2", 2), ("nova/1", 1)])
def test_the_command_takes_a_family_or_one_of_its_releases(workspace, spiritlevel, reference, version):
    document = json.loads(spiritlevel("card", reference, "--format", "json"))
    assert document["release"]["uri"] == f"models:/nova/{version}"
    assert [point["release"]["version"] for point in document["history"]] == list(range(1, version + 1))


def test_the_card_has_the_change_from_the_blessed_release_as_it_is_judged(workspace):
    ledger = workspace.ledger
    ledger.bless(ledger.audit(1).release, who="quinn", why="reviewed")
    (found,) = card_of(workspace, "nova", PROTOCOL).baselines
    judged = ledger.comparison(found.source.comparison)
    assert (judged.previous_audit, judged.current_audit) == (1, 3)
    assert (found.verdict, found.why, found.rows) == (judged.verdict, judged.why, judged.rows)
    (first,) = card_of(workspace, "nova", PROTOCOL, 1).baselines
    assert (first.verdict, first.why) == (None, "it is this release")
    ledger.bless(ledger.audit(3).release, who="quinn", why="newer")
    (later,) = card_of(workspace, "nova", PROTOCOL, 2).baselines
    assert (later.verdict, later.why) == (None, "it came after this release")


def test_every_row_of_the_json_is_found_in_the_ledger_by_the_keys_that_stand_in_it(workspace):
    document = json.loads(rendered(card_of(workspace, "nova", PROTOCOL), "json"))
    for side in ("scores", "previous_scores"):
        for row in document[side]:
            stored = workspace.ledger.scores(row["audit_id"], row["scoring_version"])
            (same,) = [
                s for s in stored if (s.metric, s.dimension, s.group) == (row["metric"], row["dimension"], row["group"])
            ]
            assert row.items() >= dataclasses.asdict(same).items()
    for row in document["comparisons"]:
        stored = workspace.ledger.comparison(row["comparison_id"]).rows
        (same,) = [s for s in stored if (s.metric, s.dimension) == (row["metric"], row["dimension"])]
        assert row.items() >= (dataclasses.asdict(same) | {"merged": list(same.merged)}).items()


def test_a_run_is_linked_where_a_server_has_it_and_named_without_its_password(workspace, monkeypatch):
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", "https://me:hush@mlflow.example/")
    audit = dataclasses.replace(workspace.ledger.audit(3), run_id="0f3a")
    assert _links(workspace, audit, None) == {"MLflow run of the audit": "https://mlflow.example/#/runs/0f3a"}
    monkeypatch.delenv("SPIRITLEVEL_TRACKING_URI")
    assert _links(workspace, audit, None) == {"MLflow run of the audit": "0f3a"}


def test_a_family_of_several_protocols_is_one_document_and_each_card_is_still_had_alone(spiritlevel):
    planted_family(spiritlevel.home, protocols=(PROTOCOL, "targeted-messages"), releases=2, blessed=False)
    whole = json.loads(spiritlevel("card", "nova", "--format", "json"))
    assert [card["protocol"] for card in whole["cards"]] == [PROTOCOL, "targeted-messages"]
    alone = json.loads(spiritlevel("card", "nova", "--format", "json", "--protocol", "targeted-messages"))
    assert digest_of(whole["cards"][1]) == digest_of(alone)
    first = json.loads(spiritlevel("card", "nova/1", "--protocol", "all", "--format", "json"))
    assert {card["release"]["version"] for card in first["cards"]} == {1}
    assert "Verdict by protocol" in spiritlevel("card", "nova", "--format", "html")
    assert spiritlevel("card", "nova").startswith("---\nlanguage: en\n")
    assert spiritlevel("card", "nova", "--no-metadata").startswith("# Bias audits of nova\n")
