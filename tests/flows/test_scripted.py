"""`ScriptedChat`: answers from a list, a function or a file, without a network."""

import asyncio
import json

import pytest

from flows.provider_errors import EndpointError
from flows.scripted import ScriptedChat
from registry.audits.plan import Outcome, Request, Response


def request(index: int, repeat: int = 0) -> Request:
    return Request(index=index, repeat=repeat, messages=({"role": "user", "content": "well?"},))


def answers(chat: ScriptedChat, *requests: Request) -> list[Response]:
    async def ask() -> list[Response]:
        return [await chat.answer(each) for each in requests]

    return asyncio.run(ask())


def test_a_scripted_chat_answers_from_a_file_and_says_what_it_lacks(tmp_path):
    path = tmp_path / "answers.jsonl"
    lines = [
        {"text": "first\u2028line"},
        {"index": 5, "repeat": 1, "failure": "provider error", "detail": "500: oops"},
        {"index": 5, "text": "five", "served_model": "other"},
    ]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    chat = ScriptedChat(path, served_model="scripted-2026", clock=lambda: "2026-03-01")
    first, failed, fifth = answers(chat, request(0), request(5, repeat=1), request(5))
    assert (first.text, first.served_model, first.received_at) == ("first\u2028line", "scripted-2026", "2026-03-01")
    assert (failed.failure, failed.repeat, failed.served_model) == (Outcome.PROVIDER_ERROR, 1, None)
    assert (fifth.text, fifth.served_model) == ("five", "other")
    with pytest.raises(LookupError, match="none for request 1, repeat 0"):
        answers(chat, request(1))
    assert answers(ScriptedChat(["a", "b"], cycle=True), request(3))[0].text == "b"


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "answer 1 is not JSON"), ('{"words": 1}', "got .'words'."), ('{}\n{"index": 0}', "answered twice")],
)
def test_a_script_in_another_form_is_refused(tmp_path, text, words):
    path = tmp_path / "answers.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        ScriptedChat(path)


def test_a_scripted_exception_is_raised():
    with pytest.raises(EndpointError, match="no such model"):
        answers(ScriptedChat([EndpointError("no such model")]), request(0))
