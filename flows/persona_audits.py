"""The personas of a release's newest audit, and its axes and dimensions as somebody writes them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

from flows.rebalancing_targets import SUFFIX, column_of
from flows.scoring import finished, read_answers
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.audits.brainstorm import PAPER
from registry.audits.persona_reading import Reading
from registry.audits.protocols import PROTOCOLS
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm

if TYPE_CHECKING:
    import pandas as pd

    from metrics.moves import BiasDimension
    from registry.ledger.values import Audit
    from registry.releases import ModelRelease

PROTOCOL = PAPER


def personas_protocol(workspace: Workspace, name: str) -> PersonaBrainstorm:
    """The brainstorm of that name.

    Raises
    ------
    BadInputError : the protocol of that name asks for no personas
    """
    made = workspace.protocol(name)
    if not isinstance(made, PersonaBrainstorm):
        brainstorms = [one for one in PROTOCOLS if issubclass(PROTOCOLS[one], PersonaBrainstorm)]
        raise BadInputError(f"{name} asks for no personas; name one of {', '.join(brainstorms)}")
    return made


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PersonaAudit:
    """A finished audit as its protocol reads it today.

    Parameters
    ----------
    frame : usable personas, one row each; unmapped : attributes that too few terms have a category for, or too few texts state, with the reason
    """

    audit: Audit
    frame: pd.DataFrame
    unmapped: dict[str, str]
    dimensions: tuple[BiasDimension, ...]

    def axis(self, name: str) -> str:
        """The column of an axis; names are none, for there are too many of them."""
        return self._column(name, [one.row for one in self.dimensions if not one.by_name], "axis")

    def social(self, name: str) -> str:
        """The column of a social dimension."""
        return self._column(name, [one.column for one in self.dimensions], "dimension")

    def dimension(self, row: str, column: str) -> BiasDimension:
        """The bias dimension of an axis and a social dimension."""
        return next(one for one in self.dimensions if (one.row, one.column) == (row, column))

    @property
    def socials(self) -> tuple[str, ...]:
        """Columns of all social dimensions."""
        return tuple(dict.fromkeys(one.column for one in self.dimensions))

    def _column(self, name: str, columns: list[str], what: str) -> str:
        known = tuple(dict.fromkeys(column.removesuffix(SUFFIX) for column in columns))
        column = column_of(name, known, what)
        if reason := self.unmapped.get(column):
            raise BadInputError(f"{self.audit.release.uri}: {reason}")
        return column


def persona_audit(workspace: Workspace, release: ModelRelease, protocol: str = PROTOCOL) -> PersonaAudit:
    """The newest finished persona audit of a release, by a brainstorm.

    Raises
    ------
    BadInputError : there is none, or it has no usable persona
    """
    personas_protocol(workspace, protocol)
    audits = finished(workspace, family=release.family, version=release.version, protocol=protocol)
    if not audits:
        ran = workspace.ledger.protocols(release.family, {release.version})
        others = f", only of {', '.join(ran)}" if ran else ""
        raise BadInputError(
            f"{release.uri} has no finished {protocol} audit{others}: run 'spiritlevel audit {release.uri} --protocol {protocol}'"
        )
    return audited_personas(workspace, audits[-1])


def audited_personas(workspace: Workspace, audit: Audit) -> PersonaAudit:
    """The personas of one audit."""
    reading = cast("Reading", read_answers(workspace, audit))
    usable = reading.frame[reading.frame["outcome"] == "ok"]
    if not len(usable):
        raise BadInputError(
            f"audit {audit.id} of {audit.release.uri} has no usable persona; 'spiritlevel status' says why"
        )
    protocol = personas_protocol(workspace, audit.protocol)
    return PersonaAudit(
        audit=audit,
        frame=usable,
        unmapped={f"{name}{SUFFIX}": why for name, why in protocol.too_few(reading).items()},
        dimensions=protocol.dimensions(audit.plan),
    )
