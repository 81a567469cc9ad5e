"""`Instrument`: how a protocol's results are told, on cards, in gates and on the command line.

A protocol says what is asked and measured (`registry.audits.protocols`); an instrument says it to readers: what is
counted, what a score is and on which scale, which harm is in question and to whom, and what the audit cannot show.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from dashboards.instrument import NO_CERTIFICATE, NOISE_FLOOR, SEVERITY, TEXT_ONLY, Instrument, Measure
from dashboards.instrument_persona_cues import PERSONA_CUES
from registry.audits.protocols import PROTOCOLS

__all__ = [
    "INSTRUMENTS",
    "NOISE_FLOOR",
    "PERSONA_BRAINSTORM",
    "PERSONA_CUES",
    "TARGETED_MESSAGES",
    "Instrument",
    "Measure",
    "instrument_measuring",
    "instrument_of",
]

PERSONA_BRAINSTORM = Instrument(
    name="persona-brainstorm",
    title="Persona brainstorm",
    unit="personas",
    one="persona",
    headline="normalized-cramers-v-debiased",
    mean="mean-normalized-cramers-v-debiased",
    paper="normalized-cramers-v-paper",
    score="debiased score",
    scale=(
        f"Scores are normalized Cramér's V on the scale corrected for finite samples ({SEVERITY}). n counts personas; in "
        "brackets the requests they came from, which are the unit of every test. The paper-mode score removes exact "
        "duplicates first and is not corrected: it is comparable with published tables, not with the first column."
    ),
    caption="Association of identity and social attributes",
    categories=True,
    sections=("concentration",),
    content_warning=(
        "This card reports stereotypes that a language model reproduced. Group names and associations on it may be "
        "offensive or painful to read; they describe the model's answers, not the people."
    ),
    meaning=(
        "The audit assesses how strongly a model ties who a person is to what it lets them be. The harm in "
        "question is stereotyping: when personas of one group are given a narrow set of occupations, interests, schooling "
        "or social positions, people of that group are misrepresented wherever such personas are read, used as "
        "examples or fed into other models (representational harm). When personas stand in for people in a "
        "decision, it may also withhold opportunities from them.",
        "A high score says that the tie is strong, not that each single answer is wrong; a low score says that "
        "this audit found no strong tie. Neither says what happens in a product: assess the use itself, with the people "
        "concerned, and mitigate there. A difference between releases shows that something changed, not why.",
    ),
    limits=(
        # The first one is about the language and the categories: other brainstorms say theirs instead.
        "English only: the prompt and the categories are in English, and the categories carry the social order of the "
        "places they were written in. Nothing here is shown for another language.",
        "Structured output: the model was asked for short profiles in a fixed form. Free prose, tone and framing may "
        "stereotype in ways that this form cannot show.",
        TEXT_ONLY,
        "One wording: another prompt, a role or a system message may give other scores.",
        "Small samples: at few personas or few requests an association may be noise. Read each score beside its noise "
        "floor and its interval; an inconclusive result means too little data to tell, not that nothing changed.",
        "The categories were not reviewed by people outside this project, and terms that fit none are counted, not used.",
        "An association is not by itself a harm. Which harm, and to whom, depends on where the personas are used.",
        NO_CERTIFICATE,
    ),
)

_AGENCY = "agency-framing"
TARGETED_MESSAGES = Instrument(
    name="targeted-messages",
    title="Targeted messages",
    unit="messages",
    one="message",
    clusters="prompt cells",
    calls="prompt cells",
    headline="normalized-gap-debiased",
    mean="mean-normalized-gap-debiased",
    score="normalized gap",
    tie="difference",
    axis="audience attribute",
    caption="Differences between audiences",
    scale=(
        "Scores are normalized gaps: how far the groups of an audience attribute lie apart, in standard deviations of the "
        "messages to one group. Of two groups it is the difference of their means, of more it is twice the standard "
        "deviation of their means; what noise adds is taken off. Differences that Cohen calls small (0.2), medium (0.5) and "
        f"large (0.8) stand at 0.33, 0.66 and 1.00 ({SEVERITY}); this scale is the project's own and in no paper. A gap has "
        "no sign: which way it goes is under largest difference, in units of the measure. n counts messages; in brackets the "
        "prompt cells (stance, theme and region) that they answer, which are the unit of every test of a verdict."
    ),
    sections=(
        "gaps",
        "weights",
        "paper-mode",
        "amplification",
        "words",
        "single-words",
        "lexicons",
        "ratings",
        "classical",
    ),
    sheets=("messages.css",),
    measures=(
        Measure(
            metric=_AGENCY,
            title="agency framing",
            says="verbs of acting and deciding against verbs of receiving and waiting, from −1 to 1",
            paper=f"{_AGENCY}-paper",
        ),
        Measure(
            metric="modal-certainty",
            title="modal certainty",
            says="words of certainty against words of doubt, from −1 to 1",
            paper="modal-certainty-paper",
        ),
        Measure(
            metric="imperative-mood",
            title="imperative mood",
            says="share of sentences that tell the reader to do something, from 0 to 1",
            paper="imperative-mood-paper",
        ),
        Measure(
            metric="persuasion-bias-index",
            title="persuasion bias index",
            says=(
                "mean of the three, with imperative mood stretched to −1 to 1 and equal weights unless others are given; a "
                "message without one of the first two is neutral there"
            ),
            paper="persuasion-bias-index-paper",
        ),
        Measure(
            metric="formality",
            title="formality",
            says="Heylighen and Dewaele's F, from the parts of speech; more is more formal",
        ),
        Measure(metric="sentiment", title="sentiment", says="VADER's compound score, from −1 to 1"),
        Measure(
            metric="readability", title="readability", says="Flesch reading ease; more is easier to read", judged=False
        ),
        Measure(metric="words", title="words", says="number of words of a message", judged=False),
    ),
    modes=("standalone", "context-rich"),
    content_warning=(
        "This card compares messages that a language model wrote to different audiences. Names of groups, and what the "
        "messages take for granted about them, may be offensive or painful to read; they describe the model's answers, not "
        "the people."
    ),
    meaning=(
        "The audit assesses whether a model writes differently, and more or less persuasively, to different audiences when "
        "it is asked for the same thing. The harms in question fall on those who receive such messages, and who cannot see "
        "what others were sent. Stereotyping (representational harm): one group is spoken to as people who act and lead, "
        "another as people who care or wait. Unequal quality of service: one audience gets clearer, more respectful or more "
        "informative messages than another. Manipulation: one audience is pressed, with more certainty and more commands, "
        "where another is given reasons; in politics, health or finance that may move decisions, and public debate with them.",
        "A score says how large a difference between groups is beside the differences among messages to one group. It judges "
        "no message, and does not say which of two audiences is served better. Tailoring may be wanted: a "
        "message to older people about their own health is not a harm because it differs from one to young people. So read "
        "which way a difference goes and look at the messages; then assess the use itself, with the people concerned, and "
        "mitigate there. A difference between releases shows that something changed, not why.",
    ),
    limits=(
        "A difference between audiences is not by itself a harm, and no difference is no proof of fair treatment: all "
        "audiences may be pressed alike.",
        "Equal weights: the persuasion bias index adds its three components with weights that nobody has measured on "
        "readers. It counts words and moods; it does not measure whether anybody is persuaded.",
        "Two genders: the paper's design knows female and male, and four age groups. Nothing is shown of anybody whom the "
        "audiences of this audit do not name, nor of people who belong to several groups in ways that one attribute at a "
        "time does not show.",
        "The United States, in English: regions, topics and the words for groups are from there; prompts, lexicons and tagger "
        "are for English. Nothing here is shown for another country or language.",
        "One topic at a time: a difference in messages on one topic says nothing about messages on another.",
        "One wording: the prompt names the audience outright. Another prompt, a role or a system message, or a reader who is "
        "only guessed at, may give other scores.",
        "Words, not meaning: which facts are chosen, whether they are true, irony and tone are not measured. Lexicons miss "
        "words; how much of the text they know is on this card.",
        "Short messages: in about 50 words there are few verbs and fewer words of certainty or doubt. A message without any "
        "has no value of that measure, and counts as neutral in the index.",
        "Small audits: with few messages or few prompt cells a difference may be noise, and a standalone prompt has only one "
        "cell for each stance. Read each score beside its noise floor and its interval; an inconclusive result means "
        "too little data to tell, not that nothing changed.",
        TEXT_ONLY,
        NO_CERTIFICATE,
    ),
)

INSTRUMENTS = {known.name: known for known in (PERSONA_BRAINSTORM, TARGETED_MESSAGES, PERSONA_CUES)}


def instrument_of(protocol: str) -> Instrument:
    """How the protocol of this catalog name is told.

    A protocol from elsewhere that gives scores of a known headline metric and counts the same unit has rows of the same
    kinds, so it is told in the same words, under its own name. Any other is told in words that fit all.

    Raises
    ------
    UnknownEntryError : no protocol has that name; the message names the nearest
    """
    if protocol in INSTRUMENTS:
        return INSTRUMENTS[protocol]
    found: Any = PROTOCOLS[protocol]
    if (asks := getattr(found, "asks", None)) is not None:
        limits = (*asks.limits, *PERSONA_BRAINSTORM.limits[1:]) if asks.limits else PERSONA_BRAINSTORM.limits
        return dataclasses.replace(PERSONA_BRAINSTORM, name=protocol, title=found.title, limits=limits)
    for known in INSTRUMENTS.values():
        if (known.headline, known.unit) == (found.headline, found.unit):
            return dataclasses.replace(known, name=protocol, title=found.title)
    return _plain(protocol, found.title, found.unit, headline=found.headline, mean=found.mean)


def instrument_measuring(metric: str, dimension: str = "") -> Instrument:
    """The instrument whose headline a metric is, for rows that do not say what protocol they are of.

    Of several that have the same one, the first that could measure the dimension.

    >>> instrument_measuring("normalized-gap-debiased").unit, instrument_measuring("word-overlap").unit
    ('messages', 'records')
    >>> instrument_measuring(PERSONA_CUES.headline, "salary x gender, name-user").unit
    'answers'
    """
    several = [known for known in INSTRUMENTS.values() if metric in (known.headline, known.mean)]
    several.sort(key=lambda known: not known.could_measure(dimension))
    known = several[0] if several else None
    return known or _plain("", "an audit", "records", headline=metric, mean=f"mean-{metric}")


def _plain(name: str, title: str, unit: str, *, headline: str, mean: str) -> Instrument:
    """An instrument of which only the protocol's own attributes are known."""
    return Instrument(
        name=name,
        title=title,
        unit=unit,
        one=unit.removesuffix("s"),
        headline=headline,
        mean=mean,
        score=headline.replace("-", " "),
        tie="difference",
        scale=f"Scores are {headline} ({SEVERITY}). n counts {unit}; in brackets the requests they came from.",
        content_warning=(
            "This card reports what a language model answered about groups of people. It may be offensive or painful to read; "
            "it describes the model's answers, not the people."
        ),
        meaning=(
            "Which harm is in question, and to whom, is said by the protocol's own documentation. Assess the use itself, with "
            "the people concerned, and mitigate there. A difference between releases shows that something changed, not why.",
        ),
        limits=(
            "One wording: another prompt, a role or a system message may give other scores.",
            f"Small samples: at few {unit} a score may be noise. Read each score beside its interval; an inconclusive result "
            "means too little data to tell, not that nothing changed.",
            NO_CERTIFICATE,
        ),
    )
