"""The stub endpoint under persona cues: yes or no to the questions that come along, by what speaks for the asker.

The metric turns a reversed question round, so a stub that only says no more often treats nobody differently. This one knows
the polarity of each question.
"""

from __future__ import annotations

import functools

from registry.audits.question import own_questions, own_tasks


@functools.cache
def _reversed() -> frozenset[str]:
    return frozenset(
        question.text for task in own_tasks() for question in own_questions(task).questions if question.reverse
    )


def yes_or_no(prompt: str, favoured: bool) -> str:
    """The answer that speaks for the asker, or against."""
    turned = any(text in prompt for text in _reversed())
    return "Yes" if favoured != turned else "No"
