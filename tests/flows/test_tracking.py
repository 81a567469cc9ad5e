"""Publication to a real MLflow store: everything arrives as measured, and once."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import tracking as publication
from flows.metric_keys import SCORE_PARTS, comparison_metrics, keys, score_metrics, score_path, segment
from flows.stores import add_points, day_step, moment_ms, put_files, run_for, set_texts, storable
from flows.tracking import (
    Tracking,
    compare_link,
    model_link,
    publish_audit,
    publish_card,
    publish_comparison,
    publish_timeline,
    read_back,
    run_link,
    timeline_link,
    ui_command,
    ui_environment,
)
from metrics.results import Comparison, Score
from registry.audits.channels import Channels
from registry.audits.plan import AuditPlan
from registry.ledger.values import Audit
from tests.mlflow_stores import fresh_store

PROTOCOL = "persona-brainstorm"
FINISHED = "2026-10-01T12:30:00+00:00"


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store, and the check that nothing was written into the working directory."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    yield fresh_store(tmp_path)
    assert list(here.iterdir()) == []


@pytest.fixture
def release(store):
    return store.releases().add("acme-chat", "acme-1", released="2026-10-01", api_key_env="ACME_API_KEY")


def score(value=0.123456789012345, dimension="gender x occupation", metric="normalized-cramers-v", **others):
    return Score(**{"metric": metric, "dimension": dimension, "value": value, "n": 980, "n_clusters": 49} | others)


SCORES = (
    score(0.31, low=0.21, high=0.41, pvalue=1e-12, statistic=44.5, df=9.0, n_excluded=20, severity="medium"),
    score(0.1, metric="normalized-cramers-v-paper", severity="low"),
    score(0.2, dimension="sexual orientation x social class"),
    score(0.25, dimension="gender"),
    score(0.22, dimension="overall", low=0.0, high=0.5),
    score(0.4, metric="share", group="female - male"),
    score(None, metric="share", group="nonbinary - male", reason="no persona of the group has an occupation"),
)
CHANNELS = Channels(
    calls=50,
    answered=49,
    call_outcomes={"ok": 48, "refused": 1, "timed out": 1},
    expected=1000,
    usable=980,
    shortfall=20,
    outcomes={"ok": 980, "refused": 15, "missing": 5},
    formats={"json": 48, "prose": 1},
    duplicates=7,
    served_models={"acme-1-0801": 49},
    fingerprints={"fp_1": 49},
    requested_model="acme-1",
    prompt_tokens=1000,
    completion_tokens=2000,
    cost_usd=0.125,
)


def audit_of(release, **others):
    plan = AuditPlan(
        protocol=PROTOCOL,
        protocol_version="1",
        prompts={"ask": "Describe 20 people."},
        options={"per_call": 20},
        size=1000,
    )
    values = {
        "id": 7,
        "release": release,
        "protocol": PROTOCOL,
        "occasion": 1,
        "plan": plan,
        "source": "live",
        "state": "complete",
        "ordered_at": "2026-10-01T12:00:00+00:00",
        "finished_at": FINISHED,
        "scoring_version": "abc123",
    }
    return Audit(**values | others)


def publish(store, audit, scores=SCORES, channels=CHANNELS, **others):
    return publish_audit(store, audit, channels, scores, **{"tables": {}, "texts": {}} | others)


def all_points(store, run_id):
    client = store.client()
    return {
        (name, point.step, point.timestamp, point.value)
        for name in client.get_run(run_id).data.metrics
        for point in client.get_metric_history(run_id, name)
    }


def all_runs(store, name):
    return store.client().search_runs([store.experiment(name)])


def artifact(store, run_id, path):
    location = store.client().get_run(run_id).info.artifact_uri
    return Path(location, path).read_text(encoding="utf-8")


# ---------------------------------------------------------------- audits


def test_every_number_of_every_score_comes_back_from_mlflow(store, release):
    published = read_back(store, publish(store, audit_of(release)))
    key = "persona-brainstorm/gender/occupation/normalized-cramers-v"
    expected = {
        key: 0.31,
        f"{key}/low": 0.21,
        f"{key}/high": 0.41,
        f"{key}/pvalue": 1e-12,
        f"{key}/statistic": 44.5,
        f"{key}/df": 9.0,
        f"{key}/n": 980.0,
        f"{key}/n_clusters": 49.0,
        f"{key}/n_excluded": 20.0,
        "persona-brainstorm/sexual-orientation/social-class/normalized-cramers-v": 0.2,
        "persona-brainstorm/gender/normalized-cramers-v": 0.25,
        "persona-brainstorm/overall/normalized-cramers-v/high": 0.5,
        "persona-brainstorm/gender/occupation/share/female-male": 0.4,
        "persona-brainstorm/channels/coverage": 0.98,
        "persona-brainstorm/channels/cost_usd": 0.125,
        "persona-brainstorm/channels/outcomes/refused": 15.0,
        "persona-brainstorm/channels/rates/refused": 0.015,
        "persona-brainstorm/channels/call_outcomes/timed-out": 1.0,
    }
    assert {name: published.metrics.get(name) for name in expected} == expected
    scored = {name: value for name, value in published.metrics.items() if "/channels/" not in name}
    assert scored == score_metrics(PROTOCOL, SCORES)


def test_what_could_not_be_measured_has_a_reason_and_no_number(store, release):
    published = read_back(store, publish(store, audit_of(release)))
    where = "gender/occupation/share/nonbinary-male"
    assert f"{PROTOCOL}/{where}" not in published.metrics
    assert published.metrics[f"{PROTOCOL}/{where}/n"] == 980.0
    assert published.tags[f"reason/{where}"] == "no persona of the group has an occupation"


def test_severities_are_tags_of_their_metric(store, release):
    tags = read_back(store, publish(store, audit_of(release))).tags
    assert {name: text for name, text in tags.items() if name.startswith("severity/")} == {
        "severity/gender/occupation/normalized-cramers-v": "medium",
        "severity/gender/occupation/normalized-cramers-v-paper": "low",
    }


def test_an_audit_is_a_finished_run_nested_under_its_release(store, release):
    run_id = publish(store, audit_of(release))
    run = store.client().get_run(run_id)
    assert run.data.tags["mlflow.parentRunId"] == release.run_id
    assert run.info.experiment_id == store.client().get_run(release.run_id).info.experiment_id
    assert run.info.run_name == "audit 2026-10-01 persona-brainstorm #1"
    assert (run.info.status, run.info.end_time) == ("FINISHED", moment_ms(FINISHED))
    assert run.data.params["collection_key"] == audit_of(release).plan.collection_key
    assert run.data.params["served_model"] == "acme-1-0801"
    assert run.data.params["sampling.temperature"] == "1.0"


def test_publishing_twice_changes_nothing(store, release):
    tables = {"counts": pd.DataFrame({"term": ["nurse"], "n": [3]})}
    run_id = publish(store, audit_of(release), tables=tables)
    before = (all_points(store, run_id), all_points(store, release.run_id), read_back(store, run_id))
    assert publish(store, audit_of(release), tables=tables) == run_id
    assert (all_points(store, run_id), all_points(store, release.run_id), read_back(store, run_id)) == before
    assert len(all_runs(store, "spiritlevel/releases")) == 2
    assert json.loads(artifact(store, run_id, "tables/counts.json")) == {
        "columns": ["term", "n"],
        "data": [["nurse", 3]],
    }


def test_a_publication_that_stopped_half_way_is_completed(store, release):
    client, audit = store.client(), audit_of(release)
    run_id = run_for(
        store,
        "spiritlevel/releases",
        ("spiritlevel.audit_key", f"ledger/{audit.id}/{audit.scoring_version}"),
        name="audit",
        at_ms=0,
        parent=release.run_id,
    )
    some = dict(list(score_metrics(PROTOCOL, SCORES).items())[::2])
    add_points(client, run_id, some, at_ms=moment_ms(FINISHED), step=0)
    set_texts(client, run_id, tags={}, params={"protocol": "persona-brainstorm 1"})
    assert publish(store, audit) == run_id
    points = all_points(store, run_id)
    assert {name: value for name, _, _, value in points if "/channels/" not in name} == score_metrics(PROTOCOL, SCORES)
    assert len(points) == len(read_back(store, run_id).metrics)
    assert client.get_run(run_id).info.status == "FINISHED"


def test_another_scoring_or_ledger_is_another_run(store, release):
    first = publish(store, audit_of(release))
    rescored = publish(store, audit_of(release, scoring_version="def456"))
    elsewhere = publish(store, audit_of(release), ledger="other")
    assert len({first, rescored, elsewhere}) == 3


def test_the_release_run_shows_the_latest_audit_by_day(store, release):
    name = f"{PROTOCOL}/overall/normalized-cramers-v"
    early = audit_of(release)
    late = audit_of(release, id=8, occasion=2, finished_at="2026-10-09T08:00:00+00:00")
    publish(store, late, [score(0.1, dimension="overall")])
    publish(store, early, [score(0.9, dimension="overall")])
    assert read_back(store, release.run_id).metrics[name] == 0.1
    steps = {step for point, step, _, _ in all_points(store, release.run_id) if point == name}
    assert steps == {day_step("2026-10-01"), day_step("2026-10-09")}


def test_two_audits_of_one_day_keep_their_order_however_often_they_are_published(store, release):
    name = f"{PROTOCOL}/overall/normalized-cramers-v"
    first, second = audit_of(release), audit_of(release, id=8, occasion=2, finished_at="2026-10-01T18:00:00+00:00")
    for _ in range(2):
        publish(store, first, [score(0.9, dimension="overall")])
        publish(store, second, [score(0.1, dimension="overall")])
        publish(store, first, [score(0.9, dimension="overall")])
    assert read_back(store, release.run_id).metrics[name] == 0.1
    assert len([point for point in all_points(store, release.run_id) if point[0] == name]) == 2


def test_a_lower_value_of_a_new_scoring_replaces_the_old_one_on_the_release_run(store, release):
    name = f"{PROTOCOL}/overall/normalized-cramers-v"
    publish(store, audit_of(release), [score(0.9, dimension="overall")])
    for _ in range(2):
        publish(store, audit_of(release, scoring_version="def456"), [score(0.3, dimension="overall")])
    assert read_back(store, release.run_id).metrics[name] == 0.3
    assert len([point for point in all_points(store, release.run_id) if point[0] == name]) == 2


def test_only_headlines_go_to_the_release_run(store, release):
    publish(store, audit_of(release))
    assert read_back(store, release.run_id).metrics == {
        "persona-brainstorm/gender/occupation/normalized-cramers-v": 0.31,
        "persona-brainstorm/gender/occupation/normalized-cramers-v-paper": 0.1,
        "persona-brainstorm/sexual-orientation/social-class/normalized-cramers-v": 0.2,
        "persona-brainstorm/gender/normalized-cramers-v": 0.25,
        "persona-brainstorm/overall/normalized-cramers-v": 0.22,
        "persona-brainstorm/channels/coverage": 0.98,
        "persona-brainstorm/channels/duplicate_rate": 7 / 980,
    }


def test_more_numbers_and_longer_texts_than_one_request_takes(store, release):
    many = [score(index / 1e4, metric="share", group=f"group {index}", reason="r" * 8000) for index in range(170)]
    run_id = publish(store, audit_of(release), many)
    published = read_back(store, run_id)
    scored = {name: value for name, value in published.metrics.items() if "/channels/" not in name}
    assert len(scored) == 170 * 4
    tags = [text for name, text in published.tags.items() if name.startswith("reason/")]
    assert len(tags) == 170
    assert all(len(text) == 5000 and text.endswith(" \u2026") for text in tags)
    assert json.loads(artifact(store, run_id, "scores.json"))[0]["reason"] == "r" * 8000


def test_fifteen_hundred_metrics_arrive_in_batches(store, release):
    values = {f"m/{index}": float(index) for index in range(1500)}
    for _ in range(2):
        add_points(store.client(), release.run_id, values, at_ms=1000, step=0)
    assert read_back(store, release.run_id).metrics == values


def test_a_param_stays_as_it_was_first_said(store, release):
    for text in ("first", "second"):
        set_texts(store.client(), release.run_id, tags={"note": text}, params={"endpoint_region": text})
    published = read_back(store, release.run_id)
    assert (published.params["endpoint_region"], published.tags["note"]) == ("first", "second")


def test_hostile_names_and_texts_are_data(store, release):
    hostile = "<script>alert(1)</script> ../../etc | `x` %00 \x00 \ud800 '; drop table runs; --"
    scores = [
        score(0.5, group=hostile, reason=hostile),
        score(0.6, group="../../../../tmp/x"),
        score(0.7, group="."),
        score(0.8, group="g" * 400 + "\ud800"),
        score(0.9, group="\u5973\u6027"),
    ]
    frame = pd.DataFrame({"term": [hostile.replace("\ud800", "")], "share": [float("nan")]})
    run_id = publish(store, audit_of(release), scores, tables={"terms": frame}, texts={"notes.md": hostile})
    published = read_back(store, run_id)
    values = set(published.metrics.values())
    assert {0.5, 0.6, 0.7, 0.8, 0.9} <= values
    assert all(len(name) <= 250 for name in published.metrics)
    table = json.loads(artifact(store, run_id, "tables/terms.json"))
    assert table["data"][0][0].startswith("<script>alert(1)</script> ../../etc")
    assert table["data"][0][1] is None


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../x", "a//b", "", ".hidden", "a b"])
def test_files_with_names_that_are_no_plain_path_are_refused(store, release, name):
    with pytest.raises(ValueError, match="a published file has a plain relative name"):
        put_files(store.client(), release.run_id, {name: "x"})


def test_a_cost_that_is_not_finite_is_refused(store, release):
    broken = dataclasses.replace(CHANNELS, cost_usd=float("nan"))
    with pytest.raises(ValueError, match="channels/cost_usd must be finite or missing"):
        publish(store, audit_of(release), channels=broken)
    assert len(all_runs(store, "spiritlevel/releases")) == 1


def test_two_scores_of_one_thing_are_refused(store, release):
    with pytest.raises(ValueError, match="two scores of 'normalized-cramers-v' in 'gender x occupation'"):
        publish(store, audit_of(release), [score(0.1), score(0.2)])


def test_no_value_of_a_key_reaches_the_store_and_nothing_is_printed(store, release, monkeypatch, capfd):
    monkeypatch.setenv("ACME_API_KEY", "hush-4f9a8b7c6d5e")
    publish(store, audit_of(release))
    files = [path.read_bytes() for path in store.artifact_root.parent.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not any(b"hush-4f9a8b7c6d5e" in content for content in files)
    assert capfd.readouterr() == ("", "")


def test_an_audit_of_a_model_that_another_tool_registered_is_published(store):
    client = store.client()
    client.create_registered_model("nova")
    client.create_model_version("nova", source="openai:/nova-1")
    found = store.releases().find("nova/1")
    run_id = publish(store, audit_of(found))
    parent = client.get_run(run_id).data.tags["mlflow.parentRunId"]
    assert client.get_run(parent).data.tags["spiritlevel.release"] == "models:/nova/1"
    assert publish(store, audit_of(found)) == run_id


# ---------------------------------------------------------------- comparisons, timeline, card


@pytest.fixture
def pair(store, release):
    return release, store.releases().add("acme-chat", "acme-2", released="2026-11-01")


COMPARISONS = (
    Comparison(
        metric="normalized-cramers-v-debiased",
        dimension="gender x occupation",
        verdict="regressed",
        why="rose by 0.10 (0.04 to 0.16), at least 0.05, q = 0.002",
        previous=0.2,
        current=0.3,
        delta=0.1,
        low=0.04,
        high=0.16,
        margin_low=0.05,
        margin_high=0.15,
        statistic=3.2,
        pvalue=0.001,
        qvalue=0.004,
        pvalue_up=0.0005,
        qvalue_up=0.002,
        smallest_change=0.06,
        n_previous=980,
        n_current=970,
        clusters_previous=49,
        clusters_current=50,
    ),
    Comparison(
        metric="normalized-cramers-v-debiased",
        dimension="sexual orientation x interest",
        verdict="not measurable",
        why="w" * 9000,
    ),
)


def compare(store, pair, comparisons=COMPARISONS, **others):
    values = {
        "previous": pair[0],
        "current": pair[1],
        "protocol": PROTOCOL,
        "verdict": "regressed",
        "why": "gender x occupation regressed",
        "policy": {"alpha": 0.05},
        "key": "ledger/7-8/abc/p1",
    }
    return publish_comparison(store, comparisons, **values | others)


def test_every_number_and_verdict_of_a_comparison_comes_back(store, pair):
    published = read_back(store, compare(store, pair, previous_channels=CHANNELS, current_channels=CHANNELS))
    key = "persona-brainstorm/gender/occupation/normalized-cramers-v-debiased"
    of_first = {name.removeprefix(f"{key}/"): v for name, v in published.metrics.items() if name.startswith(key)}
    first = dataclasses.asdict(COMPARISONS[0])
    assert of_first == {part: value for part, value in first.items() if part in of_first}
    assert set(first) - set(of_first) == {"metric", "dimension", "verdict", "why", "level", "margin_level", "merged"}
    assert published.metrics["persona-brainstorm/channels/previous/coverage"] == 0.98
    scored = {name: value for name, value in published.metrics.items() if "/channels/" not in name}
    assert scored == comparison_metrics(PROTOCOL, COMPARISONS)
    assert published.name == "acme-chat 1 -> 2 persona-brainstorm"
    assert published.tags["verdict"] == "regressed"
    assert published.tags["verdict/gender/occupation"] == "regressed"
    assert published.tags["verdict/sexual-orientation/interest"] == "not measurable"
    assert published.tags["why/gender/occupation"] == COMPARISONS[0].why
    assert len(published.tags["why/sexual-orientation/interest"]) == 5000
    whole = json.loads(artifact(store, published.run_id, "comparison.json"))
    assert whole["comparisons"][1]["why"] == "w" * 9000
    assert whole["policy"] == {"alpha": 0.05}


def test_a_comparison_is_published_once_by_its_key(store, pair):
    first = compare(store, pair)
    before = all_points(store, first)
    assert compare(store, pair) == first
    assert all_points(store, first) == before
    assert compare(store, pair, key="another policy") != first
    assert len(all_runs(store, "spiritlevel/comparisons")) == 2


def test_verdicts_of_several_metrics_in_one_dimension_are_kept_apart(store, pair):
    other = dataclasses.replace(COMPARISONS[0], metric="share", verdict="improved")
    tags = read_back(store, compare(store, pair, [COMPARISONS[0], other])).tags
    assert tags["verdict/gender/occupation/normalized-cramers-v-debiased"] == "regressed"
    assert tags["verdict/gender/occupation/share"] == "improved"


def history(pair, values=(0.1, 0.2, 0.3)):
    days = ("2026-10-01T09:00:00+00:00", "2026-10-15", "2026-11-02")
    versions = (pair[0], pair[0], pair[1])
    return [(day, one, [score(v, dimension="overall")]) for day, one, v in zip(days, versions, values, strict=True)]


def line(store, run_id, name=f"{PROTOCOL}/overall/normalized-cramers-v"):
    points = store.client().get_metric_history(run_id, name)
    return sorted((point.step, point.value) for point in points)


def test_a_familys_history_is_one_line_by_days(store, pair):
    run_id = publish_timeline(store, "acme-chat", PROTOCOL, history(pair))
    days = [day_step(day) for day in ("2026-10-01", "2026-10-15", "2026-11-02")]
    assert line(store, run_id) == list(zip(days, (0.1, 0.2, 0.3), strict=True))
    assert line(store, run_id, f"{PROTOCOL}/release") == list(zip(days, (1, 1, 2), strict=True))
    assert read_back(store, run_id).name == "acme-chat"


def test_the_timeline_grows_and_is_never_doubled(store, pair):
    run_id = publish_timeline(store, "acme-chat", PROTOCOL, history(pair)[:2])
    for _ in range(2):
        assert publish_timeline(store, "acme-chat", PROTOCOL, history(pair)) == run_id
    assert len(line(store, run_id)) == 3
    assert len(all_runs(store, "spiritlevel/timeline")) == 1


def test_a_new_scoring_draws_the_line_again_and_keeps_the_other_protocols(store, pair):
    publish_timeline(store, "acme-chat", "targeted-messages", history(pair))
    old = publish_timeline(store, "acme-chat", PROTOCOL, history(pair))
    new = publish_timeline(store, "acme-chat", PROTOCOL, history(pair, values=(0.05, 0.15, 0.25)))
    assert new != old
    assert [value for _, value in line(store, new)] == [0.05, 0.15, 0.25]
    assert [v for _, v in line(store, new, "targeted-messages/overall/normalized-cramers-v")] == [0.1, 0.2, 0.3]
    assert [run.info.run_id for run in all_runs(store, "spiritlevel/timeline")] == [new]


def test_releases_audited_on_one_day_both_stand_in_the_timeline_and_the_newer_is_shown(store, pair):
    points = [("2026-10-01", pair[1], [score(0.2, dimension="overall")])]
    points.append(("2026-10-01", pair[0], [score(0.6, dimension="overall")]))
    for order in (points, points[::-1]):
        run_id = publish_timeline(store, "acme-chat", PROTOCOL, order)
    step = day_step("2026-10-01")
    assert line(store, run_id) == [(step, 0.2), (step, 0.6)]
    assert read_back(store, run_id).metrics[f"{PROTOCOL}/overall/normalized-cramers-v"] == 0.2


def test_each_family_has_its_own_line(store, pair):
    other = store.releases().add("zeta-chat", "z")
    first = publish_timeline(store, "acme-chat", PROTOCOL, history(pair))
    second = publish_timeline(store, "zeta-chat", PROTOCOL, history((other, other)))
    assert first != second


def test_a_card_is_on_the_release_run_and_its_verdict_on_the_version(store, pair):
    files = {"card.md": "# acme-chat 2", "card.html": b"<h1>acme-chat 2</h1>"}
    for _ in range(2):
        run_id = publish_card(store, pair[1], files, verdict="improved", summary="Improved in 2 of 16 dimensions.")
    assert run_id == pair[1].run_id
    assert artifact(store, run_id, "card/card.md") == "# acme-chat 2"
    assert artifact(store, run_id, "card/card.html") == "<h1>acme-chat 2</h1>"
    version = store.client().get_model_version("acme-chat", "2")
    assert version.description == "Improved in 2 of 16 dimensions."
    assert version.tags["spiritlevel.verdict"] == "improved"
    assert store.releases().find("acme-chat/2") == pair[1]


# ---------------------------------------------------------------- names, times, commands


def test_names_that_look_alike_are_kept_apart():
    paths = [("a b", "c"), ("a-b", "c"), ("A-B", "c"), ("a  b", "c")]
    named = keys(paths)
    assert named[("a-b", "c")] == "a-b/c"
    assert len({name.casefold() for name in named.values()}) == 4


@pytest.mark.parametrize("part", SCORE_PARTS)
def test_a_group_called_like_a_part_is_not_taken_for_it(part):
    plain = score(0.5, low=0.1, high=0.9, pvalue=0.2, statistic=1.5, df=2.0)
    grouped = score(0.6, group=part)
    values = score_metrics(PROTOCOL, [plain, grouped])
    where = f"{PROTOCOL}/gender/occupation/normalized-cramers-v"
    assert values[f"{where}/{part}"] == float(getattr(plain, part))
    assert values[f"{where}/group-{part}"] == 0.6


@given(
    st.lists(
        st.lists(st.text(st.characters(), max_size=120), min_size=1, max_size=4).map(tuple), unique=True, max_size=30
    )
)
def test_any_texts_get_names_that_mlflow_takes_and_that_differ(paths):
    from mlflow.utils.validation import _validate_metric_name, _validate_tag_name

    named = keys(paths)
    assert len({name.casefold() for name in named.values()}) == len(paths)
    for name in named.values():
        assert len(name) <= 250
        _validate_metric_name(name)
        _validate_tag_name(name)


@given(st.text())
def test_a_segment_of_a_segment_is_itself(text):
    assert segment(segment(text)) == segment(text)


@given(st.text(st.characters()))  # lone surrogates too
def test_any_text_can_be_stored(text):
    stored = storable(text)
    assert "\0" not in stored
    assert len(stored.encode()) >= min(len(text), 1)


def test_two_crossed_dimensions_make_two_segments_and_others_one():
    assert score_path(PROTOCOL, score(dimension="name x top interest"))[1:3] == ("name", "top interest")
    assert score_path(PROTOCOL, score(dimension="overall"))[1] == "overall"


def test_times_without_a_zone_are_utc_and_steps_are_utc_days():
    assert moment_ms("2026-10-01T00:00:00") == moment_ms("2026-10-01T02:00:00+02:00")
    assert day_step("2026-10-01T01:00:00+02:00") == day_step("2026-09-30")


def test_the_command_for_the_ui_names_store_files_and_this_machine_only(tmp_path):
    store = Tracking(f"sqlite:///{tmp_path}/mlflow.db", tmp_path / "artifacts")
    command = ui_command(store, 5055)
    assert command[:4] == [sys.executable, "-m", "mlflow", "ui"]
    options = dict(zip(command[4::2], command[5::2], strict=True))
    assert options == {
        "--host": "127.0.0.1",
        "--port": "5055",
        "--workers": "1",
        "--backend-store-uri": f"sqlite:///{tmp_path}/mlflow.db",
        "--artifacts-destination": str(tmp_path / "artifacts"),
    }


def test_a_database_password_is_not_on_the_command_line():
    store = Tracking("postgresql://me:hush@db/mlflow")
    assert not any("hush" in word for word in ui_command(store))
    assert ui_environment(store)["MLFLOW_BACKEND_STORE_URI"] == store.uri


def test_a_server_shows_itself():
    with pytest.raises(ValueError, match="is a server: open it in a browser"):
        ui_command(Tracking("https://mlflow.acme.example"))


def test_links_into_the_ui(store, pair):
    base = "http://127.0.0.1:5000/"
    runs = f"%7B%221%22%3A%22{pair[0].run_id}%22%2C%222%22%3A%22{pair[1].run_id}%22%7D"
    assert compare_link(base, pair) == (
        f"http://127.0.0.1:5000/#/compare-model-versions?name=%22acme-chat%22&runs={runs}"
    )
    published = read_back(store, pair[0].run_id)
    expected = f"http://127.0.0.1:5000/#/experiments/{published.experiment_id}/runs/{pair[0].run_id}"
    assert run_link(base, published) == expected
    assert timeline_link(base, "2") == "http://127.0.0.1:5000/#/experiments/2/runs?compareRunsMode=CHART"
    assert model_link(base, "a b?") == "http://127.0.0.1:5000/#/models/a%20b%3F"
    with pytest.raises(ValueError, match="two or more releases of one family"):
        compare_link(base, pair[:1])


def test_importing_the_publication_does_not_import_mlflow_or_pandas():
    check = "import sys, flows.tracking; print(sorted({'mlflow', 'pandas', 'requests'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_everything_public_is_there():
    assert [name for name in publication.__all__ if not hasattr(publication, name)] == []


# ---------------------------------------------------------------- a real server


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_up(url, process, deadline_s=120):
    start = time.monotonic()
    while process.poll() is None and time.monotonic() - start < deadline_s:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)  # polling another process, which has no other way to say that it is up
    raise AssertionError("the server did not start")


@pytest.mark.slow
def test_a_server_gets_the_same_numbers_once_and_serves_the_files(store, release, tmp_path, capfd):
    local_run = publish(store, audit_of(release))
    port, local_release = _free_port(), release
    process = subprocess.Popen(
        ui_command(store, port),
        env=os.environ | ui_environment(store),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_up(url, process)
        remote = Tracking(url)
        assert read_back(remote, local_run).metrics == read_back(store, local_run).metrics
        files = f"{url}/get-artifact?path=scores.json&run_uuid={local_run}"
        with urllib.request.urlopen(files, timeout=30) as answer:
            assert len(json.load(answer)) == len(SCORES)
        added = remote.releases().add("acme-chat", "acme-2")
        assert remote.releases().previous(added) == local_release
        frame = pd.DataFrame({"term": ["nurse"], "n": [3]})
        for _ in range(2):
            run_id = publish(remote, audit_of(added, id=9), tables={"counts": frame}, texts={"notes.md": "x"})
            comparison = compare(remote, (local_release, added))
            publish_timeline(remote, "acme-chat", PROTOCOL, history((local_release, added)))
            publish_card(remote, added, {"card.md": "# card"}, verdict="regressed", summary="Regressed.")
        scored = {k: v for k, v in read_back(remote, run_id).metrics.items() if "/channels/" not in k}
        assert scored == score_metrics(PROTOCOL, SCORES)
        assert read_back(remote, comparison).metrics == comparison_metrics(PROTOCOL, COMPARISONS)
        assert len(all_points(remote, run_id)) == len(read_back(remote, run_id).metrics)
        assert len(all_runs(remote, "spiritlevel/releases")) == 4
        assert len(all_runs(remote, "spiritlevel/comparisons")) == 1
        assert capfd.readouterr() == ("", "")
    finally:
        process.terminate()
        process.wait(30)
