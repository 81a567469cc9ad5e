"""A bundle that is taken in is the audit that was made elsewhere: same plan, same key, same answers, same scores."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal

import pytest

from flows.bundles import importing
from flows.bundles.making import make_bundle
from flows.bundles.manifest import FILES, NAME
from flows.bundles.reading import opened_bundle
from flows.settings import Home
from flows.workspace import opened
from tests.conftest import UNPUBLISHED
from tests.flows.audited import audit_of, texts_of
from tests.flows.test_bundle_checks import said_again
from tests.flows.test_bundles import RELEASES, newest
from tests.planted import CUES, MESSAGES, PERSONAS, planted_family

ANSWERS = FILES[0]
MODELS = {PERSONAS: "nova-2026-03-30", MESSAGES: "comet-2026-03-02", CUES: "comet-2026-03-02"}


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    """A home with planted audits, and a bundle of one of each protocol as a file and as a folder."""
    place = tmp_path_factory.mktemp("bundles")
    shutil.copytree(migrated_home, place / "home")
    (place / "home" / "spiritlevel.toml").write_text(UNPUBLISHED)
    with opened(Home(place / "home")) as workspace:
        planted_family(workspace, releases=2, blessed=False)
        planted_family(workspace, protocols=(MESSAGES, CUES), releases=1, blessed=False, family="comet")
        for protocol, uri in RELEASES.items():
            for name in (f"{protocol}.zip", protocol):
                make_bundle(
                    workspace, newest(workspace, uri, protocol), place / name, licence="CC-BY-4.0", provenance="team A"
                )
        live = audit_of(workspace, 1, texts_of(bias=0.5, seed="x", calls=5), family="vega")
        make_bundle(workspace, live, place / "live")
    return place


@pytest.fixture
def fresh(spiritlevel):
    """The command line on a home that knows none of it."""
    return spiritlevel


@pytest.mark.parametrize("protocol", RELEASES)
def test_an_imported_bundle_has_the_plan_key_answers_and_scores_of_the_audit_it_is_of(fresh, made, protocol):
    said = fresh.json("bundle", "import", made / f"{protocol}.zip", "--as", "theirs", code=None)
    with opened(Home(made / "home")) as there, opened(Home(fresh.home)) as here:
        theirs, ours = newest(there, RELEASES[protocol], protocol), here.ledger.audit(said["audit"])
        assert (ours.plan, ours.state, ours.release.model) == (theirs.plan, theirs.state, MODELS[protocol])
        assert here.ledger.responses(ours.id) == there.ledger.responses(theirs.id)
        assert here.ledger.requests(ours.id) == there.ledger.requests(theirs.id)
        own = {(one.metric, one.dimension, one.group): one.value for one in there.ledger.scores(theirs.id)}
        both = {key: value for one in here.ledger.scores(ours.id) if (key := (one.metric, one.dimension, one.group)) in own for value in [one.value]}  # fmt: skip
    assert said["collection_key"] == theirs.plan.collection_key
    if protocol != PERSONAS:  # its names are pooled over two releases there
        assert both == own


def test_list_result_card_and_json_say_imported_with_address_and_licence(fresh, made):
    said = fresh.json("bundle", "import", made / PERSONAS, "--as", "theirs", code=None)
    with opened_bundle(made / PERSONAS) as bundle:
        address = bundle.manifest.address
    assert said["source"] == "imported"
    assert (said["origins"][0]["address"], said["origins"][0]["license"]) == (address, "CC-BY-4.0")
    assert f"(imported, bundle {address[:16]}, licence CC-BY-4.0)" in fresh("status")
    card = json.loads(fresh("card", "theirs", "--format", "json"))
    assert card["audit"]["origins"] == said["origins"] == fresh.json("status")["audits"][0]["origins"]
    markdown = fresh("card", "theirs")
    assert address in markdown
    assert "licence CC-BY-4.0" in markdown
    assert "team A" in markdown


def test_an_imported_bundle_is_compared_with_a_live_audit_of_the_same_plan(spiritlevel, home, made):
    shutil.rmtree(home)
    shutil.copytree(made / "home", home)
    said = spiritlevel.json("bundle", "import", made / f"{PERSONAS}.zip", "--as", "copy", code=None)
    theirs = spiritlevel.json("compare", "models:/nova/1", "models:/nova/2", code=None)
    spiritlevel("release", "add", "copy", "--model", "nova-2026-03-02", "--previous", "1")
    with opened(Home(home)) as workspace:
        make_bundle(workspace, newest(workspace, "models:/nova/1", PERSONAS), home / "first.zip")
    spiritlevel("bundle", "import", home / "first.zip", "--as", "models:/copy/2", code=None)
    ours = spiritlevel.json("compare", "models:/copy/2", "models:/copy/1", code=None)
    rows = [[(row["dimension"], row["current"], row["n_current"]) for row in one["comparisons"] if "name" not in row["dimension"]] for one in (theirs, ours)]  # fmt: skip
    assert rows[0] == rows[1] != []
    assert said["release"] == "models:/copy/1"


def test_the_same_answers_are_the_same_audit_under_any_licence_and_in_any_form(fresh, made, tmp_path):
    first = fresh.json("bundle", "import", made / f"{MESSAGES}.zip", "--as", "theirs", code=None)
    other = shutil.copytree(made / MESSAGES, tmp_path / "other")
    said_again(other, license=None, provenance="found again")
    second = fresh.json("bundle", "import", other, "--as", first["release"], code=None)
    assert "taken in before" in fresh.stderr
    assert (second["audit"], second["origins"]) == (first["audit"], first["origins"])
    assert len(fresh.json("status")["audits"]) == 1
    assert len(fresh.json("release", "list")) == 1


def test_answers_of_one_model_are_never_taken_in_as_another_s(fresh, made):
    fresh("release", "add", "theirs", "--model", "another")
    fresh("bundle", "import", made / f"{PERSONAS}.zip", "--as", "models:/theirs/1", code=2)
    assert "never shown as another's" in fresh.stderr
    said = fresh.json("bundle", "import", made / f"{PERSONAS}.zip", "--as", "theirs", code=None)
    assert said["release"] == "models:/theirs/2"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("--as", "models:/no/1"), "no model family"), (("--as", "theirs", "--address", "0" * 64), "another than you were told of")],
)  # fmt: skip
def test_what_is_refused_leaves_nothing_behind(fresh, made, arguments, words):
    fresh("bundle", "import", made / f"{PERSONAS}.zip", *arguments, code=2)
    assert words in fresh.stderr
    assert (fresh.json("status")["audits"], fresh.json("release", "list")) == ([], [])


def test_answers_to_another_question_than_the_plan_asks_are_refused(fresh, made, tmp_path):
    folder = shutil.copytree(made / "live", tmp_path / "other")
    path = folder / "audit" / "requests.jsonl"
    path.write_text(path.read_text().replace('"seed": 1', '"seed": 9', 1))
    said_again(folder)
    fresh("bundle", "import", folder, "--as", "theirs", code=2)
    assert "another question than its collection key says" in fresh.stderr


@pytest.mark.parametrize("size", [99, 10**12])
def test_a_plan_that_asks_for_more_than_is_in_the_bundle_is_refused_at_once(fresh, made, tmp_path, size):
    folder = shutil.copytree(made / "live", tmp_path / "other")
    said_again(folder, plan=json.loads((folder / NAME).read_text())["plan"] | {"size": size * 20})
    fresh("bundle", "import", folder, "--as", "theirs", code=2)
    assert "not among its requests" in fresh.stderr
    assert fresh.json("status")["audits"] == []


def test_a_key_of_the_ledger_s_own_in_an_answer_is_refused(fresh, made, tmp_path):
    line = json.dumps({"text": "a", "exact_text": {"text": "5"}})
    (tmp_path / "answers.jsonl").write_text(line + "\n")
    fresh("release", "add", "theirs", "--model", "m")
    fresh("import", "models:/theirs/1", tmp_path / "answers.jsonl", "--protocol", PERSONAS, code=2)
    assert "the ledger's own" in fresh.stderr


def _die_on_the_way(home, path, step):
    os.environ["SPIRITLEVEL_HOME"] = str(home)
    from flows.cli import exit_code

    if step == "registered":
        importing.origin_of = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    else:
        importing.closed = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    exit_code(["bundle", "import", str(path), "--as", "theirs"])


@pytest.mark.parametrize(("step", "audits"), [("registered", 0), ("stored", 1)])
def test_an_import_that_is_killed_between_its_steps_is_taken_up_by_the_next(fresh, made, step, audits):
    path = made / f"{MESSAGES}.zip"
    child = multiprocessing.get_context("spawn").Process(target=_die_on_the_way, args=(fresh.home, path, step))
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL
    left = fresh.json("status")["audits"]
    assert [(one["state"], one["answered"] == one["requests"] > 0) for one in left] == [("open", True)] * audits
    said = fresh.json("bundle", "import", path, "--as", "theirs", code=None)
    assert (said["state"], said["release"]) == ("complete", "models:/theirs/1")
    assert len(fresh.json("status")["audits"]) == 1
