"""Asking a model: any OpenAI-compatible Chat Completions endpoint behind one small protocol.

The SDK's own retries are off: it gives up at once when a provider asks for more than two minutes, and it knows
nothing of the other requests of the same audit. Here a rate limit pauses the whole client.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import math
import random
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, Self

from flows.provider_errors import (
    TOO_LONG_CODES,
    EndpointError,
    ProviderError,
    error_in_answer,
    provider_error,
    unsupported_parameter,
)
from flows.redaction import Redaction
from flows.wire import answer_form, count_of, small, text_of
from metrics.errors import BadInputError
from registry.audits.plan import Decoding, Outcome, Request, Response, Sampling

__all__ = ["ChatModel", "EndpointError", "OpenAIChat", "first_answer", "utc_now"]

PROVIDER_URL = "https://api.openai.com/v1"
BACKOFF_S = 0.5
LONGEST_BACKOFF_S = 60.0
MAX_ADAPTATIONS = 12


class ChatModel(Protocol):
    """Whatever answers requests: `OpenAIChat`, or `flows.scripted.ScriptedChat` without a network."""

    async def answer(self, request: Request) -> Response:
        """The answer, or the failure to get one as a `Response` with ``failure`` set."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...


async def first_answer(chat: ChatModel, request: Request) -> tuple[Response, dict[str, Any]]:
    """The first call of an audit, which counts, and the sampling parameters that the endpoint refused.

    Uses the model's ``probe`` when it has one; other models answer as usual and refuse nothing.
    """
    probe = getattr(chat, "probe", None)
    if probe is None:
        return await chat.answer(request), {}
    response, differences = await probe(request)
    return response, differences


def utc_now() -> str:
    """The time now, as ISO text in UTC with milliseconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


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
    timeout_s : seconds for one try; attempts : tries for one request
    deadline_s : seconds for one request in all, with waiting, from the time it is first sent
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
        self.host = _host(self.base_url)
        key = _usable_key(api_key, api_key_env)
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
        self._paused_until = -math.inf
        self._answered = False
        self._jitter = random.Random()  # noqa: S311 - spreads calls in time, guards nothing
        timeout = openai.Timeout(timeout_s, connect=min(10.0, 0.9 * timeout_s))
        # A proxy from the environment cannot reach what listens on this machine only.
        direct = (
            openai.DefaultAsyncHttpxClient(trust_env=False, timeout=timeout) if _on_loopback(self.base_url) else None
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
        if result.configuration and not self._answered:
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
        import tenacity

        await self._gate()  # not part of the deadline: a request that waits for its turn is not late
        deadline = self._monotonic() + self._deadline_s

        def again(state: tenacity.RetryCallState) -> bool:
            assert state.outcome is not None
            # A cancelled try holds an exception, which tenacity raises again when it is not retried.
            result = None if state.outcome.failed else state.outcome.result()
            return isinstance(result, ProviderError) and result.transient

        def over(state: tenacity.RetryCallState) -> bool:
            return state.attempt_number >= self._attempts or self._monotonic() + state.upcoming_sleep >= deadline

        def last(state: tenacity.RetryCallState) -> ProviderError:
            assert state.outcome is not None
            error: ProviderError = state.outcome.result()
            late = state.attempt_number < self._attempts
            return dataclasses.replace(error, words=f"{error.words}; {self._limit(error, late)}")

        retrying = tenacity.AsyncRetrying(
            retry=again, stop=over, wait=self._pause, sleep=self._sleep, retry_error_callback=last
        )
        result: Response | ProviderError = await retrying(self._try, request, deadline)
        tries = int(retrying.statistics["attempt_number"])
        if isinstance(result, Response):
            self._answered = True
            if tries > 1:
                result = dataclasses.replace(result, extra={**result.extra, "tries": tries})
        return result, tries

    def _limit(self, error: ProviderError, late: bool) -> str:
        if not late:
            return f"given up after {self._attempts} {'try' if self._attempts == 1 else 'tries'}"
        wait = f"it asked to wait {error.wait_s:g} s, and " if error.wait_s else ""
        return f"{wait}one request may take {self._deadline_s:g} s in all"

    def _pause(self, state: Any) -> float:
        """Seconds before the next try; a rate limit also pauses every other request of this client."""
        error: ProviderError = state.outcome.result()
        backoff = min(LONGEST_BACKOFF_S, BACKOFF_S * 2.0 ** (state.attempt_number - 1))
        wait: float = backoff * self._jitter.uniform(0.5, 1.0)
        if error.wait_s:
            wait = error.wait_s + self._jitter.uniform(0.0, min(1.0, 0.1 * error.wait_s))
        if error.rate_limited:
            # No single header may stop the client for longer than a request may take.
            self._paused_until = max(self._paused_until, self._monotonic() + min(wait, self._deadline_s))
        return wait

    async def _gate(self) -> None:
        """Wait out a pause that any request of this client has met."""
        while (left := self._paused_until - self._monotonic()) > 0:
            # Spread the waiting requests a little, so that they do not all call in the same instant.
            await self._sleep(left + self._jitter.uniform(0.0, min(1.0, 0.1 * left)))

    async def _try(self, request: Request, deadline: float) -> Response | ProviderError:
        await self._gate()
        started = self._monotonic()
        if started >= deadline:
            return ProviderError(words="the endpoint's rate limit outlasted the request", transient=True)
        messages: Any = [dict(message) for message in request.messages]
        try:
            async with asyncio.timeout(min(self._timeout_s, deadline - started)):
                completion = await self._client.chat.completions.create(
                    model=self.model, messages=messages, extra_body=self._body(request)
                )
        except TimeoutError:
            # The whole try is timed here: the SDK's limit starts anew with every chunk that trickles in.
            words = f"no answer within {self._timeout_s:g} s"
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
        usage = getattr(completion, "usage", None)
        # Under a name of its own: what a provider calls its fields must never be taken for our bookkeeping.
        extra: dict[str, Any] = {"provider": {name: small(value) for name, value in fields.items()} or None}
        extra["service_tier"] = getattr(completion, "service_tier", None)
        extra["request_id"] = getattr(completion, "_request_id", None)
        return self._stamped(
            request,
            text=text_of(getattr(message, "content", None)),
            refusal=text_of(getattr(message, "refusal", None)),
            finish_reason=text_of(getattr(choice, "finish_reason", None)),
            served_model=text_of(getattr(completion, "model", None)),
            system_fingerprint=text_of(getattr(completion, "system_fingerprint", None)),
            prompt_tokens=count_of(getattr(usage, "prompt_tokens", None)),
            completion_tokens=count_of(getattr(usage, "completion_tokens", None)),
            latency_s=latency_s,
            extra={name: value for name, value in extra.items() if value is not None},
        )

    def _failed(self, request: Request, error: ProviderError, tries: int) -> Response:
        extra = {"status": error.status, "code": error.code, "request_id": error.request_id, "tries": tries}
        said = {name: value for name, value in extra.items() if value is not None}
        permanent = error.configuration or not error.transient
        # The provider is lost (no connection, a spent account, a key that was withdrawn): it says nothing of the request.
        lost = {"lost": True} if error.configuration else {}
        return self._stamped(
            request,
            failure=error.outcome,
            detail=self._redaction.line(error.words),
            extra=said | ({"permanent": True} if permanent else {}) | lost,
        )

    def _stamped(self, request: Request, **fields: Any) -> Response:
        """A response with its request, its time, and no trace of the key in any text."""
        clean = {name: self._redaction.of(value) for name, value in fields.items()}
        reason = clean.get("finish_reason")
        clean["finish_reason"] = reason[:80] if reason else reason
        return Response(
            index=request.index, repeat=request.repeat, requested_model=self.model, received_at=self._clock(), **clean
        )

    def _endpoint_error(self, error: ProviderError) -> EndpointError:
        place = f"the endpoint {self.host} (model {self.model!r})"
        said = self._redaction.line(error.words)
        if error.unreachable:
            return EndpointError(f"{place} was not reached: {said}; check the address and that the server runs")
        if error.spent or error.status == 402:
            return EndpointError(f"{place} says the account has no quota left: {said}; add credit, or set another key")
        if error.status in (401, 403):
            return EndpointError(f"{place} refused the API key: {said}; set {self._key_name} to a key that may use it")
        if error.status in (404, 405):
            return EndpointError(f"{place} has no such model or path: {said}; check the model id and the base URL")
        way = f"check the sampling parameters, and whether it takes the decoding form {str(self._decoding)!r}"
        return EndpointError(f"{place} refused the first request: {said}; {way}")


def _on_loopback(base_url: str) -> bool:
    host = urllib.parse.urlsplit(base_url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def _host(base_url: str) -> str:
    """Host and port of the address, without any user name or password in it."""
    parts = urllib.parse.urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInputError(
            f"the endpoint's address must begin with http:// or https:// and name a host, got {base_url!r}"
        )
    return parts.hostname + (f":{parts.port}" if parts.port else "")


def _usable_key(api_key: str | None, name: str | None) -> str:
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise BadInputError(
            f"the API key in {name or 'the environment'} holds characters no header can carry: set it again"
        )
    return key
