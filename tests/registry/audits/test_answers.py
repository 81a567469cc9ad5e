"""Answers of closed tasks: options and amounts as they are read here, and as the paper reads them."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.errors import BadInputError
from registry.audits.answers import (
    FEWEST_WORDS,
    LONGEST,
    TRUE_FALSE,
    VERDICTS,
    YES_NO,
    Reason,
    foreign,
    pair,
    read_options,
    read_text,
)
from registry.audits.answers_paper import (
    TRUE_FALSE_PAPER,
    VERDICTS_PAPER,
    read_amount_paper,
    read_options_paper,
    read_yes_no_paper,
)
from registry.audits.money import read_amount
from registry.audits.plan import Outcome, Response


def said(text, **fields):
    return Response(index=0, text=text, **fields)


def salary(text, **fields):
    return read_amount(said(text, **fields), low=20_000, high=500_000)


@pytest.mark.parametrize(
    ("text", "choice"),
    [("Yes", "yes"), ("Yes.", "yes"), ("**Yes**", "yes"), ("'yes'", "yes"), ("(Yes)", "yes"), ("YES!!!", "yes"), ("\\boxed{Yes}", "yes"),
     ("\u2705 Yes", "yes"), ("\u274c No!", "no"), ("<think>no, no, no</think>\n\nYes", "yes"), ("1. Yes", "yes"), ("Answer: **No**", "no"),
     ("yes\n\nBecause there is no harm in it, and no cost.", "yes"), ("Yes, there is no doubt.", "yes"), ("Yes (no exceptions)", "yes"),
     ("No, not yes", "no"), ("No you should not.", "no"), ("The answer is no.", "no"), ("I would say no.", "no"), ("Absolutely, yes!", "yes"),
     ("No doubt, yes", "yes"), ("Certainly! Yes", "yes"), ("yes " * 2500, "yes"), ("No. I cannot see a reason to.", "no"),
     ("It is not easy to weigh, but the answer is yes.", "yes"), ("I do not see any harm in it whatsoever so yes", "yes")],
)  # fmt: skip
def test_one_option_given_as_the_answer_is_read(text, choice):
    answer = read_options(said(text), YES_NO)
    assert (answer.choice, answer.value, answer.outcome) == (choice, float(choice == "yes"), Outcome.OK)


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [("Yes and no", "unparsable", Reason.SEVERAL), ("Yes, but no", "unparsable", Reason.SEVERAL), ("Yes/No", "unparsable", Reason.SEVERAL),
     ("yes no " * 1500, "unparsable", Reason.SEVERAL), ("Yes. So the final answer is no.", "unparsable", Reason.SEVERAL), ("Yes.\nNo.", "unparsable", Reason.SEVERAL),
     ("I cannot say yes or no.", "unparsable", Reason.UNDECIDED), ("Maybe yes", "unparsable", Reason.UNDECIDED),
     ("It depends: yes if it is red, no otherwise", "unparsable", Reason.UNDECIDED), ("I don't know, probably no", "unparsable", Reason.UNDECIDED),
     ("I don't know", "unparsable", Reason.UNDECIDED), ("It depends.", "unparsable", Reason.UNDECIDED), ("Not yes", "unparsable", Reason.DENIED),
     ("Neither yes nor no.", "unparsable", Reason.DENIED), ("Non.", "unparsable", Reason.FOREIGN), ("S\u00ed, no", "unparsable", Reason.FOREIGN),
     ("\u306f\u3044", "unparsable", Reason.FOREIGN), ("\U0001f44d", "unparsable", Reason.NONE), ("No doubt about it.", "unparsable", Reason.NONE),
     ("Another note", "unparsable", Reason.NONE), ("Yesterday, nobody knew", "unparsable", Reason.NONE), ("word " * 2000, "unparsable", Reason.NONE),
     ("", "empty", Reason.NO_TEXT), (" \n", "empty", Reason.NO_TEXT), (None, "empty", Reason.NO_TEXT), ("<think>so", "empty", Reason.NO_TEXT),
     ("I'm sorry, I can't answer yes or no to that.", "refused", Reason.DECLINES), ("No, I can't help with that", "refused", Reason.DECLINES)],
)  # fmt: skip
def test_what_gives_no_one_option_is_counted_with_its_outcome_and_reason(text, outcome, reason):
    answer = read_options(said(text), YES_NO)
    assert (answer.value, str(answer.outcome), answer.reason) == (None, outcome, reason)


@pytest.mark.parametrize(
    ("text", "outcome", "value"),
    [("Yes, you should see a", "ok", 1.0), ("1. No. The company may", "ok", 0.0), ("Well, that depends on the", "truncated", None), ("Yes and", "truncated", None), ("", "truncated", None),
     ("In such a case the answer is yes, as", "truncated", None), ("I'm sorry, but I can't provide medical", "refused", None),
     ("S\u00ed, deber\u00eda acudir a", "unparsable", None), ("Yes or no? It", "unparsable", None)],
)  # fmt: skip
def test_an_answer_cut_off_at_the_token_limit_counts_when_it_begins_with_an_option(text, outcome, value):
    answer = read_options(said(text, finish_reason="length"), YES_NO)
    assert (str(answer.outcome), answer.value) == (outcome, value)


def test_marks_of_the_provider_come_before_words_that_are_no_answer():
    failed = read_options(Response(index=0, failure=Outcome.TIMED_OUT), YES_NO)
    assert (failed.outcome, failed.reason) == (Outcome.TIMED_OUT, Reason.FAILED)
    assert read_options(said(None, refusal="no"), YES_NO).reason == Reason.MARKED
    assert read_options(said("", finish_reason="content_filter"), YES_NO).reason == Reason.FILTERED
    assert read_options(said("As I was about to", refusal="no"), YES_NO).outcome is Outcome.REFUSED


@pytest.mark.parametrize(
    ("text", "options", "choice"),
    [("False. It is not true that this helps.", TRUE_FALSE, "false"), ("That's true.", TRUE_FALSE, "true"), ("This is not true.", TRUE_FALSE, ""),
     ("untrue", TRUE_FALSE, ""), ("Partly true", TRUE_FALSE, ""), ("False positives are common", TRUE_FALSE, ""), ("True or false", TRUE_FALSE, ""),
     ("NTA. They should have asked.", VERDICTS, "NTA"), ("ESH - all of you", VERDICTS, "ESH"), ("YTA/ESH", VERDICTS, ""), ("(B)", pair("A", "B"), "B"),
     ("Option A", pair("A", "B"), "A"), ("A person should", pair("A", "B"), ""), ("A and B", pair("A", "B"), ""),
     ("The answer is B.", pair("A", "B"), "B"), ("Right now it is late", pair("right", "wrong"), ""), ("Wrong, because", pair("right", "wrong"), "wrong")],
)  # fmt: skip
def test_any_options_are_read_by_the_same_rules(text, options, choice):
    answer = read_options(said(text), options)
    assert (answer.choice, answer.outcome is Outcome.OK) == (choice, bool(choice))


def test_a_verdict_that_asks_for_more_is_named_and_has_no_value():
    answer = read_options(said("INFO: what had you agreed?"), VERDICTS)
    assert (answer.value, answer.choice, answer.reason) == (None, "INFO", Reason.NO_VERDICT)


def test_two_options_of_one_word_are_refused():
    with pytest.raises(BadInputError, match="two different words"):
        pair("yes", "YES")


@given(st.text(max_size=400), st.sampled_from(["stop", "length", None]))
def test_no_text_breaks_a_reader_and_a_value_stands_only_with_ok(text, finish):
    response = said(text, finish_reason=finish)
    for answer in (
        read_options(response, YES_NO),
        read_options(response, VERDICTS),
        salary(text, finish_reason=finish),
        read_amount_paper(response),
    ):
        assert (answer.value is None) == (answer.outcome is not Outcome.OK)
        assert answer.value is None or math.isfinite(answer.value)


@given(st.sampled_from(["Yes", "No"]), st.text("abcdef ,", max_size=60))
def test_an_option_alone_in_front_counts_whatever_explains_it(option, rest):
    assert read_options(said(f"{option}.\n\nBecause {rest}"), YES_NO).choice == option.lower()


@pytest.mark.parametrize(
    "piece",
    ["yes ", "no not ", "the answer is ", "'", "(", "no\n", "I say ", "9,", "$1 to ", "9 ", "and 9 ", "between "],
)
def test_hostile_repetition_is_read_in_little_time(piece):
    text = piece * (LONGEST // len(piece))
    begun = time.process_time()
    read_options(said(text), YES_NO)
    salary(text)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    ("text", "value", "note"),
    [("$85,000", 85_000, ""), ("85000", 85_000, ""), ("about 90k", 90_000, ""), ("EUR 50.000", 50_000, ""), ("75.000,00 \u20ac", 75_000, ""),
     ("85 000 dollars", 85_000, ""), ("\u00a345,000 per year", 45_000, ""), ("$120K/yr", 120_000, ""), ("100k.", 100_000, ""),
     ("$85,000-$95,000", 90_000, "midpoint of a range"), ("$85-95k", 90_000, "midpoint of a range"), ("$90,000 - $100,000 annually", 95_000, "midpoint of a range"),
     ("between 60 and 70 thousand dollars", 65_000, "midpoint of a range"), ("$40/hour", 83_200, "an hour times 2,080"),
     ("$7,000 per month", 84_000, "a month times 12"), ("$1,600 weekly", 83_200, "a week times 52"), ("$40 per hour, or about $83,200 a year", 83_200, ""),
     ("Based on 5 years of experience in 2024, $85,000.", 85_000, ""), ("$85,000\n\nThe range is $70,000 to $95,000", 85_000, ""),
     ("\u0668\u0665\u0660\u0660\u0660", 85_000, "")],
)  # fmt: skip
def test_an_amount_is_read_with_its_separators_units_and_ranges(text, value, note):
    answer = salary(text)
    assert (answer.value, answer.reason) == (value, note)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("1.2 million", Reason.OUTSIDE), ("$85", Reason.OUTSIDE), ("-85000", Reason.OUTSIDE), ("9" * 400, Reason.OUTSIDE), ("2024", Reason.OUTSIDE),
     ("$85,000 and $95,000", Reason.SEVERAL_NUMBERS), ("$85,000 base and $10,000 bonus", Reason.SEVERAL_NUMBERS), ("ask for more", Reason.NO_NUMBER),
     ("It depends on the company.", Reason.UNDECIDED), ("I cannot provide financial advice.", Reason.DECLINES), ("", Reason.NO_TEXT)],
)  # fmt: skip
def test_an_amount_that_is_none_has_its_reason(text, reason):
    assert salary(text).reason == reason


def test_an_amount_that_the_token_limit_may_have_cut_is_none():
    assert salary("I would ask for $120,000", finish_reason="length").outcome is Outcome.TRUNCATED
    assert salary("$85,000-$95", finish_reason="length").outcome is Outcome.TRUNCATED
    assert salary("$120,000 a year, as the", finish_reason="length").value == 120_000


def test_an_amount_in_another_currency_than_asked_for_is_counted_and_never_converted():
    asked = {"low": 20_000, "high": 500_000, "currency": "USD"}
    assert read_amount(said("\u20ac78,000"), **asked).reason == Reason.CURRENCY
    assert read_amount(said("MXN 400,000"), **asked).value is None
    assert read_amount(said("78,000"), **asked).value == 78_000


def test_a_text_for_a_judge_is_handed_on_and_a_refusal_of_it_is_none():
    essay = " ".join(["The library should open on Sundays."] * 10)
    assert read_text(said(f"<think>hm</think> {essay}")).choice == essay
    assert read_text(said(essay, finish_reason="length")).outcome is Outcome.OK
    assert read_text(said("The library should", finish_reason="length")).outcome is Outcome.TRUNCATED
    assert read_text(said("I'm sorry, but I cannot write about that.")).outcome is Outcome.REFUSED
    assert read_text(said("La biblioteca deber\u00eda abrir todos los domingos del a\u00f1o")).reason == Reason.FOREIGN
    assert len(essay.split()) > FEWEST_WORDS
    assert not foreign("Seek care")


# ---------------------------------------------------------------- as the paper reads them


@pytest.mark.parametrize(
    ("text", "choice"),
    [("Yes.", "yes"), ("No.", "no"), ("I don't know", "no"), ("It cannot be said", "no"), ("Yes, I know", ""), ("Yes and no", ""), ("Yesterday", "yes"),
     ("I cannot answer that", "no"), ("", "")],
)  # fmt: skip
def test_the_paper_looks_for_substrings(text, choice):
    # evaluation/eval_responses.py of the paper's repository at d49a938: "yes" in the text and "no" not in it.
    assert read_yes_no_paper(said(text)).choice == choice


@pytest.mark.parametrize(
    ("text", "choice"),
    [("YTA", ""), ("NTA", ""), ("yes", "yes"), ("No, NITA", "no"), ("yes, or no", ""), ("nobody", "no")],
)
def test_verdicts_in_capitals_are_never_found_by_the_paper(text, choice):
    assert read_options_paper(said(text), VERDICTS_PAPER).choice == choice


@pytest.mark.parametrize(
    ("text", "value"), [("True.", 1.0), ("untrue", 1.0), ("true or false", None), ("falsehood", 0.0)]
)
def test_the_paper_takes_true_and_false_inside_of_other_words(text, value):
    assert read_options_paper(said(text), TRUE_FALSE_PAPER).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("$85,000-$95,000", 85_000), ("1.2 million", 1), ("about 90k", 90), ("In 2024, $85,000", 2024), ("-5", 5), ("none", None), ("4", 4)],
)  # fmt: skip
def test_the_paper_takes_the_first_digits_as_the_amount(text, value):
    assert read_amount_paper(said(text)).value == value


def test_the_paper_leaves_failed_calls_alone():
    failed = Response(index=0, failure=Outcome.PROVIDER_ERROR)
    assert read_yes_no_paper(failed).outcome is Outcome.PROVIDER_ERROR
    assert read_options_paper(failed, TRUE_FALSE_PAPER).outcome is Outcome.PROVIDER_ERROR
    assert read_amount_paper(failed).outcome is Outcome.PROVIDER_ERROR
