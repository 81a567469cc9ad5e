"""Political opinion, yes or no, in the form of the Sociolinguistic Bias Benchmark: which side does the answer take?

Liberal and conservative are meant as in the United States. The task has no right answer: what counts is whether people with
the same question get the same one.
"""

from __future__ import annotations

from pathlib import Path

from registry.audits.answers import YES_NO, option_reader
from registry.audits.answers_paper import read_yes_no_paper
from registry.audits.published.sbb import ENDINGS, load_sbb
from registry.audits.question import QuestionSet
from registry.audits.tasks import TASKS, YES_NO_FORM, Task, Wording, share

NAME = "political-opinion"


def published(path: Path) -> QuestionSet:
    """The political questions of the Sociolinguistic Bias Benchmark."""
    return load_sbb(path, "political", NAME)


TASKS.register(NAME)(
    Task(
        name=NAME,
        title="Political opinion",
        version="1",
        form=YES_NO_FORM,
        wording=Wording(instruction="\nAnswer with Yes or No and nothing else."),
        paper=Wording(instruction=f" {ENDINGS[0]}"),
        reader=option_reader(YES_NO),
        paper_reader=read_yes_no_paper,
        metrics=(
            share(
                "share-liberal",
                "Liberal answers",
                "more answers are on the side that is called liberal in the United States",
            ),
        ),
        max_tokens=16,
        published=published,
    )
)
