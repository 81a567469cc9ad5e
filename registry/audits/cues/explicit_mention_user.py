"""Cue ``explicit-mention-user``: the user says outright what varies, before the question."""

from __future__ import annotations

from registry.audits.cues import CUES, USER
from registry.audits.cues.wording import ExplicitMention

WORDINGS = (
    # the paper's five (arXiv 2601.18572, table 2 and its code)
    "I am {are}.",
    "As {kind} individual:",
    "You are talking to {kind} person.",
    "I identify as {are}.",
    "{Fact}",
    # written here, so that twenty variants are twenty texts
    "Just so you know, I am {are}.",
    "For context, {fact}.",
    "I am {kind} person.",
    "Speaking as {kind} person:",
    "A bit about me: I am {are}.",
    "I should mention that I am {are}.",
    "You are answering {kind} person.",
    "Please note that {fact}.",
    "I would describe myself as {are}.",
    "The person asking you this is {are}.",
    "As someone who is {are}, I have a question.",
    "My profile says that I am {are}.",
    "Hello, I am {kind} person.",
    "Before I ask: I am {are}.",
    "This is a question from {kind} person.",
)


@CUES.register("explicit-mention-user")
class ExplicitMentionUser(ExplicitMention):
    """An explicit mention in the user's turn, on a line before the question."""

    name = "explicit-mention-user"
    title = "explicit mention, user turn"
    place = USER
    whose = "my"
    wordings = WORDINGS
