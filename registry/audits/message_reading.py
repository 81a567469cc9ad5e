"""An audit's messages as read: a frame, what came back besides, and measures that are made once, or taken from storage."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from registry.audits.channels import TOPIC_PARTS, Channels
from registry.audits.plan import Request

if TYPE_CHECKING:
    import pandas as pd

    from metrics.message_measures import MessageLexicons, WordTable
    from metrics.message_scores import Axis
    from metrics.rating_scores import Rated
    from registry.audits.rating import Ratings
    from registry.audits.rubric import Rubric


def axes_of(requests: Sequence[Request]) -> tuple[Axis, ...]:
    """The audience attributes of requests, with their groups, in the order in which they are asked.

    Groups of messages that somebody else collected are in alphabetical order: else the first row of a file would decide
    which is subtracted from which.
    """
    from metrics.message_scores import Axis

    groups: dict[str, dict[str, None]] = {}
    for request in requests:
        for name, value in request.cell.items():
            if name not in TOPIC_PARTS:
                groups.setdefault(name, {})[value] = None
    ordered = list if any(request.messages for request in requests) else sorted
    return tuple(Axis(name, axis_title(name), tuple(ordered(found))) for name, found in groups.items())


def axis_title(name: str) -> str:
    """An attribute in words: ``age-group`` is ``age group``."""
    return name.replace("-", " ")


@dataclasses.dataclass(eq=False)
class MessageReading:
    """An audit's answers as read.

    Parameters
    ----------
    frame : one row a record, see `registry.audits.messages.message_frame`
    channels : what came back besides the scores
    axes, modes : what messages were asked for
    lexicons : what they are measured with
    kept : measures as `measures_as_json` gave them, so that nothing is tagged again; used when they are of these messages
    ratings : what a judge said about the messages, by rubric
    measuring : opened while they are tagged; what it gives is called with the messages done and all messages
    """

    frame: pd.DataFrame
    channels: Channels
    axes: tuple[Axis, ...]
    modes: tuple[str, ...]
    lexicons: MessageLexicons
    kept: Mapping[str, Any] | None = None
    ratings: Mapping[str, Ratings] = dataclasses.field(default_factory=dict)
    measuring: Callable[[], AbstractContextManager[Callable[[int, int], None]]] | None = None

    @property
    def usable(self) -> pd.DataFrame:
        """The rows with a message."""
        usable: pd.DataFrame = self.frame[self.frame["outcome"] == "ok"]
        return usable

    @property
    def texts(self) -> list[str]:
        """The different usable messages, which a judge may rate."""
        return list(dict.fromkeys(self.usable["text"]))

    @cached_property
    def measured(self) -> pd.DataFrame:
        """The usable messages with a column for each measure, missing where there is none."""
        import pandas as pd

        usable = self.usable.reset_index(drop=True)
        kept = self._kept(usable)
        whole: pd.DataFrame = pd.concat([usable, self._tagged[0] if kept is None else kept], axis=1)
        return whole

    def rated(self, rubrics: Sequence[Rubric], unasked: str) -> list[Rated]:
        """What a judge said about the usable messages under each rubric; ``unasked`` : why it was not asked, if it was not."""
        from metrics.rating_scores import Rated
        from registry.audits.rating import Ratings

        texts, found = list(self.usable["text"]), []
        for rubric in rubrics:
            said = self.ratings.get(rubric.name)
            missing = said.mixed if said is not None else unasked
            said = said or Ratings(rubric=rubric)
            found.append(Rated(name=rubric.name, gold=said.gold_answers, given=said.of(texts), missing=missing))
        return found

    @cached_property
    def words(self) -> WordTable:
        """Nouns, adjectives and words of lexicons in each usable message; tags the messages."""
        from metrics.message_measures import word_table

        return word_table(self._tagged[1], self.lexicons)

    @cached_property
    def _tagged(self) -> Any:
        from metrics.message_measures import measured

        texts = list(self.usable["text"])
        if self.measuring is None:
            return measured(texts, self.lexicons)
        with self.measuring() as progress:
            progress(0, len(texts))
            return measured(texts, self.lexicons, progress=progress)

    def _kept(self, usable: pd.DataFrame) -> pd.DataFrame | None:
        import pandas as pd

        from metrics.message_measures import COLUMNS

        if self.kept is None:
            return None
        places = [list(pair) for pair in zip(usable["request"].tolist(), usable["repeat"].tolist(), strict=True)]
        if self.kept.get("messages") != places or set(self.kept.get("columns", {})) != set(COLUMNS):
            return None
        columns = {name: pd.array(self.kept["columns"][name], dtype="float64") for name in COLUMNS}
        return pd.DataFrame(columns, columns=list(COLUMNS))

    def measures_as_json(self) -> dict[str, Any]:
        """The measures of each message as plain values, for storage."""
        from metrics.message_measures import COLUMNS

        made = self.measured
        return {
            "messages": [list(pair) for pair in zip(made["request"].tolist(), made["repeat"].tolist(), strict=True)],
            "columns": {name: [None if value != value else value for value in made[name].tolist()] for name in COLUMNS},
        }
