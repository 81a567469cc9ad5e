"""Several axes of a release together: `spiritlevel intersect`. Asks no model."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dashboards.intersections import IntersectionReport
from flows.persona_audits import PROTOCOL, PersonaAudit, persona_audit
from flows.redaction import without_secrets
from flows.scoring import SCORING_SEED
from flows.workspace import Workspace
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from metrics.intersections import Intersection
    from registry.releases import ModelRelease


def intersections_of(
    workspace: Workspace,
    release: ModelRelease,
    axes: Sequence[str],
    dimensions: Sequence[str] = (),
    protocol: str = PROTOCOL,
) -> IntersectionReport:
    """Measure a combination of axes in a release's newest persona audit.

    Parameters
    ----------
    axes : two or more, as somebody writes them; dimensions : social dimensions, default all; protocol : the brainstorm

    Raises
    ------
    BadInputError : fewer than two different axes, an unknown one, or one whose answers fall into too few categories
    """
    from metrics.intersections import intersection

    personas = persona_audit(workspace, release, protocol)
    rows = list(dict.fromkeys(personas.axis(name) for name in axes))
    if len(rows) < 2:
        raise BadInputError(
            f"an intersection is of two or more different axes, such as gender,ethnicity; got {', '.join(axes) or 'none'}"
        )
    columns = [personas.social(name) for name in dimensions] or list(personas.socials)
    found, skipped = [], []
    for column in dict.fromkeys(columns):
        if reason := personas.unmapped.get(column):
            skipped.append((personas.dimension(rows[0], column).social, reason))
            continue
        single = [personas.dimension(row, column) for row in rows]
        found.append(intersection(personas.frame, single, seed=SCORING_SEED))
    return _report(workspace, personas, rows, _adjusted(found), skipped)


def _adjusted(found: Sequence[Intersection]) -> list[Intersection]:
    """With a q for each test of an excess, by Holm over the dimensions that were asked for."""
    from metrics.exact import holm

    tested = [one.excess.pvalue for one in found if one.excess is not None and one.excess.pvalue is not None]
    adjusted = iter(holm(tested))
    return [
        one
        if one.excess is None or one.excess.pvalue is None
        else dataclasses.replace(one, excess=dataclasses.replace(one.excess, qvalue=next(adjusted)))
        for one in found
    ]


def _report(
    workspace: Workspace,
    personas: PersonaAudit,
    rows: Sequence[str],
    found: Sequence[Intersection],
    skipped: Sequence[tuple[str, str]],
) -> IntersectionReport:
    release = personas.audit.release
    return IntersectionReport(
        release=release.uri,
        model=release.model,
        audit=personas.audit.id,
        axes=tuple(personas.dimension(row, personas.socials[0]).axis for row in rows),
        usable=len(personas.frame),
        found=tuple(found),
        skipped=tuple(skipped),
        product_version=importlib.metadata.version("spiritlevel"),
        made_at=workspace.ledger.clock(),
    )


def rendered(report: IntersectionReport) -> str:
    """The page, without anything that looks like a key."""
    from dashboards.intersection_page import intersection_page

    return without_secrets(intersection_page(report))
