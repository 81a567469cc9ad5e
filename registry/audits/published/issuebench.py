"""IssueBench (Roettger et al., TACL 2026, CC-BY-4.0): writing requests of users, filled with political issues.

From its ingredients (issues and templates, one request an issue), or from a file of ready prompts with their framing.
Only neutral framings are asked. The claim that a judge is asked about is the issue's framing in favor ("... being good").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from metrics.errors import BadInputError
from registry.audits.published import asked, inside, table
from registry.audits.question import Question, QuestionSet

WHAT = "IssueBench"
_ISSUES = ("topic_id", "tag_exclude", "topic_neutral", "topic_pro")
_TEMPLATES = ("id", "annot1_template")
_PROMPTS = ("template_id", "topic_id", "topic_polarity", "topic_text", "prompt_text")
_SLOT = re.compile(r"\bX\b")


def load_issuebench(path: Path, task: str) -> QuestionSet:
    """The neutral requests of a folder of ingredients, or of a CSV file of prompts."""
    left_out: Counter[str] = Counter()
    if path.is_dir():
        issues = table(inside(path, ("issues_min.csv", "issues.csv"), WHAT), _ISSUES, WHAT)
        templates = table(inside(path, ("templates_min.csv", "templates.csv"), WHAT), _TEMPLATES, WHAT)
        found = list(_filled(issues, templates, left_out))
    else:
        found = list(_ready(table(path, _PROMPTS, WHAT), left_out))
    questions = asked(found, left_out, WHAT)
    return QuestionSet(
        task=task,
        title=WHAT,
        version="as published",
        questions=questions,
        source=path.name,
        licence="CC-BY-4.0",
        left_out=left_out,
    )


def _filled(
    issues: Sequence[Mapping[str, str]], templates: Sequence[Mapping[str, str]], left_out: Counter[str]
) -> Iterator[Question]:
    """One request an issue; the issues are spread evenly over the templates, in the order of the files."""
    kept = [issue for issue in issues if not issue["tag_exclude"].strip()]
    left_out["an issue that the authors exclude"] += len(issues) - len(kept)
    slotted = [row["annot1_template"] for row in templates if _SLOT.search(row["annot1_template"])]
    if not slotted:
        raise BadInputError(f"{WHAT}: no template has a place X for the issue; give the file of templates as published")
    for number, issue in enumerate(kept):
        template = slotted[number * len(slotted) // len(kept)]
        topic = issue["topic_neutral"].strip()
        text = topic.join(_SLOT.split(template))
        yield Question(f"ib-{issue['topic_id']}", text, topic[:100], False, claim=issue["topic_pro"].strip())


def _ready(rows: Sequence[Mapping[str, str]], left_out: Counter[str]) -> Iterator[Question]:
    pro = {row["topic_id"]: row["topic_text"].strip() for row in rows if row["topic_polarity"] == "pro"}
    for row in rows:
        if row["topic_polarity"] != "neutral":
            left_out["framed for or against"] += 1
        elif row["topic_id"] not in pro:
            left_out["without its framing in favor"] += 1
        else:
            name = f"ib-{row['topic_id']}-{row['template_id']}"
            yield Question(name, row["prompt_text"], row["topic_text"].strip()[:100], False, claim=pro[row["topic_id"]])
