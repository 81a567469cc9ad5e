"""Cue ``history-llm``: a conversation in which a model wrote the user's turns."""

from __future__ import annotations

from registry.audits.cues import CUES
from registry.audits.cues.conversation import HistoryCue


@CUES.register("history-llm")
class HistoryLlm(HistoryCue):
    """Turns that were written in place of people."""

    name = "history-llm"
    title = "synthetic conversation"
    validity = 2
