"""Cue ``name-user``: the user says their first name before the question."""

from __future__ import annotations

from registry.audits.cues import CUES, USER
from registry.audits.cues.naming import NameCue


@CUES.register("name-user")
class NameUser(NameCue):
    """A first name in the user's turn, on a line before the question; the wordings are the paper's (table 1 and its code)."""

    name = "name-user"
    title = "name, user turn"
    place = USER
    wordings = (
        "My name is {name}.",
        "I am called {name}.",
        "You are talking to {name}.",
        "Reply to me, {name}.",
        "{name} is my name.",
    )
