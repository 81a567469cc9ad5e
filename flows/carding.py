"""Collecting a family's model card from the ledger. Every number on it was measured before."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from typing import Any

from dashboards.card import (
    DEBIASED,
    LIMITS,
    MEAN,
    NOISE_FLOOR,
    OVERALL,
    Cardinality,
    HistoryPoint,
    ModelCard,
    NameCoverage,
    UnmappedTerm,
)
from dashboards.moved import Moved
from flows.concluding import reference_audit
from flows.evidence import moved
from flows.judging import judged, judged_with_previous
from flows.scoring import Scored, finished, scored, scores_of
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.results import Score
from registry.ledger.values import Audit, StoredComparison
from registry.releases import ModelRelease

UNMAPPED_SHOWN = 5  # terms per attribute on the card; all of them are a table in MLflow


def card_of(workspace: Workspace, family: str, protocol: str) -> ModelCard:
    """The card of a family's newest audited release, with its history.

    Raises
    ------
    BadInputError
        When no audit of the family is finished.
    """
    audits = finished(workspace, family=family, protocol=protocol)
    if not audits:
        raise BadInputError(
            f"{family} has no finished {protocol} audit; run 'spiritlevel audit models:/{family}/1 --protocol {protocol}'"
        )
    newest = max(audits, key=lambda audit: (audit.release.version, audit.id))
    previous, reference, note = reference_audit(workspace, newest)
    comparison = judged(workspace, reference, newest, workspace.home.policy(), note or None) if reference else None
    current = scored(workspace, workspace.ledger.audit(newest.id))
    other = scored(workspace, workspace.ledger.audit(reference.id)) if reference else None
    found = moved(workspace, comparison) if comparison else Moved()
    titles = tuple(dimension.title for dimension in workspace.protocol(protocol).dimensions())
    return ModelCard(
        family=family,
        protocol=protocol,
        release=newest.release,
        audit=current.audit,
        channels=current.reading.channels,
        dimensions=titles,
        scores=tuple(current.scores),
        previous=previous if comparison else None,
        previous_channels=other.reading.channels if other else None,
        previous_scores=tuple(other.scores) if other else (),
        comparisons=comparison.rows if comparison else (),
        verdict=comparison.verdict if comparison else None,
        why=comparison.why if comparison else note,
        policy=comparison.policy if comparison else {},
        cells=found.cells,
        events=found.events,
        history=tuple(_point(workspace, audit, titles) for audit in _history(audits)),
        cardinality=_cardinality(current, other),
        unmapped=_unmapped(workspace, protocol, current),
        names=_names(workspace, current, other),
        scoring_parts=workspace.protocol(protocol).scoring_parts(current.names),
        product_version=importlib.metadata.version("spiritlevel"),
        made_at=workspace.ledger.clock(),
        links=_links(current.audit, comparison),
        limits=(*_builds(newest.release, previous if comparison else None), *LIMITS),
    )


def _builds(*releases: ModelRelease | None) -> list[str]:
    """What an embedded build is, in words: a degraded one is labelled wherever it is shown."""
    from flows.weights import EMBEDDED

    known = [release for release in releases if release is not None and release.model in EMBEDDED]
    return [f"{release.uri} is {EMBEDDED[release.model].description}." for release in known]


def _history(audits: Sequence[Audit]) -> list[Audit]:
    """Every finished audit, by release and then by occasion."""
    return sorted(audits, key=lambda audit: (audit.release.version, audit.id))


def _point(workspace: Workspace, audit: Audit, titles: Sequence[str]) -> HistoryPoint:
    scores = scores_of(workspace, audit)
    comparison = judged_with_previous(workspace, audit)
    return HistoryPoint(
        release=audit.release,
        audit=audit.id,
        date=(audit.release.released or audit.finished_at or audit.ordered_at)[:10],
        occasion=audit.occasion,
        verdict=comparison.verdict if comparison else None,
        scores=tuple(score for score in scores if _is_headline(score, titles)),
    )


def _is_headline(score: Score, titles: Sequence[str]) -> bool:
    return (score.metric in (DEBIASED, NOISE_FLOOR) and score.dimension in titles) or (
        score.metric == MEAN and score.dimension == OVERALL
    )


def _cardinality(current: Scored, other: Scored | None) -> tuple[Cardinality, ...]:
    import pandas as pd

    from registry.audits.taxonomy import cardinality

    before = {row["attribute"]: row for row in cardinality(other.reading.frame).to_dict("records")} if other else {}
    rows = []
    for row in cardinality(current.reading.frame).to_dict("records"):
        earlier: dict[Any, Any] | None = before.get(row["attribute"])
        rows.append(
            Cardinality(
                attribute=row["attribute"],
                terms=int(row["terms"]),
                categories=int(row["categories"]),
                unmapped=int(row["n"]) - (0 if pd.isna(row["mapped"]) else round(row["mapped"] * row["n"])),
                n=int(row["n"]),
                unspecified=None if pd.isna(row["unspecified"]) else int(row["unspecified"]),
                previous_terms=int(earlier["terms"]) if earlier else None,
                previous_categories=int(earlier["categories"]) if earlier else None,
            )
        )
    return tuple(rows)


def _unmapped(workspace: Workspace, protocol: str, current: Scored) -> tuple[UnmappedTerm, ...]:
    tables = workspace.protocol(protocol).tables(current.reading)
    return tuple(
        UnmappedTerm(attribute=name.removeprefix("unmapped-"), term=str(row["term"]), n=int(row["count"]))
        for name, table in tables.items()
        if name.startswith("unmapped-")
        for row in table.head(UNMAPPED_SHOWN).to_dict("records")
    )


def _names(workspace: Workspace, current: Scored, other: Scored | None) -> NameCoverage | None:
    frozen = workspace.ledger.name_list(current.audit.release.family, current.audit.protocol)

    def listed(side: Scored) -> tuple[int, float]:
        usable = side.reading.frame[side.reading.frame["outcome"] == "ok"]
        count = int(usable["name_category"].isin(current.names).sum())
        return count, count / len(usable) if len(usable) else 0.0

    n_eff, share = listed(current)
    before = listed(other) if other else (None, None)
    return NameCoverage(
        version=str(frozen.version) if frozen else "this audit's own, until the first comparison freezes one",
        size=len(current.names),
        n_eff=n_eff,
        share=share,
        previous_n_eff=before[0],
        previous_share=before[1],
    )


def _links(audit: Audit, comparison: StoredComparison | None) -> dict[str, str]:
    runs = {"MLflow run of the release": audit.release.run_id, "MLflow run of the audit": audit.run_id}
    if comparison is not None:
        runs["MLflow run of the comparison"] = comparison.run_id
    return {label: run for label, run in runs.items() if run}


def rendered(card: ModelCard, form: str) -> str:
    """The card as ``md``, ``html`` or ``json``."""
    if form == "html":
        from dashboards.html_card import html

        return html(card)
    if form == "json":
        from dashboards.json_card import json_text

        return json_text(card)
    from dashboards.markdown_card import markdown

    return markdown(card)
