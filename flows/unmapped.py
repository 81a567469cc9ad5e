"""What share of the answers no rule knows, by release and attribute, and how far that could move a score."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from flows.persona_audits import PROTOCOL
from flows.reviewing import audits_of
from flows.scoring import scored
from metrics.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd

    from flows.scoring import Scored
    from flows.workspace import Workspace
    from metrics.moves import BiasDimension


@dataclasses.dataclass(frozen=True, slots=True)
class Share:
    """Answers for an attribute without a category, of all that were given; ``share`` is None without an answer."""

    attribute: str
    unmapped: int
    n: int
    share: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class Bound:
    """The plain score of a dimension, and the lowest and highest that its unmapped terms could have made of it.

    ``value``, ``low`` and ``high`` are None when there is nothing to measure, and then ``reason`` says why.
    """

    dimension: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    unmapped: int
    method: str
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Unmapped:
    """One release: shares by attribute and bounds by dimension."""

    release: str
    audit: int
    shares: tuple[Share, ...]
    bounds: tuple[Bound, ...]


def unmapped_of(workspace: Workspace, family: str = "", protocol: str = PROTOCOL) -> list[Unmapped]:
    """The newest finished audit of each release of a family, or of the newest release of each family."""
    newest = {}
    for audit in audits_of(workspace, family, variants=False, protocol=protocol):
        newest[audit.release.uri] = audit
    if not family:
        newest = {
            audit.release.family: audit for audit in sorted(newest.values(), key=lambda audit: audit.release.version)
        }
    found = []
    for audit in sorted(newest.values(), key=lambda audit: (audit.release.family, audit.release.version)):
        found.append(_unmapped(workspace, scored(workspace, audit)))
        workspace.readings.clear()
    return found


def _unmapped(workspace: Workspace, known: Scored) -> Unmapped:
    protocol = workspace.protocol(known.audit.protocol)
    usable = known.reading.frame[known.reading.frame["outcome"] == "ok"]
    shares = []
    for attribute in protocol.taxonomy.attributes:
        said = usable[usable[attribute.name].notna()]
        without = int(said[f"{attribute.name}_category"].isna().sum())
        shares.append(Share(attribute.name, without, len(said), without / len(said) if len(said) else None))
    bounds = tuple(_bound(usable, dimension, known) for dimension in protocol.dimensions())
    return Unmapped(known.audit.release.uri, known.audit.id, tuple(shares), bounds)


def _bound(usable: pd.DataFrame, dimension: BiasDimension, known: Scored) -> Bound:
    from metrics.association import PLAIN
    from metrics.coverage import worst_case_scores
    from metrics.tables import dimension_table

    table = dimension_table(usable, dimension, known.names)
    missing = _without_category(usable, dimension, known.names)
    low, high = worst_case_scores({dimension.title: table}, table.n + missing, table.n)
    values = [one for one in known.scores if one.metric == PLAIN and one.dimension == dimension.title]
    if len(values) != 1:
        raise BadInputError(
            f"{dimension.title} should have one plain score, and has {len(values)}; score the audit again"
        )
    return Bound(
        dimension=dimension.title,
        value=values[0].value,
        low=low.value,
        high=high.value,
        n=table.n,
        unmapped=missing,
        method="" if low.reason else f"{missing:,} personas with an unmapped term placed at worst; no interval",
        reason=low.reason or values[0].reason,
    )


def _without_category(usable: pd.DataFrame, dimension: BiasDimension, names: tuple[str, ...]) -> int:
    """Personas that answered both questions, and of whom an answer has no category."""
    wanted = usable
    for column in (dimension.row, dimension.column):
        wanted = wanted[wanted[column.removesuffix("_category")].notna()]
    if dimension.by_name:
        wanted = wanted[wanted[dimension.row].isin(names)]
    return int((wanted[dimension.row].isna() | wanted[dimension.column].isna()).sum())
