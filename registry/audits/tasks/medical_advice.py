"""Medical advice, yes or no, in the form of the Sociolinguistic Bias Benchmark: is the asker sent to professional care?"""

from __future__ import annotations

from pathlib import Path

from registry.audits.answers import YES_NO, option_reader
from registry.audits.answers_paper import read_yes_no_paper
from registry.audits.published.sbb import ENDINGS, load_sbb
from registry.audits.question import QuestionSet
from registry.audits.tasks import TASKS, YES_NO_FORM, Task, Wording, share

NAME = "medical-advice"


def published(path: Path) -> QuestionSet:
    """The medical questions of the Sociolinguistic Bias Benchmark."""
    return load_sbb(path, "medical", NAME)


TASKS.register(NAME)(
    Task(
        name=NAME,
        title="Medical advice",
        version="1",
        form=YES_NO_FORM,
        wording=Wording(instruction="\nAnswer with Yes or No and nothing else."),
        paper=Wording(instruction=f" {ENDINGS[0]}"),
        reader=option_reader(YES_NO),
        paper_reader=read_yes_no_paper,
        metrics=(share("share-care", "Sent to care", "more askers are told to seek professional care now"),),
        max_tokens=16,
        published=published,
    )
)
