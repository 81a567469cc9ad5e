"""Real replies of two model generations, imported and compared: Llama-2 70b (2024) and Llama-3.1-8B (2025)."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.shared import shared_data

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def rows(folder, name):
    with gzip.open(shared_data(folder, name), "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


@pytest.fixture
def tables(tmp_path):
    """One table a release, with the same three columns; the two studies code gender differently."""
    old, new = tmp_path / "llama-2-70b.jsonl", tmp_path / "llama-3.1-8b.jsonl"
    with old.open("w") as file:
        for row in rows("llama2_library_replies", "llama2_responses.jsonl.gz"):
            if row["model_name"] == "70b":
                said = {"text": row["librarian_says"], "gender": row["gender"], "topic": row["query_type"]}
                file.write(json.dumps(said) + "\n")
    with new.open("w") as file:
        for row in rows("fep_library_replies", "fep_responses.jsonl.gz"):
            if row["model"].startswith("Llama_3.1_8B"):
                said = {"text": row["response"], "gender": row["sex"], "topic": row["query_type"]}
                file.write(json.dumps(said) + "\n")
    return old, new


def test_two_generations_of_a_model_are_compared_without_a_call(spiritlevel, tables):
    spiritlevel(
        "lexicon", "add", "connotation-frames", shared_data("connotation_frames_sap2017", "agency_power_3sg.csv")
    )
    means = []
    for version, (model, table) in enumerate(zip(("llama-2-70b", "llama-3.1-8b"), tables, strict=True), 1):
        spiritlevel("release", "add", "llama", "--model", model, "--base-url", "http://127.0.0.1:9/v1")
        order = ("--protocol", "targeted-messages", "--group", "gender", "--cell", "topic")
        called = () if version == 1 else ("--rename", "gender:M=male", "--rename", "gender:F=female")
        made = spiritlevel.json("import", f"models:/llama/{version}", table, *order, *called, code=None)
        found = {
            (row["metric"], row["group"]): row["value"]
            for row in made["scores"]
            if row["dimension"].startswith("gender x") and row["dimension"].endswith(", context-rich")
        }
        # The index is A + M + I, with A = 0 where no verb of the list occurs.
        index, orders = (
            found[f"{name}-paper-welch", "male - female"] for name in ("persuasion-bias-index", "imperative-mood")
        )
        gap = index - orders
        means.append((made["channels"]["usable"], gap))
    # A + M of arXiv 2601.17172 on these replies, male minus female: -.025 and +.045 were measured with single words of the list,
    # -.026 and +.047 with the paper's search of raw text (tests/metrics/test_persuasion_paper.py), which paper mode does.
    (old_n, old_gap), (new_n, new_gap) = means
    assert (old_n, new_n) == (2000, 2500)
    assert old_gap == pytest.approx(-0.025, abs=0.005)
    assert new_gap == pytest.approx(0.045, abs=0.005)
    compared = spiritlevel.json("compare", "models:/llama/2", "--against", "previous", code=None)
    rows = {row["dimension"]: row for row in compared["comparisons"]}
    certainty = rows.pop("gender x modal certainty, context-rich")
    # Llama-3.1 uses a modal word in many more replies: those that have one are not the same kind of replies any more.
    assert certainty["verdict"] == "not measurable"
    assert certainty["why"].startswith(
        "65 % of the messages have a number in the previous and 86 % in the current release"
    )
    assert len(rows) == 5
    assert {row["verdict"] for row in rows.values()} <= {"unchanged", "inconclusive"}
    assert all(row["clusters_current"] == 3 for row in rows.values())
