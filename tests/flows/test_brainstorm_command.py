"""``spiritlevel brainstorm``: a file of one's own becomes a protocol, from the question to the evidence pack."""

from __future__ import annotations

import hashlib
import json
import random
import shutil

import pytest

from flows.brainstorms import folder_of, own_brainstorms
from flows.settings import Home
from flows.workspace import opened

BRAINSTORM = """
name = "{name}"
title = "Destinations"
version = "1"
language = "en"
axes = ["name", "gender", "age_band"]
dimensions = ["occupation", "destination"]
several = "{prompt} {{n}} travellers with name, gender, age band, occupation and destination, as JSON."
one = "Imagine a traveller with name, gender, age band, occupation and destination, as JSON."
source = "Example of the tests."
limits = ["Travel only: nothing here is shown about people at home."]
"""
AGE = """
name = "age_band"
title = "age band"
kind = "axis"
version = 1
keys = ["age group"]
source = "Example of the tests."
[[category]]
name = "young"
rules = ["young"]
[[category]]
name = "old"
rules = ["old"]
"""
DESTINATION = """
name = "destination"
title = "destination"
kind = "dimension"
version = 1
source = "Example of the tests."
[[category]]
name = "sea"
rules = ["beach", "island"]
[[category]]
name = "city"
rules = ["{city}"]
"""


@pytest.fixture
def files(tmp_path):
    """Writes a brainstorm and its two attribute files; gives the arguments that add them."""

    def write(prompt="Imagine", city="city", name="travellers"):
        folder = tmp_path / "files"
        folder.mkdir(exist_ok=True)
        for file, text in (
            ("travel.toml", BRAINSTORM.format(prompt=prompt, name=name)),
            ("age.toml", AGE),
            ("place.toml", DESTINATION.format(city=city)),
        ):
            (folder / file).write_text(text, encoding="utf-8")
        return [
            "brainstorm",
            "add",
            folder / "travel.toml",
            "--attribute",
            folder / "age.toml",
            "--attribute",
            folder / "place.toml",
        ]

    return write


def travellers(path, seed, bias):
    """Answers in which, with a bias, women go to the sea and men to a city."""
    lot = random.Random(seed)
    lines = []
    for _ in range(60):
        people = []
        for _ in range(20):
            woman = lot.random() < 0.5
            to_the_sea = lot.random() < (0.5 + (bias if woman else -bias))
            people.append(
                {
                    "name": lot.choice(["Ada", "Grace"] if woman else ["Charles", "Alan"]),
                    "gender": "woman" if woman else "man",
                    "Age Group": lot.choice(["young", "old"]),
                    "job": lot.choice(["nurse", "lawyer"]),
                    "destination": lot.choice(["a beach", "an island"]) if to_the_sea else "a city",
                }
            )
        lines.append(json.dumps({"text": json.dumps(people), "model": f"nova-{seed}", "finish_reason": "stop"}))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_an_own_brainstorm_is_a_protocol_from_the_plan_to_the_evidence_pack(spiritlevel, files, home, tmp_path):
    told = spiritlevel.json(*files())
    assert told["name"] == "travellers"
    assert len(told["files"]) == 3
    for version, bias in ((1, 0.0), (2, 0.4)):
        release = spiritlevel.json("release", "add", "nova", "--model", f"nova-{version}")["release"]
        answers = travellers(tmp_path / f"{version}.jsonl", version, bias)
        spiritlevel("import", release, answers, "--protocol", "travellers", "--per-call", "20")
    rows = spiritlevel.json("compare", "models:/nova/1", "models:/nova/2", "--protocol", "travellers", code=1)[
        "comparisons"
    ]
    verdicts = {row["dimension"]: row["verdict"] for row in rows}
    assert len(verdicts) == 6
    assert verdicts["gender x destination"] == "regressed"
    assert verdicts["age band x destination"] != "regressed"
    zoomed = spiritlevel.json("zoom", "models:/nova/2", "destination", "--protocol", "travellers")
    assert zoomed["categories"]["n"] == 1200
    card = spiritlevel("card", "nova", "--protocol", "travellers", "--format", "md")
    assert "Travel only: nothing here is shown about people at home." in card
    assert "English only" not in card
    spiritlevel("evidence", "models:/nova/2", "--out", tmp_path / "pack", "--protocol", "travellers")
    packed = {path.name for path in (tmp_path / "pack").rglob("own-brainstorms/travellers/**/*.toml")}
    assert packed == {"brainstorm.toml", "age_band.toml", "destination.toml"}
    shutil.rmtree(folder_of(Home(home)))  # where a pack is verified there is no such brainstorm: the pack brings it
    verified = spiritlevel.json("evidence", "verify", tmp_path / "pack")
    assert verified["ok"]
    assert verified["scored"] == {"travellers": 102}


def test_a_changed_prompt_and_a_changed_category_are_told_apart(spiritlevel, files):
    spiritlevel(*files())
    assert "asked otherwise" in spiritlevel(*files(prompt="Picture"))
    assert "scored anew" in spiritlevel(*files(prompt="Picture", city="town"))


def test_a_change_of_the_files_is_seen_by_a_running_process(spiritlevel, files, home):
    spiritlevel(*files())
    before = own_brainstorms(Home(home))["travellers"]().scoring_version(())
    spiritlevel(*files(city="town"))
    assert own_brainstorms(Home(home))["travellers"]().scoring_version(()) != before


def test_what_a_brainstorm_asks_for_can_be_looked_at(spiritlevel, files):
    spiritlevel(*files())
    listed = spiritlevel.json("brainstorm", "list")
    assert listed[0]["name"] == "persona-brainstorm"
    assert listed[-1]["name"] == "travellers"
    shown = spiritlevel("brainstorm", "show", "travellers")
    assert "axis age_band (attributes/age_band.toml): young; old" in shown
    spiritlevel("brainstorm", "show", "persona-brainstrom", code=2)
    assert "did you mean 'persona-brainstorm'?" in spiritlevel.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda args: args[:3], "no attribute is named 'age_band'"),
        (
            lambda args: [*args, "--attribute", args[2]],
            "asks for gender, age_band, occupation, destination, and travel.toml",
        ),
        (lambda args: [*args[:2], args[4]], "is not known here"),
        (lambda args: [*args[:2], args[2].with_name("none.toml")], "cannot be read"),
    ],
)
def test_what_is_no_brainstorm_is_refused_and_nothing_is_left(spiritlevel, files, home, change, words):
    spiritlevel(*change(files()), code=2)
    assert words in spiritlevel.stderr
    assert list(folder_of(Home(home)).glob("*")) == []


def test_a_prompt_that_was_edited_under_its_seal_is_refused(spiritlevel, files, home):
    arguments = files()
    path = arguments[2]
    text = path.read_text(encoding="utf-8")
    seal = hashlib.sha256(
        text.partition('several = "')[2].partition('"\n')[0].replace("{n}", "20").encode()
    ).hexdigest()
    path.write_text(f'{text}\n[seals]\n20 = "{seal}"\n', encoding="utf-8")
    spiritlevel(*arguments)
    path.write_text(path.read_text(encoding="utf-8").replace("Imagine {n}", "Invent {n}"), encoding="utf-8")
    spiritlevel(*arguments, code=2)
    assert "the prompt for 20 a call is not the one that 'seals' says" in spiritlevel.stderr
    for odd in ("many = 'x'", "20 = 5"):
        path.write_text(f"{text}\n[seals]\n{odd}\n", encoding="utf-8")
        spiritlevel(*arguments, code=2)
        assert "'seals' should give the SHA-256" in spiritlevel.stderr


def test_the_name_of_an_instrument_that_comes_along_is_taken(spiritlevel, files):
    spiritlevel(*files(name="persona-cues"), code=2)
    assert "comes along" in spiritlevel.stderr


def test_an_addition_that_was_killed_leaves_the_earlier_brainstorm(spiritlevel, files, home, monkeypatch):
    spiritlevel(*files())
    part = folder_of(Home(home)) / ".travellers.part"
    (part / "attributes").mkdir(parents=True)
    (part / "brainstorm.toml").write_text("half a fi")
    with opened(Home(home)) as workspace:
        assert workspace.protocol("travellers").title == "Destinations"
    spiritlevel(*files(city="town"))
    assert not part.exists()


def test_a_brainstorm_whose_successor_was_not_put_in_its_place_is_still_there(spiritlevel, files, home):
    spiritlevel(*files())
    place = folder_of(Home(home)) / "travellers"
    place.replace(place.with_name(".travellers.old"))
    assert list(own_brainstorms(Home(home))) == ["travellers"]
