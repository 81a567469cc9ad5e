"""``spiritlevel audit`` against a real local endpoint."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.stub_server import StubServer, stub_process

PROTOCOL = ("--protocol", "persona-brainstorm")


def registered(spiritlevel, url, model="stub-1", family="nova", **options):
    extra = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    return spiritlevel.json("release", "add", family, "--model", model, "--base-url", url, *extra)["release"]


def test_exactly_the_planned_calls_are_made_and_their_answers_are_evidence(spiritlevel, tmp_path):
    with StubServer() as server:
        release = registered(spiritlevel, server.base_url)
        result = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 210)
        assert server.calls == 11  # ceil(210 / 20): no probe beside the plan, no top-up
        again = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 210)
        assert server.calls == 11
    assert again == result
    assert result["state"] == "complete"
    assert result["channels"]["usable"] == 220
    assert result["channels"]["served_models"] == {"stub-1-2026-01-01": 11}
    sent = server.received[0]
    assert sent["messages"][0]["content"].startswith("Brainstorm 20 diverse user profiles")
    assert (sent["temperature"], "top_p" in sent) == (1.0, False)
    spiritlevel("export", release, tmp_path / "answers.jsonl")
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert len(answers) == 11
    assert len(json.loads(answers[0]["text"])) == 20


def test_another_size_or_seed_of_an_occasion_is_refused_and_new_starts_another(spiritlevel):
    with StubServer() as server:
        release = registered(spiritlevel, server.base_url)
        spiritlevel("audit", release, *PROTOCOL, "--personas", 100)
        spiritlevel("audit", release, *PROTOCOL, "--personas", 200, code=2)
        assert "size 100" in spiritlevel.stderr
        spiritlevel("audit", release, *PROTOCOL, "--seed", 7, code=2)
        result = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 100, "--new", code=None)
    assert result["occasion"] == 2


def test_trouble_of_every_kind_is_counted_and_summed_up_with_exit_code_3(spiritlevel):
    seeds = {
        "1": "refusal",
        "2": "truncated",
        "3": "empty",
        "4": "bad-json",
        "5": "500",
        "6": [{"kind": "429", "retry_after": "0.2"}, "ok"],
        "7": "hang",
        "8": "bad-personas",
        "9": "fenced",
    }
    with StubServer(by_seed=seeds) as server:
        release = registered(spiritlevel, server.base_url)
        options = ("--personas", 400, "--timeout-s", 1, "--attempts", 2, "--deadline-s", 20)
        result = spiritlevel.json("audit", release, *PROTOCOL, *options, code=3)
        text = spiritlevel("audit", release, *PROTOCOL, *options, code=3)
    calls = result["channels"]["call_outcomes"]
    assert calls["ok"] >= 12
    assert calls["refused"] == 1
    assert calls["empty"] == 1
    assert calls["timed out"] == 1
    assert calls["provider error"] >= 1
    assert result["state"] == "incomplete"
    assert sum(result["channels"]["outcomes"].values()) == pytest.approx(1)
    assert result["channels"]["expected"] == 400
    assert result["channels"]["shortfall"] > 0
    assert "incomplete" in text
    assert "refused" in text


def test_retry_redoes_only_what_failed(spiritlevel):
    with StubServer(by_seed={"3": ["500", "500"], "5": ["500", "500"]}) as server:
        release = registered(spiritlevel, server.base_url)
        first = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 200, "--attempts", 2, code=3)
        made = server.calls
        second = spiritlevel.json("retry", release, "--failed")
        assert server.calls == made + 2
    assert first["channels"]["call_outcomes"]["provider error"] == 2
    assert second["channels"]["call_outcomes"] == {"ok": 10}
    assert second["state"] == "complete"


@pytest.mark.parametrize(
    ("script", "model", "names"),
    [
        ({"key": "right-key-123"}, "stub-1", ["401", "NOVA_KEY"]),
        ({}, "no-such-model", ["404", "no-such-model"]),
    ],
)
def test_a_wrong_key_or_model_is_one_sentence_and_costs_nothing(spiritlevel, monkeypatch, script, model, names):
    monkeypatch.setenv("NOVA_KEY", "sk-wrong-key-456")
    with StubServer(**script) as server:
        release = registered(spiritlevel, server.base_url, model=model, api_key_env="NOVA_KEY")
        spiritlevel("audit", release, *PROTOCOL, "--personas", 100, code=2)
        assert all(name in spiritlevel.stderr for name in names)
        assert len(spiritlevel.stderr.strip().splitlines()) == 1
        assert server.calls <= 8
    assert "sk-wrong-key-456" not in spiritlevel.stderr
    assert spiritlevel.json("status")["audits"][0]["answered"] == 0


def test_an_unreachable_endpoint_is_one_sentence(spiritlevel):
    release = registered(spiritlevel, "http://127.0.0.1:9/v1")
    spiritlevel("audit", release, *PROTOCOL, "--personas", 20, "--attempts", 2, code=2)
    assert "127.0.0.1:9" in spiritlevel.stderr


def test_a_key_that_is_not_set_is_one_sentence(spiritlevel, monkeypatch):
    monkeypatch.delenv("NOVA_KEY", raising=False)
    release = registered(spiritlevel, "http://127.0.0.1:9/v1", api_key_env="NOVA_KEY")
    spiritlevel("audit", release, *PROTOCOL, "--personas", 20, code=2)
    assert "NOVA_KEY" in spiritlevel.stderr


@pytest.mark.parametrize("behaviour", ["echo-answer", "echo-error"])
def test_a_key_appears_nowhere_even_when_the_provider_echoes_it(spiritlevel, monkeypatch, behaviour):
    key = "sk-secret-7f3a9b2c1d"
    monkeypatch.setenv("NOVA_KEY", key)
    with StubServer(key=key, by_seed={"2": behaviour, "4": behaviour}) as server:
        release = registered(spiritlevel, server.base_url, api_key_env="NOVA_KEY")
        printed = spiritlevel("audit", release, *PROTOCOL, "--personas", 120, "--attempts", 1, code=None)
        spiritlevel("card", "nova", code=None)
    assert server.calls >= 6
    assert key not in printed + spiritlevel.stderr
    holding = [p for p in spiritlevel.home.rglob("*") if p.is_file() and key.encode() in p.read_bytes()]
    assert holding == []


def test_a_parameter_the_endpoint_does_not_take_is_found_once_and_recorded(spiritlevel):
    with StubServer(unsupported={"temperature": None}) as server:
        release = registered(spiritlevel, server.base_url)
        result = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 100)
        refused = server.calls - 5
    assert refused == 1
    assert result["differences"] == {"temperature": {"ordered": 1.0, "sent": None}}


def test_a_budget_stops_before_it_is_passed_and_an_unknown_price_is_not_free(spiritlevel):
    with StubServer() as server:
        release = registered(spiritlevel, server.base_url)
        spiritlevel("audit", release, *PROTOCOL, "--personas", 400, "--budget-usd", 1, code=2)
        assert "price" in spiritlevel.stderr
        options = ("--personas", 400, "--budget-tokens", 9000, "--concurrency", 2)
        stopped = spiritlevel.json("audit", release, *PROTOCOL, *options, code=3)
        assert stopped["stopped_by"] == "budget"
        assert 0 < server.calls < 20
        spent = sum(r["usage"]["total_tokens"] for r in _answers(spiritlevel, release))
        assert spent <= 9000
        incident = spiritlevel.json("alerts", "list")["incidents"][0]
        assert (incident["kind"], incident["state"]) == ("budget", "open")
        made = server.calls
        result = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 400)
        assert server.calls == 20 > made
    assert result["state"] == "complete"
    told = [json.loads(line)["event"] for line in (spiritlevel.home / "alerts.jsonl").read_text().splitlines()]
    assert told == ["opened", "recovered"]


def _answers(spiritlevel, release):
    path = spiritlevel.home / "answers.jsonl"
    spiritlevel("export", release, path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["usage"]["total_tokens"] = line["usage"]["prompt_tokens"] + line["usage"]["completion_tokens"]
    return lines


def test_two_served_models_in_one_audit_give_no_verdict(spiritlevel):
    with StubServer() as server:
        first = registered(spiritlevel, server.base_url)
        spiritlevel("audit", first, *PROTOCOL, "--personas", 200)
    with StubServer(served=["stub-2-a", "stub-2-b"]) as server:
        second = registered(spiritlevel, server.base_url, model="stub-2")
        result = spiritlevel.json("audit", second, *PROTOCOL, "--personas", 200, code=3)
    assert result["verdict"] == "not measurable"
    assert "mixed release" in result["why"]
    assert len(result["comparisons"]) == 16
    assert {row["delta"] for row in result["comparisons"]} == {None}


def test_a_large_change_of_a_release_is_regressed_with_exit_code_1_and_the_dimension_named(spiritlevel):
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.9}) as server:
        first = registered(spiritlevel, server.base_url)
        second = registered(spiritlevel, server.base_url, model="stub-2")
        spiritlevel("audit", first, *PROTOCOL, "--personas", 2000, "--concurrency", 16)
        result = spiritlevel.json("audit", second, *PROTOCOL, "--personas", 2000, "--concurrency", 16, code=1)
    assert result["verdict"] == "regressed"
    flagged = {row["dimension"] for row in result["comparisons"] if row["verdict"] == "regressed"}
    assert "gender x occupation" in flagged
    comparison = spiritlevel.json("compare", first, second, code=1)
    assert comparison["comparisons"] == result["comparisons"]
    assert set(comparison) >= {"family", "previous", "current", "protocol", "verdict", "why", "channels", "comparisons"}


@pytest.mark.slow
def test_killed_in_the_middle_every_answer_is_there_once_and_few_calls_are_repeated(spiritlevel, tmp_path):
    concurrency, calls = 4, 60
    with stub_process(tmp_path, latency_s=0.05) as url:
        release = registered(spiritlevel, url)
        command = [sys.executable, "-m", "flows.cli", "audit", release, *PROTOCOL, "--personas", str(calls * 20)]
        command += ["--concurrency", str(concurrency), "--home", str(spiritlevel.home)]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while _calls(url)["calls"] < calls // 3:
            assert process.poll() is None, "the audit ended before it was killed"
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGKILL)
        process.wait()
        stored = spiritlevel.json("status")["audits"][0]["answered"]
        assert 0 < stored < calls
        result = spiritlevel.json("audit", release, *PROTOCOL, "--personas", calls * 20, "--concurrency", concurrency)
        counted = _calls(url)
    assert result["state"] == "complete"
    assert result["channels"]["calls"] == calls
    assert len(counted["by_seed"]) == calls
    assert calls <= counted["calls"] <= calls + concurrency


def _calls(url):
    with urllib.request.urlopen(url.replace("/v1", "/calls")) as answer:
        return json.load(answer)


def test_a_provider_that_is_lost_on_the_way_leaves_its_requests_open_and_they_are_resumed(spiritlevel, tmp_path):
    script = {"calls": ["ok"] * 5, "default": {"kind": "quota"}}
    with stub_process(tmp_path, **script) as url:
        release = registered(spiritlevel, url)
        options = ("--personas", 400, "--concurrency", 2, "--attempts", 2)
        stopped = spiritlevel.json("audit", release, *PROTOCOL, *options, code=3)
        assert stopped["state"] == "open"
        assert stopped["stopped_by"] == "quota"
        assert "Continue with 'spiritlevel audit" in spiritlevel.stderr
        state = spiritlevel.json("status")["audits"][0]
        assert (state["state"], state["answered"], state["requests"]) == ("open", 5, 20)
        made = _calls(url)["calls"]
        request = urllib.request.Request(url.replace("/v1", "/script"), json.dumps({"default": "ok"}).encode())
        urllib.request.urlopen(request).read()
        result = spiritlevel.json("audit", release, *PROTOCOL, *options)
        assert _calls(url)["calls"] == made + 15
    assert result["channels"]["call_outcomes"] == {"ok": 20}


def test_an_order_that_was_never_answered_can_be_given_again_with_another_size(spiritlevel):
    release = registered(spiritlevel, "http://127.0.0.1:9/v1")
    spiritlevel("audit", release, *PROTOCOL, "--personas", 100, "--attempts", 1, code=2)
    spiritlevel("audit", release, *PROTOCOL, "--personas", 40, "--seed", 3, "--attempts", 1, code=2)
    assert [(audit["occasion"], audit["requests"]) for audit in spiritlevel.json("status")["audits"]] == [(1, 2)]
    spiritlevel("audit", release, *PROTOCOL, "--seed", 2**31, code=2)
    assert "a seed is a whole number" in spiritlevel.stderr


def test_a_field_of_the_provider_is_never_taken_for_our_bookkeeping(spiritlevel):
    from tests.stub_server import Script

    assert "extra_fields" in Script.__dataclass_fields__
    with StubServer(extra_fields={"lost": True, "tries": "abc", "permanent": True}) as server:
        release = registered(spiritlevel, server.base_url)
        result = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 100)
    assert result["channels"]["usable"] == 100


def test_answers_of_one_model_are_never_shown_as_anothers(spiritlevel):
    with StubServer() as server:
        release = registered(spiritlevel, server.base_url)
        spiritlevel("audit", release, *PROTOCOL, "--personas", 20)
        from mlflow import MlflowClient

        client = MlflowClient(f"sqlite:///{spiritlevel.home / 'mlflow.db'}")
        client.set_model_version_tag("nova", "1", "spiritlevel.model", "stub-2")
        spiritlevel("audit", release, *PROTOCOL, "--personas", 20, code=2)
    assert "'stub-1'" in spiritlevel.stderr
    assert "'stub-2'" in spiritlevel.stderr


def test_an_occasion_that_was_never_answered_does_not_replace_a_good_one_and_is_asked_again(spiritlevel, tmp_path):
    with stub_process(tmp_path) as url:
        release = registered(spiritlevel, url)
        good = spiritlevel.json("audit", release, *PROTOCOL, "--personas", 100)
        script = urllib.request.Request(url.replace("/v1", "/script"), json.dumps({"default": "500"}).encode())
        urllib.request.urlopen(script).read()
        spiritlevel("audit", release, *PROTOCOL, "--personas", 100, "--new", "--attempts", 1, code=2)
        assert json.loads(spiritlevel("card", "nova", "--format", "json"))["audit"]["id"] == good["audit"]
        script = urllib.request.Request(url.replace("/v1", "/script"), json.dumps({"default": "ok"}).encode())
        urllib.request.urlopen(script).read()
        result = spiritlevel.json("audit", release, *PROTOCOL, code=None)
    assert (result["occasion"], result["channels"]["usable"]) == (2, 100)


@pytest.mark.parametrize("value", ["inf", "nan"])
def test_a_temperature_that_is_no_number_is_refused_before_anything_is_ordered(spiritlevel, value):
    release = registered(spiritlevel, "http://127.0.0.1:9/v1")
    spiritlevel("audit", release, *PROTOCOL, "--personas", 20, "--temperature", value, code=2)
    assert spiritlevel.json("status")["audits"] == []


@pytest.mark.parametrize("command", ["audit", "retry"])
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_audit_says_what_is_stored_and_what_continues_and_a_new_one_what_it_leaves(
    spiritlevel, command, sign
):
    options = ("--personas", 600, "--temperature", 0.5, "--concurrency", 2, "--attempts", 1)
    with StubServer() as server:
        release = registered(spiritlevel, server.base_url)
        if command == "retry":
            server.script.default = "500"
            spiritlevel("audit", release, *PROTOCOL, *options, code=2)
            server.script.default = "ok"
        before = server.calls

        def slowly(number, seed, seed_call):
            if server.calls == before + 5:
                os.kill(os.getpid(), sign)
            return {"kind": "ok", "latency_s": 0.1}

        server.script.behaviour = slowly
        if command == "audit":
            spiritlevel("audit", release, *PROTOCOL, *options, "--new", code=128 + sign)
        else:
            spiritlevel("retry", release, "--failed", "--concurrency", 2, code=128 + sign)
        said = re.search(
            r"interrupted: (\d+) of 30 answers of audit 1 are stored; '(.*)' continues it\n", spiritlevel.stderr
        )
        assert spiritlevel.stderr.count("interrupted") == 1
        assert 4 <= int(said[1]) < 20
        del server.script.behaviour
        if command == "audit":
            spiritlevel("audit", release, *PROTOCOL, "--personas", 40, "--temperature", 0.5, "--new")
            assert f"audit 1 of {release} is left with {said[1]} of 30 calls answered" in spiritlevel.stderr
            assert "which is now audit 2" in spiritlevel.stderr
        else:
            spiritlevel(*shlex.split(said[2])[1:])
            assert spiritlevel.json("status")["audits"][0]["state"] == "complete"
