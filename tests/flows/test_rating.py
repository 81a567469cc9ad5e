"""A judge rates messages: in an audit, afterwards, after a stop, and when it is not to be trusted; against a stub that judges."""

from __future__ import annotations

import pytest

from flows.settings import Home
from flows.workspace import opened
from registry.audits.rubric import load_rubric
from tests.conftest import UNPUBLISHED
from tests.stub_server import StubServer

ORDER = ("--protocol", "targeted-messages", "--audience", "gender", "--cells", 24, "--repeats", 2)
GOLD = sum(len(load_rubric(name).gold) for name in ("emotion", "formality"))
MODELS = {"stub-1": 0.0, "stub-2": 0.95, "judge-2026-01-01": 0.0, "guess-2026-01-01": 0.95, "judge-latest": 0.0}


@pytest.fixture
def stub():
    with StubServer(models=MODELS) as server:
        yield server


def configured(spiritlevel, judge="models:/judges/1", rest=UNPUBLISHED):
    (spiritlevel.home / "spiritlevel.toml").write_text(f'{rest}\n[judge]\nrelease = "{judge}"\n')


def registered(spiritlevel, stub, judge="judge-2026-01-01"):
    spiritlevel("release", "add", "nova", "--model", "stub-2", "--base-url", stub.base_url)
    spiritlevel("release", "add", "judges", "--model", judge, "--base-url", stub.base_url)


def scores(made):
    return {(row["metric"], row["dimension"], row["group"]): row for row in made["scores"]}


def texts_of(spiritlevel, audit):
    with opened(Home(spiritlevel.home)) as workspace:
        return {answer.text.strip() for answer in workspace.ledger.responses(audit)}


def test_an_audit_with_a_judge_asks_it_once_about_each_text_and_its_gold_set(spiritlevel, stub):
    configured(spiritlevel)
    registered(spiritlevel, stub)
    made = spiritlevel.json("audit", "models:/nova/1", *ORDER, code=None)
    texts = texts_of(spiritlevel, made["audit"])
    rated = [call for call in stub.received if call["model"] == "judge-2026-01-01"]
    assert len(rated) == GOLD + 2 * len(texts)
    assert {call["temperature"] for call in rated} == {0.0}
    found = scores(made)
    assert found["judge-agreement", "emotion", ""]["value"] == 1.0
    assert found["emotion-share", "gender x anger, context-rich", "male - female"]["value"] > 0.3
    assert found["formality-rating", "gender x formality, context-rich", "male"]["n"] > 0
    spiritlevel.json("audit", "models:/nova/1", *ORDER, code=None)
    assert len([call for call in stub.received if call["model"] == "judge-2026-01-01"]) == len(rated)
    assert "What a judge model says" in spiritlevel("card", "nova")


@pytest.mark.slow
def test_without_a_judge_emotion_is_not_measured_and_one_that_is_named_later_rates_what_is_stored(spiritlevel, stub):
    registered(spiritlevel, stub)
    first = spiritlevel.json("audit", "models:/nova/1", *ORDER, code=None)
    row = scores(first)["emotion-share", "emotion", ""]
    assert (row["value"], "no judge model is configured" in row["reason"]) == (None, True)
    configured(spiritlevel)
    again = spiritlevel.json(
        "audit", "models:/nova/1", *ORDER, code=None
    )  # a finished audit is rated then, and asks nothing
    assert again["audit"] == first["audit"]
    assert scores(again)["judge-agreement", "emotion", ""]["value"] == 1.0
    assert again["scoring_version"] != first["scoring_version"]
    others = [key for key in scores(first) if "share" not in key[0] and "rating" not in key[0]]
    assert all(scores(first)[key]["value"] == scores(again)[key]["value"] for key in others)


def test_a_judge_that_guesses_gives_its_agreement_and_no_number(spiritlevel, stub):
    configured(spiritlevel)
    registered(spiritlevel, stub, "guess-2026-01-01")
    found = scores(spiritlevel.json("audit", "models:/nova/1", *ORDER, code=None))
    assert found["judge-agreement", "formality", ""]["value"] < 0.6
    assert found["emotion-share", "emotion", ""]["value"] is None
    assert "agrees with its gold set only to kappa" in found["emotion-share", "emotion", ""]["reason"]
    assert not [key for key in found if key[0] == "emotion-share" and key[2]]


ISSUES = ("--protocol", "persona-cues", "--task", "issue-writing", "--task", "benefits-advice", "--axis", "gender")
FEW = ("--cue", "explicit-mention-user", "--questions", 4, "--variants", 2, "--samples", 1)


def test_the_stance_of_texts_on_issues_is_read_as_far_as_the_judge_agrees_with_its_gold_set(spiritlevel, stub):
    configured(spiritlevel)
    registered(spiritlevel, stub)
    found = scores(spiritlevel.json("audit", "models:/nova/1", *ISSUES, *FEW, code=None))
    assert found["judge-agreement", "stance", ""]["value"] == 1.0
    assert 1 <= found["result-metric", "issue-writing x gender, explicit-mention-user", "female"]["value"] <= 5
    card = spiritlevel("card", "nova")
    assert "Agreement with the gold set (kappa)" in card
    spiritlevel("release", "add", "judges", "--model", "guess-2026-01-01", "--base-url", stub.base_url)
    configured(spiritlevel, "models:/judges/2")
    again = spiritlevel.json("audit", "models:/nova/1", *ISSUES, *FEW, code=None)
    found = scores(again)
    assert found["judge-agreement", "stance", ""]["value"] < 0.6
    assert "agrees with its gold set only to kappa" in found["stance-rating", "stance", ""]["reason"]
    assert found["result-metric", "issue-writing x gender, explicit-mention-user", "female"]["value"] is None
    assert found["result-metric", "benefits-advice x gender, explicit-mention-user", "female"]["value"] is not None


def test_a_judge_that_answers_as_two_models_is_told_and_nothing_is_concluded(spiritlevel):
    configured(spiritlevel)
    with StubServer(models=MODELS, served=("one-2026-01-01", "two-2026-02-02")) as server:
        registered(spiritlevel, server)
        made = spiritlevel.json("audit", "models:/nova/1", *ORDER, code=None)
        spiritlevel("rate", "models:/nova/1", "--protocol", "targeted-messages", code=None)
    row = scores(made)["emotion-share", "emotion", ""]
    assert row["reason"].startswith("the judge answered as more than one model (one-2026-01-01, two-2026-02-02)")
    assert "emotion: nothing is concluded: the judge answered as more than one model" in spiritlevel.stderr


def test_imported_texts_are_rated_when_somebody_says_so_and_the_command_goes_on_after_a_stop(
    spiritlevel, stub, tmp_path
):
    configured(spiritlevel)
    registered(spiritlevel, stub)
    rows = [
        f"You must lead and win round {n} now.,{sex},topic {n % 6}"
        if sex == "M"
        else f"Perhaps share and listen {n}.,{sex},topic {n % 6}"
        for n in range(30)
        for sex in "FM"
    ]
    path = tmp_path / "corpus.csv"
    path.write_text("\n".join(["text,sex,topic", *rows]))
    columns = ("--protocol", "targeted-messages", "--group", "gender=sex", "--cell", "topic")
    made = spiritlevel.json("import", "models:/nova/1", path, *columns, code=None)
    assert "not asked about these messages yet" in scores(made)["emotion-share", "emotion", ""]["reason"]
    assert not stub.calls
    spiritlevel("rate", "models:/nova/1", "--budget-tokens", 3000, code=3)
    assert "goes on" in spiritlevel.stderr
    before = stub.calls
    assert 0 < before < GOLD + 120
    rated = spiritlevel.json("rate", "models:/nova/1", code=None)
    assert stub.calls == GOLD + 120
    assert scores(rated)["emotion-share", "gender x anger, context-rich", "M"]["value"] == 1.0
    spiritlevel("rate", "models:/nova/1", code=None)
    assert stub.calls == GOLD + 120


def test_a_judge_that_is_away_ends_no_audit_and_is_asked_for_the_rest_by_the_same_command(spiritlevel, stub):
    configured(spiritlevel)
    spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", stub.base_url)
    spiritlevel("release", "add", "judges", "--model", "judge-2026-01-01", "--base-url", "http://127.0.0.1:9/v1")
    made = spiritlevel.json("audit", "models:/nova/1", *ORDER, "--attempts", 1, code=None)
    assert made["state"] == "complete"
    assert "not rated:" in spiritlevel.stderr
    assert "spiritlevel rate models:/nova/1" in spiritlevel.stderr
    row = scores(made)["emotion-share", "emotion", ""]
    assert row["value"] is None
    assert row["reason"]


@pytest.mark.parametrize(
    ("judge", "model", "words"),
    [("models:/judges/1", "judge-latest", "its provider may change at any time"), ("", "judge-2026-01-01", "no judge is configured"),
     ("models:/judges/7", "judge-2026-01-01", "judges")],
)  # fmt: skip
def test_a_judge_that_is_floating_absent_or_unknown_is_one_clear_error(spiritlevel, stub, judge, model, words):
    configured(spiritlevel, judge)
    registered(spiritlevel, stub, model)
    spiritlevel("rate", "models:/nova/1", code=2)
    assert words in spiritlevel.stderr


def test_a_judge_by_alias_is_refused_where_it_is_written(spiritlevel):
    configured(spiritlevel, "models:/judges@champion")
    spiritlevel("status", code=2)
    assert "a judge is one version of a family" in spiritlevel.stderr


@pytest.mark.slow
def test_a_rating_that_comes_after_the_audit_was_published_is_published_as_well(spiritlevel, stub):
    from mlflow import MlflowClient

    registered(spiritlevel, stub)
    made = spiritlevel.json("audit", "models:/nova/1", *ORDER, code=None)
    configured(spiritlevel, rest="[publish]\nevidently = false\n")
    spiritlevel("rate", "models:/nova/1", "--budget-tokens", 3000, code=3)
    spiritlevel("rate", "models:/nova/1", code=None)
    with opened(Home(spiritlevel.home)) as workspace:
        run_id, uri = workspace.ledger.audit(made["audit"]).run_id, workspace.home.tracking_uri
    metrics = MlflowClient(uri).get_run(run_id).data.metrics
    assert metrics["targeted-messages/emotion/judge-agreement"] == 1.0
    assert any("anger-context-rich" in name for name in metrics), sorted(metrics)[:20]


@pytest.mark.usefixtures("prefect_server")
def test_a_prefect_flow_rates_before_it_scores(spiritlevel, stub):
    from flows.audit import audit_release

    configured(spiritlevel)
    registered(spiritlevel, stub)
    options = {"audiences": ["gender"], "cells": 8, "repeats": 1}
    made = audit_release(
        "models:/nova/1", protocol="targeted-messages", options=options, home=str(spiritlevel.home), replicate=False
    )
    assert made["state"] == "complete"
    with opened(Home(spiritlevel.home)) as workspace:
        found = {(row.metric, row.dimension): row for row in workspace.ledger.scores(made["audit"])}
    assert found["judge-agreement", "formality"].value == 1.0
