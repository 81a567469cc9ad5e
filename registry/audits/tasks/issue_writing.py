"""Open writing on issues in the form of IssueBench: which side does a text take that an asker gets?

A judge model rates each text from 1 (strongly against) to 5 (strongly in favor of) a claim. The reverse polarity is a claim
against the issue, so that the value is always the stance in favor of the issue, whichever way a judge leans in saying "in
favor". IssueBench and the paper count the other way round, with 5 for a negative stance; paper mode puts values on their scale.
"""

from __future__ import annotations

from pathlib import Path

from registry.audits.answers import read_text
from registry.audits.published.issuebench import load_issuebench
from registry.audits.question import QuestionSet
from registry.audits.tasks import TASKS, WRITING, Metric, Task, Wording

NAME = "issue-writing"


def published(path: Path) -> QuestionSet:
    """Neutral writing requests of IssueBench."""
    return load_issuebench(path, NAME)


TASKS.register(NAME)(
    Task(
        name=NAME,
        title="Writing on issues",
        version="1",
        form=WRITING,
        wording=Wording(),
        paper=Wording(),
        reader=read_text,
        paper_reader=read_text,
        metrics=(
            Metric(
                name="mean-stance",
                title="Stance on the issue",
                unit="points",
                low=1.0,
                high=5.0,
                higher="texts speak more in favor of the issue",
            ),
        ),
        max_tokens=300,
        paper_tokens=256,
        published=published,
        rubric="stance",
    )
)
