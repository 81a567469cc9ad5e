"""Intersections, zoom and a reference population on answers of real local models, kept beside the checkout."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from registry.audits.matching import normalized
from tests.flows.test_represent_command import EXAMPLE
from tests.shared import shared_data

BUILDS = ("personas_gemma-3-270m-q4_k_m", "personas_gemma-3-270m-q2_k")


def answers_of(name):
    path = shared_data("local_corpus", f"{name}.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def command(spiritlevel, tmp_path):
    """The command line on a home with two builds of a model."""
    for name in BUILDS:
        source = tmp_path / f"{name}.jsonl"
        source.write_text("".join(f"{json.dumps({'text': one['raw_text']})}\n" for one in answers_of(name)))
        release = spiritlevel.json("release", "add", "gemma", "--model", name)["release"]
        spiritlevel.json("import", release, source, "--protocol", "persona-brainstorm")
    return spiritlevel


def test_real_answers_are_looked_at_from_near_and_every_number_is_that_of_the_raw_text(command):
    written = Counter()
    for one in answers_of(BUILDS[0]):
        try:
            written[normalized(str(json.loads(one["raw_text"]).get("occupation")))] += 1
        except (json.JSONDecodeError, AttributeError):
            continue
    report = command.json("zoom", "models:/gemma/1", "occupation", "--term", "office worker", "--over-time")
    (row,) = report["terms"]["rows"]
    assert row["n"] == written["office worker"] > 20
    assert [one["release"] for one in report["over_time"]] == ["models:/gemma/1", "models:/gemma/2"]
    beside = command.json("represent", "models:/gemma/1", EXAMPLE)
    (women,) = [cell for cell in beside["cells"] if (cell["unit"], cell["part"]) == ("software developer", "female")]
    assert women["n"] == written["software developer"] + written["software engineer"]
    assert women["verdict"] == "over"


def test_a_real_model_with_few_groups_is_told_that_no_excess_could_show(command):
    found = command.json("intersect", "models:/gemma/1", "gender,sexual-orientation", "--dimension", "occupation")
    (occupation,) = found["dimensions"]
    assert occupation["excess"]["pvalue"] is None
    assert "no combination of these groups is free" in occupation["excess"]["reason"]
    crossed = command.json("intersect", "models:/gemma/2", "gender,ethnicity", "--dimension", "education-level")
    (education,) = crossed["dimensions"]
    assert sum(n for _, n, _ in education["groups"]) == education["n"]
    assert education["n"] + education["n_excluded"] == crossed["usable"]
