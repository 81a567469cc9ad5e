"""A real OpenAI-compatible endpoint on 127.0.0.1 for tests: standard library only, in a thread or as a process.

In a test, where every behaviour is chosen per call::

    with StubServer(calls=["429", "ok"], models={"stub-1": 0.0, "stub-2": 0.4}) as server:
        chat = OpenAIChat("stub-1", base_url=server.base_url, api_key="any")

As a process of its own, that survives the kill of its client::

    python -m tests.stub_server --port 0 --script script.json    # prints: READY http://127.0.0.1:PORT/v1

A script holds the arguments of `StubServer` as JSON. ``GET /calls`` says what was asked so far, ``POST /script``
changes behaviours while the server runs.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import json
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.stub_personas import answer_text

Behaviour = str | Mapping[str, Any]

KINDS = (
    "ok", "fenced", "bad-personas", "refusal", "filtered", "truncated", "empty", "no-choices", "no-usage",
    "echo-answer", "other-model", "odd-characters", "error-in-200", "bad-json", "plain-text", "wrong-type", "cut-body",
    "slow-loris", "hang", "drop",
    "400", "401", "403", "404", "408", "409", "422", "429", "500", "502", "503", "quota", "echo-error",
    "blocked-prompt", "unsupported",
)  # fmt: skip


@dataclasses.dataclass
class Script:
    """What the server does.

    Parameters
    ----------
    models : known model ids and the bias of each; another id is answered with 404
    key : the API key that is right; None takes any
    default : behaviour of calls that nothing else names
    calls : behaviours of the first, second, ... call since the start
    by_seed : behaviour of every call with that seed, or a list for its first, second, ... call
    shares : share of the seeds with a behaviour (``{"refusal": 0.05}``), always the same seeds
    unsupported : parameters answered with 400, and the name to use instead or None (only the default is taken)
    refuses : words that make the model refuse a quarter of the prompts with them; served : served model ids that alternate; empty serves ``MODEL-2026-01-01``
    latency_s : time that each call takes; per_call : personas per answer, else what the prompt asks for
    extra_fields : further fields at the top of every answer's body
    at_a_time : calls that are answered at a time; others get 429 at once
    per_minute : calls that begin in any ``minute_s`` seconds; others get 429 at once, with the wait when ``says_wait``
    """

    models: dict[str, float] = dataclasses.field(default_factory=lambda: {"stub-1": 0.0, "stub-2": 0.4})
    key: str | None = None
    default: Behaviour = "ok"
    calls: Sequence[Behaviour] = ()
    by_seed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    shares: Mapping[str, float] = dataclasses.field(default_factory=dict)
    unsupported: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    served: Sequence[str] = ()
    refuses: str = ""
    latency_s: float = 0.0
    per_call: int | None = None
    extra_fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    at_a_time: int | None = None
    per_minute: int | None = None
    minute_s: float = 60.0
    says_wait: bool = False

    def behaviour(self, call: int, seed: int | None, seed_call: int) -> dict[str, Any]:
        """Behaviour of the ``call``-th call, the ``seed_call``-th with its seed (both from 0)."""
        chosen: Behaviour = self.default
        planned = self.by_seed.get(str(seed))
        if isinstance(planned, list | tuple):
            planned = planned[seed_call] if seed_call < len(planned) else None
        if planned is not None:
            chosen = planned
        elif call < len(self.calls):
            chosen = self.calls[call]
        else:
            point = int(hashlib.sha256(f"share {seed}".encode()).hexdigest()[:8], 16) / 16**8
            for kind, share in self.shares.items():
                if 0 <= point < share:
                    chosen = kind
                point -= share
        behaviour = {"kind": chosen} if isinstance(chosen, str) else dict(chosen)
        if behaviour["kind"] not in KINDS:
            raise ValueError(f"unknown behaviour {behaviour['kind']!r}; known: {', '.join(KINDS)}")
        return behaviour


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests and leave no traceback."""


class StubServer:
    """The endpoint in a thread; use it as a context manager. Arguments are the fields of `Script`."""

    def __init__(self, *, port: int = 0, **script: Any) -> None:
        self.script = Script(**script)
        self.received: list[dict[str, Any]] = []
        self.by_seed: Counter[str] = Counter()
        self.in_flight = 0
        self.peak_in_flight = 0
        self.refused = 0
        self.taken: list[float] = []
        self.sampled: list[int] = []
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), _handler(self))
        self.port: int = self._server.server_address[1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> int:
        """Calls for a completion since the start."""
        return len(self.received)

    def serve(self) -> None:
        """Answer until `close`, in this thread."""
        self._server.serve_forever(poll_interval=0.02)

    def close(self) -> None:
        """Release hanging calls and stop."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def counts(self) -> dict[str, Any]:
        """What ``GET /calls`` answers."""
        with self.lock:
            return {
                "calls": len(self.received),
                "by_seed": dict(self.by_seed),
                "in_flight": self.in_flight,
                "peak_in_flight": self.peak_in_flight,
                "refused": self.refused,
                "mean_in_flight": sum(self.sampled) / max(1, len(self.sampled)),
            }

    def refusal(self) -> dict[str, Any] | None:
        """Whether a call that has just come is one too many; called with the lock held and the call counted."""
        script, now = self.script, time.monotonic()
        self.taken = [moment for moment in self.taken if moment > now - script.minute_s]
        behaviour: dict[str, Any] = {"kind": "429", "refused": True, "latency_s": 0}
        if script.per_minute is not None and len(self.taken) >= script.per_minute:
            wait_s = self.taken[0] + script.minute_s - now
            self.refused += 1
            return behaviour | ({"retry_after": f"{wait_s:.3f}"} if script.says_wait else {})
        if script.at_a_time is not None and self.in_flight > script.at_a_time:
            self.refused += 1
            return behaviour
        self.taken.append(now)
        return None


@contextlib.contextmanager
def stub_process(directory: pathlib.Path, **script: Any) -> Iterator[str]:
    """The endpoint as a process of its own; gives its base URL and ends the process afterwards."""
    path = directory / "stub_script.json"
    path.write_text(json.dumps(script))
    root = pathlib.Path(__file__).resolve().parent.parent
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.stub_server", "--port", "0", "--script", str(path)],
        cwd=root, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line.startswith("READY "):
            raise RuntimeError(f"the stub endpoint did not start; it printed {line!r}")
        yield line.split()[1]
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


def _error(message: str, *, code: str | None = None, param: str | None = None) -> bytes:
    fields = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return json.dumps({"error": fields}).encode()


def _completion(script: Script, body: dict[str, Any], behaviour: dict[str, Any], call: int, echo: str) -> bytes:
    kind, model = behaviour["kind"], body["model"]
    if (
        kind == "ok"
        and script.refuses
        and script.refuses in str(body["messages"])
        and int(body.get("seed") or 0) % 4 == 0
    ):
        kind = "refusal"
    seed = body.get("seed", f"call {call}")
    text: str | None = answer_text(body, seed=f"{model} {seed}", bias=script.models[model], per_call=script.per_call)
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    finish = "stop"
    if kind == "fenced":
        message["content"] = f"Here are the profiles:\n```json\n{text}\n```\nLet me know if you need more."
    elif kind == "bad-personas":
        message["content"] = 'Sure! {"name": "Ann", "gender": [[, and so on'
    elif kind == "refusal":
        message |= {"content": None, "refusal": "I cannot help with that."}
    elif kind == "filtered":
        message["content"], finish = "", "content_filter"
    elif kind == "truncated":
        message["content"], finish = str(text)[: max(1, len(str(text)) * 3 // 5)], "length"
    elif kind == "empty":
        message["content"] = ""
    elif kind == "echo-answer":
        message |= {"content": f"{text}\nYour header was {echo}.", "refusal": f"header {echo}"}
    elif kind == "odd-characters":
        message["content"] = "lone \ud83d half and \x00 end"
    served = script.served[call % len(script.served)] if script.served else f"{model}-2026-01-01"
    answer: dict[str, Any] = {
        "id": f"chatcmpl-{call}",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": "another-model-2026-02-02" if kind == "other-model" else served,
        "system_fingerprint": behaviour.get("fingerprint", "fp_stub"),
        "service_tier": "default",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 20 + len(str(message["content"])) // 4},
        "stub_note": echo if kind == "echo-answer" else {"call": call},
    }
    answer["usage"]["total_tokens"] = sum(answer["usage"].values())
    if kind == "no-choices":
        answer["choices"] = []
    if kind == "no-usage":
        del answer["usage"]
    if "usage" in behaviour:
        answer["usage"] = behaviour["usage"]
    return json.dumps({**script.extra_fields, **answer}).encode()


def _failure(kind: str, behaviour: dict[str, Any], body: dict[str, Any], echo: str) -> tuple[int, bytes] | None:
    """Status and body of the failing behaviours; None for those that answer."""
    named = {
        "quota": (429, _error("You exceeded your current quota, check your plan.", code="insufficient_quota")),
        "echo-error": (500, _error(f"could not verify the header {echo!r}", code="echo")),
        "blocked-prompt": (400, _error("The prompt was filtered by policy.", code="content_filter", param="prompt")),
        "401": (401, _error(f"Incorrect API key provided: {echo.removeprefix('Bearer ')}", code="invalid_api_key")),
        "404": (404, _error(f"The model {body.get('model')!r} does not exist", code="model_not_found")),
        "unsupported": (400, _unsupported(behaviour.get("param", "temperature"), behaviour.get("instead"))),
        "error-in-200": (200, b'{"error": {"message": "upstream overloaded", "code": 503}}'),
        "bad-json": (200, b'{"id": "chatcmpl-1", "choices": [{"index": 0, "mess'),
        "plain-text": (200, b"<html>It works!</html>"),
    }
    if kind in named:
        return named[kind]
    return (int(kind), _error(f"stub failure {kind}", code=behaviour.get("code"))) if kind.isdigit() else None


def _unsupported(param: str, instead: str | None) -> bytes:
    if instead:
        message = f"Unsupported parameter: '{param}' is not supported with this model. Use '{instead}' instead."
        return _error(message, code="unsupported_parameter", param=param)
    message = (
        f"Unsupported value: '{param}' does not support this value with this model. Only the default is supported."
    )
    return _error(message, code="unsupported_value", param=param)


def _handler(stub: StubServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            """Quiet."""

        def reply(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
            fields = {"Content-Type": "application/json", "Content-Length": str(len(body))}
            fields |= {"x-request-id": f"req_{stub.calls}"} | dict(headers or {})
            head = (
                f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
            )
            self.wfile.write(head.encode() + body)  # one write: two would wait for a delayed acknowledgement

        def do_GET(self) -> None:
            if self.path == "/calls":
                return self.reply(200, json.dumps(stub.counts()).encode())
            if self.path == "/v1/models":
                data = [
                    {"id": name, "object": "model", "owned_by": "stub", "created": 0} for name in stub.script.models
                ]
                return self.reply(200, json.dumps({"object": "list", "data": data}).encode())
            return self.reply(404, _error(f"no page {self.path}"))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
            if stub.closing.is_set():  # a server that is gone answers on no old connection either
                self.close_connection = True
                return None
            if self.path == "/script":
                stub.script = dataclasses.replace(stub.script, **body)
                return self.reply(200, b"{}")
            if self.path != "/v1/chat/completions":
                return self.reply(404, _error(f"no page {self.path}"))
            with stub.lock:
                call, seed = len(stub.received), body.get("seed")
                stub.received.append(body)
                seed_call = stub.by_seed[str(seed)]
                stub.by_seed[str(seed)] += 1
                stub.in_flight += 1
                refusal = stub.refusal()
                if refusal is None:
                    stub.peak_in_flight = max(stub.peak_in_flight, stub.in_flight)
                    stub.sampled.append(stub.in_flight)
            try:
                behaviour = refusal or stub.script.behaviour(call, seed, seed_call)
                wait = behaviour.get("latency_s", stub.script.latency_s)
                if wait:
                    stub.closing.wait(wait)
                if behaviour["kind"] == "hang":
                    stub.closing.wait()
            finally:
                with stub.lock:  # before the answer leaves: its reader may call again at once
                    stub.in_flight -= 1
            return self.answer(call, body, behaviour)

        def answer(self, call: int, body: dict[str, Any], behaviour: dict[str, Any]) -> None:
            kind, echo = behaviour["kind"], self.headers.get("Authorization", "")
            if kind in ("hang", "drop"):
                self.close_connection = True
                return None
            script = stub.script
            if script.key is not None and echo != f"Bearer {script.key}":
                kind = "401"
            elif body.get("model") not in script.models:
                kind = "404"
            refused = [name for name in script.unsupported if name in body]
            if refused and kind == "ok":
                return self.reply(400, _unsupported(refused[0], script.unsupported[refused[0]]))
            failure = _failure(kind, behaviour, body, echo)
            if failure is None:
                return self.complete(kind, _completion(script, body, behaviour, call, echo))
            names = {"retry_after": "retry-after", "retry_after_ms": "retry-after-ms", "should_retry": "x-should-retry"}
            headers = {header: str(behaviour[name]) for name, header in names.items() if name in behaviour}
            if kind == "plain-text":
                headers["Content-Type"] = "text/html"
            return self.reply(*failure, headers)

        def complete(self, kind: str, body: bytes) -> None:
            """Send an answer, or as much of it as the behaviour lets through."""
            if kind == "wrong-type":
                return self.reply(200, body, {"Content-Type": "image/png"})
            if kind == "cut-body":
                self.close_connection = True
                return self.reply(200, body[: len(body) // 2], {"Content-Length": str(len(body))})
            if kind == "slow-loris":
                self.close_connection = True
                self.reply(200, body[:1], {"Content-Length": str(len(body))})
                for position in range(1, len(body)):
                    if stub.closing.wait(0.05):
                        return None
                    self.wfile.write(body[position : position + 1])
                return None
            return self.reply(200, body)

    return Handler


def main() -> None:
    """Serve in the foreground until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=pathlib.Path, help="JSON file with the fields of Script")
    options = parser.parse_args()
    server = StubServer(port=options.port, **(json.loads(options.script.read_text()) if options.script else {}))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"READY {server.base_url}", flush=True)
    server.serve()


if __name__ == "__main__":
    main()
