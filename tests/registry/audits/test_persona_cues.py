"""The protocol of persona cues: what it asks, how sums are read, and what is refused."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

import pytest

from metrics.errors import BadInputError
from registry.audits.cue_design import cue_design, question_of
from registry.audits.cue_reading import Calls, Sums
from registry.audits.plan import Decoding, Response
from registry.audits.protocols.persona_cues import YES_NO_GRAMMAR, PersonaCues
from registry.audits.tasks import TASKS

SMALL = {"tasks": ("medical-advice",), "axes": ("gender",), "cues": ("name-user", "explicit-mention-system")}


@pytest.fixture
def protocol():
    return PersonaCues()


@pytest.fixture
def plan(protocol):
    return protocol.plan(questions=3, variants=2, samples=2, **SMALL)


def cells_of(protocol, plan):
    return {request.index: request.cell for request in protocol.requests(plan)}


def test_each_prompt_is_a_question_by_a_persona_under_a_cue_and_the_bare_question_comes_first(protocol, plan):
    requests = list(protocol.requests(plan))
    assert len(requests) == plan.size == 3 * (1 + 2 * 3 * 2) * 2
    assert [request.cell["cue"] for request in requests[:2]] == ["no-persona", "no-persona"]
    by = Counter((r.cell["cue"], r.cell.get("persona", "")) for r in requests)
    assert by["name-user", "unisex"] == by["explicit-mention-system", "non-binary"] == 3 * 2 * 2
    assert len({(request.index, request.repeat) for request in requests}) == len(requests)
    assert len({request.seed for request in requests}) == len(requests)
    system = next(r for r in requests if r.cell["cue"] == "explicit-mention-system")
    assert [message["role"] for message in system.messages] == ["system", "user"]


def test_the_default_is_the_design_of_the_paper_on_all_tasks_that_need_no_judge(protocol):
    plan = protocol.plan(**protocol.defaults().sizes)
    assert plan.size == 8 * 40 * (1 + 6 * 10 * 5) * 3
    assert "issue-writing" not in {name for name, *_ in plan.options["tasks"]}
    judged = PersonaCues({"judge": "models:/judges/1"}).plan(**protocol.defaults().sizes)
    assert "issue-writing" in {name for name, *_ in judged.options["tasks"]}


def test_the_counts_of_the_paper_come_out_of_its_sizes():
    # arXiv 2601.18572: 1,666 questions x 7 models x 3 samples x (6 cues x 5 variations x 10 personas + 1) = 10,530,786
    design = cue_design(tasks=["salary"], axes=None, cues=None, questions=40, variants=5, judged=False)
    per_question = design.size // 40
    assert 1666 * 7 * 3 * per_question == 10_530_786


def test_more_questions_variants_or_samples_ask_the_same_in_another_size(protocol, plan):
    larger = protocol.plan(questions=5, variants=4, samples=3, **SMALL)
    assert larger.collection_key == plan.collection_key
    small = {
        (c["question"], c["cue"], c.get("persona"), c.get("variant")): c.get("filler")
        for c in cells_of(protocol, plan).values()
    }
    large = {
        (c["question"], c["cue"], c.get("persona"), c.get("variant")): c.get("filler")
        for c in cells_of(protocol, larger).values()
    }
    assert small.items() <= large.items()


def test_another_cue_task_axis_or_the_papers_mode_is_another_question(protocol, plan):
    others = [
        protocol.plan(**SMALL | {"cues": ("name-user",)}),
        protocol.plan(**SMALL | {"tasks": ("legal-advice",)}),
        protocol.plan(**SMALL | {"axes": ("age",)}),
        protocol.plan(**SMALL, paper=True),
    ]
    assert len({one.collection_key for one in [plan, *others]}) == 5
    assert others[-1].sampling.top_p == 0.9


def test_a_plan_from_storage_asks_the_same_again_in_another_process(protocol, plan):
    from registry.audits.plan import AuditPlan

    again = AuditPlan.from_json(plan.as_json())
    assert list(PersonaCues().requests(again)) == list(protocol.requests(plan))


def test_a_plan_whose_questions_are_others_by_now_is_refused(plan):
    import dataclasses

    changed = dict(plan.options) | {"tasks": [["medical-advice", "1", "0000"]]}
    with pytest.raises(BadInputError, match="others than this plan's"):
        PersonaCues().requests(dataclasses.replace(plan, options=changed))


def test_values_are_read_with_polarity_and_outcomes_are_kept(protocol, plan):
    cells = cells_of(protocol, plan)
    answers = [Response(index=index, repeat=0, text="Yes") for index in cells]
    found = protocol.values(plan, cells, answers)
    turned = {question_of(cells[one.index]).reverse: one.value for one in found}
    assert turned == {False: 1.0, True: 0.0}
    prose = protocol.values(plan, cells, [Response(index=0, repeat=0, text="It depends on many things.")])
    assert (prose[0].value, prose[0].outcome) == (None, "unparsable")


def test_sums_become_a_frame_and_what_was_never_asked_is_counted(protocol, plan):
    cells = cells_of(protocol, plan)
    sums = Sums(
        index=[0, 0, 1], outcome=["ok", "refused", "ok"], n=[1, 1, 2], total=[1.0, 0.0, 1.0], squares=[1.0, 0.0, 1.0]
    )
    calls = Calls(
        asked=plan.size,
        put=4,
        answered=4,
        repeats=2,
        served_models={"m": 4},
        fingerprints={},
        prompt_tokens=8,
        completion_tokens=4,
    )
    reading = protocol.read_sums(plan, cells, sums, calls, price_input=1.0, price_output=1.0)
    assert len(reading.frame) == len(cells)
    assert reading.frame[["n", "total", "squares", "excluded"]].iloc[0].tolist() == [1, 1.0, 1.0, 1]
    assert reading.channels.outcomes == {"ok": 3, "refused": 1, "not asked": plan.size - 4}
    assert reading.channels.usable + reading.channels.shortfall == plan.size
    assert reading.channels.groups["task = medical-advice"]["refused"] == 1
    assert set(reading.fillers["cue"]) == {"name-user"}


def test_a_text_is_given_to_the_judge_with_its_issue_and_counts_what_the_judge_says():
    from registry.audits.rating import GoldRating, Ratings, text_key
    from registry.audits.rubric import load_rubric

    protocol = PersonaCues({"judge": "models:/judges/1"})
    plan = protocol.plan(
        tasks=("issue-writing",), axes=("gender",), cues=("name-user",), questions=2, variants=1, samples=1
    )
    cells = cells_of(protocol, plan)
    essay = [
        Response(
            index=0, repeat=0, text="There are many good reasons for this, and few against it, as anybody can see."
        )
    ]
    (text,) = protocol.rated_texts(plan, cells, essay)
    assert text.startswith("Issue: ")
    stance = load_rubric("stance")
    rated = Ratings(
        rubric=stance,
        answers={text_key(text): "5"},
        gold=tuple(GoldRating(one, one.answer) for one in stance.gold),
    )
    value = protocol.values(plan, cells, essay, {"stance": rated})[0].value
    assert value == (1.0 if question_of(cells[0]).reverse else 5.0)
    guessed = dataclasses.replace(rated, gold=tuple(GoldRating(one, "3") for one in stance.gold))
    assert protocol.values(plan, cells, essay, {"stance": guessed})[0].value is None
    assert protocol.values(plan, cells, essay)[0].outcome == "unparsable"


def test_the_embedded_design_holds_answers_to_yes_and_no_only_where_all_tasks_are_asked_so(protocol):
    chosen = protocol.embedded()
    plan = protocol.plan(
        **chosen.sizes,
        **chosen.options,
        sampling=chosen.sampling,
        decoding=chosen.decoding,
        decoding_spec=chosen.decoding_spec,
    )
    assert (plan.decoding, plan.decoding_spec) == (Decoding.GRAMMAR, YES_NO_GRAMMAR)
    free = protocol.plan(
        **chosen.sizes,
        **dict(chosen.options) | {"tasks": ("salary",)},
        sampling=chosen.sampling,
        decoding=chosen.decoding,
        decoding_spec=chosen.decoding_spec,
    )
    assert free.decoding == Decoding.FREE_TEXT
    assert free.sampling.max_tokens == TASKS["salary"].max_tokens


@pytest.mark.parametrize(
    ("options", "words"),
    [({"cues": ("name-usre",)}, "did you mean 'name-user'"), ({"tasks": ("salry",)}, "did you mean 'salary'"), ({"axes": ("height",)}, "height"),
     ({"cues": ("no-persona",)}, "baseline"), ({"tasks": ("issue-writing",)}, "no[n]?e is configured"), ({"tasks": ("salary", "salary")}, "named twice"),
     ({"files": {"salary": "nowhere.toml"}, "tasks": ("salary",)}, "nowhere.toml"), ({"files": {"weather": "x"}}, "no task or history cue"),
     ({"samples": 0}, "1 to 1,000 samples"), ({"questions": 0}, "at least one of questions"), ({"variants": 300}, "variants"), ({"seed": -1}, "seed")],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_in_one_sentence(protocol, options, words):
    with pytest.raises(BadInputError, match=words):
        protocol.plan(**SMALL | {"questions": 2} | options)


def test_a_size_in_answers_chooses_about_so_many_questions(protocol):
    plan = protocol.plan(size=2000, variants=5, samples=2, **SMALL)
    assert plan.size == pytest.approx(2000, rel=0.1)


def test_every_cell_is_named_by_what_an_analysis_needs(protocol, plan):
    known = {"task", "question", "topic", "claim", "reverse", "cue", "axis", "persona", "variant", "filler", "held"}
    for cell in itertools.islice(cells_of(protocol, plan).values(), 50):
        assert set(cell) <= known
        assert {"task", "question", "cue", "variant"} <= set(cell)
