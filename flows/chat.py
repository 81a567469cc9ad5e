"""Asking a model: any OpenAI-compatible Chat Completions endpoint behind one small protocol.

The SDK's own retries are off: it gives up at once when a provider asks for more than two minutes, and it knows
nothing of the other requests of the same audit. Here every try waits for a slot of `flows.load.LoadControl`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, Self

from flows.endpoints import PROVIDER_URL, host_of, on_loopback, usable_key
from flows.load import Call, LoadControl, LoadEndedError, PauseTooLongError
from flows.provider_errors import (
    TOO_LONG_CODES,
    EndpointError,
    ProviderError,
    endpoint_error,
    error_in_answer,
    provider_error,
    unsupported_parameter,
)
from flows.redaction import Redaction
from flows.tries import Tries
from flows.wire import answer_form, small, text_of, usage_of
from metrics.errors import BadInputError
from registry.audits.plan import Decoding, Outcome, Request, Response, Sampling
from registry.ledger.connection import utc_now

__all__ = ["ChatModel", "EndpointError", "OpenAIChat"]

MAX_ADAPTATIONS = 12
CHARACTERS_A_TOKEN = 4.0
TOKENS_OF_AN_ANSWER = 1000  # until the first answer says how long they are
_log = logging.getLogger(__name__)


class ChatModel(Protocol):
    """Whatever answers requests: `OpenAIChat`, or `flows.scripted.ScriptedChat` without a network."""

    async def answer(self, request: Request) -> Response:
        """The answer, or the failure to get one as a `Response` with ``failure`` set."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...


class OpenAIChat:
    """Chat Completions of one model at one endpoint. One instance belongs to one event loop.

    Parameters
    ----------
    model : model id as requested
    base_url : endpoint; None for OpenAI's own
    api_key : the key itself, kept in memory only and removed from everything that comes back; None for servers
        that ask for none. A key of under 6 characters is a placeholder and is not searched for.
    api_key_env : name of the environment variable that the key came from, for messages
    sampling, decoding, decoding_spec : as the plan orders; the spec is JSON text of a schema, or a grammar
    differences : what an earlier `probe` of the same audit found, when the audit is taken up again
    timeout_s : seconds for one try; attempts : tries for one request, besides those that are refused for too many calls
    deadline_s : seconds for one request in all, with waiting, from the time it is first sent
    load : gives each try its slot, and is told how it ended; without one only the provider itself bounds the calls
    clock : gives the ISO time that an answer is stamped with
    monotonic, sleep : source of elapsed seconds and the way to wait

    Raises
    ------
    ValueError : for limits, addresses or keys that cannot work
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        api_key_env: str | None = None,
        sampling: Sampling | None = None,
        decoding: Decoding = Decoding.FREE_TEXT,
        decoding_spec: str | None = None,
        differences: Mapping[str, Any] | None = None,
        timeout_s: float = 120.0,
        attempts: int = 6,
        deadline_s: float = 900.0,
        load: LoadControl | None = None,
        clock: Callable[[], str] = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        import openai

        for name, limit in (("timeout_s", timeout_s), ("attempts", attempts), ("deadline_s", deadline_s)):
            if not (math.isfinite(limit) and limit > 0):
                raise BadInputError(f"{name} must be a positive number, got {limit}")
        self.model = model
        self.base_url = base_url or PROVIDER_URL
        self.host = host_of(self.base_url)
        key = usable_key(api_key, api_key_env)
        self._redaction = Redaction(key)
        self._key_name = api_key_env or "the environment variable that holds the API key"
        self._decoding, self._form = decoding, answer_form(decoding, decoding_spec)
        self._sampling = sampling or Sampling()
        self._sent_as: dict[str, str | None] = {}
        self._differences: dict[str, Any] = {}
        for name, difference in (differences or {}).items():
            self._adapt(name, difference.get("sent_as"), difference.get("ordered"))
        self._timeout_s, self._attempts, self._deadline_s = timeout_s, attempts, deadline_s
        self._clock, self._monotonic, self._sleep = clock, monotonic, sleep
        self.load = load or LoadControl(self.host, tell=_log.info, monotonic=monotonic, sleep=sleep)
        self._answers = 0
        self._jitter = random.Random()  # noqa: S311 - spreads calls in time, guards nothing
        timeout = openai.Timeout(timeout_s, connect=min(10.0, 0.9 * timeout_s))
        # A proxy from the environment cannot reach what listens on this machine only.
        direct = (
            openai.DefaultAsyncHttpxClient(trust_env=False, timeout=timeout) if on_loopback(self.base_url) else None
        )
        try:
            self._client = openai.AsyncOpenAI(
                api_key=key or "none", base_url=self.base_url, max_retries=0, timeout=timeout, http_client=direct
            )
        except (ImportError, ValueError) as error:  # a proxy from the environment that cannot be used
            raise BadInputError(
                f"no connection to {self.host} can be made: {error}; check the proxy variables"
            ) from error

    def __repr__(self) -> str:
        return f"OpenAIChat({self.model!r}, host={self.host!r})"

    @property
    def differences(self) -> dict[str, Any]:
        """Parameters that are sent otherwise than ordered: ``{"temperature": {"ordered": 0.7, "sent": None}}``."""
        return dict(self._differences)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def answer(self, request: Request) -> Response:
        """Ask once, with retries; a failure is a `Response` too.

        Raises
        ------
        EndpointError : wrong key, wrong model or no endpoint, while nothing has ever succeeded here
        """
        result, tries = await self._tried(request)
        if isinstance(result, Response):
            return result
        if result.configuration and not self._answers:
            raise self._endpoint_error(result)
        return self._failed(request, result, tries)

    async def probe(self, request: Request) -> tuple[Response, dict[str, Any]]:
        """Ask the first request of an audit, and drop or rename parameters that the endpoint does not take.

        Returns the answer, which counts as the request's answer, and `differences`. Later calls use what was
        found. The form of the answer (schema, grammar) is part of the instrument and is never dropped.

        Raises
        ------
        EndpointError : when the endpoint refuses the request for good
        """
        result, tries = await self._tried(request)
        for _ in range(MAX_ADAPTATIONS):
            if isinstance(result, Response) or not self._adapted(request, result):
                break
            result, tries = await self._tried(request)
        if isinstance(result, Response):
            return result, self.differences
        if result.configuration or (result.status in (400, 422) and result.code not in TOO_LONG_CODES):
            raise self._endpoint_error(result)
        return self._failed(request, result, tries), self.differences

    def _adapted(self, request: Request, error: ProviderError) -> bool:
        """Drop or rename the parameter that the error names; False when it names none that may change."""
        body = self._body(request)
        refused = unsupported_parameter(error, body)
        if refused is None or refused[0] in self._form:
            return False
        name, instead = refused
        ordered = "per request" if name == "seed" else body[name]
        original = next((known for known, sent in self._sent_as.items() if sent == name), name)
        # A parameter that was renamed and is refused under its new name too is dropped.
        self._adapt(original, instead if original == name else None, ordered)
        return True

    def _adapt(self, name: str, sent_as: str | None, ordered: Any) -> None:
        self._sent_as[name] = sent_as
        difference = {"ordered": ordered, "sent": ordered if sent_as else None}
        self._differences[name] = difference | ({"sent_as": sent_as} if sent_as else {})

    def _body(self, request: Request) -> dict[str, Any]:
        """Everything sent besides the model and the messages, under the names this endpoint takes."""
        ordered = self._sampling.parameters() | ({} if request.seed is None else {"seed": request.seed})
        sent = {self._sent_as.get(name, name): value for name, value in ordered.items()}
        return {name: value for name, value in sent.items() if name is not None} | self._form

    async def _tried(self, request: Request) -> tuple[Response | ProviderError, int]:
        """The answer or the last failure, and the number of tries it took."""
        tries = Tries(attempts=self._attempts, deadline_s=self._deadline_s, answers_before=self._answers)
        while True:
            result = await self._try(request, tries)
            if isinstance(result, Response):
                self._answers += 1
                if tries.made > 1:
                    result = dataclasses.replace(result, extra={**result.extra, "tries": tries.made})
                return result, tries.made
            now, uniform = self._monotonic(), self._jitter.uniform
            further = tries.next_s(result, now=now, answers=self._answers, uniform=uniform)
            if isinstance(further, ProviderError):
                return further, tries.made
            if not (result.rate_limited and result.wait_s):  # that wait is the whole provider's, and part of the slot
                await self._sleep(further)

    async def _try(self, request: Request, tries: Tries) -> Response | ProviderError:
        """One try in a slot of its own."""
        try:
            async with self.load.slot(
                self._tokens_of(request), deadline=tries.deadline if tries.made else None
            ) as call:
                if not tries.begin(call.began):
                    return tries.too_late("", answers=self._answers)
                result = await self._asked(request, tries.deadline - call.began)
                self._settle(call, result)
                return result
        except PauseTooLongError as pause:
            return tries.too_late(str(pause), answers=self._answers)
        except LoadEndedError as ended:
            return ProviderError(words=str(ended), ends=ended.by, lost=True)

    def _settle(self, call: Call, result: Response | ProviderError) -> None:
        """Tell load control how a call ended."""
        if isinstance(result, Response):
            counts = (result.prompt_tokens, result.completion_tokens)
            call.answered(None if None in counts else sum(count or 0 for count in counts))
        elif result.rate_limited or result.overloaded:
            # A wait that is longer than a request may take is not begun: no header may stop the others for that long.
            wait_s = result.wait_s if result.wait_s is not None and result.wait_s < self._deadline_s else None
            call.refused(wait_s, overloaded=result.overloaded)
        elif result.outcome is Outcome.TIMED_OUT:
            call.timed_out()

    def _tokens_of(self, request: Request) -> float:
        """About how many tokens a call will take; what it took replaces it."""
        characters = sum(len(str(message.get("content", ""))) for message in request.messages)
        answer = self._sampling.max_tokens or TOKENS_OF_AN_ANSWER
        return self.load.tokens_of_a_call(characters / CHARACTERS_A_TOKEN + answer)

    async def _asked(self, request: Request, left_s: float) -> Response | ProviderError:
        messages: Any = [dict(message) for message in request.messages]
        started, limit_s = self._monotonic(), min(self._timeout_s, left_s)
        try:
            async with asyncio.timeout(limit_s):
                completion = await self._client.chat.completions.create(
                    model=self.model, messages=messages, extra_body=self._body(request)
                )
        except TimeoutError:
            # The whole try is timed here: the SDK's limit starts anew with every chunk that trickles in.
            words = f"no answer within {limit_s:.3g} s"
            return ProviderError(words=words, outcome=Outcome.TIMED_OUT, transient=True)
        except Exception as error:
            failure = provider_error(error, now=time.time())
        else:
            return self._response(request, completion, latency_s=self._monotonic() - started)
        if failure.filtered:
            return self._stamped(request, refusal=failure.words, finish_reason="content_filter")
        return failure

    def _response(self, request: Request, completion: Any, *, latency_s: float) -> Response | ProviderError:
        fields = getattr(completion, "model_extra", None) or {}
        choices = getattr(completion, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = getattr(choice, "message", None)
        if message is None:
            fault = error_in_answer(fields)
            return fault or ProviderError(words="the answer's body held no choice with a message", transient=True)
        text, refusal = text_of(getattr(message, "content", None)), text_of(getattr(message, "refusal", None))
        prompt_tokens, completion_tokens, strange = usage_of(getattr(completion, "usage", None), text or refusal)
        # Under a name of its own: what a provider calls its fields must never be taken for our bookkeeping.
        extra: dict[str, Any] = {"provider": {name: small(value) for name, value in fields.items()} or None}
        extra["impossible_usage"] = strange
        extra["service_tier"] = getattr(completion, "service_tier", None)
        extra["request_id"] = getattr(completion, "_request_id", None)
        return self._stamped(
            request,
            text=text,
            refusal=refusal,
            finish_reason=text_of(getattr(choice, "finish_reason", None)),
            served_model=text_of(getattr(completion, "model", None)),
            system_fingerprint=text_of(getattr(completion, "system_fingerprint", None)),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            latency_s=latency_s,
            extra={name: value for name, value in extra.items() if value is not None},
        )

    def _failed(self, request: Request, error: ProviderError, tries: int) -> Response:
        extra = {"status": error.status, "code": error.code, "request_id": error.request_id, "tries": tries}
        said = {name: value for name, value in extra.items() if value is not None}
        permanent = error.configuration or not (error.transient or error.lost)
        # The provider is lost (no connection, a spent account, a key that was withdrawn): it says nothing of the request.
        lost: dict[str, Any] = {"lost": True} if error.configuration or error.lost else {}
        if error.ends:
            lost["ends"] = error.ends
        return self._stamped(
            request,
            failure=error.outcome,
            detail=self._redaction.line(error.words),
            extra=said | ({"permanent": True} if permanent else {}) | lost,
        )

    def _stamped(self, request: Request, **fields: Any) -> Response:
        """A response with its request, its time, and no trace of the key in any text."""
        clean, removed = self._redaction.counted(fields)
        if removed:  # beside the answer, which is verbatim but for them
            clean["extra"] = {**clean.get("extra", {}), "redactions": removed}
        reason = clean.get("finish_reason")
        clean["finish_reason"] = reason[:80] if reason else reason
        return Response(
            index=request.index, repeat=request.repeat, requested_model=self.model, received_at=self._clock(), **clean
        )

    def _endpoint_error(self, error: ProviderError) -> EndpointError:
        place = f"the endpoint {self.host} (model {self.model!r})"
        said = self._redaction.line(error.words)
        return endpoint_error(error, said, place=place, key_name=self._key_name, form=str(self._decoding))
