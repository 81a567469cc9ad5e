"""Imported, scored and compared: answers of real local models, kept beside the checkout."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from metrics.verdicts import Policy, release_verdict
from registry.audits.plan import Request, Response
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from tests.shared import shared_data

BUILDS = (
    "personas_smollm2-135m-instruct-q4_1",
    "personas_gemma-3-270m-q4_k_m",
    "personas_gemma-3-270m-q2_k",
    "personas_gemma-3-270m-q4_0",
)


def corpus(name):
    path = shared_data("local_corpus", f"{name}.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def lines(answers):
    return "".join(
        json.dumps(
            {"text": a["raw_text"], "model": a["model"], "finish_reason": a["finish_reason"], "usage": a["usage"]}
        )
        + "\n"
        for a in answers
    )


def test_two_builds_of_a_model_are_imported_compared_and_carded(spiritlevel, tmp_path):
    releases = []
    for name in BUILDS[1:3]:
        answers = corpus(name)
        source = tmp_path / f"{name}.jsonl"
        source.write_text(lines(answers))
        release = spiritlevel.json("release", "add", "gemma", "--model", answers[0]["model"])["release"]
        result = spiritlevel.json("import", release, source, "--protocol", "persona-brainstorm")
        assert result["channels"]["usable"] == len(answers)
        releases.append(release)
    result = spiritlevel.json("compare", *releases, code=None)
    assert len(result["comparisons"]) == 16
    card = json.loads(spiritlevel("card", "gemma", "--format", "json"))
    assert len(card["history"]) == 2


def test_mostly_broken_lists_of_twenty_are_salvaged_with_their_shortfall_counted(spiritlevel, tmp_path):
    answers = [
        answer
        for name in (
            "persona20_verbatim_smollm2-135m-instruct-q4_1",
            "persona20_verbatim_gemma-3-270m-q4_k_m",
            "persona20_grammar_smollm2-135m-instruct-q4_1",
        )
        for answer in corpus(name)
    ]
    (tmp_path / "a.jsonl").write_text(lines(answers))
    release = spiritlevel.json("release", "add", "tiny", "--model", "smollm2")["release"]
    result = spiritlevel.json(
        "import", release, tmp_path / "a.jsonl", "--protocol", "persona-brainstorm", "--per-call", 20, code=None
    )
    channels = result["channels"]
    assert channels["expected"] == 180
    assert channels["usable"] + channels["shortfall"] == 180
    assert channels["usable"] >= 10
    assert channels["outcomes"]["truncated"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS)
def test_random_halves_of_one_corpus_are_rarely_called_regressed(name, record_property):
    """200 random call-level splits of one corpus into two "releases": the false alarms of the whole product."""
    protocol = PersonaBrainstorm()
    answers = corpus(name)
    requests = [Request(index=i, messages=()) for i in range(len(answers))]
    responses = [Response(index=i, text=answer["raw_text"]) for i, answer in enumerate(answers)]
    whole = protocol.read(requests, responses)
    names = protocol.names([whole.frame])
    generator = np.random.default_rng(20261129)
    alarms = 0
    for split in range(200):
        half = generator.permutation(len(answers)) < len(answers) // 2
        sides = [_part(protocol, whole, half), _part(protocol, whole, ~half)]
        rows, reason = protocol.compare(*sides, names, Policy(seed=split, resamples=200))
        alarms += release_verdict(rows, reason)[0] == "regressed"
    print(f"{name}: {alarms} of 200 splits called regressed")
    record_property("false_alarm_share", alarms / 200)
    assert alarms <= 16


def _part(protocol, whole, chosen):
    import dataclasses

    frame = whole.frame[pd.Series(chosen).reindex(whole.frame["request"]).to_numpy()]
    return dataclasses.replace(whole, frame=frame)


def test_the_v_of_hand_labelled_stories_is_that_of_their_source():
    """Women and men in 16 jobs, ChatGPT 3.5 to 4: .685 -> .759 (labels of Shieh et al. 2024, "Laissez-Faire Harms")."""
    from metrics.association import cramers_v
    from metrics.tables import clustered_table

    stories = pd.read_csv(shared_data("laissez_faire_stories", "stories.csv.gz"))
    found = {}
    for model in ("ChatGPT3_5", "ChatGPT4"):
        chosen = (stories["model"] == model) & (stories["domain"] == "Work")
        rows = stories[chosen & stories["subject_gender"].isin(["Male", "Female"])]
        frame = pd.DataFrame(
            {"request": range(len(rows)), "role": rows["subject_role"], "gender": rows["subject_gender"]}
        )
        found[model] = cramers_v(clustered_table(frame, "role", "gender"))
    print(found)
    assert found["ChatGPT3_5"] == pytest.approx(0.685, abs=0.0005)
    assert found["ChatGPT4"] == pytest.approx(0.759, abs=0.0005)
