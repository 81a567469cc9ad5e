"""Rebalancing from the command line: a set with other weights or fewer records, and every score beside the old one."""

from __future__ import annotations

import csv
import shutil

import pandas as pd
import pytest

from flows.settings import Home
from flows.workspace import opened
from metrics.rebalancing import effective_records
from tests.planted import CUES, planted_family

WORK = ("--axis", "gender", "--dimension", "social-class")


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    home = tmp_path_factory.mktemp("rebalance") / "home"
    shutil.copytree(migrated_home, home)
    with opened(Home(home)) as workspace:
        planted_family(workspace, releases=1, blessed=False)
    return home


@pytest.fixture
def command(spiritlevel, made):
    """The command line on that home, which rebalancing leaves as it is."""
    spiritlevel.home = made
    return spiritlevel


def scores_of(answer):
    return {row["dimension"]: row for row in answer["scores"]}


def test_weights_make_an_axis_and_a_dimension_independent_and_every_dimension_is_scored_beside(command, tmp_path):
    out = tmp_path / "personas.csv"
    answer = command.json("rebalance", "models:/nova/1", "--out", out, *WORK)
    frame = pd.read_csv(out)
    joint = frame.groupby(["gender_category", "social_class_category"])["weight"].sum().unstack() / len(frame)
    product = joint.sum(axis=1).to_numpy()[:, None] * joint.sum(axis=0).to_numpy()
    assert joint.to_numpy() == pytest.approx(product, abs=1e-9)
    assert joint.sum(axis=1).to_numpy() == pytest.approx(
        frame["gender_category"].value_counts(normalize=True).sort_index()
    )
    rows = scores_of(answer)
    assert [name for name, row in rows.items() if row["rebalanced"]] == ["gender x social class"]
    assert rows["gender x social class"]["after"] == pytest.approx(0, abs=1e-6)
    assert len(rows) == 16
    assert all(row["after"] is not None or row["reason"] for row in rows.values())
    assert answer["n_effective"] == pytest.approx(effective_records(frame["weight"].to_numpy()))
    assert "were made from these very records" in rows["gender x occupation"]["why_no_interval"]


def test_each_record_says_which_row_of_the_exported_records_it_is(command, tmp_path):
    command("export", "models:/nova/1", "--records", tmp_path / "all.csv")
    command("rebalance", "models:/nova/1", "--out", tmp_path / "set.csv", *WORK, "--method", "subsample", "--seed", 3)
    whole, found = (pd.read_csv(tmp_path / name, keep_default_na=False) for name in ("all.csv", "set.csv"))
    same = ["request", "index", "name", "gender", "occupation", "social_class_category"]
    assert found[same].to_numpy().tolist() == whole.loc[found["row"] - 1, same].to_numpy().tolist()
    assert set(found["weight"]) == {1.0}
    assert found["row"].is_unique


def test_a_subset_is_balanced_smaller_than_asked_for_never_and_the_same_for_the_same_seed(command, tmp_path):
    sizes = {}
    for name, options in {"one": (7,), "two": (7,), "other": (8,), "small": (7, "--size", 60)}.items():
        order = (*WORK, "--method", "subsample", "--seed", *options)
        sizes[name] = command.json("rebalance", "models:/nova/1", "--out", tmp_path / f"{name}.csv", *order)
    texts = {name: (tmp_path / f"{name}.csv").read_text() for name in sizes}
    assert texts["one"] == texts["two"] != texts["other"]
    assert sizes["small"]["records"] == 60 < sizes["one"]["records"] < sizes["one"]["usable"]
    balanced = scores_of(sizes["one"])["gender x social class"]
    assert balanced["after"] == pytest.approx(0, abs=0.05)
    assert balanced["after_low"] is None
    assert scores_of(sizes["one"])["ethnicity x social class"]["after_high"] is not None


def test_without_a_choice_the_highest_dimension_that_was_measured_is_balanced(command, tmp_path):
    answer = command.json("rebalance", "models:/nova/1", "--out", tmp_path / "a.csv", "--dimension", "education")
    rows = {
        name: row
        for name, row in scores_of(answer).items()
        if name.endswith("education") and not name.startswith("name")
    }
    highest = max(rows, key=lambda name: rows[name]["before"])
    assert answer["balanced"] == highest


def test_wanted_shares_of_a_file_are_met_alone_or_with_independence(command, tmp_path):
    target = tmp_path / "gender.csv"
    target.write_text("gender,share\nfemale,0.6\nmale,0.3\nnon-binary,0.1\n")
    for options in ((), WORK):
        command("rebalance", "models:/nova/1", "--out", tmp_path / "set.csv", "--target", target, *options)
        frame = pd.read_csv(tmp_path / "set.csv")
        shares = frame.groupby("gender_category")["weight"].sum() / frame["weight"].sum()
        assert shares.to_dict() == pytest.approx({"female": 0.6, "male": 0.3, "non-binary": 0.1})
    joint = frame.groupby(["gender_category", "social_class_category"])["weight"].sum().unstack()
    assert (joint.T / joint.sum(axis=1)).std(axis=1).to_numpy() == pytest.approx(0, abs=1e-9)


def test_categories_are_left_out_only_when_asked_and_the_loss_is_told(command, tmp_path):
    order = ("--out", tmp_path / "set.csv", *WORK, "--leave-out", "gender=non-binary")
    told = command("rebalance", "models:/nova/1", *order)
    frame = pd.read_csv(tmp_path / "set.csv")
    assert "non-binary" not in set(frame["gender_category"])
    assert f"{800 - len(frame)} were left out as asked" in told
    assert "is not represented at all, which is a harm of its own" in told
    assert "It does not change the model" in told
    with (tmp_path / "set.scores.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 16


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("--axis", "gender", "--dimension", "occupation"), "has no record of"), (("--axis", "name"), "there is no axis"), (("--axis", "gendre"), "did you mean 'gender'?"),
     (("--dimension", "shoes"), "there is no dimension 'shoes'"), ((*WORK, "--size", "9"), "--size is for --method subsample"), ((*WORK, "--method", "lottery"), "--method should be"),
     ((*WORK, "--method", "subsample", "--size", "9999"), "a subset of this composition has 1 to"), ((*WORK, "--leave-out", "gender"), "--leave-out takes ATTRIBUTE=CATEGORY"),
     ((*WORK, "--leave-out", "gender=wizard"), "the set has female, male, non-binary"), ((*WORK, "--target", "nowhere.csv"), "cannot be read"),
     ((*WORK, "--target", "parity", "--target", "x.csv"), "not both"), (("--protocol", CUES), "only sets of personas can be rebalanced")],
)  # fmt: skip
def test_what_cannot_be_rebalanced_is_one_sentence_and_writes_nothing(command, tmp_path, arguments, words):
    command("rebalance", "models:/nova/1", "--out", tmp_path / "set.csv", *arguments, code=2)
    assert words in command.stderr
    assert list(tmp_path.glob("*.csv")) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [("gender\nfemale\n", "needs a column share"), ("", "needs a column share"), ("gender,share\nfemale,much\n", "line 2 of t.csv: a share is a number"),
     ("gender,share\nfemale,.5\nfemale,.5\n", "line 3 of t.csv should have 2 cells"), ("gender,share\nfemale,.5\nmale,.2\n", "should sum to 1"), ("shoes,share\nred,1\n", "there is no attribute 'shoes'"),
     ("gender,share\nfemale,0.5\nmale,0.5\n", "say nothing of non-binary"), ("gender,share\nfemale,nan\nmale,0.5\n", "should be from 0 to 1")],
)  # fmt: skip
def test_a_target_that_is_none_is_refused_with_the_line(command, tmp_path, text, words):
    (tmp_path / "t.csv").write_text(text)
    command("rebalance", "models:/nova/1", "--out", tmp_path / "set", "--target", tmp_path / "t.csv", code=2)
    assert words in command.stderr


def test_a_release_without_personas_is_told_what_it_has_instead(command, tmp_path):
    with opened(Home(command.home)) as workspace:
        planted_family(workspace, protocols=(CUES,), releases=1, blessed=False, family="comet")
    command("rebalance", "models:/comet/1", "--out", tmp_path / "set.csv", code=2)
    assert "models:/comet/1 has no finished persona-brainstorm audit, only of persona-cues" in command.stderr
