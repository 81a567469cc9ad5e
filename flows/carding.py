"""Collecting a family's model card from the ledger. Every number on it was measured before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dashboards.card import Cardinality, ModelCard, NameCoverage, UnmappedTerm
from dashboards.instruments import instrument_of
from dashboards.message_details import MessageDetails
from dashboards.moved import Moved
from flows.baselines import source_of
from flows.card_basis import Basis, basis_now
from flows.energy import energy_of, provider_among
from flows.evidence import moved
from flows.history import history_of
from flows.redaction import without_secrets
from flows.scoring import scored, scores_of
from flows.soundness import unevenly_answered
from flows.summaries import Summary, stored_summary, summarized, summary_of
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.results import Score
from registry.ledger.values import Audit, HumanRecord, StoredComparison
from registry.releases import ModelRelease
from registry.stores import without_passwords

NAMES = frozenset({"names"})
"""What of a card follows from the list of names, of which only the newest is kept at hand."""

SUMMARIZED = NAMES | {
    "channels",
    "previous_channels",
    "cardinality",
    "unmapped",
    "details",
    "uneven",
    "findings",
    "energy",
}
"""What of a card follows from reading its answers, beside the scores."""

if TYPE_CHECKING:  # drawing and templates are loaded when something is rendered
    from dashboards.family_card import FamilyCard


def card_of(workspace: Workspace, family: str, protocol: str, version: int | None = None) -> ModelCard:
    """The card of the newest finished audit of a family, or of one of its releases, with the history up to that release.

    Parameters
    ----------
    version : whose card; by default that of the newest release that was audited. Later releases are not in its history.

    Raises
    ------
    BadInputError : there is no finished audit
    """
    occasions = [one for one in workspace.ledger.occasions(family=family, protocol=protocol) if one.state != "open"]
    mine = [one for one in occasions if version is None or one.version == version]
    if not mine:
        whose = family if version is None else f"models:/{family}/{version}"
        raise BadInputError(
            f"{whose} has no finished {protocol} audit; run 'spiritlevel audit models:/{family}/{version or 1} --protocol {protocol}'"
        )
    newest = workspace.ledger.audit(max(mine, key=lambda one: (one.version, one.id)).id)
    known = [one for one in occasions if one.version <= newest.release.version]
    return made_card(workspace, basis_now(workspace, newest, known))[0]


def cards_of(workspace: Workspace, family: str, version: int | None = None) -> FamilyCard:
    """A card by each protocol that a family, or one of its releases, has a finished audit of, as one document."""
    occasions = workspace.ledger.occasions(family=family, version=version)
    ran = sorted({one.protocol for one in occasions if one.state != "open"})
    if not ran:
        whose = family if version is None else f"models:/{family}/{version}"
        raise BadInputError(
            f"{whose} has no finished audit; run 'spiritlevel audit models:/{family}/{version or 1} --protocol NAME'"
        )
    from dashboards.family_card import FamilyCard

    return FamilyCard(cards=tuple(card_of(workspace, family, protocol, version) for protocol in ran))


def made_card(workspace: Workspace, basis: Basis) -> tuple[ModelCard, frozenset[str]]:
    """The card on a basis, and which parts of it are of today because what they were then is not kept."""
    newest, comparison = basis.audit, basis.comparison
    family, protocol = newest.release.family, newest.protocol
    current = _side_of(workspace, newest, basis.scored)
    other = _side_of(workspace, basis.reference, basis.compared) if basis.reference else None
    told, asked = instrument_of(protocol), workspace.protocol(protocol)
    found = moved(workspace, comparison) if comparison else Moved()
    titles = tuple(dimension.title for dimension in asked.dimensions(newest.plan))
    history = history_of(workspace, family, told, basis.occasions, titles, until=basis.made_at, versions=basis.versions)
    previous = basis.reference.release if basis.reference else None
    origins = workspace.ledger.origins(newest.id)
    card = ModelCard(
        family=family,
        protocol=protocol,
        release=newest.release,
        audit=current.audit,
        channels=current.summary.channels,
        dimensions=titles,
        scores=tuple(current.scores),
        previous=previous,
        previous_channels=other.summary.channels if other else None,
        previous_audit=other.audit if other else None,
        previous_scores=tuple(other.scores) if other else (),
        comparisons=comparison.rows if comparison else (),
        verdict=comparison.verdict if comparison else None,
        why=comparison.why if comparison else basis.note,
        policy=comparison.policy if comparison else {},
        source=source_of(comparison) if comparison else None,
        baselines=basis.baselines,
        cells=found.cells,
        events=found.events,
        history=history.points,
        history_left_out=history.left_out,
        history_period=history.period,
        cardinality=_cardinality(current.summary, other.summary if other else None),
        unmapped=tuple(UnmappedTerm(attribute=name, term=term, n=n) for name, term, n in current.summary.unmapped),
        names=_names(workspace, current, other),
        details=MessageDetails.from_json(current.summary.details),
        energy=energy_of(newest.release, current.summary.channels, newest.source, provider_among(origins)),
        origins=origins,
        human_checks=_people(workspace, newest, basis.made_at),
        uneven=unevenly_answered(current.scores, current.summary.channels, told, basis.policy),
        scoring_parts=basis.scoring_parts or asked.scoring_parts(current.names),
        product_version=basis.made_by,
        made_at=basis.made_at or workspace.ledger.clock(),
        errata=basis.errata,
        links=_links(workspace, current.audit, comparison),
        instrument=told,
        content_warning=told.content_warning,
        limits=(*_builds(newest.release, previous), *told.limits),
    )
    return card, current.of_today | (other.of_today if other else frozenset())


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One of the two audits of a card, as the ledger has it after both were scored."""

    audit: Audit
    scores: Sequence[Score]
    summary: Summary
    names: Sequence[str]
    of_today: frozenset[str] = frozenset()


def _side_of(workspace: Workspace, audit: Audit, scored_by: str | None) -> _Side:
    """A side under a scoring version, as far as the ledger keeps what it was then; None is today's."""
    side = _side(workspace, audit)
    if scored_by is None or side.audit.scoring_version == scored_by:
        return side
    kept = stored_summary(workspace, audit, scored_by)
    return dataclasses.replace(
        side,
        audit=dataclasses.replace(side.audit, scoring_version=scored_by),
        scores=workspace.ledger.scores(audit.id, scored_by),
        summary=kept or side.summary,
        of_today=NAMES if kept else SUMMARIZED,
    )


def _side(workspace: Workspace, audit: Audit) -> _Side:
    protocol, known = (
        workspace.protocol(audit.protocol),
        workspace.ledger.audit(audit.id),
    )  # scored anew, perhaps, by now
    frozen = workspace.ledger.name_list(audit.release.family, audit.protocol) if protocol.freezes_names else None
    if protocol.freezes_names and frozen is None:  # its own names, which only its answers tell
        result = scored(workspace, known)
        summary = summarized(protocol, result.reading, result.names)
        return _Side(audit=result.audit, scores=result.scores, summary=summary, names=result.names)
    scores = scores_of(workspace, known)
    summary = summary_of(workspace, known)
    names = frozen.names if frozen is not None else ()
    return _Side(audit=workspace.ledger.audit(audit.id), scores=scores, summary=summary, names=names)


def _people(workspace: Workspace, audit: Audit, until: str | None) -> tuple[HumanRecord, ...]:
    """What people said of an audit, as far as it was known then; None is now."""
    from flows.human_record import fullest_of_each

    known = workspace.ledger.human_checks(audit.id)
    return fullest_of_each(one for one in known if until is None or one.made_at <= until)


def _builds(*releases: ModelRelease | None) -> list[str]:
    """What an embedded build is, in words: a degraded one is labelled wherever it is shown."""
    from flows.weights import EMBEDDED

    known = [release for release in releases if release is not None and release.model in EMBEDDED]
    return [f"{release.uri} is {EMBEDDED[release.model].description}." for release in known]


def _cardinality(current: Summary, other: Summary | None) -> tuple[Cardinality, ...]:
    before = {row["attribute"]: row for row in other.attributes} if other else {}
    return tuple(
        Cardinality(
            **row,
            previous_terms=earlier["terms"] if earlier else None,
            previous_categories=earlier["categories"] if earlier else None,
        )
        for row in current.attributes
        for earlier in [before.get(row["attribute"])]
    )


def _names(workspace: Workspace, current: _Side, other: _Side | None) -> NameCoverage | None:
    if not workspace.protocol(current.audit.protocol).freezes_names:
        return None
    frozen = workspace.ledger.name_list(current.audit.release.family, current.audit.protocol)
    return NameCoverage(
        version=str(frozen.version) if frozen else "this audit's own, until the first comparison freezes one",
        size=len(current.names),
        n_eff=current.summary.listed,
        share=current.summary.listed_share,
        previous_n_eff=other.summary.listed if other else None,
        previous_share=other.summary.listed_share if other else None,
    )


def _links(workspace: Workspace, audit: Audit, comparison: StoredComparison | None) -> dict[str, str]:
    """The runs in MLflow: their pages, where a server has them, else their ids."""
    runs = {"MLflow run of the release": audit.release.run_id, "MLflow run of the audit": audit.run_id}
    if comparison is not None:
        runs["MLflow run of the comparison"] = comparison.run_id
    server = workspace.home.service.links.mlflow or workspace.home.tracking_uri
    base = f"{without_passwords(server).rstrip('/')}/#/runs/" if server.startswith(("http://", "https://")) else ""
    return {label: f"{base}{run}" for label, run in runs.items() if run}


def rendered(card: ModelCard | FamilyCard, form: str, *, front_matter: bool = False) -> str:
    """A card, or those of several protocols, as ``md``, ``html`` or ``json``.

    ``front_matter`` : whether Markdown begins with the YAML header that model hubs read
    """
    return without_secrets(_rendered(card, form, front_matter))


def _rendered(card: ModelCard | FamilyCard, form: str, front_matter: bool) -> str:
    if not isinstance(card, ModelCard):
        from dashboards.family_card import family_html, family_json, family_markdown

        if form == "md":
            return family_markdown(card, front_matter=front_matter)
        return family_html(card) if form == "html" else family_json(card)
    if form == "html":
        from dashboards.html_card import html

        return html(card)
    if form == "json":
        from dashboards.json_card import json_text

        return json_text(card)
    from dashboards.markdown_card import markdown

    return markdown(card, front_matter=front_matter)
