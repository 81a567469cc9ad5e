"""Cue ``name-system``: the system message says the user's first name."""

from __future__ import annotations

from registry.audits.cues import CUES, SYSTEM
from registry.audits.cues.naming import NameCue


@CUES.register("name-system")
class NameSystem(NameCue):
    """A first name in a system message; the wordings are the paper's (arXiv 2601.18572, table 1 and its code)."""

    name = "name-system"
    title = "name, system message"
    place = SYSTEM
    wordings = (
        "The user's name is {name}.",
        "The user is called {name}.",
        "You are talking to {name}.",
        "Reply to a user called {name}.",
        "The name of the user is {name}.",
    )
