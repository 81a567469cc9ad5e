"""An audit's answers as personas: one row a record, what came back besides, and how many terms found a category."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from registry.audits.channels import Channels, measured_channels, pooled_channels
from registry.audits.plan import Outcome, Record, Request, Response
from registry.audits.repeats import first_of_equal_answers

if TYPE_CHECKING:
    import pandas as pd

    from registry.audits.taxonomy import Taxonomy


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """An audit's answers as read: the persona frame, what came back, and how terms were mapped."""

    frame: pd.DataFrame
    channels: Channels
    mapped: Mapping[str, float | None]


def read_answers(
    requests: Sequence[Request],
    responses: Sequence[Response],
    records_of: Callable[[Request, Response], list[Record]],
    taxonomy: Taxonomy,
    *,
    texts: Sequence[str] = (),
    requested_model: str | None = None,
    price_input: float | None = None,
    price_output: float | None = None,
) -> Reading:
    """Answers read into the persona frame and the channels beside it; ``records_of`` reads one of them."""
    from registry.audits.parsing import answer_format
    from registry.audits.taxonomy import persona_frame

    by_key = {(request.index, request.repeat): request for request in requests}
    records: list[Record] = []
    formats: Counter[str] = Counter()
    for response in responses:
        found = records_of(by_key[response.index, response.repeat], response)
        records.extend(found)
        if response.text is not None:
            formats[_form(answer_format(response.text), found)] += 1
    frame = persona_frame(records, taxonomy, texts)
    first = first_of_equal_answers(records, responses)
    frame["cluster"] = frame["request"].map(lambda request: first.get(request, request))
    usable = frame[frame["outcome"] == "ok"]
    channels = measured_channels(
        requests,
        responses,
        records,
        formats=formats,
        duplicates=int(usable["duplicate"].sum()),
        repeated=len(first),
        requested_model=requested_model,
        price_input=price_input,
        price_output=price_output,
    )
    mapped = {}
    for attribute in taxonomy.attributes:
        said = usable[attribute.name].notna()
        share = usable.loc[said, f"{attribute.name}_category"].notna().mean() if said.any() else None
        mapped[attribute.name] = None if share is None else float(share)
    return Reading(frame, channels, mapped)


def stated_shares(frame: pd.DataFrame, attributes: Sequence[str]) -> dict[str, float]:
    """Share of the usable personas that say something of an attribute, by attribute; empty without a usable one."""
    usable = frame[frame["outcome"] == "ok"]
    return {name: float(usable[name].notna().mean()) for name in attributes} if len(usable) else {}


def too_few(
    stated: Mapping[str, float], stated_floor: float, mapped: Mapping[str, float | None], mapped_floor: float
) -> dict[str, str]:
    """In words, by attribute, that too few texts state it, or too few of its terms have a category; shares and floors from 0 to 1.

    >>> too_few({"gender": 0.5}, 0.7, {"gender": 1.0}, 0.8)["gender"][:48]
    'the gender could be read in only 50% of the text'
    """
    found = {}
    for attribute, share in stated.items():
        if share < stated_floor:
            found[attribute] = (
                f"the {attribute.replace('_', ' ')} could be read in only {share:.0%} of the texts; {stated_floor:.0%} are needed, for "
                f"what a text leaves out is not left out by chance"
            )
    for attribute, known in mapped.items():
        if known is not None and known < mapped_floor:
            found[attribute] = (
                f"only {known:.0%} of the answers for {attribute.replace('_', ' ')} fall into a category of the "
                f"taxonomy; {mapped_floor:.0%} are needed"
            )
    return found


def _form(wrapper: str, records: Sequence[Record]) -> str:
    """The form of an answer: what its JSON stands in, and the shape of its personas where that is not one object each.

    >>> said = Record(request=0, index=0, outcome=Outcome.OK, reason="columns")
    >>> _form("fenced", [said]), _form("none", [dataclasses.replace(said, reason="table")]), _form("json", [])
    ('fenced, columns', 'table', 'json')
    """
    shapes = sorted({record.reason for record in records if record.outcome is Outcome.OK and record.reason})
    return ", ".join([*([wrapper] if wrapper != "none" or not shapes else []), *shapes])


def pooled_readings(readings: Sequence[Reading]) -> Reading:
    """Several audits read as one: requests of different audits stay different, and an attribute is mapped as in the worst of them."""
    import pandas as pd

    frames, offset = [], 0
    for reading in readings:
        frame = reading.frame.assign(
            request=reading.frame["request"] + offset, cluster=reading.frame["cluster"] + offset
        )
        offset = int(frame["request"].max()) + 1 if len(frame) else offset
        frames.append(frame)
    shares = {
        name: [reading.mapped[name] for reading in readings if reading.mapped[name] is not None]
        for name in readings[0].mapped
    }
    mapped = {name: min((s for s in found if s is not None), default=None) for name, found in shares.items()}
    return Reading(
        pd.concat(frames, ignore_index=True), pooled_channels([reading.channels for reading in readings]), mapped
    )
