"""`OpenAIChat` against a real HTTP endpoint: every outcome, retries, pauses, the probe, and the key."""

import asyncio
import json
import logging
import socket

import pytest

from flows.chat import ChatModel, EndpointError, OpenAIChat
from flows.redaction import REMOVED_KEY
from registry.audits.plan import Decoding, Outcome, Request, Response, Sampling
from tests.stub_server import StubServer

KEY = "sk-very-secret-0123456789"


class SimulatedTime:
    """Elapsed seconds that only pass while somebody waits."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.waits: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now_s += seconds
        await asyncio.sleep(0)


def request(index: int = 0, **fields) -> Request:
    prompt = "Brainstorm 2 user profiles in JSON format"
    return Request(index=index, messages=({"role": "user", "content": prompt},), seed=100 + index, **fields)


def chat_with(server: StubServer, **options) -> OpenAIChat:
    time = SimulatedTime()
    return OpenAIChat(
        "stub-1",
        **{"base_url": server.base_url, "api_key": KEY, "monotonic": time.monotonic, "sleep": time.sleep} | options,
    )


def answers(chat: ChatModel, *requests: Request) -> list[Response]:
    async def ask() -> list[Response]:
        try:
            return [await chat.answer(each) for each in requests]
        finally:
            await chat.aclose()

    return asyncio.run(ask())


def answer_to(behaviour, **options) -> Response:
    with StubServer(default=behaviour) as server:
        return answers(chat_with(server, **options), request())[0]


def test_an_answer_carries_what_the_provider_says_of_itself():
    with StubServer() as server:
        time = SimulatedTime()
        chat = chat_with(server, clock=lambda: "2026-03-01T00:00:00+00:00", monotonic=time.monotonic)
        (response,) = answers(chat, request(7, repeat=3))
    assert (response.index, response.repeat, response.failure, response.finish_reason) == (7, 3, None, "stop")
    assert (response.requested_model, response.served_model) == ("stub-1", "stub-1-2026-01-01")
    assert response.system_fingerprint == "fp_stub"
    assert len(json.loads(response.text)) == 2
    assert response.prompt_tokens == 50
    assert response.completion_tokens > 20
    assert response.received_at == "2026-03-01T00:00:00+00:00"
    assert response.extra == {"service_tier": "default", "request_id": "req_1", "provider": {"stub_note": {"call": 0}}}


def test_the_same_seed_has_the_same_answer_and_another_seed_another():
    with StubServer() as server:
        first, again, other = answers(chat_with(server), request(1), request(1), request(2))
    assert first.text == again.text != other.text


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        ("fenced", {"finish_reason": "stop", "failure": None}),
        ("bad-personas", {"finish_reason": "stop", "failure": None}),
        ("refusal", {"text": None, "refusal": "I cannot help with that."}),
        ("filtered", {"text": "", "finish_reason": "content_filter"}),
        ("truncated", {"finish_reason": "length", "failure": None}),
        ("empty", {"text": "", "finish_reason": "stop", "failure": None}),
        ("no-usage", {"prompt_tokens": None, "completion_tokens": None, "failure": None}),
        ("wrong-type", {"finish_reason": "stop", "failure": None}),
        ("other-model", {"served_model": "another-model-2026-02-02"}),
    ],
)
def test_every_kind_of_answer_is_kept_as_it_came(behaviour, expected):
    response = answer_to(behaviour)
    assert {name: getattr(response, name) for name in expected} == expected


def test_a_prompt_blocked_by_the_content_filter_is_a_refusal_and_not_a_fault():
    response = answer_to("blocked-prompt")
    assert response.failure is None
    assert response.finish_reason == "content_filter"
    assert response.refusal == "400: The prompt was filtered by policy."


@pytest.mark.parametrize("status", ["408", "409", "500", "502", "503"])
def test_a_transient_failure_is_tried_again_up_to_the_limit(status):
    with StubServer(default=status) as server:
        (response,) = answers(chat_with(server, attempts=3), request())
        assert server.calls == 3
    assert response.failure is Outcome.PROVIDER_ERROR
    assert response.detail == f"{status}: stub failure {status}; given up after 3 tries"
    assert response.extra["tries"] == 3
    assert "permanent" not in response.extra


@pytest.mark.parametrize("status", ["400", "422"])
def test_a_permanent_failure_is_asked_once(status):
    with StubServer(default=status) as server:
        (response,) = answers(chat_with(server), request())
        assert server.calls == 1
    assert response.failure is Outcome.PROVIDER_ERROR
    assert response.extra["permanent"] is True


@pytest.mark.parametrize("behaviour", ["bad-json", "plain-text", "no-choices", "error-in-200", "drop"])
def test_a_broken_answer_is_tried_again(behaviour):
    with StubServer(calls=[behaviour]) as server:
        (response,) = answers(chat_with(server), request())
        assert server.calls == 2
    assert response.failure is None
    assert response.extra["tries"] == 2


def test_a_broken_answer_that_stays_is_a_provider_error_in_words():
    response = answer_to("bad-json", attempts=2)
    assert response.failure is Outcome.PROVIDER_ERROR
    assert response.detail.startswith("the answer's body was not the JSON of a chat completion")


def test_an_endpoint_that_hangs_is_timed_out():
    response = answer_to("hang", timeout_s=0.05, attempts=2)
    assert response.failure is Outcome.TIMED_OUT
    assert response.detail == "no answer within 0.05 s; given up after 2 tries"


def test_a_try_that_is_cut_short_by_the_deadline_names_the_time_that_it_had():
    response = answer_to("hang", timeout_s=60, deadline_s=0.1)
    assert response.failure is Outcome.TIMED_OUT
    assert response.detail.startswith("no answer within 0.1 s")


def test_the_header_can_forbid_another_try():
    with StubServer(default={"kind": "500", "should_retry": "false"}) as server:
        (response,) = answers(chat_with(server), request())
        assert server.calls == 1
    assert response.extra["permanent"] is True


def test_backoff_grows_and_is_jittered():
    time = SimulatedTime()
    answer_to("500", attempts=5, monotonic=time.monotonic, sleep=time.sleep)
    assert len(time.waits) == 4
    for number, wait in enumerate(time.waits):
        assert 0.25 * 2**number <= wait <= 0.5 * 2**number


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [({"retry_after": "7"}, 7.0), ({"retry_after_ms": "400"}, 0.4), ({"retry_after": "150"}, 150.0)],
)
def test_the_wait_that_the_provider_asks_for_is_kept_even_above_two_minutes(header, wait_s):
    time = SimulatedTime()
    with StubServer(calls=[{"kind": "429", **header}]) as server:
        (response,) = answers(chat_with(server, monotonic=time.monotonic, sleep=time.sleep), request())
    assert response.failure is None
    assert response.extra["tries"] == 2
    assert wait_s <= sum(time.waits) <= wait_s * 1.1 + 1.0


def test_the_wait_is_real_when_time_is_real():
    async def elapsed(server: StubServer) -> float:
        chat = OpenAIChat("stub-1", base_url=server.base_url, api_key=KEY)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await chat.answer(request())
        await chat.aclose()
        return loop.time() - began

    with StubServer(calls=[{"kind": "429", "retry_after_ms": "120"}]) as server:
        assert asyncio.run(elapsed(server)) >= 0.12


def test_a_wait_past_the_deadline_is_not_begun_and_ends_the_audit():
    time = SimulatedTime()
    behaviour = {"kind": "429", "retry_after": "10800"}
    response = answer_to(behaviour, deadline_s=60, monotonic=time.monotonic, sleep=time.sleep)
    assert response.failure is Outcome.PROVIDER_ERROR
    assert time.waits == []
    assert response.detail.endswith("it asked to wait 10800 s, and one request may take 60 s in all")
    assert (response.extra["lost"], response.extra["ends"]) == (True, "rate limit")
    assert "permanent" not in response.extra


def test_refusals_for_too_many_are_no_tries_of_the_request_and_only_time_bounds_them():
    with StubServer(calls=["429"] * 9) as server:
        (response,) = answers(chat_with(server, attempts=1), request())
        assert server.calls == 10
    assert response.failure is None
    assert response.extra["tries"] == 10


def test_a_rate_limit_that_outlasts_the_deadline_leaves_the_request_open():
    time = SimulatedTime()
    response = answer_to("429", deadline_s=60, monotonic=time.monotonic, sleep=time.sleep)
    assert response.detail.startswith("429: stub failure 429; ")
    assert response.detail.endswith("one request may take 60 s in all")
    assert (response.extra["lost"], response.extra["ends"]) == (True, "rate limit")
    assert time.now_s < 61


@pytest.mark.parametrize(("status", "calls"), [("429", 3), ("503", 2)])
def test_a_wait_that_the_provider_asks_for_holds_for_every_request(status, calls):
    time = SimulatedTime()
    with StubServer(calls=[{"kind": status, "retry_after": "20"}]) as server:
        options = {"attempts": 1, "monotonic": time.monotonic, "sleep": time.sleep}
        first, second = answers(chat_with(server, **options), request(0), request(1))
        assert server.calls == calls
    assert (first.failure is None, second.failure) == (status == "429", None)
    assert 20 <= time.now_s <= 22


def test_a_fault_that_is_no_rate_limit_pauses_nobody_else():
    time = SimulatedTime()
    with StubServer(calls=[{"kind": "500", "retry_after": "20"}]) as server:
        answers(chat_with(server, attempts=1, monotonic=time.monotonic, sleep=time.sleep), request(0), request(1))
    assert time.waits == []


def test_no_header_pauses_the_client_for_longer_than_a_request_may_take():
    time = SimulatedTime()
    with StubServer(calls=[{"kind": "429", "retry_after": "1e9"}]) as server:
        chat = chat_with(server, deadline_s=60, monotonic=time.monotonic, sleep=time.sleep)
        refused, answered = answers(chat, request(0), request(1))
    assert refused.failure is Outcome.PROVIDER_ERROR
    assert answered.failure is None
    assert sum(time.waits) <= 61


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 50, "completion_tokens": 1}]
)
def test_a_token_count_that_cannot_be_is_no_count(usage):
    response = answer_to({"kind": "ok", "usage": usage})
    assert response.failure is None
    assert (response.prompt_tokens, response.completion_tokens) == (None, None)
    assert response.extra["impossible_usage"] == usage


def test_an_account_without_quota_is_not_asked_again():
    with StubServer(default="quota") as server:
        with pytest.raises(EndpointError, match="no quota left"):
            answers(chat_with(server), request())
        assert server.calls == 1


def test_a_wrong_key_is_one_sentence_that_names_the_variable_and_never_the_key():
    with StubServer(key="another-key-entirely") as server, pytest.raises(EndpointError) as caught:
        answers(chat_with(server, api_key_env="STUB_API_KEY"), request())
    message = str(caught.value)
    assert "STUB_API_KEY" in message
    assert f"127.0.0.1:{server.port}" in message
    assert "'stub-1'" in message
    assert KEY not in message
    assert REMOVED_KEY in message
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_wrong_model_is_one_sentence_that_names_it():
    with StubServer(models={"stub-9": 0.0}) as server, pytest.raises(EndpointError, match=r"'stub-1'.*404.*model id"):
        answers(chat_with(server), request())


def test_an_endpoint_that_is_not_there_is_one_sentence_after_the_tries():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    time = SimulatedTime()
    chat = OpenAIChat("m", base_url=f"http://{address}/v1", attempts=2, monotonic=time.monotonic, sleep=time.sleep)
    with pytest.raises(EndpointError, match=rf"{address} .*was not reached.*after 2 tries.*server runs"):
        answers(chat, request())
    assert len(time.waits) == 1


def test_once_something_has_succeeded_a_wrong_key_is_a_failed_answer():
    with StubServer(calls=["ok", "401"]) as server:
        first, second = answers(chat_with(server), request(0), request(1))
    assert first.failure is None
    assert second.failure is Outcome.PROVIDER_ERROR
    assert second.extra["permanent"] is True


@pytest.mark.parametrize("behaviour", ["echo-answer", "echo-error", "401"])
def test_an_echoed_key_reaches_no_field_of_a_response(behaviour):
    with StubServer(calls=["ok", behaviour, behaviour]) as server:
        response = answers(chat_with(server, attempts=2), request(0), request(1))[1]
    assert KEY not in repr(response)
    assert REMOVED_KEY in repr(response)


def test_the_key_is_in_no_log_line_at_any_level(caplog):
    with caplog.at_level(logging.DEBUG), StubServer(calls=["echo-error", "echo-answer"]) as server:
        answers(chat_with(server), request())
    assert len(caplog.records) > 2
    assert KEY not in caplog.text


def test_the_key_is_in_no_representation_of_the_client():
    chat = OpenAIChat("m", base_url="http://user:password@127.0.0.1:1/v1", api_key=KEY)
    assert KEY not in repr(chat)
    assert "password" not in repr(chat)
    assert KEY not in str(vars(chat))
    asyncio.run(chat.aclose())


def test_characters_that_no_database_takes_are_replaced():
    response = answer_to("odd-characters")
    assert response.text == "lone \ufffd half and \ufffd end"


def test_free_text_sends_no_form_and_unset_parameters_are_left_out():
    with StubServer() as server:
        answers(chat_with(server, sampling=Sampling(temperature=None, top_p=0.9, extra=(("top_k", 0),))), request())
        (body,) = server.received
    assert body.keys() == {"model", "messages", "top_p", "top_k", "seed"}
    assert (body["top_p"], body["top_k"], body["seed"]) == (0.9, 0, 100)


def test_a_schema_is_sent_as_response_format_and_a_grammar_in_the_body():
    with StubServer() as server:
        schema = json.dumps({"type": "object", "properties": {"name": {"type": "string"}}})
        answers(chat_with(server, decoding=Decoding.JSON_SCHEMA, decoding_spec=schema), request())
        answers(chat_with(server, decoding=Decoding.GRAMMAR, decoding_spec='start: "Yes"'), request())
        first, second = server.received
    assert first["response_format"]["type"] == "json_schema"
    assert first["response_format"]["json_schema"]["schema"] == json.loads(schema)
    assert second["grammar"] == 'start: "Yes"'
    assert "response_format" not in second


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base_url": "localhost:8000"}, "must begin with http"),
        ({"api_key": "sk-12345\u20ac"}, "no header can carry"),
        ({"attempts": 0}, "attempts must be a positive number"),
        ({"decoding": Decoding.GRAMMAR}, "needs its specification"),
        ({"decoding": Decoding.JSON_SCHEMA, "decoding_spec": "{"}, "schema as JSON text"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(options, words):
    with pytest.raises(ValueError, match=words):
        OpenAIChat("m", **options)


def probed(server: StubServer, **options) -> tuple[OpenAIChat, Response, dict]:
    async def ask() -> tuple[OpenAIChat, Response, dict]:
        async with chat_with(server, **options) as chat:
            response, differences = await chat.probe(request(0))
            await chat.answer(request(1))
            return chat, response, differences

    return asyncio.run(ask())


def test_the_probe_renames_and_drops_what_the_endpoint_does_not_take():
    unsupported = {"max_tokens": "max_completion_tokens", "temperature": None, "seed": None, "top_k": None}
    with StubServer(unsupported=unsupported) as server:
        sampling = Sampling(temperature=0.7, max_tokens=800, extra=(("top_k", 40),))
        chat, response, differences = probed(server, sampling=sampling)
        assert server.calls == 4 + 2, "one call for each refusal, the answer, and the second request"
        assert server.received[-1].keys() == {"model", "messages", "max_completion_tokens"}
    assert response.failure is None
    assert response.text
    assert differences == chat.differences
    assert differences == {
        "temperature": {"ordered": 0.7, "sent": None},
        "max_tokens": {"ordered": 800, "sent": 800, "sent_as": "max_completion_tokens"},
        "seed": {"ordered": "per request", "sent": None},
        "top_k": {"ordered": 40, "sent": None},
    }


def test_a_parameter_that_is_refused_under_its_new_name_too_is_dropped():
    with StubServer(unsupported={"max_tokens": "max_completion_tokens", "max_completion_tokens": None}) as server:
        _, response, differences = probed(server, sampling=Sampling(max_tokens=800))
    assert response.failure is None
    assert differences == {"max_tokens": {"ordered": 800, "sent": None}}


def test_differences_of_an_earlier_probe_are_used_from_the_first_call():
    known = {
        "temperature": {"ordered": 0.7, "sent": None},
        "max_tokens": {"ordered": 800, "sent": 800, "sent_as": "max_completion_tokens"},
    }
    with StubServer() as server:
        sampling = Sampling(temperature=0.7, max_tokens=800)
        chat = chat_with(server, sampling=sampling, differences=json.loads(json.dumps(known)))
        answers(chat, request())
        assert server.received[0].keys() == {"model", "messages", "max_completion_tokens", "seed"}
    assert chat.differences == known


def test_an_endpoint_that_takes_everything_is_probed_with_one_call():
    with StubServer() as server:
        _, response, differences = probed(server)
        assert server.calls == 2
    assert response.failure is None
    assert differences == {}


def test_the_form_of_the_answer_is_never_dropped():
    with StubServer(unsupported={"grammar": None}) as server:
        with pytest.raises(EndpointError, match="decoding form 'grammar'"):
            probed(server, decoding=Decoding.GRAMMAR, decoding_spec="start: X")
        assert server.calls == 1


def test_a_first_request_that_is_refused_for_good_stops_the_audit():
    with StubServer(default="400") as server, pytest.raises(EndpointError, match="refused the first request: 400"):
        probed(server)


def test_a_first_request_that_is_only_too_long_is_a_failed_answer():
    with StubServer(default={"kind": "400", "code": "context_length_exceeded"}) as server:
        _, response, differences = probed(server)
    assert response.failure is Outcome.PROVIDER_ERROR
    assert differences == {}
