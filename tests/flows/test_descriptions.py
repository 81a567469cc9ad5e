"""``spiritlevel descriptions``: what a release writes of the people it makes up, measured as messages are."""

from __future__ import annotations

import json

from tests.stub_server import StubServer

ASKED = ("--protocol", "persona-descriptions", "--per-call", "20")


def audited(spiritlevel, server, version, personas):
    release = spiritlevel.json("release", "add", "nova", "--model", f"stub-{version}", "--base-url", server.base_url)[
        "release"
    ]
    spiritlevel.json("audit", release, *ASKED, "--personas", personas, code=None)
    return release


def test_descriptions_that_become_weaker_for_women_regress_and_a_second_look_is_the_same_audit(spiritlevel, tmp_path):
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.9}) as server:
        first, second = (audited(spiritlevel, server, version, 700) for version in (1, 2))
        calls = server.calls
        told = [spiritlevel.json("descriptions", release, code=None) for release in (first, second)]
        assert server.calls == calls
    assert told[0]["channels"]["usable"] == 700
    assert spiritlevel.json("descriptions", second, code=None)["audit"] == told[1]["audit"]
    compared = spiritlevel.json("compare", first, second, "--protocol", "described-personas", code=1)
    worse = {row["dimension"] for row in compared["comparisons"] if row["verdict"] == "regressed"}
    assert any("agency" in title for title in worse)
    card = spiritlevel("card", "nova", "--protocol", "described-personas", "--format", "md")
    assert "agency" in card
    exported = tmp_path / "personas.csv"
    spiritlevel("export", first, exported, "--protocol", "persona-descriptions", "--format", "csv", code=None)


def test_too_few_descriptions_of_a_group_are_said_and_nothing_is_measured(spiritlevel):
    with StubServer() as server:
        release = audited(spiritlevel, server, 1, 20)
        spiritlevel("descriptions", release, code=2)
        assert "fewer than two groups of gender have 20 descriptions" in spiritlevel.stderr


def test_without_such_an_audit_the_command_for_one_is_named(spiritlevel):
    release = spiritlevel.json("release", "add", "nova", "--model", "nova-2026-10-01")["release"]
    spiritlevel("descriptions", release, code=2)
    assert "--protocol persona-descriptions" in spiritlevel.stderr
    spiritlevel("audit", release, "--protocol", "described-personas", code=2)
    assert "spiritlevel descriptions" in spiritlevel.stderr


def test_a_long_description_is_kept_whole_and_a_persona_without_one_is_still_a_persona():
    from registry.audits.brainstorm import load_brainstorm
    from registry.audits.plan import Request, Response
    from registry.audits.protocols.brainstorms import protocol_of

    protocol = protocol_of(load_brainstorm("persona-descriptions"))()
    people = [{"gender": "woman", "occupation": "nurse", "Bio": "x" * 900}, {"gender": "man", "occupation": "cook"}]
    frame = protocol.read(
        [Request(index=0, messages=(), expected=2)], [Response(index=0, text=json.dumps(people))]
    ).frame
    assert frame["outcome"].tolist() == ["ok", "ok"]
    assert frame.loc[0, "description"] == "x" * 900
    assert frame["description"].isna().tolist() == [False, True]


def test_rare_groups_are_the_same_in_any_order_of_axes():
    import pandas as pd

    from flows.descriptions import FEWEST, enough

    rows = [("female", "A")] * 60 + [("male", "A")] * 60 + [("non-binary", "A")] * 16 + [("non-binary", "B")] * 5
    frame = pd.DataFrame(rows, columns=["g", "e"])
    axes = {"gender": "g", "ethnicity": "e"}
    kept, rare = enough(frame, axes)
    turned, other = enough(frame, dict(reversed(axes.items())))
    assert kept.equals(turned)
    assert rare == other == {"ethnicity": {"B": 5}, "gender": {"non-binary": 16}}
    assert kept["g"].value_counts().min() >= FEWEST


def test_words_that_only_name_a_group_are_in_no_word_table(spiritlevel, tmp_path):
    spiritlevel("release", "add", "nova", "--model", "nova-2026-10-01")
    lines = []
    for at in range(80):
        gender, other = (("woman", "gentle"), ("man", "bold"))[at % 2]
        person = {
            "name": "A B",
            "gender": gender,
            "occupation": "Nurse",
            "description": f"A {gender} with a {other} voice and a garden.",
        }
        lines.append(json.dumps({"text": json.dumps(person), "model": "nova-2026-10-01"}))
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    spiritlevel("import", "models:/nova/1", path, "--protocol", "persona-descriptions", "--per-call", 1, code=None)
    told = spiritlevel.json("descriptions", "models:/nova/1", code=None)
    measured = [row for row in told["scores"] if row["metric"] == "group-gap" and row["value"] is not None]
    assert measured or any(row["value"] is not None for row in told["scores"])  # one person a call is no obstacle
    page = spiritlevel("card", "nova", "--protocol", "described-personas", "--format", "md")
    leaning = page[page.index("## Words") :] if "## Words" in page else page
    assert "gentle" in leaning
    assert "| woman |" not in leaning
    assert "without the words that name a group" in page


def test_what_was_left_out_and_why_is_on_the_card_in_a_pack_that_verifies_and_on_the_site(spiritlevel, tmp_path):
    with StubServer(models={"stub-1": 0.0}) as server:
        release = audited(spiritlevel, server, 1, 400)
    spiritlevel("descriptions", release, code=None)
    card = json.loads(spiritlevel("card", release, "--protocol", "described-personas", "--format", "json"))
    (origin,) = card["audit"]["origins"]
    assert "of 400 personas are left out" in origin["provenance"]
    assert origin["answers"] == origin["uncounted"] == card["channels"]["usable"]
    page = spiritlevel("card", release, "--protocol", "described-personas", "--format", "md")
    assert "of 400 personas are left out" in page
    spiritlevel("descriptions", release, code=None)
    again = json.loads(spiritlevel("card", release, "--protocol", "described-personas", "--format", "json"))
    assert again["audit"]["origins"] == [origin]
    spiritlevel("evidence", release, "--out", tmp_path / "pack")
    spiritlevel("evidence", "verify", tmp_path / "pack")
    spiritlevel("site", "build", tmp_path / "site", code=None)
    assert any("described-personas" in file.as_posix() for file in (tmp_path / "site").rglob("*"))


def test_the_run_in_mlflow_says_what_was_left_out(spiritlevel):
    from flows.settings import Home
    from flows.workspace import opened

    with StubServer(models={"stub-1": 0.0}) as server:
        release = audited(spiritlevel, server, 1, 400)
    (spiritlevel.home / "spiritlevel.toml").unlink()  # from here on results are published
    told = spiritlevel.json("descriptions", release, code=None)
    with opened(Home(spiritlevel.home)) as workspace:
        audit = workspace.ledger.audit(told["audit"])
        tags = workspace.tracking.client().get_run(audit.run_id).data.tags
    assert "of 400 personas are left out" in tags["spiritlevel.origins"]
