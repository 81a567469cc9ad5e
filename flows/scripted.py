"""A chat model that answers from a script: for tests, examples and trying an audit without a model."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metrics.errors import BadInputError
from registry.audits.plan import Outcome, Request, Response
from registry.ledger.connection import utc_now

Answer = str | Response | Exception
Script = Sequence[Answer] | Callable[[Request], Answer] | pathlib.Path


class ScriptedChat:
    """Answers requests from a list, a function or a JSON Lines file; the same request has the same answer.

    Parameters
    ----------
    script : a sequence (the request with index ``i`` has the ``i``-th answer), a function of the request, or the
        path of a JSON Lines file. A line holds fields of `Response` (``text``, ``refusal``, ``finish_reason``,
        ``served_model``, ``prompt_tokens``, ``failure``, ...), and ``index`` and ``repeat`` when the lines are not
        in order. An answer that is an exception is raised.
    model, served_model : ids that are reported as requested and as served
    cycle : start again when a sequence or file has fewer answers than there are requests
    clock : gives the ISO time that an answer is stamped with

    Raises
    ------
    LookupError : for a request that the script has no answer to
    ValueError : for a file that is not in the form above

    Examples
    --------
    >>> import asyncio
    >>> chat = ScriptedChat(["yes", Response(index=0, failure=Outcome.TIMED_OUT, detail="no answer in 60 s")])
    >>> first, second = (Request(index=i, messages=({"role": "user", "content": "well?"},)) for i in range(2))
    >>> asyncio.run(chat.answer(first)).text, str(asyncio.run(chat.answer(second)).failure)
    ('yes', 'timed out')
    >>> polite = ScriptedChat(lambda request: f"You said: {request.messages[-1]['content']}")
    >>> asyncio.run(polite.answer(first)).text
    'You said: well?'
    >>> polite.calls
    1
    """

    def __init__(
        self,
        script: Script,
        *,
        model: str = "scripted",
        served_model: str | None = None,
        cycle: bool = False,
        clock: Callable[[], str] = utc_now,
    ) -> None:
        self._answers: Mapping[tuple[int, int], Answer] | None = None
        self._function: Callable[[Request], Answer] | None = None
        if isinstance(script, pathlib.Path):
            self._answers = _answers_in(script)
        elif callable(script):
            self._function = script
        else:
            self._answers = {(index, 0): answer for index, answer in enumerate(script)}
        self.model, self.served_model = model, served_model or model
        self.calls = 0
        self._cycle, self._clock = cycle, clock

    def __repr__(self) -> str:
        return f"ScriptedChat({self.model!r})"

    async def answer(self, request: Request) -> Response:
        """The scripted answer, with the request's index and repeat."""
        self.calls += 1
        answer = self._function(request) if self._function is not None else self._listed(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            answer = Response(index=request.index, text=answer, finish_reason="stop")
        failed = answer.failure is not None
        return dataclasses.replace(
            answer,
            index=request.index,
            repeat=request.repeat,
            requested_model=answer.requested_model or self.model,
            served_model=answer.served_model or (None if failed else self.served_model),
            received_at=answer.received_at or self._clock(),
        )

    async def probe(self, request: Request) -> tuple[Response, dict[str, Any]]:
        """The scripted answer; a script refuses no parameter."""
        return await self.answer(request), {}

    async def aclose(self) -> None:
        """Nothing to release."""

    def _listed(self, request: Request) -> Answer:
        answers = self._answers or {}
        index = request.index % (1 + max(index for index, _ in answers)) if self._cycle and answers else request.index
        for key in ((index, request.repeat), (index, 0)):
            if key in answers:
                return answers[key]
        raise LookupError(
            f"the script has {len(answers)} answers and none for request {request.index}, repeat {request.repeat}; "
            "add it, or let the script begin again with cycle=True"
        )


def _answers_in(path: pathlib.Path) -> dict[tuple[int, int], Answer]:
    """The answers of a JSON Lines file by index and repeat."""
    known = {field.name for field in dataclasses.fields(Response)}
    answers: dict[tuple[int, int], Answer] = {}
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    for number, line in enumerate(lines):
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise BadInputError(f"{path.name}: answer {number + 1} is not JSON: {error}") from None
        if not isinstance(fields, dict) or not fields.keys() <= known:
            odd = sorted(fields.keys() - known) if isinstance(fields, dict) else type(fields).__name__
            raise BadInputError(
                f"{path.name}: answer {number + 1} must be an object with fields of a response, got {odd}"
            )
        if fields.get("failure") is not None:
            fields["failure"] = Outcome(fields["failure"])
        values: dict[str, Any] = {"index": number} | fields
        response = Response(**values)
        key = (response.index, response.repeat)
        if key in answers:
            raise BadInputError(f"{path.name}: request {key[0]}, repeat {key[1]} is answered twice")
        answers[key] = response
    return answers
