"""How well a release's own prose is read: what its descriptions state, beside what the same answers say with labels."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from flows.persona_audits import persona_audit, personas_protocol
from flows.rebalancing_targets import SUFFIX
from flows.workspace import Workspace
from metrics.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd

    from metrics.extraction import ReadingErrors
    from registry.audits.taxonomy import Taxonomy
    from registry.ledger.values import Audit
    from registry.releases import ModelRelease

ASKED = "persona-descriptions"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionReport:
    """The errors of reading a release's descriptions.

    Parameters
    ----------
    audit : that has the descriptions; personas : usable ones; described : of them, with a description
    errors : of each attribute that can be read out of prose; disagreements : every text that was read as something else than its label
        says: ``call, attribute, stated, stated_category, read, read_category, text``
    """

    audit: Audit
    personas: int
    described: int
    errors: list[ReadingErrors]
    disagreements: list[dict[str, str | int | None]]


def measured_extraction(workspace: Workspace, release: ModelRelease, protocol: str = ASKED) -> ExtractionReport:
    """Read the descriptions of a release's newest audit by the rules for prose, and compare with the labels of the same answers. Asks no model.

    Raises
    ------
    BadInputError : there is no such audit, it asks for no description, or no answer has one
    """
    from metrics.extraction import reading_errors

    asked = personas_protocol(workspace, protocol)
    if "description" not in asked.asks.texts:
        raise BadInputError(
            f"{protocol} asks for no description beside the labels, so there is nothing to compare; {ASKED} does"
        )
    personas = persona_audit(workspace, release, protocol)
    said = personas.frame.dropna(subset=["description"])
    if not len(said):
        raise BadInputError(f"audit {personas.audit.id} of {release.uri} has no persona with a description")
    frames, wrong = _read(said, asked.taxonomy, asked.asks.categorised)
    return ExtractionReport(
        audit=personas.audit,
        personas=len(personas.frame),
        described=len(said),
        errors=reading_errors(frames),
        disagreements=wrong,
    )


def _read(
    said: pd.DataFrame, taxonomy: Taxonomy, attributes: tuple[str, ...]
) -> tuple[dict[str, pd.DataFrame], list[dict[str, str | int | None]]]:
    import pandas as pd

    from registry.audits.prose import READABLE, extracted

    names = [name for name in attributes if name in READABLE]
    texts = said["description"].tolist()
    found = [extracted(text, taxonomy, names) for text in texts]
    calls = said["request"].tolist()
    frames, wrong = {}, []
    for name in names:
        stated = [value if isinstance(value, str) else None for value in said[f"{name}{SUFFIX}"]]
        read = [one[name].category if name in one else None for one in found]
        frames[name] = pd.DataFrame({"request": calls, "stated": stated, "read": read}, dtype=object)
        wrong += [
            {
                "call": int(call),
                "attribute": name,
                "stated": label if isinstance(label, str) else None,
                "stated_category": true,
                "read": one[name].text,
                "read_category": got,
                "text": text,
            }
            for call, label, true, got, one, text in zip(calls, said[name], stated, read, found, texts, strict=True)
            if None not in (got, true) and got != true
        ]
    return frames, wrong
