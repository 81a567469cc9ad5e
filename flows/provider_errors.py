"""Reading what went wrong at a provider: whether asking again can help, and how long to wait before it."""

from __future__ import annotations

import dataclasses
import email.utils
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from metrics.errors import BadInputError
from registry.audits.plan import Outcome

TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
# A 429 with one of these codes says that the account is exhausted: waiting does not help.
SPENT_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})
TOO_LONG_CODES = frozenset({"context_length_exceeded", "string_above_max_length"})
# These come back for every request alike: the key, the model id or the address is wrong.
CONFIGURATION_STATUS = frozenset({401, 402, 403, 404, 405})
OVERLOADED_STATUS = frozenset({503, 529})


class EndpointError(BadInputError):
    """The endpoint cannot be used as configured; the message says which, what came, and what to do."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProviderError:
    """One try that failed.

    Parameters
    ----------
    words : what came, in words (as the provider put it: to be scrubbed before it goes anywhere)
    outcome : `Outcome.TIMED_OUT` or `Outcome.PROVIDER_ERROR`
    transient : asking again can help
    status, code, param, request_id : as the provider said
    wait_s : seconds that the provider asked to wait
    unreachable : no connection was made
    body : the error body as text, for finding the parameter that it names
    ends : why no request at all can be answered now (``quota``, ``rate limit``, ``unreachable``); empty when others may
    lost : says nothing of the request, which stays open
    """

    words: str
    outcome: Outcome = Outcome.PROVIDER_ERROR
    transient: bool = False
    status: int | None = None
    code: str | None = None
    param: str | None = None
    request_id: str | None = None
    wait_s: float | None = None
    unreachable: bool = False
    body: str = ""
    ends: str = ""
    lost: bool = False

    @property
    def rate_limited(self) -> bool:
        """Whether the provider asks the whole client to slow down."""
        return self.status == 429 and self.transient

    @property
    def overloaded(self) -> bool:
        """Whether the provider says that it has too much to do, whoever asks."""
        return self.status in OVERLOADED_STATUS and self.transient

    @property
    def spent(self) -> bool:
        """Whether the account has no quota left."""
        return self.code in SPENT_CODES or self.status == 402

    @property
    def configuration(self) -> bool:
        """Whether every other request would fail the same way."""
        return self.unreachable or self.spent or self.status in CONFIGURATION_STATUS

    @property
    def filtered(self) -> bool:
        """Whether the provider's content filter blocked the prompt: a refusal, not a fault."""
        return self.status == 400 and self.code in FILTER_CODES


def retry_after_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds that the headers ask to wait; None when they do not say, or not in a readable form.

    Parameters
    ----------
    headers : response headers; ``retry-after-ms`` is preferred to ``retry-after`` (seconds or an HTTP date)
    now : seconds since 1970, for the date form

    Examples
    --------
    >>> retry_after_s({"retry-after": "3"}, now=0), retry_after_s({"retry-after-ms": "250", "retry-after": "3"}, now=0)
    (3.0, 0.25)
    >>> retry_after_s({"retry-after": "Thu, 01 Jan 1970 00:05:00 GMT"}, now=60)
    240.0
    >>> retry_after_s({"retry-after": "soon"}, now=0) is None
    True
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    date = email.utils.parsedate_tz(headers.get("retry-after", ""))
    try:
        return max(float(email.utils.mktime_tz(date)) - now, 0.0) if date else None
    except (ValueError, OverflowError):
        return None


def provider_error(error: Exception, *, now: float) -> ProviderError:
    """Read an exception of the OpenAI client, or of the JSON in a body, into a `ProviderError`.

    Anything that is neither is a fault of this program and is raised again.
    """
    import openai

    if isinstance(error, openai.APIStatusError):
        return _status_error(error, now=now)
    cause = error.__cause__
    reason = f"{type(cause).__name__}: {cause}" if cause is not None and str(cause) else type(cause or error).__name__
    if isinstance(error, openai.APITimeoutError):
        connecting = type(cause).__name__ == "ConnectTimeout"
        words = "no connection within the time limit" if connecting else "no answer within the time limit"
        outcome = Outcome.PROVIDER_ERROR if connecting else Outcome.TIMED_OUT
        return ProviderError(words=words, outcome=outcome, transient=True, unreachable=connecting)
    if isinstance(error, openai.APIConnectionError):
        unreachable = type(cause).__name__ == "ConnectError"
        return ProviderError(words=f"the connection failed ({reason})", transient=True, unreachable=unreachable)
    if isinstance(error, openai.APIError | ValueError | RecursionError):
        words = f"the answer's body was not the JSON of a chat completion ({type(error).__name__})"
        return ProviderError(words=words, transient=True)
    raise error


def _status_error(error: Any, *, now: float) -> ProviderError:
    headers = error.response.headers
    body = error.body if isinstance(error.body, Mapping) else {}
    status = int(error.status_code)
    code = _word(body.get("code")) or _word(body.get("type"))
    said = body.get("message") or error.response.text or error.response.reason_phrase
    transient = (status in TRANSIENT_STATUS or status >= 500) and status != 501 and code not in SPENT_CODES
    if headers.get("x-should-retry") in ("true", "false") and code not in SPENT_CODES:
        transient = headers["x-should-retry"] == "true"
    return ProviderError(
        words=f"{status}: {said}",
        transient=transient,
        status=status,
        code=code,
        param=_word(body.get("param")),
        request_id=error.request_id,
        wait_s=retry_after_s(headers, now=now),
        body=error.response.text,
    )


def error_in_answer(fields: Mapping[str, Any]) -> ProviderError | None:
    """Read the ``error`` object that some gateways put in a body with status 200; None when there is none.

    >>> error_in_answer({"error": {"message": "overloaded", "code": 503}}).transient
    True
    """
    error = fields.get("error")
    if not error:
        return None
    values = error if isinstance(error, Mapping) else {"message": error}
    code = values.get("code")
    status = code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600 else None
    return ProviderError(
        words=f"{status or 200}: {values.get('message') or json.dumps(dict(values), default=str)}",
        transient=status is None or status in TRANSIENT_STATUS or status >= 500,
        status=status,
        code=_word(code),
    )


def unsupported_parameter(error: ProviderError, sent: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """Name of the sent parameter that a 400 or 422 calls unsupported, and the name to use instead when it says one.

    Examples
    --------
    >>> said = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    >>> unsupported_parameter(ProviderError(words=said, status=400, body=said), {"max_tokens": 9, "seed": 1})
    ('max_tokens', 'max_completion_tokens')
    """
    if error.status not in (400, 422):
        return None
    text = f"{error.code} {error.words} {error.body}"
    says_so = re.search(
        r"unsupported|not support|unrecognized|unknown|unexpected|not permitted|not allowed|not accept",
        text,
        re.IGNORECASE,
    )
    if not says_so:
        return None
    named = (
        [error.param] if error.param in sent else [name for name in sent if re.search(rf"\b{re.escape(name)}\b", text)]
    )
    if not named or named[0] is None:
        return None
    name = named[0]
    renamed = name == "max_tokens" and "max_completion_tokens" in text
    return name, "max_completion_tokens" if renamed else None


def endpoint_error(error: ProviderError, said: str, *, place: str, key_name: str, form: str) -> EndpointError:
    """The sentence for an endpoint that cannot be used as configured.

    Parameters
    ----------
    said : what came, scrubbed; place : which endpoint and model; key_name : where the key is from; form : of the answer
    """
    if error.unreachable:
        return EndpointError(f"{place} was not reached: {said}; check the address and that the server runs")
    if error.spent:
        return EndpointError(f"{place} says the account has no quota left: {said}; add credit, or set another key")
    if error.status in (401, 403):
        return EndpointError(f"{place} refused the API key: {said}; set {key_name} to a key that may use it")
    if error.status in (404, 405):
        return EndpointError(f"{place} has no such model or path: {said}; check the model id and the base URL")
    way = f"check the sampling parameters, and whether it takes the decoding form {form!r}"
    return EndpointError(f"{place} refused the first request: {said}; {way}")


def _word(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
