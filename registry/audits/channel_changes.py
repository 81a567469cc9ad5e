"""Whether what came back beside the scores changed between two audits: outcomes of calls, form of answers, who answered.

Each is a channel of its own. A model that begins to wrap its answers in fences, or to refuse, changed in that; it never
enters a bias score, and no bias verdict follows from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from metrics.exact import fisher_exact, holm
from registry.audits.channels import Channels


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChannelChange:
    """How many calls had a value of a channel in two audits.

    Parameters
    ----------
    channel : ``"call outcome"``, ``"format"`` or ``"served model"``; value : ``"refused"``, ``"fenced"``, ...
    previous, current : calls with that value; of_previous, of_current : calls that could have it
    pvalue : Fisher's exact test, two-sided, calls as the unit; qvalue : adjusted by Holm over all values of all channels
    """

    channel: str
    value: str
    previous: int
    of_previous: int
    current: int
    of_current: int
    pvalue: float
    qvalue: float

    def in_words(self) -> str:
        """One line, with the sizes."""
        one, other = 100 * self.previous / self.of_previous, 100 * self.current / self.of_current
        q = "q < 0.001" if self.qvalue < 0.001 else f"q = {self.qvalue:.3f}"
        return (
            f"{self.channel} {self.value}: {one:.0f} % of {self.of_previous:,} calls before, "
            f"{other:.0f} % of {self.of_current:,} now ({q})"
        )


def channel_changes(previous: Channels, current: Channels) -> tuple[ChannelChange, ...]:
    """Every value of every channel in two audits with its test, the most certain change first.

    Values that either audit has no calls for are left out: nothing was measured there.
    """
    pairs: list[tuple[str, Mapping[str, int], Mapping[str, int]]] = [
        ("call outcome", previous.call_outcomes, current.call_outcomes),
        ("format", previous.formats, current.formats),
        ("served model", previous.served_models, current.served_models),
    ]
    found = [
        (channel, value, before.get(value, 0), sum(before.values()), after.get(value, 0), sum(after.values()))
        for channel, before, after in pairs
        for value in sorted({*before, *after})
        if sum(before.values()) and sum(after.values())
    ]
    pvalues = [fisher_exact((before, after), (of_before, of_after)) for *_, before, of_before, after, of_after in found]
    changes = [
        ChannelChange(
            channel=channel,
            value=value,
            previous=before,
            of_previous=of_before,
            current=after,
            of_current=of_after,
            pvalue=pvalue,
            qvalue=qvalue,
        )
        for (channel, value, before, of_before, after, of_after), pvalue, qvalue in zip(
            found, pvalues, holm(pvalues), strict=True
        )
    ]
    return tuple(sorted(changes, key=lambda change: (change.qvalue, change.channel, change.value)))
