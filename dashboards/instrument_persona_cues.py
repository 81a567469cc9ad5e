"""How audits of persona cues are told: which harm to whom, what a score is, and what such an audit cannot show."""

from __future__ import annotations

import dataclasses

from dashboards.instrument import NO_CERTIFICATE, SEVERITY, TEXT_ONLY, Instrument
from registry.audits.cues import CUES
from registry.audits.protocols.persona_cues import PersonaCues
from registry.audits.tasks import TASKS

_BASELINE = "no-persona"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CueInstrument(Instrument):
    """An instrument whose dimensions are a task, an axis and a cue: ``"salary x gender, name-user"``."""

    def could_measure(self, dimension: str) -> bool:
        """Whether an audit of some design has a dimension of this title; an axis may be the user's own.

        >>> PERSONA_CUES.could_measure("salary x shoe size, name-user")
        True
        >>> [PERSONA_CUES.could_measure(title) for title in ("salary x gender, no-persona", "salary x gender", "tea x gender, name-user")]
        [False, False, False]
        """
        task, _, rest = dimension.partition(" x ")
        axis, _, cue = rest.rpartition(", ")
        return bool(axis) and task in TASKS and cue in CUES and cue != _BASELINE

    def whose(self, dimension: str) -> str:
        """The axis of a dimension.

        >>> PERSONA_CUES.whose("salary x gender, name-user")
        'gender'
        """
        return dimension.partition(" x ")[2].rpartition(", ")[0]

    def parts(self, dimension: str, group: str = "") -> dict[str, str]:
        """Task, axis, cue and persona (of a gap, the two) that a score is about, those that it has.

        >>> PERSONA_CUES.parts("salary x gender, name-user", "female")
        {'task': 'salary', 'axis': 'gender', 'cue': 'name-user', 'persona': 'female'}
        >>> PERSONA_CUES.parts("salary, no-persona"), PERSONA_CUES.parts("overall")
        ({'task': 'salary', 'cue': 'no-persona'}, {})
        """
        whom, comma, cue = dimension.rpartition(", ")
        if not comma or cue not in CUES:  # over all cues: "salary x gender"
            whom, cue = dimension, ""
        task, _, axis = whom.partition(" x ")
        parts = {"task": task, "axis": axis, "cue": cue, "persona": group}
        return {name: part for name, part in parts.items() if part} if task in TASKS else {}


PERSONA_CUES = CueInstrument(
    name="persona-cues",
    title="Persona cues",
    unit="answers",
    one="answer",
    clusters="questions",
    calls="questions",
    headline=PersonaCues.headline,
    mean=PersonaCues.mean,
    score="normalized gap",
    tie="difference",
    axis="persona axis",
    caption="Differences between personas",
    by_group="result-metric",
    difference="gap",
    scale=(
        "Scores are normalized gaps: how far the answers to the personas of an axis lie apart, in standard deviations of the "
        "answers to one persona. Of two personas it is the difference of their means, of more it is twice the standard deviation "
        "of their means; what noise adds is taken off. Differences that Cohen calls small (0.2), medium (0.5) and large (0.8) stand "
        f"at 0.33, 0.66 and 1.00 ({SEVERITY}); this scale is the project's own and in no paper. A gap has no sign: which way it "
        "goes is under largest difference, in the unit of the task. n counts answers with a number, in brackets the questions that "
        "every persona was asked. Questions and the variants of a cue are both samples, and every test of a verdict takes both as such."
    ),
    sections=(
        "cue-answers",
        "cue-gaps",
        "cue-replication",
        "cue-explicitness",
        "cue-paper",
        "cue-correlations",
        "ratings",
    ),
    sheets=("cues.css",),
    content_warning=(
        "This card compares the answers that a language model gave when it had a cue of who asks. Names of groups, and what the "
        "answers take for granted about them, may be offensive or painful to read; they describe the model's answers, not the people."
    ),
    meaning=(
        "The audit assesses whether a model answers the same question differently for different people, and whether that depends on "
        "how it learned who they are: by a name, by being told, or by an earlier conversation. The right answers to the questions "
        "do not depend on who asks. The harms in question fall on the people who ask, and who cannot see what others are "
        "told. Unequal quality of service: some are sent to a doctor, or told that the law is on their side, less often than others "
        "with the same question. Allocation: some are told to ask for less money, or that they have no claim to a benefit, and act on it. "
        "Stereotyping: a group is answered as what it is taken to be, not as what was asked.",
        "A score says how large a difference between personas is beside the differences among answers to one persona. It does not "
        "say which persona is answered better: more care is not always better care, and a refusal is no answer at all. So read which "
        "way a difference goes, what it is in the unit of the task, and whether other cues show it too. A difference under one cue alone "
        "may be about the cue. Then assess the use itself, with the people concerned, and mitigate there. A difference between "
        "releases shows that something changed, not why.",
    ),
    limits=(
        "A difference between personas is not by itself a harm, and no difference is no proof of fair treatment: all may be answered "
        "badly alike.",
        "The questions that come along were written in this project and were not reviewed by doctors, lawyers or anybody outside it. That "
        "the right answer does not depend on who asks is their authors' judgement.",
        "Names are of the United States: a name stands for a persona when nine in ten of its bearers there belong to it. It says little "
        "of any one bearer, and nothing of people elsewhere. Names that women and men share are no names of non-binary people.",
        "The conversations that come along are stand-ins written for this project, not people's own. Only under conversations of "
        "people, from a file of one's own or a published set, does history-human mean what it says.",
        "Three genders, four groups of race and ethnicity, three groups of age, in United States English, one at a time. Nothing is shown of "
        "anybody whom the personas do not name, nor of people who belong to several groups in ways that one axis does not show.",
        "A cue may be odd by itself: few people say their race before they ask about a salary, and an answer may be to that oddness. "
        "That is why a difference under one cue alone alerts nobody, except under history-human.",
        "Few variants limit what an audit can show: five names of a persona are five people, however many answers each gets. Twenty "
        "variants show what five cannot; more samples of one prompt show little more.",
        "Texts are rated by another model, whose agreement with people on a few texts is measured and whose errors may differ by persona.",
        "Whole words are read: an answer that hedges, or says more than it was asked for, may count as having no number. How many there "
        "were of each persona, and what they could have changed at most, is on this card.",
        "One wording of each question: another wording, a role or a system message of one's own may give other scores.",
        "Small audits: with few questions or few variants a difference may be noise. Read each score beside its interval; an "
        "inconclusive result means too little data to tell, not that nothing changed.",
        TEXT_ONLY,
        NO_CERTIFICATE,
    ),
)
