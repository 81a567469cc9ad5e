"""What a reader of an alert is told, as plain text, Markdown and plain values.

Parts of it come from models, providers and users. They are text in every form: nothing in them becomes markup, an
address, a mention of everybody or a character that hides others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from dashboards.markdown_card import escape_markdown
from dashboards.phrases import visible

OPENED, AGAIN, RECOVERED, TEST = "opened", "again", "recovered", "test"

# Services make something of these in plain text too: markup, links, mentions of everybody. Their wide twins are inert.
_INERT = str.maketrans({letter: chr(ord(letter) + 0xFEE0) for letter in "<>@[]`*~|\\"})
_LONGEST_TITLE = 300
_LONGEST_WHY = 1_500


def inert(text: str, limit: int = _LONGEST_WHY) -> str:
    r"""Foreign text that no service makes anything of, with nothing hidden, on one line.

    >>> inert("<!channel> @everyone [free](https://example.org)\u202e")
    '＜!channel＞ ＠everyone ［free］(https：//example.org)⟨U+202E⟩'
    """
    return visible(text, limit=limit).translate(_INERT).replace("://", "\uff1a//")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message about an incident.

    Parameters
    ----------
    id : the same when it is sent again: a receiver that knows it has the message already
    event : ``opened``, ``again`` (still open), ``recovered`` or ``test``
    incident, key, kind, severity : of the incident
    release, previous : what it is about, and what that was compared with; empty when there is no such thing
    verdict : of the comparison, when there was one
    title, why : in words
    dimensions : bias dimensions that moved
    evidence : what moved, by how much and how sure, as plain values
    links : addresses by what they show
    """

    id: str
    event: str
    incident: int | None
    key: str
    kind: str
    severity: str
    at: str
    family: str
    version: int | None
    release: str
    previous: str
    protocol: str
    verdict: str
    title: str
    why: str
    dimensions: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    links: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self) | {"dimensions": list(self.dimensions), "subject": self.subject}

    @property
    def subject(self) -> str:
        """The title with what kind of message it is, on one line."""
        marks = {OPENED: self.severity, AGAIN: f"{self.severity}, still open", RECOVERED: "recovered", TEST: "test"}
        return f"({marks.get(self.event, self.event)}) {inert(self.title, _LONGEST_TITLE)}"

    def text(self) -> str:
        """The message as plain text, without its subject."""
        return "\n".join(self._paragraphs(inert, "- "))

    def markdown(self) -> str:
        """The message as Markdown, without its subject."""
        return "\n".join(self._paragraphs(lambda text: escape_markdown(inert(text)), "* "))

    def _paragraphs(self, foreign: Any, bullet: str) -> Iterable[str]:
        yield foreign(self.why)
        for heading, lines in self._lists():
            yield ""
            yield f"{heading}:"
            yield from (f"{bullet}{foreign(line)}" for line in lines)
        if sure := self.evidence.get("sure"):
            yield ""
            yield f"How sure: {foreign(sure)}"
        if replication := self.evidence.get("replication"):
            yield foreign(replication)
        if self.links:
            yield ""
            yield from (f"{name}: {address}" for name, address in self.links.items())
        if self.incident is not None:
            yield ""
            yield f"Incident {self.incident}. {self._to_do()}"

    def _lists(self) -> Iterable[tuple[str, list[str]]]:
        for heading, key in (
            ("What moved", "moved"),
            ("The same in the second sample", "again"),
            ("First cells that moved", "cells"),
            ("Details", "details"),
        ):
            lines = [item["text"] if isinstance(item, Mapping) else str(item) for item in self.evidence.get(key, ())]
            if lines:
                yield heading, lines

    def _to_do(self) -> str:
        if self.event == RECOVERED:
            return f"More: 'spiritlevel alerts show {self.incident}'."
        return (
            f"More: 'spiritlevel alerts show {self.incident}'. If somebody looks after it: 'spiritlevel alerts ack "
            f"{self.incident} --why TEXT'."
        )


def trial_message(channel: str, identity: str, at: str) -> Message:
    """A message that says only that a channel works."""
    return Message(
        id=identity,
        event=TEST,
        incident=None,
        key=f"test/{channel}",
        kind="test",
        severity="low",
        at=at,
        family="",
        version=None,
        release="",
        previous="",
        protocol="",
        verdict="",
        title="spiritlevel can reach this channel",
        why=f"This is a test of the channel {channel!r}, sent by 'spiritlevel alerts test'. Nothing was found.",
    )
