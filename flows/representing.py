"""A release beside a reference population: `spiritlevel represent`. Asks no model."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import TYPE_CHECKING

from dashboards.representations import RepresentationReport
from flows.persona_audits import PROTOCOL, PersonaAudit, persona_audit
from flows.rebalancing_targets import SUFFIX
from flows.redaction import without_secrets
from flows.reference_files import OF_ALL, ReferencePopulation, read_reference
from flows.scoring import SCORING_SEED
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.representation import ALL

if TYPE_CHECKING:
    import pandas as pd

    from metrics.moves import BiasDimension
    from registry.audits.taxonomy import Taxonomy
    from registry.releases import ModelRelease


def represented(
    workspace: Workspace, release: ModelRelease, file: Path, protocol: str = PROTOCOL
) -> RepresentationReport:
    """Compare the personas of a release's newest audit with a reference population.

    Raises
    ------
    BadInputError : the file is none, or no persona of the audit is in it
    """
    from metrics.representation import representation
    from metrics.tables import cluster_column

    personas = persona_audit(workspace, release, protocol)
    told = _read(personas, file, workspace.protocol(protocol).taxonomy)
    dimension = personas.dimension(personas.axis(told.axis), personas.social(told.social))
    frame = personas.frame
    groups = frame[dimension.row].astype(object)
    items = _items(frame, dimension, told)
    units, parts = _sides(groups, items, told)
    found = representation(units, parts, frame[cluster_column(frame)], told.units, title=told.title, seed=SCORING_SEED)
    if not found.n:
        raise BadInputError(
            f"no persona of {release.uri} is in {file.name}, which has {', '.join(list(told.units)[:8])}; 'spiritlevel zoom {release.uri} {told.social}' "
            "lists the terms that there are"
        )
    return _report(workspace, personas, dimension, told, found)


def _read(personas: PersonaAudit, file: Path, taxonomy: Taxonomy) -> ReferencePopulation:

    def categories(columns: list[str]) -> dict[str, tuple[str, ...]]:
        names = dict.fromkeys(column.removesuffix(SUFFIX) for column in columns)
        return {name: taxonomy.attribute(name).categories for name in names}

    axes = categories([one.row for one in personas.dimensions if not one.by_name])
    return read_reference(file, axes, categories([one.column for one in personas.dimensions]))


def _items(frame: pd.DataFrame, dimension: BiasDimension, told: ReferencePopulation) -> pd.Series:
    """The item of each persona: its category, or the item of the reference that holds its term, else the term."""
    if not told.by_term:
        return frame[dimension.column].astype(object)
    from registry.audits.matching import normalized

    held = {form: item for item, forms in told.terms.items() for form in forms}
    said = frame[dimension.column.removesuffix(SUFFIX)]
    forms = {term: normalized(str(term)) for term in said.dropna().unique()}
    return said.astype(object).map({term: held.get(form, form) for term, form in forms.items()})


def _sides(groups: pd.Series, items: pd.Series, told: ReferencePopulation) -> tuple[pd.Series, pd.Series]:
    """Unit and part of each persona."""
    if told.within == ALL:
        both = groups + OF_ALL + items
        return both.where(both.isna(), ALL), both
    return (groups, items) if told.within == told.axis else (items, groups)


def _report(
    workspace: Workspace, personas: PersonaAudit, dimension: BiasDimension, told: ReferencePopulation, found: object
) -> RepresentationReport:
    from metrics.representation import Representation

    assert isinstance(found, Representation)
    names = ("source", "address", "year", "licence", "population", "note")
    release = personas.audit.release
    return RepresentationReport(
        release=release.uri,
        model=release.model,
        audit=personas.audit.id,
        axis=dimension.axis,
        social=dimension.social,
        title=told.title,
        header=tuple((name, getattr(told, name)) for name in names),
        within={ALL: "all personas", told.axis: f"each {dimension.axis}"}.get(told.within, f"each {dimension.social}"),
        found=found,
        usable=len(personas.frame),
        product_version=importlib.metadata.version("spiritlevel"),
        made_at=workspace.ledger.clock(),
    )


def rendered(report: RepresentationReport) -> str:
    """The page, without anything that looks like a key."""
    from dashboards.representations import representation_page

    return without_secrets(representation_page(report))
