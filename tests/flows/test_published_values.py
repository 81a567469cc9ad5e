"""What is refused before MLflow is asked, and what is made to fit."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.published_values import batched, checked_file, checked_key, checked_numbers
from metrics.errors import BadInputError
from registry.stores import StoreDamagedError, one_run, pages, without_passwords


@settings(deadline=None)  # the first call imports MLflow
@given(st.text(st.characters(), max_size=300))
def test_a_name_that_is_let_through_is_one_that_mlflow_takes(name):
    from mlflow.utils.validation import _validate_metric_name, _validate_param_name, _validate_tag_name

    try:
        checked_key(name)
    except BadInputError:
        return
    for validate in (_validate_metric_name, _validate_param_name, _validate_tag_name):
        validate(name)


@pytest.mark.parametrize("name", ["", "a" * 251, "/a", "../a", "a//b", "a/", "a=b", "a@b", "a|b", "a(b)", "a%b", "a\0"])
def test_names_that_mlflow_refuses_are_refused_first(name):
    with pytest.raises(BadInputError, match="a name in MLflow has 1 to 250 letters"):
        checked_key(name)


def test_the_longest_name_and_letters_of_other_scripts_are_taken():
    assert checked_key("ж" * 250) == "ж" * 250
    assert checked_key("protocol/性別/职业 a:b_c-d.e") == "protocol/性別/职业 a:b_c-d.e"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf"), 10**400])
def test_what_is_not_finite_is_refused_with_the_name_of_the_metric(value):
    with pytest.raises(BadInputError, match="gender/score must be finite or missing"):
        checked_numbers({"gender/score": value})


@pytest.mark.parametrize("value", [True, np.bool_(True), "0.5", None, 1j])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(BadInputError, match="gender/score must be finite"):
        checked_numbers({"gender/score": value})


def test_numbers_of_numpy_become_plain_ones():
    given = {"a": np.float32(0.5), "b": np.int64(3), "c": Fraction(1, 4), "d": -0.0, "e": 5e-324}
    found = checked_numbers(given)
    assert found == {"a": 0.5, "b": 3.0, "c": 0.25, "d": 0.0, "e": 5e-324}
    assert {type(value) for value in found.values()} == {float}


@pytest.mark.parametrize("name", ["ü" * 101 + ".json", "a/" + "b" * 201, "x\n", "a/../b"])
def test_file_names_that_no_file_system_takes_are_refused(name):
    with pytest.raises(BadInputError, match="plain relative name"):
        checked_file(name)


@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=3000), max_size=40), st.integers(1, 9))
def test_every_request_stays_within_the_limits_and_nothing_is_lost(texts, most):
    from mlflow.entities import RunTag

    tags = [RunTag(f"t{index}", text) for index, text in enumerate(texts)]
    requests = list(batched(tags, most, 10_000))
    assert [tag for request in requests for tag in request] == tags
    for request in requests:
        size = len(json.dumps([[tag.key, tag.value] for tag in request]))
        assert len(request) <= most
        assert size <= 10_000 or len(request) == 1


def test_a_hundred_of_the_longest_texts_in_any_script_reach_a_server(mlflow_server):
    from flows.stores import Tracking, set_texts

    tracking = Tracking(mlflow_server.url)
    client = tracking.client()
    run_id = client.create_run(tracking.experiment("texts")).info.run_id
    texts = {f"why/{index}": "性" * 6000 for index in range(150)}
    params = {f"p{index}": "性" * 900 for index in range(150)}
    set_texts(client, run_id, tags=texts, params=params)
    data = client.get_run(run_id).data
    assert {len(data.tags[name]) for name in texts} == {5000}
    assert {len(data.params[name]) for name in params} == {500}


class Page(list):
    def __init__(self, items, token):
        super().__init__(items)
        self.token = token


def test_pages_are_read_to_the_end_and_an_empty_one_is_not_the_end():
    answers = {None: Page([1], "a"), "a": Page([], "b"), "b": Page([2, 3], "")}
    assert list(pages(answers.__getitem__)) == [1, 2, 3]


def test_a_server_that_lists_the_same_page_for_ever_is_refused():
    answers = {None: Page([1], "a"), "a": Page([2], "b"), "b": Page([3], "a")}
    with pytest.raises(StoreDamagedError, match="the same page again"):
        list(pages(answers.__getitem__))


def test_of_runs_that_were_made_twice_one_stays_and_finished_ones_are_left_alone(mlflow_server):
    from flows.stores import Tracking

    tracking = Tracking(mlflow_server.url)
    client, home = tracking.client(), tracking.experiment("twice")
    key = {"spiritlevel.audit_key": "x/1/v"}

    def make():
        made = [client.create_run(home, start_time=5, tags=key) for _ in range(3)]
        return made[-1]

    kept = one_run(client, home, key, make)
    assert [run.info.run_id for run in client.search_runs([home])] == [kept]
    assert one_run(client, home, key, make) == kept
    done = make().info.run_id
    client.set_terminated(done)
    assert one_run(client, home, key, make) == done
    assert [run.info.run_id for run in client.search_runs([home])] == [done]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("postgresql://me:p%40ss@db/mlflow refused", "postgresql://db/mlflow refused"),
        ("http://me@host:5000/x", "http://host:5000/x"),
        ("write to me@example.org about http://host", "write to me@example.org about http://host"),
    ],
)
def test_addresses_lose_their_passwords(text, clean):
    assert without_passwords(text) == clean
