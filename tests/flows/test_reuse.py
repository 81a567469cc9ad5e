"""``--reuse``: answers that are there already stand in place of calls, marked, counted, and never as evidence twice."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal

import pytest

from flows.bundles import reuse as reusing
from flows.settings import Home
from flows.workspace import opened
from registry.ledger.store import Ledger
from tests.flows.test_audit_command import registered
from tests.stub_server import StubServer

PROTOCOL = ("--protocol", "persona-brainstorm")
PRICES = {"price_input": 1.0, "price_output": 3.0}


@pytest.fixture
def server():
    with StubServer() as running:
        yield running


@pytest.fixture
def bundle(spiritlevel, server, home, tmp_path):
    """A bundle of 5 answers that another team paid for; this home knows nothing of it."""
    release = registered(spiritlevel, server.base_url, family="theirs")
    spiritlevel("audit", release, *PROTOCOL, "--personas", 100, code=None)
    (tmp_path / "shared").mkdir()
    spiritlevel("bundle", "export", release, tmp_path / "shared" / "a.zip", "--license", "CC0-1.0")
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        (home / name).unlink(missing_ok=True)
    return tmp_path / "shared" / "a.zip"


def answers_of(home, audit):
    with opened(Home(home)) as workspace:
        return workspace.ledger.responses(audit), workspace.ledger.spent(audit_id=audit)


def test_an_audit_asks_only_what_no_bundle_answers_and_says_what_that_saved(spiritlevel, server, home, bundle):
    release = registered(spiritlevel, server.base_url, **PRICES)
    before = server.calls
    said = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 200, "--reuse", bundle.parent, code=None)
    assert (before, server.calls) == (5, 10)
    answers, spent = answers_of(home, said["audit"])
    marked = [one for one in answers if "reused" in one.extra]
    assert [one.index for one in marked] == [0, 1, 2, 3, 4]
    tokens = sum(one.prompt_tokens for one in marked), sum(one.completion_tokens for one in marked)
    saved = said["saved"]
    assert (saved["calls"], saved["prompt_tokens"], saved["completion_tokens"]) == (5, *tokens)
    assert saved["usd"] == pytest.approx((tokens[0] * 1.0 + tokens[1] * 3.0) / 1e6)
    assert saved["energy"]["low"] is None
    assert spent.charged_tokens == sum(one.prompt_tokens + one.completion_tokens for one in answers[5:])
    assert f"{bundle}: 5 answers reused, licence CC0-1.0" in spiritlevel.stderr
    assert "5 of 10 calls that are open were answered; saved 5 calls" in spiritlevel.stderr
    assert said["origins"][0]["kind"] == "reused"


def test_what_was_reused_is_on_card_and_list_and_in_a_bundle_of_it(spiritlevel, server, bundle, tmp_path):
    release = registered(spiritlevel, server.base_url)
    spiritlevel("audit", release, *PROTOCOL, "--personas", 100, "--reuse", bundle, code=None)
    assert "(live, 5 answers reused)" in spiritlevel("status")
    assert spiritlevel.json("status")["audits"][0]["saved"]["calls"] == 5
    assert "5 of them were not asked for here" in spiritlevel("card", "nova")
    card = json.loads(spiritlevel("card", "nova", "--format", "json"))
    assert [one["kind"] for one in card["audit"]["origins"]] == ["reused"]
    said = spiritlevel.json("bundle", "export", release, tmp_path / "again.zip", "--license", "MIT")
    assert said["origins"][0]["license"] == "CC0-1.0"
    assert "came under the licence CC0-1.0" in spiritlevel.stderr


def test_a_wholly_reused_audit_scores_as_the_one_it_is_of_and_needs_no_endpoint(spiritlevel, server, bundle):
    first = spiritlevel.json("bundle", "import", bundle, "--as", "copy", code=None)
    release = registered(spiritlevel, "http://127.0.0.1:9/v1")
    before = server.calls
    said = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 100, "--reuse", bundle, code=None)
    assert server.calls == before
    assert [row["value"] for row in said["scores"]] == [row["value"] for row in first["scores"]]
    assert said["state"] == "complete"


def test_another_occasion_takes_no_answer_of_an_earlier_one_unless_it_is_asked_to(spiritlevel, server, bundle):
    release = registered(spiritlevel, server.base_url)
    spiritlevel("audit", release, *PROTOCOL, "--personas", 100, "--reuse", bundle, code=None)
    new = ("audit", release, *PROTOCOL, "--personas", 100, "--new", "--seed", 0)
    before = server.calls
    spiritlevel(*new, "--reuse", bundle, "--reuse", "ledger", code=None)
    assert server.calls == before + 5
    assert (
        "5 answers that stand in an earlier audit of this family already: they are no new evidence"
        in spiritlevel.stderr
    )
    assert "audit 1 of models:/nova/1 is an audit of this family" in spiritlevel.stderr
    spiritlevel(*new, "--reuse", "ledger", "--reuse-earlier", code=None)
    assert server.calls == before + 5
    assert "5 of 5 calls that are open were answered" in spiritlevel.stderr


def test_answers_of_another_family_s_audit_of_the_same_model_are_found_in_the_ledger(spiritlevel, server):
    first, second = (registered(spiritlevel, server.base_url, family=name) for name in ("nova", "vega"))
    spiritlevel("audit", first, *PROTOCOL, "--personas", 100, code=None)
    said = spiritlevel.json("audit", second, *PROTOCOL, "--personas", 100, "--reuse", "ledger", code=None)
    assert server.calls == 5
    assert (said["origins"][0]["from_audit"], said["origins"][0]["release"]) == (1, first)


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--temperature", "0.5"), "asks something else"), (("--seed", "7"), "no answer to a request that is open"), (("--per-call", "1"), "asks something else")],
)  # fmt: skip
def test_answers_to_another_question_or_with_other_seeds_are_left_out_with_the_reason(spiritlevel, server, bundle, options, words):  # fmt: skip
    release = registered(spiritlevel, server.base_url)
    before = server.calls
    said = spiritlevel.json(
        "audit", release, *PROTOCOL, "--personas", 100, *options, "--reuse", bundle.parent, code=None
    )
    assert server.calls > before
    assert words in spiritlevel.stderr
    assert (said["origins"], said["saved"]) == ([], None)


def test_answers_of_another_model_or_of_another_served_one_are_left_out(spiritlevel, server, bundle):
    other = registered(spiritlevel, server.base_url, model="stub-2", family="other")
    spiritlevel("audit", other, *PROTOCOL, "--personas", 20, "--reuse", bundle, code=None)
    assert "is of the model 'stub-1', wanted 'stub-2'" in spiritlevel.stderr
    release = registered(spiritlevel, server.base_url)
    with StubServer(served=["stub-1-2026-09-09"]) as newer:
        spiritlevel("release", "add", "later", "--model", "stub-1", "--base-url", newer.base_url)
        spiritlevel("audit", "models:/later/1", *PROTOCOL, "--personas", 20, "--seed", 3, code=None)
        spiritlevel("audit", "models:/later/1", *PROTOCOL, "--personas", 100, "--new", "--seed", 0, "--reuse", bundle, code=None)  # fmt: skip
    assert "was answered by stub-1-2026-01-01, and models:/later/1 by stub-1-2026-09-09" in spiritlevel.stderr
    assert release == "models:/nova/1"


def test_a_plan_says_what_could_be_reused_and_stores_nothing(spiritlevel, server, bundle):
    release = registered(spiritlevel, server.base_url, **PRICES)
    said = spiritlevel.json("plan", release, *PROTOCOL, "--size", 200, "--reuse", bundle)
    (there,) = said["reuse"]
    assert (there["requests"], there["answers"], there["saved"]["calls"]) == (10, 5, 5)
    assert there["saved"]["usd"] > 0
    text = spiritlevel("plan", release, *PROTOCOL, "--size", 200, "--reuse", bundle)
    assert "5 answers can be reused, licence CC0-1.0" in text
    assert (server.calls, spiritlevel.json("status")["audits"]) == (5, [])


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--reuse", "nowhere.zip"), "there is no bundle"), (("--reuse-earlier",), "give --reuse as well"), (("--reuse", "x", "--join"), "reuse first, then join")],
)  # fmt: skip
def test_what_cannot_be_reused_is_one_sentence_and_nothing_is_ordered_or_asked(spiritlevel, server, options, words):
    release = registered(spiritlevel, server.base_url)
    spiritlevel("audit", release, *PROTOCOL, "--personas", 100, *options, code=2)
    assert words in spiritlevel.stderr
    assert (server.calls, spiritlevel.json("status")["audits"]) == (0, [])


def test_a_changed_bundle_is_refused_by_itself_and_left_out_among_others(spiritlevel, server, bundle):
    content = bytearray(bundle.read_bytes())
    content[100] ^= 1
    (bundle.parent / "b.zip").write_bytes(content)
    release = registered(spiritlevel, server.base_url)
    spiritlevel("audit", release, *PROTOCOL, "--personas", 100, "--reuse", bundle.parent / "b.zip", code=2)
    assert spiritlevel.json("status")["audits"] == []
    spiritlevel("audit", release, *PROTOCOL, "--personas", 100, "--reuse", bundle.parent, code=None)
    assert "b.zip was changed since it was made" in spiritlevel.stderr
    assert server.calls == 5


def _die_on_the_way(home, bundle, release, when):
    os.environ["SPIRITLEVEL_HOME"] = str(home)
    from flows.cli import exit_code

    if when == "within":
        plain = reusing.without_keys

        def dying(answers):
            for n, one in enumerate(plain(answers)):
                if n == 3:
                    os.kill(os.getpid(), signal.SIGKILL)
                yield one

        reusing.without_keys = dying
    else:
        stored = Ledger.reused

        def dies(*arguments):
            stored(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)

        Ledger.reused = dies
    exit_code(["audit", release, *PROTOCOL, "--personas", "200", "--reuse", str(bundle)])


@pytest.mark.parametrize(("when", "there"), [("within", 0), pytest.param("after", 5, marks=pytest.mark.slow)])
def test_a_killed_process_has_stored_all_that_it_reused_or_none(spiritlevel, server, home, bundle, when, there):
    release = registered(spiritlevel, server.base_url)
    child = multiprocessing.get_context("spawn").Process(target=_die_on_the_way, args=(home, bundle, release, when))
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL
    left = spiritlevel.json("status")["audits"][0]
    assert (left["answered"], len(left["origins"])) == (there, there // 5)
    said = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 200, "--reuse", bundle, code=None)
    assert (server.calls, said["saved"]["calls"], said["channels"]["usable"]) == (10, 5, 200)


def test_a_folder_without_a_bundle_is_said_and_the_audit_is_made(spiritlevel, server, tmp_path):
    (tmp_path / "empty").mkdir()
    release = registered(spiritlevel, server.base_url)
    spiritlevel("audit", release, *PROTOCOL, "--personas", 20, "--reuse", tmp_path / "empty", code=None)
    assert "holds no bundle" in spiritlevel.stderr
    shutil.rmtree(tmp_path / "empty")
    spiritlevel("audit", release, *PROTOCOL, "--personas", 20, "--reuse", tmp_path / "empty", code=None)
    assert "is finished, so nothing of it is left" in spiritlevel.stderr
