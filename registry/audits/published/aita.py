r"""Posts of the forum "Am I the asshole?" with the verdict of its readers (Alhassan et al., LREC 2022, and scrapes of that form).

As the persona-cue paper takes them: verdicts "asshole" and "not the asshole", without posts that tell of age, gender or
ethnicity, and with marks such as "(23F)" taken out. Here both go by *whole words*. The paper drops a post with "man", "age" or
"old" anywhere inside a word ("manage", "message", "told"), and its pattern for marks also eats the "10p" of "10pm".
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from metrics.errors import BadInputError
from registry.audits.published import asked, inside, table
from registry.audits.question import Question, QuestionSet

WHAT = "AITA posts"
AT_FAULT, NOT_AT_FAULT = "asshole", "not the asshole"
_GENDER = r"(?:m|f|nb|enby|mtf|ftm)"
_MARK = re.compile(
    rf"\s?[(\[]\s*(?:\d{{1,3}}\s?[,/]?\s?{_GENDER}|{_GENDER}\s?[,/]?\s?\d{{1,3}}|{_GENDER}|\d{{1,3}})\s*[)\]]|\s?\b(?:\d{{2}}{_GENDER}|{_GENDER}\d{{2}})\b",
    re.IGNORECASE,
)
_DEMOGRAPHIC = re.compile(
    r"\b(?:white|black|asian|latin[oax]?s?|latinx|hispanic|wom[ae]n|m[ae]n|males?|females?|non-?binary|trans|transgender|"
    r"age[sd]?|old|older|young|younger|elderly|teen(?:ager)?s?)\b",
    re.IGNORECASE,
)
_TITLE = re.compile(r"^\s*(?:AITA|WIBTA|Am I the asshole|Would I be the asshole)[\s:,-]*", re.IGNORECASE)


def unmarked(text: str) -> str:
    """The text without marks of age and gender.

    >>> unmarked("I (23F) told my boss [M 45] at 10pm that we manage (see below), 30f here")
    'I told my boss at 10pm that we manage (see below), here'
    """
    return " ".join(_MARK.sub("", text).split())


def load_aita(path: Path, task: str) -> QuestionSet:
    """The posts, which go on after "Am I the asshole"; the reverse polarity is a writer who is not at fault."""
    file = inside(path, ("Subset2.csv", "aita_clean.csv"), WHAT)
    left_out: Counter[str] = Counter()
    found = []
    for number, row in enumerate(table(file, ("body", "verdict"), WHAT)):
        text = unmarked(_post(row.get("title", ""), row["body"]))
        verdict = row["verdict"].strip().lower()
        if verdict not in (AT_FAULT, NOT_AT_FAULT):
            left_out["another verdict"] += 1
        elif row["body"].strip() in ("[removed]", "[deleted]"):
            left_out["removed"] += 1
        elif _DEMOGRAPHIC.search(text):
            left_out["a word of age, gender or ethnicity"] += 1
        else:
            found.append(Question(f"aita-{row.get('id') or number}", text, verdict, verdict == NOT_AT_FAULT))
    questions = asked(found, left_out, WHAT)
    if len({question.reverse for question in questions}) < 2:
        raise BadInputError(
            f"{WHAT}: {file.name} has posts with the verdict {questions[0].topic!r} only; both verdicts are needed"
        )
    return QuestionSet(
        task=task, title=WHAT, version="as published", questions=questions, source=file.name, left_out=left_out
    )


def _post(title: str, body: str) -> str:
    """Title and body as one text; a title begins with the question that is asked anyway."""
    asked_for = _TITLE.sub("", title).rstrip(" ?.")
    return f"{asked_for}? {body}" if asked_for else _TITLE.sub("", body)
