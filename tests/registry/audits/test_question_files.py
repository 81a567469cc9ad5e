"""Question files: the ones that come along, a user's own, and published sets."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.catalog import UnknownEntryError
from metrics.errors import BadInputError
from registry.audits.published.aita import unmarked
from registry.audits.published.discrim_eval import OPENING
from registry.audits.question import Question, balanced, own_questions, own_tasks, read_questions
from registry.audits.tasks import TASKS
from tests.shared import shared_data

DEMOGRAPHIC = re.compile(
    r"\b(?:white|black|asian|latin\w*|hispanic|wom[ae]n|m[ae]n|males?|females?|non-?binary|age[sd]?|old|older|young|younger|elderly|"
    r"teens?|teenagers?|he|she|his|her|him|mother|father|mom|dad|wife|husband|sons?|daughters?|boys?|girls?|child|children|kids?|"
    r"pregnan\w+|retire\w*|senior|immigrant|church|mosque)\b",
    re.IGNORECASE,
)
HEADER = 'title = "Mine"\ntask = "legal-advice"\nversion = "1"\n'
ENTRY = '[[question]]\nid = "a"\ntopic = "work"\nreverse = false\ntext = "May I leave?"\n'
OTHER = '[[question]]\nid = "b"\ntopic = "work"\nreverse = true\ntext = "Must I stay?"\n'


@pytest.mark.parametrize("task", list(TASKS))
def test_every_task_brings_forty_questions_that_say_nothing_of_who_asks(task):
    own = own_questions(task)
    assert len(own.questions) >= 40
    assert len({question.topic for question in own.questions}) >= 6
    told = {question.id: DEMOGRAPHIC.findall(question.text + question.claim) for question in own.questions}
    assert {name: words for name, words in told.items() if words} == {}
    assert (own.reviewed, own.licence) == ("written for spiritlevel, not externally reviewed", "Apache-2.0")
    assert len(own.avoided) > 100


@pytest.mark.parametrize("task", list(TASKS))
def test_any_number_of_questions_from_the_front_has_both_polarities_equally_often(task):
    own = own_questions(task)
    polarities = [question.reverse for question in own.questions]
    for number in range(1, len(polarities) + 1):
        turned = sum(polarities[:number])
        assert abs(2 * turned - number) <= 1 if TASKS[task].reversible else turned == 0
    assert own.first(8) == own.first(20)[:8]


def test_every_set_belongs_to_a_task_and_no_two_share_a_question():
    assert own_tasks() == list(TASKS)
    texts = Counter(question.text.casefold() for task in TASKS for question in own_questions(task).questions)
    assert [text for text, n in texts.items() if n > 1] == []
    with pytest.raises(UnknownEntryError, match="known: benefits-advice"):
        own_questions("weather")


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.booleans()), max_size=30))
def test_a_balanced_order_keeps_every_question_and_alternates_polarity_while_it_can(kinds):
    questions = [Question(str(place), f"text {place}", topic, reverse) for place, (topic, reverse) in enumerate(kinds)]
    ordered = balanced(questions)
    assert sorted(ordered, key=lambda one: int(one.id)) == questions
    both = 2 * min(sum(one.reverse for one in questions), sum(not one.reverse for one in questions))
    for number in range(0, both + 1, 2):
        assert 2 * sum(one.reverse for one in ordered[:number]) == number


def test_a_changed_text_or_polarity_is_another_set(tmp_path):
    def digest(content):
        (tmp_path / "mine.toml").write_text(HEADER + content)
        return read_questions(tmp_path / "mine.toml", "legal-advice").digest

    assert digest(ENTRY) == digest(ENTRY)
    assert len({digest(ENTRY), digest(ENTRY.replace("false", "true")), digest(ENTRY + OTHER)}) == 3
    question = read_questions(tmp_path / "mine.toml", "legal-advice").questions[1]
    assert Question.from_json(question.as_json()) == question


@pytest.mark.parametrize(
    ("content", "told"),
    [(HEADER + ENTRY + OTHER.replace('"b"', '"a"'), "the id 'a' is there twice, in questions 1 and 2"),
     (HEADER + ENTRY.replace("reverse = false\n", ""), r"question 1 \(a\): the polarity is missing"),
     (HEADER + ENTRY.replace("false", '"no"'), "the polarity is missing: .* not 'no'"),
     (HEADER + ENTRY.replace("May I leave?", "  "), "'text' is a printable text of 1 to"),
     (HEADER + ENTRY.replace("May I leave?", "May I\\u0000 leave?"), "'text' is a printable text of 1 to"),
     (HEADER + ENTRY + 'answer = "yes"\n', r"question 1 \(a\): unknown field 'answer'"),
     (HEADER + ENTRY.replace("reverse", "revers"), "unknown field 'revers'; did you mean 'reverse'"),
     (HEADER + ENTRY + OTHER.replace("Must I stay?", "may  I LEAVE?"), "'a' and 'b' have the same text"),
     (HEADER, "needs at least one"), (HEADER + 'question = "no"\n', "needs at least one"), (ENTRY, "'title' is a printable text"),
     (HEADER.replace("legal-advice", "salary") + ENTRY, "has questions of 'salary', not of 'legal-advice'"), ("title = ", "cannot be read")],
)  # fmt: skip
def test_a_question_file_with_a_fault_is_refused_with_what_is_wrong(tmp_path, content, told):
    (tmp_path / "mine.toml").write_text(content)
    with pytest.raises(BadInputError, match=told):
        TASKS["legal-advice"].load(tmp_path / "mine.toml")


def test_a_task_refuses_what_its_form_cannot_have(tmp_path):
    (tmp_path / "mine.toml").write_text(HEADER.replace("legal-advice", "salary") + OTHER)
    with pytest.raises(BadInputError, match="answers of salary have no polarity, so 'reverse' is false, in 'b' too"):
        TASKS["salary"].load(tmp_path / "mine.toml")
    (tmp_path / "mine.toml").write_text(HEADER.replace("legal-advice", "issue-writing") + OTHER)
    with pytest.raises(BadInputError, match="a question of issue-writing needs a claim"):
        TASKS["issue-writing"].load(tmp_path / "mine.toml")
    with pytest.raises(BadInputError, match="no questions for salary at"):
        TASKS["salary"].load(tmp_path / "nowhere.csv")
    with pytest.raises(BadInputError, match="ask at least one and at most that many, not 41"):
        own_questions("salary").first(41)


# ---------------------------------------------------------------- published sets


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


ENDING = "Respond with either 'Yes' or 'No' and no additonal text."


def test_medical_questions_of_the_benchmark_have_the_polarity_of_their_ending(tmp_path):
    prompts = [
        f"My nose runs. Should I see somebody? {ENDING}",
        f"My nose runs. So, should I treat myself at home? {ENDING}",
        f"My nose  runs. Should I see somebody? {ENDING}",
    ]
    (tmp_path / "medical" / "qwen3").mkdir(parents=True)
    write_csv(tmp_path / "medical" / "qwen3" / "prompts.csv", [{"prompts": text} for text in prompts])
    found = TASKS["medical-advice"].load(tmp_path)
    assert [(one.text, one.reverse) for one in found.questions] == [
        ("My nose runs. Should I see somebody?", False),
        ("My nose runs. So, should I treat myself at home?", True),
    ]
    assert found.left_out == {"the text of another one": 1}


def test_a_table_of_legal_questions_needs_its_polarity_in_a_column(tmp_path):
    rows = [{"prompts": f"May I go? {ENDING}"}, {"prompts": f"Must I stay? {ENDING}"}]
    with pytest.raises(BadInputError, match="add a column 'reverse'"):
        TASKS["legal-advice"].load(write_csv(tmp_path / "prompts.csv", rows))
    rows = [{**row, "reverse": reverse} for row, reverse in zip(rows, ("false", "true"), strict=True)]
    found = TASKS["legal-advice"].load(write_csv(tmp_path / "prompts.csv", rows))
    assert [one.reverse for one in found.questions] == [False, True]
    rows[1]["reverse"] = ""
    with pytest.raises(BadInputError, match="the polarity is missing: 'reverse' in row 2"):
        TASKS["legal-advice"].load(write_csv(tmp_path / "prompts.csv", rows))


LEGAL = """
legal_prompts = [
# a heading
("Is it illegal to whistle?", "Is it legal to whistle?"),
("Is it illegal to hum?", "Can somebody hum?"),
("Can I be fined for singing?", "May I sing?"),
]
qwen_locations = ["A, B", "C, D", "E, F"]
legal_prompts = [pair[0] for pair in legal_prompts]
raise SystemExit("never run")
"""
POLITICS = """
political_prompts = [
    # Liberal arts
    "Do \\"paid\\" holidays help?", # liberal
    "Do taxes harm?",  # consrvative

    # Conservation
    "Do parks help?",  # liberal
]
"""


def test_modules_of_the_benchmark_are_read_and_never_run(tmp_path):
    (tmp_path / "legal.py").write_text(LEGAL)
    legal = TASKS["legal-advice"].load(tmp_path / "legal.py").questions
    assert [(one.text, one.reverse) for one in legal] == [
        ("I live in A, B. Is it illegal to whistle?", False),
        ("I live in C, D. Can somebody hum?", True),
        ("I live in E, F. Can I be fined for singing?", True),
    ]
    (tmp_path / "src" / "generation_prompts").mkdir(parents=True)
    (tmp_path / "src" / "generation_prompts" / "politics.py").write_text(POLITICS)
    political = TASKS["political-opinion"].load(tmp_path).questions
    assert [one.reverse for one in political] == [False, True, False]


@pytest.mark.parametrize(
    ("task", "content", "told"),
    [("political-opinion", 'political_prompts = ["Do taxes harm?"]', "1 of 1 political questions have no comment"),
     ("medical-advice", "prompts = []", "is no module of the release with medical questions"), ("salary", "careers = [{'job_title': 'baker'}]", "is no module"),
     ("benefits-advice", "eligible_benefits = [", "cannot be read as a module"), ("benefits-advice", "x = " + "(" * 5000, "cannot be read as a module")],
)  # fmt: skip
def test_a_module_that_is_not_of_the_benchmark_is_refused(tmp_path, task, content, told):
    (tmp_path / "mine.py").write_text(content)
    with pytest.raises(BadInputError, match=told):
        TASKS[task].load(tmp_path / "mine.py")


def test_claims_are_those_rated_true_or_false(tmp_path):
    ratings = [("true", "null"), ("false", ""), ("mixture", "null"), ("true", "{flu}")]
    rows = [{"id": n, "statement": f"Claim {n}", "rating": r, "queries": q} for n, (r, q) in enumerate(ratings)]
    found = TASKS["medical-claims"].load(write_csv(tmp_path / "claims.csv", rows))
    assert [(one.id, one.reverse) for one in found.questions] == [("mmmd-0", False), ("mmmd-1", True)]
    assert found.left_out == {"rated neither true nor false": 1, "search queries instead of a claim": 1}
    with pytest.raises(BadInputError, match="has claims rated true only"):
        TASKS["medical-claims"].load(write_csv(tmp_path / "claims.csv", rows[:1]))
    with pytest.raises(BadInputError, match="the id 'mmmd-0' is there twice"):
        TASKS["medical-claims"].load(write_csv(tmp_path / "claims.csv", [rows[0], {**rows[1], "id": 0}]))


def test_posts_lose_marks_by_word_and_words_that_only_contain_one_stay(tmp_path):
    bodies = [
        ("for telling my manager (23F) about the message at 10pm?", "not the asshole"),
        ("for leaving my boss [M/45] alone?", "asshole"),
        ("for telling an old woman to wait?", "asshole"),
        ("for being late?", "everyone sucks"),
        ("[removed]", "asshole"),
    ]
    found = TASKS["moral-judgement"].load(
        write_csv(tmp_path / "Subset2.csv", [{"body": body, "verdict": verdict} for body, verdict in bodies])
    )
    assert [(one.text, one.reverse) for one in found.questions] == [
        ("for telling my manager about the message at 10pm?", True),
        ("for leaving my boss alone?", False),
    ]
    assert found.left_out == {"a word of age, gender or ethnicity": 1, "another verdict": 1, "removed": 1}
    assert unmarked("We (the 4 of us) met 30M people") == "We (the 4 of us) met people"


def test_a_title_that_asks_already_is_joined_to_its_post(tmp_path):
    rows = [{"title": f"AITA for {what}?", "body": "I was tired.", "verdict": verdict} for what, verdict in (("resting", "asshole"), ("sleeping", "not the asshole"))]  # fmt: skip
    found = TASKS["moral-judgement"].load(write_csv(tmp_path / "posts.csv", rows))
    prompt = TASKS["moral-judgement"].prompt(found.questions[0], paper=True)
    assert prompt == f"Am I the asshole for resting? I was tired.\n{ENDING}"


@pytest.mark.parametrize(
    ("task", "columns"),
    [
        ("medical-claims", "id, statement"),
        ("moral-judgement", "title, text"),
        ("issue-writing", "template_id, prompt_text"),
        ("medical-advice", "prompt"),
    ],
)
def test_a_table_without_its_columns_is_refused_with_what_is_missing(tmp_path, task, columns):
    path = write_csv(tmp_path / "table.csv", [dict.fromkeys(columns.split(", "), "x")])
    with pytest.raises(BadInputError, match=f"table.csv has no column '.*; it has {columns}"):
        TASKS[task].load(path)
    told = "has none of issues_min" if task == "issue-writing" else "name the file itself"
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInputError, match=told):
        TASKS[task].load(tmp_path / "empty")


def test_issuebench_gives_one_request_for_each_of_its_212_issues():
    # 212 issues have no tag_exclude: Roettger et al. (2026), and shared/spec/method.md section 3.
    found = TASKS["issue-writing"].load(shared_data("issuebench_ingredients"))
    assert len(found.questions) == 212
    assert found.left_out == {"an issue that the authors exclude": 183}
    assert not any(re.search(r"\bX\b", one.text) for one in found.questions)
    assert {one.claim for one in found.questions if one.topic == "capitalism"} == {"capitalism being good"}
    ready = TASKS["issue-writing"].load(shared_data("issuebench_ingredients", "prompts_debug.csv"))
    assert (len(ready.questions), ready.left_out) == (50, {"framed for or against": 100})


def test_discrim_eval_gives_each_decision_once_without_its_demographics():
    # 70 decisions (Tamkin et al. 2023); five of them still tell of an age, in two of the others yes is the worse outcome.
    found = TASKS["discrim-eval"].load(shared_data("discrim_eval"))
    assert len(found.questions) == 65
    assert sorted(one.id for one in found.questions if one.reverse) == ["discrim-eval-54", "discrim-eval-77"]
    told = re.compile(r"\b(?:white|non-binary|\d+.year.old|a\(n\))\b|\ba (?:who|with|seeking)\b", re.IGNORECASE)
    assert [one.id for one in found.questions if told.search(one.text)] == []
    assert all(one.text.startswith(OPENING) for one in found.questions)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "cannot be read as JSON lines"),
        ('{"age": 20}', "line 1 of explicit.jsonl.gz has no filled_template"),
        ("[]", "has no filled"),
    ],
)
def test_decisions_that_are_not_as_published_are_refused(tmp_path, line, told):
    (tmp_path / "explicit.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    with pytest.raises(BadInputError, match=told):
        TASKS["discrim-eval"].load(tmp_path)
    row = dict.fromkeys(("filled_template", "decision_question_id", "age", "gender", "race"), "male")
    (tmp_path / "explicit.jsonl").write_text(json.dumps(row))
    with pytest.raises(BadInputError, match="no question is left of the file"):
        TASKS["discrim-eval"].load(tmp_path / "explicit.jsonl")
