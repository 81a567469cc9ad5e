"""Between the values of an audit and the JSON of Chat Completions: forms that are sent, fields that are read.

What comes back is hostile input: a field may hold anything, whatever the protocol promises.
"""

from __future__ import annotations

import json
from typing import Any

from metrics.errors import BadInputError
from registry.audits.plan import Decoding

LONGEST_FIELD = 500
MOST_CHARACTERS_A_TOKEN = 64  # English has about 4; no tokenizer has ordinary words of this length


def answer_form(decoding: Decoding, spec: str | None) -> dict[str, Any]:
    """The request fields that hold the form of the answer.

    Parameters
    ----------
    decoding : form of the plan
    spec : JSON text of a schema (bare, or with the ``name``, ``strict`` and ``schema`` of the protocol), or a grammar

    Raises
    ------
    ValueError : when the form needs a specification that is not there, or not JSON

    Examples
    --------
    >>> answer_form(Decoding.FREE_TEXT, None)
    {}
    >>> answer_form(Decoding.GRAMMAR, 'root ::= "Yes" | "No"')
    {'grammar': 'root ::= "Yes" | "No"'}
    >>> answer_form(Decoding.JSON_SCHEMA, '{"type": "object"}')["response_format"]["json_schema"]["schema"]
    {'type': 'object'}
    """
    if decoding is Decoding.FREE_TEXT:
        return {}
    if not spec:
        raise BadInputError(f"the decoding form {str(decoding)!r} needs its specification, got none")
    if decoding is Decoding.GRAMMAR:
        return {"grammar": spec}
    try:
        schema = json.loads(spec)
    except ValueError as error:
        raise BadInputError(f"the decoding form 'json-schema' needs a schema as JSON text: {error}") from None
    if not (isinstance(schema, dict) and isinstance(schema.get("schema"), dict)):
        schema = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def text_of(value: Any) -> str | None:
    """Text as it came; a list of text parts is joined, anything else is kept as JSON.

    >>> text_of([{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]), text_of({"a": 1}), text_of(None)
    ('Hello', '{"a": 1}', None)
    """
    if value is None or isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    if parts and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts):
        return "".join(part["text"] for part in parts)
    return json.dumps(value, ensure_ascii=False, default=str)


def count_of(value: Any) -> int | None:
    """A token count that fits a database column, or None.

    >>> count_of(12), count_of(-1), count_of("12"), count_of(True), count_of(2**40)
    (12, None, None, None, None)
    """
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def usage_of(usage: Any, text: str | None) -> tuple[int | None, int | None, dict[str, Any] | None]:
    """Prompt and completion tokens, and what was said instead when that cannot be: text is never free.

    A count that cannot be is no count: a budget then reserves the largest call that it knows.

    >>> from types import SimpleNamespace as Usage
    >>> usage_of(Usage(prompt_tokens=50, completion_tokens=20), "a short answer")
    (50, 20, None)
    >>> usage_of(Usage(prompt_tokens=50, completion_tokens=0), "a short answer")
    (None, None, {'prompt_tokens': 50, 'completion_tokens': 0})
    >>> usage_of(None, "a short answer")
    (None, None, None)
    """
    said = {name: getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")}
    prompt, completion = count_of(said["prompt_tokens"]), count_of(said["completion_tokens"])
    if prompt is None or completion is None:
        strange = any(value is not None and count_of(value) is None for value in said.values())
        return prompt, completion, {name: small(value) for name, value in said.items()} if strange else None
    if prompt == 0 or completion * MOST_CHARACTERS_A_TOKEN < len(text or ""):
        return None, None, said
    return prompt, completion, None


def small(value: Any) -> Any:
    """An unknown field as plain JSON values, or a note of its size when it is large.

    >>> small({"cached": 3}), small("x" * 1000), small(float("nan"))
    ({'cached': 3}, '[1002 characters left out]', '[not JSON]')
    """
    try:
        text = json.dumps(value, default=str, allow_nan=False)
    except (ValueError, RecursionError):
        return "[not JSON]"
    return json.loads(text) if len(text) <= LONGEST_FIELD else f"[{len(text)} characters left out]"
