"""What an audit's answers come to besides the scores, as lists and cards show it: read from the answers once, then kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from registry.audits.channels import Channels

if TYPE_CHECKING:
    from flows.workspace import Workspace
    from registry.audits.protocols import AuditProtocol
    from registry.ledger.values import Audit


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """An audit's answers at a glance.

    Parameters
    ----------
    channels : what came back besides the scores
    attributes : for each attribute its terms, categories, n, unmapped and unspecified records (None: no such category)
    unmapped : the most frequent terms without a category: attribute, term, n
    listed, listed_share : usable personas with a name of the list, and their share
    own_listed : how many it would be with the audit's own most frequent names
    measures : of each record, as the protocol stores them; for what takes long to measure
    details : what a card shows besides the scores, as the protocol gives it
    """

    channels: Channels
    attributes: tuple[Mapping[str, Any], ...] = ()
    unmapped: tuple[tuple[str, str, int], ...] = ()
    listed: int = 0
    listed_share: float = 0.0
    own_listed: int = 0
    measures: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values for storage; `from_json` gives the same summary back."""
        # The rest holds plain values already; `dataclasses.asdict` would copy each of them, tens of thousands a summary.
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return values | {"channels": dataclasses.asdict(self.channels)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Summary:
        channels = Channels(**values["channels"])
        unmapped = tuple((str(attribute), str(term), int(n)) for attribute, term, n in values["unmapped"])
        return cls(**{**values, "channels": channels, "attributes": tuple(values["attributes"]), "unmapped": unmapped})


def summarized(protocol: AuditProtocol, reading: Any, names: Sequence[str]) -> Summary:
    """The summary of answers that were read."""
    return Summary(channels=reading.channels, **protocol.summarized(reading, names))


def summary_of(workspace: Workspace, audit: Audit) -> Summary:
    """The summary of a finished audit's answers as they are read today; they are read only when it is not kept."""
    from flows.scoring import frozen_version, scored

    version = frozen_version(workspace, audit)
    kept = stored_summary(workspace, audit, version) if version is not None else None
    protocol = workspace.protocol(audit.protocol)
    if kept is not None and (
        kept.details or not (kept.measures or protocol.categories)
    ):  # else of a time without details
        return kept
    result = scored(workspace, audit)
    return kept_summary(workspace, result.audit, result.reading, result.names, version, result.attempts)


def channels_of(workspace: Workspace, audit: Audit) -> Channels:
    """What came back besides the scores of a finished audit: from its kept summary, else from its answers alone."""
    from flows.scoring import frozen_version, read_answers

    version = frozen_version(workspace, audit)
    kept = stored_summary(workspace, audit, version) if version is not None else None
    return kept.channels if kept is not None else read_answers(workspace, audit).channels


def stored_summary(workspace: Workspace, audit: Audit, version: str) -> Summary | None:
    """The summary that is kept of an audit's answers under a scoring version; None when it is to be made."""
    kept = workspace.ledger.summary(audit.id, version)
    return Summary.from_json(kept) if kept is not None else None


def kept_summary(
    workspace: Workspace, audit: Audit, reading: Any, names: Sequence[str], version: str | None, attempts: int
) -> Summary:
    """The summary of answers that were read just now; kept when their family's names are frozen.

    ``attempts`` tells them from those that came since (`Ledger.attempts`).
    """
    found = summarized(workspace.protocol(audit.protocol), reading, names)
    if version is not None:
        workspace.ledger.store_summary(audit.id, version, attempts, found.as_json())
    return found
