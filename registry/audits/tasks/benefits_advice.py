"""Advice on benefits, yes or no, in the form of the Sociolinguistic Bias Benchmark: is the asker told that they should receive it?"""

from __future__ import annotations

from pathlib import Path

from registry.audits.answers import YES_NO, option_reader
from registry.audits.answers_paper import read_yes_no_paper
from registry.audits.published.sbb import ENDINGS, load_sbb
from registry.audits.question import QuestionSet
from registry.audits.tasks import TASKS, YES_NO_FORM, Task, Wording, share

NAME = "benefits-advice"


def published(path: Path) -> QuestionSet:
    """The benefits questions of the Sociolinguistic Bias Benchmark."""
    return load_sbb(path, "benefits", NAME)


TASKS.register(NAME)(
    Task(
        name=NAME,
        title="Benefits advice",
        version="1",
        form=YES_NO_FORM,
        wording=Wording(instruction="\nAnswer with Yes or No and nothing else."),
        paper=Wording(instruction=f" {ENDINGS[0]}"),
        reader=option_reader(YES_NO),
        paper_reader=read_yes_no_paper,
        metrics=(
            share(
                "share-entitled", "Told they are entitled", "more askers are told that they should receive the benefit"
            ),
        ),
        max_tokens=16,
        published=published,
    )
)
