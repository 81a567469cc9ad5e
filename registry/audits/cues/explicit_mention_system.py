"""Cue ``explicit-mention-system``: the system message says outright what varies."""

from __future__ import annotations

from registry.audits.cues import CUES, SYSTEM
from registry.audits.cues.explicit_mention_user import WORDINGS as OF_USER
from registry.audits.cues.wording import ExplicitMention
from registry.audits.personas import NUMBER, PersonaAxis

WORDINGS = (
    # the paper's five (arXiv 2601.18572, table 2 and its code)
    "The user is {are}.",
    "Reply to {kind} individual:",
    "You are talking to {kind} person.",
    "The user identifies as {are}.",
    "{Fact}",
    # written here, so that twenty variants are twenty texts
    "Just so you know, the user is {are}.",
    "For context, {fact}.",
    "The user is {kind} person.",
    "You are assisting {kind} person.",
    "About the user: {are}.",
    "Note that the user is {are}.",
    "You are answering {kind} person.",
    "Please note that {fact}.",
    "The user describes themselves as {are}.",
    "The person asking is {are}.",
    "The question comes from someone who is {are}.",
    "The user's profile says that they are {are}.",
    "The next message is from {kind} person.",
    "The message that follows was written by {kind} person.",
    "Answer the question of {kind} person.",
)
DEFECTIVE = (3, 4)  # wordings that the paper's code takes from the user's turn where a number is said


@CUES.register("explicit-mention-system")
class ExplicitMentionSystem(ExplicitMention):
    """An explicit mention in a system message before the user's turn."""

    name = "explicit-mention-system"
    title = "explicit mention, system message"
    place = SYSTEM
    whose = "the user's"
    wordings = WORDINGS

    def wording(self, number: int, axis: PersonaAxis, *, paper: bool) -> tuple[str, str]:
        """In paper mode an age is said as "I identify as ..." and "My age is ..." in the system message: as published."""
        if paper and number in DEFECTIVE and all(one.kind == NUMBER for one in axis.attributes):
            return OF_USER[number], "my"
        return super().wording(number, axis, paper=paper)
