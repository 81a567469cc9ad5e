"""What an audit asks (`AuditPlan`, `Request`), what came back (`Response`), and how it was read (`Record`).

Three identities are never mixed. The *collection key* hashes what was asked: protocol and version, rendered
prompts, decoding form and sampling. The *scoring version* hashes how answers were read and measured. The
*comparison policy* says how scores were judged. Sample size and seed belong to none of them.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from metrics.errors import BadInputError

RATINGS, TERM_PROPOSALS = "ratings", "term-proposals"
OF_JUDGES = (RATINGS, TERM_PROPOSALS)
"""Names of what a judge is asked: stored as audits of the judge, and no audit *of* a release, so lists of these leave them out."""


class Outcome(enum.StrEnum):
    """What became of an answer. Only `ok` enters a metric; the others are counted with their reason."""

    OK = "ok"
    REFUSED = "refused"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    UNPARSABLE = "unparsable"
    TIMED_OUT = "timed out"
    PROVIDER_ERROR = "provider error"


class Decoding(enum.StrEnum):
    """How the answer's form is held. Part of the plan, never chosen silently."""

    FREE_TEXT = "free-text"
    JSON_SCHEMA = "json-schema"
    GRAMMAR = "grammar"


def content_hash(value: Any) -> str:
    """SHA-256, first 16 hex digits, of the canonical JSON of ``value``.

    >>> content_hash({"b": 1, "a": 2}) == content_hash({"a": 2, "b": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclasses.dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters as ordered; ``None`` leaves a parameter to the provider's default.

    ``extra`` holds parameters outside the OpenAI standard (``top_k``, ``min_p``), sent in the request body.
    """

    temperature: float | None = 1.0
    top_p: float | None = None
    max_tokens: int | None = None
    extra: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise BadInputError(f"{name} should be a finite number, not {value}")

    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by name, standard and extra together."""
        standard = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens}
        return {name: value for name, value in standard.items() if value is not None} | dict(self.extra)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AuditPlan:
    """Makes the same requests from the same values.

    Parameters
    ----------
    protocol, protocol_version : catalog name and version of the instrument
    prompts : the rendered prompts that the requests are made of, by name
    options : the protocol's own options (``{"per_call": 20}``)
    decoding, decoding_spec : form of the answer, and the schema or grammar text that holds it
    size : units asked for (personas, messages); seed : base of the per-request seeds
    sizes : how a crossed design comes to its size (``{"cells": 136, "repeats": 1}``); like the size no part of the key
    facts : what a reader should know of what is asked, such as how thin a choice was; no part of the key either
    """

    protocol: str
    protocol_version: str
    prompts: Mapping[str, str]
    options: Mapping[str, Any]
    size: int
    seed: int = 0
    sampling: Sampling = Sampling()
    decoding: Decoding = Decoding.FREE_TEXT
    decoding_spec: str | None = None
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def collection_key(self) -> str:
        """Hash of what is asked; equal keys are the first condition for comparing two audits."""
        return content_hash(
            {
                "protocol": [self.protocol, self.protocol_version],
                "prompts": dict(self.prompts),
                "options": dict(self.options),
                "decoding": [str(self.decoding), self.decoding_spec],
                "sampling": self.sampling.parameters(),
            }
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values for storage; `from_json` gives the same plan back."""
        return {
            "protocol": self.protocol,
            "protocol_version": self.protocol_version,
            "prompts": dict(self.prompts),
            "options": dict(self.options),
            "size": self.size,
            "seed": self.seed,
            "sampling": {
                "temperature": self.sampling.temperature,
                "top_p": self.sampling.top_p,
                "max_tokens": self.sampling.max_tokens,
                "extra": dict(self.sampling.extra),
            },
            "decoding": str(self.decoding),
            "decoding_spec": self.decoding_spec,
            "sizes": dict(self.sizes),
            **({"facts": dict(self.facts)} if self.facts else {}),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> AuditPlan:
        sampling = dict(values["sampling"])
        extra = tuple(sorted(sampling.pop("extra").items()))
        fields = {**values, "sampling": Sampling(**sampling, extra=extra), "decoding": Decoding(values["decoding"])}
        return cls(**fields)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call to the model. ``expected`` is the number of records asked for; None when it is not known."""

    index: int
    messages: tuple[Mapping[str, str], ...]
    repeat: int = 0
    cell: Mapping[str, str] = dataclasses.field(default_factory=dict)
    seed: int | None = None
    expected: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One answer, or the failure to get one, as it arrived; never edited.

    ``failure`` is ``None`` when the model answered (with whatever text), else `Outcome.TIMED_OUT` or
    `Outcome.PROVIDER_ERROR`, with ``detail`` in words. ``served_model`` is what the provider says answered.
    """

    index: int
    repeat: int = 0
    attempt: int = 1
    text: str | None = None
    refusal: str | None = None
    finish_reason: str | None = None
    requested_model: str | None = None
    served_model: str | None = None
    system_fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float | None = None
    failure: Outcome | None = None
    detail: str = ""
    received_at: str | None = None
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The unit of analysis. The request it came from is its cluster.

    ``attributes`` holds the terms as answered, or None when the answer was unusable; then ``reason`` says why.
    """

    request: int
    index: int
    outcome: Outcome
    repeat: int = 0
    attributes: Mapping[str, str | None] | None = None
    reason: str = ""
