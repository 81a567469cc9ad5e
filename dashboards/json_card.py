"""The JSON form of a card: every number that the other forms show, unrounded, under a versioned schema."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from dashboards.baselines import BaselineChange, ComparisonSource
from dashboards.card import HistoryPoint, ModelCard
from dashboards.card_reference import reference_of
from dashboards.findings import findings_of
from dashboards.phrases import endpoint_text
from dashboards.sections.contents import headline
from metrics.results import Comparison, Score
from registry.audits.channels import Channels
from registry.ledger.values import Audit
from registry.releases import ModelRelease

SCHEMA = "spiritlevel/model-card/2"


def json_text(card: ModelCard) -> str:
    """The card as JSON text with a stable order of keys; ASCII only, so no character can hide or reorder others."""
    return json.dumps(document(card), indent=2, ensure_ascii=True, allow_nan=False, default=str) + "\n"


def document(card: ModelCard) -> dict[str, Any]:
    """The card as plain values."""
    people = {"human_checks": [one.as_json() for one in card.human_checks]} if card.human_checks else {}
    return people | {
        "schema": SCHEMA,
        "family": card.family,
        "protocol": card.protocol,
        "headline": headline(card),
        "verdict": card.verdict,
        "why": card.why,
        "content_warning": card.content_warning,
        "instrument": card.instrument.as_json(),
        "release": _release(card.release),
        "previous": _release(card.previous) if card.previous else None,
        "audit": _audit(card),
        "policy": dict(card.policy),
        "verdict_counts": card.verdict_counts(),
        "severity_counts": card.severity_counts(),
        "previous_severity_counts": card.severity_counts(previous=True) if card.previous else None,
        "dimensions": list(card.dimensions),
        "dimension_count": len(card.dimensions),
        "comparison": _source(card.source),
        "comparisons": [_compared(row, card.source) for row in card.comparisons],
        "baselines": [_baseline(baseline) for baseline in card.baselines],
        "cells": [cell.as_json() for cell in card.cells],
        "events": [event.as_json() for event in card.events],
        "scores": [_scored(row, card.audit) for row in card.scores],
        "previous_scores": [_scored(row, card.previous_audit) for row in card.previous_scores],
        "channels": _channels(card.channels),
        "previous_channels": _channels(card.previous_channels) if card.previous_channels else None,
        "uneven": dict(card.uneven),
        "findings": [finding.as_json() for finding in findings_of(card)],
        "energy": card.energy.as_json(),
        "history": [_point(point, card.dimensions) for point in card.history],
        "history_left_out": card.history_left_out,
        "history_period": card.history_period,
        "cardinality": [dataclasses.asdict(row) | {"unmapped_share": row.unmapped_share} for row in card.cardinality],
        "unmapped": [dataclasses.asdict(row) for row in card.unmapped],
        "details": dataclasses.asdict(card.details),
        "names": dataclasses.asdict(card.names) if card.names else None,
        "errata": [dataclasses.asdict(erratum) for erratum in card.errata],
        "reference": reference_of(card).text,
        "links": dict(card.links),
        "limits": list(card.limits),
        "product_version": card.product_version,
        "made_at": card.made_at,
    }


def _release(release: ModelRelease) -> dict[str, Any]:
    """A release as published: neither the name of the key's variable nor anything secret in the address."""
    return {
        "uri": release.uri,
        "family": release.family,
        "version": release.version,
        "model": release.model,
        "endpoint": endpoint_text(release.base_url),
        "released": release.released,
        "previous": release.previous,
        "price_input": release.price_input,
        "price_output": release.price_output,
    }


def _audit(card: ModelCard) -> dict[str, Any]:
    audit = card.audit
    elsewhere = {"origins": [origin.as_json() for origin in card.origins]} if card.origins else {}
    return elsewhere | {
        "id": audit.id,
        "occasion": audit.occasion,
        "source": audit.source,
        "state": audit.state,
        "ordered_at": audit.ordered_at,
        "finished_at": audit.finished_at,
        "run_id": audit.run_id,
        "differences": dict(audit.differences),
        "plan": audit.plan.as_json(),
        "prompt_hashes": card.prompt_hashes(),
        "collection_key": audit.plan.collection_key,
        "scoring_version": audit.scoring_version,
        "scoring_parts": dict(card.scoring_parts),
    }


def _baseline(baseline: BaselineChange) -> dict[str, Any]:
    return baseline.as_json() | {
        "comparison": _source(baseline.source),
        "comparisons": [_compared(row, baseline.source) for row in baseline.rows],
    }


def _source(source: ComparisonSource | None) -> dict[str, Any] | None:
    return dataclasses.asdict(source) if source is not None else None


def _scored(row: Score, audit: Audit | None) -> dict[str, Any]:
    """A score with the rest of its key in the ledger's table ``scores``, and its MLflow run."""
    return dataclasses.asdict(row) | {
        "audit_id": audit.id if audit else None,
        "scoring_version": audit.scoring_version if audit else None,
        "run_id": audit.run_id if audit else None,
    }


def _compared(row: Comparison, source: ComparisonSource | None) -> dict[str, Any]:
    """A comparison with the rest of its key in the ledger's table ``comparison_rows``, and its MLflow run."""
    return dataclasses.asdict(row) | {
        "comparison_id": source.comparison if source else None,
        "run_id": source.run_id if source else None,
    }


def _channels(channels: Channels) -> dict[str, Any]:
    return dataclasses.asdict(channels) | {
        "unique": channels.usable - channels.duplicates,
        "coverage": channels.coverage,
        "duplicate_rate": channels.duplicate_rate,
        "mixed_release": channels.mixed_release,
        "rates": channels.rates(),
    }


def _point(point: HistoryPoint, dimensions: tuple[str, ...]) -> dict[str, Any]:
    return {
        "release": _release(point.release),
        "audit": point.audit,
        "occasion": point.occasion,
        "date": point.date,
        "verdict": point.verdict,
        "scoring_version": point.scoring_version,
        "run_id": point.run_id,
        "measured": point.measured(dimensions),
        "scores": [dataclasses.asdict(row) for row in point.scores],
    }
