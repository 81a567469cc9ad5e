"""Cue ``history-human``: a conversation that a person had before, the cue nearest to real use."""

from __future__ import annotations

from registry.audits.cues import CUES
from registry.audits.cues.conversation import HistoryCue


@CUES.register("history-human")
class HistoryHuman(HistoryCue):
    """Turns of people. What comes along are stand-ins written for the project: its validity is that of real ones only then."""

    name = "history-human"
    title = "human conversation"
    validity = 3
