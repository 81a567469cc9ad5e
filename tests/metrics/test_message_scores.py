"""Scores of an audit of messages beside each other: they must agree, and what was not measured must not look like a number."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from metrics.lexicon import load_lexicon
from metrics.message_measures import COLUMNS, MessageLexicons, class_name
from metrics.policy import Policy
from metrics.weight_simplex import simplex_frame
from registry.audits.plan import Response
from registry.audits.protocols.targeted_messages import TargetedMessages

BOLD = ("You must lead and win.", "Act now.", "We will build it.")
PLAIN = ("Perhaps you could wait.", "You may hope for help.", "It is a warm day.")


@pytest.fixture(scope="module")
def reading():
    """60 messages to women and men about 15 prompt cells, one to each; bolder ones to men."""
    protocol, draw = TargetedMessages(), random.Random(3)
    plan = protocol.plan(cells=30, repeats=2, audiences=["gender"], modes=["context-rich"])
    requests = list(protocol.requests(plan))

    def text(request):
        share = 0.7 if request.cell["gender"] == "male" else 0.3
        return " ".join(draw.choice(BOLD if draw.random() < share else PLAIN) for _ in range(3))

    answers = [Response(index=one.index, repeat=one.repeat, text=text(one)) for one in requests]
    return protocol.read(requests, answers)


def test_the_table_of_weights_has_the_gap_of_the_index_itself_with_its_interval(reading):
    scores = {score.metric: score for score in TargetedMessages().scores(reading, ()) if score.group == "male - female"}
    table = simplex_frame(reading.measured, reading.axes, reading.modes, steps=3)
    (row,) = table[(table["agency"] == 1 / 3) & (table["modality"] == 1 / 3)].to_dict("records")
    index = scores["persuasion-bias-index"]
    assert (row["gap"], row["low"], row["high"]) == pytest.approx((index.value, index.low, index.high))
    assert (row["n"], row["clusters"]) == (index.n, 15)


def test_an_audit_without_a_message_has_no_table_and_no_details_of_words_or_weights(reading):
    protocol = TargetedMessages()
    requests = list(protocol.requests(protocol.plan(cells=30, repeats=2, audiences=["gender"], modes=["context-rich"])))
    empty = protocol.read(requests, [Response(index=one.index, repeat=one.repeat, text=None) for one in requests])
    assert protocol.tables(empty) == {}
    details = protocol.summarized(empty, ())["details"]
    assert (details["weighted_gaps"], details["words"]) == ([], [])
    assert len(protocol.summarized(reading, ())["details"]["words"]) == 1


def test_the_words_of_a_card_are_those_of_the_table_with_the_intervals_of_their_log_odds(reading):
    found = TargetedMessages().summarized(reading, ())["details"]["words"]
    ((axis, mode), words) = (found[0]["axis"], found[0]["mode"]), found[0]["words"]
    table = TargetedMessages().tables(reading)["words-gender-context-rich"]
    rows = table[table["method"] == "dirichlet"].set_index("word").to_dict("index")
    assert (axis, mode, found[0]["group"], found[0]["n"], found[0]["clusters"]) == (
        "gender",
        "context-rich",
        "male",
        60,
        15,
    )
    for word in words:
        row = rows[word["word"]]
        assert word["log_odds"] == pytest.approx(row["log_odds"])
        assert (word["low"], word["high"]) == pytest.approx((np.log(row["low"]), np.log(row["high"])))
        assert word["low"] < word["log_odds"] < word["high"]
    assert [word["z"] for word in words] == sorted((word["z"] for word in words), reverse=True)
    json.dumps(found, allow_nan=False)


def test_the_table_of_weights_leaves_out_what_the_index_leaves_out(reading):
    frame = reading.measured.copy()
    frame.loc[frame.index[:20], "modal-certainty"] = np.nan
    kept = [
        simplex_frame(frame, reading.axes, reading.modes, missing=how, steps=2)["n"].max()
        for how in ("neutral", "exclude")
    ]
    assert kept[0] == 60
    assert kept[1] == frame["modal-certainty"].notna().sum()


@pytest.mark.parametrize("repeats", [1, 2, 5])
def test_both_halves_of_an_audit_have_messages_however_often_a_cell_was_asked(reading, repeats):
    protocol, draw = TargetedMessages(), random.Random(4)
    plan = protocol.plan(cells=110, repeats=repeats, audiences=["gender"], modes=["context-rich"])
    requests = list(protocol.requests(plan))
    answers = [
        Response(index=one.index, repeat=one.repeat, text=" ".join(draw.choices(BOLD + PLAIN, k=4))) for one in requests
    ]
    made = protocol.read(requests, answers)
    check = protocol.split_check(made, (), Policy(), alpha=0.01, in_order=False)
    assert check.state == "steady", check.why


def test_words_are_counted_by_group_and_every_content_word_stands_in_one_table(reading):
    tables = TargetedMessages().tables(reading)
    words = tables["words-gender-context-rich"]
    assert {"dirichlet", "add-one"} <= set(words["method"])
    shown = words[words["method"] == "add-one"].set_index("word")
    texts = reading.measured
    days = texts["text"].str.count("warm day").groupby(texts["gender"]).sum()
    assert (shown.loc["day", "count_a"], shown.loc["day", "count_b"]) == (days["male"], days["female"])


def test_classes_of_two_lexicons_never_share_a_name():
    lexicons = MessageLexicons.default()
    names = [class_name(one, title) for one in (lexicons.agency, *lexicons.categories) for title in one.class_names]
    assert len(set(names)) == len(names)
    assert len(set(COLUMNS)) == len(COLUMNS)
    assert class_name(load_lexicon("agency"), "low") == "low agency"


def test_differences_of_more_than_two_groups_say_whether_their_p_is_adjusted():
    protocol, draw = TargetedMessages(), random.Random(6)
    plan = protocol.plan(cells=64, repeats=1, audiences=["income"])
    requests = list(protocol.requests(plan))
    answers = [
        Response(index=one.index, repeat=one.repeat, text=" ".join(draw.choices(BOLD + PLAIN, k=4))) for one in requests
    ]
    scores = protocol.scores(protocol.read(requests, answers), ())
    rows = [s for s in scores if s.metric == "modal-certainty" and s.group == "low - high"]
    methods = {row.dimension.rpartition(", ")[2]: row.method for row in rows}
    assert "q by Holm over 3 pairs" in methods["context-rich"] or "q by max-T over 3 pairs" in methods["context-rich"]
    assert methods["standalone"].endswith("p not adjusted over 3 pairs")
