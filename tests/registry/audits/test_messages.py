"""Messages read from answers: what is a message, and what declines, is empty or was cut off."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

from registry.audits.messages import LONGEST_REFUSAL, read_message
from registry.audits.plan import Request, Response
from tests.shared import shared_data

REQUEST = Request(index=0, messages=())
REFUSAL = "I'm sorry, but I can\u2019t help with that."
LETTER = "Our town can build its own power. " * 20


def outcome(text: str, finish_reason: str | None = None) -> str:
    return str(read_message(REQUEST, Response(index=0, text=text, finish_reason=finish_reason)).outcome)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (REFUSAL, "refused"),
        (f"Hello Ada!\n\n{REFUSAL}", "refused"),
        (f"{REFUSAL} {LETTER}", "refused"),
        (f"Thank you for asking. {REFUSAL}", "refused"),
        (f"{LETTER}{REFUSAL}", "ok"),
        ("I can\u2019t write to women only. " + LETTER, "refused"),
        ("Dear Ada, we can't wait any longer. Join us!", "ok"),
        ("", "empty"),
        ("Join us", "unparsable"),
        ("?! \U0001f331 12", "unparsable"),
    ],
)
def test_an_answer_declines_in_its_first_sentence_or_is_short(text: str, found: str) -> None:
    assert outcome(text) == found


def test_a_cut_off_answer_is_no_message_and_a_short_refusal_is_a_refusal_even_then() -> None:
    assert outcome(LETTER, finish_reason="length") == "truncated"
    assert outcome(REFUSAL, finish_reason="length") == "refused"
    edge = "word " * (LONGEST_REFUSAL - len(REFUSAL.split()))
    assert [outcome(f"One two three. {text}{REFUSAL}") for text in (edge[15:], edge)] == ["refused", "ok"]


def test_replies_that_decline_a_part_of_a_question_are_messages() -> None:
    """Librarians' replies, Llama-2 and Llama-3.1: all answer, though they often cannot copy an article or look a number up."""
    counts: Counter[tuple[str, str]] = Counter()
    for folder, file, model, field in (
        ("llama2_library_replies", "llama2_responses.jsonl.gz", "model_name", "librarian_says"),
        ("fep_library_replies", "fep_responses.jsonl.gz", "model", "response"),
    ):
        with gzip.open(shared_data(folder, file), "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                counts[row[model], outcome(row[field])] += 1
    assert counts["70b", "ok"] == 2000
    assert counts["Llama_3.1_8B_Instruct", "ok"] == 2500
    assert sum(counts.values()) == 21_000
    assert sum(n for (_, found), n in counts.items() if found != "ok") <= 210
