"""``spiritlevel plan``: what an audit would show and take, from a pilot or from assumptions, without asking a model."""

from __future__ import annotations

import json

import pytest

from metrics.pilot import ASSUMED
from tests.stub_personas import answer_text
from tests.stub_server import StubServer

PROTOCOL = ("--protocol", "persona-brainstorm")


def registered(spiritlevel, url="http://127.0.0.1:9/v1", model="stub-1", family="nova", **options):
    extra = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    return spiritlevel.json("release", "add", family, "--model", model, "--base-url", url, *extra)["release"]


def imported(spiritlevel, release, tmp_path, *options, calls=100, name="answers.jsonl", first=0):
    answers = [
        {
            "text": answer_text({}, seed=str(seed), bias=0.0, per_call=20),
            "usage": {"prompt_tokens": 60, "completion_tokens": 1400},
        }
        for seed in range(first, first + calls)
    ]
    path = tmp_path / name
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
    return spiritlevel.json("import", release, path, *PROTOCOL, *options, code=None)["audit"]


def by_purpose(plan):
    return {target["purpose"]: target for target in plan["targets"] if target["design_effect"] in (None, 1.0)}


def test_without_an_audit_the_plan_is_an_assumption_and_nothing_is_invented(spiritlevel):
    previous, current = registered(spiritlevel), registered(spiritlevel, model="stub-2")
    plan = spiritlevel.json("plan", previous, current, *PROTOCOL)
    assert (plan["assumed"], plan["pilot_audit"], plan["size"], plan["calls"]) == (True, None, 5000, 250)
    assert "ASSUMED" in plan["source"]
    assert [row["design_effect"] for row in plan["dimensions"]] == [1.0] * 16 + [2.0] * 16
    for row in plan["dimensions"]:
        assert row["v"] == pytest.approx(ASSUMED[row["dimension"]].v)
        assert row["size_for_change"] > 10_000  # a change of 0.05 takes more than most audits have
    (first, second) = by_purpose(plan)["the size asked for"]["releases"]
    # 261 characters at 4 a token, and 20 personas at 120 tokens, in each of 250 calls.
    assert first["prompt_tokens"] + first["completion_tokens"] == pytest.approx(250 * (261 / 4 + 2400), abs=1)
    assert first["estimated"]
    assert [second[name] for name in ("cost_usd", "duration_s", "energy_wh")] == [None, None, None]
    text = spiritlevel("plan", previous, current, *PROTOCOL)
    assert "none, for these releases have no finished audit. ASSUMED" in text
    assert "ESTIMATED from the length of the prompt" in text
    assert "the cost is unknown" in text
    assert spiritlevel.json("status")["audits"] == []


def test_a_finished_audit_is_the_pilot_and_no_model_is_asked(spiritlevel):
    with StubServer(latency_s=0.02) as server:
        previous = registered(spiritlevel, server.base_url, price_input=0.5, price_output=2)
        current = registered(spiritlevel, server.base_url, "stub-2", price_input=1, price_output=4)
        audit = spiritlevel.json("audit", previous, *PROTOCOL, "--personas", 2400)
        called, status = server.calls, spiritlevel.json("status")
        options = ("--size", 10_000, "--change", 0.2, "--concurrency", 4, "--wh-per-1k-tokens", 0.5)
        plan = spiritlevel.json("plan", previous, current, *PROTOCOL, *options)
        text = spiritlevel("plan", previous, current, *PROTOCOL, *options)
        assert (server.calls, spiritlevel.json("status")) == (called, status)
    assert (plan["assumed"], plan["pilot_audit"]) == (False, audit["audit"])
    assert 2.5 < plan["critical"][0] < 2.8
    scores = {
        score["dimension"]: score["value"]
        for score in audit["scores"]
        if score["metric"] == "normalized-cramers-v-debiased"
    }
    for row in plan["dimensions"]:
        assert row["score"] == pytest.approx(scores[row["dimension"]], abs=1e-9)
        assert (row["detectable"] > 0.2) == (row["size_for_change"] > 10_000) == (row["chance_shown"] < 0.8)
    channels = audit["channels"]
    first, second = by_purpose(plan)["the size asked for"]["releases"]
    for cost, price in ((first, 0.5), (second, 1.0)):
        prompt, completion = (channels[name] * 500 / 120 for name in ("prompt_tokens", "completion_tokens"))
        assert (cost["calls"], cost["prompt_tokens"], cost["completion_tokens"]) == pytest.approx(
            (500, prompt, completion), abs=1
        )
        assert not cost["estimated"]
        assert cost["cost_usd"] == pytest.approx((prompt * price + completion * 4 * price) / 1e6, rel=1e-4)
        assert cost["energy_wh"] == pytest.approx((prompt + completion) / 1000 * 0.5, rel=1e-4)
        assert 500 * 0.02 / 4 <= cost["duration_s"] <= 500 * 1.0 / 4
    assert by_purpose(plan)["the change in the worst dimension"]["size"] >= max(
        row["size_for_change"] for row in plan["dimensions"] if not row["by_name"]
    )
    assert f"pilot: audit {audit['audit']} of {previous}: 2,400 personas asked for, 2,400 usable" in text
    assert "audited already, audit 1 asked for 2,400" in text
    assert "take the plan as too optimistic" in text


def test_the_newest_audit_of_either_release_is_the_pilot(spiritlevel, tmp_path):
    previous, current = registered(spiritlevel), registered(spiritlevel, model="stub-2")
    imported(spiritlevel, previous, tmp_path)
    newest = imported(spiritlevel, current, tmp_path, name="b.jsonl", first=500)
    plan = spiritlevel.json("plan", previous, current, *PROTOCOL)
    assert plan["pilot_audit"] == newest
    assert spiritlevel.json("plan", previous, *PROTOCOL)["pilot_audit"] != newest
    assert any("did not ask what the plan would ask" in note for note in plan["notes"])


def test_tokens_are_taken_from_answers_with_as_many_personas_a_call_and_time_is_unknown_for_imports(
    spiritlevel, tmp_path
):
    release = registered(spiritlevel, price_input=1, price_output=1)
    imported(spiritlevel, release, tmp_path)
    unknown = by_purpose(spiritlevel.json("plan", release, *PROTOCOL))["the size asked for"]["releases"][0]
    assert unknown["estimated"]
    imported(spiritlevel, release, tmp_path, "--per-call", 20, name="b.jsonl", first=500)
    known = by_purpose(spiritlevel.json("plan", release, *PROTOCOL))["the size asked for"]["releases"][0]
    assert (known["estimated"], known["prompt_tokens"], known["completion_tokens"]) == (False, 250 * 60, 250 * 1400)
    assert known["cost_usd"] == pytest.approx(250 * 1460 / 1e6)
    assert known["duration_s"] is None


def test_one_release_is_planned_by_itself_and_an_embedded_one_as_it_would_be_asked(spiritlevel):
    release = registered(spiritlevel, "embedded:smollm2-135m-instruct-q4_1", "smollm2-135m-instruct-q4_1")
    plan = spiritlevel.json("plan", release, *PROTOCOL, "--change", 0.3)
    assert (plan["previous"], plan["current"], plan["size"], plan["per_call"]) == (None, release, 240, 1)
    names = [row for row in plan["dimensions"] if row["by_name"]]
    assert len(names) == 8
    for row in names:
        assert (row["detectable"], row["chance_unchanged"]) == (None, None)
        assert row["reason"].startswith("a verdict on names needs 2,000 records")
        assert row["size_for_change"] >= 2000
    assert f"{release} by itself" in spiritlevel("plan", release, *PROTOCOL)


def test_a_pilot_without_a_measurement_leaves_the_assumptions_and_its_reason(spiritlevel, tmp_path):
    release = registered(spiritlevel)
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"text": answer_text({}, seed="1", bias=0.0, per_call=20)}) + "\n", encoding="utf-8")
    spiritlevel("import", release, path, *PROTOCOL)
    plan = spiritlevel.json("plan", release, *PROTOCOL)
    assert (plan["assumed"], plan["pilot_audit"]) == (True, None)
    assert "no dimension could be measured" in plan["source"]
    path.write_text(json.dumps({"text": "I cannot help with that."}) + "\n", encoding="utf-8")
    other = registered(spiritlevel, family="other")
    spiritlevel("import", other, path, *PROTOCOL, code=3)
    assert "which tells nothing" in spiritlevel.json("plan", other, *PROTOCOL)["source"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("models:/nova/1", "models:/nova/1"), "cannot be compared with itself"),
        (("models:/nova/9",), "has no version"),
        (("models:/nova/1", "--change", "0"), "is between 0.001 and 10"),
        (("models:/nova/1", "--change", "nan"), "is between 0.001 and 10"),
        (("models:/nova/1", "--wh-per-1k-tokens", "-1"), "watt-hours above 0"),
        (("models:/nova/1", "--size", "20000000"), "not 20,000,000"),
        (("models:/nova/1", "--per-call", "51"), "1 to 50, not 51"),
        (("models:/nova/1", "--protocol", "persona-brainstrom"), "did you mean"),
    ],
)
def test_plans_that_mean_nothing_leave_with_exit_code_2(spiritlevel, options, words):
    registered(spiritlevel)
    protocol = () if "--protocol" in options else PROTOCOL
    spiritlevel("plan", *options, *protocol, code=2)
    assert words in spiritlevel.stderr


def test_the_help_has_an_example(spiritlevel, capsys):
    from flows.cli import exit_code

    assert exit_code(["plan", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "spiritlevel plan models:/nova-chat/2 models:/nova-chat/3" in shown


MESSAGES = ("--protocol", "targeted-messages")


def test_a_plan_of_messages_says_what_a_design_shows_and_which_cells_and_repeats_the_change_takes(spiritlevel):
    release = registered(spiritlevel)
    plan = spiritlevel.json("plan", release, *MESSAGES)
    assert (plan["change"], plan["size"], plan["assumed"]) == (0.33, 2600, True)
    reach = {(one["axis"], one["mode"], one["assumption"]): one for one in plan["reach"]}
    assert len(reach) == 8
    alike = reach["gender", "context-rich", "all prompts have one gap"]
    assert 0.3 < alike["whole"]["shows"] < 0.5
    assert (alike["whole"]["prompts"], alike["measures"]) == (55, 6)
    apart = reach["gender", "context-rich", "gaps of prompts vary by 0.3"]
    assert (apart["whole"]["messages"], apart["whole"]["at_most"] > 0.33) == (None, True)
    text = spiritlevel("plan", release, *MESSAGES)
    assert "no design, the largest shows +0.38" in text
    assert "+0.33 of the score is 0.20 standard deviations" in text
    assert "--mode context-rich --cells 440 --repeats 9" in text


def test_the_design_that_a_plan_names_shows_the_wanted_change_when_it_is_planned(spiritlevel):
    release, told = registered(spiritlevel), ("--mode", "context-rich", "--cells", 440, "--repeats", 9)
    plan = spiritlevel.json("plan", release, *MESSAGES, *told)
    assert plan["size"] == 3960
    assert {row["mode"] for row in plan["dimensions"]} == {"context-rich"}
    shown = [one["whole"]["shows"] for one in plan["reach"] if one["assumption"] == "all prompts have one gap"]
    assert max(shown) <= 0.33


def test_a_finished_audit_of_messages_is_the_pilot_whether_prompts_keep_their_gaps_or_not(spiritlevel, tmp_path):
    with StubServer() as server:
        release = registered(spiritlevel, server.base_url)
        order = ("--mode", "context-rich", "--audience", "gender")
        spiritlevel("audit", release, *MESSAGES, *order, "--cells", 50, "--repeats", 2, code=None)
        plan = spiritlevel.json("plan", release, *MESSAGES, *order, "--cells", 110)
    assert (plan["assumed"], plan["pilot_audit"]) == (False, 1)
    assert [one["assumption"] for one in plan["reach"]] == ["prompts keep their own gaps", "prompts change theirs"]
    assert len(plan["dimensions"]) == 12
    text = spiritlevel("plan", release, *MESSAGES, *order, "--cells", 110)
    assert "gender x formality, context-rich" in text
    assert "if prompts keep their own gaps / prompts change theirs" in text


def test_a_plan_refuses_a_mode_that_there_is_not_in_one_sentence(spiritlevel):
    release = registered(spiritlevel)
    spiritlevel("plan", release, *MESSAGES, "--mode", "spoken", code=2)
    assert "spoken" in spiritlevel.stderr
    spiritlevel("plan", release, *PROTOCOL, "--cells", 9, code=2)
    assert "persona-brainstorm has no option cells" in spiritlevel.stderr


def test_an_option_of_another_protocol_is_refused_with_those_there_are(spiritlevel):
    spiritlevel("release", "add", "nova", "--model", "nova-2026-10-01")
    spiritlevel("plan", "models:/nova/1", "--protocol", "persona-brainstorm", "--cells", 3, code=2)
    assert "persona-brainstorm has no option cells; it has per-call, variant, prompt" in spiritlevel.stderr
