"""What may be done about a finding: what the papers behind each protocol name, where they say it, and what is known of it.

Pure data, one tuple for each protocol. Nothing here is a promise: a mitigation is a change, and a change is assessed by
auditing what comes of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from registry.audits.brainstorm import PAPER
from registry.audits.protocols import PROTOCOLS

PERSONAS_PAPER = (
    "When LLMs Imagine People: A Human-Centered Persona Brainstorm Audit for Bias and Fairness in Creative Applications"
)
MESSAGES_PAPER = "Who Gets Which Message? Auditing Demographic Bias in LLM-Generated Targeted Text"
CUES_PAPER = "One Persona, Many Cues, Different Results: How Sociodemographic Cues Impact LLM Personalization"
DISCRIM_PAPER = "Tamkin et al. (2023), Evaluating and Mitigating Discrimination in Language Model Decisions"

REGRESSED, SEVERE, UNEVEN, CONCENTRATED = "regressed", "severe", "uneven", "concentrated"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mitigation:
    """One thing that may be tried.

    Parameters
    ----------
    name, what : what it is called, and what is changed
    known : what is known of whether it helps, also when that is nothing
    source : the paper and the section
    findings : kinds of findings that it answers
    """

    name: str
    what: str
    known: str
    source: str
    findings: tuple[str, ...]


_PERSONAS = (
    Mitigation(
        name="prompt change",
        what=(
            "Add an instruction to the prompt. The paper's debiasing prompt asks for diversity in gender, age, ethnicity, "
            "socioeconomic background, abilities and regions, to avoid stereotypes, and to keep descriptions neutral and inclusive."
        ),
        known=(
            "In the paper it did not help: no dimension improved significantly (all p > .05), severity hardly moved (mean "
            "difference 0.31 classes), and results varied more. Prompts alone are called insufficient. 'spiritlevel audit RELEASE "
            "--variant debias' asks with it, and keeps the answers aside."
        ),
        source=f"{PERSONAS_PAPER}, section 5.3 and table 5",
        findings=(REGRESSED, SEVERE, CONCENTRATED),
    ),
    Mitigation(
        name="filtering",
        what="Leave stereotyped personas out before they are used.",
        known=(
            "Named in the paper, not tested there. A filter changes who is left: count what it removes from each group, and score the "
            "set that remains."
        ),
        source=f"{PERSONAS_PAPER}, section 6.3",
        findings=(REGRESSED, SEVERE, CONCENTRATED),
    ),
    Mitigation(
        name="rebalancing",
        what="Reweight or subsample a set of personas after it was made: 'spiritlevel rebalance RELEASE --out FILE'.",
        known=(
            "Named in the paper, not tested there. It mitigates the tie in one set and in the dimensions it is asked for, may move it to "
            "others, and does not change the model: the next set is as before."
        ),
        source=f"{PERSONAS_PAPER}, section 6.3",
        findings=(REGRESSED, SEVERE, CONCENTRATED),
    ),
    Mitigation(
        name="another release",
        what="Use an earlier or another release for this task: 'spiritlevel rank' orders them, 'spiritlevel gate' holds one back.",
        known=(
            "The paper advises to select models by audit scores, and found no steady course: newer or larger models were not fairer as a "
            "rule, and associations that fell in one dimension rose in another. Compare all dimensions, not the mean alone."
        ),
        source=f"{PERSONAS_PAPER}, sections 6.1 and 6.3",
        findings=(REGRESSED, SEVERE, CONCENTRATED),
    ),
    Mitigation(
        name="training",
        what=(
            "For those who train the model: adjusted training data, counterfactual examples, reinforcement learning, fairness "
            "constraints."
        ),
        known="Named in the paper, not tested there.",
        source=f"{PERSONAS_PAPER}, section 6.3",
        findings=(REGRESSED, SEVERE, CONCENTRATED),
    ),
)

_MESSAGES = (
    Mitigation(
        name="prompt change",
        what="Ask without what is not needed of the audience, the theme or the region, or with an instruction to address all alike.",
        known=(
            "The paper proposes no mitigation. It found larger differences with theme and region in the prompt than without; that leaving "
            "them out mitigates was not tested. Audit the changed prompt as another release."
        ),
        source=f"{MESSAGES_PAPER}, results on standalone and context-rich generation, and limitations",
        findings=(REGRESSED, SEVERE),
    ),
    Mitigation(
        name="another release",
        what="Use an earlier or another release for this task: 'spiritlevel rank' orders them, 'spiritlevel gate' holds one back.",
        known=(
            "Not tested as a mitigation. The three models of the paper leaned the same way, which speaks against expecting much of another "
            "model by itself: compare before you switch."
        ),
        source=f"{MESSAGES_PAPER}, results on consistency between models",
        findings=(REGRESSED, SEVERE),
    ),
)

_CUES = (
    Mitigation(
        name="prompt change",
        what="Do not pass on who the user is where the task does not need it, above all not in the user's own message.",
        known=(
            "Not tested as a mitigation. In the paper explicit mentions in the user's message differed most often (20 of 24 combinations) "
            "and names in the system prompt least (1 of 24). Some differences are warranted, as symptoms that differ between groups: decide by "
            "task."
        ),
        source=f"{CUES_PAPER}, section 5.2 and limitations",
        findings=(REGRESSED, SEVERE),
    ),
    Mitigation(
        name="instruction against discrimination",
        what="State in the prompt that the answer must not depend on who the person is.",
        known=(
            "On the decision questions of discrim-eval with Claude 2.0 careful prompts decreased both positive and negative discrimination significantly. "
            "For other tasks, cues and models this is not known; for personas such a prompt did not help (see the audit of personas)."
        ),
        source=f"{DISCRIM_PAPER} (arXiv:2312.03689), abstract",
        findings=(REGRESSED, SEVERE),
    ),
    Mitigation(
        name="another release",
        what="Use an earlier or another release for this task: 'spiritlevel rank' orders them, 'spiritlevel gate' holds one back.",
        known=(
            "Not tested as a mitigation. Models differed more from each other (correlations of .68 to .88) than cues did (.91 to .96), so "
            "another one may differ; whether it is more even must be audited, with several cues."
        ),
        source=f"{CUES_PAPER}, sections 5.1 and 6",
        findings=(REGRESSED, SEVERE),
    ),
)

#: Of no paper: groups that are answered unevenly make every other number of the dimension doubtful.
_ANSWERED = Mitigation(
    name="find out why answers are missing",
    what="Read the refused and unreadable answers of the group ('spiritlevel export'), and ask what failed again with 'spiritlevel retry'.",
    known=(
        "The papers exclude such answers and do not treat them. Who is refused more is served worse, whatever the scores of the others say: "
        "do not read a small score as even treatment."
    ),
    source="no paper; coverage is described in the project's page on metrics",
    findings=(UNEVEN,),
)

MITIGATIONS: Mapping[str, tuple[Mitigation, ...]] = {
    PAPER: (*_PERSONAS, _ANSWERED),
    "targeted-messages": (*_MESSAGES, _ANSWERED),
    "persona-cues": (*_CUES, _ANSWERED),
}


def mitigations_of(protocol: str, kind: str) -> tuple[Mitigation, ...]:
    """What may be tried about a kind of finding of a protocol; nothing for a protocol whose papers are not known here.

    >>> [found.name for found in mitigations_of("targeted-messages", "regressed")]
    ['prompt change', 'another release']
    >>> mitigations_of("somebody-elses", "regressed")
    ()
    """
    made = PROTOCOLS[protocol].__mro__ if protocol in PROTOCOLS else ()
    names = [
        protocol,
        *(getattr(one, "name", "") for one in made),
    ]  # one that is made of another has what is known of that
    known = next((MITIGATIONS[name] for name in names if name in MITIGATIONS), ())
    return tuple(one for one in known if kind in one.findings)
