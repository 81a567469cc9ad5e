"""The numbers that a card stands by, by where they stand: what an erratum is made of when one of them is another later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from dashboards.card import OVERALL, ModelCard
from metrics.results import Comparison
from registry.ledger.values import Change

_SCORE = ("value", "low", "high", "severity")
_CHANGE = ("delta", "low", "high", "qvalue", "qvalue_up", "verdict")
#: What of a card's JSON says nothing of what it says: when and where it was made, published and corrected.
_PASSING = frozenset({"made_at", "product_version", "links", "errata", "human_checks", "energy", "reference"})

Numbers = Mapping[str, float | str | None]


def numbers_of(card: ModelCard) -> dict[str, float | str | None]:
    """Headline scores, means, changes and verdicts of a card; what could not be measured is None."""
    told, found = card.instrument, dict[str, float | str | None]()
    wanted = [(told.headline, dimension) for dimension in card.dimensions]
    wanted += [(told.mean, name) for name in (*card.axes, OVERALL)]
    for metric, dimension in wanted:
        score = card.score(metric, dimension)
        what = "score" if metric == told.headline else "mean score"
        if score is not None:
            found |= {f"{what} of {dimension}, {field}": getattr(score, field) for field in _SCORE}
    if card.verdict is not None:
        found["verdict"] = card.verdict
        found |= _changes("change", (row for row in card.comparisons if row.metric == told.headline))
    for baseline in card.baselines:
        if baseline.verdict is not None:
            name = f"change from baseline {baseline.name} (release {baseline.version}, decision {baseline.blessing})"
            found[f"{name}, verdict"] = baseline.verdict
            found |= _changes(name, (row for row in baseline.rows if row.metric == told.headline))
    return found


def _changes(name: str, rows: Iterable[Comparison]) -> dict[str, float | str | None]:
    return {f"{name} of {row.dimension}, {field}": getattr(row, field) for row in rows for field in _CHANGE}


def changed(was: Numbers, now: Numbers) -> tuple[Change, ...]:
    """What of ``was`` is another number now. What is new is no error of what was there; nor is a baseline that counts no more.

    >>> changed({"a": 0.5, "b": None, "gone": 1.0}, {"a": 0.25, "b": None, "new": 3.0})
    (Change(where='a', was=0.5, now=0.25), Change(where='gone', was=1.0, now=None))
    """
    return tuple(
        Change(where=where, was=value, now=now.get(where))
        for where, value in was.items()
        if now.get(where) != value and (where in now or not where.startswith("change from baseline "))
    )


def digest_of(document: Mapping[str, Any]) -> str:
    """SHA-256 (first 16 hex digits) of what a card says, from its JSON form: the same for the same card made again.

    >>> digest_of({"verdict": "regressed", "made_at": "now"}) == digest_of({"made_at": "later", "verdict": "regressed"})
    True
    """
    lasting = {name: _without_runs(value) for name, value in document.items() if name not in _PASSING}
    text = json.dumps(lasting, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_runs(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_runs(inner) for key, inner in value.items() if key != "run_id"}
    if isinstance(value, list):
        return [_without_runs(inner) for inner in value]
    return value
