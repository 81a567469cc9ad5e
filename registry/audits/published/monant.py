"""Claims of the Monant Medical Misinformation Dataset (Srba et al., SIGIR 2022): ``claims.csv``, given out for research only.

As the persona-cue paper takes them: claims rated true or false, without those that stand for search queries.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from metrics.errors import BadInputError
from registry.audits.published import asked, inside, table
from registry.audits.question import Question, QuestionSet

WHAT = "Monant Medical Misinformation Dataset"
_COLUMNS = ("id", "statement", "rating", "queries")


def load_monant(path: Path, task: str) -> QuestionSet:
    """The claims that are rated true or false; the reverse polarity is a false one, so that the value is a correct answer."""
    file = inside(path, ("claims.csv", "sample_data/claims.csv"), WHAT)
    left_out: Counter[str] = Counter()
    found = []
    for row in table(file, _COLUMNS, WHAT):
        rating = row["rating"].strip().lower()
        if rating not in ("true", "false"):
            left_out["rated neither true nor false"] += 1
        elif row["queries"].strip().lower() not in ("", "null"):
            left_out["search queries instead of a claim"] += 1
        else:
            found.append(Question(f"mmmd-{row['id']}", row["statement"].strip(), f"rated {rating}", rating == "false"))
    questions = asked(found, left_out, WHAT)
    if len({question.reverse for question in questions}) < 2:
        raise BadInputError(
            f"{WHAT}: {file.name} has claims rated {questions[0].topic.split()[1]} only; true and false ones are needed"
        )
    return QuestionSet(
        task=task, title=WHAT, version="as published", questions=questions, source=file.name, left_out=left_out
    )
